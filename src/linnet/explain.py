"""What each feature of a text adds to the score. The parts add up to the score.

A linear score is a sum, so there is nothing to estimate: ``score = bias + sum_j contribution_j``. A feature that occurs
several times shares its contribution between its places; a place shares it between the characters it covers, blanks left
out, which is what the highlighting shows.

A net is not a sum. Near a text it is one all the same (its hidden numbers are on or off), so the parts are those of that
linear piece, gradient times input, and the intercept is the piece's own. They add up too, but they are approximate: take
a word away and the text may lie on another piece. Such an explanation is not ``exact`` and says so wherever it is shown.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from linnet._kernels import vocab
from linnet.artefact import Artefact
from linnet.errors import LinnetError, nearest
from linnet.features.buffers import Piece
from linnet.features.computed import Computed, compute
from linnet.features.derived import by_source, place
from linnet.features.rows import Norm
from linnet.features.showing import Emitted
from linnet.solvers.curves import Curves

if TYPE_CHECKING:
    from linnet.classifier import TextClassifier

__all__ = ["Contribution", "Explanation", "explain", "model_html", "named_weights", "top_features"]


@dataclass(frozen=True)
class Contribution:
    """One feature of the text: its name, block, places (character offsets) and what it adds to the score.

    amount is what a computed feature came to for this text; its places are those of the words behind it, where it has any.
    said is what such a feature is called for this text, where that is not its name and amount: "priority=high".
    """

    feature: str
    block: str
    value: float
    count: int
    spans: tuple[tuple[int, int], ...]
    amount: float | None = None
    said: str = ""

    @property
    def shown(self) -> str:
        """The name, with how often it occurs or what it came to."""
        if self.said:
            return self.said
        if self.amount is not None:
            return f"{self.feature} = {self.amount:g}"
        return self.feature + (f" x{self.count}" if self.count > 1 else "")


@dataclass(frozen=True)
class Explanation:
    """Why a text got its score for a label: ``bias`` and the contributions add up to ``score`` (log-odds)."""

    text: str
    label: Any
    against: Any
    score: float
    probability: float
    bias: float
    contributions: tuple[Contribution, ...]
    unknown: int
    exact: bool = True

    @property
    def method(self) -> str:
        """How the parts were found."""
        return "exact" if self.exact else "approximate (gradient x input)"

    def top(self, n: int = 10) -> tuple[Contribution, ...]:
        """Return the n largest contributions, for or against."""
        return self.contributions[:n]

    def characters(self) -> npt.NDArray[np.float64]:
        """Return what each character of the text adds, (len(text),)."""
        out = np.zeros(len(self.text))
        solid = np.array([not c.isspace() for c in self.text], dtype=bool)
        for c in self.contributions:
            for start, end in c.spans:
                here = np.flatnonzero(solid[start:end]) + start
                out[here] += c.value / (len(c.spans) * max(1, len(here)))
        return out

    def words(self) -> list[tuple[str, float]]:
        """Return the text in pieces (words and what lies between them), each with what its characters add."""
        weight = self.characters()
        pieces: list[tuple[str, float]] = []
        start = 0
        for k in range(1, len(self.text) + 1):
            if k == len(self.text) or _kind(self.text[k]) != _kind(self.text[k - 1]):
                pieces.append((self.text[start:k], float(weight[start:k].sum())))
                start = k
        return pieces

    def by_word(self) -> list[tuple[str, float]]:
        """Return what each word of the text adds, largest first; they and the intercept add up to the score.

        What computed features without places add stands among the words, under "name = amount" or "column=value".
        """
        totals: dict[str, float] = {}
        for piece, weight in self.words():
            if piece.strip():
                totals[piece.casefold()] = totals.get(piece.casefold(), 0.0) + weight
        for c in self.contributions:
            if c.amount is not None and not c.spans:
                totals[c.shown] = c.value
        return sorted(totals.items(), key=lambda item: (-abs(item[1]), item[0]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "label": self.label,
            "against": self.against,
            "score": self.score,
            "probability": self.probability,
            "bias": self.bias,
            "exact": self.exact,
            "method": self.method,
            "unknown_features": self.unknown,
            "words": [{"word": w, "value": v} for w, v in self.by_word()],
            "contributions": [
                {
                    "feature": c.feature,
                    "block": c.block,
                    "value": c.value,
                    "count": c.count,
                    "spans": [list(s) for s in c.spans],
                    **({} if c.amount is None else {"amount": c.amount}),
                    **({"said": c.said} if c.said else {}),
                }
                for c in self.contributions
            ],
        }

    def to_text(self, n: int = 12, color: bool = False) -> str:
        """Return the text with its words marked and a table of contributions, for a terminal."""
        return _render_text(self, n, color)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return _render_html(self)


def _kind(c: str) -> int:
    return 0 if c.isspace() else 1 if c.isalnum() or c in "_'’" else 2


def explain(model: Artefact, text: str | Mapping[str, Any], label: Any = None) -> Explanation:
    """Explain the score of one label, by default of the predicted one; text is a text or a row with other columns."""
    if not isinstance(text, str | Mapping):
        raise LinnetError(f"explain takes one text or one row as a dict, got {type(text).__name__}")
    known = {c: k for k, c in enumerate(model.classes)}
    if label is not None and label not in known:
        raise LinnetError(nearest("label", str(label), map(str, known)))
    (piece,) = model.pieces([text])
    if not isinstance(text, str):
        text = piece.text(0)
    scores = model.scores(piece)
    column = known[label] if label is not None else int(model.best(scores)[0])
    sign = -1.0 if model.n_outputs == 1 and column == 0 else 1.0
    output = 0 if model.n_outputs == 1 else column
    slope = None if model.head is None else model.head.slope(model.sums(piece)[0], output)
    parts, unknown = _parts(model, piece, output, sign, slope)
    score = sign * float(scores[0, output])
    return Explanation(
        text=text,
        label=model.classes[column],
        against=model.classes[1 - column] if model.n_outputs == 1 else None,
        score=score,
        probability=float(model.proba(scores)[0, column]),
        bias=sign * float(model.b[output]) + 0.0 if slope is None else score - sum(c.value for c in parts),  # no -0
        contributions=parts,
        unknown=unknown,
        exact=slope is None,
    )


def _parts(
    model: Artefact, piece: Piece, output: int, sign: float, slope: npt.NDArray[np.float64] | None
) -> tuple[tuple[Contribution, ...], int]:
    """Walk the features of the text as the scorer does, with their places.

    slope is the derivative of the score by the sums, for a model with a head.
    """
    out = _computed_parts(model, piece, output, sign, slope)
    unknown = 0
    for source, numbers in by_source(model.blocks):  # the original text, and those derived from it
        part = replace(model, blocks=tuple(model.blocks[k] for k in numbers))
        here, at = (piece, None) if source is None else place(source, piece.text(0))
        found, missing = _counted_parts(part, here, at, output, sign, slope)
        out += found
        unknown += missing
    out.sort(key=lambda c: (-abs(c.value), c.feature))
    return tuple(out), unknown


def _counted_parts(
    model: Artefact,
    piece: Piece,
    at: npt.NDArray[np.int64] | None,
    output: int,
    sign: float,
    slope: npt.NDArray[np.float64] | None,
) -> tuple[list[Contribution], int]:
    """Walk the features of one text; at maps its bytes to characters of the original (None: it is the original)."""
    out: list[Contribution] = []
    emitted = Emitted.of(piece, model.blocks)
    found = np.empty(len(emitted.fps), dtype=np.int64)
    vocab.find(emitted.fps, model.slots, model.shift, found)
    places = emitted.spans(at)
    unknown = 0
    for b, block in enumerate(model.blocks):
        part = emitted.part(b)
        slots, first, inverse, counts = np.unique(
            found[part], return_index=True, return_inverse=True, return_counts=True
        )
        missing = slots < 0
        unknown += int(counts[missing].sum())
        rows = model.rows[slots]
        tf = np.ones(len(slots)) if model.tf == "presence" else counts.astype(float)
        if model.tf == "sublinear":
            tf = 1.0 + np.log(tf)
        tf[missing] = 0.0
        norm = _norm(tf * rows[:, 0].astype(np.float64), model.normalise)
        weight = rows[:, 1 + output].astype(np.float64) if slope is None else rows[:, 1:].astype(np.float64) @ slope
        value = sign * block.weight * tf * weight / (norm if norm > 0 else 1.0)
        where = np.argsort(inverse, kind="stable")
        groups = np.split(where, np.cumsum(counts)[:-1])
        known = np.flatnonzero(~missing)
        for k, name in zip(known, emitted.names(part.start + first[known], b), strict=True):
            spans = tuple((int(i), int(j)) for i, j in places[part][groups[k]])
            out.append(Contribution(_shown(name), block.name, float(value[k]), int(counts[k]), spans))
    return out, unknown


def _norm(weights: npt.NDArray[np.float64], normalise: Norm) -> float:
    if normalise == "mean":
        return float(weights.sum())
    return float(np.sqrt(np.sum(weights**2))) if normalise else 1.0


def _computed_parts(
    model: Artefact, piece: Piece, output: int, sign: float, slope: npt.NDArray[np.float64] | None
) -> list[Contribution]:
    """Return what the computed columns add: value times weight."""
    if not model.computed:
        return []
    values = compute(model.computed, [piece])[0].astype(np.float64)
    weights = model.computed_weights.astype(np.float64)
    added = sign * values * (weights[:, output] if slope is None else weights @ slope)
    kinds = [block.name for block in _owners(model)]
    places = [spans for block in model.computed for spans in block.places(piece.text(0))]
    said = [words for block in model.computed for words in block.said(piece)]
    shown = [amount != 0 or not block.indicators for block, amount in zip(_owners(model), values, strict=True)]
    parts = zip(model.computed_names, kinds, added, values, places, said, shown, strict=True)
    return [
        Contribution(name, kind, float(value), 1, spans, float(amount), words)
        for name, kind, value, amount, spans, words, on in parts
        if on
    ]


def _owners(model: Artefact) -> list[Computed]:
    """Return the block of each computed column."""
    return [block for block in model.computed for _ in block.columns]


def top_features(model: Artefact, label: Any = None, n: int = 20) -> list[tuple[str, float]]:
    """Return the named features with the largest weights for a label (default: the last class); see Artefact.effects."""
    known = {c: k for k, c in enumerate(model.classes)}
    if label is not None and label not in known:
        raise LinnetError(nearest("label", str(label), map(str, known)))
    column = known[label] if label is not None else len(model.classes) - 1
    names, weights = _named(model), _named_weights(model, column)
    best = np.argsort(-weights, kind="stable")[:n]
    return [(names[k], float(weights[k])) for k in best]


def named_weights(model: Artefact) -> dict[Any, dict[str, float]]:
    """Return the weight of every feature whose name was kept, computed ones included, by label and name."""
    names = _named(model)
    return {
        label: dict(zip(names, _named_weights(model, column).tolist(), strict=True))
        for column, label in enumerate(model.classes)
    }


def _named(model: Artefact) -> list[str]:
    names = model.names()
    return [_shown(names[int(slot)]) for slot in model.name_slots] + model.computed_names


def _named_weights(model: Artefact, column: int) -> npt.NDArray[np.float64]:
    """Return the weights for a class in the order of ``_named``; two classes share one column."""
    output = 0 if model.n_outputs == 1 else column
    weights = model.effects(model.name_slots, output)
    return (-1.0 if model.n_outputs == 1 and column == 0 else 1.0) * weights


def _shown(name: str) -> str:
    """Show the blanks at the edges of a character n-gram."""
    inner = name.strip(" ")
    left = len(name) - len(name.lstrip(" "))
    return "▁" * left + inner + "▁" * (len(name) - left - len(inner)) if inner else "▁" * len(name)


# ---- rendering


def _shade(weight: float, largest: float) -> float:
    return min(1.0, abs(weight) / largest) if largest > 0 else 0.0


def _render_text(e: Explanation, n: int, color: bool) -> str:
    pieces = e.words()
    largest = max((abs(w) for _, w in pieces), default=0.0)
    marked = []
    for piece, weight in pieces:
        shade = _shade(weight, largest)
        if not color or shade < 0.08 or not piece.strip():
            marked.append(piece)
            continue
        tone = ("38;5;153", "38;5;75", "1;38;5;33") if weight > 0 else ("38;5;222", "38;5;214", "1;38;5;208")
        marked.append(f"\x1b[{tone[int(shade * 2.99)]}m{piece}\x1b[0m")
    against = f" rather than {e.against}" if e.against is not None else ""
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


def _render_html(e: Explanation, n: int = 12) -> str:
    pieces = e.words()
    largest = max((abs(w) for _, w in pieces), default=0.0)
    marked = []
    for piece, weight in pieces:
        shade = _shade(weight, largest)
        safe = html.escape(piece).replace("\n", "<br>")
        if shade < 0.05 or not piece.strip():
            marked.append(safe)
        else:
            tone = "0,114,178" if weight > 0 else "213,94,0"  # blue for, orange against: safe for colour-blind readers
            marked.append(
                f'<span style="background:rgba({tone},{0.15 + 0.5 * shade:.2f})" title="{weight:+.4f}">{safe}</span>'
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


def model_html(clf: TextClassifier) -> str:
    """Describe a fitted classifier in a notebook."""
    card = clf.card
    settings = "".join(
        f"<tr><td>{html.escape(str(k))}</td><td>{html.escape(str(v))}</td></tr>"
        for k, v in card.get("settings", {}).items()
        if v is not None
    )
    tops = "".join(
        f"<p><b>{html.escape(str(c))}</b>: {html.escape(', '.join(name for name, _ in clf.top_features(c, 12)))}</p>"
        for c in clf.artefact.classes[:10]
    )
    size = f"{clf.artefact.n_features:,} features, {len(clf.artefact.classes)} classes"
    return f"<div><p><code>{html.escape(repr(clf))}</code> {size}</p><table>{settings}</table>{tops}{_curves_html(clf)}</div>"


def _curves_html(clf: TextClassifier) -> str:
    """Draw the passes of the last fit, where it made some."""
    passes = [entry for entry in clf.history_ if entry["kind"] == "pass"]
    return Curves.of(passes)._repr_html_() if passes else ""
