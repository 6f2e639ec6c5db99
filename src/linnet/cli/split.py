"""``linnet split``: one file into train, dev and test, by chance, by groups or by time; the test part may be sealed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa

from linnet.cli import options as o
from linnet.cli.labelled_rows import split_columns
from linnet.cli.output import Notes, say, write_json
from linnet.data.arrays import integers
from linnet.data.dataset import are_scattered, scattered
from linnet.data.reading import read, stream_rows
from linnet.data.splitting import refuse_sealed, seal
from linnet.data.writers import ENDINGS, format_to_write, open_writer
from linnet.draw.terminal import listed
from linnet.errors import DataError, LinnetError, shown
from linnet.values import parse_list

_ROW = "row of the source"


@o.command("data")
@o.option("--out-dir", "DIR", "Where train, dev and test go; DATA-split by default.")
@o.option("--train train_out", "F", "The training file, in place of --out-dir.")
@o.option("--dev dev_out", "F", "The dev file; left out, there are two parts.")
@o.option("--test test_out", "F", "The test file.")
@o.option("--fractions", "A,B,C", "Shares of the parts, for example 0.8,0.1,0.1 (default) or 90,10.")
@o.groups
@o.time
@o.seed
@o.flag("--blind", "Seal the test file: every use of it is recorded and reported.")
@o.data_options
@o.json_file
def split(data: str, **options: Any) -> None:
    """Divide DATA into files to train on, to choose on and to test on.

    Every class gets its share of each part. All columns are kept; rows without text or label are left out and counted.

    \b
    linnet split reviews.csv --blind
    linnet split reviews.csv --groups author --out-dir parts
    linnet split reviews.csv --groups duplicates --train a.csv --test b.csv --fractions 90,10
    linnet split tickets.parquet --time created
    """
    if options["groups"] and options["time"]:
        raise LinnetError("give --groups or --time, not both: rows of one group may lie far apart in time")
    fractions = _fractions(options["fractions"], options)
    outs = _outs(data, options, len(fractions))
    table, rows = _read(data, options)
    parts = rows.split(options["seed"], fractions, groups=options["groups"], time=options["time"])
    if not all(map(len, parts)) and rows.label is not None and are_scattered(rows.counts, len(rows)):
        raise DataError(f"{shown(rows.source, 200)}: {scattered(rows.counts, len(rows))}")
    for path in outs.values():  # now that there is something to put there
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            where, reason = shown(path.parent, 300), error.strerror or error
            raise LinnetError(f"cannot make the folder {where}: {reason}; choose another --out-dir") from None
    summary = []
    for (name, path), part in zip(outs.items(), parts, strict=True):
        with open_writer(path) as writer:
            writer.write(table.take(integers(np.array(part.column(_ROW), dtype=np.int64))))
        summary.append({"part": name, "file": str(path), "rows": len(part), "labels": part.counts})
    sealed = seal(outs["test"], len(parts[-1])).to_dict() if options["blind"] else None
    found = {"data": data, "rows": len(rows), "unusable": len(rows.unusable), "parts": summary, "seal": sealed}
    if not write_json(found, options["json_"]):
        _print_parts(found)


def _fractions(given: str | None, options: dict[str, Any]) -> tuple[float, ...]:
    """Read shares; whole numbers such as 80,10,10 are taken as parts of their sum."""
    named = options["train_out"] or options["test_out"]
    if given is None:
        return (0.9, 0.1) if named and not options["dev_out"] else (0.8, 0.1, 0.1)
    try:
        values = [float(part) for part in parse_list(given.replace("/", ","))]
    except ValueError:
        raise LinnetError(f"--fractions takes numbers with commas, such as 0.8,0.1,0.1; got '{given}'") from None
    total = sum(values)
    if len(values) not in (2, 3) or any(not value > 0 for value in values):
        raise LinnetError(f"--fractions takes two or three shares above 0, such as 0.8,0.1,0.1; got '{given}'")
    if total > 1.5:
        values = [value / total for value in values]
    return tuple(values)


def _outs(data: str, options: dict[str, Any], n_parts: int) -> dict[str, Path]:
    """Say where each part goes, and refuse before reading what would be refused after it."""
    named = {name: options[f"{name}_out"] for name in ("train", "dev", "test") if options[f"{name}_out"]}
    wanted = ("train", "dev", "test") if n_parts == 3 else ("train", "test")
    if named and options["out_dir"]:
        raise LinnetError("give --out-dir, or --train, --dev and --test, not both")
    if named:
        if set(named) != set(wanted):
            need, got = (", ".join(f"--{name}" for name in names) for names in (wanted, named))
            raise LinnetError(f"{n_parts} parts need {need}; got {got}")
        outs = {name: Path(named[name]) for name in wanted}
    else:
        source = Path("data.csv" if data == "-" else data.rstrip("/"))
        endings = [suffix for suffix in source.suffixes if suffix.lower() in ENDINGS]
        folder = Path(options["out_dir"] or f"{source.name.split('.')[0] or 'data'}-split")
        outs = {name: folder / f"{name}{endings[0] if endings else '.csv'}" for name in wanted}
        if folder.exists() and not folder.is_dir():
            raise LinnetError(f"{folder}: is a file; choose another --out-dir")
    for path in outs.values():
        format_to_write(path)
        refuse_sealed(path, "to write to")
    there = [
        (f"--{name}" if named else f"--out-dir, {path.name}", path) for name, path in outs.items() if path.exists()
    ]
    o.check_outputs({option: (str(path), None) for option, path in there})
    return outs


def _read(data: str, options: dict[str, Any]) -> tuple[Any, Any]:
    """Return all columns of all rows, and the usable rows with their places in them."""
    batches = list(stream_rows(data, text=options["text"], format=options["format_"], batch_rows=1 << 16))
    if not batches:
        raise LinnetError(f"{data} is empty: it holds no rows")
    Notes(data)(*batches[0].reader.notes)
    table = pa.concat_tables([batch.table for batch in batches], promote_options="permissive")
    broken = [batch.first_row - 1 + row for batch in batches for row in batch.raw.malformed]
    keep = np.setdiff1d(np.arange(table.num_rows), np.array(broken, dtype=np.int64))
    whole = table.take(integers(keep)).append_column(_ROW, integers(keep))
    rows = read(
        whole, text=options["text"] or batches[0].text_column, label=options["label"], also=[*split_columns(options), _ROW],
        labelled=True if options["label"] else None,
    )  # fmt: skip
    rows = replace(rows, source=batches[0].reader.source)
    say(rows.describe())
    if broken:
        say(f"{len(broken):,} rows could not be parsed and are in no part (first: row {broken[0] + 1:,})")
    return table, rows


def _print_parts(found: dict[str, Any]) -> None:
    for part in found["parts"]:
        ranked = sorted(part["labels"].items(), key=lambda item: (-item[1], item[0]))
        labels = listed(f"{shown(name, 40)} {count:,}" for name, count in ranked)
        click.echo(f"{part['part']:<6}{part['rows']:>9,} rows  {part['file']}  {labels}".rstrip())
    if found["seal"]:
        click.echo(f"sealed {found['parts'][-1]['file']}: every use of it is counted from now on")
