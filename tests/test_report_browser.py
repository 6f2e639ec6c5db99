"""The report in a real browser: nothing fetched, no complaint, charts drawn, a cell opens its texts, fits a phone."""

from __future__ import annotations

from pathlib import Path

import pytest

import linnet
from linnet.datasets import load

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed (Debian package chromium)"),
]
EVIL = (
    "<script>document.title='owned'</script><img src='http://example.invalid/x.png' onerror=\"document.title='owned'\">"
)


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as play:
        found = play.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    train, dev, test = load("reviews")
    clf = linnet.TextClassifier("svm", features="words:1-2", refit=False).fit(train, dev=dev)
    path = tmp_path_factory.mktemp("report") / "r.html"
    texts = [f"{text} {EVIL}" for text in test.text.to_pylist()]
    linnet.Report(clf, texts, test.label_list(), title=f"A report {EVIL}").save(path)
    return path


class Opened:
    def __init__(self, browser, file, **context):
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.page.set_default_timeout(120_000)  # a busy machine is slow, not wrong
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(file.as_uri())


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_opens_without_a_word(browser, file, width, scheme):
    opened = Opened(browser, file, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = opened.page
    assert opened.requests == [file.as_uri()]
    assert opened.complaints == []
    assert page.locator("svg.chart").count() >= 6
    assert page.evaluate("document.documentElement.scrollWidth") <= width  # no sideways scrolling
    assert page.title().startswith("A report <script>")
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 26)")
    opened.context.close()


def test_a_cell_shows_its_texts(browser, file):
    opened = Opened(browser, file)
    page = opened.page
    cell = page.locator(".cell.wrong").first
    n = int(cell.inner_text())
    assert page.locator("#texts li").count() == 0
    cell.click()
    assert page.locator("#texts li").count() == n
    assert "<script>" in page.locator("#texts li").first.inner_text()  # shown, not run
    assert page.title().startswith("A report")
    page.keyboard.press("Escape")
    assert page.locator("#texts li").count() == 0
    assert opened.requests == [file.as_uri()]
    assert opened.complaints == []
    opened.context.close()


def test_cells_by_keyboard(browser, file):
    opened = Opened(browser, file)
    page = opened.page
    page.locator(".cell").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    where = page.evaluate("document.activeElement.dataset.cell")
    assert where == "1,1"
    page.keyboard.press("Enter")
    assert page.locator("#texts li").count() > 0
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.cell") == where
    opened.context.close()


def test_prints(browser, file):
    opened = Opened(browser, file, color_scheme="dark")
    opened.page.emulate_media(media="print")
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(opened.page.pdf()) > 20_000
    opened.context.close()
