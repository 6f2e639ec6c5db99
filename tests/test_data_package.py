"""The package itself: examples run, and reading costs no imports that prediction does not need."""

import doctest
import importlib
import os
import pkgutil
import subprocess
import sys
import textwrap

import pytest

import linnet.data

MODULES = ["linnet.data", *(f"linnet.data.{module.name}" for module in pkgutil.iter_modules(linnet.data.__path__))]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def loaded(script, *names):
    """Which of the named modules a script imports."""
    code = textwrap.dedent(script) + f"\nimport sys; print([name for name in {names!r} if name in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return result.stdout.strip()


HEAVY = ("pandas", "scipy", "sklearn", "polars")


def test_import_is_light():
    found = loaded("import linnet.data", *HEAVY, "pyarrow.csv", "pyarrow.parquet", "pyarrow.json", "pyarrow.compute")
    assert found == "[]"


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.txt", "x.ft", "x.tsv", "folder"])
def test_reading_imports_nothing_heavy(tmp_path, name):
    path = tmp_path / name
    if name == "folder":
        for label in ("a", "b"):
            (path / label).mkdir(parents=True)
            (path / label / "1.txt").write_text("some text")
    else:
        rows = {
            "x.csv": "label,text\na,x y\nb,\na,p,q\nb,z\0\n",
            "x.tsv": "label\ttext\na\tx\nb\ty\n",
            "x.jsonl": '{"text": "a", "label": 1}\n{"text": "b", "label": 2.5}\n{broken\n',
            "x.ft": "__label__a x\n__label__b y\n",
        }
        path.write_text(rows.get(name, "one\ntwo\n\n"))
    script = f"""
        from linnet.data import Dataset, read, stream
        data = read({str(path)!r})
        data.split(), data.take([0]), data.describe(), repr(data), data.labels
        for batch in stream({str(path)!r}):
            len(batch.unusable)
        read(["a", "b"]), Dataset.from_lists(["a", ""], [1, 2])
    """
    assert loaded(script, *HEAVY) == "[]"


def test_reading_parquet_imports_nothing_heavy(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": ["a", None], "label": [1.5, 2.0]}), path)
    script = f"""
        from linnet.data import read, stream
        read({str(path)!r}), [len(batch) for batch in stream({str(path)!r})]
    """
    assert loaded(script, *HEAVY) == "[]"
