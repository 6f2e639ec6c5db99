"""Characters: control characters, wrongly decoded text, Unicode normal forms, white space."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from linnet.errors import check_choice, require
from linnet.text.clean.rule import CleaningRule
from linnet.text.offsets import Edit

# Invisible: C0 and C1 controls, soft hyphen, marks of direction, byte order marks, lone surrogates, noncharacters. The
# joiners U+200C and U+200D stay: Persian and emoji are spelt with them.
_CONTROL = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufdd0-\ufdef\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0001]"
)


class Control(CleaningRule):
    r"""Remove characters that nobody sees; those that part words or lines (form feed, U+0085) become a blank.

    >>> Control().edits("a\0b\x0cc\u200bd")
    [(1, 2, ''), (3, 4, ' '), (5, 6, '')]
    """

    name, about = "control", "control characters and other invisible ones"

    def edits(self, text: str) -> list[Edit]:
        """Return the control characters of a text."""
        return [(m.start(), m.end(), " " if m[0].isspace() else "") for m in _CONTROL.finditer(text)]


class Mojibake(CleaningRule):
    """Repair text that was decoded with the wrong code, line by line, with ftfy (``schÃ¶n`` was ``schön``).

    >>> Mojibake().edits("schÃ¶n, bÃ¤h")
    [(3, 5, 'ö'), (9, 11, 'ä')]
    """

    name, about = "mojibake", "text decoded with the wrong code (schÃ¶n), repaired"

    def edits(self, text: str) -> list[Edit]:
        """Return the repairs of a text."""
        if text.isascii():
            return []
        fixer = require("ftfy", "the rule 'mojibake'", "clean")
        found: list[Edit] = []
        at = 0
        for line in text.split("\n"):
            if not line.isascii():
                fixed = fixer.fix_encoding_and_explain(line)
                if fixed.text != line:
                    codes = [step.parameter for step in fixed.explanation or () if step.action == "encode"]
                    found += [(start + at, end + at, new) for start, end, new in _changes(line, fixed.text, codes)]
            at += len(line) + 1
        return found


_KEPT = re.compile(r"[!-~]+")  # in every code that ftfy tries, these characters are themselves


def _changes(old: str, new: str, codes: Sequence[str]) -> list[Edit]:
    """Find small edits from a line to its repair: visible ASCII characters are in both, and between them lies the rest.

    >>> _changes("a: Ã© b", "a: é b", ["latin-1"])
    [(3, 5, 'é')]
    """
    if _KEPT.findall(old) != _KEPT.findall(new):
        return [_trimmed(old, new)]
    found: list[Edit] = []
    for (start, end), (new_start, new_end) in zip(_gaps(old), _gaps(new), strict=True):
        before, after = old[start:end], new[new_start:new_end]
        if before != after:
            small = _by_character(before, after, codes)
            found += [(start + a, start + b, c) for a, b, c in small or [_trimmed(before, after)]]
    return found


def _gaps(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for match in _KEPT.finditer(text):
        yield at, match.start()
        at = match.end()
    yield at, len(text)


def _by_character(old: str, new: str, codes: Sequence[str]) -> list[Edit]:
    """Explain each character of the repair by the bytes it has in UTF-8; nothing if one cannot be explained."""
    found, at = [], 0
    for character in new:
        if old.startswith(character, at):
            at += 1
            continue
        spellings = (_spelt(character, code) for code in codes)
        size = next((len(s) for s in spellings if s and old.startswith(s, at)), 0)
        if not size:
            return []
        found.append((at, at + size, character))
        at += size
    return found if at == len(old) else []


def _spelt(character: str, code: str) -> str:
    try:
        return character.encode().decode(code)
    except (UnicodeError, LookupError):
        return ""


def _trimmed(old: str, new: str) -> Edit:
    """One edit from old to new, without what they share at both ends.

    >>> _trimmed("abcd", "axd")
    (1, 3, 'x')
    """
    least = min(len(old), len(new))
    start = next((k for k in range(least) if old[k] != new[k]), least)
    back = next((k for k in range(least - start) if old[-1 - k] != new[-1 - k]), least - start)
    return start, len(old) - back, new[start : len(new) - back]


Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
# Letters that may join the one before them in a normal form, though they are no marks: Hangul, half-width kana, Kirat Rai.
_JOINING = re.compile("[\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\ud7b0-\ud7ff\uff9e-\uffdc\U00016d40-\U00016d7f]")


@dataclass(frozen=True)
class Unicode(CleaningRule):
    """Write every character in one way: NFC joins letters and accents, NFKC also flattens ``ﬁ`` and ``²``.

    >>> Unicode().edits("cafe\u0301"), Unicode("NFKC").edits("x² ﬁx")
    ([(3, 5, 'é')], [(1, 2, '2'), (3, 4, 'fi')])
    """

    form: Form = "NFC"
    name, option = "unicode", "form"
    about = "one spelling for each character (NFC; unicode=NFKC also flattens ligatures and widths)"

    def __post_init__(self) -> None:
        check_choice("Unicode form", self.form, _FORMS)

    def edits(self, text: str) -> list[Edit]:
        """Return the characters that have another spelling."""
        if unicodedata.is_normalized(self.form, text):
            return []
        whole = unicodedata.normalize(self.form, text)
        for starts in (_starts, _ascii_starts):
            cuts = [*starts(text), len(text)]
            pieces = [text[a:b] for a, b in pairwise(cuts)]
            normal = [unicodedata.normalize(self.form, piece) for piece in pieces]
            if "".join(normal) == whole:  # no two pieces would have joined
                changed = zip(cuts, pieces, normal, strict=False)
                return [(at, at + len(old), new) for at, old, new in changed if old != new]
        return [_trimmed(text, whole)]


def _starts(text: str) -> list[int]:
    """Return where a character begins that cannot join the one before it: 0 first."""
    found = [0]
    for at, character in enumerate(text):
        if at and (
            character < "\u0300" or not (unicodedata.category(character)[0] == "M" or _JOINING.match(character))
        ):
            found.append(at)
    return found


def _ascii_starts(text: str) -> list[int]:
    return [0, *(at for at, character in enumerate(text) if at and character < "\x80")]


_SPACE = re.compile(r"\s(?:\s++|(?<! ))")  # all but a single blank


@dataclass(frozen=True)
class Whitespace(CleaningRule):
    r"""Make runs of white space one blank, or one newline where they hold one; none at the ends.

    >>> Whitespace().edits("  a \t b\r\n\nc d ")
    [(0, 2, ''), (3, 6, ' '), (7, 10, '\n'), (13, 14, '')]
    """

    lines: bool = True
    name, about = "whitespace", "runs of white space become one blank or one newline"

    def edits(self, text: str) -> list[Edit]:
        """Return the runs of white space that are more than one blank or newline."""
        start, end = len(text) - len(text.lstrip()), len(text.rstrip())
        if end <= start:  # nothing but white space
            return [(0, len(text), "")] if text else []
        found: list[Edit] = [(0, start, "")] if start else []
        for match in _SPACE.finditer(text, start, end):
            old = match[0]
            new = "\n" if self.lines and ("\n" in old or "\r" in old) else " "
            if new != old:
                found.append((match.start(), match.end(), new))
        return [*found, (end, len(text), "")] if end < len(text) else found
