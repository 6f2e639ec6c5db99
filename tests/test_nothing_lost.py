"""Nothing is lost: no command replaces what it reads, or a file of another kind; swallowed rows are named; formats are kept."""

from __future__ import annotations

import json
import os
import re

import click
import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import linnet
from linnet.cli import COMMANDS
from linnet.cli import linnet as command_line
from linnet.cli.options import InputPath, OutputPath
from linnet.data import read, stream
from linnet.errors import DataError, LinnetError
from linnet.files import write_atomic

WORDS = ["good", "great", "fun", "warm", "fine", "dull", "bad", "poor", "cold", "weak"]
ROWS = [("pos" if k < 5 else "neg", f"{WORDS[k]} film number {n}") for n in range(6) for k in range(10)]
CSV = "label,text\n" + "".join(f"{label},{text}\n" for label, text in ROWS)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("lost") / "m.linnet"
    linnet.TextClassifier("nb", features="words:1").fit([t for _, t in ROWS], [y for y, _ in ROWS]).save(path)
    return path


@pytest.fixture
def folder(tmp_path, model, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "same.csv").write_text(CSV)
    (tmp_path / "other.csv").write_text(CSV.replace("number", "no"))
    (tmp_path / "m.linnet").write_bytes(model.read_bytes())
    (tmp_path / "words.txt").write_text("rude\n")
    return tmp_path


def run(*arguments, **settings):
    return CliRunner().invoke(command_line, [str(a) for a in arguments], **settings)


def refused(*arguments, match):
    done = run(*arguments)
    assert isinstance(done.exception, LinnetError), (arguments, done.exception, done.output)
    assert re.search(match, str(done.exception)), done.exception
    return done


COMMANDS_THAT_WRITE = [
    ["train", "same.csv", "--out", "same.csv"],
    ["train", "same.csv", "--test", "other.csv", "--out", "other.csv"],
    ["train", "same.csv", "--json", "same.csv"],
    ["train", "same.csv", "--report", "same.csv"],
    ["train", "same.csv", "--unusable", "same.csv"],
    ["tune", "same.csv", "--out", "same.csv"],
    ["tune", "same.csv", "--resume", "same.csv"],
    ["predict", "m.linnet", "same.csv", "--out", "same.csv"],
    ["predict", "m.linnet", "same.csv", "--out", "m.linnet"],
    ["predict", "m.linnet", "*.csv", "--out", "same.csv"],
    ["evaluate", "m.linnet", "same.csv", "--json", "same.csv"],
    ["evaluate", "m.linnet", "same.csv", "--report", "m.linnet"],
    ["vocab", "same.csv", "--save", "same.csv"],
    ["vocab", "same.csv", "--other", "other.csv", "--plot", "other.csv"],
    ["clean", "same.csv", "--out", "same.csv"],
    ["clean", "same.csv", "--bad-words", "words.txt", "--report", "words.txt"],
    ["clean", "same.csv", "--out", "x.csv", "--removed", "same.csv"],
    ["check", "same.csv", "other.csv", "--suspects", "other.csv"],
    ["check", "same.csv", "--json", "same.csv"],
    ["compare", "same.csv", "--out", "same.csv"],
    ["split", "same.csv", "--train", "same.csv", "--test", "t.csv"],
    ["split", "same.csv", "--json", "same.csv"],
    ["tokenize", "--train", "same.csv", "--tokens", "bpe:300", "--save", "same.csv", "x"],
]


@pytest.mark.parametrize("arguments", COMMANDS_THAT_WRITE, ids=" ".join)
@pytest.mark.parametrize("link", ["name", "symbolic", "hard"])
def test_an_output_that_is_an_input_is_refused(arguments, link, folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    target = arguments[-1] if arguments[-1] in before else next(a for a in reversed(arguments) if a in before)
    at = len(arguments) - 1 - arguments[::-1].index(target)
    if link != "name":
        name = f"link{os.path.splitext(target)[1]}"  # noqa: PTH122
        (os.symlink if link == "symbolic" else os.link)(folder / target, folder / name)
        arguments = [*arguments[:at], name, *arguments[at + 1 :]]
    refused(*arguments, "--force", match="is also an input")
    for name, content in before.items():
        assert (folder / name).read_bytes() == content


def test_an_output_inside_an_input_folder_is_refused(folder):
    (folder / "in").mkdir()
    (folder / "in" / "a.csv").write_text(CSV)
    refused("clean", "in", "--out", "in/a.csv", match="is also an input")


def test_two_outputs_must_differ(folder):
    refused("train", "same.csv", "--out", "x", "--json", "./x", match="must be different files")


def test_a_file_of_another_kind_is_not_replaced(folder):
    for arguments in (
        ["train", "same.csv", "--model", "nb", "--features", "words:1", "--out", "other.csv"],
        ["predict", "m.linnet", "same.csv", "--out", "notes.jsonl"],
        ["vocab", "same.csv", "--save", "notes.jsonl"],
        ["train", "same.csv", "--model", "nb", "--features", "words:1", "--json", "other.csv"],
        ["evaluate", "m.linnet", "same.csv", "--report", "other.csv"],
        ["compare", "same.csv", "--models", "nb", "--out", "page.html"],
    ):
        (folder / "notes.jsonl").write_text("my notes\n")
        (folder / "page.html").write_text("<!DOCTYPE html>")
        refused(
            *arguments,
            match=r"is a file of the kind .*, not .*, and would be lost; give --\w+ another file, or --force",
        )
        done = run(*arguments, "--force")
        assert done.exit_code == 0, (arguments, done.exception)


def test_the_default_name_of_a_model_is_checked_too(folder):
    (folder / "same.linnet").write_text(CSV)
    refused("train", "same.linnet", "--format", "csv", match="is also an input")
    refused(
        "train", "same.csv", "--model", "nb", "--features", "words:1", match="is a file of the kind text, not model"
    )


def test_a_file_of_the_same_kind_is_replaced(folder):
    for _ in range(2):
        assert run("predict", "m.linnet", "same.csv", "--out", "p.csv").exit_code == 0
        assert run("train", "same.csv", "--model", "nb", "--features", "words:1", "--json", "x.json").exit_code == 0


def test_the_results_of_a_search_go_to_no_other_file(folder):
    (folder / "notes.jsonl").write_text('{"mine": 1}\n')
    refused(
        "tune", "same.csv", "--resume", "notes.jsonl", "--budget", "1s", match="not a file of results of linnet tune"
    )
    assert (folder / "notes.jsonl").read_text() == '{"mine": 1}\n'


def test_every_parameter_that_names_a_file_says_which_it_is():
    """A new option that takes a file must be declared as InputPath or OutputPath, or be listed here."""
    folders = {
        ("filter", "--out"),
        ("split", "--out-dir"),
        ("clean", "--temp"),
        ("train", "--cache"),
        ("studio", "--folder"),
    }
    for name in COMMANDS:
        command = command_line.get_command(click.Context(command_line), name)
        for p in command.params:
            metavar = p.metavar or (p.name or "").upper()
            if (
                re.match(r"(F|FILE|D|DIR|DATA|MODEL|INPUT|OTHERS)\b", metavar.strip("["))
                and (name, p.opts[-1]) not in folders
            ):
                assert isinstance(p.type, InputPath | OutputPath), (name, p.opts)
        writes = any(isinstance(p.type, OutputPath) for p in command.params)
        assert writes == any(p.name == "force" for p in command.params), name


# ---- swallowed rows

LINES = [f"{label},{text}\n" for label, text in ROWS]
LINES[2] = LINES[2].replace(",", ',"')
UNCLOSED = "label,text\n" + "".join(LINES)
LINES[40] = LINES[40].replace(",", ',"').replace("\n", '"\n')
LATE = "label,text\n" + "".join(LINES)


@pytest.mark.parametrize(("content", "how"), [(UNCLOSED, "is never closed"), (LATE, "is closed too late")])
@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "m.linnet", "q.csv", "--out", "p.csv", "--quiet"],
        ["clean", "q.csv", "--out", "c.csv", "--quiet"],
        ["vocab", "q.csv"],
        ["tokenize", "q.csv"],
        ["train", "q.csv", "--model", "nb", "--features", "words:1", "--test", "same.csv"],
        ["train", "q.csv", "--model", "nb", "--features", "words:1", "--max-memory", "1GB", "--test", "same.csv"],
        ["evaluate", "m.linnet", "q.csv"],
        ["split", "q.csv"],
        ["check", "q.csv"],
    ],
    ids=lambda a: " ".join(a[:1]) if isinstance(a, list) else None,
)
def test_swallowed_rows_are_named(content, how, arguments, folder):
    (folder / "q.csv").write_text(content)
    done = run(*arguments)
    assert f"row 3: a quote {how}" in done.output + str(done.exception), (done.output, done.exception)


def test_filter_names_swallowed_rows(folder):
    (folder / "q.csv").write_text(LATE)
    done = run("filter", "m.linnet", "q.csv", "--out", "kept", "--keep", "pos", "--quiet")
    assert done.exit_code == 0, done.exception
    assert "row 3: a quote is closed too late" in done.output
    assert "row 3" in json.loads((folder / "kept" / "_manifest.json").read_text())["notes"][0]["note"]


def test_a_header_whose_quote_is_not_closed(folder):
    (folder / "q.csv").write_text('label,"text\n' + CSV)
    assert "row 1: a quote is never closed" in run("predict", "m.linnet", "q.csv").output


def test_long_texts_in_quotes_are_no_swallowed_rows(tmp_path):
    letter = "Dear sir,\n\nI write, as I said,\nabout the film.\nIt is good, I think.\nIt is long, too.\nYours,\nme\n"
    (tmp_path / "l.csv").write_text("label,text\n" + "".join(f'{y},"{letter}{t}"\n' for y, t in ROWS))
    data = linnet.read(tmp_path / "l.csv")
    assert len(data) == 60
    assert data.notes == ()


# ---- formats and columns


def test_the_ending_says_the_format(folder):
    for name, opened in (
        ("p.parquet", pq.read_table),
        ("p.arrow", lambda path: pa.ipc.open_file(path).read_all()),
        ("p.arrows", lambda path: pa.ipc.open_stream(path).read_all()),
    ):
        assert run("predict", "m.linnet", "same.csv", "--out", name, "--proba").exit_code == 0
        assert opened(name).column_names == ["label", "probability", "p_neg", "p_pos"]
    for name in ("p.xlsx", "p", "p.parquet.gz", "p.json"):
        refused("predict", "m.linnet", "same.csv", "--out", name, match="cannot tell how to write")
        assert not (folder / name).exists()
    refused("predict", "m.linnet", "same.csv", "--out", "p.pq", "--to", "csv", match="two formats")
    assert run("predict", "m.linnet", "same.csv", "--out", "result", "--to", "csv").exit_code == 0
    assert (folder / "result").read_text().startswith("label,probability\n")


def test_columns_are_kept(folder):
    rows = [{"id": k, "date": f"2026-01-{k:02}", "text": t, "label": y} for k, (y, t) in enumerate(ROWS[:20], 1)]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, folder / "in.parquet")
    assert run("predict", "m.linnet", "in.parquet", "--keep-columns", "--out", "p.parquet").exit_code == 0
    found = pq.read_table(folder / "p.parquet")
    assert found.column_names == ["id", "date", "text", "label", "predicted_label", "probability"]
    assert found.column("id").type == pa.int64()
    assert found.select(["id", "date", "text", "label"]).to_pylist() == rows
    (folder / "in.csv").write_text("id,date,text\n1,2026,good film\n2,2027,bad film\n3\n")
    done = run("predict", "m.linnet", "in.csv", "--keep-columns", "date,id", "--quiet")
    assert done.stdout.splitlines()[0] == "date,id,label,probability"
    assert [line.split(",")[:3] for line in done.stdout.splitlines()[1:3]] == [
        ["2026", "1", "pos"],
        ["2027", "2", "neg"],
    ]
    assert len(done.stdout.splitlines()) == 4
    done = run("predict", "m.linnet", "in.csv", "--keep-columns=all", "--to", "jsonl", "--proba", "--quiet")
    assert list(json.loads(done.stdout.splitlines()[0])) == [
        "id",
        "date",
        "text",
        "label",
        "probability",
        "p_neg",
        "p_pos",
    ]
    refused("predict", "m.linnet", "in.csv", "--keep-columns", "idd", match="unknown column 'idd'.*did you mean 'id'")
    refused("predict", "m.linnet", "--keep-columns", "in.csv", match="takes names of columns")
    refused("predict", "m.linnet", "in.csv", "--keep-columns=all", "--to", "lines", match="needs columns")


def test_cells_that_look_like_formulas_are_the_users_choice(folder):
    (folder / "in.csv").write_text('id,text\n=1+1,good film\n-5,@bad film\n+x,"\tgood"\n')
    plain = run("predict", "m.linnet", "in.csv", "--keep-columns=all", "--quiet").stdout
    assert "\n=1+1,good film," in plain
    safe = run("predict", "m.linnet", "in.csv", "--keep-columns=all", "--safe-csv", "--quiet").stdout.splitlines()
    assert [line.rsplit(",", 2)[0] for line in safe[1:]] == ["'=1+1,good film", "-5,'@bad film", "'+x,'\tgood"]


# ---- files that crash parsers


def test_offsets_that_point_elsewhere(tmp_path):
    """Reading such a column would read other memory."""
    for offsets in ([0, 3, 1, 6], [0, -5, 4, 6]):
        bad = pa.Array.from_buffers(
            pa.string(), 3, [None, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(b"abcdef")]
        )
        table = pa.table([bad, pa.array(["x", "y", "x"])], names=["text", "label"])
        with pytest.raises(DataError, match="column 'text' is damaged"):
            read(table)


@pytest.mark.parametrize(
    "row", ['{"a":' * 100_000 + "1" + "}" * 100_000, "[" * 100_000, '{"text": ' + "[" * 5000 + "]" * 5000 + "}"]
)
def test_json_that_is_too_deep(tmp_path, row):
    path = tmp_path / "deep.jsonl"
    path.write_text(f"{row}\n" * 3)
    with pytest.raises(DataError):
        read(path)


def test_names_that_no_file_can_hold(tmp_path):
    path = tmp_path / "odd.jsonl"
    path.write_text('{"": "a b", "label": "n", "\\ud800": "x"}\n' * 20)
    data = read(path, text="", also=["?"])
    assert data.text.to_pylist()[0] == "a b"
    assert [batch.text[0].as_py() for batch in stream(path, text="")] == ["a b"]


def test_odd_types_of_arrow(tmp_path):
    runs = pa.RunEndEncodedArray.from_arrays([10, 20], ["x", "y"])
    interval = pa.array([(1, 2, 3)] * 20, pa.month_day_nano_interval())
    table = pa.table([pa.array([f"text {k}" for k in range(20)]), runs, interval], names=["text", "label", "span"])
    with pa.OSFile(str(tmp_path / "odd.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    assert read(tmp_path / "odd.arrow", also=["span"]).counts == {"x": 10, "y": 10}
    done = run("split", tmp_path / "odd.arrow", "--out-dir", tmp_path / "parts")
    assert isinstance(done.exception, LinnetError | SystemExit | None)


def test_links_to_themselves_and_names_that_are_not_utf8(tmp_path):
    (tmp_path / "itself.csv").symlink_to(tmp_path / "itself.csv")
    assert isinstance(run("train", tmp_path / "itself.csv", "--out", tmp_path / "m.linnet").exception, LinnetError)
    write_atomic(tmp_path / "found.json", json.dumps({"file": "caf\udce9.csv"}, ensure_ascii=False))
    assert json.loads((tmp_path / "found.json").read_text()) == {"file": "caf\udce9.csv"}
