"""A labelling session: the next text, the labels so far (in SQLite), a model that learns from them, and when to stop.

A label is on the disk before the next text is chosen. A thread fits the labels again and estimates the accuracy; the next text is
chosen by its latest model, so nobody waits for it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from typing import Any, NamedTuple

from linnet.errors import DataError, LinnetError
from linnet.studio.active import Estimate, Fitted, Learner, Pick, Pool

# ---- Labels in SQLite: every label a person gave, written before the next text is shown.
#
# Every label is a row; the last one of a text counts. The file is in WAL mode and every label is a transaction of its own
# that waits for the disk, so a killed program loses nothing. Labels belong to texts, not to row numbers, so a file that was
# sorted or has new rows keeps its labels. Each annotator has answers of their own; a fix or a settled label is above them.


SCHEMA = """
create table if not exists answers (
    number integer primary key autoincrement,
    task text not null,            -- the file the text is from
    text text not null,
    label text,                    -- null: skipped
    was text,                      -- the label it had before, where it had one
    why text not null default '',  -- how the text was chosen: new, unsure, random, shared; or fix, settled
    at text not null,              -- UTC
    gone integer not null default 0,
    who text not null default ''   -- the name of the annotator
);
create index if not exists answers_of on answers (task, gone, number);
create table if not exists label_names (task text not null, label text not null, place integer not null,
    primary key (task, label));
"""
FINAL = ("fix", "settled")  # labels that count whatever annotators say


class GivenLabel(NamedTuple):
    """One label of a text; None where the text was skipped."""

    number: int
    text: str
    label: str | None
    was: str | None
    why: str
    at: str
    who: str


class Agreement(NamedTuple):
    """How far two annotators agree on the texts that both have labelled."""

    one: str
    other: str
    n: int
    same: int
    kappa: float


def cohen_kappa(pairs: Sequence[tuple[str, str]]) -> float:
    """Return how far two annotators agree beyond chance: 1 is always, 0 as often as chance.

    >>> round(cohen_kappa([("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")]), 4)
    0.5
    """
    n, same = len(pairs), sum(a == b for a, b in pairs)
    one, other = (Counter(side) for side in zip(*pairs, strict=True))
    chance = sum(one[label] * other[label] for label in one) / n**2
    return 1.0 if chance == 1 else (same / n - chance) / (1 - chance)


class LabelStore:
    """The store; safe to use from several threads.

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

    Annotators are kept apart. Where they disagree the text has no label until somebody settles it:

    >>> store.add("reviews.csv", "a fine book", "negative", who="Ann")
    >>> store.labels("reviews.csv"), store.disagreements("reviews.csv")
    ({}, {'a fine book': {'': 'positive', 'Ann': 'negative'}})
    >>> store.add("reviews.csv", "a fine book", "positive", why="settled")
    >>> store.labels("reviews.csv"), store.labels("reviews.csv", "Ann")
    ({'a fine book': 'positive'}, {'a fine book': 'negative'})
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._lock = threading.RLock()
        try:
            self._base = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None, timeout=10)
            self._base.execute("pragma journal_mode=wal")
            self._base.execute("pragma synchronous=full")
            self._base.executescript(SCHEMA)
            if "who" not in [row[1] for row in self._base.execute("pragma table_info(answers)")]:  # of an older version
                self._base.execute("alter table answers add column who text not null default ''")
        except sqlite3.Error as error:
            raise DataError(f"{self.path}: cannot store labels there ({error}); choose another --folder") from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()

    def add(
        self, task: str, text: str, label: str | None, *, was: str | None = None, why: str = "", who: str = ""
    ) -> None:
        """Store one label; it is on the disk when this returns."""
        plain = str(text).encode("utf-8", "replace").decode("utf-8")  # what UTF-8 can hold
        new = (task, plain, label, was, why, datetime.now(UTC).isoformat(timespec="milliseconds"), who)
        self._execute("insert into answers (task, text, label, was, why, at, who) values (?, ?, ?, ?, ?, ?, ?)", *new)

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._base.execute(statement, values).fetchall()

    def undo(self, task: str, who: str = "") -> GivenLabel | None:
        """Undo the last label of an annotator and return it; None where there is none."""
        with self._lock:
            mine = [answer for answer in self._rows(task) if answer.who == who and answer.why not in FINAL]
            if not mine:
                return None
            self._execute("update answers set gone = 1 where number = ?", mine[-1].number)
            return mine[-1]

    def _rows(self, task: str) -> list[GivenLabel]:
        wanted = f"select {', '.join(GivenLabel._fields)} from answers where task = ? and gone = 0 order by number"
        return [GivenLabel(*row) for row in self._execute(wanted, task)]

    def by_text(self, task: str) -> dict[str, dict[str, GivenLabel]]:
        """Return the last label of each annotator for each text, and the last that is final under the name "settled"."""
        found: dict[str, dict[str, GivenLabel]] = {}
        for answer in self._rows(task):
            name = "settled" if answer.why in FINAL else f"by {answer.who}"
            found.setdefault(answer.text, {})[name] = answer
        return found

    def of(self, task: str, who: str | None = None) -> list[GivenLabel]:
        """Return the label that counts for each text: of one annotator, or of all where they agree or it is settled."""
        out = []
        for given in self.by_text(task).values():
            if who is not None:
                out += [given[f"by {who}"]] if f"by {who}" in given else []
            elif "settled" in given:
                out.append(given["settled"])
            else:
                said = [one for one in given.values() if one.label is not None] or list(given.values())
                out += said[-1:] if len({one.label for one in said}) == 1 else []
        return out

    def labels(self, task: str, who: str | None = None) -> dict[str, str]:
        """Return the label of each text that was given one."""
        return {a.text: a.label for a in self.of(task, who) if a.label is not None}

    def skipped(self, task: str, who: str | None = None) -> set[str]:
        """Return the texts that were skipped."""
        return {a.text for a in self.of(task, who) if a.label is None}

    def annotators(self, task: str) -> list[str]:
        """Return who has labelled texts, in the order in which they began."""
        return list(dict.fromkeys(a.who for a in self._rows(task) if a.why not in FINAL))

    def disagreements(self, task: str) -> dict[str, dict[str, str]]:
        """Return what each annotator says of the texts that they label differently and nobody has settled."""
        out = {}
        for text, given in self.by_text(task).items():
            said = {one.who: one.label for one in given.values() if one.label is not None}
            if "settled" not in given and len(set(said.values())) > 1:
                out[text] = said
        return out

    def agreement(self, task: str) -> list[Agreement]:
        """Return how far each two annotators agree on the texts that both have labelled."""
        pairs: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for given in self.by_text(task).values():
            said = {one.who: one.label for one in given.values() if one.why not in FINAL and one.label is not None}
            for a, b in combinations(sorted(said), 2):
                pairs.setdefault((a, b), []).append((said[a], said[b]))
        found = pairs.items()
        return [Agreement(*who, len(both), sum(x == y for x, y in both), cohen_kappa(both)) for who, both in found]

    def names(self, task: str) -> list[str]:
        """Return the labels to choose from, in the order of their keys."""
        found = self._execute("select label from label_names where task = ? order by place", task)
        return [label for (label,) in found]

    def name(self, task: str, labels: list[str]) -> None:
        """Set the labels to choose from."""
        with self._lock:
            self._execute("begin immediate")
            self._execute("delete from label_names where task = ?", task)
            for k, label in enumerate(labels):
                self._execute("insert into label_names values (?, ?, ?)", task, label, k)
            self._execute("commit")


CHECKPOINT = 20  # answers between two looks at what they changed
CALM = 0.02  # share of texts whose label changed, below which
CALM_LOOKS = 3  # so many looks in a row mean: enough
SHARED = 100  # texts of other annotators that are asked for first, so that both can be compared
LEAST_DRAWN = 10  # texts drawn at random before an estimate is worth showing as one


class Advice(NamedTuple):
    """Whether to stop, and why."""

    stop: bool
    words: str


class Labelling:
    """Texts without labels, to be labelled one by one; given are texts among them whose label is known.

    >>> texts = ["good one", "bad one", "good two", "bad two", "good three", "bad three"]
    >>> session = Labelling(texts, ["neg", "pos"], LabelStore(":memory:"), "doctest", background=False)
    >>> while (pick := session.current) is not None:
    ...     _ = session.answer(pick.row, "pos" if "good" in session.texts[pick.row] else "neg")
    >>> session.done, session.advice().words
    (6, 'All texts are labelled.')
    """

    def __init__(
        self,
        texts: Sequence[str],
        labels: Sequence[str],
        store: LabelStore,
        task: str,
        *,
        threads: int | None = None,
        background: bool = True,
        given: Mapping[str, str] | None = None,
        who: str = "",
    ) -> None:
        if len(labels) < 2:
            raise LinnetError(f"labelling needs at least two labels to choose from, got {len(labels)}; name them first")
        self.texts = list(dict.fromkeys(texts))
        self._row = {text: k for k, text in enumerate(self.texts)}
        self.store, self.task, self.who = store, task, who
        self.labels = tuple(labels)
        self.pool = Pool.of(self.texts, threads=threads)
        self.learner = Learner(self.pool, self.labels)
        self.given = dict(given or {})
        self.fitted: Fitted | None = None
        self.estimate: Estimate | None = None
        self.growth: list[tuple[int, float, float, float]] = []  # answers, accuracy, low, high
        self.changes: list[tuple[int, float]] = []  # answers, share of labels that changed since the look before
        self.version = 0
        self._look: Fitted | None = None
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._closed, self._background = False, background
        self._shared = self._of_others()
        self._load()
        self._fit()
        self.current = self._next()
        if background:
            threading.Thread(target=self._work, name="labelling", daemon=True).start()

    def _load(self) -> None:
        """Take the answers from the store, which alone knows them: rows with a label, rows skipped, rows drawn at random."""
        row = self._row
        mine = [answer for answer in self.store.of(self.task, self.who) if answer.text in row]
        labelled = [(row[answer.text], answer) for answer in mine if answer.label in self.labels]
        given = {row[text]: label for text, label in self.given.items() if label in self.labels}
        self.answers: dict[int, str] = given | {at: str(answer.label) for at, answer in labelled}
        self.skipped = [row[answer.text] for answer in mine if answer.label is None]
        self.drawn = [at for at, answer in labelled if answer.why == "random"]
        self.version += 1

    def _of_others(self) -> list[Pick]:
        """Return texts that others have labelled, those drawn at random first: they tell most about all texts."""
        others = [name for name in self.store.annotators(self.task) if name != self.who]
        asked = [answer for name in others for answer in self.store.of(self.task, name) if answer.text in self._row]
        asked.sort(key=lambda answer: answer.why != "random")
        return [Pick(at, "shared") for at in dict.fromkeys(self._row[answer.text] for answer in asked)][:SHARED]

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._wake.set()

    @property
    def done(self) -> int:
        """How many texts have a label."""
        return len(self.answers)

    # ---- asking

    def _next(self) -> Pick | None:
        self._shared = [pick for pick in self._shared if pick.row not in {*self.answers, *self.skipped}]
        found = self._shared or self.learner.queue(self.fitted, self.answers, self.skipped)
        return found[0] if found else None

    def answer(self, row: int, label: str | None) -> bool:
        """Store the label of the current text (None: skip it) and move on; False where row is not the current text."""
        with self._lock:
            pick = self.current
            if pick is None or pick.row != row:
                return False
            if label is not None and label not in self.labels:
                raise LinnetError(f"'{label}' is not one of the labels: {', '.join(self.labels)}")
            self.store.add(self.task, self.texts[row], label, why=pick.why, who=self.who)
            self._load()
            self.current = self._next()
        if self._background:
            self._wake.set()
        else:
            self._fit()
        return True

    def change(self, row: int, label: str) -> None:
        """Give a text that was labelled before another label."""
        with self._lock:
            self.store.add(self.task, self.texts[row], label, why="random" if row in self.drawn else "", who=self.who)
            self._load()
        self._wake.set()

    def undo(self) -> Pick | None:
        """Undo the last label and show its text again."""
        with self._lock:
            last = self.store.undo(self.task, self.who)
            row = None if last is None else self._row.get(last.text)
            if last is None or row is None:
                return None
            self.current = Pick(row, last.why or "new")
            self._load()
        self._wake.set()
        return self.current

    def guess(self) -> tuple[str, float] | None:
        """Return what the model predicts for the current text."""
        if self.fitted is None or self.current is None:
            return None
        p = self.fitted.proba[self.current.row]
        return self.labels[int(p.argmax())], float(p.max())

    # ---- learning

    def _work(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._closed:
                return
            self._fit()

    def _fit(self) -> None:
        with self._lock:
            answers, drawn = self.answers, self.drawn
        fitted, estimate = self.learner.fit(answers), self.learner.estimate(answers, drawn)
        with self._lock:
            self.fitted, self.estimate = fitted, estimate
            self._remember(fitted, estimate, len(answers))
            self.version += 1

    def _remember(self, fitted: Fitted | None, estimate: Estimate | None, n: int) -> None:
        if estimate is not None and estimate.n >= LEAST_DRAWN and (not self.growth or self.growth[-1][0] < n):
            self.growth.append((n, estimate.accuracy, *estimate.interval))
        if fitted is None:
            return
        last = 0 if self._look is None else self._look.answers
        if n - last >= CHECKPOINT:
            if self._look is not None:
                self.changes.append((n, fitted.changed(self._look)))
            self._look = fitted

    # ---- stopping

    def advice(self) -> Advice:
        """Say whether more labels would still change the model."""
        left = len(self.texts) - len(self.answers) - len(self.skipped)
        if left == 0:
            return Advice(True, "All texts are labelled." if not self.skipped else "All texts are labelled or skipped.")
        if self.fitted is None:
            missing = "two different labels" if len(set(self.answers.values())) < 2 else "a few labels"
            return Advice(False, f"The model needs {missing} first.")
        if not self.changes:
            return Advice(
                False, f"Whether more labels change the model is first measured after {2 * CHECKPOINT} of them."
            )
        n, share = self.changes[-1]
        recent = [s for _, s in self.changes[-CALM_LOOKS:]]
        moved = f"The {CHECKPOINT} labels up to number {n} changed the prediction for {100 * share:.1f} % of the texts"
        if len(recent) == CALM_LOOKS and max(recent) < CALM:
            return Advice(True, f"{moved}; it was below {100 * CALM:g} % three times in a row.")
        return Advice(False, f"{moved}.")
