"""The endpoints, one row each: what answers, and what the published schema says about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic.json_schema import models_json_schema

from linnet import __version__
from linnet.serve.schema import ErrorReply, Explained, ModelList, PredictedMany, PredictedOne, Reloaded, Status
from linnet.serve.service import Service
from linnet.serve.settings import CODES, NOTHING, RequestError, page_policy

# ---- The published schema (OpenAPI 3.1), written from the table of endpoints and the classes that check requests.


DESCRIPTION = "Labels for texts, and why. Made by `linnet serve`. Every problem is `{error: {code, message}}`."


def published(table: Sequence[Endpoint], needs_token: bool) -> bytes:
    """Return the OpenAPI document of the endpoints that have a summary."""
    public = [endpoint for endpoint in table if endpoint.summary]
    classes = {cls for endpoint in public for cls in (*endpoint.replies, endpoint.body) if cls is not None}
    _, schemas = models_json_schema(
        [(cls, "validation") for cls in sorted({*classes, ErrorReply}, key=lambda cls: cls.__name__)],
        ref_template="#/components/schemas/{model}",
    )
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "linnet", "version": __version__, "description": DESCRIPTION},
        "paths": {},
        "components": {"schemas": schemas["$defs"]},
    }
    if needs_token:
        document["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    for endpoint in public:
        operation = _operation(endpoint, needs_token and not endpoint.is_open)
        document["paths"].setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    return orjson.dumps(document)


def _operation(endpoint: Endpoint, needs_token: bool) -> dict[str, Any]:
    answer = _json(*endpoint.replies) if endpoint.replies else {"text/plain": {"schema": {"type": "string"}}}
    responses = {"200": {"description": "The answer.", "content": answer}}
    for status in sorted({*endpoint.refusals, *([401] if needs_token else [])}):
        codes = ", ".join(code for code, its_status in CODES.items() if its_status == status)
        responses[str(status)] = {"description": f"Refused: {codes}.", "content": _json(ErrorReply)}
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "description": endpoint.description,
        "responses": responses,
    }
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
