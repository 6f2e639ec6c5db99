"""Fuzz every tokeniser and the blocks over them: ``python tools/fuzz_tokens.py --inputs 1000000 --seed 1``.

Inputs are random bytes, broken UTF-8 and mixtures of awkward pieces. Checked on each: no crash; places in order, inside
the text and on whole characters; lossless tokenisers give the text back; every tenth input (--reference) also the kernel
against the plain-Python reference, token by token. A failure prints the seed and the input and ends with exit code 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from linnet._kernels.text import Scratch, tokenise_text
from linnet.text import CASES, TOKENS, Token, tokenize

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from reference import text as reference  # noqa: E402 - the reference lives with the tests

AWKWARD = [
    "a", "B", "9", "_", " ", "\t", "\n", "\x00", "\x1c", "\x85", "\xa0", ".", "...", "!", "-", "--", "'", "\u2019", "\uff07", "`",
    "/", ",", ":", "n't", "'s", "\u2019ll", "cannot", "gonna", "Mr", "etc", "U.S.", "1,000", "didn't", "cat.", "ß", "ẞ", "İ", "ı",
    "Σ", "ς", "ﬃ", "\u0301", "\u00ad", "\u200b", "\u200d", "\u200f", "\u2060", "\ufeff", "\ufe0f", "中", "か", "한", "ไท", "हि",
    "לָ", "عَ", "👩\u200d💻", "👍🏽", "🇩🇪", "½", "𝔘", "\ufffd", "\U0010ffff", "plainlongword", "ANOTHERLONGWORD",
]  # fmt: skip
BROKEN = [
    b"\xc3",
    b"\xa9",
    b"\xe2\x82",
    b"\xac",
    b"\xf0\x9f\x98",
    b"\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xc0\xaf",
]


def inputs(seed: int, n: int) -> Iterator[bytes]:
    """Yield n inputs, a quarter of each kind."""
    rng = random.Random(seed)
    encoded = [a.encode() for a in AWKWARD]
    for k in range(n):
        size = rng.randrange(1, 24)
        if k % 4 == 0:
            yield rng.randbytes(size)
        elif k % 4 == 1:
            yield b"".join(rng.choices(encoded, k=size))
        elif k % 4 == 2:
            yield b"".join(rng.choices(encoded + BROKEN * 3, k=size))
        else:  # prose: long enough to be looked at 64 bytes at a time, with something awkward here and there
            plain = [b"a" * rng.randrange(1, 12) for _ in range(8)] + [b" ", b" ", b" ", b", ", b"don't "]
            yield (
                b" ".join(rng.choices(plain, k=size))
                + rng.choice(encoded + BROKEN)
                + b"".join(rng.choices(plain, k=40))
            )


def check_text(text: str, tokens: str, case: str) -> None:
    """Check the tokens of a text."""
    last = 0
    found = tokenize(text, tokens, case)
    for t in found:
        if not (isinstance(t, Token) and last <= t.start < t.end <= len(text) and t.text):
            raise AssertionError(f"{t} out of place")
        last = t.start if tokens == "bytes" or case == "lower" else t.end
    if tokens in ("characters", "bytes") and case == "keep":
        whole = "".join(t.text for t in found)
        if (whole.encode("latin-1").decode() if tokens == "bytes" else whole) != text:
            raise AssertionError("the pieces are not the text")


def check_reference(data: bytes, tokens: str, case: str, scratch: Scratch) -> None:
    """Compare the kernel with the reference."""
    n = tokenise_text(np.frombuffer(data, np.uint8), TOKENS[tokens], CASES[case], scratch)
    got = []
    for t in range(n):
        start, end, first = scratch.token_places[:, t].tolist()
        codes = scratch.codes[first : scratch.token_places[2, t + 1]].tolist()
        got.append(("".join(map(chr, codes)), start, end))
    wanted = [(t.text, t.start, t.end) for t in reference.cut(data, tokens, case)]
    if got != wanted:
        raise AssertionError(f"the kernel gave {got}, the reference {wanted}")


def main() -> int:
    """Run the budget; 0 if nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reference", type=int, default=9, help="compare every n-th input with the reference; 0: none")
    args = parser.parse_args()
    pairs = [(tokens, case) for tokens in TOKENS for case in CASES]
    scratch = Scratch(4096)
    began = time.perf_counter()
    for k, data in enumerate(inputs(args.seed, args.inputs)):
        tokens, case = pairs[(k + k // len(pairs)) % len(pairs)]  # so that every pair meets every kind of input
        try:
            check_text(data.decode("utf-8", "replace"), tokens, case)
            if args.reference and k % args.reference == 0:
                check_reference(data, tokens, case, scratch)
        except Exception as error:
            print(f"input {k} of seed {args.seed}, tokens {tokens}, case {case}: {data!r}\n{error}")
            return 1
    seconds = time.perf_counter() - began
    print(f"{args.inputs:,} inputs, seed {args.seed}: nothing found in {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
