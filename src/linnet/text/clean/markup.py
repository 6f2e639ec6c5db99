"""HTML: tags, comments, scripts and styles out, entities decoded, with the place of every character kept.

Texts for classification are seldom whole pages: a review with ``<br />`` in it, a mail with an ``<address@host>``, a
formula with ``a < b``. So a tag is only what HTML says a tag is: ``<`` or ``</``, the name of an element, attributes,
``>``. What is not an element stays. A tree builder (selectolax) gives no places in the source; the tests compare the
text with its on generated pages.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from html.entities import html5

from linnet.text.clean.rule import CleaningRule
from linnet.text.offsets import Edit

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
        known, block, add = _KINDS, self.block, found.append
        for match in _PLAIN.finditer(text, at):
            tag = match[0]
            kind = known.get(tag) or _kind(tag)
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
_KINDS: dict[str, str] = {}  # tags seen, by all of their characters
_MOST_KINDS = 4096


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
    kind = "closer" if kind == "raw" else kind
    if len(tag) < 200:
        if len(_KINDS) >= _MOST_KINDS:
            _KINDS.clear()
        _KINDS[tag] = kind
    return kind


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
