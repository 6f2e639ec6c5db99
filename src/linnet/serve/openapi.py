"""The published schema (OpenAPI 3.1), written from the table of endpoints and the classes that check requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson
from pydantic.json_schema import models_json_schema

from linnet import __version__
from linnet.serve.errors import CODES
from linnet.serve.schema import ErrorReply

if TYPE_CHECKING:
    from linnet.serve.endpoints import Endpoint

__all__ = ["published"]

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
