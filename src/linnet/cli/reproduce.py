"""``linnet reproduce``: published tables with our figures beside them."""

from __future__ import annotations

import importlib
import platform
from datetime import UTC, datetime

import click

from linnet.cli import options as o
from linnet.cli.output import write_json
from linnet.reproduce import TABLES, TableOptions
from linnet.values import parse_list


@o.command()
@click.argument("table", type=click.Choice(list(TABLES)), metavar="TABLE")
@o.option("--sets", "NAMES", "Only these data sets, with commas.", default="")
@o.many("--row rows", "NAME", "Only this row.")
@o.number("--passes", "Of mnist: passes over the pictures; by default those of each row.")
@o.number("--folds", "Of pang2002: how many folds to learn from.", 5, most=9)
@o.option("--sizes", "N,N", "Of ng2002: how many rows to learn from, smallest first.", default="")
@o.number("--repeats", "Of ng2002: how often rows are drawn.", 5)
@o.json_file
def reproduce(table: str, sets: str, rows: tuple[str, ...], passes: int | None, folds: int, sizes: str, repeats: int,
              json_: str | None) -> None:  # fmt: skip
    """Run the models of a paper on its data and print our figures beside the published ones.

    \b
    pang2002   eight feature sets by naive Bayes, maximum entropy and SVM (movie_reviews)
    wang2012   naive Bayes, SVM and NBSVM (rt_polarity, mpqa, movie_reviews, imdb)
    kim2014    linear models beside convolutional networks (rt_polarity, mpqa, trec)
    mnist      softmax regression with the settings of a lecture's listing, and better ones
    ng2002     naive Bayes and logistic regression on growing data (rt_polarity, imdb, movie_reviews)

    Data sets are found under LINNET_DATA, in the cache or on the hub: see docs/datasets.md.

    \b
    linnet reproduce wang2012 --sets rt_polarity,mpqa
    linnet reproduce pang2002 --row bigrams --json pang.json
    """
    from linnet import __version__

    made = importlib.import_module(f"linnet.reproduce.{table}")
    numbers = tuple(int(n) for n in parse_list(sizes)) or TableOptions.sizes
    options = TableOptions(tuple(parse_list(sets)), rows, passes, folds, numbers, repeats)
    lines, quiet, found = made.lines(options), json_ == "-", []
    head, more = next(lines)
    if not quiet:
        click.echo(f"{TABLES[table]}\n{head}".rstrip())
    for text, row in lines:
        found.append(row)
        if not quiet:
            click.echo(text)
    machine = {"python": platform.python_version(), "machine": platform.machine(), "linnet": __version__}
    write_json({"date": datetime.now(UTC).date().isoformat(), "machine": machine, **more, "results": found}, json_)
