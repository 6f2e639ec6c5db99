"""Arrow arrays from plain Python and numpy values, and back, through their buffers.

`pa.array(list)`, `pa.scalar(x)` and `np.asarray(arrow)` import pandas when it is installed, which costs 0.3 s: more
than reading a small file and predicting it. Building the buffers by hand costs nothing and imports nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

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
    parts = [_bits(chunk) for chunk in (array.chunks if isinstance(array, pa.ChunkedArray) else [array])]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=bool)


def _bits(chunk: pa.Array) -> np.ndarray:
    if len(chunk) == 0:
        return np.zeros(0, dtype=bool)
    packed = np.frombuffer(chunk.buffers()[1], dtype=np.uint8)
    bits = np.unpackbits(packed, bitorder="little", count=chunk.offset + len(chunk))
    return bits[chunk.offset :].astype(bool)


def to_numbers(array: pa.Array) -> np.ndarray:
    """An Arrow array of integers of 32 or 64 bits as a numpy array, without a copy; nulls hold anything.

    >>> to_numbers(integers(np.array([2, 0, 1]))[1:]).tolist()
    [0, 1]
    """
    dtype = np.int64 if array.type == pa.int64() else np.int32
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
    found: np.ndarray = np.frombuffer(array.buffers()[1], dtype=dtype, count=len(array) + 1, offset=start)
    return found


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
    found: np.ndarray = np.frombuffer(buffer, dtype=np.uint8, count=int(ends[-1] - ends[0]), offset=int(ends[0]))
    return found


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
        column = column.cast(pa.large_string())
    if column.num_chunks > 1 and np.all(indices[1:] >= indices[:-1]):  # Arrow would join the chunks first: a whole copy
        ends = np.cumsum([len(chunk) for chunk in column.chunks])
        cuts = [0, *np.searchsorted(indices, ends).tolist()]
        parts = [
            chunk.take(integers(indices[a:b] - (end - len(chunk))))
            for chunk, a, b, end in zip(column.chunks, cuts[:-1], cuts[1:], ends.tolist(), strict=True)
            if b > a
        ]
        return pa.chunked_array(parts, type=column.type)
    return column.take(integers(indices))
