"""``linnet train``: from a file to a saved, tested model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from linnet.cli.options import (
    apart,
    check_report,
    columns,
    command_line,
    held_by,
    read_labelled,
    report,
    say,
    settings,
    settings_of,
    threads,
)
from linnet.cli.streamed import streaming, train_streamed
from linnet.datasets.named import official
from linnet.errors import LinnetError
from linnet.models import MODELS

__all__ = ["train"]


@click.command(short_help="Train a classifier on a file and save it.")
@click.argument("data", nargs=-1, required=True)
@click.option("--model", default="svm", show_default=True, metavar="NAME", help=f"One of {', '.join(MODELS)}.")
@click.option("--features", metavar="BLOCKS", help="For example words:1-2+chars:2-5; by document length if not given.")
@click.option("--out", metavar="F.linnet", help="Where to save; DATA with the ending .linnet by default.")
@click.option("--dev", metavar="FILE", help="Choose settings on this file.")
@click.option("--test", metavar="FILE", help="Test on this file; a tenth of DATA if not given.")
@apart
@columns
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="Same seed and input, same model, to the byte."
)
@threads
@streaming
@click.option("--C", "cost", type=float, metavar="C", help="Fix C instead of choosing it (svm, logistic).")
@click.option("--alpha", type=float, metavar="A", help="Fix the smoothing instead of choosing it (nb).")
@settings
@click.option("--ratio", type=float, metavar="P", help="Fix the power of the log-count ratio; 0 leaves it out.")
@click.option(
    "--tf", type=click.Choice(["presence", "count", "sublinear"]), help="How often a feature counts in a text."
)
@click.option("--idf/--no-idf", default=None, help="Weigh rare features more.")
@click.option(
    "--normalise",
    type=click.Choice(["length", "mean", "none"]),
    help="What becomes of each block of a text's features.",
)
@click.option("--min-df", type=click.IntRange(1), metavar="N", help="Drop features seen in fewer documents.")
@click.option("--max-df", type=float, metavar="SHARE", help="Drop features seen in more than this share of documents.")
@click.option("--max-features", type=click.IntRange(1), metavar="N", help="Keep the N most frequent features.")
@click.option(
    "--select", metavar="HOW:N", help="Keep the N features that tell most of the labels: chi2:5000, mi:, l1:."
)
@click.option("--hash-bits", type=click.IntRange(8, 28), metavar="N", help="No vocabulary: hash into 2^N columns.")
@click.option("--class-weight", type=click.Choice(["balanced"]), help="Let rare classes count as much as common ones.")
@click.option(
    "--solver", metavar="NAME", help="How svm or logistic is solved: adam, lbfgs, ...; the model's own if not given."
)
@click.option(
    "--watch", is_flag=True, help="Hold dev rows out of the last fit; show loss and dev score after every pass."
)
@click.option("--no-check", is_flag=True, help="Skip the brief look for duplicates, leaks and imbalance.")
@click.option("--unusable", metavar="F.csv", help="Write the rows that could not be used to this file.")
@report
@click.option(
    "--json", "json_", metavar="F", help="Write what was chosen and the test scores as JSON (- for standard output)."
)
@click.option("--quiet", "-q", is_flag=True, help="No progress: only what was read and the result.")
def train(data: tuple[str, ...], **options: Any) -> None:
    """Train a classifier on DATA and save it.

    DATA is CSV, TSV, JSON lines, Parquet, Arrow, fastText lines or a folder of class folders, plain or .gz or .zst, a
    data set by name (hub:ag_news, with its official dev and test parts), or - for standard input. Without --test a tenth
    is kept for the test; settings are chosen on another tenth, or by five folds where rows are few, and the model is then
    fitted on all but the test rows.

    DATA may be several files, patterns or folders of shards. They are read as a stream within --max-memory, which is
    also how one file is read that looks too large for the memory there is: see docs/streaming.md.
    """
    from linnet.classifier import TextClassifier
    from linnet.cli.progress import Progress
    from linnet.data.seal import look
    from linnet.features.computed import needed

    out = out_path(data[0], options["out"])
    check_report(options["report"])
    clf = TextClassifier(
        options["model"], features=options["features"], tf=options["tf"], idf=options["idf"], ratio=options["ratio"],
        normalise={"length": True, "none": False}.get(options["normalise"], options["normalise"]),
        min_df=options["min_df"], max_df=options["max_df"], max_features=options["max_features"],
        hash_bits=options["hash_bits"], select=options["select"], class_weight=options["class_weight"], params=_params(options),
        refit=not options["watch"], seed=options["seed"], threads=options["threads"],
    )  # fmt: skip
    options["also"] = needed(
        clf.plan().features.features or ()
    )  # wrong settings are refused before reading a large file
    streamed = train_streamed(clf, data, options)
    if streamed is not None:
        clf.save(out)
        sealed = look(options["test"], "train", out) if options["test"] else None
        _report(
            clf, streamed.evaluation, out, options["json_"], options["quiet"], sealed, {"stream": streamed.to_dict()}
        )
        return
    source = data[0]
    also = [*options["also"], *held_by(options)]
    rows = read_labelled(source, options["text"], options["label"], options["format_"], also=also)
    if options["unusable"]:
        rows.write_unusable(options["unusable"])
        say(f"wrote {len(rows.unusable):,} unusable rows to {options['unusable']}")
    options = official(source, options)
    fit_on, dev, test = divided(rows, options)
    del rows  # the parts are copies
    if not options["no_check"]:
        _brief(fit_on, dev, test, parted=not (options["groups"] or options["test"]))
    with Progress(options["quiet"], options["watch"]) as progress:
        clf.fit(fit_on, dev=dev, on_event=progress)
    result = _test(clf, test)
    clf.save(out)
    sealed = look(options["test"], "train", out) if options["test"] else None
    if options["report"]:
        _page(clf, source, fit_on, test, out, options, sealed)
    _report(clf, result, out, options["json_"], options["quiet"], sealed)


def out_path(data: str, out: str | None) -> Path:
    """Return where the model goes; refuse before training what would be refused after it."""
    if out is None:
        name = "model" if data == "-" else Path(data.rstrip("/")).name.split(".")[0].removeprefix("hub:") or "model"
        path = Path(f"{name}.linnet")
    else:
        path = Path(out)
    if path.is_dir():
        raise LinnetError(f"{path}: is a folder; give a file name with --out, for example {path / 'model.linnet'}")
    if not path.parent.is_dir():
        raise LinnetError(f"{path}: the folder {path.parent} does not exist; make it first or choose another --out")
    return path


def _params(options: dict[str, Any]) -> dict[str, Any]:
    """Return the model's settings: --set, and --C, --alpha and --solver, which are short for it."""
    keys = {"C": "cost", "alpha": "alpha", "solver": "solver"}
    short = {name: options[key] for name, key in keys.items() if options[key] is not None}
    given = settings_of(options["settings"])
    both = sorted(set(short) & set(given))
    if both:
        raise LinnetError(f"{both[0]} is given twice, as --{both[0]} and as --set {both[0]}; leave one out")
    return {**short, **given}


def divided(rows: Any, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return what to fit on, what to choose on (None: folds) and what to test on."""
    from linnet.data import Dataset
    from linnet.pipeline.crossval import FEW_ROWS

    def other(path: str | None, test: bool = False) -> Dataset | None:
        if not path:
            return None
        return read_labelled(
            path, options["text"], options["label"], options["format_"], test=test, also=options.get("also", ())
        )

    dev, test = other(options["dev"]), other(options["test"], True)
    how = {"groups": options["groups"], "time": options["time"]}
    told = {"groups": "groups kept together", "time": "the newest rows held out"}
    note = "".join(f", {words}" for name, words in told.items() if how[name])
    if note and dev is not None and test is not None:
        raise LinnetError("with --dev and --test there is nothing to hold out; leave out --groups and --time")
    held = (options["watch"] or bool(note)) and dev is None  # what is watched, or apart, needs rows of its own
    if test is not None and held:
        rows, dev = rows.split(options["seed"], (0.9, 0.1), **how)
        say(
            f"split: {len(rows):,} rows to train on, {len(dev):,} to {'watch' if options['watch'] else 'choose on'}{note}"
        )
    if test is not None:
        return rows, dev, test
    if len(rows) < 10:
        raise LinnetError(
            f"{rows.source}: {len(rows)} usable rows are too few to hold some out for a test; give --test FILE or more rows"
        )
    if dev is not None or (len(rows) < FEW_ROWS and not held):
        fit_on, test = rows.split(options["seed"], (0.9, 0.1), **how)
        chosen = f"dev from {options['dev']}" if dev is not None else "settings chosen by 5 folds"
        say(f"split: {len(fit_on):,} rows to train on ({chosen}), {len(test):,} to test on{note}")
        return fit_on, dev, test
    fit_on, dev, test = rows.split(options["seed"], (0.8, 0.1, 0.1), **how)
    say(f"split: {len(fit_on):,} train, {len(dev):,} dev, {len(test):,} test{note}")
    return fit_on, dev, test


def _brief(fit_on: Any, dev: Any, test: Any, *, parted: bool) -> None:
    """Say what hashing and counting show to be wrong with the data; nothing where all is well."""
    from linnet.checks.brief import brief

    parts = {"the dev rows": dev, "the test rows": test}
    found = brief(fit_on, [replace(part, source=name) for name, part in parts.items() if part is not None])
    for line in found:
        say(f"check: {line}")
    if parted and any(line.startswith("leaks") for line in found):
        say("check: --groups duplicates holds texts that are nearly the same out together")
    if found:
        say("check: linnet check says more; --no-check skips this")


def _test(clf: Any, test: Any) -> Any:
    from linnet.evaluate import evaluate

    return evaluate(test.label_list(), clf.predict_proba(test), clf.classes_.tolist())


def _page(clf: Any, data: str, fit_on: Any, test: Any, out: Path, options: dict[str, Any], sealed: Any) -> None:
    """Write the report on the test rows, with a check of the data and a learning curve."""
    from linnet.checks import check
    from linnet.report import Report
    from linnet.report.learning_curve import learning_curve

    found = None
    if not options["no_check"]:
        say("report: checking the training rows")
        found = check(fit_on, replace(test, source="the test rows"), seed=options["seed"], threads=options["threads"])
    say("report: learning curve")
    curve = learning_curve(clf, fit_on)
    files = {"model": str(out), "data": data, **({"test": options["test"]} if options["test"] else {})}
    title, path = f"{options['model']} trained on {data}", options["report"]
    page = Report(
        clf, test, title=title, command=command_line(), seed=options["seed"], files=files, check=found, curve=curve, seal=sealed
    )  # fmt: skip
    page.save(path)
    say(f"wrote {path} ({Path(path).stat().st_size / 1e6:.1f} MB)")


def _report(clf: Any, result: Any, out: Path, json_: str | None, quiet: bool, sealed: Any, more: Any = None) -> None:
    size = out.stat().st_size / 1e6
    if json_ is not None:
        content = json.dumps(
            {
                "model": str(out), "card": clf.card, "test": result.to_dict(),
                "seal": sealed.to_dict() if sealed else None, **(more or {}),
            },
            indent=2, ensure_ascii=False,
        )  # fmt: skip
        if json_ == "-":
            click.echo(content)
            return
        Path(json_).write_text(content + "\n", encoding="utf-8")
    low, high = result.accuracy_interval
    scores = f"macro F1 {result.macro_f1:.4f}, log loss {result.log_loss:.4f}"
    click.echo(f"test accuracy {result.accuracy:.4f} [{low:.4f}, {high:.4f}] on {result.n:,} rows, {scores}")
    if sealed:
        click.echo(f"blind test set, sealed {sealed.sealed[:10]}: {sealed.words}")
    click.echo(
        f"saved {out} ({size:.1f} MB, {clf.artefact.n_features:,} features, {len(clf.artefact.classes)} classes)"
    )
    if not quiet:
        say(f'next: linnet explain {out} "a text"   linnet predict {out} FILE   linnet info {out}')
