"""The labelled rows of a command: read from its options, and split into rows to train, choose and test on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet.cli.options import text_column
from linnet.cli.output import say
from linnet.data import read
from linnet.data.dataset import Dataset, LabelBins, are_scattered, scattered
from linnet.data.splitting import refuse_sealed, seal_of
from linnet.errors import DataError, LinnetError, shown

if TYPE_CHECKING:
    from linnet.model.learned import TextsSeen

SEEN = 0.01  # share of texts from which on they are said to be training rows
COPIED = 0.2  # share of rows with a near duplicate from which on these stay together, where no other split is asked for
LOOKED_AT = 16_000_000  # bytes of text up to which near duplicates are looked for


def split_columns(options: dict[str, Any]) -> tuple[str, ...]:
    """Return the columns that --groups and --time read."""
    names = (options.get("groups"), options.get("time"))
    return tuple(name for name in names if name not in (None, "duplicates", "none"))


def multilabel(options: dict[str, Any]) -> str | bool | None:
    """Return what --multilabel says: a separator, False for one label a row, or None where it is not given."""
    given = options.get("multilabel")
    return False if given == "none" else given


def label_column(options: dict[str, Any]) -> str | None:
    """Return the label column: that of --label, or of --label-bins."""
    bins, given = options.get("label_bins"), options.get("label")
    if bins is None:
        return given
    if options.get("label_quantiles"):
        raise LinnetError("--label-bins and --label-quantiles are two ways to make labels of numbers; give one")
    return LabelBins.parse(bins).column or given


def read_labelled(
    path: str, options: dict[str, Any], *, test: bool = False, labelled: bool | None = True, extra: Sequence[str] = (),
    label_columns: str | None = None, clf: Any = None,
) -> Dataset:  # fmt: skip
    """Read labelled rows and say what was found; a blind test set is refused for anything but a test.

    With labelled=None they may have no labels, and --quiet is quiet. options are --text, --label and --format; extra names
    further columns to read. With clf, text column and several labels a row are those of its training where not given.
    """
    if test:
        seal_of(path)  # a sealed file that has changed is refused before the work
    else:
        refuse_sealed(path, "to learn from")
    data = read(
        path, text=options.get("text") if clf is None else text_column(clf, options), format=options.get("format_"),
        label=label_column(options), labelled=labelled, also=extra, multilabel=multilabel(options), label_columns=label_columns,
    )  # fmt: skip
    if clf is not None and clf.artefact.multilabel and data.separator is None and options.get("multilabel") is None:
        data = replace(data, separator=clf.card.get("data", {}).get("separator", "|"))
    if bins := options.get("label_bins") or options.get("label_quantiles"):
        data = data.binned(bins)
        # parts of the first file hold for those that follow
        options |= {"label_bins": data.bins, "label_quantiles": None}
    if labelled or not options["quiet"]:
        say(data.describe())
    return data


def say_if_seen(clf: Any, rows: Dataset, name: str) -> TextsSeen:
    """Say where the model was trained on some of the texts that it is to be judged on."""
    seen: TextsSeen = clf.artefact.texts_seen(rows)
    if seen.share >= SEEN:
        say(
            f"{shown(name, 200)}: {seen.share:.0%} of the texts seem to be among those that the model was trained on; on new texts "
            "it will do worse than these scores"
        )
    return seen


def split_rows(rows: Any, options: dict[str, Any], extra: Sequence[str] = ()) -> tuple[Any, Any, Any]:
    """Return the rows to fit on, to choose settings on (None: by folds) and to test on.

    options are --dev, --test, --groups, --time, --seed and --watch; extra are further columns of the dev and test files.
    """
    from linnet.pipeline.crossval import FEW_ROWS

    watch = options.get("watch", False)
    dev = read_labelled(options["dev"], options, extra=extra) if options["dev"] else None
    test = read_labelled(options["test"], options, test=True, extra=extra) if options["test"] else None
    groups = None if options["groups"] == "none" else options["groups"]
    how: dict[str, Any] = {"groups": groups, "time": options["time"]}
    notes = {"groups": "groups kept together", "time": "the newest rows held out"}
    if test is None and not any((options["groups"], options["time"])):
        how["groups"], copied = _near_duplicates(rows)
        notes["groups"] = (
            f"near duplicates kept together ({copied:.0%} of the rows have one; --groups none splits by chance)"
        )
    note = "".join(f", {words}" for name, words in notes.items() if how[name] is not None)
    if note and dev is not None and test is not None:
        raise LinnetError("with --dev and --test there is nothing to hold out; leave out --groups and --time")
    if test is None and len(rows) < 10:
        few = f"{len(rows)} usable rows are too few to hold some out"
        raise LinnetError(f"{rows.source}: {few} for a test; give --test FILE or more rows")
    if test is None and are_scattered(rows.counts, len(rows)):
        raise DataError(f"{shown(rows.source, 200)}: {scattered(rows.counts, len(rows))}")
    held = ["dev"] if dev is None and (watch or note or (test is None and len(rows) >= FEW_ROWS)) else []
    held += ["test"] if test is None else []
    if not held:
        return rows, dev, test
    fit_on, *parts = rows.split(options["seed"], (1 - 0.1 * len(held), *[0.1] * len(held)), **how)
    if not all(map(len, parts)):  # no label has a row to spare
        raise DataError(f"{shown(rows.source, 200)}: {scattered(rows.counts, len(rows))}")
    found = {"dev": dev, "test": test, **dict(zip(held, parts, strict=True))}
    sizes = "".join(f", {len(part):,} {name}" for name, part in zip(held, parts, strict=True))
    folds = "; settings chosen by folds of the train rows" if found["dev"] is None else ""
    say(f"split: {len(fit_on):,} train{sizes}{note}{folds}")
    return fit_on, found["dev"], found["test"]


def _near_duplicates(rows: Any) -> tuple[Any, float]:
    """Return the groups of near duplicates, None where too few rows have one to flatter a score, and the share of rows that have one.

    A group of more than a twentieth of the rows is a template rather than copies: it could not be held out.
    """
    from linnet.text.duplicates import near_share_bound

    if rows.text.nbytes > LOOKED_AT or near_share_bound(rows.text) < COPIED:
        return None, 0.0
    groups = rows.group_numbers("duplicates")
    sizes = np.bincount(groups)
    copied = float(sizes[sizes > 1].sum() / len(groups))
    return groups if copied >= COPIED and sizes.max() <= len(groups) / 20 else None, copied
