"""What an engine is: map a function over shards, add the results up, hand a value to every worker.

The promises that every engine makes, and that tests/test_engines.py holds each of them to:

* every shard gives exactly one :class:`Outcome`, whatever dies on the way;
* a shard whose worker dies, hangs for longer than `timeout` seconds or fails is tried again, `retries` times at most;
* an error of the function that is a LinnetError is final: it says that the input is wrong, and trying again will not help;
* `add_up` adds in one fixed order, so floating-point sums are the same on any number of workers and on any engine.

Functions must be importable by name (no lambdas, nothing of `__main__`) and give the same result when called twice.

What runs on workers; and a worker process of the local engine, which takes tasks from a pipe and ends with its driver.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import operator
import os
import pickle
import queue
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from multiprocessing.connection import Connection
from typing import Any, ClassVar, NamedTuple

from linnet.errors import DataError, LinnetError

Function = Callable[..., Any]
Add = Callable[[Any, Any], Any]
Answer = tuple[str, Any, Exception | None]  # of a cluster: the worker, the value, the error


class ShardError(LinnetError):
    """A shard has no result: its worker died, hung or failed as often as is allowed."""


@dataclass(frozen=True)
class Outcome:
    """What became of one shard: a value, or the error that ended it."""

    index: int
    value: Any = None
    error: Exception | None = None
    attempts: int = 1
    worker: str = ""


@dataclass(frozen=True)
class ShardEvent:
    """What happens in a map: a worker "start"s or has "done" a shard, is "lost" (died) or "late" (hung), or has "failed"."""

    kind: str
    index: int
    worker: str
    attempt: int = 1
    detail: str = ""
    again: bool = False  # whether the shard will be tried again


Callback = Callable[[ShardEvent], None]


class SharedValue:
    """A value that every worker has; made by `Engine.broadcast`, given to the function as the value itself."""

    keys = count()

    def __init__(self, value: Any) -> None:
        self.key, self.value = next(self.keys), value


class News(NamedTuple):
    """What became of a task: "begin", "value", "error" (the function failed) or "lost" (its worker died)."""

    task: Hashable
    kind: str
    value: Any = None
    worker: str = ""


@dataclass
class _Attempt:
    index: int
    number: int = 1
    began: float = 0.0
    started: bool = False  # whether its worker is at it, or still starting itself


class Tasks(ABC):
    """The tasks of one map on the workers of an engine: shards that wait, those that run, and which of them have run for too long.

    An engine says how a task is submitted and stopped. What becomes of a task is put into the queue `news`, from any thread; what
    tasks say that no longer run is not heard.
    """

    # How long a task may wait for its worker to start, which is no part of the time of the shard; None: there is no "begin".
    start_seconds: float | None = None

    def __init__(self, engine: Engine, function: Function | None = None, shared: Sequence[SharedValue] = ()) -> None:
        self.engine, self.function, self.shared = engine, function, shared
        self.news: queue.SimpleQueue[News] = queue.SimpleQueue()
        self.running: dict[Hashable, _Attempt] = {}

    @abstractmethod
    def submit(self, shard: Any) -> Hashable:
        """Hand a shard to a worker; returns the name of the task."""

    def worker(self, task: Hashable) -> str:
        """Return the name of the worker of a running task; "" where that is not known."""
        return ""

    @abstractmethod
    def stop(self, tasks: Sequence[Hashable]) -> None:
        """End tasks that hang, with their workers. There is no news of them afterwards."""

    def close(self, tasks: Sequence[Hashable]) -> None:
        """End the map; these tasks still run, and nobody waits for them."""
        self.stop(tasks)

    def outcomes(self, shards: Sequence[Any], watch: Callback) -> Iterator[Outcome]:
        """Run until every shard has its outcome; tasks that run are ended if the caller leaves."""
        self.watch, self.waiting = watch, deque(_Attempt(index) for index in range(len(shards)))
        try:
            while self.waiting or self.running:
                while self.waiting and len(self.running) < self.engine.workers:
                    attempt = self.waiting.popleft()
                    attempt.began, attempt.started = time.monotonic(), self.start_seconds is None
                    self.running[self.submit(shards[attempt.index])] = attempt
                    if attempt.started:
                        self.watch(ShardEvent("start", attempt.index, "", attempt.number))
                with contextlib.suppress(queue.Empty):
                    yield from self._take(self.news.get(timeout=self._patience()))
                yield from self._late()
        finally:
            self.close(list(self.running))
            self.running.clear()

    def _take(self, news: News) -> Iterator[Outcome]:
        attempt = self.running.get(news.task)
        if attempt is None:
            return
        if not attempt.started:
            self.watch(ShardEvent("start", attempt.index, news.worker, attempt.number))
        if news.kind == "begin":
            attempt.began, attempt.started = time.monotonic(), True
            return
        del self.running[news.task]
        if news.kind == "value":
            self.watch(ShardEvent("done", attempt.index, news.worker, attempt.number))
            yield Outcome(attempt.index, news.value, None, attempt.number, news.worker)
        elif news.kind == "lost":
            self.stop([news.task])
            yield from self._again("lost", attempt, ShardError(f"its worker died ({news.value})"), news.worker)
        else:
            yield from self._again("failed", attempt, news.value, news.worker)

    def _deadline(self, attempt: _Attempt) -> float:
        seconds = self.engine.timeout if attempt.started else self.start_seconds
        return attempt.began + (math.inf if seconds is None or self.engine.timeout is None else seconds)

    def _patience(self) -> float | None:
        """How long to wait for news until the first attempt is late."""
        first = min(map(self._deadline, self.running.values()))
        return None if math.isinf(first) else max(0.0, first - time.monotonic())

    def _late(self) -> Iterator[Outcome]:
        now = time.monotonic()
        late = {task: attempt for task, attempt in self.running.items() if now >= self._deadline(attempt)}
        workers = {task: self.worker(task) for task in late}
        if late:
            self.stop(list(late))
        for task, attempt in late.items():
            del self.running[task]
            limit = f"finish in {self.engine.timeout:g}" if attempt.started else f"start in {self.start_seconds:g}"
            error = ShardError(f"its worker did not {limit} seconds")
            yield from self._again("late", attempt, error, workers[task])

    def _again(self, kind: str, attempt: _Attempt, error: Exception, worker: str) -> Iterator[Outcome]:
        """Try a shard once more; where that will not help, its error is the Outcome."""
        wrong_input = isinstance(error, LinnetError) and not isinstance(error, ShardError)
        final = wrong_input or attempt.number > self.engine.retries
        self.watch(ShardEvent(kind, attempt.index, worker, attempt.number, str(error), not final))
        if final:
            yield Outcome(attempt.index, None, error, attempt.number, worker)
        else:
            self.waiting.append(_Attempt(attempt.index, attempt.number + 1))


class Engine(contextlib.AbstractContextManager["Engine"]):
    """Map over shards, add up, broadcast. Use in a with block.

    `retries` more attempts for a shard that fails, `timeout` seconds for each attempt (None: no limit).
    """

    name: ClassVar[str]

    def __init__(self, *, retries: int = 2, timeout: float | None = None, threads: int | None = 1) -> None:
        if retries < 0:
            raise LinnetError(f"retries must be 0 or more, got {retries}")
        if timeout is not None and timeout <= 0:
            raise LinnetError(f"timeout must be a number of seconds above 0, got {timeout}")
        self.retries, self.timeout, self.threads = retries, timeout, threads

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many shards are worked on at a time."""

    @property
    def dashboard(self) -> str | None:
        """The address of a page that shows the workers, where there is one."""
        return None

    @abstractmethod
    def _tasks(self, function: Function, shared: Sequence[SharedValue]) -> Tasks:
        """Begin a map."""

    def map(
        self, function: Function, shards: Sequence[Any], *shared: SharedValue, watch: Callback | None = None
    ) -> Iterator[Outcome]:
        """Call ``function(shard, *values of shared)`` for every shard; yield an Outcome each, in the order they end."""
        yield from self._tasks(function, shared).outcomes(shards, watch or (lambda _: None))

    def broadcast(self, value: Any) -> SharedValue:
        """Hand a value to every worker, once, however many shards use it."""
        return SharedValue(value)

    def add_up(
        self,
        function: Function,
        shards: Sequence[Any],
        *shared: SharedValue,
        add: Add = operator.add,
        watch: Callback | None = None,
    ) -> Any:
        """Map, and add the values up pairwise in the order of the shards. A shard without a value is an error."""
        if not shards:
            raise LinnetError("no shards to add up; give one at least")
        total = TreeSum(len(shards), add)
        for outcome in self.map(function, shards, *shared, watch=watch):
            total.put(outcome.index, check(outcome, shards))
        return total.value

    def close(self) -> None:  # noqa: B027 - nor anything to close
        """End the workers."""

    def __exit__(self, *_: object) -> None:
        self.close()


def check(outcome: Outcome, shards: Sequence[Any]) -> Any:
    """Return the value of an outcome, or raise its error."""
    if outcome.error is None:
        return outcome.value
    if isinstance(outcome.error, LinnetError) and not isinstance(outcome.error, ShardError):
        raise outcome.error
    tries = f"{outcome.attempts} attempt{'s' if outcome.attempts != 1 else ''}"
    raise ShardError(f"shard {shards[outcome.index]!r:.80}: {outcome.error} (after {tries})") from outcome.error


class TreeSum:
    """Add values up pairwise, in the order of their numbers, as they come in: ((0 + 1) + (2 + 3)) + (4 + 5) ...

    The shape of the tree depends on how many values there are and on nothing else, so floating-point sums are the same
    in whatever order the values come. Values that came in order leave only log2(n) of them waiting.

    >>> total = TreeSum(5, operator.add)
    >>> for k in (4, 0, 3, 2, 1):
    ...     total.put(k, f"({k})")
    >>> total.value
    '(0)(1)(2)(3)(4)'
    """

    def __init__(self, n: int, add: Add) -> None:
        self.add = add
        self.sizes = [n]  # how many nodes each level has
        while self.sizes[-1] > 1:
            self.sizes.append((self.sizes[-1] + 1) // 2)
        self.waiting: dict[tuple[int, int], Any] = {}

    def put(self, index: int, value: Any) -> None:
        """Take value number `index`."""
        level = 0
        while level < len(self.sizes) - 1:
            sibling = index ^ 1
            if sibling < self.sizes[level]:
                if (level, sibling) not in self.waiting:
                    break
                other = self.waiting.pop((level, sibling))
                value = self.add(other, value) if index & 1 else self.add(value, other)
            level, index = level + 1, index >> 1
        self.waiting[level, index] = value

    @property
    def value(self) -> Any:
        """The sum of all values."""
        return self.waiting[len(self.sizes) - 1, 0]


def work(tasks: Connection, threads: int | None) -> None:
    """Answer tasks until the driver goes away, and end with it, in the middle of a task too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's business
    threading.Thread(target=_end_with_driver, daemon=True).start()
    if threads is not None:
        limit_threads(threads)
    shared: dict[int, Any] = {}
    while True:
        try:
            new, task = tasks.recv()
        except (EOFError, OSError):
            return
        try:
            shared |= {key: pickle.loads(value) for key, value in new.items()}  # noqa: S301 - our own driver wrote it
            function, shard, keys = pickle.loads(task)  # noqa: S301 - imports what the function needs
            tasks.send(("begin", None))  # the clock of the shard starts now
            answer: tuple[str, Any] = ("value", function(shard, *(shared[key] for key in keys)))
        except Exception as error:
            answer = ("error", portable(error))
        try:
            tasks.send(answer)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            tasks.send(("error", TypeError(f"the result cannot be sent to the driver: {error}")))
        except OSError:
            return


def _end_with_driver() -> None:
    if driver := multiprocessing.parent_process():
        driver.join()
    os._exit(1)


def portable(error: Exception) -> Exception:
    """Return an error that survives pickling.

    >>> portable(ValueError("x"))
    ValueError('x')
    """
    with contextlib.suppress(Exception):  # an error class with a constructor of its own
        back = pickle.loads(pickle.dumps(error))  # noqa: S301
        if str(back) == str(error):
            return error
    for kind in (DataError, LinnetError):
        if isinstance(error, kind):
            return kind(str(error))
    return RuntimeError(f"{type(error).__name__}: {error}")


def call(function: Function, shard: Any, values: Iterable[Any], threads: int | None) -> tuple[Any, Exception | None]:
    """Return the value of a shard, or its error, which a cluster would wrap and retry in its own way."""
    if threads is not None:
        limit_threads(threads)
    try:
        return function(shard, *values), None
    except Exception as error:
        return None, portable(error)


def limit_threads(n: int) -> None:
    """Let Arrow use n threads in this process."""
    import pyarrow as pa

    pa.set_cpu_count(n)
    pa.set_io_thread_count(max(1, n))
