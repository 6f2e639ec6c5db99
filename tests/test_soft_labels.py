"""Label distributions: a row with probabilities is as many rows with weights, for every model."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import linnet
from linnet import TextClassifier, read
from linnet.cli import linnet as command
from linnet.errors import DataError, LinnetError
from linnet.models import MODELS
from linnet.solvers.losses import Softmax

WORDS = {"bad": ["dull", "awful", "poor"], "good": ["fine", "great", "warm"], "mixed": ["so", "partly", "half"]}
NAMES = sorted(WORDS)
LEARNS = [name for name, model in MODELS.items() if model.traits.learns]


def teacher(n: int, seed: int, names: list[str]) -> tuple[list[str], np.ndarray]:
    """Texts whose words are drawn by a distribution over classes, and that distribution."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(len(names), 0.4), size=n).round(3)
    P[:, 0] += 1.0 - P.sum(axis=1)
    P = np.maximum(P, 0.0)
    P /= P.sum(axis=1, keepdims=True)
    texts = [" ".join(rng.choice(WORDS[names[c]]) for c in rng.choice(len(names), 6, p=row)) for row in P]
    return texts, P


@pytest.mark.parametrize("names", [["bad", "good"], NAMES])
@pytest.mark.parametrize("name", LEARNS)
def test_a_row_with_probabilities_is_that_many_rows(name, names):
    texts, P = teacher(60, 0, names)
    dev, D = teacher(30, 1, names)
    hard = [names[k] for k in D.argmax(axis=1)]
    fixed = {"features": "words:1", "refit": False, "calibrate": False, "ratio": 0.0}
    tight = {
        "svm": {"C": 1.0, "tol": 1e-8},
        "logistic": {"C": 1.0, "tol": 1e-10},
        "nbsvm": {"C": 1.0, "beta": 0.5, "tol": 1e-8},
    }
    fixed["params"] = tight.get(name)
    one = TextClassifier(name, **fixed).fit(texts, pd.DataFrame(P, columns=names), dev=(dev, hard))
    rows, classes = np.nonzero(P)
    two = TextClassifier(name, **fixed).fit(
        [texts[k] for k in rows], [names[c] for c in classes], dev=(dev, hard), sample_weight=P[rows, classes]
    )
    assert one.classes_.tolist() == two.classes_.tolist()
    S, T = one.decision_function(dev), two.decision_function(dev)
    np.testing.assert_allclose(S, T, rtol=2e-3, atol=2e-3 * np.abs(T).max())


def test_soft_ratios_are_those_of_the_rows():
    texts, P = teacher(80, 2, NAMES)
    rows, classes = np.nonzero(P)
    fixed = {"features": "words:1", "ratio": 0.5, "calibrate": False, "params": {"C": 1.0, "tol": 1e-8}}
    dev = (["great", "dull", "half"], ["good", "bad", "mixed"])
    one = TextClassifier("svm", **fixed).fit(texts, pd.DataFrame(P, columns=NAMES), dev=dev)
    labels = [NAMES[c] for c in classes]
    two = TextClassifier("svm", **fixed).fit([texts[k] for k in rows], labels, dev=dev, sample_weight=P[rows, classes])
    np.testing.assert_allclose(one.decision_function(texts), two.decision_function(texts), rtol=1e-3, atol=1e-3)


def test_a_teacher_is_learned_from_better_than_its_answers():
    """Probabilities tell more than the likeliest label: with few rows the student's are nearer to the teacher's."""
    texts, P = teacher(150, 3, NAMES)
    others, Q = teacher(400, 4, NAMES)
    soft = TextClassifier("logistic", features="words:1").fit(texts, P)
    hard = TextClassifier("logistic", features="words:1").fit(texts, P.argmax(axis=1))
    assert soft.classes_.tolist() == [0, 1, 2]
    distance = [np.abs(clf.predict_proba(others) - Q).sum(axis=1).mean() for clf in (soft, hard)]
    assert distance[0] < distance[1]


def test_losses_of_soft_labels():
    rng = np.random.default_rng(0)
    S, c = rng.normal(size=(7, 4)), rng.random((7, 4))
    loss, y = Softmax(), np.zeros(7, np.int32)
    each = [Softmax().value(S, np.full(7, k, np.int32), c[:, k]) for k in range(4)]
    assert loss.value(S, y, c) == pytest.approx(sum(each))
    G = sum(Softmax().gradient(S, np.full(7, k, np.int32), c[:, k]) for k in range(4))
    np.testing.assert_allclose(loss.gradient(S, y, c), G)
    V = rng.normal(size=(7, 4))
    H = sum(Softmax().curvature(S, np.full(7, k, np.int32), c[:, k]).product(V) for k in range(4))
    np.testing.assert_allclose(loss.curvature(S, y, c).product(V), H)


@pytest.mark.parametrize("name", ["svm", "logistic", "nb"])
def test_label_smoothing_is_the_same_mechanism(name):
    texts, P = teacher(80, 5, NAMES)
    y = P.argmax(axis=1)
    fixed = {"features": "words:1", "calibrate": False, "ratio": 0.0}
    one = TextClassifier(name, label_smoothing=0.2, **fixed).fit(texts, y)
    mixed = 0.8 * np.eye(3)[y] + 0.2 / 3
    two = TextClassifier(name, **fixed).fit(texts, mixed)
    np.testing.assert_allclose(one.decision_function(texts), two.decision_function(texts), rtol=1e-6, atol=1e-9)
    assert one.card["settings"]["label_smoothing"] == 0.2
    plain = TextClassifier(name, **fixed).fit(texts, y)
    assert (
        np.abs(one.decision_function(texts)).mean() < np.abs(plain.decision_function(texts)).mean() + 1e-9
        or name == "nb"
    )


def test_refused():
    texts, P = teacher(40, 6, NAMES)
    with pytest.raises(DataError, match="row 1 must hold probabilities from 0 that add up to 1"):
        TextClassifier("nb").fit(texts, 2 * P)
    with pytest.raises(DataError, match="row 1 must hold probabilities from 0"):
        TextClassifier("nb").fit(texts, -P)
    with pytest.raises(LinnetError, match="label_smoothing must be a number from 0"):
        TextClassifier("nb", label_smoothing=1.0).fit(texts, P)
    with pytest.raises(DataError, match="label_smoothing is for one label a row"):
        TextClassifier("nb", label_smoothing=0.1).fit(texts, [("a", "b"), ("a",)] * 20)


def test_the_command(tmp_path):
    texts, P = teacher(200, 7, NAMES)
    with (tmp_path / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", *(f"p_{name}" for name in NAMES)])
        writer.writerows([text, *map(repr, row.tolist())] for text, row in zip(texts, P, strict=True))
    words = ["train", str(tmp_path / "t.csv"), "--label-columns", "p_*", "--features", "words:1", "--model", "logistic"]
    done = CliRunner().invoke(command, [*words, "--out", str(tmp_path / "m.linnet"), "--hold-out-test"])
    assert done.exit_code == 0, done.output
    assert "label distributions of 3 columns" in done.stderr
    clf = linnet.load(tmp_path / "m.linnet")
    assert clf.classes_.tolist() == NAMES
    train, _ = read(tmp_path / "t.csv", label_columns="p_*").split(0, (0.9, 0.1))
    again = TextClassifier("logistic", features="words:1").fit(train)
    np.testing.assert_array_equal(again.decision_function(texts), clf.decision_function(texts))
    bad = CliRunner().invoke(command, ["train", str(tmp_path / "t.csv"), "--label-columns", "q_*"])
    assert "names two columns or more" in str(bad.exception)
    done = CliRunner().invoke(command, [*words, "--out", str(tmp_path / "s.linnet"), "--max-memory", "1GB"])
    assert "label distributions of 3 columns" in done.stderr
    stream = linnet.load(tmp_path / "s.linnet")
    np.testing.assert_array_equal(stream.decision_function(texts), clf.decision_function(texts))
