"""``linnet tune``: the best model that a budget of time, size and memory allows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import click

from linnet.cli.compare import Fits
from linnet.cli.options import apart, columns, held_by, read_labelled, say, threads
from linnet.cli.train import divided, out_path
from linnet.datasets.named import official
from linnet.evaluate.metrics import METRICS, find_metric
from linnet.tuning.clock import process_began
from linnet.units import as_bytes, as_seconds, duration

__all__ = ["tune"]


@click.command(short_help="Search features, model and settings within a budget of time and size.")
@click.argument("data")
@click.option("--budget", default="60s", show_default=True, metavar="TIME", help="For everything: 60s, 5m, 1h.")
@click.option("--max-size", metavar="SIZE", help="The model file may be this large: 5MB, 500kB.")
@click.option("--max-memory", metavar="SIZE", help="Refuse candidates that would take more memory: 2GB.")
@click.option("--metric", default="accuracy", show_default=True, metavar="NAME", help=f"One of {', '.join(METRICS)}.")
@click.option("--models", metavar="A,B", help="Search among these models only; all that learn if not given.")
@click.option("--lists", multiple=True, metavar="F.csv", help="Use the word lists of this file too; can be repeated.")
@click.option("--out", metavar="F.linnet", help="Where to save; DATA with the ending .linnet by default.")
@click.option("--dev", metavar="FILE", help="Judge candidates on this file; folds of DATA if not given.")
@click.option("--test", metavar="FILE", help="Test on this file; a tenth of DATA if not given.")
@apart
@columns
@click.option(
    "--seed",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="Same seed, same order of candidates and scores.",
)
@threads
@click.option("--candidates", type=click.IntRange(1), metavar="N", help="Stop after N candidates, if time allows.")
@click.option("--resume", metavar="F", help="Keep results in this file and go on from it; OUT.tune.jsonl by default.")
@click.option("--fresh", is_flag=True, help="Start anew, whatever the file of results holds.")
@click.option("--json", "json_", metavar="F", help="Write everything as JSON (- for standard output).")
@click.option("--quiet", "-q", is_flag=True, help="No progress: only what was read and the result.")
def tune(data: str, **options: Any) -> None:
    r"""Search features, weighting, model and settings on DATA, and save the best.

    The default recipe of linnet train is judged first and kept unless something beats it by more than noise. Test rows
    are held out as linnet train does and are looked at once, at the end.

    \b
    linnet tune reviews.csv --budget 5m
    linnet tune reviews.csv --max-size 1MB --metric macro-f1
    linnet tune reviews.csv --lists moods.csv --json result.json

    Results are kept in OUT.tune.jsonl: the same command goes on where it was killed or ran out of time. Ctrl-C fits and
    saves the best so far.
    """
    from linnet.data.seal import look
    from linnet.tuning import running

    out = _checked(data, options)
    rows = read_labelled(data, options["text"], options["label"], options["format_"], also=held_by(options))
    options = official(data, options)
    fit_on, dev, test = divided(rows, {**options, "watch": False})
    state = Path(options["resume"] or f"{out}.tune.jsonl")
    shared = {
        name: options[name]
        for name in ("dev", "test", "groups", "time", "text", "label", "out")
        if options[name] is not None
    }  # fmt: skip
    if options["format_"]:
        shared["format"] = options["format_"]
    with _Candidates(options["quiet"]) as progress:
        found = running.tune(
            fit_on, dev=dev, test=test, budget=options["budget"], max_size=options["max_size"],
            max_memory=options["max_memory"], metric=options["metric"], models=options["models"], lists=options["lists"],
            candidates=options["candidates"], seed=options["seed"], threads=options["threads"], state=state,
            fresh=options["fresh"], on_event=progress, began=process_began(), named=data, command=shared,
        )  # fmt: skip
    found.model.save(out)
    sealed = look(options["test"], "tune", out) if options["test"] else None
    _report(found, out, state, options["json_"], sealed)


def _checked(data: str, options: dict[str, Any]) -> Path:
    """Refuse before reading what would be refused after it; returns where the model goes."""
    out = out_path(data, options["out"])
    as_seconds(options["budget"])
    as_bytes(options["max_size"], "--max-size")
    as_bytes(options["max_memory"], "--max-memory")
    find_metric(options["metric"])
    return out


class _Candidates(Fits):
    """Shows a search: a bar of the time on a terminal, one line a candidate elsewhere."""

    def __call__(self, event: Any) -> None:
        if self.quiet or event.kind == "pass":
            return
        if event.kind != "tuned":
            if event.kind == "stage":
                self._line(event.text)
            return
        v = event.values
        score = "refused: " + v["refused"] if v["score"] is None else f"{v['score']:.4f} on {v['level']}"
        left = f"{duration(v['left'])} left"
        if self.bars is None:
            say(f"{score}: {event.text} ({left})")
            return
        if self.task is None:
            self.task = self.bars.add_task("tuning", total=v["left"] + v["spent"], note="")
        best = "" if v["best"] is None else f"best {v['best']:.4f}, "
        note = f"{v['candidates']} candidates, {best}{left}: {event.text}"
        self.bars.update(self.task, completed=v["spent"], note=note[: max(40, self.bars.console.width - 50)])


def _report(found: Any, out: Path, state: Path, json_: str | None, sealed: Any) -> None:
    if json_ is not None:
        content = {
            "model": str(out),
            "state": str(state),
            **found.to_dict(),
            "seal": sealed.to_dict() if sealed else None,
        }
        text = json.dumps(content, indent=2, ensure_ascii=False)
        if json_ == "-":
            click.echo(text)
            return
        Path(json_).write_text(text + "\n", encoding="utf-8")
    click.echo(found.to_text(shutil.get_terminal_size((120, 24)).columns))
    if sealed:
        click.echo(f"blind test set, sealed {sealed.sealed[:10]}: {sealed.words}")
    click.echo(f"saved {out} ({out.stat().st_size / 1e6:.1f} MB, {found.model.artefact.n_features:,} features)")
    click.echo(f"again: {found.command}")
    say(f"the same command searches on from {state}; --fresh starts anew")
