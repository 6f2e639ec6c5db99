"""HTML from plain values. Everything that comes from outside goes through `safe`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from linnet.draw.terminal import cut, percent

# control characters and halves of surrogate pairs: UTF-8 or HTML cannot hold them
_UNSHOWN = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(0xD800, 0xE000)], "\ufffd")
MARKS = {"for": ("--blue,0,114,178", "solid"), "against": ("--orange,213,94,0", "dotted")}
LEAST_SHADE = 0.15  # words below this share of the largest weight are not marked
FEW_COLUMNS = 6  # column heads of a wider matrix are written vertically


def safe(value: Any) -> str:
    r"""Return text that is harmless in HTML, in attributes too.

    >>> safe('<script>"x"&\x07')
    '&lt;script&gt;&quot;x&quot;&amp;\ufffd'
    """
    return html.escape(str(value).translate(_UNSHOWN), quote=True)


def paragraphs(lines: Iterable[str]) -> str:
    """Return a paragraph for each line of HTML."""
    return "".join(f"<p>{line}</p>" for line in lines)


def note(line: str) -> str:
    """Return a remark, of HTML, in small print."""
    return f'<p class="note">{line}</p>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "", caption: str = "") -> str:
    """Return a table of HTML cells; the first column holds the names of the rows.

    >>> table(["word", "n"], [["a", "1"]]).count("<td>")
    1
    """
    title = f"<caption>{caption}</caption>" if caption else ""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in others)}</tr>'
        for first, *others in rows
    )
    top = f"<thead><tr>{top}</tr></thead>" if any(head) else ""
    return f'<div class="wide" tabindex="0"><table class="{kind}">{title}{top}<tbody>{body}</tbody></table></div>'


def text_table(rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    """Return a table of plain text, the first row its head.

    >>> "<td>&lt;b&gt;</td>" in text_table([["name", "text"], ["a", "<b>"]])
    True
    """
    head, *body = [[safe(cell) for cell in row] for row in rows]
    return table(head, body, caption=safe(caption))


def bar(share: float, kind: str = "") -> str:
    """Return a bar that fills a share of its width."""
    width = 100 * min(1.0, max(0.0, share))
    return f'<span class="track {kind}"><span class="bar" style="width:{width:.1f}%"></span></span>'


def bars(rows: Iterable[tuple[str, float, str]], kind: str = "", best: str | None = None) -> str:
    """Return a list of bars: (name, share of the width, HTML to the right of the bar). A share below 0 is a line of text.

    >>> bars([("a", 1.0, "3"), ("b", 0.5, "1")]).count('class="bar"')
    2
    """
    out = []
    for name, share, figure in rows:
        if share < 0:
            out.append(f'<li class="gap">{safe(name)}</li>')
            continue
        chosen = ' class="best"' if name == best else ""
        figures = f'<span class="figure">{figure}</span>' if figure else ""
        out.append(f'<li{chosen}><span class="name" title="{safe(name)}">{safe(name)}</span>{bar(share)}{figures}</li>')
    return f'<ul class="bars {kind}">{"".join(out)}</ul>'


def count_bars(counts: Mapping[str, int], most: int = 12) -> str:
    """Return a bar a class, the largest first; of many classes the largest and the three smallest.

    >>> count_bars({"a": 3, "b": 1}).count("<li>")
    2
    """
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    total, largest = sum(counts.values()) or 1, max(counts.values(), default=1) or 1
    rows = [
        (name, n / largest, f"{n:,} <small>{percent(n / total, 0 if n / total > 0.1 else 1)}</small>")
        for name, n in ranked
    ]
    if len(rows) > most:
        rows[most - 4 : -3] = [(f"{len(rows) - most + 1:,} more classes", -1.0, "")]
    return bars(rows)


def mark(text: str, kind: str, shade: float = 0.8, title: str = "") -> str:
    """Return text in colour: kind "for" is blue with a line, "against" orange with dots.

    >>> mark("good", "for", 1.0, "+1.5")[:46]
    '<mark class="for" title="+1.5" style="color:in'
    """
    colour, line = MARKS[kind]
    about = f' title="{safe(title)}"' if title else ""
    return (
        f'<mark class="{kind}"{about} style="color:inherit;background:rgba(var({colour}),{0.1 + 0.4 * shade:.2f});'
        f'border-bottom:2px {line} rgba(var({colour}),{0.3 + 0.7 * shade:.2f})">{safe(text)}</mark>'
    )


def marked(pieces: Sequence[tuple[str, float]], characters: int | None = None) -> str:
    """Return a text whose words are marked by their weights; of a long text the part with the largest weights.

    >>> marked([("<i>", 0.0), ("good", 1.5)]).startswith('&lt;i&gt;<mark class="for" title="+1.500"')
    True
    """
    first, last = 0, len(pieces)
    if characters is not None:
        first, last = window([len(piece) for piece, _ in pieces], [abs(weight) for _, weight in pieces], characters)
    largest = max((abs(weight) for _, weight in pieces), default=0.0) or 1.0
    out = ["…" if first else ""]
    for piece, weight in pieces[first:last]:
        shade = abs(weight) / largest
        if shade < LEAST_SHADE or not piece.strip():
            out.append(safe(piece))
        else:
            out.append(mark(piece, "for" if weight > 0 else "against", shade, f"{weight:+.3f}"))
    return "".join([*out, "…" if last < len(pieces) else ""])


def window(lengths: Sequence[int], weights: Sequence[float], characters: int) -> tuple[int, int]:
    """Return the run of pieces, no longer than some characters, whose weights add up to most.

    >>> window([3, 3, 3, 3], [0.0, 1.0, 5.0, 0.0], 6)
    (1, 3)
    """
    best, best_sum, first, size, total = (0, 1), -1.0, 0, 0, 0.0
    for last, (length, weight) in enumerate(zip(lengths, weights, strict=True)):
        size, total = size + length, total + weight
        while size > characters and first < last:
            size, total = size - lengths[first], total - weights[first]
            first += 1
        if total > best_sum + 1e-12:
            best, best_sum = (first, last + 1), total
    return (best[0], len(lengths)) if sum(lengths[best[0] :]) <= characters else best


def matrix(names: Sequence[str], counts: Any, chosen: Sequence[int]) -> str:
    """Return a confusion matrix whose cells are buttons with data-cell="truth,predicted".

    counts is (n_names, n_columns), rows the true class; chosen are the classes to show. A cell is shaded by its share of
    the row.

    >>> import numpy as np
    >>> matrix(["a", "b"], np.array([[3, 1], [0, 2]]), [0, 1]).count("<button")
    3
    """
    columns = [c for c in chosen if c < counts.shape[1]]
    heads = ((safe(names[c]), safe(cut(names[c], 20))) for c in columns)
    head = "".join(f'<th scope="col" title="{name}"><span>{short}</span></th>' for name, short in heads)
    body = "".join(
        f'<tr><th scope="row" title="{safe(names[t])}">{safe(cut(names[t], 30))}</th>'
        + "".join(f"<td>{_cell(names, counts, t, p)}</td>" for p in columns)
        + f'<td class="sum">{int(counts[t].sum()):,}</td></tr>'
        for t in chosen
    )
    many = " many" if len(columns) > FEW_COLUMNS else ""
    return (
        f'<div class="wide"><table class="matrix{many}"><thead><tr><td class="corner">true \\ predicted</td>'
        f'{head}<th scope="col">rows</th></tr></thead><tbody>{body}</tbody></table></div>'
    )


def _cell(names: Sequence[str], counts: Any, t: int, p: int) -> str:
    n = int(counts[t, p])
    if not n:
        return '<span class="empty">0</span>'
    share, kind = n / int(counts[t].sum()), "right" if t == p else "wrong"
    label = f"{n:,} of {safe(names[t])} predicted {safe(names[p])}"
    return (
        f'<button type="button" class="cell {kind}" data-cell="{t},{p}" aria-label="{label}" '
        f'style="--share:{share:.3f}">{n:,}</button>'
    )


# ---- One HTML file with its style inside: it opens anywhere, light or dark, and fetches nothing.


# What a page with code of its own may do: run and style itself. Nothing is fetched and nothing is sent, even if a text
# of the data were taken for markup.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; form-action 'none'"


@cache
def resource(package: str, name: str) -> str:
    """Return a text file of a package."""
    return (files(package) / name).read_text(encoding="utf-8")


def style() -> str:
    """Return the style that tables, bars, charts and matrices share."""
    return resource("linnet.draw", "style.css")


def page(title: str, body: str, *, more_style: str = "", script: str = "") -> str:
    """Return a whole HTML file.

    >>> page("A <b>", "<p>text</p>").count("<b>")
    0
    """
    policy = f'<meta http-equiv="Content-Security-Policy" content="{safe(POLICY)}">' if script else ""
    code = f"<script>{script}</script>" if script else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{policy}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{safe(title)}</title><style>{style()}{more_style}</style></head>\n<body>{body}{code}</body></html>\n"
    )
