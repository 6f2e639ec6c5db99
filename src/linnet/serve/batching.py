"""Requests that are in flight together share one call of the model.

A call costs about 50 microseconds whatever it is given, and 3 for a short text, so sixteen requests in one call cost as
much as two alone. No request waits for others: a query is answered in the next turn of the event loop, with all that
came in meanwhile. Much text is scored in a thread, so that the loop goes on answering.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial

from linnet.serve.metrics import Metrics
from linnet.serve.predictions import Query, answer_all

__all__ = ["Batcher"]

INLINE = 1 << 16  # characters: up to here the loop scores itself, which takes a millisecond or less

Waiting = tuple[Query, "asyncio.Future[bytes]"]


class Batcher:
    """Gathers queries and answers them."""

    def __init__(self, pool: Executor, metrics: Metrics, gather: int = 64) -> None:
        self._pool = pool
        self._metrics = metrics
        self._gather = gather
        self._waiting: list[Waiting] = []

    def answer(self, query: Query) -> asyncio.Future[bytes]:
        """Return the answer to come."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bytes] = loop.create_future()
        self._waiting.append((query, future))
        if len(self._waiting) == self._gather:
            self._flush(loop)
        elif len(self._waiting) == 1:
            loop.call_soon(self._flush, loop)
        return future

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        waiting, self._waiting = self._waiting, []
        groups: dict[int, list[Waiting]] = {}
        for query, future in waiting:
            if not future.done():  # a client that has left waits no more
                groups.setdefault(id(query.served), []).append((query, future))
        for group in groups.values():
            queries = [query for query, _ in group]
            self._metrics.calls.inc()
            self._metrics.gathered.inc(len(queries))
            self._metrics.texts(queries[0].served.name).inc(sum(len(query.texts) for query in queries))
            if sum(len(text) for query in queries for text in query.texts) <= INLINE:
                _deliver(group, answered(queries))
            else:
                work = loop.run_in_executor(self._pool, answered, queries)
                work.add_done_callback(partial(_finished, group))


def _finished(group: Sequence[Waiting], work: asyncio.Future[list[bytes | Exception]]) -> None:
    if not work.cancelled():
        _deliver(group, work.result())


def _deliver(group: Sequence[Waiting], answers: Sequence[bytes | Exception]) -> None:
    for (_, future), answer in zip(group, answers, strict=True):
        if future.done():
            continue
        if isinstance(answer, bytes):
            future.set_result(answer)
        else:
            future.set_exception(answer)


def answered(queries: Sequence[Query]) -> list[bytes | Exception]:
    """Answer queries together; where that fails, one by one, so that a text that breaks a feature function harms no other."""
    try:
        return list(answer_all(queries))
    except Exception as error:
        if len(queries) == 1:
            return [error]
    return [answer for query in queries for answer in answered([query])]
