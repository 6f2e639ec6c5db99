"""The Spark engine: executors of a Spark cluster, one that runs somewhere (`scheduler`) or one started on this machine.

Every shard is a Spark job of one task, as many at a time as there are cores, each in a job group of its own: so that one
which takes longer than `timeout` can be cancelled alone, its Python worker with it, and an executor that dies fails that
shard and no other. A job costs some ten milliseconds; shards should be worth seconds. Spark needs Java 17.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import sys
import uuid
import warnings
from collections.abc import Hashable, Sequence
from multiprocessing.pool import ThreadPool
from typing import Any

from linnet.engines.engine import Answer, Engine, Function, News, SharedValue, Tasks, call
from linnet.errors import LinnetError, require

CONNECT_SECONDS = 60.0


class SparkEngine(Engine):
    """A Spark cluster.

    `scheduler` is the address of a running one ("spark://host:7077", "yarn"); without it Spark starts on this machine
    with `workers` cores, bound to 127.0.0.1, and ends with the engine. A SparkContext that is there already is used.
    """

    name = "spark"

    def __init__(self, workers: int | None = None, *, scheduler: str | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        pyspark = require("pyspark", "the engine 'spark'", "spark")
        self._owned = pyspark.SparkContext._active_spark_context is None
        config = pyspark.SparkConf().setAppName("linnet").set("spark.ui.showConsoleProgress", "false")
        config.set("spark.log.level", "OFF")
        config.set("spark.python.task.killTimeout", "100ms")  # of a cancelled shard
        config.setMaster(scheduler or f"local[{workers or os.cpu_count() or 1}]")
        if scheduler is None:
            config.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
            config.setExecutorEnv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))  # to import what we can
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # of its page
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # it uses pandas in a way that will change
                self._context = pyspark.SparkContext.getOrCreate(config)
            self._wait(CONNECT_SECONDS)
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
        with ThreadPool(1) as pool:
            first = pool.apply_async(self._context.parallelize([0], 1).count)
            try:
                first.get(seconds)
            except multiprocessing.TimeoutError:
                self.close()
                raise TimeoutError(f"no answer in {seconds:g} seconds") from None

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

    def close(self) -> None:
        """Leave the cluster, if it was not there before."""
        if self._owned:
            self._context.stop()

    def _tasks(self, function: Function, shared: Sequence[SharedValue]) -> Tasks:
        return _SparkTasks(self, self._context, function, shared)


class _SparkTasks(Tasks):
    """A task is a job in a group and a thread of its own."""

    def __init__(self, engine: Engine, context: Any, function: Function, shared: Sequence[SharedValue]) -> None:
        super().__init__(engine)
        self.context = context
        self.call = functools.partial(_call_on_executor, function, engine.threads, [one.value for one in shared])

    def submit(self, shard: Any) -> Hashable:
        from pyspark import InheritableThread

        group = f"linnet-{uuid.uuid4().hex}"
        InheritableThread(target=self._job, args=(group, shard), daemon=True).start()
        return group

    def _job(self, group: str, shard: Any) -> None:
        """In a thread of its own: run the job of one shard and tell what it gave."""
        try:
            self.context.setJobGroup(group, "linnet", interruptOnCancel=True)
            worker, value, error = self.context.parallelize([shard], 1).map(self.call).collect()[0]
        except Exception as failed:  # the job, not the function, whose errors are values
            self.news.put(News(group, "lost", type(failed).__name__))
            return
        self.news.put(News(group, "value", value, worker) if error is None else News(group, "error", error, worker))

    def stop(self, tasks: Sequence[Hashable]) -> None:
        """Cancel jobs; Spark ends their Python workers."""
        for group in tasks:
            with contextlib.suppress(Exception):  # Spark may be gone
                self.context.cancelJobGroup(group)


def _call_on_executor(function: Function, threads: int | None, shared: Sequence[Any], shard: Any) -> Answer:
    import socket

    values = [one.value for one in shared]
    return f"{socket.gethostname()}:{os.getpid()}", *call(function, shard, values, threads)
