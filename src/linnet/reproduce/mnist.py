"""Softmax regression on MNIST: 60,000 pictures of 784 numbers, divided by 255, tested once on the 10,000 others.

"the listing's settings" are those of the lecture: stochastic gradient descent with momentum 0.9, rate 0.01, batches of 100, no
intercept, no penalty, 100 passes. The listing meets the rows in the order of the file; here they are shuffled before every pass. "rate 0.1"
has an intercept, a penalty (C = 1) and 20 passes. scikit-learn's optimum of that problem stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from linnet.datasets import mnist
from linnet.evaluate.intervals import wilson
from linnet.models import LogisticRegression
from linnet.reproduce import TableOptions
from linnet.solvers import Momentum

ROWS = ("the listing's settings", "rate 0.1", "scikit-learn, L-BFGS")


def rows(options: TableOptions) -> Iterator[dict[str, Any]]:
    """Give the rows: accuracy on the test pictures, with its 95 % interval."""
    (X, y), (Z, t) = mnist()
    for name in options.chosen(ROWS, "rows"):
        right = int(np.sum(_model(name, options.passes).fit(X, y).predict(Z) == t))
        low, high = wilson(right, len(t))
        yield {"system": name, "accuracy": right / len(t), "low": low, "high": high}


def _model(name: str, passes: int | None) -> Any:
    if name.startswith("scikit-learn"):
        from sklearn.linear_model import LogisticRegression as Peer

        return Peer(C=1.0, max_iter=200)
    if name == "rate 0.1":
        steps = Momentum(learning_rate=0.1, beta=0.9, batch_size=100)
        return LogisticRegression(C=1.0, solver=steps, max_iter=passes or 20)
    steps = Momentum(learning_rate=0.01, beta=0.9, batch_size=100)
    return LogisticRegression(C=1e9, solver=steps, max_iter=passes or 100, fit_intercept=False)


def line(row: dict[str, Any]) -> str:
    """Write a row."""
    return f"{row['system']:<26} {row['accuracy']:.2%} [{row['low']:.2%}, {row['high']:.2%}]"
