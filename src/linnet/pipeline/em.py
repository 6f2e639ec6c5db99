"""Naive Bayes with unlabelled texts, by expectation maximisation.

Start     fit to the labelled rows
E step    the probability of each class for each unlabelled text: a soft label
M step    fit to the labelled rows and the unlabelled texts, these with their soft labels and a weight of 1 at most
Stop      no text changes its likeliest class, or after MOST steps

Whether it helps depends on the data: where the classes are not what the words mostly divide the texts by, it does harm. So
the weight of the unlabelled texts is chosen on held-out labelled rows, and 0 is one of the choices. Single words and
alpha = 0.1 are then the default: with many features and much smoothing the largest class would take all texts.

Paper     Nigam, McCallum, Thrun, Mitchell: Text Classification from Labeled and Unlabeled Documents using EM, 2000.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linnet.array_types import Floats, Ints
from linnet.errors import LinnetError
from linnet.features.blocks import as_blocks
from linnet.features.buffers import text_buffers
from linnet.model.model import Model
from linnet.pipeline.crossval import Fitted, FittedRows, Weighting, correct, fit_rows
from linnet.pipeline.events import Log
from linnet.pipeline.fit import choose, fit
from linnet.pipeline.plan import Plan
from linnet.pipeline.rows import MemoryRows
from linnet.pipeline.search import SearchResult, Trial, axes_of, clearly_better
from linnet.solvers.losses import sigmoid, softmax

MOST = 10
WEIGHTS = (0.1, 1.0)  # of an unlabelled text beside a labelled one
ALPHA = 0.1


def fit_em(plan: Plan, labelled: MemoryRows, unlabelled: Any, log: Log, found: SearchResult | None = None) -> Model:
    """Fit naive Bayes to labelled rows and texts without labels; found is the end of the search, where it is known."""
    if labelled.y.ndim == 2:
        raise LinnetError("unlabelled texts help naive Bayes with one label a row; leave them out, or use --model svm")
    if found is None:
        log.stage("search", f"without the {sum(map(len, text_buffers(unlabelled))):,} unlabelled texts")
        found = choose(plan, labelled, log)[1]
        log.stage("search", "with them")
        found = _choose_weight(_EM(plan, labelled, unlabelled, log), found, log)
    if not found.unlabelled:
        return fit(plan, labelled, log, found)
    em = _EM(plan, labelled, unlabelled, log)
    model = fit(em.plan, em.with_soft_labels(found.unlabelled), log, found)
    return replace(model, card={**model.card, "unlabelled": {"texts": em.n_texts, "weight": found.unlabelled}})


def _choose_weight(em: _EM, plain: SearchResult, log: Log) -> SearchResult:
    """Choose the weight of unlabelled texts on the held-out rows of the search: it must be clearly better than without."""
    y, folds, best = em.labelled.y, plain.judged_on, plain
    held = np.concatenate([fold.held_out for fold in folds])
    for weight in WEIGHTS:
        scores = np.concatenate([em.scores(em.run(fold.train, weight), fold.held_out) for fold in folds])
        right = correct(scores, y[held])
        trial = Trial(em.settings, float(right.mean()), right, scores, held, y[held])
        log.candidate(replace(trial, settings={"unlabelled": weight}), 1, len(WEIGHTS))
        if clearly_better(trial, best.best):
            best = SearchResult(trial, (*best.tried, trial), len(folds), judged_on=folds, unlabelled=weight)
    return best


def _for_em(plan: Plan) -> Plan:
    """Return the plan with single words and little smoothing, unless others are asked for."""
    features, params = plan.features, dict(plan.params)
    if features.features is None:
        features = replace(features, features=as_blocks("words:1"))
    if "alpha" not in plan.given:
        params["alpha"] = ALPHA
        features = replace(features, grid=tuple((name, values) for name, values in features.grid if name != "alpha"))
    return replace(plan, features=features, params=params)


class _EM:
    """Labelled rows and unlabelled texts counted together, the texts behind the rows."""

    def __init__(self, plan: Plan, labelled: MemoryRows, unlabelled: Any, log: Log) -> None:
        self.plan, self.labelled, self.n_classes = _for_em(plan), labelled, len(labelled.classes)
        self.settings = {
            name: values[0] for name, values in axes_of(self.plan.features, many=False) if name != "features"
        }
        texts, n = text_buffers(unlabelled), len(labelled.y)
        self.n_texts = sum(map(len, texts))
        self.texts = np.arange(n, n + self.n_texts)
        self.soft = np.full((n + self.n_texts, self.n_classes), 1.0 / self.n_classes)
        given = np.ones(n) if labelled.weight is None else labelled.weight
        self.soft[:n] = (
            given if given.ndim == 2 else given[:, None] * (labelled.y[:, None] == np.arange(self.n_classes))
        )
        equal = np.full(self.soft.shape, 1.0 / self.n_classes)  # until the steps have made soft labels
        self.store = MemoryRows(self.plan, [*labelled.buffers, *texts], equal)
        self.store.classes, self.store.source = labelled.classes, labelled.source
        self.store.count(self.plan, log)
        self.rows = self.store.rows

    def run(self, train: Ints, weight: float) -> tuple[Weighting, Fitted]:
        """Fit to some labelled rows and all texts. The soft labels of the texts are those of the last step."""
        found, before = self._fit(train, self.soft), None
        for _ in range(MOST):
            S = self.scores(found, self.texts)
            P = np.asarray(softmax(S, axis=1), np.float64)
            if S.shape[1] == 1:
                P = np.stack([sigmoid(-S[:, 0]), sigmoid(S[:, 0])], axis=1)
            self.soft[self.texts] = weight * P
            best = P.argmax(axis=1)
            if before is not None and np.array_equal(best, before):
                break
            found, before = self._fit(np.concatenate([train, self.texts]), self.soft), best
        return found

    def _fit(self, numbers: Ints, soft: Floats) -> tuple[Weighting, Fitted]:
        rows, weight = self.rows.take(numbers), soft[numbers]
        y, plan = weight.argmax(axis=1).astype(np.int32), self.plan.features
        model = self.plan.make(self.settings)
        weights = plan.weights(rows, y, self.n_classes, float(self.settings["ratio"]), weight)
        weighting = Weighting.of(model, weights, plan, self.store.blocks)
        return weighting, fit_rows(weighting, model, FittedRows(rows, y, weight), self.n_classes, self.plan.threads)

    def scores(self, found: tuple[Weighting, Fitted], numbers: Ints) -> Floats:
        """Return the scores of some rows or texts."""
        weighting, (W, b) = found
        return weighting.scores(self.rows.take(numbers), W, b)

    def with_soft_labels(self, weight: float) -> MemoryRows:
        """Return the rows and the texts with the soft labels that the steps end with, for the last fit."""
        self.run(self.labelled.final, weight)
        store, n = self.store, len(self.labelled.y)
        store.weight = store.given_weight = self.soft
        store.y = self.soft.argmax(axis=1).astype(np.int32)
        store.y[:n] = self.labelled.y
        store.n_rows, store.n_dev, store.class_rows = n, self.labelled.n_dev, self.labelled.class_rows
        store.final = np.concatenate([self.labelled.final, self.texts])
        store.n_fitted = len(store.final)
        return store
