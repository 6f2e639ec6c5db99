"""Models of other programs as linnet models. A new format is one file and one row of ``FORMATS``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name

from linnet.errors import ModelFileError, shown
from linnet.model.model import Model

FORMATS = {  # module:function: (how a file begins, how its name ends, what it is)
    "linnet.importing.fasttext:read_fasttext": (b"\xba\x16\x4f\x2f", "", "a fastText model (.bin, .ftz)"),
    "linnet.importing.sklearn:read_skops": (b"PK", ".skops", "a scikit-learn pipeline (.skops)"),
}
PICKLES = (".joblib", ".pickle", ".pkl")


def importer(path: str | os.PathLike[str]) -> Callable[[Path], Model] | None:
    """Return what reads a file of another program, by its first bytes; None where no importer knows them."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(8)
    except (OSError, ValueError):
        return None
    name = os.fspath(path)
    known = (one for one, (magic, ending, _) in FORMATS.items() if head.startswith(magic) and name.endswith(ending))
    return next(map(resolve_name, known), None)


def import_model(path: str | os.PathLike[str], trust: bool = False) -> Model:
    """Read a model of another program; one clear line where it is none, or not whole. Pickles are read with trust only."""
    Path(path).stat()
    read = importer(path)
    if Path(path).suffix in PICKLES:
        if not trust:
            raise ModelFileError(
                f"{shown(path, 300)}: reading a pickle can run any code; save the pipeline with skops.io.dump, "
                "or say --trust (trust=True) if you trust who wrote it"
            )
        from linnet.importing.sklearn import read_pickle as read
    if read is None:
        known = ", ".join(what for _, _, what in FORMATS.values())
        raise ModelFileError(f"cannot import {shown(path, 300)}: not one of: {known}")
    return read(Path(path))
