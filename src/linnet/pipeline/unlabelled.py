"""Texts without labels: expectation maximisation beside labelled rows, and labels from word lists alone.

Naive Bayes with unlabelled texts, by expectation maximisation.

Start     fit to the labelled rows
E step    the probability of each class for each unlabelled text: a soft label
M step    fit to the labelled rows and the unlabelled texts, these with their soft labels and a weight of 1 at most
Stop      no text changes its likeliest class, or after MOST steps

Whether it helps depends on the data: where the classes are not what the words mostly divide the texts by, it does harm. So
the weight of the unlabelled texts is chosen on held-out labelled rows, and 0 is one of the choices. Single words and
alpha = 0.1 are then the default: with many features and much smoothing the largest class would take all texts.

Paper     Nigam, McCallum, Thrun, Mitchell: Text Classification from Labeled and Unlabeled Documents using EM, 2000.

Labels from word lists: a few words a class instead of labelled rows.

1. Word vectors are learned from the texts themselves. The words of a class have a centre, and a text is near or far from it.
2. A text scores for a class by its words of the list, and by how near it is to the centre. The 30 % with the clearest
   winner are labelled.
3. A model is trained on them; the 70 % of all texts that it is surest of, with the labels it gives, are the training rows
   (self-training, Yarowsky 1995).

Nothing here knows a true label, so no score says how right the labels are: have a person label some rows for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Floats, Ints
from linnet.data.wordlists import word_lists
from linnet.errors import DataError, LinnetError
from linnet.features.blocks import as_blocks
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.lists import Lists
from linnet.features.vectors import Vectors, learn_vectors
from linnet.model.model import Model
from linnet.pipeline.crossval import Fitted, FittedRows, Weighting, correct, fit_rows
from linnet.pipeline.events import Log
from linnet.pipeline.fit import choose, fit, fit_chosen
from linnet.pipeline.plan import Plan
from linnet.pipeline.rows import MemoryRows
from linnet.pipeline.search import HeldOut, SearchResult, Trial, axes_of, clearly_better
from linnet.solvers.losses import probabilities

if TYPE_CHECKING:
    from concurrent.futures import Future

    from linnet.classifier import TextClassifier

MOST = 10
WEIGHTS = (0.1, 1.0)  # of an unlabelled text beside a labelled one
ALPHA = 0.1


def fit_em(
    plan: Plan, labelled: MemoryRows, unlabelled: Any, log: Log, found: SearchResult | None = None,
    held_out: Future[HeldOut] | None = None,
) -> Model:  # fmt: skip
    """Fit naive Bayes to labelled rows and texts without labels; found and held_out are work that another fit does."""
    if labelled.y.ndim == 2:
        raise LinnetError("unlabelled texts help naive Bayes with one label a row; leave them out, or use --model svm")
    if found is not None and not found.unlabelled:
        return fit(plan, labelled, log, found, held_out)
    texts = text_buffers(unlabelled)
    if found is None:
        log.stage("search", f"without the {sum(map(len, texts)):,} unlabelled texts")
        chosen, plain = choose(plan, labelled, log)
        log.stage("search", "with them")
    em = _EM(plan, labelled, texts, log)
    if found is None:
        found = em.choose_weight(plain, log)
        if not found.unlabelled:
            return fit_chosen(chosen, labelled, log, found)
    em.run(labelled.final, found.unlabelled)
    em.store.set_soft_labels(em.soft)
    model = fit_chosen(em.plan, em.store, log, found, held_out)
    return replace(model, card={**model.card, "unlabelled": {"texts": len(em.texts), "weight": found.unlabelled}})


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

    def __init__(self, plan: Plan, labelled: MemoryRows, texts: list[TextBuffer], log: Log) -> None:
        self.plan, self.n_classes, n = _for_em(plan), len(labelled.classes), len(labelled.y)
        axes = axes_of(self.plan.features, many=False)
        self.settings = {name: values[0] for name, values in axes if name != "features"}
        self.texts = np.arange(n, n + sum(map(len, texts)))
        self.soft = np.full((n + len(self.texts), self.n_classes), 1.0 / self.n_classes)
        given = np.ones(n) if labelled.weight is None else labelled.weight
        right = labelled.y[:, None] == np.arange(self.n_classes)
        self.soft[:n] = given if given.ndim == 2 else given[:, None] * right
        self.store = labelled.with_texts(texts)
        self.store.count(self.plan, log)
        self.plan, self.rows = self.plan.with_features(self.store.features), self.store.rows

    def choose_weight(self, plain: SearchResult, log: Log) -> SearchResult:
        """Choose the weight of unlabelled texts on the held-out rows of the search: it must be clearly better than without."""
        y, folds, best = self.store.y, plain.judged_on, plain
        held = np.concatenate([fold.held_out for fold in folds])
        for weight in WEIGHTS:
            scores = np.concatenate([self.scores(self.run(fold.train, weight), fold.held_out) for fold in folds])
            right = correct(scores, y[held])
            trial = Trial(self.settings, float(right.mean()), right, scores, held, y[held])
            log.candidate(replace(trial, settings={"unlabelled": weight}), 1, len(WEIGHTS))
            if clearly_better(trial, best.best):
                best = SearchResult(trial, (*best.tried, trial), len(folds), judged_on=folds, unlabelled=weight)
        return best

    def run(self, train: Ints, weight: float) -> tuple[Weighting, Fitted]:
        """Fit to some labelled rows and all texts. The soft labels of the texts are those of the last step."""
        found, before = self._fit(train, self.soft), None
        for _ in range(MOST):
            P = probabilities(self.scores(found, self.texts))
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


# ---- labels from word lists

CLEAR, SURE = 0.3, 0.7  # shares of the texts
HIT = 2.0  # a word of the list, in standard deviations of nearness


@dataclass(frozen=True)
class SeedLabels:
    """The texts that were labelled, by number, and their labels; how many held words of one class, and were clear."""

    rows: Ints
    labels: list[str]
    with_words: int
    clear: int


def label_by_seeds(texts: Sequence[str], lists: Any, clf: TextClassifier) -> SeedLabels:
    """Label texts by word lists: a file or a dict, see ``linnet.data.wordlists``; clf has the settings of the model."""
    seeds: dict[str, list[str]] = {}
    for entry in word_lists(lists):
        if entry.label is None:
            raise DataError("seeds are words of classes: write word,label, a line each")
        seeds.setdefault(str(entry.label), []).append(entry.text)
    if len(seeds) < 2:
        raise DataError("seeds need two classes or more, with a few words each")
    pieces = text_buffers(texts)
    block = Lists(seeds)
    classes = [name.removeprefix("list ").removesuffix(" entries") for name in block.columns[::2]]
    hits = np.concatenate([block.values_of(piece)[:, ::2] for piece in pieces]) > 0
    missing = [name for k, name in enumerate(classes) if not hits[:, k].any()]
    if missing:
        raise DataError(f"no text has a word of {', '.join(map(repr, missing))}; give it other words")
    scores = HIT * hits + _nearness(pieces, [seeds[name] for name in classes])
    order = np.sort(scores, axis=1)
    margin = order[:, -1] - order[:, -2]
    clear = np.sort(np.argsort(-margin, kind="stable")[: max(2 * len(classes), int(CLEAR * len(texts)))])
    winner = scores.argmax(axis=1)
    first = type(clf)(**clf.get_params(deep=False)).fit([texts[k] for k in clear], [classes[winner[k]] for k in clear])
    proba = first.predict_proba(texts)
    sure = np.sort(np.argsort(-proba.max(axis=1), kind="stable")[: max(len(clear), int(SURE * len(texts)))])
    labels = [str(first.classes_[k]) for k in proba[sure].argmax(axis=1)]
    return SeedLabels(sure, labels, int((hits.sum(axis=1) == 1).sum()), len(clear))


def _nearness(pieces: list[TextBuffer], seeds: list[list[str]]) -> Floats:
    """Return how near each text is to the words of each class, in standard deviations."""
    block = Vectors(learn_vectors(pieces))
    known = block.word_vectors
    number = {word: k for k, word in enumerate(known.words)}
    E = _unit(known.E.astype(np.float64))
    centres = np.zeros((len(seeds), E.shape[1]))
    for k, words in enumerate(seeds):
        found = [number[w.lower()] for w in words if w.lower() in number]
        if found:
            centres[k] = arithmetic.mean(E[found], axis=0)
    values = np.concatenate([block.values_of(piece) for piece in pieces])
    texts, classes = (_unit(X - arithmetic.mean(X, axis=0)) for X in (values, centres))
    near = arithmetic.matmul(texts, classes.T)
    spread = arithmetic.norm(near.ravel()) / np.sqrt(near.size)
    return np.asarray(near / spread if spread > 0 else near)


def _unit(X: Floats) -> Floats:
    """Return rows of length 1."""
    size = arithmetic.norm(X, axis=1)[:, None]
    return np.asarray(X / np.where(size > 0, size, 1.0))
