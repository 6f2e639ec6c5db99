"""A finding: what one check saw, how bad it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["LEVELS", "Finding", "counted", "excerpt", "percent"]

#: From harmless to harmful.
LEVELS = ("ok", "note", "warning", "problem")


@dataclass(frozen=True)
class Finding:
    """What one check saw.

    `level` is "ok", "note" (worth knowing), "warning" (look at it) or "problem" (scores cannot be trusted before it is
    mended); `count` is how many rows, texts or words it is about, `share` the share of all; `examples` are plain values,
    `details` numbers beside them; `arrays` holds whole columns of results for Python and is not part of the JSON.
    """

    check: str
    level: str
    says: str
    count: int = 0
    share: float | None = None
    advice: str = ""
    examples: tuple[Mapping[str, Any], ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; the keys are always the same."""
        return {
            "check": self.check, "level": self.level, "says": self.says, "count": self.count, "share": self.share,
            "advice": self.advice, "examples": [dict(one) for one in self.examples], "details": dict(self.details),
        }  # fmt: skip


def excerpt(text: str, most: int = 80) -> str:
    """Return the beginning of a text in one line.

    >>> excerpt("a very long text", 10)
    'a very lo…'
    """
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else line[: most - 1] + "…"


def counted(n: int, what: str, several: str | None = None) -> str:
    """Write a number and what it counts.

    >>> counted(1, "text"), counted(1200, "text"), counted(2, "class", "classes")
    ('1 text', '1,200 texts', '2 classes')
    """
    return f"{n:,} {what if n == 1 else several or what + 's'}"


def percent(share: float) -> str:
    """Write a share so that little is not nothing.

    >>> percent(0.5), percent(0.0123), percent(0.00001), percent(0.0)
    ('50 %', '1.2 %', '< 0.1 %', '0 %')
    """
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.0f} %" if share == 0 or share >= 0.1 else f"{100 * share:.1f} %"
