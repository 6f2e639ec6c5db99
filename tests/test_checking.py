"""The data doctor: each check on data made for it, and on the data sets of the project."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linnet
from linnet.checks import Checkup, brief, check
from linnet.checks.checked_data import CheckedData
from linnet.checks.label_errors import confident
from linnet.checks.loopholes import _at_most, kind_of
from linnet.checks.run_checks import CHECKS, chosen
from linnet.data import Dataset, read
from linnet.datasets import load
from linnet.errors import DataError
from linnet.text.duplicates import exact_groups

FOLDER = Path(os.environ.get("LINNET_DATA", "/nowhere"))
real = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no data sets at {FOLDER}: point LINNET_DATA at them")
TRAIN, DEV, TEST = load("reviews")
WORDS = [
    "river", "stone", "cloud", "paper", "chair", "window", "garden", "bottle", "candle", "pencil", "mirror", "carpet",
]  # fmt: skip


def plain_rows(n, seed=0, words=12):
    """Texts that say nothing about their labels."""
    rng = random.Random(seed)
    return [(" ".join(rng.choices(WORDS, k=words)) + f" {rng.random():.9f}", "ab"[k % 2]) for k in range(n)]


# ---- the same texts


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(alphabet="ab\u00e4 ", max_size=12) | st.sampled_from(["same text here", "same text her3", ""])))
def test_same_texts_are_those_that_are_equal(texts):
    groups = exact_groups(pa.array(texts, pa.string())).tolist()
    seen = {}
    assert groups == [seen.setdefault(text, len(seen)) for text in texts]


def test_texts_that_differ_in_one_hidden_place_are_told_apart():
    texts = ["x" * 40 + letter + "x" * 60 for letter in "aabba"]
    assert exact_groups(pa.array(texts, pa.string())).tolist() == [0, 0, 1, 1, 0]


def test_same_texts_over_chunks():
    column = pa.chunked_array([pa.array(["one long text", "b"]), pa.array(["b", "one long text", ""])])
    assert exact_groups(column).tolist() == [0, 1, 1, 0, 2]


# ---- one check at a time


def test_duplicates_conflicts_and_near_duplicates():
    long = "this is a rather long text about a film that I saw on a rainy day with two old friends"
    rows = [(long, "pos"), (long, "neg"), (long + " again", "pos"), ("short one", "neg"), ("another", "pos")]
    found = check(rows, only=["duplicates", "near-duplicates", "conflicts"])
    assert (found["duplicates"].count, found["near-duplicates"].count) == (1, 1)
    assert found["duplicates"].arrays["repeats"].tolist() == [False, True, False, False, False]
    assert found["conflicts"].says == "1 text has different labels (2 rows)"
    assert found["conflicts"].examples[0]["labels"] == {"pos": 1, "neg": 1}
    assert found["conflicts"].examples[0]["rows"] == [1, 2]


def test_rows_are_those_of_the_source():
    found = check([("", "a"), ("same", "a"), (" ", "b"), ("other", "b"), ("same", "a")], only=["duplicates", "tiny"])
    assert found["duplicates"].examples[0]["rows"] == [2, 5]
    assert found["duplicates"].count == 1  # "" and " " are not the same
    assert found["tiny"].details == {"empty": 2, "tiny": 0}


def test_leaks():
    long = "the quick brown fox jumps over the lazy dog while the band plays on and nobody cares at all"
    data = Dataset.from_lists(["one text", "two texts", long], ["a", "b", "a"])
    other = Dataset.from_lists(["new", "two texts", long + " now"], ["a", "b", "a"])
    found = check(data, other, only=["leaks", "near-leaks"])
    assert found["leaks"].count == found["near-leaks"].count == 1
    assert found["leaks"].arrays["rows"][0].tolist() == [1]
    assert found["leaks"].examples[0] | {"source": ""} == {"text": "two texts", "source": "", "row": 2, "in_data": 2}
    assert found["leaks"].level == "problem"
    assert check(data, Dataset.from_lists(["new"]), only=["leaks"])["leaks"].level == "ok"


def test_tiny():
    found = check(([".", "ok", "no!", "a word", "!!!!!!!!", "日本語"], list("ababab")), only=["tiny"])["tiny"]
    assert found.arrays["rows"].tolist() == [0, 1, 4]


def test_imbalance():
    found = check((["text"] * 100, ["a"] * 95 + ["b"] * 5), only=["imbalance"])["imbalance"]
    assert found.level == "warning"
    assert found.details["baseline"] == 0.95
    assert found.details["few"] == ["b"]
    assert check((["text"] * 9, ["a"] * 9), only=["imbalance"]).level == "problem"


def test_encoding():
    texts = [
        "caf\u00c3\u00a9",
        "lost \ufffd",
        "it\u00e2\u20ac\u2122s",
        "bell \x07",
        "a &amp; b",
        "a<br />b",
        "a < b & c > d",
        "d\u00e9j\u00e0 vu \u00c2",
    ]
    found = check((texts, list("abababab")), only=["encoding"])["encoding"]
    numbers = {k: v for k, v in found.details.items() if k != "notes"}
    assert numbers == {"lost": 1, "mojibake": 2, "control": 1, "entities": 1, "tags": 1}
    assert found.arrays["rows"].tolist() == [0, 1, 2, 3]


def test_repairs_of_reading_are_quoted(tmp_path):
    (tmp_path / "d.csv").write_bytes("text,label\nna\u00efve,a\nplain,b\n".encode("cp1252"))
    assert "decoded as Windows-1252" in check(tmp_path / "d.csv", only=["encoding"])["encoding"].says


# ---- loopholes


def test_kinds():
    words = [
        "monday",
        "dec",
        "1999",
        "12:30",
        "a17",
        "info@site.org",
        "http",
        "www.x.de",
        "good",
        "film-maker",
        ".com",
        "3,000",
    ]
    kinds = [
        "date",
        "date",
        "number",
        "number",
        "id",
        "address",
        "address",
        "address",
        "word",
        "word",
        "address",
        "number",
    ]
    assert [kind_of(word) for word in words] == kinds


def test_the_exact_test_is_fishers():
    from scipy.stats import hypergeom

    for hits, drawn, marked, total in [(0, 5, 10, 20), (3, 12, 15, 60), (7, 7, 30, 31), (40, 300, 200, 1000)]:
        assert np.isclose(_at_most(hits, drawn, marked, total), hypergeom.cdf(hits, total, marked, drawn), rtol=1e-8)


def test_a_planted_word_per_class_is_named():
    rng = random.Random(0)
    rows = [(text.replace(" ", f" {'zqxa' if label == 'a' else 'zqxb'} ", 1), label) for text, label in plain_rows(400)]
    rng.shuffle(rows)
    found = check(rows, only=["loopholes"])["loopholes"]
    assert {(one["word"], one["label"]) for one in found.examples} == {("zqxa", "a"), ("zqxb", "b")}
    assert found.level == "warning"
    assert "'zqxa'" in found.says
    assert check(plain_rows(400), only=["loopholes"])["loopholes"].level == "ok"


def test_a_planted_id_on_few_texts_is_named():
    rows = [
        (f"{text} ref88x" if label == "a" and k % 8 == 0 else text, label)
        for k, (text, label) in enumerate(plain_rows(800))
    ]
    found = check(rows, only=["loopholes"])["loopholes"]
    assert [one["word"] for one in found.examples] == ["ref88x"]
    assert found.examples[0]["kind"] == "id"


def days(n, days_of, seed=0):
    """Business is about stock, sports about games; the days of the week come as given."""
    rng = random.Random(seed)
    rows = []
    for k in range(n):
        label = ("business", "sports")[k % 2]
        topic = rng.choice({"business": ["stock", "market", "shares"], "sports": ["game", "match", "team"]}[label])
        rows.append((f"{topic} {' '.join(rng.choices(WORDS, k=4))} {days_of(label, rng)}", label))
    return rows


def by_label(label, rng):
    return "monday" if label == "business" else "friday"


def at_random(label, rng):
    return rng.choice(["monday", "friday"])


def test_monday_and_friday_separate_train_and_not_dev():
    found = check(days(200, by_label), days(100, at_random, 1), only=["loopholes"])["loopholes"]
    assert {one["word"] for one in found.examples} >= {"monday", "friday"}
    assert not {one["word"] for one in found.examples} & {"stock", "market", "game", "match", "team"}
    assert found.level == "problem"


def test_monday_and_friday_of_the_early_rows_only():
    found = check(days(200, by_label) + days(200, at_random, 1), only=["loopholes"])["loopholes"]
    assert {one["word"] for one in found.examples} >= {"monday", "friday"}
    assert any("in the later rows" in one["why"] for one in found.examples)
    honest = check(days(200, at_random) + days(200, at_random, 1), only=["loopholes"])["loopholes"]
    assert not {one["word"] for one in honest.examples} & {"monday", "friday"}


def test_monday_as_in_the_notes():
    train = [("stock monday", "business"), ("game friday", "sports")]
    found = check(train, only=["loopholes"])["loopholes"]
    assert {(one["word"], one["label"]) for one in found.examples} == {("monday", "business"), ("friday", "sports")}
    found = check(train, [("game monday", "sports")], only=["loopholes"])["loopholes"]
    assert {one["word"] for one in found.examples} == {"monday", "friday"}
    fading = check(
        [("stock paper", "business"), ("game river", "sports")], [("game paper", "sports")], only=["loopholes"]
    )
    assert [one["word"] for one in fading["loopholes"].examples] == ["paper"]
    assert "0 % in the other set" in fading["loopholes"].says


def test_headers_are_noticed():
    rows = [(f"From: someone\nSubject: {text}\n\n{text}", label) for text, label in plain_rows(60)]
    found = check(rows, only=["loopholes"])["loopholes"]
    assert found.details["headers"] == ["From", "Subject"] or set(found.details["headers"]) == {"From", "Subject"}
    assert "100 % of texts begin with header lines" in found.says


# ---- label errors


def test_confident_learning_by_hand():
    # thresholds: class 0 (0.9 + 0.6 + 0.1) / 3 = 0.533, class 1 (0.8 + 0.3) / 2 = 0.55
    P = np.array([[0.9, 0.1], [0.6, 0.4], [0.1, 0.9], [0.2, 0.8], [0.7, 0.3]])
    suggested, sure = confident(P, np.array([0, 0, 0, 1, 1], dtype=np.int32))
    assert sure.tolist() == [False, False, True, False, True]
    assert suggested.tolist() == [0, 0, 1, 1, 0]


def test_flipped_labels_are_found_with_their_words():
    rows = days(300, at_random)
    flipped = [10, 57, 123, 200]
    for k in flipped:
        rows[k] = (rows[k][0], "sports" if rows[k][1] == "business" else "business")
    found = check(rows, only=["label-errors"])["label-errors"]
    assert set(found.arrays["ranking"][:4].tolist()) == set(flipped)
    assert {one["row"] for one in found.examples} >= {k + 1 for k in flipped}
    for one in found.examples[:4]:
        topics = {"business": {"stock", "market", "shares"}, "sports": {"game", "match", "team"}}
        assert one["words"][0] in topics[one["suggested"]]
        assert one["label"] != one["suggested"]


def test_a_model_that_knows_nothing_suspects_nobody():
    found = check(plain_rows(300), only=["label-errors"])["label-errors"]
    assert (found.level, found.count, found.examples) == ("warning", 0, ())
    assert "cannot be told from the texts" in found.says
    assert "--label COL" in found.advice
    assert sorted(found.arrays["ranking"].tolist()) == list(range(300))


def test_label_errors_do_not_depend_on_threads():
    one, two = (check(TRAIN, only=["label-errors"], n_jobs=n).to_dict() for n in (1, 2))
    assert one == two


@pytest.mark.parametrize("n", [2, 5, 19, 21])
def test_few_rows(n):
    found = check([(f"text {k}", "ab"[k % 2]) for k in range(n)])
    assert isinstance(str(found), str)


def test_odd_labels():
    rows = plain_rows(60)
    check([*rows, ("a lonely one", "c")])  # a class of one row
    check([(text, f"label {k}") for k, (text, _) in enumerate(rows)])  # every row its own
    check([(text, "same") for text, _ in rows])
    check([text for text, _ in rows])  # no labels


# ---- the whole


def test_reviews_verdict():
    found = linnet.check(TRAIN, DEV, TEST)
    assert isinstance(found, Checkup)
    assert {one.check for one in found} == set(CHECKS)
    assert found["leaks"].count == 0
    content = found.to_dict()
    assert json.loads(json.dumps(content)) == content
    assert set(content) == {
        "linnet", "data", "rows", "classes", "unusable", "others", "level", "verdict", "findings", "left_out",
    }  # fmt: skip
    assert all(
        set(one) == {"check", "level", "says", "count", "share", "advice", "examples", "details"}
        for one in content["findings"]
    )
    assert found.words in str(found)
    assert all(one.check in found._repr_html_() for one in found)


def test_html_is_escaped():
    found = check([("<script>alert(1)</script>", "a"), ("<script>alert(1)</script>", "b"), ("x y z", "b")])
    assert "<script>" not in found._repr_html_()


def test_same_verdict_twice():
    assert check(TRAIN, DEV).to_dict() == check(TRAIN, DEV).to_dict()


def test_an_interrupted_check_keeps_what_is_done():
    def stop(name, done, total):
        if name == "label-errors":
            raise KeyboardInterrupt

    found = check(TRAIN, on_check=stop)
    assert found.left_out == ("label-errors", "imbalance", "tiny", "encoding")
    assert [one.check for one in found] == ["duplicates", "near-duplicates", "conflicts", "loopholes"]
    assert "interrupted before label-errors" in str(found)
    assert repr(found).startswith("<Checkup: ")
    with pytest.raises(KeyboardInterrupt):
        check(TRAIN, only=["label-errors"], on_check=stop)


def test_names():
    with pytest.raises(DataError, match="did you mean 'leaks'"):
        check(TRAIN, only=["leak"])
    with pytest.raises(DataError, match="unknown check"):
        chosen(skip=["nothing"])
    assert "leaks" not in [one.check for one in check(TRAIN, only=["leaks", "tiny"])]  # there is no other set
    with pytest.raises(DataError, match="unknown check 'leaks'"):
        check(TRAIN, only=["leaks", "tiny"])["leaks"]


def test_brief_is_silent_about_good_data():
    assert brief(Dataset.from_lists([text for text, _ in plain_rows(40)], [label for _, label in plain_rows(40)])) == []


def test_material_source_rows():
    data = read([("a b", "x"), ("", "x"), ("c d", "y")])
    assert CheckedData(data).source_rows.tolist() == [1, 3]


# ---- real data


@real
@pytest.mark.slow
def test_imdb_shares_123_texts():
    found = check(
        FOLDER / "imdb/train.parquet", FOLDER / "imdb/test.parquet", only=["leaks", "near-leaks", "duplicates"]
    )
    assert found["leaks"].count == 123
    assert found["duplicates"].count == 96
    assert found["near-leaks"].count >= 1


@real
def test_mpqa_duplicates_and_empty_texts():
    found = check(FOLDER / "mpqa/all.csv", only=["duplicates", "tiny"])
    assert found["duplicates"].count == 2365
    assert found["tiny"].details["empty"] == 3


@real
@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_half_of_flipped_rt_labels_are_in_the_top_tenth(seed):
    data = read(FOLDER / "rt_polarity/all.csv")
    labels = data.label_list()
    flipped = np.random.default_rng(seed).choice(len(data), len(data) // 20, replace=False)
    for row in flipped.tolist():
        labels[row] = "pos" if labels[row] == "neg" else "neg"
    found = check((data.text, labels), only=["label-errors"])["label-errors"]
    top = found.arrays["ranking"][: len(data) // 10]
    assert len(np.intersect1d(top, flipped)) >= len(flipped) / 2


@real
@pytest.mark.slow
def test_newsgroups_have_headers():
    found = check(FOLDER / "20newsgroups/train.parquet", only=["loopholes"])["loopholes"]
    assert "Subject" in found.details["headers"]
    assert found.level in ("warning", "problem")


def test_few_different_texts_are_no_reason_to_stop():
    texts = ["good film", "bad film", "nice cast", "poor cast", "lovely plot", "dull plot"] * 5
    found = check((texts, ["pos", "neg"] * 15), only=["label-errors"])
    assert "too few different rows" in found["label-errors"].says
