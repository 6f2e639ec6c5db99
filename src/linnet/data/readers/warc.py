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
from typing import Any

import pyarrow as pa

from linnet.data.arrays import strings
from linnet.data.input_file import InputFile, RawBatch, ReadOptions, RecordReader, grouped
from linnet.errors import DataError

_FIELDS = {
    "url": b"warc-target-uri", "date": b"warc-date", "record_id": b"warc-record-id",
    "language": b"warc-identified-content-language", "content_type": b"content-type", "host": b"warc-target-uri",
}  # fmt: skip
COLUMNS = ("text", *_FIELDS)
_TYPES = (b"conversion", b"response", b"resource")
_CHARSET = re.compile(rb"charset=[\"']?([\w.:-]+)", re.IGNORECASE)
_STEP = 1 << 20
_LONGEST_HEAD = 1 << 20


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
        while data[at : at + 1] in (b"\r", b"\n", b""):  # empty lines, or nothing left here
            at += 1
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


def open_warc(file: InputFile, options: ReadOptions) -> RecordReader:
    """The text records as rows: text, url, date, record_id, language, content_type, host."""

    def batches(names: Sequence[str] | None) -> Iterator[RawBatch]:
        wanted = [name for name in COLUMNS if names is None or name in names]
        texts = ((record, record.text) for record in records(file.read, file.name))
        found = ((pair, len(pair[0].content)) for pair in texts if pair[1] is not None)
        for pairs in grouped(found, options):
            columns = {name: strings([_value(pair, name) for pair in pairs]) for name in wanted}
            chunked = {name: pa.chunked_array([column]) for name, column in columns.items()}
            kept = [record for record, _ in pairs] if options.records else None
            yield RawBatch(chunked, len(pairs), records=kept)

    return RecordReader(list(COLUMNS), batches)


def _value(pair: tuple[Record, str], name: str) -> str | None:
    record, text = pair
    if name == "text":
        return text
    value = record.field(_FIELDS[name]).decode("utf-8", "replace")
    return (value.partition("://")[2].partition("/")[0].lower() if name == "host" else value) or None


def rewrite_records(
    batch: RawBatch, rows: Sequence[int], text: str, texts: Sequence[str] | None, added: dict[str, list[Any]]
) -> Iterator[bytes]:  # fmt: skip
    """Give records as they came, with header lines added; with `texts`, as `conversion` records of those texts."""
    fields = [(re.sub(r"[^\w.-]", "-", name), values) for name, values in added.items()]
    for k, row in enumerate(rows):
        record = batch.records[row]
        head, content = record.head, record.content
        if texts is not None:
            content = texts[k].encode()
            head = _as_text(head, len(content))
        lines = "".join([f"{name}: {_written(values[k])}\r\n" for name, values in fields])
        yield head + lines.encode() + b"\r\n" + content + b"\r\n\r\n"


def _written(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else re.sub(r"[\r\n]", " ", value)


def _as_text(head: bytes, length: int) -> bytes:
    """The header of a record whose content has become a clean text."""
    changed = rb"(?im)^(WARC-(Block|Payload)-Digest|WARC-Type|Content-Type|Content-Length)[ \t]*:.*\r?\n"
    head = re.sub(changed, b"", head)
    return head + b"WARC-Type: conversion\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n" % length
