"""How fast the tokenisers are, one thread, in one process, taking turns; the best of some repeats.

    python benchmarks/tokenisers.py [--data FOLDER] [--repeat 5] [--texts 4000] [--json FILE]

kernel: cut, fold and hash, what training and prediction do. Python: the same as lists of Python strings. The texts are
the first of IMDB's training set; BPE and WordPiece (library tokenizers) are learned from them first, and that is timed
on its own. The last lines are str.split and scikit-learn's pattern in Python's re, for scale.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from linnet._kernels.text import Scratch, emit_chunk
from linnet.features.blocks import Words, compile_blocks
from linnet.features.buffers import TextBuffer, text_buffers
from linnet.text import TOKENS, Subword, words_of

PATTERN = re.compile(r"(?u)\b\w\w+\b")


def seconds(task: Callable[[], Any]) -> float:
    """Time one call."""
    began = time.perf_counter()
    task()
    return time.perf_counter() - began


def kernel(piece: TextBuffer, tokens: str) -> Callable[[], None]:
    """Return the task of cutting and hashing every text in the kernel."""
    scratch, ends = Scratch(piece.longest(), 1 << 20), np.empty(4096, np.int64)
    compiled = compile_blocks((Words(1, 1, tokens=tokens),))

    def task() -> None:
        d = 0
        while d < len(piece):
            d += emit_chunk(piece.data, piece.offsets, d, len(piece), compiled, scratch, ends)

    return task


def tasks_of(texts: list[str], size: int) -> tuple[dict[str, dict[str, Callable[[], Any]]], dict[str, float]]:
    """Return the tasks by tokeniser and column, and the seconds that learning took."""
    piece = text_buffers(texts)[0]
    tasks: dict[str, dict[str, Callable[[], Any]]] = {
        name: {"kernel": kernel(piece, name), "python": lambda name=name: [0 for _ in words_of(texts, name)]}
        for name in TOKENS
    }
    learning = {}
    try:
        for name in ("bpe", "wordpiece"):
            began = time.perf_counter()
            learned = Subword.train(name, texts, size)
            learning[name] = time.perf_counter() - began
            tasks[name] = {"python": lambda learned=learned: [e.tokens for e in learned.encoded(texts)]}
    except ImportError as error:
        print(error)
    tasks["str.split"] = {"python": lambda: [t.split() for t in texts]}
    tasks["re"] = {"python": lambda: [PATTERN.findall(t.lower()) for t in texts]}
    return tasks, learning


def main() -> None:
    """Read, time by turns, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "../shared/data"))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--texts", type=int, default=4000)
    parser.add_argument("--size", type=int, default=8000, help="pieces of the learned tokenisers")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    path = Path(options.data) / "imdb" / "train.parquet"
    if not path.exists():
        print(f"{path} is absent: point --data or LINNET_DATA at the data sets")
        return
    import pyarrow.parquet

    texts = pyarrow.parquet.read_table(path, columns=["text"])["text"].to_pylist()[: options.texts]
    megabytes = sum(len(t.encode()) for t in texts) / 1e6
    tasks, learning = tasks_of(texts, options.size)
    best: dict[str, dict[str, float]] = {name: {} for name in tasks}
    for _ in range(options.repeat):
        for name, columns in tasks.items():
            for column, task in columns.items():
                best[name][column] = min(seconds(task), best[name].get(column, float("inf")))
    rates = {name: {c: megabytes / s for c, s in columns.items()} for name, columns in best.items()}
    print(f"{len(texts):,} texts, {megabytes:.1f} MB, one thread, best of {options.repeat}; MB/s\n")
    print(f"{'tokens':<12}{'kernel':>10}{'Python':>10}{'learning':>12}")
    for name, row in rates.items():
        cells = [f"{row[c]:.1f}" if c in row else "-" for c in ("kernel", "python")]
        print(f"{name:<12}{cells[0]:>10}{cells[1]:>10}{f'{learning[name]:.1f} s' if name in learning else '':>12}")
    if options.json:
        about = {"data": "imdb/train.parquet", "texts": len(texts), "megabytes": megabytes, "repeat": options.repeat}
        about["pieces"] = options.size
        options.json.write_text(
            json.dumps({**about, "mb_per_second": rates, "learning_seconds": learning}, indent=2) + "\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
