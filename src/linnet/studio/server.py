"""The server: pages on 127.0.0.1, nothing from elsewhere.

NiceGUI brings its scripts, styles and fonts with it and serves them itself; Tailwind is left out, so the only style is
the studio's own.
"""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Any

from linnet.errors import LinnetError, MissingExtraError
from linnet.studio.state import Studio

__all__ = ["HOST", "SameOrigin", "bind", "check", "make", "serve"]

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


class SameOrigin:
    """Serves requests from pages of this address only, not from other sites or under other host names.

    A page from elsewhere that is open in the same browser could otherwise talk to the studio, which reads files.
    """

    def __init__(self, app: Any, port: int) -> None:
        self.app = app
        self.hosts = {f"{HOST}:{port}".encode(), f"localhost:{port}".encode()}
        self.origins = {b"http://" + host for host in self.hosts}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer 403 where the request is for another host or from another site."""
        if scope["type"] in ("http", "websocket") and not self.allows(dict(scope["headers"])):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"linnet studio answers its own pages only"})
            return
        await self.app(scope, receive, send)

    def allows(self, headers: dict[bytes, bytes]) -> bool:
        """Whether a request with these headers is one of our own pages'."""
        return headers.get(b"host") in self.hosts and headers.get(b"origin", next(iter(self.origins))) in self.origins


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
    register(studio)
    ui.run_with(
        app, title="linnet studio", favicon=ICON, dark=None, tailwind=False, show_welcome_message=False,
        binding_refresh_interval=None, reconnect_timeout=10.0,
    )  # fmt: skip
    return app


def serve(studio: Studio, sock: socket.socket) -> None:
    """Serve until interrupted."""
    app = SameOrigin(make(studio), sock.getsockname()[1])
    import uvicorn

    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[sock])
