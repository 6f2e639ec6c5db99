#!/usr/bin/env python3
"""Print the version of linnet: meson.build reads it from here, and it is written in src/linnet/__init__.py only."""

import re
from pathlib import Path

text = (Path(__file__).parents[1] / "src" / "linnet" / "__init__.py").read_text(encoding="utf-8")
print(re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1])
