"""Times and sizes as people write them: 60s, 5m, 1h; 5MB, 2GB."""

from __future__ import annotations

import re
from typing import Any, overload

from linnet.errors import LinnetError

SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
BYTES = {"": 1, "b": 1, "k": 1000, "kb": 1000, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12, "tb": 10**12,
         "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}  # fmt: skip
_NUMBER = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*$")


def as_seconds(value: Any) -> float:
    """Read a budget of time: a number of seconds, or text.

    >>> as_seconds("60s"), as_seconds("1.5m"), as_seconds(90), as_seconds("2h")
    (60.0, 90.0, 90.0, 7200.0)
    >>> as_seconds("soon")
    Traceback (most recent call last):
    linnet.errors.LinnetError: the budget must be a time above 0 such as 60s, 5m or 1h, got 'soon'
    """
    found = _read(value, SECONDS)
    if not found or found == float("inf"):
        raise LinnetError(f"the budget must be a time above 0 such as 60s, 5m or 1h, got {value!r}")
    return found


@overload
def as_bytes(value: None, what: str) -> None: ...
@overload
def as_bytes(value: str | float, what: str) -> int: ...
def as_bytes(value: Any, what: str) -> int | None:
    """Read a size: a number of bytes, or text; None stays None.

    >>> as_bytes("5MB", "max_size"), as_bytes("2 GiB", "max_memory"), as_bytes(1000, "max_size")
    (5000000, 2147483648, 1000)
    """
    if value is None:
        return None
    found = _read(value, BYTES)
    if not found or found == float("inf"):
        raise LinnetError(f"{what} must be a size above 0 such as 500kB, 5MB or 2GB, got {value!r}")
    return int(found)


def _read(value: Any, units: dict[str, Any]) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if value > 0 else None
    match = _NUMBER.match(str(value))
    if not match or match[2].lower() not in units:
        return None
    return float(match[1]) * float(units[match[2].lower()])


def duration(seconds: float) -> str:
    """Write a time.

    >>> duration(0.4), duration(12.3), duration(75), duration(7300)
    ('0.4 s', '12 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def size_text(size: float) -> str:
    """Write a size.

    >>> size_text(999), size_text(4_200_000), size_text(2.5e9)
    ('999 B', '4.2 MB', '2.5 GB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size:.0f} B"
