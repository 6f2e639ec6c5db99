"""From texts to the bytes of an answer. Several requests are scored in one call of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from linnet.serve.catalogue import ServedModel
from linnet.serve.errors import RequestError
from linnet.solvers.numerics import softmax

__all__ = ["Query", "answer_all", "explanation"]

DIGITS = 6
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A checked request and the model it is for."""

    served: ServedModel
    asked: Any  # a PredictRequest
    texts: Sequence[str]
    columns: npt.NDArray[np.int64] | None  # of the labels to choose among

    @classmethod
    def of(cls, served: ServedModel, asked: Any) -> Query:
        """Find the texts and the labels of a request."""
        if (asked.text is None) == (asked.texts is None):
            raise RequestError("invalid", "give either text (one) or texts (a list)")
        columns = None if asked.labels is None else served.columns(asked.labels)
        return cls(served, asked, [asked.text] if asked.texts is None else asked.texts, columns)


def answer_all(queries: Sequence[Query]) -> list[bytes]:
    """Answer queries of one model with one call of it."""
    served = queries[0].served
    artefact = served.clf.artefact
    texts = [text for q in queries for text in q.texts] if len(queries) > 1 else queries[0].texts
    scores = artefact.scores(texts, served.clf.n_jobs)
    best = artefact.best(scores)
    proba = artefact.proba(scores)
    chosen = artefact.chosen(scores) if artefact.multilabel else None
    numbers = best.tolist()
    highest = proba[np.arange(len(best)), best].round(DIGITS).tolist()
    answers, at = [], 0
    results: list[dict[str, Any]]
    for q in queries:
        rows = slice(at, at + len(q.texts))
        at = rows.stop
        if chosen is not None:
            results = _label_sets(q, proba[rows], chosen[rows])
        elif q.columns is None and not (q.asked.top or q.asked.probabilities or q.asked.abstain):
            labels = served.labels
            results = [
                {"label": labels[k], "probability": p} for k, p in zip(numbers[rows], highest[rows], strict=True)
            ]
        else:
            results = _results(q, _restricted(scores[rows], proba[rows], q.columns))
        head = {"model": served.name, "version": served.version}
        answers.append(orjson.dumps({**head, **results[0]} if q.asked.texts is None else {**head, "results": results}))
    return answers


def _restricted(scores: Floats, proba: Floats, columns: npt.NDArray[np.int64] | None) -> Floats:
    """Return the probabilities of some labels, given that it is one of them, (n_texts, n_columns)."""
    if columns is None:
        return proba
    if scores.shape[1] == 1:  # two classes: both, or one that is sure
        return proba[:, columns] if len(columns) == 2 else np.ones((len(scores), 1))
    return np.asarray(softmax(scores[:, columns]), dtype=np.float64)


def _label_sets(q: Query, proba: Floats, chosen: npt.NDArray[np.bool_]) -> list[dict[str, Any]]:
    """Return all labels of each text with their probabilities, the most probable first; top and labels narrow them."""
    columns = np.arange(proba.shape[1]) if q.columns is None else q.columns
    labels, results = q.served.labels, []
    for p, mine in zip(proba, chosen, strict=True):
        order = columns[np.argsort(-p[columns], kind="stable")]
        rounded = p.round(DIGITS).tolist()
        kept = [k for k in order.tolist() if mine[k]]
        result: dict[str, Any] = {"labels": [{"label": labels[k], "probability": rounded[k]} for k in kept]}
        if q.asked.top:
            result["top"] = [{"label": labels[k], "probability": rounded[k]} for k in order[: q.asked.top].tolist()]
        if q.asked.probabilities:
            result["probabilities"] = {str(labels[k]): rounded[k] for k in columns.tolist()}
        results.append(result)
    return results


def _results(q: Query, proba: Floats) -> list[dict[str, Any]]:
    labels = q.served.labels if q.columns is None else [q.served.labels[k] for k in q.columns.tolist()]
    names = list(map(str, labels))
    best = proba.argmax(axis=1)
    sure = (proba[np.arange(len(best)), best] >= q.asked.abstain).tolist()
    order = np.argsort(-proba, axis=1, kind="stable")[:, : q.asked.top].tolist() if q.asked.top else None
    rounded = proba.round(DIGITS).tolist()
    results = []
    for i, k in enumerate(best.tolist()):
        row = rounded[i]
        result: dict[str, Any] = {"label": labels[k] if sure[i] else None, "probability": row[k]}
        if order is not None:
            result["top"] = [{"label": labels[j], "probability": row[j]} for j in order[i]]
        if q.asked.probabilities:
            result["probabilities"] = dict(zip(names, row, strict=True))
        results.append(result)
    return results


def explanation(served: ServedModel, asked: Any) -> bytes:
    """Answer a request for an explanation."""
    label = None if asked.label is None else served.labels[int(served.columns([asked.label])[0])]
    found = served.clf.explain(asked.text, label).to_dict()
    parts, words = found["contributions"], found.get("words", [])
    top = asked.top if asked.top is not None else len(parts) + len(words)
    found["contributions"], found["words"] = parts[:top], words[:top]
    found["other_contributions"] = float(sum(part["value"] for part in parts[top:]))
    return orjson.dumps(
        {"model": served.name, "version": served.version, **found}, option=orjson.OPT_SERIALIZE_NUMPY, default=str
    )
