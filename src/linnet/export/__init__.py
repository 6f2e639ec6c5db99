"""A model as a program or a page of its own: C, JavaScript, HTML, ONNX, JSON. A new format is one function and one row of ``FORMATS``.

Every format is made of one common form (``portable``), so each classifies raw text as linnet does: the same Unicode tables, tokens,
fingerprints, weights, norms, calibration and thresholds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from pkgutil import resolve_name

from linnet.errors import LinnetError, check_choice
from linnet.export.portable import portable
from linnet.files import open_atomic
from linnet.model.model import Model

__all__ = ["FORMATS", "export_model"]


FORMATS = {  # name, which is the ending of its files too: (module:function, what it is)
    "c": ("linnet.export.c:write_c", "a C99 file and its header"),
    "js": ("linnet.export.javascript:write_js", "an ES module"),
    "html": ("linnet.export.javascript:write_html", "a page that classifies as you type"),
    "onnx": ("linnet.export.onnx:write_onnx", "an ONNX model, for words between blanks"),
    "tsv": ("linnet.export.portable:write_tsv", "a table of weights to read, the largest first"),
    "json": ("linnet.export.portable:write_json", "the weights and settings, written out"),
}


def export_model(model: Model, path: str | os.PathLike[str], format: str | None = None) -> list[Path]:
    """Write a model in another format, by default that of the ending of path; return the files that were written."""
    target = Path(path)
    named = {"htm": "html", "mjs": "js"}.get(target.suffix[1:], target.suffix[1:])
    if format is None:
        format = {"h": "c"}.get(named, named)
    check_choice("export format", format, FORMATS, LinnetError)
    if named != format:
        target = target.with_name(f"{target.name}.{format}")
    writer: Callable[..., dict[Path, Iterable[str] | bytes]] = resolve_name(FORMATS[format][0])
    files = writer(portable(model), target, f"linnet: {Path(path).stem}")
    for name, parts in files.items():
        with open_atomic(name, "wb" if isinstance(parts, bytes) else "w") as file:
            file.writelines([parts] if isinstance(parts, bytes) else parts)
    return list(files)
