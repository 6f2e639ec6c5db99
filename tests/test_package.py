"""The package as a whole: imports point one way, importing is light, docstring examples run."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import linnet

ORDER = [
    "errors", "estimator", "files", "units", "values", "draw", "engines", "_kernels", "arithmetic", "data", "datasets", "text", "features",
    "solvers", "models", "model", "evaluate", "explain", "export", "pipeline", "importing", "classifier", "compat", "figures", "reproduce",
    "comparison", "checks", "report", "tuning",
    "serve", "filter", "studio", "cli",
]  # fmt: skip
ROOT = Path(linnet.__file__).parent
POSIX_PACKAGES = ["fastapi", "uvicorn.server", "httptools", "nicegui", "distributed", "numpy", "pyarrow.dataset"]
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


def test_training_predicting_and_comparing_need_numpy_and_pyarrow_only():
    code = """
import sys
for name in ("scipy", "sklearn", "threadpoolctl", "safetensors", "pandas", "polars"):
    sys.modules[name] = None
import linnet
from linnet.datasets import whole
from linnet.errors import NotFittedError
data = whole("reviews")
clf = linnet.TextClassifier("svm", features="words:1").fit(data)
clf.save("m.linnet")
print(linnet.load("m.linnet").predict(["A wonderful book."])[0], clf.explain("A wonderful book.").label)
print(linnet.compare(data, models="nb,svm", folds=2).recommended in ("nb", "svm"))
for wrong, kind in (
    (lambda: linnet.features.Vectorizer().fit_transform(["a"]), linnet.MissingExtraError),
    (lambda: linnet.models.LinearSVM().predict([[1.0]]), NotFittedError),
):
    try:
        wrong()
    except kind as error:
        print(error)
"""
    code = code.replace("import linnet\n", "import linnet, linnet.features, linnet.models\n")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    assert done.stdout.splitlines() == [
        "positive positive",
        "True",
        "a sparse matrix needs an optional package; install it with: pip install 'linnet[sklearn]'",
        "This LinearSVM instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator.",
    ]


def test_importing_needs_nothing_that_only_posix_has():
    """Every module is imported where the modules and names that Windows lacks are missing."""
    code = f"""
import asyncio, importlib, multiprocessing.connection, os, signal, socket, subprocess, sys
for name in {POSIX_PACKAGES}:
    importlib.import_module(name)  # they look at the system for themselves
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in ("fork", "getuid", "sched_getaffinity", "kill", "getppid", "sysconf"):
    delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "SIGCHLD", "SIGUSR1", "pthread_sigmask"):
    delattr(signal, name)
for name in {names()}:
    importlib.import_module(name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


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


def test_the_package_imports_no_reference_code():
    modules = [p for p in ROOT.rglob("*") if p.suffix in (".py", ".pyx", ".pxd", ".pyi")]
    assert not [p for p in modules if "twin" in p.name]
    lines = [line for p in modules for line in p.read_text(encoding="utf-8").splitlines()]
    assert not [line for line in lines if re.match(r"\s*(from|import|cimport) (\w+\.)*(reference|twins)\b", line)]


@pytest.mark.parametrize("name", sorted(p.stem for p in (Path(__file__).parent / "reference").glob("[a-z]*.py")))
def test_docstring_examples_of_the_reference(name):
    assert doctest.testmod(importlib.import_module(f"reference.{name}")).failed == 0


def test_no_class_name_has_two_meanings():
    found: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
