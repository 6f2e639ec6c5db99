"""Has the input of a model changed? Unknown features, predicted labels and confidence beside those of held-out rows.

A reference is made at training from rows that were held out, and kept in the card: for each signal the counts in a few bins. New texts
are counted in the same bins, and the two counts are compared by a chi-squared test of two samples. The p values are corrected for their
number (Holm), so with the level 0.05 one look at unchanged input in twenty, at most, is a false alarm.

    unknown      the share of a text's distinct features that the model does not know
    confidence   the probability of the predicted label
    labels       the predicted labels
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet.array_types import Array, Floats, Ints
from linnet.errors import DataError, LinnetError
from linnet.evaluate.significance import holm
from linnet.features.buffers import taken
from linnet.model.model import Model
from linnet.values import to_plain

LEVEL = 0.05
LEAST = 30  # texts
MOST = 4000  # texts of a reference
EDGES = {"unknown": (0.5, 0.75, 0.9, 0.95), "confidence": (0.05, 0.1, 0.25, 0.5)}
"""The quantiles of the reference that bins end at: finer on the side where strange texts are."""
INDEPENDENT = 0.9  # on the chi-squared value: set so that benchmarks/monitor.py has fewer false alarms than 5 %
LEAST_EXPECTED = 5.0  # rows of a bin; smaller ones are added up


@dataclass(frozen=True)
class Signal:
    """One comparison: the mean of the reference and of the new texts (for labels the largest change of a share), and the p values."""

    name: str
    before: float
    now: float
    p: float
    corrected: float
    what: str


@dataclass(frozen=True)
class Drift:
    """What has changed since the reference. ``alarm``: some corrected p value is below the level."""

    n: int
    n_reference: int
    level: float
    signals: tuple[Signal, ...]
    labels: Mapping[str, tuple[float, float]]
    """The share of each predicted label in the reference and now."""

    @property
    def alarm(self) -> bool:
        """Whether the input has changed, by more than chance at this level."""
        return any(one.corrected < self.level for one in self.signals)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**dict(to_plain(self)), "alarm": self.alarm}

    def lines(self) -> Iterator[str]:
        """Yield the comparison as text."""
        yield f"{self.n:,} texts beside a reference of {self.n_reference:,} held-out rows"
        for one in self.signals:
            mark = "changed" if one.corrected < self.level else "as before"
            yield f"{one.what}: {one.before:.3f} before, {one.now:.3f} now; p = {one.p:.3g}, {one.corrected:.3g} corrected: {mark}"
        moved = sorted(self.labels.items(), key=lambda item: -abs(item[1][1] - item[1][0]))[:5]
        yield "predicted labels: " + ", ".join(f"{name} {a:.1%} -> {b:.1%}" for name, (a, b) in moved)
        found = "ALARM: the input has changed" if self.alarm else "no alarm"
        yield f"{found} (false alarms: {self.level:.0%} of looks at unchanged input, at most)"


def unknown_shares(model: Model, texts: Any, threads: int | None = None) -> Floats:
    """Return the share of distinct features of each text that the model does not know; 1 for a text without any.

    >>> from linnet.classifier import TextClassifier
    >>> clf = TextClassifier("nb", features="words:1").fit(["good", "bad"], ["pos", "neg"])
    >>> unknown_shares(clf.artefact, ["good day", "bad", ""]).tolist()
    [0.5, 0.0, 1.0]
    """
    known, every = model.known_features(texts, threads)
    none = 1.0 if model.blocks else 0.0
    return np.where(every > 0, (every - known) / np.maximum(every, 1), none)


@dataclass(frozen=True)
class Measured:
    """The signals of some texts: shares of unknown features, confidences, and the numbers of the predicted labels."""

    unknown: Floats
    confidence: Floats
    best: Ints

    def __len__(self) -> int:
        return len(self.best)

    @classmethod
    def of(cls, model: Model, texts: Any, threads: int | None = None) -> Measured:
        """Measure texts with a model."""
        proba = model.proba(model.scores(texts, threads))
        best = proba.argmax(axis=1)
        return cls(unknown_shares(model, texts, threads), proba[np.arange(len(best)), best], best)

    def joined(self, more: Measured) -> Measured:
        """Return these texts and more."""
        return Measured(*map(np.concatenate, zip(vars(self).values(), vars(more).values(), strict=True)))

    def take(self, rows: Array) -> Measured:
        """Return some of the texts."""
        return Measured(self.unknown[rows], self.confidence[rows], self.best[rows])

    def reference(self, n_classes: int) -> dict[str, Any] | None:
        """Return what the card keeps, to compare later texts with; None where there are too few."""
        if len(self) < LEAST:
            return None
        out: dict[str, Any] = {"rows": len(self), "labels": np.bincount(self.best, minlength=n_classes).tolist()}
        for name, values in (("unknown", self.unknown), ("confidence", self.confidence)):
            edges = np.unique(np.quantile(values, EDGES[name], method="lower"))
            mean = math.fsum(values.tolist()) / len(self)
            out[name] = {"edges": edges.tolist(), "counts": _binned(values, edges).tolist(), "mean": mean}
        return out


def reference_of(model: Model, texts: Any, threads: int | None = None) -> dict[str, Any] | None:
    """Return what the card keeps of held-out texts, or of some spread over them; None where they are too few."""
    rows = np.linspace(0, len(texts) - 1, min(len(texts), MOST)).round().astype(np.int64)
    return Measured.of(model, taken(model.pieces(texts), rows), threads).reference(len(model.classes))


def drift(
    model: Model, texts: Any, *, reference: Mapping[str, Any] | None = None, level: float = LEVEL, threads: int | None = None
) -> Drift:  # fmt: skip
    """Compare texts, or what was measured of them, with the reference of the model, or with another one."""
    known = model.card.get("reference") if reference is None else reference
    if not isinstance(known, Mapping):
        raise LinnetError("the model was trained without held-out rows to compare with; give --reference FILE")
    n = len(texts)
    if n < LEAST:
        raise DataError(f"{n} texts are too few to say whether the input has changed; give {LEAST} or more")
    values = texts if isinstance(texts, Measured) else Measured.of(model, texts, threads)
    now, before = np.bincount(values.best, minlength=len(model.classes)), np.array(known["labels"], dtype=np.int64)
    if len(before) != len(now):
        raise LinnetError("the reference is of other classes than the model; make a new one with --reference FILE")
    n_before = int(known["rows"])
    labels = {str(c): (float(a) / n_before, float(b) / n) for c, a, b in zip(model.classes, before, now, strict=True)}
    moved = max(labels.values(), key=lambda pair: abs(pair[1] - pair[0]))
    found = []
    for name, what in (("unknown", "share of unknown features"), ("confidence", "mean confidence")):
        mine = getattr(values, name)
        edges, counts = np.array(known[name]["edges"]), np.array(known[name]["counts"], dtype=np.int64)
        p = _p_value(counts, _binned(mine, edges))
        found.append((name, float(known[name]["mean"]), float(mine.mean()), p, what))
    found.append(("labels", *moved, _p_value(before, now), "share of the label that moved most"))
    corrected = holm([one[3] for one in found]).tolist()
    signals = (Signal(name, a, b, p, q, what) for (name, a, b, p, what), q in zip(found, corrected, strict=True))
    return Drift(n, n_before, level, tuple(signals), labels)


def _binned(values: Floats, edges: Array) -> Ints:
    return np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1)


def _p_value(before: Ints, now: Ints) -> float:
    """Return the p value of the chi-squared test that two counts come from one distribution; small bins are added up.

    >>> round(_p_value(np.array([50, 50]), np.array([35, 65])), 4)
    0.0418
    """
    share = now.sum() / (now.sum() + before.sum())
    least = (before + now) * min(share, 1.0 - share)
    small = least < LEAST_EXPECTED
    pooled = [np.append(counts[~small], counts[small].sum()) if small.any() else counts for counts in (before, now)]
    both = np.stack(pooled).astype(np.float64)
    both = both[:, both.sum(axis=0) > 0]
    expected = both.sum(axis=1, keepdims=True) * both.sum(axis=0) / both.sum()
    if both.shape[1] < 2:
        return 1.0
    return _chi2_sf(INDEPENDENT * float(((both - expected) ** 2 / expected).sum()), both.shape[1] - 1)


def _chi2_sf(x: float, df: int) -> float:
    """Return P(chi2 > x): sums of the recurrence in steps of two degrees of freedom.

    >>> round(_chi2_sf(3.841459, 1), 4), round(_chi2_sf(5.991465, 2), 4)
    (0.05, 0.05)
    """
    total = math.erfc(math.sqrt(x / 2.0)) if df % 2 else math.exp(-x / 2.0)
    for k in range(df % 2 or 2, df, 2):
        total += math.exp(k / 2.0 * math.log(x / 2.0) - x / 2.0 - math.lgamma(k / 2.0 + 1.0)) if x > 0 else 0.0
    return min(1.0, total)
