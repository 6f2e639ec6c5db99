"""The registry of rules for characters, and the Cleaner: some of them, one after the other.

What a cleaning rule is: a small value that can be written down and read again; and lists of rules.
"""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from html.entities import html5
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self, TypeVar

from linnet.errors import DataError, check_choice, nearest, require
from linnet.text.offsets import Edit, Offsets, apply


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


# ---- Characters: control characters, wrongly decoded text, Unicode normal forms, white space.


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
                found += [(start + at, end + at, new) for start, end, new in _changes(line, fixer.fix_encoding(line))]
            at += len(line) + 1
        return found


_KEPT = re.compile(r"([ -~]+)")  # in every code that ftfy tries, these characters are themselves


def _changes(old: str, new: str) -> list[Edit]:
    """Find small edits from a line to its repair: printable ASCII characters are in both, and between them lies the rest.

    >>> _changes("a: Ã© b", "a: é b")
    [(3, 5, 'é')]
    """
    before, after = _KEPT.split(old), _KEPT.split(new)  # every second piece is kept
    if before[1::2] != after[1::2]:
        return [_trimmed(old, new)]
    found: list[Edit] = []
    at = 0
    for was, now in zip(before, after, strict=True):
        if was != now:
            start, end, text = _trimmed(was, now)
            found.append((at + start, at + end, text))
        at += len(was)
    return found


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


# ---- Markup, web addresses, e-mail addresses and numbers: removed, or replaced by a word that the classifier can use.
#
# Each rule jumps from one tell-tale sign (``://``, ``www.``, ``@``) to the next, so that a text without them costs next to
# nothing, and looks back a bounded number of characters, so that no text can make it slow.


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


# ---- HTML: tags, comments, scripts and styles out, entities decoded, with the place of every character kept.
#
# Texts for classification are seldom whole pages: a review with ``<br />`` in it, a mail with an ``<address@host>``, a
# formula with ``a < b``. So a tag is only what HTML says a tag is: ``<`` or ``</``, the name of an element, attributes,
# ``>``. What is not an element stays. A tree builder (selectolax) gives no places in the source; the tests compare the
# text with its on generated pages.


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
