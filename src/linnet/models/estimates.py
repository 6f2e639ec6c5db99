"""From counts to shares and their logarithms: the three estimates of naive Bayes, and its linear form.

With counts N of K outcomes, their sum N., and a Dirichlet prior alpha,

    mle         N_k / N.                                      what was seen; nothing unseen can happen
    map         (N_k + alpha_k - 1) / (N. + sum alpha - K)    the mode of the posterior; alpha = 1 is mle
    predictive  (N_k + alpha_k) / (N. + sum alpha)            the mean of the posterior: add-alpha smoothing

With two outcomes this is the Beta prior.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet import arithmetic
from linnet.errors import DataError
from linnet.models.settings import above_zero
from linnet.solvers.matrix import Matrix

__all__ = ["ESTIMATES", "LOG_ZERO", "Form", "log_shares", "per_item", "pseudo_counts"]

Floats = npt.NDArray[np.float64]

ESTIMATES = ("mle", "map", "predictive")
LOG_ZERO = -744.4400719213812
"""What log 0 counts as in coef_ and intercept_: the logarithm of the smallest double."""


def per_item(name: str, value: Any, n: int, item: str) -> Floats | float:
    """Return a prior: a number above 0, or one for each item."""
    if np.ndim(value) == 0:
        return above_zero(name, value)
    array = np.asarray(value, dtype=np.float64)
    if array.shape != (n,) or not (array > 0.0).all() or not np.isfinite(array).all():
        raise DataError(f"{name} must be above 0, one number or one a {item} ({n}); got {value!r}")
    return array


def pseudo_counts(counts: Floats, alpha: Floats | float, estimate: str, name: str = "alpha") -> Floats:
    """Return what an estimate shares out: N, N + alpha - 1 or N + alpha.

    >>> pseudo_counts(np.array([3.0, 1.0]), 2.0, "map").tolist()
    [4.0, 2.0]
    """
    if estimate == "mle":
        return counts
    if estimate == "predictive":
        return np.asarray(counts + alpha, dtype=np.float64)
    found = np.asarray(counts + (alpha - 1.0), dtype=np.float64)
    if (found < 0.0).any():
        raise DataError(
            f"estimate='map' is not defined for {name}={_short(alpha)}: the posterior has no mode where a count plus "
            f"{name} is below 1; take {name} of 1 (maximum likelihood) or more, or estimate='predictive'"
        )
    return found


def _short(alpha: Floats | float) -> str:
    return f"{np.min(alpha):g}"


def log_shares(counts: Floats, total: Floats) -> Floats:
    """Return log(counts / total), one total a class (the last axis); -inf for 0, and where the total is 0.

    >>> log_shares(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([1.0, 0.0])).tolist()
    [[0.0, -inf], [-inf, -inf]]
    """
    with np.errstate(invalid="ignore"):
        logs: Floats = arithmetic.log(counts)
        logs -= arithmetic.log(total)
    if not np.all(total):
        logs[np.isnan(logs)] = -np.inf
    return logs


@dataclass(frozen=True)
class Form:
    """log P(x, y) = X W + b, and -inf where x is impossible for y: where present(X) V + v counts a reason or more.

    Keeping log 0 out of W and b, and its occurrences in (V, v), keeps inf - inf out of the sums.
    """

    W: Floats  # (n_columns, n_classes)
    b: Floats  # (n_classes,)
    barred: tuple[Floats, Floats] | None = None  # V and v, of the same shapes

    @classmethod
    def of_logs(cls, W: Floats, b: Floats) -> Form:
        """Take logarithms that may be -inf."""
        if np.isfinite(b).all() and np.isfinite(W).all():
            return cls(W, b)
        no, never = np.isneginf(W), np.isneginf(b)
        barred = no.astype(np.float64), never.astype(np.float64)
        return cls(np.where(no, 0.0, W), np.where(never, 0.0, b), barred)

    def joint(self, X: Matrix) -> Floats:
        """Return log P(x, y), (n_rows, n_classes)."""
        scores = X.dot(self.W) + self.b
        if self.barred is not None:
            present = replace(X, values=(X.values != 0).astype(X.values.dtype))
            V, v = self.barred
            scores[present.dot(V) + v > 0.5] = -np.inf
        return scores

    def finite(self) -> tuple[Floats, Floats]:
        """Return W and b with LOG_ZERO for log 0, and for two classes their difference."""
        W, b = self.W, self.b
        if self.barred is not None:
            W, b = W + LOG_ZERO * self.barred[0], b + LOG_ZERO * self.barred[1]
        return (W[:, 1:] - W[:, :1], b[1:] - b[:1]) if len(b) == 2 else (W, b)
