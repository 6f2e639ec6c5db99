"""The server: pages on 127.0.0.1, nothing from elsewhere, nobody without the token (`guard`).

NiceGUI brings its scripts, styles and fonts with it and serves them itself; Tailwind is left out, so the only style is
the studio's own.
"""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Any

from linnet.errors import LinnetError, MissingExtraError
from linnet.studio.guard import Guard
from linnet.studio.state import Studio

__all__ = ["HOST", "bind", "check", "make", "serve"]

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
        app, title="linnet studio", favicon=ICON, dark=None, tailwind=False, show_welcome_message=False,
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
