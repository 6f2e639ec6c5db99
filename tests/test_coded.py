"""Rounded weights in memory: the floats they stand for, the same lookups and sums, and files that could lead a kernel astray."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linnet
from linnet.features.blocks import parse
from linnet.model import file as store
from linnet.model.coded import NORMS, CodedTable, rounded
from linnet.model.model import Model
from linnet.model.table import FloatTable

BITS = 24


def keys_of(n, seed, crowded=False, bits=BITS):
    """Ascending fingerprints; where they are crowded, most have nearly the same home."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(
        1 << 62 if crowded else 1, (1 << 62) + (1 << 50) if crowded else (1 << 64) - 1, 2 * n, np.uint64
    )
    return np.sort(rng.permutation(np.unique(keys | np.uint64((1 << (64 - bits)) - 1)))[:n])


def tables(n, K, seed=0, crowded=False, norms=50):
    """The same rows as floats and as codes."""
    rng = np.random.default_rng(seed)
    steps = np.float32(2.0) ** rng.integers(-20, 3, 1 + K).astype(np.float32)
    steps[0] = 0.0
    codes = rng.integers(-32_767, 32_768, (n, K)).astype(np.int16)
    norm = rng.choice(rng.random(norms, np.float32) + np.float32(0.1), n).astype(np.float32)
    keys = keys_of(n, seed, crowded)
    floats = FloatTable.of(keys, norm, codes * steps[1:])
    return replace(floats, bits=BITS), CodedTable.of(keys, norm, codes, steps, 0, BITS)


@given(st.integers(0, 300), st.integers(1, 9), st.integers(0, 5), st.booleans())
def test_codes_are_the_floats_they_stand_for(n, K, seed, crowded):
    floats, coded = tables(n, K, seed, crowded)
    coded.check()
    np.testing.assert_array_equal(coded.slots, floats.slots)
    np.testing.assert_array_equal(coded.rows, floats.rows)
    np.testing.assert_array_equal(coded.used, floats.used)
    del vars(coded)["used"]
    np.testing.assert_array_equal(coded.used, floats.used)
    fingerprints = np.concatenate(
        [floats.slots[floats.used], keys_of(200, seed + 100, crowded), keys_of(50, 7) - np.uint64(1)]
    )
    np.testing.assert_array_equal(coded.find(fingerprints), floats.find(fingerprints))


@pytest.mark.parametrize("norm", [None, "l2", "mean"])
@pytest.mark.parametrize("tf", ["presence", "count", "sublinear"])
@pytest.mark.parametrize("K", [1, 4, 6, 7, 40])
@pytest.mark.parametrize("hash_bits", [None, 12])
def test_codes_give_the_sums_of_the_floats(norm, tf, K, hash_bits):
    rng = np.random.default_rng(K)
    words = [f"w{k}" for k in range(3000)]
    texts = [" ".join(rng.choice(words, n)) for n in (0, 1, 30, 400, 60_000)]  # the last is taken in pieces
    classes = tuple(range(max(K, 2))) if K > 1 else ("a", "b")
    table = features_of(texts, K, hash_bits, rng)
    wholes = rounded(table, 0)
    assert isinstance(wholes, CodedTable)
    floats = replace(table, slots=wholes.slots, rows=wholes.rows, bits=wholes.bits, records=None)
    made = [Model(classes, parse("words:1-2"), tf, norm, t, np.arange(float(K))) for t in (wholes, floats)]
    np.testing.assert_array_equal(*(m.scores(texts, threads=1) for m in made))
    a, b = (m.known_features(texts) for m in made)
    np.testing.assert_array_equal(a, b)


def features_of(texts, K, hash_bits, rng):
    """A table of random weights for most of the features of texts."""
    clf = linnet.TextClassifier("nb", features="words:1-2", hash_bits=hash_bits, full_precision=True)
    table = clf.fit(texts[2:], ["a", "b", "a"]).artefact.table
    used = table.used[::2] if hash_bits is None else table.used
    W = rng.normal(size=(len(used), K)).astype(np.float32)
    norm = (1.0 + rng.integers(0, 9, len(used))).astype(np.float32)
    if hash_bits is None:
        return FloatTable.of(table.slots[used], norm, W)
    return FloatTable(table.slots, np.concatenate([norm[:, None], W], axis=1), table.shift)


def test_many_different_norms_are_rounded_until_they_are_few():
    n = 100_000
    rng = np.random.default_rng(1)
    norm = (1.0 + rng.random(n)).astype(np.float32)
    table = FloatTable.of(keys_of(n, 1, bits=64), norm, rng.normal(size=(n, 1)).astype(np.float32))
    made = rounded(table)
    assert len(np.unique(norm)) > NORMS >= len(np.unique(made.rows[made.used, 0]))
    np.testing.assert_allclose(made.rows[made.used, 0], norm, rtol=2.0**-10)


def test_fingerprints_far_from_their_home_stay_floats():
    keys = np.uint64(1 << 63) + (np.arange(70_000, dtype=np.uint64) << np.uint64(20))
    steps = np.array([0.0, 1.0], np.float32)
    assert CodedTable.of(keys, np.ones(len(keys), np.float32), np.ones((len(keys), 1), np.int8), steps, 0, 44) is None


def mapped(tmp_path, K=3):
    labels = [str(k % K) for k in range(60)]
    texts = [" ".join(f"w{k % K}{j}" for j in range(k, k + 900)) for k in range(60)]
    clf = linnet.TextClassifier("nb", features="words:1-2", ratio=0.0).fit(texts, labels)
    artefact = clf.artefact.compact(0)
    artefact.save(tmp_path / "m", mapped=True)
    return artefact, store.read(tmp_path / "m"), texts


@pytest.mark.parametrize("K", [2, 3, 8])
def test_a_mapped_file_is_checked_before_a_kernel_reads_it(tmp_path, K):
    artefact, stored, texts = mapped(tmp_path, K)
    again = Model.load(tmp_path / "m")
    np.testing.assert_array_equal(again.scores(texts), artefact.scores(texts))
    assert again.names() == artefact.names()
    coded = np.array(stored.tensors["coded"])
    words = coded.view(np.uint32)
    changes = {
        "slots cut off": {"coded": coded[:9]},
        "the end is used": {"coded": changed(coded, -1, 2, 1)},
        "the end is not above all": {"coded": changed(coded, -1, 0, int(coded[-1, 0]) ^ 1)},
        "a norm less": {"norms": stored.tensors["norms"][1:]},
        "a norm that is none": {
            "norms": np.where(np.arange(NORMS) == 1, np.nan, stored.tensors["norms"]).astype(np.float32)
        },
        "narrower": {"coded": np.ascontiguousarray(coded[:, :-1])},
        "an output less": {"codes": np.ascontiguousarray(stored.tensors["codes"][:, :-1])},
        "a step that is none": {"steps": np.full_like(stored.tensors["steps"], np.nan)},
    }
    if K > 6:
        changes["a row that is not there"] = {
            "coded": changed(words, 5, 1, len(stored.tensors["codes"])).view(np.uint16)
        }
        changes["rows cut off"] = {"codes": stored.tensors["codes"][:5]}
    for change in changes.values():
        store.write(tmp_path / "n", {**stored.tensors, **change}, stored.card)
        with pytest.raises(linnet.ModelFileError, match="does not hold a linnet text model"):
            Model.load(tmp_path / "n")


def changed(array, i, j, value):
    out = array.copy()
    out[i, j] = value
    return out
