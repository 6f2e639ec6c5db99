"""The options of the commands, each declared once: a name has the same meaning, help and default everywhere.

An option is a decorator; a group of options is one decorator too. Lists are written with commas (``--models svm,nb``),
settings as NAME=VALUE, with commas between values to choose from (``--set C=0.1,1,10``).
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from linnet.cli.files import FolderPath, InputPath, OutputPath
from linnet.errors import DataError, LinnetError, shown
from linnet.values import parse_list, parse_pairs

F = TypeVar("F", bound=Callable[..., Any])
Option = Callable[[F], F]


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return one decorator for several options, listed in this order by --help."""

    def add(f: F) -> F:
        for option in reversed(options):
            f = option(f)
        return f

    return add


def option(names: str, metavar: str, help_: str, **more: Any) -> Callable[[F], F]:
    """Return an option that takes a value; names are its own and, behind a blank, that of the parameter."""
    return click.option(*names.split(), metavar=metavar, help=help_, **more)


def flag(names: str, help_: str, **more: Any) -> Callable[[F], F]:
    """Return an option that is there or not."""
    return click.option(*names.split(), is_flag=True, help=help_, **more)


def number(
    name: str, help_: str, default: float | None = None, least: float = 1, most: int | None = None
) -> Callable[[F], F]:
    """Return an option that takes a number; with a default or a least value that is no whole number, any number."""
    whole = not isinstance(default, float)
    kind = click.IntRange(int(least), most) if whole else click.FloatRange(least, most)
    return option(name, "N", help_, type=kind, default=default, show_default=default is not None)


# ---- the data

TEXT_HELP = "The text column; found by name or content if not given."
text = click.option("--text", metavar="COL", help=TEXT_HELP)
label = click.option("--label", metavar="COL", help="The label column; found by name or content if not given.")
format_ = click.option(
    "--format", "format_", metavar="NAME",
    help="csv, tsv, jsonl, parquet, arrow, warc, fasttext, vw, text or folder; found by itself if not given.",
)  # fmt: skip
multilabel = click.option(
    "--multilabel", metavar="SEP", help="What stands between the labels of a row, such as '|': a row may have several. Lists of "
    "labels and fastText lines need no SEP; 'none' takes them for one label.",
)  # fmt: skip
text_options = together(text, format_)
data_options = together(text, label, format_, multilabel)
bin_options = together(
    click.option("--label-bins", metavar="BINS",
                 help="Labels from numbers: 'stars<=2=negative,stars>=4=positive'. Rows in no bin are left out."),
    click.option("--label-quantiles", type=click.IntRange(2, 100), metavar="N",
                 help="Labels from numbers: N parts of equal size, in order."),
)  # fmt: skip
soft_options = together(
    click.option(
        "--label-columns", metavar="PATTERN", help="Learn from label distributions: columns of DATA with a probability for each "
        "label, such as 'p_*'.",
    ),
    click.option(
        "--label-smoothing", type=float, default=0.0, metavar="S", help="Give this share of each label to all classes alike.",
    ),
)  # fmt: skip
unusable = click.option(
    "--unusable", type=OutputPath("text"), metavar="F.csv", help="Write the rows that could not be used to this file."
)
columns = click.option(
    "--column", "columns", multiple=True, metavar="NAME=VALUE",
    help="A column of the text's row, for models with column:NAME features. Can be given several times.",
)  # fmt: skip

# ---- how rows are split

groups = click.option(
    "--groups", metavar="COL", help="Keep rows with the same value together; 'duplicates': near duplicates."
)
time = click.option("--time", metavar="COL", help="Test on the newest rows, by this column of dates or numbers.")
dev = click.option(
    "--dev", type=InputPath(), metavar="FILE", help="Choose settings on this file; on a part of DATA if not given."
)
test = click.option(
    "--test", type=InputPath(), metavar="FILE", help="Test on this file; on a tenth of DATA if not given."
)
split_options = together(dev, test, groups, time)
hold_out_test = click.option("--hold-out-test", is_flag=True,
                             help="Do not fit the saved model once more with the rows that it was tested on.")  # fmt: skip
weight = click.option("--weight", metavar="COL", help="The column of row weights: a row of weight 2 counts as two.")
seed = number("--seed", "The same seed and input give the same result.", 0, 0)

# ---- features and tokens


def look_here(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Look for feature functions in the current folder too, after everything that is installed.

    Only where the user typed them or trusts the model: a file must not be able to name what happens to lie here.
    """
    from linnet.features.functions import names_code

    if (value is True or names_code(value)) and (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    return value


trust = click.option(
    "--trust", is_flag=True, callback=look_here,
    help="Import the functions that the model file names. Only for files from people you trust: functions can do anything.",
)  # fmt: skip
features = click.option(
    "--features", metavar="BLOCKS", callback=look_here, help="For example words:1-2+chars:2-5; by document length if not given."
)  # fmt: skip
max_features = number("--max-features", "Keep the N most frequent features.")
tokens = click.option("--tokens", type=InputPath(), default="words", show_default=True, metavar="NAME",
                      help="The tokeniser, or the file of a learned one; linnet tokenize --list lists them.")  # fmt: skip
case = click.option(
    "--case", type=click.Choice(["fold", "lower", "keep"]), default="fold", show_default=True,
    help="How letters are folded.",
)  # fmt: skip
token_options = together(tokens, case)
feature_options = together(
    features,
    option("--vectors", "FILE", "Word vectors (word2vec, GloVe, fastText, safetensors) that join the features.", type=InputPath()),
    option("--unlabelled", "FILE", "Texts without labels: word vectors are learned from them, and join the features.", type=InputPath()),
    click.option("--tf", metavar="NAME", callback=lambda _context, _option, value: value and tuple(value.split(",")),
                 help="How often a feature counts in a text: presence, count or sublinear; several with commas are tried."),
    click.option("--idf/--no-idf", default=None, help="Weigh rare features more."),
    click.option("--ratio", type=float, metavar="P", help="Fix the power of the log-count ratio; 0 leaves it out."),
    click.option("--norm", type=click.Choice(["l2", "mean", "none"]), help="How each block of features is scaled."),
    number("--min-df", "Drop features seen in fewer documents."),
    click.option("--max-df", type=float, metavar="SHARE", help="Drop features seen in more than this share of documents."),
    max_features,
    click.option("--select", metavar="HOW:N", help="Keep the N features that tell most of the labels: chi2:5000, mi:, l1:."),
    number("--hash-bits", "No vocabulary: hash into 2^N columns.", least=8, most=28),
)  # fmt: skip

# ---- training

settings = click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE",
    help="Set a setting of the model: a number, true, false, none, text or JSON; with commas, values to choose from. "
    "Can be given several times.",
)  # fmt: skip
training_options = together(
    click.option("--C", "C", type=float, metavar="C", help="Fix C instead of choosing it (svm, logistic)."),
    click.option("--alpha", type=float, metavar="A", help="Fix the smoothing instead of choosing it (nb)."),
    settings,
    click.option("--class-weight", type=click.Choice(["balanced"]), help="Let rare classes count as much as common ones."),
    click.option("--solver", metavar="NAME", help="The solver of svm or logistic: adam, lbfgs, ...; the model's own if not given."),
    click.option("--watch", is_flag=True, help="Keep dev rows out of the last fit; show loss and dev score after every pass."),
)  # fmt: skip

# ---- answers

share = click.FloatRange(0.0, 1.0)
decision_options = together(
    click.option("--threshold", multiple=True, metavar="LABEL=P",
                 help="Answer LABEL where its probability is P or more, and only there; P alone: every label. Can be given several times."),
    click.option("--cost", metavar="COSTS", help="Answer the label of least expected cost: a CSV with a row a truth and a column an "
                 'answer, or JSON such as \'{"spam": {"ham": 5}}\'.'),
    click.option("--abstain", type=share, metavar="P", help="Leave rows unanswered, so that answers have the accuracy P; 0: none."),
    click.option("--answer", type=share, metavar="P", help="Answer the share P of the rows, the surest."),
)  # fmt: skip
chosen_thresholds = together(
    click.option("--precision", multiple=True, metavar="LABEL=P",
                 help="Choose the threshold of LABEL for this precision on held-out rows. Can be given several times."),
    click.option("--recall", multiple=True, metavar="LABEL=P",
                 help="Choose the threshold of LABEL for this recall on held-out rows. Can be given several times."),
)  # fmt: skip
calibration = click.option(
    "--calibration", type=click.Choice(["auto", "scale", "sigmoid", "isotonic", "none"]), default="auto", show_default=True,
    help="How scores become probabilities; auto: what has the lowest log loss on held-out rows.",
)  # fmt: skip
labels = click.option("--labels", metavar="A,B", help="Choose from these labels only.")

# ---- machines

threads = number("--threads", "Threads; all cores by default. Never changes the result.")
scheduler = click.option(
    "--scheduler", metavar="ADDRESS", help="A running Dask scheduler or Spark master; without, one starts here."
)


def max_memory(default: str | None = None) -> Callable[[F], F]:
    """Add --max-memory."""
    return click.option(
        "--max-memory", metavar="SIZE", default=default, show_default=bool(default), help="Stay within so much memory, such as 2GB."
    )  # fmt: skip


def engine(default: str | None = None) -> Callable[[F], F]:
    """Add --engine."""
    return click.option(
        "--engine", metavar="NAME", default=default, show_default=bool(default),
        help="Let the workers of an engine do the work: local, dask or spark.",
    )  # fmt: skip


stream_options = together(
    max_memory(),
    click.option("--cache", type=FolderPath(), metavar="DIR",
                 help="Where the temporary cache of a stream lies; by default the system's place."),
    click.option("--skip-damaged", is_flag=True, help="Leave out files that cannot be read to their end, and say which."),
    engine(),
    number("--workers", "Workers of the engine; one a core by default."),
    scheduler,
)  # fmt: skip

# ---- output

model_out = option(
    "--out", "F.linnet", "Where to save; DATA with the ending .linnet by default.", type=OutputPath("model")
)
report = option(
    "--report", "F.html", "Write a page with summary, errors, curves and texts; opens offline.", type=OutputPath("html")
)
json_file = click.option(
    "--json", "json_", type=OutputPath("json"), metavar="F", help="Write the result as JSON (- for standard output)."
)
json_flag = click.option("--json", "json_", is_flag=True, help="Print the result as JSON.")
quiet = click.option("--quiet", "-q", is_flag=True, help="Print no progress.")
output_options = together(json_file, quiet)


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
    found: dict[str, Any] = {}
    if options.get("labels") is not None:
        found["labels"] = parse_list(options["labels"])
    for name in ("threshold", "precision", "recall"):
        if options.get(name):
            found[name] = _shares(name, options[name])
    if options.get("cost") is not None:
        found["cost"] = _costs(options["cost"])
    return found | {name: options[name] for name in ("abstain", "answer") if options.get(name) is not None}


def _shares(name: str, given: tuple[str, ...]) -> Any:
    """Read LABEL=P, several times; a threshold may also be one number for all labels. A label may hold = itself."""
    if name == "threshold" and len(given) == 1 and _number(given[0]) is not None:
        return _number(given[0])
    found = {}
    for item in given:
        label, _, text = item.rpartition("=")
        parse_pairs([f"{label}={text}"] if label else [item], f"--{name}", "spam=0.9")
        value = _number(text)
        if value is None:
            raise LinnetError(
                f"--{name} {shown(item, 60)}: '{shown(text, 20)}' is no number; write for example --{name} spam=0.9"
            )
        if label in found:
            raise LinnetError(f"--{name} {shown(label, 40)} is given twice; leave one out")
        found[label] = value
    return found


def _costs(given: str) -> dict[str, dict[str, float]]:
    if given.lstrip().startswith("{"):
        try:
            rows = {truth: dict(row) for truth, row in json.loads(given).items()}
        except (ValueError, TypeError, AttributeError):
            raise LinnetError(
                f'--cost {shown(given, 60)}: not JSON of the form {{"spam": {{"ham": 5}}}}: truth, answer, cost'
            ) from None
        where = "--cost"
    else:
        where = shown(given, 200)
        try:
            with Path(given).open(encoding="utf-8-sig", newline="") as file:
                lines = [line for line in csv.reader(file) if line]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"{where}: cannot be read as a table of costs ({error})") from None
        if not lines or any(len(line) != len(lines[0]) for line in lines):
            raise DataError(
                f"{where}: a table of costs has a header with a label a column, and rows of a label and as many costs"
            )
        rows = {line[0].strip(): dict(zip(map(str.strip, lines[0][1:]), line[1:], strict=True)) for line in lines[1:]}
    found: dict[str, dict[str, float]] = {}
    for truth, row in rows.items():
        for answer, cell in row.items():
            value = _number(cell)
            if value is None:
                raise DataError(
                    f"{where}: the cost of answering {shown(answer, 40)} to {shown(truth, 40)} is no number: {shown(cell, 20)!r}"
                )
            found.setdefault(truth, {})[answer] = value
    return found


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def reached(about: dict[str, Any], tested: Sequence[Any] = ()) -> Iterator[str]:
    """Say what the rule of a card came to on the rows that it was chosen on, and on test rows, with the scores of each class."""
    on_test = {str(one.label): one for one in tested}
    for label, found in about.get("thresholds", {}).items():
        metric, wanted = next(iter(found["wanted"].items()))
        yield (
            f"threshold {shown(label, 40)}={found['threshold']:.4f} for {metric} {wanted:g}: precision {found['precision']:.4f}, recall "
            f"{found['recall']:.4f} on {found['rows']:,} held-out rows"
            + (
                f"; {on_test[label].precision:.4f} and {on_test[label].recall:.4f} on the test rows"
                if label in on_test
                else ""
            )
        )
    if "answered" in about:
        wanted = f"accuracy {about['abstain']:g}" if about.get("abstain") is not None else f"share {about['answer']:g}"
        accuracy = "none right" if about["accuracy"] is None else f"accuracy {about['accuracy']:.4f}"
        yield (
            f"abstaining for {wanted}: answers from probability {about['least_probability']:.4f}, {about['answered']:.1%} of "
            f"{about['rows']:,} held-out rows, {accuracy}"
        )
