"""The options of the commands, each declared once: a name has the same meaning, help and default everywhere.

An option is a decorator; a group of options is one decorator too. Lists are written with commas (``--models svm,nb``),
settings as NAME=VALUE, with commas between values to choose from (``--set C=0.1,1,10``).
"""

from __future__ import annotations

import csv
import errno
import glob
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from linnet.errors import DataError, LinnetError, shown
from linnet.files import content_kind, kind_of_name
from linnet.values import is_number, parse_list, parse_pairs

# ---- The files of a command: which parameters are read and which are written, declared once and checked before the work.
#
# A command made by ``command`` knows its ``InputPath`` and ``OutputPath`` parameters. Before it runs, it refuses an output that
# is an input (under any name: links count), two outputs with one name, a folder that is missing or cannot be written to, and,
# without ``--force``, a file that is of another kind than the one to be written: a table where the model would go.


_FORCE = "linnet.force"


class InputPath(click.types.StringParamType):
    """A file, folder, pattern or data set to read, or - for standard input; where `or_text`, perhaps a text."""

    def __init__(self, or_text: bool = False) -> None:
        self.or_text = or_text


class OutputPath(click.types.StringParamType):
    """A file to write, or - for standard output. kind is one of linnet.files.KINDS; without it the ending of the name says it."""

    def __init__(self, kind: str | None = None) -> None:
        self.kind = kind


class FolderPath(click.types.StringParamType):
    """A folder to write to; the command itself looks after what is in it."""


class FileCommand(click.Command):
    """A command that looks at its files before it runs."""

    def invoke(self, ctx: click.Context) -> Any:
        """Check the names of files, then run."""
        ctx.meta[_FORCE] = ctx.params.pop("force", False)
        for p in self.params:
            if isinstance(p.type, OutputPath | FolderPath) or (isinstance(p.type, InputPath) and not p.type.or_text):
                for name in _given(ctx, p):
                    _check_name(name)
        kinds = {p: p.type.kind for p in self.params if isinstance(p.type, OutputPath)}
        written = {p.opts[-1]: (ctx.params.get(p.name or ""), kind) for p, kind in kinds.items()}
        check_outputs({option: (path, kind) for option, (path, kind) in written.items() if path})
        return super().invoke(ctx)


def command(*inputs: str, name: str | None = None) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command, as click.command does, and its first arguments, which are inputs; one that writes files has --force."""

    def make(function: Callable[..., Any]) -> click.Command:
        for argument in reversed(inputs):
            function = click.argument(argument, type=InputPath())(function)
        made = click.command(name, cls=FileCommand)(function)
        if any(isinstance(p.type, OutputPath) for p in made.params):
            what = "Replace a file that is of another kind than the one to be written."
            made.params.append(click.Option(["--force"], is_flag=True, help=what))
        return made

    return make


def _given(ctx: click.Context, parameter: click.Parameter) -> Sequence[str]:
    """Return the names that a parameter was given."""
    value = ctx.params.get(parameter.name or "")
    return [value] if isinstance(value, str) else value or ()


def check_outputs(outputs: Mapping[str, tuple[str, str | None]]) -> None:
    """Refuse what the running command could not write, or would lose: {option: (path, kind)}; - is standard output."""
    given = {option: (Path(path), kind) for option, (path, kind) in outputs.items() if path != "-"}
    if not given:
        return
    ctx = click.get_current_context()
    names = [name for p in ctx.command.params if isinstance(p.type, InputPath) for name in _given(ctx, p)]
    read = [path for name in names if name != "-" for path in (name, *glob.iglob(name, recursive=True))]  # noqa: PTH207
    known = {_identity(Path(path)) for path in read} - {None}
    folders = [Path(path).resolve() for path in read if os.path.isdir(path)]  # noqa: PTH112 - any text
    seen: dict[Path, str] = {}
    for option, (path, kind) in given.items():
        _check_place(path, option)
        real = path.resolve()
        if real in seen:
            raise LinnetError(f"{seen[real]} and {option} must be different files; both are {shown(path, 300)}")
        seen[real] = option
        inside = kind != "model" and path.exists() and any(folder in real.parents for folder in folders)
        if inside or (known and _identity(path) in known):
            raise LinnetError(f"{shown(path, 300)}: is also an input, and would be lost; give {option} another file")
        wanted = None if ctx.meta[_FORCE] else kind or kind_of_name(path)
        there = None if wanted is None else content_kind(path)
        if there not in (None, "empty", wanted):
            raise LinnetError(
                f"{shown(path, 300)}: is a file of the kind {there}, not {wanted}, and would be lost; give {option} another file, "
                "or --force"
            )


def _check_name(name: str) -> None:
    """Refuse what cannot be the name of a file on this system."""
    try:
        os.stat(name)  # noqa: PTH116 - any text
    except ValueError as error:
        raise LinnetError(f"{shown(name)} cannot be the name of a file: {error}") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise LinnetError(f"{shown(name)}: the name is too long for a file") from None


def _check_place(path: Path, option: str) -> None:
    name = shown(path, 300)
    if path.is_dir():
        raise LinnetError(f"{name}: is a folder; give a file name with {option}")
    if not path.parent.is_dir():
        folder = shown(path.parent, 300)
        raise LinnetError(f"{name}: the folder {folder} does not exist; make it first or choose another {option}")
    if not os.access(path.parent, os.W_OK):
        raise LinnetError(f"{name}: the folder {shown(path.parent, 300)} is read-only; choose another {option}")


def _identity(path: Path) -> tuple[int, int] | None:
    """Tell a file by its place on the disk, so that links are the same file."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


F = TypeVar("F", bound=Callable[..., Any])


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return one decorator for several options, listed in this order by --help."""

    def add(f: F) -> F:
        for option in reversed(options):
            f = option(f)
        return f

    return add


# A value is a file or folder where its placeholder says so; F is a file of any kind, found by its ending.
PATHS = {
    **dict.fromkeys(("FILE", "OLD NEW", "MODEL", "DATA"), InputPath()), "DIR": FolderPath(), "F": OutputPath(),
    "F.csv": OutputPath("text"), "F.json": OutputPath("json"), "F.html": OutputPath("html"), "F.linnet": OutputPath("model"),
}  # fmt: skip


def option(names: str, metavar: str, help_: str, **more: Any) -> Callable[[F], F]:
    """Return an option that takes a value; names are its own and, behind a blank, that of the parameter."""
    return click.option(*names.split(), metavar=metavar, help=help_, **{"type": PATHS.get(metavar), **more})


def many(names: str, metavar: str, help_: str, **more: Any) -> Callable[[F], F]:
    """Return an option that can be given several times."""
    return option(names, metavar, f"{help_} Can be given several times.", multiple=True, **more)


def flag(names: str, help_: str, **more: Any) -> Callable[[F], F]:
    """Return an option that is there or not."""
    return click.option(*names.split(), is_flag=True, help=help_, **more)


def choice(name: str, choices: str, help_: str, default: str | None = None) -> Callable[[F], F]:
    """Return an option that takes one of some words."""
    kind = click.Choice(choices.split())
    return click.option(name, type=kind, default=default, show_default=default is not None, help=help_)


def number(
    name: str, help_: str, default: float | None = None, least: float = 1, most: int | None = None
) -> Callable[[F], F]:
    """Return an option that takes a number; with a default or a least value that is no whole number, any number."""
    kind = click.FloatRange(least, most) if isinstance(default, float) else click.IntRange(int(least), most)
    return option(name, "N", help_, type=kind, default=default, show_default=default is not None)


# ---- the data

TEXT_HELP = "The text column; found by name or content if not given."
text = option("--text", "COL", TEXT_HELP)
label = option("--label", "COL", "The label column; found by name or content if not given.")
format_ = option(
    "--format format_", "NAME", "csv, tsv, jsonl, parquet, arrow, warc, fasttext, vw, text or folder; found by itself if not given."
)  # fmt: skip
multilabel = option(
    "--multilabel", "SEP", "What stands between the labels of a row, such as '|': a row may have several. Lists of "
    "labels and fastText lines need no SEP; 'none' takes them for one label.",
)  # fmt: skip
text_options = together(text, format_)
data_options = together(text, label, format_, multilabel)
labelled_options = together(
    data_options,
    option("--label-bins", "BINS", "Labels from numbers: 'stars<=2=negative,stars>=4=positive'. Rows in no bin are left out."),
    option("--label-quantiles", "N", "Labels from numbers: N parts of equal size, in order.", type=click.IntRange(2, 100)),
)  # fmt: skip
soft_options = together(
    option("--label-columns", "PATTERN", "Learn from label distributions: columns with a probability for each label, such as 'p_*'."),
    option("--label-smoothing", "S", "Give this share of each label to all classes alike.", type=float, default=0.0),
)  # fmt: skip
unusable = option("--unusable", "F.csv", "Write the rows that could not be used to this file.")
columns = many("--column columns", "NAME=VALUE", "A column of the text's row, for models with column:NAME features.")

# ---- how rows are split

groups = option(
    "--groups", "COL", "Keep rows with the same value together; 'duplicates': near duplicates; 'none': split by chance."
)
time = option("--time", "COL", "Test on the newest rows, by this column of dates or numbers.")
split_options = together(
    option("--dev", "FILE", "Choose settings on this file; on a part of DATA if not given."),
    option("--test", "FILE", "Test on this file; on a tenth of DATA if not given."),
    groups,
    time,
)
hold_out_test = flag("--hold-out-test", "Do not fit the saved model once more with the rows that it was tested on.")
weight = option("--weight", "COL", "The column of row weights: a row of weight 2 counts as two.")
seed = number("--seed", "The same seed and input give the same result.", 0, 0)

# ---- features and tokens


def look_here(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Look for feature functions in the current folder too, after everything that is installed.

    Only where the user typed them or trusts the model: a file must not be able to name what happens to lie here.
    """
    from linnet.features.blocks import names_code

    if (value is True or names_code(value)) and (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    return value


trust = flag(
    "--trust", "Import the functions that the model file names. Only for files from people you trust: functions can do anything.",
    callback=look_here,
)  # fmt: skip
features = option(
    "--features", "BLOCKS", "For example words:1-2+chars:2-5; by document length if not given.", callback=look_here
)
max_features = number("--max-features", "Keep the N most frequent features.")
token_options = together(
    option("--tokens", "NAME", "The tokeniser, or the file of a learned one; linnet tokenize --list lists them.",
           type=InputPath(), default="words", show_default=True),
    choice("--case", "fold lower keep", "How letters are folded.", "fold"),
)  # fmt: skip
feature_options = together(
    features,
    option("--vectors", "FILE", "Word vectors (word2vec, GloVe, fastText, safetensors, hub:owner/name) that join the features."),
    option("--unlabelled", "FILE", "Texts without labels: word vectors are learned from them and join the features; nb takes them by EM."),
    option("--tf", "NAME", "How often a feature counts in a text: presence, count or sublinear; several with commas are tried.",
           callback=lambda _context, _option, value: value and tuple(value.split(","))),
    click.option("--idf/--no-idf", default=None, help="Weigh rare features more."),
    option("--ratio", "P", "Fix the power of the log-count ratio; 0 leaves it out.", type=float),
    choice("--norm", "l2 mean none", "How each block of features is scaled."),
    number("--min-df", "Drop features seen in fewer documents."),
    option("--max-df", "SHARE", "Drop features seen in more than this share of documents.", type=float),
    max_features,
    option("--select", "HOW:N", "Keep the N features that tell most of the labels: chi2:5000, mi:, l1:."),
    option("--vocabulary", "FILE", "The only features: one a line, or what linnet vocab --save wrote."),
    number("--hash-bits", "No vocabulary: hash into 2^N columns.", least=8, most=28),
)  # fmt: skip

# ---- training

settings = many(
    "--set settings", "NAME=VALUE",
    "Set a setting of the model: a number, true, false, none, text or JSON; with commas, values to choose from.",
)  # fmt: skip
training_options = together(
    option("--C C", "C", "Fix C instead of choosing it (svm, logistic).", type=float),
    option("--alpha", "A", "Fix the smoothing instead of choosing it (nb).", type=float),
    settings,
    choice("--class-weight", "balanced", "Let rare classes count as much as common ones."),
    option("--solver", "NAME", "The solver of svm or logistic: adam, lbfgs, ...; the model's own if not given."),
    flag("--watch", "Keep dev rows out of the last fit; show loss and dev score after every pass."),
)

# ---- answers

share = click.FloatRange(0.0, 1.0)
decision_options = together(
    many("--threshold", "LABEL=P", "Answer LABEL where its probability is P or more, and only there; P alone: every label."),
    option("--cost", "COSTS", "Answer the label of least expected cost: a CSV with a row a truth and a column an "
           'answer, or JSON such as \'{"spam": {"ham": 5}}\'.'),
    option("--abstain", "P", "Leave rows unanswered, so that answers have the accuracy P; 0: none.", type=share),
    option("--answer", "P", "Answer the share P of the rows, the surest.", type=share),
)  # fmt: skip
chosen_thresholds = together(
    many("--precision", "LABEL=P", "Choose the threshold of LABEL for this precision on held-out rows."),
    many("--recall", "LABEL=P", "Choose the threshold of LABEL for this recall on held-out rows."),
)
calibration = choice(
    "--calibration", "auto scale sigmoid isotonic none",
    "How scores become probabilities; auto: what has the lowest log loss on held-out rows.", "auto",
)  # fmt: skip
answer_options = together(option("--labels", "A,B", "Choose from these labels only."), decision_options)

# ---- machines

threads = number("--threads", "Threads; all cores by default. Never changes the result.")
run_options = together(seed, threads)
model_options = together(threads, trust)
scheduler = option("--scheduler", "ADDRESS", "A running Dask scheduler or Spark master; without, one starts here.")


def max_memory(default: str | None = None) -> Callable[[F], F]:
    """Add --max-memory."""
    return option(
        "--max-memory", "SIZE", "Stay within so much memory, such as 2GB.", default=default, show_default=bool(default)
    )


def engine(default: str | None = None) -> Callable[[F], F]:
    """Add --engine."""
    what = "Spread the files over the workers of an engine: local, dask or spark."
    return option("--engine", "NAME", what, default=default, show_default=bool(default))


stream_options = together(
    max_memory(),
    option("--cache", "DIR", "Where the temporary cache of a stream lies; by default the system's place."),
    flag("--skip-damaged", "Leave out files that cannot be read to their end, and say which."),
    engine(),
    number("--workers", "Workers of the engine; one a core by default."),
    scheduler,
)

# ---- output

model_out = option("-o --out", "F.linnet", "Where to save; DATA with the ending .linnet by default.")
report = option("--report", "F.html", "Write a page with summary, errors, curves and texts; opens offline.")
json_file = option("--json json_", "F", "Write the result as JSON (- for standard output).", type=OutputPath("json"))
json_flag = flag("--json json_", "Print the result as JSON.")
quiet = flag("--quiet -q", "Print no progress.")
output_options = together(json_file, quiet)
page_options = together(option("--report", "F.html", "Write the result as a page; opens offline."), output_options)


def text_or_row(text: str, given: tuple[str, ...], text_column: str = "text") -> Any:
    """Return the text, or its row with the columns that --column gives.

    >>> text_or_row("help!", ("priority=high",))
    {'text': 'help!', 'priority': 'high'}
    """
    found = dict(parse_pairs(given, "--column", "priority=high"))
    return {text_column: text, **found} if found else text


# ---- The decision rule of a command: read from its options, and what it came to.


def asked(options: dict[str, Any]) -> dict[str, Any]:
    """Return what --labels, --threshold, --precision, --recall, --cost, --abstain and --answer ask for, in Python's words.

    >>> asked({"threshold": ("spam=0.9",), "abstain": 0.95, "cost": '{"spam": {"ham": 5}}'})
    {'threshold': {'spam': 0.9}, 'cost': {'spam': {'ham': 5.0}}, 'abstain': 0.95}
    """
    read: dict[str, Callable[[Any], Any]] = {
        name: partial(_shares, name) for name in ("threshold", "precision", "recall")
    }
    read = {"labels": parse_list, **read, "cost": _costs, "abstain": float, "answer": float}
    return {name: convert(options[name]) for name, convert in read.items() if options.get(name) not in (None, ())}


def _shares(name: str, given: tuple[str, ...]) -> Any:
    """Read LABEL=P, several times; a threshold may also be one number for all labels. A label may hold = itself."""
    if name == "threshold" and len(given) == 1 and is_number(given[0]):
        return float(given[0])
    found = {}
    for item in given:
        label, _, text = item.rpartition("=")
        if not label or not is_number(text) or label in found:
            raise LinnetError(
                f"--{name} {shown(item, 60)}: write LABEL=P once for each label, such as --{name} spam=0.9"
            )
        found[label] = float(text)
    return found


def _costs(given: str) -> dict[str, dict[str, float]]:
    """Read costs, {truth: {answer: cost}}: JSON, or a CSV file."""
    try:
        if given.lstrip().startswith("{"):
            rows = {truth: dict(row) for truth, row in json.loads(given).items()}
        else:
            with Path(given).open(encoding="utf-8-sig", newline="") as file:
                head, *lines = [[cell.strip() for cell in line] for line in csv.reader(file) if line]
            rows = {line[0]: dict(zip(head[1:], line[1:], strict=True)) for line in lines}
        return {truth: {answer: float(cost) for answer, cost in row.items()} for truth, row in rows.items()}
    except (OSError, ValueError, TypeError, AttributeError, csv.Error) as error:
        form = '{"spam": {"ham": 5}} (truth, answer, cost), or a CSV file with a row a truth and a column an answer'
        raise DataError(f"--cost {shown(given, 200)}: cannot be read ({shown(error, 200)}); give {form}") from None


def reached(about: dict[str, Any], tested: Sequence[Any] = ()) -> Iterator[str]:
    """Say what the rule of a card came to on the rows that it was chosen on, and on test rows, with the scores of each class."""
    on_test = {str(one.label): one for one in tested}
    for label, found in about.get("thresholds", {}).items():
        metric, wanted = next(iter(found["wanted"].items()))
        line = f"threshold {shown(label, 40)}={found['threshold']:.4f} for {metric} {wanted:g}: precision {found['precision']:.4f}"
        line += f", recall {found['recall']:.4f} on {found['rows']:,} held-out rows"
        one = on_test.get(label)
        yield line + (f"; {one.precision:.4f} and {one.recall:.4f} on the test rows" if one else "")
    if "answered" in about:
        wanted = f"accuracy {about['abstain']:g}" if about.get("abstain") is not None else f"share {about['answer']:g}"
        accuracy = "none right" if about["accuracy"] is None else f"accuracy {about['accuracy']:.4f}"
        yield (
            f"abstaining for {wanted}: answers from probability {about['least_probability']:.4f}, {about['answered']:.1%} of "
            f"{about['rows']:,} held-out rows, {accuracy}"
        )


def text_column(clf: Any, options: dict[str, Any]) -> str | None:
    """Return the text column: that of --text, or the one that the model was trained on, where the data have it."""
    from linnet.data.columns import TrainedOn

    known = clf.card.get("data", {}).get("text_column")
    return options["text"] or (TrainedOn(known) if isinstance(known, str) else None)
