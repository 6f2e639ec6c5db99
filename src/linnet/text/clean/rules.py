"""The registry of rules for characters, and the Cleaner: some of them, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linnet.errors import DataError
from linnet.text.clean.characters import Control, Mojibake, Unicode, Whitespace
from linnet.text.clean.patterns import HTML, Emails, Numbers, URLs
from linnet.text.clean.rule import CleaningRule, RuleList, read_rule
from linnet.text.offsets import Edit, Offsets, apply

#: In the order in which they work: markup first, white space last.
RULES: dict[str, type[CleaningRule]] = {
    rule.name: rule for rule in (HTML, Mojibake, Unicode, Control, URLs, Emails, Numbers, Whitespace)
}
DEFAULT = ("html", "unicode", "control", "urls", "emails", "whitespace")


def make_rule(spec: str | Mapping[str, Any] | CleaningRule) -> CleaningRule:
    """Make a rule from its name, from ``name=value`` or from its plain values.

    >>> make_rule("urls=URL"), make_rule({"rule": "unicode", "form": "NFKC"})
    (URLs(replace='URL'), Unicode(form='NFKC'))
    >>> make_rule("url")
    Traceback (most recent call last):
    linnet.errors.DataError: unknown rule 'url'; choose one of: html, mojibake, unicode, control, urls, emails, numbers,
    whitespace (did you mean 'urls'?)
    """
    return read_rule(spec, RULES)


@dataclass(frozen=True, eq=False)
class Cleaned:
    """A clean text, where its characters came from, and what each rule did.

    `stages` holds (rule name, edits, length of the text before them) of the rules that changed something; `offsets` is
    worked out from them when it is first asked for.
    """

    text: str
    source: str
    stages: tuple[tuple[str, list[Edit], int], ...] = ()

    @cached_property
    def offsets(self) -> Offsets:
        """The map from the characters of `text` to those of `source`."""
        whole = Offsets.same(len(self.source))
        for _, edits, length in self.stages:
            whole = Offsets.of(edits, length).after(whole)
        return whole

    @property
    def counts(self) -> dict[str, int]:
        """How many places each rule changed."""
        return {name: len(edits) for name, edits, _ in self.stages}

    def original(self, start: int, end: int) -> str:
        """Return what the user wrote where characters ``start..end`` of the clean text stand.

        >>> clean("<p>R&amp;D!</p>", ["html"]).original(1, 4)
        'R&amp;D'
        """
        a, b = self.offsets.span(start, end)
        return self.source[a:b]


class Cleaner(RuleList):
    """Rules for characters, applied in order.

    Names, as in ``Cleaner("urls=URL,html")``, are put in the order of the registry; rules given as values stay in the
    order given.

    >>> cleaner = Cleaner("html,urls=URL,whitespace")
    >>> cleaner.clean("Look <b>here</b>:  http://example.org !").text
    'Look here: URL !'
    >>> Cleaner.from_dict(cleaner.to_dict()) == cleaner
    True
    """

    def __init__(self, rules: str | Iterable[str | Mapping[str, Any] | CleaningRule] = DEFAULT) -> None:
        specs: Sequence[Any] = (
            [part for part in rules.split(",") if part.strip()] if isinstance(rules, str) else list(rules)
        )
        made = [make_rule(spec) for spec in specs]
        if all(isinstance(spec, str) for spec in specs):
            order = list(RULES)
            made.sort(key=lambda rule: order.index(rule.name))
        self.rules = tuple(made)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cleaner) and self.rules == other.rules

    def __hash__(self) -> int:
        return hash(self.rules)

    def __repr__(self) -> str:
        return f"Cleaner({list(self.rules)!r})"

    def clean(self, text: str) -> Cleaned:
        """Apply every rule to a text."""
        if not isinstance(text, str):
            raise DataError(f"clean takes one text, got {type(text).__name__}: {text!r:.60}")
        now, stages = text, []
        for rule in self.rules:
            edits = rule.edits(now)
            if edits:
                stages.append((rule.name, edits, len(now)))
                now = apply(now, edits)
        return Cleaned(now, text, tuple(stages))


def clean(text: str, rules: str | Iterable[str | Mapping[str, Any] | CleaningRule] = DEFAULT) -> Cleaned:
    """Clean one text; the result knows where each character came from.

    >>> found = clean("Caf\u00e9 &amp; <i>bar</i>  at www.example.org")
    >>> found.text, found.counts
    ('Café & bar at', {'html': 3, 'urls': 1, 'whitespace': 2})
    >>> found.offsets.span(7, 10), found.original(7, 10)
    ((14, 17), 'bar')
    """
    return (rules if isinstance(rules, Cleaner) else Cleaner(rules)).clean(text)
