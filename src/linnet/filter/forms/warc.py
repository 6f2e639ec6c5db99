"""Web archives: kept records as they came, with the scores as header lines."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from linnet.data.arrays import strings
from linnet.data.source import Source
from linnet.data.warc import Record, records
from linnet.errors import DataError
from linnet.filter.forms.batch import BATCH_BYTES, Batch, Form, Kept, Scored, Writer

__all__ = ["Warc"]

_COLUMNS = {"url": b"warc-target-uri", "language": b"warc-identified-content-language", "date": b"warc-date"}


class Warc(Form):
    """WARC and WET; plain or gz, a member a record."""

    name = "warc"
    endings = (".warc", ".wet")

    def read(self, path: str, text: str | None, by: str | None, *, whole: bool) -> Iterator[Batch]:
        """Read batches of text records."""
        if text not in (None, "text"):
            raise DataError(f"{path}: a web archive has one text a record; leave --text out")
        if by is not None and by not in (*_COLUMNS, "host"):
            raise DataError(f"{path}: --by must be host, {', '.join(_COLUMNS)} for a web archive, got '{by}'")
        first, size = 1, 0
        found: list[tuple[Record, str]] = []
        with Source(path) as source:
            for record in records(source.read, path):
                shown = record.text
                if shown is not None:
                    found.append((record, shown))
                    size += len(record.content)
                if size >= BATCH_BYTES:
                    yield _batch(found, first, by)
                    first, found, size = first + len(found), [], 0
            if found:
                yield _batch(found, first, by)

    def writer(self, path: str, sink: Any, scored: Scored) -> Writer:
        """Write records, each a gzip member where the shard is gz."""
        return _Writer(path, sink, scored)


def _batch(found: list[tuple[Record, str]], first: int, by: str | None) -> Batch:
    values = None if by is None else [_value(record, by) for record, _ in found]
    texts = pa.chunked_array([strings([text for _, text in found])])
    return Batch(texts, first, [record for record, _ in found], values=values)


def _value(record: Record, by: str) -> str:
    value = record.field(_COLUMNS["url" if by == "host" else by]).decode("utf-8", "replace")
    return value.partition("://")[2].partition("/")[0].lower() if by == "host" else value


class _Writer(Writer):
    def __init__(self, path: str, sink: Any, scored: Scored) -> None:
        with Path(path).open("rb") as file:
            self.packed = file.read(2) == b"\x1f\x8b"
        self.sink, self.scored = sink, scored

    def write(self, batch: Batch, kept: Kept) -> None:
        texts = None if kept.texts is None else kept.texts.to_pylist()
        for k, row in enumerate(kept.rows.tolist()):
            record = batch.raw[row]
            head, content = record.head, record.content
            if texts is not None:
                content = texts[k].encode()
                head = _as_text(head, len(content))
            pairs = zip(self.scored.odds, kept.proba[k].tolist(), strict=True)
            more = [(self.scored.label, self.scored.classes[kept.best[k]]), *((name, f"{p:.6g}") for name, p in pairs)]
            lines = "".join([f"{_token(name)}: {_line(value)}\r\n" for name, value in more])
            whole = head + lines.encode() + b"\r\n" + content + b"\r\n\r\n"
            self.sink.write(gzip.compress(whole, 6, mtime=0) if self.packed else whole)

    def close(self) -> None:
        """Nothing waits."""


def _as_text(head: bytes, length: int) -> bytes:
    """The header of a record whose content has become a clean text."""
    head = re.sub(
        rb"(?im)^(WARC-(Block|Payload)-Digest|WARC-Type|Content-Type|Content-Length)[ \t]*:.*\r?\n", b"", head
    )
    return head + b"WARC-Type: conversion\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n" % length


def _token(name: str) -> str:
    return re.sub(r"[^\w.-]", "-", name)


def _line(value: str) -> str:
    return value.replace("\r", " ").replace("\n", " ")
