"""Tuning: the same search for a seed, within time, size and memory; resumable; honest about its best score."""

from __future__ import annotations

import functools
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, f1_score

import linnet
from linnet import LinnetError, TextClassifier, tune
from linnet.data import Dataset
from linnet.datasets import load
from linnet.errors import DataError
from linnet.evaluate import evaluate
from linnet.evaluate.metrics import METRICS, score_of
from linnet.features.blocks import BLOCKS, Words
from linnet.models import MODELS
from linnet.tuning import run_search
from linnet.tuning.candidate import SearchSpace
from linnet.tuning.judging import Clock, Limits, file_size, resident
from linnet.tuning.search import SearchState, corrected, packed, unpacked
from linnet.values import as_bytes, as_seconds

TRAIN, DEV, TEST = load("reviews")


def made(n: int = 1300, classes: int = 2, seed: int = 0) -> Dataset:
    """Short texts whose words lean to their class, enough rows for every level."""
    rng = np.random.default_rng(seed)
    words = [f"w{k}" for k in range(150)]
    y = rng.integers(0, classes, n)
    leaning = rng.dirichlet(np.full(150, 0.3), classes)
    texts = [" ".join(rng.choice(words, 9, p=0.5 * leaning[c] + 0.5 / 150)) for c in y]
    return Dataset.from_lists(texts, [f"c{c}" for c in y])


def quick(data=TRAIN, **settings):
    return tune(data, **{"budget": 600, "candidates": 8, "models": "svm,nb,logistic", **settings})


def timeless(found) -> list[dict]:
    return [{k: v for k, v in row.items() if k != "seconds"} for row in found.table]


def heard(**settings):
    events = []
    quick(
        on_event=lambda e: events.append((e.text, e.values["level"], e.values["score"])) if e.kind == "tuned" else None,
        **settings,
    )
    return events


# ---- determinism


def test_the_same_search_on_any_number_of_threads():
    data = made()
    one, two = quick(data, n_jobs=1, candidates=12), quick(data, n_jobs=3, candidates=12)
    assert timeless(one) == timeless(two)
    assert one.winner.candidate == two.winner.candidate
    assert one.optimism.to_dict() == two.optimism.to_dict()
    assert one.model.predict_proba(data.text).tobytes() == two.model.predict_proba(data.text).tobytes()


def test_another_seed_is_another_search():
    first, second = (heard(data=made(300), random_state=seed, candidates=11, models="nb") for seed in (0, 1))
    assert first != second


def test_time_and_number_decide_only_how_far_it_gets(monkeypatch):
    data = made()
    long = heard(data=data, candidates=16)
    short = heard(data=data, candidates=10)
    assert 10 <= len(short) < len(long)
    assert long[: len(short)] == short
    ticks = itertools.count()
    monkeypatch.setattr(run_search, "Clock", functools.partial(Clock, now=lambda: next(ticks) * 0.05))
    cut = heard(data=data, candidates=16, budget=6.0)
    assert 0 < len(cut) < len(long)
    assert long[: len(cut)] == cut


def test_the_default_comes_first_and_is_what_train_chooses():
    data = made(classes=3)
    events = heard(data=data, models=None, candidates=12)
    found = tune(data, budget=600, candidates=12)
    card = TextClassifier().fit(data).card
    assert events[0][0].startswith(f"{TextClassifier().model} ")
    default = found.results.at[found.results.base][found.results.default]
    assert dict(default.candidate.params)["C"] == card["settings"]["C"]
    assert default.candidate.ratio == card["settings"]["ratio"]
    assert default.candidate.features == card["settings"]["features"]
    assert default.score == pytest.approx(card["choice"]["accuracy"], abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_never_worse_on_dev_than_the_default(metric):
    found = quick(made(classes=3, seed=2), metric=metric, candidates=15)
    assert found.gain >= 0
    assert found.metric == metric
    if found.winner.candidate.key == found.results.default:
        assert "nothing was better" in found.words[1]


def test_every_model_that_learns_is_tried_and_no_other():
    found = tune(made(400), budget=600, candidates=18)
    tried = {r.candidate.model for level in found.results.at for r in level.values()}
    assert tried == {name for name, cls in MODELS.items() if hasattr(cls, "fit_matrix")}


# ---- the model


def test_the_model_is_fitted_on_train_and_dev_and_sees_test_once():
    found = quick(TRAIN, dev=DEV, test=TEST)
    assert found.model.card["data"]["rows_fitted"] == len(TRAIN) + len(DEV)
    assert found.test.n == len(TEST)
    assert found.test.accuracy == np.mean(found.model.predict(TEST.text) == np.array(TEST.label_list()))
    assert "measured once" in str(found)
    assert len(found.winner.predicted) == len(DEV)
    again = found.winner.candidate.make(0, None).fit(TRAIN, dev=DEV)
    assert again.predict_proba(TEST.text).tobytes() == found.model.predict_proba(TEST.text).tobytes()


def test_texts_and_labels_and_paths_will_do(tmp_path):
    texts, labels = TRAIN.text.to_pylist(), TRAIN.label_list()
    one = quick(texts, y=labels, candidates=2)
    path = tmp_path / "train.jsonl"
    path.write_text("\n".join(json.dumps({"text": t, "label": y}) for t, y in zip(texts, labels, strict=True)))
    assert timeless(quick(path, candidates=2)) == timeless(one)
    with pytest.raises(DataError, match="needs labels"):
        quick(texts)


def test_word_lists_are_used_only_where_given(tmp_path):
    path = tmp_path / "moods.csv"
    path.write_text("word,valence\n" + "\n".join(f"{w},{v}" for w, v in list(linnet.datasets.lexicon().items())[:300]))
    found = quick(lists=[path], candidates=6)
    assert all("lists:" in r.candidate.features for level in found.results.at for r in level.values())
    assert "lists:" not in str(quick(candidates=6))


# ---- budget


def test_the_budget_is_kept_by_a_clock_of_our_own(monkeypatch):
    ticks = itertools.count()
    clocks = []

    def clock(*args, **kwargs):
        clocks.append(Clock(*args, now=lambda: next(ticks) * 0.02, **kwargs))
        return clocks[-1]

    monkeypatch.setattr(run_search, "Clock", clock)
    found = quick(made(), budget=12.0, candidates=None)
    assert clocks[0].reserve > 0
    assert found.seconds <= 12.0
    assert found.results.candidates > 1


def test_a_candidate_in_progress_is_stopped_between_two_passes(monkeypatch, tmp_path):
    over = []
    state = tmp_path / "s.jsonl"
    monkeypatch.setattr(run_search, "Clock", functools.partial(Clock, now=lambda: 1e9 if over else 0.0))
    checked = Clock.check

    def check(self, *args):
        if args and len(state.read_text().splitlines()) > 4:  # within a fit, once some results are there
            over.append(True)
        checked(self, *args)

    monkeypatch.setattr(Clock, "check", check)
    found = quick(made(), state=state, candidates=None, models="svm,logistic")
    assert over
    assert len(state.read_text().splitlines()) == 5  # what was stopped is not a result
    assert any("before it had converged" in note for note in found.notes)  # the last fit had no time either
    assert len(found.model.predict(["w1 w2"])) == 1


def test_a_budget_that_is_too_short_is_one_clear_line():
    with pytest.raises(LinnetError, match="over before one candidate was judged"):
        quick(budget=1e-9)


# ---- limits


def test_memory_candidates_that_would_exceed_it_are_refused():
    data = made(4000, seed=3)
    base = -(-resident() // 50_000_000) * 50_000_000
    found = tune(data, budget=600, candidates=12, max_memory=base + 42_000_000)
    assert found.results.refused
    assert all("of memory" in reason for _, reason in found.results.refused.values())
    assert any("refused" in note for note in found.notes)
    assert {r.candidate.features for level in found.results.at for r in level.values()}  # the smaller ones went on
    with pytest.raises(LinnetError, match="larger --max-memory"):
        tune(data, budget=600, max_memory="10MB")


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("most", [60_000, 300_000])
def test_the_model_file_is_no_larger_than_asked(classes, most, tmp_path):
    found = quick(made(classes=classes), max_size=most)
    found.model.save(tmp_path / "m.linnet")
    assert (tmp_path / "m.linnet").stat().st_size == found.size <= most
    assert "--max-features" in found.command


def test_no_model_is_as_small_as_that():
    with pytest.raises(LinnetError, match="no model fits into 100 B"):
        quick(max_size=100)


@given(n=st.integers(1, 3_000_000), lookups=st.sampled_from([1, 3, 20]))
def test_most_features_is_the_largest_number_that_fits(n, lookups):
    limits = Limits(file_size(n, lookups), None)
    most = limits.most_features(lookups)
    assert most >= n
    assert file_size(most, lookups) <= file_size(n, lookups) < file_size(most + 1, lookups) or most == n


# ---- Ctrl-C, kill, resume


def test_ctrl_c_returns_the_best_so_far():
    count = itertools.count()

    def stop(event):
        if next(count) == 6:
            os.kill(os.getpid(), signal.SIGINT)

    found = quick(made(), candidates=None, on_event=stop)
    assert not found.finished
    assert "interrupted: this is the best so far" in found.notes
    assert 6 <= found.results.judged <= 8
    assert len(found.model.predict(["w1"])) == 1

    def at_once(event):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(made(), budget=600, on_event=lambda e: None, y=None, models="nb", lists=(Interrupting(),))


class Interrupting(os.PathLike):
    def __fspath__(self):
        raise KeyboardInterrupt


KILLED = """
import sys
sys.path.insert(0, {here!r})
from test_tuning import made, quick
quick(made(), candidates=None, state={state!r})
"""


def test_a_search_that_was_killed_goes_on(tmp_path):
    state = tmp_path / "s.tune.jsonl"
    whole = quick(made(), candidates=14)
    process = subprocess.Popen([sys.executable, "-c", KILLED.format(here=str(Path(__file__).parent), state=str(state))])
    try:
        until = time.monotonic() + 120
        while (not state.exists() or state.read_bytes().count(b"\n") < 8) and time.monotonic() < until:
            assert process.poll() is None
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    with state.open("ab") as file:
        file.write(b'{"key": "cut short')
    before = state.read_bytes().count(b"\n")
    found = quick(made(), candidates=14, state=state)
    assert found.resumed >= 7
    assert timeless(found) == timeless(whole)
    assert found.winner.candidate == whole.winner.candidate
    lines = state.read_text().splitlines()
    assert len(lines) >= before
    assert all(json.loads(line) for line in lines)
    third = quick(made(), candidates=14, state=state)  # nothing left to judge
    assert third.resumed == third.results.judged + len(third.results.refused)
    assert quick(made(), candidates=3, state=state, fresh=True).resumed == 0


def test_state_of_another_search_is_started_anew_and_one_in_use_is_refused(tmp_path):
    path = tmp_path / "s.jsonl"
    first = SearchState(path, {"seed": 0})
    first.add("a", {"x": 1})
    with pytest.raises(LinnetError, match="in use by another"):
        SearchState(path, {"seed": 0})
    first.close()
    with path.open("ab") as file:
        file.write(b"not json\n")
    again = SearchState(path, {"seed": 0})
    assert again.known == {"a": {"x": 1}}
    again.close()
    assert path.read_bytes().endswith(b"}\n")  # what was damaged is cut off
    other = SearchState(path, {"seed": 1})
    assert other.known == {}
    other.close()
    with pytest.raises(LinnetError, match="cannot write"):
        SearchState(tmp_path / "no" / "s.jsonl", {})


@given(st.lists(st.integers(0, 70_000), max_size=50))
def test_answers_are_packed_without_loss(answers):
    assert unpacked(packed(np.array(answers, np.int64))).tolist() == answers


# ---- data that cannot be tuned on


@pytest.mark.parametrize(
    ("texts", "labels", "words"),
    [
        (["a", "b", "c"], ["x"] * 3, "every row has the label"),
        (["a", "b", "c"], ["x", "y", "z"], "fewer than two labels have two rows"),
        (["a", "b", "c"], ["x", "x", "y"], "fewer than two labels have two rows"),
    ],
)
def test_data_that_cannot_be_held_out(texts, labels, words):
    with pytest.raises(DataError, match=words):
        quick(texts, y=labels)


def test_tiny_data_is_tuned_all_the_same():
    found = tune(["good", "fine", "bad", "poor"], ["p", "p", "n", "n"], budget=600, candidates=4)
    assert found.model.predict(["good"]).tolist() == ["p"]
    one_rare = tune(
        ["good fun", "fine fun", "bad", "poor bad", "odd"], ["p", "p", "n", "n", "z"], budget=600, candidates=10
    )
    assert set(one_rare.model.classes_) == {"n", "p", "z"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"budget": "soon"}, "budget"),
        ({"max_size": "-1MB"}, "max_size"),
        ({"metric": "f1"}, "unknown metric 'f1'"),
        ({"models": "svn"}, "did you mean 'svm'"),
        ({"models": "lexicon"}, "model that learns"),
    ],
)
def test_wrong_settings_are_refused_before_the_work(settings, words):
    with pytest.raises(LinnetError, match=words):
        quick(**settings)


# ---- the parts


@given(st.integers(0, 10**6), st.sampled_from(["s", "m", "h"]), st.sampled_from(["kB", "MB", "GB"]))
def test_units(n, time_unit, size_unit):
    seconds, size = {"s": 1, "m": 60, "h": 3600}, {"kB": 10**3, "MB": 10**6, "GB": 10**9}
    if n:
        assert as_seconds(f"{n}{time_unit}") == n * seconds[time_unit]
        assert as_bytes(f"{n} {size_unit}", "max_size") == n * size[size_unit]


@given(st.integers(2, 5).flatmap(lambda k: st.lists(st.tuples(*[st.integers(0, k - 1)] * 2), min_size=2, max_size=60)))
def test_metrics_are_those_of_scikit_learn(pairs):
    truth, predicted = np.array(pairs).T
    k = int(max(truth.max(), predicted.max())) + 1
    assert score_of("accuracy", truth, predicted, k) == pytest.approx(np.mean(truth == predicted))
    assert score_of("macro-f1", truth, predicted, k) == pytest.approx(
        f1_score(truth, predicted, average="macro", zero_division=0)
    )
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert score_of("balanced-accuracy", truth, predicted, k) == pytest.approx(
            balanced_accuracy_score(truth, predicted)
        )
    for metric in METRICS:
        low, high = evaluate(truth, predicted, range(k)).score(metric)[1]
        least, most = METRICS[metric].bounds
        assert least <= low <= high <= most


def test_the_optimism_of_many_equal_candidates_is_found():
    """Fifty candidates of true accuracy 0.7: the best looks better by luck, and the correction takes that away."""
    errors, raw = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, 400)
        answers = [np.where(rng.random(400) < 0.7, truth, 1 - truth) for _ in range(50)]
        found = corrected("accuracy", np.arange(400), truth, answers, 2, seed=seed)
        raw.append(found.score - 0.7)
        errors.append(found.expected - 0.7)
        assert found.optimism >= 0
    assert np.mean(raw) > 0.04
    assert abs(np.mean(errors)) < 0.01
    one = corrected("accuracy", np.arange(400), truth, answers[:1], 2, seed=0)
    assert one.optimism < 0.005


def test_rows_of_one_text_are_drawn_together():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    answers = [np.where(rng.random(200) < 0.7, truth, 1 - truth) for _ in range(5)]
    once = corrected("accuracy", np.arange(200), truth, answers, 2, seed=0)
    twice = corrected(
        "accuracy", np.tile(np.arange(200), 2), np.tile(truth, 2), [np.tile(a, 2) for a in answers], 2, seed=0
    )
    assert twice.expected == pytest.approx(once.expected)
    assert twice.noise == pytest.approx(once.noise)


def test_whatever_is_drawn_can_be_made():
    space = SearchSpace((Words(1, 2),), models=[name for name, cls in MODELS.items() if cls.traits.learns])
    rng = np.random.default_rng(0)
    seen = set()
    c = space.own("svm")
    for k in range(400):
        c = space.near(c if k % 4 else space.own(space.models[k % len(space.models)]), rng)
        c.make(0, 1).plan()
        assert json.loads(c.key) == c.to_dict()
        seen |= {b.split(":")[0] for b in c.features.split("+")}
    assert seen == set(BLOCKS)


def test_a_new_model_of_the_registry_is_searched_without_a_word_here(monkeypatch):
    class Another(MODELS["nb"]):
        plan = MODELS["nb"].plan.with_settings(grid=(("alpha", (0.5, 2.0)),))

    monkeypatch.setitem(MODELS, "another", Another)
    assert quick(models="another", candidates=3).winner.candidate.model == "another"


def test_several_labels_a_row():
    rng = np.random.default_rng(0)
    leaning = rng.dirichlet(np.full(60, 0.2), 4)
    sets = [tuple(f"l{k}" for k in range(4) if k == n % 4 or rng.random() < 0.2) for n in range(240)]
    mix = [np.mean([leaning[int(label[1])] for label in one], axis=0) for one in sets]
    texts = [" ".join(rng.choice([f"w{k}" for k in range(60)], 9, p=p)) for p in mix]
    given = {"models": "nb,svm", "candidates": 5, "budget": 600, "test": (texts[200:], sets[200:])}
    found = tune(texts[:200], sets[:200], **given)
    assert found.metric == "micro-f1"
    assert found.model.artefact.multilabel
    T, P = (
        np.array([[f"l{k}" in one for k in range(4)] for one in rows])
        for rows in (sets[200:], found.model.predict(texts[200:]))
    )
    assert found.test.micro_f1 == pytest.approx(f1_score(T, P, average="micro"), abs=1e-12)
    assert found.table[0]["low"] < found.table[0]["score"] < found.table[0]["high"]
    assert found.optimism.expected <= found.winner.score
    again = tune(texts[:200], sets[:200], metric="macro_f1", n_jobs=1, **given)
    assert again.metric == "macro-f1"
    with pytest.raises(DataError, match="metric of several labels a row"):
        tune(texts, sets, metric="matthews")
    truth, answers = rng.random((50, 3)) < 0.4, rng.random((50, 3)) < 0.4
    for name in ("micro", "macro", "weighted"):
        expected = f1_score(truth, answers, average=name, zero_division=0)
        assert score_of(f"{name}-f1", truth, answers, 3) == pytest.approx(expected, abs=1e-12)


def test_dev_rows_of_another_string_type(tmp_path):
    from dataclasses import replace

    import pyarrow as pa

    data = made(300)
    large = replace(data, text=data.text.cast(pa.large_string()))
    found = [tune(data, dev=dev, candidates=1, models="nb", budget=600) for dev in (data, large)]
    assert timeless(found[0]) == timeless(found[1])


def test_a_state_keeps_names_that_are_no_utf8(tmp_path):
    about = {"lists": "lists:\udcff.csv"}
    first = SearchState(tmp_path / "s.jsonl", about)
    first.add("a", {"x": 1})
    first.close()
    assert SearchState(tmp_path / "s.jsonl", about).known == {"a": {"x": 1}}
