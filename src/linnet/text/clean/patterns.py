"""Web addresses, e-mail addresses and numbers: removed, or replaced by a word that the classifier can use.

Each rule jumps from one tell-tale sign (``://``, ``www.``, ``@``) to the next, so that a text without them costs next to
nothing, and looks back a bounded number of characters, so that no text can make it slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from linnet.text.clean.rule import CleaningRule
from linnet.text.offsets import Edit

_SCHEME = re.compile(r"(?:https?|ftps?|sftp|gopher|news|nntp|telnet|irc|file|git|ssh|s3|ws|wss)\Z", re.IGNORECASE)
_ADDRESS = re.compile(r"[^\s<>\"`{}|\\^\u201c\u201d\u2018\u2019\u00ab\u00bb\u3000-\u3002\uff08\uff09\uff0c]*")
_TRAILING = ".,;:!?'*_~"
_DOUBTFUL = _TRAILING + ")]"
_HOST = re.compile(r"[0-9A-Za-z\u00a1-\uffff-]+\.[0-9A-Za-z\u00a1-\uffff-]{2,}")


@dataclass(frozen=True)
class URLs(CleaningRule):
    """Remove web addresses, or put a word in their place: ``http://...``, ``ftp://...``, ``www...``.

    A full stop or comma after an address is not part of it, nor is a bracket that opened before it.

    >>> URLs("URL").edits("(see http://example.org/a_(b), or www.example.org.)")
    [(5, 29, 'URL'), (34, 49, 'URL')]
    """

    replace: str = ""
    name, option, about = "urls", "replace", "web addresses (http://..., www...)"

    def edits(self, text: str) -> list[Edit]:
        """Return the addresses of a text."""
        found: list[Edit] = []
        done = 0
        for at in _signs(text):
            if at < done:
                continue
            start = _scheme_start(text, at, done) if text[at] == ":" else _word_start(text, at)
            if start < 0:
                continue
            end = _address_end(text, at + 3)
            if end > at + 3 and (text[at] == ":" or _HOST.match(text, at + 4, end)):
                found.append((start, end, self.replace))
                done = end
        return found


def _signs(text: str) -> list[int]:
    """Return where ``://`` and ``www.`` stand, in order."""
    places = list(_every(text, "://"))
    if "www." in text or "WWW." in text or "Www." in text:
        for word in ("www.", "WWW.", "Www."):
            places += _every(text, word)
        places.sort()
    return places


def _every(text: str, sign: str) -> Iterator[int]:
    at = text.find(sign)
    while at >= 0:
        yield at
        at = text.find(sign, at + len(sign))


def _scheme_start(text: str, at: int, done: int) -> int:
    """Return where the scheme before ``://`` begins, or -1 for none that we know."""
    if text.startswith("http", at - 4) and at >= 4:  # nearly always
        start = at - 4
    elif text.startswith("https", at - 5) and at >= 5:
        start = at - 5
    else:
        scheme = _SCHEME.search(text[max(done, at - 7) : at])
        start = at - len(scheme[0]) if scheme else -1
    return start if start == 0 or (start >= done and not text[start - 1].isalnum()) else -1


def _word_start(text: str, at: int) -> int:
    return -1 if at and (text[at - 1].isalnum() or text[at - 1] in "_@.") else at


def _address_end(text: str, at: int) -> int:
    """Return where an address ends: before trailing signs, and before brackets that it does not open."""
    match = _ADDRESS.match(text, at)
    end = match.end() if match else at
    if end == at or text[end - 1] not in _DOUBTFUL:
        return end
    opened = {close: text.count(close, at, end) - text.count(open_, at, end) for open_, close in ("()", "[]")}
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
class Emails(CleaningRule):
    """Remove e-mail addresses, or put a word in their place.

    >>> Emails("EMAIL").edits("Mail jo.doe+x@mail.example.org, not @jo.")
    [(5, 30, 'EMAIL')]
    """

    replace: str = ""
    name, option, about = "emails", "replace", "e-mail addresses"

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


_NUMBER = re.compile(r"\d++(?:[.,]\d++){0,16}+")


@dataclass(frozen=True)
class Numbers(CleaningRule):
    """Remove numbers, or put a word in their place. Digits inside a word (mp3, B2B, 5th) stay.

    >>> Numbers("NUMBER").edits("1,000.50 for 3 mp3s")
    [(0, 8, 'NUMBER'), (13, 14, 'NUMBER')]
    """

    replace: str = ""
    name, option, about = "numbers", "replace", "numbers that stand alone"

    def edits(self, text: str) -> list[Edit]:
        """Return the numbers of a text."""
        found: list[Edit] = []
        for match in _NUMBER.finditer(text):
            start, end = match.span()
            if not (_in_word(text[start - 1 : start]) or _in_word(text[end : end + 1])):
                found.append((start, end, self.replace))
        return found


def _in_word(character: str) -> bool:
    return character == "_" or character.isalnum()
