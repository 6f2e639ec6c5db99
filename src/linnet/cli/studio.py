"""``linnet studio``: look at data, train, read errors, try texts and label new ones in a browser."""

from __future__ import annotations

import threading
import webbrowser
from typing import Any

import click

from linnet.cli import options as o
from linnet.cli.output import say


@o.command()
@click.argument("what", type=o.InputPath(), required=False, metavar="[DATA|MODEL]")
@o.text
@o.label
@o.number("--port", "The port; 0 takes a free one.", 0, 0, 65535)
@o.option(
    "--folder", "DIR", "Where answers, runs and opened files are kept.", default="linnet-studio", show_default=True
)
@o.flag("--no-token", "Ask for no token: every user and program of this machine may use it.")
@o.flag("--no-open", "Do not open a browser; print the address only.")
@o.model_options
def studio(what: str | None, **options: Any) -> None:
    """Open the studio on a data file, a model, or the built-in tickets.

    It listens on 127.0.0.1 only, fetches nothing, and prints its address, which holds a token: nobody else on this machine can
    open it. Stop it with Ctrl-C.

    \b
    linnet studio                         on the built-in tickets; open your own file there
    linnet studio reviews.csv             health, training, errors, fixing labels
    linnet studio reviews.linnet          try a model
    linnet studio unlabelled.csv          label the most useful texts first
    """
    from linnet.studio.server import HOST, bind, check, new_token, serve
    from linnet.studio.state import TICKETS, Studio

    check()
    made = Studio(options["folder"], options["threads"], trust=options["trust"])
    made.open(what or TICKETS, options["text"], options["label"])
    if made.data is not None:
        say(made.data.describe())
    sock = bind(options["port"])
    token = None if options["no_token"] else new_token()
    address = f"http://{HOST}:{sock.getsockname()[1]}/" + (f"?token={token}" if token else "")
    click.echo(address)
    say(f"answers and runs are kept in {made.folder}; stop with Ctrl-C")
    page = made.folder / "open.html"
    if not options["no_open"]:
        # It leads to the address, for the eyes of this user only: all can read the command line of a browser.
        page.unlink(missing_ok=True)
        page.touch(0o600)
        page.write_text(
            f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}"><title>linnet studio</title>'
        )
        timer = threading.Timer(1.0, webbrowser.open, (page.resolve().as_uri(),))
        timer.daemon = True
        timer.start()
    try:
        serve(made, sock, token)
    finally:
        page.unlink(missing_ok=True)
