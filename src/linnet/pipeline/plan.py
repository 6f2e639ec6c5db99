"""Everything a user asked for, resolved once into one value: from here on nobody asks the estimator."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from linnet.errors import LinnetError, nearest
from linnet.estimator import share_below_one
from linnet.features.blocks import AnyBlocks, as_blocks
from linnet.features.buffers import text_buffers
from linnet.features.counting import Norm, thread_count
from linnet.features.plan import FeaturePlan, Selection
from linnet.features.vectors import Vectors, learn_vectors
from linnet.model.calibration import METHODS
from linnet.models import MODELS
from linnet.models.estimator import Traits

if TYPE_CHECKING:
    from linnet.classifier import TextClassifier

OF_FEATURES = ("features", "min_df", "ratio", "tf")
"""Settings that are searched and do not belong to the model."""


@dataclass(frozen=True)
class Plan:
    """The model and its fixed settings, the features with the settings to try, and how the model is fitted."""

    name: str
    model: type[Any]
    features: FeaturePlan
    params: Mapping[str, Any] = field(default_factory=dict)  # fixed settings of the model
    given: Mapping[str, Any] = field(default_factory=dict)  # settings of the model as the user gave them
    class_weight: Any = None
    label_smoothing: float = 0.0
    refit: bool = True
    watch: bool = False
    """Whether dev rows that are not fitted are scored after every epoch."""
    calibrate: bool | str = True
    decision: Mapping[str, Any] = field(default_factory=dict)  # as the user gave it
    full_precision: bool = False
    seed: int = 0
    threads: int = 1
    unlabelled: Any = field(default=None, compare=False)
    """Texts without labels that naive Bayes learns from."""

    @classmethod
    def of(cls, clf: TextClassifier) -> Plan:
        """Resolve the settings of a classifier; wrong ones are refused here."""
        if isinstance(clf.model, str):
            if clf.model not in MODELS:
                raise LinnetError(nearest("model", clf.model, MODELS))
            model: Any = MODELS[clf.model]
            fixed: dict[str, Any] = dict(model.plan.fixed)
        else:
            model = type(clf.model)
            if not isinstance(getattr(model, "plan", None), FeaturePlan):
                raise LinnetError(f"model must be one of {', '.join(MODELS)} or of linnet.models, got {clf.model!r}")
            fixed = dict(clf.model.get_params())
        base: FeaturePlan = model.plan
        known = model().get_params()
        grid = {name: values for name, values in base.grid if name not in fixed}
        for name, value in _with_solver(dict(clf.params or {}), known).items():
            grid.pop(name, None)
            if isinstance(value, list | tuple) and not any(isinstance(v, list | tuple) for v in value):  # not a matrix
                grid[name] = tuple(value)
            else:
                fixed[name] = value
        ratios = (clf.ratio,) if isinstance(clf.ratio, int | float) else clf.ratio
        powers = None if ratios is None else tuple(map(float, ratios))
        tfs = (clf.tf,) if isinstance(clf.tf, str) else tuple(clf.tf or ())
        vocabulary: tuple[str, ...] = ()
        if clf.vocabulary is not None:
            from linnet.text.vocabulary import given_words

            vocabulary = given_words(clf.vocabulary)
        asked = "words:1" if vocabulary and clf.features is None else clf.features
        blocks = None if asked is None else as_blocks(asked)
        if not tfs and blocks is not None:
            tfs = (base.tf,)  # given features are taken as they are
        vectors = clf.vectors and os.fspath(clf.vectors)
        unlabelled = None if clf.unlabelled is None else _texts(clf.unlabelled)
        if unlabelled is not None:
            if vectors:
                raise LinnetError("vectors are given, or learned from unlabelled texts; leave one of the two out")
            if not (model.traits.sums == "statistics" and model.traits.incremental):  # naive Bayes takes them by EM
                vectors, unlabelled = learn_vectors(text_buffers(unlabelled)), None
        if blocks is not None and vectors:
            blocks = (*blocks, Vectors(vectors))
        features = base.with_settings(
            features=blocks, vectors=None if asked is not None else vectors,
            tf=tfs[0] if tfs else None, other_tf=tfs[1:] if tfs else None, idf=clf.idf, ratio=powers, min_df=clf.min_df, max_df=clf.max_df,
            max_features=clf.max_features, hash_bits=clf.hash_bits, grid=tuple(grid.items()),
            vocabulary=vocabulary, select=None if clf.select is None else Selection.of(clf.select),
        )  # fmt: skip
        if clf.norm != "auto":
            features = replace(features, norm=cast(Norm, clf.norm))
        if isinstance(clf.calibrate, str) and clf.calibrate not in METHODS:
            raise LinnetError(nearest("calibration", clf.calibrate, METHODS))
        name = clf.model if isinstance(clf.model, str) else model.__name__
        seeded = {"random_state": clf.random_state} if "random_state" in known else {}
        return cls(
            name, model, features, {**seeded, **fixed}, dict(clf.params or {}), clf.class_weight,
            share_below_one("label_smoothing", clf.label_smoothing), clf.refit, not clf.refit, clf.calibrate, dict(clf.decision or {}),
            clf.full_precision, clf.random_state, thread_count(clf.n_jobs), unlabelled,
        )  # fmt: skip

    @property
    def traits(self) -> Traits:
        """What the model can do."""
        found: Traits = self.model.traits
        return found

    def with_features(self, blocks: AnyBlocks) -> Plan:
        """Return the plan with the blocks that it came to."""
        return replace(self, features=replace(self.features, features=blocks))

    def with_settings(self, settings: Mapping[str, Any]) -> Plan:
        """Return the plan with the features, the tf and the min_df that settings name."""
        blocks = as_blocks(settings["features"]) if "features" in settings else self.features.features
        own = {name: settings[name] for name in ("tf", "min_df") if name in settings}
        return replace(self, features=replace(self.features, features=blocks, **own))

    def make(self, settings: Mapping[str, Any], *, trial: bool = False) -> Any:
        """Return the model with the fixed settings and some more; those of the features are not the model's.

        For a trial it is fitted roughly, unless the user said how.
        """
        fixed: FeaturePlan = self.model.plan
        usual = {name for name, value in fixed.fixed if self.params.get(name) == value}
        rough = {name: value for name, value in fixed.trial if name in usual} if trial else {}
        return self.model(**{**self.params, **rough, **{k: v for k, v in settings.items() if k not in OF_FEATURES}})


def _with_solver(params: dict[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Give the solver the settings that are its own: solver "sgd" and learning_rate 0.1 become SGD(learning_rate=0.1).

    >>> _with_solver({"solver": "adam", "batch_size": 8, "C": 1.0}, {"solver": None, "C": None})["solver"].batch_size
    8
    """
    if params.keys() <= known.keys():
        return params
    from linnet.solvers.descent import SOLVERS, make_solver, solver_settings

    solvers = SOLVERS if "solver" in known else {}
    settings = {name: [one for one in solver_settings(name) if one not in known] for name in solvers}
    chosen = params["solver"] if isinstance(params.get("solver"), str) else ""
    own = {name: value for name, value in params.items() if name in settings.get(chosen, ())}
    for name in params.keys() - known.keys() - own.keys():
        of_solver = f" (with the solver {chosen})" if chosen in settings else ""
        others = [solver for solver, names in settings.items() if name in names]
        more = f"; {name} is a setting of the solvers {', '.join(others)}" if others else ""
        raise LinnetError(nearest("setting", name, [*known, *settings.get(chosen, ())]) + of_solver + more)
    return {k: v for k, v in params.items() if k not in own} | {"solver": make_solver(chosen, own)}


def _texts(unlabelled: Any) -> Any:
    """Return texts without labels: those of a file, a Dataset, or a list."""
    if isinstance(unlabelled, str | os.PathLike):
        from linnet.data import read

        unlabelled = read(unlabelled)
    return getattr(unlabelled, "text", unlabelled)
