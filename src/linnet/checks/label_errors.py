"""Suspected label errors: rows whose label a model that never saw them disagrees with, and the words that made it.

Every row is judged by a model fitted on the other folds. Confident learning then asks which other label the row looks
like: with t_k the mean probability of class k over the rows labelled k, a row labelled y is suspected where some class
k != y reaches t_k and is the best of those that do. Rows are ranked by how far the best other class lies above their own.

Reference: Northcutt, Jiang, Chuang: Confident Learning: Estimating Uncertainty in Dataset Labels, 2021.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnet import models
from linnet.array_types import Array, Bools, Floats, Ints, Ints32
from linnet.checks.checked_data import CheckedData, Finding, excerpt, percent
from linnet.data.splitting import fold_indices
from linnet.draw.terminal import count as counted
from linnet.features.blocks import Blocks, Chars, Words
from linnet.features.buffers import text_buffers
from linnet.features.counting import Seen, names_of, thread_count
from linnet.features.derived import Texts
from linnet.features.plan import SHORT_DOCUMENT
from linnet.models.svm import LinearSVM
from linnet.pipeline.crossval import CrossValidation, Fold, Scored, correct, strata

SHOWN = 20
MOST_WEIGHTS = 20_000_000  # of one fold: columns times outputs
WORK = ((10, 3e7), (5, 6e7), (3, 1e8))  # folds, and the entries times outputs times folds they are worth
CHARS_UP_TO = 4_000_000  # bytes of text: beyond this characters are left out
LEAST = 20  # different rows
MOST_CLASSES = 300
CHANCE = 0.05  # of the way from always giving the commonest label to being right: no better than guessing
WEAK = 0.3  # of the way from always giving the commonest label to being right: a weaker model cannot judge
WEAK_SETS = 0.5  # the same where rows may have several labels: each of them can be doubted


def label_errors(m: CheckedData) -> Finding:
    """Rank the rows by how surely a model that never saw them gives them another label, one more or one less."""
    labels, y = m.data.labels, m.y
    if len(np.unique(m.exact[: len(m)])) < LEAST or np.sum(np.bincount(m.codes) >= 2) < 2:
        return Finding("label-errors", "ok", "too few different rows to judge labels by a model")
    if len(labels) > min(MOST_CLASSES, len(m) // 4):
        return Finding("label-errors", "ok", f"{len(labels):,} labels for {len(m):,} rows are too many to judge")
    plan = _HeldOutFits(m)
    scores, folds = plan.run()
    doubts = _Doubts(scores, y, labels)
    listed = doubts.ranking[doubts.suspected[doubts.ranking]]
    shares, what, least = (np.bincount(y), "rows", WEAK) if y.ndim == 1 else (y.sum(axis=0), "labels", WEAK_SETS)
    accuracy, base = (float(correct(S, y).mean()) for S in (scores, np.tile(shares, (len(m), 1))))
    skill = (accuracy - base) / (1 - base) if base < 1 else float(accuracy >= base)
    found = listed if skill >= least else listed[:0]
    details = {
        "suspects": len(found), "out_of_fold_accuracy": accuracy, "folds": len(folds), "model": plan.name,
        "features": "+".join(map(str, plan.blocks)),
    }  # fmt: skip
    names, ranking = doubts.suggested, doubts.ranking
    arrays = {"ranking": ranking, "suspects": found, "suggested": names, "confidence": doubts.confidence}
    if skill < CHANCE:
        says = (
            f"the labels cannot be told from the texts: a model that did not see them is right on {percent(accuracy)} of {what}, and "
            f"always giving the commonest label on {percent(base)}"
        )
        advice = "make sure that the right column is taken for the label (--label COL)"
        return Finding("label-errors", "warning", says, advice=advice, details=details, arrays=arrays)
    if not len(listed):
        says = "no label looks wrong to a model that did not see it"
        return Finding("label-errors", "ok", says, details=details, arrays=arrays)
    if skill < least:
        says = (
            f"a model that did not see them is right on {percent(accuracy)} of {what} only (the commonest label: "
            f"{percent(base)}): too weak to suspect labels"
        )
        return Finding("label-errors", "note", says, details=details, arrays=arrays)
    shown = listed[:SHOWN]
    words = plan.explain(folds, shown, doubts)
    examples = tuple(
        {
            "row": int(m.source_rows[row]), "label": m.label(row), "suggested": names[row],
            "confidence": round(float(doubts.confidence[row]), 4), "words": words[row], "text": excerpt(m.text(row), 120),
        }
        for row in shown.tolist()
    )  # fmt: skip
    share = len(listed) / len(m)
    says = (
        f"{counted(len(listed), 'label')} may be wrong ({percent(share)}): a model that did not see them, right on "
        f"{percent(accuracy)} of {what}, is sure of another"
    )
    advice = "read the top of the list (--suspects F.csv writes all of it) and mend what is wrong"
    level = "warning" if share >= 0.03 else "note"
    return Finding("label-errors", level, says, len(listed), share, advice, examples, details, arrays)


class _Doubts:
    """What held-out scores say against the labels of each row.

    ``ranking`` has the rows, the most surely wrong first; ``suggested`` are labels, with ``confidence`` in them. ``about`` is the label
    that is too many or missing, and ``sign`` 1 where it is missing.
    """

    def __init__(self, scores: Floats, y: Array, labels: list[str]) -> None:
        """Ask of each row which label it has; of several labels, of each of them whether it has it."""
        rows = np.arange(len(y))
        if y.ndim == 1:
            proba = _probabilities(scores, y)
            self.about, self.suspected = confident(proba, y)
            self.suggested, self.confidence = np.array(labels, dtype=object)[self.about], proba[rows, self.about]
            margin, self.sign = _margin(proba, y), np.ones(len(y), np.int64)
        else:
            cells = y.ravel().astype(np.int32)
            proba = _probabilities(scores.reshape(-1, 1), cells)
            wrong = confident(proba, cells)[1].reshape(y.shape)
            margins = np.where(wrong, _margin(proba, cells).reshape(y.shape), np.inf)
            margin, self.about = margins.min(axis=1), margins.argmin(axis=1)
            self.suspected = np.asarray(wrong.any(axis=1))
            self.suggested = np.array(["|".join(np.array(labels)[row]) for row in y ^ wrong], dtype=object)
            self.confidence = 1.0 - proba[np.arange(len(cells)), cells].reshape(y.shape)[rows, self.about]
            self.sign = np.where(y[rows, self.about], -1, 1)
        self.ranking = np.argsort(margin, kind="stable")


def _margin(proba: Floats, codes: Ints32) -> Floats:
    """Return how far the own class of each row lies above the best other one, in logarithms."""
    own = np.arange(proba.shape[1]) == codes[:, None]
    logs = np.log(np.maximum(proba, 1e-300))
    return np.asarray(logs[own] - np.where(own, -np.inf, logs).max(axis=1))


def confident(proba: Floats, codes: Ints32) -> tuple[Ints, Bools]:
    """Return the label each row looks like, and whether that is another than its own.

    >>> P = np.array([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.95, 0.05]])
    >>> confident(P, np.array([0, 0, 1, 1], dtype=np.int32))
    (array([0, 0, 1, 0]), array([False, False, False,  True]))
    """
    n_classes = proba.shape[1]
    sizes = np.maximum(np.bincount(codes, minlength=n_classes), 1)
    threshold = np.array([proba[codes == k, k].sum() for k in range(n_classes)]) / sizes
    reached = np.where(proba >= threshold - 1e-12, proba, -1.0)
    best = reached.argmax(axis=1)
    sure = (reached.max(axis=1) >= 0) & (best != codes) & (proba.argmax(axis=1) == best)
    return np.where(sure, best, proba.argmax(axis=1)), sure


def _probabilities(scores: Floats, codes: Ints32) -> Floats:
    """Out-of-fold scores as probabilities, on a scale fitted to them."""
    from linnet.model.calibration import Calibration
    from linnet.solvers.losses import probabilities

    return probabilities(scores * Calibration.fit(scores, codes, shifted=False).scale)


class _HeldOutFits:
    """Fits of folds, with the features, the model and as many folds as the size of the data allows."""

    def __init__(self, m: CheckedData) -> None:
        self.m, self.buffers, self.outputs = m, text_buffers(m.data.text), len(m.data.labels)
        if self.outputs == 2 and m.y.ndim == 1:
            self.outputs = 1
        size = sum(int(p.offsets[-1] - p.offsets[0]) for p in self.buffers)
        short = size < SHORT_DOCUMENT * len(m) and size <= CHARS_UP_TO
        self.blocks: Blocks = (Words(1, 2), Chars(2, 5)) if short else (Words(1, 2),)
        counted_ = Texts(self.buffers).count(self.blocks, threads=m.threads)
        df, most = counted_.rows.document_frequency(), MOST_WEIGHTS // self.outputs
        # columns of one document are left out, then the rarest, so that the weights of a fold stay bounded
        least = max(2, int(np.sort(df)[-most]) + 1) if len(df) > most else 2
        self.counted = counted_.keep(np.flatnonzero(df >= least))
        work = len(self.counted.rows.indices) * self.outputs
        folds = next((f for f, limit in WORK if work * f <= limit), 0)
        self.folds = max(2, min(folds or 5, int(np.bincount(m.codes).max()), len(m)))
        self.name, self.ratio = ("svm", 0.5) if folds else ("nb", 0.0)
        self.model: Any = LinearSVM(C=0.1) if folds else models.MultinomialNB()

    def run(self) -> tuple[Floats, list[tuple[Fold, Scored, Ints]]]:
        """Fit every fold; return the score of every row by the model that did not see it, and the fits."""
        m, y = self.m, self.m.y
        scores = np.zeros((len(m), self.outputs))
        validation = CrossValidation(self.counted.rows, self.blocks, y, len(m.data.labels), min_df=2)
        out = []
        # the same texts are held out together: a copy with the same wrong label would vouch for it
        for fit_on, held in fold_indices(strata(y), m.seed, self.folds, groups=m.exact[: len(m)]):
            fold = Fold(fit_on, held)
            found = validation.fit(fold, self.model, self.model.plan, self.ratio, threads=thread_count(m.threads))
            scores[held] = np.where(np.isfinite(found.scores), found.scores, -50.0)  # a class the fold did not have
            out.append((fold, found, validation.part(fold).columns))
            validation.forget()
        return scores, out

    def explain(self, folds: list[tuple[Fold, Scored, Ints]], shown: Ints, doubts: _Doubts) -> dict[int, list[str]]:
        """Return the words that speak most for the suggested label, or against the one too many, for each row shown."""
        from linnet.explain import explain
        from linnet.pipeline.fit import WeightedColumns, assemble

        words: dict[int, list[str]] = {}
        classes = tuple(self.m.data.labels)
        for fold, found, columns in folds:
            mine = np.intersect1d(shown, fold.held_out)
            if not len(mine):
                continue
            seen, fingerprints = self.counted.seen.take(columns), self.counted.fingerprints[columns]

            def names(some: Ints, seen: Seen = seen, fingerprints: Any = fingerprints) -> Any:
                return names_of(self.buffers, self.blocks, seen.take(some), fingerprints[some])

            fitted = WeightedColumns(fingerprints, names, self.blocks, found.weights.norm, found.W)
            model = assemble(fitted, self.model.plan, classes, found.b, False, {}, named=1)
            for row in mine.tolist():
                ranked = explain(model, self.m.text(row), classes[doubts.about[row]]).by_word()
                words[row] = [word for word, value in ranked if doubts.sign[row] * value > 0][:5]
        return words
