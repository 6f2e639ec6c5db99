"""Rules for characters: what each finds, that offsets survive, that any text is safe."""

from __future__ import annotations

import os
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.errors import DataError, LinnetError
from linnet.text.clean import RULES, Cleaner, clean, make_rule
from linnet.text.offsets import Offsets, apply

PIECES = st.sampled_from([
    "<br />", "<b>", "</b>", "<p class='x'>", "<script>", "</script>", "<!--", "-->", "<", ">", "&", "&amp;", "&#39;", "&nbsp",
    "http://", "https://example.org/a?b=c&d", "www.", "www.example.org", "jo@example.org", "@", "1,000.5", "7", "a", "Word",
    " ", "\n", "\r\n", "\t", ".", "\0", "\x85", "\u200b", "\ud800", "é", "e\u0301", "Ã©", "â€œ", "ﬁ", "\u1100\u1161\u11a8",
    "漢", "ｶﾞ", "\u0301", "🏳️\u200d🌈", '="', "'", "<a href=", "\u00a0", "\ufeff",
])  # fmt: skip
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=25).map("".join))
SPECS = ["html", "mojibake", "unicode", "unicode=NFKC", "unicode=NFD", "control", "urls", "urls=URL", "emails=EMAIL",
         "numbers=0", "whitespace", "html=<br>"]  # fmt: skip


def well_formed(edits, text):
    at = 0
    for start, end, new in edits:
        assert at <= start <= end <= len(text)
        assert isinstance(new, str)
        assert (start, end) != (at, at) or start == 0 or new
        at = end


def copied_one_by_one(offsets, edits, length):
    """What no edit touches is copied: every character has its own place in the source."""
    at = source = 0
    for start, end, new in [*edits, (length, length, "")]:
        for k in range(start - source):
            assert offsets.span(at + k, at + k + 1) == (source + k, source + k + 1)
        at += start - source + len(new)
        source = end


@pytest.mark.parametrize("spec", SPECS)
@given(text=TEXTS)
@settings(max_examples=150, deadline=None)
def test_edits_are_sorted_disjoint_and_offsets_are_exact(spec, text):
    rule = make_rule(spec)
    edits = rule.edits(text)
    well_formed(edits, text)
    found = clean(text, [rule])
    offsets = found.offsets
    assert len(offsets) == len(found.text)
    assert found.text == apply(text, edits)
    copied_one_by_one(offsets, edits, len(text))


@given(text=TEXTS, specs=st.lists(st.sampled_from(SPECS), max_size=6))
@settings(max_examples=400, deadline=None)
def test_stages_compose(text, specs):
    found = clean(text, [make_rule(spec) for spec in specs])
    offsets = found.offsets
    assert len(offsets) == len(found.text)
    for _, edits, before in found.stages:
        copied_one_by_one(Offsets.of(edits, len(before)), edits, len(before))
    places = [offsets.span(k, k + 1) for k in range(len(offsets))]  # in order, inside the source
    assert [start for start, _ in places] == sorted(start for start, _ in places)
    assert [end for _, end in places] == sorted(end for _, end in places)
    assert all(0 <= start <= end <= len(text) for start, end in places)
    for start in range(0, len(found.text), 3):
        for end in range(start, len(found.text) + 1, 4):
            a, b = offsets.span(start, end)
            assert 0 <= a <= b <= len(text)
            for k in range(start, end):  # a span holds the spans of its characters
                x, y = offsets.span(k, k + 1)
                assert a <= x <= y <= b


@given(text=st.text(alphabet="abc", max_size=12), data=st.data())
def test_composition_is_that_of_character_sets(text, data):
    """Against a reference that carries the set of source characters of each character along."""
    now, origin, whole = text, [{k} for k in range(len(text))], Offsets.of([], len(text))
    for _ in range(3):
        cuts = sorted(data.draw(st.lists(st.integers(0, len(now)), max_size=6)))
        edits = [
            (a, b, data.draw(st.sampled_from(["", "x", "yz"])))
            for a, b in zip(cuts[::2], cuts[1::2], strict=False)
            if a < b
        ]
        edits = [edit for k, edit in enumerate(edits) if k == 0 or edits[k - 1][1] <= edit[0]]
        fresh, at = [], 0
        for start, end, new in edits:
            fresh += origin[at:start] + [set().union(*origin[start:end])] * len(new)
            at = end
        origin = fresh + origin[at:]
        whole = Offsets.of(edits, len(now)).after(whole)
        now = apply(now, edits)
    for k, places in enumerate(origin):
        assert whole.span(k, k + 1) == (min(places), max(places) + 1)


@given(text=TEXTS, spec=st.sampled_from(SPECS))
@settings(max_examples=300, deadline=None)
def test_twice_is_once_for_rules_that_normalise(text, spec):
    if spec.split("=")[0] in ("unicode", "control", "whitespace"):
        once = clean(text, spec).text
        assert clean(once, spec).text == once


@given(text=TEXTS, form=st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
@settings(max_examples=400, deadline=None)
def test_unicode_is_that_of_python(text, form):
    assert clean(text, f"unicode={form}").text == unicodedata.normalize(form, text)


@given(text=TEXTS)
@settings(max_examples=300, deadline=None)
def test_mojibake_is_that_of_ftfy(text):
    ftfy = pytest.importorskip("ftfy")
    assert clean(text, "mojibake").text == "\n".join(ftfy.fix_encoding(line) for line in text.split("\n"))


@given(text=TEXTS, lines=st.booleans())
@settings(max_examples=300, deadline=None)
def test_whitespace_keeps_the_words(text, lines):
    found = clean(text, [{"rule": "whitespace", "lines": lines}]).text
    assert found.split() == text.split()
    assert found == found.strip()
    assert "  " not in found
    if not lines:
        assert found == " ".join(text.split())


WORDS = st.text(alphabet="abcdeéß漢 &<>\"'", min_size=1, max_size=8)


@st.composite
def pages(draw, depth=0):
    """A page of elements that every parser nests in the same way, and its text."""
    import html

    parts = []
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["text", "inline", "block", "comment", "script", "style", "void", "entity"]))
        if kind == "text":
            parts.append(html.escape(draw(WORDS), quote=False))
        elif kind == "entity":
            parts.append(
                draw(st.sampled_from(["&eacute;", "&#233;", "&#xE9;", "&lt;", "&nbsp;", "&hellip;", "&#150;"]))
            )
        elif kind == "comment":
            parts.append("<!--" + draw(st.text(alphabet="ab <>!", max_size=6)).lstrip(">") + "-->")
        elif kind in ("script", "style"):
            parts.append(f"<{kind}>{draw(st.text(alphabet='ab<>/&;', max_size=8))}</{kind}>")
        elif kind == "void":
            parts.append(draw(st.sampled_from(["<br>", "<br />", "<IMG src=x alt='>'>", '<hr title="a > b">'])))
        elif depth < 3:
            name = draw(
                st.sampled_from(["b", "i", "SPAN", "em"] if kind == "inline" or depth else ["div", "section", "DIV"])
            )
            value = html.escape(draw(WORDS))
            parts.append(f'<{name} title="{value}">{draw(pages(depth=depth + 1))}</{name}>')
    return "".join(parts)


@given(page=pages())
@settings(max_examples=400, deadline=None)
def test_html_is_that_of_a_parser(page):
    parser = pytest.importorskip("selectolax.lexbor")
    tree = parser.LexborHTMLParser(f"<!doctype html><html><head></head><body>{page}</body></html>")
    for node in tree.css("script, style"):
        node.decompose()
    expected = tree.body.text(deep=True) if tree.body else ""
    assert "".join(clean(page, "html").text.split()) == "".join(expected.split())


@pytest.mark.parametrize(("spec", "text", "expected"), [
    ("html", "a<br/>b", "a\nb"),
    ("html", "x <= y and <john@example.org> wrote <3", "x <= y and <john@example.org> wrote <3"),
    ("html", "<SCRIPT>if (a<b) x='<p>'</SCRIPT >ok", "ok"),
    ("html", "<script>never closed", ""),
    ("html", "<!-- a --> b <!--> c <!-- never closed", " b  c "),
    ("html", "<?xml version='1.0'?><!DOCTYPE html><o:p>Word</o:p>", "Word"),
    ("html", "AT&T &copy 2020 ?a=1&copy=2 &nosuch; &#0; &amp;lt;", "AT&T © 2020 ?a=1&copy=2 &nosuch; \ufffd &lt;"),
    ("html", "cut <a href='x", "cut <a href='x"),
    ("urls", "see HTTPS://Example.org/x?y=1#z.", "see ."),
    ("urls", "(http://en.wikipedia.org/wiki/A_(b))", "()"),
    ("urls=URL", "a http://x.org, b www.y.org! Www.z.co.uk", "a URL, b URL! URL"),
    ("urls", "www. is not one, nor ://, http://, awww.x.org", "www. is not one, nor ://, http://, awww.x.org"),
    ("emails=E", "<jo@example.org>, a@b, @jo, x@y.z1.", "<E>, a@b, @jo, E."),
    ("numbers=N", "3.14 and 1,000; mp3 5th x1.5 1.5x ٣ 7", "N and N; mp3 5th x1.5 1.5x N N"),
    ("control", "a\0\ufeffb\tc\nd\x0ce", "ab\tc\nd e"),
    ("mojibake", "schÃ¶n â€œokâ€\x9d ok", "schön “ok” ok"),
    ("unicode", "e\u0301 ﬁ", "é ﬁ"),
    ("unicode=NFKC", "e\u0301 ﬁ ｶﾞ", "é fi ガ"),
    ("whitespace", "\n a  b \n\n c\u00a0\u3000d\n", "a b\nc d"),
])  # fmt: skip
def test_examples(spec, text, expected):
    assert clean(text, spec).text == expected


@pytest.mark.parametrize("name", RULES)
def test_rules_are_plain_values(name):
    import json

    rule = make_rule(name)
    assert make_rule(json.loads(json.dumps(rule.to_dict()))) == rule
    assert rule.about
    assert hash(rule) == hash(make_rule(name))
    assert Cleaner.from_dict(json.loads(json.dumps(Cleaner([rule]).to_dict()))) == Cleaner(name)


@pytest.mark.parametrize("spec", ["", "htm", "control=x", "unicode=NFX", {"rule": "urls", "with": "x"}, {}])
def test_wrong_rules_are_named(spec):
    with pytest.raises(LinnetError):
        make_rule(spec)


def test_names_come_in_the_order_of_the_registry():
    assert [rule.name for rule in Cleaner("whitespace,urls,html").rules] == ["html", "urls", "whitespace"]
    with pytest.raises(DataError, match="one text"):
        clean(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("piece", ["<a ", '<a x="<a " x=', "<!--", "<script>", "&", "&amp", "http://", "www.", "a@", "@a.b", "1.", "1,1x",
                                   " \n", "<a =", "((", "http://(", "<a x='", "é", "Ã©", "e\u0301", "\u0301"])  # fmt: skip
def test_no_text_is_slow(piece):
    text = piece * (60_000 // len(piece)) + "x"
    began = time.process_time()
    clean(text, [make_rule(name) for name in RULES])
    assert time.process_time() - began < 2


def test_a_missing_package_is_one_line(monkeypatch):
    import sys

    from linnet.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "ftfy", None)
    assert clean("plain", "mojibake").text == "plain"
    with pytest.raises(MissingExtraError, match=r"the rule 'mojibake' needs .* pip install 'linnet\[clean\]'"):
        clean("schÃ¶n", "mojibake")


@pytest.mark.slow
@pytest.mark.skipif("LINNET_DATA" not in os.environ, reason="LINNET_DATA is not set")
def test_offsets_survive_in_75_languages():
    import csv

    path = Path(os.environ["LINNET_DATA"], "lid_lingua75", "all.csv")
    cleaner = Cleaner(["html", "mojibake", "unicode=NFKC", "control", "urls=URL", "emails", "numbers=0", "whitespace"])
    changed = 0
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found = cleaner.clean(row["text"])
            assert len(found.offsets) == len(found.text)
            for _, edits, before in found.stages:
                copied_one_by_one(Offsets.of(edits, len(before)), edits, len(before))
            changed += found.text != row["text"]
    assert changed > 100


@pytest.mark.slow
def test_fuzz():
    import subprocess
    import sys

    tool = Path(__file__).parents[1] / "tools" / "fuzz_clean.py"
    if not tool.exists():
        pytest.skip("run from a source tree")
    done = subprocess.run(
        [sys.executable, str(tool), "--inputs", "50000", "--seed", "7"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "50,000 inputs, no failure" in done.stdout
