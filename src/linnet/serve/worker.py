"""One process that serves: an event loop, a socket to accept from, signals.

SIGTERM and SIGINT stop it when the requests in flight are answered; SIGHUP reloads. A worker of several is started by the
supervisor as ``python -m linnet.serve.worker``, is told its settings on standard input, and stops when that is closed:
then the supervisor is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

__all__ = ["main", "run"]


def run(settings: Any, listening: socket.socket, *, metrics: Any = None, supervised: bool = False) -> int:
    """Serve until a signal says stop; returns 0, or 130 after Ctrl-C."""
    import orjson
    import uvicorn

    from linnet.serve.accepting import Server
    from linnet.serve.app import application
    from linnet.serve.front import Front
    from linnet.serve.logs import Log
    from linnet.serve.service import Service

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})  # kept for later, until there is something to reload
    service = Service(settings, log=Log(dump=orjson.dumps), metrics=metrics, supervised=supervised)
    config = uvicorn.Config(
        Front(service, application(service)), http=_protocol(), loop="auto", lifespan="off", ws="none",
        interface="asgi3", access_log=False, log_config=None, log_level="critical", server_header=False,
        timeout_keep_alive=int(settings.keep_alive), timeout_graceful_shutdown=int(settings.grace), backlog=2048,
    )  # fmt: skip
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        return runner.run(_serve(Server(config, listening), service))


def _protocol() -> Any:
    try:
        from linnet.serve.connection import Connection
    except ImportError:  # no httptools on this machine: uvicorn's own, in Python
        return "h11"
    return Connection


async def _serve(server: Any, service: Any) -> int:
    loop = asyncio.get_running_loop()
    stopped_by: list[int] = []

    def stop(number: int) -> None:
        service.ready = False
        if stopped_by and number == signal.SIGINT:
            server.force_exit = True
        stopped_by.append(number)
        server.should_exit = True

    def orphaned() -> None:
        loop.remove_reader(sys.stdin.fileno())
        stop(signal.SIGTERM)

    async def reload() -> None:
        with contextlib.suppress(Exception):  # it has been logged; the old models stay
            await service.reload()

    tasks: set[asyncio.Task[None]] = set()

    def hup() -> None:
        task = loop.create_task(reload())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    if service.supervised:
        loop.add_signal_handler(signal.SIGINT, lambda: None)  # Ctrl-C reaches all; the supervisor tells us
        loop.add_reader(sys.stdin.fileno(), orphaned)
    loop.add_signal_handler(signal.SIGHUP, hup)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})  # now a reload that came too early is done
    service.log.later = loop.call_later
    service.metrics.add("linnet_worker_starts_total")
    service.log.event("started", pid=os.getpid(), models={n: s.version for n, s in service.catalogue.models.items()})
    try:
        await server.run_until_told()
    finally:
        service.log.event("stopped", pid=os.getpid(), in_flight=service.in_flight)
        service.close()
    return 130 if signal.SIGINT in stopped_by else 0


def main() -> int:
    """Run as a worker of a supervisor."""
    from linnet.errors import LinnetError
    from linnet.serve.metrics import Metrics
    from linnet.serve.settings import Settings

    sys.path.append(str(Path.cwd()))  # feature functions are looked for here too
    told = json.loads(sys.stdin.readline())
    settings = Settings.from_json(told["settings"])
    listening = socket.socket(fileno=told["socket"])
    metrics = Metrics([name for name, _ in settings.models], told["metrics"], told["worker"], settings.workers)
    try:
        return run(settings, listening, metrics=metrics, supervised=True)
    except LinnetError as error:
        print(f"linnet: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
