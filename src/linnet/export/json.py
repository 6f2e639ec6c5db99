"""Export to JSON: the common form of a model with its numbers written out, for those who write their own program."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from linnet.export.portable import PortableModel


def write_json(model: PortableModel, path: Path, title: str) -> dict[Path, Iterable[str]]:
    """Return the parts of the file; docs/exporting.md says what its keys mean."""
    if path.suffix != ".json":
        path = path.with_name(path.name + ".json")
    return {path: _parts(model, title)}


def _parts(model: PortableModel, title: str) -> Iterator[str]:
    about = {"format": "linnet-export", "version": 1, "title": title, **asdict(model)}
    del about["keys"], about["rows"], about["names"]
    about["blocks"] = [{**block, "seed": f"{block['seed']:016x}"} for block in model.blocks]
    yield json.dumps(about, ensure_ascii=False, indent=1)[:-2] + ',\n "features": [\n'
    keys, rows = model.keys.tolist(), model.rows
    for k, key in enumerate(keys):
        row = [f"{key:016x}", *map(_short, rows[k]), *([model.names[k]] if k in model.names else [])]
        yield json.dumps(row, ensure_ascii=False) + (",\n" if k + 1 < len(keys) else "\n")
    yield " ]\n}\n"


def _short(x: object) -> float:
    """Return the shortest number that is the same 32-bit float."""
    return float(str(x))
