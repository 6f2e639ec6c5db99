"""Update a model with new rows: a new version, judged beside the old one on the same held-out rows.

The version before an update is kept beside the model file under the first digits of its checksum (``reviews.3fa1b2c4.linnet``), and
the card of the new one says that checksum: so an update can be undone, and nothing is lost or written over.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from linnet.classifier import TextClassifier, load
from linnet.comparison.versions import VersionComparison, compare_versions
from linnet.data import Dataset
from linnet.errors import DataError, LinnetError
from linnet.files import digest, write_atomic

__all__ = ["undo", "update", "write_version"]

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
    if data.separator is not None:
        raise DataError("update learns one label a row; train a model with several labels a row again on all rows")
    learned, held = (data, test) if test is not None else data.split(random_state, (1.0 - HELD_OUT, HELD_OUT))
    if not len(learned) or not len(held):
        raise DataError(f"{data.source}: {len(data)} rows are too few to hold some out; give more, or --test FILE")
    new = TextClassifier(old.model, forget=forget, n_jobs=old.n_jobs)
    new.model_ = old.artefact
    known = {str(c): c for c in old.artefact.classes}
    texts, labels = learned.text.to_pylist(), [known.get(label, label) for label in learned.label_list()]
    for first in range(0, len(texts), CHUNK):
        new.partial_fit(texts[first : first + CHUNK], labels[first : first + CHUNK])
    found = compare_versions(old, new, held)
    before = old.card.get("update", {}).get("number", 0)
    about = {
        "number": before + 1, "rows": len(texts), "held_out": found.n, "old_accuracy": found.old_accuracy,
        "old_interval": list(found.old_interval), "new_accuracy": found.new_accuracy, "new_interval": list(found.new_interval),
        "gained": found.gained, "lost": found.lost, "test": found.test.test, "p": found.test.p, "verdict": found.verdict,
        **({"forget": forget} if forget else {}),
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
