"""Going on learning: partial_fit over chunks, new classes, forgetting, and the model file between two chunks."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import linnet
from linnet.cli import linnet as cli
from linnet.datasets import whole
from linnet.model import file
from linnet.models import MODELS
from linnet.pipeline.learner import IncrementalLearner

WORDS = {
    "pos": ["good", "great", "fine", "fun", "love", "warm", "bright", "happy"],
    "neg": ["bad", "poor", "dull", "sad", "hate", "cold", "dark", "angry"],
    "mid": ["so", "plain", "even", "usual", "common", "middle", "average", "fair"],
}
COUNTING = ["nb", "bernoulli"]
INCREMENTAL = [name for name, model in MODELS.items() if model.traits.incremental]


def rows(n: int, classes: tuple[str, ...] = ("neg", "pos"), seed: int = 0) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    labels = [classes[k] for k in rng.integers(len(classes), size=n)]
    shared = [f"w{k}" for k in range(60)]
    texts = [" ".join([*rng.choice(WORDS[label], 3).tolist(), *rng.choice(shared, 4).tolist()]) for label in labels]
    return texts, labels


def classifier(name: str, **settings: object) -> linnet.TextClassifier:
    given = {"params": {"alpha": 0.5}} if name in COUNTING else {}
    return linnet.TextClassifier(
        name, features="words:1", ratio=0.0, min_df=1, calibrate=False, **{**given, **settings}
    )


def in_chunks(
    clf: linnet.TextClassifier, texts: list[str], labels: list[str], cuts: list[int], weight: object = None
) -> linnet.TextClassifier:
    for first, last in zip([0, *cuts], [*cuts, len(texts)], strict=True):
        clf.partial_fit(
            texts[first:last], labels[first:last], sample_weight=None if weight is None else weight[first:last]
        )
    return clf


@pytest.mark.parametrize("name", COUNTING)
@pytest.mark.parametrize("hash_bits", [None, 10])
@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(1, 79), max_size=5, unique=True).map(sorted), weighted=st.booleans())
def test_chunks_equal_one_fit_for_naive_bayes(name, hash_bits, cuts, weighted):
    texts, labels = rows(80, ("neg", "mid", "pos"))
    weight = np.random.default_rng(1).integers(1, 4, len(texts)).astype(float) if weighted else None
    whole = classifier(name, hash_bits=hash_bits).fit(texts, labels, sample_weight=weight)
    parts = in_chunks(classifier(name, hash_bits=hash_bits), texts, labels, cuts, weight)
    asked = rows(40, ("neg", "mid", "pos"), 7)[0]
    assert parts.classes_.tolist() == whole.classes_.tolist()
    assert np.array_equal(parts.decision_function(asked), whole.decision_function(asked))


@pytest.mark.parametrize("name", COUNTING)
def test_a_fitted_naive_bayes_goes_on_exactly_after_it_was_saved(name, tmp_path):
    texts, labels = rows(90)
    first = classifier(name).fit(texts[:50], labels[:50])
    first.save(tmp_path / "m.linnet")
    later = linnet.load(tmp_path / "m.linnet").partial_fit(texts[50:], labels[50:])
    whole = classifier(name).fit(texts, labels)
    np.testing.assert_allclose(later.decision_function(texts), whole.decision_function(texts), rtol=1e-12)
    assert later.card["data"]["rows"] == 90


@pytest.mark.parametrize("name", INCREMENTAL)
def test_every_incremental_model_learns_chunks_new_classes_and_goes_on_from_its_file(name, tmp_path):
    texts, labels = rows(300)
    more, more_labels = rows(300, ("neg", "mid", "pos"), 1)
    clf = in_chunks(classifier(name), texts, labels, [100, 200])
    asked, right = rows(100, seed=2)
    assert clf.score(asked, right) > 0.95
    assert clf.progressive_.rows == 300
    assert clf.progressive_.accuracy > 0.7
    clf.save(tmp_path / "m.linnet")
    loaded = linnet.load(tmp_path / "m.linnet")
    assert np.array_equal(loaded.decision_function(asked), clf.decision_function(asked))
    loaded.partial_fit(more, more_labels)
    assert loaded.classes_.tolist() == ["mid", "neg", "pos"]
    asked, right = rows(100, ("neg", "mid", "pos"), 3)
    assert loaded.score(asked, right) > 0.9
    assert loaded.explain(asked[0]).score == pytest.approx(loaded.label_score(asked[0], loaded.classify(asked[0])))


@pytest.mark.parametrize("name", [name for name in INCREMENTAL if name != "bernoulli"])  # it counts empty columns, too
def test_hashing_learns_as_the_vocabulary_does(name):
    texts, labels = rows(200)
    asked, right = rows(100, seed=2)
    assert in_chunks(classifier(name, hash_bits=16), texts, labels, [50, 100]).score(asked, right) > 0.9


def test_forgetting_half_is_a_weight_of_one_half_for_naive_bayes():
    texts, labels = rows(80)
    forgetful = in_chunks(classifier("nb", forget=0.5), texts, labels, [40])
    weighed = in_chunks(classifier("nb"), texts, labels, [40], np.repeat([0.5, 1.0], 40))
    assert np.array_equal(forgetful.decision_function(texts), weighed.decision_function(texts))


@pytest.mark.parametrize("name", INCREMENTAL)
def test_forgetting_follows_words_that_change_sides(name):
    texts, labels = rows(400)
    turned = ["pos" if label == "neg" else "neg" for label in labels]
    clf = in_chunks(classifier(name, forget=0.9), texts, labels, [100, 200, 300])
    in_chunks(clf, texts, turned, [100, 200, 300])
    assert clf.score(*rows(100, seed=2)) < 0.05


def test_classes_may_be_named_first_and_one_class_waits_for_another():
    clf = classifier("svm").partial_fit(["good"], ["pos"])
    with pytest.raises(linnet.DataError, match="two classes"):
        clf.predict(["good"])
    clf.partial_fit(["bad"], ["neg"])
    assert clf.predict(["good", "bad"]).tolist() == ["pos", "neg"]
    named = classifier("svm").partial_fit(["good"], ["pos"], classes=["neg", "pos"])
    assert named.predict(["good"]).tolist() == ["pos"]


@pytest.mark.parametrize(
    "name", [name for name, model in MODELS.items() if not model.traits.incremental and name != "lexicon"]
)
def test_models_that_cannot_go_on_say_so(name):
    with pytest.raises(linnet.LinnetError, match="cannot go on learning from new rows; models that can: svm"):
        linnet.TextClassifier(name).partial_fit(["a", "b"], ["x", "y"])


def test_what_needs_all_rows_is_refused():
    for wrong in ({"ratio": 0.5}, {"max_features": 10}, {"forget": 1.0}):
        with pytest.raises(linnet.LinnetError):
            linnet.TextClassifier("svm", **wrong).partial_fit(["a", "b"], ["x", "y"])
    with pytest.raises(linnet.DataError, match="one each"):
        linnet.TextClassifier("svm").partial_fit(["a", "b"], ["x", "y"]).partial_fit(["a"], [("x", "y")])


def test_the_same_chunks_give_the_same_bytes_on_any_number_of_threads(tmp_path):
    texts, labels = rows(200, ("neg", "mid", "pos"))
    for threads in (1, 2):
        in_chunks(classifier("svm", n_jobs=threads), texts, labels, [90]).save(tmp_path / f"{threads}.linnet")
    assert (tmp_path / "1.linnet").read_bytes() == (tmp_path / "2.linnet").read_bytes()


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_passive_aggressive_takes_the_steps_of_scikit_learn(loss, n_classes):
    from sklearn.linear_model import PassiveAggressiveClassifier

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.integers(n_classes, size=60)
    ours = linnet.models.PassiveAggressive(C=0.3, loss=loss, fit_intercept=False, average=False)
    theirs = PassiveAggressiveClassifier(C=0.3, loss=loss, fit_intercept=False, shuffle=False)
    for k in range(60):
        ours.partial_fit(X[k : k + 1], y[k : k + 1], classes=np.arange(n_classes))
        theirs.partial_fit(X[k : k + 1], y[k : k + 1], classes=np.arange(n_classes))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "model", [linnet.models.LinearSVM(), linnet.models.LogisticRegression(), linnet.models.Perceptron()]
)
def test_models_over_numbers_go_on_from_their_fit(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] > 0).astype(int)
    model.fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    assert model.score(X, y) > 0.95


def test_counts_of_weighted_blocks_are_kept_exactly(tmp_path):
    texts, labels = rows(200)
    settings = {"features": "words:1+chars:2-3*0.8", "min_df": 1, "calibrate": False, "params": {"alpha": 0.5}}
    linnet.TextClassifier("nb", **settings).fit(texts[:120], labels[:120]).save(tmp_path / "m.linnet")
    loaded = linnet.load(tmp_path / "m.linnet")
    whole = linnet.TextClassifier("nb", **settings).fit(texts, labels)
    later = loaded.partial_fit(texts[120:], labels[120:])
    np.testing.assert_allclose(later.decision_function(texts), whole.decision_function(texts), rtol=1e-12)


def test_files_of_the_first_version_are_read(tmp_path):
    """Counts were whole numbers of the weights of their blocks, and the norm was called normalise."""
    texts, labels = rows(200)
    settings = {"features": "words:1*0.5+chars:2-3*0.5", "min_df": 1, "params": {"alpha": 0.5}}
    clf = linnet.TextClassifier("nb", **settings).fit(texts[:120], labels[:120])
    clf.save(tmp_path / "m.linnet")
    stored = file.read(tmp_path / "m.linnet")
    counts = stored.tensors["learned.features"]
    units = {"learned.units": np.array([1.0, 0.5]), "learned.unit": np.ones(len(counts), np.uint8)}
    about = dict(stored.card["model"])
    about["normalise"] = about.pop("norm") == "l2"
    old = {**stored.tensors, "learned.features": (2 * counts).astype(np.uint8), **units}
    file.write(tmp_path / "old.linnet", old, {**stored.card, "model": about})
    first, again = (
        linnet.load(tmp_path / name).partial_fit(texts[120:], labels[120:]) for name in ("m.linnet", "old.linnet")
    )
    assert (first.decision_function(texts) == again.decision_function(texts)).all()


def written(path, texts: list[str], labels: list[str]) -> str:
    path.write_text(
        "text,label\n" + "".join(f"{t},{y}\n" for t, y in zip(texts, labels, strict=True)), encoding="utf-8"
    )
    return str(path)


def test_update_writes_a_version_with_both_scores_and_can_be_undone(tmp_path):
    texts, labels = rows(300, seed=1)
    new = written(tmp_path / "new.csv", *rows(200, ("neg", "mid", "pos"), 2))
    linnet.TextClassifier("svm", features="words:1").fit(texts, labels).save(tmp_path / "m.linnet")
    model, before = tmp_path / "m.linnet", (tmp_path / "m.linnet").read_bytes()
    result = CliRunner().invoke(cli, ["update", str(model), new, "--json", "-"])
    assert result.exit_code == 0, result.output
    about = linnet.load(model).card["update"]
    assert about["number"] == 1
    assert about["rows"] + about["held_out"] == 200
    assert about["new_accuracy"] > about["old_accuracy"]
    assert about["verdict"] == "better"
    assert str(tmp_path) not in json.dumps(linnet.load(model).card)
    kept = list(tmp_path.glob("m.*.linnet"))
    assert [path.read_bytes() for path in kept] == [before]
    after = model.read_bytes()
    assert CliRunner().invoke(cli, ["update", str(model), "--undo"]).exit_code == 0
    assert model.read_bytes() == before
    assert sorted(path.read_bytes() for path in tmp_path.glob("m.*.linnet")) == sorted([before, after])
    assert isinstance(CliRunner().invoke(cli, ["update", str(model), "--undo"]).exception, linnet.LinnetError)
    assert CliRunner().invoke(cli, ["update", str(model), new]).exit_code == 0
    assert model.read_bytes() == after  # the same update gives the same bytes
    assert linnet.load(model).classes_.tolist() == ["mid", "neg", "pos"]


def test_update_with_out_leaves_the_model_alone(tmp_path):
    texts, labels = rows(100)
    linnet.TextClassifier("nb", features="words:1").fit(texts, labels).save(tmp_path / "m.linnet")
    before = (tmp_path / "m.linnet").read_bytes()
    new = written(tmp_path / "new.csv", *rows(100, seed=2))
    assert (
        CliRunner()
        .invoke(cli, ["update", str(tmp_path / "m.linnet"), new, "--out", str(tmp_path / "n.linnet")])
        .exit_code
        == 0
    )
    assert (tmp_path / "m.linnet").read_bytes() == before
    assert sorted(path.name for path in tmp_path.glob("*.linnet")) == ["m.linnet", "n.linnet"]
    for wrong in (["m.linnet"], ["m.linnet", "new.csv", "--undo"]):
        found = CliRunner().invoke(
            cli, ["update", *(str(tmp_path / name) if name[0] != "-" else name for name in wrong)]
        )
        assert isinstance(found.exception, linnet.LinnetError)


def test_online_learns_a_pipe_in_one_pass_and_prints_at_doubling_rows(tmp_path):
    texts, labels = rows(300, ("neg", "mid", "pos"))
    lines = "text,label\n" + "".join(f"{t},{y}\n" for t, y in zip(texts, labels, strict=True))
    out = tmp_path / "m.linnet"
    result = CliRunner().invoke(cli, ["train", "-", "--online", "--out", str(out)], input=lines)
    assert result.exit_code == 0, result.output
    shown = [line.split() for line in result.stderr.splitlines() if line[:1].isdigit()]
    assert [int(line[2]) for line in shown] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    clf = linnet.load(out)
    assert clf.card["progressive"]["rows"] == clf.card["data"]["rows"] == 300
    assert clf.score(*rows(100, ("neg", "mid", "pos"), 5)) > 0.9
    with_test = CliRunner().invoke(cli, ["train", "-", "--online", "--test", str(out)], input=lines)
    assert "--test does not go with --online" in str(with_test.exception)


def test_small_chunks_counted_together_are_the_same_as_small_chunks():
    texts, labels = rows(64)
    together, apart = (IncrementalLearner(classifier("svm", hash_bits=12).plan(), ["neg", "pos"]) for _ in range(2))
    met = together.learn(texts, labels, most=4)
    at = 0
    while at < len(texts):
        end = at + max(1, min(4, apart.n_rows // 8))
        apart.learn(texts[at:end], labels[at:end])
        at = end
    assert len(met.y) == 64
    assert together.progressive.chunks == apart.progressive.chunks
    assert np.array_equal(together.model().scores(texts), apart.model().scores(texts))


def test_train_keeps_a_complete_card_and_like_repeats_it(tmp_path):
    data = written(tmp_path / "data.csv", *rows(400))
    run = CliRunner().invoke(
        cli, ["train", data, "--model", "nb", "--features", "words:1", "--out", str(tmp_path / "a.linnet")]
    )
    assert run.exit_code == 0, run.output
    (tmp_path / "folder").mkdir()
    moved = written(tmp_path / "folder" / "data.csv", *rows(400))
    again = [
        "train",
        moved,
        "--threads",
        "1",
        "--quiet",
        "--features",
        "words:1",
        "--model",
        "nb",
        "--out",
        str(tmp_path / "b.linnet"),
    ]
    assert CliRunner().invoke(cli, again).exit_code == 0
    assert (tmp_path / "a.linnet").read_bytes() == (tmp_path / "b.linnet").read_bytes()
    card = linnet.load(tmp_path / "a.linnet").card
    assert card["command"] == "linnet train data.csv --model nb --features words:1"
    assert card["test"]["rows"] == card["reference"]["rows"] == 40
    assert card["data"]["sha256"] == hashlib.sha256((tmp_path / "data.csv").read_bytes()).hexdigest()
    assert len(card["data"]["columns_sha256"]) == 64
    text = CliRunner().invoke(cli, ["info", str(tmp_path / "a.linnet"), "--card"]).output
    assert text.startswith("# a.linnet\n\n```\nlinnet train data.csv")
    assert str(tmp_path) not in text
    like = ["train", data, "--like", str(tmp_path / "a.linnet"), "--out", str(tmp_path / "c.linnet")]
    assert CliRunner().invoke(cli, like).exit_code == 0
    one, other = (linnet.load(tmp_path / f"{name}.linnet") for name in "ac")
    assert one.card["settings"] == other.card["settings"]
    assert one.decision_function(["good w1"]) == pytest.approx(other.decision_function(["good w1"]))


def test_monitor_sounds_an_alarm_for_strange_texts_only(tmp_path):
    data = written(tmp_path / "data.csv", *rows(2000))
    model = str(tmp_path / "m.linnet")
    assert (
        CliRunner().invoke(cli, ["train", data, "--model", "nb", "--features", "words:1", "--out", model]).exit_code
        == 0
    )
    same, labels = rows(500, seed=9)
    quiet = CliRunner().invoke(cli, ["monitor", model, written(tmp_path / "same.csv", same, labels), "--json"])
    assert quiet.exit_code == 0, quiet.output
    found = json.loads(quiet.output)
    assert found["alarm"] is False
    assert {one["name"] for one in found["signals"]} == {"unknown", "confidence", "labels"}
    strange = [" ".join(f"v{k}x{j}" for j in range(6)) for k in range(50)] + same[50:]
    loud = CliRunner().invoke(cli, ["monitor", model, written(tmp_path / "strange.csv", strange, labels)])
    assert loud.exit_code == 1
    assert "ALARM" in loud.output
    few = CliRunner().invoke(cli, ["monitor", model, written(tmp_path / "few.csv", same[:5], labels[:5])])
    assert isinstance(few.exception, linnet.DataError)


def test_p_values_are_those_of_scipy():
    scipy_stats = pytest.importorskip("scipy.stats")
    before, now = np.array([50, 30, 20, 60]), np.array([35, 45, 25, 50])
    expected = scipy_stats.chi2_contingency(np.stack([before, now]), correction=False)
    from linnet.evaluate import drift

    assert drift._p_value(before, now) == pytest.approx(scipy_stats.chi2.sf(0.9 * expected.statistic, 3), rel=1e-9)
    for df in (1, 2, 3, 8, 151):
        for x in (0.5, 10.0, 200.0):
            assert drift._chi2_sf(x, df) == pytest.approx(scipy_stats.chi2.sf(x, df), abs=1e-12)


@pytest.mark.parametrize("name", INCREMENTAL)
def test_a_step_shows_the_scores_that_the_model_gives(name):
    clf = in_chunks(classifier(name), *rows(100), [50])
    text = "good great w3 unheard"
    before = clf.label_score(text, "neg")
    step = clf.step(text, "neg")
    assert step.predicted == "pos"
    assert step.scores["neg"] == pytest.approx((before, clf.label_score(text, "neg")))
    assert "neg" not in step.blamed
    assert {feature for feature, _, _ in step.weights["neg"]} >= {"good", "great", "unheard"}
    assert "unheard" in str(step)
    assert ">unheard<" in step._repr_html_()


def test_logistic_in_chunks_is_close_to_a_fit():
    tickets = whole("tickets")
    tickets = tickets.take(np.random.default_rng(0).permutation(len(tickets)))
    train, test = tickets.take(np.arange(1600)), tickets.take(np.arange(1600, len(tickets)))
    texts, labels, truth = train.text.to_pylist(), train.label_list(), test.label_list()
    settings = {"features": "words:1-2", "ratio": 0.0, "params": {"C": 10.0}}
    chunks = linnet.TextClassifier("logistic", **settings)
    for first in range(0, len(texts), 200):
        chunks.partial_fit(texts[first : first + 200], labels[first : first + 200])
    batch = linnet.TextClassifier("logistic", **settings).fit(train)
    assert chunks.score(test, truth) > batch.score(test, truth) - 0.03


def test_late_chunks_count_most_in_the_mean():
    """The mean has the share (n^8 - m^8) / N^8 of the weights of the chunk from row m to row n; checked with one step a chunk."""
    texts, labels = rows(40, ("neg", "pos"))
    fixed = {"features": "words:1", "calibrate": False, "idf": False, "norm": None, "min_df": 1}
    mean, last = (
        linnet.TextClassifier("passive-aggressive", params={"C": 0.5, "max_iter": 1, "average": average}, **fixed)
        for average in (True, False)
    )
    total = np.zeros((len(texts), 1))
    for k, (text, label) in enumerate(zip(texts, labels, strict=True), 1):
        mean.partial_fit([text], [label], classes=["neg", "pos"])
        last.partial_fit([text], [label], classes=["neg", "pos"])
        total += (k**8 - (k - 1) ** 8) * last.decision_function(texts).reshape(-1, 1)
    np.testing.assert_allclose(
        mean.decision_function(texts).ravel(), total.ravel() / len(texts) ** 8, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("name", ["perceptron", "passive-aggressive"])
def test_a_chunk_gets_as_many_epochs_as_the_model_makes(name):
    texts, labels = rows(200, ("neg", "pos"))
    once, more = (
        linnet.TextClassifier(name, features="words:1", params={"max_iter": n, "average": False}).partial_fit(
            texts, labels
        )
        for n in (1, 20)
    )
    assert (more.predict(texts) == labels).mean() >= (once.predict(texts) == labels).mean()
    assert not np.array_equal(more.decision_function(texts), once.decision_function(texts))
