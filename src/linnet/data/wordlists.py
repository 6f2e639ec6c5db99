"""Word lists with labels, from Python values or files: what a lexicon model is made of.

Accepted are {label: words}, {label: {word: weight}}, {label: file}, {word: valence}, the path of a table (CSV, TSV or
JSON lines) with the columns word,label or word,valence, a .json file that holds one of the dicts, and a folder with one
list a label (positive.txt, negative.txt). A list file has one entry a line; lines that begin with "# " are remarks.
A label column that holds nothing but numbers, some below zero, is a valence. ``columns={"word": "term", ...}`` names the
columns of a table that are called otherwise.

>>> for entry in word_lists({"pos": ["good", "not bad"], "neg": {"dire": 2}}):
...     print(entry.text, entry.label, entry.weight)
good pos 1.0
not bad pos 1.0
dire neg 2.0
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.errors import DataError, check_choice
from linnet.values import is_number

COLUMNS = {
    "word": ("word", "words", "term", "token", "phrase", "entry", "text"),
    "label": ("label", "class", "category", "list", "sentiment"),
    "valence": ("valence", "polarity", "score"),
    "weight": ("weight",),
}
TABLES = {".csv": None, ".tsv": "\t", ".tab": "\t"}
ROWS = (".jsonl", ".ndjson")
FORMS = (
    '{label: [words]}, {label: {word: weight}}, {label: "file"}, {word: valence}, or the path of a table with the '
    "columns word,label or word,valence"
)


@dataclass(frozen=True)
class WordEntry:
    """One word or phrase as written; label None means that the sign of the weight, a valence, says which label."""

    text: str
    label: Any
    weight: float
    where: str


def word_lists(lists: Any, columns: Mapping[str, str] | None = None) -> list[WordEntry]:
    """Return the entries of word lists; see the head of this file for what they can be."""
    named = dict(columns or {})
    for role in named:
        check_choice("column", role, COLUMNS)
    if isinstance(lists, Mapping):
        entries = list(_from_mapping(lists, "", named))
    elif isinstance(lists, str | os.PathLike):
        entries = list(_from_path(Path(lists), named))
    else:
        raise DataError(f"lists must be {FORMS}; got {lists!r:.60}")
    if not entries:
        raise DataError(f"the word lists are empty ({lists!r:.60}); give at least one word")
    return entries


def _from_mapping(lists: Mapping[Any, Any], source: str, named: dict[str, str]) -> Iterator[WordEntry]:
    numbers = [_is_number(v) for v in lists.values()]
    if any(numbers) and not all(numbers):
        odd = next(k for k, n in zip(lists, numbers, strict=True) if not n)
        raise DataError(f"{source}lists holds numbers, as of {{word: valence}}, but {odd!r} has {lists[odd]!r:.40}")
    if all(numbers):
        yield from _weighted(lists, None, f"{source}the valences")
        return
    for label, words in lists.items():
        where = f"{source}the list of {label!r}"
        if isinstance(words, Mapping):
            yield from _weighted(words, label, where)
        elif isinstance(words, str | os.PathLike):
            yield from _from_list_file(Path(words), label, named)
        elif isinstance(words, Iterable):
            ordered = sorted(words, key=str) if isinstance(words, set | frozenset) else words
            for number, word in enumerate(ordered, 1):
                yield _entry(word, label, 1.0, f"{where}, entry {number}")
        else:
            raise DataError(f"{where} must be words, {{word: weight}} or the path of a file, got {words!r:.60}")


def _weighted(words: Mapping[Any, Any], label: Any, where: str) -> Iterator[WordEntry]:
    for number, (word, weight) in enumerate(words.items(), 1):
        yield _entry(word, label, weight, f"{where}, entry {number}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _entry(word: Any, label: Any, weight: Any, where: str) -> WordEntry:
    if not isinstance(word, str):
        raise DataError(f"{where}: {word!r:.40} is not a text; write the word in quotes")
    if not word.strip():
        raise DataError(f"{where}: the word is empty; write one or leave the entry out")
    try:
        number = float(weight)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        what = "valence" if label is None else "weight"
        raise DataError(f"{where}: the {what} of {word!r} is {weight!r}, not a number; write for example 1 or -2.5")
    return WordEntry(word.strip(), label, number, where)


# ---- files


def _from_path(path: Path, named: dict[str, str]) -> Iterator[WordEntry]:
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
        for file in files:
            yield from _from_list_file(file, file.stem, named)
        return
    suffix = path.suffix.lower()
    if suffix == ".json":
        lists = _json(_content(path), path)
        if not isinstance(lists, dict):
            raise DataError(f"{path}: a .json file must hold one object, {{label: words}} or {{word: valence}}")
        yield from _from_mapping(lists, f"{path}: ", named)
    elif suffix in TABLES or suffix in ROWS:
        yield from _from_table(path, None, named)
    else:
        raise DataError(
            f"{path}: a plain list has no labels; give one file a label, {{label: file}} or a folder, or a .csv, .tsv or "
            ".jsonl file with the columns word,label or word,valence"
        )


def _from_list_file(path: Path, label: Any, named: dict[str, str]) -> Iterator[WordEntry]:
    """One list: a line an entry, or a table with a word column."""
    if path.suffix.lower() in (*TABLES, *ROWS):
        yield from _from_table(path, label, named)
        return
    for number, line in enumerate(_content(path).splitlines(), 1):
        if line.strip() and not line.startswith("# ") and line.strip() != "#":
            yield _entry(line, label, 1.0, f"{path}, line {number}")


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file; to give words instead of a file, put them in a list") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start + 1} is not UTF-8; save the file as UTF-8") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None


def _from_table(path: Path, label: Any, named: dict[str, str]) -> Iterator[WordEntry]:
    """Rows of a table; label is that of all rows where the file itself stands for one."""
    rows = list(_json_rows(path) if path.suffix.lower() in ROWS else _csv_rows(path))
    if not rows:
        return
    found = _columns(path, rows[0][1], named)
    if label is None:
        _one_of_both(path, found, rows)
    amount = next((found[role] for role in ("valence", "weight") if role in found), None)
    for where, row in rows:
        word, kind = row.get(found["word"]), label
        if label is None and "label" in found:
            kind = row.get(found["label"])
            if kind is None or kind == "":
                raise DataError(f"{where}: there is no label in the column '{found['label']}'; write one")
        yield _entry("" if word is None else word, kind, 1.0 if amount is None else row.get(amount), where)


def _columns(path: Path, row: Mapping[str, Any], named: dict[str, str]) -> dict[str, str]:
    """Say which column is the word, the label, the valence, the weight: as named, else by name."""
    has = f"it has {', '.join(map(repr, row))}"
    for role, column in named.items():
        if column not in row:
            raise DataError(f"{path}: there is no column '{column}' for the {role}; {has}")
    found = dict(named)
    for column in row:
        if column not in named.values():
            for role, names in COLUMNS.items():
                if column.strip().lower() in names:
                    found.setdefault(role, column)
    if "word" not in found:
        raise DataError(f"{path}: there is no column of words; {has}; call it 'word', in the first line")
    return found


def _one_of_both(path: Path, found: dict[str, str], rows: list[tuple[str, dict[str, Any]]]) -> None:
    """Leave either a label or a valence; a column of labels that are numbers, some below zero, is a valence."""
    if "label" in found and "valence" in found:
        raise DataError(
            f"{path}: both '{found['label']}' and '{found['valence']}' could say the label; rename the second to 'weight' "
            "if it is one, or leave one out"
        )
    if "label" not in found and "valence" not in found:
        has = f"it has {', '.join(map(repr, rows[0][1]))}"
        raise DataError(f"{path}: no column says the label; {has}; call it 'label' (a name) or 'valence' (a number)")
    if "label" in found:
        values = [row.get(found["label"]) for _, row in rows]
        if all(map(is_number, values)) and any(float(str(v)) < 0 for v in values):
            found["valence"] = found.pop("label")


def _csv_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    content = _content(path)
    head = content.partition("\n")[0]
    delimiter = TABLES.get(path.suffix.lower()) or max(",\t;|", key=head.count)
    rows = csv.reader(content.splitlines(keepends=True), delimiter=delimiter, strict=True)
    try:
        names = next(rows, [])
        before = rows.line_num
        for row in rows:
            where, before = f"{path}, line {before + 1}", rows.line_num
            if not any(field.strip() for field in row):
                continue
            if len(row) != len(names):
                raise DataError(f"{where}: {len(row)} fields, but the first line names {len(names)}; mend the line")
            yield where, dict(zip(names, (field.strip() for field in row), strict=True))
    except csv.Error as error:
        raise DataError(f"{path}, line {rows.line_num}: {error}; mend the quotes there") from None


def _json(text: str, path: Path, line: int = 1) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{path}, line {line + error.lineno - 1}"
        raise DataError(f"{where}: this is not JSON ({error.msg}); mend it there") from None
    except (ValueError, RecursionError):  # a number of very many digits, brackets in brackets
        raise DataError(f"{path}, line {line}: this is no word list: a number too long, or too many brackets") from None


def _json_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(_content(path).splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        row = _json(line, path, number)
        if not isinstance(row, dict):
            raise DataError(f'{where}: each line must be an object such as {{"word": "good", "label": "pos"}}')
        yield where, row
