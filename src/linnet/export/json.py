"""Export to JSON, the common form of a model for those who write their own program, or to a table of weights to read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from linnet.export.portable import PortableModel


def write_json(model: PortableModel, path: Path, title: str) -> dict[Path, Iterable[str]]:
    """Return the parts of the file; docs/exporting.md says what its keys mean."""
    return {path: _parts(model, title)}


def _parts(model: PortableModel, title: str) -> Iterator[str]:
    about = {"format": "linnet-export", "version": 2, "title": title, **model.settings()}
    about["blocks"] = [{**block, "seed": f"{block['seed']:016x}"} for block in model.blocks]
    yield json.dumps(about, ensure_ascii=False, indent=1)[:-2] + ',\n "features": [\n'
    keys, rows = model.keys.tolist(), model.rows
    for k, key in enumerate(keys):
        short = [float(str(x)) for x in rows[k]]  # the shortest numbers that are the same 32-bit floats
        row = [f"{key:016x}", *short, *([model.names[k]] if k in model.names else [])]
        yield json.dumps(row, ensure_ascii=False) + (",\n" if k + 1 < len(keys) else "\n")
    yield " ]\n}\n"


def write_tsv(model: PortableModel, path: Path, title: str) -> dict[Path, Iterable[str]]:
    """Return a table to read: the name of each feature, where it was kept, its key, its part in the norm and a weight a label."""
    return {path: _lines(model)}


def _lines(model: PortableModel) -> Iterator[str]:
    labels = model.labels[-1:] if model.rows.shape[1] == 2 else model.labels  # of two classes the second
    yield "\t".join(["feature", "key", "norm", *map(_cell, labels)]) + "\n"
    yield "\t".join(["(intercept)", "", "", *map(str, model.b)]) + "\n"
    for k in np.argsort(-np.abs(model.rows[:, 1:]).max(axis=1), kind="stable").tolist():
        row = [_cell(model.names.get(k, "")), f"{int(model.keys[k]):016x}", *map(str, model.rows[k])]
        yield "\t".join(row) + "\n"


def _cell(text: str) -> str:
    return text.replace("\t", " ").replace("\n", " ").replace("\r", " ")
