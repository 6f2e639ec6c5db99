"""The local engine: processes of this machine, or threads.

Processes are the safe choice: one that dies or hangs is replaced, and its shard is tried again. Threads start at once
and share memory, which suits functions that spend their time outside the interpreter; a thread that hangs cannot be
ended, only left behind.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import queue
import threading
from collections.abc import Hashable, Sequence
from functools import partial
from itertools import count
from typing import Any

from linnet.engines.engine import Engine, Function, News, SharedValue, Tasks, work
from linnet.errors import LinnetError

START_SECONDS = 120.0  # that a new process may take to import what it needs; not part of the time of a shard


class LocalEngine(Engine):
    """Workers of this machine.

    `workers` at a time (None: one a core), `kind` "processes" or "threads". `settings` are those of every engine; `threads` is
    how many threads Arrow may use in a worker process.

    >>> with LocalEngine(workers=2, kind="threads") as engine:
    ...     shared = engine.broadcast(10)
    ...     sorted(outcome.value for outcome in engine.map(pow, [2, 3], shared))
    [1024, 59049]
    """

    name = "local"

    def __init__(self, workers: int | None = None, *, kind: str = "processes", **settings: Any) -> None:
        super().__init__(**settings)
        if workers is not None and workers < 1:
            raise LinnetError(f"workers must be 1 or more, got {workers}")
        if kind not in ("processes", "threads"):
            raise LinnetError(f"kind must be 'processes' or 'threads', got {kind!r}")
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._workers = workers or cores
        self.kind = kind
        self._crew = _Crew(self)

    @property
    def workers(self) -> int:
        """How many shards are worked on at a time."""
        return self._workers

    @property
    def pids(self) -> list[int]:
        """The process numbers of the workers that run now."""
        return [member.process.pid or 0 for member in self._crew.members if isinstance(member, _Process)]

    def close(self) -> None:
        """End the workers, in the middle of what they do."""
        self._crew.close(list(self._crew.members))

    def _tasks(self, function: Function, shared: Sequence[SharedValue]) -> Tasks:
        if self._crew.function is not None:
            raise LinnetError("this engine is in the middle of another map; take all of its outcomes first")
        self._crew.function, self._crew.shared = function, shared
        return self._crew


class _Crew(Tasks):
    """Workers, which last from one map to the next; a task is known by its worker. All speak into one queue."""

    start_seconds = START_SECONDS

    def __init__(self, engine: LocalEngine) -> None:
        super().__init__(engine)
        self.hire = partial(_Process, threads=engine.threads) if engine.kind == "processes" else _Thread
        self.members: list[_Process | _Thread] = []

    def submit(self, shard: Any) -> Hashable:
        member = next((one for one in self.members if one not in self.running and one.alive), None)
        if member is None:
            member = self.hire(self.news)
            self.members.append(member)
        member.give(self.function, shard, self.shared)
        return member

    def worker(self, task: Any) -> str:
        return str(task.name)

    def stop(self, tasks: Sequence[Any]) -> None:
        for member in tasks:
            self.members.remove(member)
            member.end()

    def close(self, tasks: Sequence[Any]) -> None:
        self.stop(tasks)
        self.function = None


Heard = queue.SimpleQueue[News]


class _Process:
    """A process and its pipe; it says to the queue `news` "begin", then "value", "error" or "lost"."""

    def __init__(self, news: Heard, threads: int | None) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy locks that threads of this process hold
        self.tasks, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, threads), daemon=True)
        self.process.start()
        theirs.close()
        self.name, self.news = f"process {self.process.pid}", news
        self.known: set[int] = set()
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        kind = ""
        while kind != "lost":
            try:
                kind, value = self.tasks.recv()
            except (EOFError, OSError):
                self.process.join(5)
                code = self.process.exitcode
                kind, value = "lost", f"exit code {code}" if code is None or code >= 0 else f"killed by signal {-code}"
            except Exception as error:  # a result that cannot be unpickled here
                kind, value = "error", RuntimeError(f"the result cannot be read: {error}")
            self.news.put(News(self, kind, value, self.name))

    @property
    def alive(self) -> bool:
        return self.listener.is_alive()

    def give(self, function: Any, shard: Any, shared: Sequence[SharedValue]) -> None:
        try:
            task = pickle.dumps((function, shard, [value.key for value in shared]))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise LinnetError(
                f"{function!r:.60} cannot be sent to another process ({error}); it must be importable by name"
            ) from None
        new = {value.key: pickle.dumps(value.value) for value in shared if value.key not in self.known}
        with contextlib.suppress(OSError):  # it died while it was idle: the listener says so
            self.tasks.send((new, task))
            self.known |= new.keys()

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.listener.join()
        self.tasks.close()


class _Thread:
    """A thread for each task; one that hangs is left behind, and what it may still say is not heard."""

    alive = True
    numbers = count()

    def __init__(self, news: Heard) -> None:
        self.news, self.name = news, f"thread {next(self.numbers)}"

    def give(self, function: Any, shard: Any, shared: Sequence[SharedValue]) -> None:
        values = [value.value for value in shared]
        threading.Thread(target=self._run, args=(function, shard, values), daemon=True).start()

    def _run(self, function: Function, shard: Any, values: list[Any]) -> None:
        self.news.put(News(self, "begin", None, self.name))
        try:
            self.news.put(News(self, "value", function(shard, *values), self.name))
        except Exception as error:
            self.news.put(News(self, "error", error, self.name))

    def end(self) -> None:
        """It ends by itself, or never."""
