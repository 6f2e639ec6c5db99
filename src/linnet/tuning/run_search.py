"""``tune``: read, search, fit the winner on all rows but the test's, look at the test once."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.classifier import TextClassifier
from linnet.data import Dataset
from linnet.errors import LinnetError, check_choice
from linnet.evaluate.metrics import find_metric
from linnet.features.blocks import describe, parse
from linnet.features.derived import Shared
from linnet.features.plan import default_blocks
from linnet.pipeline.crossval import FEW_ROWS, check_two_labels, labelled_data
from linnet.pipeline.events import Event, Log
from linnet.pipeline.fit import choose
from linnet.pipeline.rows import MemoryRows, encode
from linnet.tuning.candidate import Candidate, FeatureSpace, SearchSpace
from linnet.tuning.judging import Clock, Judge, Limits, TuningRows, levels_for
from linnet.tuning.search import Results, Search, SearchState, Tuning
from linnet.values import as_bytes, as_seconds, duration, parse_list, size_text

SMALLER = 5  # times that a model that turned out too large is made smaller


def tune(
    data: Any,
    y: Any = None,
    *,
    dev: Any = None,
    test: Any = None,
    budget: Any = "60s",
    max_size: Any = None,
    max_memory: Any = None,
    metric: str | None = None,
    models: Iterable[str] | str | None = None,
    lists: Iterable[Any] = (),
    vectors: str | os.PathLike[str] | None = None,
    candidates: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    state: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    on_event: Callable[[Event], None] | None = None,
    began: float | None = None,
    named: str | None = None,
    command: dict[str, Any] | None = None,
) -> Tuning:
    """Search for features, weighting, model and settings within a budget of time, and fit the best.

    ``data`` is a Dataset, a path, or texts with their labels ``y``; ``dev`` (a Dataset or a path) is judged on where it is
    given, folds of the rows otherwise; ``test`` is looked at once, by the model that was chosen. ``budget`` is a time
    ("60s", "5m", seconds) for everything, the last fit included. ``max_size`` bounds the model file, ``max_memory`` the
    process ("5MB", "2GB", bytes). ``metric`` is a name of ``linnet.evaluate.metrics``: accuracy by
    default, micro-f1 where rows have several labels, which are judged with thresholds as training chooses them.
    ``models`` are names, all that learn if not given; ``lists`` are files of word lists to use beside the other features,
    ``vectors`` a file of word vectors; models that cannot take vectors are then left out.
    ``candidates`` ends the search after so many. ``state`` is a file in which results are kept, for a search that was
    killed to go on; ``fresh`` starts it anew. Ctrl-C ends the search and fits the best so far.

    For one random_state candidates and their scores come in the same order, on any number of threads; the time only decides how far
    the search gets. The default comes first, and is kept unless something beats it by more than noise.

    >>> texts = ["good", "so good", "good fun", "fun", "bad", "so bad", "bad bore", "bore"] * 5
    >>> found = tune(texts, ["pos", "pos", "pos", "pos", "neg", "neg", "neg", "neg"] * 5, budget="60s", candidates=4)
    >>> found.model.predict(["so good", "a bore"]).tolist(), found.winner.score
    (['pos', 'neg'], 1.0)
    """
    clock = Clock(as_seconds(budget), began=began)
    size, memory = as_bytes(max_size, "max_size"), as_bytes(max_memory, "max_memory")
    names = _models(models, vectors=vectors is not None)
    blocks = tuple(block for path in lists for block in parse(f"lists:{os.fspath(path)}"))
    if vectors is not None:
        blocks += parse(f"vectors:{os.fspath(vectors)}")
    rows, held, tested = labelled_data(data, y, "tune"), _other(dev), _other(test)
    metric = find_metric(metric, several=rows.separator is not None)
    material = _tuning_rows(rows, held)
    about = {
        "data": _digest(material), "dev": 0 if held is None else len(held), "seed": random_state, "metric": metric, "max_size": size,
        "max_memory": memory, "models": names, "lists": describe(blocks),
    }  # fmt: skip
    kept = SearchState(None if state is None else Path(state), about, fresh=fresh)
    try:
        known = kept.known.get("memory", {}).get("base")  # what the process held at the beginning of the search
        limits = Limits(size, memory, material.shared.pieces, known)
        if known is None and memory is not None:
            kept.add("memory", {"base": limits.base})
        run = _TuningRun(rows, held, tested, material, limits, clock, random_state, n_jobs, on_event)
        search = run.search(names, blocks, metric, kept, candidates)
        search.run()
        return run.finish(search, kept, named or rows.source, command or {})
    finally:
        kept.close()


@dataclass
class _TuningRun:
    """What the search and the last fit share."""

    rows: Dataset
    dev: Dataset | None
    test: Dataset | None
    material: TuningRows
    limits: Limits
    clock: Clock
    seed: int
    threads: int | None
    on_event: Callable[[Event], None] | None
    stopped: bool = False
    """Whether the budget was over before the last fit had converged."""

    def search(
        self, names: list[str] | None, lists: Any, metric: str, kept: SearchState, candidates: int | None
    ) -> Search:
        """Lay out levels and space, and return the search, ready to run."""
        m = self.material
        outputs = 1 if m.n_classes == 2 and m.y.ndim == 1 else m.n_classes
        most = self.limits.most_features(outputs)
        features = FeatureSpace(default_blocks(m.shared.pieces), lists)
        space = SearchSpace(features, models=names, most_features=most, many=len(m.y) >= FEW_ROWS)
        judge = Judge(m, [], self.clock, self.limits, self.seed, self.threads)
        usual = replace(space.own(space.models[0]), features=features.default(), max_features=None, min_df=None)
        first = judge.group(usual, TextClassifier(features=usual.features).plan().features)
        judge.levels = levels_for(m.y, m.n_classes, m.dev, first.counted.rows, self.seed)
        results = Results(judge.levels, metric, m.y, m.n_classes, self.seed)
        return Search(
            judge, space, results, kept, self.clock, self._default, candidates=candidates, on_event=self.on_event
        )

    def _default(self, first: Candidate) -> dict[str, Any]:
        """Return the settings that training comes to; with lists of the user's own, on the features of the candidate."""
        if self.limits.max_memory is not None:  # which the search of settings does not know
            return {"ratio": first.ratio, **dict(first.params)}
        usual = first.features == describe(default_blocks(self.material.shared.pieces))
        clf = TextClassifier(
            first.model, features=None if usual else first.features, random_state=self.seed, n_jobs=self.threads
        )
        plan, part = clf.plan(), self.material.shared.part(np.arange(len(self.material.y)))
        rows, log = MemoryRows(plan, self.rows, dev=self.dev, part=part), Log(self.clock.check)
        return choose(plan, rows, log)[1].best.settings

    def finish(self, search: Search, kept: SearchState, source: str, command: dict[str, Any]) -> Tuning:
        """Fit the winner, look at the test rows, and put everything together."""
        results = search.results
        winner, optimism = results.winner(), results.optimism()
        if winner is None or optimism is None:
            for candidate, reason in results.refused.values():
                raise LinnetError(f"no candidate is within the limits; the first, {candidate}: {reason}")
            over = f"the budget of {duration(self.clock.budget)} was over before one candidate was judged"
            raise LinnetError(f"{over}; give more time, for example --budget 60s, or fewer rows")
        search.judge.forget()
        notes = _notes(search, kept)
        card = {  # nothing here may depend on the time but how far the search got
            "metric": results.metric, "candidates": results.candidates, "score": winner.score,
            "expected": winner.score - optimism.optimism, "optimism": optimism.optimism,
        }  # fmt: skip
        clf, candidate, size = self._fit(winner.candidate, card)
        if candidate != winner.candidate:
            notes.append(
                f"max_features is {candidate.max_features:,}, for the file to fit into the size that was given"
            )
        if self.stopped:
            notes.append("the last fit was stopped before it had converged, to keep within the budget")
        evaluation = None if self.test is None else clf.evaluate(self.test)
        return Tuning(
            clf, winner, results, optimism, evaluation, candidate.command(source, seed=self.seed or None, **command),
            source, len(self.rows), self.clock.spent, self.clock.budget, size, not search.interrupted,
            search.replayed, tuple(notes),
        )  # fmt: skip

    def _fit(self, candidate: Candidate, card: dict[str, Any]) -> tuple[TextClassifier, Candidate, int]:
        """Fit on all rows; a model file that is too large after all is made smaller."""
        most = self.limits.max_size
        for _ in range(SMALLER):
            clf = self._fit_once(candidate, card)
            size = clf.artefact.file_size
            if most is None or size <= most:
                return clf, candidate, size
            features = min(candidate.max_features or 1 << 31, clf.artefact.n_features)
            candidate = replace(candidate, max_features=max(1, int(features * 0.9 * most / size)))
        raise LinnetError(f"no model fits into {size_text(most or 0)}: the smallest is {size_text(size)}; give more")

    def _fit_once(self, candidate: Candidate, card: dict[str, Any]) -> TextClassifier:
        clf = candidate.make(self.seed, self.threads)
        self.stopped = False

        def told(event: Event) -> None:
            if self.on_event is not None:
                self.on_event(event)
            try:
                if event.kind in ("trial", "candidate", "pass"):
                    self.clock.last_call()
            except KeyboardInterrupt:
                self.stopped = True
                raise

        part = self.material.shared.part(np.arange(len(self.material.y)))
        clf.fit(self.rows, dev=self.dev, on_event=told, part=part)
        clf.model_ = replace(clf.model_, card={**clf.model_.card, "tuning": card})
        return clf


def _models(models: Iterable[str] | str | None, *, vectors: bool) -> list[str] | None:
    """Return the models to search among; word vectors need blocks of length 1 and values below zero."""
    from linnet.models import MODELS

    if models is None and not vectors:
        return None
    learn = [name for name, cls in MODELS.items() if cls.traits.learns]
    names = learn if models is None else parse_list(models) if isinstance(models, str) else list(models)
    for name in names:
        check_choice("model that learns", name, learn, LinnetError)
    if not names:
        raise LinnetError(f"name at least one model of {', '.join(learn)}")
    if not vectors:
        return names
    kinds = [(name, MODELS[name]) for name in names]
    found = [name for name, kind in kinds if kind.plan.norm == "l2" and not kind.traits.non_negative]
    if not found:
        raise LinnetError(
            f"word vectors do not go with {', '.join(names)}; add svm or logistic, or leave the vectors out"
        )
    return found


def _other(data: Any) -> Dataset | None:
    """Return the dev or test data: a Dataset, a path, (texts, labels) or None."""
    if data is None:
        return None
    texts, labels = data if isinstance(data, tuple) else (data, None)
    return labelled_data(texts, labels, "tune")


def _tuning_rows(rows: Dataset, dev: Dataset | None) -> TuningRows:
    """Concatenate training and dev rows, and refuse what cannot be held out."""
    parts = [rows] if dev is None else [rows, dev]
    labels = [label for part in parts for label in (part.label_list() if rows.separator is None else part.label_sets())]
    classes, y = encode(labels)
    check_two_labels(rows.source, y.sum(axis=0) if y.ndim == 2 else np.bincount(y))
    kind = rows.text.type if len({part.text.type for part in parts}) == 1 else pa.large_string()
    chunks = [chunk.cast(kind) for part in parts for chunk in part.text.chunks]
    shared = Shared(pa.chunked_array(chunks) if chunks else rows.text)
    held = None if dev is None else np.arange(len(rows), len(y))
    return TuningRows(classes, y, held, shared)


def _digest(m: TuningRows) -> str:
    """Return what tells these rows from others."""
    found = hashlib.sha256(repr(m.classes).encode("utf-8"))
    found.update(m.y.tobytes())
    for piece in m.shared.pieces:
        found.update(np.diff(piece.offsets).tobytes())
        found.update(piece.data[int(piece.offsets[0]) : int(piece.offsets[-1])].tobytes())
    return found.hexdigest()


def _notes(search: Search, kept: SearchState) -> list[str]:
    notes = []
    if search.interrupted:
        notes.append("interrupted: this is the best so far")
    if search.replayed:
        notes.append(f"{search.replayed:,} results were known from {kept.path}")
    if search.results.refused:
        _, reason = next(iter(search.results.refused.values()))
        notes.append(f"{len(search.results.refused):,} candidates were refused, the first because {reason}")
    return notes
