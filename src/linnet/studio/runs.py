"""Training runs: one thread each, one at a time, told of every pass, stopped when asked, kept in files, compared.

The dev rows are held out of every fit, so a run's scores are on rows it never learned from (its settings were chosen on
them, so expect a little less on new texts). The test rows are not looked at.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from linnet.classifier import Event, TextClassifier, load
from linnet.data import Dataset
from linnet.errors import LinnetError
from linnet.features.blocks import names_code
from linnet.features.buffers import columns_digest
from linnet.files import write_atomic

# Settings by a name that says what they are good for: what it is in words, and the settings.
PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "Recommended": ("linear SVM, words and characters, settings chosen on dev", {"model": "svm"}),
    "Fast": ("naive Bayes on words and word pairs: very fast", {"model": "nb", "features": "words:1-2"}),
    "Probabilities": ("logistic regression: good probabilities", {"model": "logistic", "features": "words:1-2"}),
    "Short texts": ("NBSVM on words and word pairs", {"model": "nbsvm", "features": "words:1-2"}),
    "Small": ("single words only: a file of a few kB", {"model": "svm", "features": "words:1", "max_features": 5000}),
}

KEPT = ("number", "title", "settings", "data", "key", "status", "candidates", "passes", "seconds", "error", "scores")


@dataclass
class TrainingRun:
    """One training: settings, news so far, and the outcome."""

    number: int
    settings: dict[str, Any]
    data: str
    key: str
    status: str = "waiting"  # running, stopping, done, stopped, failed
    cut: bool = False  # stopped on the way, by the one who watches
    stage: str = ""
    candidates: list[Sequence[Any]] = field(default_factory=list)
    passes: list[Sequence[Any]] = field(default_factory=list)
    of: int = 0
    began: float = 0.0
    seconds: float = 0.0
    error: str = ""
    scores: dict[str, Any] = field(default_factory=dict)
    right: list[int] = field(default_factory=list, repr=False)  # dev rows, 1 where right
    clf: TextClassifier | None = field(default=None, repr=False)
    path: Path | None = None
    title: str = ""  # what a person calls it

    @property
    def name(self) -> str:
        """A short name: number, and the title, or model and features."""
        if self.title:
            return f"run {self.number}: {self.title}"
        about = f"{self.settings.get('model', 'svm')} {self.settings.get('features') or ''}"
        return f"run {self.number}: {about.strip()}"

    @property
    def over(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in ("done", "stopped", "failed")

    def left(self) -> float | None:
        """Guess the seconds that are left; None while there is nothing to guess from."""
        if self.over or not self.candidates:
            return None
        each = (time.monotonic() - self.began) / (len(self.candidates) + len(self.passes))
        return max(0.0, each * (max(self.of, len(self.candidates)) - len(self.candidates) + (not self.passes)))

    _asked: threading.Event = field(default_factory=threading.Event, repr=False)

    def stop(self) -> None:
        """Ask the run to end with the best it has.

        While settings are tried this ends the search, and the best of them is fitted; asked again, that ends early too.
        """
        self._asked.set()

    @property
    def stopping(self) -> bool:
        """Whether it was asked to end and has not yet."""
        return not self.over and (self._asked.is_set() or self.status == "stopping")

    def hear(self, event: Event) -> None:
        """Take news of the training; ends what goes on by the KeyboardInterrupt that solvers know, once asked to."""
        if event.kind == "stage":
            self.stage = event.text
        elif event.kind == "candidate":
            self.candidates.append((event.text, float(event.values["dev_accuracy"])))
            self.of = max(event.total, event.done)
        elif event.kind == "pass":
            accuracy = event.values.get("dev_accuracy")
            loss = float(event.values["mean_loss"])
            self.passes.append((event.done, loss, None if accuracy is None else float(accuracy)))
        if self._asked.is_set() and event.kind in ("trial", "candidate", "pass"):
            self._asked.clear()
            self.cut = True
            if event.kind == "pass":  # only the scoring is left
                self.status = "stopping"
            raise KeyboardInterrupt


class Runs:
    """All runs of a folder, the latest last."""

    def __init__(self, folder: Path, threads: int | None = None, trust: bool = False) -> None:
        self.folder, self.threads, self.trust = folder, threads, trust
        self.runs: list[TrainingRun] = []
        self._one = threading.Lock()
        for path in sorted(folder.glob("run-*.json")):
            with contextlib.suppress(ValueError, KeyError, TypeError, OSError):  # half a file is left as it is
                found = json.loads(path.read_text(encoding="utf-8"))
                right = [int(c) for c in found.pop("right")]
                known = {name: found[name] for name in KEPT if name in found}  # another version may have kept more
                self.runs.append(TrainingRun(**known, right=right, path=path.with_suffix(".linnet")))

    def __getitem__(self, number: int) -> TrainingRun:
        found = [run for run in self.runs if run.number == number]
        if not found:
            raise LinnetError(f"there is no run {number}")
        return found[0]

    @property
    def going(self) -> TrainingRun | None:
        """The run that is not over yet."""
        return next((run for run in self.runs if not run.over), None)

    def start(self, settings: dict[str, Any], train: Dataset, dev: Dataset, *, wait: bool = False) -> TrainingRun:
        """Begin a run in the background; settings are those of TextClassifier."""
        if self.going is not None:
            raise LinnetError(f"{self.going.name} is still going; stop it first, or wait for it")
        if names_code(settings.get("features")) and not self.trust:
            raise LinnetError(
                "functions and spaCy pipelines run code, so the studio takes them only when started with --trust"
            )
        TextClassifier(**settings).plan()  # a wrong name or setting is refused before anything begins
        number = max((run.number for run in self.runs), default=0) + 1
        run = TrainingRun(number, dict(settings), train.source, columns_digest(train, dev))
        self.runs.append(run)
        if wait:
            self._work(run, train, dev)
        else:
            threading.Thread(target=self._work, args=(run, train, dev), name=f"run {number}", daemon=True).start()
        return run

    def _work(self, run: TrainingRun, train: Dataset, dev: Dataset) -> None:
        with self._one:
            run.began, run.status = time.monotonic(), "running"
            outcome = "failed"
            try:
                clf = TextClassifier(**run.settings, refit=False, n_jobs=self.threads)
                clf.fit(train, dev=dev, on_event=run.hear)
                run.stage = "scoring the dev rows"
                run.scores, run.right = self.score(clf, dev)
                run.clf = clf
                outcome = "stopped" if run.cut else "done"
            except KeyboardInterrupt:
                run.error = "stopped before there was anything to keep"
            except Exception as error:  # a page must be told of a bug, not left waiting
                run.error = str(error) if isinstance(error, LinnetError) else f"{type(error).__name__}: {error}"
            run.seconds = time.monotonic() - run.began
            if run.clf is not None:
                self._keep(run, outcome)
            run.status = outcome  # last: whoever sees that it is over sees all of it

    def score(self, clf: TextClassifier, data: Dataset) -> tuple[dict[str, Any], list[int]]:
        """Return the scores on rows, and 1 for each that is right; of several labels, where all of them are."""
        several = clf.artefact.multilabel
        found = clf.evaluate(data)
        name, more = ("subset_accuracy", "micro_f1") if several else ("accuracy", "log_loss")
        if several:
            answers = [{str(label) for label in row} for row in clf.predict(data)]
            right = [int(set(row) == answer) for row, answer in zip(data.label_sets(), answers, strict=True)]
        else:
            right = (found.truth == found.predicted).astype(int).tolist()
        return {
            "n": found.n, "accuracy": getattr(found, name), "accuracy_interval": list(getattr(found, f"{name}_interval")),
            "macro_f1": found.macro_f1, "macro_f1_interval": list(found.macro_f1_interval), more: getattr(found, more),
            "features": clf.artefact.n_features,
        }, right  # fmt: skip

    def _keep(self, run: TrainingRun, outcome: str) -> None:
        """Write the model, then what is known of it, each whole or not at all."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / f"run-{run.number:03}.linnet"
            assert run.clf is not None  # noqa: S101 - scored
            run.clf.save(path)
            run.path, run.scores["size"] = path, path.stat().st_size
            self.write(run, outcome)
        except (OSError, LinnetError) as error:
            run.error = f"not kept: {error}"

    def write(self, run: TrainingRun, status: str = "") -> None:
        """Write what is known of a run beside its model."""
        if run.path is not None:
            content = {name: getattr(run, name) for name in KEPT}
            content |= {"status": status or run.status, "right": "".join(map(str, run.right))}
            write_atomic(run.path.with_suffix(".json"), json.dumps(content))

    def model(self, run: TrainingRun) -> TextClassifier:
        """Return the model of a run, from its file where it was made before."""
        if run.clf is None:
            if run.path is None or not run.path.exists():
                raise LinnetError(f"{run.name} has no model")
            run.clf = load(run.path, trust=self.trust)
        return run.clf

    def finished(self) -> list[TrainingRun]:
        """Return the runs that have a model, the best first."""
        done = [run for run in self.runs if run.scores]
        return sorted(done, key=lambda run: (-run.scores["accuracy"], run.number))

    def rename(self, run: TrainingRun, title: str) -> None:
        """Give a run a name of its own; none takes it away."""
        run.title = title.strip()
        self.write(run)

    def delete(self, run: TrainingRun) -> None:
        """Delete a run, its model file too."""
        if not run.over:
            raise LinnetError(f"{run.name} is still going; stop it first")
        self.runs.remove(run)
        if run.path is not None:
            run.path.unlink(missing_ok=True)
            run.path.with_suffix(".json").unlink(missing_ok=True)

    def words(self, key: str) -> str:
        """Say which of the runs on some data is best, and whether the difference is significant."""
        done = [run for run in self.finished() if run.key == key]
        if len(done) < 2:
            return "Train a second model to compare the two on the same rows." if done else ""
        return self.compared(done[0], done[1])

    def compared(self, best: TrainingRun, next_: TrainingRun) -> str:
        """Say whether two runs differ on the same dev rows, by McNemar's test."""
        from linnet.evaluate import mcnemar

        if best.key != next_.key:
            raise LinnetError(
                f"{best.name} and {next_.name} were judged on different rows; compare runs on the same data"
            )
        if best.scores["accuracy"] < next_.scores["accuracy"]:
            best, next_ = next_, best
        found = mcnemar(np.array(best.right, bool), np.array(next_.right, bool))
        said = "" if found.p < 0.05 else ", which is not significant: prefer the smaller or faster one"
        return (
            f"Run {best.number} is {100 * found.difference:.1f} points better than run {next_.number} on {len(best.right):,} dev rows "
            f"(p = {found.p:.2g}, McNemar){said}."
        )
