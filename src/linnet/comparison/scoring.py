"""One model on one fold: its answers and what they cost. From the answers of every model to scores and tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.classifier import TextClassifier
from linnet.comparison.comparison import ModelScores, Pair
from linnet.comparison.specs import Spec
from linnet.data import Dataset
from linnet.errors import DataError
from linnet.evaluate import corrected_t, evaluate, evaluate_multilabel, holm, mcnemar, paired_bootstrap
from linnet.evaluate.intervals import Interval
from linnet.evaluate.multilabel import row_f1
from linnet.evaluate.significance import paired_t
from linnet.features.derived import Shared
from linnet.pipeline.crossval import Fold, check_two_labels, fit_and_predict, strata
from linnet.pipeline.rows import encode

# ---- One model on one fold: what it answers for the held-out rows, and what that costs.


Indices = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
TINY = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ComparedRows:
    """The rows of a comparison: texts, the class of each as a number, the group of each, and what was counted of them.

    Where rows may have several labels these are in sets, (n_rows, n_classes), and codes are what folds are balanced by.
    """

    data: Dataset
    classes: tuple[str, ...]
    codes: npt.NDArray[np.int64]
    shared: Shared
    groups: Indices | None = None
    sets: npt.NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, data: Dataset, groups: Any = None) -> ComparedRows:
        """Number the classes, and refuse what cannot be held out."""
        try:
            classes, codes = encode(data.label_list() if data.separator is None else data.label_sets())
        except DataError as error:
            raise DataError(f"{data.source}: {error}") from None
        check_two_labels(data.source, data.counts.values())
        sets = codes if codes.ndim == 2 else None
        return cls(data, classes, strata(codes).astype(np.int64), Shared(data.text), data.group_numbers(groups), sets)

    def counts(self) -> npt.NDArray[np.int64]:
        """Return how many rows each class has."""
        return np.asarray(np.bincount(self.codes) if self.sets is None else self.sets.sum(axis=0))

    def scores(self, held: Indices, predicted: npt.NDArray[Any]) -> Floats:
        """Return how right the answers for some rows are: 0 or 1; of several labels, their F1."""
        if self.sets is not None:
            return row_f1(self.sets[held], predicted)
        return np.asarray(predicted == self.codes[held], dtype=np.float64)

    def baseline(self) -> tuple[str, float]:
        """Return the most frequent label, and the mean score of always predicting it alone."""
        top, rows = int(self.counts().argmax()), np.arange(len(self.codes))
        alone = np.full(len(rows), top)
        answers = alone if self.sets is None else alone[:, None] == np.arange(len(self.classes))
        return self.classes[top], float(self.scores(rows, answers).mean())


@dataclass(frozen=True)
class FoldAnswers:
    """What a model answered for the held-out rows of one fold, and what that cost."""

    held: Indices
    predicted: npt.NDArray[Any]  # class numbers; of several labels an indicator matrix
    log_p: Floats  # log probability of the true class; of several labels, its mean over all labels
    right: float  # sum of the scores of rows
    train_rows: int
    train_seconds: float
    predict_seconds: float
    size: int | None  # bytes of the model file, where it was asked for
    settings: dict[str, Any] = field(default_factory=dict)


def answer(
    spec: Spec,
    rows: ComparedRows,
    fit_on: Indices,
    held: Indices,
    *,
    share: bool,
    measure: bool,
    on_event: Callable[[Any], None] | None = None,
) -> FoldAnswers:
    """Fit on some rows, settings chosen among them alone, and predict the held-out ones."""
    clf = spec.make()
    part = rows.shared.part(fit_on) if share else None
    given = {"groups": rows.groups, "part": part, "on_event": on_event, "found": spec.found}
    found = fit_and_predict(clf, rows.data, Fold(fit_on, held), **given)
    number = {label: k for k, label in enumerate(rows.classes)}
    known = np.array([number[str(c)] for c in clf.model_.classes], dtype=np.int64)
    p = np.zeros((len(held), len(rows.classes)))  # 0 where the training part had none of a class
    p[:, known] = found.proba
    if rows.sets is None:
        predicted, p_true = known[found.predicted], p[np.arange(len(held)), rows.codes[held], None]
    else:
        predicted, p_true = np.zeros(p.shape, bool), np.where(rows.sets[held], p, 1.0 - p)
        predicted[:, known] = found.predicted
    log_p = np.log(np.clip(p_true, TINY, 1 - TINY)).mean(axis=1)
    return FoldAnswers(
        held, predicted, log_p, float(rows.scores(held, predicted).sum()), len(fit_on), found.train_seconds,
        found.predict_seconds, clf.artefact.file_size if measure else None, _chosen(clf),
    )  # fmt: skip


def _chosen(clf: TextClassifier) -> dict[str, Any]:
    """Return the settings that the search decided on."""
    settings, tried = clf.card["settings"], clf.card["choice"]["tried"]
    names = [name for name in tried[0] if name not in ("accuracy", "rows")]
    return {name: settings[name] for name in names if len({repr(trial.get(name)) for trial in tried}) > 1}


def score(name: str, answers: Sequence[FoldAnswers], rows: ComparedRows, folds: int) -> ModelScores:
    """Sum up one model: scores over all held-out rows of a repeat, then means over the repeats."""
    found: list[dict[str, tuple[float, Interval]]] = []
    losses = []
    for one in (answers[k : k + folds] for k in range(0, len(answers), folds)):
        held, predicted = _joined(one)
        if rows.sets is not None:
            found.append(dict(evaluate_multilabel(rows.sets[held], predicted, rows.classes).scores))
        else:
            result = evaluate(rows.codes[held], predicted, range(len(rows.classes)))
            found.append({key: (value, result.averages_intervals[key]) for key, value in result.averages.items()})
        losses.append(-float(np.mean(np.concatenate([a.log_p for a in one]))))
    size = sum(float(rows.shared.sizes[a.held].sum()) for a in answers)
    chosen = Counter(repr(a.settings) for a in answers).most_common(1)[0][0]
    means: dict[str, tuple[float, Interval]] = {}
    for key in found[0]:
        low, high = np.mean([e[key][1] for e in found], axis=0).tolist()
        means[key] = float(np.mean([e[key][0] for e in found])), (low, high)
    return ModelScores(
        name,
        *means["accuracy" if rows.sets is None else "samples_f1"],
        *means["macro_f1"],
        float(np.mean(losses)),
        tuple(a.right / len(a.held) for a in answers),
        float(np.mean([a.train_seconds for a in answers])),
        float(np.mean([a.predict_seconds for a in answers])),
        size / 1e6 / max(1e-9, sum(a.predict_seconds for a in answers)),
        next((a.size for a in answers if a.size is not None), 0),
        next(a.settings for a in answers if repr(a.settings) == chosen),
        {key: value for key, value in means.items() if key != "accuracy"},
    )


def _joined(answers: Sequence[FoldAnswers]) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    return np.concatenate([a.held for a in answers]), np.concatenate([a.predicted for a in answers])


def pairs_of(
    models: Sequence[ModelScores], answers: Mapping[str, Sequence[FoldAnswers]], rows: ComparedRows, folds: int, repeats: int,
    seed: int,
) -> tuple[Pair, ...]:  # fmt: skip
    """Compare every two models; models come best first.

    One repeat: McNemar on the held-out rows, or where rows may have several labels the paired t-test on the F1 of each
    row. Several: rows are asked about more than once and are no longer
    independent, so the corrected repeated k-fold t-test decides. The best model is known only after looking, so all
    pairs count in Holm's correction, not just those with the best.
    """
    found = [
        _pair(a, b, answers[a.name], answers[b.name], rows, folds, repeats, seed, macro=k == 0)
        for k, a in enumerate(models)
        for b in models[k + 1 :]
    ]
    raised = holm([one["test"].p for one in found])
    return tuple(Pair(p=float(p), **one) for p, one in zip(raised, found, strict=True))


def _pair(
    a: ModelScores, b: ModelScores, answers_a: Sequence[FoldAnswers], answers_b: Sequence[FoldAnswers], rows: ComparedRows,
    folds: int, repeats: int, seed: int, *, macro: bool,
) -> dict[str, Any]:  # fmt: skip
    held, first = _joined(answers_a[:folds])
    _, second = _joined(answers_b[:folds])
    right_a, right_b = rows.scores(held, first), rows.scores(held, second)
    by_rows = mcnemar(right_a, right_b) if rows.sets is None else paired_t(right_a, right_b)
    by_fold = np.array(a.fold_accuracy) - np.array(b.fold_accuracy)
    n_train, n_held = np.mean([(x.train_rows, len(x.held)) for x in answers_a], axis=0)
    fold_test = corrected_t(by_fold, n_train, n_held, repeats=repeats) if len(by_fold) > 1 else None
    bootstrap, macro_f1 = by_rows, None
    if rows.sets is None:
        right = np.ones(len(held), bool)
        bootstrap = paired_bootstrap(right, right_a.astype(bool), right_b.astype(bool), seed=seed)
        if macro:
            macro_f1 = paired_bootstrap(rows.codes[held], first, second, metric="macro-f1", draws=1000, seed=seed)
    return {
        "better": a.name,
        "other": b.name,
        "difference": a.accuracy - b.accuracy,
        "discordant": int(np.sum(right_a != right_b)),
        "test": fold_test if repeats > 1 and fold_test is not None else by_rows,
        "bootstrap": bootstrap,
        "fold_test": fold_test,
        "macro_f1": macro_f1,
    }
