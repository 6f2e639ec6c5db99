"""The feed-forward net over text: the same road as the lines, with a head at the end of it."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import linnet
import running
from linnet import TextClassifier
from linnet.datasets import load
from linnet.errors import DataError, ModelFileError
from linnet.features.blocks import parse
from linnet.features.vectorizer import Vectorizer
from linnet.model import file as store
from linnet.model.model import Model
from linnet.model.table import FloatTable
from linnet.models import FeedForward

TRAIN, DEV, TEST = load("reviews")
TOPICS = [
    "the match was won",
    "a late goal won the cup",
    "shares fell",
    "the bank raised rates",
    "a new phone",
    "the chip",
]
LABELS = ["sport", "sport", "money", "money", "tech", "tech"]


def fitted(**settings):
    return TextClassifier("feed-forward", **{"params": {"max_iter": 10}, **settings}).fit(TRAIN, dev=DEV)


@pytest.fixture(scope="module", params=["plain", "hash", "count", "narrow", "flat", "three"])
def clf(request):
    if request.param == "three":
        settings = {
            "features": "words:1+chars:3",
            "min_df": 1,
            "params": {"validation_fraction": None, "learning_rate": 0.05},
        }
        return TextClassifier("feed-forward", **settings).fit(TOPICS * 5, LABELS * 5)
    extra = {
        "plain": {},
        "hash": {"hash_bits": 12},
        "count": {"tf": "count", "norm": "l2", "features": "words:1-2+chars:3*0.7"},
        "narrow": {"params": {"dim": 4, "hidden": 8, "max_iter": 10}},  # slots and rows in one record
        "flat": {"params": {"hidden": 0, "max_iter": 10}, "norm": None},
    }[request.param]
    return fitted(**extra)


TEXTS = [*TEST.text.to_pylist()[:40], "", "never seen words qqq", "the", "Loved it! " * 50]


def test_scores_are_those_of_the_estimator():
    """The artefact, the matrix and the formula agree: mean of the features, the embeddings, the head."""
    clf = fitted(calibrate=False, features="words:1", idf=False)
    texts = TEST.text.to_pylist()[:50]
    vectorizer = Vectorizer("words:1", tf="presence", idf=False, norm=None)
    X = vectorizer.fit(TRAIN.text.to_pylist() + DEV.text.to_pylist()).transform(texts).toarray()
    names = vectorizer.get_feature_names_out().tolist()
    kept = {name: slot for slot, name in clf.artefact.names().items()}
    E = np.array([clf.artefact.rows[kept[n], 1:] if n in kept else np.zeros(32) for n in names])
    known = X * np.array([n in kept for n in names])
    mean = known @ E / np.maximum(1, known.sum(axis=1, keepdims=True))
    (A, a), (B, c) = clf.artefact.head.layers
    np.testing.assert_allclose(clf.artefact.scores(texts), np.maximum(0, mean @ A + a) @ B + c, rtol=1e-5, atol=1e-6)


def test_it_learns():
    subjects, verdicts = ["cast", "plot", "score", "ending", "script"], {"loved": 1, "great": 1, "dull": 0, "awful": 0}
    texts = [f"the {s} was {v} and {o}" for s in subjects for v in verdicts for o in ("long", "short", "loud")]
    labels = ["good" if verdicts[t.split()[3]] else "bad" for t in texts]
    clf = TextClassifier("feed-forward").fit(texts * 5, labels * 5)
    assert clf.predict(["a loved film", "an awful film", "great"]).tolist() == ["good", "bad", "good"]
    assert clf.score(texts, labels) == 1.0
    assert clf.card["settings"]["model"] == "feed-forward"
    passes = [h for h in clf.history_ if h["kind"] == "pass"]
    assert passes
    assert passes[-1]["loss"] < passes[0]["loss"]


def test_saved_and_loaded_scores_are_the_same_bits(clf, tmp_path):
    path = tmp_path / "m.linnet"
    clf.save(path)
    again = linnet.load(path)
    want = clf.artefact.scores(TEXTS)
    assert again.artefact.scores(TEXTS).tobytes() == want.tobytes()
    assert linnet.load(path.read_bytes()).artefact.scores(TEXTS).tobytes() == want.tobytes()
    assert clf.artefact.scores(TEXTS, threads=2).tobytes() == want.tobytes()
    for k in (0, 7, 40):
        assert clf.artefact.scores([TEXTS[k]]).tobytes() == want[k : k + 1].tobytes()
    again.save(tmp_path / "n.linnet")
    assert (tmp_path / "n.linnet").read_bytes() == path.read_bytes()


def test_threads_and_runs_give_the_same_bytes(tmp_path):
    files = []
    for k, threads in enumerate((1, 2, 1)):
        fitted(n_jobs=threads).save(tmp_path / f"{k}.linnet")
        files.append((tmp_path / f"{k}.linnet").read_bytes())
    assert files[0] == files[1] == files[2]


def test_a_line_has_no_head_and_its_file_says_nothing_of_one(tmp_path):
    line = TextClassifier("nb", features="words:1").fit(TRAIN)
    line.save(tmp_path / "m.linnet")
    stored = store.read(tmp_path / "m.linnet")
    assert "head" not in stored.card["model"]
    assert not any(name.startswith("head") for name in stored.tensors)
    assert line.artefact.head is None
    assert line.artefact.n_lookup == line.artefact.n_outputs == 1


@pytest.mark.parametrize("damage", ["no layer", "narrow", "wrong input", "no head"])
def test_heads_that_do_not_fit_are_refused(clf, tmp_path, damage):
    clf.save(tmp_path / "m.linnet")
    stored = store.read(tmp_path / "m.linnet")
    tensors, card = dict(stored.tensors), dict(stored.card)
    last = len(clf.artefact.head.layers) - 1
    if damage == "no layer":
        del tensors[f"head.{last}.a"]
    elif damage == "narrow":
        tensors[f"head.{last}.A"] = tensors[f"head.{last}.A"][:-1]
    elif damage == "wrong input":
        tensors["head.0.A"] = np.concatenate([tensors["head.0.A"]] * 2)
    else:
        card["model"] = {k: v for k, v in card["model"].items() if k != "head"}
    store.write(tmp_path / "bad.linnet", tensors, card)
    with pytest.raises(ModelFileError, match="train it again"):
        linnet.load(tmp_path / "bad.linnet")


# ---- explanations


def test_explanations_are_gradient_times_input_and_add_up(clf):
    for text in [TEXTS[0], TEXTS[-1], "the match was dull", ""]:
        for label in clf.artefact.classes:
            e = clf.explain(text, label)
            assert not e.exact
            assert e.score == pytest.approx(clf.label_score(text, label), abs=1e-9)
            assert e.bias + sum(c.value for c in e.contributions) == pytest.approx(e.score, abs=1e-9)
            assert e.bias + sum(v for _, v in e.by_word()) == pytest.approx(e.score, abs=1e-6)


def test_a_contribution_is_what_a_little_more_of_an_embedding_does():
    """Scale the embedding of one word by 1 + h: the score moves by h times its contribution."""
    clf = fitted(features="words:1", full_precision=True)
    model: Model = clf.artefact
    slots = {name: slot for slot, name in model.names().items()}
    text, h, tried = TEXTS[0], 1e-3, 0
    for c in clf.explain(text, model.classes[1]).top(8):
        if c.feature not in slots:
            continue
        moved = []
        for factor in (1 + h, 1 - h):
            rows = np.array(model.rows)
            rows[slots[c.feature], 1:] *= np.float32(factor)
            table = FloatTable(np.array(model.slots), rows, model.shift)
            moved.append(float(replace(model, table=table).scores([text])[0, 0]))
        assert (moved[0] - moved[1]) / (2 * h) == pytest.approx(c.value, rel=0.02, abs=1e-4)
        tried += 1
    assert tried >= 5


def test_without_a_hidden_layer_a_contribution_is_what_the_word_adds():
    clf = fitted(features="words:1", norm=None, params={"hidden": 0, "max_iter": 5})
    whole = clf.explain("great fun but dull")
    without = clf.explain("great fun but", whole.label)
    dull = next(c for c in whole.contributions if c.feature == "dull")
    assert whole.score - without.score == pytest.approx(dull.value, abs=1e-6)


def test_what_is_approximate_says_so(clf):
    e = clf.explain("a wonderful match <b>")
    assert "approximate (gradient x input)" in str(e)
    assert "approximate (gradient x input)" in e._repr_html_()
    plain = json.loads(json.dumps(e.to_dict()))
    assert plain["exact"] is False
    assert plain["method"] == "approximate (gradient x input)"
    exact = TextClassifier("nb", features="words:1").fit(TRAIN).explain("a wonderful match")
    assert exact.exact
    assert exact.to_dict()["method"] == "exact"
    assert "approximate" not in str(exact) + exact._repr_html_()


def test_top_features_are_texts_of_one_word():
    clf = fitted(features="words:1")
    for label in clf.artefact.classes:
        found = clf.top_features(label, 15)
        assert [w for _, w in found] == sorted((w for _, w in found), reverse=True)
        for name, weight in found:
            assert weight == pytest.approx(
                clf.label_score(name, label) - clf.label_score("", label), rel=1e-4, abs=1e-5
            )
    assert "<div>" in clf._repr_html_()


# ---- extremes


def test_empty_and_very_long_texts(clf):
    long = " ".join(["great dull the match"] * 25_000)
    P = clf.predict_proba(["", long, "\x00", "😀" * 1000])
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert clf.predict_proba([""]).tobytes() == P[:1].tobytes()


def test_training_on_a_very_long_text():
    texts = [" ".join(f"w{k}" for k in range(100_000)), "short", "brief", "small", "w1 w2 w3", "w4 w5"]
    clf = TextClassifier("feed-forward", min_df=1, params={"max_iter": 3, "validation_fraction": None})
    clf.fit(texts * 2, ["long", "short", "short", "short", "long", "long"] * 2)
    assert np.isfinite(clf.predict_proba(texts)).all()


def test_one_class_only_and_settings():
    with pytest.raises(DataError, match="every row has the label 'a'"):
        TextClassifier("feed-forward").fit(["x", "y"], ["a", "a"])
    with pytest.raises(linnet.LinnetError, match="norm must be 'l2', 'mean' or None"):
        TextClassifier("feed-forward", norm="max").plan()
    with pytest.raises(linnet.LinnetError, match="unknown setting 'dims'"):
        TextClassifier("feed-forward", params={"dims": 3}).plan()


def test_weights_of_rows_and_classes():
    texts, labels = TRAIN.text.to_pylist()[:200], TRAIN.label.to_pylist()[:200]
    one = {"params": {"max_iter": 4, "learning_rate": 0.01, "validation_fraction": None}, "n_jobs": 1, "idf": False}
    even = TextClassifier("feed-forward", **one).fit(texts, labels).predict_proba(texts).mean(axis=0)
    tilted = TextClassifier("feed-forward", class_weight={"positive": 20.0, "negative": 1.0}, **one).fit(texts, labels)
    assert tilted.predict_proba(texts).mean(axis=0)[1] != pytest.approx(even[1])
    assert (tilted.predict(texts) == "positive").mean() > 0.9
    heavy = np.where(np.array(labels) == "positive", 20.0, 1.0)
    by_row = TextClassifier("feed-forward", **one).fit(texts, labels, sample_weight=heavy)
    assert by_row.artefact.scores(texts).tobytes() == tilted.artefact.scores(texts).tobytes()


def test_a_model_object_and_listed_settings():
    clf = TextClassifier(FeedForward(dim=4, hidden=0, max_iter=3, learning_rate=0.1)).fit(TRAIN, dev=DEV)
    assert clf.artefact.n_lookup == 4
    assert len(clf.artefact.head.layers) == 1
    chosen = TextClassifier("feed-forward", params={"dim": [4, 8], "max_iter": 3}).fit(TRAIN, dev=DEV)
    assert chosen.card["settings"]["dim"] in (4, 8)
    assert chosen.artefact.n_lookup == chosen.card["settings"]["dim"]


def test_many_classes():
    texts = [f"word{k} and filler" for k in range(30)] * 4
    clf = TextClassifier("feed-forward", min_df=1, params={"validation_fraction": None, "learning_rate": 0.1}).fit(
        texts, list(range(30)) * 4
    )
    assert clf.score(texts, list(range(30)) * 4) == 1.0
    assert clf.classify("word3", [5, 7]) in (5, 7)


def test_blocks_share_alike_when_averaged():
    """norm="mean": each block is an average times its weight, for lines too."""
    clf = TextClassifier("nb", features="words:1+chars:3*0.5", norm="mean", calibrate=False).fit(TRAIN)
    model = clf.artefact
    assert model.blocks == parse("words:1+chars:3*0.5")
    once, many = model.scores(["great"]), model.scores(["great great great great"])
    np.testing.assert_allclose(once, many, rtol=1e-6)
    e = clf.explain("great fun")
    assert e.exact
    assert e.bias + sum(c.value for c in e.contributions) == pytest.approx(e.score, abs=1e-6)


def test_feature_functions_stand_beside_the_words(tmp_path):
    """A computed column has an embedding like any feature; it is added before the head."""
    texts = ["one two", "one two three four five six", "two one", "six five four three two one"] * 10
    labels = ["short", "long"] * 20
    settings = {"min_df": 1, "params": {"learning_rate": 0.1, "validation_fraction": None}}
    for features in (
        "words:1+functions:linnet.features.functions.word_count",
        "functions:linnet.features.functions.word_count",
    ):
        clf = TextClassifier("feed-forward", features=features, **settings).fit(texts, labels)
        assert clf.score(texts, labels) == 1.0
        for text in (texts[1], ""):
            e = clf.explain(text)
            assert e.bias + sum(c.value for c in e.contributions) == pytest.approx(e.score, abs=1e-6)
        assert "word_count" in dict(clf.top_features("long", 50))
        clf.save(tmp_path / "m.linnet")
        assert (
            linnet.load(tmp_path / "m.linnet").artefact.scores(texts).tobytes() == clf.artefact.scores(texts).tobytes()
        )


# ---- the command line, and a real set


def run(*arguments):
    return running.run(*arguments, text=True, code=0).stdout


def test_command_line(tmp_path):
    out, source = tmp_path / "m.linnet", tmp_path / "reviews.csv"
    with source.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerow(["text", "label"])
        csv.writer(file).writerows(zip(TRAIN.text.to_pylist(), TRAIN.label.to_pylist(), strict=True))
    assert "test accuracy" in run("train", source, "--model", "feed-forward", "--out", out, "-q")
    assert "approximate (gradient x input)" in run("explain", out, "a wonderful book")
    assert json.loads(run("explain", out, "a wonderful book", "--json"))["exact"] is False
    assert "feed-forward" in run("info", out)
    assert len(run("predict", out, source).splitlines()) >= len(TRAIN)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ag_news_subset():
    folder = Path(os.environ.get("LINNET_DATA", "/nowhere")) / "ag_news"
    if not folder.is_dir():
        pytest.skip("LINNET_DATA does not hold ag_news")
    train, test = (linnet.read(folder / name, labelled=True) for name in ("train_subset.csv", "test.csv"))
    clf = TextClassifier("feed-forward").fit(train)
    assert clf.score(test.text, test.label.to_pylist()) >= 0.91
