"""The endpoints, one row each: what answers, and what the published schema says about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.serve.browsers import NOTHING, page_policy
from linnet.serve.errors import RequestError
from linnet.serve.openapi import published
from linnet.serve.schema import Explained, ModelList, PredictedMany, PredictedOne, Reloaded, Status
from linnet.serve.service import Service

__all__ = ["Endpoint", "endpoints"]

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
