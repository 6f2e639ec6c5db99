"""The same model file on any processor, in any folder and locale: what tools/same_bytes.py trains and compares."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import linnet

TOOL = Path(__file__).parent.parent / "tools" / "same_bytes.py"


def same_bytes(*options: str) -> str:
    done = subprocess.run([sys.executable, str(TOOL), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_vector_code_of_numpy_does_not_matter():
    assert "as it is: 4 of 4 files the same" in same_bytes("--quick")


@pytest.mark.slow
def test_nothing_of_the_machine_matters():
    assert "another folder" in same_bytes()


def test_the_folder_is_not_in_the_model(tmp_path):
    made = []
    for name in ("here", "there and elsewhere"):
        folder = tmp_path / name
        folder.mkdir()
        rows = ("text,label\ngood film,pos\nbad film,neg\nso good,pos\nso bad,neg\n" * 3).encode()
        (folder / "rows.csv").write_bytes(rows)
        clf = linnet.TextClassifier("nb", features="words:1").fit(linnet.read(folder / "rows.csv"))
        assert clf.card["data"]["source"] == "rows.csv"
        clf.save(folder / "m.linnet")
        made.append((folder / "m.linnet").read_bytes())
    assert made[0] == made[1]
