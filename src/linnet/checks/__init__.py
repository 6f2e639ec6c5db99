"""Checks of labelled texts before training.

>>> from linnet.checks import check
>>> texts = ["a good film", "a bad film", "a good film", "a good film"]
>>> found = check((texts, ["pos", "neg", "pos", "neg"]), only=["duplicates", "conflicts"])
>>> print(found["duplicates"].says)
2 of 4 texts repeat an earlier one
>>> print(found["conflicts"].says)
1 text has different labels (3 rows)

A new check is a function from CheckedData to a Finding, and one row in `run_checks.CHECKS`.
"""

from linnet.checks.checked_data import Finding
from linnet.checks.run_checks import Checkup, brief, check

__all__ = ["Checkup", "Finding", "brief", "check"]
