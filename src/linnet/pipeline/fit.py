"""Fit a plan to a row store: count, search, select, fit, calibrate, assemble."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import PurePath
from threading import Thread
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Array, Bools, Bytes, Floats, Floats32, Hashes, Ints
from linnet.errors import DataError, LinnetError, nearest, shown
from linnet.features.blocks import AnyBlocks, Blocks, ComputedBlocks, describe
from linnet.features.plan import FeaturePlan, FeatureWeights
from linnet.features.vectorizer import features_named
from linnet.model.calibration import Calibration, choose_calibration, fit_calibration
from linnet.model.decision import ConfidenceTable, Decision
from linnet.model.learned import Learned
from linnet.model.model import Model
from linnet.model.table import FloatTable
from linnet.pipeline.cache import joined_with, name_array
from linnet.pipeline.crossval import Fitted, Weighting, fit_rows, folded_best, one_label_a_row
from linnet.pipeline.events import Log
from linnet.pipeline.plan import Plan
from linnet.pipeline.rows import MemoryRows, RowStore
from linnet.pipeline.search import (
    CalibrationFit,
    HeldOut,
    SearchResult,
    Trial,
    calibration_folds,
    combinations,
    fit_to_calibrate,
    search,
)
from linnet.solvers.callbacks import Epoch, OnEpoch
from linnet.solvers.losses import sigmoid
from linnet.solvers.network import DenseLayers, finish, scaled
from linnet.values import label_number

AT_ONCE = 20_000_000  # entries up to which two fits at a time cost little memory


def fit(
    plan: Plan, store: RowStore, log: Log, found: SearchResult | None = None, held_out: Future[HeldOut] | None = None
) -> Model:
    """Return the fitted model. found is what the search would come to, where that is known already.

    held_out is what a fit that goes on meanwhile learns on held-out rows.
    """
    if not plan.traits.learns:
        return _build(plan, store, log)
    chosen, settled = choose(plan, store, log, found)
    return fit_chosen(chosen, store, log, settled, held_out)


def fit_chosen(
    plan: Plan, store: RowStore, log: Log, found: SearchResult, held_out: Future[HeldOut] | None = None
) -> Model:
    """Fit the chosen settings to rows that are counted, and calibrate on held-out rows, unless another fit does."""
    own = held_out is None and found.held_out is None
    held_out = held_out or Future()
    if found.held_out is not None:
        held_out.set_result(found.held_out)
    log.settled(found, held_out)
    estimator, kept, selected = plan.make(found.best.settings), None, None
    made = _hold_out(plan, store, log, found, held_out) if own else None
    if made is not None:
        W, b, weights, kept = made.fitted.W, made.fitted.b, made.fitted.weights, made.columns
    else:
        selected = _select(plan, store, log)
        weights = store.feature_weights(plan.features, float(found.best.settings["ratio"]))
        W, b = _fit(estimator, plan, store, weights, log)
    if own and plan.calibrate:
        log.stage("calibrate", "calibrating")
    log.found = found = replace(found, held_out=held_out.result())
    assert found.held_out is not None  # noqa: S101 - for mypy
    calibration = found.held_out.calibration if plan.calibrate else None
    if calibration is not None:
        W, b = scaled(W, b, calibration.scale, float(calibration.shift[0]))  # with a score a class: 0
    card = card_of(plan, store, found, calibration)
    if selected is not None:
        card["selection"] = selected
    columns, computed, computed_weights = fold(store, weights, W, kept)
    model = assemble(columns, plan.features, store.classes, b, bool(plan.calibrate), card)
    if plan.features.hash_bits and store.blocks and isinstance(store, MemoryRows):
        from linnet.explain.weights import name_columns

        model = name_columns(model, store.buffers, np.flatnonzero(store.rows.document_frequency()), NAMED_FEATURES)
    model = replace(model, multilabel=found.best.y.ndim == 2)
    model = replace(model, learned=_learned(plan, estimator, model, store))
    model = _with_decision(plan, model, found.held_out.trial, calibration)
    if computed:
        model = replace(model, computed=computed, computed_weights=computed_weights)
    model = model.with_training_texts(store.training_texts())
    return model if plan.full_precision else model.compact()


def _hold_out(
    plan: Plan, store: RowStore, log: Log, found: SearchResult, held_out: Future[HeldOut]
) -> CalibrationFit | None:
    """Learn the calibration on rows that are held out of a fit like the last one.

    Where that fit is to the rows of the last one it is the last one, and returned. Else it is made beside it, in a thread,
    where that takes little memory, or before it.
    """
    rows = store.search_rows()
    folds = calibration_folds(plan, found, rows) if plan.calibrate else []

    def calibrated(threads: int, on_epoch: OnEpoch | None, last: bool = False) -> CalibrationFit | None:
        try:
            how = (len(store.classes), store.min_df, threads, on_epoch, last)
            made = fit_to_calibrate(plan, found.best.settings, folds, rows, store.blocks, *how) if folds else None
            best = found.best if made is None else made.trial
            soft = None if plan.label_smoothing else best.soft  # smoothed labels are not what is calibrated to
            held_out.set_result(HeldOut(best, calibrate(best, plan.calibrate, soft) if plan.calibrate else None))
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            held_out.set_exception(error)
            return None
        return made

    def stop(_: Epoch, __: Any) -> None:
        if log.interrupted:
            raise KeyboardInterrupt

    if isinstance(store, MemoryRows) and folds and plan.features.select is None:
        plain = not (plan.watch or store.computed or plan.features.hash_bits) and plan.traits.sums == "problem"
        if plain and np.array_equal(folds[0].train, store.final):
            _begin(
                plan.make(found.best.settings), store, None if store.weight is None else store.weight[store.final], log
            )
            made = calibrated(plan.threads, log.epoch, last=True)
            held_out.result()
            log.interrupted |= made is not None and made.fitted.interrupted
            return made
        if plan.threads > 1 and log.on_found is None and rows.n_entries <= AT_ONCE:
            Thread(target=calibrated, args=(1, stop), daemon=True).start()
            return None
    log.interrupted |= calibrated(plan.threads, log.trial if log.on_event else None) is None and bool(folds)
    held_out.result()
    return None


def choose(plan: Plan, store: RowStore, log: Log, found: SearchResult | None = None) -> tuple[Plan, SearchResult]:
    """Count the rows and search the settings; the store ends with the features that were chosen."""
    if found is not None:
        plan = plan.with_settings(found.best.settings)
    _count(plan, store, log)
    plan = plan.with_features(store.features)
    if found is None:
        rows = store.search_rows()
        how = " by R-precision: the share of a row's labels among its best scores" if rows.y.ndim == 2 else ""
        log.stage("search", f"choosing settings on {'dev' if store.n_dev else 'held-out rows'}{how}")
        found = search(plan, rows, store.features, len(store.classes), store.min_df, log)
        chosen = plan.with_settings(found.best.settings)
        if chosen != plan:
            _count(chosen, store, log)
            plan = chosen.with_features(store.features)
        log.chosen(found)
    return plan, found


def _count(plan: Plan, store: RowStore, log: Log) -> None:
    """Count the features; of a given vocabulary those that the rows hold, for naive Bayes the others too."""
    store.count(plan, log)
    if not plan.features.vocabulary:
        return
    fingerprints, _ = features_named(plan.features.vocabulary, store.blocks)
    column = {fingerprint: k for k, fingerprint in enumerate(store.fingerprints.tolist())}
    kept = [column[fingerprint] for fingerprint in fingerprints.tolist() if fingerprint in column]
    if not kept:
        raise DataError("no training text holds a word of the vocabulary; give others, or leave it out")
    numbers = np.full(store.n_columns, -1, dtype=np.int32)
    numbers[np.sort(kept)] = np.arange(len(kept), dtype=np.int32)
    store.keep(numbers)
    if isinstance(store, MemoryRows) and plan.traits.sums == "statistics" and plan.traits.incremental:
        known = set(store.fingerprints.tolist())
        words = zip(plan.features.vocabulary, fingerprints.tolist(), strict=True)
        store.add_unseen([word for word, fingerprint in words if fingerprint not in known])
    log.stage("count", f"vocabulary: {len(kept):,} of {len(fingerprints):,} given features are in the rows")


def _select(plan: Plan, store: RowStore, log: Log) -> dict[str, Any] | None:
    """Keep the columns that tell most of the labels of the rows that are fitted; return what the card says of it."""
    selection = plan.features.select
    if selection is None or not store.blocks:
        return None
    numbers, scores = selection.choose(*one_label_a_row(*store.counts()), len(store.classes))
    ranked = np.argsort(-scores, kind="stable")
    dropped = ranked[numbers[ranked] < 0]
    names = [name.decode() for name in name_array(*store.names(dropped[:10])).to_pylist()]
    best = [[name, score] for name, score in zip(names, scores[dropped[:10]].tolist(), strict=True)]
    store.keep(numbers)
    kept = len(numbers) - len(dropped)
    listed = ", ".join(f"{name!r} {score:.3g}" for name, score in best[:5])
    log.stage(
        "search",
        f"{selection} kept {kept:,} features and dropped {len(dropped):,}, the best of them: {listed or 'none'}",
    )
    return {"select": str(selection), "kept": kept, "dropped": len(dropped), "best_dropped": best}


def _learned(plan: Plan, estimator: Any, model: Model, store: RowStore) -> Learned | None:
    """Return the counts that a counting model goes on from."""
    if not plan.traits.incremental or plan.traits.sums != "statistics" or store.computed or estimator.counted_ is None:
        return None
    counted = Learned(estimator.counted_.rows, estimator.counted_.features)
    return counted.by_slot(None if model.table.hashed else model.table.find(store.fingerprints))


def _begin(model: Any, store: RowStore, weight: Floats | None, log: Log, where: str = "") -> None:
    """Report that the last fit begins, on rows of these weights."""
    log.weight = (store.n_fitted if weight is None else arithmetic.total(weight)) * model.get_params().get("C", 1.0)
    log.stage("fit", f"fitting on {store.n_fitted:,} rows{where}")


def _fit(model: Any, plan: Plan, store: RowStore, weights: FeatureWeights, log: Log) -> Fitted:
    """Fit the chosen settings on all rows."""
    rows = store.fitted()
    _begin(model, store, None if rows is None else rows.weight, log, "" if rows is not None else " in blocks")
    weighting = Weighting.of(model, weights, plan.features, store.blocks)
    if rows is not None:
        found = fit_rows(weighting, model, rows, len(store.classes), plan.threads, log.epoch)
        if hasattr(model, "sweep_"):
            log.stage("fit", f"found the learning rate {model.sweep_.suggestion:.3g}\n{model.sweep_}")
    else:
        blocks = store.in_blocks(weighting, log.epoch)
        found = folded_best(weighting, model, model.fit_blocks(blocks), blocks.on_epoch)
    log.interrupted |= bool(model.interrupted_)
    return found


def _with_decision(plan: Plan, model: Model, best: Trial, calibration: Calibration | None) -> Model:
    """Choose how probabilities become answers, on the held-out scores of the search."""
    scores, truth = finite(best.scores, best.y)
    if calibration is not None:
        scores, model = calibration.scaled(scores), replace(model, curve=calibration.curve)
    decision, about = choose_decision(model, plan.decision, scores, truth)
    return replace(model, decision=decision, card={**model.card, **({"decision": about} if about else {})})


def _build(plan: Plan, store: RowStore, log: Log) -> Model:
    """Build a model that learns nothing from rows; rows judge its settings and calibrate its scores."""
    if isinstance(store, MemoryRows) and store.y.ndim == 2:
        raise LinnetError(f"{plan.name} answers one label a row; rows with several labels are for models that learn")
    if not isinstance(store, MemoryRows):
        raise LinnetError(f"{plan.name} learns nothing from rows: a sample of the data will do; leave out --max-memory")
    log.stage("fit", "building the model")
    tries = combinations(plan.features.grid)
    rows = np.arange(len(store.y)) if store.dev is None else store.dev
    models: list[Model] = []
    trials: list[Trial] = []
    for settings in tries:
        models.append(plan.make(settings).build(store.classes, plan.features))
        scores = np.concatenate([models[-1].scores(buffer, plan.threads) for buffer in store.buffers])[rows]
        right = models[-1].best(scores) == store.y[rows]
        trials.append(Trial(settings, float(right.mean()), right, scores, rows, store.y[rows]))
        log.candidate(trials[-1], len(trials), len(tries))
    best = max(range(len(tries)), key=lambda k: trials[k].accuracy)  # the first of equals
    found, model, b, calibration = SearchResult(trials[best], tuple(trials), 0), models[best], models[best].b, None
    log.chosen(found)
    if plan.calibrate:
        calibration = calibrate(found.best, plan.calibrate)
        b = scaled(model.rows[:, 1:], b, calibration.scale, float(calibration.shift[0]))[1]
    store.features, store.min_df = model.blocks, 1
    store.n_fitted = len(store.y)
    card = card_of(plan, store, found, calibration)
    model = replace(model, b=b, calibrated=bool(plan.calibrate), card={**model.card, **card})
    return _with_decision(plan, model, found.best, calibration)


# ---- From fitted weights to a model: calibrate, choose the decision rule, fill the table, keep names, write the card.


NAMED_FEATURES = 50_000
NamesOf = Callable[[Ints], tuple[Bytes, Ints]]


def calibrate(best: Trial, method: str | bool = True, soft: Floats | None = None) -> Calibration:
    """Learn on held-out scores what makes scores log-odds: a scale, which goes into the weights, and maybe a curve.

    Shifts a class were tried and left out: fitted to few held-out rows a class, they cost accuracy (CLINC150: 0.4 points).
    Where rows have several labels, all cells share one scale and one shift. soft are the weights of rows as each class.
    """
    if best.y.ndim == 2:
        known = np.isfinite(best.scores)
        return Calibration.fit(best.scores[known], best.y[known].astype(np.int32))
    if soft is not None:
        rows, classes = np.nonzero(soft)
        return Calibration.fit(best.scores[rows], classes, soft[rows, classes], shifted=False)
    scores, right = finite(best.scores, best.y)
    if not len(scores):
        return Calibration(1.0, np.zeros(best.scores.shape[1]))
    if isinstance(method, str):
        return fit_calibration(method, scores, right)
    return choose_calibration(scores, right)


def finite(scores: Floats, y: Array) -> tuple[Floats, Array]:
    """Leave out rows of a class that a fold had no row to learn from: naive Bayes gives it the score minus infinity.

    The class stays next to impossible for the other rows of that fold.
    """
    if np.isfinite(scores).all() or y.ndim == 2:
        return scores, y
    own = scores[:, 0] if scores.shape[1] == 1 else scores[np.arange(len(y)), y]
    kept = np.isfinite(own)
    scores, y = scores[kept], y[kept]
    known = np.isfinite(scores)
    low = np.min(scores, axis=1, where=known, initial=0.0)
    return np.where(known, scores, low[:, None] - 30.0), y


@dataclass(frozen=True)
class WeightedColumns:
    """Columns with their weights in the row norm and in each score.

    names gives the names of some columns as bytes and where each begins.
    """

    fingerprints: Hashes
    names: NamesOf
    blocks: Blocks
    norm: Floats32
    W: Floats32


def assemble(
    columns: WeightedColumns, plan: FeaturePlan, classes: tuple[Any, ...], b: Any, calibrated: bool, card: dict[str, Any],
    named: int = NAMED_FEATURES,
) -> Model:  # fmt: skip
    """Put the weights of columns where the lookup finds them, and keep the names of those with the largest weights.

    In hash mode the columns are their own places.
    """
    fingerprints, blocks, norm, W = columns.fingerprints, columns.blocks, columns.norm, columns.W
    head = b if isinstance(b, DenseLayers) else None
    strength = strength_of(W, norm, plan, head)
    if head is not None:
        b = np.zeros(W.shape[1])
    if plan.hash_bits and blocks:
        rows = np.concatenate([norm[:, None], W], axis=1)
        table = FloatTable(np.zeros(0, np.uint64), rows, 64 - plan.hash_bits)
        return Model(classes, blocks, plan.tf, plan.norm, table, b, calibrated=calibrated, card=card, head=head)
    table = FloatTable.of(fingerprints, norm, W)
    top = largest(strength, named)
    name_bytes, name_offsets = columns.names(top)
    return Model(
        classes, blocks, plan.tf, plan.norm, table, b, name_bytes, name_offsets, table.find(fingerprints[top]), calibrated,
        card, head=head,
    )  # fmt: skip


def fold(
    store: RowStore, weights: FeatureWeights, W: Floats32, kept: Ints | None = None
) -> tuple[WeightedColumns, ComputedBlocks, Floats32]:
    """Return the counted columns with those that computed blocks fold into, the computed blocks that stay, their weights.

    kept are the columns that W has, where that is not all of them.
    """
    if kept is not None:
        columns = WeightedColumns(
            store.fingerprints[kept], lambda some: store.names(kept[some]), store.blocks, weights.norm, W
        )
        return columns, (), W[:0]
    n = store.n_columns
    found = [(store.fingerprints, weights.norm, W[:n])]
    names: list[str] = []
    blocks, stay, first = store.blocks, [], n
    for block in store.computed:
        last = first + len(block.columns)
        folded = block.folded(W[first:last])
        if folded is None:
            stay.append((block, W[first:last]))
        else:
            blocks = (*blocks, folded.block)
            found.append((folded.fingerprints, folded.norm, folded.W))
            names += folded.names
        first = last

    def names_of(columns: Ints) -> tuple[Bytes, Ints]:
        return joined_with(store.names(columns[columns < n]), columns, n, names)

    fingerprints, norm, rows = (np.concatenate(p) for p in zip(*found, strict=True)) if len(found) > 1 else found[0]
    columns = WeightedColumns(fingerprints, names_of if names else store.names, blocks, norm, rows)
    return columns, tuple(block for block, _ in stay), np.concatenate([rows[:0], *(part for _, part in stay)])


def strength_of(W: Floats32, norm: Floats32, plan: FeaturePlan, head: DenseLayers | None) -> Floats32:
    """Return how much each feature can do to a score: its largest weight; with a head, what it does alone."""
    if head is None:
        return np.asarray(np.abs(W[:, 0]) if W.shape[1] == 1 else np.abs(W).max(axis=1))
    sums = W.astype(np.float64)
    if plan.norm:
        sums /= np.where(norm > 0, norm, 1)[:, None]
    alone = finish(sums, head) - finish(np.zeros((1, W.shape[1])), head)
    return np.asarray(np.abs(alone).max(axis=1), dtype=np.float32)


def largest(values: Floats32, n: int) -> Ints:
    """Return where the n largest values are, largest first, ties in order of place."""
    if len(values) > n:
        edge = np.partition(values, len(values) - n)[len(values) - n]
        some = np.flatnonzero(values >= edge)
    else:
        some = np.arange(len(values))
    return some[np.argsort(-values[some], kind="stable")[:n]]


def card_of(plan: Plan, store: RowStore, found: SearchResult, calibration: Calibration | None) -> dict[str, Any]:
    """Describe the model. Nothing here may differ between two runs on the same input and seed."""
    from linnet import __version__

    data = store.about()
    data["source"] = source_name(data["source"])
    stream = data.pop("stream", None)
    return {
        "linnet": __version__,
        "data": {
            **data,
            "rows": store.n_rows,
            "rows_fitted": store.n_fitted,
            "rows_dev": store.n_dev,
            "classes": {str(c): int(k) for c, k in zip(store.classes, store.class_rows, strict=True)},
        },
        "settings": settings_of(plan, store.features, store.min_df, found.best.settings),
        "choice": {
            "folds": found.folds,
            "rows": len(found.best.rows),
            "accuracy": found.best.accuracy,
            "metric": found.best.metric,
            "tried": [{**_plain(t.settings), "accuracy": t.accuracy, "rows": len(t.rows)} for t in found.tried],
        },
        "calibration": calibration.to_dict() if calibration else None,
        **({"stream": stream} if stream else {}),
    }


def settings_of(plan: Plan, blocks: AnyBlocks, min_df: int, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a fit as the card has them."""
    features, weights = plan.features, plan.class_weight
    weights = {str(k): v for k, v in weights.items()} if isinstance(weights, Mapping) else weights
    return {
        "model": plan.name,
        "features": describe(blocks),
        "tf": features.tf,
        "idf": features.idf,
        "norm": features.norm,
        "min_df": min_df,
        "max_df": features.max_df,
        "max_features": features.max_features,
        **({} if features.select is None else {"select": str(features.select)}),
        **({"vocabulary": len(features.vocabulary)} if features.vocabulary else {}),
        "hash_bits": features.hash_bits,
        "class_weight": weights,
        **({"label_smoothing": plan.label_smoothing} if plan.label_smoothing else {}),
        **({"full_precision": True} if plan.full_precision else {}),
        "seed": plan.seed,
        **_plain(plan.given),
        **_plain(chosen),
    }


def source_name(source: str) -> str:
    """Return a source without its folder: the same file gives the same model wherever it lies.

    >>> source_name("/data/reviews.csv"), source_name("data/parts (8 files)"), source_name("hub:someone/reviews")
    ('reviews.csv', 'parts (8 files)', 'hub:someone/reviews')
    """
    return source if source.startswith("hub:") else PurePath(source).name


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as JSON can hold them: objects and long lists as the beginning of their text."""
    plain = str | int | float | bool | None
    return {k: v if isinstance(v, plain) else f"{v!s:.80}" for k, v in settings.items()}


# ---- Choose the decision rule of a model on held-out scores: thresholds, and what abstaining goes by.
#
# Where rows may have several labels, a label's threshold is the best by F1, label by label (SCut). Where a label has few held-out rows
# its own best threshold is noise; it gets the one that is best for all cells together (Fan and Lin, A study on threshold
# selection for multi-label classification, 2007). A wanted precision or recall of a class sets its threshold instead: the lowest that
# reaches the precision, the highest that reaches the recall.


FEWEST = 5  # held-out rows with a label, for a threshold of its own
SETTINGS = ("threshold", "precision", "recall", "cost", "abstain", "answer")


def choose_decision(
    model: Model, wanted: Mapping[str, Any], scores: Floats, y: Array
) -> tuple[Decision, dict[str, Any]]:
    """Return the rule that was asked for, and what it reached on held-out rows: their scores and class numbers (or indicators)."""
    for name in wanted:
        if name not in SETTINGS:
            raise LinnetError(nearest("decision", name, SETTINGS))
    several = y.ndim == 2
    truth = y.astype(bool) if several else y[:, None] == np.arange(len(model.classes))
    P = model.proba(scores)
    base = Decision(thresholds=np.asarray(sigmoid(choose_thresholds(scores, truth)))) if several else None
    threshold: Any = wanted.get("threshold")
    found: dict[str, Any] = {}
    for metric in ("precision", "recall"):
        for label, least in (wanted.get(metric) or {}).items():
            number = label_number(model.classes, label)
            cut, reached = _cut_for(metric, label, least, P[:, number], truth[:, number])
            threshold = {**(threshold if isinstance(threshold, Mapping) else {}), label: cut}
            found[str(label)] = {"wanted": {metric: float(least)}, "threshold": cut, **reached, "rows": len(P)}
    rule = Decision.of(model.classes, base, threshold=threshold, cost=wanted.get("cost"))
    about: dict[str, Any] = {"thresholds": found} if found else {}
    if several:
        if wanted.get("abstain") or wanted.get("answer"):
            raise LinnetError("abstain and answer are for one label a row; several labels have thresholds")
        return rule, about
    if not len(P):
        return rule, about
    best = rule.answers(P).best
    own = P[np.arange(len(P)), y]
    confidence = np.where(best < 0, -1.0, P[np.arange(len(P)), np.maximum(best, 0)])
    held_out = ConfidenceTable.of(confidence, best == y, own)
    rule = Decision(rule.thresholds, rule.costs, held_out=held_out)
    rule = Decision.of(model.classes, rule, abstain=wanted.get("abstain"), answer=wanted.get("answer"))
    if rule.sure is not None:
        answered = confidence >= rule.least
        about |= {
            "abstain": rule.abstain, "answer": rule.answer, "least_probability": rule.least, "rows": len(P),
            "answered": float(answered.mean()), "accuracy": float((best == y)[answered].mean()) if answered.any() else None,
        }  # fmt: skip
    return rule, about


def _cut_for(metric: str, label: Any, wanted: Any, p: Floats, truth: Bools) -> tuple[float, dict[str, float]]:
    """Return the probability from which a class reaches a precision or recall on held-out rows, and what both come to."""
    if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not 0 < wanted <= 1:
        raise LinnetError(f"{metric} of {shown(label, 40)} must be above 0 and at most 1, got {wanted!r}")
    ranked, hits, last = _ranked(p, truth)
    called = last + 1
    values = {"precision": hits / called, "recall": hits / max(1, int(truth.sum()))}
    reached = np.flatnonzero(values[metric] >= wanted)
    if not len(reached):
        raise LinnetError(
            f"{metric} {wanted:g} of {shown(label, 40)} is not reached on the {len(p):,} held-out rows, whatever the threshold: at most "
            f"{values[metric].max():.4f}; ask for less"
        )
    k = int(reached[-1] if metric == "precision" else reached[0])
    below = ranked[last[k] + 1] if last[k] + 1 < len(ranked) else 0.0
    cut = float((ranked[last[k]] + below) / 2.0)
    return (cut if cut > below else float(ranked[last[k]])), {name: float(v[k]) for name, v in values.items()}


def _ranked(scores: Floats, truth: Bools) -> tuple[Floats, Ints, Ints]:
    """Return scores, the highest first, and the places of the last of equal scores, with the true rows up to each."""
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.append(np.diff(scores[order]) < 0.0, True))
    return scores[order], np.cumsum(truth[order], dtype=np.int64)[last], last


def best_threshold(scores: Floats, truth: Bools) -> float:
    """Return the score above which calling a row positive gives the highest F1; of equals, that which calls fewest.

    >>> best_threshold(np.array([3.0, 1.0, 0.0, -2.0]), np.array([True, True, False, False]))
    0.5
    """
    ranked, hits, last = _ranked(scores, truth)
    k = last[int((2.0 * hits / (last + 1 + int(truth.sum()))).argmax())]
    return float((ranked[k] + ranked[k + 1]) / 2.0) if k + 1 < len(ranked) else float(ranked[k]) - 1.0


def choose_thresholds(scores: Floats, truth: Bools) -> Floats:
    """Return a threshold for each label, (n_labels,), from scores and labels of held-out rows, (n_rows, n_labels)."""
    known = np.isfinite(scores)
    common = best_threshold(scores[known], truth[known]) if truth[known].any() else 0.0
    return np.array(
        [
            best_threshold(scores[:, c], truth[:, c]) if truth[:, c].sum() >= FEWEST and known[:, c].all() else common
            for c in range(scores.shape[1])
        ]
    )
