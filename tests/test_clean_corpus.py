"""Pages and corpora: each C4 rule is hit by name, counts add up, memory never changes the result."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.data.reading import stream_rows
from linnet.errors import DataError, LinnetError
from linnet.text.clean import C4, Pages
from linnet.text.clean.corpus import Corpus
from linnet.text.clean.rules import read_rule
from linnet.text.duplicates import sentences

DARN = read_rule({"rule": "badwords", "words": ["darn"]}, C4)
GOOD = "This is a first line. It says a thing.\nThis is a second line. It says more.\nAnd this is the end of it."


def run(texts, *args, **settings):
    kept = []
    removed = []
    rows = pa.table({"id": pa.array(range(len(texts)), pa.int64()), "text": pa.array(texts, pa.string())})
    report = Corpus(*args, **settings).run(stream_rows(rows, text="text", batch_rows=3), kept.append, removed.append)
    out = pa.concat_tables(kept) if kept else pa.table({"id": [], "text": []})
    gone = {row["id"]: row["removed_by"] for table in removed for row in table.to_pylist()}
    return report, dict(zip(out.column("id").to_pylist(), out.column("text").to_pylist(), strict=True)), gone


PAGES = {  # rule: a page that it removes, or changes
    "lorem": "Lorem Ipsum dolor sit amet.\n" + GOOD,
    "curly": GOOD + "\nfunction() { return 1; }",
    "badwords": GOOD + "\nWell, darn it all.",
    "terminal": GOOD + "\nHome | About | Contact us",
    "words": GOOD + "\nRead more...",
    "javascript": GOOD + "\nPlease turn on JavaScript to see it.",
    "sentences": "Too short a page. It has two sentences.",
    "blank": GOOD + "\n\n",
}


def test_each_rule_is_hit_by_name():
    rules = [*(name for name in C4 if name != "badwords"), DARN]
    pages = {"good": GOOD, **PAGES}
    report, kept, gone = run(list(pages.values()), (), rules)
    names = list(pages)
    assert {names[k]: why for k, why in gone.items()} == {n: n for n in ("lorem", "curly", "badwords", "sentences")}
    for name in ("terminal", "words", "javascript", "blank"):
        assert kept[names.index(name)] == GOOD
    assert report.removed_documents == {"lorem": 1, "curly": 1, "badwords": 1, "sentences": 1}
    assert report.removed_lines == {
        "blank": 2,
        "lorem": 4,
        "curly": 4,
        "badwords": 4,
        "terminal": 1,
        "words": 1,
        "javascript": 1,
        "sentences": 1,
    }
    assert report.adds_up
    assert report.tallies["javascript"].samples == ["Please turn on JavaScript to see it."]


@pytest.mark.parametrize("name", C4)
def test_each_rule_can_be_switched(name):
    rule = DARN if name == "badwords" else read_rule(name, C4)
    alone = Pages([rule])
    without = Pages([DARN if n == "badwords" else n for n in C4 if n != name])
    page = alone.filter(PAGES[name])
    assert name in page.lines
    assert name not in without.filter(PAGES[name]).lines
    assert alone.filter(GOOD).removed_by is None
    assert read_rule(json.loads(json.dumps(rule.to_dict())), C4) == rule


PIECES = st.sampled_from([
    "\n", "\n\n", " ", "One two three four.", "Short.", "no end here at all", "Turn on javascript please.", "{", "lorem ipsum",
    "A fine sentence it is!", "<br />", "http://example.org", "é", "\r\n", "“Quoted text is good.”", "A. B. C. D. E. F.",
])  # fmt: skip
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@given(text=TEXTS | st.text(max_size=50), rules=st.lists(st.sampled_from(list(C4)), unique=True))
@settings(max_examples=400, deadline=None)
def test_pages_add_up_and_kept_lines_are_whole(text, rules):
    page = Pages(rules).filter(text)
    assert page.kept + sum(page.lines.values()) == text.count("\n") + 1
    if page.removed_by is None:
        assert page.kept == page.text.count("\n") + 1
        kept = iter(text.split("\n"))
        assert all(any(line == other for other in kept) for line in page.text.split("\n")), (
            "kept lines are whole, in order"
        )
    else:
        assert page.text == ""


@given(texts=st.lists(TEXTS, max_size=8), dedup=st.lists(st.sampled_from(["exact", "near", "spans"]), unique=True), c4=st.booleans(),
       rules=st.sampled_from(["", "html,whitespace", "html,urls,whitespace,unicode"]))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_reports_add_up(texts, dedup, c4, rules):
    report, kept, gone = run(texts, rules, list(C4) if c4 else None, dedup)
    assert report.adds_up
    assert report.documents == len(texts) == len(kept) + len(gone)
    assert report.lines == sum(text.count("\n") + 1 for text in texts)
    assert report.kept_lines == sum(text.count("\n") + 1 for text in kept.values())
    assert set(kept).isdisjoint(gone)
    for name, count in report.removed_documents.items():
        assert sum(why == name for why in gone.values()) == count
    assert json.loads(json.dumps(report.to_dict()))["adds_up"] is True
    assert report.text().splitlines()[1].split()[:2] == ["input", f"{len(texts):,}"]


SENTENCES = [f"Sentence number {k} is here." for k in range(9)]


@given(st.lists(st.lists(st.sampled_from(SENTENCES), max_size=9).map(" ".join), max_size=7))
@settings(max_examples=200, deadline=None)
def test_spans_against_a_set(texts):
    """A sentence goes if it is in a span that came before; whatever goes is still there once."""
    seen: set[tuple[str, ...]] = set()
    expected = {}
    for k, text in enumerate(texts):
        cut = [text[a:b] for a, b in sentences(text)]
        hit = [False] * len(cut)
        for i in range(len(cut) - 2):
            span = tuple(cut[i : i + 3])
            if span in seen:
                hit[i : i + 3] = [True] * 3
            seen.add(span)
        left = [s for s, h in zip(cut, hit, strict=True) if not h]
        if left:
            expected[k] = " ".join(left)
    report, kept, _ = run(texts, (), None, ["spans"])
    assert kept == expected
    assert report.adds_up
    before = {s for text in texts for s in SENTENCES if s in text}
    assert {s for text in kept.values() for s in SENTENCES if s in text} == before


@pytest.mark.parametrize("dedup", [["exact"], ["near"], ["spans"], ["exact", "near", "spans"]])
def test_memory_never_changes_the_result(dedup, monkeypatch, tmp_path):
    rng = np.random.default_rng(1)
    texts = [" ".join(SENTENCES[k] for k in rng.integers(9, size=rng.integers(1, 8))) for _ in range(2000)]
    first = run(texts, "whitespace", None, dedup)
    for least, memory in ((16, 1), (100, 5000)):
        monkeypatch.setattr("linnet.text.clean.corpus._LEAST", least)
        report, kept, gone = run(texts, "whitespace", None, dedup, max_memory=memory, folder=str(tmp_path))
        assert (kept, gone) == first[1:]
        assert report.to_dict() == first[0].to_dict()
    assert list(tmp_path.iterdir()) == []
    assert first[0].adds_up
    assert set(first[0].removed_documents) == set(dedup) if dedup != ["exact", "near", "spans"] else True


def test_exact_duplicates_keep_the_first_and_know_sameness():
    texts = ["A film.", "b", "A film.", "a film", "A  film."]
    assert run(texts, (), None, ["exact"])[2] == {2: "exact"}
    assert run(texts, (), None, ["exact"], same="spaces")[2] == {2: "exact", 4: "exact"}
    assert run(texts, (), None, ["exact"], same="words")[2] == {2: "exact", 3: "exact", 4: "exact"}
    assert run(texts, "whitespace", None, ["exact"])[2] == {2: "exact", 4: "exact"}


def test_settings_are_plain_values():
    corpus = Corpus(
        "html,urls=URL", ["terminal", "words=5", {"rule": "badwords", "words": ["x"]}], ["near"], threshold=0.7
    )
    for rules in (corpus.text, corpus.pages):
        assert type(rules).from_dict(json.loads(json.dumps(rules.to_dict()))) == rules
    for wrong in ({"dedup": ["exat"]}, {"same": "x"}, {"threshold": 0}, {"text": "htm"}, {"pages": ["curl"]}):
        with pytest.raises(LinnetError):
            Corpus(**wrong)
    for spec in ("words=x", "lorem=3", "badwords=/nowhere/at/all", {"rule": "words", "most": 3}):
        with pytest.raises(DataError):
            read_rule(spec, C4)


def test_types_and_columns_stay(tmp_path):
    table = pa.table(
        {
            "n": [1, 2, 3],
            "text": ["a <b>b</b>", None, "c"],
            "at": pa.array([0, 1, 2], pa.timestamp("s")),
            "tags": [["x"], [], None],
        }
    )
    kept = []
    report = Corpus("html", dedup=["exact"]).run(stream_rows(table), kept.append)
    assert kept[0].schema.types == [pa.int64(), pa.string(), pa.timestamp("s"), pa.list_(pa.string())]
    assert kept[0].column("text").to_pylist() == ["a b", "c"]
    assert report.removed_documents == {"empty": 1}


@pytest.mark.slow
@pytest.mark.skipif("LINNET_DATA" not in os.environ, reason="LINNET_DATA is not set")
@pytest.mark.parametrize("rules", ["", "html,unicode,control,urls,emails,whitespace"])
def test_20_newsgroups_add_up(rules):
    import pyarrow.parquet as pq

    path = Path(os.environ["LINNET_DATA"], "20newsgroups", "train.parquet")
    texts = pq.read_table(path, columns=["text"]).column("text").to_pylist()
    kept = []
    report = Corpus(rules, list(C4), ["exact", "spans"]).run(stream_rows(path), kept.append)
    assert report.documents == len(texts) == 11_314
    assert report.lines == sum(text.count("\n") + 1 for text in texts)
    assert report.documents == report.kept_documents + sum(report.removed_documents.values())
    changed = sum(report.to_dict()["lines"]["changed"].values())
    assert report.lines + changed == report.kept_lines + sum(report.removed_lines.values())
    assert (changed == 0) == (rules == "")
    out = [text for table in kept for text in table.column("text").to_pylist()]
    assert report.kept_documents == len(out)
    assert report.kept_lines == sum(text.count("\n") + 1 for text in out)
    for name in ("curly", "sentences", "exact", "spans") if rules else ("curly", "sentences", "spans"):
        assert report.tallies[name].documents, name
    for name in ("terminal", "words"):
        assert report.tallies[name].lines, name
