"""The documentation site builds without a warning, and its pages ask nothing of other machines."""

from __future__ import annotations

import doctest
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHROMIUM = Path("/usr/bin/chromium")
LOADED = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=[\"']?((?:https?:)?//[^\"'\s>]+)")


def test_tidy():
    spec = importlib.util.spec_from_file_location("tidy", ROOT / "tools/site/tidy.py")
    tidy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tidy)
    assert doctest.testmod(tidy).failed == 0
    assert tidy.tidy("Adds.\n\n>>> 1 + 1\n2\n\nAnd on.") == "Adds.\n\n\n```pycon\n>>> 1 + 1\n2\n```\n\nAnd on."
    kept = "```\nthese:\n- one\n>>> two\n```\n\n- a\n  b\n- c\n\n| d |\n|---|"
    assert tidy.tidy(kept) == kept


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site; links, anchors and references that lead nowhere are errors."""
    for module in ("mkdocs", "material", "mkdocstrings_handlers.python"):
        pytest.importorskip(module, reason="the extra docs is not installed (pip install 'linnet[docs]')")
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "-d",
        str(folder),
    ]  # with -q warnings would not count
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_site(site):
    for page in ROOT.glob("docs/**/*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html")
        if str(name) != "README.html":
            assert (site / (name.parent / "index.html" if name.name == "README.html" else name)).exists(), name
    for page in site.glob("**/*.html"):
        assert not LOADED.findall(page.read_text(encoding="utf-8")), page
    found = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    places = {entry["location"] for entry in found}
    assert {"index.html", "models/nbsvm.html", "tutorials/first-model.html"} <= places
    for name in ("linnet.TextClassifier", "linnet.models.Perceptron", "linnet.solvers.Adam", "linnet.evaluate.mcnemar"):
        assert f"api/{name.rpartition('.')[0]}.html#{name}" in places


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed (Debian package chromium)")
def test_search_from_files(site):
    """Opened as files, the site finds a word, and loads nothing from elsewhere."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (make dev)")
    asked: list[str] = []
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.click("input[name=query]")
        page.keyboard.type("McNemar")  # it listens for keys
        page.wait_for_selector(".md-search-result__item", timeout=20_000)
        browser.close()
    assert asked
    assert all(url.startswith(("file:", "data:", "about:", "blob:")) for url in asked)
