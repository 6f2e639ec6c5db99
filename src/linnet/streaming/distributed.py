"""Training by the workers of an engine: shards are mapped over, results are added up, models are those of one machine.

* Document frequencies, the vocabulary and its numbering, class counts and naive Bayes: one reduce each. Whole numbers
  add up exactly, so the model is that of one machine to the byte.
* SVM (squared hinge) and logistic regression: workers give the loss and gradient of their shards and products with its
  curvature, Newton's method moves the weights here, until |gradient| / |gradient at zero| is ``TOL``. (L-BFGS, on
  gradients alone, took several times as many rounds.) The start is iterative parameter mixing: each
  shard takes a few steps as if it were all the data, and the mean of their points, by weight, is where the next round begins.

References: McDonald, Hall, Mann: Distributed Training Strategies for the Structured Perceptron, 2010; Agarwal et al.: A
Reliable Effective Terascale Linear Learning System, 2014.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.data.labelled import Scan, Source, join_scans
from linnet.engines import Engine
from linnet.engines.engine import check
from linnet.errors import DataError, LinnetError
from linnet.features.counts import SparseCounts
from linnet.features.recipe import Weights
from linnet.models import MODELS
from linnet.models.settings import above_zero, one_of, truth
from linnet.solvers.callbacks import Epoch
from linnet.solvers.losses import Logistic, Loss, Softmax, SquaredHinge
from linnet.solvers.newton import inner, minimise
from linnet.streaming import jobs
from linnet.streaming.blockwise import entry_of
from linnet.streaming.cache import behind
from linnet.streaming.held import TestRows
from linnet.streaming.jobs import Plan, Solving, Task
from linnet.streaming.meter import Meter
from linnet.streaming.parts import DEV, TRAIN
from linnet.streaming.sums import PartSum, SumProblem
from linnet.streaming.training import Run, Streamed
from linnet.streaming.vocabulary import Vocabulary

__all__ = ["DistributedRun"]

TOL = 1e-5
MOST_STEPS = 100
MIXING_ROUNDS, MIXING_STEPS = 2, 8


class DistributedRun(Run):
    """A run whose stages are jobs of an engine."""

    def __init__(self, engine: Engine, *settings: Any) -> None:
        super().__init__(*settings)
        self.engine, self.run = engine, uuid.uuid4().hex
        if entry_of(self.cls) is None:
            raise LinnetError(f"{self.cls.__name__} is not trained by an engine; choose svm, logistic, nb or bernoulli")

    def all(self, skip_damaged: bool) -> Streamed:
        """Make all stages."""
        self.look(skip_damaged)
        if not self.exact:
            raise DataError(
                f"{self.scan.rows:,} rows are too many to number within the memory allowed; raise --max-memory"
            )
        bits = self.recipe.hash_bits
        self.plan = Plan(self.run, self.classes, self.blocks, self.counting, self.batch_bytes, hash_bits=bits)
        self.tasks = [*self._tasks(self.main, self.scan, TRAIN)]
        for part, source in self.others.items():
            self.tasks += self._tasks(source, self.scans[part], part)
        return self.work()

    # ---- stages

    def _scans(self, skip_damaged: bool, meter: Meter) -> tuple[Scan, dict[int, Scan]]:
        self.say(f"engine {self.engine.name}: {self.engine.workers} workers" + self._page())
        return self._scan(self.main, skip_damaged, meter), {
            part: self._scan(source, False, meter) for part, source in self.others.items()
        }

    def _page(self) -> str:
        return f", {self.engine.dashboard}" if self.engine.dashboard else ""

    def _scan(self, source: Source, skip_damaged: bool, meter: Meter) -> Scan:
        source.settle_or_skip(skip_damaged)
        most = self.budget.exact_rows()
        tasks = [
            Task(str(p), source.text, source.label, source.format)
            for p in source.shards
            if str(p) not in source.damaged
        ]
        found: dict[int, Scan] = {}
        for outcome in self.engine.map(jobs.scan_shard, tasks, self.engine.broadcast(most)):
            if skip_damaged and isinstance(outcome.error, DataError):
                source.damaged[tasks[outcome.index].path] = str(outcome.error)
                continue
            found[outcome.index] = check(outcome, tasks)
            meter(found[outcome.index].nbytes)
        whole = Scan(damaged=source.damaged)
        for index in sorted(found):
            join_scans(whole, found[index], tasks[index].path, most)
        if not whole.rows:
            raise DataError(f"no usable rows in {source.name}: {whole.unusable}")
        return whole

    def _tasks(self, source: Source, scan: Scan, part: int) -> list[Task]:
        out, at = [], 0
        for path, rows in scan.by_shard.items():
            parts: Any = part
            if source is self.main and self.parts.whole is not None:
                parts = self.parts.whole[at : at + rows]
            out.append(Task(path, source.text, source.label, source.format, parts))
            at += rows
        return out

    def _vocabulary(self) -> Vocabulary:
        found: Vocabulary = self.engine.add_up(jobs.count_shard, self.tasks, self.engine.broadcast(self.plan))
        return found

    def _guessed_entries(self) -> int:
        return 0  # the workers count them

    def write(self) -> None:
        """Let the workers make their rows; add up what all of them know."""
        self.log.stage(f"making rows on {self.engine.workers} workers")
        self.plan = replace(self.plan, fingerprints=self.kept.fingerprints)
        self.shared = self.engine.broadcast(self.plan)
        fitted = (TRAIN, DEV) if self.clf.refit else (TRAIN,)
        found = self.engine.add_up(jobs.totals, self.tasks, self.shared, self.engine.broadcast(fitted))
        self.class_counts, self.entries = found.counts, found.entries
        self.rows_of = {TRAIN: found.rows[0], DEV: found.rows[1]}
        self.one = True
        self.held = TestRows(self.folder / "test.arrow")
        parts: dict[int, Any] = {}
        for outcome in self.engine.map(jobs.held, self.tasks, self.shared):
            parts[outcome.index] = check(outcome, self.tasks)
        with self.held:
            for index in sorted(parts):
                for text, label in parts[index]:
                    self.held.add(text, label)
        self.cache: Any = _RemoteRows(self)
        self.names: Any = _RemoteNames(self)

    def _read_whole(self) -> None:
        return None

    # ---- fitting

    def _fit_blocks(self, model: Any, weights: Weights, watched: bool) -> tuple[npt.NDArray[np.float32], Any]:
        own = bool(getattr(model, "uses_gain", False))
        fitted = (TRAIN,) if watched else (TRAIN, DEV)
        solving = Solving(weights, self.recipe, own, self.n_classes, self.per_class, fitted)
        if self.cls in (MODELS["nb"], MODELS["bernoulli"]):
            W, b = self._count_bayes(model, solving)
        else:
            W, b = self._descend(model, solving)
        W = np.ascontiguousarray(W, dtype=np.float32)
        return (W if own else W * weights.norm[:, None]), b

    def _count_bayes(self, model: Any, solving: Solving) -> tuple[Any, Any]:
        share = self.engine.broadcast
        model._learn(
            self.engine.add_up(jobs.nb_counts, self.tasks, self.shared, share(solving), share(model)),
            np.dtype(np.float32),
        )
        return model.coef_.T, model.intercept_

    def _descend(self, model: Any, solving: Solving) -> tuple[Any, Any]:
        """Mix, then Newton's method; Ctrl-C keeps the weights so far."""
        n_outputs = 1 if self.n_classes == 2 else self.n_classes
        solving = self._smooth(model, solving, n_outputs)
        shared = self.engine.broadcast(solving)

        def ask(W: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> PartSum:
            at = self.engine.broadcast((W, b))
            found: PartSum = self.engine.add_up(jobs.gradient, self.tasks, self.shared, shared, at)
            self.engine.forget(at)
            return found

        def ask_product(at: tuple[Any, Any], d: tuple[Any, Any]) -> PartSum:
            if not places or places[0] is not at[0]:  # the same point for all products of a step
                places[:] = [at[0], self.engine.broadcast(at)]
            direction = self.engine.broadcast(d)
            found: PartSum = self.engine.add_up(jobs.product, self.tasks, self.shared, shared, places[1], direction)
            self.engine.forget(direction)
            return found

        places: list[Any] = []
        problem = SumProblem(
            ask, self.n_columns, n_outputs, solving.total, ask_product=ask_product,
            gain=solving.weights.gain if solving.own_gain else None, fit_intercept=solving.fit_intercept,
            constant=solving.constant,
        )  # fmt: skip
        start, first = self._start(problem, shared)
        centre = isinstance(solving.loss, Softmax)

        def shown(found: tuple[Any, Any]) -> tuple[Any, Any]:
            return (found[0], found[1] - found[1].mean()) if centre else found

        def told(number: int, value: float, violation: float, w: Any) -> None:
            penalty = 0.5 * inner(w[: problem.n_penalised], w[: problem.n_penalised])
            report = Epoch(number, value - penalty, violation, int(solving.total / solving.C))
            self.log.epoch(report, lambda: shown(problem.weights(w)))

        result = minimise(problem.local, start, tol=TOL, max_steps=MOST_STEPS, scale=first, on_step=told)
        model.n_iter_ = max(1, result.steps)
        model.interrupted_ = not result.converged and result.steps < MOST_STEPS
        return shown(problem.weights(result.w))

    def _start(self, problem: SumProblem, shared: Any) -> tuple[npt.NDArray[np.float64], float]:
        """Return where to begin, and the length of the gradient at zero, which the tolerance is a share of."""
        zero = problem.everything(np.zeros(problem.size))
        first = problem.total * float(np.sqrt(inner(zero.gradient, zero.gradient)))
        start = np.zeros(problem.size)
        for _ in range(MIXING_ROUNDS):
            start = self._mixed(shared, start)
        return (start if problem.everything(start).value < zero.value else np.zeros(problem.size)), first

    def _mixed(self, shared: Any, start: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        at, steps = self.engine.broadcast(start), self.engine.broadcast(MIXING_STEPS)
        weight, point = self.engine.add_up(jobs.mixed, self.tasks, self.shared, shared, at, steps, add=_add_pairs)
        self.engine.forget(at)
        return np.asarray(point / weight) if weight else start

    def _smooth(self, model: Any, s: Solving, n_outputs: int) -> Solving:
        """Fill in the loss and its weight; refuse what is not smooth."""
        if getattr(model, "penalty", "l2") != "l2" or model.solver not in (None, "newton"):
            raise LinnetError("an engine solves by Newton's method with the L2 penalty; leave out --solver and penalty")
        C = above_zero("C", model.C)
        rows = sum(self.rows_of[part] for part in s.fitted)
        total = C * float(np.sum(rows if s.per_class is None else rows * s.per_class))
        loss: Loss
        if self.cls is MODELS["svm"]:
            if (
                one_of("loss", model.loss or "squared_hinge", ("squared_hinge", "hinge")) == "hinge"
                or model.cost is not None
            ):
                raise LinnetError("an engine needs a smooth loss: leave out cost, and take loss=squared_hinge")
            return replace(s, C=C, loss=SquaredHinge(), total=total, constant=model._bias_scale())
        loss = Logistic() if n_outputs == 1 else Softmax()
        return replace(s, C=C, loss=loss, total=total, fit_intercept=truth("fit_intercept", model.fit_intercept))


def _add_pairs(a: tuple[float, Any], b: tuple[float, Any]) -> tuple[float, Any]:
    return a[0] + b[0], a[1] + b[1]


class _RemoteRows:
    """The rows of all shards by number: training rows of all shards first, then dev rows, as one machine has them."""

    computed = None
    written = 0

    def __init__(self, run: DistributedRun) -> None:
        self.of_run, self.blocks = run, run.tasks
        self.n_blocks, self.n_columns = len(run.blocks), run.n_columns
        sizes = [
            [
                (task.parts == part).sum() if not isinstance(task.parts, int) else self._all(task, part)
                for task in run.tasks
            ]
            for part in (TRAIN, DEV)
        ]
        self.sizes = np.array(sizes, dtype=np.int64)  # (2, n_shards)

    def _all(self, task: Task, part: int) -> int:
        scan = self.of_run.scans.get(part)
        return scan.by_shard.get(task.path, 0) if scan is not None and task.parts == part else 0

    def __len__(self) -> int:
        return int(self.sizes.sum())

    @property
    def indices(self) -> range:
        return range(self.of_run.entries)

    def take(self, rows: npt.NDArray[np.int64]) -> SparseCounts:
        ends = np.cumsum(self.sizes.ravel())
        which = np.searchsorted(ends, rows, side="right")
        inside = rows - np.concatenate([[0], ends])[which]
        n = self.sizes.shape[1]
        inside = inside + np.where(which >= n, self.sizes[0][which % n], 0)  # dev rows stand behind those for training
        asked, places = [], []
        for shard in np.unique(which % n).tolist():
            mine = np.flatnonzero(which % n == shard)
            asked.append((self.of_run.tasks[shard], inside[mine]))
            places.append(mine)
        found: dict[int, SparseCounts] = {}
        for outcome in self.of_run.engine.map(jobs.take, asked, self.of_run.shared):
            found[outcome.index] = check(outcome, asked)
        whole = behind([found[k] for k in sorted(found)], self)  # type: ignore[arg-type]
        return whole.take(np.argsort(np.concatenate(places), kind="stable"))


class _RemoteNames:
    """Asks the workers for names."""

    def __init__(self, run: DistributedRun) -> None:
        self.of_run = run

    def find(self, columns: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        run = self.of_run
        found: dict[int, bytes] = {}
        for outcome in run.engine.map(jobs.names, run.tasks, run.shared, run.engine.broadcast(columns)):
            found |= check(outcome, run.tasks)
        names = [found[int(column)] for column in columns]
        offsets = np.zeros(len(names) + 1, dtype=np.int64)
        np.cumsum([len(name) for name in names], out=offsets[1:])
        return np.frombuffer(b"".join(names), dtype=np.uint8), offsets
