"""How far a score measured on n rows may be from the true one.

Wilson's interval for shares of rows; the accelerated bootstrap, in closed form, for means over rows; the infinitesimal
jackknife for smooth functions of rows such as areas; the plain bootstrap, on counts, for averages of table scores.

Is one classifier better than another, or was it luck? Paired tests, from the same held-out rows for both.

Two classifiers that were asked about the same rows are compared on the rows where they disagree: rows that both get
right, or both get wrong, say nothing about which is better. That makes a paired test far sharper than two intervals
side by side, which may overlap although one classifier is surely better.

>>> a, b = [True] * 90 + [False] * 10, [True] * 80 + [False] * 20
>>> mcnemar(a, b).p < 0.01
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.array_types import Array, Floats, Ints
from linnet.errors import DataError, check_choice
from linnet.evaluate.metrics import METRICS, Counts
from linnet.solvers.losses import sigmoid
from linnet.values import to_plain

# ---- Student's t distribution: the two functions that tests and intervals need. scipy has them too, but is large to install.
#
# With x = n / (n + t^2), the chance that |T| is above t is the regularised incomplete beta function I_x(n/2, 1/2).
# Reference: DiDonato and Morris, Significant digit computation of the incomplete beta function ratios, 1992.


def two_sided(t: float, freedom: float) -> float:
    """Return P(|T| > t) for T with so many degrees of freedom.

    >>> round(two_sided(2.776445, 4), 6)
    0.05
    """
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t), t * t / (freedom + t * t))


def incomplete_beta(a: float, b: float, x: float, y: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b); y is 1 - x, given where it is known more exactly.

    >>> round(incomplete_beta(2.0, 1.0, 0.25, 0.75), 9)  # x^2
    0.0625
    """
    if x == 0.0 or y == 0.0:
        return float(y == 0.0)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(scale + a * (math.log1p(-y) if y < 0.5 else math.log(x)) + b * math.log(y))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1.0 - front * _fraction(b, a, y) / b


def two_sided_quantile(level: float, freedom: float) -> float:
    """Return the t with P(|T| <= t) = level, by bisection.

    >>> round(two_sided_quantile(0.95, 4), 6)
    2.776445
    """
    low, high = 0.0, 1.0
    while two_sided(high, freedom) > 1 - level:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if two_sided(middle, freedom) > 1 - level else (low, middle)
    return high


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function (Lentz's method)."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0) or tiny)
    found = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = found
        for term in (even, odd):
            d = 1.0 / (1.0 + term * d or tiny)
            c = 1.0 + term / c or tiny
            found *= c * d
        if abs(found - before) <= 1e-16 * abs(found):
            break
    return found


Interval = tuple[float, float]


def with_intervals(scores: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    """Return scores and their intervals for JSON, each under a key of its own.

    >>> with_intervals({"f1": (0.5, (0.4, 0.6)), "area": (None, None)})
    {'f1': 0.5, 'f1_interval': [0.4, 0.6], 'area': None, 'area_interval': None}
    """
    return {
        key: found
        for name, (value, ends) in scores.items()
        for key, found in ((name, value), (f"{name}_interval", ends and list(ends)))
    }


def wilson(successes: float, n: float, level: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion: all p that a two-sided normal test does not reject.

    Unlike p +- 2 standard errors it stays within 0 and 1 and is honest for small n and for 0 or n successes. Without
    rows nothing is known: (0, 1).

    >>> low, high = wilson(9, 10)
    >>> round(low, 4), round(high, 4)
    (0.5958, 0.9821)

    Reference: Wilson, Probable inference, the law of succession, and statistical inference (1927).
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    if not 0 <= successes <= n:
        raise ValueError(f"successes must be between 0 and n, got {successes!r} of {n!r}")
    if n == 0:
        return 0.0, 1.0
    successes, n = float(successes), float(n)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    p = successes / n
    centre = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if successes == 0 else max(0.0, (centre - half) / scale)
    high = 1.0 if successes == n else min(1.0, (centre + half) / scale)
    return low, high


def f1_wilson(hits: float, misses: float, level: float = 0.95) -> Interval:
    """Wilson's interval for the F1 of one class: `hits` true positives, `misses` false positives and false negatives.

    Of the rows that are of the class or are put into it, a share q = hits / (hits + misses) is right, and
    F1 = 2 q / (1 + q) grows with q, so the interval of q gives the one of F1. Simulated with 11 to 22 such rows, it
    covers the true F1 in 95 of 100 samples; the percentile bootstrap covers it in 87 to 94. With 400 both cover 95.

    >>> low, high = f1_wilson(9, 1)
    >>> round(low, 4), round(high, 4)
    (0.7467, 0.991)
    """
    low, high = wilson(hits, hits + misses, level)
    return 2 * low / (1 + low), 2 * high / (1 + high)


def bootstrap(
    counts: npt.ArrayLike,
    statistic: Callable[[Ints], Array],
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Interval:
    """Percentile interval of a statistic of counts, from resampled counts.

    Drawing n rows with replacement is the same as drawing the cells of a table of counts from a multinomial, so a draw
    costs as much as the table has cells, however many rows there are. `statistic` maps (draws, cells) to (draws,);
    draws that give nan are left out.

    >>> low, high = bootstrap([90, 10], lambda table: table[:, 0] / table.sum(axis=1))
    >>> round(low, 2), round(high, 2)
    (0.84, 0.96)

    Reference: Efron, Bootstrap methods: another look at the jackknife (1979).
    """
    return bootstrap_many(counts, lambda table: statistic(table)[:, None], level=level, draws=draws, seed=seed)[0]


def bootstrap_many(
    counts: npt.ArrayLike,
    statistics: Callable[[Ints], Array],
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
    width: int = 0,
) -> list[Interval]:
    """Percentile intervals of several statistics of the same resampled counts: (draws, cells) to (draws, statistics).

    width is how many numbers the statistics need for a draw; it bounds the memory, not the result.

    >>> both = lambda table: np.stack([table[:, 0], table[:, 1]], axis=1) / table.sum(axis=1, keepdims=True)
    >>> [tuple(round(end, 2) for end in interval) for interval in bootstrap_many([90, 10], both)]
    [(0.84, 0.96), (0.04, 0.16)]
    """
    return [percentiles(column, level) for column in resampled(counts, statistics, draws, seed, width).T]


def resampled(
    counts: npt.ArrayLike, statistics: Callable[[Ints], Array], draws: int = 2000, seed: int = 0, width: int = 0
) -> Array:
    """Return the statistics of resampled counts, one draw a row."""
    cells = np.asarray(counts, np.int64)
    total = int(cells.sum())
    generator = np.random.default_rng(seed)
    chunk = max(1, 4_000_000 // max(1, cells.size, width))
    sizes = (min(chunk, draws - done) for done in range(0, draws, chunk))
    return np.concatenate([statistics(generator.multinomial(total, cells / total, size=size)) for size in sizes])


def percentiles(values: Array, level: float) -> Interval:
    """Return the middle of some values, without those that are nan."""
    kept = values[~np.isnan(values)]
    low, high = np.quantile(kept, [0.5 - level / 2, 0.5 + level / 2]) if kept.size else (0.0, 1.0)
    return float(low), float(high)


def mean_interval(values: npt.ArrayLike, low: float, high: float, level: float = 0.95) -> Interval:
    """Interval for the mean of values that lie between low and high: the accelerated bootstrap without drawing.

    For a mean the bootstrap distribution is known well enough from standard error and skewness g (Cornish and Fisher),
    and so is the correction BCa makes for the skewness (a = z0 = g / 6 sqrt(n)). Losses are skewed, and the plain
    +- 2 standard errors is too low on both sides.

    >>> first, last = mean_interval([0.1, 0.2, 0.2, 0.3, 1.2] * 20, 0.0, 36.0)
    >>> round(first, 4), round(last, 4)  # mean 0.4
    (0.3278, 0.4889)
    >>> mean_interval([0.0] * 40, 0.0, 1.0)[1].__round__(4)  # as 0 of 40 rows
    0.0876

    Reference: DiCiccio and Efron, Bootstrap confidence intervals (1996).
    """
    x = np.asarray(values, np.float64)
    n, mean = len(x), float(x.mean())
    if n < 2:
        return low, high
    centred = x - mean
    spread = float(np.sqrt((centred**2).mean()))
    if spread <= 1e-12 * max(1.0, abs(mean)):
        if mean in (low, high):  # no row differs from the best or the worst: as for a share of rows
            first, last = wilson(n * (mean == high), n, level)
            return low + (high - low) * first, low + (high - low) * last
        return mean, mean
    skew = float((centred**3).mean()) / spread**3 / math.sqrt(n)
    error = spread / math.sqrt(n - 1)
    a = skew / 6
    ends = []
    for z in (NormalDist().inv_cdf(0.5 - level / 2), NormalDist().inv_cdf(0.5 + level / 2)):
        w = a + (a + z) / max(0.2, 1 - a * (a + z))
        ends.append(mean + error * (w + (w * w - 1) * skew / 6))
    return max(low, min(ends)), min(high, max(ends))


def jackknife_interval(estimate: float, influence: npt.ArrayLike, n: float, level: float = 0.95) -> Interval:
    """Interval for a score between 0 and 1 from what each row adds to it, by the infinitesimal jackknife.

    influence is the derivative of the score with respect to the weight of each row; the sum of its squares is the
    variance of the score. The interval is made on the logit scale, which keeps it within 0 and 1. A score of exactly 0
    or 1 has no spread to go by: then it is Wilson's interval for n rows all alike.

    >>> low, high = jackknife_interval(0.9, np.r_[np.full(90, 0.1), np.full(10, -0.9)] / 100, 100)  # a share of 90 in 100
    >>> round(low, 3), round(high, 3)
    (0.824, 0.945)

    Reference: Efron, The jackknife, the bootstrap and other resampling plans (1982), chapter 6.
    """
    if not 1e-9 < estimate < 1 - 1e-9:
        return wilson(round(estimate) * n, n, level)
    u = np.asarray(influence, np.float64)
    error = math.sqrt(float(u @ u)) / (estimate * (1 - estimate))
    half = NormalDist().inv_cdf(0.5 + level / 2) * error
    logit = math.log(estimate / (1 - estimate))
    low, high = sigmoid(np.array([logit - half, logit + half]))
    return float(low), float(high)


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
        raise DataError(
            f"a paired test needs the same rows for both, at least one; got shapes {first.shape} and {second.shape}"
        )
    return first, second
