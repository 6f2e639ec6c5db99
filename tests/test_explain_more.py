"""Hashed names, nearest examples, the fewest words that change an answer, histories in notebooks, and the command line."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linnet
import running
from linnet import TextClassifier
from linnet.datasets import load
from linnet.errors import LinnetError
from linnet.explain.counterfactual import EVERY

TRAIN, DEV, TEST = load("reviews")


@pytest.fixture(scope="module")
def clf():
    return TextClassifier("svm", features="words:1-2+chars:3").fit(TRAIN, dev=DEV)


# ---- hashing


def hashed(bits, **settings):
    return TextClassifier("nb", features="words:1-2", hash_bits=bits, **settings).fit(TRAIN)


def test_wide_hashing_has_the_names_of_a_vocabulary(tmp_path):
    clf, exact = hashed(20), TextClassifier("nb", features="words:1-2").fit(TRAIN)
    names = [name for name, _ in clf.top_features("positive", 200)]
    known = exact.named_weights()["positive"]
    assert sum(name in known for name in names) >= 190
    assert all(part in known for name in names for part in name.split(" | "))
    clf.save(tmp_path / "h.linnet")
    assert linnet.load(tmp_path / "h.linnet").named_weights() == clf.named_weights()


def test_collisions_are_marked():
    clf = hashed(8)
    shared = clf.artefact.sharing
    assert len(shared) <= 256
    assert all(len(set(names)) == len(names) <= 4 for names in shared.values())
    assert all(names[-1] == "…" for names in shared.values())  # 15,000 features in 256 columns
    e = clf.explain("a wonderful book")
    assert all(c.also for c in e.contributions)
    assert all(c.feature not in c.also for c in e.contributions)
    assert {name for name, _ in clf.top_features("positive", 5)} <= set(clf.artefact.names().values())
    wide = hashed(20).explain("a wonderful book")
    assert not any(c.also for c in wide.contributions)


def test_two_features_of_a_text_in_one_column_are_one_part():
    words = [f"w{k}" for k in range(600)]
    clf = TextClassifier("nb", features="words:1", hash_bits=8).fit(
        [" ".join(words[k::2]) for k in range(2)] * 2, [0, 1] * 2
    )
    e = clf.explain(" ".join(words), 1)
    joint = [c for c in e.contributions if c.count > 1]
    assert joint
    for c in joint:
        there = {e.text[a:b] for a, b in c.spans}
        assert there <= {c.feature, *c.also}


def test_the_table_is_bounded():
    texts = [f"{'x' * 5000}{k} {' '.join(f'v{k}q{j}' for j in range(300))}" for k in range(40)]
    clf = TextClassifier("nb", features="words:1", hash_bits=8).fit(texts, [0, 1] * 20)
    m = clf.artefact
    assert len(m.name_slots) <= 256 * 4
    assert m.name_bytes.nbytes <= 256 * 3 * 80 * 4


def test_the_commonest_name_comes_first():
    texts = ["good " * 3 + " ".join(f"r{k}x{j}" for j in range(400)) for k in range(12)]
    clf = TextClassifier("nb", features="words:1", hash_bits=8, tf="count").fit(
        texts + ["bad"] * 12, [1] * 12 + [0] * 12
    )
    slot = [s for s, names in clf.artefact.sharing.items() if "good" in names]
    assert [clf.artefact.sharing[s][0] for s in slot] == ["good"]


# ---- nearest


@pytest.mark.parametrize("name", ["svm", "three", "hash", "lengths"])
def test_cosines_are_those_of_what_features_add(name):
    texts, labels = TRAIN.text.to_pylist()[:30] + TRAIN.text.to_pylist()[-30:], ["n"] * 30 + ["p"] * 30
    if name == "three":
        labels = ["a", "b", "c"] * 20
    extra = {"hash": {"hash_bits": 10}}.get(name, {})
    clf = TextClassifier("logistic", features="words:1+lengths" if name == "lengths" else "words:1-2", **extra).fit(
        texts, labels
    )
    classes = clf.artefact.classes

    def vector(text):
        parts = {}
        for c in classes if len(classes) > 2 else classes[1:]:
            for part in clf.explain(text, c).contributions:
                parts[part.block, part.feature, c] = parts.get((part.block, part.feature, c), 0.0) + part.value
        if len(classes) > 2:  # less the mean over the classes
            means = {}
            for (block, feature, _), v in parts.items():
                means[block, feature] = means.get((block, feature), 0.0) + v / len(classes)
            parts = {key: v - means[key[:2]] for key, v in parts.items()}
        return parts

    def cosine(a, b):
        size = np.sqrt(sum(v * v for v in a.values()) * sum(v * v for v in b.values()))
        return sum(v * b[k] for k, v in a.items() if k in b) / size

    query = TEST.text.to_pylist()[0]
    index = clf.index((texts, labels))
    found = index.nearest(query, 60)
    mine = vector(query)
    if name == "hash":  # names of one column may differ from text to text
        assert [f.similarity for f in found] == sorted((f.similarity for f in found), reverse=True)
        assert index.nearest(texts[7], 1)[0].row == 7
        return
    for f in found[:8]:
        assert f.similarity == pytest.approx(cosine(mine, vector(f.text)), abs=1e-5)
        assert (f.label, f.text) == (labels[f.row], texts[f.row])
        assert f.shared
    best = sorted((-cosine(mine, vector(t)), k) for k, t in enumerate(texts))
    assert -best[0][0] == pytest.approx(found[0].similarity, abs=1e-5)


def test_a_text_is_nearest_to_itself(clf):
    index = clf.index(TRAIN)
    for row in (0, 17, 300):
        text = TRAIN.text.to_pylist()[row]
        best = clf.nearest(text, index, 1)[0]
        assert (best.row, best.text, best.label) == (row, text, TRAIN.label.to_pylist()[row])
        assert best.similarity == pytest.approx(1.0, abs=1e-5)
    assert clf.nearest("", index) == []
    assert clf.nearest("zzzzqq 1717", ["nothing alike"]) == []
    assert len(clf.nearest("a dull book", TRAIN.text.to_pylist(), 3)) == 3


def test_nearest_errors(clf):
    with pytest.raises(LinnetError, match="1 examples but 2 labels"):
        clf.index((["a"], ["p", "n"]))
    other = TextClassifier("nb", features="words:1").fit(TRAIN)
    with pytest.raises(LinnetError, match="another model"):
        other.nearest("x", clf.index(["a"]))
    with pytest.raises(LinnetError, match="one text"):
        clf.nearest(["x"], ["a"])


# ---- flips


def without(text, places):
    """Take out words and the blanks that would stand double: written another way than in the package."""
    out = []
    gone = {k for a, b in places for k in range(a, b)}
    blank = True
    hole = False
    for k, c in enumerate(text):
        if k in gone:
            hole = True
        elif c.isspace() and blank and hole:
            continue
        else:
            out.append(c)
            blank, hole = c.isspace(), False
    return "".join(out)


def minimal(clf, flip):
    """Every proper subset of what was taken out leaves the answer as it was."""
    n = len(flip.removed)
    subsets = [some for size in range(n) for some in combinations(flip.removed, size)]
    answers = clf.predict([without(flip.text, some) for some in subsets]).tolist()
    return all(answer == flip.label for answer in answers)


@pytest.mark.parametrize("features", ["words:1", "words:1-2+chars:3", "negated:1-2+position:1", "words:1+lengths"])
def test_flips_are_real_and_minimal(features):
    clf = TextClassifier("svm", features=features, params={"C": 1.0}, ratio=0.0).fit(TRAIN, dev=DEV)
    seen = 0
    for text in TEST.text.to_pylist()[:12]:
        found = clf.flip(text)
        assert found.label == clf.classify(text)
        if not found.found:
            assert found.removed == ()
            continue
        seen += 1
        assert found.left == without(text, found.removed)
        assert clf.classify(found.left) == found.new_label != found.label
        assert found.words == tuple(text[a:b] for a, b in found.removed)
        assert found.minimal == (len(found.removed) <= EVERY)
        if found.minimal:
            assert minimal(clf, found)
    assert seen >= 6


@settings(max_examples=50)
@given(st.lists(st.sampled_from(["good", "fun", "dull", "bad", "not", "the", ",", ".", "ß"]), max_size=9))
def test_flips_of_any_words(toy, words):
    text = " ".join(words)
    found = toy.flip(text)
    everything = toy.flip(text).found
    some = [toy.classify(without(text, s)) for s in [found.removed]]
    assert some[0] == found.new_label
    if everything:
        assert minimal(toy, found)
    else:  # then no subset of the words would do: the search must not give up early on short texts
        places = [
            (m, m + len(w)) for m, w in zip(np.cumsum([0, *(len(w) + 1 for w in words)]).tolist(), words, strict=False)
        ]
        subsets = [s for size in range(len(places) + 1) for s in combinations(places, size)]
        assert toy.classify(without(text, tuple(places))) == found.label or len(subsets) == 0


@pytest.fixture(scope="module")
def toy():
    texts = ["good fun", "not dull", "good", "fun , the", "dull", "not good", "bad .", "the bad dull"]
    return TextClassifier("nb", features="words:1-2").fit(texts, ["p"] * 4 + ["n"] * 4)


def test_flip_to_a_label():
    texts = ["red apple", "green leaf", "blue sky"] * 6
    clf = TextClassifier("nb", features="words:1").fit(texts, ["r", "g", "b"] * 6)
    text = "red apple green blue"
    assert clf.classify(text) == "r"
    assert clf.flip(text, "b").new_label == "b"
    assert clf.flip(text, "g").new_label == "g"
    with pytest.raises(LinnetError, match="already"):
        clf.flip(text, "r")
    with pytest.raises(LinnetError, match="unknown label"):
        clf.flip(text, "x")
    assert not clf.flip("").found
    assert "no words" in str(clf.flip(""))


def test_a_long_text_is_flipped_too(clf):
    text = " ".join(t for t, y in zip(TRAIN.text.to_pylist(), TRAIN.label.to_pylist(), strict=True) if y == "positive")[
        :6000
    ]
    found = clf.flip(text)
    assert found.found
    assert clf.classify(found.left) == "negative"
    assert json.loads(json.dumps(found.to_dict()))["new_label"] == "negative"


# ---- notebooks and the command line


def test_histories_are_drawn(clf, tmp_path):
    page = clf.history_._repr_html_()
    assert page.count("<svg") >= 1
    assert "dev accuracy" in page
    clf.save(tmp_path / "m.linnet")
    assert "nothing was recorded" in linnet.load(tmp_path / "m.linnet").history_._repr_html_()
    assert (
        "<script"
        not in TextClassifier("nb", features="words:1").fit(["<script>", "b"] * 3, ["<script>", "n"] * 3)._repr_html_()
    )


@pytest.fixture(scope="module")
def folder(clf, tmp_path_factory):
    place = tmp_path_factory.mktemp("explain")
    clf.save(place / "m.linnet")
    texts = ["red apple pie", "green leaf tea", "blue sky day"] * 6
    TextClassifier("nb", features="words:1").fit(texts, ["r", "g", "b"] * 6).save(place / "k.linnet")
    rows = zip(TRAIN.label.to_pylist(), TRAIN.text.to_pylist(), strict=True)
    (place / "train.tsv").write_text("label\ttext\n" + "".join(f"{y}\t{t}\n" for y, t in rows), encoding="utf-8")
    return place


def run(*args, cwd, given=""):
    return running.run("explain", *args, cwd=cwd, stdin=given, text=True)


def test_command_line(folder):
    text = "not a dull page in this wonderful book"
    done = run("m.linnet", text, "--flip", "--nearest", "train.tsv", cwd=folder)
    assert done.returncode == 0
    assert "instead of" in done.stdout
    assert "in common:" in done.stdout
    found = json.loads(run("m.linnet", text, "--flip", "--nearest", "train.tsv", "--json", cwd=folder).stdout)
    assert found["flip"]["new_label"] != found["label"]
    assert len(found["nearest"]) == 5
    page = run("m.linnet", "a <b> dull & wonderful one", "--html", "--flip", cwd=folder).stdout
    assert page.startswith("<!doctype html>")
    assert "&lt;" in page
    assert "<b> dull" not in page


def test_command_line_compares_two_classes(folder):
    found = json.loads(run("k.linnet", "red sky", "--label", "r", "--not", "b", "--json", cwd=folder).stdout)
    assert (found["label"], found["against"]) == ("r", "b")
    assert "r rather than b" in run("k.linnet", "red sky", "--label", "r", "--not", "b", cwd=folder).stdout


def test_command_line_explains_lines(folder):
    done = run("m.linnet", "--lines", cwd=folder, given="a dull one\n\nwonderful\n")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["text"] for row in rows] == ["a dull one", "", "wonderful"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["k.linnet", "x", "--label", "r", "--not", "r"], "two labels"),
        (["k.linnet", "x", "--not", "z"], "unknown label 'z'"),
        (["k.linnet", "x", "--lines"], "standard input"),
        (["k.linnet", "x", "--json", "--html"], "choose one"),
        (["k.linnet", "x", "--nearest", "absent.csv"], "absent.csv"),
    ],
    ids=["same", "unknown", "lines", "forms", "absent"],
)
def test_command_line_errors(folder, args, says):
    done = run(*args, cwd=folder)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
