"""Run every item of the lectures (tools/notes_items.toml) and write docs/notes/coverage.md: command, expected, actual.

    python tools/coverage.py [--check] [--only TEXT]

Commands run in this process, in an empty folder with a few small files. Items with `data` need a data set under LINNET_DATA; without
it they keep the line that the page has. --check writes nothing and exits 1 where the page would change; --only runs the items
whose text holds TEXT, and prints them.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import shlex
import sys
import tempfile
import tomllib
import warnings
from pathlib import Path
from typing import Any

from click.testing import CliRunner

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs/notes/coverage.md"
HEAD = """# Coverage of the notes

Each item of the five lectures, what a user types, the number that should come out and the number that does. This page is written by
`make coverage` (`tools/coverage.py`); the items are in `tools/notes_items.toml`. A test runs them and fails where this page differs.
Commands run on small files that the script writes; Python lines follow one another within a lecture.

"""
IMPORTS = """
import itertools, json, re
from fractions import Fraction
import numpy as np
from linnet import TextClassifier, datasets, load, models, read
from linnet.features import Quadratic, Vectorizer
from linnet.features.functions import Functions, joint, word_count
from linnet.solvers import *
from linnet.solvers.losses import Softmax, margin_loss
from linnet.solvers.matrix import Matrix, as_given
from linnet.solvers.losses import log_sigmoid, logsumexp, sigmoid, softmax
from linnet.solvers.online import descend
from linnet.text import Subword, Vocabulary, tokenize
from linnet.text.clean import clean
theta_before = np.array([[0.3, 0.7, 0.8], [-0.2, 2.2, 4.0], [-4.0, -4.0, -4.0]])
"""
WEATHER = [("sun today", "sun"), ("rain today", "rain"), ("snow today", "snow"), ("sun and sun", "sun"),
           ("rain and rain", "rain"), ("snow and snow", "snow")] * 5  # fmt: skip
LINES = [("market up", "business"), ("shares up again", "business"), ("market down", "business"), ("game on", "sports"),
         ("goal in the game", "sports"), ("a match and a game", "sports")] * 3  # fmt: skip
SMALL = [("good good film", "+"), ("great fun", "+"), ("good cast", "+"), ("bad film", "-"), ("bad bad bore", "-"),
         ("good bore", "-"), ("dull plot plot", "-")]  # fmt: skip
EIGHT = [("it was great", "+"), ("so great", "+"), ("liked it", "+"), ("fine", "+"), ("great waste", "-"), ("awful", "-"),
         ("not for me", "-"), ("dull", "-")]  # fmt: skip
TWO = [("Loved this book: really good recipes, fast too, and great if you have little money.",),
       ("I put it down in frustration. So turgid and poorly written; the theme is fine, the execution poor.",)]  # fmt: skip
OLD = [("stock up monday", "business"), ("game won friday", "sports"), ("stock down monday", "business")] * 4
NEW = [("game lost monday", "sports"), ("stock up friday", "business")] * 4
PAGES = [
    "Menu\nPlease enable Javascript to go on.\nOk.\nA line of some words.",
    "Lorem ipsum dolor sit amet.", "if (x) { y(); }", "A darn line of words.",
    " ".join(f"Sentence number {k} is here." for k in range(9)), " ".join(f"Sentence number {k} is here." for k in range(9)),
]  # fmt: skip


def write_files() -> None:
    """Write the files that the items speak of."""
    from linnet.datasets import load

    def table(name: str, rows: list[Any], *head: str) -> None:
        with Path(name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([head, *rows])

    parts = dict(zip(("train", "dev", "test"), load("reviews"), strict=True))
    rows = {name: list(zip(part.text.to_pylist(), part.label_list(), strict=True)) for name, part in parts.items()}
    for name, mine in [*rows.items(), ("reviews", [row for part in rows.values() for row in part])]:
        table(f"{name}.csv", mine, "text", "label")
    table("stars.csv", [(f"text {'good' if k % 5 > 2 else 'bad'} {k}", 1 + k % 5) for k in range(50)], "text", "stars")
    words = [("superb", "positive"), ("dull", "negative"), ("dreary", "negative")]
    table("lists.csv", words, "word", "label")
    for name, mine in (
        ("three", WEATHER),
        ("lines", LINES),
        ("small", SMALL),
        ("eight", EIGHT),
        ("monday", OLD),
        ("friday", NEW),
    ):
        table(f"{name}.csv", mine, "text", "label")
    table(
        "authors.csv",
        [(text, "ann" if k % 2 else "bob", label) for k, (text, label) in enumerate(LINES)],
        "text",
        "author",
        "label",
    )
    table("two.csv", TWO, "text")
    Path("pages.jsonl").write_text("".join(json.dumps({"text": page}) + "\n" for page in PAGES), encoding="utf-8")
    for name, content in (("great.txt", "great\n"), ("fantastic.txt", "great\nfantastic\n"), ("bad.txt", "darn\n")):
        Path(name).write_text(content, encoding="utf-8")


def run(lines: str, names: dict[str, Any]) -> str:
    """Run the commands and the Python of an item; returns the value of its last line."""
    value: Any = None
    for line in lines.strip().splitlines():
        if line.startswith("$ "):
            from linnet.cli import linnet

            done = CliRunner().invoke(linnet, shlex.split(line[2:])[1:])
            names["out"], names["err"] = value, _ = done.stdout, done.stderr
            if done.exit_code:
                raise RuntimeError(done.output.strip().splitlines()[-1])
            continue
        tree = ast.parse(line)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "item", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "item", "eval"), names)
    return repr(value)


def cell(text: str) -> str:
    """Return text as a table can hold it."""
    return text.replace("|", "\\|")


def code(lines: str) -> str:
    """Return the lines of an item as code, one below the other."""
    return "<br>".join(f"`{cell(line.removeprefix('$ '))}`" for line in lines.strip().splitlines())


def row(lecture: dict[str, Any], item: dict[str, Any], names: dict[str, Any], before: str) -> tuple[str, bool]:
    """Return the line of the page for an item, and whether it passes."""
    start = f"| {cell(item['at'])} | {cell(item['what'])} | {code(item['run'])} | `{cell(item['expected'])}` | "
    if "data" in item and not (Path(os.environ.get("LINNET_DATA", "")) / item["data"]).is_dir():
        kept = [line for line in before.splitlines() if line.startswith(start)]
        return (kept[0], kept[0].endswith("| pass |")) if kept else (f"{start} no data | not run |", False)
    try:
        found = run(item["run"], names)
    except Exception as error:  # noqa: BLE001 - what went wrong stands on the page
        found = f"{type(error).__name__}: {error}"[:200].replace("\n", " ")
    passed = found == item["expected"]
    return f"{start}`{cell(found)}` | {'pass' if passed else '**fail**'} |", passed


def page(before: str, only: str = "") -> str:
    """Run the items; returns the page."""
    lectures = tomllib.loads((HERE / "notes_items.toml").read_text(encoding="utf-8"))["lecture"]
    parts, total, good = [], 0, 0
    for lecture in lectures:
        names: dict[str, Any] = {"__name__": "item"}
        exec(IMPORTS, names)
        lines = []
        for item in lecture["item"]:
            if only not in f"{lecture['name']} {item['at']} {item['what']} {item['run']}":
                continue
            line, passed = row(lecture, item, names, before)
            lines.append(line)
            total, good = total + 1, good + passed
            if only or not passed:
                print(line, file=sys.stderr)
        head = "| section | item | a user types | expected | actual | |\n|---|---|---|---|---|---|\n"
        parts.append(
            f"## {lecture['name']}\nShown on [its page]({lecture['page']}).\n\n{head}" + "\n".join(lines) + "\n"
        )
    return f"{HEAD}{good} of {total} items pass.\n\n" + "\n".join(parts)


def main(arguments: list[str] | None = None) -> int:
    """Write the page, or say whether it would change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where the page would change")
    parser.add_argument("--only", default="", help="run and print the items that hold this text, and write nothing")
    options = parser.parse_args(arguments)
    before, home = PAGE.read_text(encoding="utf-8") if PAGE.exists() else "", Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            write_files()
            after = page(before, options.only)
        finally:
            os.chdir(home)
    if options.only:
        return 0
    if options.check:
        return int(before != after)
    PAGE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
