"""Ways to talk to a server in the tests: straight to the ASGI application, or over a socket to a process."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from linnet.serve.asgi import App
from linnet.serve.metrics import JsonLog
from linnet.serve.service import Service
from linnet.serve.settings import Settings


class Local:
    """A service in this process, asked without a socket."""

    def __init__(self, models: Any, log: Path | None = None, **settings: Any) -> None:
        self.file = log.open("ab") if log else None
        sink = JsonLog(self.file.fileno() if self.file else os.open(os.devnull, os.O_WRONLY))
        self.folder = tempfile.TemporaryDirectory()
        self.service = Service(Settings(models, folder=self.folder.name, **settings), log=sink)
        self.app = App(self.service)

    async def ask(
        self, method: str, path: str, body: Any = b"", headers: Any = None
    ) -> tuple[int, dict[str, str], Any]:
        """Send one request; body may be bytes, a list of bytes (parts), or something for JSON."""
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        parts = list(body) if isinstance(body, list) else [body]
        fields = {"content-length": str(sum(map(len, parts))), "content-type": "application/json", **(headers or {})}
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
            "headers": [(k.encode(), v.encode()) for k, v in fields.items() if v is not None], "client": ("test", 1),
            "server": ("test", 80), "scheme": "http", "http_version": "1.1",
        }  # fmt: skip
        sent: list[Any] = []
        waiting = [{"type": "http.request", "body": p, "more_body": k + 1 < len(parts)} for k, p in enumerate(parts)]

        async def receive() -> Any:
            if waiting:
                return waiting.pop(0)
            await asyncio.sleep(60)
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        answer = b"".join(m.get("body", b"") for m in sent[1:])
        got = {k.decode(): v.decode() for k, v in sent[0]["headers"]}
        return (
            sent[0]["status"],
            got,
            json.loads(answer) if got.get("content-type") == "application/json" else answer.decode(),
        )

    def __call__(self, method: str, path: str, body: Any = b"", headers: Any = None) -> tuple[int, dict[str, str], Any]:
        return asyncio.run(self.ask(method, path, body, headers))

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        status, _, answer = self("POST", path, body, headers)
        return status, answer

    def together(self, bodies: list[Any], path: str = "/v1/predict") -> list[tuple[int, Any]]:
        """Send several requests at once."""

        async def all_of_them() -> list[Any]:
            return await asyncio.gather(*(self.ask("POST", path, body) for body in bodies))

        return [(status, answer) for status, _, answer in asyncio.run(all_of_them())]

    def close(self) -> None:
        self.service.close()
        self.folder.cleanup()
        if self.file:
            self.file.close()


class Server:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], url: str, log: Path) -> None:
        self.process, self.url, self.log = process, url, log
        self.address = urlsplit(url).netloc

    def connect(self, timeout: float = 20) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.address, timeout=timeout)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        connection = self.connect()
        try:
            connection.request(
                method, path, json.dumps(body) if isinstance(body, dict) else body,
                {"content-type": "application/json", **headers},
            )  # fmt: skip
            reply = connection.getresponse()
            text = reply.read()
            return reply.status, json.loads(text) if reply.getheader("content-type") == "application/json" else text
        finally:
            connection.close()

    def events(self, name: str | None = None) -> list[Any]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if name is None or line["event"] == name]

    def wait_for(self, name: str, count: int, seconds: float = 30) -> list[Any]:
        """Wait until an event is in the log so often."""
        end = time.monotonic() + seconds
        while len(self.events(name)) < count:
            assert time.monotonic() < end, f"no {count} x {name} in {self.log.read_text()}"
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        return self.events(name)


@contextlib.contextmanager
def served(folder: Path, *arguments: str, workers: int = 1, **environment: str) -> Iterator[Server]:
    """Start ``linnet serve`` on a free port and stop it afterwards."""
    log = folder / f"log-{time.monotonic_ns()}.jsonl"
    command = [sys.executable, "-m", "linnet", "serve", "--port", "0", "--workers", str(workers), *arguments]
    with log.open("w") as sink:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=sink, text=True, cwd=folder, env={**os.environ, **environment}
        )
    try:
        assert process.stdout is not None
        server = Server(process, process.stdout.readline().strip(), log)
        server.wait_for("started", workers)
        yield server
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


class Load:
    """Clients that ask one question after the other, each on a connection of its own, until told to stop."""

    def __init__(self, server: Server, clients: int = 8, body: Any = None) -> None:
        self.server = server
        self.body = json.dumps(body or {"text": "a warm and funny book"})
        self.answers: list[tuple[float, int, str]] = []  # (when, status, version)
        self.lost: list[tuple[float, str]] = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(clients)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)

    def _run(self) -> None:
        connection = self.server.connect()
        while not self._stop.is_set():
            try:
                connection.request("POST", "/v1/predict", self.body, {"content-type": "application/json"})
                reply = connection.getresponse()
                answer = json.loads(reply.read())
                self.answers.append((time.monotonic(), reply.status, answer.get("version", "")))
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.lost.append((time.monotonic(), repr(error)))
                connection.close()
                connection = self.server.connect()
        connection.close()
