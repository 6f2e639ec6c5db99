"""The run: which shards are left to do, who does them, what went wrong, and the account at the end."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.engines import Engine, Happening, Outcome, ShardError, open_engine
from linnet.errors import DataError, LinnetError
from linnet.filter.forms import make_form
from linnet.filter.forms.sinks import OutputError
from linnet.filter.job import Job, MissingShardError
from linnet.filter.manifest import manifest_of
from linnet.filter.ranking import find_cuts
from linnet.filter.report import summary_html
from linnet.filter.rule import Rule
from linnet.filter.shards import Shard, find_shards
from linnet.filter.state import Folder
from linnet.filter.work import filter_shard, score_shard, select_shard

__all__ = ["Progress", "filter_corpus"]


@dataclass(frozen=True)
class Progress:
    """News of a run: what a worker does, a shard that is done, or a new stage ("scoring", "selecting", "filtering")."""

    kind: str  # "stage", "shard", "worker"
    stage: str
    shard: Shard | None = None
    record: dict[str, Any] | None = None
    happening: Happening | None = None
    shards: int = 0
    bytes: int = 0
    resumed: int = 0
    dashboard: str | None = None


OnProgress = Callable[[Progress], None]


def filter_corpus(
    model: str | os.PathLike[str],
    inputs: Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    rule: Rule,
    *,
    text: str | None = None,
    format: str | None = None,
    clean: Iterable[str] | None = None,
    pages: Iterable[str] | None = None,
    proba: bool = False,
    prefix: str = "linnet_",
    engine: Engine | None = None,
    threads: int = 1,
    max_bad: int | None = None,
    restart: bool = False,
    on_progress: OnProgress | None = None,
) -> dict[str, Any]:
    """Keep the rows of a corpus that a model says are worth keeping; return the manifest.

    `inputs` are files, folders and patterns: Parquet, JSON lines, CSV, TSV, WARC and WET. `out` is a new folder: it will
    hold a file a shard, of the same name and schema plus the scores, a manifest, a summary and a quarantine. If it holds
    this same run, unfinished, the run goes on where it stopped. `clean` and `pages` are names of rules of
    `linnet.text.clean`; the clean text is scored and written. `engine` is one of `linnet.engines`, and stays open; by
    default processes of this machine, one a core. `threads` is how many threads score in each worker. More than
    `max_bad` bad shards (10, or a tenth of all if that is more) stop the run.

    Rows in = kept + dropped + unusable, exactly. A disk that is full, or a shard that has gone, raises an error and
    leaves a state from which the same call goes on.
    """
    shards = find_shards(inputs, format)
    job = Job(
        str(Path(model).resolve()), rule, str(Path(out).resolve()), text, None if clean is None else tuple(clean),
        None if pages is None else tuple(pages), proba, prefix, threads,
    )  # fmt: skip
    _ = job.scored, job.cleaner  # unknown labels and rules are said before anything is read
    folder = Folder(job.out)
    _keep_apart(folder, shards)
    settings = _settings(job, shards)
    complete = folder.begin(settings, restart)
    if complete is not None:
        return complete
    limit = max(10, len(shards) // 10) if max_bad is None else max_bad
    with contextlib.ExitStack() as stack:
        stack.callback(folder.release)
        crew = stack.enter_context(open_engine("local")) if engine is None else engine
        run = _Run(crew, job, folder, shards, limit, on_progress or (lambda _: None))
        done = run.two_passes() if rule.ranked else run.stage("filtering", "done", filter_shard, dict.fromkeys(run.all))
        manifest = manifest_of(job, settings, shards, done, run.bad_shards(), run.cut)
        _close(folder, manifest, run)
    return manifest


def _settings(job: Job, shards: list[Shard]) -> dict[str, Any]:
    """What must be the same for a run to go on."""
    with Path(job.model).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "model": digest, "rule": job.rule.to_dict(), "text": job.text, "prefix": job.prefix, "proba": job.proba,
        "clean": None if job.clean is None else list(job.clean), "pages": None if job.pages is None else list(job.pages),
        "shards": [{"name": shard.name, "size": shard.size, "form": shard.form} for shard in shards],
    }  # fmt: skip


def _keep_apart(folder: Folder, shards: list[Shard]) -> None:
    own = {str(folder.output(shard.name)) for shard in shards}
    if own & {shard.path for shard in shards}:
        raise LinnetError(f"{folder.path} is where the input is; choose another --out")
    taken = [
        shard.name for shard in shards if shard.name in ("manifest.json", "summary.html", "quarantine/shards.json")
    ]
    if taken:
        raise LinnetError(f"a shard is called {taken[0]}, as a file of the output is; rename it")


def _close(folder: Folder, manifest: dict[str, Any], run: _Run) -> None:
    bad = run.bad_shards()
    if bad:
        folder.write(folder.bad_shards, bad)
    else:
        folder.bad_shards.unlink(missing_ok=True)
    folder.write_bytes(folder.summary, summary_html(manifest).encode())
    folder.write(folder.manifest, manifest)
    folder.finish()


class _Run:
    """One run: stages of shards, with what went wrong."""

    def __init__(
        self, engine: Engine, job: Job, folder: Folder, shards: list[Shard], max_bad: int, tell: OnProgress
    ) -> None:
        self.engine, self.job, self.folder, self.shards, self.max_bad, self.tell = (
            engine, job, folder, shards, max_bad, tell,
        )  # fmt: skip
        self.all = list(range(len(shards)))
        self.shared = engine.broadcast(job)
        self.bad: dict[int, str] = {}
        self.missing: list[str] = []
        self.cut: dict[str, Any] | None = None

    def two_passes(self) -> dict[int, dict[str, Any]]:
        """Score everything, find the cut, select."""
        scored = self.stage("scoring", "scored", score_shard, dict.fromkeys(self.all))
        cuts = find_cuts(self.folder, self.job.rule, scored)
        self.cut = cuts.about
        self.folder.agree_on_cut(cuts.by_shard)
        return self.stage("selecting", "done", select_shard, cuts.by_shard)

    def stage(self, name: str, kind: str, function: Any, tasks: dict[int, Any]) -> dict[int, dict[str, Any]]:
        """Do what is left of some shards; return the records of those that are done, by number."""
        done = {}
        for index in tasks:
            record = self.folder.read_record(kind, index)
            if record is not None:
                done[index] = record
        todo = [index for index in tasks if index not in done]
        size = sum(self.shards[index].size for index in todo)
        self.tell(
            Progress(
                "stage", name, shards=len(todo), bytes=size, resumed=len(done), dashboard=self.engine.dashboard
            )
        )  # fmt: skip
        work = [
            (index, self.shards[index]) if tasks[index] is None else (index, self.shards[index], tasks[index])
            for index in todo
        ]

        def watch(news: Happening) -> None:
            self.tell(Progress("worker", name, self.shards[todo[news.index]], happening=news))

        for outcome in self.engine.map(function, work, self.shared, watch=watch):
            index = todo[outcome.index]
            if outcome.error is None:
                done[index] = outcome.value
                self.tell(Progress("shard", name, self.shards[index], outcome.value))
            else:
                self._failed(index, outcome, len(done))
        if self.missing:
            more = f" and {len(self.missing) - 1} more" if len(self.missing) > 1 else ""
            raise LinnetError(
                f"{self.missing[0]}{more}; {len(done)} of {len(tasks)} shards are done: put it back and run the same "
                "command again, or give --restart to begin without it"
            )
        return done

    def _failed(self, index: int, outcome: Outcome, done: int) -> None:
        error = outcome.error
        if isinstance(error, MissingShardError):
            self.missing.append(str(error))
            return
        final = isinstance(error, LinnetError) and not isinstance(error, DataError | ShardError)
        if final or isinstance(error, OutputError):
            raise LinnetError(
                f"{error}; {done} of {len(self.shards)} shards are done: mend that and run the same command again, it "
                "goes on where it stopped"
            ) from None
        self.bad[index] = f"{error}" if isinstance(error, LinnetError) else f"{type(error).__name__}: {error}"
        self.folder.drop(self.shards[index].name)
        self.tell(Progress("shard", "bad", self.shards[index], {"reason": self.bad[index]}))
        if len(self.bad) > self.max_bad:
            raise LinnetError(
                f"{len(self.bad)} shards could not be used, more than --max-bad {self.max_bad}; the last: "
                f"{self.shards[index].name}: {self.bad[index]}"
            )

    def bad_shards(self) -> list[dict[str, Any]]:
        """The quarantine of shards: names, reasons, and the rows they claim to have."""
        found = []
        for index in sorted(self.bad):
            shard = self.shards[index]
            reason = self.bad[index].replace(shard.path, shard.name)
            rows = make_form(shard.form).rows(shard.path)
            found.append({"name": shard.name, "bytes": shard.size, "rows": rows, "reason": reason})
        return found
