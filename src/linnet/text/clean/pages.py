r"""The rules of C4 for web pages (Raffel et al. 2020, section 2.2), each a value of its own.

Line rules look at one line: it must end in a terminal mark, hold three words, and not speak of javascript. Page rules
look at a page: placeholder text, code and bad words are searched in the page as it came, sentences are counted in the
lines that are left. The first rule that objects is the one that counts, so that every line and every page is kept or
removed by exactly one rule. Repeated three-sentence spans need the whole corpus: see linnet.text.clean.corpus.

>>> page = Pages().filter("Home | About\nThis is a line. It has two sentences.\nPlease enable javascript now.\n\nShort.")
>>> page.removed_by, page.lines
('sentences', {'terminal': 1, 'javascript': 1, 'blank': 1, 'words': 1, 'sentences': 1})
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from linnet.errors import DataError
from linnet.text.clean.rules import NamedRule, RuleList, read_rule
from linnet.text.duplicates import sentences
from linnet.text.offsets import Edit


class PageRule(NamedRule):
    """A rule that removes lines or whole pages; `level` says what it looks at: line, page, or left (what is left)."""

    level: ClassVar[str]

    @abstractmethod
    def hits(self, text: str) -> bool:
        """Say whether a line (without white space around it) or a page is to be removed."""

    @classmethod
    def read(cls, value: str) -> Self:
        """Make the rule with another number."""
        if not value.isdecimal():
            raise DataError(f"{cls.name}={value}: expected a number, for example {cls.name}=5")
        return cls(**{cls.option: int(value)})


class Lorem(PageRule):
    """Placeholder pages."""

    name, level, about = "lorem", "page", "pages with the placeholder 'lorem ipsum'"

    def hits(self, text: str) -> bool:
        """Say whether the page has the placeholder."""
        return "lorem ipsum" in text.lower()


class Curly(PageRule):
    """Pages with program code."""

    name, level, about = "curly", "page", "pages with a curly bracket"

    def hits(self, text: str) -> bool:
        """Say whether the page has a curly bracket."""
        return "{" in text or "}" in text


@dataclass(frozen=True)
class BadWords(PageRule):
    """Pages with a word of a list; the list is yours, and none is built in.

    >>> BadWords(("darn", "holy cow")).hits("Holy  COW!"), BadWords(("darn",)).hits("darned")
    (True, False)
    """

    words: tuple[str, ...] = ()
    name, level, option = "badwords", "page", "words"
    about = "pages with a word of your list (badwords=FILE, one word or phrase a line)"

    @classmethod
    def read(cls, value: str) -> BadWords:
        """Read a list: one word or phrase a line, lines that start with # aside."""
        try:
            lines = Path(value).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise DataError(f"cannot read the word list {value}: {reason}") from None
        words = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
        if not words:
            raise DataError(f"the word list {value} holds no words; write one word or phrase a line")
        return cls(words)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        phrases = sorted({r"\s+".join(map(re.escape, word.casefold().split())) for word in self.words}, key=len)
        return re.compile(rf"(?<!\w)(?:{'|'.join(reversed(phrases))})(?!\w)")

    def hits(self, text: str) -> bool:
        """Say whether the page has one of the words."""
        return bool(self.words) and self._pattern.search(text.casefold()) is not None


_TERMINAL = tuple(".!?\"'\u2026\u201d\u2019\u00bb\u3002\uff01\uff1f\u300d\u300f")


class Terminal(PageRule):
    """Lines that do not end like a sentence: menus, headings."""

    name, level, about = "terminal", "line", "lines that do not end in a terminal mark (. ! ? or a closing quote)"

    def hits(self, text: str) -> bool:
        """Say whether the line ends in no terminal mark."""
        return not text.endswith(_TERMINAL)


@dataclass(frozen=True)
class ShortLines(PageRule):
    """Short lines."""

    least: int = 3
    name, level, option, about = "words", "line", "least", "lines of fewer than 3 words (words=N for another number)"

    def hits(self, text: str) -> bool:
        """Say whether the line has too few words."""
        return len(text.split()) < self.least


class Javascript(PageRule):
    """Warnings of pages that need scripts."""

    name, level, about = "javascript", "line", "lines with the word javascript"

    def hits(self, text: str) -> bool:
        """Say whether the line has the word."""
        return "javascript" in text.lower()


@dataclass(frozen=True)
class Sentences(PageRule):
    """Short pages."""

    least: int = 5
    name, level, option = "sentences", "left", "least"
    about = "pages with fewer than 5 sentences left (sentences=N for another number)"

    def hits(self, text: str) -> bool:
        """Say whether too few sentences are left."""
        return len(sentences(text)) < self.least


#: In the order in which they are asked.
C4: dict[str, type[PageRule]] = {
    rule.name: rule for rule in (Lorem, Curly, BadWords, Terminal, ShortLines, Javascript, Sentences)
}


def make_page_rule(spec: str | Mapping[str, Any] | PageRule) -> PageRule:
    """Make a rule from its name, from ``name=value`` or from its plain values.

    >>> make_page_rule("words=5"), make_page_rule({"rule": "badwords", "words": ["darn"]})
    (ShortLines(least=5), BadWords(words=('darn',)))
    """
    return read_rule(spec, C4)


@dataclass(frozen=True)
class Filtered:
    """A page after the rules: what is left, which rule removed the page, how many lines each rule took, and samples.

    The numbers of `lines` and `kept` add up to the lines of the page. `edits` lead from the page to `text`.
    """

    text: str
    removed_by: str | None
    lines: dict[str, int]
    kept: int
    samples: dict[str, list[str]] = field(default_factory=dict)
    edits: list[Edit] = field(default_factory=list)


class Pages(RuleList):
    """Some of the C4 rules; all of them by default.

    >>> Pages(["terminal", "words=5"]).to_dict()
    {'rules': [{'rule': 'terminal'}, {'rule': 'words', 'least': 5}]}
    """

    def __init__(self, rules: Iterable[str | Mapping[str, Any] | PageRule] | None = None) -> None:
        order = list(C4)
        made = [make_page_rule(rule) for rule in (C4 if rules is None else rules)]
        self.rules = tuple(sorted(made, key=lambda rule: order.index(rule.name)))
        self._line = [rule for rule in self.rules if rule.level == "line"]
        self._page = [rule for rule in self.rules if rule.level == "page"]
        self._left = [rule for rule in self.rules if rule.level == "left"]

    def filter(self, text: str) -> Filtered:
        """Apply the rules to a page."""
        for rule in self._page:
            if rule.hits(text):
                return _gone(text, text, rule.name, {}, text.count("\n") + 1, {})
        left, counts, samples, edits = self._lines(text) if self._line else (text, {}, {}, [])
        n_left = text.count("\n") + 1 - sum(counts.values())
        if n_left == 0:
            return Filtered("", "empty", counts, 0, samples, [(0, len(text), "")] if text else [])
        for rule in self._left:
            if rule.hits(left):
                return _gone(text, left, rule.name, counts, n_left, samples)
        return Filtered(left, None, counts, n_left, samples, edits)

    def _lines(self, text: str) -> tuple[str, dict[str, int], dict[str, list[str]], list[Edit]]:
        counts: dict[str, int] = {}
        samples: dict[str, list[str]] = {}
        keep: list[tuple[int, int]] = []
        at = 0
        for line in text.split("\n"):
            why = self._why(line.strip())
            if why is None:
                keep.append((at, at + len(line)))
            else:
                counts[why] = counts.get(why, 0) + 1
                if why != "blank":
                    samples.setdefault(why, []).append(line)
            at += len(line) + 1
        return "\n".join([text[a:b] for a, b in keep]), counts, samples, _cuts(keep, len(text))

    def _why(self, line: str) -> str | None:
        if not line:
            return "blank"
        return next((rule.name for rule in self._line if rule.hits(line)), None)


def _gone(
    text: str, left: str, name: str, lines: dict[str, int], n_left: int, samples: dict[str, list[str]]
) -> Filtered:
    """The whole page is removed by one rule, and with it the lines that no rule had removed before."""
    edits: list[Edit] = [(0, len(text), "")] if text else []
    return Filtered("", name, {**lines, name: n_left}, 0, {**samples, name: [left]}, edits)


def _cuts(keep: list[tuple[int, int]], length: int) -> list[Edit]:
    """Return the edits that leave the given lines, parted by one newline each."""
    edits: list[Edit] = []
    at = 0
    for k, (start, end) in enumerate(keep):
        first = start - 1 if k else start  # the newline before a line stays with it
        if first > at:
            edits.append((at, first, ""))
        at = end
    if at < length:
        edits.append((at, length, ""))
    return edits
