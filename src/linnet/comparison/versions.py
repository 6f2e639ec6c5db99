"""Two models on the same rows: whether the new one is better, which answers change; and updates that can be undone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.classifier import TextClassifier, load
from linnet.data import Dataset
from linnet.draw.terminal import estimate
from linnet.errors import DataError, LinnetError
from linnet.evaluate.intervals import Interval, wilson
from linnet.evaluate.significance import PairedTest, mcnemar
from linnet.files import digest, write_atomic
from linnet.pipeline.crossval import labelled_data
from linnet.values import to_plain

LEVEL = 0.05


@dataclass(frozen=True)
class ChangedAnswer:
    """A row that the two models answer differently; rows count from 1, as in their file."""

    row: int
    label: str
    old: str
    new: str
    text: str


@dataclass(frozen=True)
class VersionComparison:
    """What two models make of the same labelled rows.

    ``gained`` rows are right now and were wrong, ``lost`` were right and are wrong now; ``changed`` are all rows with
    another answer, these included. ``test`` is McNemar's. Where rows have several labels, a row is right if all of them are.
    """

    old: str
    new: str
    source: str
    n: int
    old_accuracy: float
    old_interval: Interval
    new_accuracy: float
    new_interval: Interval
    gained: int
    lost: int
    test: PairedTest
    changed: tuple[ChangedAnswer, ...]

    @property
    def verdict(self) -> str:
        """better, worse, or "not clear": the difference may be chance."""
        if self.test.p >= LEVEL or self.gained == self.lost:
            return "not clear"
        return "better" if self.gained > self.lost else "worse"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**dict(to_plain(self)), "verdict": self.verdict}

    def lines(self, most: int = 10) -> Iterator[str]:
        """Yield the comparison as text: the scores, the test, the first changed answers."""
        yield f"{self.n:,} rows of {self.source}"
        yield f"{self.old}: accuracy {estimate(self.old_accuracy, self.old_interval)}"
        yield f"{self.new}: accuracy {estimate(self.new_accuracy, self.new_interval)}"
        words = "No clear difference" if self.verdict == "not clear" else f"The new model is {self.verdict}"
        yield f"{words}: {self.gained:,} rows gained, {self.lost:,} lost, p = {self.test.p:.3g} ({self.test.test})."
        yield f"{len(self.changed):,} answers change ({len(self.changed) / self.n:.1%}){':' if self.changed else '.'}"
        for one in self.changed[:most]:
            mark = "+" if one.new == one.label else "-" if one.old == one.label else " "
            yield f"  {mark} row {one.row:,}: {one.old} -> {one.new} (label {one.label})  {' '.join(one.text.split())[:70]}"
        if len(self.changed) > most:
            yield f"  and {len(self.changed) - most:,} more"


def compare_versions(
    old: str | os.PathLike[str] | TextClassifier, new: str | os.PathLike[str] | TextClassifier, data: Any, y: Any = None
) -> VersionComparison:
    """Compare two fitted models, or model files, on labelled rows that neither was trained on.

    >>> texts, labels = ["good", "fine", "bad", "poor"] * 3, ["pos", "pos", "neg", "neg"] * 3
    >>> one = TextClassifier("nb", features="words:1").fit(texts[:9], labels[:9])
    >>> two = TextClassifier("svm", features="words:1").fit(texts, labels)
    >>> found = compare_versions(one, two, texts, labels)
    >>> found.verdict, found.n, found.new_accuracy
    ('not clear', 12, 1.0)
    """
    given = {"old": old, "new": new}
    names = [f"the {when} model" if isinstance(one, TextClassifier) else str(one) for when, one in given.items()]
    first, second = (one if isinstance(one, TextClassifier) else load(one) for one in given.values())
    needs = tuple(dict.fromkeys([*first.artefact.needs, *second.artefact.needs]))
    rows: Dataset = labelled_data(data, y, "compare", extra=needs)
    truth = _answers(rows.label_list() if rows.separator is None else rows.label_sets())
    answers = [_answers(one.predict(rows)) for one in (first, second)]
    if not rows.counts.keys() & {str(c) for one in (first, second) for c in one.artefact.classes}:
        raise DataError(f"{rows.source}: no label of these rows is known to the models; is the label column right?")
    right = [found == truth for found in answers]
    n, texts = len(rows), rows.text
    scores = [(float(one.mean()), wilson(int(one.sum()), n)) for one in right]
    changed = tuple(
        ChangedAnswer(int(rows.source_rows[k]), truth[k], answers[0][k], answers[1][k], texts[k].as_py())
        for k in np.flatnonzero(answers[0] != answers[1]).tolist()
    )
    return VersionComparison(
        names[0], names[1], rows.source, n, *scores[0], *scores[1], int((right[1] & ~right[0]).sum()),
        int((right[0] & ~right[1]).sum()), mcnemar(right[1], right[0]), changed,
    )  # fmt: skip


def _answers(labels: Iterable[Any]) -> npt.NDArray[np.object_]:
    """Return answers as text; of several labels a row, all of them together are the answer."""
    return np.array(["|".join(sorted(one)) if isinstance(one, tuple) else str(one) for one in labels], dtype=object)


# ---- Update a model with new rows: a new version, judged beside the old one on the same held-out rows.
#
# The version before an update is kept beside the model file under the first digits of its checksum (``reviews.3fa1b2c4.linnet``), and
# the card of the new one says that checksum: so an update can be undone, and nothing is lost or written over.


CHUNK = 1_000  # rows
HELD_OUT = 0.2


def update(
    old: TextClassifier, data: Dataset, *, test: Dataset | None = None, forget: float = 0.0, random_state: int = 0
) -> tuple[TextClassifier, VersionComparison]:
    """Return the model after it has learned from new rows, and its comparison with the old one.

    They are compared on test, or on a fifth of the rows that is not learned from.

    >>> from linnet import Dataset, read
    >>> rows = read([("good", "pos"), ("bad", "neg")] * 10)
    >>> old = TextClassifier("nb", features="words:1").fit(rows)
    >>> new, found = update(old, rows)
    >>> new.card["data"]["rows"], found.n, found.verdict
    (36, 4, 'not clear')
    """
    learned, held = (data, test) if test is not None else data.split(random_state, (1.0 - HELD_OUT, HELD_OUT))
    if not len(learned) or not len(held):
        raise DataError(f"{data.source}: {len(data)} rows are too few to hold some out; give more, or --test FILE")
    new = TextClassifier(old.model, forget=forget, n_jobs=old.n_jobs)
    new.model_ = old.artefact
    known = {str(c): c for c in old.artefact.classes}
    texts, several = learned.text.to_pylist(), old.artefact.multilabel
    sets = [tuple(known.get(label, label) for label in row) for row in learned.label_sets()]
    labels = sets if several else [known.get(label, label) for label in learned.label_list()]
    for first in range(0, len(texts), CHUNK):
        new.partial_fit(texts[first : first + CHUNK], labels[first : first + CHUNK])
    found = compare_versions(old, new, held)
    before = old.card.get("update", {}).get("number", 0)
    names = ("old_accuracy", "old_interval", "new_accuracy", "new_interval", "gained", "lost", "verdict")
    about = {
        "number": before + 1, "rows": len(texts), "held_out": found.n, **{name: to_plain(getattr(found, name)) for name in names},
        "test": found.test.test, "p": found.test.p, **({"forget": forget} if forget else {}),
    }  # fmt: skip
    new.model_ = replace(new.artefact, card={**new.card, "update": about})
    return new, found


def write_version(clf: TextClassifier, old: str | os.PathLike[str], out: str | os.PathLike[str]) -> Path | None:
    """Save an updated model. Where it takes the place of the old file, that is kept first; returns where."""
    checksum = digest(old)
    kept = _keep(Path(old), checksum) if Path(out).exists() and Path(out).samefile(old) else None
    update = {**clf.card["update"], "from": checksum}
    replace(clf.artefact, card={**clf.card, "update": update}).save(out)
    return kept


def undo(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Put the version before the last update in its place again; returns the files of both versions."""
    path = Path(path)
    wanted = load(path).card.get("update", {}).get("from")
    if not isinstance(wanted, str):
        raise LinnetError(f"{path}: no update to undo; the card names no version before this one")
    earlier = _kept_name(path, wanted)
    if not earlier.is_file() or digest(earlier) != wanted:
        raise LinnetError(f"{path}: the version before this one, {earlier.name}, is not beside it, or was changed")
    kept = _keep(path, digest(path))
    write_atomic(path, earlier.read_bytes())
    return earlier, kept


def _kept_name(path: Path, checksum: str) -> Path:
    return path.with_name(f"{path.stem}.{checksum[:8]}{path.suffix}")


def _keep(path: Path, checksum: str) -> Path:
    """Copy a version to the name of its checksum, unless it is there."""
    kept = _kept_name(path, checksum)
    if not kept.is_file() or digest(kept) != checksum:
        if kept.exists():
            raise LinnetError(f"{kept} is in the way of the version before this update, and is not it; move it away")
        write_atomic(kept, path.read_bytes())
    return kept
