"""``linnet demo``: the whole story on the built-in book reviews."""

from __future__ import annotations

import sys
import time

import click

from linnet.cli.options import say

__all__ = ["demo"]

TEXTS = (
    "Not a bad book at all: I never once wanted to put it down.",
    "I wanted to love it, but the plot is dull and the ending a disappointment.",
)


@click.command(short_help="Train, compare and explain on the built-in book reviews.")
@click.option(
    "--out", default="reviews.linnet", show_default=True, metavar="F.linnet", help="Where to save the best model."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0))
def demo(out: str, seed: int) -> None:
    """Train every model on 690 short book reviews, compare them, explain two texts, and save the best one."""
    from linnet.classifier import TextClassifier
    from linnet.datasets import load
    from linnet.evaluate import evaluate
    from linnet.models import MODELS

    train, dev, test = load("reviews")
    click.echo(
        f"{len(train)} training, {len(dev)} dev and {len(test)} test reviews, positive or negative, for example:"
    )
    for text, label in list(zip(test.text.to_pylist(), test.label_list(), strict=True))[:2]:
        click.echo(f"  {label}: {text}")
    click.echo("\nmodel      dev     test    95 % interval     seconds   settings chosen on held-out rows")
    fitted = {}
    for name in MODELS:
        began = time.perf_counter()
        clf = TextClassifier(name, seed=seed).fit(train, dev=dev)
        seconds = time.perf_counter() - began
        result = evaluate(test.label_list(), clf.predict_proba(test.text), clf.classes_.tolist())
        low, high = result.accuracy_interval
        choice = clf.card["choice"]
        settings = clf.card["settings"]
        chosen = ", ".join(f"{k}={settings[k]:g}" for k in ("C", "alpha", "ratio") if k in settings)
        click.echo(
            f"{name:<10} {choice['accuracy']:.3f}   {result.accuracy:.3f}   [{low:.3f}, {high:.3f}]   {seconds:8.2f}   {chosen}"
        )
        fitted[name] = (choice["accuracy"], clf)
    click.echo("\n70 test rows cannot tell these models apart: the intervals overlap. With your own data, use more.")
    best = max(fitted, key=lambda name: fitted[name][0])
    clf = fitted[best][1]
    click.echo(f"\nWhy? The words of two new texts, as {best} sees them (the parts add up to the score):")
    for text in TEXTS:
        click.echo("\n" + clf.explain(text).to_text(6, sys.stdout.isatty()))
    clf.save(out)
    click.echo(f"\nsaved {out}. What to try next:")
    click.echo(f'  linnet explain {out} "your own sentence"')
    click.echo(f"  linnet info {out}")
    click.echo("  linnet train YOUR.csv          any CSV, TSV, JSON lines or Parquet with a text and a label column")
    say("")
