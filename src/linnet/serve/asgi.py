"""The ASGI application of a worker: token, limits, time, log and counters around every endpoint."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from linnet.errors import LinnetError
from linnet.serve.endpoints import Endpoint, endpoints
from linnet.serve.service import Service
from linnet.serve.settings import ALWAYS, NOTHING, RequestError, check_browser

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

LARGE = 1 << 16  # bytes: a larger answer may have to wait for its reader
MAX_HELD = 16  # times max_body: so much of all requests together is held in memory
MAX_DRAINED = 4  # times max_body: so much of a body that is too large is read before it is refused


@dataclass(slots=True)
class RequestRecord:
    """What the log will say about a request."""

    status: int = 500
    bytes_in: int = 0
    bytes_out: int = 0
    problem: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent."""

    status: int
    content_type: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class App:
    """Answers the requests of one worker; ``started`` is called when the event loop runs."""

    def __init__(self, service: Service, started: Callable[[], None] | None = None) -> None:
        self.service = service
        self._started = started
        self._endpoints: dict[str, dict[str, Endpoint]] = {}
        for endpoint in endpoints(service):
            self._endpoints.setdefault(endpoint.path, {})[endpoint.method] = endpoint

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, or start and stop."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        if scope["type"] != "http":
            return
        service, began, record = self.service, time.perf_counter(), RequestRecord()
        service.in_flight += 1
        service.metrics.in_flight.inc()
        try:
            reply = await self._reply(scope, receive, record)
            record.status, record.bytes_out = reply.status, len(reply.body)
            await self._send(send, reply)
        except TimeoutError:
            record.problem = "timeout"
        finally:
            service.in_flight -= 1
            service.held -= record.bytes_in
            service.metrics.in_flight.dec()
            self._log(scope, record, time.perf_counter() - began)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        if self._started is not None:
            self._started()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.service.log.event("stopped", pid=os.getpid(), in_flight=self.service.in_flight)
        self.service.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _reply(self, scope: MutableMapping[str, Any], receive: Receive, record: RequestRecord) -> Reply:
        service = self.service
        try:
            return await self._answer(scope, receive, record)
        except RequestError as error:
            refused = error
        except TimeoutError:
            refused = RequestError("timeout", f"no answer in {service.settings.timeout:g} seconds")
        except LinnetError as error:
            refused = RequestError("invalid", str(error))
        except Exception as error:
            service.crashed(error)
            refused = RequestError("internal", "a bug in the server; its log says where")
        record.problem = refused.code
        return Reply(refused.status, b"application/json", (*NOTHING, *refused.headers), orjson.dumps(refused.to_dict()))

    async def _answer(self, scope: MutableMapping[str, Any], receive: Receive, record: RequestRecord) -> Reply:
        service, headers = self.service, dict(scope["headers"])
        methods = self._endpoints.get(scope["path"], {})
        if not any(endpoint.is_open for endpoint in methods.values()):
            token = headers.get(b"authorization")
            if service.tokens and not service.authorized(token):
                need = "the bearer token is wrong" if token else "a bearer token is needed: Authorization: Bearer TOKEN"
                raise RequestError("unauthorized", need)
            if not service.tokens:
                changes = any(endpoint.changes for endpoint in methods.values())
                check_browser(scope, headers, service.settings, changes=changes)
            if service.in_flight > service.settings.max_waiting:
                waiting = service.in_flight - 1
                raise RequestError("overloaded", f"{waiting} requests are waiting already; try again soon")
        body = await self._body(receive, record, headers)
        endpoint = methods.get(scope["method"])
        if endpoint is None and methods:
            raise RequestError("method_not_allowed", "method not allowed", ((b"allow", ", ".join(methods).encode()),))
        if endpoint is None:
            raise RequestError("not_found", "there is nothing here; see /docs")
        kind = headers.get(b"content-type")
        if endpoint.body is not None and kind is not None and not _is_json(kind):
            shown = kind[:60].decode("latin-1")
            raise RequestError("not_json", f"the body must be application/json, got {shown!r}; with curl use --json")
        found = endpoint.answer(body, record.details)
        if not isinstance(found, bytes):
            async with asyncio.timeout(service.settings.timeout):
                found = await found
        return Reply(endpoint.status, endpoint.content_type, endpoint.headers, found)

    async def _body(self, receive: Receive, record: RequestRecord, headers: dict[bytes, bytes]) -> bytes:
        """Read the body. One that is too large is read to its end, within limits, so that the client hears why."""
        service, limit = self.service, self.service.settings.max_body
        given = headers.get(b"content-length", b"")
        length = int(given) if given.isdigit() else 0
        if length > limit and (b"expect" in headers or length > MAX_DRAINED * limit):
            raise _too_large(limit, length)
        parts, size, more = [], 0, True
        try:
            async with asyncio.timeout(service.settings.timeout):
                while more and size <= MAX_DRAINED * limit:
                    message = await receive()
                    part: bytes = message.get("body", b"")
                    size += len(part)
                    if size <= limit:
                        parts.append(part)
                        record.bytes_in = size
                        service.held += len(part)
                    if service.held > MAX_HELD * limit:
                        raise RequestError("overloaded", "too much is being sent at once; try again soon")
                    more = message.get("more_body", False)
        except TimeoutError:
            late = f"the body did not arrive in {service.settings.timeout:g} seconds"
            raise RequestError("too_slow", late) from None
        if message["type"] == "http.disconnect":
            raise RequestError("bad_request", "the client left before its body was complete")
        if size > limit:
            raise _too_large(limit, length or size)
        return b"".join(parts)

    async def _send(self, send: Send, reply: Reply) -> None:
        fields = [
            (b"content-type", reply.content_type),
            (b"content-length", b"%d" % len(reply.body)),
            *ALWAYS,
            *reply.headers,
        ]
        await send({"type": "http.response.start", "status": reply.status, "headers": fields})
        message = {"type": "http.response.body", "body": reply.body}
        if len(reply.body) <= LARGE:
            await send(message)
            return
        async with asyncio.timeout(self.service.settings.timeout):
            await send(message)

    def _log(self, scope: MutableMapping[str, Any], record: RequestRecord, seconds: float) -> None:
        service, path, status = self.service, scope["path"], record.status
        name = next((endpoint.name for endpoint in self._endpoints.get(path, {}).values()), "other")
        service.metrics.requests(name, status).inc()
        service.metrics.seconds(name).observe(seconds)
        if service.settings.log == "none" or (service.settings.log == "problems" and status < 400):
            return
        client = scope.get("client")
        fields = {
            "client": client[0] if client else None, "method": scope["method"], "path": path[:100], "status": status,
            "ms": round(1000 * seconds, 2), "bytes_in": record.bytes_in, "bytes_out": record.bytes_out, **record.details,
        }  # fmt: skip
        if record.problem:
            fields["problem"] = record.problem
        service.log.put("request", fields)


def _is_json(kind: bytes) -> bool:
    name = kind.partition(b";")[0].strip().lower()
    return name == b"application/json" or (name.startswith(b"application/") and name.endswith(b"+json"))


def _too_large(limit: int, size: int) -> RequestError:
    return RequestError("too_large", f"a request may have {limit:,} bytes, got {size:,}; send fewer texts at a time")
