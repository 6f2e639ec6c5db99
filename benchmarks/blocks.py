"""How fast are the feature blocks? Megabytes of text a second, one thread, in the kernel alone.

    python benchmarks/blocks.py [--data DIR] [--json OUT] [--rounds N]

Each block turns 20 MB of IMDB reviews into fingerprints with their places; computed blocks into their values. Blocks
take turns, the best of several rounds counts, so that a busy machine slows all alike; seconds are those of the processor, not of the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from linnet._kernels.text import Scratch, emit_chunk
from linnet.features.blocks import Block, compile_blocks, parse
from linnet.features.buffers import TextBuffer, text_buffers

TARGET = 50.0  # MB/s
BLOCKS = [
    "words:1", "words:1-3", "chars:3-5", "chars:2-6", "across:3-5", "skips:2", "negated:1", "negated:1-2", "not:1",
    "position:1", "affixes:2-4", "shapes:1",
]  # fmt: skip


def emitting(block: Block, piece: TextBuffer) -> Callable[[], None]:
    """Return a run of one kernel block over all documents."""
    scratch, compiled = Scratch(piece.longest(), room=1 << 20), compile_blocks((block,))
    ends = np.empty(4096, dtype=np.int64)

    def run() -> None:
        d = 0
        while d < len(piece):
            d += emit_chunk(piece.data, piece.offsets, d, len(piece), compiled, scratch, ends)

    return run


def runs(data: Path, piece: TextBuffer) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name."""
    found: dict[str, Callable[[], Any]] = {}
    lists = data / "lexicons"
    computed = ["lengths", *(f"lists:{p}" for p in sorted(lists.glob("*.csv")))]
    for text in [*BLOCKS, *computed]:
        block = parse(text)[0]
        if isinstance(block, Block):
            found[text] = emitting(block, piece)
        else:
            found[text.replace(f"{lists}/", "")] = lambda block=block: block.values_of(piece)  # type: ignore[misc]
    return found


def main() -> None:
    """Time every block, print a line each, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "../shared/data"))
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    source = Path(options.data) / "imdb" / "train.parquet"
    if not source.exists():
        raise SystemExit(f"{source}: no such file; point --data or LINNET_DATA at the data sets")
    texts = pq.read_table(source)["text"].to_pylist()
    sizes = np.cumsum([len(t.encode()) for t in texts])
    piece = text_buffers(texts[: int(np.searchsorted(sizes, 20e6))])[0]
    megabytes = float(piece.offsets[-1] - piece.offsets[0]) / 1e6
    timed = runs(Path(options.data), piece)
    best = dict.fromkeys(timed, float("inf"))
    for _ in range(options.rounds):
        for name, run in timed.items():
            began = time.thread_time()
            run()
            best[name] = min(best[name], time.thread_time() - began)
    results = [{"block": name, "mb_per_s": megabytes / seconds} for name, seconds in best.items()]
    for row in results:
        print(f"{row['block']:<22} {row['mb_per_s']:8.1f} MB/s{'' if row['mb_per_s'] >= TARGET else '  BELOW TARGET'}")
    if options.json:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
        about = {"date": datetime.now(UTC).date().isoformat(), "machine": machine, "megabytes": megabytes, "threads": 1}
        content = {**about, "target_mb_per_s": TARGET, "results": results}
        Path(options.json).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
