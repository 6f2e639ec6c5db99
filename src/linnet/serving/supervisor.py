"""Keeps several workers alive.

All workers accept from one socket. A worker that dies, whatever killed it, is replaced at once, and connections that it had
not accepted yet are taken by the others: only what it was answering is lost. SIGHUP is passed on, so that all reload;
SIGTERM and Ctrl-C stop all, and those that do not end in time are killed.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

from linnet.serving.logs import Log
from linnet.serving.metrics import Metrics
from linnet.serving.settings import Settings

__all__ = ["supervise"]

HEARD = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}
YOUNG = 2.0  # seconds: a worker that dies sooner is replaced more slowly each time
LONGEST_PAUSE = 10.0


@dataclass
class Place:
    """Where one worker is, or will be."""

    number: int
    process: subprocess.Popen[bytes] | None = None
    began: float = 0.0
    failures: int = 0
    again: float = field(default=0.0)  # when to start the next one


def supervise(settings: Settings, listening: socket.socket, log: Log | None = None) -> int:
    """Run the workers until a signal says stop; returns 0, 130 after Ctrl-C, or 2 where no worker can start."""
    log = log or Log()
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    models = [name for name, _ in settings.models]
    with tempfile.TemporaryFile() as counters:
        counters.truncate(Metrics.size(models, settings.workers))
        places = [Place(k) for k in range(settings.workers)]
        try:
            while True:
                for place in places:
                    if place.process is None and time.monotonic() >= place.again:
                        _start(place, settings, listening.fileno(), counters.fileno())
                heard = signal.sigtimedwait(HEARD, 0.5)
                number = heard.si_signo if heard is not None else None
                if number in (signal.SIGTERM, signal.SIGINT):
                    log.event("stopping", signal=signal.Signals(number).name)
                    return 130 if number == signal.SIGINT else 0
                if number == signal.SIGHUP:
                    _tell(places, signal.SIGHUP)
                _bury(places, log)
                if all(place.failures > 3 for place in places):
                    log.event("gave up", problem="no worker could be started")
                    return 2
        finally:
            _stop(places, settings.grace, log)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)


def _start(place: Place, settings: Settings, listening: int, counters: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "linnet.serving.worker"], stdin=subprocess.PIPE, pass_fds=(listening, counters)
    )
    told = {"settings": settings.to_json(), "socket": listening, "metrics": counters, "worker": place.number}
    place.process, place.began = process, time.monotonic()
    assert process.stdin is not None  # noqa: S101 - a pipe was asked for
    try:
        process.stdin.write(json.dumps(told).encode() + b"\n")
        process.stdin.flush()  # stays open: its end tells the worker that we are gone
    except BrokenPipeError:  # dead already: it will be buried
        pass


def _bury(places: list[Place], log: Log) -> None:
    """Find workers that have died and say when they are replaced."""
    for place in places:
        if place.process is None or place.process.poll() is None:
            continue
        code, lived = place.process.returncode, time.monotonic() - place.began
        place.failures = place.failures + 1 if lived < YOUNG else 0
        pause = min(LONGEST_PAUSE, 0.25 * 2.0**place.failures) if place.failures else 0.0
        killed = signal.Signals(-code).name if code < 0 else None
        log.event("worker died", pid=place.process.pid, code=code, signal=killed, restart_in=pause)
        if place.process.stdin is not None:
            place.process.stdin.close()
        place.process, place.again = None, time.monotonic() + pause


def _tell(places: list[Place], number: signal.Signals) -> None:
    for place in places:
        if place.process is not None and place.process.poll() is None:
            os.kill(place.process.pid, number)


def _stop(places: list[Place], grace: float, log: Log) -> None:
    """Stop all; kill those that have not ended in time."""
    _tell(places, signal.SIGTERM)
    end = time.monotonic() + grace + 2.0
    for place in places:
        if place.process is None:
            continue
        try:
            place.process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            log.event("worker killed", pid=place.process.pid, reason="it did not stop in time")
            place.process.kill()
            place.process.wait()
