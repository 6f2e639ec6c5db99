"""The scikit-learn contract: check_estimator for every model and solver, nothing skipped, and no heavy import."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import linnet.models
from generated import as_bytes, counts, learned
from linnet.errors import DataError
from linnet.models import ESTIMATORS as CLASSES
from linnet.models import FeedForward, LinearSVM, LogisticRegression, MultinomialNB
from linnet.solvers import LBFGS, Momentum, ProximalGradient  # noqa: F401 - for eval
from linnet.solvers.online import SGD
from linnet.solvers.optimisers import Inverse

ESTIMATORS = [
    *(f"{cls.__name__}()" for cls in CLASSES),
    "LinearSVM(loss='hinge')",
    "LinearSVM(solver='sgd')",
    "LogisticRegression(solver='sgd')",
    "FeedForward(hidden=0)",
    "KernelPerceptron(average=True)",
    "LeastSquares(solver='lsqr', alpha=0.1)",
    "LeastSquares(solver='normal', alpha=0.1)",
    "Perceptron(average=False)",
    "Perceptron(start='random')",
    "MultinomialNB(estimate='mle')",
    "MultinomialNB(oov=True, rare=2)",
    "BernoulliNB(estimate='mle')",
    "BernoulliNB(estimate='map', alpha=(1.5, 3.0))",
    "CategoricalNB(estimate='mle')",
    "GaussianNB(estimate='map')",
    "GaussianNB(estimate='predictive')",
    "LogisticRegression(solver=LBFGS())",
    "LinearSVM(solver=LBFGS())",
    "LinearSVM(solver='newton')",
    "LogisticRegression(solver='newton')",
    "LogisticRegression(penalty='l1')",
    "LinearSVM(penalty='l1')",
]
FIRST_ORDER = [  # many small steps: checked with the slow tests
    "LogisticRegression(solver='adam')",
    "LogisticRegression(solver=Momentum())",
    "LogisticRegression(solver=ProximalGradient())",
]


def made(text):
    return eval(text, {**globals(), **vars(linnet.models)})


def checks_of(estimators):
    """Run all checks in a process where scipy knows of array namespaces, so that none is skipped."""
    script = f"""
        import json, warnings
        warnings.simplefilter("ignore")
        from sklearn.utils.estimator_checks import check_estimator
        from linnet.models import *
        from linnet.solvers import *
        out = {{}}
        for text in {estimators!r}:
            found = check_estimator(eval(text), on_fail=None, on_skip=None)
            out[text] = [(c["check_name"], c["status"], str(c["exception"])) for c in found]
        print(json.dumps(out))
    """
    env = dict(os.environ, SCIPY_ARRAY_API="1")
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def checked():
    return checks_of(ESTIMATORS)


@pytest.mark.parametrize("text", ESTIMATORS)
def test_check_estimator(checked, text):
    assert len(checked[text]) > 50
    assert [c for c in checked[text] if c[1] != "passed"] == []


@pytest.mark.slow
def test_check_estimator_by_first_order_methods():
    for found in checks_of(FIRST_ORDER).values():
        assert len(found) > 50
        assert [c for c in found if c[1] != "passed"] == []


@pytest.mark.parametrize(
    "text", [e for e in [*ESTIMATORS, *FIRST_ORDER] if not any(name in e for name in ("NB", "Kernel", "Votes", "Feed"))]
)
def test_balanced_class_weight(text):
    from sklearn.utils.estimator_checks import check_class_weight_balanced_linear_classifier

    check_class_weight_balanced_linear_classifier("model", made(text))


def test_imports_stay_light():
    """Fitting and predicting on NumPy input imports neither scipy nor scikit-learn nor pandas."""
    script = """
        import sys
        import numpy as np
        import linnet.models
        X = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
        for Model in linnet.models.ESTIMATORS:
            for y in ([0, 1, 1, 0, 1], ["a", "b", "c", "a", "c"]):
                model = Model().fit(X, y, sample_weight=[1, 2, 1, 1, 1])
                model.predict(X), model.score(X, y), repr(model), model.get_params()
        for y in ([0, 1, 1, 0, 1], [0, 1, 2, 0, 2]):
            linnet.models.LinearSVM(solver="sgd").fit(X, y)
            linnet.models.LogisticRegression(solver="sgd").fit(X, y).predict_proba(X)
        heavy = {"scipy", "sklearn", "pandas", "polars"} & set(sys.modules)
        assert not heavy, heavy
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_in_scikit_learns_tools():
    from sklearn.base import clone
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline

    texts = ["good film", "good fun", "great fun", "bad film", "bad bore", "awful bore"] * 4
    y = (["pos"] * 3 + ["neg"] * 3) * 4
    for Model in CLASSES:
        pipe = make_pipeline(CountVectorizer(), Model())
        assert cross_val_score(pipe, texts, y, cv=3).mean() == 1.0
        grid = dict(Model.plan.grid[:1]) if hasattr(Model, "recipe") else {}
        grid = GridSearchCV(Model(), grid, cv=2).fit(CountVectorizer().fit_transform(texts), y)
        assert grid.best_score_ == 1.0
    model = clone(LinearSVM(C=3.0, solver=SGD(learning_rate=0.5, schedule=Inverse())))
    assert model.get_params()["solver"] == SGD(learning_rate=0.5, schedule=Inverse())


def test_settings():
    model = LinearSVM(C=2.0, class_weight="balanced")
    assert repr(model) == "LinearSVM(C=2.0, class_weight='balanced')"
    assert repr(LogisticRegression()) == "LogisticRegression()"
    assert model.set_params(C=0.5) is model
    assert model.get_params()["C"] == 0.5
    with pytest.raises(DataError, match="unknown setting of LinearSVM 'c'; choose one of: C, penalty"):
        model.set_params(c=1)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LinearSVM(C=-1), "C must be a number above 0, got -1"),
        (LinearSVM(C="1"), "C must be a number above 0, got '1'"),
        (LinearSVM(tol=0), "tol must be a number above 0, got 0"),
        (LinearSVM(max_iter=0), "max_iter must be a whole number from 1, got 0"),
        (LinearSVM(n_jobs=0), "threads must be 1 or more, or None for all cores, got 0"),
        (LinearSVM(fit_intercept="yes"), "fit_intercept must be True or False, got 'yes'"),
        (LinearSVM(intercept_scaling=0), "intercept_scaling must be a number above 0, got 0"),
        (LinearSVM(loss="hinges"), r"unknown loss 'hinges'.*did you mean 'hinge'"),
        (
            LinearSVM(solver="duel"),
            r"unknown solver 'duel'; choose one of: dual, coordinate, sgd, .*\(did you mean 'dual'",
        ),
        (LinearSVM(solver="sgd", loss="squared_hinge"), "solver 'sgd' has loss hinge only, got 'squared_hinge'"),
        (LinearSVM(cost=[[0, 1], [1, 0]]), "cost belongs to solver='sgd'"),
        (LinearSVM(solver="sgd", cost=[[0, 1, 1], [1, 0, 1]]), "a row and a column for each of 2 classes, got shape"),
        (LinearSVM(solver="sgd", cost=[[1, 1], [1, 0]]), "0 for right answers"),
        (LinearSVM(random_state=-1), "random_state must be None, a whole number from 0"),
        (LinearSVM(class_weight="balance"), "class_weight must be None, \"balanced\" or a dict .* got 'balance'"),
        (LinearSVM(class_weight={0: 0.0, 1: 1.0}), "class_weight must be above 0"),
        (LinearSVM(class_weight={0: 2.0, 7: 1.0}), r"class_weight names \[7\], which are not labels"),
        (LogisticRegression(C=0), "C must be a number above 0, got 0"),
        (
            LogisticRegression(solver=3),
            "solver must be one of 'dual', 'newton', 'coordinate', 'sgd', .*'lbfgs', .*got 3",
        ),
        (LogisticRegression(penalty="l3"), "unknown penalty 'l3'; choose one of: l2, l1"),
        (
            LogisticRegression(solver="newton", penalty="l1"),
            "'newton' has penalty l2 only, got 'l1'; that is for .*'coord",
        ),
        (
            LogisticRegression(solver="coordinate"),
            "solver 'coordinate' has penalty l1 only, got 'l2'; that is for solver",
        ),
        (LogisticRegression(decay=0.1), "decay belongs to solver='sgd', got decay=0.1"),
        (LinearSVM(solver="dual", penalty="l1"), "solver 'dual' has penalty l2 only, got 'l1'.*solver 'coordinate'"),
        (
            LinearSVM(loss="hinge", penalty="l1"),
            "'coordinate' has loss squared_hinge only, got 'hinge'; .*'dual' or 'sgd'",
        ),
        (LinearSVM(decay=0.1), "decay belongs to solver='sgd', got decay=0.1; other solvers take C"),
        (LinearSVM(solver=SGD(decay=0.1), decay=0.1), r"decay is given twice: decay=0.1 and solver=SGD\("),
        (LinearSVM(solver="sgd", decay=-1), "decay must be a number from 0, got -1"),
        (MultinomialNB(alpha=0), "alpha must be a number above 0, got 0"),
        (MultinomialNB(alpha=[1.0, 2.0]), "one number or one a feature"),
        (MultinomialNB(class_prior=[1.0]), "class_prior must hold a number above 0 for each of 2 classes"),
        (MultinomialNB(fit_prior=1), "fit_prior must be True or False"),
        (FeedForward(dim=0), "dim must be a whole number from 1, got 0"),
        (FeedForward(hidden=-1), "hidden must be a whole number from 0, got -1"),
        (FeedForward(dropout=1.0), "dropout must be a number from 0 and below 1, got 1.0"),
        (FeedForward(label_smoothing=-0.1), "smoothing must be a number from 0 and below 1, got -0.1"),
        (FeedForward(learning_rate=0), "learning_rate must be a number above 0, got 0"),
        (FeedForward(batch_size=0), "batch_size must be a whole number from 1, got 0"),
        (FeedForward(step="adam"), "unknown step 'adam'; choose one of: sgd, adagrad"),
        (FeedForward(patience=0), "patience must be a whole number from 1, got 0"),
        (FeedForward(validation_fraction=1), "validation_fraction must be a number from 0 and below 1, got 1"),
    ],
)
def test_settings_that_cannot_be(model, message):
    X, y = counts(classes=2)
    with pytest.raises(DataError, match=message):
        model.fit(X, y)


@pytest.mark.parametrize("text", [*ESTIMATORS, *FIRST_ORDER])
def test_copies(text):
    X, y = counts()
    model = made(text).fit(X, y)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        if hasattr(model, "head_"):
            assert as_bytes(learned(other)) == as_bytes(learned(model))
        if hasattr(model, "coef_"):
            assert other.coef_.tobytes() == model.coef_.tobytes()
            assert other.coef_.T.flags.c_contiguous  # predicting needs no copy


def test_doctests_of_models_and_solvers():
    import doctest
    import importlib
    import pkgutil

    tried = 0
    for package in ("linnet.models", "linnet.solvers"):
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__, package + "."):
            result = doctest.testmod(importlib.import_module(module.name))
            assert result.failed == 0, module.name
            tried += result.attempted
    assert tried > 20
