"""Label: one text after another, by keyboard, the most useful first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
from nicegui import ui

from linnet.draw.markup import bar, safe
from linnet.draw.terminal import count, cut
from linnet.studio import layout
from linnet.studio.labelling import LEAST_DRAWN, Agreement, Labelling
from linnet.studio.pages.data import open_data
from linnet.studio.state import Studio

LEAD = "The texts that help the model most come first. Every label is saved before the next text is shown."
KEYS = "123456789abcdefghijklmnopqrtvwxz"  # without s (skip), u (undo) and y (yes, as the model says)
WHY = {
    "new": "unlike the texts so far",
    "unsure": "the model is uncertain",
    "random": "drawn at random, to measure accuracy",
    "shared": "labelled by another annotator too",
}
MANY = 12  # labels: of more, the likeliest have keys and the others are found by typing
LIKELY = 9
FIND = 'id=find type=search autocomplete=off placeholder="type a label, then Enter" aria-label="Find a label"'
ALL = "all labels"
SHOWN = 8  # answers and disagreements at a time
CHOICE = "(event) => { const at = event.target.closest('[data-choice]'); if (at) emit(at.dataset.choice); }"


def build(studio: Studio) -> None:
    """Draw the body of the page."""
    if studio.data is None:
        with layout.empty("No texts open", "Open a file of texts without labels (labels in it are not shown)."):
            open_data(studio, "/label", name="Path of a file of texts")
    else:
        asked = ui.context.client.request.query_params
        begun = [name for name in studio.sessions if studio.session(name) is not None]
        who = asked.get("who", begun[0] if len(begun) == 1 else None)
        session = None if who is None or "new" in asked else studio.session(who)
        if session is None:
            _begin(studio, who or "")
        else:
            LabelPage(studio, session)


def _begin(studio: Studio, who: str) -> None:
    data = studio.opened
    names = studio.answers.names(studio.task) or data.labels
    kept = len([a for a in studio.answers.of(studio.task) if a.why != "fix" and a.label is not None])
    again = f" Labelling continues with {count(kept, 'label')} from before." if kept else ""
    known = [name for name in studio.answers.annotators(studio.task) if name]
    again += f" Annotators so far: {', '.join(known)}." if known else ""
    blank = len(studio.unlabelled) if data.label is not None else 0
    shown = " The labels of the file are not shown while you label." if data.label is not None else ""
    if blank:
        shown = f" The {len(data):,} labels of the file teach the model."
    words = f"Enter the labels to choose from, at least two, separated by commas.{shown}{again}"
    with layout.empty(f"Label {blank or len(data):,} texts", words):

        async def begin() -> None:
            mine = (name.value or "").strip()
            address = f"/label?{urlencode({'who': mine})}"
            await layout.go(address, studio.label_texts, (labels.value or "").split(","), mine)

        labels = layout.field("Labels", begin, value=", ".join(names), placeholder="positive, negative")
        labels.props("autofocus")
        name = layout.field("Your name, if several people label", begin, value=who)
        layout.button("Begin", begin)
        layout.link("Open other texts", "/data", quiet=True)


class LabelPage:
    """The page while it is open: one text, the keys, and the progress."""

    def __init__(self, studio: Studio, session: Labelling) -> None:
        self.studio, self.session = studio, session
        self.many = len(session.labels) > MANY
        self.keys = {} if self.many else dict(zip(KEYS, session.labels, strict=False))
        self.seen = -1
        layout.script("label.js")
        ui.on("label_key", self._key)
        with layout.columns("side"):
            with layout.card("ask"):
                self.why = layout.html("", "row between small soft").style("min-height:1.6rem")
                self.say = layout.html("", "say").props("id=say aria-live=polite tabindex=-1")
                if self.many:
                    ui.element("input").classes("find").props(FIND)
                self.choices = layout.html("", "choices").on("click", self._chosen, js_handler=CHOICE)
                others = {
                    "Y": ("as the model says", self._accept),
                    "S": ("skip", lambda: self._answer(self._row(), None)),
                    "U": ("undo", self._undo),
                }
                with ui.element("div").classes("choices"):
                    for key, (word, act) in others.items():
                        made = layout.html(f"<kbd>{key}</kbd>{word}", "choice quiet", "button").props("type=button")
                        made.on("click", act)
            with layout.columns("stack"):
                with layout.card():
                    self.figures = layout.html().props("id=figures")
                    self.advice = layout.html("", "small").props("id=advice")
                    self.advice.style("min-height:4.6rem;margin-top:.6rem")
                with layout.card("narrow", "Estimated accuracy"):
                    self.growth = layout.html("", "").style("min-height:9rem")
                    self.note = layout.html("", "soft small").style("min-height:4.2rem")
                with layout.card(title="Use the labels"), layout.row():
                    layout.button("CSV", lambda: layout.download(self._export, "csv"), quiet=True)
                    layout.button("JSON lines", lambda: layout.download(self._export, "jsonl"), quiet=True)
                    layout.button("Train on them", self._train, quiet=True)
                with layout.card(title="Annotators"):
                    self.people = layout.html("", "small").props("id=people")
                    layout.link("Label as somebody else", "/label?new", quiet=True)
        with layout.card():
            with layout.row("between"):
                layout.heading("Answers")
                layout.button("Show the answers", self.review, quiet=True).props("id=review")
            with layout.row() as self.filters:
                self.word = layout.field("Texts that contain the word", on_change=self.review).props("debounce=150")
                self.which = layout.select("Label", [ALL, *session.labels], ALL, self.review)
            self.filters.set_visibility(False)
            self.list = layout.PagedList(self._answers, self._line, SHOWN, "No answer matches.")
            self.list.place.props("id=answers")
        ui.timer(0.25, self.refresh)
        self.refresh()

    def _row(self) -> int:
        return -1 if self.session.current is None else self.session.current.row

    def _key(self, event: Any) -> None:
        key, at = event.args["key"], int(event.args["row"])
        if key == "s":
            self._answer(at, None)
        elif key == "u":
            self._undo()
        elif key == "y" and at == self._row():
            self._accept()
        elif key in self.keys:
            self._answer(at, self.keys[key])

    def _chosen(self, event: Any) -> None:
        self._answer(self._row(), self.session.labels[int(event.args)])

    def _answer(self, at: int, label: str | None) -> None:
        self.session.answer(at, label)
        self.refresh()

    def _accept(self) -> None:
        guess = self.session.guess()
        if guess is None:
            ui.notify("The model has no answer yet.")
        else:
            self._answer(self._row(), guess[0])

    def _undo(self) -> None:
        if self.session.undo() is None:
            ui.notify("There is no label to undo.")
        self.refresh()

    def _export(self, form: str) -> Path:
        path = self.studio.folder / f"labels.{form}"
        self.studio.export(path, self.session.who)
        return path

    async def _train(self) -> None:
        await layout.go("/train", self.studio.take_answers, self.session.who)

    # ---- past answers, and what annotators disagree about

    def review(self) -> None:
        """List the disagreements that are not settled, then the own answers, the latest first, each to be changed."""
        self.filters.set_visibility(True)
        self.list.show()

    def _answers(self) -> list[tuple[str, str, str | None]]:
        """Return the text, what is said of it and the label of every answer that the filters leave."""
        store, session = self.studio.answers, self.session
        split = [(text, ", ".join(f"{who or 'no name'}: {given}" for who, given in said.items()))
                 for text, said in store.disagreements(session.task).items()]  # fmt: skip
        mine = [one for one in reversed(store.of(session.task, session.who)) if one.label is not None]
        every = [*((text, f"Disagreement ({words})", None) for text, words in split),
                 *((one.text, f"answer {one.number:,}", one.label) for one in mine)]  # fmt: skip
        word, label = (self.word.value or "").lower(), self.which.value
        return [one for one in every if word in one[0].lower() and label in (ALL, one[2])]

    def _line(self, answer: tuple[str, str, str | None]) -> None:
        text, words, label = answer
        session = self.session

        def give(given: str) -> None:
            if label is None:  # a disagreement
                session.store.add(session.task, text, given, why="settled")
            else:
                session.change(session.texts.index(text), given)

        layout.label_row(f'<span class="soft">{safe(words)}</span>', safe(cut(text, 300)), session.labels, label, give)

    def refresh(self) -> None:
        """Show the current text and the progress, where anything changed."""
        session = self.session
        if self.seen == session.version:
            return
        self.seen = session.version
        pick, guess = session.current, session.guess()
        if pick is None:
            self.say.set_content('<span class="soft">No texts left.</span>')
            self.why.set_content("")
            self.say.props(remove="data-row data-keys")
        else:
            if self.many or not self.choices.content:
                self.choices.set_content(self._choices(pick.row))
            predicted = "" if guess is None else f"model: {safe(guess[0])} {100 * guess[1]:.0f} %"
            self.why.set_content(f"<span>{WHY.get(pick.why, safe(pick.why))}</span><span>{predicted}</span>")
            self.say.set_content(safe(session.texts[pick.row]))
            self.say.props(f'data-row={pick.row} data-keys="{"".join(self.keys)}suy"')
        skipped = f", {len(session.skipped):,} skipped" if session.skipped else ""
        share = max(0.005, session.done / max(1, len(session.texts)))
        self.figures.set_content(
            f'<div class="stat"><b id="answered">{session.done:,}</b><span>of {len(session.texts):,} texts labelled{skipped}'
            f'</span></div><div style="margin-top:.5rem">{bar(share, "thin")}</div>'
        )
        store = session.store
        self.people.set_content(_people(store.agreement(session.task), store.annotators(session.task)))
        advice = session.advice()
        kind, word = ("ok", "you can stop") if advice.stop else ("note", "continue")
        self.advice.set_content(f'<span class="badge {kind}">{word}</span> {safe(advice.words)}')
        self.growth.set_content(layout.estimate_chart(session.growth))
        self.note.set_content(_estimate(session))

    def _choices(self, row: int) -> str:
        """Write the labels as buttons; of many, the likeliest get keys, and the others are hidden until they are looked for."""
        labels, fitted = self.session.labels, self.session.fitted
        order = list(range(len(labels)))
        if self.many:
            if fitted is not None:
                order = np.argsort(-fitted.proba[row], kind="stable").tolist()
            self.keys = {KEYS[k]: labels[at] for k, at in enumerate(order[:LIKELY])}
        named = {label: key for key, label in self.keys.items()}
        parts = []
        for at in order:
            key = named.get(labels[at])
            hidden = " hidden" if self.many and key is None else ""
            shown = (f"<kbd>{key.upper()}</kbd>" if key else "") + safe(labels[at])
            parts.append(f'<button type="button" class="choice" data-choice="{at}"{hidden}>{shown}</button>')
        return "".join(parts)


def _people(agreement: Sequence[Agreement], names: Sequence[str]) -> str:
    """Write how far the annotators agree."""
    if not agreement:
        return "One annotator so far." if len(names) < 2 else "No text has been labelled by two annotators yet."
    return "".join(
        f"<p><b>{safe(a.one or 'no name')}</b> and <b>{safe(a.other or 'no name')}</b>: the same label for {a.same:,} of {a.n:,} "
        f"texts, Cohen's kappa <b>{a.kappa:.2f}</b></p>"
        for a in agreement
    )


def _estimate(session: Labelling) -> str:
    found = session.estimate
    if found is None or found.n < LEAST_DRAWN:
        n = 0 if found is None else found.n
        return f"Some texts are drawn at random; {LEAST_DRAWN} of them ({n} so far) give an estimate."
    low, high = found.interval
    return (
        f"<b>{100 * found.accuracy:.0f} %</b> (95 % interval {100 * low:.0f} to {100 * high:.0f} %), cross-validated on the "
        f"{found.n} texts drawn at random."
    )
