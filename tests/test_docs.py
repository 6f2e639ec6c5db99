"""The README's Python example runs and prints what it says."""

from __future__ import annotations

import doctest
import os
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.skipif(not README.exists(), reason="run from a source tree")
def test_readme(tmp_path):
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        result = doctest.testfile(str(README), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    finally:
        os.chdir(here)
    assert result.attempted >= 6
    assert result.failed == 0
