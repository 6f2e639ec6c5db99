"""``linnet demo``: the whole story on the built-in book reviews."""

from __future__ import annotations

import sys

import click

from linnet.cli import options as o
from linnet.cli.files import OutputPath, command
from linnet.cli.output import say

MODELS = "svm,logistic,nb"  # enough for a story; linnet compare takes them all
FOLDS = 3
TEXTS = (
    "Not a bad book at all: I never once wanted to put it down.",
    "I wanted to love it, but the plot is dull and the ending a disappointment.",
)


@command(short_help="Train, compare and explain on the built-in book reviews.")
@o.option(
    "--out",
    "F.linnet",
    "Where to save the model.",
    type=OutputPath("model"),
    default="reviews.linnet",
    show_default=True,
)
@o.seed
def demo(out: str, seed: int) -> None:
    """Compare models on 690 short book reviews, explain two texts, and save the recommended model."""
    from linnet.classifier import TextClassifier
    from linnet.comparison import compare
    from linnet.datasets import whole

    data = whole("reviews")
    click.echo(f"{len(data)} reviews, positive or negative, for example:")
    for text, label in list(zip(data.text.to_pylist(), data.label_list(), strict=True))[:2]:
        click.echo(f"  {label}: {text}")
    click.echo(f"\nEvery model on the same {FOLDS} folds, settings chosen inside each training part:\n")
    found = compare(data, models=MODELS, folds=FOLDS, random_state=seed)
    click.echo(str(found))
    best = found.recommended
    clf = TextClassifier(best, random_state=seed).fit(data)
    click.echo(f"\nWhy? The words of two new texts, as {best} sees them (the parts add up to the score):")
    for text in TEXTS:
        click.echo("\n" + clf.explain(text).to_text(6, sys.stdout.isatty()))
    clf.save(out)
    click.echo(f"\nsaved {out}. What to try next:")
    click.echo(f'  linnet explain {out} "your own sentence"')
    click.echo(f"  linnet info {out}")
    click.echo("  linnet compare                 every model family, on these reviews or on your own file")
    click.echo("  linnet train YOUR.csv          any CSV, TSV, JSON lines or Parquet with a text and a label column")
    say("")
