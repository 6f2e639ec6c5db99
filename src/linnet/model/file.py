"""The model file: named arrays and a card in one `.linnet` file.

The file is a safetensors file (8 bytes of header length, a JSON header, raw little-endian arrays), so any safetensors
reader opens it and nothing in it can run code. On top of that format linnet promises:

* the same input gives the same bytes: arrays in name order, keys in a fixed order, no time stamp;
* every array starts at a multiple of 64 bytes, one cache line. The format allows no holes, so small arrays of zeros
  named `_align.1`, `_align.2` ... fill them; `read` hides these;
* `checksum`, the first metadata value, is the SHA-256 of the whole file with 64 zeros in the checksum's own place. It
  detects accidents, not attacks: whoever alters a file on purpose can write a new checksum;
* a file is complete or not there: it is written under another name and renamed at the end;
* arrays may be packed: bytes of Zstandard in place of the array, whose type and shape are in the metadata. `read` unpacks
  them, after the checksum was found right.

The metadata holds `checksum`, `format` ("linnet"), `format_version` ("1"; "2" with packed arrays), `written_by` ("linnet 0.1.0"),
`card` and `packed` ({name: [type, shape]}), both JSON texts. What the arrays mean is for the caller to say, in the card.

A folder of versions of a model: 1.linnet, 2.linnet and so on. A file `latest` in it may name the one in use.

Without `latest` it is the version with the highest number. To go back, write another name into it; a server that was given the
folder follows.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from linnet import __version__
from linnet.array_types import Array, Bytes
from linnet.errors import ModelFileError, nearest, no_such_file
from linnet.files import foreign, looks_binary, open_atomic

FORMAT_VERSION = 2
ALIGNMENT = 64  # bytes
MAX_HEADER = 100_000_000  # bytes, the bound of the safetensors library
LEVEL = 3  # of Zstandard
MOST_PACKED = 1 << 36  # bytes of an array once it is unpacked
BEST = 1 << 15  # bytes that a packed one can stand for

DTYPES = {
    name: np.dtype(code)
    for name, code in {
        "U64": "<u8", "I64": "<i8", "U32": "<u4", "I32": "<i4", "U16": "<u2", "I16": "<i2", "U8": "u1", "I8": "i1", "F64": "<f8",
        "F32": "<f4", "F16": "<f2",
    }.items()
}  # fmt: skip
NAMES = {dtype: name for name, dtype in DTYPES.items()}

_PADDING = "_align."
_OPENING = b'{"__metadata__":{"checksum":"sha256:'  # then 64 hexadecimal digits
_DIGEST = slice(8 + len(_OPENING), 8 + len(_OPENING) + 64)  # where the checksum stands in every file
_NO_DIGEST = "0" * 64
_REMEDY = "copy or download it again, or train it again"

Fail = Callable[[str], NoReturn]


@dataclass(frozen=True)
class StoredModel:
    """What a model file holds; the arrays are read-only views of one memory map, so loading copies nothing."""

    tensors: Mapping[str, Array]
    card: dict[str, Any]
    nbytes: int


def write(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Array],
    card: Mapping[str, object],
    packed: Collection[str] = (),
) -> None:
    """Write a model file: all of it, or nothing.

    The arrays may have any shape and the types U64, I64, U32, I32, U16, I16, U8, I8, F64, F32 and F16; those named in packed are
    compressed. The card may hold what JSON can (numbers of NumPy and tuples too), but no nan and no infinity. An existing file is
    replaced at once, also while a model read from it is in use.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(folder + "/m.linnet", {"b": np.array([0.5, -0.5])}, {"classes": ["neg", "pos"]})
    ...     model = read(folder + "/m.linnet")
    >>> model.card["classes"], model.tensors["b"].tolist()
    (['neg', 'pos'], [0.5, -0.5])
    """
    with open_atomic(os.path.realpath(path)) as file:  # through a symbolic link, as open() would
        for part in parts_of(tensors, card, packed):
            file.write(part)


def parts_of(tensors: Mapping[str, Array], card: Mapping[str, object], packed: Collection[str]) -> list[Any]:
    """Return the bytes of a model file: its header, then its arrays."""
    from concurrent.futures import ThreadPoolExecutor  # for writing alone

    large = sorted((name for name in packed if tensors[name].size), key=lambda name: -tensors[name].nbytes)
    with ThreadPoolExecutor(2) as pool:
        small = dict(zip(large, pool.map(lambda name: _packed(tensors[name]), large), strict=True))
    blocks = list(_blocks({**tensors, **small}))
    shapes = {name: [NAMES[tensors[name].dtype.newbyteorder("<")], list(tensors[name].shape)] for name in sorted(small)}
    header = _header(blocks, card, shapes)
    digest = hashlib.sha256(header)
    for _, block in blocks:
        digest.update(_raw(block))
    header[_DIGEST] = digest.hexdigest().encode()
    return [header, *(_raw(block) for _, block in blocks)]


def read(source: str | os.PathLike[str] | bytes | bytearray | memoryview, *, verify: bool = True) -> StoredModel:
    """Read a model file, or the bytes of one.

    The header is checked in full before any array is handed out, and so is the checksum; `verify=False` leaves that out. Whatever
    is wrong is a ModelFileError of one line.

    Of a folder of versions the one in use is read.

    >>> read(b"not a model, just text")
    Traceback (most recent call last):
      ...
    linnet.errors.ModelFileError: cannot load the given bytes: text, not a linnet model; are model and data swapped?
    """
    if isinstance(source, bytes | bytearray | memoryview):
        path, data = None, np.frombuffer(bytes(source), np.uint8)  # read-only; no copy of bytes
    else:
        path = version_in_use(source)
        data = _mapped(path)

    def fail(problem: str) -> NoReturn:
        raise ModelFileError(f"cannot load {repr(str(path)) if path else 'the given bytes'}: {problem[:500]}")

    metadata, entries, start = _parse(data, fail)
    if verify:
        _verify(data, start, fail)
    try:
        card = json.loads(metadata["card"], parse_constant=_refuse)
    except (ValueError, RecursionError):
        card = None
    if not isinstance(card, dict):
        fail(f"altered: its card cannot be read; {_REMEDY}")
    tensors = {
        name: data[start + begin : start + end].view(dtype).reshape(shape)
        for name, (dtype, shape, begin, end) in entries.items()
        if not name.startswith(_PADDING)
    }
    tensors |= _unpacked(metadata.get("packed", "{}"), tensors, fail)
    return StoredModel(MappingProxyType(tensors), card, data.size)


# ---- writing


def _blocks(tensors: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
    """The arrays in name order, little-endian and contiguous, with padding between them."""
    offset = 0
    for number, name in enumerate(sorted(tensors)):
        if offset % ALIGNMENT:
            padding = np.zeros(-offset % ALIGNMENT, np.uint8)
            offset += padding.size
            yield f"{_PADDING}{number}", padding
        array = np.asarray(tensors[name])
        dtype = array.dtype.newbyteorder("<")
        if dtype not in NAMES:
            raise ModelFileError(f"array {name!r} is of type {array.dtype}; store one of: {', '.join(DTYPES)}")
        block = np.asarray(array, dtype=dtype, order="C")
        offset += block.nbytes
        yield name, block


def _packed(array: Array) -> Bytes:
    from pyarrow import Codec

    raw = _raw(np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C"))
    return np.frombuffer(Codec("zstd", LEVEL).compress(raw, asbytes=True), np.uint8)


def _header(blocks: list[tuple[str, Array]], card: Mapping[str, object], packed: dict[str, Any]) -> bytearray:
    """Length and JSON header with an empty checksum, filled up with spaces to a multiple of 64 bytes."""
    try:
        text = json.dumps(card, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_number)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"a model card holds JSON values and finite numbers only: {error}") from None
    metadata = {
        "checksum": f"sha256:{_NO_DIGEST}",
        "format": "linnet",
        "format_version": str(FORMAT_VERSION if packed else 1),
        "written_by": f"linnet {__version__}",
        "card": text,
        **({"packed": json.dumps(packed, separators=(",", ":"))} if packed else {}),
    }
    entries: dict[str, object] = {"__metadata__": metadata}
    offset = 0
    for name, block in blocks:
        offsets = [offset, offset + block.nbytes]
        entries[name] = {"dtype": NAMES[block.dtype], "shape": list(block.shape), "data_offsets": offsets}
        offset += block.nbytes
    header = json.dumps(entries, separators=(",", ":")).encode("ascii")
    header += b" " * (-(8 + len(header)) % ALIGNMENT)
    if len(header) > MAX_HEADER:
        raise ModelFileError(f"a header of {len(header):,} bytes, at most {MAX_HEADER:,} fit; shorten the card")
    return bytearray(len(header).to_bytes(8, "little") + header)


def _number(value: object) -> object:
    """Return a number of NumPy as JSON has it."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r:.80} is of type {type(value).__name__}")


def _raw(block: Array) -> memoryview:
    return block.reshape(-1).view(np.uint8).data


# ---- reading


def _mapped(path: Path) -> Bytes:
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is a folder, or no regular file; give the model file")
        with path.open("rb") as file:
            return np.asarray(np.memmap(file, np.uint8, "r"))
    except FileNotFoundError:
        raise ModelFileError(no_such_file(path)) from None
    except (OSError, ValueError) as error:  # ValueError: also an empty file, or a zero byte in the name
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"cannot load {str(path)!r}: {reason}") from None


def _parse(data: Bytes, fail: Fail) -> tuple[dict[str, str], dict[str, tuple[Any, tuple[int, ...], int, int]], int]:
    """Metadata, {name: (dtype, shape, begin, end)} and where the arrays start; everything checked."""
    start = _header_end(data, fail)
    try:
        header = json.loads(data[8:start].tobytes(), object_pairs_hook=_unique, parse_constant=_refuse)
        metadata = header.pop("__metadata__", {})
        kind = metadata.get("format")
    except (ValueError, AttributeError, RecursionError):
        fail(f"altered: its header cannot be read; {_REMEDY}")
    if kind != "linnet":
        fail("a safetensors file, but not a linnet model (its metadata do not say format: linnet)")
    version = metadata.get("format_version")
    if not isinstance(version, str) or not re.fullmatch("[1-9][0-9]{0,8}", version):
        fail(f"altered: its format version reads {version!r}; {_REMEDY}")
    if int(version) > FORMAT_VERSION:
        writer = " ".join(str(metadata.get("written_by", "a newer linnet")).split())
        fail(
            f"model format {version}, written by {writer}; this linnet reads up to format {FORMAT_VERSION}: "
            "upgrade it with pip install --upgrade linnet"
        )
    if not all(isinstance(metadata.get(key), str) for key in ("checksum", "card")):
        fail(f"altered: its metadata lack the checksum or the card; {_REMEDY}")
    entries = {name: _entry(name, entry, fail) for name, entry in header.items()}
    expected = 0
    for name, (dtype, _, begin, end) in sorted(entries.items(), key=lambda item: item[1][2:]):
        if begin != expected or (start + begin) % dtype.itemsize:
            fail(f"altered: array {name!r} starts at byte {begin}, not {expected} or not aligned; {_REMEDY}")
        expected = end
    total = start + expected
    if data.size < total:
        fail(f"truncated: {data.size:,} of {total:,} bytes; {_REMEDY}")
    if data.size > total:
        fail(f"altered: {data.size - total:,} bytes follow its end; {_REMEDY}")
    return metadata, entries, start


def _header_end(data: Bytes, fail: Fail) -> int:
    """Where the header ends, from the first bytes alone; sorts out foreign and truncated files."""
    first = data[:4096].tobytes()
    if not first:
        fail(f"empty (0 bytes); {_REMEDY}")
    if what := foreign(first):
        fail(f"{what}, not a linnet model")
    own = first[8 : 8 + len(_OPENING)] == _OPENING[: max(0, len(first) - 8)]
    end = 8 + int.from_bytes(first[:8], "little")
    if len(first) < 9:
        fail(f"truncated: only {data.size} bytes; {_REMEDY}")
    if own and data.size < end <= 8 + MAX_HEADER:
        fail(f"truncated: {data.size:,} bytes, and its header alone takes {end:,}; {_REMEDY}")
    if not own and (first[8:9] != b"{" or not 10 <= end <= min(data.size, 8 + MAX_HEADER)):
        fail("not a linnet model" if looks_binary(first) else "text, not a linnet model; are model and data swapped?")
    if not 10 <= end <= 8 + MAX_HEADER:
        fail(f"altered: a header of {end - 8:,} bytes; {_REMEDY}")
    return end


def _entry(name: str, entry: object, fail: Fail) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    """One array's row of the header, checked on its own."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        fail(f"altered: the header's row for array {name!r} is malformed; {_REMEDY}")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        fail(f"altered: array {name!r} is of the unknown type {dtype!r}; {_REMEDY}")
    if not (_counts(shape) and _counts(offsets) and len(offsets) == 2 and offsets[0] <= offsets[1]):
        fail(f"altered: array {name!r} has the shape {shape!r} and the place {offsets!r}; {_REMEDY}")
    itemsize = DTYPES[dtype].itemsize
    addressable = len(shape) <= 64 and math.prod(max(size, 1) for size in shape) * itemsize < 2**63
    if not addressable or math.prod(shape) * itemsize != offsets[1] - offsets[0]:
        fail(f"altered: array {name!r} of shape {shape!r} has {offsets[1] - offsets[0]} bytes; {_REMEDY}")
    return DTYPES[dtype], tuple(shape), offsets[0], offsets[1]


def _unpacked(packed: str, tensors: Mapping[str, Array], fail: Fail) -> dict[str, Array]:
    """Unpack arrays; each must be as long as its type and shape say."""
    from pyarrow import Codec

    out = {}
    try:
        for name, (dtype, shape) in json.loads(packed).items():
            size = math.prod(shape) * DTYPES[dtype].itemsize
            if (
                not _counts(shape)
                or tensors[name].dtype != np.uint8
                or size > min(MOST_PACKED, BEST * tensors[name].size)
            ):
                raise ValueError(name)
            data = Codec("zstd").decompress(tensors[name].data, size)
            out[name] = np.frombuffer(data, DTYPES[dtype]).reshape(shape)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, OSError, MemoryError, RecursionError):
        fail(f"altered: its packed arrays cannot be read; {_REMEDY}")
    return out


def _verify(data: Bytes, start: int, fail: Fail) -> None:
    header = bytearray(data[:start])
    if header[8 : _DIGEST.start] != _OPENING:
        fail("altered: another program has rewritten it, so its checksum cannot be checked; use the original file")
    stored, header[_DIGEST] = bytes(header[_DIGEST]), _NO_DIGEST.encode()
    digest = hashlib.sha256(header)
    digest.update(data[start:].data)
    if digest.hexdigest().encode() != stored:
        fail(f"altered: its checksum does not match; {_REMEDY}")


def _counts(values: object) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


LATEST = "latest"


def version_in_use(path: str | os.PathLike[str]) -> Path:
    """Return the model file of a folder of versions; any other path as it is."""
    folder = Path(path)
    try:
        name = (folder / LATEST).read_text(encoding="utf-8", errors="replace").strip().removesuffix(".linnet")
    except (OSError, ValueError):  # ValueError: a zero byte in the name
        last = _last(folder)
        return folder / f"{last}.linnet" if last else folder
    found = folder / f"{name}.linnet"
    if not found.is_file() or found.parent != folder:
        known = [path.stem for path in folder.glob("*.linnet")]
        raise ModelFileError(f"{folder / LATEST}: {nearest('version', name, known)}")
    return found


def next_version(folder: str | os.PathLike[str]) -> Path:
    """Return the name of the version after the last one."""
    return Path(folder) / f"{_last(Path(folder)) + 1}.linnet"


def _last(folder: Path) -> int:
    try:
        return max((int(path.stem) for path in folder.glob("*.linnet") if path.stem.isdecimal()), default=0)
    except (OSError, ValueError):
        return 0
