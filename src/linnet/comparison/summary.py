"""A comparison in sentences: which models differ, by how much, and which one to use."""

from __future__ import annotations

import math
from statistics import NormalDist, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linnet.comparison.comparison import Comparison, Curve, ModelScores, Pair

CLOSE = 0.01  # a model is recommended instead of the best only if it is this close
SMALLER, FASTER = 1.5, 2.0  # and clearly smaller, or as small and clearly faster to train
WIDE = 0.05  # a wider interval of a forecast says nothing


def p_text(p: float) -> str:
    """Write a p-value as people do.

    >>> p_text(0.41), p_text(0.0123), p_text(0.00001), p_text(1.0)
    ('p = 0.41', 'p = 0.012', 'p < 0.001', 'p = 1')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def points(difference: float) -> str:
    """Write a difference of accuracies in points of a hundred.

    >>> points(0.0193), points(0.01), points(0.0004)
    ('1.9 points', '1.0 point', '0.04 points')
    """
    size = abs(100 * difference)
    text = f"{size:.1f}" if size >= 0.095 or size == 0 else f"{size:.2f}"
    return f"{text} point{'' if text == '1.0' else 's'}"


def folds(found: Comparison) -> str:
    """Say how rows were held out.

    The number of folds, how often they were drawn, and how many were done where Ctrl-C came first.
    """
    drawn = f", drawn {found.repeats} times" if found.repeats > 1 else ""
    whole = found.folds * found.repeats
    return f"{found.folds} folds{drawn}" + (f", {found.folds_done} of {whole} done" if found.folds_done < whole else "")


def of_comparison(found: Comparison) -> list[str]:
    """Return the sentences: best against each other model, the test, its power, the baseline, the recommendation."""
    best = found.best
    lines = [_against_best(pair) for pair in _with_best(found)]
    if lines:
        lines.append(_test(found))
    alike = [pair for pair in _with_best(found) if not pair.differ]
    if alike and _by_rows(found):
        lines.append(_sensitivity(found, alike))
    label, share = found.baseline
    low = best.accuracy_interval[0]
    metric = "% accuracy" if found.metric == "accuracy" else "% F1 of the rows"
    always = f"always predicting '{label}' gives {100 * share:.1f} {metric}"
    lines.append(
        f"Baseline: {always}."
        if low > share
        else f"Warning: {always}; no model is clearly better than that. Get more rows or better labels first."
    )
    lines += [of_curve(curve) for curve in found.curves]
    name, reason = recommendation(found)
    lines.append(f"Use {name}: {reason}.")
    return lines


def _with_best(found: Comparison) -> list[Pair]:
    order = {m.name: k for k, m in enumerate(found.models)}
    return sorted((pair for pair in found.pairs if pair.better == found.best.name), key=lambda pair: order[pair.other])


def _against_best(pair: Pair) -> str:
    if pair.differ:
        return f"{pair.other} is worse than {pair.better} by {points(pair.difference)} ({p_text(pair.p)})."
    return f"{pair.better} and {pair.other} do not differ significantly ({p_text(pair.p)}; {points(pair.difference)} apart)."


def _by_rows(found: Comparison) -> bool:
    """Say whether the test was over rows, not over folds."""
    return bool(found.pairs) and found.pairs[0].test.test.startswith(("McNemar", "paired t"))


def _test(found: Comparison) -> str:
    if _by_rows(found):
        what = "McNemar on" if found.metric == "accuracy" else "paired t-test on the F1 of the labels of"
        name = f"{what} the same {found.rows_judged:,} held-out rows"
    else:
        name = f"corrected repeated k-fold t-test (Nadeau and Bengio) over {found.folds_done} folds"
    many = len(found.pairs)
    corrected = f"; p-values corrected for {many} pairs (Holm)" if many > 1 else ""
    return f"Test: {name}{corrected}."


def _sensitivity(found: Comparison, alike: list[Pair]) -> str:
    """Say which difference has a chance of 80 % to be found, from how often the models disagree."""
    n = found.rows_judged
    z = NormalDist().inv_cdf(1 - 0.025 / len(found.pairs)) + NormalDist().inv_cdf(0.8)
    seen = z * math.sqrt(max(1.0, median(pair.discordant for pair in alike))) / n
    return f"With {n:,} rows, differences below about {points(seen)} are often not found."


def recommendation(found: Comparison) -> tuple[str, str]:
    """Return the model to use and why.

    The best, unless another does not differ from it significantly, is within one point, and is clearly smaller (by a third), or no
    larger and clearly faster to train (by half).
    """
    best = found.best
    if len(found.models) == 1:
        return best.name, "the only model compared"
    scores = {m.name: m for m in found.models}
    alike = [pair for pair in _with_best(found) if not pair.differ]
    close = [scores[pair.other] for pair in alike if pair.difference <= CLOSE]
    better = [m for m in close if _cheaper(m, best)]
    if better:
        chosen = min(better, key=lambda m: (round(math.log(m.size, 1.1)), m.train_seconds, m.name))
        return chosen.name, f"no significant difference from {best.name}, and {_why(chosen, best)}"
    if not alike:
        return best.name, "significantly better than every other model"
    return best.name, "most accurate, and no cheaper model is within one point"


def _cheaper(m: ModelScores, best: ModelScores) -> bool:
    faster = m.train_seconds * FASTER <= best.train_seconds
    return m.size * SMALLER <= best.size or (m.size <= 1.1 * best.size and faster)


def _why(m: ModelScores, best: ModelScores) -> str:
    reasons = []
    if m.size * SMALLER <= best.size:
        reasons.append(f"{best.size / m.size:.1f} times smaller")
    if m.train_seconds * FASTER <= best.train_seconds:
        reasons.append(f"{best.train_seconds / max(m.train_seconds, 1e-9):.1f} times faster to train")
    return " and ".join(reasons)


def of_curve(curve: Curve) -> str:
    """Say what more labels would bring, or that the curve does not show it."""
    ahead = curve.forecast
    if ahead is None:
        return (
            f"{curve.model}: {len(curve.rows)} sizes on these folds are too few to predict the effect of more labels."
        )
    low, high = ahead.interval
    more = f"{curve.model}: with twice the labels ({ahead.rows:,} training rows)"
    if high - low > WIDE:
        return f"{more} the gain is uncertain: between {points(low)} and {points(high)}."
    if high < 0.005:
        return f"{more} accuracy would hardly rise (at most {points(high)})."
    if low <= 0.0:
        return f"{more} accuracy would rise by at most {points(high)}, perhaps not at all."
    return f"{more} accuracy would rise by about {points(ahead.gain)} ({100 * low:.1f} to {100 * high:.1f})."
