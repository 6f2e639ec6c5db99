"""Write the pages of docs/notes as Jupyter notebooks, one a lecture: python tools/notebooks.py [FOLDER].

Text becomes text, examples become cells without their results, and figures are put into the file. `make notebooks` writes them to
notebooks/, and the site has them beside the pages.
"""

from __future__ import annotations

import base64
import doctest
import json
import re
import sys
from pathlib import Path
from typing import Any

NOTES = Path(__file__).parents[1] / "docs/notes"
LECTURES = (
    "may-2024",
    "may-2023",
    "xu-binary-classification",
    "rush-linear-classification",
    "stratos-linear-classifiers",
)
IMAGE = re.compile(r"!\[([^\]]*)\]\((\.\./images/[^)]+\.svg)\)")
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|data:)[^)]+\)")


def cells(page: str) -> list[tuple[str, str]]:
    r"""Return ("markdown" or "code", source) in the order of a page; a cell of code ends where an example has a result.

    >>> cells("# A\n\n>>> x = 1\n>>> x + 1\n2\n>>> x\n1\n\nend")
    [('markdown', '# A'), ('code', 'x = 1\nx + 1'), ('code', 'x'), ('markdown', 'end')]
    """
    out: list[tuple[str, str]] = []
    code: list[str] = []

    def flush() -> None:
        if code:
            out.append(("code", "".join(code).rstrip()))
            code.clear()

    for part in doctest.DocTestParser().parse(page):
        if isinstance(part, doctest.Example):
            code.append(part.source)
            if part.want:
                flush()
        elif part.strip():
            flush()
            out.append(("markdown", part.strip()))
    flush()
    return out


def alone(text: str) -> str:
    """Return Markdown that needs no other file: figures inside it, links to other pages as plain text."""

    def inside(match: re.Match[str]) -> str:
        data = base64.b64encode((NOTES / match[2]).read_bytes()).decode()
        return f"![{match[1]}](data:image/svg+xml;base64,{data})"

    return IMAGE.sub(inside, LINK.sub(lambda m: m[0] if m[0].startswith("!") else m[1], text)) if "](" in text else text


def notebook(page: str) -> dict[str, Any]:
    """Return a page as a notebook (nbformat 4)."""
    made: list[dict[str, Any]] = []
    for number, (kind, source) in enumerate(cells(page)):
        lines = (alone(source) if kind == "markdown" else source).splitlines(keepends=True)
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines}
        made.append(cell if kind == "markdown" else {**cell, "execution_count": None, "outputs": []})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def notebooks() -> dict[str, str]:
    """Return the notebooks by name of the file."""
    return {
        f"{name}.ipynb": json.dumps(notebook((NOTES / f"{name}.md").read_text(encoding="utf-8")), indent=1, ensure_ascii=False) + "\n"
        for name in LECTURES
    }  # fmt: skip


def main() -> None:
    """Write them."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "notebooks")
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in notebooks().items():
        (folder / name).write_text(content, encoding="utf-8")
        print(folder / name)


if __name__ == "__main__":
    main()
