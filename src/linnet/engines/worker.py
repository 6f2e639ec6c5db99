"""What runs on workers; and a worker process of the local engine, which takes tasks from a pipe and ends with its driver."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from typing import Any


def work(tasks: Connection, lifeline: Connection, threads: int | None) -> None:
    """Answer tasks until the driver goes away; killed as soon as the lifeline is cut, in the middle of a task too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's business
    threading.Thread(target=_until_cut, args=(lifeline,), daemon=True).start()
    if threads is not None:
        limit_threads(threads)
    shared: dict[int, Any] = {}
    while True:
        try:
            kind, *rest = pickle.loads(tasks.recv_bytes())  # noqa: S301 - our own driver wrote it
        except (EOFError, OSError):
            return
        if kind == "shared":
            shared[rest[0]] = pickle.loads(rest[1])  # noqa: S301
        elif kind == "forget":
            shared.pop(rest[0], None)
        else:
            answer: tuple[str, Any]
            try:
                function, shard, keys = pickle.loads(rest[0])  # noqa: S301 - imports what the function needs
                tasks.send(("begin", None))  # the clock of the shard starts now
                answer = ("value", function(shard, *(shared[key] for key in keys)))
            except Exception as error:
                answer = ("error", portable(error))
            try:
                tasks.send(answer)
            except (pickle.PicklingError, TypeError, AttributeError) as error:
                tasks.send(("error", TypeError(f"the result cannot be sent to the driver: {error}")))
            except OSError:
                return


def _until_cut(lifeline: Connection) -> None:
    try:
        lifeline.recv_bytes()
    except (EOFError, OSError):
        os._exit(1)


def portable(error: Exception) -> Exception:
    """Return an error that survives pickling.

    >>> portable(ValueError("x"))
    ValueError('x')
    """
    try:
        back = pickle.loads(pickle.dumps(error))  # noqa: S301
        if str(back) == str(error):
            return error
    except Exception:  # an error class with a constructor of its own
        pass
    from linnet.errors import DataError, LinnetError

    for kind in (DataError, LinnetError):
        if isinstance(error, kind):
            return kind(str(error))
    return RuntimeError(f"{type(error).__name__}: {error}")


def call(
    function: Callable[..., Any], shard: Any, values: Iterable[Any], threads: int | None
) -> tuple[Any, Exception | None]:
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
