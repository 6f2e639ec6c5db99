"""What a cleaning rule is: a small value that can be written down and read again; and lists of rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, TypeVar

from linnet.errors import DataError, check_choice, nearest
from linnet.text.offsets import Edit


@dataclass(frozen=True)
class NamedRule(ABC):
    """A rule by its name; ``option`` is the field that `name=value` sets on the command line."""

    name: ClassVar[str]
    about: ClassVar[str]
    option: ClassVar[str] = ""

    @classmethod
    def read(cls, value: str) -> Self:
        """Make the rule with the value that was written behind its name."""
        return cls(**{cls.option: value})

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, for a model file or a report."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"rule": self.name, **{k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}}


class CleaningRule(NamedRule):
    """A rule for the characters of a text. A new rule is one class with `edits` and one row in `RULES`."""

    @abstractmethod
    def edits(self, text: str) -> list[Edit]:
        """Return what the rule changes in a text, from left to right; nothing for a text that is clean already."""


AnyRule = TypeVar("AnyRule", bound=NamedRule)


def read_rule(spec: str | Mapping[str, Any] | AnyRule, known: Mapping[str, type[AnyRule]]) -> AnyRule:
    """Make one of the known rules from its name, from ``name=value`` or from its plain values."""
    if isinstance(spec, NamedRule):
        return spec
    if isinstance(spec, str):
        name, given, value = spec.partition("=")
        rule = _named(name.strip(), known)
        if given and not rule.option:
            raise DataError(f"the rule '{rule.name}' takes no value, got '{value}'; write just {rule.name}")
        return rule.read(value) if given else rule()
    values = dict(spec)
    rule = _named(str(values.pop("rule", "")), known)
    settings = [field.name for field in fields(rule)]
    for key in values:
        if key not in settings:
            raise DataError(f"rule '{rule.name}': {nearest('setting', key, settings)}")
    return rule(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})


def _named(name: str, known: Mapping[str, type[AnyRule]]) -> type[AnyRule]:
    check_choice("rule", name, known)
    return known[name]


class RuleList:
    """Some rules, in the order in which they work."""

    rules: tuple[Any, ...]

    def __init__(self, rules: Any) -> None:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"rules": [rule.to_dict() for rule in self.rules]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Make the rules again from `to_dict`."""
        return cls(values["rules"])
