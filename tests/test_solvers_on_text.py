"""Solvers other than the default on text: stochastic steps with costs, rates and decay, and L1, as on matrices."""

import numpy as np
import pytest
from click.testing import CliRunner

import linnet
from linnet import TextClassifier
from linnet.cli import linnet as command
from linnet.datasets import whole
from linnet.errors import LinnetError
from linnet.features import Vectorizer
from linnet.models import LinearSVM, LogisticRegression, Perceptron
from linnet.solvers import SGD, Adam, EarlyStopping


def rows(n=120):
    data = whole("tickets")
    kept = [k for k, label in enumerate(data.label_list()) if label in ("delivery", "payment", "website")][:n]
    texts, labels = data.text.to_pylist(), data.label_list()
    return [texts[k] for k in kept], [labels[k] for k in kept]


@pytest.mark.parametrize("kind", [LinearSVM, LogisticRegression])
def test_steps_on_text_end_where_those_on_its_matrix_do(kind):
    texts, labels = rows()
    name = {LinearSVM: "svm", LogisticRegression: "logistic"}[kind]
    clf = TextClassifier(
        name, features="words:1", tf="presence", ratio=0.0, calibrate=False,
        params={"solver": "sgd", "learning_rate": 0.5, "C": 1.0, "max_iter": 400, "tol": 1e-6},
    ).fit(texts, labels)  # fmt: skip
    X = Vectorizer("words:1", tf="presence", idf=True, norm="l2").fit_transform(texts)
    model = kind(solver=SGD(learning_rate=0.5), C=1.0, max_iter=400, tol=1e-6).fit(X, labels)
    np.testing.assert_allclose(
        clf.decision_function(texts), model.decision_function(X), atol=0.02
    )  # rows come in another order


def test_a_rate_beside_the_name_of_a_solver_is_the_solvers():
    texts, labels = rows()
    named = TextClassifier("svm", features="words:1", params={"solver": "sgd", "learning_rate": 0.1}).fit(texts, labels)
    value = TextClassifier("svm", features="words:1", params={"solver": SGD(learning_rate=0.1)}).fit(texts, labels)
    assert np.array_equal(named.decision_function(texts), value.decision_function(texts))


def test_costs_of_the_notes_svm_change_its_answers(tmp_path):
    texts, labels = rows(300)
    path = tmp_path / "t.csv"
    import csv

    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(texts, labels, strict=True)])
    answers = []
    for cost in ("[[0,1,1],[1,0,1],[1,1,0]]", "[[0,9,9],[1,0,1],[1,1,0]]"):  # delivery taken for another costs nine
        out = tmp_path / "m.linnet"
        arguments = [
            "train",
            str(path),
            "--model",
            "svm",
            "--solver",
            "sgd",
            "--set",
            f"cost={cost}",
            "--features",
            "words:1",
        ]
        done = CliRunner().invoke(command, [*arguments, "--set", "C=0.1", "--out", str(out), "--force", "--quiet"])
        assert done.exit_code == 0, done.output
        answers.append((linnet.load(out).predict(texts) == "delivery").sum())
    assert answers[1] > answers[0]


def test_l1_on_text_leaves_features_out():
    texts, labels = rows()
    clf = TextClassifier("svm", features="words:1", ratio=0.5, params={"penalty": "l1", "C": 1.0}).fit(texts, labels)
    used = np.any(clf.model_.rows[:, 1:] != 0, axis=1).sum()
    assert 0 < used < clf.model_.n_features / 2
    assert (clf.predict(texts) == np.array(labels)).mean() > 0.8


@pytest.mark.parametrize("model", ["svm", "logistic"])
def test_stopping_batches_and_decay_are_settings(model):
    texts, labels = rows()
    given = {
        "solver": "sgd",
        "learning_rate": 0.1,
        "batch_size": 4,
        "decay": 0.01,
        "patience": 2,
        "max_iter": 60,
        "C": 1.0,
    }
    clf = TextClassifier(model, features="words:1", ratio=0.0, params=given).fit(texts, labels)
    estimator = clf.plan().make({})
    assert estimator.solver == EarlyStopping(SGD(learning_rate=0.1, batch_size=4), patience=2)
    epochs = [e for e in clf.history_ if e["kind"] == "pass"]
    assert len(epochs) < 60
    X = Vectorizer("words:1").fit_transform(texts)
    fitted = estimator.set_params(random_state=0).fit(X, labels)
    scores = [epoch.score for epoch in fitted.history_]
    assert len(scores) - 1 - scores.index(max(scores)) == 2 == len(scores) - 1 - int(np.argmax(scores))


def test_a_rate_is_found_on_the_rows():
    texts, labels = rows()
    X = Vectorizer("words:1").fit_transform(texts)
    for solver in (SGD(learning_rate="find"), Adam(learning_rate="find", batch_size=16)):
        model = LogisticRegression(solver=solver, max_iter=5).fit(X, labels)
        assert 1e-3 < model.sweep_.suggestion < 10
    said = []
    given = {"solver": "sgd", "learning_rate": "find", "C": 1.0}
    TextClassifier("logistic", features="words:1", ratio=0.0, params=given).fit(texts, labels, on_event=said.append)
    assert any("found the learning rate" in str(event) for event in said)


def test_gradients_of_optimisers_are_clipped():
    texts, labels = rows()
    given = {"solver": "adam", "clip": 0.5, "C": 1.0, "max_iter": 3}
    clf = TextClassifier("logistic", features="words:1", ratio=0.0, params=given).fit(texts, labels)
    assert str(clf.plan().make({}).solver).startswith("Chain(Clip(most=0.5), Adam(")
    with pytest.raises(LinnetError, match="clip is a setting of the solvers gradient-descent"):
        TextClassifier("logistic", params={"solver": "sgd", "clip": 1.0}).plan()


def test_a_perceptron_stops_when_patience_ends():
    texts, labels = rows()
    X = Vectorizer("words:1").fit_transform(texts)
    scores = [e.score for e in Perceptron(patience=1, max_iter=50).fit(X, labels).history_]
    assert len(scores) < 50
    assert scores[-1] <= max(scores[:-1])
