"""Throw random bytes at every feature block and compare the kernels with the plain-Python reference.

    python tools/fuzz_blocks.py [--inputs N] [--seconds S] [--seed K] [--kernels]

Each input is a few random documents (letters, odd Unicode, broken UTF-8, negations and stops) and a random block. The
fingerprints, places and names must be those of the reference; the lengths and word lists too. Stops at the first difference, with
the input that shows it, and exits 1. With --kernels the reference is left out and inputs go in by the thousand: nothing may crash,
places must lie inside their documents, two threads must count as one does, and names must be UTF-8.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

import numpy as np

from linnet.features.blocks import BLOCKS, Block, Lengths, compile_blocks
from linnet.features.buffers import TextBuffer
from linnet.features.counting import count, names_of
from linnet.features.lists import Lists
from linnet.text.tokens import TOKENS

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from reference import blocks as reference  # noqa: E402 - the reference lives with the tests
from reference.emitted import Emitted  # noqa: E402

PIECES: list[bytes] = [
    *(p.encode() for p in [
        "a", "B", "Zz", "9", "2026", "_", " ", "  ", "\t", "\n", "\x00", "\x85", "\xa0", ".", ",", "!", "?!", "...", "-",
        "(", ")", "'", "\u2019", "don't", "not ", "Never ", "isn\u2019t ", "no", "good", "ß", "ẞ", "ΐ", "İ", "Σ", "ﬃ",
        "\u0345", "e\u0301", "\u00ad", "\u200b", "\u200c", "\u200d", "\u200e", "\ufe0f", "中", "か", "한", "ไท", "हि", "עַ",
        "👩\u200d💻", "👍🏽", "🇩🇪", "①", "½", "𝔘", "\ufffd", "\u2026", "\u2014", "\u2003",
    ]),
    b"\xc3", b"\xa9", b"\xe2\x82", b"\xf0\x9f\x98", b"\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"abcdefghij",
]  # fmt: skip
LISTS = Lists({"a": {"good": 2, "not good": -1, "don't": 1}, "b": {"!": 1, "a": 0.5, "a b": 3}})


def document(rng: random.Random) -> bytes:
    """Return up to forty pieces, or plain random bytes."""
    if rng.random() < 0.2:
        return rng.randbytes(rng.randrange(40))
    return b"".join(rng.choice(PIECES) for _ in range(rng.randrange(40)))


def block(rng: random.Random) -> Block:
    """Return a random block."""
    kind = rng.choice(list(BLOCKS.values()))
    low = rng.randrange(1, 6)
    known = [t for t in TOKENS if not (kind.of_words and t in ("characters", "bytes"))]
    tokens = "words" if kind.name == "across" else rng.choice(known)
    case = "keep" if kind.name == "shapes" else rng.choice(["keep", "fold", "lower"])
    return kind(low, low + rng.randrange(4), tokens=tokens, case=case)


def difference(data: bytes, b: Block) -> str:
    """Say in what the kernel and the reference differ; nothing if they do not."""
    piece = TextBuffer(np.frombuffer(data, np.uint8), np.array([0, len(data)]))
    found = Emitted.of(piece, (b,))
    expected_grams = reference.ngrams(data, b.name, b.tokens, b.case, b.low, b.high, compile_blocks((b,)).rows[0][5])
    if found.fps.tolist() != [g.fingerprint for g in expected_grams]:
        return "fingerprints"
    if list(zip(found.starts.tolist(), found.lengths.tolist(), strict=True)) != [
        (g.start, g.length) for g in expected_grams
    ]:
        return "places"
    names = found.names(np.arange(len(expected_grams)), 0)
    if any(n != g.name for n, g in zip(names, expected_grams, strict=True)):
        return "names"
    lengths = np.expm1(Lengths().values_of(piece)[0])
    expected = reference.lengths(data)
    if not np.allclose(np.delete(lengths, 1), np.delete(np.array(expected, float), 1)):
        return "lengths"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        LISTS.values_of(piece)
        return ""
    sums = np.zeros(4)
    for m in LISTS.matches(text):
        sums[2 * m.list : 2 * m.list + 2] += 1, m.value
    return "" if np.allclose(LISTS.values_of(piece)[0], np.sign(sums) * np.log1p(abs(sums))) else "lists"


def crash_test(rng: random.Random, n: int) -> None:
    """Send n documents through a few blocks at once, counted, looked up, named and measured."""
    documents = [document(rng) for _ in range(n)]
    offsets = np.concatenate([[0], np.cumsum([len(d) for d in documents])])
    piece = TextBuffer(np.frombuffer(b"".join(documents), np.uint8), offsets)
    blocks = tuple(dict.fromkeys(block(rng) for _ in range(3)))
    counted = count([piece], blocks, counting=True, threads=1)
    two = count([piece], blocks, counting=True, threads=2)
    same = all(np.array_equal(getattr(counted.rows, f), getattr(two.rows, f)) for f in ("indptr", "indices", "counts"))
    ends = counted.seen.start + (counted.seen.length & ((1 << 29) - 1))
    inside = (counted.seen.start >= 0) & (ends <= np.diff(offsets)[counted.seen.document])
    if not same or not inside.all() or not np.array_equal(counted.fingerprints, two.fingerprints):
        raise SystemExit(f"{blocks}: one thread and two differ, or a place lies outside its document")
    data, at = names_of([piece], blocks, counted.seen, counted.fingerprints)
    data.tobytes().decode()
    if (np.diff(at) <= 0).any():
        raise SystemExit(f"{blocks}: a feature has no name")
    Lengths().values_of(piece)
    LISTS.values_of(piece)


def main() -> int:
    """Run until the inputs or the seconds are spent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernels", action="store_true")
    options = parser.parse_args()
    rng, began, done = random.Random(options.seed), time.monotonic(), 0  # noqa: S311 - not for secrets
    while done < options.inputs and time.monotonic() - began < options.seconds:
        if options.kernels:
            crash_test(rng, 1000)
            done += 1000
            continue
        data, b = document(rng), block(rng)
        wrong = difference(data, b)
        if wrong:
            print(f"{wrong} differ for {b} on {data!r} (input {done} of seed {options.seed})")
            return 1
        done += 1
    print(f"{done:,} inputs, {len(BLOCKS)} kernel blocks, lengths and lists: nothing wrong (seed {options.seed})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
