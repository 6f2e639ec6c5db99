"""The card of a model: what a command adds to it, and how it is shown. No paths of folders and no times: bytes stay equal."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import click
import numpy as np

from linnet.cli.files import InputPath
from linnet.errors import shown
from linnet.files import digest

RUN_ONLY = (
    "out", "threads", "json_", "report", "cache", "workers", "scheduler", "unusable", "quiet", "force", "no_check", "engine", "max_memory",
    "like", "trust",
)  # fmt: skip
"""Options that change no model: they say where and how a command runs."""


def plain_command() -> str:
    """Return the command with what was given to it, in a fixed order, without folders and without options that change no model."""
    ctx = click.get_current_context()
    words = ["linnet", str(ctx.info_name)]
    for p in ctx.command.params:
        value = ctx.params.get(p.name or "")
        if p.name in RUN_ONLY or ctx.get_parameter_source(p.name or "") != click.core.ParameterSource.COMMANDLINE:
            continue
        for one in value if isinstance(value, tuple) else (value,):
            flag = [] if isinstance(p, click.Argument) else [p.opts[-1] if one is not False else p.secondary_opts[-1]]
            words += flag + (
                [] if isinstance(one, bool) else [_named(str(one)) if isinstance(p.type, InputPath) else str(one)]
            )
    return shlex.join(words)


def _named(path: str) -> str:
    """Return a file without its folder."""
    return path if path.startswith("hub:") else PurePath(path).name or path


def data_card(data: tuple[str, ...], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checksums of the files that a model was trained on: of their bytes as they lie there."""
    files = {"sha256": data[0]} if len(data) == 1 else {}
    files |= {f"{name}_sha256": options[name] for name in ("dev", "test") if options.get(name)}
    return {name: digest(path) for name, path in files.items() if Path(path).is_file()}


def columns_digest(rows: Any) -> str:
    """Return the SHA-256 of the texts and labels that were read: of their bytes, then of their lengths."""
    from linnet.features.buffers import text_buffers

    whole, sizes = hashlib.sha256(), hashlib.sha256()
    for column in (rows.text, rows.label):
        for piece in text_buffers(column):
            whole.update(piece.data[piece.offsets[0] : piece.offsets[-1]].tobytes())
            sizes.update(np.diff(piece.offsets).astype("<i8").tobytes())
    whole.update(sizes.digest())
    return whole.hexdigest()


def test_card(result: Any) -> dict[str, Any]:
    """Return the scores on the test rows, with the 95 % interval of the first."""
    several = hasattr(result, "subset_accuracy")
    first, *others = ("micro_f1", "macro_f1") if several else ("accuracy", "macro_f1", "log_loss")
    found = {"rows": result.n, first: getattr(result, first), "interval": list(getattr(result, f"{first}_interval"))}
    return found | {name: getattr(result, name) for name in others}


def markdown(name: str, card: Mapping[str, Any]) -> Iterator[str]:
    """Yield the card as Markdown: a section for each part, nested values as lists."""
    yield f"# {name}"
    if card.get("command"):
        yield from ("", "```", str(card["command"]), "```")
    for part, value in card.items():
        if part in ("command", "reference", "choice") or not isinstance(value, Mapping) or not value:
            continue
        yield from ("", f"## {part.capitalize()}", "", "| | |", "|---|---|")
        for key, entry in value.items():
            text = ", ".join(f"{k}: {v}" for k, v in entry.items()) if isinstance(entry, Mapping) else entry
            if entry is not None:
                yield f"| {_cell(str(key).replace('_', ' '))} | {_cell(_number(text))} |"
    choice = card.get("choice")
    if isinstance(choice, Mapping) and isinstance(choice.get("tried"), list):
        yield from ("", "## Choice of settings", "")
        yield f"{len(choice['tried'])} settings tried, {choice.get('folds')} folds, {choice.get('rows')} held-out rows."
    yield from ("", f"Made by linnet {card.get('linnet', '?')}.")


def _number(value: Any) -> Any:
    if isinstance(value, list):
        return ", ".join(str(_number(one)) for one in value)
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}" if type(value) is int else value


def _cell(value: Any) -> str:
    return shown(value, 500).replace("|", "\\|")
