"""Labels in SQLite: every label a person gave, written before the next text is shown.

Every label is a row; the last one of a text counts. The file is in WAL mode and every label is a transaction of its own
that waits for the disk, so a killed program loses nothing. Labels belong to texts, not to row numbers, so a file that was
sorted or has new rows keeps its labels.

>>> store = LabelStore(":memory:")
>>> store.add("reviews.csv", "a fine book", "positive")
>>> store.add("reviews.csv", "so so", None)  # skipped
>>> store.add("reviews.csv", "a fine book", "negative")
>>> store.labels("reviews.csv"), store.skipped("reviews.csv")
({'a fine book': 'negative'}, {'so so'})
>>> store.undo("reviews.csv").text
'a fine book'
>>> store.labels("reviews.csv")
{'a fine book': 'positive'}
"""

from __future__ import annotations

import os
import sqlite3
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from linnet.errors import DataError

__all__ = ["GivenLabel", "LabelStore", "open_store"]

SCHEMA = """
create table if not exists answers (
    number integer primary key autoincrement,
    task text not null,            -- the file the text is from
    text text not null,
    label text,                    -- null: skipped
    was text,                      -- the label it had before, where it had one
    why text not null default '',  -- how the text was chosen: new, unsure, random, fix
    at text not null,              -- UTC
    gone integer not null default 0
);
create index if not exists answers_of on answers (task, gone, number);
create table if not exists label_names (task text not null, label text not null, place integer not null,
    primary key (task, label));
"""


@dataclass(frozen=True)
class GivenLabel:
    """One label of a text; None where the text was skipped."""

    number: int
    text: str
    label: str | None
    was: str | None
    why: str
    at: str


class LabelStore:
    """The store; safe to use from several threads."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._lock = threading.RLock()
        try:
            self._base = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None, timeout=10)
            self._base.execute("pragma journal_mode=wal")
            self._base.execute("pragma synchronous=full")
            self._base.executescript(SCHEMA)
        except sqlite3.Error as error:
            raise DataError(f"{self.path}: cannot store labels there ({error}); choose another --folder") from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()

    def add(self, task: str, text: str, label: str | None, *, was: str | None = None, why: str = "") -> None:
        """Store one label; it is on the disk when this returns."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._lock:
            self._base.execute(
                "insert into answers (task, text, label, was, why, at) values (?, ?, ?, ?, ?, ?)",
                (task, _plain(text), label, was, why, now),
            )

    def undo(self, task: str) -> GivenLabel | None:
        """Undo the last label and return it; None where there is none."""
        with self._lock:
            last = self._rows(task, "order by number desc limit 1")
            if not last:
                return None
            self._base.execute("update answers set gone = 1 where number = ?", (last[0].number,))
            return last[0]

    def _rows(self, task: str, rest: str = "order by number") -> list[GivenLabel]:
        with self._lock:
            found = self._base.execute(
                f"select number, text, label, was, why, at from answers where task = ? and gone = 0 {rest}",  # noqa: S608
                (task,),
            ).fetchall()
        return [GivenLabel(*row) for row in found]

    def of(self, task: str) -> list[GivenLabel]:
        """Return the label that counts for each text, the first labelled first."""
        last: dict[str, GivenLabel] = {}
        for answer in self._rows(task):
            last[answer.text] = answer
        return list(last.values())

    def labels(self, task: str) -> dict[str, str]:
        """Return the label of each text that was given one."""
        return {a.text: a.label for a in self.of(task) if a.label is not None}

    def skipped(self, task: str) -> set[str]:
        """Return the texts that were skipped."""
        return {a.text for a in self.of(task) if a.label is None}

    def names(self, task: str) -> list[str]:
        """Return the labels to choose from, in the order of their keys."""
        with self._lock:
            found = self._base.execute(
                "select label from label_names where task = ? order by place", (task,)
            ).fetchall()
        return [row[0] for row in found]

    def name(self, task: str, labels: list[str]) -> None:
        """Set the labels to choose from."""
        with self._lock:
            self._base.execute("begin immediate")
            self._base.execute("delete from label_names where task = ?", (task,))
            self._base.executemany(
                "insert into label_names values (?, ?, ?)", [(task, label, k) for k, label in enumerate(labels)]
            )
            self._base.execute("commit")

    def export(self, task: str, path: str | os.PathLike[str]) -> int:
        """Write the labels as CSV, TSV, JSON lines or Parquet by the name of the file; returns how many."""
        import pyarrow as pa

        from linnet.data.writers import open_writer

        rows = [a for a in self.of(task) if a.label is not None]
        table = pa.table({
            "text": pa.array([a.text for a in rows], pa.string()),
            "label": pa.array([a.label for a in rows], pa.string()),
            "was": pa.array([a.was for a in rows], pa.string()),
            "at": pa.array([a.at for a in rows], pa.string()),
        })  # fmt: skip
        with open_writer(path) as writer:
            writer.write(table)
        return len(rows)


def _plain(text: Any) -> str:
    """Return a text that UTF-8 can hold."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


def open_store(folder: Path) -> LabelStore:
    """Open the store of a folder; the folder is made if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made ({error.strerror or error}); choose another --folder") from error
    return LabelStore(folder / "answers.sqlite")
