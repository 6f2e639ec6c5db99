"""``linnet train`` on more text than memory: when the data are read as a stream, and the run."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from linnet.cli.labelled_rows import label_column, multilabel
from linnet.cli.output import Notes, say, write_json, write_unusable
from linnet.errors import DataError, LinnetError, shown
from linnet.values import size_text

if TYPE_CHECKING:
    from linnet.classifier import TextClassifier
    from linnet.pipeline.stream import StreamResult


NOT_STREAMED = (
    "weight", "label_columns", "label_smoothing", "report", "groups", "time",
)  # fmt: skip
REMEDIES = {
    **dict.fromkeys(
        ("label_columns", "label_smoothing", "weight"),
        "leave out --max-memory and --engine, or train on a sample of the rows",
    ),
    "report": "train first, then linnet evaluate MODEL TEST --report F.html",
    **dict.fromkeys(("groups", "time"), "divide the data first with linnet split, then give --test"),
}


def limit_for(data: tuple[str, ...], given: str | None) -> int | None:
    """Return the memory to stay within, or None where DATA is one file that fits."""
    from linnet.data.formats import find_shards, size_of
    from linnet.pipeline.cache import LEAST, available, memory_needed
    from linnet.values import as_bytes

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
    named = len(shards) == 1 and shards[0] == Path(data[0])  # not the only file of a folder or pattern
    return None if named else max(LEAST, free * 4 // 5)


def _unpacked(path: Path) -> int:
    """Return about how many bytes of text a file holds: packed ones four times their size, columns twice."""
    from linnet.data.formats import size_of

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
    for name in NOT_STREAMED:
        if options[name]:
            remedy = REMEDIES.get(name, "leave out --max-memory and --engine")
            raise LinnetError(f"--{name.replace('_', '-')} needs all rows in memory; {remedy}")
    from linnet.cli.output import TrainingProgress
    from linnet.engines import open_engine
    from linnet.pipeline.cache import LEAST, available
    from linnet.pipeline.stream import fit_stream

    limit = limit or max(LEAST, available() * 4 // 5)
    placed = {"scheduler": options["scheduler"]} if options["scheduler"] else {}
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(TrainingProgress(options["quiet"], options["watch"], options["profile"]))
        opened = open_engine(engine, workers=options["workers"], **placed) if engine else contextlib.nullcontext()
        result = fit_stream(
            clf, data, max_memory=limit, text=options["text"], label=label_column(options), format=options["format_"],
            multilabel=multilabel(options), bins=options["label_bins"] or options["label_quantiles"],
            dev=options["dev"], test=options["test"], cache=options["cache"], skip_damaged=options["skip_damaged"],
            engine=stack.enter_context(opened), on_event=progress, say=say,
        )  # fmt: skip
    write_unusable(result.unusable, options["unusable"])
    return result


# ---- ``linnet train - --online``: one pass over a stream, with a score for every row before it is learned from.


FEATURES = "words:1+chars:3"
HASH_BITS = 18
LARGEST_CHUNK = 256  # rows that are scored together before they are learned from
NOT_ONLINE = (
    "dev", "test", "groups", "time", "weight", "watch", "report", "max_memory", "engine", "multilabel", "threshold", "cost", "abstain",
    "answer", "precision", "recall", "profile", "label_bins", "label_quantiles", "label_columns",
)  # fmt: skip


def train_online(clf: TextClassifier, data: tuple[str, ...], out: Path, options: dict[str, Any]) -> None:
    """Learn from a stream in one pass and save the model, also after Ctrl-C."""
    from linnet.data.labelled import usable
    from linnet.data.reading import stream
    from linnet.pipeline.learner import IncrementalLearner

    wrong = [name for name in NOT_ONLINE if options[name]]
    if wrong:
        raise LinnetError(f"--{wrong[0].replace('_', '-')} does not go with --online, which reads every row once")
    learner = IncrementalLearner(clf.plan())
    table, notes = ErrorTable(options["quiet"]), Notes(data[0])
    try:
        for source in data:
            for batch in stream(source, text=options["text"], label=options["label"], format=options["format_"]):
                rows = usable(batch, "" if source == "-" else source)
                for note in rows.notes:
                    notes(note)
                table.show(learner, learner.learn(rows.text, rows.label.to_pylist(), most=LARGEST_CHUNK))
    except KeyboardInterrupt:
        say("interrupted: what was learned so far is saved")
    if not learner.n_rows:
        raise DataError(f"{data[0]}: no two labels among the rows so far; there is nothing to save")
    clf.use(learner, "standard input" if data[0] == "-" else data[0])
    clf.save(out)
    score = learner.progressive
    if write_json({"model": str(out), "card": clf.card, "progressive": score.to_dict()}, options["json_"]):
        return
    click.echo(f"progressive accuracy {score.accuracy:.4f} on {score.rows:,} rows, one pass")
    click.echo(f"saved {out} ({size_text(out.stat().st_size)}, {len(learner.classes)} classes)")


class ErrorTable:
    """A line at rows 1, 2, 4, 8, ...: errors so far and since the last line, and how that row was answered."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.next, self.before = quiet, 1, (0, 0)
        self.rows = self.errors = 0
        if not quiet:
            say(f"{'average':<9}{'since':<9}{'row':>10}  {'label':<16}{'predicted':<16}{'features':>8}")
            say(f"{'error':<9}{'last':<9}{'counter':>10}")

    def show(self, learner: Any, met: Any) -> None:
        """Show the rows of a chunk that are due; rows of the first class wait until there is a second one."""
        if met is None:
            return
        wrong = met.best != met.y
        while not self.quiet and self.next <= self.rows + len(wrong):
            k = self.next - self.rows - 1
            errors, (rows, last) = self.errors + int(wrong[: k + 1].sum()), self.before
            label, best = (shown(learner.classes[one], 15) for one in (met.y[k], met.best[k]))
            rates = f"{errors / self.next:<9.6f}{(errors - last) / (self.next - rows):<9.6f}"
            say(f"{rates}{self.next:>10,}  {label:<16}{best:<16}{met.features[k]:>8,}")
            self.before, self.next = (self.next, errors), 2 * self.next
        self.rows, self.errors = self.rows + len(wrong), self.errors + int(wrong.sum())
