"""Data for tests of solvers and models: sparse rows with everything that breaks kernels, and texts of two topics."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from linnet.solvers.matrix import Matrix


def rows(n=60, d=25, classes=3, seed=0, density=0.3, noise=0.5):
    """Sparse rows with labels that a line mostly gets right; an empty row, an empty column, a duplicated row."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < density, rng.normal(size=(n, d)), 0.0)
    X[3] = 0.0
    X[:, 2] = 0.0
    truth = X @ rng.normal(size=(d, classes)) + noise * rng.normal(size=(n, classes))
    y = truth.argmax(axis=1)
    y[:classes] = np.arange(classes)
    X[7], y[7] = X[8], y[8]
    return X, y


def counts(n=60, d=25, classes=3, seed=0):
    """Bags of words: small whole numbers."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.5, size=(n, d)).astype(float)
    X[3] = 0.0
    X[:, 2] = 0.0
    y = (X @ rng.normal(size=(d, classes))).argmax(axis=1)
    y[:classes] = np.arange(classes)
    return X, y


def numbers(found):
    """Every array of what fit_matrix returned: W and b, or the embeddings and the layers of a head."""
    W, b = found
    return [W, *(part for layer in b.layers for part in layer)] if hasattr(b, "layers") else [W, b]


def learned(model):
    """Every array that a fitted model keeps."""
    for names in (("coef_", "intercept_"), ("embedding_", "head_"), ("dual_coef_", "support_")):
        if hasattr(model, names[0]):
            return numbers([getattr(model, name) for name in names])
    raise AssertionError(f"{model!r}: say here what it learns")


def as_bytes(arrays):
    return b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)


@st.composite
def matrices(draw, least_rows=1, dtype=None):
    """A Matrix of a few rows: empty rows, empty columns, one row, duplicates, entries in any order."""
    n = draw(st.integers(least_rows, 8))
    d = draw(st.integers(1, 6))
    kind = dtype or draw(st.sampled_from([np.float32, np.float64]))
    entries = st.dictionaries(st.integers(0, d - 1), st.sampled_from([-2.0, -0.5, 0.25, 1.0, 3.0]), max_size=d)
    found = draw(st.lists(entries, min_size=n, max_size=n))
    if n > 1 and draw(st.booleans()):
        found[-1] = found[0]
    columns, values, indptr = [], [], [0]
    for row in found:
        columns += list(row)
        values += list(row.values())
        indptr.append(len(columns))
    return Matrix(np.array(indptr, np.int64), np.array(columns, np.int32), np.array(values, kind), d)


TOPICS = {
    "food": ["bread", "butter", "cheese", "soup", "salt", "pepper", "oven", "plate", "fork", "spoon", "sauce", "onion"],
    "tech": [
        "disk",
        "chip",
        "cable",
        "screen",
        "server",
        "router",
        "code",
        "kernel",
        "driver",
        "cache",
        "thread",
        "mouse",
    ],
}


def topics(n, seed):
    """Texts of four words of a topic, and their topics; two texts of one topic need not share a word."""
    rng = np.random.default_rng(seed)
    labels = [("food", "tech")[k % 2] for k in range(n)]
    return [" ".join(["the", *rng.choice(TOPICS[y], 4, replace=False), "and"]) for y in labels], labels
