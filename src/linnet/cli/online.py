"""``linnet train - --online``: one pass over a stream, with a score for every row before it is learned from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from linnet.cli.output import Notes, say, write_json
from linnet.errors import DataError, LinnetError, shown
from linnet.units import size_text

if TYPE_CHECKING:
    from linnet.classifier import TextClassifier

__all__ = ["FEATURES", "HASH_BITS", "train_online"]

FEATURES = "words:1+chars:3"
HASH_BITS = 18
LARGEST_CHUNK = 256  # rows that are scored together before they are learned from
NOT_ONLINE = (
    "dev", "test", "groups", "time", "weight", "watch", "report", "max_memory", "engine", "multilabel", "threshold", "cost", "abstain",
    "answer", "precision", "recall",
)  # fmt: skip


def train_online(clf: TextClassifier, data: tuple[str, ...], out: Path, options: dict[str, Any]) -> None:
    """Learn from a stream in one pass and save the model, also after Ctrl-C."""
    from linnet.data.labelled import usable
    from linnet.data.streaming import stream
    from linnet.pipeline.learner import IncrementalLearner

    wrong = [name for name in NOT_ONLINE if options[name]]
    if wrong:
        raise LinnetError(f"--{wrong[0].replace('_', '-')} does not go with --online, which reads every row once")
    learner = IncrementalLearner(clf.plan())
    table, notes = ErrorTable(options["quiet"]), Notes(data[0])
    try:
        for source in data:
            for batch in stream(source, text=options["text"], label=options["label"], format=options["format_"]):
                rows = usable(batch, "" if source == "-" else source)
                for note in rows.notes:
                    notes(note)
                table.show(learner, learner.learn(rows.text, rows.label.to_pylist(), most=LARGEST_CHUNK))
    except KeyboardInterrupt:
        say("interrupted: what was learned so far is saved")
    if not learner.n_rows:
        raise DataError(f"{data[0]}: no two labels among the rows so far; there is nothing to save")
    clf.use(learner, "standard input" if data[0] == "-" else data[0])
    clf.save(out)
    score = learner.progressive
    if write_json({"model": str(out), "card": clf.card, "progressive": score.to_dict()}, options["json_"]):
        return
    click.echo(f"progressive accuracy {score.accuracy:.4f} on {score.rows:,} rows, one pass")
    click.echo(f"saved {out} ({size_text(out.stat().st_size)}, {len(learner.classes)} classes)")


class ErrorTable:
    """A line at rows 1, 2, 4, 8, ...: errors so far and since the last line, and how that row was answered."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.next, self.before = quiet, 1, (0, 0)
        self.rows = self.errors = 0
        if not quiet:
            say(f"{'average':<9}{'since':<9}{'row':>10}  {'label':<16}{'predicted':<16}{'features':>8}")
            say(f"{'error':<9}{'last':<9}{'counter':>10}")

    def show(self, learner: Any, met: Any) -> None:
        """Show the rows of a chunk that are due; rows of the first class wait until there is a second one."""
        if met is None:
            return
        wrong = met.best != met.y
        while not self.quiet and self.next <= self.rows + len(wrong):
            k = self.next - self.rows - 1
            errors, (rows, last) = self.errors + int(wrong[: k + 1].sum()), self.before
            label, best = (shown(learner.classes[one], 15) for one in (met.y[k], met.best[k]))
            rates = f"{errors / self.next:<9.6f}{(errors - last) / (self.next - rows):<9.6f}"
            say(f"{rates}{self.next:>10,}  {label:<16}{best:<16}{met.features[k]:>8,}")
            self.before, self.next = (self.next, errors), 2 * self.next
        self.rows, self.errors = self.rows + len(wrong), self.errors + int(wrong.sum())
