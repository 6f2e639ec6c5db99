"""What an engine is: map a function over shards, add the results up, hand a value to every worker.

The promises that every engine makes, and that tests/test_engines.py holds each of them to:

* every shard gives exactly one :class:`Outcome`, whatever dies on the way; a result that comes twice counts once;
* a shard whose worker dies, hangs for longer than `timeout` seconds or fails is tried again, `retries` times at most;
* an error of the function that is a LinnetError is final: it says that the input is wrong, and trying again will not help;
* `add_up` adds in one fixed order, so floating-point sums are the same on any number of workers and on any engine.

Functions must be importable by name (no lambdas, nothing of `__main__`) and give the same result when called twice.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar

from linnet.errors import LinnetError

__all__ = ["Engine", "Handing", "Happening", "Outcome", "ShardError", "SharedValue", "TreeSum", "check"]

Function = Callable[..., Any]
Add = Callable[[Any, Any], Any]


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
    seconds: float = 0.0


@dataclass(frozen=True)
class Happening:
    """News of a run: a worker "start"s or has "done" a shard, is "lost" (died) or "late" (hung), or has "failed"."""

    kind: str
    index: int
    worker: str
    attempt: int = 1
    detail: str = ""
    again: bool = False  # whether the shard will be tried again


Callback = Callable[[Happening], None]


class SharedValue:
    """A value that every worker has; made by `Engine.broadcast`, handed to the function as the value itself."""

    def __init__(self, key: int, value: Any) -> None:
        self.key, self.value = key, value


class Engine(ABC):
    """Map over shards, add up, broadcast. Use in a with block.

    `retries` more attempts for a shard that fails, `timeout` seconds for each attempt (None: no limit).
    """

    name: ClassVar[str]

    def __init__(self, *, retries: int = 2, timeout: float | None = None) -> None:
        if retries < 0:
            raise LinnetError(f"retries must be 0 or more, got {retries}")
        if timeout is not None and timeout <= 0:
            raise LinnetError(f"timeout must be a number of seconds above 0, got {timeout}")
        self.retries, self.timeout = retries, timeout
        self._keys = 0

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many shards are worked on at a time."""

    @property
    def dashboard(self) -> str | None:
        """The address of a page that shows the workers, where there is one."""
        return None

    @abstractmethod
    def map(
        self, function: Function, shards: Sequence[Any], *shared: SharedValue, watch: Callback | None = None
    ) -> Iterator[Outcome]:
        """Call ``function(shard, *values of shared)`` for every shard; yield an Outcome each, in the order they end."""

    def broadcast(self, value: Any) -> SharedValue:
        """Hand a value to every worker, once, however many shards use it."""
        self._keys += 1
        return SharedValue(self._keys, value)

    def forget(self, shared: SharedValue) -> None:  # noqa: B027 - an engine may have nothing to drop
        """Let the workers drop a broadcast value that no shard will use again."""

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

    def _is_final(self, error: Exception, attempt: int) -> bool:
        """Whether a shard is given up after this error."""
        wrong_input = isinstance(error, LinnetError) and not isinstance(error, ShardError)
        return wrong_input or attempt > self.retries

    def close(self) -> None:  # noqa: B027 - nor anything to close
        """End the workers."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Handing:
    """A map of a cluster in progress: the shards that wait, and what becomes of those that were answered."""

    def __init__(self, engine: Engine, shards: Sequence[Any], watch: Callback) -> None:
        self.engine, self.shards, self.watch = engine, shards, watch
        self.waiting = deque((index, 1) for index in range(len(shards)))  # and the attempt

    def settle(
        self, index: int, attempt: int, worker: str, value: Any, error: Exception | None, seconds: float
    ) -> Iterator[Outcome]:
        """Take an answer: an Outcome, or another attempt."""
        if error is None:
            self.watch(Happening("done", index, worker, attempt))
            yield Outcome(index, value, None, attempt, worker, seconds)
        else:
            kind = "lost" if isinstance(error, ShardError) else "failed"
            yield from self.again(kind, index, attempt, error, worker, seconds)

    def again(
        self, kind: str, index: int, attempt: int, error: Exception, worker: str, seconds: float
    ) -> Iterator[Outcome]:
        """Try a shard once more; where that is no use, its error is the Outcome."""
        final = self.engine._is_final(error, attempt)
        self.watch(Happening(kind, index, worker, attempt, str(error), not final))
        if final:
            yield Outcome(index, None, error, attempt, worker, seconds)
        else:
            self.waiting.append((index, attempt + 1))


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
        if (len(self.sizes) - 1, 0) not in self.waiting:
            raise LinnetError("not all values have come in yet")
        return self.waiting[len(self.sizes) - 1, 0]
