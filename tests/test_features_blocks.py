"""Feature blocks beyond plain words and characters: what they mean, where they point, how they are saved and shown."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import linnet
from linnet import TextClassifier
from linnet.errors import DataError, LinnetError
from linnet.features.blocks import (
    BLOCKS,
    COMPUTED,
    DERIVED,
    Across,
    Lengths,
    Negated,
    Shapes,
    Skips,
    as_blocks,
    compile_blocks,
    describe,
    from_dict,
    parse,
)
from linnet.features.lists import Lists
from linnet.features.showing import EXAMPLES, SENTENCE, changes, seen
from linnet.text.tokens import NEGATIONS
from reference import blocks as reference_blocks
from reference import text as reference
from reference.emitted import Emitted
from test_kernels_text import any_bytes, any_text, as_piece, some_blocks

TEXTS = ["loved it, not bad", "great fun", "loved the cast", "dull", "not good", "a dull bore", "AWFUL!", "so dull"] * 3
LABELS = ["pos", "pos", "pos", "neg", "neg", "neg", "neg", "neg"] * 3


def names(spec: str, text: str) -> list[str]:
    return [p.name for p in seen(text, spec)[0].pieces]


# ---- what the blocks mean


def test_negation_reaches_to_the_next_stop():
    assert names("negated:1", "I didn't LIKE it at all; fine.") == [
        "i", "didn't", "NOT_like", "NOT_it", "NOT_at", "NOT_all", ";", "fine", ".",
    ]  # fmt: skip
    assert names("negated:2", "no, not me") == ["no ,", ", not", "not NOT_me"]
    assert names("negated:1:whitespace", "not good, fine") == ["not", "NOT_good,", "fine"]


def test_all_negations_are_one():
    one = {names("not:1", f"it {word} good")[0] for word in ("isn't", "never", "WASNT", "not")}
    assert one == {"not good"}
    fps = {int(Emitted.of(as_piece([t]), parse("not:1")).fps[0]) for t in (b"isn't good", b"Never good")}
    assert len(fps) == 1
    assert names("not:1-2", "not , good") == []


def test_position_is_by_quarters():
    text = " ".join("abcdefgh")
    assert [n.split("@")[1] for n in names("position:1", text)] == ["first"] * 2 + ["middle"] * 4 + ["last"] * 2
    assert names("position:1", "a") == ["a@first"]


def test_skips_affixes_shapes_across():
    assert names("skips:2", "a b c d") == ["a … c", "a … d", "b … d"]
    assert names("skips:2-2", "a b c d") == ["a … d"]
    assert names("affixes:2-3", "undo it") == ["un-", "und-", "-do", "-ndo"]
    assert names("shapes:1", "McX 2026-10 abcdefg") == ["XxX", "dddd", "-", "dd", "xxxx"]
    assert names("across:3", "  to  be ") == ["to ", "o b", " be"]


def test_across_is_scikit_learns_char_analyzer_on_plain_text():
    from sklearn.feature_extraction.text import CountVectorizer

    text = "to be, or not to be: that is the question"
    analyze = CountVectorizer(analyzer="char", ngram_range=(2, 4)).build_analyzer()
    assert set(names("across:2-4", text)) == set(analyze(text))


def test_the_table_of_negations_is_that_of_the_words():
    sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
    try:
        from negation_table import TARGET
        from negation_table import table as slots
    finally:
        sys.path.pop(0)
    if not TARGET.exists():
        pytest.skip("the sources are not here")
    content = TARGET.read_text(encoding="utf-8")
    assert all(f"{h:#018x}" in content for h in slots() if h)
    assert sum(1 for h in slots() if h) == len(set(NEGATIONS))


def test_every_block_has_its_own_fingerprints():
    piece = as_piece([b"not good"])
    found = [set(Emitted.of(piece, parse(f"{name}:1")).fps.tolist()) for name in BLOCKS]
    assert sum(map(len, found)) == len(set().union(*found))


def test_every_block_has_an_example():
    assert sorted(EXAMPLES) == sorted([*BLOCKS, *DERIVED, *COMPUTED])


# ---- values


@settings(max_examples=60, deadline=None)
@given(some_blocks)
def test_blocks_are_written_and_read_back(blocks):
    assert parse(describe(blocks)) == blocks
    assert tuple(from_dict(json.loads(json.dumps(b.to_dict()))) for b in blocks) == blocks
    assert len({tuple(row) for row in compile_blocks(blocks).rows}) == len(blocks)


def test_what_makes_no_sense_is_refused():
    for wrong, message in (
        ("across:3:whitespace", "across takes characters"),
        ("shapes:1:fold", "capitals"),
        ("negatd:1", "did you mean|negated"),
        ("lengths:2", "write for example lengths"),
        ("skips:13", "low <= high"),
        ("negated:1:bytes", "negated is made of words"),
    ):
        with pytest.raises(LinnetError, match=message):
            as_blocks(wrong)
    assert describe(Skips(2, 3) + Shapes(1, 1) + Negated(1, 2) + Across(3, 4)) == (
        "skips:2-3+shapes:1+negated:1-2+across:3-4"
    )


@settings(max_examples=100, deadline=None)
@given(any_bytes, some_blocks)
def test_places_point_at_what_the_name_says(data, blocks):
    """Cut again from its place alone, every piece has the same name; and places lie inside the text."""
    emitted = Emitted.of(as_piece([data]), blocks)
    spans = emitted.spans()
    characters = len(reference.decode(data)) if not data.decode("utf-8", "replace").isascii() else len(data)
    assert (spans[:, 0] <= spans[:, 1]).all()
    assert spans.max(initial=0) <= max(characters, len(data))
    for b, block in enumerate(blocks):
        part = emitted.part(b)
        if part.stop == part.start or block.name not in ("words", "skips", "shapes"):
            continue
        entries = np.arange(part.start, part.stop)
        for name, k in zip(emitted.names(entries, b), entries.tolist(), strict=True):
            piece = data[emitted.starts[k] : emitted.starts[k] + emitted.lengths[k]]
            words = [t.text for t in reference.cut(piece, block.tokens, block.case)]
            said = {
                "words": ("" if block.tokens in ("characters", "bytes") else " ").join(words),
                "skips": f"{words[0]} … {words[-1]}",
                "shapes": " ".join(map(reference_blocks.shape, words)),
            }
            assert name == said[block.name]


# ---- computed blocks


@settings(max_examples=150, deadline=None)
@given(any_bytes)
def test_lengths_are_those_of_the_reference(data):
    got = Lengths().values_of(as_piece([data]))[0]
    counted = np.array(reference_blocks.lengths(data), float)
    mean = counted[1] / max(1.0, counted[0])
    expected = np.log1p(counted)
    expected[1] = mean
    assert np.allclose(got, expected, rtol=1e-12)


WORDS = ["good", "bad", "not", "isn't", "very", ",", ".", "at", "all", "not bad", "not bad at all", ":)", "GOOD"]
some_lists = st.dictionaries(
    st.sampled_from(["a", "b"]),
    st.dictionaries(st.sampled_from(WORDS), st.integers(-3, 3).map(float), min_size=1),
    min_size=1,
)


@settings(max_examples=150, deadline=None)
@given(some_lists, st.lists(st.sampled_from(WORDS), max_size=15).map(" ".join) | any_text)
def test_lists_are_what_their_matches_add_up_to(lists, text):
    block = Lists(lists)
    sums = np.zeros(2 * len(block.lists))
    for m in block.matches(text):
        sums[2 * m.list] += 1
        sums[2 * m.list + 1] += m.value
        assert [t.text for t in linnet.text.tokens.tokenize(text[m.start : m.end])] == m.text.split(" ")
    expected = np.sign(sums) * np.log1p(np.abs(sums))
    assert np.allclose(block.values([text])[0], expected, rtol=1e-12)


def test_a_negation_turns_the_sign_within_three_words_and_not_across_a_stop():
    block = Lists({"good": 2.0})
    for text, value in (
        ("good", 2), ("not good", -2), ("not so very good", -2), ("not as it was good", 2), ("no, good", 2),
    ):  # fmt: skip
        assert [m.value for m in block.matches(text)] == [value], text
        assert block.values([text])[0, 1] == pytest.approx(np.sign(value) * np.log1p(2.0), rel=1e-15)


def test_lists_from_files(tmp_path):
    (tmp_path / "moods.csv").write_text("word,label\ngood,positive\nbad,negative\n")
    (tmp_path / "valence.tsv").write_text("word\tvalence\ngood\t2\nbad\t-3\n")
    (tmp_path / "swear.txt").write_text("darn\nheck\n")
    columns = [Lists(tmp_path / name).columns for name in ("moods.csv", "valence.tsv", "swear.txt")]
    assert columns == [
        ("moods positive entries", "moods positive sum", "moods negative entries", "moods negative sum"),
        ("valence positive entries", "valence positive sum", "valence negative entries", "valence negative sum"),
        ("swear entries", "swear sum"),
    ]
    block = parse(f"lists:{tmp_path / 'swear.txt'}*0.5")[0]
    assert isinstance(block, Lists)
    assert (block.weight, block.values(["oh heck, darn"]).round(4).tolist()) == (0.5, [[1.0986, 1.0986]])
    with pytest.raises(DataError, match="no file"):
        Lists(tmp_path / "none.csv")


def test_a_model_with_lists_needs_no_file_and_explains_them(tmp_path):
    path = tmp_path / "moods.csv"
    path.write_text("word,valence\nloved,3\ngreat,2\ndull,-2\nawful,-3\ngood,2\n")
    clf = TextClassifier("svm", features=f"words:1+negated:1+lists:{path}+lengths").fit(TEXTS, LABELS)
    clf.save(tmp_path / "m.linnet")
    path.unlink()
    again = linnet.load(tmp_path / "m.linnet")
    assert np.array_equal(again.decision_function(TEXTS), clf.decision_function(TEXTS))
    (tmp_path / "again.linnet").write_bytes(b"")
    again.save(tmp_path / "again.linnet")
    assert (tmp_path / "again.linnet").read_bytes() == (tmp_path / "m.linnet").read_bytes()
    e = again.explain("NOT good, dull fun")
    assert e.bias + sum(c.value for c in e.contributions) == pytest.approx(e.score)
    assert sum(v for _, v in e.by_word()) + e.bias == pytest.approx(e.score)
    listed = {c.feature: [e.text[a:b] for a, b in c.spans] for c in e.contributions if c.block == "lists"}
    assert (listed["moods positive sum"], listed["moods negative sum"]) == (["good"], ["dull"])
    assert {c.feature for c in e.contributions if c.block == "negated"} >= {"not", "NOT_good"}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", list(BLOCKS))
def test_every_block_trains_predicts_saves_and_explains(name, threads, tmp_path):
    spec = f"{name}:1-3" if name != "affixes" else "affixes:1-3"
    clf = TextClassifier("svm", features=f"words:1+{spec}*0.7", n_jobs=threads).fit(TEXTS, LABELS)
    clf.save(tmp_path / "m.linnet")
    again = linnet.load(tmp_path / "m.linnet")
    scores = again.decision_function(TEXTS)
    assert np.array_equal(scores, clf.decision_function(TEXTS))
    for text, score in zip(TEXTS[:8], scores[:8], strict=True):
        e = again.explain(text, "pos")
        assert e.score == pytest.approx(score)
        assert e.bias + sum(c.value for c in e.contributions) == pytest.approx(score)
        for c in e.contributions:
            assert all(0 <= a <= b <= len(text) for a, b in c.spans)
    named = set(again.artefact.names().values())
    assert {p.name for p in seen(TEXTS[0], spec)[0].pieces} & named or name == "not"


# ---- what the model sees


def test_what_the_tokeniser_changes():
    found = changes("Don\u2019t \u200eSHOUT\x01 caf\u00e9")
    assert [(c.kind, c.was, c.now) for c in found] == [
        ("folded", "Don\u2019t", "don't"),
        ("dropped", "\u200e", ""),
        ("folded", "SHOUT", "shout"),
        ("dropped", "\x01", ""),
    ]
    assert str(found[1]) == "dropped: U+200E (left-to-right mark)"
    assert changes("plain words.") == []


@settings(max_examples=150, deadline=None)
@given(any_text)
def test_changes_account_for_every_character(text):
    covered = np.zeros(len(text), bool)
    for t in linnet.text.tokens.tokenize(text):
        covered[t.start : t.end] = True
    for c in changes(text):
        if c.kind == "dropped":
            assert not covered[c.start]
            covered[c.start] = True
    assert all(covered[k] or c.isspace() for k, c in enumerate(text))


def run(*args: str, stdin: str | None = None) -> str:
    from linnet.cli import linnet as command

    done = CliRunner().invoke(command, ["features", *args], input=stdin, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_the_command_lists_every_block():
    out = run()
    assert all(f"\n{name} " in out for name in EXAMPLES)
    listed = json.loads(run("--json"))
    assert listed["text"] == SENTENCE
    assert [b["block"] for b in listed["blocks"]] == [*BLOCKS, *DERIVED, *COMPUTED]


def test_the_command_shows_a_text(tmp_path):
    out = run("words:1+negated:1", "Not GOOD")
    assert "not | NOT_good" in out
    assert "'GOOD' is read as 'good'" in out
    shown = json.loads(run("shapes:1+lengths", "-", "--json", stdin="Ab 1\n"))
    assert [p["name"] for p in shown["blocks"][0]["pieces"]] == ["Xx", "d"]
    assert shown["blocks"][1]["values"]["words"] == pytest.approx(np.log(3))
    assert shown["changes"] == []
    TextClassifier("nb", features="not:1+words:1").fit(TEXTS, LABELS).save(tmp_path / "m.linnet")
    assert "not good" in run(os.fspath(tmp_path / "m.linnet"), "never good")
