"""JSON lines: the lines as they came, byte for byte, with the scores put in before the last bracket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.data.clean import to_strings
from linnet.data.columns import by_content, by_name
from linnet.data.jsonlines import parse_lines
from linnet.data.records import pieces, whole_lines
from linnet.data.source import Source
from linnet.errors import DataError
from linnet.filter.forms.batch import BATCH_BYTES, Batch, Form, Kept, Scored, Writer
from linnet.filter.forms.sinks import packed_as

__all__ = ["JSONLines"]


class JSONLines(Form):
    """One JSON object a line; plain, gz or zst."""

    name = "jsonl"
    endings = (".jsonl", ".ndjson", ".jsonlines")

    def read(self, path: str, text: str | None, by: str | None, *, whole: bool) -> Iterator[Batch]:
        """Read batches of about 8 MB."""
        with Source(path) as source:
            line = first = 1
            column = text
            for data in pieces(source.read, whole_lines, BATCH_BYTES, source.name):
                block = parse_lines(data, line)
                if block.rows:
                    if column is None or column not in block.columns:
                        column = _text_column(block.columns, path, text) or column
                    yield _batch(block, data, line, column, by, first, path)
                first += block.rows
                line += data.count(b"\n") + (not data.endswith(b"\n"))

    def writer(self, path: str, sink: Any, scored: Scored) -> Writer:
        """Write lines, compressed as those of the shard."""
        return _Writer(path, sink, scored)


def _text_column(columns: dict[str, Any], path: str, text: str | None) -> str | None:
    if not columns:
        return None
    choice = by_name(list(columns), text=text, source=path)
    if choice.text is None:
        clean = {name: to_strings(column)[0] for name, column in columns.items()}
        choice = by_content(clean, choice, labelled=False, source=path)
    return choice.text


def _batch(block: Any, data: bytes, line: int, column: str | None, by: str | None, first: int, path: str) -> Batch:
    texts = _strings(block, column)
    ends = np.concatenate([[-1], np.flatnonzero(np.frombuffer(data, np.uint8) == 10)])
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    at = np.asarray(block.lines, dtype=np.int64) - line
    bad = {row: (wrong.reason, wrong.raw) for row, wrong in block.malformed.items()}
    if by is not None and by not in block.columns and first == 1 and block.columns:
        by_name(list(block.columns), text=by, source=path)
    values = None if by is None else [value or "" for value in _strings(block, by).to_pylist()]
    return Batch(texts, first, (data, ends[at] + 1, ends[at + 1], column, set(block.columns)), bad, values)


def _strings(block: Any, column: str | None) -> Any:
    found = block.columns.get(column)
    if found is None:
        found = pa.chunked_array([pa.nulls(block.rows, pa.string())])
    texts = to_strings(found)[0]
    if texts.null_count:
        import pyarrow.compute as pc

        texts = pc.fill_null(texts, "")
    return texts


class _Writer(Writer):
    def __init__(self, path: str, sink: Any, scored: Scored) -> None:
        self.path, self.scored = path, scored
        self.sink = packed_as(path, sink)
        self.labels = [json.dumps(name, ensure_ascii=False) for name in scored.classes]
        self.keys = [json.dumps(name, ensure_ascii=False) for name in (scored.label, *scored.odds)]

    def write(self, batch: Batch, kept: Kept) -> None:
        data, starts, ends, column, names = batch.raw
        clash = [name for name in (self.scored.label, *self.scored.odds) if name in names]
        if clash:
            raise DataError(f"{self.path} already has a key '{clash[0]}'; give another --prefix")
        texts = None if kept.texts is None else kept.texts.to_pylist()
        lines = []
        for k, row in enumerate(kept.rows.tolist()):
            raw = data[starts[row] : ends[row]].rstrip()
            if texts is not None:
                changed = json.loads(raw)
                changed[column] = texts[k]
                raw = json.dumps(changed, ensure_ascii=False).encode("utf-8", "replace")
            more = [self.labels[kept.best[k]], *(f"{p:.6g}" for p in kept.proba[k].tolist())]
            added = ", ".join([f"{key}: {value}" for key, value in zip(self.keys, more, strict=True)])
            lines.append(raw[:-1].rstrip() + f", {added}}}\n".encode())
        self.sink.write(b"".join(lines))

    def close(self) -> None:
        self.sink.close()
