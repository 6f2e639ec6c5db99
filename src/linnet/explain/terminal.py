"""An explanation as text: words in colour, and tables that add up to the score."""

from __future__ import annotations

from linnet.draw.formatting import cut
from linnet.explain.explanation import Explanation

__all__ = ["explanation_text"]

FAINT = 0.08  # words below this share of the largest weight have no colour
BLUE, ORANGE = ("38;5;153", "38;5;75", "1;38;5;33"), ("38;5;222", "38;5;214", "1;38;5;208")


def explanation_text(e: Explanation, n: int, color: bool) -> str:
    """Write the marked text and what its words and features add."""
    pieces = e.words()
    largest = max((abs(w) for _, w in pieces), default=0.0) or 1.0
    marked = []
    for piece, weight in pieces:
        shade = abs(weight) / largest
        if not color or shade < FAINT or not piece.strip():
            marked.append(piece)
        else:
            tone = (BLUE if weight > 0 else ORANGE)[int(shade * 2.99)]
            marked.append(f"\x1b[{tone}m{piece}\x1b[0m")
    other = "" if e.against_probability is None else f" ({e.against_probability:.3f})"
    against = f" rather than {e.against}{other}" if e.against is not None else ""
    lines = ["".join(marked), "", f"{e.label}{against}: probability {e.probability:.3f}, score {e.score:+.4f}", ""]
    if not e.exact:
        lines[-1:] = [f"contributions are {e.method}: they add up, but hold for this text only", ""]
    lines += [f"{'contribution':>12}  word", *(_line(*part) for part in e.summed(e.by_word(), n, "word"))]
    blocks = {c.shown: c.block for c in e.contributions}
    lines += ["", "the features behind it", f"{'contribution':>12}  feature"]
    by_feature = [(c.shown, c.value) for c in e.contributions]
    lines += [_line(name, value, blocks.get(name, "")) for name, value in e.summed(by_feature, n // 2, "feature")]
    if e.unknown:
        lines.append(f"{e.unknown:,} features of the text are not in the model and add nothing")
    return "\n".join(lines)


def _line(name: str, value: float, block: str = "") -> str:
    plain = "".join(c if c.isprintable() else "·" for c in name)
    return f"{value:>+12.4f}  {cut(plain, 32):<32} {block}".rstrip()
