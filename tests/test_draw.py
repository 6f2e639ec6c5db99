"""Charts, tables and marked text: well-formed, harmless whatever the text, true to the numbers."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.draw.charts import Axis, Band, Columns, Line, Points, Segments, chart, figure, histogram, ticks, vertical
from linnet.draw.markup import bars, count_bars, mark, marked, matrix, page, safe, table, text_table
from linnet.draw.terminal import aligned, fit, short, sparkline, width_of

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "</title><script>alert(1)</script>\"'&<b>\x00\x1b"
numbers = st.floats(-1e6, 1e6).map(lambda v: round(v, 3))


class Seen(HTMLParser):
    """The tags and the text of a page, with every tag closed."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.open = [], "", []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@given(st.lists(st.tuples(numbers, numbers), max_size=60), st.booleans(), st.booleans())
def test_charts_take_any_numbers(points, log, percent):
    rows = [(x, y, y + 1.0) for x, y in points]
    layers = [
        Line(points, "orange", "a line"), Points(points), Band(rows), Segments([(x, y, x, top) for x, y, top in rows]), vertical(0.5),
        Columns([(x, x + 1, y, "t") for x, y in points]),
    ]  # fmt: skip
    drawn = chart(layers, Axis("x", log=log), Axis("y", percent=percent), "any numbers", file=True)
    assert "nan" not in drawn
    assert "inf" not in drawn
    root = ET.fromstring(drawn)
    assert len(root.findall(f"{SVG}circle")) == 2 * len(points)
    assert all(float(r.get("height")) >= 0 and float(r.get("width")) > 0 for r in root.findall(f"{SVG}rect"))


def test_a_chart_by_hand():
    drawn = chart(
        [Points([(0, 0.0), (10, 1.0)])], Axis("rows"), Axis("share", 0.0, 1.0, percent=True), "two", file=True
    )
    first, second = ET.fromstring(drawn).findall(f"{SVG}circle")
    assert (first.get("cx"), first.get("cy")) == ("54.0", "202.0")
    assert (second.get("cx"), second.get("cy")) == ("442.0", "14.0")
    assert second[0].text == "rows 10: share 100 %"
    texts = [t.text for t in ET.fromstring(drawn).findall(f"{SVG}text")]
    assert texts == ["0 %", "50 %", "100 %", "0", "2", "4", "6", "8", "10", "rows", "share"]


def test_logarithmic_axes_have_even_decades():
    points = [(1, 1.0), (10, 2.0), (100, 3.0), (1000, 4.0)]
    drawn = chart([Points(points)], Axis("rank", log=True), Axis("y"), "decades", file=True)
    places = [float(c.get("cx")) for c in ET.fromstring(drawn).findall(f"{SVG}circle")]
    assert np.diff(places) == pytest.approx([388 / 3] * 3, abs=0.11)
    assert "1k" in drawn


@given(numbers, st.floats(1e-3, 1e6), st.integers(2, 10))
def test_ticks_are_round_few_and_inside(low, span, most):
    found = ticks(low, low + span, most)
    assert len(found) <= most + 1
    assert all(low - 1e-6 * span <= t <= low + span * (1 + 1e-6) for t in found)
    if len(found) > 2:
        assert np.ptp(np.diff(found)) < 1e-6 * span


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=200))
def test_a_histogram_counts_every_value(values):
    drawn = ET.fromstring(histogram(values, "words", "Lengths").replace("<svg ", f'<svg xmlns="{SVG[1:-1]}" ', 1))
    titles = [rect[0].text for rect in drawn.findall(f"{SVG}rect")]
    assert sum(int(t.split(": ")[1].split()[0].replace(",", "")) for t in titles) == len(values)


def test_nothing_to_draw_says_so():
    assert "not yet" in chart([Line([])], Axis("x"), Axis("y"), "empty", empty="not yet")


def test_whatever_the_text_it_is_text():
    counts = np.array([[3, 1], [0, 2]])
    html = "".join(
        [
            figure([Line([(1, 2.0)], name=EVIL)], Axis(EVIL), Axis(EVIL), EVIL),
            text_table([[EVIL, EVIL], [EVIL, EVIL]], EVIL), table([safe(EVIL)], [[safe(EVIL)]]),
            bars([(EVIL, 0.5, safe(EVIL)), (EVIL, -1.0, "")], best=EVIL), count_bars({EVIL: 3, "b": 1}),
            marked([(EVIL, 1.0), (EVIL, -1.0)]), mark(EVIL, "for", title=EVIL), matrix([EVIL, "b"], counts, [0, 1]),
        ]
    )  # fmt: skip
    seen = Seen(page(EVIL, html))
    assert "script" not in seen.tags
    assert "b" not in seen.tags
    assert "\x00" not in html
    assert "\x1b" not in html


@given(st.lists(st.tuples(st.text(max_size=8), st.floats(-5, 5)), max_size=30))
def test_marked_text_keeps_every_character(pieces):
    plain = "".join(piece for piece, _ in pieces)
    assert Seen(marked(pieces)).text == Seen(f"{safe(plain)}").text


def test_marks_follow_the_sign_and_the_size():
    found = marked([("good", 2.0), (" ", 0.0), ("bad", -1.0), (" ", 0.0), ("so", 0.01)])
    assert found.count('class="for"') == found.count('class="against"') == 1
    assert "so" in found
    assert 'title="+2.000"' in found
    assert marked([("a" * 50, 0.1), (" ", 0.0), ("word", 3.0)], 10).startswith("… <mark")


def test_many_classes_are_cut():
    found = count_bars({f"c{k}": 100 - k for k in range(30)})
    assert "19 more classes" in found
    assert "c0<" in found
    assert "c29<" in found
    assert found.count("<li") == 12


def test_a_page_fetches_nothing_and_runs_only_its_own_code():
    still, live = page("t", "<p>x</p>"), page("t", "<p>x</p>", script="1")
    assert "Content-Security-Policy" not in still
    assert "<script" not in still
    assert "default-src &#x27;none&#x27;" in live
    for html in (still, live):
        assert "src=" not in html
        assert "url(" not in html
        assert "prefers-color-scheme:dark" in html


def test_columns_in_a_terminal():
    lines = aligned([["label", "n"], ["新闻", "10"], ["a very long name", "2"]], 12)
    assert lines == ["label      n", "新闻      10", "a very …   2"]
    assert {width_of(line) for line in lines} == {12}
    assert fit("新闻体育", 5) == "新闻…"
    assert sparkline([1.0, 2.0, 3.0]) == "▁▅█"


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0"), (-1500, "-1.5k"), (999, "999"), (1e6, "1M"), (0.12345, "0.1235"), (2.5e9, "2.5G")]
)
def test_short_numbers(n, text):
    assert short(n) == text
