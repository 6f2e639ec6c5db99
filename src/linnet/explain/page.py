"""An explanation as HTML: blue speaks for the label, orange against it, whatever the eye; a sign says it too.

A fragment takes its colours from the page around it, light or dark (notebooks); a page of its own has both.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from linnet.explain.explanation import Explanation
from linnet.explain.terminal import shade

if TYPE_CHECKING:
    from linnet.explain.nearest import Neighbour

__all__ = ["document", "fragment", "neighbours", "page", "safe"]

FOR, AGAINST = "0,114,178", "213,94,0"  # blue and vermilion: told apart by colour-blind readers
STYLE = """\
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--line:#d1d9e0}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--paper:#14171a;--line:#3a424b}}
body{margin:0 auto;max-width:60rem;padding:1rem;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:break-word}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th{white-space:nowrap}
th,td{max-width:40rem;padding:.2rem .8rem .2rem 0;text-align:left;border-bottom:1px solid var(--line)}
"""


def safe(value: Any) -> str:
    """Escape whatever it is; what HTML cannot hold is shown as U+FFFD.

    >>> safe('<b>"&' + chr(0))
    '&lt;b&gt;&quot;&amp;�'
    """
    text = "".join("\ufffd" if "\ud800" <= c <= "\udfff" or (c < " " and c not in "\t\n") else c for c in str(value))
    return html.escape(text)


def document(title: str, body: str) -> str:
    """Put fragments on a page of their own: nothing is fetched, nothing runs."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{safe(title)}</title><style>{STYLE}</style></head>\n<body>{body}</body></html>\n"
    )


def page(e: Explanation, n: int = 12) -> str:
    """Write the explanation as one HTML file."""
    return document(f"linnet: why {e.label}?", fragment(e, n))


def fragment(e: Explanation, n: int = 12) -> str:
    """Write the marked text and its tables; everything that came from outside is escaped."""
    words = e.by_word()
    by_word = _table("word", words, len(words) - n, "words", e, n)
    found = [(f"{c.shown} ({c.block})", c.value) for c in e.contributions]
    by_feature = _table("feature", found, len(found) - n, "features", e, n)
    cell = "<td style='vertical-align:top;border:0'>"
    head = f"<p><b>{safe(e.label)}</b>{_against(e)}: score {e.score:+.4f}{'' if e.exact else '; contributions are ' + e.method}</p>"
    return (
        f"<div>{head}<p style='line-height:1.7'>{marked(e)}</p>"
        f"<table><tr>{cell}{by_word}</td>{cell}{by_feature}</td></tr></table></div>"
    )


def _against(e: Explanation) -> str:
    mine = f" (probability {e.probability:.3f})"
    if e.against is None:
        return mine
    other = "" if e.against_probability is None else f" ({e.against_probability:.3f})"
    return f"{mine} rather than <b>{safe(e.against)}</b>{other}"


def marked(e: Explanation) -> str:
    """Write the text with its words in colour; what each adds is its title."""
    pieces = e.words()
    largest = max((abs(w) for _, w in pieces), default=0.0)
    out = []
    for piece, weight in pieces:
        strength = shade(weight, largest)
        text = safe(piece).replace("\n", "<br>")
        if strength < 0.05 or not piece.strip():
            out.append(text)
            continue
        line = "solid" if weight > 0 else "dotted"
        tone = FOR if weight > 0 else AGAINST
        out.append(
            f'<span style="background:rgba({tone},{0.15 + 0.45 * strength:.2f});border-bottom:2px {line} rgb({tone})" '
            f'title="{weight:+.4f}">{text}</span>'
        )
    return "".join(out)


def _table(head: str, parts: list[tuple[str, float]], more: int, what: str, e: Explanation, n: int) -> str:
    rows = [_row(value, name) for name, value in parts[:n]]
    if more > 0:
        rows.append(_row(sum(value for _, value in parts[n:]), f"{more:,} more {what}"))
    rows += [_row(e.bias, "intercept"), _row(e.score, "= score")]
    return f"<table><tr><th>contribution</th><th>{head}</th></tr>{''.join(rows)}</table>"


def _row(value: float, name: str) -> str:
    return f"<tr><td style='text-align:right'>{value:+.4f}</td><td style='text-align:left'>{safe(name)}</td></tr>"


def neighbours(found: Sequence[Neighbour]) -> str:
    """Write the examples most like a text as a table."""
    rows = "".join(
        f"<tr><td style='text-align:right'>{n.similarity:.3f}</td><td>{safe(n.label)}</td>"
        f"<td style='text-align:left'>{safe(n.text)}<br><small>row {n.row + 1:,}; in common: {safe(', '.join(n.shared))}</small></td></tr>"
        for n in found
    )
    return f"<table><tr><th>similarity</th><th>label</th><th>example</th></tr>{rows}</table>"
