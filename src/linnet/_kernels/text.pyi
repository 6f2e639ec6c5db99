"""The compiled module text: what the kernels of text take and give."""

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from linnet._kernels._arrays import Bytes, Float32s, Float64s, Int16s, Int32s, Int64s, UInt16s, UInt32s, UInt64s

Number = TypeVar("Number", np.int32, np.int64, np.float32, np.float64)

# scratch.pyx

class Scratch:
    longest: int
    room: int
    hashes: UInt64s
    token_places: Int32s
    codes: UInt32s
    char_places: Int32s
    fps: UInt64s
    starts: Int32s
    lengths: Int32s
    def __init__(self, longest: int, room: int = ...) -> None: ...
    def make_room(self, room: int) -> None: ...

class CompiledBlocks:
    rows: tuple[tuple[int, int, int, int, int, int, float], ...]
    def __init__(self, rows: Iterable[tuple[int, int, int, int, int, int, float]]) -> None: ...
    def __len__(self) -> int: ...

# featurize.pyx

def unicode_version() -> str: ...
def classify(codes: UInt32s, out: Bytes) -> None: ...
def scripts(data: Bytes, offsets: Int64s, rows: Int64s, longest: int, out: Bytes) -> None: ...
def phrase_hash(words: Iterable[str]) -> int: ...
def tokenise_text(data: Bytes, tokens: int, case_mode: int, scratch: Scratch) -> int: ...
def emit_chunk(
    data: Bytes, offsets: Int64s, first: int, last: int, blocks: CompiledBlocks, scratch: Scratch, ends: Int64s
) -> int: ...

# names.pyx

def write_names(
    data: Bytes, begin: Int64s, lengths: Int32s, which: Bytes, fps: UInt64s, blocks: CompiledBlocks, scratch: Scratch,
    out: Bytes, out_offsets: Int64s,
) -> None: ...  # fmt: skip

# vocab.pyx

class VocabularyBuilder:
    n_columns: int
    n_entries: int
    n_segments: int
    def __init__(self, bits: int, n_entries: int, n_segments: int, counting: bool) -> None: ...
    @property
    def fingerprints(self) -> UInt64s: ...
    @property
    def seen(self) -> tuple[Int32s, Int32s, Int32s, Bytes]: ...
    @property
    def indptr(self) -> Int64s: ...
    @property
    def indices(self) -> Int32s: ...
    @property
    def counts(self) -> Int32s: ...
    def add(self, scratch: Scratch, ends: Int64s, n_documents: int, n_blocks: int, first_document: int) -> None: ...
    def absorb(self, other: VocabularyBuilder) -> None: ...

def rehash_table(old: UInt64s, table: UInt64s, shift: int) -> None: ...
def merge_vocabulary(
    shard: UInt64s, table: UInt64s, shift: int, n_columns: int, vocab: UInt64s, numbers: Int32s
) -> int: ...
def place_fingerprints(fps: UInt64s, slots: UInt64s, shift: int) -> bool: ...
def lookup_chunk(
    scratch: Scratch, ends: Int64s, n_segments: int, slots: UInt64s, shift: int, column_of: Int32s, last: UInt32s,
    state: Int64s, indices: Int32s, counts: Int32s, indptr: Int64s,
) -> None: ...  # fmt: skip
def find_slots(fps: UInt64s, slots: UInt64s, shift: int, out: Int64s) -> None: ...
def fill_rows(fps: UInt64s, slots: UInt64s, shift: int, norm: Float32s, W: Float32s, rows: Float32s) -> None: ...
def measure_rows(rows: Float32s, squares: Float64s, most: Float64s) -> None: ...
def read_keys(planes: Bytes, shift: int, out: UInt64s) -> bool: ...
def spread(bits: Bytes, values: npt.NDArray[Any], out: npt.NDArray[Any]) -> bool: ...
def lay_out(
    fps: UInt64s, slots: UInt64s, shift: int, norm: Float32s, W: Float32s, rows: Float32s, used: Int64s,
) -> bool: ...  # fmt: skip

# counts.pyx

def prune_columns(indices: Int32s, counts: Int32s, indptr: Int64s, numbers: Int32s) -> int: ...
def take_segments(
    indices: Int32s, counts: Int32s, begin: Int64s, indptr: Int64s, numbers: Int32s, columns: Int32s,
    out_indices: Int32s, out_counts: Int32s,
) -> int: ...  # fmt: skip
def document_frequency(indices: Int32s, df: Int32s) -> None: ...
def class_frequency(indptr: Int64s, indices: Int32s, y: Int32s, out: Int32s) -> None: ...
def sort_rows(
    indptr: Int64s, indices: Int32s, values: npt.NDArray[Number], n_columns: int, scratch: UInt64s, out_indices: Int32s,
    out_values: npt.NDArray[Number],
) -> None: ...  # fmt: skip

# score.pyx

class WeightTable:
    def __init__(self, b: Float64s, tf: int, normalise: int, shift: int) -> None: ...
    def of_floats(self, slots: UInt64s, rows: Float32s, ignored: int) -> WeightTable: ...
    def of_codes(self, records: UInt16s, codes: Int16s, norms: Float32s, steps: Float32s, bits: int) -> WeightTable: ...
    def find(self, fps: UInt64s, out: Int64s) -> None: ...

def record_width(n_outputs: int) -> int: ...
def encode_rows(
    keys: UInt64s, norm: Float32s, W: npt.NDArray[Any], steps: Float32s, shift: int, bits: int, records: UInt16s,
    codes: Int16s, norms: Float32s, used: Int64s,
) -> bool: ...  # fmt: skip
def score_documents(
    data: Bytes, offsets: Int64s, first: int, last: int, blocks: CompiledBlocks, weights: WeightTable,
    scratch: Scratch, out: Float64s,
) -> None: ...  # fmt: skip

# parts.pyx

class FoundFeatures:
    def __init__(self, n_documents: int, n_blocks: int, room: int) -> None: ...
    @property
    def features(self) -> tuple[Int64s, Float64s, Int64s, Int64s]: ...
    @property
    def places(self) -> tuple[UInt64s, Int32s, Int32s]: ...
    @property
    def ends(self) -> Int64s: ...
    @property
    def unknown(self) -> Int64s: ...

def walk_documents(
    data: Bytes, offsets: Int64s, blocks: CompiledBlocks, weights: WeightTable, scratch: Scratch, found: FoundFeatures
) -> None: ...
def weigh_features(
    ptr: Int64s, slot: Int64s, factor: Float64s, W: Float32s, plus: Int64s, minus: Int64s, sign: Float64s,
    out: Float64s,
) -> None: ...  # fmt: skip
def largest_of_runs(values: Float64s, ptr: Int64s, out: Int64s) -> None: ...
def spread_over_characters(
    values: Float64s, first: Int64s, count: Int64s, begin: Int32s, end: Int32s, blank: Bytes, out: Float64s
) -> float: ...

class NameTable:
    tally: Int64s
    fps: UInt64s
    document: Int64s
    start: Int32s
    length: Int32s
    block: Bytes
    dropped: Bytes
    def __init__(self, rank: Int32s, shift: int, n_rows: int, width: int) -> None: ...
    def add(self, scratch: Scratch, ends: Int64s, n_documents: int, n_blocks: int, first_document: int) -> None: ...
    def absorb(self, other: VocabularyBuilder) -> None: ...

# measure.pyx

class PhraseTable:
    def __init__(
        self, slots: UInt64s, shift: int, begin: Int32s, end: Int32s, lists: Int32s, weights: Float64s, tokens: int,
        case_mode: int,
    ) -> None: ...  # fmt: skip

def list_sums(data: Bytes, offsets: Int64s, phrases: PhraseTable, scratch: Scratch, out: Float64s) -> None: ...
def count_lengths(data: Bytes, offsets: Int64s, scratch: Scratch, out: Float64s) -> None: ...

# minhash.pyx

def word_keys(data: Bytes, offsets: Int64s, scratch: UInt64s, keys: UInt64s) -> None: ...
def document_minima(
    data: Bytes, offsets: Int64s, first: int, last: int, size: int, multipliers: UInt64s, scratch: UInt64s, minima: UInt32s,
) -> None: ...  # fmt: skip
def sketch_documents(
    data: Bytes, offsets: Int64s, first: int, last: int, size: int, multipliers: UInt64s, scratch: UInt64s,
    keys: UInt64s, totals: Int32s, smallest: UInt32s, minima: UInt32s,
) -> None: ...  # fmt: skip
def similarity(a: UInt32s, b: UInt32s, k: int) -> float: ...
def link_similar(
    order: Int64s, keys: UInt64s, starts: Int64s, values: UInt32s, k: int, threshold: float, patience: int,
    parent: Int64s,
) -> int: ...  # fmt: skip

# varint.pyx

def pack_numbers(values: Int32s, out: Bytes) -> int: ...
def unpack_numbers(data: Bytes, out: Int32s) -> int: ...
