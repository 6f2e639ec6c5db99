"""The FastAPI application: publishes the schema and answers what need not be quick."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from linnet import __version__
from linnet.serve.front import Seen, is_json, not_json
from linnet.serve.problems import CODES, RequestError
from linnet.serve.schema import Answer, Answers, ErrorReply, Explained, ModelList, Reloaded, State
from linnet.serve.service import Service

__all__ = ["application"]

WHY = {
    400: "The body is not JSON, or the request not HTTP.",
    401: "The bearer token is missing or wrong.",
    404: "There is no such model or label.",
    408: "The body came too slowly.",
    409: "A model file could not be read; the models in use stay.",
    413: "The body is too large.",
    415: "The body is not JSON by its content type.",
    422: "The JSON is not what the schema says.",
    503: "Too many requests at once, or no answer in time.",
}
DESCRIPTION = "Labels for texts, and why. Made by `linnet serve`. Every problem is `{error: {code, message}}`."


def application(service: Service) -> FastAPI:
    """Return the application around a service."""
    app = FastAPI(
        title="linnet", version=__version__, description=DESCRIPTION, docs_url=None, redoc_url=None, openapi_url=None
    )
    _posts(app, service)
    _gets(app, service)
    _pages(app, service)

    @app.exception_handler(RequestError)
    async def problem(request: Request, error: RequestError) -> Response:
        return _refused(request, error)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "bad_request")
        message = "there is nothing here; see /docs" if code == "not_found" else str(error.detail).lower()
        return _refused(request, RequestError(code, message), dict(error.headers or {}))

    return app


def _posts(app: FastAPI, service: Service) -> None:
    predict, explain = service.PredictRequest, service.ExplainRequest

    @app.post(
        "/v1/predict", summary="Label one text or several", openapi_extra=_takes(predict),
        response_model=Answer | Answers, responses=_problems(service, 400, 404, 408, 413, 415, 422, 503),
    )  # fmt: skip
    async def _predict(request: Request) -> Response:
        """The best label of each text and its probability; on request the best few, or all. Requests share calls."""
        # the front answers this itself; it is here for the schema, and for those who mount the application alone
        answer, _seen(request).about = service.predict(await _json_body(request))
        return _json(await answer)

    @app.post(
        "/v1/explain", summary="Say why a text gets its label", openapi_extra=_takes(explain),
        response_model=Explained, responses=_problems(service, 400, 404, 408, 413, 415, 422, 503),
    )  # fmt: skip
    async def _explain(request: Request) -> Response:
        """What every word and feature adds to the score of a label."""
        answer, _seen(request).about = await service.explain(await _json_body(request))
        return _json(answer)

    if service.settings.allow_reload:

        @app.post(
            "/v1/models/reload", summary="Read changed model files",
            response_model=Reloaded, responses=_problems(service, 408, 409, 413, 503),
        )  # fmt: skip
        async def _reload() -> Response:
            """Replace models whose files have changed, without dropping a request. Other workers follow at once."""
            return _json(await service.reload_everywhere())


def _gets(app: FastAPI, service: Service) -> None:
    @app.get("/v1/models", summary="List the models", response_model=ModelList, responses=_problems(service, 413, 503))
    async def _models() -> Response:
        return _json(await service.models())

    @app.get("/healthz", summary="Is the process alive?", response_model=State, responses=_problems(None, 413))
    async def _healthz() -> Response:
        return _json(b'{"status":"ok"}')

    @app.get("/readyz", summary="May requests be sent here?", response_model=State, responses=_problems(None, 413, 503))
    async def _readyz() -> Response:
        if not service.ready:
            raise RequestError("stopping", "the server is stopping")
        return _json(b'{"status":"ready"}')

    text: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}

    @app.get(
        "/metrics", summary="Counters for Prometheus", response_class=Response,
        responses=text | _problems(service, 413, 503),
    )  # fmt: skip
    async def _metrics() -> Response:
        return Response(service.metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _pages(app: FastAPI, service: Service) -> None:
    schema: list[bytes] = []

    @app.get("/openapi.json", include_in_schema=False)
    async def _openapi() -> Response:
        if not schema:
            schema.append(orjson.dumps(_published(app, service)))
        return _json(schema[0])

    @app.get("/docs", include_in_schema=False)
    async def _docs() -> Response:
        page = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
        policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:"
        return Response(page, media_type="text/html", headers={"content-security-policy": policy})

    @app.get("/", include_in_schema=False)
    async def _root() -> Response:
        return Response(status_code=307, headers={"location": "docs"})


def _published(app: FastAPI, service: Service) -> dict[str, Any]:
    """Return FastAPI's schema with the two requests put in, which it does not check itself."""
    found = app.openapi()
    schemas = found.setdefault("components", {}).setdefault("schemas", {})
    for kind in (service.PredictRequest, service.ExplainRequest):
        schemas[kind.__name__] = kind.model_json_schema(ref_template="#/components/schemas/{model}")
    if service.tokens:
        found["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
        for path, operations in found["paths"].items():
            if path not in ("/healthz", "/readyz"):
                for operation in operations.values():
                    operation["security"] = [{"bearer": []}]
    return found


def _takes(kind: type[Any]) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{kind.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": reference}}}}


def _problems(service: Service | None, *statuses: int) -> dict[int | str, dict[str, Any]]:
    known = {*statuses, *((401,) if service is not None and service.tokens else ())}
    return {status: {"model": ErrorReply, "description": WHY[status]} for status in sorted(known)}


async def _json_body(request: Request) -> bytes:
    kind = request.headers.get("content-type")
    if kind is not None and not is_json(kind.encode("latin-1")):
        raise not_json(kind.encode("latin-1"))
    return await request.body()


def _seen(request: Request) -> Seen:
    seen = request.scope.get("linnet.seen")
    return seen if isinstance(seen, Seen) else Seen()


def _json(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, headers, media_type="application/json")


def _refused(request: Request, problem: RequestError, headers: dict[str, str] | None = None) -> Response:
    _seen(request).problem = problem.code
    own = {name.decode(): value.decode() for name, value in problem.headers}
    return _json(orjson.dumps(problem.to_dict()), CODES[problem.code], {**(headers or {}), **own})
