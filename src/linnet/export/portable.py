"""The common form of an exported model: plain arrays and numbers, which every format writes in its own way; here as JSON or a table.

A row is the part of a feature in the norm and one weight an output, all 32-bit floats; its key is the fingerprint of the feature. Keys
ascend. Where a model hashes (no vocabulary), the key is the top bits of the fingerprint with the lowest bit set.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.draw.markup import resource
from linnet.errors import LinnetError
from linnet.features.counting import NORM, TF
from linnet.model.model import Model
from linnet.model.table import ignored_bits

# The blocks that exported models may have, and their numbers in C. A block of vectors is exported as one of words.
KINDS = {"words": 0, "vectors": 0, "chars": 1, "across": 2, "skips": 3, "position": 4}


@dataclass(frozen=True)
class PortableModel:
    """What a program in any language needs to classify a text as linnet does."""

    labels: list[str]
    multilabel: bool
    blocks: list[dict[str, Any]]  # kind (of KINDS), tokens, case, low, high, seed, share: see ``compile_blocks``
    tf: int  # 0 presence, 1 count, 2 sublinear
    norm: int  # 0 none, 1 l2, 2 mean
    shift: int
    ignored: int  # the bits of a fingerprint that do not count: they are ones in the keys
    hashed: bool
    keys: npt.NDArray[np.uint64]  # (n_features,), ascending
    rows: npt.NDArray[np.float32]  # (n_features, 1 + n_outputs)
    b: list[float]
    curve: list[list[float]]  # points of the calibration curve; none: scores are log-odds
    thresholds: list[float]  # a class; -1 where it has none
    least: float  # the probability below which there is no answer
    names: dict[int, str]  # of some rows

    def settings(self) -> dict[str, Any]:
        """Return everything but the features, as plain values."""
        return {name: value for name, value in vars(self).items() if name not in ("keys", "rows", "names")}

    def table(self) -> npt.NDArray[np.uint32]:
        """Return keys and rows as one table: a key stands at its top bits or behind, in order; the last place is empty."""
        home = (self.keys >> np.uint64(self.shift)).astype(np.int64)
        each = np.arange(len(home))
        place = np.maximum.accumulate(home - each) + each
        size = max(int(place[-1]) + 2 if len(place) else 0, (1 << (64 - self.shift)) + 1)
        width = 2 + self.rows.shape[1]
        table = np.zeros((size, width + width % 2), np.uint32)  # an even number of words crosses fewer cache lines
        table[place, 0] = self.keys & np.uint64(0xFFFFFFFF)
        table[place, 1] = self.keys >> np.uint64(32)
        table[place, 2:width] = np.ascontiguousarray(self.rows).view(np.uint32)
        return table


def portable(model: Model) -> PortableModel:
    """Return the common form; refuse a model that holds what it cannot say, by name."""
    refused = [
        *(f"the feature block '{b}'" for b in model.blocks if b.name not in KINDS or b.source is not None),
        *(f"the tokeniser '{b.tokens}'" for b in model.blocks if b.tokens == "penn"),
        *(f"the computed block '{c}'" for c in model.computed),
        *(["the dense layers of a feed-forward net"] if model.head is not None else []),
        *(["answers of least expected cost"] if model.decision.costs is not None else []),
    ]
    if refused:
        raise LinnetError(
            f"cannot export {refused[0]}: exported models are linear, over blocks of words, chars, across, skips and position; "
            "train with --features words:1-2+chars:2-5, or use the model through linnet serve"
        )
    hashed = model.table.hashed
    used = np.flatnonzero(np.any(model.rows != 0.0, axis=1)) if hashed else model.table.used
    keys = (used.astype(np.uint64) << np.uint64(model.shift)) | np.uint64(1) if hashed else model.slots[used]
    order = np.argsort(keys, kind="stable")
    at = np.full(model.table.n_slots, -1)
    at[used[order]] = np.arange(len(used))
    none = np.full(len(model.classes), 0.5 if model.multilabel else -1.0)
    own = model.decision.thresholds
    kinds = ["words" if block.name == "vectors" else block.name for block in model.blocks]
    names = ("kind", "tokens", "case", "low", "high", "seed", "share")
    rows = zip(kinds, model.compiled.rows, strict=True)
    blocks = [dict(zip(names, (kind, *compiled[1:]), strict=True)) for kind, compiled in rows]
    return PortableModel(
        [str(c) for c in model.classes], model.multilabel,
        blocks,
        TF[model.tf], NORM[model.norm], model.shift, ignored_bits(model.table.bits), hashed, keys[order],
        np.ascontiguousarray(model.table.at(used[order])), model.b.tolist(),
        [] if model.curve is None else model.curve.points.tolist(),
        (none if own is None else np.where(np.isfinite(own), own, none)).tolist(), model.decision.least,
        {int(at[slot]): name for slot, name in model.names().items() if at[slot] >= 0},
    )  # fmt: skip


@cache
def unicode_table(name: str) -> str:
    """Return one array of the kernels' tables of Unicode characters, as it is written in C."""
    tables = resource("linnet._kernels", "unicode_tables.h")
    found = re.search(rf"static const \w+ {name}\[\d+\] = \{{.*?\}};\n", tables, re.DOTALL)
    assert found is not None
    return found.group()


# ---- The same written out: as JSON for those who write their own program, or as a table of weights to read.


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
