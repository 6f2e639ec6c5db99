"""linnet check, linnet split and the seal, run as a user runs them."""

from __future__ import annotations

import csv
import json

import pytest

import running
from linnet.cli import linnet
from linnet.data import read
from linnet.datasets import load
from linnet.errors import LinnetError

TRAIN, DEV, TEST = load("reviews")


def run(*arguments, cwd, stdin=None):
    return running.run(*arguments, stdin=stdin, cwd=cwd, env={"COLUMNS": "100"}, text=True)


def refused(*arguments):
    """Run in this process, in the current folder; return the one line that says why not."""
    with pytest.raises(LinnetError) as caught:
        linnet.main([*map(str, arguments)], prog_name="linnet", standalone_mode=False)
    return str(caught.value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    rows = list(zip(TRAIN.label.to_pylist(), TRAIN.text.to_pylist(), strict=True))
    with (folder / "d.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "author", "day", "label", "text"])
        for k, (label, text) in enumerate(rows):
            out.writerow([k, f"writer {k % 40}", f"2024-{k % 12 + 1:02}-{k % 28 + 1:02}", label, text])
        out.writerow([9999, "", "2024-01-01", "pos", ""])
    return folder


def test_split_keeps_columns_and_says_what_it_did(folder):
    done = run("split", "d.csv", "--out-dir", "plain", "--json", "split.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "1 unusable row: 1 empty text" in done.stderr
    assert done.stdout.startswith("train ")
    found = json.loads((folder / "split.json").read_text())
    assert [part["part"] for part in found["parts"]] == ["train", "dev", "test"]
    assert found["seal"] is None
    assert sum(part["rows"] for part in found["parts"]) == len(TRAIN) == found["rows"]
    ids = []
    for name in ("train", "dev", "test"):
        with (folder / "plain" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == ["id", "author", "day", "label", "text"]
        ids += [row["id"] for row in rows]
    assert sorted(map(int, ids)) == list(range(len(TRAIN)))
    first = (folder / "plain" / "test.csv").read_bytes()
    assert run("split", "d.csv", "--out-dir", "plain", cwd=folder).returncode == 0
    assert (folder / "plain" / "test.csv").read_bytes() == first


def test_split_by_author_and_by_time(folder):
    assert run("split", "d.csv", "--groups", "author", "--out-dir", "authors", cwd=folder).returncode == 0
    parts = [
        set(read(folder / "authors" / f"{n}.csv", also=["author"]).column("author")) for n in ("train", "dev", "test")
    ]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 40
    done = run(
        "split",
        "d.csv",
        "--time",
        "day",
        "--train",
        "old.parquet",
        "--test",
        "new.jsonl",
        "--fractions",
        "70,30",
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    old, new = (read(folder / name, also=["day"]).column("day") for name in ("old.parquet", "new.jsonl"))
    assert max(old) < min(new)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--groups", "author", "--time", "day"], "not both"),
        (["--groups", "writer"], "unknown column 'writer'"),
        (["--fractions", "a,b"], "--fractions takes numbers"),
        (["--fractions", "1"], "two or three shares"),
        (["--train", "x.csv"], "2 parts need --train, --test"),
        (["--train", "x.csv", "--test", "x.csv"], "different files"),
        (["--train", "x.docx", "--test", "y.csv"], "cannot tell how to write"),
        (["--train", "d.csv", "--test", "y.csv"], "is also an input"),
        (["--time", "id", "--out-dir", "a", "--test", "t.csv"], "not both"),
        (["--time", "author"], "is no date, and all rows must have one kind of time"),
    ],
)
def test_split_refuses(folder, monkeypatch, options, message):
    monkeypatch.chdir(folder)
    assert message in refused("split", "d.csv", *options)


def test_blind_test_set(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert "sealed blind/test.csv" in run("split", "d.csv", "--blind", "--out-dir", "blind", cwd=folder).stdout
    assert "sealed as a blind test set" in refused("split", "d.csv", "--blind", "--out-dir", "blind")
    done = run("train", "blind/train.csv", "--test", "blind/test.csv", "--model", "nb", "--features", "words:1", "--out", "m.linnet",
               "--json", "r.json", cwd=folder)  # fmt: skip
    assert "looked at 1 time\n" in done.stdout
    assert len(json.loads((folder / "r.json").read_text())["seal"]["looks"]) == 1
    assert "looked at 2 times" in run("evaluate", "m.linnet", "blind/test.csv", cwd=folder).stdout
    found = json.loads(run("evaluate", "m.linnet", "blind/test.csv", "--json", "-", cwd=folder).stdout)
    assert [one["command"] for one in found["seal"]["looks"]] == ["train", "evaluate", "evaluate"]
    assert json.loads(run("evaluate", "m.linnet", "blind/dev.csv", "--json", "-", cwd=folder).stdout)["seal"] is None
    for verb in (
        ["train", "blind/test.csv"],
        ["compare", "blind/test.csv"],
        ["train", "d.csv", "--dev", "blind/test.csv"],
    ):
        assert "cannot be used to learn from" in refused(*verb)
    checked = run("check", "blind/train.csv", "blind/test.csv", "--only", "leaks", cwd=folder)
    assert "looked at 4 times" in checked.stderr
    with (folder / "blind" / "test.csv").open("a") as file:
        file.write("1,w,2024-01-01,pos,one more\n")
    changed = run("evaluate", "m.linnet", "blind/test.csv", cwd=folder)
    assert changed.returncode == 2
    assert "has changed since it was sealed" in changed.stderr


def test_split_of_nothing_leaves_nothing(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    for name in ("empty.csv", "missing.csv"):
        assert run("split", name, cwd=tmp_path).returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["empty.csv"]


def test_check_page_json_and_suspects(folder):
    lines = list(csv.reader((folder / "d.csv").open(encoding="utf-8", newline="")))
    for row in lines[1:-1]:  # texts that tell their label plainly
        row[4] += " splendid, a joy" if row[3] == "positive" else " dreary, a bore"
    for row in lines[1:-1:25]:  # and some wrong labels
        row[3] = "negative" if row[3] == "positive" else "positive"
    with (folder / "wrong.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(lines)
    done = run("check", "wrong.csv", "--suspects", "s.csv", "--json", "c.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "verdict: " in done.stdout
    assert "check 1 of 8: duplicates" in done.stderr
    found = json.loads((folder / "c.json").read_text())
    assert found["unusable"] == 1
    names = [one["check"] for one in found["findings"]]
    assert names == [
        "duplicates",
        "near-duplicates",
        "conflicts",
        "loopholes",
        "label-errors",
        "imbalance",
        "tiny",
        "encoding",
    ]
    with (folder / "s.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == found["findings"][4]["count"] > 0
    assert {"row", "label", "suggested", "confidence", "words", "text"} == set(rows[0])
    texts = [row[4] for row in lines[1:]]
    assert all(texts[int(row["row"]) - 1] == row["text"] and row["label"] != row["suggested"] for row in rows)
    out = json.loads(run("check", "d.csv", "-q", "--only", "tiny", "--json", "-", cwd=folder).stdout)
    assert [one["check"] for one in out["findings"]] == ["tiny"]


def test_check_reads_standard_input_and_lists(folder):
    done = run("check", "-", "--only", "duplicates", stdin="text,label\nso good,a\nso good,b\n", cwd=folder)
    assert "1 of 2 texts repeats an earlier one" in done.stdout
    listed = run("check", "--list", cwd=folder)
    assert listed.returncode == 0
    assert "label-errors" in listed.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only", "label-error"], "did you mean 'label-errors'"),
        (["--json", "no/such/folder.json"], "does not exist"),
        (["--suspects", "s2.csv", "--skip", "label-errors"], "--suspects needs labels"),
    ],
)
def test_check_refuses(folder, monkeypatch, options, message):
    monkeypatch.chdir(folder)
    assert message in refused("check", "d.csv", *options)


def test_train_checks_in_brief(folder):
    rows = read(folder / "d.csv")
    with (folder / "twice.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["label", "text"])
        out.writerows([*zip(rows.label.to_pylist(), rows.text.to_pylist(), strict=True)] * 2)
    options = ["--model", "nb", "--features", "words:1", "--out", "t.linnet"]
    apart = run("train", "twice.csv", *options, cwd=folder)
    assert "near duplicates kept together (100% of the rows have one" in apart.stderr
    assert "texts of the test rows" not in apart.stderr
    options += ["--groups", "none"]
    done = run("train", "twice.csv", *options, cwd=folder)
    assert "check: duplicates: " in done.stderr
    assert "texts of the test rows" in done.stderr
    quiet = run("train", "twice.csv", "--no-check", *options, cwd=folder)
    assert "check:" not in quiet.stderr
    assert quiet.stdout == done.stdout
