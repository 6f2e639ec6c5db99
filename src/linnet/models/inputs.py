"""What users hand to a model, checked and brought into the forms that solvers take.

Rows come as NumPy arrays, lists, pandas or polars frames, scipy sparse matrices or arrays, or our Matrix; nothing here
imports pandas, polars, scipy or scikit-learn. Where scikit-learn has a
wording for an error, that is the wording, so that its users and its checks find what they expect.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet._kernels import sparse
from linnet.array_types import Array, Bools, Floats, Ints32
from linnet.errors import DataError, not_fitted
from linnet.solvers.matrix import Matrix

SHOWN_NAMES = 5


def as_matrix(X: Any, model: str) -> Matrix:
    """Return rows of numbers as a Matrix: float32 stays, everything else becomes float64.

    Sparse rows keep their entries in the order given, as scikit-learn's vectorisers give them.

    >>> as_matrix([[0, 2], [1, 0]], "LinearSVM").values.tolist()
    [2.0, 1.0]
    """
    if isinstance(X, Matrix):
        return X
    if hasattr(X, "tocsr"):
        _check_shape(X.shape, model)
        matrix = _from_sparse(X)
    else:
        matrix = Matrix.from_dense(_numbers(X, model))
    if not np.isfinite(matrix.values).all():
        what = "NaN" if np.isnan(matrix.values).any() else "infinity or a value too large for dtype('float64')"
        raise DataError(f"Input X contains {what}. {model} takes finite numbers only: fill or drop such rows")
    return matrix


def _check_shape(shape: tuple[int, ...], model: str) -> None:
    if len(shape) > 2:
        raise DataError(f"Found array with dim {len(shape)}. {model} expected <= 2.")
    for size, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise DataError(f"Found array with 0 {what} (shape={shape}) while a minimum of 1 is required by {model}.")


def _check_real(kind: np.dtype[Any], values: Any) -> None:
    if kind.kind == "c":
        raise DataError(f"Complex data not supported\n{values}\n")


def _numbers(X: Any, model: str) -> Array:
    """Return a two-dimensional array of floats."""
    array = np.asarray(X)
    _check_real(array.dtype, array)
    if array.ndim < 2:
        found = "scalar" if array.ndim == 0 else "1D"
        raise DataError(
            f"Expected 2D array, got {found} array instead:\narray={array}.\nReshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a single "
            "sample."
        )
    if array.dtype.kind not in "fiub":
        try:
            array = array.astype(np.float64)
        except ValueError as error:
            raise DataError(f"{error}: {model} takes numbers; for texts use linnet.TextClassifier") from None
    _check_shape(array.shape, model)
    return array


def _from_sparse(X: Any) -> Matrix:
    _check_real(X.dtype, X)
    csr = X.tocsr()
    matrix = Matrix.from_scipy(csr)
    if csr.has_sorted_indices and csr.has_canonical_format:
        return matrix
    if not sparse.has_duplicates(matrix.indptr, matrix.indices):
        return matrix  # the order of the entries of a row does not matter
    csr = csr.copy()
    csr.sum_duplicates()  # entries given twice are one entry, their sum
    return Matrix.from_scipy(csr)


# ---- feature names


def feature_names(X: Any) -> Array | None:
    """Return the column names of a frame, where they are all text."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = np.asarray(columns, dtype=object)
    texts = sum(isinstance(name, str) for name in names)
    if 0 < texts < len(names):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{sorted({type(name).__name__ for name in names})} as feature name / column name types."
        )
    return names if texts else None


def check_names(got: Array | None, fitted: Array | None, model: str) -> None:
    """Compare the column names of a frame with those that were seen in fit."""
    if got is None or fitted is None:
        if got is not fitted:
            here, there = ("does not have valid", "with") if got is None else ("has", "without")
            warnings.warn(f"X {here} feature names, but {model} was fitted {there} feature names", stacklevel=6)
        return
    if len(got) == len(fitted) and (got == fitted).all():
        return
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(got) - set(fitted)), sorted(set(fitted) - set(got))
    for title, names in (("unseen at fit time", unseen), ("seen at fit time, yet now missing", missing)):
        if names:
            shown = [*names[:SHOWN_NAMES], "..."] if len(names) > SHOWN_NAMES else names
            message += f"Feature names {title}:\n" + "".join(f"- {name}\n" for name in shown)
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise DataError(message)


def check_fitted(estimator: Any) -> None:
    """Refuse an estimator that has not been fitted."""
    if not hasattr(estimator, "n_features_in_"):
        raise not_fitted(
            f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
            "using this estimator."
        )


def checked_rows(estimator: Any, X: Any, reset: bool) -> Matrix:
    """Check rows against what an estimator was fitted to; with reset, note in the estimator what they are."""
    name, names = type(estimator).__name__, feature_names(X)
    if not reset:
        check_fitted(estimator)
        check_names(names, getattr(estimator, "feature_names_in_", None), name)
    M = as_matrix(X, name)
    if reset:
        estimator.n_features_in_ = M.n_features
        vars(estimator).pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = names
    elif M.n_features != estimator.n_features_in_:
        raise DataError(
            f"X has {M.n_features} features, but {name} is expecting {estimator.n_features_in_} features as input"
        )
    return M


# ---- labels and weights


def as_labels(y: Any, n_rows: int, model: str) -> Array:
    """Return one label a row: text, whole numbers or truth values."""
    if y is None:
        raise DataError(f"This {model} estimator requires y to be passed, but the target y is None.")
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        theirs = sys.modules.get("sklearn.exceptions")  # its class of warning, where scikit-learn is in use
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), "
            "for example using ravel().",
            theirs.DataConversionWarning if theirs else UserWarning,
            stacklevel=4,
        )
        labels = labels.ravel()
    if labels.ndim != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {labels.shape} instead.")
    _check_real(labels.dtype, labels)
    if len(labels) != n_rows:
        raise DataError(f"Found input variables with inconsistent numbers of samples: {[n_rows, len(labels)]}")
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise DataError(f"Input y contains {'NaN' if np.isnan(labels).any() else 'infinity'}.")
        if (labels != np.floor(labels)).any():
            raise DataError(
                "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete "
                "classes on a regression target with continuous values."
            )
    if labels.dtype == object and any(v is None or v != v for v in labels):
        row = next(k for k, v in enumerate(labels) if v is None or v != v)
        raise DataError(f"Input y contains NaN. The label of row {row + 1} is {labels[row]!r}")
    return labels


def indicators(values: Any, name: str) -> Bools:
    """Return an indicator matrix, (n_rows, n_labels): 1 where a row has a label."""
    array: Any = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
    if array.ndim != 2 or not np.isin(array, (0, 1)).all():
        raise DataError(f"{name} must be an indicator matrix of 0 and 1, rows by labels; got shape {array.shape}")
    return np.asarray(array, bool)


def index_of(labels: Array, weight: Floats | None, model: str) -> tuple[Array, Ints32]:
    """Return the sorted classes of rows with a weight, and the class of each row (any, for a row without)."""
    used = labels if weight is None else labels[weight > 0.0]
    try:
        classes = np.unique(used)
    except TypeError:
        kinds = sorted({type(v).__name__ for v in used})
        raise DataError(f"Unknown label type: y mixes {', '.join(kinds)}; make all labels text") from None
    if len(classes) < 2:
        found = repr(classes[0].item() if isinstance(classes[0], np.generic) else classes[0])
        raise DataError(f"{model} needs rows of two classes or more; got 1 class: every row with a weight is {found}")
    if weight is None:
        index = np.searchsorted(classes, labels)
    else:
        index = np.zeros(len(labels), dtype=np.int64)
        index[weight > 0.0] = np.searchsorted(classes, used)
    return classes, index.astype(np.int32)


def as_weight(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return one weight a row, or None where all count one."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar, got an array of shape {weight.shape}")
    if len(weight) != n_rows:
        raise DataError(f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}!")
    if not np.isfinite(weight).all():
        raise DataError(f"Input sample_weight contains {'NaN' if np.isnan(weight).any() else 'infinity'}.")
    if (weight < 0.0).any():
        row = int(np.argmax(weight < 0.0))
        raise DataError(f"Negative values in data passed to `sample_weight`: row {row + 1} has {weight[row]:g}")
    if not weight.any():
        raise DataError("Sample weights must contain at least one non-zero number.")
    return weight


def class_factors(class_weight: Any, rows: Array, classes: Sequence[Any] | Array) -> Floats | None:
    """Return the weight of a row of each class after class_weight: None, "balanced" or {label: factor}.

    Balanced gives every class the same total: n / (n_classes * rows of the class), rows counted by their weight.

    >>> class_factors("balanced", np.array([1, 3]), ("a", "b")).round(4).tolist()
    [2.0, 0.6667]
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.asarray(rows, dtype=np.float64)
        return np.asarray(arithmetic.total(totals) / (len(classes) * np.maximum(totals, 1e-300)))
    if not isinstance(class_weight, Mapping):
        raise DataError(f'class_weight must be None, "balanced" or a dict of label: factor, got {class_weight!r}')
    names = [c.item() if isinstance(c, np.generic) else c for c in classes]
    factors = np.array([float(class_weight.get(name, 1.0)) for name in names])
    known = sum(name in class_weight for name in names)
    if known < len(names) and known < len(class_weight):
        extra = [key for key in class_weight if key not in names]
        raise DataError(f"class_weight names {extra}, which are not labels; the labels are {names}")
    if not np.isfinite(factors).all() or (factors <= 0.0).any():
        raise DataError(f"class_weight must be above 0, got {class_weight!r}; to leave a class out, drop its rows")
    return factors


def label_factors(class_weight: Any, rows: Array, n: float, classes: Sequence[Any] | Array) -> Floats:
    """Return the weight of a row without and with each label, (n_labels, 2), where rows may have several labels.

    rows are those with each label, n is how many there are. Balanced gives both sides of every label the same total;
    the factors of a dict are those of rows with the label.

    >>> label_factors("balanced", np.array([1, 3]), 4, ("a", "b")).round(4).tolist()
    [[0.6667, 2.0], [2.0, 0.6667]]
    >>> label_factors({"a": 5.0}, np.array([1, 3]), 4, ("a", "b")).tolist()
    [[1.0, 5.0], [1.0, 1.0]]
    """
    if isinstance(class_weight, Mapping):
        with_label = class_factors(class_weight, rows, classes)
        assert with_label is not None  # noqa: S101 - of a mapping there are factors
        return np.stack([np.ones(len(classes)), with_label], axis=1)
    sides = np.stack([n - rows, rows], axis=1)
    return np.stack([np.asarray(class_factors(class_weight, side, (0, 1))) for side in sides])


def row_weights(class_weight: Any, classes: Sequence[Any] | Array, y: Array, weight: Floats | None) -> Floats | None:
    """Return the weight of each row, times that of its class; None where all weigh 1.

    Where rows may have several labels every label is a problem of its own, and the weights are (n_rows, n_labels).
    """
    if class_weight is None:
        return weight
    base = np.ones(len(y)) if weight is None else weight
    found = factors_of(class_weight, classes, y, base)
    if y.ndim == 2:
        return np.asarray(base[:, None] * np.where(y, found[:, 1], found[:, 0]))
    return np.asarray(base * (found if base.ndim == 2 else found[y]), dtype=np.float64)


def factors_of(class_weight: Any, classes: Sequence[Any] | Array, y: Array, weight: Floats) -> Floats:
    """Return the factor of each class for rows of these weights; where rows may have several labels, see ``label_factors``."""
    if y.ndim == 2:
        totals = np.array([arithmetic.total(weight[column]) for column in y.T])
        return label_factors(class_weight, totals, arithmetic.total(weight), classes)
    soft = weight.ndim == 2
    totals = arithmetic.total(weight, axis=0) if soft else np.bincount(y, weights=weight, minlength=len(classes))
    return np.asarray(class_factors(class_weight, totals, classes))


def seed_of(random_state: Any) -> int:
    """Return a whole number to draw from: the seed itself, or one drawn from a generator or (None) from the system."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise DataError(f"random_state must be None, a whole number from 0, or a NumPy generator, got {random_state!r}")


def batch_labels(model: Any, y: Any, n: int, classes: Any) -> tuple[Array, Ints32]:
    """Return the classes of a model that learns batch by batch, and the number of the class of each of n rows.

    The first call must name all classes; later ones may name them again.
    """
    name, known = type(model).__name__, getattr(model, "classes_", None)
    if known is None and classes is None:
        raise DataError("classes must be passed on the first call to partial_fit.")
    if classes is not None:
        named = np.unique(np.asarray(classes))
        if known is not None and not np.array_equal(named, known):
            raise DataError(f"classes={named.tolist()} are not those of the first call: {known.tolist()}")
        if len(named) < 2:
            raise DataError(f"{name} needs two classes or more; got 1 class: {classes!r}")
        known = named
    assert known is not None  # noqa: S101 - named, or known from before
    labels = as_labels(y, n, name)
    index = np.minimum(np.searchsorted(known, labels), len(known) - 1)
    if (known[index] != labels).any():
        unknown = np.unique(labels[known[index] != labels])
        raise DataError(f"y holds {unknown.tolist()}, which are not in classes: {known.tolist()}")
    return known, index.astype(np.int32)


def accuracy(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Return the share of rows that a model gives the right label, by their weights."""
    found = model.predict(X)
    right = found == as_labels(y, len(found), type(model).__name__)
    return arithmetic.mean(right, weights=as_weight(sample_weight, len(found)))
