"""Moments in time: a column of dates or numbers as numbers that can be ordered."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from linnet.errors import DataError

__all__ = ["moment", "moments"]


def moment(text: str) -> datetime | None:
    """Return the date that a text is, as its clock and calendar had it; None where it is none.

    >>> moment("2024-05-01T23:30:00-07:00").isoformat(), moment("Wed, 01 May 2024 12:30:00 +0200").day, moment("soon")
    ('2024-05-01T23:30:00-07:00', 1, None)
    """
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def moments(values: Sequence[Any], column: str = "time") -> np.ndarray:
    """Return values as floats in the order of time: numbers as they are, dates as seconds since 1970.

    Dates are ISO 8601 (2024-05-01, 2024-05-01T12:30:00+02:00) or as in mail (Wed, 01 May 2024 12:30:00 +0200); one
    without a time zone counts as UTC. All values must be of one kind, and none may be missing: a row that has no place in
    time belongs to no part.

    >>> moments(["2024-05-01", "2023-12-31T23:59"]).tolist()
    [1714521600.0, 1704067140.0]
    >>> moments(["2", "10"]).tolist()
    [2.0, 10.0]
    """
    kinds: tuple[tuple[str, Callable[[str], float]], ...] = (("number", _number), ("date", _date), ("mail date", _mail))
    known: dict[str, float] = {}
    parse: Callable[[str], float] | None = None
    what = ""
    out = np.empty(len(values))
    for row, value in enumerate(values):
        text = "" if value is None else str(value).strip()
        if not text:
            raise DataError(f"column '{column}', row {row + 1:,}: there is no time; leave such rows out first")
        if parse is None:
            what, parse = next(((kind, f) for kind, f in kinds if _parses(f, text)), ("", None))
            if parse is None:
                raise DataError(
                    f"column '{column}', row {row + 1:,}: '{text:.40}' is neither a number nor a date; "
                    "write dates as 2024-05-01 or 2024-05-01T12:30:00"
                )
        if text not in known:
            if not _parses(parse, text):
                raise DataError(
                    f"column '{column}', row {row + 1:,}: '{text:.40}' is no {what}, as the rows before are"
                )
            known[text] = parse(text)
        out[row] = known[text]
    return out


def _parses(parse: Callable[[str], float], text: str) -> bool:
    try:
        return math.isfinite(parse(text))
    except (ValueError, TypeError, OverflowError):
        return False


def _number(text: str) -> float:
    return float(text)


def _date(text: str) -> float:
    return _seconds(datetime.fromisoformat(text))


def _mail(text: str) -> float:
    from email.utils import parsedate_to_datetime

    return _seconds(parsedate_to_datetime(text))


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
