"""Clean many random texts and check what must hold for any text.

python tools/fuzz_clean.py --inputs 1000000 [--seed 0]

Texts are made of pieces that mean something to a rule, cut, repeated and mixed with random characters. For every text,
with rules drawn at random: edits are sorted and disjoint, the offsets cover the clean text and are in order, copied
characters are equal, spans lie in the source, offsets survive being written down, pages account for every line,
sentences lose no letter. Stops at the first failure and prints the text.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from linnet.text.clean import C4, Cleaner, Pages
from linnet.text.duplicates import sentences
from linnet.text.offsets import Offsets, apply

PIECES = [
    "<br />", "<b>", "</b>", "<p class='x'>", '<a href="http://x.org/?a=1&amp;b">', "<script>", "</script>", "<style>", "</style ",
    "<!--", "-->", "<!DOCTYPE html>", "<", ">", "/", "=", '"', "'", "&", ";", "&amp;", "&#39;", "&#x1F600;", "&nbsp", "&copy=", "&#0;",
    "http", "https", "://", "http://example.org/a_(b)?c=d#e", "www.", "WWW.example.org", "jo.doe@example.org", "@", "a@b.", "1,000.50", "7",
    "3.", "mp3", "word", "Word", "Dr.", "etc.", ".", "!", "?", "...", ",", " ", "  ", "\n", "\r\n", "\t", "\x0b", "\x85", "\u2028", "\0",
    "\u200b", "\u200d", "\ufeff", "\ud800", "\udfff", "é", "e\u0301", "\u0301", "Ã©", "â€œ", "â€\x9d", "Ã ", "ï»¿", "ﬁ", "²",
    "\u1100\u1161\u11a8", "각", "ｶﾞ", "漢字", "。", "ไทย", "हिन्दी", "العربية", "İ", "ß", "🏳️\u200d🌈", "👩🏽\u200d💻",
    "\U000e0001", "\uffff", "{", "}", "lorem ipsum", "javascript", "“", "”", "\u00a0", "\u3000", "\u00ad", "(", ")", "[", "]",
]  # fmt: skip
RULES = [
    "html", "html= ", "mojibake", "unicode", "unicode=NFKC", "unicode=NFD", "unicode=NFKD", "control", "urls", "urls=URL", "emails",
    "emails=EMAIL", "numbers", "numbers=0", "whitespace",
]  # fmt: skip


def made(rng: random.Random) -> str:
    """Return a random text."""
    parts = rng.choices(PIECES, k=rng.randrange(12))
    for _ in range(rng.randrange(3)):
        code = rng.choice([rng.randrange(128), rng.randrange(0x3000), rng.randrange(0x110000)])
        parts.insert(rng.randrange(len(parts) + 1), chr(code))
    if parts and rng.random() < 0.1:
        parts.append(rng.choice(parts) * rng.randrange(1, 20))
    text = "".join(parts)
    if text and rng.random() < 0.2:
        a, b = sorted((rng.randrange(len(text)), rng.randrange(len(text))))
        text = text[:a] + text[b:]
    return text


def check(text: str, rng: random.Random) -> None:
    """Raise AssertionError where something does not hold."""
    cleaner = Cleaner(rng.sample(RULES, rng.randrange(1, 6)))
    found = cleaner.clean(text)
    now = text
    for rule in cleaner.rules:
        edits, at, source = rule.edits(now), 0, 0
        own = Offsets.of(edits, len(now))
        for start, end, new in edits:
            assert source <= start <= end <= len(now), (rule, edits)
            if source < start:  # copied
                assert own.span(at, at + start - source) == (source, start), (rule, edits)
            at += start - source + len(new)
            source = end
        now = apply(now, edits)
    assert now == found.text
    offsets = found.offsets
    assert len(offsets) == len(found.text)
    assert sorted(offsets.starts) == list(offsets.starts)
    assert sorted(offsets.ends) == list(offsets.ends)
    if found.text:
        a, b = sorted((rng.randrange(len(found.text)), rng.randrange(len(found.text))))
        x, y = offsets.span(a, b + 1)
        assert 0 <= x <= y <= len(text)
        for k in (a, b):
            low, high = offsets.span(k, k + 1)
            assert x <= low <= high <= y
    page = Pages(rng.sample(list(C4), rng.randrange(len(C4) + 1))).filter(text)
    assert page.kept + sum(page.lines.values()) == text.count("\n") + 1
    at = 0
    for start, end in sentences(text):
        assert at <= start < end
        assert not any(map(str.isalnum, text[at:start]))
        at = end
    assert not any(map(str.isalnum, text[at:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    began = time.perf_counter()
    for number in range(1, options.inputs + 1):
        text = made(rng)
        try:
            check(text, rng)
        except Exception:
            print(f"input {number}, seed {options.seed}: {text!r}", file=sys.stderr)
            raise
        if number % 100_000 == 0:
            print(f"{number:,} inputs, {time.perf_counter() - began:.0f} s", flush=True)
    print(f"{options.inputs:,} inputs, no failure, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
