"""Published tables with our figures beside them: ``linnet reproduce NAME``.

A table is one file with ``lines(options)`` and one row of ``TABLES``. It gives pairs of a text to print and the same as a dict: first
the head of the table and what the figures hold for, then each row when it is known. Data sets come from LINNET_DATA, the cache or the
hub, as everywhere (docs/datasets.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from linnet.errors import check_choice

Lines = Iterator[tuple[str, dict[str, Any]]]
TABLES = {
    "pang2002": "Pang, Lee, Vaithyanathan 2002: eight feature sets by naive Bayes, maximum entropy and SVM",
    "wang2012": "Wang and Manning 2012: naive Bayes, SVM and NBSVM on four sets",
    "kim2014": "Kim 2014: linear models beside convolutional networks on three sets",
    "mnist": "softmax regression on MNIST, with the settings of a lecture's listing and with better ones",
    "ng2002": "Ng and Jordan 2002: naive Bayes and logistic regression on growing data",
}


@dataclass(frozen=True)
class TableOptions:
    """What part of a table is made: data sets and rows (empty: all); the rest is of one table or another."""

    sets: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    passes: int | None = None
    folds: int = 5
    sizes: tuple[int, ...] = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
    repeats: int = 5

    def chosen(self, names: tuple[str, ...], of: str) -> tuple[str, ...]:
        """Return the sets or rows that are asked for."""
        wanted = getattr(self, of)
        for name in wanted:
            check_choice(of[:-1], name, names)
        return wanted or names
