"""The search for settings: where it starts, what it leaves behind, and that its choice is fitted."""

import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from linnet import TextClassifier, read
from linnet.cli.train import _Refit
from linnet.features.blocks import as_blocks, describe
from linnet.features.buffers import taken, text_buffers
from linnet.features.derived import Shared, Texts
from linnet.features.plan import VARIATIONS, FeaturePlan, default_blocks, other_widths
from linnet.pipeline.crossval import side_by_side
from linnet.pipeline.rows import count_features
from linnet.pipeline.search import Trial, axes_of, clearly_better, starts, walk
from linnet.solvers.callbacks import ConvergenceWarning


def topical(n=240, seed=0):
    """Texts where how often a word comes tells the class, and whether it comes does not."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for k in range(n):
        much, little = (8, 1) if k % 2 else (1, 8)
        words = ["ball"] * much + ["vote"] * little + [f"w{rng.integers(60)}" for _ in range(20)]
        rng.shuffle(words)
        texts.append(" ".join(words))
        labels.append("sport" if k % 2 else "politics")
    return texts, labels


def test_counts_are_chosen_where_they_tell_the_class():
    texts, labels = topical()
    clf = TextClassifier(features="words:1", tf=["presence", "sublinear"]).fit(texts, labels)
    assert clf.card["settings"]["tf"] == clf.artefact.tf == "sublinear"
    assert clf.score(*topical(seed=1)) == 1.0
    tried = TextClassifier().fit(texts, labels).card["choice"]["tried"]
    assert {one["tf"] for one in tried} == {"presence", "sublinear"}
    assert TextClassifier(tf="presence").fit(texts, labels).artefact.tf == "presence"
    assert (
        TextClassifier(features="words:1").fit(texts, labels).artefact.tf == "presence"
    )  # given features stay as they are


def test_the_choice_is_what_giving_it_comes_to():
    texts, labels = topical()
    found = TextClassifier().fit(texts, labels)
    chosen = found.card["settings"]
    again = TextClassifier(
        features=chosen["features"], tf=chosen["tf"], ratio=chosen["ratio"], params={"C": chosen["C"]}
    ).fit(texts, labels)
    assert np.array_equal(again.decision_function(texts), found.decision_function(texts))


def test_starts_hold_every_width_and_tf():
    plan = FeaturePlan(
        features=default_blocks(text_buffers(["a short text"])), ratio=(0.5, 0.0), grid=(("C", (0.3, 0.1, 1.5)),),
        other_tf=("sublinear",),
    )  # fmt: skip
    axes = axes_of(plan, False, other_widths(plan.features))
    few = starts(axes, many=False)
    assert len(few) == len({str(one) for one in few}) == 8
    assert few[0] == {"C": 0.3, "ratio": 0.5, "tf": "presence", "features": "words:1-2+chars:2-5"}
    assert {(one["C"], one["ratio"]) for one in few} == {(0.3, 0.5), (0.3, 0.0)}
    many = starts(axes_of(plan, True, other_widths(plan.features)), many=True)
    assert len(many) == 4
    assert many[0]["features"] == describe(plan.features)
    first = starts(axes_of(replace(plan, few=(("tf", "sublinear"), ("C", 1.5))), False), many=False)[0]
    assert (first["tf"], first["C"]) == ("sublinear", 1.5)
    assert other_widths(other_widths(plan.features)[0]) == ()


def test_a_walk_begins_where_it_is_told_to():
    class Judged:
        def __init__(self, settings):
            self.settings, self.accuracy = settings, settings["C"]
            self.right = np.arange(100) < 10 * settings["C"]

    found = list(walk([("C", (1.0, 2.0, 4.0, 8.0))], {"C": 2.0}, lambda settings, best: Judged(settings)))
    assert [one.settings["C"] for one in found] == [2.0, 4.0, 8.0, 8.0, 8.0, 8.0][: len(found)]
    assert found[-1].settings["C"] == 8.0


def test_variations_of_the_features_are_tried_on_the_best_so_far():
    good = {"words:1+chars:2": 50, "words:1+across:2-6*0.8": 40, "words:1+chars:2+position:1*0.5+skips:1*0.5": 70}

    class Judged:
        def __init__(self, settings):
            self.settings = settings
            self.right = np.arange(100) < good[settings["features"]] + 5 * settings["C"]

    asked = []

    def judge(settings, best):
        asked.append(settings)
        return Judged(settings)

    axes = [("C", (1.0, 4.0)), ("features", ("words:1+chars:2",))]
    at = {"C": 1.0, "features": "words:1+chars:2"}
    *_, last = walk(axes, at, judge, variations=VARIATIONS)
    assert last.settings == {"C": 4.0, "features": "words:1+chars:2+position:1*0.5+skips:1*0.5"}
    assert list(dict.fromkeys(one["features"] for one in asked)) == list(good)
    assert next(one["C"] for one in asked if "across" in one["features"]) == 4.0  # after the axes


def test_words_are_told_apart_by_their_place_where_that_is_what_counts():
    rng = np.random.default_rng(0)
    words = [f"w{k}" for k in range(12)]
    texts = [" ".join(rng.permutation(words)) for _ in range(600)]
    labels = ["first" if text.split().index("w0") < text.split().index("w1") else "second" for text in texts]
    tried = TextClassifier().fit(texts, labels).card["choice"]["tried"]
    features = [one["features"] for one in tried]
    assert any("across:2-6*0.8" in one for one in features)
    assert any("position:1*0.5+skips:1*0.5" in one for one in features)
    few = TextClassifier(features="words:1-2+chars:2-5").fit(texts, labels).card["choice"]["tried"]
    assert not any("position" in one.get("features", "") for one in few)  # given features stay as they are


def test_refitted_has_the_settings_and_the_calibration_of_the_first_fit():
    texts, labels = topical()
    first = TextClassifier("logistic").fit(texts[:200], labels[:200])
    last = first.refitted(texts, labels)
    assert last.card["data"]["rows_fitted"] == 240
    assert first.card["data"]["rows_fitted"] == 200
    assert last.card["choice"] == first.card["choice"]
    assert last.card["calibration"] == first.card["calibration"]
    for name in ("C", "ratio", "tf", "features"):
        assert last.card["settings"][name] == first.card["settings"][name]


def test_taken_documents_are_those_asked_for():
    pieces = [*text_buffers(["a", "", "ccc"]), *text_buffers(["dd", "é"])]
    some = taken(pieces, np.array([0, 2, 4]))
    assert [some.text(d) for d in range(len(some))] == ["a", "ccc", "é"]
    assert len(taken(pieces, np.array([], dtype=np.int64))) == 0


@pytest.mark.parametrize("flag", [[], ["--hold-out-test"]])
def test_train_fits_once_more_on_all_rows(tmp_path, flag, capsys):
    from click.testing import CliRunner

    from linnet.cli import linnet

    texts, labels = topical()
    path, out = tmp_path / "t.csv", tmp_path / "t.linnet"
    path.write_text("label,text\n" + "".join(f"{y},{x}\n" for x, y in zip(texts, labels, strict=True)))
    done = CliRunner().invoke(linnet, ["train", str(path), "--out", str(out), *flag])
    assert done.exit_code == 0, done.output
    from linnet import load

    card = load(out).card
    assert card["data"]["rows_fitted"] == (216 if flag else 240)
    assert ("fitted on 216 rows; the saved one has learned from all 240" in done.output) is not bool(flag)
    assert len(read(path)) == 240


def test_few_test_rows_say_little(tmp_path):
    from click.testing import CliRunner

    from linnet.cli import linnet

    texts, labels = topical(60)
    path = tmp_path / "t.csv"
    path.write_text("label,text\n" + "".join(f"{y},{x}\n" for x, y in zip(texts, labels, strict=True)))
    done = CliRunner().invoke(linnet, ["train", str(path), "--out", str(tmp_path / "t.linnet")])
    assert done.exit_code == 0, done.output
    assert "test rows say little: over 5 folds of the training rows accuracy was" in done.output


@pytest.mark.parametrize("model", ["svm", "logistic"])
def test_threads_change_nothing(model):
    texts, labels = topical()
    made = [TextClassifier(model, n_jobs=n).fit(texts, labels) for n in (1, 2)]
    assert made[0].card == made[1].card
    np.testing.assert_array_equal(made[0].model_.rows, made[1].model_.rows)


def test_trials_of_different_lengths_are_compared_on_the_folds_of_both():
    """Where classes are many a poor ratio is judged on the first fold alone."""

    def trial(right):
        n = len(right)
        return Trial({}, float(np.mean(right)), np.array(right), np.zeros((n, 2)), np.arange(n), np.zeros(n, np.int64))

    long, short = trial([True] * 60 + [False] * 60), trial([False] * 30 + [True] * 30)
    assert clearly_better(long, short)
    assert not clearly_better(short, long)
    assert not clearly_better(long, trial([True] * 60))


@pytest.mark.parametrize("model", ["svm", "logistic"])
def test_threads_change_nothing_with_many_classes(model):
    """Fits of the SVM begin where those before them on the same fold ended, in the same order for any number of threads."""
    rng = np.random.default_rng(0)
    texts = [f"topic{k} " + " ".join(f"w{j}" for j in rng.integers(0, 40, 6)) for k in range(55) for _ in range(6)]
    labels = [f"l{k}" for k in range(55) for _ in range(6)]
    made = [TextClassifier(model, features="words:1-2", n_jobs=n).fit(texts, labels) for n in (1, 2, 3)]
    for other in made[1:]:
        assert made[0].card == other.card
        np.testing.assert_array_equal(made[0].model_.rows, other.model_.rows)
    assert made[0].card["choice"]["folds"] > 1


def test_a_last_fit_in_the_background_ends_with_ctrl_c():
    """It begins when the settings are found, reports through a queue, and stops at the next report."""
    texts, labels = topical()
    clf, seen = TextClassifier("logistic"), []
    part = Shared(texts).part(np.arange(len(texts)))
    again = _Refit(clf, texts, {"y": labels, "part": part}, at_once=True)
    clf.fit(texts[:200], labels[:200], on_found=again)
    found = again.result(seen.append)
    assert seen[0].kind == "stage"
    assert found.card == clf.refitted(texts, labels).card

    def stop(event):
        raise KeyboardInterrupt

    slow = TextClassifier("logistic", params={"solver": "sgd", "max_iter": 100_000, "tol": 1e-12})
    again = _Refit(slow, texts, {"y": labels, "part": part}, at_once=True)
    again(clf.search_)
    with pytest.raises(KeyboardInterrupt):
        again.result(stop)
    assert again.ended
    again.fitted.exception(60)  # it does end: with the error, or in a pass with the weights so far


def test_trials_side_by_side_end_when_a_report_says_so():
    """As in the studio, where a run is stopped from another thread."""
    texts, labels = topical()
    seen = []

    def stop(event):
        seen.append(event.kind)
        if event.kind in ("trial", "pass"):
            raise KeyboardInterrupt

    clf = TextClassifier(
        "logistic", n_jobs=2, params={"solver": "sgd", "max_iter": 100_000, "tol": 1e-12, "C": [1.0, 10.0]}
    )
    clf.fit(texts, labels, on_event=stop)
    assert clf.interrupted_
    assert seen.count("trial") <= 2  # one report of each


@pytest.mark.parametrize("first", range(1, 12, 2))
@pytest.mark.parametrize("tol", [1.0, 1e9])
def test_a_stop_at_any_report_keeps_a_model(first, tol):
    """Also where it comes with the last report of a fit that was made ahead, the only one with so large a tolerance."""
    texts, labels = topical()
    left = iter([False] * (first - 1))

    def stop(event):
        if event.kind in ("trial", "pass") and next(left, True):
            raise KeyboardInterrupt

    clf = TextClassifier("svm", n_jobs=2, params={"tol": tol, "C": [0.1, 1.0, 10.0]}).fit(texts, labels, on_event=stop)
    assert clf.interrupted_
    assert len(clf.predict(texts)) == len(texts)


def test_a_walk_says_ahead_what_it_will_judge():
    """These settings and those that come next if they are no better: all that is judged was said, and was next at some time."""

    class Judged:
        def __init__(self, settings):
            self.settings, self.accuracy = settings, settings["C"]
            self.right = np.arange(100) < 10 * settings["C"] - 20 * (settings["ratio"] != 0.5)

    said, judged = [], []

    def judge(settings, best):
        judged.append(settings)
        return Judged(settings)

    axes = [("C", (1.0, 2.0, 4.0)), ("ratio", (0.0, 0.5, 1.0))]
    list(walk(axes, {"C": 2.0, "ratio": 0.5}, judge, lambda settings: said.append(list(settings))))
    assert [settings[0] for settings in said] == judged
    assert said[0][:2] == [{"C": 2.0, "ratio": 0.5}, {"C": 4.0, "ratio": 0.5}]
    assert said[2][:2] == [{"C": 2.0, "ratio": 0.5}, {"C": 4.0, "ratio": 1.0}]  # C = 4 was better


def test_ctrl_c_waits_for_what_runs_side_by_side():
    """A thread that runs is not taken for one that has ended, and all that came of it is returned."""
    told = threading.Event()

    def work(item):
        told.wait(60)
        time.sleep(0.2)
        return item

    main = threading.get_ident()
    threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    assert side_by_side(work, [1, 2, 3], 2, told.set) == [1, 2, 3]
    assert told.is_set()
    assert side_by_side(work, [], 2, told.set) == []


def in_pairs(alike, n=400):
    """Texts that share words with one other text, of the same class or of another; a common word is right on two in three."""
    rng = np.random.default_rng(0)
    texts, labels = [], []
    for _ in range(n // 2):
        words = " ".join(f"{k:x}" for k in rng.integers(1 << 40, size=4))
        first = rng.integers(3)
        for label in (first, first if alike else (first + 1) % 3):
            texts.append(f"{['red', 'green', 'blue'][label if rng.random() < 0.67 else rng.integers(3)]} {words}")
            labels.append(str(label))
    return texts, labels


@pytest.mark.parametrize(("alike", "min_df"), [(True, 1), (False, 2)])
def test_rare_features_are_kept_where_they_tell_the_class(alike, min_df):
    clf = TextClassifier().fit(*in_pairs(alike))
    assert clf.card["settings"]["min_df"] == min_df
    assert {one["min_df"] for one in clf.card["choice"]["tried"]} == {1, 2}
    given = TextClassifier(min_df=3 - min_df).fit(*in_pairs(alike)).card
    assert given["settings"]["min_df"] == 3 - min_df
    assert not any("min_df" in one for one in given["choice"]["tried"])


def test_rare_features_stay_at_first_where_texts_are_short_and_few():
    texts = [f"{k:x} {k * 7919:x}" for k in range(3000)]
    for features, min_df in (("words:1-2+chars:2-5", 1), ("words:1-2+skips:2*0.8", 2)):
        rows, blocks = text_buffers([text + "a b c d e f g" for text in texts]), as_blocks(features)
        assert count_features(Texts(rows), blocks, FeaturePlan(), 300, 1)[1] == min_df


def many_rows():
    """More entries than settings are tried on: 5,000 rows to train on and 1,000 dev rows."""
    rng = np.random.default_rng(0)
    labels = ["sport" if k % 2 else "politics" for k in range(6000)]
    words = rng.integers(0, 2000, (6000, 180)) + 40 * (np.arange(6000)[:, None] % 2)
    texts = [" ".join(f"w{j}" for j in row) for row in words.tolist()]
    return (texts[:5000], labels[:5000]), (texts[5000:], labels[5000:])


def test_a_fit_that_stops_early_warns_once():
    """The fit that calibrates beside the last one stops early, too, and says nothing."""
    train, dev = many_rows()
    clf = TextClassifier("svm", features="words:1-2", params={"C": 1.0, "max_iter": 1, "tol": 1e-9}, ratio=0, n_jobs=2)
    with pytest.warns(ConvergenceWarning) as caught:
        clf.fit(*train, dev=dev)
    assert len(caught) == 1
    assert clf.card["data"]["rows_fitted"] == 6000


def test_the_fit_that_is_tested_calibrates_and_keeps_its_weights_on_ctrl_c():
    """Where rows are many, and another fit to all rows follows: the dev rows are not fitted, and no fit is made beside it."""
    train, dev = many_rows()
    kinds = []
    clf = TextClassifier("svm", features="words:1-2", n_jobs=1)
    clf.fit(*train, dev=dev, on_event=lambda event: kinds.append(event.kind), on_found=lambda found, held_out: None)
    assert clf.card["data"]["rows_fitted"] == 5000
    held_out = clf.search_.held_out
    assert held_out.trial is not clf.search_.best
    assert len(held_out.trial.rows) == 1000
    assert kinds.count("pass") > 1
    alone = TextClassifier("svm", features="words:1-2", refit=False, n_jobs=1).fit(*train, dev=dev)
    np.testing.assert_allclose(
        clf.predict_proba(dev[0]), alone.predict_proba(dev[0]), atol=0.05
    )  # within the tolerance

    def stop(event):
        if event.kind == "pass":
            raise KeyboardInterrupt

    clf.fit(*train, dev=dev, on_event=stop, on_found=lambda found, held_out: None)
    assert clf.interrupted_
    assert len([one for one in clf.history_ if one["kind"] == "pass"]) == 1
    assert np.mean(clf.predict(dev[0]) == np.array(dev[1])) > 0.6
