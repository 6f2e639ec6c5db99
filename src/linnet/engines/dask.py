"""The Dask engine: workers of a Dask cluster, one that runs somewhere (`scheduler`) or one started on this machine.

Dask moves the tasks of a worker that died to another one by itself. What it does not notice is a worker that hangs: tasks
are handed out as many at a time as there are threads, so that one which takes longer than `timeout` is really running,
and then its worker is restarted and the shard tried again.
"""

from __future__ import annotations

import contextlib
import operator
import queue
import uuid
from collections.abc import Hashable, Sequence
from typing import Any

from linnet.engines.engine import Add, Engine, Function, News, ShardMap, SharedValue, Tasks, call, check
from linnet.errors import LinnetError, require

POLL_SECONDS = 0.5  # at most, between two looks at the tasks


class DaskEngine(Engine):
    """A Dask cluster.

    `scheduler` is the address of a running one ("tcp://host:8786"); without it a cluster of `workers` processes with a
    thread each starts on this machine, bound to 127.0.0.1, and ends with the engine. `settings` are those of every engine.
    """

    name = "dask"

    def __init__(
        self,
        workers: int | None = None,
        *,
        scheduler: str | None = None,
        connect_seconds: float = 30.0,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        distributed = require("distributed", "the engine 'dask'", "dask")
        self._cluster: Any = None
        try:
            if scheduler is None:
                self._cluster = distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=":0",
                    silence_logs=50,
                )  # fmt: skip
            where = self._cluster if scheduler is None else scheduler
            self._client = distributed.Client(where, timeout=connect_seconds, set_as_default=False)
            self._client.wait_for_workers(1, timeout=connect_seconds)
        except (OSError, TimeoutError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise LinnetError(
                f"no Dask cluster at {scheduler or 'this machine'}: {reason:.200}; is the scheduler running, with workers?"
            ) from None

    @property
    def workers(self) -> int:
        """How many shards are worked on at a time: the threads of the cluster now."""
        return max(1, int(sum(self._client.nthreads().values())))

    @property
    def dashboard(self) -> str | None:
        """The address of Dask's page."""
        return self._client.dashboard_link or None

    def broadcast(self, value: Any) -> SharedValue:
        """Put a value on the cluster, in several places, so that it outlives a worker."""
        shared = super().broadcast(value)
        shared.value = _Scattered(self._client, value)
        return shared

    def forget(self, shared: SharedValue) -> None:
        """Drop a broadcast value from the cluster."""
        shared.value = None

    def close(self) -> None:
        """Leave the cluster; end it if it is our own."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _tasks(self, function: Function, shared: Sequence[SharedValue], keep: bool = False) -> Tasks:
        return _DaskTasks(self._client, function, shared, self.threads, keep)

    def add_up(self, function: Function, shards: Sequence[Any], *shared: SharedValue, add: Add = operator.add) -> Any:
        """Map, and add up on the workers, pairwise in the order of the shards: only the sum travels to the driver."""
        if not shards:
            raise LinnetError("no shards to add up; give one at least")
        level: list[Any] = [None] * len(shards)
        tasks = self._tasks(function, shared, keep=True)
        for outcome in ShardMap(self, tasks, shards).outcomes():
            level[outcome.index] = check(outcome, shards)  # a future: the value stays on its worker
        while len(level) > 1:
            pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
            level = [
                self._client.submit(_added, *pair, add, pure=False) if len(pair) == 2 else pair[0] for pair in pairs
            ]
        return level[0].result()[1]


class _Scattered:
    """A value on the cluster, and here, to put it there again where all its copies have died."""

    def __init__(self, client: Any, value: Any) -> None:
        self.client, self.value = client, value
        self.future = client.scatter([value], broadcast=True, hash=False)[0]

    def on_the_cluster(self) -> Any:
        if self.future.status in ("lost", "cancelled", "error"):
            self.future = self.client.scatter([self.value], broadcast=True, hash=False)[0]
        return self.future


class _DaskTasks(Tasks):
    """Tasks are futures, by their keys. With `keep` the value of a task is its future."""

    def __init__(
        self, client: Any, function: Function, shared: Sequence[SharedValue], threads: int | None, keep: bool
    ) -> None:
        self.client, self.function, self.shared, self.threads, self.keep = client, function, shared, threads, keep
        self.futures: dict[Hashable, Any] = {}
        self.started: list[News] = []
        self.ended: queue.SimpleQueue[Hashable] = queue.SimpleQueue()
        self.name = f"linnet-{getattr(function, '__name__', 'map')}"

    def submit(self, shard: Any) -> Hashable:
        values = [shared.value.on_the_cluster() for shared in self.shared]
        key = f"{self.name}-{uuid.uuid4().hex}"
        future = self.client.submit(
            _call_on_worker, self.function, shard, self.threads, *values, key=key, pure=False, retries=0
        )
        self.futures[key] = future
        future.add_done_callback(lambda ended: self.ended.put(ended.key))
        self.started.append(News(key, "begin"))
        return key

    def poll(self, seconds: float | None) -> list[News]:
        if self.started:
            started, self.started = self.started, []
            return started
        with contextlib.suppress(queue.Empty):
            self.ended.get(timeout=POLL_SECONDS if seconds is None else min(seconds, POLL_SECONDS))
        done = [key for key, future in self.futures.items() if future.done()]
        return [self._news(key, self.futures.pop(key)) for key in done]

    def _news(self, key: Hashable, future: Any) -> News:
        if future.status == "cancelled":
            return News(key, "lost", "it was restarted")
        try:
            if self.keep:  # only whether there is a value travels
                worker, error = self.client.submit(_without_value, future, pure=False).result()
                value = future
            else:
                worker, value, error = future.result()
        except Exception as died:  # Dask's own error: the worker died with the task or with its result
            return News(key, "lost", type(died).__name__)
        return News(key, "value", value, worker) if error is None else News(key, "error", error, worker)

    def worker(self, task: Hashable) -> str:
        return next((worker for worker, keys in self.client.processing().items() if task in keys), "")

    def stop(self, tasks: Sequence[Hashable]) -> None:
        """Cancel tasks, and restart the workers that are at them: a nanny starts them again."""
        hung = sorted({self.worker(task) for task in tasks} - {""})
        self.close(tasks)
        if not hung:
            return
        try:
            self.client.restart_workers(hung, timeout=20, raise_for_error=False)
        except (ValueError, TimeoutError, KeyError):  # no nanny, or gone already: at least nothing new goes there
            self.client.retire_workers(hung, close_workers=True, remove=True)
        self.started = [News(key, "begin") for key in self.futures]  # they may have been on the same workers

    def close(self, tasks: Sequence[Hashable]) -> None:
        """Cancel tasks."""
        self.client.cancel([self.futures.pop(task) for task in tasks], force=True)


def _call_on_worker(
    function: Function, shard: Any, threads: int | None, *values: Any
) -> tuple[str, Any, Exception | None]:
    from distributed import get_worker

    return get_worker().address, *call(function, shard, values, threads)


def _without_value(answer: tuple[str, Any, Exception | None]) -> tuple[str, Exception | None]:
    return answer[0], answer[2]


def _added(left: Any, right: Any, add: Add) -> tuple[str, Any, Exception | None]:
    return "", add(left[1], right[1]), None
