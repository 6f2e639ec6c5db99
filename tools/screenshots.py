"""Write pictures of every page of the studio to docs/images/studio: 1400 and 390 wide, light and dark.

    python tools/screenshots.py [--out DIR] [--chromium PATH] [--axe axe.min.js]

The studio is opened on the built-in tickets, a model is trained, and a few answers are given. With --axe every page is checked by that
file of the npm package axe-core too, and what is serious or critical ends the run with 1.
"""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import signal
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
PAGES = ("data", "train", "errors", "try", "label", "learn")
SIZES = {1400: 1000, 390: 844}
QUALITY = 55
LOUD = ("serious", "critical")


def prepare(page: Any, address: str) -> None:
    """Check the data, train a model and label a few texts."""
    page.goto(f"{address}data")
    page.wait_for_function("document.querySelector('#findings') && !document.querySelector('#findings .wait')")
    page.goto(f"{address}train")
    page.locator("#start").click()
    page.wait_for_selector("#run-title .badge.done")
    page.goto(f"{address}label?new")
    page.get_by_label("Your name").fill("Ann")
    page.get_by_text("Begin", exact=True).click()
    page.wait_for_selector("[data-row]")
    for _ in range(4):
        row = page.get_attribute("#say", "data-row")
        page.keyboard.press("y")
        page.wait_for_function(f"document.querySelector('#say').dataset.row !== '{row}'")


def settle(page: Any, name: str) -> None:
    """Wait until a page is drawn."""
    page.wait_for_selector({"data": "#verdict .badge", "try": ".answer", "learn": "#figure svg", "label": "#say",
                            "errors": "#matrix .cell", "train": "#runs tbody"}[name])  # fmt: skip
    page.wait_for_timeout(700)


def shoot(page: Any, path: Path) -> None:
    """Write what the page shows as WebP."""
    found = page.context.new_cdp_session(page).send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    path.write_bytes(base64.b64decode(found["data"]))


def broken(page: Any, axe: str) -> list[str]:
    """Return what axe finds serious or critical."""
    page.evaluate(axe)
    found = json.loads(page.evaluate("axe.run().then(r => JSON.stringify(r.violations))"))
    return [f"{one['id']}: {one['nodes'][0]['html'][:120]}" for one in found if one["impact"] in LOUD]


def main() -> int:
    """Start a server and a browser, and visit every page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "images" / "studio")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--axe", type=Path)
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    axe, faults = options.axe.read_text(encoding="utf-8") if options.axe else "", 0
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        data = Path(folder) / "tickets.csv"
        shutil.copyfile(str(files("linnet.datasets") / "tickets.csv"), data)
        command = [sys.executable, "-m", "linnet", "studio", str(data), "--label", "queue", "--no-open", "--no-token"]
        with subprocess.Popen([*command, "--folder", f"{folder}/studio"], stdout=subprocess.PIPE, text=True) as server:
            address = server.stdout.readline().strip()  # type: ignore[union-attr]
            browser = play.chromium.launch(executable_path=options.chromium, args=ARGUMENTS)
            try:
                first = browser.new_page()
                first.set_default_timeout(240_000)
                prepare(first, address)
                for scheme in ("light", "dark"):
                    for width, height in SIZES.items():
                        page = browser.new_page(
                            viewport={"width": width, "height": height}, color_scheme=scheme, bypass_csp=bool(axe)
                        )
                        for name in PAGES:
                            page.goto(address + name)
                            settle(page, name)
                            shoot(page, options.out / f"{name}-{width}-{scheme}.webp")
                            for line in broken(page, axe) if axe else []:
                                print(f"{name}, {width} wide, {scheme}: {line}")
                                faults += 1
                        page.close()
            finally:
                browser.close()
                server.send_signal(signal.SIGINT)
    total = sum(path.stat().st_size for path in options.out.glob("*.webp"))
    print(f"{len(list(options.out.glob('*.webp')))} pictures, {total / 1e6:.2f} MB, in {options.out}")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
