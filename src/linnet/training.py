"""What ``TextClassifier.fit`` does, step by step: read, count, choose, fit, calibrate, lay out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.choosing import Candidate, Choice, choose, fit_watched, fit_weighted
from linnet.errors import DataError
from linnet.explain.reverse import name_columns
from linnet.features.blocks import AnyBlocks, Blocks, describe
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.computed import ComputedBlocks, compute, needed, split
from linnet.features.counting import Counted, Seen, names_of, thread_count
from linnet.features.counts import SparseCounts
from linnet.features.derived import Derived
from linnet.features.names import Names
from linnet.features.pruning import kept_columns
from linnet.features.recipe import LARGE_MODEL, Recipe, default_blocks, unspaced
from linnet.features.selection import Report, Selection
from linnet.features.sharing import Part, Texts
from linnet.laying import NAMED_FEATURES, artefact_of, calibrate, card_of
from linnet.model.model import Model
from linnet.solvers.callbacks import Epoch
from linnet.solvers.curves import History

if TYPE_CHECKING:
    from linnet.classifier import Event, TextClassifier

__all__ = ["Log", "class_weighted", "count_for", "encode", "train", "with_computed"]


def train(
    clf: TextClassifier,
    X: Any,
    y: Any,
    dev: Any,
    sample_weight: npt.ArrayLike | None,
    on_event: Callable[[Event], None] | None,
    part: Part | None = None,
    judged: Choice | None = None,
) -> tuple[Model, History]:
    """Fit and return the artefact and the history of passes and candidates.

    part is where the texts of X and dev are counted already, judged what choosing would come to; the result is the same
    without.
    """
    cls, recipe, fixed = clf.recipe()
    threads = thread_count(clf.threads)
    log = Log(on_event)
    pieces, labels, dev_rows, weight = _gather(X, y, dev, sample_weight, needed(recipe.features or ()))
    classes, y_index = encode(labels)
    n_classes = len(classes)
    weight = class_weighted(weight, y_index, classes, clf.class_weight)

    if hasattr(cls, "build"):
        return _built(clf, X, cls, recipe, fixed, pieces, classes, y_index, dev_rows, log), log.history
    why = "" if recipe.features or not unspaced(pieces) else ": most texts have no blanks between words"
    features = _learned(recipe.features or default_blocks(pieces), pieces, dev_rows, log)
    recipe = replace(recipe, features=features)
    blocks, computed = split(features)
    log.stage(f"counting features {describe(features)}{why}")
    texts = Derived.of(Texts(pieces) if part is None else part, blocks, pieces)
    counted, min_df = count_for(texts, blocks, recipe, n_classes, threads)
    if computed:
        counted = with_computed(counted, computed, pieces)
    rows = counted.rows

    seeded = {"random_state": clf.seed} if "random_state" in cls().get_params() else {}

    def make(settings: dict[str, Any]) -> Any:
        return cls(**{**seeded, **fixed, **settings})

    if judged is None:
        log.stage(f"choosing settings on {'dev' if dev_rows is not None else 'held-out rows'}")
        judged = choose(
            make, rows, recipe, blocks, y_index, n_classes, min_df=min_df, dev=dev_rows, seed=clf.seed, threads=threads,
            sample_weight=weight, on_candidate=log.candidate, on_epoch=log.trial if on_event else None,
        )  # fmt: skip
    choice = judged
    log.chosen(choice)

    final = (
        np.arange(len(y_index)) if clf.refit or dev_rows is None else np.setdiff1d(np.arange(len(y_index)), dev_rows)
    )
    final_rows = rows if len(final) == len(y_index) else rows.take(final)
    dropped = None
    if recipe.select is not None and blocks:
        counted, dropped = _select(recipe.select, counted, final_rows, y_index[final], n_classes, texts.pieces, blocks)
        log.stage(str(dropped))
        rows = counted.rows
        final_rows = rows if len(final) == len(y_index) else rows.take(final)
    final_weight = None if weight is None else weight[final]
    log.stage(f"fitting on {len(final):,} rows")
    settings = dict(choice.best.settings)
    power = float(settings.pop("ratio"))
    weights = recipe.weights(final_rows, y_index[final], n_classes, power)
    task = (make(settings), final_rows, weights, recipe, blocks, y_index[final], n_classes)
    told: dict[str, Any] = {"sample_weight": final_weight, "threads": threads, "on_epoch": log.epoch}
    if clf.refit or dev_rows is None:
        W, b = fit_weighted(*task, **told)
    else:
        W, b = fit_watched(*task, (rows.take(dev_rows), y_index[dev_rows]), **told)
    if clf.calibrate:
        W, b, calibration = calibrate(choice.best, y_index, n_classes, W, b)
    else:
        calibration = None
    card = card_of(clf, X, recipe, features, min_df, classes, y_index, choice, calibration, len(final), dev_rows)
    if dropped is not None:
        card["selection"] = dropped.to_dict()
    n = rows.n_columns
    model = artefact_of(texts.pieces, blocks, recipe, counted, classes, weights, W[:n], b, clf.calibrate, card)
    if recipe.hash_bits and blocks:
        model = name_columns(model, pieces, np.flatnonzero(rows.document_frequency()), NAMED_FEATURES)
    return (replace(model, computed=computed, computed_weights=W[n:].copy()) if computed else model), log.history


def _learned(
    features: AnyBlocks, pieces: list[TextBuffer], dev_rows: npt.NDArray[np.int64] | None, log: Log
) -> AnyBlocks:
    """Let blocks learn what they need of texts and columns, from training rows alone.

    It asks no labels, so it is done once, before settings are chosen on parts of these rows.
    """
    waiting = list(dict.fromkeys(block.waits for block in features if block.waits))
    if waiting:
        log.stage(f"learning {' and '.join(waiting)}")
    known: dict[Any, Any] = {}
    rows = None if dev_rows is None else np.arange(dev_rows[0])
    return tuple(block.learn(pieces, rows, known) for block in features)


def _built(
    clf: TextClassifier, X: Any, cls: Any, recipe: Recipe, fixed: dict[str, Any], pieces: list[TextBuffer],
    classes: tuple[Any, ...], y: npt.NDArray[np.int32], dev_rows: npt.NDArray[np.int64] | None, log: Log,
) -> Model:  # fmt: skip
    """Take a model that learns nothing from rows and builds itself; rows judge its settings and calibrate its scores."""
    log.stage("building the model")
    names = [name for name, _ in recipe.grid]
    tries = [dict(zip(names, values, strict=True)) for values in product(*(values for _, values in recipe.grid))]
    rows = np.arange(len(y)) if dev_rows is None else dev_rows
    models: list[Model] = []
    judged: list[Candidate] = []
    for settings in tries:
        models.append(cls(**{**fixed, **settings}).build(classes, recipe))
        scores = np.concatenate([models[-1].scores(p, clf.threads) for p in pieces])[rows]
        right = models[-1].best(scores) == y[rows]
        judged.append(Candidate(settings, float(right.mean()), right, scores, rows))
        log.candidate(judged[-1], len(judged), len(tries))
    best = max(range(len(tries)), key=lambda k: judged[k].accuracy)  # the first of equals
    choice, model, b, calibration = Choice(judged[best], tuple(judged), 0), models[best], models[best].b, None
    log.chosen(choice)
    if clf.calibrate:
        _, b, calibration = calibrate(choice.best, y, len(classes), model.rows[:, 1:], b)
    card = card_of(clf, X, recipe, model.blocks, 1, classes, y, choice, calibration, len(y), dev_rows)
    return replace(model, b=b, calibrated=clf.calibrate, card={**model.card, **card})


class Log:
    """Turns what happens into events and a history."""

    def __init__(self, on_event: Callable[[Event], None] | None) -> None:
        self.on_event = on_event
        self.history = History()

    def _say(self, kind: str, text: str, done: int = 0, total: int = 0, **values: Any) -> None:
        if self.on_event is not None:
            from linnet.classifier import Event

            self.on_event(Event(kind, text, done, total, values))

    def stage(self, text: str) -> None:
        self._say("stage", text)

    def trial(self, p: Epoch, _: Callable[[], Any]) -> None:
        self._say("trial", f"pass {p.number}", p.number, 0, loss=p.loss)

    def candidate(self, c: Candidate, done: int, total: int) -> None:
        self.history.append({"kind": "candidate", **c.settings, "dev_accuracy": c.accuracy})
        self._say("candidate", _settings_text(c.settings), done, total, dev_accuracy=c.accuracy, **c.settings)

    def chosen(self, choice: Choice) -> None:
        best = choice.best
        self._say("chosen", _settings_text(best.settings), dev_accuracy=best.accuracy, dev_rows=len(best.rows))

    def epoch(self, p: Epoch, _: Callable[[], Any]) -> None:
        news = {"loss": p.loss, "violation": p.violation}
        if p.score is not None:
            news["dev_accuracy"] = p.score
        self.history.append({"kind": "pass", "pass": p.number, **news})
        self._say("pass", f"pass {p.number}", p.number, 0, **news)


def _settings_text(settings: dict[str, Any]) -> str:
    return " ".join(
        f"{k}={v:g}" if isinstance(v, float | int) else f"{k}={v!s:.60}" for k, v in sorted(settings.items())
    )


def _gather(
    X: Any, y: Any, dev: Any, sample_weight: npt.ArrayLike | None, needs: tuple[str, ...] = ()
) -> tuple[list[TextBuffer], list[Any], npt.NDArray[np.int64] | None, npt.NDArray[np.float64] | None]:
    """Put training and dev rows behind one another."""
    pieces, labels = _texts_and_labels(X, y, "training", needs)
    dev_rows = None
    n_train = len(labels)
    if dev is not None:
        dev_texts, dev_y = dev if isinstance(dev, tuple) else (dev, None)
        more, dev_labels = _texts_and_labels(dev_texts, dev_y, "dev", needs)
        dev_rows = np.arange(n_train, n_train + len(dev_labels))
        pieces, labels = pieces + more, labels + dev_labels
    if sample_weight is None:
        return pieces, labels, dev_rows, None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_train,):
        raise DataError(f"sample_weight must hold one number a training row: {n_train:,}, got shape {weight.shape}")
    if not np.all(np.isfinite(weight)) or weight.min(initial=0.0) < 0:
        raise DataError("sample_weight must be finite and not negative")
    return pieces, labels, dev_rows, np.concatenate([weight, np.ones(len(labels) - n_train)])


def _texts_and_labels(X: Any, y: Any, what: str, needs: tuple[str, ...]) -> tuple[list[TextBuffer], list[Any]]:
    from linnet.data import Dataset

    if isinstance(X, Dataset):
        if X.label is None:
            raise DataError(f"{X.source}: the {what} data has no labels; name the label column")
        if X.label_column in needs:
            raise DataError(
                f"{X.source}: column '{X.label_column}' holds the labels; leave out column:{X.label_column}"
            )
        return text_buffers(X, needs), X.label.to_pylist()
    if y is None:
        raise DataError(f"the {what} data needs labels: fit(texts, labels), or a Dataset from linnet.read")
    pieces = text_buffers(X, needs)
    labels = [
        v.item() if isinstance(v, np.generic) else v for v in (y.to_pylist() if hasattr(y, "to_pylist") else list(y))
    ]
    n = sum(map(len, pieces))
    if n != len(labels):
        raise DataError(f"the {what} data has {n:,} texts but {len(labels):,} labels")
    return pieces, labels


def encode(labels: list[Any]) -> tuple[tuple[Any, ...], npt.NDArray[np.int32]]:
    for row, label in enumerate(labels):
        if label is None or label != label:
            raise DataError(f"row {row + 1} has no label; leave it out or label it")
    try:
        classes = tuple(sorted(set(labels)))
    except TypeError:
        kinds = sorted({type(v).__name__ for v in labels})
        raise DataError(f"labels must be of one kind, got {' and '.join(kinds)}") from None
    if len(classes) < 2:
        raise (
            DataError(f"every row has the label {classes[0]!r}; a classifier needs at least two")
            if classes
            else DataError("there are no training rows")
        )
    number = {c: k for k, c in enumerate(classes)}
    return classes, np.fromiter((number[v] for v in labels), dtype=np.int32, count=len(labels))


def class_weighted(
    weight: npt.NDArray[np.float64] | None, y: npt.NDArray[np.int32], classes: tuple[Any, ...], class_weight: Any
) -> npt.NDArray[np.float64] | None:
    if class_weight is None:
        return weight
    base = np.ones(len(y)) if weight is None else weight
    if class_weight == "balanced":
        totals = np.bincount(y, weights=base, minlength=len(classes))
        per_class = arithmetic.total(totals) / (len(classes) * np.maximum(totals, 1e-300))
    elif isinstance(class_weight, dict):
        unknown = sorted(map(str, set(class_weight) - set(classes)))
        if unknown:
            raise DataError(f"class_weight names labels that are not in the data: {', '.join(unknown)}")
        per_class = np.array([float(class_weight.get(c, 1.0)) for c in classes])
    else:
        raise DataError(f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}")
    return np.asarray(base * per_class[y])


def count_for(
    texts: Texts | Part | Derived, blocks: Blocks, recipe: Recipe, n_classes: int, threads: int
) -> tuple[Counted, int]:
    """Count, then drop the columns that no setting would use; returns the cut-off for fold training parts too."""
    if not blocks:
        return _nothing_counted(len(texts)), 1
    n_outputs = 1 if n_classes == 2 else n_classes
    counted = texts.count(blocks, hash_bits=recipe.hash_bits, counting=recipe.tf != "presence", threads=threads)
    if recipe.hash_bits:
        return counted, 1
    rows = counted.rows
    min_df = recipe.min_df or (2 if rows.n_columns * n_outputs > LARGE_MODEL else 1)

    def names(columns: npt.NDArray[np.int64]) -> Names:
        seen = counted.seen.take(columns)
        data, offsets = names_of(texts.pieces, blocks, seen, counted.fingerprints[columns])
        return Names(data, offsets[:-1], np.diff(offsets), seen.block)

    kept = kept_columns(rows, min_df=min_df, max_df=recipe.max_df, max_features=recipe.max_features, names=names)
    if len(kept) == rows.n_columns:
        return counted, min_df
    numbers = np.full(rows.n_columns, -1, dtype=np.int32)
    numbers[kept] = np.arange(len(kept), dtype=np.int32)
    return Counted(rows.keep(numbers), counted.fingerprints[kept], counted.seen.take(kept)), min_df


def _select(
    selection: Selection, counted: Counted, rows: SparseCounts, y: npt.NDArray[np.int32], n_classes: int, pieces: list[TextBuffer],
    blocks: Blocks,
) -> tuple[Counted, Report]:  # fmt: skip
    """Keep the columns that tell most of the labels of the rows that are fitted, and say which were dropped."""

    def names(columns: npt.NDArray[np.int64]) -> list[str]:
        seen = counted.seen.take(columns)
        data, offsets = names_of(pieces, blocks, seen, counted.fingerprints[columns])
        return list(Names(data, offsets[:-1], np.diff(offsets), seen.block))

    numbers, scores = selection.choose(rows, y, n_classes)
    report = Report.of(selection, numbers, scores, names)
    kept = np.flatnonzero(numbers >= 0)
    return Counted(counted.rows.keep(numbers), counted.fingerprints[kept], counted.seen.take(kept)), report


def _nothing_counted(n: int) -> Counted:
    """Return rows without columns, for features that are all computed."""
    none = np.zeros(0, np.int32)
    rows = SparseCounts(np.zeros(n + 1, np.int64), none, none, 1, 0)
    return Counted(rows, np.zeros(0, np.uint64), Seen(none, none, none, none.astype(np.uint8)))


def with_computed(counted: Counted, computed: ComputedBlocks, pieces: list[TextBuffer]) -> Counted:
    for block in computed:
        block.check()
    return replace(counted, rows=replace(counted.rows, computed=compute(computed, pieces)))
