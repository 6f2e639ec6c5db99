"""The server: pages on 127.0.0.1, nothing from elsewhere, nobody without the token (`guard`).

NiceGUI brings its scripts, styles and fonts with it and serves them itself; Tailwind is left out, so the only style is
the studio's own.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import quote, urlencode

from linnet.errors import require
from linnet.serve.settings import listen
from linnet.studio.state import BIRD, Studio

# ---- Who may talk to the studio: pages of its own address, in a browser that has shown the token. And what those pages may load.
#
# The studio reads and writes files, so every request needs the token, those of scripts and websockets too. It is asked for as
# notebooks do: the address that is printed holds it (``?token=...``), the browser gets a cookie in exchange and is sent to the
# same address without it. A page of another site, open in the same browser, can neither read nor frame nor send anything.


App = Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]]

ASKING = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>linnet studio</title><h1>linnet studio asks for its token</h1>'
    "<p>Open the address that <code>linnet studio</code> printed; it ends in <code>?token=...</code>. Or enter the token:</p>"
    '<form><input name="token" type="password" aria-label="token" autofocus> <button>Open</button></form></html>'
)
ALWAYS = {
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
OWN = "own"  # no request of a browser has this origin
REFUSING = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"


def new_token() -> str:
    """Return a token that cannot be guessed."""
    return secrets.token_hex(24)


def policy(nonce: str, hosts: tuple[str, ...]) -> str:
    """Return what a page may load; docs/decisions.md says what NiceGUI forces."""
    sockets = " ".join(f"ws://{host}" for host in hosts)
    return (
        f"default-src 'none'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        f"img-src 'self' data:; font-src 'self'; connect-src 'self' {sockets}; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )


class Guard:
    """Serves requests of this address and with the token only; ``token=None`` asks for none."""

    def __init__(self, app: App, host: str, port: int, token: str | None) -> None:
        self.app, self.token = app, token
        self.cookie = f"linnet-studio-{port}"  # browsers keep the cookies of all ports of a machine together
        self.session = new_token()
        self.names = (f"{host}:{port}", f"localhost:{port}")
        self.origins = {f"http://{name}" for name in self.names}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Answer 403 where the request is for another host, from another site, or without the token."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        from starlette.requests import HTTPConnection
        from starlette.responses import HTMLResponse, PlainTextResponse, Response

        asked = HTTPConnection(scope)
        if asked.headers.get("host") not in self.names or asked.headers.get("origin", OWN) not in {*self.origins, OWN}:
            answer: Response = PlainTextResponse("linnet studio answers its own pages only", 403)
        elif scope["type"] == "http" and scope["method"] == "GET" and self.has_token(asked):
            answer = self._let_in(asked)
        elif self.token is None or _equal(asked.cookies.get(self.cookie, ""), self.session):
            await self._pass(scope, receive, send)
            return
        else:
            answer = HTMLResponse(ASKING, 403)
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        answer.headers.update({**ALWAYS, "cache-control": "no-store", "content-security-policy": REFUSING})
        await answer(scope, receive, send)

    def has_token(self, asked: Any) -> bool:
        """Whether the address holds the token, once."""
        given = asked.query_params.getlist("token")
        return len(given) == 1 and self.token is not None and _equal(given[0], self.token)

    def _let_in(self, asked: Any) -> Any:
        """Give the browser a cookie, and the same address without the token, which would stay in its history."""
        from starlette.responses import RedirectResponse

        rest = urlencode([(name, value) for name, value in asked.query_params.multi_items() if name != "token"])
        path = "/" + quote(asked.scope["path"].lstrip("/"))  # //elsewhere would be another host
        answer = RedirectResponse(path + ("?" + rest if rest else ""), 303)
        answer.set_cookie(self.cookie, self.session, httponly=True, samesite="lax")
        return answer

    async def _pass(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {})["nonce"] = nonce
        rules = {**ALWAYS, "content-security-policy": policy(nonce, self.names)}

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                more = [(name.encode(), value.encode()) for name, value in rules.items()]
                message = {**message, "headers": [*message.get("headers", []), *more]}
            await send(message)

        await self.app(scope, receive, send_guarded)


def _equal(given: str, right: str) -> bool:
    """Compare in a time that does not tell how much is right."""
    return hmac.compare_digest(given.encode(), right.encode())


HOST = "127.0.0.1"
ICON = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="#0b62a8" d="{BIRD}"/></svg>'


def bind(port: int = 0) -> socket.socket:
    """Take a port of this machine, any free one for 0; other machines cannot reach it."""
    return listen(HOST, port, "leave --port out to take a free one")


def check() -> None:
    """Refuse in one line where the extra is not installed."""
    os.environ.setdefault("MATPLOTLIB", "false")  # NiceGUI would import it
    require("nicegui", "linnet studio", "studio")


def make(studio: Studio) -> Any:
    """Return the application: a FastAPI app with the pages of the studio."""
    check()
    from fastapi import FastAPI
    from nicegui import ui

    from linnet.studio.pages import register

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    _give_nonces()
    register(studio)
    ui.run_with(
        app, title="linnet studio", favicon=ICON, dark=None, language="en-US", tailwind=False, show_welcome_message=False,
        binding_refresh_interval=None, reconnect_timeout=10.0,
    )  # fmt: skip
    return app


def _give_nonces() -> None:
    """Let the scripts of NiceGUI's page carry the nonce of the policy; a script that gets into a page otherwise has none."""
    from jinja2 import ChoiceLoader, DictLoader
    from nicegui.client import templates

    name, loader = "index.html", templates.env.loader
    assert loader is not None  # noqa: S101 - NiceGUI's templates are files
    source = loader.get_source(templates.env, name)[0]
    if "request.state.nonce" not in source:
        source = source.replace("<script", '<script nonce="{{ request.state.nonce }}"')
        templates.env.loader = ChoiceLoader([DictLoader({name: source}), loader])


def serve(studio: Studio, sock: socket.socket, token: str | None) -> None:
    """Serve until interrupted, to those who have the token; to everybody on this machine where it is None."""
    app = Guard(make(studio), HOST, sock.getsockname()[1], token)
    import uvicorn

    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[sock])
