"""News of `linnet filter`: bars with MB/s and time left and a line a worker on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from linnet.cli.options import say
from linnet.filter.filtering import FilterProgress

__all__ = ["Show"]

MOST_WORKERS = 8  # with a line of their own
EVERY = 5.0  # seconds between lines where there is no terminal


class Show:
    """Shows progress; use as a context manager around `filter_corpus(on_progress=show)`."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet, self.live = quiet, not quiet and sys.stderr.isatty()
        self.began = self.stage_began = self.said = time.perf_counter()
        self.total = self.done = self.shards = self.finished = self.read = 0
        self.kept = self.rows = 0
        self.workers: dict[str, Any] = {}
        self.bars: Any = None
        self.bar: Any = None

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self.began

    def __enter__(self) -> Show:
        if self.live:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            self.bars = Progress(
                TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[note]}"),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self.bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bars is not None:
            self.bars.stop()
            self.bars = None
        if kind is KeyboardInterrupt:
            self.line(
                f"{self.finished:,} of {self.shards:,} shards done; the same command goes on where this one stopped"
            )

    def line(self, text: str) -> None:
        """Say a line."""
        if self.bars is not None:
            self.bars.console.print(text, highlight=False, markup=False)
        elif not self.quiet:
            say(text)

    def __call__(self, news: FilterProgress) -> None:
        if news.kind == "stage":
            self._stage(news)
        elif news.kind == "shard" and news.record is not None and news.shard is not None:
            self._shard(news)
        elif news.happening is not None and news.shard is not None:
            self._worker(news)

    def _stage(self, news: FilterProgress) -> None:
        self.stage_began = self.said = time.perf_counter()
        self.total, self.done, self.shards, self.finished = news.bytes, 0, news.shards, 0
        resumed = f", {news.resumed:,} done before" if news.resumed else ""
        link = f"; workers: {news.dashboard}" if news.dashboard else ""
        self.line(f"{news.stage} {news.shards:,} shards, {news.bytes / 1e6:,.1f} MB{resumed}{link}")
        if self.bars is not None:
            if self.bar is not None:
                self.bars.remove_task(self.bar)
            self.bar = self.bars.add_task(news.stage, total=max(1, news.bytes), note="")

    def _shard(self, news: FilterProgress) -> None:
        shard, record = news.shard, news.record
        if shard is None or record is None:
            return
        self.finished += 1
        self.done += shard.size
        self.read += shard.size
        if "reason" in record:
            self.line(f"bad shard {shard.name}: {record['reason']}")
        else:
            self.rows += record["rows"]
            self.kept += record["kept"]
        now = time.perf_counter()
        if self.bars is not None:
            self.bars.update(self.bar, completed=self.done, note=self._note(now))
        elif now - self.said >= EVERY:
            self.said = now
            self.line(f"  {self.finished:,} of {self.shards:,} shards, {self._note(now)}")

    def _note(self, now: float) -> str:
        rate = self.done / max(1e-9, now - self.stage_began)
        left = (self.total - self.done) / rate if rate else 0.0
        return f"{rate / 1e6:,.1f} MB/s, {_time(left)} left"

    def _worker(self, news: FilterProgress) -> None:
        happening, shard = news.happening, news.shard
        if happening is None or shard is None:
            return
        if happening.again:  # what is final is said by the run itself
            self.line(f"{happening.worker}: {shard.name}: {happening.detail}; trying again")
        if self.bars is None or not happening.worker:
            return
        if happening.worker not in self.workers and len(self.workers) < MOST_WORKERS:
            self.workers[happening.worker] = self.bars.add_task(f"  {happening.worker}", total=None, note="")
        if happening.worker in self.workers:
            if happening.kind in ("lost", "late"):
                self.bars.remove_task(self.workers.pop(happening.worker))
            else:
                note = (
                    f"{shard.name} ({shard.size / 1e6:,.1f} MB)"
                    if happening.kind == "start"
                    else f"{shard.name} {happening.kind}"
                )
                self.bars.update(self.workers[happening.worker], note=note)


def _time(seconds: float) -> str:
    """A time as people say it.

    >>> _time(59.4), _time(3700)
    ('59 s', '1 h 02 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
