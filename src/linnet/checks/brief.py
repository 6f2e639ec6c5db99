"""The brief form, before training: what hashing and counting show, in a few lines and next to no time."""

from __future__ import annotations

from collections.abc import Iterable

from linnet.checks.finding import LEVELS
from linnet.checks.material import Material
from linnet.data import Dataset

__all__ = ["brief"]


def brief(data: Dataset, others: Iterable[Dataset] = ()) -> list[str]:
    """Return a line for each thing that the cheap checks found; none where all is well.

    >>> brief(Dataset.from_lists(["good", "bad", "good", "so bad"], ["pos", "neg", "neg", "neg"]))
    ['duplicates: 1 of 4 texts repeats an earlier one',
     'conflicts: 1 text has different labels (2 rows)',
     "imbalance: 2 classes, 3 rows of 'neg' to 1 of 'pos'; always predicting 'neg' gives 75 %; 2 classes have fewer than 10 rows"]
    """
    from linnet.checks.registry import CHECKS, applicable

    material = Material(data, tuple(others))
    findings = [one.run(material) for one in applicable(CHECKS, material).values() if one.brief]
    return [f"{found.check}: {found.says}" for found in findings if LEVELS.index(found.level) > 0]
