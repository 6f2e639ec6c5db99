"""What the pages share: the data and its checks, the models, one text explained, the runs, the labels. One Studio a program."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.checks.checked_data import CheckedData, Finding
from linnet.checks.run_checks import CHECKS, Checkup, applicable
from linnet.classifier import TextClassifier, load
from linnet.data import Dataset, read, stream
from linnet.data.input_file import Unusable, UnusableRow
from linnet.data.splitting import refuse_sealed, split_indices
from linnet.data.writers import ENDINGS, open_writer
from linnet.draw.markup import bars, mark, marked, safe, table
from linnet.draw.terminal import cut, percent
from linnet.errors import DataError, LinnetError
from linnet.evaluate.drift import drift, reference_of
from linnet.explain.explanation import neighbours_html
from linnet.features.buffers import columns_digest, text_buffers
from linnet.files import writing
from linnet.model.decision import Decision
from linnet.report.inputs import LONGEST, Predictions
from linnet.report.report import Report
from linnet.report.scores import LabelSetInputs, set_errors
from linnet.studio.labelling import FINAL, GivenLabel, Labelling, LabelStore
from linnet.studio.runs import Runs, TrainingRun
from linnet.text.vocabulary import Zipf

# ---- The checks of the data, one after another, the quick ones first.


SLOW = ("loopholes", "near-duplicates", "label-errors")


def word_counts(data: Dataset, threads: int | None = None) -> np.ndarray:
    """Return how often each distinct word occurs, by the kernels that count features.

    >>> sorted(word_counts(Dataset.from_lists(["the cat", "The dog"])).tolist())
    [1, 1, 2]
    """
    from linnet.features.blocks import Words
    from linnet.features.counting import count

    rows = count(text_buffers(data.text), (Words(1, 1),), counting=True, threads=threads).rows
    counts = np.zeros(rows.n_columns, dtype=np.int64)
    np.add.at(counts, rows.indices, rows.counts)
    return counts


class DataHealth:
    """What is known of some data so far; `pending` names the checks that are not done yet.

    >>> health = DataHealth(Dataset.from_lists(["good film", "bad film", "good film"], ["pos", "neg", "pos"]))
    >>> health.run()
    >>> health.checkup["duplicates"].says, health.pending, health.words
    ('1 of 3 texts repeats an earlier one', [], 3)
    """

    def __init__(self, data: Dataset, threads: int | None = None) -> None:
        self.data, self.threads, self.material = data, threads, CheckedData(data, (), 0, threads)
        self.law: Zipf | None = None
        self.words = self.tokens = self.version = 0
        self.findings: dict[str, Finding] = {}
        self.stopped = False
        names = applicable(CHECKS, self.material)
        self.pending = sorted(names, key=lambda name: SLOW.index(name) if name in SLOW else -1)

    @property
    def checkup(self) -> Checkup:
        """The findings so far."""
        return Checkup(replace(self.material, data=self.data), tuple(self.findings.values()), tuple(self.pending))

    def stop(self) -> None:
        """Do not begin another check."""
        self.stopped = True

    def run(self) -> None:
        """Count words, then make the checks, the quick ones first; every step raises the version."""
        counts = word_counts(self.data, self.threads)
        self.words, self.tokens = len(counts), int(counts.sum())
        with contextlib.suppress(DataError):
            self.law = Zipf.fit(counts)
        self.version += 1
        for name in list(self.pending):
            if self.stopped:
                return
            try:
                found = CHECKS[name].run(self.material)
            except LinnetError as error:
                found = Finding(name, "note", f"could not be checked: {error}")
            self.findings[name] = found
            self.pending.remove(name)
            self.version += 1

    def suspects(self) -> list[dict[str, Any]]:
        """Return the labels that may be wrong, the likeliest first: the row in the data, the suggested label, its words."""
        found = self.findings.get("label-errors")
        if found is None or "suspects" not in found.arrays or self.data.separator is not None:
            return []
        rows = found.arrays["suspects"].tolist()
        words = [one["words"] for one in found.examples] + [[]] * (len(rows) - len(found.examples))
        suggested = found.arrays["suggested"][rows].tolist()
        return [{"at": a, "suggested": b, "words": c} for a, b, c in zip(rows, suggested, words, strict=True)]


# ---- One text and one model: the label, the probabilities, and the words that decided.


LABELS = 6  # that are shown
WORDS = 8
NO_ANSWER = "(no answer)"


def prediction_html(clf: TextClassifier, text: str, name: str = "", top: int = LABELS, **rule: Any) -> str:
    """Return what a model of some name predicts for a text, and why, as HTML; rule is that of ``clf.predict``: threshold, abstain.

    >>> clf = TextClassifier("nb", features="words:1").fit(["good", "so good", "bad", "so bad"], ["pos", "pos", "neg", "neg"])
    >>> 'data-label="pos"' in prediction_html(clf, "good")
    True
    """
    began, beginning, notes = time.perf_counter(), text[:LONGEST], []
    decision = Decision.of(clf.artefact.classes, clf.artefact.decision, **rule)
    answers = clf.artefact.answers(clf.artefact.scores([beginning], clf.n_jobs), decision)
    proba, names = answers.proba[0].tolist(), [str(c) for c in clf.classes_.tolist()]
    label = ", ".join(one for one, chosen in zip(names, answers.chosen[0], strict=True) if chosen) or NO_ANSWER
    kept = sorted(range(len(names)), key=lambda k: -proba[k])[:top]
    order = sorted(kept) if len(names) <= top else kept  # few labels stay in the order of the classes
    probabilities = bars([(names[k], proba[k], percent(proba[k])) for k in order], "probabilities", label)
    more = f'<p class="soft">{len(names) - top:,} more labels are less likely.</p>' if len(names) > top else ""
    try:
        found = clf.explain(beginning)
        words, shown = found.by_word()[:WORDS], marked(found.words(), LONGEST)
        if found.unknown:
            notes.append(f"{found.unknown:,} features of the text are not in the model.")
        if not found.exact:
            notes.append("This model is a neural network: contributions are approximate.")
    except LinnetError:  # a model that has no contributions to show
        words, shown = [], safe(beginning)
    if len(text) > LONGEST:
        notes.append("Only the beginning of the text is used here.")
    largest = table(["", ""], [[f"{value:+.2f}", safe(word)] for word, value in words if value])
    return (
        f'<div class="soft small">{safe(name)}</div><div class="answer" data-label="{safe(label)}">{safe(label)}</div>'
        f'<div style="margin:.7rem 0 1rem">{probabilities}{more}</div><div class="marked">{shown}</div>'
        f'<details style="margin-top:.8rem"><summary>largest contributions</summary>{largest}</details>'
        f'<p class="soft small" style="margin-top:.7rem">{" ".join(notes)} {mark("Blue", "for")} words support '
        f"{safe(label)}, {mark('orange', 'against')} words are against it. {1000 * (time.perf_counter() - began):.0f} ms.</p>"
    )


NO_LABELS = "(no labels)"
# The path of the drawing in the head of the pages.
BIRD = "M2 17c5 0 6-3 8-7 1.600-3.200 4-5 7-5 2.300 0 3.700 1.200 4.200 2.700L24 9l-2.700.8C20.800 15.500 16.500 20 10 20c-3 0-6-1-8-3z"

BUILT_IN, TICKETS = "built-in reviews", "built-in tickets"
NEAREST = 3
CHARACTERS = 300  # of a text beside others


class Studio:
    """The state behind the pages."""

    def __init__(
        self, folder: str | os.PathLike[str] = "linnet-studio", threads: int | None = None, *, trust: bool = False
    ) -> None:
        self.folder, self.threads, self.trust = Path(folder), threads, trust
        self.data: Dataset | None = None
        self.health: DataHealth | None = None
        self.loaded: dict[str, TextClassifier] = {}
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        self.answers = LabelStore(self.folder / "answers.sqlite")
        self.runs = Runs(self.folder / "runs", threads, trust)
        self.sessions: dict[str, Labelling] = {}  # by the name of the annotator
        self.fixes = 0
        self._parts: dict[str, np.ndarray] = {}
        self._index: tuple[Any, Any] | None = None
        self._lock = threading.RLock()

    # ---- data

    def open(self, path: str, text: str | None = None, label: str | None = None) -> None:
        """Open a data file or a model by its path; "built-in reviews" and "built-in tickets" come with linnet.

        text and label name columns; found by themselves where they are None, and label NO_LABELS takes none.
        """
        if path in (BUILT_IN, TICKETS):
            from linnet.datasets import whole

            self.take(whole(path.removeprefix("built-in ")))
            return
        path = _path(path)
        if path.endswith(".linnet"):
            self.loaded[Path(path).name] = load(path, n_jobs=self.threads, trust=self.trust)
            return
        refuse_sealed(path, "to learn from")
        data = read(path, text=text, label=None if label == NO_LABELS else label)
        if label == NO_LABELS and data.label is not None:
            texts = [one for batch in stream(path, text=data.text_column) for one in batch.text.to_pylist()]
            data = replace(Dataset.from_lists(texts), text_column=data.text_column)
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")  # neither SQLite nor a page takes other names
        self.take(replace(data, source=shown))

    def take(self, data: Dataset) -> None:
        """Make data the current one; labels that were fixed before are fixed again."""
        with self._lock:
            if self.health is not None:
                self.health.stop()
            self.data = self._with_fixes(data)
            self.health = DataHealth(self.data, self.threads)
            self._parts = {}
        threading.Thread(target=self.health.run, name="health", daemon=True).start()

    def columns(self) -> list[str]:
        """Return the names of the columns of the file that is open; none where it is no file."""
        if self.data is None or not Path(self.data.source).is_file():
            return []
        first: Any = next(iter(stream(self.data.source, text=self.data.text_column, keep=True, batch_rows=100))).kept
        return list(first.column_names)

    @property
    def opened(self) -> Dataset:
        """The data that is open."""
        if self.data is None:
            raise LinnetError("there is no data; open some on the Data page")
        return self.data

    @property
    def labelled(self) -> bool:
        """Whether the data that is open has labels."""
        return self.data is not None and self.data.label is not None

    @property
    def task(self) -> str:
        """The name under which labels of the data are stored."""
        return "" if self.data is None else task_of(self.data.source)

    def judged(self) -> set[str]:
        """Return the texts whose label somebody has fixed or confirmed."""
        return {a.text for a in self.answers.of(self.task) if a.why in FINAL}

    def _with_fixes(self, data: Dataset) -> Dataset:
        final = [a for a in self.answers.of(task_of(data.source)) if a.why in FINAL]
        mine = {a.text: a.label for a in final if a.label is not None}
        self.fixes = len(mine)
        if not mine or data.label is None or data.separator is not None:
            return data
        labels, texts = data.label.to_pylist(), data.text.to_pylist()
        return replace(data, label=pa.chunked_array([[mine.get(t, v) for t, v in zip(texts, labels, strict=True)]]))

    def text(self, row: int) -> str:
        """Return one text of the data."""
        return str(self.opened.text[row].as_py())

    def label(self, row: int) -> str:
        """Return one label of the data."""
        return "" if self.opened.label is None else str(self.opened.label[row].as_py())

    def fix(self, row: int, label: str) -> None:
        """Give a row another label; kept, and used from now on."""
        with self._lock:
            data = self.opened
            if data.label is None:
                raise LinnetError("there are no labels to fix; open labelled data first")
            data.refuse_multilabel("fixing labels")
            if label not in data.labels and label != self.label(row):
                raise LinnetError(f"'{label}' is not a label of the data: {', '.join(data.labels)}")
            self.answers.add(self.task, self.text(row), label, was=self.label(row), why="fix")
            self.data = self._with_fixes(data)
            if self.health is not None:
                self.health.data = self.data  # what was found stays until it is checked again

    def leave_out(self, check: str) -> None:
        """Leave the rows that a check found out of the data: repeats of a text, suspected labels. The file stays as it is."""
        data, found = self.opened, {} if self.health is None else self.health.findings[check].arrays
        out = np.zeros(len(data), dtype=bool)
        out[found["suspects" if "suspects" in found else "repeats"]] = True
        gone = np.flatnonzero(out).tolist()
        rows = [UnusableRow(self.source_row(k), f"left out: {check}", self.text(k), self.label(k)) for k in gone]
        unusable = Unusable.of(sorted([*data.unusable.rows, *rows], key=lambda one: one.row))
        self.take(replace(data.take(np.flatnonzero(~out)), unusable=unusable, notes=data.notes))

    def source_row(self, row: int) -> int:
        """Return the number of a row of the data in its file."""
        return int(self.opened.source_rows[row])

    def beside(self, path: str) -> tuple[list[Finding], list[str]]:
        """Compare the data with another file: what `linnet check DATA OTHER` finds, and what `linnet monitor` says of it."""
        both = CheckedData(self.opened, (read(_path(path)),), 0, self.threads)
        checks = [one for name, one in applicable(CHECKS, both).items() if one.others or name == "loopholes"]
        findings, best = [one.run(both) for one in checks], self.best()
        if best is None:
            return findings, ["Train a model to see whether its predictions would change."]
        try:
            model, reference = self.model(best).artefact, None
            if self.labelled:  # rows that no run was trained on
                held_out = self.opened.take(np.concatenate([self.rows("dev"), self.rows("test")]))
                reference = reference_of(model, held_out, self.threads)
            return findings, list(drift(model, both.others[0], reference=reference, threads=self.threads).lines())
        except LinnetError as error:
            return findings, [str(error)]

    # ---- parts

    def rows(self, part: str) -> np.ndarray:
        """Return the rows of a part: train, dev or test, 80/10/10, each with every class in its share."""
        if not self.labelled:
            raise LinnetError("there is no labelled data; open some on the Data page")
        with self._lock:
            if not self._parts:
                found = split_indices(self.opened._codes(), 0, (0.8, 0.1, 0.1))
                self._parts = {name: np.sort(rows) for name, rows in zip(("train", "dev", "test"), found, strict=True)}
            return self._parts[part]

    def part(self, name: str) -> Dataset:
        """Return a part of the data."""
        return self.opened.take(self.rows(name))

    # ---- models

    def train(self, settings: dict[str, Any], *, wait: bool = False) -> TrainingRun:
        """Begin a run on the data."""
        if not len(self.rows("dev")):
            raise LinnetError(
                f"{len(self.rows('train')):,} rows are too few to train and to choose settings on: a tenth of the rows of each "
                "label is kept for that, so give at least one label three rows or more"
            )
        return self.runs.start(settings, self.part("train"), self.part("dev"), wait=wait)

    @property
    def key(self) -> str:
        """The name of the current training and dev rows, to tell which runs are comparable."""
        return columns_digest(self.part("train"), self.part("dev")) if self.labelled else ""

    def models(self) -> dict[str, str]:
        """Return the models there are: {name: what to show}, the best first."""
        out = {name: name for name in self.loaded}
        for run in self.runs.finished():
            out[f"run-{run.number}"] = f"{run.name} ({100 * run.scores['accuracy']:.1f} %)"
        return out

    def model(self, name: str) -> TextClassifier:
        """Return a model by its name."""
        if name in self.loaded:
            return self.loaded[name]
        return self.runs.model(self.runs[int(name.removeprefix("run-"))])

    def best(self) -> str | None:
        """Return the name of the model to begin with: the best on the current data, else the first."""
        key = self.key
        mine = [f"run-{run.number}" for run in self.runs.finished() if run.key == key != ""]
        return next(iter([*mine, *self.models()]), None)

    def predictions(self, model: str, part: str) -> Predictions:
        """Return the predictions of a model for a part of the data."""
        return Predictions.of(self.model(model), self.part(part))

    def wrong_sets(self, model: str, part: str) -> str:
        """Return the rows of a part with a label too few or too many, the worst first, as HTML."""
        if not self.model(model).artefact.multilabel:
            raise LinnetError("this model gives one label a text, and the rows have several: train one on this data")
        return set_errors(LabelSetInputs.of(self.model(model), self.part(part))) or "<p>There are no errors.</p>"

    def evidence(self, model: str, text: str) -> str:
        """Return which words decide the prediction of a text, and the training rows most like it, as HTML."""
        clf, text = self.model(model), text[:LONGEST]
        changed = f"<h3>What would change it</h3>{clf.flip(text)._repr_html_()}"
        if not self.labelled:
            return changed
        asked = (model, self.key)
        if self._index is None or self._index[0] != asked:
            self._index = (asked, clf.index(self.part("train")))
        train = self.rows("train")
        near = [
            replace(one, row=self.source_row(train[one.row]) - 1, text=cut(one.text, CHARACTERS))
            for one in self._index[1].nearest(text, NEAREST)
        ]
        return f"{changed}<h3>Training rows most like it</h3>{neighbours_html(near)}"

    def test(self, run: TrainingRun) -> str:
        """Score a run on the test rows, and say how often that was done."""
        if run.key != self.key:
            raise LinnetError(f"{run.name} was trained on other rows; open its data first")
        looks = run.scores.get("test", {}).get("looks", 0) + 1
        found = self.runs.score(self.runs.model(run), self.part("test"))[0]
        run.scores["test"] = {**found, "looks": looks}
        self.runs.write(run)
        low, high = found["accuracy_interval"]
        again = f" It was looked at {looks} times: choose no model by it." if looks > 1 else ""
        return (
            f"{run.name}: accuracy {100 * found['accuracy']:.1f} % (95 % interval {100 * low:.1f} to {100 * high:.1f} %) on "
            f"{found['n']:,} test rows.{again}"
        )

    def report(self, run: TrainingRun) -> Path:
        """Write the report of a run on the test rows."""
        self.test(run)
        done = None if self.health is None or self.health.pending else self.health.checkup
        path = self.folder / f"report-{run.number:03}.html"
        Report(self.runs.model(run), self.part("test"), title=f"{run.name} on {run.data}", check=done).save(path)
        return path

    def label_file(self, model: str, path: str | os.PathLike[str]) -> Path:
        """Label every text of a file: its own table, all columns in order, then label, probability and source."""
        clf = self.model(model)
        folder = self.folder / "labelled"
        folder.mkdir(exist_ok=True)
        name = Path(path).name
        out = folder / (name if Path(name).suffix in ENDINGS else f"{name}.csv")

        def rows(batch: Any) -> list[tuple[Any, ...]]:
            found = clf.artefact.answers(clf.artefact.scores(batch, self.threads))
            top = found.proba[np.arange(len(found.best)), found.most_probable].tolist()
            named = ["|".join(map(str, clf.classes_[row])) for row in found.chosen]
            none = "" if clf.artefact.multilabel else None  # no label of several, and no answer
            return [(name or none, p, "model") for name, p in zip(named, top, strict=True)]

        batches = stream(path, also=clf.artefact.needs, keep=True)
        _write(out, ("label", "probability", "source"), ((batch.kept, rows(batch)) for batch in batches))
        return out

    # ---- labelling

    def session(self, who: str = "") -> Labelling | None:
        """Return the labelling session of an annotator on the data that is open."""
        found = self.sessions.get(who)
        return found if found is not None and found.task == self.task else None

    def label_texts(self, labels: list[str], who: str = "") -> Labelling:
        """Begin, or continue, to label the texts of the data, as an annotator of some name."""
        data = self.opened
        data.refuse_multilabel("labelling")
        names = list(dict.fromkeys(name.strip() for name in labels if name.strip()))
        texts, given, blank = data.text.to_pylist(), {}, self.unlabelled
        if blank and data.label is not None:  # a file that is labelled in part: its labels teach, the rest is asked
            given = dict(zip(texts, data.label.to_pylist(), strict=True))
            texts += blank
        session = Labelling(texts, names, self.answers, self.task, threads=self.threads, given=given, who=who)
        self.answers.name(self.task, names)
        if who in self.sessions:
            self.sessions[who].close()
        self.sessions[who] = session
        return session

    @property
    def unlabelled(self) -> list[str]:
        """The texts of the data that have no label."""
        return [row.text for row in self.opened.unusable.rows if row.reason == "no label" and row.text.strip()]

    def export(self, path: str | os.PathLike[str], who: str = "") -> int:
        """Write the texts, of a file its own table, all columns in order, then label, probability, source and time.

        The source is "person", "file" (it had the label), "disagreement" (of annotators, not settled yet), or "model" where
        nobody has labelled the text yet. What each of several annotators said has a column of its own. Returns how many
        labels people gave.
        """
        session = self._begun(who)
        mine, split = {a.text: a for a in self.answers.of(session.task)}, self.answers.disagreements(session.task)
        names = [name for name in self.answers.annotators(session.task) if name]
        said = [self.answers.labels(session.task, name) for name in names]
        number = {text: k for k, text in enumerate(session.texts)}
        batches: Any = [(pa.table({"text": session.texts}), session.texts)]
        if Path(session.task).is_file():
            found = stream(session.task, text=self.opened.text_column, keep=True)
            batches = ((batch.kept, batch.text.to_pylist()) for batch in found)

        def row(text: str) -> tuple[Any, ...]:
            known = mine.get(text), number.get(text)
            answer = (None, None, "disagreement", None) if text in split else _labelled(session, text, *known)
            return (*answer, *(labels.get(text) for labels in said))

        columns = ("label", "probability", "source", "time", *(f"label by {name}" for name in names))
        _write(path, columns, ((kept, list(map(row, texts))) for kept, texts in batches))
        return sum(answer.label is not None for answer in mine.values())

    def _begun(self, who: str) -> Labelling:
        session = self.session(who)
        if session is None:
            raise LinnetError("there are no labels yet; label some texts first")
        return session

    def take_answers(self, who: str = "") -> Dataset:
        """Make the labelled texts the current data, to train on; the labels that the file has stay."""
        session, data = self._begun(who), self.opened
        mine = self.answers.labels(session.task)
        if len({*mine.values(), *session.given.values()}) < 2:
            raise LinnetError("there are fewer than two different labels so far; label some more texts")
        if data.label is None:
            name = f"{len(mine):,} labels of {Path(session.task).name}"
            taken = replace(Dataset.from_lists(list(mine), list(mine.values())), source=name)
        else:
            rows, texts = data.source_rows.tolist(), data.text.to_pylist()
            labels = [mine.get(text, label) for text, label in zip(texts, data.label.to_pylist(), strict=True)]
            new = [row for row in data.unusable.rows if row.reason == "no label" and row.text in mine]
            left = Unusable.of(row for row in data.unusable.rows if row not in new)
            added = [(row.row, row.text, mine[row.text]) for row in new]
            numbers, *both = zip(*sorted([*zip(rows, texts, labels, strict=True), *added]), strict=True)
            every = Dataset.from_lists(*map(list, both))
            taken = replace(data, text=every.text, label=every.label, unusable=left, also={}, taken=np.array(numbers))
        self.take(taken)
        return taken


def _labelled(session: Labelling, text: str, answer: GivenLabel | None, row: int | None) -> tuple[Any, ...]:
    """Return label, probability, source and time of a text."""
    p = None if session.fitted is None or row is None else session.fitted.proba[row]
    label = None if answer is None else answer.label
    if label is None and text in session.given:
        label, answer = session.given[text], None
    if label is not None:
        known = None if p is None or label not in session.labels else float(p[session.labels.index(label)])
        return label, known, "file" if answer is None else "person", None if answer is None else answer.at
    if p is None:
        return None, None, None, None
    return session.labels[int(p.argmax())], float(p.max()), "model", None


def _write(path: str | os.PathLike[str], names: tuple[str, ...], batches: Any) -> None:
    """Write tables with further columns; one that is called like a column of the table gets labelled_ before it."""
    with open_writer(path) as writer:
        for kept, rows in batches:
            columns = dict(zip(kept.column_names, kept.columns, strict=True))
            for name, values in zip(names, zip(*rows, strict=True), strict=True):
                kind = pa.float64() if name == "probability" else pa.string()
                columns[f"labelled_{name}" if name in columns else name] = pa.array(values, kind)
            writer.write(pa.table(columns))


def _path(given: str) -> str:
    """Return the path that a person has entered."""
    if not given.strip():
        raise DataError("give the path of a file")
    return str(Path(given.strip()).expanduser())


def task_of(source: str) -> str:
    """Return the name of a source under which its labels are stored."""
    return str(Path(source).resolve()) if Path(source).exists() else source
