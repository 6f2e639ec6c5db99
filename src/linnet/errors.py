"""Errors a user can act on: one clear line each. The command line prints them and exits 2."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

_MOST = 50  # choices that a message lists


class LinnetError(Exception):
    """Something the user can mend; the message says what was wrong, what was got and what to do."""


class DataError(LinnetError, ValueError):
    """The input cannot be used as it is."""


class ModelFileError(LinnetError, ValueError):
    """A model file is truncated, altered, foreign or newer than this version."""


class UntrustedModelError(ModelFileError):
    """A model file names functions of other programs, and the caller has not said that it may; ``names`` has them."""

    def __init__(self, where: str, names: Sequence[str]) -> None:
        self.where, self.names = where, tuple(names)
        listed = ", ".join(shown(name) for name in self.names[:8])
        more = f" and {len(self.names) - 8:,} more" if len(self.names) > 8 else ""
        super().__init__(
            f"{where}: the model calls code that is not in its file: {listed}{more} (nothing was imported); if you trust where the file "
            "comes from, load it with --trust (in Python: trust=True, or linnet.register_function for each)"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.where, self.names)


class NotFittedError(LinnetError, ValueError, AttributeError):
    """A model or vectoriser is used before ``fit``."""


class MissingExtraError(LinnetError, ImportError):
    """A capability needs an optional package that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package; install it with: pip install 'linnet[{extra}]'")


def require(module: str, what: str, extra: str) -> Any:
    """Import a module of an optional package; where it is missing, say what needs it and how to install it.

    >>> require("json", "an example", "all").dumps([1])
    '[1]'
    >>> require("no_such_module", "an example", "sklearn")
    Traceback (most recent call last):
    linnet.errors.MissingExtraError: an example needs an optional package; install it with: pip install 'linnet[sklearn]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(what, extra) from error


def shown(value: object, most: int = 80) -> str:
    r"""Return a name from outside as a message may show it: control characters escaped, cut where it is long.

    >>> shown("caf\xe9 \x1b[31m\n"), shown("a" * 100, 10)
    ('caf\xe9 \\x1b[31m\\n', 'aaaaaaaaa\u2026')
    """
    text = str(value)
    cut = text if len(text) <= most else text[: most - 1] + "\u2026"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)


def not_fitted(message: str) -> Exception:
    """Return a NotFittedError; one that is also scikit-learn's, where scikit-learn is in use."""
    theirs = sys.modules.get("sklearn.exceptions")
    if theirs is None:
        return NotFittedError(message)
    error: Exception = type("NotFittedError", (NotFittedError, theirs.NotFittedError), {})(message)
    return error


def nearest(kind: str, name: str, choices: Iterable[str]) -> str:
    """Say that a name is unknown, list the choices and point at the closest one.

    >>> nearest("model", "logstic", ["svm", "logistic"])
    "unknown model 'logstic'; choose one of: svm, logistic (did you mean 'logistic'?)"
    """
    known = list(choices)
    close = difflib.get_close_matches(name[:100], [one for one in known[:5000] if len(one) <= 100], n=1)
    hint = f" (did you mean '{shown(close[0])}'?)" if close else ""
    more = f" and {len(known) - _MOST:,} more" if len(known) > _MOST else ""
    return f"unknown {kind} '{shown(name)}'; choose one of: {', '.join(map(shown, known[:_MOST]))}{more}{hint}"


def no_such_file(path: Path) -> str:
    """Say that there is no such file, and which of its folder has a name like it."""
    if not path.parent.is_dir():
        return f"no file '{path}': the folder '{path.parent}' does not exist"
    close = difflib.get_close_matches(path.name, sorted(one.name for one in path.parent.iterdir()), n=1, cutoff=0.7)
    return f"no file '{path}'" + (f"; did you mean '{path.parent / close[0]}'?" if close else "")


def check_choice(kind: str, name: Any, choices: Collection[str], error: type[LinnetError] = DataError) -> None:
    """Refuse a name that is none of the choices.

    >>> check_choice("model", "logstic", ["svm", "logistic"])
    Traceback (most recent call last):
    linnet.errors.DataError: unknown model 'logstic'; choose one of: svm, logistic (did you mean 'logistic'?)
    """
    if name not in choices:
        raise error(nearest(kind, str(name), choices))
