"""Ctrl-C, noticed even where a fit catches it to keep its weights so far."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

__all__ = ["Interrupts"]


class Interrupts:
    """Within ``with Interrupts() as stop``, ``stop.asked`` says whether Ctrl-C was pressed.

    The usual KeyboardInterrupt is raised too. Only the main thread gets Ctrl-C; elsewhere this does nothing.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                self._before = before
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        self._before(number, frame)

    def check(self, *_: Any) -> None:
        """Raise KeyboardInterrupt if it was asked for and something caught it; takes any event."""
        if self.asked:
            raise KeyboardInterrupt
