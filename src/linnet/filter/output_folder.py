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
from pathlib import Path
from typing import Any

import numpy as np

from linnet.errors import LinnetError
from linnet.files import OutputError, lock_file, open_atomic, write_atomic


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

    def scores(self, index: int) -> Path:
        """The scores of a shard between two passes."""
        return self.state / "scores" / f"{index:08d}.npz"

    def ranking(self, index: int) -> Path:
        """What a ranking needs to know of a shard."""
        return self.state / "ranking" / f"{index:08d}.npz"

    def _record(self, kind: str, index: int) -> Path:
        return self.state / kind / f"{index:08d}.json"

    def record(self, kind: str, index: int, name: str, values: dict[str, Any]) -> dict[str, Any]:
        """Write down that a shard is "scored" or "done"; its files must be there."""
        record = {"name": name, **values}
        if kind == "done":
            record["output_bytes"] = self.output(name).stat().st_size
        self.write(self._record(kind, index), record)
        return record

    def read_record(self, kind: str, index: int) -> dict[str, Any] | None:
        """Return the record of a shard, if it is whole and what it speaks of is there."""
        try:
            record: dict[str, Any] = json.loads(self._record(kind, index).read_bytes())
            if kind == "done" and self.output(record["name"]).stat().st_size != record["output_bytes"]:
                return None
            if kind == "scored" and not (self.scores(index).exists() and self.ranking(index).exists()):
                return None
        except (OSError, ValueError, KeyError):
            return None
        return record

    def write(self, path: Path, values: Any) -> None:
        """Write JSON, whole or not at all."""
        try:
            content = (json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode()
        except UnicodeEncodeError:  # the name of a shard is not UTF-8
            content = (json.dumps(values, indent=1) + "\n").encode()
        self.write_bytes(path, content)

    def write_bytes(self, path: Path, data: bytes) -> None:
        """Write a file, whole or not at all."""
        write_atomic(path, data, staging=self.parts, mkdir=True)

    def write_arrays(self, path: Path, arrays: dict[str, Any]) -> None:
        """Write numpy arrays, whole or not at all."""
        with self.open_atomic(path) as file:
            np.savez(file, **arrays)

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
        old = before if isinstance(before, dict) else {}
        gone = [s["name"] for s in old.get("shards", ()) if s not in now["shards"]]
        new = [s["name"] for s in now["shards"] if s not in old.get("shards", ())]
        if gone and {**old, "shards": 0} == {**now, "shards": 0}:
            what = f"{gone[0]} was there when it began and has gone or changed"
        elif new and {**old, "shards": 0} == {**now, "shards": 0}:
            what = f"{new[0]} is new or has changed"
        else:
            changed = [name for name in now if old.get(name) != now[name]]
            what = f"other {', '.join(changed) or 'settings'}"
        raise LinnetError(
            f"{self.path} holds a run that is not this one: {what}; put things back, choose another --out, or give "
            "--restart to begin afresh"
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
            self.output(shard["name"]).unlink(missing_ok=True)
            self.quarantine(shard["name"]).unlink(missing_ok=True)
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
            self._held = None

    def drop(self, name: str) -> None:
        """Remove what a shard that turned out bad may have left."""
        self.output(name).unlink(missing_ok=True)
        self.quarantine(name).unlink(missing_ok=True)

    def finish(self) -> None:
        """Remove what only an unfinished run needs."""
        self.release()
        shutil.rmtree(self.state, ignore_errors=True)
