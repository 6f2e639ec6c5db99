"""Processes: one that serves by itself, or several workers under uvicorn's process manager.

SIGTERM and Ctrl-C stop when the requests in flight are answered; SIGHUP reloads. uvicorn starts a worker again when it
dies or hangs; connections that it had not accepted are taken by the others.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import socket
import sys
import time
from asyncio import TimerHandle, Transport
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from linnet.errors import LinnetError
from linnet.serve.asgi import App
from linnet.serve.metrics import FOLDER_VARIABLE, JsonLog
from linnet.serve.service import Service
from linnet.serve.settings import RequestError, Settings, head_fields

# ---- One connection: uvicorn's, with limits on the head of a request, which may be neither too long nor too slow.


MAX_HEAD_BYTES = 1 << 16
MAX_HEAD_SECONDS = 10.0


class Connection(HttpToolsProtocol):
    """Bytes to ASGI messages and back."""

    _reading_head, _head_bytes = True, 0
    _timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for a head."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(MAX_HEAD_SECONDS, self._timed_out)

    def data_received(self, data: bytes) -> None:
        """Read on; count the bytes of a head that is not complete yet."""
        super().data_received(data)
        if not self._reading_head or self.transport.is_closing():
            return
        self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(RequestError("head_too_large", f"the head of a request may have {MAX_HEAD_BYTES:,} bytes"))
        elif self._timer is None:
            self._timer = self.loop.call_later(MAX_HEAD_SECONDS, self._timed_out)

    def on_message_begin(self) -> None:
        """A head begins."""
        self._reading_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._reading_head = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        super().on_headers_complete()

    def _timed_out(self) -> None:
        self._timer = None
        if self._reading_head and not self.transport.is_closing():
            late = f"the head of the request did not arrive in {MAX_HEAD_SECONDS:g} seconds"
            self._refuse(RequestError("too_slow", late))

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(RequestError("bad_request", "this is not a valid HTTP request"))

    def _refuse(self, refused: RequestError) -> None:
        """Send a refusal and close; what cannot be read has no end from which one could go on."""
        body = refused.body
        head = b"".join(b"%s: %s\r\n" % pair for pair in head_fields(body, b"application/json", refused.headers))
        self.transport.write(STATUS_LINE[refused.status] + head + b"\r\n" + body)
        self.transport.close()


STEADY_SECONDS = 30.0  # a worker that dies later than this had started well
MAX_PAUSE_SECONDS = 30.0  # before a worker that keeps dying is started again
HEALTH_SECONDS = 60  # a worker that does not answer the manager for so long hangs, and is replaced


def run(settings: Settings, listening: socket.socket) -> int:
    """Serve until a signal says stop; returns 0, 130 after Ctrl-C, or 2 where no worker can start."""
    config = uvicorn.Config(
        partial(create, settings), factory=True, http=Connection, loop="auto", lifespan="on", ws="none",
        interface="asgi3", workers=settings.workers, access_log=False, log_config=None, log_level="critical",
        server_header=False, timeout_keep_alive=int(settings.keep_alive), timeout_graceful_shutdown=int(settings.grace),
        backlog=2048,
    )  # fmt: skip
    if settings.workers > 1:
        counters = Path(settings.folder, "counters")
        counters.mkdir()
        os.environ[FOLDER_VARIABLE] = str(counters)  # before prometheus-client is imported in the workers
        manager = Workers(config, [listening])
        manager.run()
        return manager.exit_code
    signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn raises the signal again once it has stopped
    try:
        uvicorn.Server(config).run([listening])
    except KeyboardInterrupt:
        return 130
    return 0


class Workers(Multiprocess):
    """uvicorn's process manager, with our log; SIGHUP goes to the workers, which keep their connections."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets)
        self.exit_code = 2
        self._began: dict[int, float] = {}  # when the worker of a place was started
        self._asked: dict[int, float] = {}  # when it was asked whether it lives, where it has not answered yet
        self._due: dict[int, float] = {}  # when the worker of a place is started again
        self._deaths: dict[int, int] = {}  # how often it died soon after its start
        self.log = JsonLog()

    def handle_hup(self) -> None:
        """Let every worker reload. One that is just starting dies of the signal, and its successor reads the new files."""
        for process in self.processes:
            if process.pid is not None and process.exitcode is None:
                os.kill(process.pid, signal.SIGHUP)

    def handle_int(self) -> None:
        """Stop after Ctrl-C."""
        self.exit_code = 130
        super().handle_int()

    def handle_term(self) -> None:
        """Stop after SIGTERM."""
        self.exit_code = 0
        super().handle_term()

    def keep_subprocess_alive(self) -> None:
        """Replace workers that died; one that keeps dying, after longer and longer pauses."""
        from prometheus_client.multiprocess import mark_process_dead

        for place, process in enumerate(self.processes):
            if self.should_exit.is_set():
                return
            now = time.monotonic()
            began = self._began.setdefault(place, now)
            if place not in self._due:
                if self._lives(place, process, now):
                    continue
                process.kill()  # where it hangs
                process.join()
                self._deaths[place] = 1 if now - began > STEADY_SECONDS else self._deaths.get(place, 0) + 1
                pause = pause_before(self._deaths[place])
                self._due[place] = now + pause
                code = process.exitcode or 0
                killed_by = signal.Signals(-code).name if code < 0 else None
                self.log.event("worker died", pid=process.pid, code=code, signal=killed_by, retry_in=pause)
                mark_process_dead(process.pid)  # type: ignore[no-untyped-call]
            if now >= self._due[place]:
                del self._due[place]
                self._began[place] = now
                self._asked.pop(place, None)
                self.processes[place] = Process(self.config, self.sockets)
                self.processes[place].start()

    def _lives(self, place: int, process: Process, now: float) -> bool:
        """Whether a worker runs and answers. Does not wait for the answer, as uvicorn does: the manager has signals to handle."""
        if not process.process.is_alive():
            return False
        try:
            if place in self._asked and process.parent_conn.poll(0):
                process.parent_conn.recv()
                del self._asked[place]
            if place not in self._asked:
                process.parent_conn.send(b"ping")
                self._asked[place] = now
        except (OSError, EOFError):  # it ends just now
            return process.process.is_alive()
        return now - self._asked[place] < HEALTH_SECONDS

    def join_all(self) -> None:
        """Wait for the workers; kill those that do not stop in time."""
        end = time.monotonic() + (self.config.timeout_graceful_shutdown or 0) + 2.0
        for process in self.processes:
            process.process.join(max(0.0, end - time.monotonic()))
            if process.process.is_alive():
                self.log.event("worker killed", pid=process.pid, reason="it did not stop in time")
                process.process.kill()
        super().join_all()


def pause_before(death: int) -> float:
    """Return how long to wait after the so many-th death in a row.

    >>> [pause_before(death) for death in range(1, 9)]
    [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    """
    return min(MAX_PAUSE_SECONDS, 2.0 ** (death - 2)) if death > 1 else 0.0


def create(settings: Settings) -> App:
    """Return the application of this process; uvicorn calls it once the process runs."""
    try:
        service = Service(settings)
    except Exception as error:
        if settings.workers == 1:
            raise
        problem = str(error) if isinstance(error, LinnetError) else f"{type(error).__name__}: {error}"
        JsonLog().event("worker not started", pid=os.getpid(), problem=problem)
        sys.exit(1)  # uvicorn takes another code for a reason to give up
    return App(service, partial(_started, service))


def _started(service: Service) -> None:
    """Connect the service to signals and to the process manager."""
    loop = asyncio.get_running_loop()
    service.metrics.starts.inc()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, partial(_stopping, service, signal.getsignal(number)))
    loop.add_signal_handler(signal.SIGHUP, service.reload_soon)
    if any(Path(path).is_dir() for _, path in service.settings.models):
        service.following = loop.create_task(service.follow_versions())
    manager = multiprocessing.parent_process()
    if manager is not None:  # when it is gone, so are we
        loop.add_reader(manager.sentinel, partial(_orphaned, loop, manager.sentinel))
    service.log.event("started", pid=os.getpid(), models={n: s.version for n, s in service.catalogue.models.items()})


def _stopping(service: Service, uvicorn_handler: Any, number: int, frame: Any) -> None:
    service.ready = False
    uvicorn_handler(number, frame)


def _orphaned(loop: asyncio.AbstractEventLoop, sentinel: int) -> None:
    loop.remove_reader(sentinel)
    os.kill(os.getpid(), signal.SIGTERM)
