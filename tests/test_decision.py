"""From probabilities to answers: thresholds, costs, abstaining, prediction sets; in Python, in files, by the commands."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import linnet
from linnet.classifier import TextClassifier
from linnet.cli import linnet as command
from linnet.errors import LinnetError
from linnet.model.decision import DELTA, ConfidenceTable, Decision, _tail

CLASSES = ("ham", "spam", "news")


def probabilities(rng, n, k=3):
    return rng.dirichlet(np.ones(k), size=n)


# ---- one function


def test_a_threshold_answers_from_it_on_and_only_there():
    rng = np.random.default_rng(0)
    P = probabilities(rng, 500)
    for cut in (0.2, 0.5, 0.9):
        best = Decision.of(CLASSES, threshold={"spam": cut}).answers(P).best
        assert np.array_equal(best == 1, P[:, 1] >= cut)
        rest = best != 1
        assert np.array_equal(best[rest] == 2, P[rest, 2] > P[rest, 0])
    everywhere = Decision.of(CLASSES, threshold=0.6)
    assert everywhere.abstains
    assert np.array_equal(everywhere.answers(P).best, np.where(P.max(axis=1) >= 0.6, P.argmax(axis=1), -1))


def test_costs_against_the_definition():
    rng = np.random.default_rng(1)
    P, C = probabilities(rng, 300), rng.random((3, 3)) * 5
    best = Decision.of(CLASSES, cost=C).answers(P).best
    assert np.array_equal(best, (P @ C).argmin(axis=1))
    named = Decision.of(CLASSES, cost={"spam": {"ham": 7}})
    assert named.costs.tolist() == [[0, 1, 1], [7, 0, 1], [1, 1, 0]]
    plain = Decision.of(CLASSES, cost=1 - np.eye(3)).answers(P).best
    assert np.array_equal(plain, P.argmax(axis=1))


def test_only_some_labels():
    P = np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])
    found = Decision.of(CLASSES, labels=["news", "ham"]).answers(P)
    np.testing.assert_allclose(found.proba, [[0.4, 0, 0.6], [1, 0, 0]])
    assert found.best.tolist() == [2, 0]
    assert Decision.of(CLASSES, labels=["news"]).answers(P).proba.tolist() == [[0, 0, 1], [0, 0, 1]]
    cheap = Decision.of(CLASSES, labels=["news", "ham"], cost={"ham": {"news": 100}}).answers(P)
    assert cheap.best.tolist() == [0, 0]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_the_order_of_the_classes_does_not_matter(seed, k):
    rng = np.random.default_rng(seed)
    names = [f"c{i}" for i in range(k)]
    order = rng.permutation(k)
    P = probabilities(rng, 20, k)
    given = {
        "threshold": {names[i]: float(rng.random()) for i in rng.choice(k, rng.integers(0, k + 1), replace=False)},
        "cost": {a: {b: float(rng.random()) for b in names} for a in names} if rng.random() < 0.5 else None,
        "labels": [names[i] for i in rng.choice(k, rng.integers(1, k + 1), replace=False)],
    }
    one = Decision.of(names, **given).answers(P)
    two = Decision.of([names[i] for i in order], **given).answers(P[:, order])
    assert np.array_equal(one.best, np.where(two.best < 0, -1, order[two.best]))
    np.testing.assert_allclose(one.proba[:, order], two.proba)


def test_what_is_refused():
    for wrong, words in (
        ({"threshold": {"spm": 0.5}}, "spam"), ({"threshold": {"spam": 1.5}}, "from 0 to 1"), ({"threshold": True}, "from 0 to 1"),
        ({"cost": [[0, 1]]}, "3 x 3"), ({"cost": {"spam": 3}}, "truth"), ({"labels": "spam"}, "put it in a list"),
        ({"labels": []}, "empty"),
        ({"abstain": 0.9, "answer": 0.5}, "give one"), ({"abstain": 2}, "from 0 to 1"),
    ):  # fmt: skip
        with pytest.raises(LinnetError, match=words):
            Decision.of(CLASSES, **wrong)
    with pytest.raises(LinnetError, match="train it again"):
        Decision.of(CLASSES, abstain=0.9).answers(np.full((1, 3), 1 / 3))


# ---- held-out rows


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 5000), st.floats(0, 1), st.floats(0.001, 0.5))
def test_the_binomial_tail_is_scipy_s(n, share, rate):
    wrong = int(share * rate * n)
    if wrong < rate * n:
        assert _tail(n, wrong, rate) == pytest.approx(binom.cdf(wrong, n, rate), rel=1e-9)


def drawn(rng, n):
    """Probabilities that are right, and a truth drawn from them."""
    P = probabilities(rng, n, 4) ** 3
    P /= P.sum(axis=1, keepdims=True)
    y = (rng.random(n)[:, None] > np.cumsum(P, axis=1)).sum(axis=1)
    return P, np.minimum(y, 3)


def test_abstaining_reaches_the_wanted_accuracy_in_nine_of_ten_calibrations():
    missed, shares, trials = 0, [], 200
    rng = np.random.default_rng(0)
    P, y = drawn(rng, 40_000)
    top, right = P.max(axis=1), P.argmax(axis=1) == y
    assert right.mean() < 0.85
    for _ in range(trials):
        rows = rng.integers(0, len(y), 1500)
        try:
            least = ConfidenceTable.of(top[rows], right[rows], P[rows, y[rows]]).least_for_accuracy(0.95)
        except LinnetError:  # the first test already failed
            shares.append(0.0)
            continue
        answered = top >= least
        missed += right[answered].mean() < 0.95
        assert right[answered].mean() > 0.93
        shares.append(answered.mean())
    assert missed <= DELTA * trials
    best = np.sort(top)[::-1][np.flatnonzero(np.cumsum(np.sort(top)[::-1]) / np.arange(1, len(top) + 1) >= 0.95)[-1]]
    assert np.mean(shares) > 0.65 * (top >= best).mean()  # and does not answer much less than it could


def test_an_accuracy_that_no_cut_has_is_promised_in_one_of_ten_calibrations_at_most():
    """Rows that are all right a little too seldom, however sure: any cut is a mistake."""
    rng = np.random.default_rng(0)
    found, trials = 0, 300
    for _ in range(trials):
        sure, right = rng.random(1000), rng.random(1000) < 0.948
        try:
            ConfidenceTable.of(sure, right, sure).least_for_accuracy(0.95)
            found += 1
        except LinnetError:
            pass
    assert 0 < found <= DELTA * trials


def test_sets_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(1)
    P, y = drawn(rng, 50_000)
    for coverage in (0.8, 0.9, 0.95):
        hits, sizes = [], []
        for _ in range(200):
            rows = rng.integers(0, len(y), 300)
            held = ConfidenceTable.of(P[rows].max(axis=1), P[rows].argmax(axis=1) == y[rows], P[rows, y[rows]])
            sets = Decision(held_out=held).sets(P, coverage)
            hits.append(sets[np.arange(len(y)), y].mean())
            sizes.append(sets.sum(axis=1).mean())
        assert coverage - 0.005 <= np.mean(hits) <= coverage + 0.015
        assert np.mean(sizes) < 3


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 900), st.integers(0, 2**32 - 1))
def test_a_share_of_rows_is_answered(n, seed):
    rng = np.random.default_rng(seed)
    top = rng.integers(1, 50, n) / 50  # with ties
    held = ConfidenceTable.of(top, rng.random(n) < 0.8, top)
    assert held.n == n
    for share in (0.1, 0.5, 1.0):
        answered = (top >= held.least_for_share(share)).mean()
        assert answered >= share - 1e-9
        least = held.table[:, 0][held.table[:, 1] < share * n]
        assert not len(least) or (top >= least[-1]).mean() < share


def test_an_accuracy_that_rows_cannot_show_is_refused():
    top = np.linspace(0.5, 1, 30)
    held = ConfidenceTable.of(top, np.ones(30, bool), top)
    with pytest.raises(LinnetError, match="30 held-out rows"):
        held.least_for_accuracy(0.95)
    top = np.linspace(0.5, 1, 300)
    assert ConfidenceTable.of(top, np.ones(300, bool), top).least_for_accuracy(0.95) == 0.0


# ---- models


WORDS = {"pos": ["good", "fine", "great", "lovely"], "neg": ["bad", "dull", "poor", "awful"]}


def rows(seed, n=600):
    """Reviews with words of either kind, most of them of the right one."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["neg", "pos"], n, p=[0.7, 0.3])
    other = {"pos": "neg", "neg": "pos"}
    kinds = [[k if rng.random() < 0.72 else other[k] for _ in range(rng.integers(1, 6))] for k in y]
    return [" ".join(rng.choice(WORDS[k]) for k in row) for row in kinds], y.tolist()


TEXTS, LABELS = rows(0)
OTHERS, TRUTH = rows(1, 2000)


@pytest.fixture(scope="module")
def clf():
    return TextClassifier("logistic", features="words:1", ratio=0.0, params={"C": 1.0}).fit(TEXTS, LABELS)


def test_predict_takes_the_rule(clf):
    P = clf.predict_proba(OTHERS)[:, 1]
    assert np.array_equal(clf.predict(OTHERS, threshold={"pos": 0.8}) == "pos", P >= 0.8)
    assert set(clf.predict(OTHERS, labels=["pos"])) == {"pos"}
    assert clf.predict_proba(OTHERS[:2], labels=["pos"]).tolist() == [[0.0, 1.0]] * 2
    found = clf.predict(OTHERS, threshold=0.9)
    assert {None, "pos", "neg"} == set(found)
    assert (clf.predict(OTHERS, cost={"pos": {"neg": 9}}) == "pos").mean() > (clf.predict(OTHERS) == "pos").mean()
    answered = np.array([label is not None for label in clf.predict(OTHERS, answer=0.5)])
    assert 0.4 < answered.mean() < 0.7
    result = clf.evaluate(OTHERS, TRUTH, abstain=0.85)
    assert result.accuracy > 0.83
    assert result.n + result.abstained == len(OTHERS)
    assert "of the rows answered" in result.to_text()
    sets = clf.predict_set(OTHERS, 0.9)
    assert np.mean([y in found for y, found in zip(TRUTH, sets, strict=True)]) > 0.87
    assert (
        clf.evaluate(OTHERS, TRUTH, cost={"pos": {"neg": 9}}).mean_cost[0]
        < clf.evaluate(OTHERS, TRUTH, cost={"pos": {"neg": 9}}).mean_cost[1]
    )


@pytest.mark.parametrize("metric", ["precision", "recall"])
def test_a_threshold_for_a_wanted_precision_or_recall(metric):
    fixed = {"features": "words:1", "ratio": 0.0, "params": {"C": 1.0}}
    clf = TextClassifier("logistic", decision={metric: {"pos": 0.8}}, **fixed).fit(TEXTS, LABELS)
    about = clf.card["decision"]["thresholds"]["pos"]
    assert about[metric] >= 0.8
    result = {one.label: one for one in clf.evaluate(OTHERS, TRUTH).per_class}["pos"]
    assert getattr(result, metric) == pytest.approx(0.8, abs=0.08)
    with pytest.raises(LinnetError, match="must be above 0"):
        TextClassifier("logistic", decision={metric: {"pos": 2}}, **fixed).fit(TEXTS, LABELS)
    with pytest.raises(LinnetError, match="precision"):
        TextClassifier("logistic", decision={"precison": {"pos": 2}}, **fixed).fit(TEXTS, LABELS)


def test_the_rule_survives_the_file_bit_for_bit(tmp_path):
    rule = {"precision": {"pos": 0.8}, "cost": {"pos": {"neg": 2.5}}, "abstain": 0.75}
    clf = TextClassifier("logistic", features="words:1", decision=rule).fit(TEXTS, LABELS)
    clf.save(tmp_path / "a.linnet")
    again = linnet.load(tmp_path / "a.linnet")
    one, two = clf.artefact.decision, again.artefact.decision
    assert np.array_equal(one.thresholds, two.thresholds, equal_nan=True)
    assert np.array_equal(one.costs, two.costs)
    assert np.array_equal(one.held_out.table, two.held_out.table)
    assert (one.abstain, one.answer) == (two.abstain, two.answer) == (0.75, None)
    assert again.predict(OTHERS).tolist() == clf.predict(OTHERS).tolist()
    assert None in again.predict(OTHERS)
    assert None not in again.predict(OTHERS, abstain=0)
    again.save(tmp_path / "b.linnet")
    assert (tmp_path / "a.linnet").read_bytes() == (tmp_path / "b.linnet").read_bytes()
    with pytest.raises(LinnetError, match="calibrated on the answers"):
        again.predict(OTHERS, threshold=0.9)


def test_several_labels_have_the_same_rule():
    sets = [(y,) if k % 3 else (y, "third") for k, y in enumerate(LABELS)]
    texts = [text if k % 3 else f"{text} third" for k, text in enumerate(TEXTS)]
    clf = TextClassifier("svm", features="words:1").fit(texts, sets)
    P = clf.predict_proba(OTHERS)
    assert np.array_equal(
        clf.artefact.answers(clf.decision_function(OTHERS)).sets, clf.artefact.decision.thresholds <= P
    )
    found = clf.predict(OTHERS, threshold={"pos": 0.99})
    assert np.array_equal(["pos" in row for row in found], P[:, 1] >= 0.99)
    for wrong in ({"abstain": 0.9}, {"cost": {"pos": {"neg": 3}}}):
        with pytest.raises(LinnetError, match="one label a row"):
            clf.predict(OTHERS[:3], **wrong)
    with pytest.raises(LinnetError, match="one label a row"):
        TextClassifier("svm", features="words:1", decision={"abstain": 0.9}).fit(texts, sets)


# ---- commands


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decision")
    for name, (texts, labels) in {"train.csv": (TEXTS, LABELS), "test.csv": (OTHERS, TRUTH)}.items():
        with (folder / name).open("w", newline="") as file:
            csv.writer(file).writerows([["text", "label"], *zip(texts, labels, strict=True)])
    (folder / "costs.csv").write_text("truth,neg,pos\nneg,0,1\npos,6,0\n")
    words = [
        "train",
        folder / "train.csv",
        "--test",
        folder / "test.csv",
        "--model",
        "logistic",
        "--features",
        "words:1",
        "--no-check",
    ]
    done = CliRunner().invoke(
        command, [*map(str, words), "--precision", "pos=0.8", "--abstain", "0.75", "--out", str(folder / "m.linnet")]
    )
    assert done.exit_code == 0, done.output
    assert "for precision 0.8" in done.output
    assert "on the test rows" in done.output
    assert "abstaining for accuracy 0.75" in done.output
    assert "test rows answered" in done.output
    plain = CliRunner().invoke(command, [*map(str, words), "--out", str(folder / "plain.linnet")])
    assert plain.exit_code == 0
    return folder


def run(*words):
    return CliRunner().invoke(command, [str(word) for word in words])


def test_predict_command(files):
    plain = files / "plain.linnet"
    done = run("predict", plain, files / "test.csv", "--top", 2, "--coverage", 0.9, "--answer", 0.5, "-q")
    assert done.exit_code == 0, done.output
    table = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(table[0]) == [
        "label",
        "probability",
        "answered",
        "label_1",
        "probability_1",
        "label_2",
        "probability_2",
        "set",
    ]
    assert {row["answered"] for row in table} == {"true", "false"}
    assert all((row["label"] == "") == (row["answered"] == "false") for row in table)
    assert all(row["label_1"] in row["set"].split("|") or row["set"] == "" for row in table)
    lines = run("predict", plain, files / "test.csv", "--threshold", 0.8, "-q").stdout.split("\n")
    assert set(lines) == {"", "pos", "neg"}
    assert len(lines) == len(TRUTH) + 1
    found = run(
        "predict", plain, files / "test.csv", "--threshold", 0.8, "--top", 2, "--to", "jsonl", "-q"
    ).stdout.splitlines()
    first = json.loads(found[0])
    assert [first["label_1"], first["label_2"]] in (["pos", "neg"], ["neg", "pos"])
    assert any(json.loads(line)["label"] is None for line in found)
    costs = run("predict", plain, files / "test.csv", "--cost", files / "costs.csv", "-q").stdout.split("\n")
    inline = run("predict", plain, files / "test.csv", "--cost", '{"pos": {"neg": 6}}', "-q").stdout.split("\n")
    assert costs == inline
    assert costs.count("pos") > lines.count("pos")
    for wrong, message in (
        (["--threshold", "spam=0.9"], "spam"), (["--threshold", "pos=x"], "LABEL=P"), (["--cost", files / "none.csv"], "cannot be read"),
        (["--abstain", 0.999], "held-out rows"), (["--labels", "pos,bad"], "bad"),
        (["--answer", 0.5, "--labels", "pos"], "calibrated on the answers"),
    ):  # fmt: skip
        done = run("predict", plain, files / "test.csv", *wrong)
        assert done.exit_code == 1, wrong
        assert isinstance(done.exception, LinnetError)
        assert message in str(done.exception)


def test_info_says_the_rule_and_filter_keeps_answers_only(files, tmp_path):
    said = run("info", files / "m.linnet").output
    assert "thresholds: pos" in said
    assert "right with probability 0.75" in said
    model = linnet.load(files / "m.linnet")
    done = run("filter", files / "m.linnet", files / "test.csv", "--keep", "pos", "--out", tmp_path / "kept")
    assert done.exit_code == 0, done.exception
    with next((tmp_path / "kept").rglob("test.csv")).open() as file:
        kept = [row["text"] for row in csv.DictReader(file)]
    assert kept == [text for text, label in zip(OTHERS, model.predict(OTHERS), strict=True) if label == "pos"]
    done = run(
        "filter", files / "m.linnet", files / "test.csv", "--keep", "pos", "--min", "0.2", "--out", tmp_path / "more"
    )
    with next((tmp_path / "more").rglob("test.csv")).open() as file:
        labels = [row["linnet_label"] for row in csv.DictReader(file)]
    assert "" in labels  # likely enough, but without an answer


def test_evaluate_and_serve_answer_alike(files):
    from linnet.serve.predictions import Query, answer_all
    from linnet.serve.schema import requests
    from linnet.serve.settings import Settings

    model = linnet.load(files / "m.linnet")
    done = run("evaluate", files / "m.linnet", files / "test.csv", "--json", "-")
    result = json.loads(done.stdout)
    mine = model.predict(OTHERS)
    answered = np.array([label is not None for label in mine])
    assert result["abstained"] == int((~answered).sum()) > 0
    assert result["accuracy"] == pytest.approx((mine[answered] == np.array(TRUTH)[answered]).mean())

    class Served:
        name, version, clf, labels = "m", "1", model, list(model.artefact.classes)

    asked = requests(Settings((("m", "m.linnet"),)))[0](texts=OTHERS)
    query = Query.of(Served(), asked)
    assert [one["label"] for one in json.loads(answer_all([query])[0])["results"]] == mine.tolist()
