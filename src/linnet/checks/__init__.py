"""Checks of labelled texts before training.

>>> from linnet.checks import check
>>> texts = ["a good film", "a bad film", "a good film", "a good film"]
>>> found = check((texts, ["pos", "neg", "pos", "neg"]), only=["duplicates", "conflicts"])
>>> print(found["duplicates"].says)
2 of 4 texts repeat an earlier one
>>> print(found["conflicts"].says)
1 text has different labels (3 rows)

A new check is one file with one function from CheckedData to a Finding, and one row in `registry.CHECKS`.
"""

from __future__ import annotations

from linnet.checks.checkup import Checkup
from linnet.checks.finding import Finding
from linnet.checks.run_checks import brief, check

__all__ = ["Checkup", "Finding", "brief", "check"]
