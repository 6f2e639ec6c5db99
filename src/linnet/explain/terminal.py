"""An explanation as text: words in colour, and tables that add up to the score."""

from __future__ import annotations

from linnet.explain.explanation import Explanation

__all__ = ["render", "shade"]


def shade(weight: float, largest: float) -> float:
    """Return how strongly a word is marked, from 0 to 1."""
    return min(1.0, abs(weight) / largest) if largest > 0 else 0.0


def render(e: Explanation, n: int, color: bool) -> str:
    """Write the marked text and what its words and features add."""
    pieces = e.words()
    largest = max((abs(w) for _, w in pieces), default=0.0)
    marked = []
    for piece, weight in pieces:
        strength = shade(weight, largest)
        if not color or strength < 0.08 or not piece.strip():
            marked.append(piece)
            continue
        tone = ("38;5;153", "38;5;75", "1;38;5;33") if weight > 0 else ("38;5;222", "38;5;214", "1;38;5;208")
        marked.append(f"\x1b[{tone[int(strength * 2.99)]}m{piece}\x1b[0m")
    other = "" if e.against_probability is None else f" ({e.against_probability:.3f})"
    against = f" rather than {e.against}{other}" if e.against is not None else ""
    lines = ["".join(marked), "", f"{e.label}{against}: probability {e.probability:.3f}, score {e.score:+.4f}", ""]
    if not e.exact:
        lines[-1:] = [f"contributions are {e.method}: they add up, but another text would have others", ""]
    lines += _table("word", [(w, v, "") for w, v in e.by_word()], e, n)
    lines += ["", "the features behind it"]
    lines += _table(
        "feature",
        [(c.shown, c.value, c.block) for c in e.contributions],
        e,
        n // 2,
    )
    if e.unknown:
        lines.append(f"{e.unknown:,} pieces of the text are not in the model and add nothing")
    return "\n".join(lines)


def _table(what: str, parts: list[tuple[str, float, str]], e: Explanation, n: int) -> list[str]:
    """Lines that add up to the score."""
    lines = [f"{'contribution':>12}  {what}"]
    lines += [f"{value:>+12.4f}  {_clip(name, 32):<32} {block}".rstrip() for name, value, block in parts[:n]]
    if len(parts) > n:
        lines.append(f"{sum(value for _, value, _ in parts[n:]):>+12.4f}  ({len(parts) - n:,} more)")
    return [*lines, f"{e.bias:>+12.4f}  (intercept)", f"{e.score:>+12.4f}  = score"]


def _clip(text: str, width: int) -> str:
    text = "".join(c if c.isprintable() else "·" for c in text)
    return text if len(text) <= width else text[: width - 1] + "…"
