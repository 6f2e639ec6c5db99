"""Learn: figures of models and solvers that a reader changes; drawn anew on the server with every change."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from linnet.draw.markup import safe
from linnet.figures import EXHIBITS, Setting
from linnet.studio import layout
from linnet.studio.state import Studio

LEAD = (
    "Change something and see what the models make of it. Every figure is computed by the models and solvers of linnet."
)
CHANGED = "(event) => emit(event.target.value)"


def build(studio: Studio) -> None:
    """Draw the page with the figure that the address names."""
    asked = ui.context.client.request.query_params.get("figure", "")
    LearnPage(asked if asked in EXHIBITS else next(iter(EXHIBITS)))


class LearnPage:
    """The page while it is open: one figure and what can be changed."""

    def __init__(self, name: str) -> None:
        self.exhibit = EXHIBITS[name]
        self.values: dict[str, Any] = {key: control.value for key, control in self.exhibit.controls.items()}
        links = "".join(
            f'<a href="/learn?figure={key}"{" aria-current=page" if key == name else ""}>{safe(one.title)}</a>'
            for key, one in EXHIBITS.items()
        )
        layout.html(links, "chips", "nav").props('aria-label="Figures"')
        with layout.card(title=self.exhibit.title):
            layout.html(layout.soft(self.exhibit.words))
            with layout.row("controls"):
                for key, control in self.exhibit.controls.items():
                    self._control(key, control)
            self.figure = layout.html("", "learn").props("id=figure aria-live=polite")
        if self.exhibit.points:
            self.values["points"] = list(self.exhibit.points)
            layout.script("learn.js")
            ui.on("learn_point", self._move)
        self.show()

    def _control(self, key: str, control: Setting) -> None:
        if control.kind == "choice":
            layout.select(control.label, list(control.values), control.value, lambda event: self._set(key, event.value))
        elif control.kind == "text":
            layout.field(control.label, value=control.value, on_change=lambda event: self._set(key, event.value or ""))
        elif control.kind == "steps":
            layout.button(control.label, lambda: self._set(key, self.values[key] + 1)).props(f"id={key}")
            layout.button("Start again", lambda: self._set(key, 0), quiet=True)
        else:
            with ui.element("label").classes("grow"):
                shown = layout.html(f"{safe(control.label)}: <b>{control.value:g}</b>", "small", "span")
                last, at = len(control.values) - 1, list(control.values).index(control.value)
                slider = ui.element("input").props(f"type=range min=0 max={last} value={at} id={key}")

            def slid(event: Any) -> None:
                value = control.values[int(event.args)]
                shown.set_content(f"{safe(control.label)}: <b>{value:g}</b>")
                self._set(key, value)

            slider.on("input", slid, js_handler=CHANGED)

    def _set(self, key: str, value: Any) -> None:
        self.values[key] = value
        self.show()

    def _move(self, event: Any) -> None:
        k, x, y = int(event.args["point"]), float(event.args["x"]), float(event.args["y"])
        self.values["points"][k] = (round(x, 2), round(y, 2), self.values["points"][k][2])
        self.show()

    def show(self) -> None:
        """Draw the figure with the values as they are."""
        self.figure.set_content(self.exhibit.draw(**self.values).html())
