r"""Splits and folds: stratified and seeded; by groups that stay together; by time.

Moments in time: a column of dates or numbers as numbers that can be ordered.

A blind test set: a seal beside the file counts every look at it.

A test set is honest as long as nothing is chosen by it, and every look is a chance to choose. The seal is a small JSON
file, ``test.csv.seal.json``: what the file was when it was sealed (SHA-256, rows), and the list of looks (when, which
command, which model). A file that changed after it was sealed is refused.

>>> import tempfile
>>> from pathlib import Path
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder) / "test.csv"
...     _ = path.write_text("text,label\ngood,pos\n")
...     _ = seal(path, rows=1)
...     look(path, "evaluate", "a model").words, seal_of(path).words
('looked at 1 time', 'looked at 1 time')
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.errors import DataError
from linnet.files import digest, lock_file, write_atomic
from linnet.values import is_number, to_plain


def split_indices(
    codes: np.ndarray, seed: int | Sequence[int], fractions: Sequence[float], *, groups: np.ndarray | None = None
) -> list[np.ndarray]:
    """Divide rows into parts so that every part has each class in its share.

    `codes` holds the class of each row as an integer. Every class is shuffled by the seed and cut on its own: a part
    gets `fraction * n` rows of a class with n rows, rounded so that the parts come out whole, and at least one where
    the class has a row for every part. A class with fewer rows goes to the largest part first. Rows keep their order
    within a part. The result depends on the seed, on the classes and on the order of the rows, on nothing else: no
    number of threads, no version of numpy (the raw bits of PCG64 are fixed).

    `groups` holds the group of each row as an integer: rows of a group stay together, and classes have their shares as
    far as that allows. Groups of several rows are dealt out first, the largest first, each to the part that will
    then lack most of its classes; single rows then even things out. Groups of one row each change nothing.

    >>> split_indices(np.zeros(6, int), 0, (0.5, 0.5), groups=np.array([0, 0, 1, 1, 2, 3]))
    [array([2, 3, 4]), array([0, 1, 5])]
    >>> codes = np.array([0] * 10 + [1] * 5)
    >>> parts = split_indices(codes, 0, (0.6, 0.2, 0.2))
    >>> [codes[part].tolist() for part in parts]
    [[0, 0, 0, 0, 0, 0, 1, 1, 1], [0, 0, 1], [0, 0, 1]]
    """
    shares = _checked(fractions)
    order = np.argsort(np.random.PCG64(seed).random_raw(len(codes)), kind="stable")
    parts: list[list[np.ndarray]] = [[] for _ in shares]
    have = np.zeros((len(shares), int(codes.max(initial=-1)) + 1), dtype=np.int64)  # rows of each class in each part
    if groups is not None:
        order = _deal_groups(codes, groups, order, shares, parts, have)
    by_class = order[np.argsort(codes[order], kind="stable")]
    classes = np.split(by_class, np.cumsum(np.bincount(codes[order], minlength=have.shape[1]))[:-1])
    behind = np.zeros(len(shares))  # how many rows each part lacks so far
    for code, rows_of_class in enumerate(classes):
        n, before = len(rows_of_class), have[:, code]
        need = np.maximum(shares * (n + before.sum()) - before, 0.0)  # shares * n where there are no groups
        total = arithmetic.total(need)
        counts = _apportion(n, need / total if total else shares, behind, before == 0)
        behind += shares * (n + before.sum()) - before - counts
        for part, rows in zip(parts, np.split(rows_of_class, np.cumsum(counts)[:-1]), strict=True):
            part.append(rows)
    return [np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *part])) for part in parts]


def _deal_groups(
    codes: np.ndarray, groups: np.ndarray, order: np.ndarray, shares: np.ndarray, parts: list[list[np.ndarray]],
    have: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Deal the groups of several rows out to the parts; returns the rows that are left, in their shuffled order."""
    if len(groups) != len(codes):
        raise DataError(f"groups must hold one number a row: {len(codes):,}, got {len(groups):,}")
    _, number, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    by_group = order[np.argsort(number[order], kind="stable")]
    members = np.split(by_group, np.cumsum(sizes)[:-1])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    several = np.flatnonzero(sizes > 1)
    drawn = np.array([place[members[g]].min() for g in several.tolist()], dtype=np.int64)
    target = shares[:, None] * np.bincount(codes, minlength=have.shape[1])  # (n_parts, n_classes)
    for g in several[np.lexsort((drawn, -sizes[several]))].tolist():  # the largest first, equals as drawn
        held, counts = np.unique(codes[members[g]], return_counts=True)
        lacking = (target[:, held] - have[:, held] - counts) / target[:, held]
        lack = arithmetic.total(lacking * (counts / counts.sum()), axis=1)
        best = int(np.argmax(np.round(lack, 9)))
        have[best, held] += counts
        parts[best].append(members[g])
    left: np.ndarray = order[sizes[number[order]] == 1]
    empty = sum(not part for part in parts)
    if len(several) and len(left) < empty:
        raise DataError(
            f"{len(sizes):,} groups (the largest has {sizes.max():,} of {len(codes):,} rows) leave a part of {len(shares)} "
            "empty: a group stays in one part; give larger fractions or fewer parts"
        )
    return left


def time_split(times: np.ndarray, fractions: Sequence[float]) -> list[np.ndarray]:
    """Divide rows by time: the oldest into the first part, the newest into the last.

    Rows of one moment stay together: a cut goes to the nearest change of time, so that every part is older than the
    next. Rows keep their order within a part.

    >>> time_split(np.array([3, 1, 2, 5, 4, 4]), (0.5, 0.5))
    [array([0, 1, 2]), array([3, 4, 5])]
    """
    shares = _checked(fractions)
    order = np.argsort(times, kind="stable")
    later = np.flatnonzero(np.diff(times[order]) > 0) + 1  # where a new moment begins
    if len(later) < len(shares) - 1:
        raise DataError(
            f"{len(later) + 1} different times cannot be cut into {len(shares)} parts; name a finer column, or give fewer parts"
        )
    cuts: list[int] = []
    for k, wish in enumerate((np.cumsum(shares)[:-1] * len(times)).tolist()):
        left = len(shares) - 2 - k  # cuts that still have to find a place behind this one
        open_ = later[(later > (cuts[-1] if cuts else 0))]
        open_ = open_[: len(open_) - left]
        cuts.append(int(open_[np.argmin(np.abs(open_ - wish))]))
    return [np.sort(part) for part in np.split(order, cuts)]


def numbered(values: Sequence[Hashable]) -> np.ndarray:
    """Number values in the order of first sight; each None (or empty string) is a value of its own.

    >>> numbered(["b", "a", None, "b", None]).tolist()
    [0, 1, 2, 0, 3]
    """
    seen: dict[Hashable, int] = {}
    out = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        alone = value is None or value == "" or value != value
        out[row] = seen.setdefault((row,) if alone else ("", value), len(seen))
    return out


def fold_indices(
    codes: np.ndarray, seed: int, folds: int, *, repeats: int = 1, groups: np.ndarray | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the (training, held-out) rows of every fold: each row is held out once a repeat.

    Folds are the parts of `split_indices`: each has every class in its share, as near as whole rows go. The folds of
    the first repeat depend on the seed alone, so more repeats only add to them. Rows of one of the `groups` are held out
    together.

    >>> codes = np.array([0] * 6 + [1] * 3)
    >>> pairs = fold_indices(codes, 0, 3, repeats=2)
    >>> len(pairs), [codes[held].tolist() for _, held in pairs[:3]]
    (6, [[0, 0, 1], [0, 0, 1], [0, 0, 1]])
    >>> sorted(np.concatenate([held for _, held in pairs[3:]]).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8]
    """
    if folds < 2 or repeats < 1:
        raise DataError(f"give 2 folds or more, and 1 repeat or more; got {folds} and {repeats}")
    if len(codes) < folds:
        raise DataError(f"{len(codes)} rows cannot be held out in {folds} folds; give at most {len(codes)} folds")
    rows = np.arange(len(codes))
    out = []
    for repeat in range(repeats):
        parts = split_indices(codes, (seed, repeat) if repeat else seed, (1 / folds,) * folds, groups=groups)
        out += [(np.setdiff1d(rows, held), held) for held in parts]
    return out


def _checked(fractions: Sequence[float]) -> np.ndarray:
    shares = np.asarray(fractions, dtype=float)
    if shares.ndim != 1 or not (shares > 0).all() or not math.isclose(arithmetic.total(shares), 1.0):
        raise DataError(f"fractions must be positive and add up to 1; got {tuple(fractions)}")
    return shares


def _apportion(n: int, shares: np.ndarray, behind: np.ndarray, without: np.ndarray | None = None) -> np.ndarray:
    """Whole numbers near `n * shares` that add up to n; the part furthest behind gets an odd row.

    No part (of those that are `without` any) is left with nothing where there is a row for each.

    >>> _apportion(15, np.array([0.8, 0.1, 0.1]), np.array([0.0, 0.0, 0.5])).tolist()
    [12, 1, 2]
    >>> _apportion(3, np.array([0.8, 0.1, 0.1]), np.zeros(3)).tolist()
    [1, 1, 1]
    """
    exact = n * shares
    counts: np.ndarray = np.floor(exact + 1e-9).astype(np.int64)
    left = np.round(exact - counts, 9)
    for part in sorted(range(len(shares)), key=lambda part: (-left[part], -behind[part], part))[: n - counts.sum()]:
        counts[part] += 1
    if n >= len(shares):
        for part in np.flatnonzero((counts == 0) if without is None else (counts == 0) & without).tolist():
            counts[np.argmax(counts)] -= 1
            counts[part] = 1
    return counts


def moment(text: str) -> datetime | None:
    """Return the date that a text is, as its clock and calendar had it; None where it is none.

    >>> moment("2024-05-01T23:30:00-07:00").isoformat(), moment("Wed, 01 May 2024 12:30:00 +0200").day, moment("soon")
    ('2024-05-01T23:30:00-07:00', 1, None)
    """
    for read in (datetime.fromisoformat, _mail_date):
        with contextlib.suppress(ValueError, TypeError, IndexError, OverflowError):
            return read(text)
    return None


def _mail_date(text: str) -> datetime:
    from email.utils import parsedate_to_datetime  # 8 ms, for few

    return parsedate_to_datetime(text)


def moments(values: Sequence[Any], column: str = "time") -> np.ndarray:
    """Return values as floats in the order of time: numbers as they are, dates as seconds since 1970.

    Dates are ISO 8601 (2024-05-01, 2024-05-01T12:30:00+02:00) or as in mail (Wed, 01 May 2024 12:30:00 +0200); one
    without a time zone counts as UTC. All values must be of one kind, and none may be missing: a row that has no place in
    time belongs to no part.

    >>> moments(["2024-05-01", "2023-12-31T23:59"]).tolist()
    [1714521600.0, 1704067140.0]
    >>> moments(["2", "10"]).tolist()
    [2.0, 10.0]
    """
    texts = ["" if value is None else str(value).strip() for value in values]
    kind = "number" if is_number(next(filter(None, texts), "")) else "date"
    read, out = cache(float if kind == "number" else _seconds), np.full(len(texts), math.nan)
    for row, text in enumerate(texts):
        with contextlib.suppress(ValueError):
            out[row] = read(text)
        if not math.isfinite(out[row]):
            raise DataError(
                f"column '{column}', row {row + 1:,}: '{text:.40}' is no {kind}, and all rows must have one kind of time; write "
                "dates as 2024-05-01 or 2024-05-01T12:30:00, and leave rows without a time out first"
            )
    return out


def _seconds(text: str) -> float:
    found = moment(text)
    return math.nan if found is None else (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


VERSION = 1


@dataclass(frozen=True)
class Seal:
    """What was sealed, and every look since."""

    file: str
    sha256: str
    rows: int
    sealed: str
    looks: tuple[Mapping[str, str], ...] = ()

    @property
    def words(self) -> str:
        """How often the file was looked at, in words."""
        return f"looked at {len(self.looks):,} time{'' if len(self.looks) == 1 else 's'}"

    def to_dict(self) -> dict[str, Any]:
        """Return what the seal file holds."""
        return {"linnet_seal": VERSION, **to_plain(self)}


def seal(path: str | os.PathLike[str], rows: int) -> Seal:
    """Seal a file; one that is sealed already is refused, so that no look is forgotten."""
    target = Path(path)
    with _locked(target):
        if _place(target).exists():
            raise DataError(
                f"{target} is sealed already ({_read(target).words}); keep it, or remove {_place(target)} and start anew"
            )
        made = Seal(target.name, digest(target), rows, _now())
        _write(target, made)
    return made


def seal_of(path: str | os.PathLike[str]) -> Seal | None:
    """Return the seal of a file, None where it has none; a file that changed since is refused."""
    target = Path(path)
    if os.fspath(path) == "-" or not _place(target).exists():
        return None
    found = _read(target)
    if digest(target) != found.sha256:
        raise DataError(
            f"{target} has changed since it was sealed on {found.sealed[:10]} ({found.words}); bring the old file back, or "
            f"remove {_place(target)} and say in your report that the test set is a new one"
        )
    return found


def look(path: str | os.PathLike[str], command: str, model: str | Path) -> Seal | None:
    """Record one look at a sealed file and return its seal, that look included; None where there is no seal.

    model is a file, of which the SHA-256 is noted, or text to note as it is.

    Safe where several processes look at once: each look is counted. The seal is written before the look's results are
    shown, so a look cannot be lost by stopping the program at the right moment.
    """
    target = Path(path)
    if seal_of(path) is None:
        return None
    which = digest(model) if isinstance(model, Path) else model
    with _locked(target):
        before = _read(target)
        after = replace(before, looks=(*before.looks, {"when": _now(), "command": command, "model": which}))
        _write(target, after)
    return after


def refuse_sealed(path: str | os.PathLike[str], purpose: str) -> None:
    """Refuse a sealed file for anything but a test."""
    if os.fspath(path) != "-" and _place(Path(path)).exists():
        raise DataError(
            f"{os.fspath(path)} is sealed as a blind test set and cannot be used {purpose}; use it with linnet evaluate or "
            f"--test, or remove {_place(Path(path))}"
        )


def _place(target: Path) -> Path:
    return target.with_name(f"{target.name}.seal.json")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read(target: Path) -> Seal:
    place = _place(target)
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
        if found["linnet_seal"] != VERSION:
            raise DataError(f"{place} was written by another version of linnet ({found['linnet_seal']}); update linnet")
        looks = tuple({key: str(one[key]) for key in ("when", "command", "model")} for one in found["looks"])
        return Seal(found["file"], found["sha256"], int(found["rows"]), found["sealed"], looks)
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{place} is not a whole seal ({error}); bring it back from a copy") from error


def _write(target: Path, found: Seal) -> None:
    write_atomic(_place(target), json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n")


@contextlib.contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Wait until no other process changes the seal of a file, and keep others out."""
    try:
        file = target.open("rb")
    except OSError as error:
        raise DataError(f"cannot open {target}: {error.strerror or error}") from error
    with file:
        lock_file(file)
        yield
