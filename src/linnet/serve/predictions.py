"""From texts to the bytes of an answer. Requests that are in flight together are scored in one call of the model."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import orjson

from linnet.errors import LinnetError
from linnet.evaluate.drift import Measured, drift
from linnet.model.decision import Answers, Decision, most_probable
from linnet.serve.catalogue import ServedModel
from linnet.serve.metrics import Metrics
from linnet.serve.settings import RequestError

DIGITS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A checked request and the model it is for."""

    served: ServedModel
    asked: Any  # a PredictRequest
    texts: Sequence[str]
    decision: Decision

    @classmethod
    def of(cls, served: ServedModel, asked: Any) -> Query:
        """Find the texts of a request and how they are to be answered."""
        if (asked.text is None) == (asked.texts is None):
            raise RequestError("invalid", "give either text (one) or texts (a list)")
        if asked.labels is not None:
            served.check_labels(asked.labels)
        given = {name: getattr(asked, name) for name in ("labels", "threshold", "cost", "abstain", "answer")}
        model = served.clf.artefact
        try:
            decision = Decision.of(model.classes, model.decision, **given)
            _ = decision.least  # what cannot be reached is refused before the work
            if asked.coverage is not None:
                decision.sets(np.zeros((0, len(model.classes))), asked.coverage)
        except LinnetError as error:
            raise RequestError("not_possible", str(error)) from None
        return cls(served, asked, [asked.text] if asked.texts is None else asked.texts, decision)


def answer_all(queries: Sequence[Query]) -> list[bytes]:
    """Answer queries of one model with one call of it."""
    served = queries[0].served
    model = served.clf.artefact
    texts = [text for q in queries for text in q.texts] if len(queries) > 1 else queries[0].texts
    proba = model.proba(model.scores(texts, served.clf.n_jobs))
    answers, at = [], 0
    for q in queries:
        rows = slice(at, at + len(q.texts))
        at = rows.stop
        results = _results(q, q.decision.answers(proba[rows], model.multilabel))
        if q.asked.out_of_scope:
            far = model.out_of_scope(q.texts, served.clf.n_jobs).round(DIGITS).tolist()
            for result, one in zip(results, far, strict=True):
                result["out_of_scope"] = one
        head = {"model": served.name, "version": served.version}
        answers.append(orjson.dumps({**head, **results[0]} if q.asked.texts is None else {**head, "results": results}))
    return answers


def _results(q: Query, found: Answers) -> list[dict[str, Any]]:
    """Return what is said of each text: its label and probability, or all labels, the most probable first, and what else was asked."""
    labels, asked, P = q.served.labels, q.asked, found.proba
    best = found.most_probable
    highest = P[np.arange(len(best)), best].round(DIGITS).tolist()
    if found.sets is None:
        named = [None if k < 0 else labels[k] for k in found.best.tolist()]
        results: list[dict[str, Any]] = [{"label": c, "probability": p} for c, p in zip(named, highest, strict=True)]
        if not (asked.top or asked.probabilities or asked.coverage is not None):
            return results
    else:
        results = [{} for _ in best]
    columns = np.arange(len(labels)) if q.decision.labels is None else q.decision.labels
    rounded = P.round(DIGITS).tolist()
    every = found.sets is not None or asked.coverage is not None
    order = columns[most_probable(P[:, columns], len(columns) if every else min(asked.top or 0, len(columns)))].tolist()
    sets = None if asked.coverage is None else q.decision.sets(P, asked.coverage)
    for i, result in enumerate(results):
        row = rounded[i]
        if found.sets is not None:
            result["labels"] = [{"label": labels[k], "probability": row[k]} for k in order[i] if found.sets[i, k]]
        if sets is not None:
            result["set"] = [labels[k] for k in order[i] if sets[i, k]]
        if asked.top:
            result["top"] = [{"label": labels[k], "probability": row[k]} for k in order[i][: asked.top]]
        if asked.probabilities:
            result["probabilities"] = {str(labels[k]): row[k] for k in columns.tolist()}
    return results


def explanation(served: ServedModel, asked: Any) -> bytes:
    """Answer a request for an explanation."""
    if asked.label is not None:
        served.check_labels([asked.label])
    found = served.clf.explain(asked.text, asked.label).to_dict()
    parts, words = found["contributions"], found.get("words", [])
    top = asked.top if asked.top is not None else len(parts) + len(words)
    found["contributions"], found["words"] = parts[:top], words[:top]
    found["other_contributions"] = float(sum(part["value"] for part in parts[top:]))
    found = {"model": served.name, "version": served.version, **found}
    return orjson.dumps(found, option=orjson.OPT_SERIALIZE_NUMPY, default=str)


# ---- Requests that are in flight together share one call of the model.
#
# A call costs about 50 microseconds whatever it is given, and 3 for a short text, so sixteen requests in one call cost as
# much as two alone. No request waits for others: a query is answered in the next turn of the event loop, with all that
# came in meanwhile. Much text is scored in a thread, so that the loop goes on answering.


INLINE = 1 << 16  # characters: up to here the loop scores itself, which takes a millisecond or less

Waiting = tuple[Query, "asyncio.Future[bytes]"]


class Batcher:
    """Gathers queries and answers them."""

    def __init__(self, pool: Executor, metrics: Metrics, gather: int = 64) -> None:
        self._pool, self._metrics, self._gather = pool, metrics, gather
        self._watch = DriftWatch(pool, metrics)
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
            self._watch.see(queries[0].served, [text for query in queries for text in query.texts])
            if sum(len(text) for query in queries for text in query.texts) <= INLINE:
                _deliver(group, answered(queries))
            else:
                loop.run_in_executor(self._pool, answered, queries).add_done_callback(partial(_finished, group))


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


# ---- Has the input of a served model changed? What ``linnet monitor`` says of a file, said of the requests, in the metrics.
#
# Texts of requests are measured in a thread, a few at a time and not more often than every tenth of a second: with little traffic
# all of them, with much a sample. Every LOOK texts are one look: they are compared with the reference in the model's card and
# forgotten. So at most one look in twenty at unchanged input is an alarm. Only the signals are kept, three numbers a text.


LOOK = 1000  # texts
MOST = 100  # texts of one call
PAUSE = 0.1  # seconds between two calls that are measured
MOST_LABELS = 100  # that have a share of their own in the metrics


class DriftWatch:
    """Measures texts of requests and compares them, look by look."""

    def __init__(self, pool: Executor, metrics: Metrics) -> None:
        self._pool, self._metrics = pool, metrics
        self._again = 0.0  # when the next call may be measured
        self._measured: dict[tuple[str, str], Measured] = {}  # by name and version

    def see(self, served: ServedModel, texts: Sequence[str]) -> None:
        """Measure these texts soon, or leave them out."""
        if time.monotonic() >= self._again and "reference" in served.clf.artefact.card:
            self._again = float("inf")  # until this call is measured
            self._pool.submit(self._measure, served, list(texts[:MOST]))

    def _measure(self, served: ServedModel, texts: list[str]) -> None:
        try:
            with contextlib.suppress(LinnetError):
                self._look(served, Measured.of(served.clf.artefact, texts, 1))
        finally:
            self._again = time.monotonic() + PAUSE

    def _look(self, served: ServedModel, new: Measured) -> None:
        key = (served.name, served.version)
        known = self._measured.pop(key, None)
        measured = new if known is None else known.joined(new)
        if len(measured) < LOOK:
            self._measured[key] = measured
            return
        model, to = served.clf.artefact, self._metrics
        found = drift(model, measured)
        to.looks(served.name).inc()
        to.alarms(served.name).inc(found.alarm)
        to.alarm(served.name).set(found.alarm)
        shares = found.labels.items() if len(found.labels) <= MOST_LABELS else ()
        signals = [one for one in found.signals if one.name in to.signals]
        shown: list[Any] = [(to.signals[one.name], [], one.before, one.now) for one in signals]
        shown += [(to.label_share, [label], before, now) for label, (before, now) in shares]
        for gauge, labels, before, now in shown:
            gauge(served.name, *labels, "reference").set(before)
            gauge(served.name, *labels, "now").set(now)
