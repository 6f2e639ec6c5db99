"""The results of peers.py and accuracy.py as Markdown tables: `python benchmarks/render.py [--readme README.md]`.

Writes them between the lines `<!-- peers:begin -->` and `<!-- peers:end -->`, and `<!-- accuracy:begin -->` and
`<!-- accuracy:end -->`, of README.md. `--check` writes nothing and fails where the README is not up to date.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
US = "linnet"

COLUMNS = (  # measurement, heading, format, whether a ratio to linnet is told
    ("train_s", "training, s", "{:.2f}", True),
    ("accuracy", "accuracy, %", "{:.2%}", False),
    ("memory_mb_s", "prediction, MB/s", "{:.1f}", True),
    ("bulk_s", "ten copies, s", "{:.2f}", True),
    ("train_peak_mb", "memory, MB", "{:.0f}", True),
    ("model_mb", "model, MB", "{:.1f}", True),
    ("one_s", "cold start, s", "{:.2f}", True),
)
VECTORISE = (
    ("scikit", "CountVectorizer"),
    ("linnet", "linnet, Arrow"),
    ("linnet_list", "linnet, list of str"),
)


def cell(values: dict[str, Any], ours: dict[str, Any] | None, column: tuple[str, str, str, bool]) -> str:
    """`20.50 (15x)`: the median, and how many times linnet's it is."""
    name, _, shape, with_ratio = column
    if name not in values:
        return "-"
    text = shape.format(values[name]).replace("%", "")
    if not with_ratio or ours is None or values is ours or not ours.get(name):
        return text
    return f"{text} ({ratio(values[name] / ours[name])}x)"


def ratio(value: float) -> str:
    """Two digits that mean something: 0.043, 0.31, 4.2, 15."""
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def set_table(entry: dict[str, Any]) -> str:
    systems: dict[str, Any] = entry["systems"]
    ours = systems.get(US)
    lines = ["| | " + " | ".join(column[1] for column in COLUMNS) + " |", "|---|" + "---:|" * len(COLUMNS)]
    for name, values in systems.items():
        label = f"**{name}**" if name == US else name
        lines.append(f"| {label} | " + " | ".join(cell(values, ours, column) for column in COLUMNS) + " |")
    return "\n".join(lines)


def vectorise_table(entry: dict[str, Any]) -> str:
    reference = entry["scikit"]
    lines = [
        "| vectorising alone, (1,2)-grams | fit_transform on train, s | transform of 5,000 texts, s |",
        "|---|---:|---:|",
    ]
    for key, label in VECTORISE:
        if key not in entry:
            continue
        cells = []
        for measurement in ("fit_transform", "transform"):
            seconds = entry[key][measurement]
            speedup = "" if key == "scikit" else f" ({ratio(reference[measurement] / seconds)}x faster)"
            cells.append(f"{seconds:.2f}{speedup}")
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def footnote(result: dict[str, Any]) -> str:
    machine, versions = result["machine"], result["versions"]
    names = ", ".join(f"{name} {number}" for name, number in versions.items())
    return (
        f"{result['date']}, {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, "
        f"{result['threads']} thread{'s' if result['threads'] > 1 else ''}, medians of {result['repeat']}; {names}. "
        "In brackets: how many times linnet's figure. Training, ten copies of the test set and cold start (one line) "
        "are whole processes; prediction is in memory."
    )


def tables(result: dict[str, Any]) -> str:
    """Everything between the markers."""
    parts = []
    for entry in result["sets"].values():
        parts += [f"**{entry['title']}**", set_table(entry)]
        if "scikit" in entry.get("vectorise", {}):
            parts.append(vectorise_table(entry["vectorise"]))
            if entry["vectorise"].get("equal") is False:
                parts.append("The two matrices are NOT equal.")
        parts += [f"{system} failed: `{error}`" for system, error in entry["failed"].items()]
    return "\n\n".join([*parts, footnote(result)])


def accuracy_table(result: dict[str, Any]) -> str:
    """One row a data set: accuracy of `linnet train` with no flags."""
    lines = ["| data | accuracy, % | rows tested | features | C | p | model, MB |", "|---|---:|---:|---|---|---|---:|"]
    for row in result["results"]:
        C, p = (", ".join(f"{v:g}" for v in row[name]) for name in ("C", "ratio"))
        cells = [row["title"], f"{row['accuracy']:.2f}", f"{row['rows']:,}", f"`{row['features']}`", C, p]
        lines.append("| " + " | ".join([*cells, f"{row['megabytes']:.1f}"]) + " |")
    machine = result["machine"]
    lines.append(
        f"\n{result['date']}, linnet {machine['linnet']}, Python {machine['python']}; settings chosen by each run."
    )
    return "\n".join(lines)


def placed(readme: str, name: str, text: str) -> str:
    """The README with the text between its markers."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if readme.count(begin) != 1 or readme.count(end) != 1 or readme.index(begin) > readme.index(end):
        raise ValueError(f"the README must hold {begin} and, after it, {end}, once each")
    head, rest = readme.split(begin)
    return f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the benchmark tables into README.md")
    parser.add_argument("--peers", type=Path, default=HERE / "results" / "peers.json")
    parser.add_argument("--accuracy", type=Path, default=HERE / "results" / "accuracy.json")
    parser.add_argument("--readme", type=Path, default=HERE.parent / "README.md")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where the README is out of date")
    options = parser.parse_args(arguments)
    before = after = options.readme.read_text(encoding="utf-8")
    for name, path, render in (("peers", options.peers, tables), ("accuracy", options.accuracy, accuracy_table)):
        if not path.is_file():
            parser.error(f"no file {path}; run python benchmarks/{name}.py --json {path}")
        try:
            after = placed(after, name, render(json.loads(path.read_text(encoding="utf-8"))))
        except ValueError as error:
            parser.error(f"{options.readme}: {error}")
    if options.check:
        return int(before != after)
    options.readme.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
