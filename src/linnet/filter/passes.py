"""What a worker does with one shard: filter it in one pass, or score it and later select from it.

Everything is a function of the shard and the settings, and files appear whole, so a shard that is done twice, by a worker
that was thought dead or after a crash, leaves the same bytes.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.array_types import Bools, Bytes, Floats32, Ints, Ints32
from linnet.data.arrays import blank, floats, integers, lengths, strings, to_numbers
from linnet.data.formats import FORMATS
from linnet.data.input_file import RecordReader
from linnet.data.reading import RowBatch, open_rows
from linnet.data.writers import WRITERS, compressed, writer_like
from linnet.errors import DataError, LinnetError
from linnet.filter.output_folder import OutputFolder
from linnet.filter.ranking import shard_ranking
from linnet.filter.settings import BINS, FilterSettings, MissingShardError, Shard, keeps_format
from linnet.solvers.losses import sigmoid
from linnet.values import to_plain

USABLE, UNUSABLE, CLEANED = 0, 1, 2  # states of a row; CLEANED: removed by cleaning


@dataclass(eq=False)
class ScoredBatch:
    """A batch of rows with their states (USABLE, UNUSABLE, CLEANED) and scores."""

    batch: RowBatch
    state: Bytes
    odds: Floats32
    best: Ints32
    texts: Any  # the texts that were scored: the clean ones, where there are rules


def probability(odds: Floats32) -> Floats32:
    """Turn log-odds into probabilities.

    >>> probability(np.array([0.0, 1000.0, -1000.0], np.float32)).tolist()
    [0.5, 1.0, 0.0]
    """
    return sigmoid(odds.astype(np.float64)).astype(np.float32)


def histogram(proba: Floats32) -> Ints:
    """Count probabilities in bins of equal width, a row a column.

    >>> int(histogram(np.array([[0.0], [1.0]], np.float32))[0].sum())
    2
    """
    at = np.minimum((proba * BINS).astype(np.int64), BINS - 1)
    return np.array([np.bincount(at[:, k], minlength=BINS) for k in range(proba.shape[1])])


def weigh(texts: Any, unit: str) -> Ints:
    """Return the weights of the texts of an Arrow column; words are what stands between ASCII white space.

    >>> import pyarrow as pa
    >>> texts = pa.chunked_array([["a small world", "", " naïve"]])
    >>> [weigh(texts, unit).tolist() for unit in ("documents", "characters", "tokens")]
    [[1, 1, 1], [13, 0, 6], [3, 0, 1]]
    """
    import pyarrow.compute as pc

    if unit == "documents":
        return np.ones(len(texts), np.int64)
    if unit == "characters":
        counts = pc.utf8_length(texts)
    else:
        bare = pc.ascii_trim_whitespace(texts)
        words = pc.list_value_length(pc.ascii_split_whitespace(bare))
        counts = pc.if_else(pc.equal(bare, ""), 0, words)
    return np.concatenate([np.zeros(0, np.int64), *map(to_numbers, counts.chunks)])


# ---- The kept rows of a shard: in the format of the shard, as they came, with the label and the probabilities added.


class ShardWriter:
    """Writes the kept rows of a shard; given them in order, in any number of batches.

    Rows of JSON lines and web archives stay what they were, byte for byte; those of other formats are written from their
    columns, which keep their types.
    """

    def __init__(self, reader: RecordReader, sink: Any, name: str, settings: FilterSettings) -> None:
        self.reader, self.sink, self.names, self.classes = reader, sink, settings.names, settings.classes
        self.format = FORMATS.get(reader.format)
        self.schema = None
        kind = writer_like(name, reader.format)
        if reader.schema is not None and WRITERS[kind].typed:
            self._refuse_clash(reader.names)
            kinds = [pa.string(), *[pa.float32()] * (len(self.names) - 1)]
            fields = map(pa.field, self.names, kinds)
            self.schema = pa.schema([*reader.schema, *fields], metadata=reader.schema.metadata)
        self.tables = WRITERS[kind](sink, self.schema, reader.page_codec)
        self.tables.short = self.names[:1]
        self.plain = kind in ("csv", "tsv")

    def write(self, scored: ScoredBatch, rows: Ints, proba: Floats32, texts: Any) -> None:
        """Write rows of a batch: their best labels, their probabilities, and their texts where those changed."""
        batch, best = scored.batch, scored.best[rows]
        self._refuse_clash(batch.raw.columns)
        if self.format is not None and self.format.rewrite is not None and batch.raw.records is not None:
            values = [[self.classes[k] for k in best.tolist()], *proba.T.tolist()]
            records = self.format.rewrite(
                batch.raw, rows.tolist(), batch.text_column, None if texts is None else texts.to_pylist(),
                dict(zip(self.names, values, strict=True)),
            )  # fmt: skip
            if self.format.members and self.reader.codec == "gzip":
                records = (gzip.compress(record, 6, mtime=0) for record in records)
            self.sink.write(b"".join(records))
        elif len(rows) or self.tables.schema is None:
            table = pa.table(batch.raw.columns) if self.schema is not None else batch.table
            if len(rows) < len(batch):
                table = table.take(integers(rows))
            columns = list(table.columns)
            if texts is not None:
                at = table.column_names.index(batch.text_column)
                columns[at] = texts.cast(columns[at].type)
            labels = strings(self.classes).take(integers(best % len(self.classes)))
            columns += [labels, *map(self._numbers, proba.T)]
            names = [*table.column_names, *self.names]
            named = {"schema": self.schema} if self.schema is not None else {"names": names}
            self.tables.write(pa.Table.from_arrays(columns, **named))

    def _numbers(self, values: Floats32) -> pa.Array:
        """Probabilities: 32-bit numbers where the format has types, else six digits."""
        if self.schema is not None:
            return floats(values)
        digits = [f"{p:.6g}" for p in values.tolist()]
        return strings(digits) if self.plain else floats(np.array(digits, np.float64))

    def _refuse_clash(self, names: Collection[str]) -> None:
        clash = [name for name in self.names if name in names]
        if clash:
            raise DataError(f"{self.reader.source} already has a column '{clash[0]}'; give another --prefix")


LONGEST_RAW = 10_000  # characters of a bad row that are kept in the quarantine
Task = tuple[int, Shard, Any]  # the number of a shard, the shard, and the cut for it


class ShardCounts:
    """Counts of one shard; they add up: rows = kept + dropped + unusable."""

    def __init__(self, settings: FilterSettings) -> None:
        self.rows = self.kept = self.text_bytes = self.kept_text_bytes = self.weight = self.kept_weight = 0
        self.dropped: Counter[str] = Counter()
        self.unusable: Counter[str] = Counter()
        self.labels: Counter[str] = Counter()
        self.scores, self.kept_scores = np.zeros((2, len(settings.columns), BINS), np.int64)
        self.notes: list[str] = []  # what is odd about the shard

    def to_dict(self) -> dict[str, Any]:
        plain = {k: dict(sorted(v.items())) if isinstance(v, Counter) else to_plain(v) for k, v in vars(self).items()}
        return {**plain, "notes": self.notes[:5]}


def score_shard(task: Task, settings: FilterSettings) -> dict[str, Any]:
    """First pass of a ranking rule: write the scores down, and what the ranking needs to know of them."""
    work, rule, none = _ShardWork(task, settings), settings.rule, np.zeros(0)
    kinds = (np.int32, np.uint8, np.int64, bool)
    parts = [(np.zeros((0, len(settings.columns)), np.float32), *map(none.astype, kinds))]
    values: list[str] = []
    with work.opened(write=False) as (_, rows):
        for scored in work.scored(rows):
            usable = scored.state == USABLE
            mine = weigh(scored.texts, rule.of)
            work.counts.weight += int(mine[usable].sum())
            if rule.quota is not None:  # only those that are admitted compete
                usable &= rule.admits(scored.odds, scored.best, settings.columns[:1])
            parts.append((scored.odds, scored.best, scored.state, mine, usable))
            values += itertools.compress(_groups(scored.batch) or (), usable)
    odds, best, state, weights, among = map(np.concatenate, zip(*parts, strict=True))
    ranking = shard_ranking(rule, odds[among, 0], weights[among], values)
    work.folder.write_arrays("scores", work.index, {"odds": odds, "best": best, "state": state})
    work.folder.write_arrays("ranking", work.index, ranking)
    return work.folder.record("scored", work.index, work.shard.name, work.counts.to_dict())


def write_shard(task: Task, settings: FilterSettings) -> dict[str, Any]:
    """Write the rows worth keeping; return the record of the shard.

    Without a cut, rows are scored here, in one pass. Else this is the second pass, with the scores of the first: what is above
    the cut is kept, which is one score, or for a quota (score, ties) for each value.
    """
    work = _ShardWork(task, settings)
    cut, counts = work.cut, work.counts
    left = {value: ties for value, (_, ties) in cut.items()} if isinstance(cut, dict) else {}
    named = settings.columns[: len(settings.rule.keep)]
    with work.opened(write=True) as (reader, rows), work.writer(reader) as writer:
        for scored in work.scored(rows) if cut is None else work.rescored(rows):
            keep = (scored.state == USABLE) & settings.rule.admits(scored.odds, scored.best, named)
            if cut is not None:
                keep &= _above(scored.odds[:, 0], keep, cut, _groups(scored.batch), left)
                if settings.cleaner is not None:  # the kept rows only
                    kept = np.where(keep, USABLE, UNUSABLE).astype(np.uint8)
                    scored.texts = work.cleaned(scored.batch.text, kept, Counter())
                counts.kept_weight += int(weigh(scored.texts, settings.rule.of)[keep].sum())
            work.write(writer, scored, keep)
    found = counts.to_dict()
    if cut is not None:
        first = work.folder.read_record("scored", work.index)
        if first is None:
            raise LinnetError(
                f"{work.folder.path}: the scores of {work.shard.name} have gone; run the same command again"
            )
        usable = first["rows"] - sum(first["unusable"].values()) - sum(first["dropped"].values())
        dropped = +Counter({**first["dropped"], "score": usable - counts.kept})
        names = ("kept", "kept_text_bytes", "kept_weight", "labels", "kept_scores")
        found = {**first, **{name: found[name] for name in names}, "dropped": dict(sorted(dropped.items()))}
    return work.folder.record("done", work.index, work.shard.name, found)


class _ShardWork:
    """One shard while a worker is at it: its settings, its counts and the folder that it goes to."""

    def __init__(self, task: Task, settings: FilterSettings) -> None:
        self.index, self.shard, self.cut = task
        self.settings, self.counts, self.folder = settings, ShardCounts(settings), OutputFolder(settings.out)

    @contextlib.contextmanager
    def opened(self, *, write: bool) -> Iterator[tuple[RecordReader, Iterator[RowBatch]]]:
        """Open the shard, with all columns where rows are written from them; say of one that has gone that it has gone."""
        shard, settings = self.shard, self.settings
        every = write and not (shard.format in FORMATS and FORMATS[shard.format].rewrite)
        also = [] if settings.rule.by is None else [settings.rule.by]
        try:
            reader, rows = open_rows(
                shard.path, text=settings.text, format=shard.format, also=also, every=every, records=write
            )
            with contextlib.closing(rows):
                yield reader, rows
        except (FileNotFoundError, DataError):
            if Path(shard.path).exists():
                raise
            raise MissingShardError(f"{shard.path} has gone since the run began") from None

    @contextlib.contextmanager
    def writer(self, reader: RecordReader) -> Iterator[ShardWriter]:
        """Open the file of the kept rows, which is compressed as the shard is."""
        codec = reader.codec if keeps_format(reader.format) else None
        if reader.format in FORMATS and FORMATS[reader.format].members and codec == "gzip":
            codec = None  # every record is compressed by itself
        name = self.shard.name
        with self.folder.open_atomic(self.folder.output(name)) as file, compressed(file, codec) as sink:
            writer = ShardWriter(reader, sink, name, self.settings)
            yield writer
            writer.tables.close()

    def scored(self, rows: Iterator[RowBatch]) -> Iterator[ScoredBatch]:
        """Read, clean and score; count what is not usable, and write it to the quarantine."""
        lines: list[bytes] = []
        settings, counts = self.settings, self.counts
        for batch in rows:
            state = np.where(blank(batch.text), UNUSABLE, USABLE).astype(np.uint8)
            state[list(batch.raw.malformed)] = UNUSABLE
            for row in np.flatnonzero(state == UNUSABLE).tolist():
                bad = batch.raw.malformed.get(row)
                reason, raw = ("empty text", "") if bad is None else (bad.reason, bad.raw)
                counts.unusable[reason] += 1
                value = {"row": batch.first_row + row, "reason": reason, "raw": raw[:LONGEST_RAW]}
                lines.append(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            texts = batch.text if settings.cleaner is None else self.cleaned(batch.text, state, counts.dropped)
            odds, best = settings.score(texts)
            counts.notes = list(batch.reader.notes)
            counts.rows += len(batch)
            counts.text_bytes += batch.text.nbytes
            counts.scores += histogram(probability(odds[state == USABLE]))
            yield ScoredBatch(batch, state, odds, best, texts)
        self.folder.write_bytes(self.folder.quarantine(self.shard.name), b"".join(lines))

    def rescored(self, rows: Iterator[RowBatch]) -> Iterator[ScoredBatch]:
        """Put the rows of the shard together again with the scores of the first pass."""
        arrays, at = self.folder.read_arrays(self.folder.part("scores", self.index)), 0
        odds, best, state = arrays["odds"], arrays["best"], arrays["state"]
        for batch in rows:
            part = slice(at, at + len(batch))
            at += len(batch)
            if at > len(state):
                raise DataError(f"{self.shard.path} changed while it was filtered: it has more rows than before")
            yield ScoredBatch(batch, state[part], odds[part], best[part], batch.text)
        if at < len(state):
            raise DataError(f"{self.shard.path} changed while it was filtered: it has fewer rows than before")

    def cleaned(self, texts: Any, state: Bytes, dropped: Counter[str]) -> Any:
        """Clean the usable texts; those that a rule removes get the state CLEANED."""
        found = []
        for row, text in enumerate(texts.to_pylist()):
            clean, why = self.settings.cleaner(text) if state[row] == USABLE else ("", None)
            if why is not None:
                state[row] = CLEANED
                dropped[f"clean: {why}"] += 1
            found.append(clean)
        return pa.chunked_array([strings(found)])

    def write(self, writer: ShardWriter, scored: ScoredBatch, keep: Bools) -> None:
        """Write the rows to keep, and count them."""
        counts, rows = self.counts, np.flatnonzero(keep)
        proba = probability(scored.odds[rows])
        writer.write(scored, rows, proba, None if self.settings.cleaner is None else scored.texts.take(integers(rows)))
        counts.kept += len(rows)
        usable = int(np.count_nonzero(scored.state == USABLE))
        if usable > len(rows):
            counts.dropped["score"] += usable - len(rows)
        counts.kept_scores += histogram(proba)
        sizes = [np.zeros(0, np.int64), *(lengths(chunk) for chunk in scored.texts.chunks)]
        counts.kept_text_bytes += int(np.concatenate(sizes)[rows].sum(dtype=np.int64))
        for code, count in zip(*np.unique(scored.best[rows], return_counts=True), strict=True):
            counts.labels[self.settings.classes[int(code)]] += int(count)


def _groups(batch: RowBatch) -> list[str] | None:
    """The values of the column of a quota, if there is one."""
    return batch.values(batch.also[0]) if batch.also else None


def _above(odds: Floats32, keep: Bools, cut: Any, values: Any, left: dict[str, int]) -> Bools:
    if not isinstance(cut, dict):
        return np.asarray(odds >= np.float32(cut))
    found = np.zeros(len(odds), dtype=bool)
    for row in np.flatnonzero(keep).tolist():
        value = values[row]
        least = cut[value][0]
        if odds[row] > least:
            found[row] = True
        elif odds[row] == least and left[value] > 0:
            left[value] -= 1
            found[row] = True
    return found
