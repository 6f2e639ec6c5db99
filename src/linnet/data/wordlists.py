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

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.data.arrays import decoded
from linnet.data.formats import open_file
from linnet.data.input_file import ReadOptions, join
from linnet.errors import DataError, check_choice
from linnet.files import read_text
from linnet.values import is_number

COLUMNS = {
    "word": ("word", "words", "term", "token", "phrase", "entry", "text"),
    "label": ("label", "class", "category", "list", "sentiment"),
    "valence": ("valence", "polarity", "score"),
    "weight": ("weight",),
}
TABLES = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson")
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
    numbers = [isinstance(v, int | float) and not isinstance(v, bool) for v in lists.values()]
    if any(numbers) and not all(numbers):
        odd = next(k for k, n in zip(lists, numbers, strict=True) if not n)
        raise DataError(f"{source}lists holds numbers, as of {{word: valence}}, but {odd!r} has {lists[odd]!r:.40}")
    if all(numbers):
        yield from _weighted(lists.items(), None, f"{source}the valences")
        return
    for label, words in lists.items():
        where = f"{source}the list of {label!r}"
        if isinstance(words, Mapping):
            yield from _weighted(words.items(), label, where)
        elif isinstance(words, str | os.PathLike):
            yield from _from_list_file(Path(words), label, named)
        elif isinstance(words, Iterable):
            ordered = sorted(words, key=str) if isinstance(words, set | frozenset) else words
            yield from _weighted(((word, 1.0) for word in ordered), label, where)
        else:
            raise DataError(f"{where} must be words, {{word: weight}} or the path of a file, got {words!r:.60}")


def _weighted(words: Iterable[tuple[Any, Any]], label: Any, where: str) -> Iterator[WordEntry]:
    for number, (word, weight) in enumerate(words, 1):
        yield _entry(word, label, weight, f"{where}, entry {number}")


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
        content = read_text(path, "the word lists")
        try:
            lists = json.loads(content)
        except (ValueError, RecursionError) as error:  # a number of very many digits, brackets in brackets
            raise DataError(f"{path}: this is not JSON ({error}); mend it") from None
        if not isinstance(lists, dict):
            raise DataError(f"{path}: a .json file must hold one object, {{label: words}} or {{word: valence}}")
        yield from _from_mapping(lists, f"{path}: ", named)
    elif suffix in TABLES:
        yield from _from_table(path, None, named)
    else:
        raise DataError(
            f"{path}: a plain list has no labels; give one file a label, {{label: file}} or a folder, or a .csv, .tsv or "
            ".jsonl file with the columns word,label or word,valence"
        )


def _from_list_file(path: Path, label: Any, named: dict[str, str]) -> Iterator[WordEntry]:
    """One list: a line an entry, or a table with a word column."""
    if path.suffix.lower() in TABLES:
        yield from _from_table(path, label, named)
        return
    for number, line in enumerate(read_text(path, "the word list").splitlines(), 1):
        if line.strip() and not line.startswith("# ") and line.strip() != "#":
            yield _entry(line, label, 1.0, f"{path}, line {number}")


def _from_table(path: Path, label: Any, named: dict[str, str]) -> Iterator[WordEntry]:
    """Rows of a table; label is that of all rows where the file itself stands for one."""
    with open_file(path, None, ReadOptions(named.get("word", "word"))) as reader:
        rows = join([decoded(batch, reader.names) for batch in reader.batches(None)], reader.names)
    wrong = [f"row {k + 1}: {bad.reason} ({bad.detail})" for k, bad in rows.malformed.items()] + reader.notes
    if wrong:
        raise DataError(f"{path}, {wrong[0]}")
    if not rows.rows:
        return
    found = _columns(path, reader.names, named)
    cells = {name: [(cell or "").strip() for cell in column.to_pylist()] for name, column in rows.columns.items()}
    if label is None:
        _one_of_both(path, found, cells)
    amount = next((found[role] for role in ("valence", "weight") if role in found), None)
    for k, word in enumerate(cells[found["word"]]):
        where, kind = f"{path}, row {k + 1}", label
        if label is None and "label" in found:
            kind = cells[found["label"]][k]
            if not kind:
                raise DataError(f"{where}: there is no label in the column '{found['label']}'; write one")
        yield _entry(word, kind, 1.0 if amount is None else cells[amount][k], where)


def _columns(path: Path, names: list[str], named: dict[str, str]) -> dict[str, str]:
    """Say which column is the word, the label, the valence, the weight: as named, else by name."""
    has = f"it has {', '.join(map(repr, names))}"
    for role, column in named.items():
        if column not in names:
            raise DataError(f"{path}: there is no column '{column}' for the {role}; {has}")
    found = dict(named)
    for column in names:
        if column not in named.values():
            for role, known in COLUMNS.items():
                if column.lower() in known:
                    found.setdefault(role, column)
    if "word" not in found:
        raise DataError(f"{path}: there is no column of words; {has}; call it 'word', in the first line")
    return found


def _one_of_both(path: Path, found: dict[str, str], cells: dict[str, list[str]]) -> None:
    """Leave either a label or a valence; a column of labels that are numbers, some below zero, is a valence."""
    if "label" in found and "valence" in found:
        raise DataError(
            f"{path}: both '{found['label']}' and '{found['valence']}' could say the label; rename the second to 'weight' "
            "if it is one, or leave one out"
        )
    if "label" not in found and "valence" not in found:
        has = f"it has {', '.join(map(repr, cells))}"
        raise DataError(f"{path}: no column says the label; {has}; call it 'label' (a name) or 'valence' (a number)")
    if "label" in found:
        values = cells[found["label"]]
        if all(map(is_number, values)) and any(float(v) < 0 for v in values):
            found["valence"] = found.pop("label")
