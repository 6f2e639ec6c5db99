"""``linnet explain``: why a text gets its label."""

from __future__ import annotations

from itertools import islice
from typing import Any

import click

import linnet
from linnet.cli import options as o
from linnet.cli.labelled_rows import read_labelled
from linnet.cli.output import colours, echo_json
from linnet.data.input_file import stdin
from linnet.draw.terminal import aligned, cut
from linnet.errors import LinnetError


@o.command("model")
@click.argument("text", default="-")
@o.option("--label", "LABEL", "Explain the score of this label instead of the predicted one.")
@o.option("--not against", "LABEL", "Compare with this label: why the one and not the other?")
@o.flag("--flip", "Also find the fewest words to take out so that the answer changes.")
@o.option("--nearest", "FILE", "Also show the examples of FILE that are most like the text.")
@o.columns
@o.number("--top", "How many contributions to show.", 12)
@click.option("--color/--no-color", default=None, help="Colour the words; by default on a terminal.")
@o.option("--word", "WORD", "Of naive Bayes: show P(WORD | class) and P(class), and explain no text.")
@o.number("--sample", "Of naive Bayes: draw N new texts with their classes, and explain no text.")
@o.flag("--lines", "Explain every line of standard input; prints JSON lines.")
@o.trust
@o.json_flag
@o.flag("--html as_html", "Print an HTML page.")
def explain(model: str, text: str, label: str | None, against: str | None, flip: bool, nearest: str | None,
            columns: tuple[str, ...], top: int, color: bool | None, word: str | None, sample: int | None, lines: bool, trust: bool,
            json_: bool, as_html: bool) -> None:  # fmt: skip
    """Show what each word of TEXT (or standard input) adds to the score; the parts add up to it exactly.

    Blue speaks for the label, orange against it. For a feed-forward net the parts are approximate (gradient x input).

    \b
    linnet explain news.linnet "shares of the club" --label business --not sports
    linnet explain reviews.linnet "not bad at all" --flip --nearest train.csv
    linnet explain nb.linnet --word great
    linnet explain nb.linnet --sample 5
    linnet explain reviews.linnet --lines < texts.txt | jq .label
    """
    if json_ and as_html:
        raise LinnetError("--json and --html are two formats; choose one")
    if lines and (as_html or flip or nearest or text != "-"):
        raise LinnetError("--lines reads standard input and prints JSON; it goes with --label and --not only")
    clf = linnet.load(model, trust=trust)
    if word is not None:
        _word(clf, word, json_)
        return
    if sample is not None:
        for drawn, its_label in clf.sample(sample):
            if json_:
                echo_json({"label": str(its_label), "text": drawn}, indent=None)
            else:
                click.echo(f"{its_label}\t{drawn}")
        return
    known = {str(c): c for c in clf.artefact.classes}
    mine, other = (None if name is None else known.get(name, name) for name in (label, against))
    if lines:
        _lines(clf, mine, other)
        return
    if text == "-":
        text = stdin().read().decode("utf-8", "replace").rstrip("\n")
    if not text.strip():
        raise LinnetError("there is no text to explain; give it in quotes after the model")
    row = o.text_or_row(text, columns, clf.artefact.text_column)
    missing = [name for name in clf.artefact.needs if isinstance(row, str) or name not in row]
    if missing:
        raise LinnetError(f"the model reads the column '{missing[0]}' too; add --column {missing[0]}=VALUE")
    found = clf.explain(row, mine, other)
    changed = clf.flip(row) if flip else None
    alike = clf.nearest(row, read_labelled(nearest, {}, extra=clf.artefact.needs)) if nearest else None
    if json_:
        content = {"text": text, **found.to_dict()}
        content |= {} if changed is None else {"flip": changed.to_dict()}
        content |= {} if alike is None else {"nearest": [n.to_dict() for n in alike]}
        echo_json(content)
    elif as_html:
        from linnet.draw.markup import page
        from linnet.explain.explanation import explanation_html, neighbours_html

        rest = (changed._repr_html_() if changed else "") + (neighbours_html(alike) if alike else "")
        click.echo(page(f"linnet: why {found.label}?", explanation_html(found, top) + rest), nl=False)
    else:
        coloured = colours() if color is None else color
        click.echo(found.to_text(top, coloured), color=coloured)
        if changed is not None:
            click.echo("\n" + changed.to_text(coloured), color=coloured)
        if alike is not None:
            click.echo("\n" + _nearest_text(alike))


def _word(clf: linnet.TextClassifier, word: str, json_: bool) -> None:
    """Show the probability of a word in each class."""
    given, prior = ({str(c): p for c, p in found.items()} for found in (clf.probabilities(word), clf.probabilities()))
    if json_:
        echo_json({"word": word, "probability": given, "prior": prior})
        return
    rows = [[c, f"{p:.6g}", f"{prior[c]:.6g}"] for c, p in given.items()]
    click.echo("\n".join(aligned([["class", f"P({word} | class)", "P(class)"], *rows], 100)))


def _lines(clf: linnet.TextClassifier, label: Any, against: Any) -> None:
    """Explain texts as they come, some at a time."""
    texts = (line.decode("utf-8", "replace").rstrip("\r\n") for line in stdin())
    while some := list(islice(texts, 256)):
        for e in clf.explain_many(some, label, against):
            echo_json({"text": e.text, **e.to_dict()}, indent=None)


def _nearest_text(alike: list[Any]) -> str:
    if not alike:
        return "no example shares a feature with the text"
    lines = [f"{'similarity':>10}  the examples most like it"]
    for n in alike:
        lines.append(f"{n.similarity:>10.3f}  {n.label}: {cut(' '.join(n.text.split()), 100)}")
        lines.append(f"{'':>10}  row {n.row + 1:,}; in common: {', '.join(n.shared)}")
    return "\n".join(lines)
