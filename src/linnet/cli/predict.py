"""``linnet predict``: labels for texts, at constant memory."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa

import linnet
from linnet.cli import options as o
from linnet.cli.output import Notes, ProgressBars, say
from linnet.data.arrays import booleans, call, decimals, floats, integers, strings
from linnet.data.input_file import Unusable
from linnet.data.writers import ENDINGS, format_to_write, open_writer
from linnet.errors import LinnetError, shown
from linnet.features.counting import one_ahead
from linnet.files import split_ending
from linnet.model.decision import Decision, most_probable
from linnet.values import parse_list

ROWS = 8192  # that are labelled together
CELLS = 4_000_000  # scores that are held at a time: rows times outputs


@o.command("model")
@click.argument("source", type=o.InputPath(), metavar="[INPUT|-]", default="-")
@o.answer_options
@o.option(
    "--top", "K", "Also write the K most probable labels: label_1, probability_1, label_2, ...", type=click.IntRange(1)
)
@o.option("--coverage", "P", "Also write the labels that cannot be ruled out, as set: the true one is among them with probability P.",
          type=o.share)  # fmt: skip
@o.flag("--out-of-scope", "Also write how unlike the training rows a text is, from 0 to 1, as out_of_scope.")
@o.flag("--proba", "Also write the probability of each class.")
@o.option("-o --out", "F", "Write to F (.csv, .tsv, .jsonl, .parquet, .arrow, .txt); standard output by default.")
@o.choice("--to", "lines csv tsv jsonl parquet arrow", "The format of the output; by the ending of F, else lines.")
@o.option("--keep-columns", "[A,B]", "Write the columns of INPUT too, before the result: those named, or all.",
          is_flag=False, flag_value="all")  # fmt: skip
@o.flag(
    "--safe-csv",
    "In CSV and TSV, put ' before cells that a spreadsheet would take for a formula (= + - @ at the start).",
)
@o.text_options
@o.model_options
@o.quiet
def predict(model: str, source: str, **options: Any) -> None:
    """Label every text of INPUT with MODEL, one result a row, in the order of the input.

    INPUT may be larger than memory, gzipped or zstd, or - for standard input (one text a line, CSV, JSON lines).
    Results are lines of labels; with --proba or --keep-columns, CSV. A column of INPUT that is called like one of the
    result keeps its name; that of the result gets predicted_ before it.

    Where a rule leaves a row unanswered, its label is empty, and the column answered says false.

    \b
    linnet predict reviews.linnet new.csv --threshold spam=0.9 --top 3
    linnet predict reviews.linnet new.csv --proba --out labelled.parquet
    linnet predict reviews.linnet new.csv --keep-columns id,date --out labelled.csv
    """
    out, quiet, threads = (options[name] for name in ("out", "quiet", "threads"))
    keep = _kept(options["keep_columns"])
    names = ("proba", "keep_columns", "top", "coverage", "out_of_scope")
    wide = [name for name in names if options[name] not in (None, False)]
    form = _form(out, options["to"], bool(wide))
    if form == "lines" and wide:
        raise LinnetError(f"--{wide[0].replace('_', '-')} needs columns: choose --to csv, tsv or jsonl")
    clf = linnet.load(model, n_jobs=threads, trust=options["trust"])
    rule = Decision.of(clf.artefact.classes, clf.artefact.decision, **o.asked(options))
    layout = ResultColumns([str(c) for c in clf.artefact.classes], form, rule, options)
    done, broken, say_notes = 0, Unusable(), Notes(source)
    with open_writer(out, "text" if form == "lines" else form) as writer, ProgressBars(quiet or not out) as progress:
        if not keep:
            none = np.zeros(0) if options["out_of_scope"] else None
            writer.write(layout.table(clf.artefact, np.zeros((0, clf.artefact.n_outputs)), far=none))
        progress.stage("labelling")
        batches = linnet.stream(
            source, text=o.text_column(clf, options), format=options["format_"], also=clf.artefact.needs, keep=keep,
            batch_rows=max(1, min(ROWS, CELLS // clf.artefact.n_outputs)),
        )  # fmt: skip
        for batch in one_ahead(batches):
            scores = clf.artefact.scores(batch, threads)
            far = clf.artefact.out_of_scope(batch, threads, scores) if options["out_of_scope"] else None
            writer.write(layout.table(clf.artefact, scores, batch.kept, far))
            if out is None:
                sys.stdout.flush()  # whoever reads a pipe waits for these lines
            if done == 0 and not quiet and batch.how:
                say(f"{source}: {batch.how}")
            say_notes(*batch.notes)
            done += len(batch)
            broken += batch.unusable
            progress.update(done, note=f"{done:,} rows")
    if not quiet and out:
        say(f"{done:,} rows labelled, written to {out}")
    if broken and not quiet:
        say(f"{shown(source, 200)}: {broken}; they were labelled as far as possible")


def _kept(given: str | None) -> list[str] | bool:
    if given is None:
        return False
    if Path(given).is_file():
        raise LinnetError(
            f"--keep-columns takes names of columns, got the file {shown(given, 200)}; write --keep-columns=all, or put it last"
        )
    return True if given == "all" else parse_list(given)


def _form(out: str | None, to: str | None, columns: bool) -> str:
    """Return the format: the one asked for, or that of the ending; an ending that says another one is refused."""
    if out is None or out == "-":
        return to or ("csv" if columns else "lines")
    ending = split_ending(out)[0]
    named = "lines" if ending == ".txt" else format_to_write(out) if ending in ENDINGS or to is None else to
    if to is not None and named.removesuffix("-stream") != to:
        raise LinnetError(f"--to {to} and {shown(out, 200)} are two formats; leave out --to, or end the name otherwise")
    return named


@dataclass(frozen=True)
class ResultColumns:
    """The columns of a result: those that are kept, label, probability, and with --proba one of each class.

    A rule that may leave rows unanswered adds `answered`; --top the most probable labels; --coverage the set.
    """

    classes: list[str]
    form: str
    rule: Any  # a Decision
    options: dict[str, Any]

    def table(self, model: Any, scores: Any, kept: Any = None, far: Any = None) -> Any:
        """Return the rows of a batch; where rows may have several labels, these stand in place of label and probability."""
        answers = model.answers(scores, self.rule)
        best, none = answers.most_probable, answers.best < 0
        if model.multilabel:
            found = {"labels": self._label_sets(answers.chosen)}
        else:
            labels = strings([*self.classes, "" if self.form == "lines" else None])
            found = {"label": call("take", labels, integers(np.where(none, len(self.classes), best)))}
        if self.form == "lines":
            return pa.table(found)
        P = answers.proba
        if not model.multilabel:
            found["probability"] = self._numbers(P[np.arange(len(best)), best])
            if self.rule.abstains:
                found["answered"] = booleans(~none)
        if far is not None:
            found["out_of_scope"] = self._numbers(far)
        if self.options["top"]:
            found |= self._ranked(P)
        if self.options["coverage"] is not None:
            found["set"] = self._label_sets(self.rule.sets(P, self.options["coverage"]))
        if self.options["proba"]:
            found |= {f"p_{name}": self._numbers(p) for name, p in zip(self.classes, P.T, strict=True)}
        columns = {} if kept is None else dict(zip(kept.column_names, kept.columns, strict=True))
        for name, column in found.items():
            while name in columns:
                name = f"predicted_{name}"
            columns[name] = column
        if self.options["safe_csv"] and self.form in ("csv", "tsv"):
            names = _harmless(strings(list(columns))).to_pylist()
            return pa.table([_harmless(column) for column in columns.values()], names=names)
        return pa.table(columns)

    def _ranked(self, P: Any) -> dict[str, Any]:
        """Return the most probable labels, a pair of columns each."""
        among = len(self.classes) if self.rule.labels is None else len(self.rule.labels)
        found = {}
        for k, column in enumerate(most_probable(P, min(self.options["top"], among)).T, 1):
            found[f"label_{k}"] = strings(self.classes).take(integers(column))
            found[f"probability_{k}"] = self._numbers(P[np.arange(len(P)), column])
        return found

    def _label_sets(self, chosen: Any) -> Any:
        """Return the labels of each row as lists, joined by '|' where the format has none."""
        sets = [[name for name, has in zip(self.classes, row, strict=True) if has] for row in chosen.tolist()]
        if self.form in ("lines", "csv", "tsv"):
            return pa.array(["|".join(row) for row in sets], pa.string())
        return pa.array(sets, pa.list_(pa.string()))

    def _numbers(self, values: Any) -> Any:
        return decimals(values) if self.form in ("csv", "tsv") else floats(np.round(values, 6))


_FORMULA = r"^[=+@\t\r-]"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def _harmless(column: Any) -> Any:
    """Put an apostrophe before cells that a spreadsheet would run."""
    from pyarrow._compute import MatchSubstringOptions

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    patterns = (MatchSubstringOptions(pattern) for pattern in (_FORMULA, _NUMBER))
    formula, number = (call("match_substring_regex", column, options=pattern) for pattern in patterns)
    risky = call("and_not", formula, number)
    mark, end = (pa.scalar(text, column.type) for text in ("'", ""))
    return call("if_else", risky, call("binary_join_element_wise", mark, column, end), column)
