"""The companion to the lecture notes: its checklist is what runs, and its notebooks run."""

from __future__ import annotations

import ast
import gzip
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from linnet.cli import linnet
from linnet.errors import DataError

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


# ---- linnet reproduce, on a mirror of a few rows

WORDS = {"pos": ["good", "fun", "great"], "neg": ["bad", "dull", "poor"]}


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    monkeypatch.setenv("LINNET_DATA", str(tmp_path))
    rows = [
        (f"{words[k % 3]} film {words[(k + 1) % 3]} {k}", label) for k in range(20) for label, words in WORDS.items()
    ]
    for name, files in {"movie_reviews": ["all"], "rt_polarity": ["all"], "trec": ["train", "test"]}.items():
        (tmp_path / name).mkdir()
        for file in files:
            lines = "".join(f"{label},{text}\n" for text, label in rows)
            (tmp_path / name / f"{file}.csv").write_text("label,text\n" + lines)
    (tmp_path / "movie_reviews/folds.csv").write_text("fold\n" + "".join(f"{k % 10}\n" for k in range(40)))
    (tmp_path / "mnist").mkdir()
    digits = np.arange(30, dtype=np.uint8) % 10
    for part in ("train", "t10k"):
        pictures = np.zeros((30, 28, 28), np.uint8)
        pictures[np.arange(30), digits, digits] = 255
        for kind, values in (("images-idx3", pictures), ("labels-idx1", digits)):
            head = bytes([0, 0, 8, values.ndim]) + b"".join(n.to_bytes(4, "big") for n in values.shape)
            (tmp_path / f"mnist/{part}-{kind}-ubyte.gz").write_bytes(gzip.compress(head + values.tobytes()))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ("pang2002 --row bigrams", lambda r: r[0]["ours"]["NB"]),
        ("wang2012 --sets rt_polarity --row MNB-bi", lambda r: r[0]["cells"]["rt_polarity"]["ours"]),
        ("kim2014 --sets trec --row nb", lambda r: r[0]["cells"]["trec"]["ours"]),
        ("ng2002 --sets rt_polarity --sizes 8,16 --repeats 2", lambda r: r[0]["sizes"][1]["nb"]),
        ("mnist --passes 60 --row the_listing's_settings", lambda r: 100 * r[0]["accuracy"]),
    ],
)
def test_tables_are_made_again(mirror, arguments, value):
    words = [*(word.replace("_", " ") if "listing" in word else word for word in arguments.split()), "--json", "-"]
    done = CliRunner().invoke(linnet, ["reproduce", *words])
    assert done.exit_code == 0, done.output
    assert value(json.loads(done.stdout)["results"]) > 70.0
    shown = CliRunner().invoke(linnet, ["reproduce", *words[:-2]])
    assert len(shown.stdout.splitlines()) >= 2


def test_what_is_missing_is_said_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("LINNET_DATA", str(tmp_path))
    for table, said in (
        ("mnist", "fetch the four files of MNIST"),
        ("pang2002", "put its files under LINNET_DATA/movie_reviews"),
    ):
        done = CliRunner().invoke(linnet, ["reproduce", table])
        assert isinstance(done.exception, DataError)
        assert said in str(done.exception)
    done = CliRunner().invoke(linnet, ["reproduce", "wang2012", "--row", "MNB"])
    assert "unknown row 'MNB'" in str(done.exception)
