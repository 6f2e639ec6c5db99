"""Word vectors as features: a text is the weighted sum of the vectors of its words.

    linnet train reviews.csv --vectors glove.6B.100d.txt

The sum is linear in the words, so a model that has learned a weight a dimension has a weight a word: w_t = e_t . v, also
for words that no training row has. When the model is put together the vectors are folded into such weights, a block of
words like any other: the model file holds no vectors, prediction is the same lookup, and explanations stay exact.

    x = sum_t a_t tf_t e_t / sqrt(sum_t (a_t tf_t)^2),     a_t = (r_t + 10) / (r_t + 110)

r_t is the place of the word in the file, which has frequent words first; a_t is the weight a / (a + p_t) of Arora et al.
(2017) with a = 0.001 and p_t by Zipf's law. Vectors are centred. Files: text of word2vec, GloVe and fastText (.vec), the
binary form of word2vec, and safetensors with a list of words (NAME.words.txt) or a tokenizer.json beside it; hub:owner/name
fetches such a pair, for example the static vectors of Model2Vec.

``learn_vectors`` learns vectors from texts without labels: words that occur in the same texts more often than by chance are
alike. M is the positive pointwise mutual information of words in segments of 40 words, with the counts of contexts to the
power of 0.75 (Levy et al. 2015); its leading eigenvectors, times the root of their eigenvalues, are the vectors.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from linnet import arithmetic
from linnet._kernels import sparse
from linnet.array_types import Array, Floats, Floats32, Hashes, Ints, Ints32
from linnet.errors import DataError, LinnetError
from linnet.features.blocks import Computed, Folded, FoldedVectors
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.features.counting import SparseCounts, count, count_known, vocabulary

MOST_WORDS = 50_000
CENTRED_ON = 20_000  # words
MOST_DIMENSIONS = 4_096
FREQUENT_WORDS = 10_000  # that vectors are learned of
LEAST_TEXTS = 3  # that hold such a word
SEGMENT = 40  # words
MOST_ENTRIES = 1_000_000  # words of texts that vectors are learned from; beyond, every other text, every third ...
LEARNED_DIMENSIONS, PASSES = 100, 6
_MARKS = ("Ġ", "▁")  # what a tokenizer.json writes before the first piece of a word


@dataclass(frozen=True)
class WordVectors:
    """Words that are one token each, by their fingerprint; their vectors, centred; how much each counts in a text."""

    words: tuple[str, ...]
    fingerprints: Hashes
    E: Floats32  # (n_words, n_dimensions)
    weight: Floats32

    @cached_property
    def vocabulary(self) -> tuple[Any, ...]:
        """The fingerprints laid out for lookup."""
        return vocabulary(self.fingerprints)


LEARNED: dict[str, WordVectors] = {}
"""Vectors that were learned in this process, by name."""


@dataclass(frozen=True)
class Vectors(Computed):
    """The vectors of one file; weight is how much they count beside the other blocks, tf that of the model."""

    source: str
    weight: float = 1.0
    tf: str = field(default="presence", repr=False)

    name: ClassVar[str] = "vectors"
    together: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", os.fspath(self.source))
        self._check_weight()

    def __getstate__(self) -> dict[str, Any]:
        """Take vectors that were learned in this process along to another one."""
        return {**vars(self), "learned": LEARNED.get(self.source)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        learned = state.pop("learned")
        if learned is not None:
            LEARNED.setdefault(state["source"], learned)
        vars(self).update(state)

    @property
    def word_vectors(self) -> WordVectors:
        """The words and their vectors, read once."""
        if self.source in LEARNED:
            return LEARNED[self.source]
        path = Path(self.source)
        if self.source.startswith("hub:"):
            from linnet.datasets.named import fetch_vectors

            path = fetch_vectors(self.source)
        if not path.is_file():
            raise DataError(f"there is no file of word vectors at {self.source}")
        found = path.stat()
        return read_vectors(str(path), found.st_mtime_ns, found.st_size)

    @property
    def columns(self) -> tuple[str, ...]:
        """One a dimension."""
        return tuple(f"{self.source} {k + 1}" for k in range(self.word_vectors.E.shape[1]))

    def _count(self, pieces: list[TextBuffer]) -> SparseCounts:
        """Count the words that have a vector."""
        known, counting = self.word_vectors.vocabulary, self.tf != "presence"
        return count_known(pieces, (FoldedVectors(),), *known, counting=counting, threads=1)

    def known_share(self, pieces: list[TextBuffer]) -> float:
        """Return the share of the words of some texts that have a vector."""
        every = len(count(pieces, (FoldedVectors(),), threads=1).rows.indices)
        return len(self._count(pieces).indices) / max(1, every)

    def values_of(self, piece: TextBuffer, first: int = 0) -> Floats:
        """Return the vectors of all documents."""
        known, rows = self.word_vectors, self._count([piece])
        values = rows.values(self.tf, known.weight, norm="l2", multiply=True)
        out = np.empty((len(piece), known.E.shape[1]))
        sparse.dot(rows.indptr, rows.indices, values, known.E, 0, len(piece), out)
        return out

    def folded(self, W: Floats32) -> Folded:
        """Return a weight a word and output, from a weight a dimension and output."""
        known = self.word_vectors
        weights = arithmetic.matmul(known.E.astype(np.float64), W.astype(np.float64)) * known.weight[:, None]
        names = tuple(f"{word} (vector)" for word in known.words)
        return Folded(FoldedVectors(), known.fingerprints, known.weight, np.asarray(weights, dtype=np.float32), names)

    def with_tf(self, tf: str) -> Vectors:
        """Sum vectors as the model will: its tf is that of every block."""
        return replace(self, tf=tf)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Vectors:
        """No model file holds vectors."""
        raise LinnetError("a model file holds no word vectors: they are folded into the weights of words")

    def written(self) -> list[str]:
        """Return the file."""
        return [self.source]


# ---- learned from texts


def learn_vectors(pieces: list[TextBuffer]) -> str:
    """Learn vectors from texts without labels; returns the name that ``Vectors`` knows them by in this process."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece.data[piece.offsets[0] : piece.offsets[-1]].tobytes() + piece.offsets.tobytes())
    name = f"unlabelled-{digest.hexdigest()[:8]}"
    if name not in LEARNED:
        LEARNED[name] = _learned_from(pieces)
    return name


def _learned_from(pieces: list[TextBuffer]) -> WordVectors:
    blocks = (FoldedVectors(),)
    counted = count(pieces, blocks)
    df = counted.rows.document_frequency()
    kept = np.argsort(-df.astype(np.int64), kind="stable")[:FREQUENT_WORDS]
    kept = kept[df[kept] >= LEAST_TEXTS]
    n = len(kept)
    if n < 2:
        raise DataError(
            f"{len(counted.rows):,} texts have too few words in common to learn vectors from; give more texts"
        )
    counted = counted.keep(kept)
    step = -(-len(counted.rows.indices) // MOST_ENTRIES)
    rows = counted.rows.take(np.arange(0, len(counted.rows), max(1, step)))
    E = _leading(*_mutual_information(rows, n), min(LEARNED_DIMENSIONS, n))
    words = tuple(counted.names(pieces, blocks))
    return WordVectors(words, counted.fingerprints, *_weighted(E, np.arange(n)))


def _weighted(E: Array, place: Ints) -> tuple[Floats32, Floats32]:
    """Return the vectors centred, and how much each word counts."""
    centre = arithmetic.mean(E[:CENTRED_ON].astype(np.float64), axis=0)
    weight = (place + 10.0) / (place + 110.0)
    return np.ascontiguousarray(E - centre, dtype=np.float32), weight.astype(np.float32)


def _mutual_information(rows: SparseCounts, n: int) -> tuple[Ints, Ints32, Floats]:
    """Return the positive mutual information of n words, a symmetric CSR matrix (but for the power of the contexts)."""
    column = rows.indices.astype(np.int64)
    place = np.arange(len(column)) - np.repeat(rows.indptr[:-1], np.diff(rows.indptr))  # in its text
    segment = np.repeat(np.arange(len(rows)), np.diff(rows.indptr)) * (1 << 32) + place // SEGMENT
    pairs = []
    for lag in range(1, SEGMENT):
        together = np.flatnonzero(segment[lag:] == segment[:-lag])
        a, b = column[together], column[together + lag]
        pairs += [a * n + b, b * n + a]
    keys, counts = np.unique(np.concatenate(pairs) if pairs else np.zeros(0, np.int64), return_counts=True)
    i, j = keys // n, keys % n
    total = np.bincount(i, counts, n)  # whole numbers: exact in any order
    context = arithmetic.power(np.maximum(total, 1.0), 0.75)
    value = arithmetic.log(counts * arithmetic.total(context) / (total[i] * context[j]))
    positive = value > 0
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(i[positive], minlength=n))])
    return indptr, j[positive].astype(np.int32), value[positive]


def _leading(indptr: Ints, indices: Ints32, values: Floats, d: int) -> Floats:
    """Return the d leading eigenvectors, by simultaneous iteration, each times the root of its eigenvalue."""
    n = len(indptr) - 1
    Q, out = arithmetic.normal(np.random.default_rng(0), (n, d)), np.empty((n, d))
    for _ in range(PASSES):
        sparse.dot(indptr, indices, values, _orthonormal(Q), 0, n, out)
        Q = out.copy()
    size = np.array([arithmetic.norm(column) for column in Q.T])
    return np.asarray(_orthonormal(Q) * np.sqrt(size))


def _orthonormal(Q: Floats) -> Floats:
    """Make columns of length 1 that stand at right angles, from left to right (Gram and Schmidt, each twice)."""
    rows = np.ascontiguousarray(Q.T)
    for k in range(len(rows)):
        for _ in range(2):
            if k:
                shares = arithmetic.matmul(rows[:k], rows[k][:, None])
                rows[k] -= arithmetic.matmul(shares.T, rows[:k])[0]
        size = arithmetic.norm(rows[k])
        rows[k] = rows[k] / size if size > 1e-12 else 0.0
    return np.ascontiguousarray(rows.T)


# ---- files


@lru_cache(maxsize=2)
def read_vectors(source: str, changed: int = 0, size: int = 0) -> WordVectors:
    """Read a file; words that the tokeniser cuts are left out, of those that fold to one word the first stays."""
    path = Path(source)
    words, E = _of_safetensors(path) if path.suffix == ".safetensors" else _of_text(path)
    if not words:
        raise DataError(f"{source}: holds no word vectors")
    if E.ndim != 2 or len(words) != len(E) or not 0 < E.shape[1] <= MOST_DIMENSIONS:
        raise DataError(f"{source}: {len(words):,} words and vectors of the shape {E.shape} do not go together")
    E = np.asarray(E, dtype=np.float32)
    if not np.isfinite(E).all():
        raise DataError(f"{source}: the vector of '{words[int(np.argmax(~np.isfinite(E).all(axis=1)))]}' is not finite")
    counted = count(text_buffers(words), (FoldedVectors(),), counting=True, threads=1)
    alone = np.flatnonzero(np.diff(counted.rows.indptr) == 1)
    entry = counted.rows.indptr[alone]
    alone, entry = (a[counted.rows.counts[entry] == 1] for a in (alone, entry))
    column, at = np.unique(counted.rows.indices[entry], return_index=True)
    order = np.argsort(alone[at], kind="stable")[:MOST_WORDS]
    kept = alone[at][order]
    if not len(kept):
        raise DataError(f"{source}: none of its {len(words):,} words is a word of a text")
    known = tuple(words[k] for k in kept.tolist())
    return WordVectors(known, counted.fingerprints[column[order]], *_weighted(E[kept], kept))


def _of_text(path: Path) -> tuple[list[str], Array]:
    """Read lines of a word and its numbers, with or without a first line of two sizes; or word2vec's binary form."""
    from linnet.data.input_file import InputFile

    with InputFile(path) as file:
        whole = file.read_all()
    first, _, rest = whole.partition(b"\n")
    sized = re.fullmatch(rb"\s*(\d{1,9})\s+(\d{1,5})\s*", first)
    if sized:
        cells = rest.partition(b"\n")[0].split()
        if len(cells) <= int(sized[2]) or not re.fullmatch(rb"[-+.0-9eE]+", cells[-1]):
            return _of_binary(path, rest, int(sized[1]), int(sized[2]))
    lines = (rest if sized else whole).splitlines()[: 4 * MOST_WORDS]
    width = len(lines[0].split()) - 1 if lines else 0
    words, rows = [], []
    for k, line in enumerate(lines):
        cells = line.rsplit(maxsplit=width)  # a word may hold a blank
        try:
            rows.append(np.array(cells[1:], dtype=np.float32))
            words.append(cells[0].decode("utf-8", "replace"))
        except (ValueError, IndexError):
            rows.append(np.zeros(0, np.float32))
        if len(rows[-1]) != width or not width:
            raise DataError(
                f"{path}, line {k + 1 + bool(sized)}: expected a word and {width or 'some'} numbers; vectors come as text "
                "of word2vec, GloVe or fastText, as binary of word2vec, or as safetensors with a list of words"
            )
    return words, np.array(rows).reshape(len(rows), width)


def _of_binary(path: Path, data: bytes, n: int, width: int) -> tuple[list[str], Array]:
    """Read word2vec's binary form: a word, a blank, its numbers in 32 bits."""
    words: list[str] = []
    rows, at = [], 0
    for _ in range(min(n, 4 * MOST_WORDS)):
        end = data.find(b" ", at, at + 4_000)
        if end < 0 or end + 1 + 4 * width > len(data):
            raise DataError(f"{path}: word {len(words) + 1:,} of {n:,} is cut off; copy or download the file again")
        words.append(data[at:end].strip().decode("utf-8", "replace"))
        rows.append(np.frombuffer(data, "<f4", width, end + 1))
        at = end + 1 + 4 * width
    return words, np.array(rows).reshape(len(rows), width)


def _of_safetensors(path: Path) -> tuple[list[str], Array]:
    """Read the only matrix of a safetensors file, and the words that lie beside it."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        (E,) = (array for array in load_file(path).values() if array.ndim == 2 and array.dtype.kind == "f")
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is not a safetensors file with one matrix of 16, 32 or 64 bits") from error
    listed = next((p for p in (path.with_suffix(".words.txt"), path.parent / "words.txt") if p.exists()), None)
    if listed is not None:
        return listed.read_text(encoding="utf-8").removesuffix("\n").split("\n")[: len(E)], E
    tokenizer = path.parent / "tokenizer.json"
    if not tokenizer.exists():
        raise DataError(f"{path} needs its words beside it: {path.stem}.words.txt, a line each, or a tokenizer.json")
    return _of_tokenizer(tokenizer, E)


def _of_tokenizer(path: Path, E: Array) -> tuple[list[str], Array]:
    """Take the pieces that are whole words: those with a mark in front, or without where none has one."""
    try:
        vocabulary = json.loads(path.read_bytes())["model"]["vocab"]
        pairs = vocabulary.items() if isinstance(vocabulary, dict) else ((v[0], k) for k, v in enumerate(vocabulary))
        found = sorted((int(k), str(word)) for word, k in pairs if 0 <= int(k) < len(E))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise DataError(f"{path} is not a tokenizer.json with a vocabulary") from error
    marked = [(k, word[1:]) for k, word in found if word.startswith(_MARKS)]
    whole = marked or [(k, word) for k, word in found if not word.startswith("##")]
    return [word for _, word in whole], E[[k for k, _ in whole]]
