"""Options, help pages, progress and values: the same in every command."""

from __future__ import annotations

import csv
import json
import re

import click
import pytest
from click.testing import CliRunner

from linnet.cli import COMMANDS, linnet
from linnet.cli.output import ProgressBars
from linnet.datasets import load
from linnet.errors import LinnetError
from linnet.values import parse_list, parse_settings, parse_value

ONCE = [
    "--text", "--label", "--format", "--groups", "--time", "--seed", "--threads", "--features", "--max-features", "--tokens",
    "--case", "--max-memory", "--engine", "--scheduler", "--quiet", "--unusable", "--set", "--column",
]  # fmt: skip
OTHERS = {
    ("explain", "--label"),
    ("export", "--format"),
    ("serve", "--threads"),
    ("tokenize", "--column"),
}  # another thing of the same name


def command(name: str) -> click.Command:
    found = linnet.get_command(click.Context(linnet), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_pages(name):
    done = CliRunner().invoke(linnet, [*([name] if name else []), "--help"], terminal_width=200)
    assert done.exit_code == 0
    assert "\\b" not in done.output
    assert "\b" not in done.output
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", done.output)
    for line in done.output.splitlines():
        if line.startswith("  linnet "):  # examples stand on lines of their own
            assert line.count(" linnet ") == 1, line
    if name:
        for option in command(name).params:
            if isinstance(option, click.Option):
                assert option.help, f"{name} {option.opts[0]} has no help"
        assert command(name).short_help == COMMANDS[name][1]


@pytest.mark.parametrize("option", ONCE)
def test_an_option_means_the_same_in_every_command(option):
    found = {}
    for name in COMMANDS:
        for one in command(name).params:
            if option in one.opts and (name, option) not in OTHERS:
                found[name] = (one.help, one.metavar, one.type.to_info_dict(), one.multiple, one.is_flag)
    assert found
    first = next(iter(found.values()))
    assert all(one == first for one in found.values()), found


def test_lists_and_settings():
    assert parse_list(" a, b ,,c") == ["a", "b", "c"]
    assert parse_list(None) == []
    assert [parse_value(text) for text in ("1", "1.5", ".5", "1e3", "true", "None", "null", "sgd")] == [
        1, 1.5, 0.5, 1000.0, True, None, None, "sgd",
    ]  # fmt: skip
    assert parse_value("[1, 2]") == parse_value("1,2") == [1, 2]
    assert parse_value('"1"') == "1"
    assert parse_settings(["C=0.1,1", "solver=adam"]) == {"C": [0.1, 1], "solver": "adam"}
    for given, words in ((["C"], "takes NAME=VALUE"), (["=1"], "takes NAME=VALUE"), (["C=1", "C=2"], "given twice")):
        with pytest.raises(LinnetError, match=words):
            parse_settings(given)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("options") / "train.csv"
    data = load("reviews")[0]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["label", "text"], *zip(data.label.to_pylist(), data.text.to_pylist(), strict=True)])
    return path


def test_the_text_column_of_tokenize_has_two_names(rows):
    outputs = [
        CliRunner().invoke(linnet, ["tokenize", str(rows), option, "text"]).stdout for option in ("--text", "--column")
    ]
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0].splitlines()[0])["pieces"]


def test_bars_with_the_time_left_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with ProgressBars() as progress:
        progress.stage("comparing", 6)
        progress.update(2, 6, "svm, fold 2 of 3")
        progress.bars.refresh()
    assert re.search(r"comparing .*svm, fold 2 of 3.*\d:\d\d:\d\d", capsys.readouterr().err)


def test_lines_without_a_terminal(capsys, monkeypatch):
    clock = iter(range(0, 1000, 6))
    monkeypatch.setattr("linnet.cli.output.time.perf_counter", lambda: float(next(clock)))
    with ProgressBars() as progress:
        progress.stage("scoring", 100)
        progress.update(25, 100, "10 MB/s", line="  1 of 4 shards")
        progress.line("bad shard 2")
    assert capsys.readouterr().err.splitlines() == ["  1 of 4 shards", "bad shard 2"]
    with ProgressBars(quiet=True) as progress:
        progress.stage("scoring", 100)
        progress.update(25, 100, line="  1 of 4 shards")
        progress.line("bad shard 2")
    assert capsys.readouterr().err == ""
