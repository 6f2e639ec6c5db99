"""Rows in: read any source of texts and labels, split it, and account for what could not be used.

>>> from linnet.data import read
>>> data = read([("good film", "pos"), ("bad film", "neg"), ("", "neg")])
>>> data.text.to_pylist(), data.labels, str(data.unusable)
(['good film', 'bad film'], ['neg', 'pos'], '1 unusable row: 1 empty text (first: row 3)')

A new format is one file with two functions (tell it from its first bytes, open it) and one row in `formats.FORMATS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linnet.data.dataset import Dataset
    from linnet.data.input_file import Unusable, UnusableRow
    from linnet.data.reading import Batch, read, stream

__all__ = ["Batch", "Dataset", "Unusable", "UnusableRow", "read", "stream"]

_HOME = {
    "Batch": "reading", "Dataset": "dataset", "Unusable": "input_file", "UnusableRow": "input_file", "read": "reading", "stream": "reading",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name when it is used first: a stream needs no Dataset."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
