"""HTML from plain values. Whatever comes from outside goes through `safe`; nothing else may write into the page."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["bar", "count", "data_island", "interval", "note", "paragraphs", "percent", "safe", "score", "table"]


def safe(value: Any) -> str:
    r"""Return text that is harmless in HTML, in attributes too; control characters are shown as a dot.

    >>> safe('<script>"x"&\x07')
    '&lt;script&gt;&quot;x&quot;&amp;·'
    """
    text = "".join(c if c.isprintable() or c in "\n\t" else "·" for c in str(value))
    return html.escape(text, quote=True)


def data_island(name: str, value: Any) -> str:
    r"""Return JSON that the page's code can read: no text in it can end the element that holds it.

    >>> data_island("texts", ["</script><b>&"])
    '<script type="application/json" id="texts">["\\u003c/script\\u003e\\u003cb\\u003e\\u0026"]</script>'
    """
    return f'<script type="application/json" id="{safe(name)}">{plain_json(value)}</script>'


def plain_json(value: Any) -> str:
    """Return JSON without any character that means something in HTML, or that UTF-8 cannot hold."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", "replace").decode("utf-8")


def percent(share: float, digits: int = 1) -> str:
    r"""Write a share in percent, on one line with its sign.

    >>> percent(0.8734)
    '87.3\xa0%'
    """
    return f"{100 * share:.{digits}f}\u00a0%"


def score(value: float | None, digits: int = 3) -> str:
    """Write a score, or a dash where it is undefined."""
    return "–" if value is None else f"{value:.{digits}f}"


def interval(ends: Sequence[float] | None, digits: int = 3) -> str:
    """Write an interval, small.

    >>> interval((0.1, 0.25), 2)
    '<span class="interval">0.10 to 0.25</span>'
    """
    return "" if ends is None else f'<span class="interval">{ends[0]:.{digits}f} to {ends[1]:.{digits}f}</span>'


def count(n: int, one: str, many: str | None = None) -> str:
    """Write how many of something.

    >>> count(1, "row"), count(2000, "row"), count(2, "class", "classes")
    ('1 row', '2,000 rows', '2 classes')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def paragraphs(lines: Iterable[str]) -> str:
    """Return a paragraph for each line of HTML."""
    return "".join(f"<p>{line}</p>" for line in lines)


def note(line: str) -> str:
    """Return a remark, of HTML, in small print."""
    return f'<p class="note">{line}</p>'


def bar(share: float, kind: str = "for") -> str:
    """Return a bar as wide as a share of its place."""
    return f'<span class="bar {kind}" style="width:{100 * min(1.0, max(0.0, share)):.1f}%"></span>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Return a table of HTML cells; the first column holds the names of the rows.

    >>> table(["word", "n"], [["a", "1"]]).count("<td>")
    1
    """
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in others) + "</tr>"
        for first, *others in rows
    )
    return f'<div class="wide"><table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
