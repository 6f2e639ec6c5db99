"""Is one classifier better than another, or was it luck? Paired tests, from the same held-out rows for both.

Two classifiers that were asked about the same rows are compared on the rows where they disagree: rows that both get
right, or both get wrong, say nothing about which is better. That makes a paired test far sharper than two intervals
side by side, which may overlap although one classifier is surely better.

>>> a, b = [True] * 90 + [False] * 10, [True] * 80 + [False] * 20
>>> mcnemar(a, b).p < 0.01
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.array_types import Array, Floats, Ints
from linnet.errors import DataError, check_choice
from linnet.evaluate.intervals import Interval, incomplete_beta, percentiles, resampled, two_sided, two_sided_quantile
from linnet.evaluate.metrics import METRICS, Counts
from linnet.values import to_plain

FEW_DISCORDANT = 25  # rows that only one of the two gets right: below this many, the exact test


@dataclass(frozen=True)
class PairedTest:
    """What a test found: the score of the first less that of the second, and how surprising it is if both are equal.

    ``statistic`` is the test's own number (see each test), ``interval`` the 95 % interval of the difference where the
    test gives one.
    """

    test: str
    p: float
    difference: float
    statistic: float
    interval: Interval | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values; the interval is [low, high] or None."""
        return dict(to_plain(self))


def mcnemar(right_a: npt.ArrayLike, right_b: npt.ArrayLike, *, exact: bool | None = None) -> PairedTest:
    """Compare two accuracies on the same rows: McNemar's test.

    right_a and right_b say of each row whether the classifier is right. n01 rows are right with b only, n10 with a
    only. If the two are equally good each of these n rows is the toss of a coin. Exact (by default below 25 such
    rows): p = 2 P(Binomial(n, 1/2) <= min(n01, n10)), and the statistic is that minimum. Otherwise chi-square with
    continuity correction: (|n01 - n10| - 1)^2 / n with one degree of freedom. Both as in statsmodels.

    >>> result = mcnemar([1, 1, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1, 0, 1])
    >>> result.p, result.difference  # 5 to 1: as 5 or more heads, or tails, in 6 tosses
    (0.21875, 0.5)

    Reference: McNemar, Note on the sampling error of the difference between correlated proportions, 1947.
    """
    a, b = _paired(right_a, right_b)
    a, b = a.astype(bool), b.astype(bool)
    only_a, only_b = int(np.sum(a & ~b)), int(np.sum(b & ~a))
    n = only_a + only_b
    difference = (only_a - only_b) / len(a)
    if exact if exact is not None else n < FEW_DISCORDANT:
        least = min(only_a, only_b)
        p = min(1.0, 2 * _coin_tail(least, n))
        return PairedTest("McNemar, exact", p, difference, float(least))
    statistic = (abs(only_a - only_b) - 1) ** 2 / n if n else 0.0
    return PairedTest("McNemar, chi-square", math.erfc(math.sqrt(statistic / 2)), difference, statistic)


def _coin_tail(k: int, n: int) -> float:
    """Return the chance of k heads or fewer in n tosses.

    >>> _coin_tail(1, 6)  # (1 + 6) / 2^6
    0.109375
    """
    if n <= 1000:  # exact
        return float(sum(math.comb(n, heads) for heads in range(k + 1)) / 2**n)
    return incomplete_beta(n - k, k + 1, 0.5, 0.5)


def paired_bootstrap(
    truth: npt.ArrayLike,
    predicted_a: npt.ArrayLike,
    predicted_b: npt.ArrayLike,
    *,
    metric: str = "accuracy",
    draws: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> PairedTest:
    """Compare two scores on the same rows by drawing the rows again and again, with replacement, for both at once.

    metric is a name of ``linnet.evaluate.metrics.METRICS``; labels are of any kind. The interval is the middle 95 % of the drawn
    differences. p is twice the share of draws on the less likely side of zero, so that p < 0.05 says the same as "zero
    is outside the interval". Rows with the same truth and answers are one cell of a table, and a draw is a multinomial
    over the cells: it costs as much for a million rows as for a thousand. The statistic is the spread of the drawn
    differences, the standard error.

    >>> truth = ["a"] * 50 + ["b"] * 50
    >>> poor = ["a"] * 50 + ["a"] * 15 + ["b"] * 35
    >>> result = paired_bootstrap(truth, truth, poor)
    >>> round(result.difference, 4), result.p < 0.01, [round(end, 2) for end in result.interval]
    (0.15, True, [0.08, 0.22])

    References: Efron and Tibshirani, An Introduction to the Bootstrap, 1993; Berg-Kirkpatrick, Burkett and Klein, An
    Empirical Investigation of Statistical Significance in NLP, 2012.
    """
    check_choice("metric", metric, METRICS)
    a, b = _paired(predicted_a, predicted_b)
    y, _ = _paired(truth, a)
    names, codes = np.unique(np.concatenate([y, a, b]), return_inverse=True)
    cells, counts = np.unique(codes.reshape(3, -1), axis=1, return_counts=True)  # (3, cells): truth, a, b
    score = METRICS[metric].score

    def gap(table: Ints) -> Floats:
        first, second = (score(Counts(cells[0], answers, len(names), table)) for answers in cells[1:])
        return np.asarray(np.nan_to_num(first) - np.nan_to_num(second))

    difference = float(gap(counts[None, :])[0])
    gaps = resampled(counts, gap, draws, seed)
    side = min(int(np.sum(gaps <= 0)), int(np.sum(gaps >= 0)))
    p = min(1.0, 2 * (1 + side) / (1 + draws))
    return PairedTest(f"paired bootstrap of the {metric}", p, difference, float(gaps.std()), percentiles(gaps, level))


def corrected_t(
    differences: npt.ArrayLike, n_train: float, n_held: float, *, repeats: int = 1, level: float = 0.95
) -> PairedTest:
    """Compare two scores fold by fold: the corrected resampled t-test of Nadeau and Bengio.

    differences holds one difference of scores for each fold of each repeat; n_train and n_held are the rows fitted on
    and held out in a fold. Folds share training rows, so their differences agree more than chance would have it, and
    the plain t-test finds far too much. The correction widens the variance by n_held / n_train:

        t = mean / sqrt((1 / J + n_held / n_train) var),   J - 1 degrees of freedom, J differences

    >>> result = corrected_t([0.02, 0.01, 0.03, 0.02, 0.02], 800, 200)
    >>> round(result.statistic, 4), round(result.p, 4)
    (4.2164, 0.0135)

    References: Nadeau and Bengio, Inference for the Generalization Error, 2003; Bouckaert and Frank, Evaluating the
    Replicability of Significance Tests, 2004.
    """
    d = np.asarray(differences, np.float64)
    if d.ndim != 1 or len(d) < 2 or not np.isfinite(d).all():
        raise DataError(f"the t-test needs the differences of two folds or more, all finite; got {differences!r}")
    if not (n_train > 0 and n_held > 0):
        raise DataError(f"n_train and n_held must be above 0, got {n_train!r} and {n_held!r}")
    error = math.sqrt((1 / len(d) + n_held / n_train) * float(d.var(ddof=1)))
    return _t_test(f"corrected {'repeated ' if repeats > 1 else ''}k-fold t-test", d, error, level)


def paired_t(scores_a: npt.ArrayLike, scores_b: npt.ArrayLike, *, level: float = 0.95) -> PairedTest:
    """Compare the mean of scores of the same rows, such as the F1 of the labels of each: the paired t-test.

    >>> result = paired_t([1.0, 0.5, 1.0, 0.8], [0.5, 0.5, 0.6, 0.7])
    >>> round(result.difference, 4), round(result.p, 4)
    (0.25, 0.1265)
    """
    a, b = _paired(scores_a, scores_b)
    d = a.astype(np.float64) - b.astype(np.float64)
    return _t_test("paired t-test", d, math.sqrt(float(d.var(ddof=1)) / len(d)) if len(d) > 1 else 0.0, level)


def _t_test(name: str, d: Floats, error: float, level: float) -> PairedTest:
    """Return the test of a mean with a standard error; without any spread it is certain."""
    mean, free = float(d.mean()), len(d) - 1
    if error <= 1e-12 * max(1.0, abs(mean)):
        same = abs(mean) <= 1e-12
        return PairedTest(name, float(same), mean, 0.0 if same else math.copysign(math.inf, mean), (mean, mean))
    half = two_sided_quantile(level, free) * error
    return PairedTest(name, two_sided(mean / error, free), mean, mean / error, (mean - half, mean + half))


def holm(p_values: Sequence[float] | npt.ArrayLike) -> Floats:
    """Raise the p-values of several comparisons, so that the chance of even one false alarm stays below 5 %.

    The smallest is multiplied by the number of comparisons, the next by one less, and so on; none gets smaller than
    one before it, nor larger than 1.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]

    Reference: Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979.
    """
    p = np.asarray(p_values, np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise DataError(f"p-values must be a list of numbers from 0 to 1, got {p_values!r}")
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    out = np.empty(len(p))
    out[order] = np.minimum(raised, 1.0)
    return out


def _paired(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[Array, Array]:
    first, second = np.asarray(a), np.asarray(b)
    if first.shape != second.shape or first.ndim != 1 or not len(first):
        raise DataError(f"a paired test needs the same rows for both; got shapes {first.shape} and {second.shape}")
    return first, second
