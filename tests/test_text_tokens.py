"""Tokens of one text: the right pieces, and offsets that point at them."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from linnet.errors import DataError, LinnetError
from linnet.text import CASES, TOKENS, Token, tokenize
from reference import text as reference

any_char = st.characters(exclude_categories=())
odd = st.sampled_from(
    [
        "ß",
        "İ",
        "Σ",
        "ΑΣ",
        "e\u0301",
        "\u00ad",
        "’",
        "'",
        "👩\u200d💻",
        "中",
        "ไทย",
        "\x00",
        " ",
        "\ud83d",
        "\ude00",
        "Ab",
    ]
)
texts = st.lists(odd | any_char, max_size=25).map("".join)


def pieces(text: str, **settings: str) -> list[str]:
    return [t.text for t in tokenize(text, **settings)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        (" \t\n", []),
        ("Don't stop", ["don't", "stop"]),
        ("rock ’n’ roll", ["rock", "'", "n", "'", "roll"]),
        ("the dogs' bone", ["the", "dogs", "'", "bone"]),
        ("wait... what?!?!", ["wait", "...", "what", "?", "!", "?", "!"]),
        ("I a m", ["i", "a", "m"]),
        ("e-mail me: a_b@c.de", ["e", "-", "mail", "me", ":", "a_b", "@", "c", ".", "de"]),
        ("3.14 GBP", ["3", ".", "14", "gbp"]),
        ("Cafe\u0301 na\u00efve", ["cafe\u0301", "na\u00efve"]),
        ("co\u00adope\u00adrate", ["cooperate"]),
        ("我愛 NY", ["我", "愛", "ny"]),
        ("ภาษาไทย", ["ภ", "า", "ษ", "า", "ไ", "ท", "ย"]),
        ("한국어 영화", ["한국어", "영화"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("👩\u200d💻👩\u200d💻 ok", ["👩\u200d💻👩\u200d💻", "ok"]),
        ("❤\ufe0f love", ["❤\ufe0f", "love"]),
        ("STRASSE straße", ["strasse", "strasse"]),
        ("ΟΔΟΣ οδός", ["οδοσ", "οδόσ"]),
    ],
)
def test_words(text: str, wanted: list[str]) -> None:
    assert pieces(text) == wanted


def test_whitespace_is_split_and_pattern_is_the_regular_expression() -> None:
    text = "A b_1 cd!\x1cx\u2009yy\u3000École ½ ²³ a\u0301bc"
    assert pieces(text, tokens="whitespace", case="keep") == text.split()
    assert pieces(text, tokens="pattern", case="keep") == re.findall(r"(?u)\b\w\w+\b", text)


@settings(max_examples=400, deadline=None)
@given(texts)
@example("İstanbul ΣΑΣ Σ Σ. αΣ\u0301 Σα")
def test_lower_is_str_lower_in_context(text: str) -> None:
    text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    assert pieces(text, tokens="pattern", case="lower") == re.findall(r"(?u)\b\w\w+\b", text.lower())
    assert pieces(text, tokens="whitespace", case="lower") == text.lower().split()


@settings(max_examples=600, deadline=None)
@given(texts, st.sampled_from(list(TOKENS)), st.sampled_from(list(CASES)))
@example("aİb Σ", "pattern", "lower")
def test_offsets_point_at_the_piece(text: str, tokens: str, case: str) -> None:
    found = tokenize(text, tokens, case)
    end = 0
    for t in found:
        assert isinstance(t, Token)
        assert end <= t.start < t.end <= len(text)
        if tokens == "bytes":
            continue  # several bytes stand at one character: test_text_tokenisers.py
        if case != "lower":  # U+0130 may be cut in two
            end = t.end
        source = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text[t.start : t.end])
        if tokens in ("words", "penn"):
            source = "".join(c for c in source if not reference.char_class(c) & reference.IGNORE)
            source = source.replace("\u2019", "'").replace("\uff07", "'")
        if case == "keep":
            assert t.text == source
        elif case == "fold":
            assert t.text == source.casefold()
        elif not {"Σ", "İ"} & set(text):
            assert t.text == source.lower()


@settings(max_examples=300, deadline=None)
@given(texts, st.sampled_from(list(TOKENS)))
def test_nothing_is_lost(text: str, tokens: str) -> None:
    """What lies between the tokens is blank, or for the pattern no pair of word characters."""
    gaps, end = "", 0
    for t in tokenize(text, tokens):
        gaps, end = gaps + " " + text[end : t.start], t.end
    gaps += " " + text[end:]
    if tokens == "pattern":
        assert re.search(r"\w\w", gaps) is None
    else:
        blank = reference.PYSPACE if tokens == "whitespace" else reference.SPACE | reference.IGNORE
        assert all(reference.char_class(c) & blank for c in gaps if not "\ud800" <= c <= "\udfff")
        assert not re.search("[\ud800-\udfff]", gaps)


def test_errors_name_the_choices() -> None:
    with pytest.raises(DataError, match="takes one text, got list"):
        tokenize(["a"])  # type: ignore[arg-type]
    with pytest.raises(LinnetError, match="did you mean 'words'"):
        tokenize("a", tokens="word")
    with pytest.raises(LinnetError, match="unknown case 'upper'"):
        tokenize("a", case="upper")


def test_the_import_is_light() -> None:
    code = "import sys, linnet.text; print([m for m in ('pyarrow', 'scipy', 'sklearn', 'pandas') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
