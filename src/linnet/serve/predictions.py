"""From texts to the bytes of an answer. Several requests are scored in one call of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from linnet.errors import LinnetError
from linnet.model.decision import Answers, Decision
from linnet.serve.catalogue import ServedModel
from linnet.serve.errors import RequestError

__all__ = ["Query", "answer_all", "explanation"]

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
        labels = None if asked.labels is None else [served.labels[k] for k in served.columns(asked.labels)]
        given = {name: getattr(asked, name) for name in ("threshold", "cost", "abstain", "answer")}
        model = served.clf.artefact
        try:
            decision = Decision.of(model.classes, model.decision, labels=labels, **given)
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
            for result, far in zip(
                results, model.out_of_scope(q.texts, served.clf.n_jobs).round(DIGITS).tolist(), strict=True
            ):
                result["out_of_scope"] = far
        head = {"model": served.name, "version": served.version}
        answers.append(orjson.dumps({**head, **results[0]} if q.asked.texts is None else {**head, "results": results}))
    return answers


def _results(q: Query, found: Answers) -> list[dict[str, Any]]:
    """Return what is said of each text: its label and probability, or all labels, the most probable first, and what else was asked."""
    labels, asked, P = q.served.labels, q.asked, found.proba
    best = found.most_probable
    highest = P[np.arange(len(best)), best].round(DIGITS).tolist()
    if found.sets is None:
        results: list[dict[str, Any]] = [
            {"label": labels[k] if k >= 0 else None, "probability": p}
            for k, p in zip(found.best.tolist(), highest, strict=True)
        ]
        if not (asked.top or asked.probabilities or asked.coverage is not None):
            return results
    else:
        results = [{} for _ in best]
    columns = np.arange(len(labels)) if q.decision.labels is None else q.decision.labels
    rounded = P.round(DIGITS).tolist()
    order = columns[np.argsort(-P[:, columns], axis=1, kind="stable")].tolist()
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
    label = None if asked.label is None else served.labels[int(served.columns([asked.label])[0])]
    found = served.clf.explain(asked.text, label).to_dict()
    parts, words = found["contributions"], found.get("words", [])
    top = asked.top if asked.top is not None else len(parts) + len(words)
    found["contributions"], found["words"] = parts[:top], words[:top]
    found["other_contributions"] = float(sum(part["value"] for part in parts[top:]))
    return orjson.dumps(
        {"model": served.name, "version": served.version, **found}, option=orjson.OPT_SERIALIZE_NUMPY, default=str
    )
