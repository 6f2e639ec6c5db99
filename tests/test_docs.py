"""The examples of the README and of the pages in docs run and print what they say."""

from __future__ import annotations

import doctest
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])


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
