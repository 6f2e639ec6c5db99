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
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from linnet.errors import LinnetError, MissingExtraError
from linnet.studio.state import Studio

# ---- Who may talk to the studio: pages of its own address, in a browser that has shown the token. And what those pages may load.
#
# The studio reads and writes files, so every request needs the token, those of scripts and websockets too. It is asked for as
# notebooks do: the address that is printed holds it (``?token=...``), the browser gets a cookie in exchange and is sent to the
# same address without it. A page of another site, open in the same browser, can neither read nor frame nor send anything.


App = Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

ASKING = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>linnet studio</title><h1>linnet studio asks for its token</h1>'
    "<p>Open the address that <code>linnet studio</code> printed; it ends in <code>?token=...</code>. Or enter the token:</p>"
    '<form><input name="token" type="password" aria-label="token" autofocus> <button>Open</button></form></html>'
)
ALWAYS: Headers = [
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
REFUSING = b"default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"


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
        self.app = app
        self.token = token
        self.cookie = f"linnet-studio-{port}"  # browsers keep the cookies of all ports of a machine together
        self.session = new_token()
        self.names = (f"{host}:{port}", f"localhost:{port}")
        self.hosts = {name.encode() for name in self.names}
        self.origins = {b"http://" + name for name in self.hosts}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Answer 403 where the request is for another host, from another site, or without the token."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if not self.is_ours(headers):
            await _refuse(scope, send, "linnet studio answers its own pages only", "text/plain")
        elif scope["type"] == "http" and scope["method"] == "GET" and self.has_token(scope):
            await self._let_in(scope, send)
        elif self.token is None or self.has_cookie(scope["headers"]):
            await self._pass(scope, receive, send)
        else:
            await _refuse(scope, send, ASKING, "text/html; charset=utf-8")

    def is_ours(self, headers: dict[bytes, bytes]) -> bool:
        """Whether a request with these headers is one of our own pages', or of somebody who typed the address."""
        return headers.get(b"host") in self.hosts and headers.get(b"origin", next(iter(self.origins))) in self.origins

    def has_cookie(self, headers: Headers) -> bool:
        """Whether the browser was let in before."""
        for name, value in headers:
            if name == b"cookie":
                try:
                    found = SimpleCookie(value.decode("latin-1")).get(self.cookie)
                except CookieError:
                    found = None
                if found is not None and _equal(found.value, self.session):
                    return True
        return False

    def has_token(self, scope: MutableMapping[str, Any]) -> bool:
        """Whether the address holds the token."""
        given = [value for name, value in _query(scope) if name == "token"]
        return len(given) == 1 and self.token is not None and _equal(given[0], self.token)

    async def _let_in(self, scope: MutableMapping[str, Any], send: Any) -> None:
        """Give the browser a cookie, and the same address without the token, which would stay in its history."""
        rest = urlencode([(name, value) for name, value in _query(scope) if name != "token"])
        path = "/" + quote(scope["path"].lstrip("/"))  # //elsewhere would be another host
        fields = [
            (b"location", (path + ("?" + rest if rest else "")).encode()),
            (b"set-cookie", f"{self.cookie}={self.session}; Path=/; HttpOnly; SameSite=Lax".encode()),
            (b"cache-control", b"no-store"),
            (b"content-security-policy", REFUSING),
        ]
        await send({"type": "http.response.start", "status": 303, "headers": fields + ALWAYS})
        await send({"type": "http.response.body", "body": b""})

    async def _pass(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {})["nonce"] = nonce
        rules = [*ALWAYS, (b"content-security-policy", policy(nonce, self.names).encode())]

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *rules]}
            await send(message)

        await self.app(scope, receive, send_guarded)


async def _refuse(scope: MutableMapping[str, Any], send: Any, words: str, kind: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    body = words.encode()
    fields = [
        (b"content-type", kind.encode()),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        (b"content-security-policy", REFUSING),
    ]
    await send({"type": "http.response.start", "status": 403, "headers": fields + ALWAYS})
    await send({"type": "http.response.body", "body": body})


def _query(scope: MutableMapping[str, Any]) -> list[tuple[str, str]]:
    try:
        return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return []


def _equal(given: str, right: str) -> bool:
    """Compare in a time that does not tell how much is right."""
    return hmac.compare_digest(given.encode(), right.encode())


HOST = "127.0.0.1"
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="#0b62a8" d="M2 17c5 0 6-3 8-7 1.600-3.200 4-5 7'
    '-5 2.300 0 3.700 1.200 4.200 2.700L24 9l-2.700.8C20.800 15.500 16.500 20 10 20c-3 0-6-1-8-3z"/></svg>'
)


def bind(port: int = 0) -> socket.socket:
    """Take a port of this machine, any free one for 0; other machines cannot reach it."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
    except OSError as error:
        found.close()
        raise LinnetError(
            f"port {port} cannot be used ({error.strerror}); leave --port out to take a free one"
        ) from None
    found.listen(128)
    return found


def check() -> None:
    """Refuse in one line where the extra is not installed."""
    from importlib.util import find_spec

    if find_spec("nicegui") is None:
        raise MissingExtraError("linnet studio", "studio")


def make(studio: Studio) -> Any:
    """Return the application: a FastAPI app with the pages of the studio."""
    os.environ.setdefault("MATPLOTLIB", "false")  # NiceGUI would import it
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
