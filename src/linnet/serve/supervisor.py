"""Keeps several workers alive.

All workers accept from one socket. A worker that dies, whatever killed it, is replaced at once, and connections that it had
not accepted yet are taken by the others: only what it was answering is lost. SIGHUP is passed on, so that all reload;
SIGTERM and Ctrl-C stop all, and those that do not end in time are killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from linnet.serve.logs import Log
from linnet.serve.metrics import Metrics
from linnet.serve.settings import Settings

__all__ = ["supervise"]

HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
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
    models = [name for name, _ in settings.models]
    places = [Place(k) for k in range(settings.workers)]
    with tempfile.TemporaryFile() as counters, _hearing() as ear:
        counters.truncate(Metrics.size(models, settings.workers))
        try:
            while True:
                for place in places:
                    if place.process is None and time.monotonic() >= place.again:
                        _start(place, settings, listening.fileno(), counters.fileno())
                heard = _heard(ear, 0.5)
                for stop, code in ((signal.SIGINT, 130), (signal.SIGTERM, 0)):
                    if stop in heard:
                        log.event("stopping", signal=stop.name)
                        return code
                if signal.SIGHUP in heard:
                    _tell(places, signal.SIGHUP)
                _bury(places, log)
                if all(place.failures > 3 for place in places):
                    log.event("gave up", problem="no worker could be started")
                    return 2
        finally:
            _stop(places, settings.grace, log)


@contextlib.contextmanager
def _hearing() -> Iterator[socket.socket]:
    """Give a socket on which the number of every signal that comes in can be read."""
    ear, mouth = socket.socketpair()
    ear.setblocking(False)
    mouth.setblocking(False)
    before = {number: signal.signal(number, lambda *_: None) for number in HEARD}
    descriptor = signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
    try:
        yield ear
    finally:
        signal.set_wakeup_fd(descriptor)
        for number, handler in before.items():
            signal.signal(number, handler)
        ear.close()
        mouth.close()


def _heard(ear: socket.socket, seconds: float) -> set[int]:
    """Wait for signals, but not longer than so many seconds."""
    ready, _, _ = select.select([ear], [], [], seconds)
    return set(ear.recv(4096)) if ready else set()


def _start(place: Place, settings: Settings, listening: int, counters: int) -> None:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})  # inherited: a reload waits until it can be done
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "linnet.serve.worker"], stdin=subprocess.PIPE, pass_fds=(listening, counters)
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
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
