"""The registry of rules for characters, and the Cleaner: some of them, one after the other.

What a cleaning rule is: a small value that can be written down and read again; and lists of rules.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from html.entities import html5
from typing import Any, ClassVar, Literal, Self

from linnet.errors import DataError, check_choice, require
from linnet.text.offsets import Edit, Offsets, apply
from linnet.values import parse_list


@dataclass(frozen=True)
class CleaningRule:
    """A rule: what it is called, and a function of a text and of a value, such as the word that takes the place of an address.

    `option` is the name of the value; rules without one are functions of the text alone. `level` says what the function
    looks at and returns: "text" gives edits; "line", "page" and "left" (what is left of a page) say whether it is to be removed.
    """

    name: str
    about: str
    function: Callable[..., Any]
    option: str = ""
    value: Any = None
    level: str = "text"
    read: Callable[[str], Any] | None = str
    """Makes the value of what stands behind ``name=`` on the command line, where that is allowed."""

    def __call__(self, text: str) -> Any:
        return self.function(text, self.value) if self.option else self.function(text)

    def edits(self, text: str) -> list[Edit]:
        """Return what the rule changes in a text, from left to right; nothing for a text that is clean already."""
        return list(self(text))

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, for a report."""
        value = list(self.value) if isinstance(self.value, tuple) else self.value
        return {"rule": self.name, **({self.option: value} if self.option else {})}


def read_rule(spec: str | Mapping[str, Any] | CleaningRule, known: Mapping[str, CleaningRule]) -> CleaningRule:
    """Make one of the known rules from its name, from ``name=value`` or from its plain values."""
    if isinstance(spec, CleaningRule):
        return spec
    name, values = "", {}
    if isinstance(spec, str):
        name, given, value = spec.partition("=")
        values = {known[name.strip()].option if name.strip() in known else "": value} if given else {}
    else:
        values = dict(spec)
        name = str(values.pop("rule", ""))
    check_choice("rule", name.strip(), known)
    rule = known[name.strip()]
    for key, value in values.items():
        if not rule.option or (isinstance(value, str) and rule.read is None):
            raise DataError(f"the rule '{rule.name}' takes no value, got '{value}'; write just {rule.name}")
        check_choice(f"setting of the rule '{rule.name}'", key, [rule.option])
        if isinstance(value, str) and rule.read is not None:
            value = rule.read(value)
        rule = replace(rule, value=tuple(value) if isinstance(value, list) else value)
    return rule


@dataclass(init=False, unsafe_hash=True)
class RuleList:
    """Some rules, in the order in which they work: names in the order of the registry, rules given as values as they stand."""

    rules: tuple[CleaningRule, ...]
    known: ClassVar[Mapping[str, CleaningRule]]

    def __init__(self, rules: str | Iterable[str | Mapping[str, Any] | CleaningRule]) -> None:
        specs: list[Any] = parse_list(rules) if isinstance(rules, str) else list(rules)
        made = [read_rule(spec, self.known) for spec in specs]
        if all(isinstance(spec, str) for spec in specs):
            made.sort(key=lambda rule: list(self.known).index(rule.name))
        self.rules = tuple(made)

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


def control(text: str) -> list[Edit]:
    r"""Remove characters that nobody sees; those that part words or lines (form feed, U+0085) become a blank.

    >>> control("a\0b\x0cc\u200bd")
    [(1, 2, ''), (3, 4, ' '), (5, 6, '')]
    """
    return [(m.start(), m.end(), " " if m[0].isspace() else "") for m in _CONTROL.finditer(text)]


def mojibake(text: str) -> list[Edit]:
    """Repair text that was decoded with the wrong code, line by line, with ftfy (``schÃ¶n`` was ``schön``).

    >>> mojibake("schÃ¶n, bÃ¤h")
    [(3, 11, 'ön, bä')]
    """
    if text.isascii():
        return []
    fixer = require("ftfy", "the rule 'mojibake'", "clean")
    found: list[Edit] = []
    at = 0
    for line in text.split("\n"):
        if not line.isascii():
            fixed = fixer.fix_encoding(line)
            found += [_trimmed(line, fixed, at)] if fixed != line else []
        at += len(line) + 1
    return found


def _trimmed(old: str, new: str, at: int = 0) -> Edit:
    """One edit from old, which begins at a place, to new, without what they share at both ends.

    >>> _trimmed("abcd", "axd")
    (1, 3, 'x')
    """
    least = min(len(old), len(new))
    start = next((k for k in range(least) if old[k] != new[k]), least)
    back = next((k for k in range(least - start) if old[-1 - k] != new[-1 - k]), least - start)
    return at + start, at + len(old) - back, new[start : len(new) - back]


Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
# What a normal form may change: no character below U+0300 joins the one before it.
_JOINING = re.compile("[\0-\u02ff]?[\u0300-\U0010ffff]+|[\x80-\u02ff]")


def normal_form(text: str, form: Form) -> list[Edit]:
    """Write every character in one way: NFC joins letters and accents, NFKC also flattens ``ﬁ`` and ``²``.

    >>> normal_form("cafe\u0301", "NFC"), normal_form("x² ﬁx", "NFKC")
    ([(3, 5, 'é')], [(1, 2, '2'), (3, 4, 'fi')])
    """
    if unicodedata.is_normalized(form, text):
        return []
    pieces = ((match.start(), match[0], unicodedata.normalize(form, match[0])) for match in _JOINING.finditer(text))
    return [_trimmed(old, new, at) for at, old, new in pieces if old != new]


def _known_form(form: str) -> str:
    check_choice("Unicode form", form, _FORMS)
    return form


_SPACE = re.compile(r"\s(?:\s++|(?<! ))")  # all but a single blank


def whitespace(text: str, lines: bool) -> list[Edit]:
    r"""Make runs of white space one blank, or with `lines` one newline where they hold one; none at the ends.

    >>> whitespace("  a \t b\r\n\nc d ", True)
    [(0, 2, ''), (3, 6, ' '), (7, 10, '\n'), (13, 14, '')]
    """
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    if end <= start:  # nothing but white space
        return [(0, len(text), "")] if text else []
    found: list[Edit] = [(0, start, "")] if start else []
    for match in _SPACE.finditer(text, start, end):
        new = "\n" if lines and ("\n" in match[0] or "\r" in match[0]) else " "
        if new != match[0]:
            found.append((match.start(), match.end(), new))
    return [*found, (end, len(text), "")] if end < len(text) else found


# ---- Markup, web addresses, e-mail addresses and numbers: removed, or replaced by a word that the classifier can use.
#
# Each rule looks for its tell-tale sign first (``://``, ``ww.``, ``@``), so that a text without costs next to nothing, and
# looks back a bounded number of characters, so that no text can make it slow.


_STOP = r"\s<>\"`{}|\\^\u201c\u201d\u2018\u2019\u00ab\u00bb\u3000-\u3002\uff08\uff09\uff0c"
_HOST = r"[0-9A-Za-z\u00a1-\uffff-]"
_SIGN = re.compile(rf"://|(?:[Ww]ww|WWW)\.(?={_HOST}++\.{_HOST}{{2}})")
_SCHEMES = "https?|ftps?|sftp|gopher|news|nntp|telnet|irc|file|git|ssh|s3|wss?"
_BEGIN = re.compile(rf"(?:(?<![^\W_])(?:{_SCHEMES})://|(?<![\w@.])www\.)\Z", re.IGNORECASE)
_BODY = re.compile(rf"(?:[^{_STOP}()\[\]]++|\([^{_STOP}()]*+\)|\[[^{_STOP}\[\]]*+\])++")
_TRAILING = ".,;:!?'*_~"


def urls(text: str, replacement: str) -> list[Edit]:
    """Remove web addresses, or put a word in their place: ``http://...``, ``ftp://...``, ``www...``.

    A full stop or comma after an address is not part of it, nor is a bracket without its other half.

    >>> urls("(see http://example.org/a_(b), or www.example.org.)", "URL")
    [(5, 29, 'URL'), (34, 49, 'URL')]
    """
    found: list[Edit] = []
    done = 0
    for sign in _SIGN.finditer(text) if "://" in text or "ww." in text or "WW." in text else ():
        begin = _BEGIN.search(text, max(done, sign.start() - 7), sign.end())
        body = _BODY.match(text, sign.end()) if begin else None
        kept = body[0].rstrip(_TRAILING) if body else ""
        if begin and kept:
            done = sign.end() + len(kept)
            found.append((begin.start(), done, replacement))
    return found


_LOCAL = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.!#$%&'*+/=?^_`{|}~-"
_DOMAIN = re.compile(r"(?:[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?\.){1,8}[A-Za-z][0-9A-Za-z-]{0,60}[0-9A-Za-z]")


def emails(text: str, replacement: str) -> list[Edit]:
    """Remove e-mail addresses, or put a word in their place.

    >>> emails("Mail jo.doe+x@mail.example.org, not @jo.", "EMAIL")
    [(5, 30, 'EMAIL')]
    """
    found: list[Edit] = []
    done = 0
    for sign in re.finditer("@", text) if "@" in text else ():
        at = sign.start()
        before = text[max(done, at - 64) : at]
        local = before[len(before.rstrip(_LOCAL)) :].lstrip("'`.*/{|=")
        domain = _DOMAIN.match(text, at + 1) if local and at >= done else None
        if domain is not None:
            done = domain.end()
            found.append((at - len(local), done, replacement))
    return found


_NUMBER = re.compile(r"\d++(?:[.,]\d++){0,16}+")


def numbers(text: str, replacement: str) -> list[Edit]:
    """Remove numbers, or put a word in their place. Digits inside a word (mp3, B2B, 5th) stay.

    >>> numbers("1,000.50 for 3 mp3s", "NUMBER")
    [(0, 8, 'NUMBER'), (13, 14, 'NUMBER')]
    """
    found = [match.span() for match in _NUMBER.finditer(text)]
    return [(a, b, replacement) for a, b in found if not (_in_word(text[a - 1 : a]) or _in_word(text[b : b + 1]))]


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


def html(text: str, block: str) -> list[Edit]:
    r"""Remove markup; elements that start a line (p, br, div, li ...) leave `block` behind.

    >>> html("R&amp;D<br />a < b", "\n")
    [(1, 6, '&'), (7, 13, '\n')]
    """
    tags = _tags(text, block) if "<" in text else []
    if "&" not in text:
        return tags
    found = ((*match.span(), _decoded(match[0])) for match in _ENTITY.finditer(text))
    decoded = [(start, end, new) for start, end, new in found if new is not None]
    return _merged(tags, decoded) if tags and decoded else tags or decoded


def _tags(text: str, block: str) -> list[Edit]:
    """Find tags, comments, scripts and styles."""
    found: list[Edit] = []
    at = 0
    while match := _MARKUP.search(text, at):
        (start, at), name = match.span(), match[2]
        kind = "inline" if name is None else _PUT.get(name) or _put(name)
        if not kind:  # what stands inside it may be a tag
            at = start + 1
            continue
        if kind == "raw" and not match[1]:
            closing = _RAW_END[name.lower()].search(text, at)
            at = closing.end() if closing else len(text)
        found.append((start, at, block if kind == "block" else ""))
    return found


_KINDS = {"block": _BLOCK, "inline": _INLINE, "raw": _RAW}
_PUT = {name: kind for kind, names in _KINDS.items() for name in names.split()}


@lru_cache(1024)
def _put(name: str) -> str:
    """Say what kind of element a name is; "" if it is none. Custom elements have a hyphen, foreign ones a colon.

    >>> _put("BR"), _put("o:p"), _put("john@example.org")
    ('block', 'inline', '')
    """
    return _PUT.get(name.lower()) or ("inline" if ("-" in name or ":" in name) and len(name) > 2 else "")


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
RULES = {
    rule.name: rule
    for rule in (
        CleaningRule("html", "tags, comments, scripts and styles; entities are decoded", html, "block", "\n"),
        CleaningRule("mojibake", "text decoded with the wrong code (schÃ¶n), repaired", mojibake),
        CleaningRule("unicode", "one spelling for each character (NFC; unicode=NFKC also flattens ligatures and widths)",
                     normal_form, "form", "NFC", read=_known_form),
        CleaningRule("control", "control characters and other invisible ones", control),
        CleaningRule("urls", "web addresses (http://..., www...)", urls, "replace", ""),
        CleaningRule("emails", "e-mail addresses", emails, "replace", ""),
        CleaningRule("numbers", "numbers that stand alone", numbers, "replace", ""),
        CleaningRule("whitespace", "runs of white space become one blank or one newline", whitespace, "lines", True, read=None),
    )
}  # fmt: skip
DEFAULT = ("html", "unicode", "control", "urls", "emails", "whitespace")


def make_rule(spec: str | Mapping[str, Any] | CleaningRule) -> CleaningRule:
    """Make a rule from its name, from ``name=value`` or from its plain values.

    >>> make_rule("urls=URL").to_dict(), make_rule({"rule": "unicode", "form": "NFKC"}).value
    ({'rule': 'urls', 'replace': 'URL'}, 'NFKC')
    >>> make_rule("url")
    Traceback (most recent call last):
    linnet.errors.DataError: unknown rule 'url'; choose one of: html, mojibake, unicode, control, urls, emails, numbers,
    whitespace (did you mean 'urls'?)
    """
    return read_rule(spec, RULES)


@dataclass(frozen=True, eq=False)
class Cleaned:
    """A clean text, where its characters came from, and what each rule did.

    `stages` holds (rule name, edits, the text before them) of the rules that changed something; `offsets` is worked out
    from them when it is first asked for.
    """

    text: str
    source: str
    stages: tuple[tuple[str, list[Edit], str], ...] = ()

    @cached_property
    def offsets(self) -> Offsets:
        """The map from the characters of `text` to those of `source`."""
        whole = Offsets.of([], len(self.source))
        for _, edits, before in self.stages:
            whole = Offsets.of(edits, len(before)).after(whole)
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

    known = RULES

    def __init__(self, rules: str | Iterable[str | Mapping[str, Any] | CleaningRule] = DEFAULT) -> None:
        super().__init__(rules)

    def clean(self, text: str) -> Cleaned:
        """Apply every rule to a text."""
        if not isinstance(text, str):
            raise DataError(f"clean takes one text, got {type(text).__name__}: {text!r:.60}")
        now, stages = text, []
        for rule in self.rules:
            edits = rule.edits(now)
            if edits:
                stages.append((rule.name, edits, now))
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
