"""Errors a user can act on: one clear line each. The command line prints them and exits 2."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["DataError", "LinnetError", "MissingExtraError", "ModelFileError", "nearest"]


class LinnetError(Exception):
    """Something the user can mend; the message says what was wrong, what was got and what to do."""


class DataError(LinnetError, ValueError):
    """The input cannot be used as it is."""


class ModelFileError(LinnetError, ValueError):
    """A model file is truncated, altered, foreign or newer than this version."""


class MissingExtraError(LinnetError, ImportError):
    """A capability needs an optional package that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package; install it with: pip install 'linnet[{extra}]'")


def nearest(kind: str, name: str, choices: Iterable[str]) -> str:
    """Say that a name is unknown, list the choices and point at the closest one.

    >>> nearest("model", "logstic", ["svm", "logistic"])
    "unknown model 'logstic'; choose one of: svm, logistic (did you mean 'logistic'?)"
    """
    known = list(choices)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" (did you mean '{close[0]}'?)" if close else ""
    return f"unknown {kind} '{name}'; choose one of: {', '.join(known)}{hint}"
