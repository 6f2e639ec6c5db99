"""Docstrings as Markdown: mkdocstrings loads this as an extension of griffe."""

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))
from tidy import tidy  # noqa: E402


class PlainDocstrings(griffe.Extension):
    """Put the examples of docstrings into fences."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of a module, class, function or attribute when it has been read."""
        if obj.docstring:
            obj.docstring.value = tidy(obj.docstring.value)
