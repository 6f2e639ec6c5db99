"""Web addresses, e-mail addresses and numbers: removed, or replaced by a word that the classifier can use.

Each rule jumps from one tell-tale sign (``://``, ``www.``, ``@``) to the next, so that a text without them costs next to
nothing, and looks back a bounded number of characters, so that no text can make it slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from linnet.text.clean.rule import Rule
from linnet.text.offsets import Edit

__all__ = ["Emails", "Numbers", "URLs"]

_SCHEME = re.compile(r"(?:https?|ftps?|sftp|gopher|news|nntp|telnet|irc|file|git|ssh|s3|ws|wss)\Z", re.IGNORECASE)
_ADDRESS = re.compile(r"[^\s<>\"`{}|\\^\u201c\u201d\u2018\u2019\u00ab\u00bb\u3000-\u3002\uff08\uff09\uff0c]*")
_TRAILING = ".,;:!?'*_~"
_HOST = re.compile(r"[0-9A-Za-z\u00a1-\uffff-]+\.[0-9A-Za-z\u00a1-\uffff-]{2,}")


@dataclass(frozen=True)
class URLs(Rule):
    """Remove web addresses, or put a word in their place: ``http://...``, ``ftp://...``, ``www...``.

    A full stop or comma after an address is not part of it, nor is a bracket that opened before it.

    >>> URLs("URL").edits("(see http://example.org/a_(b), or www.example.org.)")
    [(5, 29, 'URL'), (34, 49, 'URL')]
    """

    replace: str = ""
    name: ClassVar[str] = "urls"
    about: ClassVar[str] = "web addresses (http://..., www...)"
    option: ClassVar[str] = "replace"

    def edits(self, text: str) -> list[Edit]:
        """Return the addresses of a text."""
        found: list[Edit] = []
        done = 0
        for at in _signs(text):
            if at < done:
                continue
            span = _with_scheme(text, at, done) if text[at] == ":" else _without_scheme(text, at)
            if span is not None:
                found.append((*span, self.replace))
                done = span[1]
        return found


def _signs(text: str) -> list[int]:
    """Return where ``://`` and ``www.`` stand, in order."""
    places = list(_every(text, "://"))
    for word in ("www.", "WWW.", "Www."):
        places += _every(text, word)
    places.sort()
    return places


def _every(text: str, sign: str) -> Iterator[int]:
    at = text.find(sign)
    while at >= 0:
        yield at
        at = text.find(sign, at + len(sign))


def _with_scheme(text: str, at: int, done: int) -> tuple[int, int] | None:
    scheme = _SCHEME.search(text[max(done, at - 7) : at])
    if scheme is None:
        return None
    end = _address_end(text, at + 3)
    start = at - len(scheme[0])
    return (start, end) if end > at + 3 and not text[start - 1 : start].isalnum() else None


def _without_scheme(text: str, at: int) -> tuple[int, int] | None:
    if at and (text[at - 1].isalnum() or text[at - 1] in "_@."):
        return None
    end = _address_end(text, at)
    return (at, end) if _HOST.match(text, at + 4, end) else None


def _address_end(text: str, at: int) -> int:
    """Return where an address ends: before trailing signs, and before brackets that it does not open."""
    match = _ADDRESS.match(text, at)
    end = match.end() if match else at
    opened = {")": 0, "]": 0}
    for close, open_ in ((")", "("), ("]", "[")):
        opened[close] = text.count(close, at, end) - text.count(open_, at, end)
    while end > at:
        last = text[end - 1]
        if last in opened and opened[last] > 0:
            opened[last] -= 1
        elif last not in _TRAILING:
            break
        end -= 1
    return end


_LOCAL = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.!#$%&'*+/=?^_`{|}~-"
_DOMAIN = re.compile(r"(?:[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?\.){1,8}[A-Za-z][0-9A-Za-z-]{0,60}[0-9A-Za-z]")


@dataclass(frozen=True)
class Emails(Rule):
    """Remove e-mail addresses, or put a word in their place.

    >>> Emails("EMAIL").edits("Mail jo.doe+x@mail.example.org, not @jo.")
    [(5, 30, 'EMAIL')]
    """

    replace: str = ""
    name: ClassVar[str] = "emails"
    about: ClassVar[str] = "e-mail addresses"
    option: ClassVar[str] = "replace"

    def edits(self, text: str) -> list[Edit]:
        """Return the addresses of a text."""
        found: list[Edit] = []
        done = 0
        for at in _every(text, "@"):
            before = text[max(done, at - 64) : at]
            local = before[len(before.rstrip(_LOCAL)) :].lstrip("'`.*/{|=")
            domain = _DOMAIN.match(text, at + 1) if local and at >= done else None
            if domain is not None:
                done = domain.end()
                found.append((at - len(local), done, self.replace))
        return found


_NUMBER = re.compile(r"(?<!\w)\d++(?:[.,]\d++){0,16}+(?!\w)")


@dataclass(frozen=True)
class Numbers(Rule):
    """Remove numbers, or put a word in their place. Digits inside a word (mp3, B2B, 5th) stay.

    >>> Numbers("NUMBER").edits("1,000.50 for 3 mp3s")
    [(0, 8, 'NUMBER'), (13, 14, 'NUMBER')]
    """

    replace: str = ""
    name: ClassVar[str] = "numbers"
    about: ClassVar[str] = "numbers that stand alone"
    option: ClassVar[str] = "replace"

    def edits(self, text: str) -> list[Edit]:
        """Return the numbers of a text."""
        return [(match.start(), match.end(), self.replace) for match in _NUMBER.finditer(text)]
