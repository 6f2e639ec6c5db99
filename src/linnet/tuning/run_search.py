"""``tune``: read, search, fit the winner on all rows but the test's, look at the test once.

The default comes first, then every model as it comes, then rounds. A round draws candidates near the best so far and at
random, judges all of them on little data, and takes the better third to the next level, and so on. What is drawn depends on
the seed and on the scores so far, never on the time: a longer budget goes on with the same search.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from linnet import arithmetic
from linnet.classifier import TextClassifier
from linnet.data import Dataset
from linnet.errors import LinnetError, check_choice
from linnet.evaluate.metrics import find_metric, score_of
from linnet.features.blocks import describe, parse
from linnet.features.plan import default_blocks
from linnet.models import MODELS
from linnet.pipeline.crossval import FEW_ROWS, check_two_labels, labelled_data
from linnet.pipeline.events import Event, Log
from linnet.pipeline.fit import choose
from linnet.pipeline.plan import OF_FEATURES
from linnet.pipeline.rows import MemoryRows
from linnet.tuning.candidate import Candidate, FeatureSpace, SearchSpace
from linnet.tuning.judging import Clock, Judge, Limits, OutOfTimeError
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
        "data": _digest(whole), "dev": 0 if held is None else len(held), "seed": random_state, "metric": metric, "max_size": size,
        "max_memory": memory, "models": names, "lists": describe(blocks),
    }  # fmt: skip
    kept = SearchState(None if state is None else Path(state), about, fresh=fresh)
    try:
        known = kept.known.get("memory", {}).get("base")  # what the process held at the beginning of the search
        limits = Limits(size, memory, whole.buffers, known)
        if known is None and memory is not None:
            kept.add("memory", {"base": limits.base})
        features, n_classes = FeatureSpace(default_blocks(whole.buffers), blocks), len(whole.classes)
        most = limits.most_features(1 if n_classes == 2 and whole.y.ndim == 1 else n_classes)
        space = SearchSpace(features, models=names, most_features=most, many=len(whole.y) >= FEW_ROWS)
        judge = Judge(whole, features.default(), clock, limits, random_state, n_jobs)
        results = Results(judge.levels, metric, whole.y, n_classes, random_state)
        search = Search(rows, held, judge, space, results, kept, candidates, on_event)
        search.run()
        return search.finish(tested, named or rows.source, command or {})
    finally:
        kept.close()


NEAR, SETS, EACH = 6, 2, 3  # of a round: near the best; feature sets drawn; candidates on each of these
ELITE = 5
KEEP = 2.5  # one in so many goes on
TOP = 3  # only the best so many of all go beyond the folds
TRIES = 20  # to draw something new
SAFETY = 1.8  # on the time that the last fit will take
AFTER = 0.5  # seconds for the test, saving and leaving


class _EnoughCandidates(Exception):  # noqa: N818 - not an error
    """As many candidates were judged as were asked for."""


class Search:
    """One search. ``run`` goes on until the clock, Ctrl-C or the number of candidates ends it; results are kept."""

    def __init__(
        self, rows: Dataset, dev: Dataset | None, judge: Judge, space: SearchSpace, results: Results, state: SearchState,
        candidates: int | None, on_event: Callable[[Event], None] | None,
    ) -> None:  # fmt: skip
        self.rows, self.dev, self.judge, self.space, self.results, self.state = rows, dev, judge, space, results, state
        self.clock, self.limits, self.most, self.on_event = judge.clock, judge.limits, candidates, on_event
        self.interrupted, self.replayed = False, 0

    def run(self) -> None:
        """Search until something ends it."""
        try:
            self._default()
            self._round([self.space.own(model) for model in self.space.models])
            number = 1
            while True:
                self._round(self._drawn(np.random.default_rng((self.results.seed, number))))
                number += 1
        except (OutOfTimeError, _EnoughCandidates):
            pass
        except KeyboardInterrupt:
            self.clock.stop()
            self.interrupted = True
            if not self.results.judged:
                raise

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
            tf=None if plain else settings["tf"], params=tuple(sorted(params.items())),
        )  # fmt: skip
        if self._ask(chosen, self.results.base) is not None:
            self.results.default = chosen.key

    def _trained_settings(self, first: Candidate) -> dict[str, Any]:
        """Return the settings that training comes to; with lists of the user's own, on the features of the candidate."""
        if self.limits.max_memory is not None:  # which the search of settings does not know
            return {"ratio": first.ratio, **dict(first.params)}
        usual = first.features == describe(self.space.features.usual)
        clf = TextClassifier(
            first.model,
            features=None if usual else first.features,
            random_state=self.judge.seed,
            n_jobs=self.judge.threads,
        )
        rows = MemoryRows(plan := clf.plan(), self.rows, dev=self.dev, part=self.judge.part())
        return choose(plan, rows, Log(self.clock.check))[1].best.settings

    def _drawn(self, rng: np.random.Generator) -> list[Candidate]:
        """Draw the candidates of a round: near the best so far, and on feature sets at random."""
        elite = [r.candidate for r in self.results.ranked(self.results.base)[:ELITE]]
        best: dict[str, float] = {}  # of each model
        for r in (r for level in self.results.at for r in level.values()):
            best[r.candidate.model] = max(best.get(r.candidate.model, 0.0), r.score)
        models = sorted(self.space.models, key=lambda name: -best.get(name, 0.0))
        chances = np.cumprod(np.full(len(models), 0.6))
        chances /= arithmetic.total(chances)
        drawn: dict[str, Candidate] = {}
        known = {key for level in self.results.at for key in level} | set(self.results.refused)

        def take(make: Callable[[], Candidate]) -> None:
            for _ in range(TRIES):
                found = make()
                if found.key not in known and found.key not in drawn:
                    drawn[found.key] = found
                    return

        for k in range(NEAR if elite else 0):
            take(lambda k=k: self.space.near(elite[min(k % ELITE, len(elite) - 1)], rng))  # type: ignore[misc]
        for _ in range(SETS):
            features = self.space.features.draw(rng)
            for _ in range(EACH):
                model = models[int(rng.choice(len(models), p=chances))]
                take(lambda model=model, features=features: self.space.draw(model, features, rng))  # type: ignore[misc]
        return list(drawn.values())

    def _round(self, drawn: list[Candidate]) -> None:
        """Judge candidates level by level; a third of them goes on each time, and only the best reach the top."""
        level, left = 0, sorted(drawn, key=lambda c: c.features)  # those that share counts, together
        if not left:
            raise _EnoughCandidates
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

    def _ask(self, candidate: Candidate, level: int) -> CandidateResult | None:
        """Return the result of a candidate on a level, from memory, from the state file or by judging it; None: refused."""
        key = candidate.key
        if key in self.results.at[level]:
            return self.results.at[level][key]
        if key in self.results.refused:
            return None
        if self.results.levels[level].adds and self._ask(candidate, level - 1) is None:
            return None
        fresh = all(key not in one for one in self.results.at)
        if fresh and self.most is not None and self.results.candidates >= self.most:
            raise _EnoughCandidates
        entry = self.state.known.get(f"{level} {key}")
        if entry is None:
            self.clock.check()
            try:
                found = self.judge(candidate, level)
                entry = {**found, "answers": packed(found["answers"])}
            except (LinnetError, MemoryError) as error:
                entry = {"refused": str(error).splitlines()[0] if str(error) else "it ran out of memory"}
            self.state.add(f"{level} {key}", entry)
        else:
            self.replayed += 1
        return self._keep(candidate, level, entry)

    def _keep(self, candidate: Candidate, number: int, entry: dict[str, Any]) -> CandidateResult | None:
        results, level = self.results, self.results.levels[number]
        if "refused" in entry:
            results.refused[candidate.key] = (candidate, str(entry["refused"]))
            self._say(candidate, number, None)
            return None
        rows, predicted = np.concatenate([fold.held_out for fold in level.folds]), unpacked(entry["answers"])
        if results.y.ndim == 2:
            predicted = predicted.reshape(len(rows), -1)
        seconds = float(entry["seconds"])
        if level.adds:
            before = results.at[number - 1][candidate.key]
            rows, predicted = np.concatenate([before.rows, rows]), np.concatenate([before.predicted, predicted])
            seconds += before.seconds
        score = score_of(results.metric, results.truth(rows), predicted, results.n_classes)
        result = CandidateResult(
            candidate, number, score, rows, predicted, seconds, float(entry["counting"]),
            int(entry["columns"]), int(entry["lookups"]),
        )  # fmt: skip
        results.at[number][candidate.key] = result
        if number >= results.base:
            self.clock.reserve = SAFETY * results.reserve() + AFTER
        self._say(candidate, number, result)
        return result

    def _say(self, candidate: Candidate, number: int, result: CandidateResult | None) -> None:
        if self.on_event is None:
            return
        ranked = self.results.ranked(self.results.base)
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
            source, len(self.rows), self.clock.spent, self.clock.budget, size, not self.interrupted,
            self.replayed, tuple(notes),
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
        clf = candidate.make(self.judge.seed, self.judge.threads)

        def told(event: Event) -> None:
            if self.on_event is not None:
                self.on_event(event)
            if event.kind in ("trial", "candidate", "pass"):
                self.clock.last_call()

        clf.fit(self.rows, dev=self.dev, on_event=told, part=self.judge.part())
        clf.model_ = replace(clf.model_, card={**clf.model_.card, "tuning": card})
        return clf

    def _notes(self) -> list[str]:
        notes = []
        if self.interrupted:
            notes.append("interrupted: this is the best so far")
        if self.replayed:
            notes.append(f"{self.replayed:,} results were known from {self.state.path}")
        if self.results.refused:
            _, reason = next(iter(self.results.refused.values()))
            notes.append(f"{len(self.results.refused):,} candidates were refused, the first because {reason}")
        return notes


def _models(models: Iterable[str] | str | None, *, vectors: bool) -> list[str] | None:
    """Return the models to search among; word vectors need blocks of length 1 and values below zero."""
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


def _digest(m: MemoryRows) -> str:
    """Return what tells these rows from others."""
    found = hashlib.sha256(repr(m.classes).encode("utf-8"))
    found.update(m.y.tobytes())
    for piece in m.buffers:
        found.update(np.diff(piece.offsets).tobytes())
        found.update(piece.data[int(piece.offsets[0]) : int(piece.offsets[-1])].tobytes())
    return found.hexdigest()
