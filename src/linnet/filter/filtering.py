"""The run: which shards are left to do, who does them, what went wrong, and the account at the end."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linnet.draw.terminal import listed
from linnet.engines import Engine, Outcome, ShardError, ShardEvent, open_engine
from linnet.errors import DataError, LinnetError
from linnet.files import OutputError, digest
from linnet.filter.output_folder import OutputFolder, manifest_of, summary_html
from linnet.filter.passes import score_shard, write_shard
from linnet.filter.ranking import find_cuts
from linnet.filter.settings import FilterSettings, MissingShardError, Rule, Shard, filter_shards
from linnet.values import to_plain


@dataclass(frozen=True)
class FilterEvent:
    """What happens in a run: what a worker does, a shard that is done, or a new stage ("scoring", "selecting", "filtering")."""

    kind: str  # "stage", "shard", "worker"
    stage: str
    shard: Shard | None = None
    record: dict[str, Any] | None = None
    happening: ShardEvent | None = None
    shards: int = 0
    bytes: int = 0
    resumed: int = 0
    dashboard: str | None = None


OnProgress = Callable[[FilterEvent], None]


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
    trust: bool = False,
) -> dict[str, Any]:
    """Keep the rows of a corpus that a model says are worth keeping; return the manifest.

    `inputs` are files, folders and patterns, in any format of `linnet.data.formats`. `out` is a new folder: it will hold a
    file a shard, of the same name and schema plus the scores, a manifest, a summary and a quarantine. Parquet, Arrow, JSON
    lines, CSV, TSV, WARC and WET stay what they are; other formats become JSON lines, NAME.jsonl. If `out` holds this same
    run, unfinished, the run goes on where it stopped. `clean` and `pages` are names of rules of
    `linnet.text.clean`; the clean text is scored and written. `engine` is one of `linnet.engines`, and stays open; by
    default processes of this machine, one a core. `threads` is how many threads score in each worker. More than
    `max_bad` bad shards (10, or a tenth of all if that is more) stop the run. `trust` lets the workers import the functions
    that the model file names.

    Rows in = kept + dropped + unusable, exactly. A disk that is full, or a shard that has gone, raises an error and
    leaves a state from which the same call goes on.
    """
    shards = filter_shards(inputs, format)
    settings = FilterSettings(
        os.path.realpath(model), rule, os.path.realpath(out), text, None if clean is None else tuple(clean),
        None if pages is None else tuple(pages), proba, prefix, threads, trust,
    )  # fmt: skip
    _ = settings.names, settings.cleaner  # unknown labels and rules are said before anything is read
    folder = OutputFolder(settings.out)
    _keep_apart(folder, shards)
    described = _describe(settings, shards)
    complete = folder.begin(described, restart)
    if complete is not None:
        return complete
    limit = max(10, len(shards) // 10) if max_bad is None else max_bad
    with contextlib.ExitStack() as stack:
        stack.callback(folder.release)
        crew = stack.enter_context(open_engine("local")) if engine is None else engine
        run = _FilterRun(crew, settings, folder, shards, limit, on_progress or (lambda _: None))
        done = run.two_passes() if rule.ranked else run.stage("filtering", "done", write_shard, dict.fromkeys(run.all))
        bad = run.bad_shards()
        manifest = manifest_of(settings, described, done, bad, run.cut)
        folder.write(folder.bad_shards, bad)
        folder.write_bytes(folder.summary, summary_html(manifest))
        folder.write(folder.manifest, manifest)
        folder.finish()
    return manifest


def _describe(settings: FilterSettings, shards: list[Shard]) -> dict[str, Any]:
    """What must be the same for a run to go on."""
    given = {name: to_plain(getattr(settings, name)) for name in ("text", "prefix", "proba", "clean", "pages")}
    listed = [{"name": shard.name, "size": shard.size, "format": shard.format} for shard in shards]
    return {"model": digest(settings.model), "rule": settings.rule.to_dict(), **given, "shards": listed}


def _keep_apart(folder: OutputFolder, shards: list[Shard]) -> None:
    pairs = [(folder.output(shard.name), Path(shard.path)) for shard in shards]
    if any(path.exists() and source.exists() and path.samefile(source) for path, source in pairs):
        raise LinnetError(f"{folder.path} is where the input is; choose another --out")
    ours = ("_manifest.json", "_summary.html", "_quarantine/shards.json")
    taken = [shard.name for shard in shards if shard.name in ours]
    if taken:
        raise LinnetError(f"a shard is called {taken[0]}, as a file of the output is; rename it")


class _FilterRun:
    """One run: stages of shards, with what went wrong."""

    def __init__(
        self,
        engine: Engine,
        settings: FilterSettings,
        folder: OutputFolder,
        shards: list[Shard],
        max_bad: int,
        tell: OnProgress,
    ) -> None:
        self.engine, self.settings, self.folder, self.shards = engine, settings, folder, shards
        self.max_bad, self.tell, self.all = max_bad, tell, list(range(len(shards)))
        self.shared = engine.broadcast(settings)
        self.bad: dict[int, str] = {}
        self.missing: list[str] = []
        self.cut: dict[str, Any] | None = None

    def two_passes(self) -> dict[int, dict[str, Any]]:
        """Score everything, find the cut, select."""
        scored = self.stage("scoring", "scored", score_shard, dict.fromkeys(self.all))
        by_shard, self.cut = find_cuts(self.folder, self.settings.rule, scored)
        self.folder.agree_on_cut(by_shard)
        return self.stage("selecting", "done", write_shard, by_shard)

    def stage(self, name: str, kind: str, function: Any, tasks: dict[int, Any]) -> dict[int, dict[str, Any]]:
        """Do what is left of some shards; return the records of those that are done, by number."""
        records = {index: self.folder.read_record(kind, index) for index in tasks}
        done = {index: record for index, record in records.items() if record is not None}
        todo = [index for index in tasks if index not in done]
        size = sum(self.shards[index].size for index in todo)
        ahead: dict[str, Any] = {"shards": len(todo), "bytes": size, "resumed": len(done)}
        self.tell(FilterEvent("stage", name, dashboard=self.engine.dashboard, **ahead))
        work = [(index, self.shards[index], tasks[index]) for index in todo]

        def watch(news: ShardEvent) -> None:
            self.tell(FilterEvent("worker", name, self.shards[todo[news.index]], happening=news))

        for outcome in self.engine.map(function, work, self.shared, watch=watch):
            index = todo[outcome.index]
            if outcome.error is None:
                done[index] = outcome.value
                self.tell(FilterEvent("shard", name, self.shards[index], outcome.value))
            else:
                self._failed(index, outcome, len(done))
        if self.missing:
            raise LinnetError(
                f"{listed(self.missing, 1)}; {len(done)} of {len(tasks)} shards are done: put it back and run the same "
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
                f"{error}; {done} of {len(self.shards)} shards are done: put that right and run the same command again, it "
                "goes on where it stopped"
            ) from None
        self.bad[index] = f"{error}" if isinstance(error, LinnetError) else f"{type(error).__name__}: {error}"
        self.folder.drop(self.shards[index].name)
        self.tell(FilterEvent("shard", "bad", self.shards[index], {"reason": self.bad[index]}))
        if len(self.bad) > self.max_bad:
            raise LinnetError(
                f"{len(self.bad)} shards could not be used, more than --max-bad {self.max_bad}; the last: "
                f"{self.shards[index].name}: {self.bad[index]}"
            )

    def bad_shards(self) -> list[dict[str, Any]]:
        """The quarantine of shards: names, sizes and reasons."""
        pairs = [(self.shards[index], reason) for index, reason in sorted(self.bad.items())]
        return [{"name": s.name, "bytes": s.size, "reason": reason.replace(s.path, s.name)} for s, reason in pairs]
