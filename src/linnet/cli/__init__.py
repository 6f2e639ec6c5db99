"""The command line: one file per command, imported when it is used, so that ``linnet --version`` is instant.

Results go to standard output, progress and problems to standard error. Exit codes: 0 done, 1 a bug (please
report it), 2 something you can fix (one line says what), 130 interrupted by Ctrl-C, 143 by SIGTERM.
"""

from __future__ import annotations

try:
    import atexit
    import contextlib
    import errno
    import gc
    import importlib
    import os
    import signal
    import sys
    import warnings
    from collections.abc import Iterator
    from typing import Any

    import click

    from linnet import __version__
    from linnet.errors import LinnetError, check_choice, shown
except KeyboardInterrupt:  # while Python was still reading the program
    raise SystemExit(130) from None

__all__ = ["main"]

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # nothing here needs its threads, which wait for work by spinning

COMMANDS = {  # name: (module:function, help)
    "demo": ("linnet.cli.demo:demo", "Check, train and explain on the built-in support tickets."),
    "check": ("linnet.cli.check:check", "Find duplicates, leaks, wrong labels and loopholes in a file."),
    "split": ("linnet.cli.split:split", "Divide a file into train, dev and test; --blind seals the test part."),
    "train": ("linnet.cli.train:train", "Train a classifier on a file and save it."),
    "compare": ("linnet.cli.compare:compare", "Compare models on the same folds, with tests and a recommendation."),
    "tune": ("linnet.cli.tune:tune", "Search features, model and settings within a budget of time and size."),
    "update": ("linnet.cli.update:update", "Go on learning from new rows; the version before is kept."),
    "monitor": ("linnet.cli.monitor:monitor", "Say whether the input of a model has changed since training."),
    "predict": ("linnet.cli.predict:predict", "Label texts; streams files of any size."),
    "evaluate": ("linnet.cli.evaluate:evaluate", "Say how good a model is on labelled texts."),
    "explain": ("linnet.cli.explain:explain", "Show why a text gets its label, word by word."),
    "shrink": ("linnet.cli.shrink:shrink", "Write a smaller model: coarser weights, fewer features."),
    "export": ("linnet.cli.export:export", "Write a model as C, JavaScript, an offline web page, ONNX or JSON."),
    "import": ("linnet.cli.import_:import_", "Read a fastText or scikit-learn model and save it as a linnet model."),
    "serve": ("linnet.cli.serve:serve", "Answer over HTTP: predict, explain, metrics."),
    "clean": ("linnet.cli.clean:clean", "Clean texts, filter pages, remove duplicates; says what every rule did."),
    "tokenize": ("linnet.cli.tokenize:tokenize", "Show the pieces that a tokeniser makes of a text, and their places."),
    "vocab": ("linnet.cli.vocab:vocab", "Count the words of a file: cut-offs, coverage, Zipf's law."),
    "features": ("linnet.cli.features:features", "List the feature blocks, or show what a model sees of a text."),
    "filter": ("linnet.cli.filter:filter_", "Keep the rows of a corpus that a model says are worth keeping."),
    "studio": ("linnet.cli.studio:studio", "Look, train, try and label in a browser, on this machine."),
    "reproduce": ("linnet.cli.reproduce:reproduce", "Make a published table again, ours beside theirs."),
    "info": ("linnet.cli.info:info", "Show what is in a model file."),
}


class Commands(click.Group):
    """A group whose commands are imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of the work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import one command."""
        if name not in COMMANDS:
            return None
        place, about = COMMANDS[name]
        module, function = place.split(":")
        command: click.Command = getattr(importlib.import_module(module), function)
        command.short_help = about
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; end quietly where the reader of its output has gone, as with ``| head``."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _drop_output()
            return None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Point at the nearest command when one is misspelt."""
        if args and not args[0].startswith("-"):
            check_choice("command", args[0], COMMANDS, LinnetError)
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="linnet")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def linnet(debug: bool) -> None:
    """Labelled text to a small, fast, explainable classifier that says honestly how good it is.

    \b
    linnet demo                          the whole story on built-in data
    linnet check reviews.csv             duplicates, leaks, wrong labels, loopholes
    linnet compare reviews.csv           every model on the same folds, and which to use
    linnet tune reviews.csv --budget 60s search features, model and settings; save the best
    linnet train reviews.csv             split, choose settings, fit, test, save reviews.linnet
    linnet predict reviews.linnet new.csv --proba
    linnet explain reviews.linnet "not bad at all"
    """


def _drop_output() -> None:
    """Let Python flush what is left for a stream that nobody reads any more into nothing."""
    for stream in [stream for stream in (sys.stdout, sys.stderr) if stream is not None]:
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _open_streams() -> None:
    """Refuse to work without standard output: the next file to be opened would take its place and get the results."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - for as long as the program runs
    if sys.stdout is None:
        raise LinnetError("standard output is closed; send it to a file, or to /dev/null")
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files may not be UTF-8


@contextlib.contextmanager
def _unread() -> Iterator[None]:
    """Go on where nobody reads a message."""
    try:
        yield
    except OSError:
        _drop_output()


def _say(message: object) -> None:
    line = str(message)
    with _unread():
        click.echo(f"linnet: {line if line.isprintable() and len(line) <= 4000 else shown(line, 4000)}", err=True)


def _run(debug: bool) -> int:
    """Run the command line; turn errors into one line and an exit code."""
    try:
        _open_streams()
        code = linnet.main(prog_name="linnet", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        return 130
    except SystemExit as error:
        if error.code != 143:
            raise
        _say("ended by SIGTERM")
        return 143
    except BrokenPipeError:
        _drop_output()
        return 0
    except click.ClickException as error:
        with _unread():
            error.show()
        return error.exit_code
    except (LinnetError, OSError, MemoryError) as error:
        if debug:
            raise
        if isinstance(error, LinnetError):
            _say(error)
        elif isinstance(error, OSError):
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF) and error.filename is None
            where = "cannot write standard output" if full else shown(error.filename or "a file could not be used", 300)
            _drop_output()
            _say(f"{where}: {error.strerror or error}")
        else:
            _say("out of memory; use --max-memory, fewer features (--max-features, --hash-bits) or a larger machine")
        return 2


def main() -> None:
    """Run the command line and end the program.

    Python is not taken down piece by piece: a thread that waits for standard input would hold that up, and one of Arrow's
    that lets go of a buffer meanwhile would abort it.
    """
    gc.set_threshold(100_000, 50, 50)  # a tenth of the time of a short command, where imports make most of the objects
    # SIGTERM raises, so that temporary files are removed; servers handle it themselves.
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    warnings.showwarning = lambda message, *_args, **_more: _say(f"warning: {message}")  # without the place in the code
    code = _run("--debug" in sys.argv)
    atexit._run_exitfuncs()
    _drop_output()
    os._exit(code)
