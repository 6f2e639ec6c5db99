"""``linnet train`` on more text than memory: when the data are read as a stream, and the run."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linnet.cli.labelled_rows import multilabel
from linnet.cli.output import say, write_unusable
from linnet.errors import LinnetError

if TYPE_CHECKING:
    from linnet.classifier import TextClassifier
    from linnet.pipeline.stream import StreamResult

__all__ = ["train_streamed"]


def limit_for(data: tuple[str, ...], given: str | None) -> int | None:
    """Return the memory to stay within, or None where DATA is one file that fits."""
    from linnet.data.shards import find_shards, size_of
    from linnet.pipeline.budget import LEAST, available, memory_needed
    from linnet.units import as_bytes

    if given is not None:
        return as_bytes(given, "--max-memory")
    if len(data) == 1 and (data[0] == "-" or data[0].startswith("hub:")):
        return None
    shards, free = find_shards(data), available()
    needed = memory_needed(sum(map(_unpacked, shards)) if len(shards) > 1 else _unpacked(shards[0]))
    if needed > 0.8 * free:
        size = sum(map(size_of, shards))
        say(f"{size / 1e9:,.1f} GB of input may not fit in {free / 1e9:,.1f} GB of memory: reading it as a stream")
        return max(LEAST, free // 2)
    return None if len(shards) == 1 and not _inside(data, shards) else max(LEAST, free * 4 // 5)


def _inside(data: tuple[str, ...], shards: list[Path]) -> bool:
    """Say whether the one shard is not what was named: the only file of a folder or pattern."""
    return shards[0] != Path(data[0])


def _unpacked(path: Path) -> int:
    """Return about how many bytes of text a file holds: packed ones four times their size, columns twice."""
    from linnet.data.shards import size_of

    packed = path.suffix.lower() in (".gz", ".gzip", ".zst", ".zstd", ".bz2")
    return size_of(path) * (4 if packed else 2 if path.suffix.lower() in (".parquet", ".pq") else 1)


def train_streamed(clf: TextClassifier, data: tuple[str, ...], options: dict[str, Any]) -> StreamResult | None:
    """Train on a stream where that is asked for or needed; None where ordinary training will do."""
    engine = options["engine"]
    if engine is None and (options["workers"] or options["scheduler"]):
        raise LinnetError("--workers and --scheduler belong to an engine; add --engine local, dask or spark")
    limit = limit_for(data, options["max_memory"])
    if limit is None and engine is None:
        return None
    for name in ("weight", "label_columns", "label_smoothing", "label_bins", "label_quantiles"):
        if options[name]:
            raise LinnetError(
                f"--{name.replace('_', '-')} needs all rows in memory: leave out --max-memory and --engine"
            )
    if options["report"]:
        raise LinnetError(
            "--report needs all rows in memory; train first, then linnet evaluate MODEL TEST --report F.html"
        )
    if options["groups"] or options["time"]:
        raise LinnetError(
            "--groups and --time need all rows in memory; divide the data first with linnet split, then give --test"
        )
    from linnet.cli.progress import TrainingProgress
    from linnet.engines import open_engine
    from linnet.pipeline.budget import LEAST, available
    from linnet.pipeline.stream import fit_stream

    limit = limit or max(LEAST, available() * 4 // 5)
    placed = {"scheduler": options["scheduler"]} if options["scheduler"] else {}
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(TrainingProgress(options["quiet"], options["watch"]))
        opened = open_engine(engine, workers=options["workers"], **placed) if engine else contextlib.nullcontext()
        result = fit_stream(
            clf, data, max_memory=limit, text=options["text"], label=options["label"], format=options["format_"],
            multilabel=multilabel(options),
            dev=options["dev"], test=options["test"], cache=options["cache"], skip_damaged=options["skip_damaged"],
            engine=stack.enter_context(opened), on_event=progress, say=say,
        )  # fmt: skip
    write_unusable(result.unusable, options["unusable"])
    return result
