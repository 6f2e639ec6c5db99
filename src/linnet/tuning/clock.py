"""The budget of time: when the search must end, so that the last fit is done in time."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["Clock", "OutOfTimeError", "process_began"]

MARGIN = 0.03  # of the budget, for what no estimate knows


def process_began() -> float:
    """Return when this process began, on the clock of ``time.monotonic``; now, where the system does not tell.

    >>> process_began() <= time.monotonic()
    True
    """
    now = time.monotonic()
    try:
        fields = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        return now
    return now - max(0.0, age)


class OutOfTimeError(Exception):
    """Raised inside a fit, between two passes, when the time for candidates is over."""


class Clock:
    """Counts from ``began``; ``reserve`` is what the last fit, the test and saving will take, as far as is known.

    ``check`` is called after every pass of every fit. It raises OutOfTimeError once the time left is no more than the
    reserve, or once ``stop`` was called (Ctrl-C).

    >>> now = iter([0.0, 5.0, 9.5]).__next__
    >>> clock = Clock(10.0, now=now)
    >>> clock.reserve = 0.5
    >>> clock.check()
    >>> clock.check()
    Traceback (most recent call last):
    linnet.tuning.clock.OutOfTimeError
    """

    def __init__(self, budget: float, *, began: float | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.began = now() if began is None else began
        self.budget = budget
        self.reserve = 0.0
        self._stopped = threading.Event()

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return self._now() - self.began

    @property
    def left(self) -> float:
        """Seconds of the whole budget that are left, a small margin kept back."""
        return self.budget * (1 - MARGIN) - self.spent

    @property
    def stopped(self) -> bool:
        """Whether somebody asked to stop."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Ask every running fit to stop after its pass."""
        self._stopped.set()

    def check(self, *_: Any) -> None:
        """Raise OutOfTimeError if the search must end now; takes any arguments, so that it can be a callback."""
        if self.stopped or self.left <= self.reserve:
            raise OutOfTimeError

    def last_call(self, *_: Any) -> None:
        """Within the last fit: raise KeyboardInterrupt when the budget is over; solvers keep their weights then."""
        if self.spent >= self.budget * (1 - MARGIN / 3):
            raise KeyboardInterrupt
