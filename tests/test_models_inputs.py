"""What models accept and what they say of the rest."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from generated import as_bytes, counts, learned
from linnet.errors import DataError
from linnet.models import ESTIMATORS, LinearSVM, MultinomialNB
from linnet.models.inputs import as_matrix
from linnet.solvers.matrix import Matrix

pytestmark = pytest.mark.filterwarnings("error")
every_model = pytest.mark.parametrize("Model", ESTIMATORS)


@every_model
def test_same_rows_in_any_dress(Model):
    X, y = counts()
    want = as_bytes(learned(Model().fit(X, y)))
    names = [f"c{j}" for j in range(X.shape[1])]
    dresses = [
        X.tolist(), np.asfortranarray(X), X.astype(int), X.astype(object), sp.csr_matrix(X), sp.csc_array(X),
        sp.coo_array(X), sp.lil_matrix(X), Matrix.from_dense(X), pd.DataFrame(X), pd.DataFrame(X, columns=names),
        pl.DataFrame(X, schema=names), X.astype(np.float32).astype(np.float64),
    ]  # fmt: skip
    for dress in dresses:
        model = Model().fit(dress, y)
        assert as_bytes(learned(model)) == want
        assert (model.predict(dress) == model.predict(dress)).all()


def test_duplicate_entries_are_summed():
    twice = sp.csr_matrix((np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    model = LinearSVM().fit(twice, [0, 1])
    np.testing.assert_array_equal(model.coef_, LinearSVM().fit(twice.toarray(), [0, 1]).coef_)
    assert twice.nnz == 3  # what was handed in is as it was


@every_model
def test_sparse_rows_in_any_order(Model):
    """Unsorted entries, as scikit-learn's vectorisers give them, and unsorted ones given in two parts."""
    X, y = counts()
    csr = sp.csr_array(X)
    back = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in zip(csr.indptr[:-1], csr.indptr[1:], strict=True)])
    mixed = sp.csr_array((csr.data[back], csr.indices[back], csr.indptr), shape=csr.shape)
    parts = np.repeat(csr.data[back] / 2, 2), np.repeat(csr.indices[back], 2), 2 * csr.indptr
    want = Model().fit(X, y)
    for rows in (mixed, sp.csr_array(parts, shape=csr.shape)):
        assert not rows.has_sorted_indices
        model = Model().fit(rows, y)
        for got, expected in zip(learned(model), learned(want), strict=True):  # sums in another order: the last digits
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-7)
        np.testing.assert_array_equal(model.predict(rows), want.predict(X))


def test_float32_stays():
    X, y = counts()
    dense, sparse = LinearSVM().fit(X.astype(np.float32), y), LinearSVM().fit(sp.csr_array(X.astype(np.float32)), y)
    assert dense.coef_.dtype == sparse.coef_.dtype == np.float32
    assert dense.coef_.tobytes() == sparse.coef_.tobytes()


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["b", "a", "c"], ["a", "b", "c"]),
        ([3, -1, 2], [-1, 2, 3]),
        ([True, False, True], [False, True]),
        ([1.0, 0.0, 2.0], [0.0, 1.0, 2.0]),
        (np.array(["b", "a", "c"], object), ["a", "b", "c"]),
        (pd.Series(["b", "a", "c"]), ["a", "b", "c"]),
        (pd.Categorical(["b", "a", "c"]), ["a", "b", "c"]),
        (pl.Series(["b", "a", "c"]), ["a", "b", "c"]),
    ],
)
def test_labels(labels, classes):
    X = np.eye(3)
    for Model in ESTIMATORS:
        model = Model().fit(X, labels)
        assert model.classes_.tolist() == classes
        assert set(model.predict(X).tolist()) <= set(classes)
        assert model.predict(X).dtype == model.classes_.dtype


X3 = np.eye(3)
BAD = [
    (np.ones(3), [0, 1, 0], "Expected 2D array, got 1D array instead"),
    (np.ones((2, 2, 2)), [0, 1], "Found array with dim 3. LinearSVM expected <= 2"),
    (5.0, [0], "Expected 2D array, got scalar array"),
    (np.zeros((0, 3)), [], r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required by LinearSVM"),
    (np.zeros((3, 0)), [0, 1, 0], r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
    ([[1.0], [np.nan], [2.0]], [0, 1, 0], "Input X contains NaN"),
    ([[1.0], [-np.inf], [2.0]], [0, 1, 0], "Input X contains infinity"),
    (X3 + 1j, [0, 1, 0], "Complex data not supported"),
    (sp.csr_array(X3 + 1j), [0, 1, 0], "Complex data not supported"),
    (sp.csr_array(np.diag([1.0, np.nan, 1.0])), [0, 1, 0], "Input X contains NaN"),
    ([["a text"], ["another"], ["more"]], [0, 1, 0], "could not convert string .* use linnet.TextClassifier"),
    (X3, None, "requires y to be passed, but the target y is None"),
    (X3, [0, 1], r"inconsistent numbers of samples: \[3, 2\]"),
    (X3, np.ones((3, 2)), r"y should be a 1d array, got an array of shape \(3, 2\)"),
    (X3, [0.5, 1.5, 2.5], "Unknown label type: continuous"),
    (X3, [0.0, np.nan, 1.0], "Input y contains NaN"),
    (X3, [0.0, np.inf, 1.0], "Input y contains infinity"),
    (X3, np.array(["a", None, "b"], object), r"Input y contains NaN. The label of row 2 is None"),
    (X3, np.array(["a", 1, "b"], object), "Unknown label type: y mixes int, str"),
    (X3, ["a", "a", "a"], "LinearSVM needs rows of two classes or more; got 1 class: every row with a weight is 'a'"),
]


@pytest.mark.parametrize(("X", "y", "message"), BAD)
def test_errors(X, y, message):
    with pytest.raises(DataError, match=message):
        LinearSVM().fit(X, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 2], r"sample_weight.shape == \(2,\), expected \(3,\)"),
        (np.ones((3, 1)), "Sample weights must be 1D array or scalar"),
        ([1, -2, 1], "Negative values in data passed to `sample_weight`: row 2 has -2"),
        ([0, 0, 0], "Sample weights must contain at least one non-zero number"),
        ([1, np.nan, 1], "Input sample_weight contains NaN"),
        ([1, 0, 0], "got 1 class"),
    ],
)
def test_weight_errors(weight, message):
    with pytest.raises(DataError, match=message):
        LinearSVM().fit(X3, [0, 1, 0], sample_weight=weight)


def test_negative_counts():
    with pytest.raises(DataError, match=r"Negative values in data passed to MultinomialNB \(input X\)"):
        MultinomialNB().fit([[1.0], [-1.0]], [0, 1])
    model = MultinomialNB().fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(DataError, match="Negative values"):
        model.predict([[-1.0]])


def test_not_fitted_and_wrong_width():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="This LinearSVM instance is not fitted yet"):
        LinearSVM().predict(X3)
    model = LinearSVM().fit(np.eye(5), [0, 1, 0, 1, 0])
    with pytest.raises(DataError, match="X has 3 features, but LinearSVM is expecting 5 features as input"):
        model.predict(X3)


def test_feature_names():
    frame = pd.DataFrame(np.eye(3), columns=["a", "b", "c"])
    model = LinearSVM().fit(frame, [0, 1, 0])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    model.predict(frame)
    model.predict(pl.DataFrame(np.eye(3), schema=["a", "b", "c"]))
    with pytest.raises(DataError, match="must be in the same order as they were in fit"):
        model.predict(frame[["b", "a", "c"]])
    with pytest.raises(
        DataError, match="unseen at fit time:\n- z\nFeature names seen at fit time, yet now missing:\n- c"
    ):
        model.predict(frame.rename(columns={"c": "z"}))
    with pytest.warns(UserWarning, match="X does not have valid feature names, but LinearSVM was fitted with"):
        model.predict(np.eye(3))
    model.fit(np.eye(3), [0, 1, 0])
    assert not hasattr(model, "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names, but LinearSVM was fitted without"):
        model.predict(frame)
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        model.fit(frame.rename(columns={"c": 3}), [0, 1, 0])


def test_column_vector_of_labels_warns():
    from sklearn.exceptions import DataConversionWarning

    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        LinearSVM().fit(X3, [[0], [1], [0]])


def test_random_states():
    X, y = counts()
    for state in (None, 3, np.int64(3), np.random.RandomState(0), np.random.default_rng(0)):
        LinearSVM(random_state=state).fit(X, y)


def test_a_matrix_is_taken_as_it_is():
    M = Matrix.from_dense(X3)
    assert as_matrix(M, "LinearSVM") is M
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinearSVM().fit(M, ["x", "y", "x"])
