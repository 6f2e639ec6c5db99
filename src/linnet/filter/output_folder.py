"""The output folder and what it knows of a run that is not finished.

    DIR/NAME...                 the kept rows, a file a shard, each whole or not there
    DIR/_quarantine/NAME.jsonl   rows that could not be used, with reasons
    DIR/_quarantine/shards.json  shards that could not be used, with reasons
    DIR/_manifest.json           counts and histograms: written last, so a folder with it is complete
    DIR/_summary.html            the same for people
    DIR/.linnet-filter/         while the run lasts: settings, a record a finished shard, scores

Readers of folders (pyarrow, Spark, Dask, DuckDB) skip names that begin with _ or a dot, so DIR can be read as one table.

A record is written after the files it speaks of, so a shard with a record is done and one without is done again, with the
same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from linnet.draw.charts import Axis, Columns, figure
from linnet.draw.markup import count_bars, page, safe, table, text_table
from linnet.draw.terminal import percent
from linnet.errors import LinnetError
from linnet.files import OutputError, lock_file, open_atomic, write_atomic
from linnet.filter.settings import BINS, FilterSettings


class OutputFolder:
    """The places in an output folder."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.state = self.path / ".linnet-filter"
        self.parts = self.state / "parts"
        self.manifest = self.path / "_manifest.json"
        self.summary = self.path / "_summary.html"
        self.bad_shards = self.path / "_quarantine" / "shards.json"
        self._held: Any = None

    def output(self, name: str) -> Path:
        """The kept rows of a shard."""
        return self.path / name

    def quarantine(self, name: str) -> Path:
        """The bad rows of a shard."""
        return self.path / "_quarantine" / f"{name}.jsonl"

    def part(self, kind: str, index: int) -> Path:
        """What is known of a shard while the run lasts: "scores" and "ranking" between two passes, records "scored" and "done"."""
        return self.state / kind / f"{index:08d}.{'npz' if kind in ('scores', 'ranking') else 'json'}"

    def record(self, kind: str, index: int, name: str, values: dict[str, Any]) -> dict[str, Any]:
        """Write down that a shard is "scored" or "done"; its files must be there."""
        record = {"name": name, **values}
        if kind == "done":
            record["output_bytes"] = self.output(name).stat().st_size
        self.write(self.part(kind, index), record)
        return record

    def read_record(self, kind: str, index: int) -> dict[str, Any] | None:
        """Return the record of a shard, if it is whole and what it speaks of is there."""
        try:
            record: dict[str, Any] = json.loads(self.part(kind, index).read_bytes())
            if kind == "done" and self.output(record["name"]).stat().st_size != record["output_bytes"]:
                return None
            if kind == "scored" and not all(self.part(name, index).exists() for name in ("scores", "ranking")):
                return None
        except (OSError, ValueError, KeyError):
            return None
        return record

    def write(self, path: Path, values: Any) -> None:
        """Write JSON, whole or not at all."""
        self.write_bytes(path, json.dumps(values, indent=1, ensure_ascii=False) + "\n" if values else "")

    def write_bytes(self, path: Path, data: str | bytes) -> None:
        """Write a file, whole or not at all; where there is nothing to write, remove it."""
        if data:
            write_atomic(path, data, staging=self.parts, mkdir=True)
        else:
            path.unlink(missing_ok=True)

    def write_arrays(self, kind: str, index: int, arrays: dict[str, Any]) -> None:
        """Write what is known of a shard as numpy arrays, whole or not at all."""
        with self.open_atomic(self.part(kind, index)) as file:
            np.savez(file, **arrays)

    def read_arrays(self, path: Path) -> dict[str, Any]:
        """Read what `write_arrays` wrote."""
        with np.load(path) as arrays:
            return dict(arrays)

    def open_atomic(self, path: Path) -> contextlib.AbstractContextManager[Any]:
        """Open a file that is moved to its name when it is whole; until then it is in the state folder."""
        return open_atomic(path, staging=self.parts, mkdir=True)

    def begin(self, settings: dict[str, Any], restart: bool) -> dict[str, Any] | None:
        """Claim the folder for a run with some settings; return the manifest if that run is complete already.

        A folder that holds another run, or other files, is refused.
        """
        ours = self.state.exists() or self.manifest.exists()
        if restart and ours:
            self._empty()
        known, complete = self._read(self.state / "run.json"), self._read(self.manifest)
        if complete is not None:
            self._same(complete.get("settings"), settings)
            self.finish()
            return dict(complete)
        if known is not None:
            self._same(known, settings)
        elif self.path.exists() and any(self.path.iterdir()) and not ours:
            raise LinnetError(f"{self.path} is not empty and holds no run of linnet filter; choose another --out")
        self._lock()
        shutil.rmtree(self.parts, ignore_errors=True)
        if known is None:
            self.write(self.state / "run.json", settings)
        return None

    def _lock(self) -> None:
        """Keep a second run out; the system lets go of the lock when this process ends, however it ends."""
        try:
            self.state.mkdir(parents=True, exist_ok=True)
            self._held = (self.state / "lock").open("w")
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}") from None
        lock_file(self._held, f"another run is at work on {self.path}; wait for it, or choose another --out")

    def _same(self, before: Any, now: dict[str, Any]) -> None:
        if before == now:
            return
        changed = [name for name in now if not isinstance(before, dict) or before.get(name) != now[name]]
        raise LinnetError(
            f"{self.path} holds a run that is not this one: other {', '.join(changed)}; put things back, choose another "
            "--out, or give --restart to begin afresh"
        )

    def _read(self, path: Path) -> Any:
        try:
            return json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise LinnetError(f"{path} cannot be read ({error}); give --restart to begin afresh") from None

    def _empty(self) -> None:
        """Remove the files of an earlier run, and nothing else."""
        before = None
        with contextlib.suppress(LinnetError):
            before = self._read(self.state / "run.json") or (self._read(self.manifest) or {}).get("settings")
        for shard in (before or {}).get("shards", ()):
            self.drop(shard["name"])
        for path in (self.manifest, self.summary, self.bad_shards):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.state, ignore_errors=True)

    def agree_on_cut(self, by_shard: dict[int, Any]) -> None:
        """Forget what was selected by another cut: before a crash a shard may have been bad that is good now."""
        digest = {"sha256": hashlib.sha256(json.dumps(by_shard, sort_keys=True).encode()).hexdigest()}
        place = self.state / "cut.json"
        if self._read(place) != digest:
            shutil.rmtree(self.state / "done", ignore_errors=True)
            self.write(place, digest)

    def release(self) -> None:
        """Let another run in."""
        if self._held is not None:
            self._held.close()

    def drop(self, name: str) -> None:
        """Remove what a shard has left."""
        self.output(name).unlink(missing_ok=True)
        self.quarantine(name).unlink(missing_ok=True)

    def finish(self) -> None:
        """Remove what only an unfinished run needs."""
        self.release()
        shutil.rmtree(self.state, ignore_errors=True)


# ---- The account of a run: counts that add up, shard by shard and in total, and how the scores are spread.
#
# No times, no machine names: the same corpus and settings give the same bytes, however the run went.
#
# The manifest for people: one HTML file, charts as inline SVG, nothing to load.


VERSION = 1
Record = dict[str, Any]
_SUMS = ("rows", "kept", "text_bytes", "kept_text_bytes", "weight", "kept_weight", "output_bytes")


def manifest_of(
    settings: FilterSettings, described: Record, done: dict[int, Record], bad: list[Record], cut: Record | None
) -> Record:
    """Add up the records of all shards; counts that do not add up are an error of the program, and said."""
    records = [done[index] for index in sorted(done)]
    total = {name: sum(record[name] for record in records) for name in _SUMS}
    by_reason = (_added(record[name] for record in records) for name in ("dropped", "unusable", "labels"))
    dropped, unusable, labels = (dict(sorted(counts.items())) for counts in by_reason)
    rows, n_shards = total["rows"], len(described["shards"])
    if rows != total["kept"] + sum(dropped.values()) + sum(unusable.values()) or len(done) + len(bad) != n_shards:
        raise LinnetError("the counts do not add up: please report this as a bug; give --restart to begin afresh")
    manifest: Record = {
        "version": VERSION, "rows": rows, "kept": total["kept"], "dropped": sum(dropped.values()),
        "unusable": sum(unusable.values()), "dropped_by": dropped, "unusable_by": unusable, "shards": n_shards,
        "bad_shards": bad, "labels": labels,
        **{name: total[name] for name in ("text_bytes", "kept_text_bytes", "output_bytes")},
    }  # fmt: skip
    notes = [{"name": record["name"], "note": note} for record in records for note in record.get("notes", ())]
    if notes:
        manifest["notes"] = notes
    if cut is not None:
        if settings.rule.top is not None:
            weights = {name: total[name] for name in ("weight", "kept_weight")}
            cut = {**cut, "share": total["kept_weight"] / total["weight"] if total["weight"] else 0.0, **weights}
        manifest["cut"] = cut
    by_shard = []
    for record in records:
        lost = {name: sum(record[name].values()) for name in ("dropped", "unusable")}
        by_shard.append({name: record[name] for name in ("name", "rows", "kept", "output_bytes")} | lost)
    return {**manifest, "histograms": _histograms(settings, records), "by_shard": by_shard, "settings": described}


def _added(parts: Any) -> Counter[str]:
    return sum(map(Counter, parts), Counter())


def _histograms(settings: FilterSettings, records: list[dict[str, Any]]) -> dict[str, Any]:
    """For every probability that is written: rows and kept rows in each of the bins from 0 to 1."""
    shape = (len(settings.columns), BINS)
    counts = (np.array([record[name] for record in records], np.int64) for name in ("scores", "kept_scores"))
    every, kept = (of_shards.reshape(-1, *shape).sum(axis=0) for of_shards in counts)
    names = [settings.classes[k] for k in settings.columns]
    return {name: {"rows": every[k].tolist(), "kept": kept[k].tolist()} for k, name in enumerate(names)}


def summary_html(manifest: dict[str, Any]) -> str:
    """Return the page."""
    rows, kept = manifest["rows"], manifest["kept"]
    states = count_bars({name: manifest[name] for name in ("kept", "dropped", "unusable")})
    title = f"<h1>{kept:,} of {rows:,} rows kept ({_share(kept, rows)})</h1>"
    parts = [title, states, _counts(manifest), _rule(manifest)]
    for label, both in manifest["histograms"].items():
        parts.append(f"<h2>Probability of {safe(label)}</h2>{_histogram(both['rows'], both['kept'])}")
    if manifest["bad_shards"]:
        bad = [[s["name"], f"{s['bytes']:,}", s["reason"]] for s in manifest["bad_shards"]]
        parts.append(f"<h2>Shards that could not be used</h2>{text_table([['shard', 'bytes', 'reason'], *bad])}")
    return page(f"linnet filter: {kept:,} of {rows:,} kept", "\n".join(parts))


def _share(part: int, whole: int) -> str:
    return percent(part / whole, 2) if whole else "-"


def _counts(manifest: dict[str, Any]) -> str:
    rows = manifest["rows"]
    lines = [("in", rows), ("kept", manifest["kept"])]
    for group in ("dropped", "unusable"):
        lines += [(group, manifest[group]), *((f"\u2003{name}", n) for name, n in manifest[f"{group}_by"].items())]
    body = [[safe(name), f"{count:,}", _share(count, rows)] for name, count in lines]
    return table(["rows", "count", "share of rows"], body)


def _rule(manifest: dict[str, Any]) -> str:
    """The rule, and the cut that it came to."""
    rule = {**manifest["settings"]["rule"], **manifest.get("cut", {})}
    least = {label: "" if p is None else f" from {p:g}" for label, p in rule["keep"].items()}
    rule["keep"] = ", ".join(f"{label}{p}" for label, p in least.items())
    rows = [[name.replace("_", " "), f"{v:.6g}" if isinstance(v, float) else v] for name, v in rule.items()]
    return text_table([["rule", "value"], *(row for row in rows if row[1] is not None)])


def _histogram(rows: list[int], kept: list[int]) -> str:
    """Columns on a square-root scale, so that a small kept share can be seen."""
    titles = [
        f"{k / len(rows):.2f} to {(k + 1) / len(rows):.2f}: {some:,} of {every:,} kept"
        for k, (every, some) in enumerate(zip(rows, kept, strict=True))
    ]
    layers = [
        Columns([(k / len(rows), (k + 1) / len(rows), n**0.5, titles[k]) for k, n in enumerate(counts)], colour, name)
        for counts, colour, name in ((rows, "grey", "all rows"), (kept, "blue", "kept"))
    ]
    return figure(layers, Axis("probability", 0.0, 1.0), Axis(), "Heights are square roots of counts.")
