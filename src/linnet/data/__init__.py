"""Rows in: read any source of texts and labels, split it, and account for what could not be used.

>>> from linnet.data import read
>>> data = read([("good film", "pos"), ("bad film", "neg"), ("", "neg")])
>>> data.text.to_pylist(), data.labels, str(data.unusable)
(['good film', 'bad film'], ['neg', 'pos'], '1 unusable row: 1 empty text (first: row 3)')

A new format is one file with two functions (tell it from its first bytes, open it) and one row in `formats.FORMATS`.
"""

from __future__ import annotations

from linnet.data.dataset import Dataset
from linnet.data.reader import Unusable, UnusableRow
from linnet.data.reading import read
from linnet.data.streaming import Batch, stream

__all__ = ["Batch", "Dataset", "Unusable", "UnusableRow", "read", "stream"]
