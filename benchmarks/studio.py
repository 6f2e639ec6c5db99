"""How quick are the pages of the studio? Seconds to the data page, milliseconds from a key to the answer, with 150 classes too.

    python benchmarks/studio.py [--data DIR] [--json OUT] [--chromium PATH]

Needs the extra `studio`, playwright and a chromium. A server is started on a free port; the browser opens the 25,000
reviews by their path (reading, verdict, balance, Zipf's law: everything but the slow checks, which come after), trains
the recommended model, and types a sentence. Then CLINC150 is opened, a model with 150 classes answers keys on the Try page, and 40 texts
are labelled by key. Last come 100,000 rows: until their number, classes and lengths can be read. A key's time ends when the page has
changed. Seconds are of the clock, so
look at the load beside them; those of the server's processor are given too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
SENTENCE = "A wonderful film, though far too long, and the end is dull"
WATCH = """() => {
  window.times = []; let began = 0;
  document.querySelector("textarea").addEventListener("input", () => { began = performance.now(); });
  new MutationObserver(() => { if (began) { window.times.push(performance.now() - began); began = 0; } })
    .observe(document.querySelector("#verdicts"), { subtree: true, childList: true, characterData: true });
}"""


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


LABEL = """() => {
  window.times = []; let began = 0;
  document.addEventListener("keydown", () => { began = performance.now(); }, true);
  new MutationObserver(() => { if (began) { window.times.push(performance.now() - began); began = 0; } })
    .observe(document.querySelector("#say"), { subtree: true, childList: true, characterData: true, attributes: true });
}"""


def open_file(page: Any, address: str, file: Path) -> float:
    """Open a file by its path; return the seconds until its number of rows, classes and lengths can be read."""
    page.goto(f"{address}data")
    page.get_by_label("Path of a CSV").fill(str(file))
    began = time.perf_counter()
    page.get_by_text("Open", exact=True).click()
    page.wait_for_function("f => document.querySelector('main h2')?.innerText === f", arg=file.name)
    page.wait_for_selector("#lengths svg")
    return time.perf_counter() - began


def keys(page: Any, watch: str, act: Any) -> dict[str, float]:
    """Return the median and the 90th percentile of the times that the page takes to change."""
    page.evaluate(watch)
    act()
    page.wait_for_timeout(1000)
    times = sorted(page.evaluate("window.times"))
    return {"keys": len(times), "median_ms": times[len(times) // 2], "p90_ms": times[int(len(times) * 0.9)]}


def many_classes(page: Any, address: str, file: Path) -> dict[str, dict[str, float]]:
    """Train on CLINC150, type on the Try page, and label 40 texts by key."""
    open_file(page, address, file)
    page.goto(f"{address}train")
    page.get_by_label("Preset").click()
    page.get_by_role("option", name="Fast").click()
    page.locator("#start").click()
    page.wait_for_selector("#run-title .badge.done")
    page.goto(f"{address}try")
    page.wait_for_selector(".answer")
    page.locator("textarea").fill("")
    tried = keys(page, WATCH, lambda: page.locator("textarea").press_sequentially(SENTENCE, delay=150))
    page.goto(f"{address}label?new")
    page.get_by_text("Begin", exact=True).click()
    page.wait_for_selector("[data-row]")

    def label() -> None:
        for k in range(40):
            row = page.get_attribute("#say", "data-row")
            page.keyboard.press("123456789"[k % 9])
            page.wait_for_function(f"document.querySelector('#say').dataset.row !== '{row}'")
            page.wait_for_timeout(400)  # as a quick reader would

    return {"try_150": tried, "label_150": keys(page, LABEL, label)}


def many_rows(page: Any, address: str, folder: Path) -> float:
    """Open 100,000 rows; return the seconds until they can be seen."""
    file = folder / "many.csv"
    words = [
        "the",
        "a",
        "of",
        "and",
        "film",
        "book",
        "parcel",
        "order",
        "late",
        "early",
        "good",
        "bad",
        "never",
        "again",
        "which",
        "about",
    ]
    rows = (
        f"{' '.join(words[(7 * k + j * j) % len(words)] for j in range(12))} {k},{'ab'[k % 2]}\n"
        for k in range(100_000)
    )
    file.write_text("text,label\n" + "".join(rows), encoding="utf-8")
    return open_file(page, address, file)


def measure(page: Any, address: str, file: Path, pid: int) -> dict[str, Any]:
    """Open, train, type; return the figures."""
    page.set_default_timeout(600_000)
    page.goto(f"{address}data")
    page.get_by_label("Path of a CSV").fill(str(file))
    began, spent = time.perf_counter(), processor_seconds(pid)
    page.get_by_text("Open", exact=True).click()
    page.wait_for_selector("#zipf svg")
    page.wait_for_selector("#verdict .badge")
    data, data_processor = time.perf_counter() - began, processor_seconds(pid) - spent
    page.wait_for_function("!document.querySelector('#findings .wait')")
    checked = time.perf_counter() - began
    page.goto(f"{address}data")
    began = time.perf_counter()
    page.reload()
    page.wait_for_selector("#verdict .badge")
    again = time.perf_counter() - began
    page.goto(f"{address}train")
    page.locator("#start").click()
    page.wait_for_selector("#run-title .badge.done")
    page.goto(f"{address}try")
    page.wait_for_selector(".answer")
    page.locator("textarea").fill("")
    page.evaluate(WATCH)
    page.locator("textarea").press_sequentially(SENTENCE, delay=100)
    page.wait_for_timeout(1000)
    times = sorted(page.evaluate("window.times"))
    return {
        "data_page_s": data, "data_page_processor_s": data_processor, "all_checks_s": checked, "data_page_again_s": again,
        "keys": len(times), "try_median_ms": times[len(times) // 2], "try_p90_ms": times[int(len(times) * 0.9)],
    }  # fmt: skip


def main() -> None:
    """Start a server and a browser, print the figures, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "../shared/data"))
    parser.add_argument("--json")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    file = Path(options.data).resolve() / "imdb" / "train.parquet"
    if not file.exists():
        raise SystemExit(f"{file}: no such file; point --data or LINNET_DATA at the data sets")
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        command = [sys.executable, "-m", "linnet", "studio", "--no-open", "--no-token", "--folder", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            address = server.stdout.readline().strip()  # type: ignore[union-attr]
            browser = play.chromium.launch(executable_path=options.chromium, args=ARGUMENTS)
            try:
                found = measure(browser.new_page(), address, file, server.pid)
                page = browser.new_page()
                page.set_default_timeout(600_000)
                found |= many_classes(page, address, file.parents[1] / "clinc150" / "train.csv")
                found["rows_100000_s"] = many_rows(page, address, Path(folder))
            finally:
                browser.close()
                server.send_signal(signal.SIGINT)
    load = os.getloadavg()[0]
    print(
        f"data page of 25,000 reviews: {found['data_page_s']:.1f} s ({found['data_page_processor_s']:.1f} s of processor), target 5 s"
    )
    print(
        f"all checks, label errors too: {found['all_checks_s']:.1f} s; data page again: {found['data_page_again_s']:.1f} s"
    )
    keys = f"median {found['try_median_ms']:.0f} ms, p90 {found['try_p90_ms']:.0f} ms over {found['keys']} keys"
    print(f"Try, key to answer: {keys}, target 100 ms")
    for name, target in (("try_150", 150), ("label_150", 80)):
        one = found[name]
        print(
            f"{name}, key to answer: median {one['median_ms']:.0f} ms, p90 {one['p90_ms']:.0f} ms, target {target} ms"
        )
    print(f"100,000 rows visible: {found['rows_100000_s']:.1f} s, target 2 s")
    print(f"load of the machine: {load:.1f} on {os.cpu_count()} cores")
    if options.json:
        machine = {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "load": load,
        }
        about = {"date": datetime.now(UTC).date().isoformat(), "machine": machine}
        Path(options.json).write_text(json.dumps({**about, **found}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
