"""Checks of a model's settings, made when it is fitted: which setting, what it must be, what was got."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from linnet.errors import DataError, nearest


def above_zero(name: str, value: Any) -> float:
    """Return a finite number above zero.

    >>> above_zero("C", -1)
    Traceback (most recent call last):
    linnet.errors.DataError: C must be a number above 0, got -1
    """
    if not isinstance(value, int | float | np.number) or isinstance(value, bool) or not 0 < float(value) < np.inf:
        raise DataError(f"{name} must be a number above 0, got {value!r}")
    return float(value)


def share_below_one(name: str, value: Any) -> float:
    """Return a number from 0 up to, and not including, 1.

    >>> share_below_one("dropout", 1.5)
    Traceback (most recent call last):
    linnet.errors.DataError: dropout must be a number from 0 and below 1, got 1.5
    """
    if not isinstance(value, int | float | np.number) or isinstance(value, bool) or not 0 <= float(value) < 1:
        raise DataError(f"{name} must be a number from 0 and below 1, got {value!r}")
    return float(value)


def not_negative(name: str, value: Any) -> float:
    """Return a finite number from zero."""
    if not isinstance(value, int | float | np.number) or isinstance(value, bool) or not 0 <= float(value) < np.inf:
        raise DataError(f"{name} must be a number from 0, got {value!r}")
    return float(value)


def share(name: str, value: Any, *, one: bool = False) -> float:
    """Return a part of a whole: above 0 and below 1; with one, 0 and 1 are parts too."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not (0 <= float(value) <= 1 if one else 0 < float(value) < 1):
        raise DataError(f"{name} must be a number {'from 0 to 1' if one else 'between 0 and 1'}, got {value!r}")
    return float(value)


def whole(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number, at least so large."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or int(value) < least:
        raise DataError(f"{name} must be a whole number from {least}, got {value!r}")
    return int(value)


def truth(name: str, value: Any) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise DataError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def one_of(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return one of some names."""
    known = list(choices)
    if not isinstance(value, str):
        raise DataError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")
    if value not in known:
        raise DataError(nearest(name, value, known))
    return value
