"""Packages whose names are imported when they are first used, as SPEC 1 of Scientific Python has it.

The stub of a package, ``__init__.pyi``, says where each name lives, a line a name: ``from linnet.data.reading import read as
read``. Type checkers read it, and so does ``attach``. What the package defines itself is declared there: ``MODELS: ...``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    >>> attach("linnet.data")[2]
    ['Batch', 'Dataset', 'Unusable', 'UnusableRow', 'read', 'stream']
    """
    lines = Path(str(sys.modules[package].__file__)).with_suffix(".pyi").read_text(encoding="utf-8").splitlines()
    home = {name: module for _, module, _, name, *_ in (line.split() for line in lines if " as " in line)}
    declared = [line.partition(":")[0] for line in lines if ": " in line]
    names = sorted([*(name for name in home if home[name] != package), *declared])

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home[name] == package:
            return import_module(f"{package}.{name}")
        found = vars(sys.modules[package])[name] = getattr(import_module(home[name]), name)
        return found

    return get, lambda: sorted([*home, *declared]), names
