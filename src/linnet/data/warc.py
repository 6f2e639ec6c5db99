r"""Web archives: WET files (the text of pages) and WARC files (pages as they were fetched), plain or gz.

A WARC file is a row of records: a line with the version, header lines, an empty line, so many bytes of content, two
empty lines (ISO 28500). In a gz file every record is a gzip member of its own, and the members follow each other. Rows are
the records that hold text: `conversion` records of WET files, and `response` and `resource` records whose content is of a
text type, without their HTTP header. Other records (warcinfo, request, metadata) are no rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from linnet.data.arrays import strings
from linnet.data.blocks import Block, Rows, Wanted
from linnet.data.source import Source
from linnet.errors import DataError

__all__ = ["Record", "open_warc", "records", "sniff_warc"]

COLUMNS = ("text", "url", "date", "record_id", "language", "content_type")
_FIELDS = {
    b"url": b"warc-target-uri", b"date": b"warc-date", b"record_id": b"warc-record-id",
    b"language": b"warc-identified-content-language",
}  # fmt: skip
_TYPES = (b"conversion", b"response", b"resource")
_CHARSET = re.compile(rb"charset=[\"']?([\w.:-]+)", re.IGNORECASE)
_STEP = 1 << 20
_LONGEST_HEAD = 1 << 20


def sniff_warc(head: bytes) -> bool:
    """WARC files start with their version."""
    return head.startswith(b"WARC/")


@dataclass(frozen=True, slots=True)
class Record:
    """One record: its header as it came, and its content."""

    head: bytes
    content: bytes

    def field(self, name: bytes) -> bytes:
        r"""Return the value of a header field, b"" if there is none; case does not matter.

        >>> Record(b"WARC/1.0\r\nWARC-Type: conversion\r\n", b"").field(b"warc-type")
        b'conversion'
        """
        return _field(self.head, name)

    @property
    def text(self) -> str | None:
        """The text, None where the record holds none."""
        kind = self.field(b"warc-type").lower()
        if kind not in _TYPES:
            return None
        mime, body = self.field(b"content-type"), self.content
        if mime.lower().startswith(b"application/http"):
            http, _, body = body.partition(b"\r\n\r\n")
            mime = _field(http, b"content-type")
        if not mime.lower().lstrip().startswith((b"text/", b"application/xhtml")):
            return None
        return _decode(body, mime)


def _field(head: bytes, name: bytes) -> bytes:
    found = re.search(rb"(?im)^" + re.escape(name) + rb"[ \t]*:[ \t]*(.*?)[ \t]*\r?$", head)
    return found.group(1) if found else b""


def _decode(body: bytes, mime: bytes) -> str:
    charset = _CHARSET.search(mime)
    try:
        return body.decode("utf-8" if charset is None else charset.group(1).decode("ascii"))
    except (UnicodeDecodeError, LookupError):
        return body.decode("utf-8", "replace")


def records(read: Callable[[int], bytes], name: str) -> Iterator[Record]:
    """Yield the records of a file; one that is cut short or has no length raises DataError."""
    data, at = b"", 0

    def more() -> bool:
        nonlocal data, at
        step = read(max(_STEP, len(data) - at))
        data, at = data[at:] + step, 0
        return bool(step)

    number = 0
    while True:
        while len(data) - at < 4 and more():
            pass
        while data[at : at + 2] == b"\r\n" or data[at : at + 1] == b"\n":
            at += 2 if data[at : at + 1] == b"\r" else 1
            if len(data) - at < 4:
                more()
        if at >= len(data) and not more():
            return
        number += 1
        while (end := data.find(b"\r\n\r\n", at)) < 0:
            if len(data) - at > _LONGEST_HEAD or not more():
                raise DataError(f"{name} is damaged or cut short: record {number:,} has no end of its header")
        head = data[at : end + 2]
        if not head.startswith(b"WARC/"):
            raise DataError(f"{name} is damaged: record {number:,} does not start with WARC/ but {head[:20]!r}")
        try:
            length = int(_field(head, b"content-length"))
        except ValueError:
            raise DataError(f"{name} is damaged: record {number:,} has no Content-Length") from None
        at = end + 4
        while len(data) - at < length:
            if not more():
                raise DataError(f"{name} is cut short: record {number:,} has {len(data) - at:,} of {length:,} bytes")
        yield Record(head, data[at : at + length])
        at += length


def open_warc(source: Source, wanted: Wanted) -> Rows:
    """The text records as rows: text, url, date, record_id, language, content_type."""

    def blocks(names: Sequence[str] | None) -> Iterator[Block]:
        rows: list[tuple[str | None, ...]] = []
        size = 0
        for record in records(source.read, source.name):
            text = record.text
            if text is None:
                continue
            fields = [record.field(name).decode("utf-8", "replace") or None for name in _FIELDS.values()]
            rows.append((text, *fields, record.field(b"content-type").decode("utf-8", "replace") or None))
            size += len(text)
            if size >= wanted.block_bytes or len(rows) >= wanted.block_rows:
                yield _block(rows)
                rows, size = [], 0
        if rows:
            yield _block(rows)

    return Rows(list(COLUMNS), blocks)


def _block(rows: list[tuple[str | None, ...]]) -> Block:
    columns = zip(COLUMNS, zip(*rows, strict=True), strict=True)
    return Block({name: pa.chunked_array([strings(values)]) for name, values in columns}, len(rows))
