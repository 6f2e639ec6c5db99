"""The Dask engine: workers of a Dask cluster, one that runs somewhere (`scheduler`) or one started on this machine.

Dask moves the tasks of a worker that died to another one by itself. What it does not notice is a worker that hangs: tasks
are handed out as many at a time as there are threads, so that one which takes longer than `timeout` is really running,
and then its worker is restarted and the shard tried again.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Hashable, Sequence
from typing import Any

from linnet.engines.engine import Answer, Engine, Function, News, SharedValue, Tasks, call
from linnet.errors import LinnetError, require

CONNECT_SECONDS = 30.0


class DaskEngine(Engine):
    """A Dask cluster.

    `scheduler` is the address of a running one ("tcp://host:8786"); without it a cluster of `workers` processes with a
    thread each starts on this machine, bound to 127.0.0.1, and ends with the engine. `settings` are those of every engine.
    """

    name = "dask"

    def __init__(self, workers: int | None = None, *, scheduler: str | None = None, **settings: Any) -> None:
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
            self._client = distributed.Client(where, timeout=CONNECT_SECONDS, set_as_default=False)
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
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
        """Put a value on the cluster as the result of a task, which Dask makes again where the worker that has it dies."""
        shared = super().broadcast(value)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            shared.value = self._client.submit(_itself, value, key=f"linnet-shared-{uuid.uuid4().hex}")
        return shared

    def close(self) -> None:
        """Leave the cluster; end it if it is our own."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _tasks(self, function: Function, shared: Sequence[SharedValue]) -> Tasks:
        return _DaskTasks(self._client, self, function, shared)


class _DaskTasks(Tasks):
    """Tasks are futures, by their keys."""

    def __init__(self, client: Any, engine: Engine, function: Function, shared: Sequence[SharedValue]) -> None:
        super().__init__(engine, function, shared)
        self.client = client
        self.futures: dict[Hashable, Any] = {}
        self.name = f"linnet-{getattr(function, '__name__', 'map')}"

    def submit(self, shard: Any) -> Hashable:
        work = self.function, shard, self.engine.threads, *(shared.value for shared in self.shared)
        key = f"{self.name}-{uuid.uuid4().hex}"
        future = self.client.submit(_call_on_worker, *work, key=key, pure=False, retries=0)
        self.futures[key] = future
        future.add_done_callback(self._tell)
        return key

    def _tell(self, future: Any) -> None:
        """In a thread of Dask: tell what a task gave."""
        try:
            worker, value, error = future.result()
        except BaseException as died:  # of Dask: the worker died or was restarted with the task or with its result
            self.news.put(News(future.key, "lost", type(died).__name__))
            return
        self.futures.pop(future.key, None)
        kind, found = ("value", value) if error is None else ("error", error)
        self.news.put(News(future.key, kind, found, worker))

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

    def close(self, tasks: Sequence[Hashable]) -> None:
        """Cancel tasks."""
        self.client.cancel([self.futures.pop(task) for task in tasks if task in self.futures], force=True)


def _itself(value: Any) -> Any:
    return value


def _call_on_worker(function: Function, shard: Any, threads: int | None, *values: Any) -> Answer:
    from distributed import get_worker

    return get_worker().address, *call(function, shard, values, threads)
