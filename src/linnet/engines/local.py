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
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from itertools import count
from multiprocessing.connection import wait
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
        self._workers = workers or (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )
        self.kind = kind
        self._crew: _Crew | None = None

    @property
    def workers(self) -> int:
        """How many shards are worked on at a time."""
        return self._workers

    @property
    def pids(self) -> list[int]:
        """The process numbers of the workers that run now."""
        return self._crew.pids() if isinstance(self._crew, _Processes) else []

    def forget(self, shared: SharedValue) -> None:
        """Let the workers drop a broadcast value."""
        if self._crew is not None:
            self._crew.forget(shared.key)

    def close(self) -> None:
        """End the workers, in the middle of what they do."""
        if self._crew is not None:
            self._crew.end_all()
            self._crew = None

    def _tasks(self, function: Function, shared: Sequence[SharedValue]) -> Tasks:
        if self._crew is None:
            self._crew = _Processes(self.threads) if self.kind == "processes" else _Threads()
        if self._crew.function is not None:
            raise LinnetError("this engine is in the middle of another map; take all of its outcomes first")
        self._crew.function, self._crew.shared = function, shared
        return self._crew


class _Crew(Tasks):
    """Workers in numbered slots, which last from one map to the next; a task is known by the slot of its worker."""

    start_seconds = START_SECONDS
    function: Function | None = None  # of the map in progress
    shared: Sequence[SharedValue] = ()

    def __init__(self) -> None:
        self.busy: set[int] = set()

    def submit(self, shard: Any) -> Hashable:
        slot = next(slot for slot in count() if slot not in self.busy)
        self.give(slot, shard)
        self.busy.add(slot)
        return slot

    def poll(self, seconds: float | None) -> list[News]:
        found = []
        for slot, kind, value in self.wait(seconds):
            news = News(slot, kind, value, self.worker(slot))
            if kind == "lost":
                self.end(slot)
            if slot in self.busy:  # else an idle worker died
                found.append(news)
            if kind != "begin":
                self.busy.discard(slot)
        return found

    def stop(self, tasks: Sequence[Any]) -> None:
        for slot in tasks:
            self.end(slot)
            self.busy.discard(slot)

    def close(self, tasks: Sequence[Any]) -> None:
        self.stop(tasks)
        self.function = None

    @abstractmethod
    def give(self, slot: int, shard: Any) -> None:
        """Let the worker of a slot call the function."""

    @abstractmethod
    def wait(self, seconds: float | None) -> list[tuple[int, str, Any]]:
        """Wait for what workers say: slot, kind of news, value."""

    @abstractmethod
    def end(self, slot: int) -> None:
        """End the worker of a slot."""

    def forget(self, key: int) -> None:  # noqa: B027 - threads share memory: there is nothing to drop
        """Drop a broadcast value."""

    def end_all(self) -> None:  # noqa: B027 - threads cannot be ended
        """End all workers."""


class _Member:
    """One worker process and its two pipes."""

    def __init__(self, threads: int | None) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy locks that threads of this process hold
        self.tasks, theirs = context.Pipe()
        their_line, self.lifeline = context.Pipe(duplex=False)
        self.process = context.Process(target=work, args=(theirs, their_line, threads), daemon=True)
        self.process.start()
        theirs.close()
        their_line.close()
        self.known: set[int] = set()

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.tasks.close()
        self.lifeline.close()


class _Processes(_Crew):
    """Worker processes, started when they are first given something."""

    def __init__(self, threads: int | None) -> None:
        super().__init__()
        self.threads = threads
        self.members: dict[int, _Member] = {}
        self.unreachable: list[tuple[int, str, Any]] = []

    def pids(self) -> list[int]:
        return [member.process.pid for member in self.members.values() if member.process.pid is not None]

    def worker(self, task: Any) -> str:
        member = self.members.get(task)
        return f"process {member.process.pid}" if member else f"process {task}"

    def give(self, slot: int, shard: Any) -> None:
        try:
            task = pickle.dumps((self.function, shard, [value.key for value in self.shared]))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise LinnetError(
                f"{self.function!r:.60} cannot be sent to another process ({error}); it must be importable by name"
            ) from None
        if slot not in self.members:
            self.members[slot] = _Member(self.threads)
        member = self.members[slot]
        try:
            for value in self.shared:
                if value.key not in member.known:
                    member.tasks.send_bytes(pickle.dumps(("shared", value.key, pickle.dumps(value.value))))
                    member.known.add(value.key)
            member.tasks.send_bytes(pickle.dumps(("task", task)))
        except OSError:  # died while it was idle
            self.unreachable.append((slot, "lost", self._why(member)))

    def wait(self, seconds: float | None) -> list[tuple[int, str, Any]]:
        found, self.unreachable = self.unreachable, []
        if found:
            return found
        by_pipe: dict[Any, int] = {member.tasks: slot for slot, member in self.members.items()}
        for pipe in wait(list(by_pipe), seconds):
            slot = by_pipe[pipe]
            try:
                kind, value = self.members[slot].tasks.recv()
                found.append((slot, kind, value))
            except (EOFError, OSError):
                found.append((slot, "lost", self._why(self.members[slot])))
            except Exception as error:  # a result that cannot be unpickled here
                found.append((slot, "error", RuntimeError(f"the result cannot be read: {error}")))
        return found

    def _why(self, member: _Member) -> str:
        member.process.join(5)
        code = member.process.exitcode
        return f"killed by signal {-code}" if code is not None and code < 0 else f"exit code {code}"

    def end(self, slot: int) -> None:
        member = self.members.pop(slot, None)
        if member is not None:
            member.end()

    def forget(self, key: int) -> None:
        for member in self.members.values():
            if key in member.known:
                member.known.discard(key)
                with contextlib.suppress(OSError):  # found dead when it is next given something
                    member.tasks.send_bytes(pickle.dumps(("forget", key)))

    def end_all(self) -> None:
        for slot in list(self.members):
            self.end(slot)


class _Threads(_Crew):
    """A thread for each task; one that hangs is left behind, and what it may still say is not heard."""

    def __init__(self) -> None:
        super().__init__()
        self.news: queue.Queue[tuple[int, int, str, Any]] = queue.Queue()
        self.turn: dict[int, int] = {}  # slot -> number of the task it is on; older news is not heard
        self.numbers = count()

    def worker(self, task: Any) -> str:
        return f"thread {task}"

    def give(self, slot: int, shard: Any) -> None:
        self.turn[slot] = next(self.numbers)
        args = (slot, self.turn[slot], self.function, shard, [value.value for value in self.shared])
        threading.Thread(target=self._run, args=args, daemon=True).start()

    def _run(self, slot: int, turn: int, function: Function, shard: Any, values: list[Any]) -> None:
        self.news.put((slot, turn, "begin", None))
        try:
            self.news.put((slot, turn, "value", function(shard, *values)))
        except Exception as error:
            self.news.put((slot, turn, "error", error))

    def wait(self, seconds: float | None) -> list[tuple[int, str, Any]]:
        try:
            slot, turn, kind, value = self.news.get(timeout=seconds)
        except queue.Empty:
            return []
        return [(slot, kind, value)] if self.turn.get(slot) == turn else []

    def end(self, slot: int) -> None:
        self.turn.pop(slot, None)
