"""Log lines: one JSON object a line on standard error. Texts are never among the fields unless that is asked for.

Lines are written together, at most a fifth of a second late: a system call a request would cost more than the logging.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

__all__ = ["Log"]

HELD = 64_000  # bytes


class Log:
    r"""Writes events with fields.

    ``later`` calls a function after some seconds (an event loop's call_later); without it every line is written at once.

    >>> log = Log(-1)
    >>> log.line("request", {"status": 200, "ms": 0.4})[35:]
    b'"event":"request","status":200,"ms":0.4}\n'
    """

    def __init__(self, descriptor: int = 2, *, dump: Callable[[Any], bytes] | None = None) -> None:
        self.descriptor = descriptor
        self.later: Callable[[float, Callable[[], None]], Any] | None = None
        self._dump = dump or _dump
        self._lines: list[bytes] = []
        self._size = 0
        self._second, self._stamp = 0, ""

    def event(self, event: str, **fields: Any) -> None:
        """Log one event, with what was held back before it."""
        self.put(event, fields)
        self.flush()

    def put(self, event: str, fields: dict[str, Any]) -> None:
        """Log one event soon."""
        line = self.line(event, fields)
        self._lines.append(line)
        self._size += len(line)
        if self.later is None or self._size > HELD:
            self.flush()
        elif len(self._lines) == 1:
            self.later(0.2, self.flush)

    def line(self, event: str, fields: dict[str, Any]) -> bytes:
        """Return the line of an event."""
        return self._dump({"time": self._time(), "event": event, **fields}) + b"\n"

    def flush(self) -> None:
        """Write what was held back; a reader that has gone is no reason to stop serving."""
        if not self._lines:
            return
        data = b"".join(self._lines)
        self._lines, self._size = [], 0
        try:
            while data:
                data = data[os.write(self.descriptor, data) :]
        except OSError:
            pass

    def _time(self) -> str:
        now = time.time()
        if int(now) != self._second:
            self._second = int(now)
            self._stamp = datetime.fromtimestamp(self._second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._stamp}.{int(now * 1000) % 1000:03d}Z"


def _dump(fields: Any) -> bytes:
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":"), default=str).encode()
