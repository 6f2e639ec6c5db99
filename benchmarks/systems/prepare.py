"""Write each system's own files for one data set: `python -m systems.prepare TRAIN TEST FOLDER`. Not timed.

The same rows for everybody. fastText and Vowpal Wabbit get them shuffled, lower-cased and tokenised (punctuation set
apart, as in fastText's own classification-results.sh), so their clocks do not count that work; linnet and scikit-learn
read the source files as they are.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from systems.job import COPIES

SEED = 0
VERSION = 1  # raise it when the files below change
TOKENS = re.compile(r"\w+|[^\w\s]")
Row = tuple[str, str]  # label, text


def read_table(path: Path) -> Any:
    """The columns label and text, as Arrow strings."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return pq.read_table(path, columns=["label", "text"])
    import pyarrow as pa
    from pyarrow import csv

    return csv.read_csv(
        path,
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            include_columns=["label", "text"], column_types={"label": pa.string(), "text": pa.string()}
        ),
    )


def read_rows(path: Path) -> list[Row]:
    table = read_table(path)
    return list(zip(table["label"].to_pylist(), table["text"].to_pylist(), strict=True))


def tokenised(text: str) -> str:
    """`It's <br />GOOD.` -> `it ' s good .`"""
    return " ".join(TOKENS.findall(text.lower().replace("<br />", " ")))


def fasttext_line(row: Row) -> str:
    label, text = row
    return f"__label__{label.replace(' ', '_')} {tokenised(text)}\n"


def vowpal_line(row: Row, classes: Sequence[str]) -> str:
    """Labels are -1 and 1 for two classes, 1..K for more; `:` and `|` are syntax and are spelt out."""
    label, text = row
    k = classes.index(label)
    target = 2 * k - 1 if len(classes) == 2 else k + 1
    return f"{target} | {tokenised(text).replace(':', 'COLON').replace('|', 'PIPE')}\n"


def write_lines(path: Path, lines: Iterable[str], copies: int = 1) -> None:
    text = "".join(lines)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for _ in range(copies):
            file.write(text)


def write_copies(source: Path, target: Path) -> None:
    """Ten copies of a table in its own format; no dictionary, which would see through the copies."""
    table = read_table(source)
    if source.suffix == ".parquet":
        import pyarrow.parquet as pq

        with pq.ParquetWriter(target, table.schema, compression="zstd", use_dictionary=False) as writer:
            for _ in range(COPIES):
                writer.write_table(table)
        return
    from pyarrow import csv

    with csv.CSVWriter(target, table.schema) as writer:
        for _ in range(COPIES):
            writer.write_table(table)


def prepare(train: Path, test: Path, folder: Path) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    train_rows, test_rows = read_rows(train), read_rows(test)
    classes = sorted({label for label, _ in train_rows})
    random.Random(SEED).shuffle(train_rows)  # linnet and scikit-learn see to the order themselves

    write_lines(folder / "train.ft", map(fasttext_line, train_rows))
    write_lines(folder / "test.ft", map(fasttext_line, test_rows))
    write_lines(folder / "bulk.ft", map(fasttext_line, test_rows), COPIES)
    write_lines(folder / "one.ft", [fasttext_line(test_rows[0])])
    write_lines(folder / "train.vw", (vowpal_line(row, classes) for row in train_rows))
    write_lines(folder / "bulk.vw", (vowpal_line(row, classes) for row in test_rows), COPIES)
    write_lines(folder / "one.vw", [vowpal_line(test_rows[0], classes)])
    one_line = " ".join(test_rows[0][1].split())
    write_lines(folder / "one.txt", [one_line + "\n"])
    write_copies(test, folder / f"bulk{test.suffix}")
    return {
        "version": VERSION,
        "train_rows": len(train_rows),
        "test_rows": len(test_rows),
        "n_classes": len(classes),
        "train_bytes": sum(len(text.encode()) for _, text in train_rows),
        "test_bytes": sum(len(text.encode()) for _, text in test_rows),
    }


def fingerprint(*paths: Path) -> list[list[Any]]:
    return [[str(path), path.stat().st_size, path.stat().st_mtime] for path in paths]


def cached(train: Path, test: Path, folder: Path) -> dict[str, Any] | None:
    """What `prepare` found out, if its files are there and made from these sources."""
    path = folder / "prepared.json"
    if not path.is_file():
        return None
    facts: dict[str, Any] = json.loads(path.read_text())
    fresh = facts["version"] == VERSION and facts["sources"] == fingerprint(train, test)
    return facts if fresh else None


def main(train: Path, test: Path, folder: Path) -> None:
    facts = prepare(train, test, folder)
    facts["sources"] = fingerprint(train, test)
    (folder / "prepared.json").write_text(json.dumps(facts, indent=2))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
