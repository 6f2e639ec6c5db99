"""The results of the benchmarks as Markdown tables: `python benchmarks/render.py [--check]`.

Writes each between lines such as `<!-- peers:begin -->` and `<!-- peers:end -->` of the page that TABLES names. A table
is a function here and a row of TABLES. `--check` writes nothing and fails where a page is not up to date.
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
    ("train_cpu_s", "processor, s", "{:.2f}", True),
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


def _threads(n: int) -> str:
    return f"{n} thread{'s' if n > 1 else ''}" if n else "default threads"


def footnote(result: dict[str, Any]) -> str:
    machine, versions = result["machine"], result["versions"]
    names = ", ".join(f"{name} {number}" for name, number in versions.items())
    return (
        f"{result['date']}, {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, "
        f"{_threads(result['threads'])}, medians of {result['repeat']}; {names}. "
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


def wang2012_table(result: dict[str, Any]) -> str:
    """Ours and the paper's, a row a model, a column a set."""
    titles = {"rt_polarity": "RT-s", "mpqa": "MPQA", "movie_reviews": "RT-2k", "imdb": "IMDB"}
    lines = ["| ours (published) | " + " | ".join(titles.values()) + " |", "|---|" + "---:|" * len(titles)]
    for row in result["results"]:
        cells = [row["cells"].get(name, {"ours": None, "paper": None}) for name in titles]
        texts = [
            " ".join([*([f"{c['ours']:.2f}"] if c["ours"] else []), *([f"({c['paper']:g})"] if c["paper"] else [])])
            for c in cells
        ]
        name = row["row"] if any(c["paper"] for c in cells) else f"**{row['row']}**"
        lines.append(f"| {name} | " + " | ".join(text or "-" for text in texts) + " |")
    return "\n".join([*lines, f"\n{result['date']}, linnet {result['machine']['linnet']}; per cent."])


def pang2002_table(result: dict[str, Any]) -> str:
    """Ours and the paper's, a row a feature set."""
    lines = ["| ours (paper) | NB | ME | SVM |", "|---|---:|---:|---:|"]
    for row in result["results"]:
        cells = [f"{row['ours'][m]:.1f} ({row['paper'][m] or '-'})" for m in ("NB", "ME", "SVM")]
        lines.append(f"| {row['features']} | " + " | ".join(cells) + " |")
    return "\n".join(
        [
            *lines,
            f"\n{result['date']}; {result['reviews']:,} reviews, learned from {result['learned_from']} folds; per cent.",
        ]
    )


def mnist_table(result: dict[str, Any]) -> str:
    """One row a system."""
    lines = ["| | test accuracy, % | 95 % interval |", "|---|---:|---|"]
    lines += [
        f"| {row['system']} | {100 * row['accuracy']:.2f} | {100 * row['low']:.2f} to {100 * row['high']:.2f} |"
        for row in result["results"]
    ]
    return "\n".join([*lines, f"\n{result['date']}."])


def ng2002_table(result: dict[str, Any]) -> str:
    """One row a size; a pair of columns a data set."""
    titles = {"rt_polarity": "RT-s", "imdb": "IMDB", "movie_reviews": "RT-2k"}
    by_size = {row["set"]: {one["rows"]: one for one in row["sizes"]} for row in result["results"]}
    heads = [f"{titles[name]}, {model}" for name in by_size for model in ("naive Bayes", "logistic")]
    lines = ["| rows | " + " | ".join(heads) + " |", "|---:|" + "---:|" * len(heads)]
    for size in sorted({n for sizes in by_size.values() for n in sizes}):
        cells = []
        for sizes in by_size.values():
            one = sizes.get(size)
            pair = ("-", "-") if one is None else (f"{one['nb']:.1f}", f"{one['logistic']:.1f}")
            ahead = one is not None and one["logistic"] > one["nb"]
            cells += [pair[0] if ahead or one is None else f"**{pair[0]}**", f"**{pair[1]}**" if ahead else pair[1]]
        lines.append(f"| {size:,} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, f"\n{result['date']}; per cent, means of three draws; the better of the two in bold."])


def languages_table(result: dict[str, Any]) -> str:
    """One row a system; times as ratios to linnet's."""
    lines = ["| | accuracy, % | 95 % interval | training, s | prediction, s |", "|---|---:|---|---:|---:|"]
    ours = result["results"][0]
    for row in result["results"]:
        times = [
            f"{row[k]:.1f}" + ("" if row is ours else f" ({ratio(row[k] / ours[k])}x)")
            for k in ("train_cpu_s", "predict_cpu_s")
        ]
        name = f"**{row['system']}**" if row is ours else row["system"]
        ends = f"{100 * row['low']:.2f} to {100 * row['high']:.2f}"
        lines.append(f"| {name} | {100 * row['accuracy']:.2f} | {ends} | " + " | ".join(times) + " |")
    return "\n".join([*lines, f"\n{result['date']}; processor seconds of whole processes, one thread."])


def multilabel_table(result: dict[str, Any]) -> str:
    """One row a system; processor time as a ratio to linnet's."""
    ours = result["results"][0]
    lines = ["| | micro F1, % | macro F1, % | processor time, s |", "|---|---:|---:|---:|"]
    for row in result["results"]:
        time = f"{row['cpu_s']:.1f}" + (
            "" if row["system"].startswith(US) else f" ({ratio(row['cpu_s'] / ours['cpu_s'])}x)"
        )
        name = f"**{row['system']}**" if row is ours else row["system"]
        lines.append(f"| {name} | {100 * row['micro_f1']:.1f} | {100 * row['macro_f1']:.1f} | {time} |")
    return "\n".join([*lines, f"\n{result['date']}; processor seconds of whole processes, one thread."])


def tokenisers_table(result: dict[str, Any]) -> str:
    """MB/s of every tokeniser, in the kernel and as Python strings."""
    lines = ["| tokens | kernel, MB/s | as Python strings, MB/s |", "|---|---:|---:|"]
    for name, values in result["mb_per_second"].items():
        cells = [f"{values[key]:.0f}" if key in values else "" for key in ("kernel", "python")]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def blocks_table(result: dict[str, Any]) -> str:
    """MB/s of the feature blocks."""
    lines = ["| block | MB/s |", "|---|---:|"]
    return "\n".join(lines + [f"| {row['block']} | {row['mb_per_s']:.0f} |" for row in result["results"]])


def scale_table(result: dict[str, Any]) -> str:
    """linnet filter beside fastText: rates of the whole corpus for linnet, of its first part for the peers."""
    systems, accuracy = result["systems"], result["accuracy"]
    whole = {name: systems[f"{name}, whole corpus"]["mb_s"] for name in (US, f"{US}, 2 MB model")}
    rows = [
        ("**linnet filter**, words 1-2, one thread", whole[US], accuracy[US], None),
        (
            "the same with `--hash-bits 18`: 2 MB of weights",
            whole[f"{US}, 2 MB model"],
            accuracy[f"{US}, 2 MB model"],
            None,
        ),
    ]
    kinds = {
        "program": "fastText's program, text handed to it ready",
        "as datatrove": "fastText once a document from Python, as datatrove does",
    }
    for kind, words in kinds.items():
        for dim, note in ((10, ""), (100, ", its default")):
            rate = systems[f"fastText {kind}, dim {dim}"]["mb_s"]
            rows.append((f"{words}, dim {dim}{note}", rate, accuracy[f"fastText, dim {dim}"], rate))
    lines = ["| | MB/s | accuracy, % | linnet is | linnet with the 2 MB model is |", "|---|---:|---:|---:|---:|"]
    for words, rate, right, peer in rows:
        times = ["", ""] if peer is None else [f"{ratio(value / peer)}x" for value in whole.values()]
        lines.append(f"| {words} | {rate:.1f} | {100 * right:.2f} | {times[0]} | {times[1]} |")
    two, top = systems["two threads, whole corpus"], systems["top 10 %, two threads, whole corpus"]
    one = systems[f"{US}, whole corpus"]
    small = systems[f"{US}, 2 MB model"]
    words = (
        f"linnet's figures are from all {result['size']}, the peers' from the first {result['peer_text_mb']:.0f} MB; on that part, "
        f"where the second that it takes to start counts more, linnet had {systems[US]['mb_s']:.1f} MB/s "
        f"({small['mb_s']:.1f} with the small model). Two threads gave {two['mb_s']:.1f} MB/s, "
        f"{result['two_threads_whole']:.2f}x one; on the first part {result['two_threads']:.2f}x. Memory of all processes "
        f"together with `--max-memory 1GB`: {one['peak_tree_mb']:.0f} MB with one thread, {two['peak_tree_mb']:.0f} MB with "
        f"two, {top['peak_tree_mb']:.0f} MB with `--top 10%`."
    )
    lines += ["", words]
    return "\n".join(lines)


FEW = {
    "earlier": "fixed settings of the first version", "linnet": "**linnet**", "vectors": "with GloVe vectors",
    "unlabelled": "with 5,000 texts without labels", "scikit": "scikit-learn, C by folds",
    "logistic": "linnet, logistic regression", "nb": "naive Bayes", "em": "naive Bayes with the 5,000 texts",
    "sentence": "sentence transformer",
}  # fmt: skip


def few_table(result: dict[str, Any]) -> str:
    """Accuracy from few rows a class: a column a system, a row a data set and number of rows."""
    systems = [s for s in FEW if any(s in cell for one in result.values() for cell in one.values())]
    lines = [
        "| data set, rows a class | " + " | ".join(FEW[s] for s in systems) + " |",
        "|---|" + "---:|" * len(systems),
    ]

    def row(name: str, cells: list[dict[str, Any]]) -> str:
        means = [
            [100 * sum(c[s]["accuracy"]) / len(c[s]["accuracy"]) for c in cells if s in c]
            if all(s in c for c in cells)
            else []
            for s in systems
        ]
        return f"| {name} | " + " | ".join(f"{sum(m) / len(m):.1f}" if m else "-" for m in means) + " |"

    sizes = sorted({int(n) for one in result.values() for n in one})
    lines += [row(f"{name}, {n}", [one[str(n)]]) for name, one in result.items() for n in sizes if str(n) in one]
    lines += [row(f"mean, {n}", [one[str(n)] for one in result.values() if str(n) in one]) for n in sizes]
    return "\n".join(lines)


def quality_table(result: dict[str, Any]) -> str:
    """linnet's default beside what people build by hand; a star: significantly different from linnet."""
    sets = result["sets"]
    systems = [s for s in ("linnet", "scikit", "fasttext", "vw") if any(s in one["systems"] for one in sets.values())]
    lines = ["| data set | rows | classes | " + " | ".join(systems) + " |", "|---|---:|---:|" + "---:|" * len(systems)]
    for name, one in sets.items():
        cells = []
        for system in systems:
            found = one["systems"].get(system)
            mark = "*" if found and found.get("linnet_is", "tie") != "tie" else ""
            cells.append("-" if found is None else f"{100 * found['accuracy']:.2f}{mark}")
        lines.append(f"| {name} | {one['rows']:,} | {one['classes']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def sizes_table(result: dict[str, Any]) -> str:
    """One row a data set and model file."""
    lines = [
        "| data | model file | MB | features | accuracy, % | 95 % interval | other answers, % |",
        "|---|---|---:|---:|---:|---|---:|",
    ]
    for name, entry in result["sets"].items():
        for model, row in entry["models"].items():
            ends = f"{100 * row['low']:.2f} to {100 * row['high']:.2f}"
            other = f"{100 * row['differ']:.2f}" if "differ" in row else ""
            features = f"{row['features']:,}" if "features" in row else ""
            cells = (name, model, f"{row['bytes'] / 1e6:.2f}", features, f"{100 * row['accuracy']:.2f}", ends, other)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, f"\n{result['date']}; answers are compared with those before rounding or quantising."])


def growth_table(result: dict[str, Any]) -> str:
    """One row a number of rows or classes, and the exponents."""
    lines = [
        "| rows | classes | input, MB | wall, s | processor, s | peak memory, MB | model, MB |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in (*result["rows"], *result["classes"]):
        sizes = (
            f"{one['rows']:,} | {one['classes']:,} | {one['input_mb']:.1f} | {one['wall_s']:.2f} | {one['cpu_s']:.2f}"
        )
        lines.append(f"| {sizes} | {one['peak_mb']:.0f} | {one['file_mb']:.1f} |")
    rows, classes = result["exponents"]["rows"], result["exponents"]["classes"]
    grows = (
        f"Between the two largest runs, less the cheapest, processor time grows as rows^{rows['cpu_s']:.2f} and memory as "
        f"rows^{rows['peak_mb']:.2f}; with classes as classes^{classes['cpu_s']:.2f} and classes^{classes['peak_mb']:.2f}."
    )
    command = f"python benchmarks/growth.py --most {max(one['rows'] for one in result['rows'])}"
    about = f"{result['date']}, {result['machine']['cpu']}, {result['threads']} threads; `{command}`."
    return "\n".join([*lines, f"\n{grows} {about}"])


def portable_table(result: dict[str, Any]) -> str:
    """Models of fastText in linnet, then linnet's models in C."""
    lines = [
        "| model | linnet, s | fastText's program or C, s | ratio | same answers, % |",
        "|---|---:|---:|---:|---:|",
    ]
    for part, other, about in (("import", "fasttext_s", "fastText model"), ("export", "c_s", "exported to C")):
        for name, row in result[part].items():
            times = f"{row['linnet_s']:.2f} | {row[other]:.2f} | {ratio(row[other] / row['linnet_s'])}"
            lines.append(f"| {about}: {name} | {times} | {100 * row['same_answers']:.2f} |")
    note = f"{result['date']}; processor seconds of one thread without loading; the ratio is the other's time over linnet's."
    return "\n".join([*lines, f"\n{note}"])


TABLES = {  # name of the results and of the markers: the page, the function
    "peers": ("README.md", tables),
    "accuracy": ("README.md", accuracy_table),
    "wang2012": ("docs/tables.md", wang2012_table),
    "pang2002": ("docs/tables.md", pang2002_table),
    "pang2002-9": ("docs/tables.md", pang2002_table),
    "mnist": ("docs/tables.md", mnist_table),
    "ng2002": ("docs/notes/small-data.md", ng2002_table),
    "languages": ("docs/tables.md", languages_table),
    "multilabel": ("docs/multilabel.md", multilabel_table),
    "tokenisers": ("docs/tokenisers.md", tokenisers_table),
    "blocks": ("docs/features.md", blocks_table),
    "scale": ("docs/scale.md", scale_table),
    "sizes": ("docs/sizes.md", sizes_table),
    "growth": ("docs/scale.md", growth_table),
    "few": ("docs/vectors.md", few_table),
    "quality": ("docs/tables.md", quality_table),
    "portable": ("docs/importing.md", portable_table),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the benchmark tables into README.md and the documentation")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--root", type=Path, default=HERE.parent)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a page is out of date")
    options = parser.parse_args(arguments)
    before: dict[Path, str] = {}
    after: dict[Path, str] = {}
    for name, (page, render) in TABLES.items():
        source, target = options.results / f"{name}.json", options.root / page
        if not source.is_file():
            parser.error(f"no file {source}; run python benchmarks/{name.partition('-')[0]}.py --json {source}")
        if target not in before:
            before[target] = after[target] = target.read_text(encoding="utf-8")
        try:
            after[target] = placed(after[target], name, render(json.loads(source.read_text(encoding="utf-8"))))
        except ValueError as error:
            parser.error(f"{target}: {error}")
    if options.check:
        return int(before != after)
    for target, text in after.items():
        target.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
