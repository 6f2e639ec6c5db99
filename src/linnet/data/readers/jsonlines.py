"""JSON lines, and one JSON array of objects.

pyarrow parses the usual batch; a batch that it refuses (a broken line, a column that changes its type) is parsed line
by line in Python, so one bad line costs one row, not the file.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.data.arrays import cells, printable
from linnet.data.input_file import InputFile, Malformed, RawBatch, ReadOptions, RecordReader, is_numeric, line_pieces
from linnet.errors import DataError

_EXACT = 2**53
DEEPEST = 200  # brackets on a line: more are left to Python's parser, which knows how deep it can go


def sniff_json(head: bytes) -> bool:
    """One array of objects."""
    start = head.lstrip()
    return start.startswith(b"[") and start[1:].lstrip().startswith(b"{")


def open_json(file: InputFile, options: ReadOptions) -> RecordReader:
    """One array of objects, or one object a line, whatever the file is called."""
    return _array(file) if sniff_json(file.peek()) else _lines(file, options)


def _lines(file: InputFile, options: ReadOptions) -> RecordReader:
    """One JSON object a line. Blank lines are skipped; they are not rows."""
    found = _parsed(file, options)
    first = next(found, None)
    if first is None:
        return RecordReader([], lambda names: iter(()))
    if not first.columns:
        line, wrong = (first.lines or [1])[0], first.malformed.get(0)
        detail = f"; line {line}: {wrong.detail}" if wrong else ""
        raise DataError(f"{file.name}: no line is a JSON object with values{detail}")
    numbers = [name for name, column in first.columns.items() if is_numeric(column.type)]
    return RecordReader(list(first.columns), lambda names: itertools.chain([first], found), not_text=frozenset(numbers))


def _array(file: InputFile) -> RecordReader:
    """One array of objects; read whole, because JSON has no place to cut it."""
    try:
        found = json.loads(printable(file.read_all()) or "")
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file.name} is not a JSON array of objects: {error}") from None
    for row, value in enumerate(found, 1):
        if not isinstance(value, dict):
            raise DataError(f"{file.name}: element {row:,} is not an object but {type(value).__name__}")
    batch = RawBatch(columns_of(found), len(found))
    return RecordReader(list(batch.columns), lambda names: iter([batch]))


def _parsed(file: InputFile, options: ReadOptions) -> Iterator[RawBatch]:
    line = 1
    for data in line_pieces(file, options):
        batch = parse_lines(data, line)
        if batch.rows:
            batch.records = (data, line) if options.records else None
            yield batch
        line += data.count(b"\n") + (not data.endswith(b"\n"))


def parse_lines(data: bytes, line: int = 1) -> RawBatch:
    r"""Parse whole lines, the first of which is number `line`. `RawBatch.lines` says which line each row is.

    >>> batch = parse_lines(b'{"text": "good"}\n\n{"text": 1\n')
    >>> batch.columns["text"].to_pylist(), list(batch.lines or ()), batch.malformed[1].reason
    (['good', None], [1, 3], 'not a JSON object')
    """
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    return _arrow_json(data, line, n_lines) or _python_json(data, line)


def _arrow_json(data: bytes, line: int, n_lines: int) -> RawBatch | None:
    """What pyarrow's parser finds; None where it refuses, or where its rows are not the lines."""
    table = None if _deepest(data) > DEEPEST else _read_json(data)
    if table is None or table.num_rows != n_lines:
        return None
    # Strings that look like dates are turned into dates: ask for those columns as strings.
    dates = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
    if dates:
        table = _read_json(data, pa.schema([(name, pa.string()) for name in dates]))
    if table is None or any(_inexact(column) for column in table.columns):
        return None
    columns = dict(zip(table.column_names, table.columns, strict=True))
    return RawBatch(columns, n_lines, lines=range(line, line + n_lines))


def _deepest(data: bytes) -> int:
    """Return the most brackets that a line opens: pyarrow's parser recurses, and runs out of the stack."""
    raw = np.frombuffer(data, dtype=np.uint8)
    opens = np.flatnonzero((raw == ord("{")) | (raw == ord("[")))
    lines = np.searchsorted(np.flatnonzero(raw == ord("\n")), opens)
    return int(np.bincount(lines).max(initial=0))


def _read_json(data: bytes, schema: Any = None) -> Any:
    import pyarrow.json as pajson

    parse = pajson.ParseOptions(explicit_schema=schema)
    for block in (1 << 20, len(data) + 1):  # in parallel, unless a line is longer than a block
        try:
            options = pajson.ReadOptions(use_threads=True, block_size=min(block, 2**31 - 1))
            return pajson.read_json(pa.BufferReader(data), options, parse)
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error):
                return None
    return None


def _inexact(column: pa.ChunkedArray) -> bool:
    """Whether integers may have been rounded: pyarrow reads those beyond 64 bits as floats."""
    if not pa.types.is_floating(column.type):
        return False
    import pyarrow.compute as pc

    largest = pc.max(pc.abs(column)).as_py()
    return largest is not None and largest >= _EXACT


def _python_json(data: bytes, line: int) -> RawBatch:
    """The same, line by line."""
    found: list[dict[str, Any]] = []
    lines: list[int] = []
    malformed: dict[int, Malformed] = {}
    for number, raw in enumerate(data.split(b"\n"), line):
        if not raw.strip():
            continue
        text = printable(raw) or ""
        try:
            value = json.loads(text, strict=False)
            wrong = None if isinstance(value, dict) else f"not an object but {type(value).__name__}"
        except (ValueError, RecursionError) as error:
            value, wrong = {}, str(error)
        if wrong is not None:
            malformed[len(found)] = Malformed("not a JSON object", wrong, text.rstrip("\r"))
            value = {}
        found.append(value)
        lines.append(number)
    return RawBatch(columns_of(found), len(found), malformed, lines)


def columns_of(found: Sequence[dict[str, Any]]) -> dict[str, pa.ChunkedArray]:
    """Objects to string columns, in the order in which their keys appear.

    >>> {name: column.to_pylist() for name, column in columns_of([{"a": 1}, {"b": [2, 3], "a": "x"}]).items()}
    {'a': ['1', 'x'], 'b': [None, ['2', '3']]}
    """
    columns = {}
    for key in dict.fromkeys(key for value in found for key in value):
        name = str(key).encode("utf-8", "replace").decode()  # half a character, which no file can hold, is replaced
        columns[name] = pa.chunked_array([cells(value.get(key) for value in found)])
    return columns


def rewrite_lines(
    batch: RawBatch, rows: Sequence[int], text: str, texts: Sequence[str] | None, added: dict[str, list[Any]]
) -> Iterator[bytes]:  # fmt: skip
    r"""Give lines as they came, byte for byte, with fields added before the last bracket.

    `texts` replace the values of the column `text`; such lines are written anew.

    >>> batch = parse_lines(b'{ "text":"good" }\n{"text": "bad"}\n')
    >>> batch.records = (b'{ "text":"good" }\n{"text": "bad"}\n', 1)
    >>> list(rewrite_lines(batch, [0], "text", None, {"p": [0.25]}))
    [b'{ "text":"good", "p": 0.25}\n']
    """
    data, line = batch.records
    ends = np.concatenate([[-1], np.flatnonzero(np.frombuffer(data, np.uint8) == 10), [len(data)]])
    at = np.asarray(batch.lines, dtype=np.int64)[list(rows)] - line
    keys = [json.dumps(name, ensure_ascii=False) for name in added]
    distinct = set(itertools.chain.from_iterable(added.values()))
    shown = {value: json.dumps(value, ensure_ascii=False) for value in distinct if isinstance(value, str)}
    columns = [[f"{v:.6g}" if isinstance(v, float) else shown[v] for v in values] for values in added.values()]
    for k, (start, end) in enumerate(zip((ends[at] + 1).tolist(), ends[at + 1].tolist(), strict=True)):
        raw = data[start:end].rstrip()
        if texts is not None:
            changed = {**json.loads(raw), text: texts[k]}
            raw = json.dumps(changed, ensure_ascii=False).encode("utf-8", "replace")
        fields = ", ".join([f"{key}: {values[k]}" for key, values in zip(keys, columns, strict=True)])
        yield raw[:-1].rstrip() + f", {fields}}}\n".encode()
