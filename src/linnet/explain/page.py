"""An explanation as HTML: blue speaks for the label, orange against it."""

from __future__ import annotations

import html

from linnet.explain.explanation import Explanation
from linnet.explain.terminal import shade

__all__ = ["fragment"]


def fragment(e: Explanation, n: int = 12) -> str:
    """Write the marked text and its tables; everything that came from outside is escaped."""
    pieces = e.words()
    largest = max((abs(w) for _, w in pieces), default=0.0)
    marked = []
    for piece, weight in pieces:
        strength = shade(weight, largest)
        safe = html.escape(piece).replace("\n", "<br>")
        if strength < 0.05 or not piece.strip():
            marked.append(safe)
        else:
            tone = "0,114,178" if weight > 0 else "213,94,0"  # blue for, orange against: safe for colour-blind readers
            marked.append(
                f'<span style="background:rgba({tone},{0.15 + 0.5 * strength:.2f})" title="{weight:+.4f}">{safe}</span>'
            )
    words = e.by_word()
    rows = "".join(_row(value, word) for word, value in words[:n])
    if len(words) > n:
        rows += _row(sum(value for _, value in words[n:]), f"{len(words) - n:,} more words")
    features = "".join(_row(c.value, f"{c.shown} ({c.block})") for c in e.top(n))
    rest = e.contributions[n:]
    if rest:
        features += _row(sum(c.value for c in rest), f"{len(rest):,} more features")
    ends = _row(e.bias, "intercept") + _row(e.score, "= score")
    cell = "<td style='vertical-align:top;border:0'>"
    against = f" rather than <b>{html.escape(str(e.against))}</b>" if e.against is not None else ""
    method = "" if e.exact else f"; contributions are {e.method}"
    return (
        f"<div><p><b>{html.escape(str(e.label))}</b>{against}: probability {e.probability:.3f}, score {e.score:+.4f}{method}</p>"
        f"<p style='line-height:1.7'>{''.join(marked)}</p><table><tr>"
        f"{cell}<table><tr><th>contribution</th><th>word</th></tr>{rows}{ends}</table></td>"
        f"{cell}<table><tr><th>contribution</th><th>feature</th></tr>{features}{ends}</table></td></tr></table></div>"
    )


def _row(value: float, name: str) -> str:
    return (
        f"<tr><td style='text-align:right'>{value:+.4f}</td><td style='text-align:left'>{html.escape(name)}</td></tr>"
    )
