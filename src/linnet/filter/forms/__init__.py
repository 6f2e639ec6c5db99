"""The forms of shards that can be filtered: one file each that reads batches of rows and writes those that are kept.

A new form is one file with a class that has `read` and `writer` and one row in `FORMS`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linnet.errors import DataError, LinnetError, nearest
from linnet.filter.forms.batch import Batch, Form, Scored
from linnet.filter.forms.delimited import CSV, TSV
from linnet.filter.forms.jsonl import JSONLines
from linnet.filter.forms.parquet import Parquet
from linnet.filter.forms.warc import Warc

__all__ = ["FORMS", "Batch", "Form", "Scored", "form_of", "make_form"]

FORMS: dict[str, type[Form]] = {form.name: form for form in (Parquet, JSONLines, CSV, TSV, Warc)}
_PACKED = (".gz", ".gzip", ".zst", ".zstd", ".bz2")


def form_of(name: str, none: bool = False) -> Any:
    """Return the name of the form of a file, by its ending.

    >>> form_of("part-0001.jsonl.zst"), form_of("CC-MAIN-00000.warc.wet.gz")
    ('jsonl', 'warc')
    """
    path = Path(name.lower())
    ending = Path(path.stem).suffix if path.suffix in _PACKED else path.suffix
    for form in FORMS.values():
        if ending in form.endings:
            return form.name
    if none:
        return None
    known = ", ".join(ending for form in FORMS.values() for ending in form.endings)
    raise DataError(
        f"{name}: cannot tell its form; end its name in {known} (text forms also .gz, .zst), or give --format"
    )


def make_form(name: str) -> Form:
    """Return a form by its name."""
    if name not in FORMS:
        raise LinnetError(nearest("format", name, FORMS))
    return FORMS[name]()
