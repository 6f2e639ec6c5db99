"""What a worker does with one shard: filter it in one pass, or score it and later select from it.

Everything is a function of the shard and the job, and files appear whole, so a shard that is done twice, by a worker
that was thought dead or after a crash, leaves the same bytes.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.data.clean import blank
from linnet.errors import DataError, LinnetError
from linnet.filter.forms import Batch, Form, make_form
from linnet.filter.forms.batch import Kept
from linnet.filter.forms.sinks import appearing
from linnet.filter.job import BINS, Job, Judged, MissingShardError, histogram, probability
from linnet.filter.shards import Shard
from linnet.filter.sketch import Sketch
from linnet.filter.state import Folder
from linnet.filter.units import weigh

__all__ = ["filter_shard", "score_shard", "select_shard"]

LONGEST_RAW = 10_000  # characters of a bad row that are kept in the quarantine
_USABLE, _UNUSABLE, _CLEANED = 0, 1, 2
SKETCH_ROWS = 1 << 20  # scores that wait before they go into the sketch


class _Tally:
    """Counts of one shard; they add up: rows = kept + dropped + unusable."""

    def __init__(self, job: Job) -> None:
        n = len(job.columns)
        self.rows = self.kept = self.text_bytes = self.kept_bytes = 0
        self.dropped: Counter[str] = Counter()
        self.unusable: Counter[str] = Counter()
        self.scores = np.zeros((n, BINS), np.int64)
        self.kept_scores = np.zeros((n, BINS), np.int64)
        self.weight = self.kept_weight = 0
        self.labels: Counter[str] = Counter()

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows, "kept": self.kept, "dropped": dict(sorted(self.dropped.items())),
            "unusable": dict(sorted(self.unusable.items())), "text_bytes": self.text_bytes,
            "kept_text_bytes": self.kept_bytes, "weight": self.weight, "kept_weight": self.kept_weight,
            "labels": dict(sorted(self.labels.items())), "scores": self.scores.tolist(),
            "kept_scores": self.kept_scores.tolist(),
        }  # fmt: skip


def filter_shard(task: tuple[int, Shard], job: Job) -> dict[str, Any]:
    """Score and keep in one pass; return the record of the shard."""
    index, shard = task
    folder, form, tally = Folder(job.out), make_form(shard.form), _Tally(job)
    with _Explained(shard), appearing(folder.output(shard.name), folder.parts) as sink:
        writer = form.writer(shard.path, sink, job.scored)
        quarantine = _Quarantine(folder, shard)
        for batch, judged in _judged(form, shard, job, tally, quarantine, whole=True):
            keep = (judged.state == _USABLE) & job.rule.admits(
                judged.odds, judged.best, job.columns[: len(job.rule.keep)]
            )
            _write(writer, batch, judged, keep, job, tally)
        writer.close()
        quarantine.close()
    return folder.record("done", index, shard.name, tally.to_dict())


def score_shard(task: tuple[int, Shard], job: Job) -> dict[str, Any]:
    """First pass of a ranking rule: write the scores down, and what the ranking needs to know of them."""
    index, shard = task
    folder, form, tally = Folder(job.out), make_form(shard.form), _Tally(job)
    odds, best, state = [np.zeros((0, len(job.columns)), np.float32)], [np.zeros(0, np.int32)], [np.zeros(0, np.uint8)]
    ranking = _Ranking(job)
    with _Explained(shard):
        quarantine = _Quarantine(folder, shard)
        for batch, judged in _judged(form, shard, job, tally, quarantine, whole=False):
            odds.append(judged.odds)
            best.append(judged.best)
            state.append(judged.state)
            usable = judged.state == _USABLE
            weights = weigh(judged.texts, job.rule.of)
            tally.weight += int(weights[usable].sum())
            admitted = usable & job.rule.admits(judged.odds, judged.best, job.columns[:1])
            ranking.add(judged.odds[:, 0], weights, usable, admitted, batch.values)
        quarantine.close()
    arrays = {"odds": np.concatenate(odds), "best": np.concatenate(best), "state": np.concatenate(state)}
    _save(folder.scores(index), folder, arrays)
    _save(folder.ranking(index), folder, ranking.to_arrays())
    return folder.record("scored", index, shard.name, tally.to_dict())


def select_shard(task: tuple[int, Shard, Any], job: Job) -> dict[str, Any]:
    """Second pass: keep what is above the cut, which is one score, or for a quota (score, ties) for each value."""
    index, shard, cut = task
    folder, form = Folder(job.out), make_form(shard.form)
    with _Explained(shard), np.load(io.BytesIO(folder.scores(index).read_bytes())) as arrays:
        odds, best, state = arrays["odds"], arrays["best"], arrays["state"]
    tally, at = _Tally(job), 0
    left = {value: ties for value, (_, ties) in cut.items()} if isinstance(cut, dict) else {}
    with _Explained(shard), appearing(folder.output(shard.name), folder.parts) as sink:
        writer = form.writer(shard.path, sink, job.scored)
        for batch in form.read(shard.path, job.text, job.rule.by, whole=True):
            part = slice(at, at + len(batch))
            at += len(batch)
            judged = Judged(state[part], odds[part], best[part], batch.text, False)
            if len(judged.state) < len(batch):
                raise DataError(f"{shard.path} changed while it was filtered: it has more rows than before")
            keep = (judged.state == _USABLE) & job.rule.admits(judged.odds, judged.best, job.columns[:1])
            keep &= _above(judged.odds[:, 0], keep, cut, batch.values, left)
            if job.cleaner is not None:
                judged = _clean_again(judged, keep, job)
            tally.kept_weight += int(weigh(judged.texts, job.rule.of)[keep].sum())
            _write(writer, batch, judged, keep, job, tally)
        if at < len(state):
            raise DataError(f"{shard.path} changed while it was filtered: it has fewer rows than before")
        writer.close()
    first = folder.read_record("scored", index)
    if first is None:
        raise LinnetError(f"{folder.path}: the scores of {shard.name} have gone; run the same command again")
    kept = tally.to_dict()
    names = ("kept", "kept_text_bytes", "kept_weight", "labels", "kept_scores")
    usable = first["rows"] - sum(first["unusable"].values()) - sum(first["dropped"].values())
    dropped = Counter({**first["dropped"], "score": usable - tally.kept})
    record = {**first, **{name: kept[name] for name in names}, "dropped": dict(sorted((+dropped).items()))}
    return folder.record("done", index, shard.name, record)


def _above(
    odds: npt.NDArray[np.float32], keep: npt.NDArray[np.bool_], cut: Any, values: Any, left: dict[str, int]
) -> npt.NDArray[np.bool_]:
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


def _judged(
    form: Form, shard: Shard, job: Job, tally: _Tally, quarantine: _Quarantine, *, whole: bool
) -> Iterator[tuple[Batch, Judged]]:
    """Read, clean and score; count and set aside what is not usable."""
    for batch in form.read(shard.path, job.text, job.rule.by, whole=whole):
        state = np.where(blank(batch.text), _UNUSABLE, _USABLE).astype(np.uint8)
        state[list(batch.bad)] = _UNUSABLE
        for row in np.flatnonzero(state == _UNUSABLE).tolist():
            reason, raw = batch.bad.get(row, ("empty text", ""))
            tally.unusable[reason] += 1
            quarantine.add(batch.first_row + row, reason, raw)
        texts = batch.text
        if job.cleaner is not None:
            texts = _cleaned(batch.text, state, job, tally)
        odds, best = job.score(texts)
        tally.rows += len(batch)
        tally.text_bytes += batch.text.nbytes
        usable = state == _USABLE
        tally.scores += np.array(histogram(probability(odds[usable])))
        yield batch, Judged(state, odds, best, texts, job.cleaner is not None)


def _cleaned(texts: Any, state: npt.NDArray[np.uint8], job: Job, tally: _Tally | None) -> Any:
    import pyarrow as pa

    from linnet.data.arrays import strings

    found = []
    for row, text in enumerate(texts.to_pylist()):
        clean, why = job.cleaner(text) if state[row] == _USABLE else ("", None)
        if why is not None:
            state[row] = _CLEANED
            if tally is not None:
                tally.dropped[f"clean: {why}"] += 1
        found.append(clean)
    return pa.chunked_array([strings(found)])


def _clean_again(judged: Judged, keep: npt.NDArray[np.bool_], job: Job) -> Judged:
    """Clean the kept rows of the second pass only."""
    state = np.where(keep, _USABLE, _UNUSABLE).astype(np.uint8)
    return Judged(judged.state, judged.odds, judged.best, _cleaned(judged.texts, state, job, None), True)


def _write(writer: Any, batch: Batch, judged: Judged, keep: npt.NDArray[np.bool_], job: Job, tally: _Tally) -> None:
    from linnet.data.arrays import integers

    rows = np.flatnonzero(keep)
    proba = probability(judged.odds[rows])
    texts = judged.texts.take(integers(rows)) if judged.changed else None
    writer.write(batch, Kept(rows, judged.best[rows], proba, texts))
    tally.kept += len(rows)
    usable = int(np.count_nonzero(judged.state == _USABLE))
    if usable > len(rows):
        tally.dropped["score"] += usable - len(rows)
    tally.kept_scores += np.array(histogram(proba))
    tally.kept_bytes += int(_lengths(judged.texts)[rows].sum())
    for code, count in zip(*np.unique(judged.best[rows], return_counts=True), strict=True):
        tally.labels[job.scored.classes[int(code)]] += int(count)


def _lengths(texts: Any) -> npt.NDArray[np.int64]:
    from linnet.data.arrays import lengths

    parts = [lengths(chunk).astype(np.int64) for chunk in texts.chunks]
    return np.concatenate([np.zeros(0, np.int64), *parts])


class _Ranking:
    """What the best share or the best so many need to know of a shard's scores."""

    def __init__(self, job: Job) -> None:
        self.rule = job.rule
        self.sketch = Sketch()
        self.best: dict[str, npt.NDArray[np.float32]] = {}
        self.waiting: list[tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]] = []

    def add(self, odds: Any, weights: Any, usable: Any, admitted: Any, values: Any) -> None:
        if self.rule.quota is None:
            self.waiting.append((odds[usable], weights[usable]))
            if sum(len(part) for part, _ in self.waiting) >= SKETCH_ROWS:
                self._flush()
            return
        rows = np.flatnonzero(admitted)
        groups: dict[str, list[int]] = {}
        for row in rows.tolist():
            groups.setdefault(values[row], []).append(row)
        for value, members in groups.items():
            before = self.best.get(value, np.zeros(0, np.float32))
            self.best[value] = best_of(np.concatenate([before, odds[members]]), self.rule.quota)

    def _flush(self) -> None:
        if self.waiting:
            self.sketch.add(*(np.concatenate(parts) for parts in zip(*self.waiting, strict=True)))
        self.waiting = []

    def to_arrays(self) -> dict[str, Any]:
        self._flush()
        if self.rule.quota is None:
            return self.sketch.to_arrays()
        names = json.dumps(list(self.best)).encode()
        lengths = np.array([len(part) for part in self.best.values()], np.int64)
        scores = np.concatenate([np.zeros(0, np.float32), *self.best.values()])
        return {"values": np.frombuffer(names, np.uint8), "lengths": lengths, "scores": scores}


def best_of(scores: npt.NDArray[np.float32], n: int) -> npt.NDArray[np.float32]:
    """Return the n highest scores, the highest first.

    >>> best_of(np.array([1, 3, 2], np.float32), 2).tolist()
    [3.0, 2.0]
    """
    return -np.sort(-scores)[:n]


class _Quarantine:
    """Bad rows of a shard, as JSON lines beside the output; no file where there are none."""

    def __init__(self, folder: Folder, shard: Shard) -> None:
        self.folder, self.name = folder, shard.name
        self.lines: list[bytes] = []

    def add(self, row: int, reason: str, raw: str) -> None:
        value = {"row": row, "reason": reason, "raw": raw[:LONGEST_RAW]}
        self.lines.append(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    def close(self) -> None:
        target = self.folder.quarantine(self.name)
        if self.lines:
            with appearing(target, self.folder.parts) as sink:
                sink.write(b"".join(self.lines))
        else:
            target.unlink(missing_ok=True)


def _save(path: Path, folder: Folder, arrays: dict[str, Any]) -> None:
    whole = io.BytesIO()
    np.savez(whole, **arrays)
    with appearing(path, folder.parts) as sink:
        sink.write(whole.getbuffer())


class _Explained:
    """Say of a shard that has gone that it has gone, whatever the reader made of it."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard

    def __enter__(self) -> None:
        if not Path(self.shard.path).exists():
            raise MissingShardError(f"{self.shard.path} has gone since the run began")

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if isinstance(value, FileNotFoundError | DataError) and not Path(self.shard.path).exists():
            raise MissingShardError(f"{self.shard.path} has gone since the run began") from None
