#!/usr/bin/env python3
"""Print what must be installed to build and run linnet, one requirement a line; arguments name extras to add.

``pip install linnet[dev]`` would build linnet itself first; the Makefile needs the packages alone.
"""

import re
import sys
import tomllib
from pathlib import Path

settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
extras = settings["project"]["optional-dependencies"]


def packages(requirements: list[str]) -> list[str]:
    """Return the requirements with linnet[...] replaced by what those extras ask for."""
    found = []
    for requirement in requirements:
        own = re.fullmatch(r"linnet\[(.+)\]", requirement)
        found += packages([r for name in own[1].split(",") for r in extras[name]]) if own else [requirement]
    return found


asked = [*settings["build-system"]["requires"], *settings["project"]["dependencies"]]
print(*dict.fromkeys(asked + packages([f"linnet[{name}]" for name in sys.argv[1:]])), sep="\n")
