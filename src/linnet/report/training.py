"""What the model was made from: data, training, learning curve, card, and how to reproduce the report."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from linnet import __version__
from linnet.draw.charts import Axis, Band, Line, figure, histogram
from linnet.draw.markup import count_bars, note, paragraphs, safe, table
from linnet.draw.terminal import count, percent, score
from linnet.files import digest
from linnet.model.card import card_parts
from linnet.report.inputs import ReportInputs

# ---- The data: class balance, lengths, unusable rows, repeated texts.


CLASSES = 30  # bars that are shown


def data(inputs: ReportInputs) -> str:
    """Describe the rows; the data check, a section of its own, looks for problems."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = inputs.data.text.cast(pa.large_string())
    unusable = f"; {safe(inputs.data.unusable)}" if len(inputs.data.unusable) else ""
    lines = [f"{safe(inputs.data.source)}: {count(inputs.n, 'labelled row')}{unusable}."]
    again = inputs.n - pc.count_distinct(texts).as_py()
    repeats = f"{count(again, 'row repeats', 'rows repeat')} the text of another row ({percent(again / inputs.n)})."
    lines.append(repeats if again else "No text occurs twice.")
    sizes = inputs.table.sum(axis=1).tolist()
    caption = f"Rows of each class, from {min(n for n in sizes if n):,} to {max(sizes):,}"
    balance = count_bars(dict(zip(inputs.names, sizes, strict=True)), CLASSES)
    words = np.asarray(pc.count_substring_regex(texts, r"\S+").to_numpy())
    label = f"Length of the texts: median {count(int(np.median(words)), 'word')}, the longest {int(words.max()):,}"
    parts = [
        paragraphs(lines),
        f'<div class="pair"><figure>{balance}<figcaption>{caption}</figcaption></figure>',
        f"<figure>{histogram(words, 'words', label)}<figcaption>{label}</figcaption></figure></div>",
    ]
    more = note("For leaks, near duplicates and suspected label errors run <code>linnet check</code> on the data.")
    return "".join(parts) + (more if inputs.extra.get("check") is None else "")


TRIED = 12


def training(inputs: ReportInputs) -> str | None:
    """Draw the history of the fit; a model read from a file only has the settings that were tried."""
    history = getattr(inputs.clf, "history_", [])
    passes = [entry for entry in history if entry.get("kind") == "pass"]
    parts = [_curves(passes) if len(passes) > 1 else "", _tried(inputs.clf.card.get("choice") or {})]
    if not any(parts):
        return None
    more = note("Curves of the loss are known only after training: use <code>linnet train ... --report</code>.")
    return "".join(parts) + ("" if history else more)


def _curves(passes: list[dict[str, Any]]) -> str:
    names = {"mean_loss": ("mean training loss", "orange"), "dev_accuracy": ("accuracy on held-out rows", "blue")}
    drawn = []
    for key, (name, colour) in names.items():
        points = [(entry["pass"], float(entry[key])) for entry in passes if entry.get(key) is not None]
        if len(points) == len(passes):
            first, last = points[0][1], points[-1][1]
            caption = f"{name.capitalize()}: {first:.4g} after the first pass, {last:.4g} after {len(points):,}"
            drawn.append(figure([Line(points, colour)], Axis("pass", whole=True), Axis(name), caption))
    return f'<div class="pair">{"".join(drawn)}</div>'


def _tried(choice: Mapping[str, Any]) -> str:
    tried = list(choice.get("tried", ()))
    if not tried:
        return ""
    best = sorted(tried, key=lambda one: -one["accuracy"])[:TRIED]
    names = sorted({name for one in best for name in one} - {"accuracy"})
    body = [[score(one["accuracy"], 4), *(safe(one.get(name, "")) for name in names)] for one in best]
    folds, n = choice.get("folds", 1), choice.get("rows", 0)
    how = f"{folds} folds" if folds > 1 else "held-out rows"
    more = "The best of several scores is a little too high: rely on rows that were not used to choose."
    return (
        f"<p>Settings were chosen on {safe(how)} ({n:,} rows); the best of {len(tried):,} tried:</p>"
        + table([safe(choice.get("metric", "accuracy")), *map(safe, names)], body)
        + (note(more) if len(tried) > 1 else "")
    )


# ---- The learning curve: accuracy at growing numbers of training rows, and what the last doubling brought.


def curve_section(inputs: ReportInputs) -> str | None:
    """Draw the learning curve, where the report was given one."""
    curve = inputs.extra.get("curve")
    if curve is None or len(curve.rows) < 2:
        return None
    points = curve.points
    first, last = points[0], points[-1]
    layers = [Band([(p["rows"], *p["interval"]) for p in points]), Line([(p["rows"], p["accuracy"]) for p in points])]
    caption = (
        f"Accuracy by training rows: {first['accuracy']:.1%} with {first['rows']:,}, {last['accuracy']:.1%} with "
        f"{last['rows']:,}; the band is the 95 % interval"
    )
    return (
        f"<p>{safe(curve.words.capitalize())}</p>"
        + figure(layers, Axis("training rows", log=True), Axis("accuracy", percent=True), caption)
        + note("Measured by 3 folds of the training rows with fixed settings.")
    )


# ---- The model card: what the model is and what it was trained on.


def card(inputs: ReportInputs) -> str:
    """Write the card of the model as a table."""
    parts = [(part, name, text) for part, rows in card_parts(inputs.clf.card) for name, text in rows.items()]
    return table(["", "", ""], [list(map(safe, row)) for row in parts], "card") + note(
        "The model sees words and parts of words only. The scores hold for texts like those of this report; for another "
        "kind of text, evaluate again."
    )


# ---- How to reproduce the report: the command, the files and their checksums, the versions.


def reproduce(inputs: ReportInputs) -> str:
    """Write the command and what it was run with."""
    files = ((kind, path, digest(path) if Path(path).is_file() else "") for kind, path in inputs.files.items())
    mark = '<span class="interval">sha256 '
    rows = [[safe(kind), f"{safe(path)} {sum_ and f'{mark}{sum_}</span>'}"] for kind, path, sum_ in files]
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pyarrow"))
    rows.append(["versions", f"linnet {__version__}, Python {platform.python_version()}, {safe(packages)}"])
    rows.append(["seed", str(inputs.seed)])
    return (
        f'<pre class="command">{safe(inputs.command)}</pre>'
        + table(["", ""], rows, "card")
        + note("The same model and rows give the same file, byte for byte.")
    )
