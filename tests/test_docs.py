"""The examples of the README and of the pages in docs run and print what they say."""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path

import click
import pytest

from linnet.cli import linnet as command_line

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
# Code of a page: fenced blocks, indented lines, and spans inside a line.
CODE = re.compile(r"^```\w*\n(.*?)^```|^ {4}([^\n]+)|(?<!`)`([^`\n]+)`(?!`)", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"(?:^|\$ |\| )linnet ([a-z]+)([^|#\n]*)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples(page, tmp_path):
    if not page.exists():
        pytest.skip("run from a source tree")
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    finally:
        os.chdir(here)
    assert result.failed == 0
    if page == ROOT / "README.md":
        assert result.attempted >= 6
    elif page.parent.name == "models":
        assert result.attempted >= 2, "a page on a model has a runnable example"
    elif page.parent.name == "notes" and page.stem not in ("README", "coverage", "small-data"):
        assert result.attempted >= 20, "a page on a lecture has its worked examples"
    elif page.parent.name == "tutorials":
        assert result.attempted >= 2, "a tutorial has a runnable example"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_exist(page):
    """Every command that a page shows is there, with all its options."""
    text = page.read_text(encoding="utf-8")
    code = "\n".join("".join(found) for found in CODE.findall(text))
    for name, rest in SHOWN.findall(code):
        command = command_line.get_command(click.Context(command_line), name)
        assert command, f"linnet {name}{rest}"
        options = {option for given in command.params for option in (*given.opts, *given.secondary_opts)} | {"--help"}
        asked = set(re.findall(r"(?<=\s)--?[A-Za-z][\w-]*", re.sub(r"'[^']*'|\"[^\"]*\"", "", rest)))
        assert asked <= options, f"linnet {name}{rest}"
