"""``tune``: read, search, fit the winner on all rows but the test's, look at the test once.

The default comes first, then every model as it comes, then rounds. A round draws candidates near the best so far and near
the models' own recipes, judges all of them on little data, and takes the better third to the next level, and so on. What is
drawn depends on the seed and on the scores so far, never on the time: a longer budget goes on with the same search.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.classifier import TextClassifier
from linnet.data import Dataset
from linnet.errors import LinnetError, check_choice
from linnet.evaluate.metrics import find_metric, score_of
from linnet.features.blocks import describe, parse
from linnet.features.buffers import columns_digest
from linnet.features.plan import default_blocks
from linnet.models import MODELS
from linnet.pipeline.crossval import FEW_ROWS, check_two_labels, labelled_data
from linnet.pipeline.events import Event, Log
from linnet.pipeline.fit import choose
from linnet.pipeline.plan import OF_FEATURES
from linnet.pipeline.rows import MemoryRows
from linnet.tuning.candidate import Candidate, SearchSpace
from linnet.tuning.judging import Clock, Judge, Limits, SearchOver
from linnet.tuning.search import CandidateResult, Results, SearchState, Tuning, packed, unpacked
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
    whole = MemoryRows(TextClassifier().plan(), rows, dev=held)
    check_two_labels(rows.source, whole.class_rows)
    about = {
        "data": columns_digest(rows, *(() if held is None else (held,))), "seed": random_state, "metric": metric, "max_size": size,
        "max_memory": memory, "models": names, "lists": describe(blocks),
    }  # fmt: skip
    with contextlib.closing(SearchState(None if state is None else Path(state), about, fresh=fresh)) as kept:
        limits = Limits(size, memory)
        usual, n_classes, many = default_blocks(whole.buffers), len(whole.classes), len(whole.y) >= FEW_ROWS
        most = limits.most_features(1 if n_classes == 2 and whole.y.ndim == 1 else n_classes)
        space = SearchSpace(usual, blocks, models=names, most_features=most, many=many)
        judge = Judge(whole, space.default, clock, limits, random_state, n_jobs)
        results = Results(judge.levels, metric, whole.y, n_classes, random_state)
        search = Search(rows, held, judge, space, results, kept, candidates, on_event)
        search.run()
        return search.finish(tested, named or rows.source, command or {})


NEAR, OTHERS, STEPS = 6, 6, 3  # of a round: near the best; near the recipes of models, so many steps away
ELITE = 5
KEEP = 2.5  # one in so many goes on
TOP = 3  # only the best so many of all go beyond the folds
SAFETY = 1.8  # on the time that the last fit will take
AFTER = 0.5  # seconds for the test, saving and leaving


class Search:
    """One search. ``run`` goes on until the clock, Ctrl-C or the number of candidates ends it; results are kept."""

    def __init__(
        self, rows: Dataset, dev: Dataset | None, judge: Judge, space: SearchSpace, results: Results, state: SearchState,
        candidates: int | None, on_event: Callable[[Event], None] | None,
    ) -> None:  # fmt: skip
        self.rows, self.dev, self.judge, self.space, self.results, self.state = rows, dev, judge, space, results, state
        self.clock, self.limits, self.most = judge.clock, judge.limits, candidates
        self.on_event = on_event or (lambda _: None)
        self.replayed = 0

    def run(self) -> None:
        """Search until something ends it."""
        try:
            self._default()
            self._round([self.space.own(model) for model in self.space.models])
            for number in count(1):
                self._round(self._drawn(np.random.default_rng((self.results.seed, number))))
        except SearchOver:
            pass
        except KeyboardInterrupt:
            self.clock.stop()
        if self.clock.stopped and not self.results.judged:
            raise KeyboardInterrupt

    # ---- the parts of the search

    def _default(self) -> None:
        """Begin with what ``linnet train`` chooses for the default model."""
        name = TextClassifier().model
        first = self.space.own(name if name in self.space.models else self.space.models[0])
        if self._ask(first, self.results.base) is None:
            return  # too large: something smaller has to be found
        self.results.default = first.key
        settings = self._trained_settings(first)
        params = {k: v for k, v in settings.items() if k not in OF_FEATURES}
        plain = settings.get("tf", MODELS[first.model].plan.tf) == MODELS[first.model].plan.tf
        chosen = replace(
            first, features=settings.get("features", first.features), ratio=float(settings["ratio"]),
            tf=None if plain else settings["tf"], min_df=settings.get("min_df"), params=tuple(sorted(params.items())),
        )  # fmt: skip
        if self._ask(chosen, self.results.base) is not None:
            self.results.default = chosen.key

    def _trained_settings(self, first: Candidate) -> dict[str, Any]:
        """Return the settings that training comes to; with lists of the user's own, on the features of the candidate."""
        if self.limits.max_memory is not None:  # which the search of settings does not know
            return {"ratio": first.ratio, **dict(first.params)}
        features = None if first.features == describe(self.space.usual) else first.features
        clf = TextClassifier(first.model, features=features, random_state=self.judge.seed, n_jobs=self.judge.threads)
        rows = MemoryRows(plan := clf.plan(), self.rows, dev=self.dev, part=self.judge.part())
        return choose(plan, rows, Log(self.clock.check))[1].best.settings

    def _drawn(self, rng: np.random.Generator) -> list[Candidate]:
        """Draw the candidates of a round: near the best so far, and a few steps from the recipes of the models."""
        elite = [r.candidate for r in self.results.ranked(self.results.base)[:ELITE]]
        best: dict[str, float] = {}  # of each model
        for r in (r for level in self.results.at for r in level.values()):
            best[r.candidate.model] = max(best.get(r.candidate.model, 0.0), r.score)
        models = sorted(self.space.models, key=lambda name: -best.get(name, 0.0))
        chances = np.cumprod(np.full(len(models), 0.6))
        chances /= arithmetic.total(chances)
        drawn = [self.space.near(elite[k % len(elite)], rng) for k in range(NEAR if elite else 0)]
        for model in rng.choice(models, OTHERS, p=chances):
            candidate = self.space.own(str(model))
            for _ in range(STEPS):
                candidate = self.space.near(candidate, rng)
            drawn.append(candidate)
        known = {*self.results.refused, *(key for level in self.results.at for key in level)}
        return list({c.key: c for c in drawn if c.key not in known}.values())

    def _round(self, drawn: list[Candidate]) -> None:
        """Judge candidates level by level; a third of them goes on each time, and only the best reach the top."""
        level, left = 0, sorted(drawn, key=lambda c: c.features)  # those that share counts, together
        if not left:
            raise SearchOver
        keep = float(len(left))
        while left and level < len(self.results.levels):
            if (default := self.results.at[self.results.base].get(self.results.default or "")) is not None:
                self._ask(default.candidate, level)
            mine = {c.key for c in left if self._ask(c, level) is not None}
            hopeful = self.results.hopeful(level)
            if level >= self.results.base:
                hopeful = hopeful[:TOP]
            keep = max(1.0, keep / KEEP)
            left = [r.candidate for r in hopeful if r.candidate.key in mine][: round(keep)]
            level += 1

    # ---- one candidate on one level

    def _ask(self, candidate: Candidate, number: int) -> CandidateResult | None:
        """Return the result of a candidate on a level, from memory, from the state file or by judging it; None: refused."""
        results, key = self.results, candidate.key
        if key in results.at[number] or key in results.refused:
            return results.at[number].get(key)
        if self.most is not None and results.candidates >= self.most and all(key not in one for one in results.at):
            raise SearchOver
        entry = self.state.known.get(f"{number} {key}")
        if entry is None:
            self.clock.check()
            try:
                found = self.judge(candidate, number)
                entry = {**found, "answers": packed(found["answers"])}
            except (LinnetError, MemoryError) as error:
                entry = {"refused": str(error).splitlines()[0] if str(error) else "it ran out of memory"}
            self.state.add(f"{number} {key}", entry)
        else:
            self.replayed += 1
        if "refused" in entry:
            results.refused[key] = (candidate, str(entry["refused"]))
        else:
            truth = results.truth(number)
            predicted = unpacked(entry["answers"]).reshape(truth.shape)
            score = score_of(results.metric, truth, predicted, results.n_classes)
            costs = {name: entry[name] for name in ("seconds", "counting", "columns", "lookups")}
            results.at[number][key] = CandidateResult(candidate, number, score, predicted, **costs)
            if number >= results.base:
                self.clock.reserve = SAFETY * results.reserve() + AFTER
        self._say(candidate, number)
        return results.at[number].get(key)

    def _say(self, candidate: Candidate, number: int) -> None:
        ranked, result = self.results.ranked(self.results.base), self.results.at[number].get(candidate.key)
        values = {
            "level": self.results.levels[number].name, "score": None if result is None else result.score,
            "refused": self.results.refused.get(candidate.key, (candidate, None))[1],
            "best": ranked[0].score if ranked else None, "candidates": self.results.candidates,
            "left": max(0.0, self.clock.left), "spent": self.clock.spent,
        }  # fmt: skip
        self.on_event(Event("tuned", str(candidate), self.results.judged, 0, values))

    # ---- the last fit

    def finish(self, test: Dataset | None, source: str, command: dict[str, Any]) -> Tuning:
        """Fit the winner, look at the test rows, and put everything together."""
        results = self.results
        winner, optimism = results.winner(), results.optimism()
        if winner is None or optimism is None:
            for candidate, reason in results.refused.values():
                raise LinnetError(f"no candidate is within the limits; the first, {candidate}: {reason}")
            over = f"the budget of {duration(self.clock.budget)} was over before one candidate was judged"
            raise LinnetError(f"{over}; give more time, for example --budget 60s, or fewer rows")
        self.judge.forget()
        notes = self._notes()
        card = {  # nothing here may depend on the time but how far the search got
            "metric": results.metric, "candidates": results.candidates, "score": winner.score,
            "expected": winner.score - optimism.optimism, "optimism": optimism.optimism,
        }  # fmt: skip
        clf, candidate, size = self._fit(winner.candidate, card)
        if candidate != winner.candidate:
            notes.append(
                f"max_features is {candidate.max_features:,}, for the file to fit into the size that was given"
            )
        if clf.interrupted_:
            notes.append("the last fit was stopped before it had converged: the budget was over, or Ctrl-C was pressed")
        evaluation = None if test is None else clf.evaluate(test)
        return Tuning(
            clf, winner, results, optimism, evaluation, candidate.command(source, seed=self.judge.seed or None, **command),
            source, len(self.rows), self.clock.spent, self.clock.budget, size, not self.clock.stopped,
            self.replayed, tuple(notes),
        )  # fmt: skip

    def _fit(self, candidate: Candidate, card: dict[str, Any]) -> tuple[TextClassifier, Candidate, int]:
        """Fit on all rows; a model file that is too large after all is made smaller."""

        def told(event: Event) -> None:
            self.on_event(event)
            if event.kind in ("trial", "candidate", "pass"):
                self.clock.last_call()

        most = self.limits.max_size
        for _ in range(SMALLER):
            clf = candidate.make(self.judge.seed, self.judge.threads)
            clf.fit(self.rows, dev=self.dev, on_event=told, part=self.judge.part())
            clf.model_ = replace(clf.model_, card={**clf.model_.card, "tuning": card})
            size = clf.artefact.file_size
            if most is None or size <= most:
                return clf, candidate, size
            features = min(candidate.max_features or 1 << 31, clf.artefact.n_features)
            candidate = replace(candidate, max_features=max(1, int(features * 0.9 * most / size)))
        raise LinnetError(f"no model fits into {size_text(most or 0)}: the smallest is {size_text(size)}; give more")

    def _notes(self) -> list[str]:
        notes = []
        if self.clock.stopped:
            notes.append("interrupted: this is the best so far")
        if self.replayed:
            notes.append(f"{self.replayed:,} results were known from {self.state.path}")
        if self.results.refused:
            _, reason = next(iter(self.results.refused.values()))
            notes.append(f"{len(self.results.refused):,} candidates were refused, the first because {reason}")
        return notes


def _models(models: Iterable[str] | str | None, *, vectors: bool) -> list[str]:
    """Return the models to search among; word vectors need blocks of length 1 and values below zero."""
    learn = [name for name, cls in MODELS.items() if cls.traits.learns]
    names = learn if models is None else parse_list(models) if isinstance(models, str) else list(models)
    for name in names:
        check_choice("model that learns", name, learn, LinnetError)
    if not names:
        raise LinnetError(f"name at least one model of {', '.join(learn)}")
    kinds = [(name, MODELS[name]) for name in names]
    found = [name for name, kind in kinds if not vectors or (kind.plan.norm == "l2" and not kind.traits.non_negative)]
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
