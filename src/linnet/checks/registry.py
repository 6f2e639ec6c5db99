"""The checks, in the order of the output: one row each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from linnet.checks.checked_data import CheckedData
from linnet.checks.conflicts import conflicts
from linnet.checks.duplicates import duplicates, near_duplicates
from linnet.checks.encoding import encoding
from linnet.checks.finding import Finding
from linnet.checks.imbalance import imbalance
from linnet.checks.label_errors import label_errors
from linnet.checks.leaks import leaks, near_leaks
from linnet.checks.loopholes import loopholes
from linnet.checks.tiny_texts import tiny
from linnet.errors import DataError, nearest

__all__ = ["CHECKS", "Check", "applicable", "chosen"]


@dataclass(frozen=True)
class Check:
    """One check: its function, what it needs, and whether it is cheap enough to run before every training.

    several: whether it takes rows with several labels.
    """

    run: Callable[[CheckedData], Finding]
    what: str
    labels: bool = False
    others: bool = False
    brief: bool = False
    several: bool = True

    def finding(self, name: str, m: CheckedData) -> Finding:
        """Run the check; where it cannot take the labels, say so."""
        if m.data.separator is not None and not self.several:
            return Finding(name, "ok", "left out: rows have several labels, and this check takes one")
        return self.run(m)


CHECKS: dict[str, Check] = {
    "leaks": Check(leaks, "texts of the other sets that are in the data", others=True, brief=True),
    "near-leaks": Check(near_leaks, "the same for nearly the same texts", others=True),
    "duplicates": Check(duplicates, "the same text twice", brief=True),
    "near-duplicates": Check(near_duplicates, "nearly the same text twice"),
    "conflicts": Check(conflicts, "the same text under different labels", labels=True, brief=True),
    "loopholes": Check(loopholes, "words that give a label away", labels=True, several=False),
    "label-errors": Check(label_errors, "labels a model disagrees with", labels=True, several=False),
    "imbalance": Check(imbalance, "classes of very different size", labels=True, brief=True),
    "tiny": Check(tiny, "empty and tiny texts", brief=True),
    "encoding": Check(encoding, "damaged characters and left-over markup"),
}


def applicable(checks: Mapping[str, Check], m: CheckedData) -> dict[str, Check]:
    """Return the checks whose needs are met: labels, other sets."""
    labelled, others = m.data.label is not None, bool(m.others)
    return {name: one for name, one in checks.items() if labelled >= one.labels and others >= one.others}


def chosen(only: Iterable[str] | None = None, skip: Iterable[str] = ()) -> dict[str, Check]:
    """Return the checks of the given names, all but `skip` if none are given.

    >>> list(chosen(only=["tiny", "leaks"]))
    ['leaks', 'tiny']
    """
    wanted = list(CHECKS) if only is None else list(only)
    for name in [*wanted, *skip]:
        if name not in CHECKS:
            raise DataError(nearest("check", name, CHECKS))
    return {name: check for name, check in CHECKS.items() if name in wanted and name not in set(skip)}
