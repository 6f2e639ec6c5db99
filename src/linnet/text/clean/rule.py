"""What a cleaning rule is: a small value that finds edits in one text, and can be written down and read again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from linnet.text.offsets import Edit


@dataclass(frozen=True)
class CleaningRule(ABC):
    """A rule for the characters of a text. A new rule is one class with `edits` and one row in `RULES`."""

    name: ClassVar[str]
    about: ClassVar[str]
    option: ClassVar[str] = ""  # the field that `name=value` sets on the command line

    @abstractmethod
    def edits(self, text: str) -> list[Edit]:
        """Return what the rule changes in a text, from left to right; nothing for a text that is clean already."""

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, for a model file or a report."""
        return {"rule": self.name, **{field.name: getattr(self, field.name) for field in fields(self)}}
