"""Log lines: one JSON object a line on standard error. Texts are never among the fields unless that is asked for.

Lines are written together, at most a fifth of a second late: a system call a request would cost more than the logging.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson

__all__ = ["JsonLog"]

MAX_BUFFER = 64_000  # bytes


class JsonLog:
    r"""Writes events with fields.

    ``call_later`` is an event loop's: without it every line is written at once.

    >>> JsonLog(-1).line("request", {"status": 200, "ms": 0.4})[35:]
    b'"event":"request","status":200,"ms":0.4}\n'
    """

    def __init__(self, descriptor: int = 2) -> None:
        self.descriptor = descriptor
        self.call_later: Callable[[float, Callable[[], None]], Any] | None = None
        self._lines: list[bytes] = []
        self._size = 0

    def event(self, event: str, **fields: Any) -> None:
        """Log one event now, after the lines that wait."""
        self.put(event, fields)
        self.flush()

    def put(self, event: str, fields: dict[str, Any]) -> None:
        """Log one event soon."""
        line = self.line(event, fields)
        self._lines.append(line)
        self._size += len(line)
        if self.call_later is None or self._size > MAX_BUFFER:
            self.flush()
        elif len(self._lines) == 1:
            self.call_later(0.2, self.flush)

    def line(self, event: str, fields: dict[str, Any]) -> bytes:
        """Return the line of an event."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return orjson.dumps({"time": now, "event": event, **fields}, default=str) + b"\n"

    def flush(self) -> None:
        """Write the lines that wait; the server goes on if nobody reads them."""
        data, self._lines, self._size = b"".join(self._lines), [], 0
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self.descriptor, data) :]
