"""The text kernels give what the plain-Python reference gives: on any bytes, any Unicode, real lines of 75 languages."""

from __future__ import annotations

import csv
import os
import pickle
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from linnet._kernels.text import CompiledBlocks, Scratch, classify, emit_chunk, lookup_chunk, tokenise_text
from linnet.errors import LinnetError
from linnet.features.blocks import (
    BLOCKS,
    CASES,
    TOKENS,
    Across,
    Affixes,
    Block,
    Blocks,
    Chars,
    Negated,
    Not,
    Words,
    compile_blocks,
)
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.counting import Slots, count, count_known, names_of
from reference import blocks as reference_blocks
from reference import text as reference

ODD = [
    "a", "B", "Z", "9", "_", " ", "\t", "\n", "\x00", "\x1c", "\x85", "\xa0", ".", "!", "-", "'", "\u2019", "\uff07",
    "n't", "'s", "\u2019ll", "cannot", "gonna", "mr", "etc", "U.S.", "/", ",", ":", "1", "`",
    "don't", "ß", "ẞ", "ΐ", "İ", "ı", "Σ", "ς", "ﬃ", "ŉ", "ǰ", "\u0345", "\u0301", "e\u0301", "\u00ad", "\u200b",
    "\u200c", "\u200d", "\u200e", "\u2060", "\ufeff", "\ufe0f", "\u20e3", "中", "文", "か", "ガ", "ﾊﾞ", "한", "ไท",
    "ย", "ກ", "ខ្", "မြ", "བོ", "हि", "न्दी", "לָ", "عَ", "👩", "👩\u200d💻", "👍🏽", "🇩🇪", "❤\ufe0f", "①", "Ⓐ", "½", "²",
    "𝔘", "Ꭰ", "ꭰ", "\ud800", "\udfff", "\ufffd", "\U0010ffff",
]  # fmt: skip
BROKEN = [
    b"a", b" ", b"\xc3", b"\xa9", b"\xe2\x82", b"\xac", b"\xf0\x9f\x98", b"\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
    b"\xc0\xaf", b"abcdefgh",
]  # fmt: skip

PROSE = [
    "a",
    "The",
    "Good",
    "x_1",
    "isn't",
    "'",
    ",",
    ".",
    "...",
    "é",
    "café",
    "’",
    "\u00ad",
    "中",
    "\x7f",
    "\x1c",
    "\n",
]
PROSE += [" "] * 12 + ["word " * n for n in (1, 3, 20)] + ["w" * n for n in (8, 16, 61, 62, 63, 64, 70)]
any_char = st.characters(exclude_categories=())
any_text = st.one_of(
    st.lists(st.sampled_from(ODD) | any_char, max_size=30).map("".join),
    st.text(any_char, max_size=40),
    st.lists(
        st.sampled_from(["not", "Never", "isn't", "good", "bad", ",", ".", "\u2026", "so,", "-"]), max_size=20
    ).map(" ".join),
    st.text("abXYZ_09 '.é", max_size=80),  # long plain words are read eight bytes at a time
    st.builds(lambda c, n: c * n, any_char, st.integers(0, 300)),
    st.lists(st.sampled_from(PROSE), max_size=120).map("".join),  # looked at 64 bytes at a time
)
any_bytes = st.one_of(
    any_text.map(lambda t: t.encode("utf-8", "surrogatepass")),
    st.lists(st.sampled_from(BROKEN), max_size=30).map(b"".join),
    st.binary(max_size=60),
)
tokens_names = st.sampled_from(list(TOKENS))
case_names = st.sampled_from(list(CASES))
kinds = st.sampled_from(list(BLOCKS.values()))
sizes = st.tuples(st.integers(1, 6), st.integers(0, 4)).map(lambda t: (t[0], t[0] + t[1]))


def made(kind: type[Block], size: tuple[int, int], tokens: str, case: str) -> Block:
    """A block of any kind, without the settings that its kind refuses."""
    tokens = "words" if kind.name == "across" or (kind.of_words and tokens in ("characters", "bytes")) else tokens
    return kind(*size, tokens=tokens, case="keep" if kind.name == "shapes" else case)


some_blocks = st.lists(
    st.builds(lambda k, s, t, c: made(k, s, t, c), kinds, sizes, tokens_names, case_names),
    min_size=1,
    max_size=3,
    unique=True,
).map(tuple)


def as_piece(documents: list[bytes]) -> TextBuffer:
    """Bytes that need not be UTF-8, through an Arrow binary column that claims to be text."""
    return text_buffers(pa.array(documents, pa.binary()).view(pa.string()))[0]


def kernel_cut(data: bytes, tokens: str, case: str) -> list[tuple[str, int, int, int]]:
    s = Scratch(len(data))
    n = tokenise_text(np.frombuffer(data, np.uint8), TOKENS[tokens], CASES[case], s)
    out = []
    for t in range(n):
        start, end, first = s.token_places[:, t].tolist()
        codes = s.codes[first : s.token_places[2, t + 1]]
        out.append(("".join(map(chr, codes.tolist())), int(s.hashes[t]), start, end))
    return out


def kernel_grams(documents: list[bytes], blocks: Blocks) -> list[list[tuple[int, int, int]]]:
    """One list of (fingerprint, start, length) a segment."""
    piece, s, out = as_piece(documents), Scratch(max(map(len, documents), default=0), room=8), []
    ends = np.zeros(2 * len(blocks), np.int64)
    d = 0
    while d < len(documents):
        done = emit_chunk(piece.data, piece.offsets, d, len(documents), compile_blocks(blocks), s, ends)
        assert done > 0
        begin = 0
        for end in ends[: done * len(blocks)].tolist():
            part = slice(begin, end)
            out.append(list(zip(s.fps[part].tolist(), s.starts[part].tolist(), s.lengths[part].tolist(), strict=True)))
            begin = end
        d += done
    return out


def reference_grams(data: bytes, blocks: Blocks) -> list[list[reference.Gram]]:
    seeds = [row[5] for row in compile_blocks(blocks).rows]
    return [
        reference_blocks.ngrams(data, b.name, b.tokens, b.case, b.low, b.high, seed)
        for b, seed in zip(blocks, seeds, strict=True)
    ]


def test_the_class_bits_follow_their_definitions() -> None:
    codes = np.arange(0x110000, dtype=np.uint32)
    bits = np.empty(len(codes), np.uint8)
    classify(codes, bits)
    expected = [reference.char_class(chr(c)) for c in range(0x110000)]
    assert np.flatnonzero(bits != np.array(expected, np.uint8)).tolist() == []
    reference.char_class.cache_clear()


@pytest.mark.skipif(not reference.SAME_UNICODE, reason="this Python has another Unicode version than the tables")
def test_lower_casing_keeps_the_class_but_for_the_dotted_i() -> None:
    """So a text may be lowered before or after it is cut: U+0130 alone (see Vectorizer) must be lowered before."""
    bits = reference.WORD | reference.PYSPACE
    cased = [c for c in map(chr, range(0x110000)) if c.lower() != c]
    moved = [
        c for c in cased if [reference.char_class(x) & bits for x in c.lower()] != [reference.char_class(c) & bits]
    ]
    assert moved == ["İ"]


@pytest.mark.parametrize("case", CASES)
def test_folding_every_character(case: str) -> None:
    for start in [*range(0, 0x20000, 0x1000), 0xE0000, 0x10F000]:
        chars = [chr(c) for c in range(start, start + 0x1000) if not 0xD800 <= c < 0xE000]
        words = [c for c in chars if not c.isspace()]
        got = [t for t, *_ in kernel_cut(" ".join(words).encode(), "whitespace", case)]
        assert got == [reference.fold(c, case) for c in words]
    reference.fold.cache_clear()


@settings(max_examples=300, deadline=None)
@given(any_bytes, tokens_names, case_names)
@example("👩\u200d💻 👩\u200d x 👩\u200da".encode(), "words", "fold")
@example("rock’n’roll ’tis ''quoted’’ o’中".encode(), "words", "fold")
@example("a\u00adb\u00ad c".encode(), "words", "keep")
@example(b"a b bb c dd", "pattern", "lower")
@example(
    "Didn’t Can't've cannot GONNA's U.S. e.g.. Mr. x. 1,000's 'tis ''s 's-x dog\u00ad's --`` a.b,c 3:4".encode(),
    "penn",
    "fold",
)
def test_tokens(data: bytes, tokens: str, case: str) -> None:
    check_tokens(data, tokens, case)


@pytest.mark.parametrize(
    "odd",
    ["'", "x'", "x's", "..", "x..", "é", "xé", "x'é", "’s", "x’s", "a\u00adb", "_", "\x7f", "\0", "x\u0301", ".\ufe0f"],
)
@pytest.mark.parametrize("before", ["", " ", ".", "'"])
def test_tokens_at_the_edges_of_what_is_looked_at_at_once(odd: str, before: str) -> None:
    for k in range(50, 68):
        check_tokens(f"{('ab, ' * 20)[:k]}{before}{odd}{' cd. e' * 20}".encode(), "words", "fold")
        check_tokens(f"{'a' * k}{before}{odd}{'b' * 70} c.".encode(), "words", "keep")


@pytest.mark.slow
@settings(max_examples=20_000, deadline=None)
@given(any_bytes, tokens_names, case_names)
def test_tokens_at_length(data: bytes, tokens: str, case: str) -> None:
    check_tokens(data, tokens, case)


def check_tokens(data: bytes, tokens: str, case: str) -> None:
    expected = [(t.text, reference.token_hash(t.text), t.start, t.end) for t in reference.cut(data, tokens, case)]
    assert kernel_cut(data, tokens, case) == expected


@settings(max_examples=150, deadline=None)
@given(st.lists(any_bytes, max_size=4), some_blocks)
@example(["aß ﬃ".encode()], (Chars(1, 4),))
@example([b"", b"a", b""], (Chars(1, 1), Words(3, 4)))
@example(["a\u00a0 ß\u2003\u00adﬃ  ".encode()], (Across(1, 4),))
@example(["aß ﬃﬃ".encode()], (Affixes(1, 4),))
@example([b"I do not-a-b-c like, it. No!! Never (ever) not"], (Negated(1, 3), Not(1, 3)))
@example(["isn't it \u2026 don't\u2014no good, is not good,".encode()], (Negated(1, 2), Negated(1, 2, "whitespace")))
def test_fingerprints_places_names_and_counts(documents: list[bytes], blocks: Blocks) -> None:
    check_grams(documents, blocks)


@pytest.mark.slow
@settings(max_examples=5_000, deadline=None)
@given(st.lists(any_bytes, max_size=4), some_blocks)
def test_fingerprints_at_length(documents: list[bytes], blocks: Blocks) -> None:
    check_grams(documents, blocks)


def check_grams(documents: list[bytes], blocks: Blocks) -> None:
    expected = [grams for d in documents for grams in reference_grams(d, blocks)]
    assert kernel_grams(documents, blocks) == [
        [(g.fingerprint, g.start, g.length) for g in grams] for grams in expected
    ]

    for threads in (1, 3):
        counted = count([as_piece(documents)], blocks, counting=True, threads=threads)
        assert counts_of(counted.rows, counted.fingerprints) == [reference.count(grams) for grams in expected]
    order = list(dict.fromkeys(g.fingerprint for grams in expected for g in grams))
    assert counted.fingerprints.tolist() == order  # numbered in the order of first sight

    names = {g.fingerprint: g.name for grams in expected for g in grams}
    data, offsets = names_of([as_piece(documents)], blocks, counted.seen, counted.fingerprints)
    assert [bytes(data[a:b]).decode() for a, b in pairwise(offsets.tolist())] == [names[f] for f in order]

    slots = Slots.of(counted.fingerprints)
    columns = np.full(len(slots.slots), -1, np.int32)
    columns[slots.find(counted.fingerprints)] = np.arange(len(order))
    for threads in (1, 2):
        rows = count_known(
            [as_piece(documents)], blocks, slots.slots, slots.shift, columns, len(order), counting=True, threads=threads
        )
        assert np.array_equal(rows.indices, counted.rows.indices)
        assert np.array_equal(rows.counts, counted.rows.counts)
        assert np.array_equal(rows.indptr, counted.rows.indptr)

    hashed = count_known(
        [as_piece(documents)], blocks, np.zeros(0, np.uint64), 56, np.zeros(0, np.int32), 256, counting=True
    )
    for k, grams in enumerate(expected):
        a, b = hashed.indptr[k : k + 2]
        got = dict(zip(hashed.indices[a:b].tolist(), hashed.counts[a:b].tolist(), strict=True))
        assert got == Counter(g.fingerprint >> 56 for g in grams)


def counts_of(rows, fingerprints) -> list[dict[int, int]]:
    out = []
    for a, b in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True):
        out.append(dict(zip(fingerprints[rows.indices[a:b]].tolist(), rows.counts[a:b].tolist(), strict=True)))
    return out


def test_a_document_that_outgrows_every_buffer() -> None:
    words = [f"w{k}" for k in range(70_000)]
    documents = [" ".join(words).encode(), b"w1 w2 w1", b"x " * 50_000]
    blocks = (Words(1, 2), Words(1, 3, tokens="pattern"), Chars(3, 4))
    counted = count([as_piece(documents)], blocks, counting=True, threads=2)
    assert [len(d) for d in counts_of(counted.rows, counted.fingerprints)[3:6]] == [4, 5, 6]
    assert counted.rows.counts[counted.rows.indptr[6] : counted.rows.indptr[7]].tolist() == [50_000, 49_999]
    assert counted.rows.indptr[1] == 2 * 70_000 - 1


def test_the_place_of_every_fingerprint_is_found_whatever_the_set() -> None:
    """Also where all fingerprints want the last slots of the table."""
    for fps in ([], [1], [2**64 - 1 - k for k in range(1000)], [2**64 - 1, 1, 2**63], list(range(1, 500))):
        fingerprints = np.array(fps, np.uint64)
        slots = Slots.of(fingerprints)
        assert np.array_equal(slots.slots[slots.find(fingerprints)], fingerprints)
        assert slots.slots[-1] == 0
        columns = np.full(len(slots.slots), -1, np.int32)
        columns[slots.find(fingerprints)] = np.arange(len(fps))
        asked = np.concatenate([fingerprints, np.array([7, 2**64 - 5000], np.uint64)])
        state, indices, indptr = np.zeros(2, np.int64), np.empty(len(asked), np.int32), np.zeros(2, np.int64)
        last = np.zeros(len(fps) + 1, np.uint32)
        scratch = Scratch(0, room=len(asked))
        scratch.fps[:] = asked
        lookup_chunk(
            scratch,
            np.array([len(asked)]),
            1,
            slots.slots,
            slots.shift,
            columns,
            last,
            state,
            indices,
            np.zeros(0, np.int32),
            indptr,
        )
        assert indices[: state[0]].tolist() == list(range(len(fps)))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((11, 0, 1, 1, 1, 7, 1.0), "unknown kind of feature block 11"),
        ((-1, 0, 1, 1, 1, 7, 1.0), "unknown kind of feature block -1"),
        ((0, 6, 1, 1, 1, 7, 1.0), "unknown tokens 6"),
        ((0, 0, 3, 1, 1, 7, 1.0), "case 3"),
        ((0, 0, 1, 2, 1, 7, 1.0), "n-grams of 2 to 1"),
        ((0, 0, 1, 1, 13, 7, 1.0), "n-grams of 1 to 13"),
    ],
)
def test_a_block_that_the_kernels_do_not_know_is_refused(row, message) -> None:
    with pytest.raises(ValueError, match=message):
        CompiledBlocks([(0, 0, 1, 1, 1, 7, 1.0), row])


def test_compiled_blocks_can_be_pickled() -> None:
    blocks = compile_blocks((Words(1, 2), Chars(2, 3, weight=0.5)))
    assert pickle.loads(pickle.dumps(blocks)).rows == blocks.rows
    assert len(blocks) == 2


def test_a_text_longer_than_the_scratch_or_an_unknown_tokeniser_is_refused() -> None:
    with pytest.raises(ValueError, match="the scratch holds 3"):
        tokenise_text(np.zeros(4, np.uint8), 0, 0, Scratch(3))
    with pytest.raises(ValueError, match="unknown tokens 6"):
        tokenise_text(np.zeros(1, np.uint8), 6, 0, Scratch(3))


def test_fingerprints_made_to_collide_are_refused_and_overrun_nothing() -> None:
    with pytest.raises(LinnetError, match="nearly the same hash"):
        Slots.of(np.arange(2**64 - 20_000, 2**64, dtype=np.uint64))


def lines_of_75_languages() -> list[str]:
    path = Path(os.environ.get("LINNET_DATA", "/nowhere")) / "lid_lingua75" / "all.csv"
    if not path.exists():
        pytest.skip("LINNET_DATA/lid_lingua75 is not there")
    with path.open(newline="", encoding="utf-8") as file:
        return [row["text"] for k, row in enumerate(csv.DictReader(file)) if k % 1483 == 0]


@pytest.mark.parametrize("tokens", TOKENS)
@pytest.mark.parametrize("case", CASES)
def test_real_lines(tokens: str, case: str) -> None:
    documents = [line.encode() for line in lines_of_75_languages()]
    blocks = tuple(made(kind, (1, 2), tokens, case) for kind in BLOCKS.values())
    expected = [grams for d in documents for grams in reference_grams(d, blocks)]
    assert kernel_grams(documents, blocks) == [
        [(g.fingerprint, g.start, g.length) for g in grams] for grams in expected
    ]
    names = {g.fingerprint: g.name for grams in expected for g in grams}
    counted = count([as_piece(documents)], blocks, threads=2)
    data, offsets = names_of([as_piece(documents)], blocks, counted.seen, counted.fingerprints)
    got = [bytes(data[a:b]).decode() for a, b in pairwise(offsets.tolist())]
    assert got == [names[f] for f in counted.fingerprints.tolist()]
