"""The package as a whole: imports point one way, importing is light, docstring examples run."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import linnet

ORDER = [
    "errors", "files", "units", "engines", "_kernels", "data", "datasets", "text", "features", "solvers", "models", "model",
    "evaluate", "explain", "choosing", "laying", "training", "classifier", "comparison", "checks", "report", "tuning",
    "serve", "filter", "streaming", "studio", "cli",
]  # fmt: skip
ROOT = Path(linnet.__file__).parent
# Imports inside functions may look up: the front door calls the rooms behind it when it is used.


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = set()
    for node in tree.body:  # module level only
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("linnet"):
            found.add(node.module if "." in node.module else f"linnet.{node.names[0].name}")
        elif isinstance(node, ast.Import):
            found |= {a.name for a in node.names if a.name.startswith("linnet.")}
    return found


MODULES = sorted(p for p in ROOT.rglob("*.py") if p.name != "__main__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down_the_list(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    here = parts[0]
    if here == "__init__":
        return
    for module in imports_of(path):
        there = part_of(module)
        if there in ORDER:
            assert ORDER.index(there) <= ORDER.index(here), f"{here} imports {module}"


def test_import_is_light():
    code = "import linnet, sys; print(sorted({m.split('.')[0] for m in sys.modules} & {'numpy','scipy','sklearn','pyarrow','pandas'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    code = code.replace("import linnet,", "import linnet; linnet.TextClassifier; import")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "scipy" not in done.stdout
    assert "sklearn" not in done.stdout


def names() -> list[str]:
    return sorted(m.name for m in pkgutil.walk_packages([str(ROOT)], "linnet.") if not m.name.endswith("__main__"))


@pytest.mark.parametrize("name", ["linnet", *names()])
def test_docstring_examples(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_version_is_that_of_the_metadata():
    from importlib.metadata import version

    assert version("linnet") == linnet.__version__


def test_everything_public_is_documented_and_there():
    for name in linnet.__all__:
        assert getattr(linnet, name) is not None
    assert (ROOT / "py.typed").exists()
