"""Duplicates: the kernel against the plain-Python reference, groups against all pairs, repeated keys whatever the memory."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet._kernels.text import document_minima, similarity, sketch_documents, word_keys
from linnet.errors import LinnetError
from linnet.features.buffers import text_buffers, text_numbers
from linnet.files import temporary_folder
from linnet.text.clean.corpus import Repeats
from linnet.text.duplicates import (
    Sketches,
    _multipliers,
    bands_for,
    exact_groups,
    near_groups,
    near_share_bound,
    repeats,
    same_keys,
    sentences,
    span_keys,
)
from reference import minhash as reference

TEXTS = st.one_of(
    st.text(max_size=40),
    st.lists(
        st.sampled_from(["the", "Cat", "sat", "on", "é", "漢字", "ไทย", "!", "’", "\u00a0", "🙂", "2"]), max_size=12
    ).map(" ".join),
)
needs_data = pytest.mark.skipif("LINNET_DATA" not in os.environ, reason="LINNET_DATA is not set")


@given(
    texts=st.lists(TEXTS, min_size=1, max_size=5),
    size=st.integers(1, 4),
)
@settings(max_examples=300, deadline=None)
def test_kernel_is_the_reference(texts, size):
    piece = text_buffers(texts)[0]
    n, kept = len(texts), 3
    multipliers = np.array([3, 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 5, 7], dtype=np.uint64)
    keys, totals = np.empty(n, np.uint64), np.empty(n, np.int32)
    smallest, minima = np.zeros((n, kept), np.uint32), np.empty((n, 5), np.uint32)
    scratch = np.empty(piece.longest() + 1, np.uint64)
    sketch_documents(piece.data, piece.offsets, 0, n, size, multipliers, scratch, keys, totals, smallest, minima)
    for k, text in enumerate(texts):
        few, least = reference.sketch(text, size, multipliers.tolist(), kept)
        assert keys[k] == reference.key(text)
        assert totals[k] == len(reference.shingles(text, size))
        assert smallest[k, : min(kept, totals[k])].tolist() == few
        assert minima[k].tolist() == least
    again = np.empty(n, np.uint64)
    word_keys(piece.data, piece.offsets, scratch, again)
    assert again.tolist() == keys.tolist()


def test_kernel_and_reference_agree_on_every_kind_of_character():
    ranges = [
        range(0x3400),
        range(0xA000, 0xA100),
        range(0xD700, 0xD800),
        range(0xE000, 0xE010),
        range(0xF900, 0x10400),
    ]
    codes = [c for part in ranges for c in part] + [0x1F600, 0x20000, 0xE0001, 0x10FFFF]
    texts = [f"a{chr(c)}b {chr(c)} x" for c in codes]
    assert same_keys_as_they_are(texts) == [reference.key(text) for text in texts]


def same_keys_as_they_are(texts):
    piece = text_buffers(texts)[0]
    keys = np.empty(len(texts), np.uint64)
    word_keys(piece.data, piece.offsets, np.empty(piece.longest() + 1, np.uint64), keys)
    return keys.tolist()


@given(a=st.sets(st.integers(0, 60)), b=st.sets(st.integers(0, 60)), kept=st.integers(1, 64))
def test_similarity_is_that_of_the_reference(a, b, kept):
    few = [np.array(sorted(s)[:kept], dtype=np.uint32) for s in (a, b)]
    assert similarity(*few, kept) == reference.alike(sorted(a)[:kept], sorted(b)[:kept], kept)
    if kept > 61:
        assert similarity(*few, kept) == (len(a & b) / len(a | b) if a | b else 0)


def made_corpus(seed: int, n: int = 300) -> list[str]:
    rng = np.random.default_rng(seed)
    vocabulary = [f"w{k}" for k in range(200)]
    rows = []
    for _ in range(n):
        if rows and rng.random() < 0.6:
            words = rows[rng.integers(len(rows))].split()
            for _ in range(rng.integers(0, 4)):
                words[rng.integers(len(words))] = vocabulary[rng.integers(200)]
        else:
            words = [vocabulary[k] for k in rng.integers(200, size=rng.integers(1, 60))]
        rows.append(" ".join(words))
    return rows


def components(rows: list[str], threshold: float) -> list[int]:
    """Groups by comparing all pairs."""
    sets = [set(reference.shingles(row, 3)) for row in rows]
    parent = list(range(len(rows)))

    def root(k: int) -> int:
        while parent[k] != k:
            k = parent[k]
        return k

    for i in range(len(rows)):
        for j in range(i):
            if sets[i] and sets[j] and len(sets[i] & sets[j]) / len(sets[i] | sets[j]) >= threshold:
                a, b = sorted((root(i), root(j)))
                parent[b] = a
    numbers: dict[int, int] = {}
    return [numbers.setdefault(root(k), len(numbers)) for k in range(len(rows))]


@pytest.mark.parametrize("threshold", [0.5, 0.8, 1.0])
def test_near_groups_are_those_of_all_pairs(threshold):
    for seed in range(3):
        rows = made_corpus(seed)
        assert near_groups(rows, threshold).tolist() == components(rows, threshold)


def test_groups_do_not_depend_on_threads_or_chunks(monkeypatch):
    rows = made_corpus(7)
    whole = near_groups(rows, 0.6, threads=1).tolist()
    monkeypatch.setattr("linnet.text.duplicates._CHUNK", 7)
    assert near_groups(rows, 0.6, threads=4).tolist() == whole
    assert max(Counter(whole).values()) > 3, "the corpus has groups"


@given(st.lists(TEXTS, max_size=12))
@settings(max_examples=200, deadline=None)
def test_exact_groups_are_those_of_equal_strings(rows):
    groups = exact_groups(rows).tolist()
    numbers: dict[str, int] = {}
    assert groups == [numbers.setdefault(row, len(numbers)) for row in rows]
    assert exact_groups(pa.array(rows, pa.string())).tolist() == groups
    spaces = exact_groups(rows, "spaces").tolist()
    numbers = {}
    assert spaces == [numbers.setdefault(" ".join(row.split()), len(numbers)) for row in rows]
    assert repeats(np.array(groups, dtype=np.int64)).sum() == len(rows) - len(set(rows))


def test_texts_that_share_a_number_are_compared():
    """Long texts of one length that differ in letters the number leaves out are not the same."""
    texts = ["a" * 100, "a" * 20 + "b" + "a" * 79, "a" * 100, "c", "a" * 20 + "d" + "a" * 79, "c"]
    column = pa.chunked_array([pa.array(texts[:4]), pa.array(texts[4:])])
    assert len(set(text_numbers(text_buffers(texts)[0]).tolist())) == 2
    assert exact_groups(column).tolist() == [0, 1, 0, 2, 3, 2]


def test_words_alike():
    rows = ["A film!", "a  film", "A FILM...", "über", "ÜBER", "a films", "...", "!!!", ""]
    assert exact_groups(rows, "words").tolist() == [0, 0, 0, 1, 1, 2, 3, 4, 5]
    assert near_groups(rows).tolist() == [0, 0, 0, 1, 2, 3, 4, 5, 6]


def test_wrong_settings_are_named():
    for wrong in (lambda: near_groups(["a"], 0), lambda: near_groups(["a"], 1.5), lambda: near_groups(["a"], shingle=0),
                  lambda: exact_groups(["a"], "letters"), lambda: same_keys(["a"], "x")):  # fmt: skip
        with pytest.raises(LinnetError):
            wrong()
    assert near_groups([]).tolist() == []
    assert exact_groups([]).tolist() == []


def test_bands_miss_few():
    for threshold in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0):
        bands, rows = bands_for(threshold)
        assert bands * rows <= 128
        assert (1 - threshold**rows) ** bands <= 0.002


def test_minima_estimate_the_similarity():
    a = " ".join(f"w{k}" for k in range(100))
    b = " ".join(f"w{k}" for k in range(20, 120))
    found = Sketches.of([a, b], 1024)
    exact = reference.alike(reference.shingles(a, 3), reference.shingles(b, 3), 10**6)
    assert abs((found.minima[0] == found.minima[1]).mean() - exact) < 4 * (exact * (1 - exact) / 1024) ** 0.5


@given(keys=st.lists(st.lists(st.integers(0, 50) | st.integers(0, 2**64 - 1), max_size=40), max_size=5))
@settings(max_examples=60, deadline=None)
def test_repeats_are_those_of_a_set(keys):
    with temporary_folder() as folder:
        seen = Repeats(folder)
        for part in keys:
            seen.add(np.array(part, dtype=np.uint64))
        marks = seen.marks().tolist()
    before: set[int] = set()
    for key, mark in zip([k for part in keys for k in part], marks, strict=True):
        assert mark == (key in before)
        before.add(key)


@pytest.mark.parametrize("kind", ["random", "few", "one", "low bits"])
def test_repeats_do_not_depend_on_memory(kind, monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    n = 30_000
    keys = {
        "random": rng.integers(0, 1 << 63, size=n, dtype=np.uint64)[rng.integers(0, n, size=n)],
        "few": rng.integers(0, 5, size=n).astype(np.uint64) << np.uint64(61),
        "one": np.full(n, 2**64 - 1, dtype=np.uint64),
        "low bits": rng.integers(0, 20_000, size=n).astype(np.uint64),
    }[kind]
    expected = np.ones(n, dtype=bool)
    expected[np.unique(keys, return_index=True)[1]] = False
    for least, memory in ((1 << 12, 1 << 30), (64, 1), (1000, 70_000)):
        monkeypatch.setattr("linnet.text.clean.corpus._LEAST", least)
        with temporary_folder(tmp_path) as folder:
            seen = Repeats(folder, memory)
            for start in range(0, n, 777):
                seen.add(keys[start : start + 777])
            assert np.array_equal(seen.marks(), expected)
    assert list(Path(tmp_path).iterdir()) == [], "no files are left behind"


@given(
    text=st.text(max_size=80)
    | st.lists(st.sampled_from(["One", "two.", "Three!", "Dr.", "\n", "...", '?"', "。", "J.", " "]), max_size=20).map(
        " ".join
    )
)
@settings(max_examples=300, deadline=None)
def test_sentences_are_in_order_and_lose_no_letter(text):
    at = 0
    for start, end in sentences(text):
        assert at <= start < end <= len(text)
        assert not any(map(str.isalnum, text[at:start]))
        assert text[start:end] == text[start:end].strip()
        assert "\n" not in text[start:end]
        at = end
    assert not any(map(str.isalnum, text[at:]))


def test_span_keys_ignore_case_and_signs():
    keys, cut = span_keys(["One. Two. Three.", "", "ONE! two? (Three)", "One. Two."])
    assert [len(found) for found in cut] == [3, 0, 3, 2]
    assert len(keys) == 2
    assert keys[0] == keys[1]


@pytest.mark.slow
@needs_data
def test_known_duplicates_of_mpqa_and_imdb():
    import csv

    import pyarrow.parquet as pq

    folder = Path(os.environ["LINNET_DATA"])
    with (folder / "mpqa" / "all.csv").open(newline="", encoding="utf-8") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    assert repeats(exact_groups(texts)).sum() == 2365  # as they stand; three of the texts are empty
    assert repeats(exact_groups([t for t in texts if t.strip()])).sum() == 2363
    assert repeats(exact_groups(texts, "words")).sum() == 2372
    parts = [
        pq.read_table(folder / "imdb" / f"{part}.parquet").column("text").to_pylist() for part in ("train", "test")
    ]
    groups = exact_groups(parts[0] + parts[1])
    assert len(set(groups[:25000].tolist()) & set(groups[25000:].tolist())) == 123
    near = near_groups(parts[0] + parts[1])
    both = set(near[:25000].tolist()) & set(near[25000:].tolist())
    assert len(both) >= 123
    assert repeats(near).sum() >= repeats(groups).sum()


def test_a_quick_look_bounds_the_share_of_near_duplicates():
    """It is no less than the share that the groups come to, and its minima are those of the sketches."""
    rng = np.random.default_rng(0)
    words = [f"w{k}" for k in range(3000)]
    texts = [" ".join(rng.choice(words, rng.integers(4, 40))) for _ in range(400)]
    near = [text + " more" for text in texts[:150] if text.count(" ") > 16]
    for some in (texts, texts + near, [*texts, "", "?!"], []):
        sizes = np.bincount(near_groups(some), minlength=1)
        copied = sizes[sizes > 1].sum() / max(1, len(some))
        assert copied <= near_share_bound(some) <= copied + 0.1
    by, piece = _multipliers(6), text_buffers(texts)[0]
    minima, scratch = np.empty((len(texts), 6), np.uint32), np.empty(1000, np.uint64)
    document_minima(piece.data, piece.offsets, 0, len(texts), 3, by, scratch, minima)
    np.testing.assert_array_equal(minima, Sketches.of(texts, 6).minima)
