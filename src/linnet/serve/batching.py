"""Requests that are in flight together share one call of the model.

A call costs about 50 microseconds whatever it is given, and 3 for a short text, so sixteen requests in one call cost what
two cost alone. Nobody waits for company: a question is answered in the next turn of the event loop, with all that came in
meanwhile. Much text is scored in a thread, so that the loop goes on answering.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial

from linnet.serve.answering import Question, answer_all
from linnet.serve.metrics import Metrics
from linnet.serve.problems import RequestError

__all__ = ["Batcher"]

INLINE = 1 << 16  # characters: up to here the loop scores itself, which takes a millisecond or less

Waiting = tuple[Question, "asyncio.Future[bytes]"]


class Batcher:
    """Gathers questions and answers them."""

    def __init__(
        self,
        pool: Executor,
        metrics: Metrics,
        *,
        gather: int = 64,
        on_error: Callable[[BaseException], None] | None = None,
    ) -> None:
        self._pool = pool
        self._metrics = metrics
        self._gather = gather
        self._on_error = on_error
        self._waiting: list[Waiting] = []

    def ask(self, question: Question) -> asyncio.Future[bytes]:
        """Return the answer to come."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bytes] = loop.create_future()
        self._waiting.append((question, future))
        if self._gather == 1 or len(self._waiting) == self._gather:
            self._flush(loop)
        elif len(self._waiting) == 1:
            loop.call_soon(self._flush, loop)
        return future

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        waiting, self._waiting = self._waiting, []
        groups: dict[int, list[Waiting]] = {}
        for question, future in waiting:
            if not future.done():  # nobody waits for it any more
                groups.setdefault(id(question.served), []).append((question, future))
        for group in groups.values():
            questions = [question for question, _ in group]
            self._count(questions)
            if sum(question.size for question in questions) <= INLINE:
                self._deliver(group, answered(questions))
            else:
                work = loop.run_in_executor(self._pool, answered, questions)
                work.add_done_callback(partial(self._done, group))

    def _done(self, group: Sequence[Waiting], work: asyncio.Future[list[bytes | Exception]]) -> None:
        if not work.cancelled():
            self._deliver(group, work.result())

    def _count(self, questions: Sequence[Question]) -> None:
        self._metrics.add("linnet_calls_total")
        self._metrics.add("linnet_gathered_requests_total", len(questions))
        self._metrics.texts(questions[0].served.name, sum(len(q.texts) for q in questions))

    def _deliver(self, group: Sequence[Waiting], answers: Sequence[bytes | Exception]) -> None:
        for (_, future), answer in zip(group, answers, strict=True):
            if future.done():
                continue
            if isinstance(answer, bytes):
                future.set_result(answer)
            else:
                if self._on_error is not None and not isinstance(answer, RequestError):
                    self._on_error(answer)
                future.set_exception(answer)


def answered(questions: Sequence[Question]) -> list[bytes | Exception]:
    """Answer questions together; where that fails, one by one, so that a text that breaks a feature function harms no other."""
    try:
        return list(answer_all(questions))
    except Exception as error:
        if len(questions) == 1:
            return [error]
    return [answer for question in questions for answer in answered([question])]
