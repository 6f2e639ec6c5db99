"""The command line: one file per command, imported when it is used, so that ``linnet --version`` is instant.

Results go to standard output, progress and problems to standard error. Exit codes: 0 done, 1 a bug (please
report it), 2 something you can fix (one line says what), 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from linnet import __version__
from linnet.errors import LinnetError

__all__ = ["main"]

COMMANDS = {  # name: (module:function, help)
    "demo": ("linnet.cli.demo:demo", "Train, compare and explain on the built-in book reviews."),
    "check": ("linnet.cli.check:check", "Find duplicates, leaks, wrong labels and loopholes in a file."),
    "split": ("linnet.cli.split:split", "Divide a file into train, dev and test; --blind seals the test part."),
    "train": ("linnet.cli.train:train", "Train a classifier on a file and save it."),
    "compare": ("linnet.cli.compare:compare", "Compare models on the same folds, with tests and a recommendation."),
    "tune": ("linnet.cli.tune:tune", "Search features, model and settings within a budget of time and size."),
    "predict": ("linnet.cli.predict:predict", "Label texts; streams files of any size."),
    "evaluate": ("linnet.cli.evaluate:evaluate", "Say how good a model is on labelled texts."),
    "explain": ("linnet.cli.explain:explain", "Show why a text gets its label, word by word."),
    "serve": ("linnet.cli.serve:serve", "Answer over HTTP: predict, explain, metrics."),
    "clean": ("linnet.cli.clean:clean", "Clean texts, filter pages, remove duplicates; says what every rule did."),
    "tokenize": ("linnet.cli.tokenize:tokenize", "Show the pieces that a tokeniser makes of a text, and their places."),
    "vocab": ("linnet.cli.vocab:vocab", "Count the words of a file: cut-offs, coverage, Zipf's law."),
    "features": ("linnet.cli.features:features", "List the feature blocks, or show what a model sees of a text."),
    "filter": ("linnet.cli.filter:filter_", "Keep the rows of a corpus that a model says are worth keeping."),
    "studio": ("linnet.cli.studio:studio", "Look, train, try and label in a browser, on this machine."),
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
        module, function = COMMANDS[name][0].split(":")
        command = getattr(importlib.import_module(module), function)
        assert isinstance(command, click.Command)  # noqa: S101 - our own table
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
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from linnet.errors import nearest

            raise LinnetError(nearest("command", args[0], COMMANDS))
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
    """Let Python flush what is left of standard output into nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Run the command line; turn errors into one line and an exit code."""
    debug = "--debug" in sys.argv
    try:
        code = linnet.main(prog_name="linnet", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except LinnetError as error:
        if debug:
            raise
        click.echo(f"linnet: {error}", err=True)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("linnet: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        _drop_output()
        sys.exit(0)
    except MemoryError:
        if debug:
            raise
        click.echo(
            "linnet: out of memory; use --max-memory, fewer features (--max-features, --hash-bits) or a larger machine",
            err=True,
        )
        sys.exit(2)
