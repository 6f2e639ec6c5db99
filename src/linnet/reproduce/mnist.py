"""Softmax regression on MNIST: 60,000 pictures of 784 numbers, divided by 255, tested once on the 10,000 others.

"the listing's settings" are those of the lecture: stochastic gradient descent with momentum 0.9, rate 0.01, batches of 100, no
intercept, no penalty, 100 passes. The listing meets the rows in the order of the file; here they are shuffled before every pass. "rate 0.1"
has an intercept, a penalty (C = 1) and 20 passes. scikit-learn's optimum of that problem stands beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnet.datasets import mnist
from linnet.evaluate.intervals import wilson
from linnet.models import LogisticRegression
from linnet.reproduce import Lines, TableOptions
from linnet.solvers import Momentum

ROWS = ("the listing's settings", "rate 0.1", "scikit-learn, L-BFGS")


def lines(options: TableOptions) -> Lines:
    """Give the rows: accuracy on the test pictures, with its 95 % interval."""
    (X, y), (Z, t) = mnist()
    yield "", {}
    for name in options.chosen(ROWS, "rows"):
        right = int(np.sum(_model(name, options.passes).fit(X, y).predict(Z) == t))
        share, (low, high) = right / len(t), wilson(right, len(t))
        row = {"system": name, "accuracy": share, "low": low, "high": high}
        yield f"{name:<26} {share:.2%} [{low:.2%}, {high:.2%}]", row


def _model(name: str, passes: int | None) -> Any:
    if name.startswith("scikit-learn"):
        from sklearn.linear_model import LogisticRegression as Peer

        return Peer(C=1.0, max_iter=200)
    if name == "rate 0.1":
        steps = Momentum(learning_rate=0.1, beta=0.9, batch_size=100)
        return LogisticRegression(C=1.0, solver=steps, max_iter=passes or 20)
    steps = Momentum(learning_rate=0.01, beta=0.9, batch_size=100)
    return LogisticRegression(C=1e9, solver=steps, max_iter=passes or 100, fit_intercept=False)
