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
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from linnet.errors import DataError
from linnet.files import read_text
from linnet.text.clean.rules import CleaningRule, RuleList
from linnet.text.duplicates import sentences

_TERMINAL = tuple(".!?\"'\u2026\u201d\u2019\u00bb\u3002\uff01\uff1f\u300d\u300f")


def has_bad_word(text: str, words: tuple[str, ...]) -> bool:
    """Say whether a page has a word of a list; the list is yours, and none is built in.

    >>> has_bad_word("Holy  COW!", ("darn", "holy cow")), has_bad_word("darned", ("darn",))
    (True, False)
    """
    return bool(words) and _pattern(words).search(text.casefold()) is not None


@lru_cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    phrases = sorted({r"\s+".join(map(re.escape, word.casefold().split())) for word in words}, key=len)
    return re.compile(rf"(?<!\w)(?:{'|'.join(reversed(phrases))})(?!\w)")


def _number(value: str) -> int:
    if not value.isdecimal():
        raise DataError(f"'{value}': expected a number, for example words=5")
    return int(value)


def _word_list(path: str) -> tuple[str, ...]:
    """Read a list: one word or phrase a line, lines that start with # aside."""
    lines = read_text(path, "the word list").splitlines()
    words = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    if not words:
        raise DataError(f"the word list {path} holds no words; write one word or phrase a line")
    return words


#: In the order in which they are asked.
C4 = {
    rule.name: rule
    for rule in (
        CleaningRule("lorem", "pages with the placeholder 'lorem ipsum'", lambda text: "lorem ipsum" in text.lower(), level="page"),
        CleaningRule("curly", "pages with a curly bracket", lambda text: "{" in text or "}" in text, level="page"),
        CleaningRule("badwords", "pages with a word of your list (badwords=FILE, one word or phrase a line)", has_bad_word,
                     "words", (), "page", _word_list),
        CleaningRule("terminal", "lines that do not end in a terminal mark (. ! ? or a closing quote)",
                     lambda line: not line.endswith(_TERMINAL), level="line"),
        CleaningRule("words", "lines of fewer than 3 words (words=N for another number)",
                     lambda line, least: len(line.split()) < least, "least", 3, "line", _number),
        CleaningRule("javascript", "lines with the word javascript", lambda line: "javascript" in line.lower(), level="line"),
        CleaningRule("sentences", "pages with fewer than 5 sentences left (sentences=N for another number)",
                     lambda text, least: len(sentences(text)) < least, "least", 5, "left", _number),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Filtered:
    """A page after the rules: what is left, which rule removed the page, how many lines each rule took, and samples.

    The numbers of `lines` and `kept` add up to the lines of the page.
    """

    text: str
    removed_by: str | None
    lines: dict[str, int]
    kept: int
    samples: dict[str, list[str]] = field(default_factory=dict)


class Pages(RuleList):
    """Some of the C4 rules; all of them by default.

    >>> Pages(["terminal", "words=5"]).to_dict()
    {'rules': [{'rule': 'terminal'}, {'rule': 'words', 'least': 5}]}
    """

    known = C4

    def __init__(self, rules: str | Iterable[str | Mapping[str, Any] | CleaningRule] | None = None) -> None:
        super().__init__(list(C4) if rules is None else rules)

    def _of_level(self, level: str) -> list[CleaningRule]:
        return [rule for rule in self.rules if rule.level == level]

    def filter(self, text: str) -> Filtered:
        """Apply the rules to a page."""
        n_lines = text.count("\n") + 1
        for rule in self._of_level("page"):
            if rule(text):
                return Filtered("", rule.name, {rule.name: n_lines}, 0, {rule.name: [text]})
        left, counts, samples = self._lines(text)
        n_left = n_lines - sum(counts.values())
        if n_left == 0:
            return Filtered("", "empty", counts, 0, samples)
        for rule in self._of_level("left"):
            if rule(left):
                return Filtered("", rule.name, counts | {rule.name: n_left}, 0, samples | {rule.name: [left]})
        return Filtered(left, None, counts, n_left, samples)

    def _lines(self, text: str) -> tuple[str, dict[str, int], dict[str, list[str]]]:
        counts: Counter[str] = Counter()
        samples: dict[str, list[str]] = {}
        keep, rules = [], self._of_level("line")
        for line in text.split("\n"):
            bare = line.strip()
            why = next((rule.name for rule in rules if rule(bare)), None) if bare or not rules else "blank"
            if why is None:
                keep.append(line)
            else:
                counts[why] += 1
                if bare:
                    samples.setdefault(why, []).append(line)
        return "\n".join(keep), dict(counts), samples
