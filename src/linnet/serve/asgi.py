"""The ASGI application of a worker: its endpoints, and token, limits, time, log and counters around each of them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from pydantic.json_schema import models_json_schema

from linnet import __version__
from linnet.errors import LinnetError
from linnet.serve.schema import ErrorReply, Explained, ModelList, PredictedMany, PredictedOne, Reloaded, Status
from linnet.serve.service import Service
from linnet.serve.settings import NOTHING, STATUSES, Fields, RequestError, check_browser, head_fields, page_policy

# ---- The published schema (OpenAPI 3.1), written from the table of endpoints and the classes that check requests.


DESCRIPTION = "Labels for texts, and why. Made by `linnet serve`. Every problem is `{error: {code, message}}`."


def published(table: Sequence[Endpoint], needs_token: bool) -> bytes:
    """Return the OpenAPI document of the endpoints that have a summary."""
    public = [endpoint for endpoint in table if endpoint.summary]
    classes = {cls for endpoint in public for cls in (*endpoint.replies, endpoint.body) if cls is not None}
    named = sorted({*classes, ErrorReply}, key=lambda cls: cls.__name__)
    _, schemas = models_json_schema([(cls, "validation") for cls in named], ref_template="#/components/schemas/{model}")
    info = {"title": "linnet", "version": __version__, "description": DESCRIPTION}
    components, paths = {"schemas": schemas["$defs"]}, dict[str, Any]()
    if needs_token:
        components["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    for endpoint in public:
        operation = _operation(endpoint, needs_token and not endpoint.is_open)
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    return orjson.dumps({"openapi": "3.1.0", "info": info, "paths": paths, "components": components})


def _operation(endpoint: Endpoint, needs_token: bool) -> dict[str, Any]:
    answer = _json(*endpoint.replies) if endpoint.replies else {"text/plain": {"schema": {"type": "string"}}}
    responses = {"200": {"description": "The answer.", "content": answer}}
    for status in sorted({*endpoint.refusals, *([401] if needs_token else [])}):
        refused = f"Refused: {', '.join(STATUSES[status])}."
        responses[str(status)] = {"description": refused, "content": _json(ErrorReply)}
    operation: dict[str, Any] = {name: getattr(endpoint, name) for name in ("summary", "description")}
    operation["responses"] = responses
    if endpoint.body is not None:
        operation["requestBody"] = {"required": True, "content": _json(endpoint.body)}
    if needs_token:
        operation["security"] = [{"bearer": []}]
    return operation


def _json(*classes: Any) -> dict[str, Any]:
    """Return the content of a body that is one of some classes."""
    references = [{"$ref": f"#/components/schemas/{cls.__name__}"} for cls in classes]
    return {"application/json": {"schema": references[0] if len(references) == 1 else {"anyOf": references}}}


PAGE = Path(__file__).with_name("page.html")


@dataclass(frozen=True)
class Endpoint:
    """A method of a path. One with a summary is in the published schema."""

    method: str
    path: str
    answer: Callable[[bytes, dict[str, Any]], bytes | Awaitable[bytes]]  # (body, details for the log)
    summary: str = ""
    description: str = ""
    replies: tuple[Any, ...] = ()  # classes of the answer; none: plain text
    refusals: tuple[int, ...] = ()  # statuses
    body: Any = None  # the class of the request
    name: str = "other"  # among the counters
    is_open: bool = False  # needs no token and is never refused for load
    changes: bool = False  # something on the server
    status: int = 200
    content_type: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = NOTHING


def endpoints(service: Service) -> list[Endpoint]:
    """Return the endpoints of a service."""
    asked = (400, 403, 404, 408, 413, 415, 422, 503)
    table = [
        Endpoint(
            "POST", "/v1/predict", service.predict, "Label one text or several",
            "The best label of each text and its probability; on request the best few, or all. Requests share calls.",
            (PredictedOne, PredictedMany), (*asked, 409), service.PredictRequest, name="predict",
        ),
        Endpoint(
            "POST", "/v1/explain", service.explain, "Say why a text gets its label",
            "What every word and feature adds to the score of a label.",
            (Explained,), asked, service.ExplainRequest, name="explain",
        ),
        Endpoint("GET", "/v1/models", lambda *_: service.models(), "List the models", "",
                 (ModelList,), (403, 413, 503), name="models"),
        Endpoint("GET", "/healthz", lambda *_: b'{"status":"ok"}', "Is the process alive?", "",
                 (Status,), (413,), is_open=True),
        Endpoint("GET", "/readyz", lambda *_: _ready(service), "May requests be sent here?", "",
                 (Status,), (413, 503), is_open=True),
        Endpoint("GET", "/metrics", lambda *_: service.metrics.exposition(), "Counters for Prometheus", "",
                 (), (403, 413, 503), name="metrics", content_type=b"text/plain; version=0.0.4; charset=utf-8"),
        Endpoint("GET", "/openapi.json", lambda *_: published(table, bool(service.tokens)), is_open=True),
        Endpoint("GET", "/docs", lambda *_: PAGE.read_bytes(), is_open=True, content_type=b"text/html; charset=utf-8",
                 headers=page_policy(PAGE.read_text(encoding="utf-8"))),
        Endpoint("GET", "/", lambda *_: b"", status=307, content_type=b"text/plain", headers=(*NOTHING, (b"location", b"docs"))),
    ]  # fmt: skip
    if service.settings.allow_reload:
        table.append(
            Endpoint(
                "POST", "/v1/models/reload", lambda *_: service.reload_everywhere(), "Read changed model files",
                "Replace models whose files have changed, without dropping a request. Other workers follow.",
                (Reloaded,), (403, 408, 409, 413, 503), name="reload", changes=True,
            )
        )  # fmt: skip
    return table


def _ready(service: Service) -> bytes:
    if not service.ready:
        raise RequestError("stopping", "the server is stopping")
    return b'{"status":"ready"}'


# ---- One request.


Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MAX_HELD = 16  # times max_body: so much of all requests together is held in memory
MAX_DRAINED = 4  # times max_body: so much of a body that is too large is read before it is refused


@dataclass(slots=True)
class Reply:
    """What is sent, and what the log says about the request."""

    status: int = 500
    content_type: bytes = b"application/json"
    headers: Fields = NOTHING
    body: bytes = b""
    bytes_in: int = 0
    problem: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


class App:
    """Answers the requests of one worker; ``started`` is called when the event loop runs."""

    def __init__(self, service: Service, started: Callable[[], None] | None = None) -> None:
        self.service, self._started = service, started
        self._endpoints: dict[str, dict[str, Endpoint]] = {}
        for endpoint in endpoints(service):
            self._endpoints.setdefault(endpoint.path, {})[endpoint.method] = endpoint

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, or start and stop."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        if scope["type"] != "http":
            return
        service, began, reply = self.service, time.perf_counter(), Reply()
        service.in_flight += 1
        service.metrics.in_flight.inc()
        try:
            await self._reply(scope, receive, reply)
            await self._send(send, reply)
        except TimeoutError:
            reply.problem = "timeout"
        finally:
            service.in_flight -= 1
            service.held -= reply.bytes_in
            service.metrics.in_flight.dec()
            self._log(scope, reply, time.perf_counter() - began)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        if self._started is not None:
            self._started()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.service.log.event("stopped", pid=os.getpid(), in_flight=self.service.in_flight)
        self.service.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _reply(self, scope: MutableMapping[str, Any], receive: Receive, reply: Reply) -> None:
        service = self.service
        try:
            await self._answer(scope, receive, reply)
            return
        except RequestError as error:
            refused = error
        except TimeoutError:
            refused = RequestError("timeout", f"no answer in {service.settings.timeout:g} seconds")
        except LinnetError as error:
            refused = RequestError("invalid", str(error))
        except Exception as error:
            service.crashed(error)
            refused = RequestError("internal", "a bug in the server; its log says where")
        reply.problem, reply.status = refused.code, refused.status
        reply.headers, reply.body = refused.headers, refused.body

    async def _answer(self, scope: MutableMapping[str, Any], receive: Receive, reply: Reply) -> None:
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
        body = await self._body(receive, reply, headers)
        endpoint = methods.get(scope["method"])
        if endpoint is None and methods:
            raise RequestError("method_not_allowed", "method not allowed", ((b"allow", ", ".join(methods).encode()),))
        if endpoint is None:
            raise RequestError("not_found", "there is nothing here; see /docs")
        kind = headers.get(b"content-type")
        if endpoint.body is not None and kind is not None and not _is_json(kind):
            shown = kind[:60].decode("latin-1")
            raise RequestError("not_json", f"the body must be application/json, got {shown!r}; with curl use --json")
        found = endpoint.answer(body, reply.details)
        if not isinstance(found, bytes):
            async with asyncio.timeout(service.settings.timeout):
                found = await found
        reply.body, reply.status = found, endpoint.status
        reply.content_type, reply.headers = endpoint.content_type, endpoint.headers

    async def _body(self, receive: Receive, reply: Reply, headers: dict[bytes, bytes]) -> bytes:
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
                        reply.bytes_in = size
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
        fields = head_fields(reply.body, reply.content_type, reply.headers)
        await send({"type": "http.response.start", "status": reply.status, "headers": fields})
        async with asyncio.timeout(self.service.settings.timeout):  # a large answer may have to wait for its reader
            await send({"type": "http.response.body", "body": reply.body})

    def _log(self, scope: MutableMapping[str, Any], reply: Reply, seconds: float) -> None:
        service, path, status = self.service, scope["path"], reply.status
        name = next((endpoint.name for endpoint in self._endpoints.get(path, {}).values()), "other")
        service.metrics.requests(name, status).inc()
        service.metrics.seconds(name).observe(seconds)
        if service.settings.log == "none" or (service.settings.log == "problems" and status < 400):
            return
        client = scope.get("client")
        fields = {
            "client": client[0] if client else None, "method": scope["method"], "path": path[:100], "status": status,
            "ms": round(1000 * seconds, 2), "bytes_in": reply.bytes_in, "bytes_out": len(reply.body), **reply.details,
        }  # fmt: skip
        if reply.problem:
            fields["problem"] = reply.problem
        service.log.event("request", **fields)


def _is_json(kind: bytes) -> bool:
    name = kind.partition(b";")[0].strip().lower()
    return name == b"application/json" or (name.startswith(b"application/") and name.endswith(b"+json"))


def _too_large(limit: int, size: int) -> RequestError:
    return RequestError("too_large", f"a request may have {limit:,} bytes, got {size:,}; send fewer texts at a time")
