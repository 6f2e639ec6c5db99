"""Rows in: read any source of texts and labels, split it, and account for what could not be used.

>>> from linnet.data import read
>>> data = read([("good film", "pos"), ("bad film", "neg"), ("", "neg")])
>>> data.text.to_pylist(), data.labels, str(data.unusable)
(['good film', 'bad film'], ['neg', 'pos'], '1 unusable row: 1 empty text (first: row 3)')

A new format is one file with two functions (tell it from its first bytes, open it) and one row in `formats.FORMATS`.
"""

from linnet.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
