"""Answers in SQLite: every label a person gave, written before the next text is shown.

One row an answer, never changed: the last answer to a text counts, and taking one back is a row too. The file is in WAL
mode and every answer is its own transaction that waits for the disk, so a killed program loses nothing. Texts are
known by what they say, not by their row, so a file that was sorted or grew keeps its answers.

>>> store = Answers(":memory:")
>>> store.give("reviews.csv", "a fine book", "positive")
>>> store.give("reviews.csv", "so so", None)  # skipped
>>> store.give("reviews.csv", "a fine book", "negative")
>>> store.labels("reviews.csv"), store.skipped("reviews.csv")
({'a fine book': 'negative'}, {'so so'})
>>> store.take_back("reviews.csv").text
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

__all__ = ["Answer", "Answers"]

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
class Answer:
    """One answer: label is None where the text was skipped."""

    number: int
    text: str
    label: str | None
    was: str | None
    why: str
    at: str


class Answers:
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
            raise DataError(f"{self.path}: cannot keep answers there ({error}); choose another --folder") from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()

    def give(self, task: str, text: str, label: str | None, *, was: str | None = None, why: str = "") -> None:
        """Keep one answer; it is on the disk when this returns."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._lock:
            self._base.execute(
                "insert into answers (task, text, label, was, why, at) values (?, ?, ?, ?, ?, ?)",
                (task, _plain(text), label, was, why, now),
            )

    def take_back(self, task: str) -> Answer | None:
        """Take back the last answer and return it; None where there is none."""
        with self._lock:
            last = self._rows(task, "order by number desc limit 1")
            if not last:
                return None
            self._base.execute("update answers set gone = 1 where number = ?", (last[0].number,))
            return last[0]

    def _rows(self, task: str, rest: str = "order by number") -> list[Answer]:
        with self._lock:
            found = self._base.execute(
                f"select number, text, label, was, why, at from answers where task = ? and gone = 0 {rest}",  # noqa: S608
                (task,),
            ).fetchall()
        return [Answer(*row) for row in found]

    def of(self, task: str) -> list[Answer]:
        """Return the answer that counts for each text, the first answered first."""
        last: dict[str, Answer] = {}
        for answer in self._rows(task):
            last[answer.text] = answer
        return list(last.values())

    def labels(self, task: str) -> dict[str, str]:
        """Return the label of each text that was given one."""
        return {a.text: a.label for a in self.of(task) if a.label is not None}

    def skipped(self, task: str) -> set[str]:
        """Return the texts that were skipped."""
        return {a.text for a in self.of(task) if a.label is None}

    def count(self, task: str | None = None) -> int:
        """Return how many answers count: labels, without skips."""
        tasks = self.tasks() if task is None else [task]
        return sum(len(self.labels(one)) for one in tasks)

    def tasks(self) -> list[str]:
        """Return the files that have answers."""
        with self._lock:
            found = self._base.execute("select distinct task from answers where gone = 0 order by task").fetchall()
        return [row[0] for row in found]

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
        """Write the answers as CSV, TSV, JSON lines or Parquet by the name of the file; returns how many."""
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


def at(folder: Path) -> Answers:
    """Open the store of a folder, which is made where it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made ({error.strerror or error}); choose another --folder") from error
    return Answers(folder / "answers.sqlite")
