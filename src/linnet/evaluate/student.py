"""Student's t distribution: the two functions that tests and intervals need. scipy has them too, but is large to install.

With x = n / (n + t^2), the chance that |T| is above t is the regularised incomplete beta function I_x(n/2, 1/2).
Reference: DiDonato and Morris, Significant digit computation of the incomplete beta function ratios, 1992.
"""

from __future__ import annotations

import math

__all__ = ["two_sided", "two_sided_quantile"]


def two_sided(t: float, freedom: float) -> float:
    """Return P(|T| > t) for T with so many degrees of freedom.

    >>> round(two_sided(2.776445, 4), 6)
    0.05
    """
    a, b, x, y = freedom / 2, 0.5, freedom / (freedom + t * t), t * t / (freedom + t * t)  # y = 1 - x
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
