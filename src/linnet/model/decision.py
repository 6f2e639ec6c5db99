"""From probabilities to answers: thresholds, costs, abstaining. One value in the model file, applied alike everywhere.

In this order:

    labels       only these classes; their probabilities are divided by their sum
    cost         the class of least expected cost, sum_t p(t) * cost(t, answer)
    threshold    a class with a threshold is answered where its probability reaches it, and only there
    abstain      no answer where the most probable class is not probable enough

Where rows have one label and several thresholds are reached, the class with the largest p / threshold is the answer; where none is,
the best class without a threshold, and where every class has one, none. Where rows have several labels, every label that reaches its
threshold is an answer.

How probable is enough is read from held-out rows, sorted by the probability of their answers. For a wanted accuracy, cuts are tested from
the surest rows downwards, each by an exact binomial test of whether the answers above it are less accurate; the last cut before the first
test that does not reject, at the level 0.1, is taken (fixed-sequence testing: Angelopoulos and others, Learn then test, 2021). So with a
probability of 90 % or more the accuracy is reached on new rows of the same kind, whatever the distribution. The first cut has three times
the rows that could show the accuracy without any error: that depends on no label. Prediction sets are those of split conformal prediction
(Vovk, Gammerman and Shafer, Algorithmic learning in a random world, 2005): they hold the truth with the stated probability, on average
over trainings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.array_types import Array, Bools, Floats, Ints
from linnet.errors import DataError, LinnetError, shown
from linnet.estimator import share
from linnet.values import label_number, label_numbers

CUTS = 200  # of the sorted held-out rows
NO_ROWS = "this model was not calibrated on held-out rows with one label each, so it cannot tell when to abstain; train it again"
DELTA = 0.1  # the probability that the accuracy is not reached on new rows
FEWEST = 3.0  # times the rows that show an accuracy if all are right, in the first test


@dataclass(frozen=True, eq=False)
class ConfidenceTable:
    """How probable the answers on held-out rows were, and how many of them were right.

    >>> p = np.linspace(1.0, 0.5, 400)
    >>> found = ConfidenceTable.of(p, p > 0.7, p)
    >>> 0.65 < found.least_for_accuracy(0.95) < 0.72, round(found.least_for_share(0.5), 2), round(found.least_in_set(0.9), 2)
    (True, 0.75, 0.55)
    """

    table: Floats
    """(cuts, 4): the least probability answered, rows answered, rows right, and the same quantile of the true class's probability."""

    @classmethod
    def of(cls, confidence: Floats, right: Bools, true: Floats) -> ConfidenceTable:
        """Sum up held-out rows: the probability of the answer, whether it was right, the probability of the true class."""
        ranked = np.sort(confidence)[::-1]
        least = ranked[_ends(len(ranked)) - 1]
        answered = np.searchsorted(-ranked, -least, side="right")  # rows of equal probability go together
        hits = np.concatenate([[0], np.cumsum(right[np.argsort(-confidence, kind="stable")])])[answered]
        return cls(np.stack([least, answered, hits, np.sort(true)[::-1][_ends(len(true)) - 1]], axis=1))

    @property
    def n(self) -> int:
        """How many held-out rows there were."""
        return int(self.table[-1, 1])

    def least_for_accuracy(self, wanted: float) -> float:
        """Return the least probability to answer from so that answers are right with probability `wanted`."""
        answered, wrong = self.table[:, 1].astype(np.int64), (self.table[:, 1] - self.table[:, 2]).astype(np.int64)
        fewest = FEWEST * float(arithmetic.log(DELTA) / arithmetic.log(wanted)) if wanted < 1.0 else self.n
        first = min(int(np.searchsorted(answered, fewest)), len(answered) - 1)
        reached = first - 1
        for n, errors in zip(answered[first:].tolist(), wrong[first:].tolist(), strict=True):
            if _tail(n, errors, 1.0 - wanted) > DELTA:
                break
            reached += 1
        if reached < first:
            raise LinnetError(f"abstain {wanted:g}: {self.n:,} held-out rows do not show such accuracy; ask for less")
        return 0.0 if reached == len(answered) - 1 else float(self.table[reached, 0])

    def least_for_share(self, wanted: float) -> float:
        """Return the least probability to answer from so that a share of rows is answered."""
        at = int(np.searchsorted(self.table[:, 1], wanted * self.n))
        return 0.0 if at >= len(self.table) - 1 else float(self.table[at, 0])

    def least_in_set(self, coverage: float) -> float:
        """Return the least probability of a class in a prediction set that holds the truth with probability `coverage`."""
        # so many true classes may be less probable, or as probable
        below = int(np.floor((1.0 - coverage) * (self.n + 1)))
        if below < 1:
            return 0.0
        return float(self.table[np.searchsorted(_ends(self.n), self.n - below + 1), 3])


def _ends(n: int) -> Ints:
    """Return how many rows lie before each cut of n sorted rows, n the last."""
    cuts = min(n, CUTS)
    return -(-np.arange(1, cuts + 1) * n // max(1, cuts))


@lru_cache(1 << 14)  # a server is asked for the same accuracy again
def _tail(n: int, wrong: int, rate: float) -> float:
    """Return the probability of at most so many wrong rows among n, each wrong with probability rate.

    >>> round(_tail(10, 1, 0.2), 6)
    0.37581
    """
    if wrong >= rate * n:
        return 1.0
    k = np.arange(1, wrong + 1)
    ratios = arithmetic.log((n - k + 1) / k * (rate / (1.0 - rate)))
    logs = n * arithmetic.log1p(np.array([-rate])) + np.concatenate([[0.0], np.cumsum(ratios)])
    return float(arithmetic.total(arithmetic.exp(logs)))


def most_probable(P: Floats, k: int) -> Ints:
    """Return the k most probable classes of each text, the most probable first, ties in the order of the classes.

    >>> most_probable(np.array([[0.1, 0.4, 0.1, 0.4]]), 3).tolist()
    [[1, 3, 0]]
    """
    n = P.shape[1]
    if not 0 < 8 * k < n:
        return np.argsort(-P, axis=1, kind="stable")[:, :k]
    least = np.partition(P, n - k, axis=1)[:, n - k]  # of the k largest
    out = np.empty((len(P), k), np.int64)
    for row, p, cut in zip(out, P, least, strict=True):
        among = np.flatnonzero(p >= cut)
        row[:] = among[np.argsort(-p[among], kind="stable")][:k]
    return out


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model answers to some texts."""

    given: Floats | Callable[[], Floats]
    """The probabilities, or what works them out when they are asked for."""
    best: Ints
    """The class number of each answer, -1 for none; where texts have several labels, that of the most probable."""
    sets: Bools | None = None
    """Which labels each text has, (n_texts, n_classes), where texts may have several."""

    @classmethod
    def joined(cls, parts: Sequence[Answers]) -> Answers:
        """Return the answers to texts after each other as one."""
        sets = [part.sets for part in parts if part.sets is not None]
        proba, best = (np.concatenate([getattr(part, name) for part in parts]) for name in ("proba", "best"))
        return cls(proba, best, np.concatenate(sets) if sets else None)

    @cached_property
    def proba(self) -> Floats:
        """The probability of each class, (n_texts, n_classes); 0 of those that were not asked for."""
        return self.given() if callable(self.given) else self.given

    @property
    def chosen(self) -> Bools:
        """Which labels each text has, (n_texts, n_classes)."""
        return self.best[:, None] == np.arange(self.proba.shape[1]) if self.sets is None else self.sets

    @property
    def most_probable(self) -> Ints:
        """The answer, or where there is none, the most probable class."""
        none = self.best < 0
        return np.where(none, self.proba.argmax(axis=1), self.best) if none.any() else self.best


@dataclass(frozen=True, eq=False)
class Decision:
    """How probabilities become answers. Arrays are in the order of the classes.

    >>> rule = Decision.of(("ham", "spam"), threshold={"spam": 0.9})
    >>> rule.answers(np.array([[0.05, 0.95], [0.3, 0.7]])).best.tolist()
    [1, 0]
    """

    thresholds: Floats | None = None
    """The probability from which each class is an answer; nan where it has no threshold of its own."""
    costs: Floats | None = None
    """What an answer costs, (n_classes, n_classes): rows truth, columns answer."""
    abstain: float | None = None
    """The wanted accuracy of the answered rows."""
    answer: float | None = None
    """The wanted share of answered rows."""
    labels: Ints | None = None
    """The classes that may be answered; all if None."""
    held_out: ConfidenceTable | None = None
    """What abstaining is calibrated on; it holds for the answers of this rule."""

    @classmethod
    def of(
        cls,
        classes: Sequence[Any],
        base: Decision | None = None,
        *,
        threshold: Any = None,
        cost: Any = None,
        abstain: float | None = None,
        answer: float | None = None,
        labels: Iterable[Any] | None = None,
    ) -> Decision:
        """Return the rule that users ask for, with what they leave out as in base.

        threshold is {class: probability}, or one probability for all classes; cost {truth: {answer: cost}}, where what is left out
        costs 0 if right and 1 if wrong, or a matrix; abstain the wanted accuracy of the answered rows (0: answer all); answer the
        wanted share of answered rows; labels the only classes to choose from.
        """
        base = base or cls()
        if abstain and answer:
            raise LinnetError("abstain (an accuracy) and answer (a share) are two ways to abstain; give one")
        change: dict[str, Any] = {}
        if threshold is not None:
            change["thresholds"] = _thresholds(classes, threshold, base.thresholds)
        if cost is not None:
            change["costs"] = _costs(classes, cost)
        if labels is not None:
            change["labels"] = np.array(label_numbers(classes, labels))
        for name, value in (("abstain", abstain), ("answer", answer)):
            if value is not None:
                change |= {"abstain": None, "answer": None, name: share(name, value, one=True) or None}
        if not change:
            return base
        rule = replace(base, **change)
        if rule.sure is not None and base.held_out is not None and set(change) & {"thresholds", "costs", "labels"}:
            raise LinnetError(
                "abstain and answer were calibrated on the answers of the model as it was trained: leave out labels, threshold and cost, "
                "or give threshold and cost when training"
            )
        return rule

    @property
    def sure(self) -> float | None:
        """What is asked of the answers: an accuracy or a share; None where all rows are answered."""
        return self.abstain if self.abstain is not None else self.answer

    @property
    def plain(self) -> bool:
        """Whether the most probable class of all is the answer."""
        return self.thresholds is None and self.costs is None and self.labels is None and self.sure is None

    @property
    def abstains(self) -> bool:
        """Whether a text may be left without an answer."""
        return self.sure is not None or (self.thresholds is not None and bool(np.isfinite(self.thresholds).all()))

    @cached_property
    def least(self) -> float:
        """The probability below which there is no answer."""
        if self.sure is None:
            return 0.0
        if self.held_out is None:
            raise LinnetError(NO_ROWS)
        if self.abstain is not None:
            return self.held_out.least_for_accuracy(self.abstain)
        return self.held_out.least_for_share(self.sure)

    def answers(self, P: Floats, several: bool = False) -> Answers:
        """Decide on probabilities, (n_texts, n_classes); several: every label that reaches its threshold is an answer."""
        P = self._restricted(P, several)
        if several:
            if self.costs is not None or self.sure is not None:
                raise LinnetError("cost, abstain and answer are for one label a row; several labels have thresholds")
            cut = np.full(P.shape[1], 0.5) if self.thresholds is None else np.nan_to_num(self.thresholds, nan=0.5)
            sets = cut <= P
            if self.labels is not None:
                sets &= np.isin(np.arange(P.shape[1]), self.labels)
            return Answers(P, P.argmax(axis=1), sets)
        best = P.argmax(axis=1)
        if self.costs is not None:
            expected = arithmetic.matmul(P, self.costs)
            if self.labels is not None:
                expected[:, np.setdiff1d(np.arange(P.shape[1]), self.labels)] = np.inf
            best = expected.argmin(axis=1)
        if self.thresholds is not None:
            best = _reached(P, best, self.thresholds)
        if self.sure is not None:
            best = np.where(P[np.arange(len(P)), np.maximum(best, 0)] >= self.least, best, -1)
        return Answers(P, best.astype(np.int64, copy=False))

    def sets(self, P: Floats, coverage: float) -> Bools:
        """Return which classes are in the prediction set of each text, (n_texts, n_classes): the truth is, with this probability."""
        if self.held_out is None:
            raise LinnetError(NO_ROWS)
        return np.asarray(self.held_out.least_in_set(share("coverage", coverage, one=True)) <= P)

    def _restricted(self, P: Floats, several: bool) -> Floats:
        if self.labels is None:
            return P
        kept = np.zeros_like(P)
        kept[:, self.labels] = P[:, self.labels]
        if several:
            return kept
        totals = arithmetic.total(kept, axis=1)[:, None]
        equal = np.isin(np.arange(P.shape[1]), self.labels) / len(self.labels)
        return np.where(totals > 0, kept / np.where(totals > 0, totals, 1.0), equal)

    def describe(self, classes: Sequence[Any]) -> list[str]:
        """Say the rule in words, a line each; nothing where the most probable label is the answer.

        >>> Decision.of(("ham", "spam"), threshold={"spam": 0.9}, cost={"spam": {"ham": 5}}).describe(("ham", "spam"))
        ['answers of least expected cost', 'thresholds: spam 0.9']
        """
        lines = [] if self.costs is None else ["answers of least expected cost"]
        if self.thresholds is not None:
            named = [f"{shown(c, 40)} {t:.4g}" for c, t in zip(classes, self.thresholds, strict=True) if np.isfinite(t)]
            lines.append(
                f"thresholds: {', '.join(named[:10])}" + (f" and {len(named) - 10:,} more" if len(named) > 10 else "")
            )
        if self.abstain is not None:
            lines.append(f"answers where they are right with probability {self.abstain:g}")
        if self.answer is not None:
            lines.append(f"answers the surest {self.answer:.0%} of rows")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return what the card says of the rule; tensors are apart."""
        both = {"abstain": self.abstain, "answer": self.answer}
        return {name: value for name, value in both.items() if value is not None}

    def tensors(self) -> dict[str, Array]:
        """Return the arrays of the rule as the model file holds them."""
        held = None if self.held_out is None else self.held_out.table
        arrays = {"decision.thresholds": self.thresholds, "decision.costs": self.costs, "decision.held_out": held}
        return {name: array for name, array in arrays.items() if array is not None}

    @classmethod
    def from_tensors(cls, about: Mapping[str, Any], tensors: Mapping[str, Array], n_classes: int) -> Decision:
        """Read back what `to_dict` and `tensors` gave; refuse what is no rule for so many classes."""
        thresholds, costs, held = (tensors.get(f"decision.{name}") for name in ("thresholds", "costs", "held_out"))
        if thresholds is not None and (
            thresholds.shape != (n_classes,) or not (np.isnan(thresholds) | (thresholds >= 0)).all()
        ):
            raise ValueError("its thresholds do not fit the classes")
        if costs is not None and (costs.shape != (n_classes, n_classes) or not np.isfinite(costs).all()):
            raise ValueError("its costs do not fit the classes")
        fits = held is None or (held.shape[1:] == (4,) and len(held) > 0 and np.isfinite(held).all())
        if not fits or (held is not None and len(held) != len(_ends(int(held[-1, 1])))):
            raise ValueError("its held-out rows are not in order")
        abstain, answer = (
            share(name, about[name], one=True) if name in about else None for name in ("abstain", "answer")
        )
        return cls(thresholds, costs, abstain, answer, held_out=None if held is None else ConfidenceTable(held))


def _reached(P: Floats, best: Ints, thresholds: Floats) -> Ints:
    """Answer the classes that reach their thresholds, else the best of those that have none."""
    own = np.isfinite(thresholds)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(own & (thresholds <= P) & (P > 0), P / thresholds, -1.0)
    first = ratio.argmax(axis=1)
    rest = np.full(len(P), -1) if own.all() else np.where(own[best], np.where(own, -1.0, P).argmax(axis=1), best)
    return np.where(ratio[np.arange(len(P)), first] > 0, first, rest)


def _thresholds(classes: Sequence[Any], given: Any, base: Floats | None) -> Floats:
    if not isinstance(given, Mapping):
        return np.full(len(classes), share("threshold", given, one=True))
    found = np.full(len(classes), np.nan) if base is None else base.copy()
    for label, value in given.items():
        found[label_number(classes, label)] = share(f"the threshold of {label}", value, one=True)
    return found


def _costs(classes: Sequence[Any], given: Any) -> Floats:
    k = len(classes)
    if isinstance(given, Mapping):
        costs = 1.0 - np.eye(k)
        for truth, row in given.items():
            if not isinstance(row, Mapping):
                raise LinnetError(f"cost must be {{truth: {{answer: cost}}}}, got {row!r} for {truth!r}")
            for answer, value in row.items():
                costs[label_number(classes, truth), label_number(classes, answer)] = value
    else:
        costs = np.array(given, np.float64)
    if costs.shape != (k, k) or not np.isfinite(costs).all():
        raise DataError(f"cost must hold {k} x {k} numbers, truth (rows) by answer (columns), got shape {costs.shape}")
    return costs
