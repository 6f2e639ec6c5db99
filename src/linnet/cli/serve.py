"""``linnet serve``: an HTTP server for models."""

from __future__ import annotations

import os
from typing import Any

import click

from linnet.cli import options as o
from linnet.cli.output import say
from linnet.errors import LinnetError, require


@o.command()
@click.argument("models", type=o.InputPath(), metavar="MODEL...", nargs=-1, required=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on; 0.0.0.0 for all.")
@o.number("--port", "The port; 0 takes a free one.", 8000, 0, 65535)
@o.number("--workers", "Processes. From 2 on, one that dies is replaced. The model file is in memory once.", 1, 1, 256)
@o.number("--threads", "Threads a large batch may use; cores / workers by default.")
@o.option("--token-file", "FILE", "Ask for a bearer token: any line of FILE; by default that of LINNET_TOKEN, if set.")
@o.flag("--allow-reload", "Offer POST /v1/models/reload. SIGHUP always reloads.")
@o.many("--allow-host", "NAME", "Answer to this host name too, where no token is asked for.")
@o.number("--max-body", "Bytes of a request.", 16_000_000)
@o.number("--max-text", "Characters of a text.", 1_000_000)
@o.number("--max-batch", "Texts of a request.", 10_000)
@o.number("--max-explain", "Characters of a text to explain.", 20_000)
@o.number("--max-waiting", "Requests in flight in a worker; more are told to come back.", 1_000)
@o.number("--timeout", "Seconds a request may take.", 30.0, 0.1)
@o.number("--keep-alive", "Seconds for idle connections.", 75.0)
@o.number("--grace", "Seconds that requests in flight have when the server is told to stop.", 30.0)
@o.number("--gather", "So many requests in flight may share one call of the model; 1: none.", 64)
@o.choice(
    "--log", "requests problems none", "Which requests are logged, a JSON line each, on standard error.", "requests"
)
@o.flag("--log-texts", "Log the texts too. By default no text is ever logged.")
@o.trust
def serve(models: tuple[str, ...], threads: int | None, **options: Any) -> int | None:
    """Answer over HTTP with each MODEL, a file or NAME=FILE; the first is used where a request names none.

    A folder of versions (1.linnet, 2.linnet ...) is followed: the last one answers, or the one that its file `latest` names.

    \b
    linnet serve reviews.linnet
    curl --json '{"text": "a warm and funny book"}' http://127.0.0.1:8000/v1/predict
    linnet serve reviews.linnet spam=runs/7.linnet --workers 4 --token-file /run/secrets/token

    POST /v1/predict, /v1/explain; GET /v1/models, /healthz, /readyz, /metrics, /docs. Ctrl-C or SIGTERM stops when the
    requests in flight are answered; SIGHUP reads changed model files without dropping a request.
    """
    if os.name != "posix":
        raise LinnetError("linnet serve needs Linux or macOS; on Windows run it in WSL or a container")
    for module in ("httptools", "orjson", "prometheus_client", "pydantic", "uvicorn"):
        require(module, "linnet serve", "serve")
    from linnet.files import temporary_folder
    from linnet.serve.catalogue import Catalogue
    from linnet.serve.settings import Settings, is_loopback, listen, named, tokens

    threads = threads or max(1, (os.cpu_count() or 1) // options["workers"])
    with temporary_folder() as folder:
        settings = Settings(named(models), threads=threads, folder=str(folder), **options)
        Catalogue(settings.models, settings.folder, trust=settings.trust)  # refuses a file that cannot be served
        secured = bool(tokens(settings.token_file))
        listening = listen(settings.host, settings.port, "choose another --port (0: a free one) or --host")
        host, port = listening.getsockname()[:2]
        click.echo(f"http://{f'[{host}]' if ':' in host else host}:{port}")
        if not secured and not is_loopback(settings.host):
            say("anybody who can reach this port can use the models; --token-file asks for a token")
        from linnet.serve.server import run

        return run(settings, listening)
