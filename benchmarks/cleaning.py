"""How fast texts are cleaned and duplicates found, on one thread, in megabytes a second.

python benchmarks/cleaning.py --data DIR --json benchmarks/results/cleaning.json

Processor time, the best of several passes, sets of texts interleaved. Texts: IMDB (reviews with <br />), 20 Newsgroups
(mail), and pages made here: reviews wrapped in the markup of a site (menu, scripts, styles, paragraphs with links).
"""

from __future__ import annotations

import argparse
import html
import json
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from linnet.text.clean import RULES, Cleaner
from linnet.text.clean.rules import DEFAULT
from linnet.text.duplicates import exact_groups, near_groups, repeats

PASSES = 5
TARGET = {"html,urls": 30.0}  # MB/s


def page(reviews: list[str], number: int) -> str:
    """Wrap reviews in the markup of a site."""
    menu = "".join(
        f'<li class="nav-item nav-item--level-1"><a class="nav-link" href="https://www.example.org/section/{k}/">Part {k}</a></li>\n'
        for k in range(15)
    )
    script = 'window.data = window.data || []; if (a < b && c > d) { data.push({"page": 1}); }\n' * 20
    style = ".nav-item { display: inline-block; margin: 0 1em } .review p { line-height: 1.5 }\n" * 15
    body = []
    for text in reviews:
        parts = [f"<p>{html.escape(part, quote=False)}</p>\n" for part in text.split("<br /><br />")]
        link = f'<a href="https://www.example.org/review/{number}" rel="nofollow">https://www.example.org/review/{number}</a>'
        head = f'<article class="review review--long" data-id="{number}"><h2>Review</h2>\n'
        body.append(f"{head}{''.join(parts)}<p>More at {link}</p></article>\n")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Reviews &amp; more</title>\n<script>{script}</script>\n'
        f'<style>{style}</style></head>\n<body><div id="page"><ul class="nav">{menu}</ul>\n{"".join(body)}<!-- end --></div></body></html>'
    )


def corpora(folder: Path) -> dict[str, list[str]]:
    """Read what is measured, about 10 MB each."""
    imdb = pq.read_table(folder / "imdb" / "train.parquet").column("text").to_pylist()
    news = pq.read_table(folder / "20newsgroups" / "train.parquet").column("text").to_pylist()
    pages = [page(imdb[k : k + 5], k) for k in range(0, 5000, 5)]
    return {"imdb": imdb[:8000], "20newsgroups": news[:5000], "pages": pages}


def best(work: Callable[[], Any], passes: int) -> float:
    """Return the least processor time of some passes."""
    least = float("inf")
    for _ in range(passes):
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
    return least


def clean_all(cleaner: Cleaner, rows: list[str]) -> None:
    """Clean texts one by one, as a stream does: nothing is kept."""
    for text in rows:
        cleaner.clean(text)


def measure_rules(texts: dict[str, list[str]], passes: int) -> list[dict[str, Any]]:
    specs = ["html,urls", *RULES, ",".join(DEFAULT)]
    sizes = {name: sum(len(text.encode()) for text in rows) / 1e6 for name, rows in texts.items()}
    cleaners = {spec: Cleaner(spec) for spec in specs}
    least: dict[tuple[str, str], float] = {}
    for _ in range(passes):
        for spec, cleaner in cleaners.items():
            for name, rows in texts.items():
                seconds = best(partial(clean_all, cleaner, rows), 1)
                least[spec, name] = min(seconds, least.get((spec, name), float("inf")))
    return [{"rules": spec, **{name: round(sizes[name] / least[spec, name], 1) for name in texts}} for spec in specs]


def measure_duplicates(folder: Path, passes: int) -> list[dict[str, Any]]:
    parts = [
        pq.read_table(folder / "imdb" / f"{part}.parquet").column("text").to_pylist() for part in ("train", "test")
    ]
    rows = parts[0] + parts[1]
    size = sum(len(text.encode()) for text in rows) / 1e6
    ways: dict[str, Callable[[], Any]] = {
        "exact": lambda: exact_groups(rows),
        "words": lambda: exact_groups(rows, "words"),
        "near 0.8": lambda: near_groups(rows, 0.8, threads=1),
        "near 0.5": lambda: near_groups(rows, 0.5, threads=1),
    }
    out = []
    for name, work in ways.items():
        seconds = best(work, passes)
        found = int(repeats(work()).sum())
        speed = round(size / seconds, 1)
        out.append(
            {"kind": name, "rows": len(rows), "seconds": round(seconds, 2), "mb_per_second": speed, "repeats": found}
        )
    with_rensa = rensa(rows)
    return [*out, with_rensa] if with_rensa else out


def rensa(rows: list[str]) -> dict[str, Any] | None:
    """The same sketches and bands with rensa, as a peer: word shingles, 126 minima, 21 bands, no verification."""
    try:
        from rensa import RMinHash, RMinHashLSH
    except ImportError:
        return None

    def work() -> int:
        index = RMinHashLSH(threshold=0.8, num_perm=126, num_bands=21)
        hits = 0
        for k, text in enumerate(rows):
            words = text.lower().split()
            sketch = RMinHash(num_perm=126, seed=1)
            sketch.update([" ".join(words[i : i + 3]) for i in range(max(1, len(words) - 2))])
            hits += bool(index.query(sketch))
            index.insert(k, sketch)
        return hits

    began = time.process_time()
    hits = work()
    return {"kind": "rensa", "rows": len(rows), "seconds": round(time.process_time() - began, 2), "repeats": hits}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--passes", type=int, default=PASSES)
    options = parser.parse_args()
    texts = corpora(options.data)
    speeds = measure_rules(texts, options.passes)
    found = {
        "unit": "MB/s of processor time, one thread, best of passes", "passes": options.passes,
        "python": platform.python_version(), "machine": platform.machine(), "target": TARGET,
        "speeds": speeds, "duplicates": measure_duplicates(options.data, max(1, options.passes // 2)),
    }  # fmt: skip
    for row in speeds:
        print(f"{row['rules']:<50}" + "".join(f"{name:>14} {row[name]:>8.1f}" for name in texts))
    for row in found["duplicates"]:  # type: ignore[attr-defined]
        print(row)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
