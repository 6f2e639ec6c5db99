"""Train: choose settings, watch loss and dev accuracy, stop when it is good enough, compare the runs."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from linnet.errors import LinnetError
from linnet.report.markup import count, safe
from linnet.studio import drawing
from linnet.studio.pages.opening import opener
from linnet.studio.runs import PRESETS, Run
from linnet.studio.state import Studio
from linnet.studio.theme import button, card, empty, frame, heading, html

__all__ = ["build"]

LEAD = "Settings are tried on dev rows, a tenth of the data that is never learned from. Every run is kept."
OWN = "own settings"
OVER = ("done", "stopped", "failed")


def build(studio: Studio) -> None:
    """Draw the page."""
    with frame(studio, "/train", "Train", LEAD):
        if studio.data is None:
            with empty("No data to train on", "Open labelled texts: a column of texts and a column of labels."):
                opener(studio, "/train")
        elif studio.data.label is None:
            with empty("These texts have no labels", "Label some of them first, or open other data on the Data page."):
                button("Label these texts", lambda: ui.navigate.to("/label"))
                button("Open other data", lambda: ui.navigate.to("/data"), quiet=True)
        else:
            Training(studio)


class Training:
    """The page while it is open."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.shown: tuple[int, int, str] = (0, -1, "")
        with ui.element("div").classes("side form"):
            with card():
                self._form()
            with card():
                with ui.element("div").classes("row between").style("min-height:2.6rem"):
                    self.title = html().props("id=run-title aria-live=polite")
                    self.stop = button("Stop and keep the best", self._stop, quiet=True)
                self.bar = html().style("margin:.3rem 0 .6rem")
                with ui.element("div").classes("pair"):
                    self.loss, self.accuracy = html().props("id=loss"), html().props("id=accuracy")
        with card():
            heading("Runs")
            self.words = html("", "soft").style("min-height:1.6rem")
            self.table = html("", "wide").props("id=runs")
        self.timer = ui.timer(0.2, self.refresh)
        self.refresh()

    # ---- the form

    def _form(self) -> None:
        from linnet.models import MODELS

        heading("New run")
        names = {**{p.name: p.name for p in PRESETS}, OWN: "Own settings …"}
        self.preset = ui.select(names, value=PRESETS[0].name, label="Preset", on_change=self._preset).props(
            "outlined dense"
        )
        self.preset.style("width:100%")
        self.says = html(safe(PRESETS[0].says), "soft small").style("min-height:2.6rem;padding:.3rem 0")
        with ui.element("div").classes("stack") as self.own:
            self.model = ui.select(list(MODELS), value="svm", label="Model").props("outlined dense")
            self.features = ui.input(label="Features", placeholder="words:1-2+chars:2-5").props(
                "outlined dense spellcheck=false"
            )
            self.extra = ui.input(label="Settings of the model", placeholder="C=0.5").props(
                "outlined dense spellcheck=false"
            )
            self.balanced = ui.checkbox("Weigh rare classes up")
        self.own.set_visibility(False)
        with ui.element("div").classes("row").style("margin-top:.6rem"):
            self.start = button("Train", self._start).props("id=start")
        train, dev, test = (len(self.studio.rows(part)) for part in ("train", "dev", "test"))
        html(f"{train:,} rows to learn from, {dev:,} dev rows, {test:,} test rows not looked at", "soft small").style(
            "margin-top:.6rem"
        )

    def _preset(self, event: Any) -> None:
        own = event.value == OWN
        self.own.set_visibility(own)
        self.says.set_content(safe("" if own else next(p.says for p in PRESETS if p.name == event.value)))

    def _settings(self) -> dict[str, Any]:
        if self.preset.value != OWN:
            return dict(next(p.settings for p in PRESETS if p.name == self.preset.value))
        found: dict[str, Any] = {"model": self.model.value}
        if (self.features.value or "").strip():
            found["features"] = self.features.value.strip()
        if (self.extra.value or "").strip():
            from linnet.values import parse_settings

            found["params"] = parse_settings(self.extra.value.split())
        if self.balanced.value:
            found["class_weight"] = "balanced"
        return found

    def _start(self) -> None:
        try:
            self.studio.train(self._settings())
        except LinnetError as error:
            ui.notify(str(error), type="negative", multi_line=True, timeout=8000, close_button="OK")
        self.timer.activate()
        self.refresh()

    def _stop(self) -> None:
        run = self.studio.runs.going
        if run is not None:
            run.stop()

    # ---- what is shown

    def refresh(self) -> None:
        """Draw the run that goes on, or the last one, and the table."""
        runs = self.studio.runs
        run = runs.going or (runs.runs[-1] if runs.runs else None)
        now = (0, 0, "") if run is None else (run.number, run.version, run.status)
        going = run is not None and now[2] not in OVER
        self.stop.set_enabled(going and run is not None and not run.stopping)
        self.stop.style(f"visibility:{'visible' if going else 'hidden'}")
        self.start.set_enabled(not going)
        if run is None:
            self.title.set_content(
                '<span class="soft">No run yet. Press Train: curves appear here while it learns.</span>'
            )
        else:
            self.title.set_content(_title(run))
            self.bar.set_content(_bar(run))
        if self.shown != now:
            for place, drawn in zip((self.loss, self.accuracy), _curves(run), strict=True):
                place.set_content(drawn)
            self.words.set_content(safe(runs.words(self.studio.key)))
            self.table.set_content(_table(self.studio))
        self.shown = now
        if not going:
            self.timer.deactivate()


def _curves(run: Run | None) -> tuple[str, str]:
    """Draw the passes of the last fit; before it, the settings tried."""
    if run is None:
        return drawing.curves([], [])
    loss = [(float(n), value) for n, value, _ in run.passes]
    accuracy = [(float(n), value) for n, _, value in run.passes if value is not None]
    tried = [(float(k), value) for k, (_, value) in enumerate(run.candidates, 1)]
    return drawing.curves(loss, accuracy, tried, over=run.over)


def _title(run: Run) -> str:
    if run.status == "failed":
        return f'<span class="badge failed">failed</span> {safe(run.name)}: {safe(run.error)}'
    if run.over:
        score = f"dev accuracy {100 * run.scores['accuracy']:.1f} %" if run.scores else ""
        return f'<span class="badge {run.status}">{run.status}</span> <b>{safe(run.name)}</b> {score}'
    what = "stopping, keeping the best" if run.stopping else run.stage or "waiting"
    if run.cut and not run.stopping:
        what = "fitting the best settings so far; press Stop again to cut that short too"
    badge = f'<span class="badge running">{"stopping" if run.stopping or run.cut else "running"}</span>'
    return f'{badge} <b>{safe(run.name)}</b> <span class="soft">{safe(what)}</span>'


def _bar(run: Run) -> str:
    left = run.left()
    share = 1.0 if run.over else 0.05 if not run.candidates else min(0.95, len(run.candidates) / (max(run.of, 1) + 1))
    if run.over:
        words = f"{run.seconds:.1f} s"
    else:
        words = (
            "time left: not known yet" if left is None else "nearly done" if left < 0.5 else f"about {_time(left)} left"
        )
    tried = f"{count(len(run.candidates), 'setting')} tried" + (
        f", best {100 * max(a for _, a in run.candidates):.1f} % on dev" if run.candidates else ""
    )
    passes = f", {count(len(run.passes), 'pass', 'passes')} of the last fit" if run.passes else ""
    return (
        f'<span class="track thin"><span class="bar" style="width:{100 * share:.0f}%"></span></span>'
        f'<div class="row between soft small"><span>{safe(tried + passes)}</span><span>{safe(words)}</span></div>'
    )


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _table(studio: Studio) -> str:
    done = studio.runs.finished()
    if not done:
        return '<p class="soft">Runs stand here beside one another, with intervals, once there are some.</p>'
    key = studio.key
    mine = [run for run in done if run.key == key]
    others = [run for run in done if run.key != key]
    low = min((run.scores["accuracy_interval"][0] for run in mine or done), default=0.0)
    low = max(0.0, low - 0.02)
    names = ("run", "dev accuracy", "95 % interval", "", "macro F1", "features", "file", "time")
    head = f"<tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>"
    body = "".join(_row(run, low) for run in mine)
    if others:
        body += (
            '<tr><td colspan="8" class="soft small">on other rows or labels: not comparable with those above</td></tr>'
        )
        body += "".join(_row(run, low, str(run.data)) for run in others)
    return f'<table class="plain"><thead>{head}</thead><tbody>{body}</tbody></table>'


def _row(run: Run, low: float, data: str = "") -> str:
    scores = run.scores
    a, (b, c) = scores["accuracy"], scores["accuracy_interval"]

    def at(x: float) -> float:
        return 100 * max(0.0, (x - low) / max(1e-9, 1 - low))

    plot = f'<div class="plot"><i style="left:{at(b):.1f}%;width:{at(c) - at(b):.1f}%"></i><b style="left:{at(a):.1f}%"></b></div>'
    note = f'<div class="soft small">{safe(data)}</div>' if data else ""
    stopped = ' <span class="badge stopped">stopped</span>' if run.status == "stopped" else ""
    return (
        f"<tr><td>{safe(run.name)}{stopped}{note}</td><td><b>{100 * a:.1f} %</b></td><td class=ci>{100 * b:.1f} to {100 * c:.1f}</td>"
        f"<td>{plot}</td><td>{scores['macro_f1']:.3f}</td><td>{scores['features']:,}</td>"
        f"<td>{scores.get('size', 0) / 1e6:.1f} MB</td><td>{run.seconds:.1f} s</td></tr>"
    )
