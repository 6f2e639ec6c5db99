"""The Spark engine: executors of a Spark cluster, one that runs somewhere (`scheduler`) or one started on this machine.

Every shard is a Spark job of one task, as many at a time as there are cores, each in a job group of its own: so that one
which takes longer than `timeout` can be cancelled alone, its Python worker with it, and an executor that dies fails that
shard and no other. A job costs some ten milliseconds; shards should be worth seconds. Spark needs Java 17.
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import sys
import time
import uuid
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from linnet.engines.engine import Callback, Engine, Function, Handing, Happening, Outcome, ShardError, SharedValue
from linnet.engines.worker import portable
from linnet.errors import LinnetError, require

__all__ = ["SparkEngine"]

_POLL = 0.5  # seconds between looks at the clock


class SparkEngine(Engine):
    """A Spark cluster.

    `scheduler` is the address of a running one ("spark://host:7077", "yarn"); without it Spark starts on this machine
    with `workers` cores, bound to 127.0.0.1, and ends with the engine. A SparkContext that is there already is used.
    """

    name = "spark"

    def __init__(
        self,
        workers: int | None = None,
        *,
        scheduler: str | None = None,
        retries: int = 2,
        timeout: float | None = None,
        threads: int | None = 1,
        connect_seconds: float = 60.0,
    ) -> None:
        super().__init__(retries=retries, timeout=timeout)
        pyspark = require("pyspark", "the engine 'spark'", "spark")
        self.threads = threads
        self._owned = pyspark.SparkContext._active_spark_context is None
        settings = pyspark.SparkConf().setAppName("linnet").set("spark.ui.showConsoleProgress", "false")
        settings.set("spark.log.level", "OFF")
        settings.set("spark.python.task.killTimeout", "100ms")  # of a cancelled shard
        settings.setMaster(scheduler or f"local[{workers or os.cpu_count() or 1}]")
        if scheduler is None:
            settings.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
            settings.setExecutorEnv(
                "PYTHONPATH", os.pathsep.join(filter(None, sys.path))
            )  # what we can import, they can
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # of its page
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # of its own dealings with pandas
                self._context = pyspark.SparkContext.getOrCreate(settings)
            self._wait(connect_seconds)
        except Exception as error:  # of Py4J, of Java or of PySpark
            lines = str(error).strip().splitlines() or [type(error).__name__]
            reason = next((line.removeprefix(": ") for line in lines if line.startswith(": ")), lines[0])  # of Java
            raise LinnetError(
                f"no Spark at {scheduler or 'this machine'}: {reason:.200}; is Java 17 installed, and does the master run, "
                "with workers?"
            ) from None
        if scheduler is None and self._owned:
            self._context.pythonExec = sys.executable

    def _wait(self, seconds: float) -> None:
        """Wait until an executor has done a first job; a master that is not there fails it, one without workers never does."""
        from pyspark import InheritableThread

        failed: list[Exception] = []

        def first() -> None:
            try:
                self._context.parallelize([0], 1).count()
            except Exception as error:
                failed.append(error)

        thread = InheritableThread(target=first, daemon=True)
        thread.start()
        thread.join(seconds)
        if failed:
            raise failed[0]
        if thread.is_alive():
            self.close()
            raise TimeoutError(f"no answer in {seconds:g} seconds")

    @property
    def workers(self) -> int:
        """How many shards are worked on at a time: the cores of the cluster now."""
        return max(1, int(self._context.defaultParallelism))

    @property
    def dashboard(self) -> str | None:
        """The address of Spark's page."""
        link = self._context.uiWebUrl
        return str(link) if link else None

    def broadcast(self, value: Any) -> SharedValue:
        """Hand a value to every executor that asks for it."""
        shared = super().broadcast(value)
        shared.value = self._context.broadcast(value)
        return shared

    def forget(self, shared: SharedValue) -> None:
        """Drop a broadcast value from the executors and the driver."""
        shared.value.destroy()

    def close(self) -> None:
        """Leave the cluster, if it was not there before."""
        if self._owned:
            self._context.stop()

    def map(
        self, function: Function, shards: Sequence[Any], *shared: SharedValue, watch: Callback | None = None
    ) -> Iterator[Outcome]:
        """Call the function for every shard; yield an Outcome each, in the order they end."""
        run = _Run(self, function, shards, shared, watch or (lambda _: None))
        try:
            yield from run.outcomes()
        finally:
            run.cancel()


class _Run(Handing):
    """One map: as many jobs at a time as there are cores, a thread, a job group and a clock each."""

    def __init__(self, engine: SparkEngine, function: Function, shards: Sequence[Any], shared: Sequence[SharedValue],
                 watch: Callback) -> None:  # fmt: skip
        super().__init__(engine, shards, watch)
        self.context = engine._context
        self.call = functools.partial(_call, function, engine.threads, [one.value for one in shared])
        self.running: dict[str, tuple[int, int, float]] = {}  # job group -> index, attempt, began
        self.begun: set[str] = set()
        self.ended: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()

    def cancel(self) -> None:
        for group in self.running:
            with contextlib.suppress(Exception):  # Spark may be gone
                self.context.cancelJobGroup(group)
        self.running.clear()

    def outcomes(self) -> Iterator[Outcome]:
        while self.waiting or self.running:
            while self.waiting and len(self.running) < self.engine.workers:
                self._hand_out(*self.waiting.popleft())
            with contextlib.suppress(queue.Empty):
                group, answer = self.ended.get(timeout=_POLL)
                if group in self.running:  # else it was late, and is tried again
                    index, attempt, began = self.running.pop(group)
                    worker, value, error = answer
                    yield from self.settle(index, attempt, worker, value, error, time.monotonic() - began)
            yield from self._late()

    def _hand_out(self, index: int, attempt: int) -> None:
        from pyspark import InheritableThread

        group = f"linnet-{uuid.uuid4().hex}"
        self.running[group] = (index, attempt, time.monotonic())
        self.watch(Happening("start", index, "", attempt))
        InheritableThread(target=self._job, args=(group, self.shards[index]), daemon=True).start()

    def _job(self, group: str, shard: Any) -> None:
        """In a thread of its own: run the job of one shard and tell what it gave."""
        answer: Any
        try:
            self.context.setJobGroup(group, "linnet", interruptOnCancel=True)
            answer = self.context.parallelize([shard], 1).map(self.call).collect()[0]
        except Exception as error:  # the job failed, not the function: that gives its errors as values
            answer = ("", None, ShardError(f"its worker died ({type(error).__name__})"))
        self.ended.put((group, answer))

    def _late(self) -> Iterator[Outcome]:
        limit = self.engine.timeout
        if limit is None:
            return
        for group, (index, attempt, _) in self.running.items():
            if group not in self.begun and self._has_begun(group):
                self.begun.add(group)
                self.running[group] = (index, attempt, time.monotonic())  # the clock of the shard starts now
        now = time.monotonic()
        late = [(group, *self.running[group]) for group in self.begun & set(self.running)]
        late = [task for task in late if now - task[3] >= limit]
        for group, index, attempt, began in late:
            del self.running[group]
            self.context.cancelJobGroup(group)
            error = ShardError(f"its worker did not finish in {limit:g} seconds")
            yield from self.again("late", index, attempt, error, "", now - began)

    def _has_begun(self, group: str) -> bool:
        tracker = self.context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        return any(stage is not None and stage.numActiveTasks > 0 for stage in stages)


def _call(
    function: Function, threads: int | None, shared: Sequence[Any], shard: Any
) -> tuple[str, Any, Exception | None]:
    """On an executor: (where it is, the value, or the error as a value, which Spark would wrap and retry in its own way)."""
    import socket

    from linnet.engines.worker import limit_threads

    if threads is not None:
        limit_threads(threads)
    worker = f"{socket.gethostname()}:{os.getpid()}"
    try:
        return worker, function(shard, *(one.value for one in shared)), None
    except Exception as error:
        return worker, None, portable(error)
