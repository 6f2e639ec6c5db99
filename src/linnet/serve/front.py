"""The outermost ASGI application: token, size, time, log and counters for every request.

``POST /v1/predict`` is answered here, without a router and with one check of the body; everything else goes on to the
FastAPI application behind it, with the body already read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import orjson

from linnet.errors import LinnetError
from linnet.serve.problems import RequestError
from linnet.serve.service import Service

__all__ = ["Front", "Seen", "is_json", "not_json"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

ENDPOINTS = {
    "/v1/predict": "predict",
    "/v1/explain": "explain",
    "/v1/models": "models",
    "/v1/models/reload": "reload",
    "/metrics": "metrics",
}
OPEN = {"/healthz", "/readyz", "/docs", "/openapi.json"}  # need no token: they tell nothing
LARGE = 1 << 16  # bytes: a larger answer may have to wait for its reader
HELD = 16  # times max_body: so much of all requests together is held in memory
DRAINED = 4  # times max_body: so much of a body that is too large is read and thrown away before it is refused


class Seen:
    """What the log will say about a request."""

    __slots__ = ("about", "bytes_in", "bytes_out", "client_left", "problem", "status")

    def __init__(self) -> None:
        self.status = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.problem: str | None = None
        self.client_left = False
        self.about: dict[str, Any] = {}


class Front:
    """The ASGI application of a worker."""

    def __init__(self, service: Service, behind: Callable[[Any, Receive, Send], Awaitable[None]]) -> None:
        self.service = service
        self.behind = behind

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        service = self.service
        began = time.perf_counter()
        seen = Seen()
        service.in_flight += 1
        service.metrics.add("linnet_in_flight")
        try:
            await self._answer(scope, receive, send, seen)
        except RequestError as problem:
            await self._refuse(problem, seen, send)
        except TimeoutError:
            await self._refuse(
                RequestError("timeout", f"no answer in {service.settings.timeout:g} seconds"), seen, send
            )
        except LinnetError as error:
            await self._refuse(RequestError("invalid", str(error)), seen, send)
        except Exception as error:
            service.crashed(error)
            if seen.status:  # the answer has begun
                raise
            await self._refuse(RequestError("internal", "a bug in the server; its log says where"), seen, send)
        finally:
            service.in_flight -= 1
            service.held -= seen.bytes_in
            service.metrics.add("linnet_in_flight", -1.0)
            self._tell(scope, seen, time.perf_counter() - began)

    async def _answer(self, scope: MutableMapping[str, Any], receive: Receive, send: Send, seen: Seen) -> None:
        service, path = self.service, scope["path"]
        length, kind, token, expects = _headers(scope["headers"])
        if service.tokens and path not in OPEN and not service.authorized(token):
            what = "the bearer token is wrong" if token else "a bearer token is needed: Authorization: Bearer TOKEN"
            raise RequestError("unauthorized", what)
        if service.in_flight > service.settings.max_waiting and path not in OPEN:
            raise RequestError("overloaded", f"{service.in_flight - 1} requests are waiting already; try again soon")
        body = await self._body(receive, seen, length, expects)
        if path == "/v1/predict" and scope["method"] == "POST":
            if kind is not None and not is_json(kind):
                raise not_json(kind)
            answer, seen.about = service.predict(body)
            if not answer.done():
                async with asyncio.timeout(service.settings.timeout):
                    await answer
            await self._send(send, seen, 200, answer.result())
            return
        scope["linnet.seen"] = seen
        async with asyncio.timeout(service.settings.timeout):
            await self.behind(scope, _replay(body, receive), _watched(send, seen))

    async def _body(self, receive: Receive, seen: Seen, length: int | None, expects: bool) -> bytes:
        """Read the body. One that is too large is read to its end, within bounds, so that the client hears why."""
        limit = self.service.settings.max_body
        if length is not None and length > limit and (expects or length > DRAINED * limit):
            raise _too_large(limit, length)
        parts, size, more = [], 0, True
        try:
            async with asyncio.timeout(self.service.settings.timeout):
                while more and size <= DRAINED * limit:
                    message = await receive()
                    part: bytes = message.get("body", b"")
                    size += len(part)
                    if size <= limit:
                        parts.append(part)
                        seen.bytes_in = size
                        self.service.held += len(part)
                    if self.service.held > HELD * limit:
                        raise RequestError("overloaded", "too much is being sent at once; try again soon")
                    more = message.get("more_body", False)
        except TimeoutError:
            why = f"the body did not arrive in {self.service.settings.timeout:g} seconds"
            raise RequestError("too_slow", why) from None
        if message["type"] == "http.disconnect":
            raise RequestError("bad_request", "the client left before its body was complete")
        if size > limit:
            raise _too_large(limit, length or size)
        return b"".join(parts) if len(parts) > 1 else parts[0]

    async def _refuse(self, problem: RequestError, seen: Seen, send: Send) -> None:
        seen.problem = problem.code
        if seen.status:  # too late to say so: uvicorn closes the connection
            return
        headers = list(problem.headers)
        if problem.code in ("too_large", "too_slow", "bad_request", "unauthorized", "overloaded"):
            headers.append((b"connection", b"close"))  # there may be more of its body on the way
        await self._send(send, seen, problem.status, orjson.dumps(problem.to_dict()), headers)

    async def _send(
        self, send: Send, seen: Seen, status: int, body: bytes, headers: list[tuple[bytes, bytes]] | None = None
    ) -> None:
        seen.status = status
        seen.bytes_out = len(body)
        fields = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *(headers or ())]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        if len(body) <= LARGE:
            await send({"type": "http.response.body", "body": body})
            return
        async with asyncio.timeout(self.service.settings.timeout):
            await send({"type": "http.response.body", "body": body})

    def _tell(self, scope: MutableMapping[str, Any], seen: Seen, seconds: float) -> None:
        service = self.service
        endpoint = ENDPOINTS.get(scope["path"], "other")
        service.metrics.request(endpoint, seen.status, seconds)
        if service.settings.log == "none" or (service.settings.log == "problems" and seen.status < 400):
            return
        client = scope.get("client")
        fields = {
            "client": client[0] if client else None, "method": scope["method"], "path": scope["path"][:100],
            "status": seen.status, "ms": round(1000 * seconds, 2), "bytes_in": seen.bytes_in, "bytes_out": seen.bytes_out,
            **seen.about,
        }  # fmt: skip
        if seen.problem:
            fields["problem"] = seen.problem
        service.log.put("request", fields)


def _headers(headers: list[tuple[bytes, bytes]]) -> tuple[int | None, bytes | None, bytes | None, bool]:
    """Return the length, the type, the authorization and whether the client waits for leave to send the body."""
    length = kind = token = None
    expects = False
    for name, value in headers:
        if name == b"content-length":
            length = int(value) if value.isdigit() else None
        elif name == b"content-type":
            kind = value
        elif name == b"authorization":
            token = value
        elif name == b"expect":
            expects = True
    return length, kind, token, expects


def is_json(kind: bytes) -> bool:
    name = kind.partition(b";")[0].strip().lower()
    return name == b"application/json" or (name.startswith(b"application/") and name.endswith(b"+json"))


def not_json(kind: bytes) -> RequestError:
    shown = kind[:60].decode("latin-1")
    return RequestError("not_json", f"the body must be application/json, got {shown!r}; with curl use --json")


def _too_large(limit: int, got: int) -> RequestError:
    return RequestError("too_large", f"a request may have {limit:,} bytes, got {got:,}; send fewer texts at a time")


def _replay(body: bytes, receive: Receive) -> Receive:
    """Hand out a body that was read already, then what really comes."""
    read = False

    async def again() -> Message:
        nonlocal read
        if not read:
            read = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again


def _watched(send: Send, seen: Seen) -> Send:
    """Note the status and the size of an answer on its way."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            seen.status = message["status"]
        else:
            seen.bytes_out += len(message.get("body", b""))
        await send(message)

    return sending
