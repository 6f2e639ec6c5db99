"""Arrow arrays from plain Python and numpy values, and back, through their buffers.

`pa.array(list)`, `pa.scalar(x)` and `np.asarray(arrow)` import pandas when it is installed, which costs 0.3 s: more
than reading a small file and predicting it. Building the buffers by hand costs nothing and imports nothing.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.data.input_file import RawBatch

_INT32_MAX = 2**31 - 1


def call(function: str, *columns: Any, options: Any = None) -> Any:
    """Call a function of Arrow by its name; `pyarrow.compute` would first make 300 Python functions, which takes 0.04 s.

    >>> call("utf8_is_space", strings(["a", " "])).to_pylist()
    [False, True]
    """
    from pyarrow._compute import call_function

    return call_function(function, list(columns), options)


def cast(column: Any, kind: Any) -> Any:
    """A column in another type, as its method `cast` gives it.

    >>> cast(strings(["a"]), pa.large_string()).type
    DataType(large_string)
    """
    from pyarrow._compute import CastOptions

    return column if column.type == kind else call("cast", column, options=CastOptions.safe(kind))


def strings(values: Iterable[str | None]) -> pa.Array:
    """Python strings to an Arrow string array; None becomes null, lone surrogates become U+FFFD.

    >>> strings(["good", None, "b\u00e4d"]).to_pylist()
    ['good', None, 'b\u00e4d']
    >>> strings([]).type == pa.string()
    True
    """
    found = binaries([None if value is None else _utf8(value) for value in values])
    return found.view(pa.large_string() if pa.types.is_large_binary(found.type) else pa.string())


def binaries(values: Sequence[bytes | None]) -> pa.Array:
    """Python bytes to an Arrow binary array; large_binary beyond 2 GB.

    >>> binaries([b"good", None, b""]).to_pylist()
    [b'good', None, b'']
    """
    data = b"".join([value for value in values if value is not None])
    ends = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum([0 if value is None else len(value) for value in values], out=ends[1:])
    null = np.fromiter((value is None for value in values), dtype=bool, count=len(values))
    valid = pa.py_buffer(np.packbits(~null, bitorder="little")) if null.any() else None
    large = len(data) > _INT32_MAX
    stops = pa.py_buffer(ends if large else ends.astype(np.int32))
    kind = pa.large_binary() if large else pa.binary()
    return pa.Array.from_buffers(kind, len(values), [valid, stops, pa.py_buffer(data)])


def _utf8(value: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def integers(values: np.ndarray) -> pa.Array:
    """Numpy integers to an Arrow int64 array without a copy.

    >>> integers(np.array([2, 0, 1])).to_pylist()
    [2, 0, 1]
    """
    whole = np.ascontiguousarray(values, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(whole), [None, pa.py_buffer(whole)])


def floats(values: np.ndarray) -> pa.Array:
    """Numpy floats of 32 or 64 bits to an Arrow array without a copy.

    >>> floats(np.array([0.5, 2.0], np.float32)).type
    DataType(float)
    """
    found = np.ascontiguousarray(values)
    kind = pa.float32() if found.dtype == np.float32 else pa.float64()
    return pa.Array.from_buffers(kind, len(found), [None, pa.py_buffer(found)])


def decimals(values: np.ndarray) -> pa.Array:
    """Probabilities as strings with six decimals.

    >>> decimals(np.array([0.25, 1.0, 1e-7])).to_pylist()
    ['0.250000', '1.000000', '0.000000']
    """
    millionths = np.rint(np.asarray(values, np.float64) * 1e6).astype(np.int64)
    digits = np.full((len(millionths), 8), ord("."), np.uint8)
    powers = 10 ** np.arange(6, -1, -1)
    digits[:, [0, 2, 3, 4, 5, 6, 7]] = millionths[:, None] // powers % 10 + ord("0")
    ends = np.arange(0, digits.size + 1, 8, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(digits), [None, pa.py_buffer(ends), pa.py_buffer(digits)])


def booleans(mask: np.ndarray) -> pa.Array:
    """A numpy mask to an Arrow boolean array.

    >>> booleans(np.array([True, False, True])).to_pylist()
    [True, False, True]
    """
    return pa.Array.from_buffers(pa.bool_(), len(mask), [None, pa.py_buffer(np.packbits(mask, bitorder="little"))])


def to_mask(array: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """An Arrow boolean column without nulls to a numpy mask.

    >>> to_mask(booleans(np.array([True, False, True])[1:])).tolist()
    [False, True]
    """
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    parts = [to_numbers(cast(chunk, pa.uint8())).astype(bool) for chunk in chunks]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=bool)


def to_numbers(array: pa.Array) -> np.ndarray:
    """An Arrow array of numbers as a numpy array, without a copy; nulls hold anything.

    >>> to_numbers(integers(np.array([2, 0, 1]))[1:]).tolist()
    [0, 1]
    """
    dtype = array.type.to_pandas_dtype()
    if len(array) == 0:
        return np.zeros(0, dtype=dtype)
    found: np.ndarray = np.frombuffer(array.buffers()[1], dtype=dtype, count=array.offset + len(array))
    return found[array.offset :]


def offsets(array: pa.Array) -> np.ndarray:
    """The byte offsets of a string or binary array: value i is data[offsets[i]:offsets[i + 1]].

    >>> offsets(strings(["good", "", "film"])).tolist()
    [0, 4, 4, 8]
    """
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    dtype = np.int64 if wide else np.int32
    if len(array) == 0:
        return np.zeros(1, dtype=dtype)
    start = array.offset * np.dtype(dtype).itemsize
    return np.asarray(np.frombuffer(array.buffers()[1], dtype=dtype, count=len(array) + 1, offset=start))


def lengths(array: pa.Array) -> np.ndarray:
    """The length of each value in bytes.

    >>> lengths(strings(["good", "", "film!"])[1:]).tolist()
    [0, 5]
    """
    return np.diff(offsets(array))


def data_bytes(array: pa.Array) -> np.ndarray:
    """The bytes of all values of a string or binary array, joined: a view, no copy.

    >>> bytes(data_bytes(strings(["good", "film"])[1:]))
    b'film'
    """
    ends = offsets(array)
    buffer = array.buffers()[2]
    if buffer is None or ends[-1] == ends[0]:
        return np.zeros(0, dtype=np.uint8)
    return np.asarray(np.frombuffer(buffer, dtype=np.uint8, count=int(ends[-1] - ends[0]), offset=int(ends[0])))


def byte_slices(array: pa.Array, most: int) -> Iterator[slice]:
    """Cut a string array into parts of about so many bytes, of one row at least.

    >>> list(byte_slices(strings(["good", "a", "film"]), 6))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    ends = offsets(array).astype(np.int64)
    start = 0
    while start < len(array):
        stop = max(start + 1, int(np.searchsorted(ends, ends[start] + most, side="right")) - 1)
        yield slice(start, stop)
        start = stop


def take(column: pa.ChunkedArray, indices: np.ndarray) -> pa.ChunkedArray:
    """The rows of a column by position, safe where the result passes 2 GB.

    >>> take(pa.chunked_array([strings(["a", "b"]), strings(["c"])]), np.array([2, 0])).to_pylist()
    ['c', 'a']
    """
    if column.nbytes > _INT32_MAX and pa.types.is_string(column.type):
        column = cast(column, pa.large_string())
    if column.num_chunks > 1 and np.all(indices[1:] > indices[:-1]):  # take would join the chunks first: a whole copy
        mask = np.zeros(len(column), dtype=bool)
        mask[indices] = True
        return call("filter", column, booleans(mask))
    return call("take", column, integers(indices))


# ---- Raw columns to strings one can trust: valid UTF-8, no NUL, numbers printed as people write them.
#
# Whatever a reader found (bytes, dictionaries, numbers, lists) becomes an Arrow string column here. The usual case, a
# string column that is valid already, is checked at memory speed and passed on without a copy.


def printable(value: Any) -> str | None:
    """A Python value as a label or text: whole numbers without '.0', true and false, lists joined by '|'.

    >>> [printable(value) for value in (1, 1.0, 0.5, True, None, float("nan"), ["joy", "love"], "pos")]
    ['1', '1', '0.5', 'true', None, None, 'joy|love', 'pos']
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return _decode(value)[0]
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        number = float(value)
        if math.isnan(number):
            return None
        return str(int(number)) if number.is_integer() and abs(number) < 1e16 else repr(number)
    if isinstance(value, list | tuple):
        return "|".join(part for part in map(printable, value) if part is not None) or None
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def to_strings(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, Counter[str]]:
    r"""Any column as strings, and how many of them had to be repaired, by kind; lists are marked as such.

    >>> column, repairs = to_strings(pa.chunked_array([pa.array([b"good", b"na\xefve", b"a\0b"])]))
    >>> column.to_pylist(), dict(repairs)
    (['good', 'naïve', 'a b'], {'windows_1252': 1, 'nul': 1})
    >>> to_strings(pa.chunked_array([[1.0, 2.5, None]]))[0].to_pylist()
    ['1', '2.5', None]
    """
    repairs = Counter({"lists": 1} if is_list(column) else {})
    chunks = [_without_nul(_valid(chunk, repairs), repairs) for chunk in _as_text_type(column).chunks]
    kind = pa.large_string() if any(pa.types.is_large_string(chunk.type) for chunk in chunks) else pa.string()
    chunks = [chunk if chunk.type == kind else chunk.cast(kind) for chunk in chunks]
    return pa.chunked_array(chunks, type=kind), repairs


def is_list(column: pa.ChunkedArray) -> bool:
    """Whether the cells of a column are lists; where they are labels, a row has several."""
    kind = column.type
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def cells(values: Iterable[Any]) -> pa.Array:
    """Python values as a column: of lists where all are lists, else of strings.

    >>> cells([["joy"], None]).type, cells([1, "a"]).to_pylist()
    (ListType(list<item: string>), ['1', 'a'])
    """
    found = list(values)
    given = [value for value in found if value is not None]
    if given and all(isinstance(value, list | tuple | set | frozenset) for value in given):
        ordered = (sorted(value) if isinstance(value, set | frozenset) else value for value in found)
        rows = [None if value is None else list(map(printable, value)) for value in ordered]
        return pa.array(rows, pa.list_(pa.string()))
    return strings(map(printable, found))


def _as_text_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of any type as string or binary, large where it was."""
    kind, types = column.type, pa.types
    if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        return column
    if types.is_dictionary(kind):
        return _as_text_type(column.cast(kind.value_type))
    if types.is_string_view(kind):
        return column.cast(pa.large_string() if column.nbytes > _INT32_MAX else pa.string())
    if types.is_fixed_size_binary(kind) or types.is_binary_view(kind):
        return column.cast(pa.large_binary() if column.nbytes > _INT32_MAX else pa.binary())
    plain = types.is_boolean(kind) or types.is_integer(kind) or types.is_temporal(kind) or types.is_decimal(kind)
    if plain and not types.is_interval(kind):
        return column.cast(pa.string())
    if types.is_floating(kind):
        return by_distinct(column, printable)
    if isinstance(kind, pa.BaseExtensionType):
        return _as_text_type(column.cast(kind.storage_type))
    return pa.chunked_array([strings(map(printable, column.to_pylist()))])


def by_distinct(column: pa.ChunkedArray, change: Callable[[Any], str | None]) -> pa.ChunkedArray:
    """Apply a function to each distinct value once.

    >>> by_distinct(pa.chunked_array([strings(["a", None, "a"])]), str.upper).to_pylist()
    ['A', None, 'A']
    """
    chunks = []
    for chunk in column.chunks:
        coded = chunk.dictionary_encode()
        changed = strings(change(value) for value in coded.dictionary.to_pylist())
        chunks.append(changed.take(coded.indices))
    return pa.chunked_array(chunks, type=pa.string())


def _valid(chunk: pa.Array, repairs: Counter[str]) -> pa.Array:
    """The chunk as valid UTF-8; values that are not are decoded one by one."""
    large = pa.types.is_large_string(chunk.type) or pa.types.is_large_binary(chunk.type)
    raw = chunk.view(pa.large_binary() if large else pa.binary())
    try:
        return cast(raw, pa.large_string() if large else pa.string())
    except pa.ArrowInvalid:
        found = [(None, "") if value is None else _decode(value) for value in raw.to_pylist()]
        repairs.update(kind for _, kind in found if kind)
        return strings(text for text, _ in found)


def _decode(value: bytes) -> tuple[str, str]:
    """Bytes to text and the repair that took, if any.

    >>> _decode("naïve".encode("cp1252")), _decode("你好"[:2].encode()[:5])
    (('naïve', 'windows_1252'), ('你\ufffd', 'damaged_utf8'))
    """
    try:
        return value.decode(), ""
    except UnicodeDecodeError:
        pass
    if not value.decode("utf-8", "ignore").isascii():  # some of it is UTF-8: a cut or a broken byte, not another code
        return value.decode("utf-8", "replace"), "damaged_utf8"
    # Five bytes are undefined in Windows-1252; like browsers, read them as the control characters of Latin-1.
    return "".join([_WINDOWS_1252[byte] for byte in value]), "windows_1252"


_WINDOWS_1252 = [bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256)]


def _without_nul(chunk: pa.Array, repairs: Counter[str]) -> pa.Array:
    data = data_bytes(chunk)
    if len(data) == 0 or data.min() != 0:
        return chunk
    import pyarrow.compute as pc

    repairs["nul"] += pc.sum(pc.match_substring(chunk, "\0")).as_py() or 0
    return pc.replace_substring(chunk, "\0", " ")


def missing(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Which rows are null, as a mask.

    >>> missing(strings(["a", None])).tolist()
    [False, True]
    """
    if column.null_count == 0:
        return np.zeros(len(column), dtype=bool)
    return to_mask(call("is_null", column))


def blank(column: pa.ChunkedArray) -> np.ndarray:
    r"""Which rows are null, empty or white space only, as a mask.

    >>> blank(pa.chunked_array([strings(["a", "", " \u3000\n", None, " b"])])).tolist()
    [False, True, True, True, False]
    """
    space = to_mask(call("utf8_is_space", column))  # stops at the first character that is none
    empty = [lengths(chunk) == 0 for chunk in column.chunks]
    return np.asarray(space | np.concatenate([np.zeros(0, dtype=bool), *empty]) | missing(column))


def as_labels(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A string column as labels: without white space around them, and null where nothing is left.

    >>> as_labels(pa.chunked_array([strings(["pos", " neg", " ", None])])).to_pylist()
    ['pos', 'neg', None, None]
    """
    if pa.types.is_large_string(column.type):
        column = column.cast(pa.string())
    distinct = [value for value in call("unique", column).to_pylist() if value is not None]
    if all(value and value == value.strip() for value in distinct):
        return column
    return by_distinct(column, lambda value: value.strip() or None)


def filled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A string column with "" for null.

    >>> filled(pa.chunked_array([strings(["a", None])])).to_pylist()
    ['a', '']
    """
    if column.null_count == 0:
        return column
    return call("coalesce", column, cast(strings([""]), column.type)[0])


def column_strings(batch: RawBatch, name: str) -> pa.ChunkedArray:
    """A column of a batch as strings; all null where the batch does not have it."""
    return decoded(batch, [name]).columns[name]


def decoded(batch: RawBatch, names: Sequence[str]) -> RawBatch:
    """The named columns of a batch as strings; a column that this batch does not have is all null."""
    columns, repairs = {}, {}
    for name in names:
        raw = batch.columns.get(name)
        if raw is None:
            raw = pa.chunked_array([pa.nulls(batch.rows, pa.string())])
        columns[name], repairs[name] = to_strings(raw)
    return replace(batch, columns=columns, repairs=repairs, records=None)


_NOTES = {
    "windows_1252": "not UTF-8, decoded as Windows-1252",
    "damaged_utf8": "broken UTF-8 bytes replaced by U+FFFD",
    "nul": "NUL characters replaced by spaces",
}


def repair_notes(batch: RawBatch, names: Sequence[str]) -> list[str]:
    """Say which repairs the cells of some columns needed, and how many cells."""
    counts = sum((batch.repairs.get(name, Counter()) for name in names), Counter())
    return [f"{words} (cells: {counts[kind]:,})" for kind, words in _NOTES.items() if counts[kind]]
