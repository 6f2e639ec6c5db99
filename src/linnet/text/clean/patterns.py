"""Markup, web addresses, e-mail addresses and numbers: removed, or replaced by a word that the classifier can use.

Each rule jumps from one tell-tale sign (``://``, ``www.``, ``@``) to the next, so that a text without them costs next to
nothing, and looks back a bounded number of characters, so that no text can make it slow.

HTML: tags, comments, scripts and styles out, entities decoded, with the place of every character kept.

Texts for classification are seldom whole pages: a review with ``<br />`` in it, a mail with an ``<address@host>``, a
formula with ``a < b``. So a tag is only what HTML says a tag is: ``<`` or ``</``, the name of an element, attributes,
``>``. What is not an element stays. A tree builder (selectolax) gives no places in the source; the tests compare the
text with its on generated pages.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from html.entities import html5

from linnet.text.clean.rule import CleaningRule
from linnet.text.offsets import Edit

_SCHEME = re.compile(r"(?:https?|ftps?|sftp|gopher|news|nntp|telnet|irc|file|git|ssh|s3|ws|wss)\Z", re.IGNORECASE)
_ADDRESS = re.compile(r"[^\s<>\"`{}|\\^\u201c\u201d\u2018\u2019\u00ab\u00bb\u3000-\u3002\uff08\uff09\uff0c]*")
_TRAILING = ".,;:!?'*_~"
_DOUBTFUL = _TRAILING + ")]"
_HOST = re.compile(r"[0-9A-Za-z\u00a1-\uffff-]+\.[0-9A-Za-z\u00a1-\uffff-]{2,}")


@dataclass(frozen=True)
class Replacing(CleaningRule):
    """A rule that removes what it finds, or puts a word in its place."""

    replace: str = ""
    option = "replace"


class URLs(Replacing):
    """Remove web addresses, or put a word in their place: ``http://...``, ``ftp://...``, ``www...``.

    A full stop or comma after an address is not part of it, nor is a bracket that opened before it.

    >>> URLs("URL").edits("(see http://example.org/a_(b), or www.example.org.)")
    [(5, 29, 'URL'), (34, 49, 'URL')]
    """

    name, about = "urls", "web addresses (http://..., www...)"

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


class Emails(Replacing):
    """Remove e-mail addresses, or put a word in their place.

    >>> Emails("EMAIL").edits("Mail jo.doe+x@mail.example.org, not @jo.")
    [(5, 30, 'EMAIL')]
    """

    name, about = "emails", "e-mail addresses"

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


class Numbers(Replacing):
    """Remove numbers, or put a word in their place. Digits inside a word (mp3, B2B, 5th) stay.

    >>> Numbers("NUMBER").edits("1,000.50 for 3 mp3s")
    [(0, 8, 'NUMBER'), (13, 14, 'NUMBER')]
    """

    name, about = "numbers", "numbers that stand alone"

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


# Elements that end the line they stand in, as browsers show them; cells and options are kept apart, too.
_BLOCK = (
    "address article aside blockquote body br button caption center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html isindex legend li listing main menu nav "
    "ol optgroup option p plaintext pre search section select summary table tbody td textarea tfoot th thead title tr "
    "ul xmp"
)
_INLINE = (
    "a abbr acronym applet area audio b base basefont bdi bdo bgsound big blink canvas circle cite clippath code col "
    "colgroup data datalist defs del desc dfn ellipse em embed filter font foreignobject frame g i image img input ins "
    "kbd keygen label line lineargradient link map mark marquee mask math menuitem meta meter mfrac mi mn mo mrow msub "
    "msup mtext nobr noscript object output param path pattern picture polygon polyline progress q radialgradient rb "
    "rect rp rt rtc ruby s samp slot small source spacer span stop strike strong sub sup svg symbol template text "
    "textpath time track tspan tt u use var video wbr"
)
_RAW = "iframe noembed noframes script style"  # their content is no text

_QUOTED = """"(?:[^"<]*+|[^"]{0,512}+)"|'(?:[^'<]*+|[^']{0,512}+)'"""  # a long value without '<', or a short one
_MARKUP = re.compile(
    rf"""<(?:(/?)([A-Za-z][\w:-]*+)(?=[\s/>])(?:[^<>=]++|=\s*+(?:{_QUOTED})?+){{0,200}}+>"""
    r"""|!--(?:-?>|.*?(?:--!?>|\Z))|![Dd][Oo][Cc][Tt][Yy][Pp][Ee]\b[^<>]*+>|\?[A-Za-z][^<>]*+>|!\[[^<>]*+>)""",
    re.DOTALL,
)
_ENTITY = re.compile(r"&(?:#(?:[0-9]{1,7}|[xX][0-9A-Fa-f]{1,6});?|[A-Za-z][A-Za-z0-9]{1,31}(?:;|(?![A-Za-z0-9=])))")
_RAW_END = {name: re.compile(rf"</(?i:{name})(?=[\s/>])[^>]*+>") for name in _RAW.split()}


@dataclass(frozen=True)
class HTML(CleaningRule):
    r"""Remove markup; elements that start a line (p, br, div, li ...) leave `block` behind.

    >>> HTML().edits("R&amp;D<br />a < b")
    [(1, 6, '&'), (7, 13, '\n')]
    """

    block: str = "\n"
    name, option, about = "html", "block", "tags, comments, scripts and styles; entities are decoded"

    def edits(self, text: str) -> list[Edit]:
        """Return the tags and the entities of a text."""
        tags = self._tags(text) if "<" in text else []
        if "&" not in text:
            return tags
        decoded = _entities(text)
        return _merged(tags, decoded) if tags and decoded else tags or decoded

    def _tags(self, text: str) -> list[Edit]:
        found: list[Edit] = []
        at = 0
        while at >= 0:
            at = self._some(text, at, found)
        return found

    def _some(self, text: str, at: int, found: list[Edit]) -> int:
        """Add tags from a place on, up to one that takes a closer look; return where to go on, or -1 at the end.

        Most tags are told by a look at all of their characters, and most of them have been seen before.
        """
        block, add = self.block, found.append
        for match in _PLAIN.finditer(text, at):
            tag = match[0]
            kind = _kind(tag) if len(tag) < 200 else _kind.__wrapped__(tag)  # long ones are not remembered
            if kind == "inline":
                add((match.start(), match.end(), ""))
            elif kind == "block":
                add((match.start(), match.end(), block))
            elif kind == "closer":
                stop = self._closer(text, match.start(), found)
                if stop > match.end():
                    return stop
        return -1

    def _closer(self, text: str, start: int, found: list[Edit]) -> int:
        """Add the comment, the script or the tag with odd quotes that starts here; return where it ends, or 0."""
        match = _MARKUP.match(text, start)
        name = match[2] if match else ""
        kind = "inline" if name is None else _put(name)
        if match is None or not kind:
            return 0
        end = match.end()
        if kind == "raw" and not match[1]:
            closing = _RAW_END[name.lower()].search(text, end)
            end = closing.end() if closing else len(text)
        found.append((start, end, self.block if kind == "block" else ""))
        return end


_PLAIN = re.compile(r"<[^<>]*+(?:>|(?=<)|\Z)")


@lru_cache(4096)
def _kind(tag: str) -> str:
    """Say what a run from ``<`` to ``>`` is: block, inline, text, or closer (more than itself must be looked at).

    >>> _kind("<BR/>"), _kind("</b>"), _kind("<3 you>"), _kind('<a title="x>'), _kind("<script>")
    ('block', 'inline', 'text', 'closer', 'closer')
    """
    double, single = tag.count('"'), tag.count("'")
    if tag[-1] != ">" or tag[1] in "!?" or double % 2 or single % 2 or (double and single):
        return "closer"
    match = _MARKUP.fullmatch(tag)
    kind = _put(match[2]) if match else ""
    if not kind:
        return "text"
    return "closer" if kind == "raw" else kind


_PUT = {
    **dict.fromkeys(_BLOCK.split(), "block"),
    **dict.fromkeys(_INLINE.split(), "inline"),
    **dict.fromkeys(_RAW.split(), "raw"),
}


@lru_cache(1024)
def _put(name: str) -> str:
    """Say what kind of element a name is; "" if it is none. Custom elements have a hyphen, foreign ones a colon.

    >>> _put("BR"), _put("o:p"), _put("john@example.org")
    ('block', 'inline', '')
    """
    return _PUT.get(name.lower()) or ("inline" if ("-" in name or ":" in name) and len(name) > 2 else "")


def _entities(text: str) -> list[Edit]:
    found = []
    for match in _ENTITY.finditer(text):
        new = _decoded(match[0])
        if new is not None:
            found.append((match.start(), match.end(), new))
    return found


@lru_cache(4096)
def _decoded(entity: str) -> str | None:
    """Return the character of an entity, as browsers do; None for a name that is none.

    >>> _decoded("&eacute;"), _decoded("&#x27;"), _decoded("&copy"), _decoded("&#150;"), _decoded("&nosuch;")
    ('é', "'", '©', '–', None)
    """
    if entity[1] != "#":
        return html5.get(entity[1:])
    from html import unescape

    return unescape(entity if entity.endswith(";") else entity + ";")


def _merged(tags: list[Edit], entities: list[Edit]) -> list[Edit]:
    """Put both kinds in order; entities inside tags are part of them.

    >>> _merged([(5, 9, "")], [(0, 4, "&"), (6, 8, "&")])
    [(0, 4, '&'), (5, 9, '')]
    """
    outside = []
    for edit in entities:
        before = bisect_right(tags, edit)
        if not before or tags[before - 1][1] <= edit[0]:
            outside.append(edit)
    return sorted(tags + outside)
