"""``linnet tune``: the best model that a budget of time, size and memory allows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from linnet.cli import options as o
from linnet.cli.labelled_rows import read_labelled, split_columns, split_rows
from linnet.cli.output import ProgressBars, say, say_sealed, width, write_json, write_page
from linnet.cli.train import model_path
from linnet.datasets.named import official
from linnet.evaluate.metrics import METRICS, SET_METRICS, find_metric
from linnet.values import as_bytes, as_seconds, duration, size_text


@o.command("data")
@o.option("--budget", "TIME", "For everything: 60s, 5m, 1h.", default="60s", show_default=True)
@o.option("--max-size", "SIZE", "The model file may be this large: 5MB, 500kB.")
@o.max_memory()
@o.option("--metric", "NAME", f"One of {', '.join(METRICS)}; of several labels a row {', '.join(SET_METRICS)}.")
@o.option("--models", "A,B", "Search among these models only; all that learn if not given.")
@o.many("--lists", "FILE", "Use the word lists of this file too.")
@o.option("--vectors", "FILE", "Use word vectors too; models that cannot take them are left out.")
@o.model_out
@o.split_options
@o.labelled_options
@o.run_options
@o.number("--candidates", "Stop after N candidates, if time allows.")
@o.option("--resume", "F.json", "Keep results in this file and go on from it; OUT.tune.jsonl by default.")
@o.flag("--fresh", "Start anew, whatever the file of results holds.")
@o.page_options
def tune(data: str, **options: Any) -> None:
    """Search features, weighting, model and settings on DATA, and save the best.

    The default of linnet train is judged first and kept unless something beats it by more than noise. Test rows
    are held out as linnet train does and are used once, at the end. Candidates whose memory would pass --max-memory are
    refused.

    \b
    linnet tune reviews.csv --budget 5m
    linnet tune reviews.csv --max-size 1MB --metric macro-f1
    linnet tune reviews.csv --lists moods.csv --json result.json

    Results are kept in OUT.tune.jsonl: the same command goes on where it was killed or ran out of time. Ctrl-C fits and
    saves the best so far.
    """
    from linnet.data.splitting import look
    from linnet.tuning import tune as search

    began, out = time.monotonic(), model_path(data, options["out"])
    as_seconds(options["budget"])  # refuse before reading
    for name in ("max_size", "max_memory"):
        as_bytes(options[name], f"--{name.replace('_', '-')}")
    if options["metric"] not in SET_METRICS:
        find_metric(options["metric"])
    rows = read_labelled(data, options, extra=split_columns(options))
    options = official(data, options)
    fit_on, dev, test = split_rows(rows, options)
    state = Path(options["resume"] or f"{out}.tune.jsonl")
    again = ("dev", "test", "groups", "time", "text", "label", "out", "format_", "multilabel", "label_bins")
    shared = {name.rstrip("_"): options[name] for name in again if options[name] is not None}
    shared |= {} if options["test"] else {"hold_out_test": True}
    names = ("budget", "max_size", "max_memory", "metric", "models", "lists", "vectors", "candidates", "fresh")
    with TuningProgress(options["quiet"]) as progress:
        found = search(
            fit_on, dev=dev, test=test, state=state, on_event=progress, began=began, named=data, command=shared,
            random_state=options["seed"], n_jobs=options["threads"], **{name: options[name] for name in names},
        )  # fmt: skip
    found.model.save(out)
    write_page(found, f"Search on {data}", options["report"])
    seal = look(options["test"], "tune", out) if options["test"] else None
    content = {"model": str(out), "state": str(state), **found.to_dict(), "seal": seal.to_dict() if seal else None}
    if write_json(content, options["json_"]):
        return
    click.echo(found.to_text(width(120)))
    say_sealed(seal)
    click.echo(f"saved {out} ({size_text(out.stat().st_size)}, {found.model.artefact.n_features:,} features)")
    click.echo(f"again: {found.command}")
    say(f"the same command searches on from {state}; --fresh starts anew")


class TuningProgress(ProgressBars):
    """The events of a search: a bar of the time on a terminal, one line a candidate elsewhere."""

    title = "tuning"

    def __call__(self, event: Any) -> None:
        """Show an event."""
        if event.kind == "stage":
            self.line(event.text)
        if event.kind != "tuned":
            return
        v = event.values
        score = "refused: " + v["refused"] if v["score"] is None else f"{v['score']:.4f} on {v['level']}"
        best = "" if v["best"] is None else f"best {v['best']:.4f}, "
        note = f"{v['candidates']} candidates, {best}{event.text}"
        line = f"{score}: {event.text} ({duration(v['left'])} left)"
        self.update(v["spent"], v["left"] + v["spent"], note, line=line)
