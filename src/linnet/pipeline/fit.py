"""Fit a plan to a row store: count, search, select, fit, calibrate, assemble."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.errors import DataError, LinnetError
from linnet.features.counting import Names
from linnet.features.plan import FeatureWeights
from linnet.features.selection import SelectionReport
from linnet.features.vectorizer import features_named
from linnet.model.calibration import FittedCalibration
from linnet.model.learned import Learned
from linnet.model.model import Model
from linnet.pipeline.assemble import NAMED_FEATURES, assemble, calibrate, card_of, choose_decision, finite, fold
from linnet.pipeline.crossval import Fitted, Weighting, fit_rows, folded_best, one_label_a_row
from linnet.pipeline.events import Log
from linnet.pipeline.memory import MemoryRows
from linnet.pipeline.plan import Plan
from linnet.pipeline.rows import RowStore
from linnet.pipeline.search import SearchResult, Trial, search
from linnet.solvers.network import scaled


def fit(plan: Plan, store: RowStore, log: Log, found: SearchResult | None = None) -> Model:
    """Return the fitted model. found is what the search would come to, where that is known already."""
    if not plan.traits.learns:
        return _build(plan, store, log)
    plan, found = choose(plan, store, log, found)
    n_classes = len(store.classes)
    selected = _select(plan, store, log)
    weights = store.feature_weights(plan.features, float(found.best.settings["ratio"]))
    estimator = plan.make(found.best.settings)
    W, b = _fit(estimator, plan, store, weights, log)
    calibration = None
    if plan.calibrate:
        calibration = found.calibration
        if calibration is None:
            log.stage("calibrate", "calibrating")
            best = found.for_calibration
            soft = None if plan.label_smoothing else best.soft  # smoothed labels are not what is calibrated to
            calibration = calibrate(best, n_classes, plan.calibrate, soft)
            log.found = replace(found, calibration=calibration)
        W, b = scaled(W, b, calibration.linear.scale, float(calibration.linear.shift[0]))  # with a score a class: 0
    card = card_of(plan, store, found, calibration)
    if selected is not None:
        card["selection"] = selected.to_dict()
    columns, computed, computed_weights = fold(store, weights, W)
    model = assemble(columns, plan.features, store.classes, b, bool(plan.calibrate), card)
    if plan.features.hash_bits and store.blocks and isinstance(store, MemoryRows):
        from linnet.explain.weights import name_columns

        model = name_columns(model, store.buffers, np.flatnonzero(store.rows.document_frequency()), NAMED_FEATURES)
    model = replace(model, multilabel=found.best.y.ndim == 2)
    model = replace(model, learned=_learned(plan, estimator, model, store))
    model = _with_decision(plan, model, found.for_calibration, calibration)
    if computed:
        model = replace(model, computed=computed, computed_weights=computed_weights)
    model = model.with_training_texts(store.training_texts())
    return model if plan.full_precision else model.compact()


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
    log.found = found
    return plan, found


def _count(plan: Plan, store: RowStore, log: Log) -> None:
    """Count the features; of a given vocabulary those that the rows hold."""
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
    log.stage("count", f"vocabulary: {len(kept):,} of {len(fingerprints):,} given features are in the rows")


def _select(plan: Plan, store: RowStore, log: Log) -> SelectionReport | None:
    """Keep the columns that tell most of the labels of the rows that are fitted."""
    selection = plan.features.select
    if selection is None or not store.blocks:
        return None

    def names(columns: npt.NDArray[np.int64]) -> list[str]:
        data, offsets = store.names(columns)
        return list(Names(data, offsets[:-1], np.diff(offsets), np.zeros(len(columns), np.uint8)))

    numbers, scores = selection.choose(*one_label_a_row(*store.counts()), len(store.classes))
    report = SelectionReport.of(selection, numbers, scores, names)
    store.keep(numbers)
    log.stage("search", str(report))
    return report


def _learned(plan: Plan, estimator: Any, model: Model, store: RowStore) -> Learned | None:
    """Return the counts that a counting model goes on from."""
    if not plan.traits.incremental or plan.traits.sums != "statistics" or store.computed or model.multilabel:
        return None
    counted = Learned.of(estimator.counted_.rows, estimator.counted_.features, (block.weight for block in store.blocks))
    return counted.by_slot(model.table.find(store.fingerprints) if len(model.slots) else None)


def _fit(model: Any, plan: Plan, store: RowStore, weights: FeatureWeights, log: Log) -> Fitted:
    """Fit the chosen settings on all rows."""
    rows = store.fitted()
    total = store.n_fitted if rows is None or rows.weight is None else arithmetic.total(rows.weight)
    log.weight = total * model.get_params().get("C", 1.0)
    log.stage("fit", f"fitting on {store.n_fitted:,} rows" + ("" if rows is not None else " in blocks"))
    weighting = Weighting.of(model, weights, plan.features, store.blocks)
    if rows is not None:
        return fit_rows(weighting, model, rows, len(store.classes), plan.threads, log.epoch)
    blocks = store.in_blocks(weighting, log.epoch)
    return folded_best(weighting, model, model.fit_blocks(blocks), blocks.on_epoch)


def _with_decision(plan: Plan, model: Model, best: Trial, calibration: FittedCalibration | None) -> Model:
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
    grid = plan.features.grid
    tries = [
        dict(zip([name for name, _ in grid], values, strict=True))
        for values in product(*(values for _, values in grid))
    ]
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
        calibration = calibrate(found.best, len(store.classes), plan.calibrate)
        b = scaled(model.rows[:, 1:], b, calibration.linear.scale, float(calibration.linear.shift[0]))[1]
    store.features, store.min_df = model.blocks, 1
    store.n_fitted = len(store.y)
    card = card_of(plan, store, found, calibration)
    model = replace(model, b=b, calibrated=bool(plan.calibrate), card={**model.card, **card})
    return _with_decision(plan, model, found.best, calibration)
