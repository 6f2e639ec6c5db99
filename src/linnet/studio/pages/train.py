"""Train: choose settings, watch loss and dev accuracy, stop when it is good enough, compare the runs."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from linnet.draw.markup import bar, safe, table
from linnet.draw.terminal import count
from linnet.studio import layout
from linnet.studio.pages.data import open_data
from linnet.studio.runs import PRESETS, TrainingRun
from linnet.studio.state import Studio
from linnet.values import duration, parse_settings

LEAD = "Settings are chosen on the dev rows, a tenth of the data that is not trained on. Every run is saved."
OWN = "own settings"


def build(studio: Studio) -> None:
    """Draw the body of the page."""
    if studio.data is None:
        with layout.empty("No data open", "Open labelled texts: a column of texts and a column of labels."):
            open_data(studio, "/train")
    elif not studio.labelled:
        words = "Label some of them first, or open other data on the Data page."
        with layout.empty("These texts have no labels", words):
            layout.link("Label these texts", "/label")
            layout.link("Open other data", "/data", quiet=True)
    else:
        TrainPage(studio)


class TrainPage:
    """The page while it is open."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.shown: Any = None
        with layout.columns("side form"):
            with layout.card():
                self._form()
            with layout.card():
                with layout.row("between").style("min-height:2.6rem"):
                    self.title = layout.html().props("id=run-title aria-live=polite")
                    self.stop = layout.button("Stop and keep the best", self._stop, quiet=True)
                self.bar = layout.html().style("margin:.3rem 0 .6rem")
                with layout.columns("pair"):
                    self.loss, self.accuracy = layout.html().props("id=loss"), layout.html().props("id=accuracy")
        with layout.card(title="Runs"):
            self.words = layout.html("", "soft").style("min-height:1.6rem")
            self.table = layout.html().props("id=runs")
            self.manage = ui.element("div").props("id=manage")
        self.timer = ui.timer(0.2, self.refresh)
        self.refresh()

    # ---- the form

    def _form(self) -> None:
        from linnet.models import MODELS

        layout.heading("New run")
        names, first = {**{name: name for name in PRESETS}, OWN: "Own settings …"}, next(iter(PRESETS))
        self.preset = layout.select("Preset", names, first, self._preset).style("width:100%")
        self.says = layout.html(safe(PRESETS[first][0]), "soft small").style("min-height:2.6rem;padding:.3rem 0")
        with layout.columns("stack") as self.own:
            self.model = layout.select("Model", list(MODELS), "svm")
            self.features = layout.field("Features", placeholder="words:1-2+chars:2-5")
            self.extra = layout.field("Settings of the model", placeholder="C=0.5")
        self.own.set_visibility(False)
        self.balanced = ui.checkbox("Balance class weights")
        with layout.row().style("margin-top:.6rem"):
            self.start = layout.button("Train", self._start).props("id=start")
        train, dev, test = (len(self.studio.rows(part)) for part in ("train", "dev", "test"))
        parts = f"{train:,} training rows, {dev:,} dev rows, {test:,} test rows (not used here)"
        layout.html(parts, "soft small").style("margin-top:.6rem")

    def _preset(self, event: Any) -> None:
        own = event.value == OWN
        self.own.set_visibility(own)
        self.says.set_content(safe("" if own else PRESETS[event.value][0]))

    def _settings(self) -> dict[str, Any]:
        if self.preset.value == OWN:
            features, extra = (self.features.value or "").strip(), (self.extra.value or "").split()
            found = {"model": self.model.value, "features": features, "params": extra and parse_settings(extra)}
        else:
            found = dict(PRESETS[self.preset.value][1])
        found["class_weight"] = self.balanced.value and "balanced"
        return {name: value for name, value in found.items() if value}

    async def _start(self) -> None:
        await layout.attempt(lambda: self.studio.train(self._settings()))
        self.timer.activate()
        self.refresh()

    def _stop(self) -> None:
        run = self.studio.runs.going
        if run is not None:
            run.stop()

    # ---- what is shown

    def refresh(self) -> None:
        """Draw the run that is going, or the last one, and the table."""
        runs = self.studio.runs
        run = runs.going or (runs.runs[-1] if runs.runs else None)
        news = () if run is None else (run.number, run.status, run.stage, len(run.candidates), len(run.passes))
        now = (*news, *(one.name for one in runs.finished()))
        going = run is not None and not run.over
        self.stop.set_enabled(run is not None and going and not run.stopping)
        self.stop.style(f"visibility:{'visible' if going else 'hidden'}")
        self.start.set_enabled(not going)
        if run is None:
            self.title.set_content(layout.soft("No run yet. Press Train; curves appear here during training."))
        else:
            self.title.set_content(_title(run))
            self.bar.set_content(_progress(run))
        if self.shown != now:
            series = ([], [], False) if run is None else (run.passes, run.candidates, run.over)
            charts = layout.training_charts(*series)
            for place, drawn in zip((self.loss, self.accuracy), charts, strict=True):
                place.set_content(drawn)
            self.words.set_content(safe(runs.words(self.studio.key)))
            self.table.set_content(_table(self.studio))
            self._manage()
        self.shown = now
        if not going:
            self.timer.deactivate()

    def _manage(self) -> None:
        """Offer to name a run, to delete it, and to compare it with another."""
        runs = self.studio.runs
        names = {run.number: run.name for run in runs.finished()}
        self.manage.clear()
        if not names:
            return

        async def say(work: Any, *given: Any) -> None:
            found = await layout.attempt(work, *given)
            if found:
                self.words.set_content(safe(found))

        async def change(act: Any, *given: Any) -> None:
            if await layout.attempt(act, runs[one.value], *given):
                self.refresh()

        async def label(path: str) -> None:
            await layout.download(self.studio.label_file, f"run-{one.value}", path)

        with self.manage, layout.row():
            last = runs.runs[-1].number
            one = layout.select("Run", names, last if last in names else next(iter(names)))
            layout.button("Errors", lambda: ui.navigate.to(f"/errors?model=run-{one.value}"))
            layout.button("Try", lambda: ui.navigate.to(f"/try?model=run-{one.value}"), quiet=True)
            layout.button("Score on the test rows", lambda: say(self.studio.test, runs[one.value]), quiet=True)
            layout.button("Report", lambda: layout.download(self.studio.report, runs[one.value]), quiet=True)
            layout.button("Model file", lambda: ui.download.file(str(runs[one.value].path)), quiet=True)
            layout.upload("Label a file: drop it here", self.studio, label)
        with self.manage, layout.row():
            title = layout.field("Name", lambda: change(runs.rename, title.value or ""))
            layout.button("Rename", lambda: change(runs.rename, title.value or ""), quiet=True)
            layout.button("Delete", lambda: change(runs.delete), quiet=True)
            other = layout.select("Compare with", names, list(names)[-1])
            layout.button("Compare", lambda: say(runs.compared, runs[one.value], runs[other.value]), quiet=True)


def _title(run: TrainingRun) -> str:
    name = f"<b>{safe(run.name)}</b>"
    if run.over:
        score = f"dev accuracy {100 * run.scores['accuracy']:.1f} %" if run.scores else safe(run.error)
        return f'<span class="badge {run.status}">{run.status}</span> {name} {score}'
    what = "stopping, keeping the best" if run.stopping else run.stage or "waiting"
    if run.cut and not run.stopping:
        what = "fitting the best settings so far; press Stop again to end this fit early"
    badge = f'<span class="badge running">{"stopping" if run.stopping or run.cut else "running"}</span>'
    return f'{badge} {name} <span class="soft">{safe(what)}</span>'


def _progress(run: TrainingRun) -> str:
    left = run.left()
    share = 1.0 if run.over else 0.05 if not run.candidates else min(0.95, len(run.candidates) / (max(run.of, 1) + 1))
    words = "estimating the time" if left is None else "nearly done" if left < 0.5 else f"about {duration(left)} left"
    if run.over:
        words = duration(run.seconds)
    best = f", the best {100 * max(a for _, a in run.candidates):.1f} % in the search" if run.candidates else ""
    passes = f", {count(len(run.passes), 'pass', 'passes')} of the last fit" if run.passes else ""
    tried = f"{count(len(run.candidates), 'setting')} tried{best}{passes}"
    return f'{bar(share, "thin")}<div class="row between soft small"><span>{safe(tried)}</span><span>{safe(words)}</span></div>'


def _table(studio: Studio) -> str:
    done = studio.runs.finished()
    if not done:
        return layout.soft("Finished runs are compared here.")
    key = studio.key
    ranked = sorted(done, key=lambda run: run.key != key)
    low = max(0.0, min(run.scores["accuracy_interval"][0] for run in ranked if run.key == ranked[0].key) - 0.02)
    head = ["run", "dev accuracy", "95 % interval", "", "macro F1", "features", "file", "time"]
    names = sorted({name for run in done for name in run.settings})
    differ = [name for name in names if len({str(run.settings.get(name)) for run in done}) > 1]

    def note(run: TrainingRun) -> str:
        words = ", ".join(f"{name} {run.settings.get(name, 'default')}" for name in differ)
        return words if run.key == key else f"{words}; {run.data}: other rows, not comparable"

    return table(head, [_row(run, low, note(run)) for run in ranked])


def _row(run: TrainingRun, low: float, note: str) -> list[str]:
    scores = run.scores
    a, (b, c) = scores["accuracy"], scores["accuracy_interval"]

    def at(x: float) -> float:
        return 100 * max(0.0, (x - low) / max(1e-9, 1 - low))

    plot = f'<div class="plot"><i style="left:{at(b):.1f}%;width:{at(c) - at(b):.1f}%"></i><b style="left:{at(a):.1f}%"></b></div>'
    below = f'<div class="soft small">{safe(note)}</div>' if note else ""
    stopped = ' <span class="badge stopped">stopped</span>' if run.status == "stopped" else ""
    return [
        f"{safe(run.name)}{stopped}{below}", f"<b>{100 * a:.1f} %</b>", f"{100 * b:.1f} to {100 * c:.1f}", plot,
        f"{scores['macro_f1']:.3f}", f"{scores['features']:,}", f"{scores.get('size', 0) / 1e6:.1f} MB", duration(run.seconds),
    ]  # fmt: skip
