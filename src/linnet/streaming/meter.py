"""News of how far a pass over the data has come: bytes, the rate, and what is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from linnet.classifier import Event

__all__ = ["Meter"]

INTERVAL = 0.2  # seconds between two pieces of news


class Meter:
    """Counts bytes and tells now and then; ``end`` tells the total.

    >>> news = []
    >>> meter = Meter(news.append, "counting", total=10)
    >>> meter(4); meter(6); meter.end()
    >>> news[-1].kind, news[-1].done, news[-1].total
    ('read', 10, 10)
    """

    def __init__(self, tell: Callable[[Event], None] | None, text: str, total: int) -> None:
        self.tell, self.text, self.total = tell, text, total
        self.done = 0
        self.began = self.last = time.perf_counter()

    def __call__(self, size: int) -> None:
        """Count some more bytes."""
        self.done += size
        now = time.perf_counter()
        if self.tell is not None and now - self.last >= INTERVAL:
            self.last = now
            self._say(False, now)

    def end(self) -> None:
        """Say that all is done."""
        if self.tell is not None:
            self._say(True, time.perf_counter())

    def _say(self, ended: bool, now: float) -> None:
        assert self.tell is not None  # noqa: S101 - both callers look
        seconds = max(now - self.began, 1e-9)
        values: dict[str, Any] = {"seconds": seconds, "mb_per_s": self.done / 1e6 / seconds, "ended": ended}
        self.tell(Event("read", self.text, self.done, max(self.total, self.done), values))
