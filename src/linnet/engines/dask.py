"""The Dask engine: workers of a Dask cluster, one that runs somewhere (`scheduler`) or one started on this machine.

Dask moves the tasks of a worker that died to another one by itself. What it does not know is a worker that hangs: tasks
are handed out as many at a time as there are threads, so that one which takes longer than `timeout` is really running,
and then its worker is restarted and the shard tried again.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import queue
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from linnet.engines.engine import (
    Add,
    Callback,
    Engine,
    Function,
    Handing,
    Happening,
    Outcome,
    ShardError,
    SharedValue,
    check,
)
from linnet.engines.worker import portable
from linnet.errors import LinnetError, require

__all__ = ["DaskEngine"]

_POLL = 0.5  # seconds between looks at the clock


class DaskEngine(Engine):
    """A Dask cluster.

    `scheduler` is the address of a running one ("tcp://host:8786"); without it a cluster of `workers` processes with a
    thread each starts on this machine, bound to 127.0.0.1, and ends with the engine.
    """

    name = "dask"

    def __init__(
        self,
        workers: int | None = None,
        *,
        scheduler: str | None = None,
        retries: int = 2,
        timeout: float | None = None,
        threads: int | None = 1,
        connect_seconds: float = 30.0,
    ) -> None:
        super().__init__(retries=retries, timeout=timeout)
        distributed = require("distributed", "the engine 'dask'", "dask")
        self._distributed, self.threads = distributed, threads
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
        link = self._client.dashboard_link
        return link if link else None

    def broadcast(self, value: Any) -> SharedValue:
        """Put a value on the cluster, in several places, so that it outlives a worker."""
        shared = super().broadcast(value)
        shared.value = _Everywhere(self._client.scatter([value], broadcast=True, hash=False)[0], value)
        return shared

    def forget(self, shared: SharedValue) -> None:
        """Drop a broadcast value from the cluster."""
        shared.value = None

    def close(self) -> None:
        """Leave the cluster; end it if it is our own."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def map(
        self, function: Function, shards: Sequence[Any], *shared: SharedValue, watch: Callback | None = None
    ) -> Iterator[Outcome]:
        """Call the function for every shard; yield an Outcome each, in the order they end."""
        run = _Run(self, function, shards, shared, watch or (lambda _: None))
        try:
            yield from run.outcomes()
        finally:
            run.cancel()

    def add_up(
        self,
        function: Function,
        shards: Sequence[Any],
        *shared: SharedValue,
        add: Add = operator.add,
        watch: Callback | None = None,
    ) -> Any:
        """Map, and add up on the workers, pairwise in the order of the shards: only the sum travels to the driver."""
        if not shards:
            raise LinnetError("no shards to add up; give one at least")
        run = _Run(self, function, shards, shared, watch or (lambda _: None), keep=True)
        try:
            for outcome in run.outcomes():
                check(outcome, shards)
            level = [run.kept[k] for k in range(len(shards))]
            while len(level) > 1:
                pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
                level = [
                    self._client.submit(_added, *pair, add, key=f"linnet-add-{uuid.uuid4().hex}", pure=False)
                    if len(pair) == 2
                    else pair[0]
                    for pair in pairs
                ]
            return level[0].result()[1]
        finally:
            run.cancel()


class _Everywhere:
    """A value on the cluster, and here, to put it there again where all its copies have died."""

    def __init__(self, future: Any, value: Any) -> None:
        self.future, self.value = future, value

    def on(self, client: Any) -> Any:
        if self.future.status in ("lost", "cancelled", "error"):
            self.future = client.scatter([self.value], broadcast=True, hash=False)[0]
        return self.future


class _Run(Handing):
    """One map: as many tasks at a time as there are threads, each with its clock."""

    def __init__(self, engine: DaskEngine, function: Function, shards: Sequence[Any], shared: Sequence[SharedValue],
                 watch: Callback, keep: bool = False) -> None:  # fmt: skip
        super().__init__(engine, shards, watch)
        self.cluster, self.client, self.keep = engine, engine._client, keep
        self.function, self.shared = function, shared
        self.running: dict[str, tuple[Any, int, int, float]] = {}  # key -> future, index, attempt, began
        self.kept: dict[int, Any] = {}
        self.news: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.name = f"linnet-{getattr(function, '__name__', 'map')}-{uuid.uuid4().hex[:12]}"
        self.numbers = itertools.count()

    def cancel(self) -> None:
        futures = [future for future, *_ in self.running.values()]
        if futures:
            self.client.cancel(futures, force=True)
        self.running.clear()
        self.kept.clear()

    def outcomes(self) -> Iterator[Outcome]:
        while self.waiting or self.running:
            self._hand_out()
            with contextlib.suppress(queue.Empty):
                self.news.get(timeout=_POLL)
            for key, (future, index, attempt, began) in list(self.running.items()):
                if future.done():
                    del self.running[key]
                    yield from self._ended(future, index, attempt, time.monotonic() - began)
            yield from self._late()

    def _hand_out(self) -> None:
        room = self.engine.workers - len(self.running)
        values = [shared.value.on(self.client) for shared in self.shared]
        while self.waiting and room > 0:
            index, attempt = self.waiting.popleft()
            future = self.client.submit(
                _call, self.function, self.shards[index], self.cluster.threads, *values,
                key=f"{self.name}-{index}-{next(self.numbers)}", pure=False, retries=0,
            )  # fmt: skip
            future.add_done_callback(lambda ended: self.news.put(ended.key))
            self.running[future.key] = (future, index, attempt, time.monotonic())
            self.watch(Happening("start", index, "", attempt))
            room -= 1

    def _ended(self, future: Any, index: int, attempt: int, seconds: float) -> Iterator[Outcome]:
        worker, error, value = "", None, None
        if future.status == "finished":
            try:
                worker, value, error = self._answer(future, index)
            except Exception as gone:  # the worker died with the result before it travelled
                error = ShardError(f"its worker died ({type(gone).__name__})")
        else:
            error = self._failure(future)
        yield from self.settle(index, attempt, worker, value, error, seconds)

    def _answer(self, future: Any, index: int) -> tuple[str, Any, Exception | None]:
        if self.keep:  # the value stays on its worker; only whether it is one travels
            told = self.client.submit(_told, future, key=f"linnet-told-{uuid.uuid4().hex}", pure=False).result()
            self.kept[index] = future
            return told[0], None, told[1]
        worker, value, error = future.result()
        return worker, value, error

    def _failure(self, future: Any) -> Exception:
        if future.status == "cancelled":
            return ShardError("its worker was restarted")
        error = future.exception()
        if isinstance(error, self.cluster._distributed.KilledWorker):
            return ShardError(f"its worker died ({error.allowed_failures + 1} times)")
        return portable(error)

    def _late(self) -> Iterator[Outcome]:
        limit = self.engine.timeout
        if limit is None:
            return
        now = time.monotonic()
        late = {key: task for key, task in self.running.items() if now - task[3] >= limit}
        if not late:
            return
        where = {key: worker for worker, keys in self.client.processing().items() for key in keys}
        for key, (future, index, attempt, began) in late.items():
            del self.running[key]
            worker = where.get(key, "")
            self.client.cancel([future], force=True)
            error = ShardError(f"its worker did not finish in {limit:g} seconds")
            yield from self.again("late", index, attempt, error, worker, now - began)
        hung = sorted({where[key] for key in late if key in where})
        if hung:
            self._restart(hung)

    def _restart(self, hung: list[str]) -> None:
        """End workers that hang; a nanny starts them again. The clocks of the others on them start anew."""
        try:
            self.client.restart_workers(hung, timeout=20, raise_for_error=False)
        except (ValueError, TimeoutError, KeyError):  # no nanny, or gone already: at least nothing new goes there
            self.client.retire_workers(hung, close_workers=True, remove=True)
        now = time.monotonic()
        self.running = {key: (future, index, attempt, now) for key, (future, index, attempt, _) in self.running.items()}


def _call(function: Function, shard: Any, threads: int | None, *values: Any) -> tuple[str, Any, Exception | None]:
    """On a worker: (its address, the value, or the error as a value, which Dask would log and retry in its own way)."""
    from distributed import get_worker

    from linnet.engines.worker import limit_threads

    if threads is not None:
        limit_threads(threads)
    worker = get_worker().address
    try:
        return worker, function(shard, *values), None
    except Exception as error:
        return worker, None, portable(error)


def _told(answer: tuple[str, Any, Exception | None]) -> tuple[str, Exception | None]:
    return answer[0], answer[2]


def _added(left: Any, right: Any, add: Add) -> tuple[str, Any, Exception | None]:
    return "", add(left[1], right[1]), None
