"""Bernoulli naive Bayes, multinomial naive Bayes and word votes on text: what is stored is what was fitted."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import linnet
import running
from linnet import TextClassifier
from linnet.datasets import load
from linnet.errors import DataError, LinnetError
from linnet.features import Vectorizer
from linnet.models import BernoulliNB, GaussianNB, LinearSVM, MultinomialNB, WordVotes

TRAIN, DEV, TEST = load("reviews")


@pytest.mark.parametrize("Model", [BernoulliNB, MultinomialNB, WordVotes])
def test_the_stored_model_is_the_estimator(Model):
    """Scores of the artefact are those of the estimator on the same features."""
    clf = TextClassifier(Model(), features="words:1-2", calibrate=False).fit(TRAIN)
    vectorizer = Vectorizer("words:1-2")
    X = vectorizer.fit_transform(TRAIN.text)
    alone = Model().fit(X, TRAIN.label_list())
    scores = alone._scores(vectorizer.transform(TEST.text))[:, 0]
    np.testing.assert_allclose(clf.decision_function(TEST.text), scores, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["bernoulli", "votes"])
def test_saves_loads_and_explains(name, tmp_path):
    clf = TextClassifier(name).fit(TRAIN, dev=DEV)
    assert clf.score(TEST.text, TEST.label_list()) > {"bernoulli": 0.6, "votes": 0.55}[name]
    clf.save(tmp_path / "m.linnet")
    again = linnet.load(tmp_path / "m.linnet")
    np.testing.assert_array_equal(again.decision_function(TEST.text), clf.decision_function(TEST.text))
    assert again.card["settings"]["model"] == name
    text = TEST.text.to_pylist()[0]
    why = again.explain(text, "positive")
    assert why.score == pytest.approx(again.label_score(text, "positive"), rel=1e-6)
    assert why.bias + sum(c.value for c in why.contributions) == pytest.approx(why.score, rel=1e-5, abs=1e-5)


def test_bernoulli_takes_presence_only():
    texts, labels = ["good good film", "bad film"] * 6, ["p", "n"] * 6
    for wrong in (
        {"tf": "count"}, {"idf": True}, {"norm": "l2"}, {"ratio": 0.5}, {"features": "words:1+chars:2-3*0.8"},
    ):  # fmt: skip
        with pytest.raises(LinnetError, match="BernoulliNB takes words present or absent: leave out tf, idf"):
            TextClassifier("bernoulli", **wrong).fit(texts, labels)
    assert TextClassifier("bernoulli", features="words:1+chars:2-3").fit(texts, labels).classify("good") == "p"


@pytest.mark.parametrize("Model", [MultinomialNB, BernoulliNB])
def test_maximum_likelihood_on_text_is_finite(Model):
    """Words that only one class has would weigh infinity; in a stored model log 0 is log 5e-324."""
    clf = TextClassifier(Model(estimate="mle"), features="words:1").fit(TRAIN)
    scores = clf.decision_function([*TEST.text.to_pylist(), "", "nothingknown"])
    assert np.isfinite(scores).all()
    assert clf.score(TEST.text, TEST.label_list()) > 0.55


def test_other_words_on_text():
    clf = TextClassifier("nb", features="words:1", params={"oov": True, "rare": 2, "alpha": 1.0}, calibrate=False)
    clf.fit(["good film twice", "good plot", "bad film", "bad plot bad"], ["p", "p", "n", "n"])
    weight = {c.feature: c.value for c in clf.explain("good bad twice film", "p").contributions}
    # words present: 5 in p, 4 in n; known are good, bad, film, plot and the entry of 'twice', which was seen once
    assert weight["twice"] == pytest.approx(np.log(2 / 10) - np.log(1 / 9), rel=1e-6)
    assert weight["film"] == pytest.approx(np.log(2 / 10) - np.log(2 / 9), rel=1e-6)
    assert clf.classify("twice") == "p"


def test_one_text_of_100_000_words():
    for name in ("nb", "bernoulli", "votes"):
        clf = TextClassifier(name, features="words:1").fit(TRAIN)
        long = "wonderful " * 50_000 + "dull " * 50_000
        assert np.isfinite(clf.decision_function([long])).all()
        assert np.isfinite(clf.predict_proba([long])).all()


def test_models_of_numbers_take_no_text():
    with pytest.raises(LinnetError, match=r"model must be one of .* or of linnet.models, got GaussianNB\(\)"):
        TextClassifier(GaussianNB()).fit(["a", "b"], ["x", "y"])


@pytest.mark.parametrize("name", ["bernoulli", "votes"])
def test_command_line(name, tmp_path):
    _write(tmp_path / "train.csv")

    def run(*arguments):
        return running.run(*arguments, cwd=tmp_path, text=True)

    done = run("train", "train.csv", "--model", name, "--out", "m.linnet", "--json", "out.json", "--quiet")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out.json").read_text())
    assert "= score" in run("explain", "m.linnet", "a dull page in this wonderful book").stdout
    assert name in run("info", "m.linnet").stdout
    if name == "bernoulli":
        assert run("train", "train.csv", "--model", name, "--alpha", "0.5", "--out", "n.linnet").returncode == 0
        wrong = run("train", "train.csv", "--model", name, "--tf", "count")
        assert wrong.returncode == 2
        assert "present or absent" in wrong.stderr


def _write(path):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows(zip(TRAIN.text.to_pylist(), TRAIN.label_list(), strict=True))


# ---- naive Bayes in its own words

EIGHT = ["it was great", "so great", "liked it", "fine", "great waste", "awful", "not for me", "dull"]
SIGNS = list("++++----")


def test_given_vocabulary_and_probabilities(tmp_path):
    """Two of four and one of four reviews hold the word: 1/2 and 1/4, and 2/3 to 1/3 for a text with it."""
    clf = TextClassifier("bernoulli", vocabulary=["great"], calibrate=False, params={"estimate": "mle"}).fit(
        EIGHT, SIGNS
    )
    assert clf.artefact.n_features == 1
    np.testing.assert_allclose(clf.predict_proba(["it is great"]), [[2 / 3, 1 / 3]])
    clf.save(tmp_path / "m.linnet")
    for one in (clf, linnet.load(tmp_path / "m.linnet")):
        assert one.probabilities("great") == pytest.approx({"+": 0.5, "-": 0.25})
        assert one.probabilities() == pytest.approx({"+": 0.5, "-": 0.5})
        np.testing.assert_allclose(np.exp(one.predict_joint_log_proba(["great"])), [[1 / 4, 1 / 8]], rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "Model", "tf"), [("nb", MultinomialNB, "count"), ("bernoulli", BernoulliNB, "presence")]
)
@pytest.mark.parametrize("estimate", ["predictive", "mle"])
@pytest.mark.parametrize("labels", [SIGNS, list("++??----")])
def test_joint_probabilities_are_the_estimators(name, Model, tf, estimate, labels):
    settings = {"estimate": estimate} if estimate == "mle" else {"alpha": 0.5}
    clf = TextClassifier(name, features="words:1-2", tf=tf, params=settings).fit(EIGHT, labels)
    vectorizer = Vectorizer("words:1-2", tf=tf)
    alone = Model(**settings).fit(vectorizer.fit_transform(EIGHT), labels)
    texts = [*EIGHT, "great great film", "unknown"]
    expected = alone.predict_joint_log_proba(vectorizer.transform(texts))
    np.testing.assert_allclose(clf.predict_joint_log_proba(texts), expected, rtol=1e-5)
    column = vectorizer.vocabulary_["it was"]
    np.testing.assert_allclose(list(clf.probabilities("it was").values()), np.exp(alone.feature_log_prob_[:, column]))


def test_unknown_words_and_other_models():
    clf = TextClassifier("nb", features="words:1", tf="count", params={"alpha": 1.0, "oov": True}).fit(EIGHT, SIGNS)
    words = {word for text in EIGHT for word in text.split()}
    n = sum(len(text.split()) for text in EIGHT[4:])
    assert clf.probabilities("blargh")["-"] == pytest.approx(1 / (n + len(words) + 1))  # one more entry: unknown words
    with pytest.raises(LinnetError, match="does not know 'blargh'"):
        TextClassifier("nb", features="words:1").fit(EIGHT, SIGNS).probabilities("blargh")
    with pytest.raises(LinnetError, match="of nb and bernoulli"):
        TextClassifier("svm", features="words:1").fit(EIGHT, SIGNS).probabilities()
    with pytest.raises(LinnetError, match="vocabulary need all rows"):
        TextClassifier("nb", vocabulary=["great"]).partial_fit(EIGHT, SIGNS)
    with pytest.raises(LinnetError, match="no training text holds"):
        TextClassifier("nb", vocabulary=["blargh"]).fit(EIGHT, SIGNS)


def test_vocabulary_from_files_and_the_command_line(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from linnet.cli import linnet as main

    monkeypatch.chdir(tmp_path)
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(EIGHT * 3, SIGNS * 3, strict=True)])
    (tmp_path / "words.txt").write_text("great\n\nit\n")
    runner = CliRunner()
    options = ["--model", "bernoulli", "--vocabulary", "words.txt", "--out", "m.linnet", "--quiet", "--hold-out-test"]
    done = runner.invoke(main, ["train", "rows.csv", *options])
    assert done.exit_code == 0, done.output
    assert sorted(linnet.load("m.linnet").get_feature_names_out()) == ["great", "it"]
    found = json.loads(runner.invoke(main, ["explain", "m.linnet", "--word", "great", "--json"]).output)
    assert found["probability"]["+"] > found["probability"]["-"]
    assert "P(great | class)" in runner.invoke(main, ["explain", "m.linnet", "--word", "great"]).output
    assert runner.invoke(main, ["vocab", "rows.csv", "--save", "words.json"]).exit_code == 0
    assert TextClassifier("nb", vocabulary="words.json").fit(EIGHT, SIGNS).artefact.n_features == 12


def test_mean_cross_entropy_of_every_epoch():
    """The mean of -log p(label | text) over the rows, whatever C and the solver; the whole sum is C n times as much."""
    for solver in ("lbfgs", "newton"):
        clf = TextClassifier(
            "logistic", features="words:1", ratio=0.0, calibrate=False, refit=False, params={"C": 3.0, "solver": solver}
        ).fit(TRAIN, dev=DEV)
        last = [h for h in clf.history_ if h["kind"] == "pass"][-1]
        P = clf.predict_proba(TRAIN.text)
        right = np.searchsorted(clf.classes_, TRAIN.label_list())
        assert last["mean_loss"] == pytest.approx(-np.log(P[np.arange(len(P)), right]).mean(), rel=1e-5)
        assert last["loss"] == pytest.approx(3.0 * len(TRAIN) * last["mean_loss"])


def test_given_words_that_no_text_holds_are_smoothed(tmp_path):
    """Of + the vocabulary holds one word, "great", twice: (0 + 1) / (2 + 3) for one that no text holds."""
    clf = TextClassifier(
        "nb", vocabulary=["great", "superb", "grand"], tf="count", calibrate=False, params={"alpha": 1.0}
    )
    clf.fit(EIGHT, SIGNS).save(tmp_path / "m.linnet")
    for one in (clf, linnet.load(tmp_path / "m.linnet")):
        assert one.probabilities("superb") == pytest.approx({"+": 1 / 5, "-": 1 / 4})
        assert sorted(one.get_feature_names_out()) == ["grand", "great", "superb"]
        np.testing.assert_allclose(one.predict_proba(["superb"])[0, 0], (1 / 5) / (1 / 5 + 1 / 4), rtol=1e-6)
    other = TextClassifier("bernoulli", vocabulary=["great", "superb"], params={"alpha": 1.0}).fit(EIGHT, SIGNS)
    assert other.probabilities("superb") == pytest.approx({"+": 1 / 6, "-": 1 / 6})


def test_an_unknown_word_has_the_probability_of_other_words():
    clf = TextClassifier("nb", features="words:1", tf="count", params={"alpha": 1.0, "oov": True}).fit(EIGHT, SIGNS)
    known, more = clf.predict_joint_log_proba(["great", "great blargh blargh"])
    np.testing.assert_allclose(more - known, 2 * np.log(list(clf.probabilities("blargh").values())), rtol=1e-6)


def test_texts_are_drawn():
    clf = TextClassifier("nb", features="words:1", tf="count", params={"estimate": "mle"}).fit(EIGHT, SIGNS)
    drawn = clf.sample(200, length=3, random_state=1)
    assert all(len(text.split()) == 3 for text, _ in drawn)
    assert {word for text, label in drawn if label == "-" for word in text.split()} <= set(" ".join(EIGHT[4:]).split())


def test_weights_that_are_given(tmp_path):
    words, classes = ["stock", "game", "monday", "friday"], ["business", "sports"]
    clf = TextClassifier.from_weights([[0, 0], [0, 0], [999, 0], [0, 999]], [0, 0], classes, words)
    clf.save(tmp_path / "w.linnet")
    for one in (clf, linnet.load(tmp_path / "w.linnet")):
        assert one.predict_proba(["stock monday", "game friday", "game monday"]).tolist() == [[1, 0], [0, 1], [1, 0]]
        assert one.explain("game monday").score == 999.0
    three = TextClassifier.from_weights(np.eye(3), [0, 0, 1], "abc", ["x", "y", "z"], tf="count")
    assert three.decision_function(["x x y"]).tolist() == [[2, 1, 1]]
    with pytest.raises(DataError, match=r"W must have shape \(4, 2\)"):
        TextClassifier.from_weights(np.eye(3), [0, 0, 1], classes, words)


def test_the_margin_of_a_line_on_text():
    texts, labels = ["good fun", "bad luck", "good plot", "bad plot"], ["+", "-"] * 2
    plain = {
        "features": "words:1",
        "norm": None,
        "idf": False,
        "ratio": 0.0,
        "params": {"C": 10.0, "loss": "hinge", "tol": 1e-6},
    }
    svm = LinearSVM(C=10.0, loss="hinge", tol=1e-6).fit(Vectorizer("words:1").fit_transform(texts), labels)
    for calibrate in (False, True):
        found = TextClassifier("svm", calibrate=calibrate, **plain).fit(texts, labels).separation(texts, labels)
        np.testing.assert_allclose(found.width, svm.margin_, rtol=1e-3)
        assert (found.separable, found.support) == (True, svm.support_.tolist())
    clf = TextClassifier("svm", **plain).fit([*texts, "good fun"], [*labels, "-"])
    assert clf.separation([*texts, "good fun"], [*labels, "-"]).wrong == 1
