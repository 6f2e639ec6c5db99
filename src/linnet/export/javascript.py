"""Export to JavaScript: one ES module with no dependency, for browsers, Node, Deno and workers.

Or to HTML: one page around it that classifies and marks a text as it is typed; it needs no network and sends nothing.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from linnet.draw.markup import page, resource, safe
from linnet.export.portable import PortableModel, unicode_table


def write_js(model: PortableModel, path: Path, title: str) -> dict[Path, Iterable[str]]:
    """Return the parts of the module."""
    top = f"// {' '.join(title.split())}\n// Written by linnet export. import {{ predict, explain, labels }} from './{path.name}'\n"
    return {path: [top, constants(model), resource("linnet.export", "runtime.js")]}


def write_html(model: PortableModel, path: Path, title: str) -> dict[Path, Iterable[str]]:
    """Return the page."""
    about = (
        f"A linear model with {len(model.keys):,} features and {len(model.labels):,} labels, written by linnet export."
    )
    runtime = re.sub(r"(?m)^export ", "", resource("linnet.export", "runtime.js"))
    script = f'"use strict";\n{constants(model)}{runtime}{resource("linnet.export", "page.js")}'
    body = resource("linnet.export", "page.html").format(title=safe(title), about=about)
    return {path: [page(title, body, more_style=resource("linnet.export", "page.css"), script=script)]}


def constants(model: PortableModel) -> str:
    """Return the model and the tables of Unicode characters as constants, safe inside HTML."""
    about = model.settings()
    about["blocks"] = [{**block, "seed": str(block["seed"])} for block in model.blocks]
    about["features"] = len(model.keys)
    weights = model.keys.astype("<u8").tobytes() + model.rows.astype("<f4").tobytes()
    about["weights"] = base64.b64encode(weights).decode("ascii")
    cases = {block["case"] for block in model.blocks}
    tables = {"classes": _classes(), "fold": _cases("fold", 1 in cases), "lower": _cases("lower", 2 in cases)}
    return f"const UNICODE = {_plain(tables)};\nconst MODEL = {_plain(about)};\n"


def _plain(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


@cache
def _array(name: str) -> list[int]:
    return [int(v) for v in re.findall(r"-?\d+", unicode_table(f"ln_{name}").split("{")[1])]


def _values(name: str) -> list[int]:
    """Return the value of every character: the two-stage table, written out."""
    blocks = np.array(_array(f"{name}_block")).reshape(-1, 128)
    return list(blocks[_array(f"{name}_index")].ravel().tolist())


@cache
def _classes() -> str:
    """Return runs of characters of one class: how long, and the class."""
    return _varints(v for value, run in groupby(_values("class")) for v in (sum(1 for _ in run), value))


@cache
def _cases(name: str, wanted: bool) -> str:
    """Return the characters that change: how far from the one before, how many they become, and which."""
    out: list[int] = []
    before = 0
    for code, other in enumerate(_values(name) if wanted else ()):
        if other:
            row = _array("expand")[-3 * (1 + other) : -3 * other] if other < 0 else [other]
            codes = [c for c in row if c]
            out += [code - before, len(codes), *codes]
            before = code
    return _varints(out)


def _varints(values: Iterable[int]) -> str:
    """Write numbers in 7 bits a byte, the lowest first, as base64."""

    def octets() -> Iterator[int]:
        for value in values:
            while value >= 128:
                yield value & 127 | 128
                value >>= 7
            yield value

    return base64.b64encode(bytes(octets())).decode("ascii")
