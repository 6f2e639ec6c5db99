"""The companion to the lecture notes: its checklist is what runs, and its notebooks run."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import notebooks  # noqa: E402

SPEC = importlib.util.spec_from_file_location(
    "checklist", ROOT / "tools/coverage.py"
)  # another package is called coverage
checklist = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(checklist)


@pytest.mark.slow
def test_the_checklist_is_what_runs(capsys):
    assert checklist.main(["--check"]) == 0, capsys.readouterr().err


def test_every_item_passes():
    page = (ROOT / "docs/notes/coverage.md").read_text(encoding="utf-8")
    assert page.count("| pass |") > 100
    assert "| **fail** |" not in page
    assert "| not run |" not in page


@pytest.mark.slow
@pytest.mark.parametrize("name", notebooks.LECTURES)
def test_a_notebook_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    book = json.loads(notebooks.notebooks()[f"{name}.ipynb"])
    assert {cell["cell_type"] for cell in book["cells"]} == {"markdown", "code"}
    names = {"__name__": "__main__"}
    for cell in book["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            exec(compile(ast.parse(source), name, "exec"), names)
        else:
            assert "](../" not in source
            assert "](may" not in source
