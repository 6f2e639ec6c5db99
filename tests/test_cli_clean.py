"""``linnet clean``: what goes in comes out or is accounted for, in every form."""

from __future__ import annotations

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from running import run

LINNET = [sys.executable, "-m", "linnet", "clean"]


def linnet(*args, stdin="", code=0, cwd=None):
    return run("clean", *args, stdin=stdin, cwd=cwd, text=True, code=code)


@pytest.fixture
def reviews(tmp_path):
    path = tmp_path / "reviews.csv"
    rows = [
        ("1", "pos", "A <b>good</b> film,\nsee http://example.org"), ("2", "neg", ""), ("3", "neg", "Bad &amp; long"),
        ("4", "pos", "Bad & long"),
    ]  # fmt: skip
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label", "text"])
        writer.writerows(rows)
    return path


def test_standard_output_is_json_lines(reviews):
    done = linnet(reviews)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows == [
        {"id": "1", "label": "pos", "text": "A good film,\nsee"},
        {"id": "3", "label": "neg", "text": "Bad & long"},
        {"id": "4", "label": "pos", "text": "Bad & long"},
    ]
    assert "text column 'text' (by name)" in done.stderr
    assert "kept" in done.stderr
    assert linnet(reviews, "-q").stderr == ""


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "csv.gz", "jsonl.zst"])
def test_every_form_comes_back(reviews, tmp_path, ending):
    from linnet.data import read

    out, gone, page = tmp_path / f"out.{ending}", tmp_path / f"gone.{ending}", tmp_path / "report.html"
    done = linnet(
        reviews,
        "--rules",
        "html,urls=URL",
        "--dedup",
        "exact",
        "--out",
        out,
        "--removed",
        gone,
        "--report",
        page,
        "--json",
    )
    report = json.loads(done.stdout)
    assert report["documents"] == {"input": 4, "kept": 2, "removed": {"empty": 1, "exact": 1}}
    assert report["lines"] == {"input": 5, "changed": {}, "kept": 3, "removed": {"empty": 1, "exact": 1}}
    assert report["adds_up"] is True
    kept = read(out, text="text", label="label")
    assert kept.text.to_pylist() == ["A good film,\nsee URL", "Bad & long"]
    assert kept.label.to_pylist() == ["pos", "neg"]
    aside = read(gone, text="removed_by", label="id")
    assert (aside.text.to_pylist(), aside.label.to_pylist()) == (["empty", "exact"], ["2", "4"])
    assert "<h2>exact</h2>" in page.read_text(encoding="utf-8")


def test_c4_from_a_pipe(tmp_path):
    good = "One line of words here. Two of them, really. Three of them now. Four is more. Five is it."
    pages = [good, good + " {", "lorem ipsum " + good, "Menu\n" + good.replace("One", "Some"), "Short one here."]
    stdin = "".join(json.dumps({"text": page, "n": k}) + "\n" for k, page in enumerate(pages))
    done = linnet("-", "--c4", "--rules", "none", "--out", tmp_path / "o.jsonl", "--json", stdin=stdin)
    report = json.loads(done.stdout)
    assert report["documents"]["removed"] == {"lorem": 1, "curly": 1, "sentences": 1}
    assert report["lines"]["removed"] == {"lorem": 1, "curly": 1, "terminal": 1, "sentences": 1}
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert rows[0] == {"text": good, "n": 0}
    assert rows[1] == {"text": "Some line of words here.", "n": 3}, "the rest repeats spans of the first"
    done = linnet("-", "--c4", "--without", "curly,spans", "--out", tmp_path / "o.jsonl", "--json", stdin=stdin)
    assert json.loads(done.stdout)["documents"]["removed"] == {"empty": 1, "lorem": 1, "sentences": 1}
    words = tmp_path / "words.txt"
    words.write_text("# a list\nmenu\n")
    done = linnet("-", "--rules", "none", "--bad-words", words, "--out", tmp_path / "o.jsonl", "--json", stdin=stdin)
    assert json.loads(done.stdout)["documents"]["removed"] == {"badwords": 1}


def test_bad_rows_and_many_files(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\ngood,pos\nbroken,row,here\n")
    with gzip.open(tmp_path / "b.jsonl.gz", "wt") as file:
        file.write('{"text": "fine", "label": "neg", "extra": 1}\n{"text": "no end\n')
    done = linnet("a.csv", "b.jsonl.gz", "--out", "o.csv", "--removed", "g.jsonl", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["documents"] == {"input": 4, "kept": 2, "removed": {"unreadable": 2}}
    assert (tmp_path / "o.csv").read_text() == "text,label\ngood,pos\nfine,neg\n"
    assert "left out: extra" in done.stderr
    gone = [json.loads(line) for line in (tmp_path / "g.jsonl").read_text().splitlines()]
    assert [(row["source"], row["row"], row["removed_by"]) for row in gone] == [
        ("a.csv", 2, "unreadable"),
        ("b.jsonl.gz", 2, "unreadable"),
    ]
    assert gone[0]["text"].strip() == "broken,row,here"


@pytest.mark.parametrize(("args", "says"), [
    ([], "no input"),
    (["x.csv"], "no file 'x.csv'"),
    (["r.csv", "--rules", "htlm"], "did you mean 'html'"),
    (["r.csv", "--without", "x"], "unknown rule 'x'"),
    (["r.csv", "--dedup", "exat"], "did you mean 'exact'"),
    (["r.csv", "--json"], "--out"),
    (["r.csv", "--out", "o.xyz"], "cannot tell how to write"),
    (["r.csv", "--out", "no/o.csv"], "does not exist"),
    (["r.csv", "--out", "r.csv"], "also an input"),
    (["r.csv", "--out", "o.csv", "--removed", "o.csv"], "different files"),
    (["r.csv", "--report", "r.pdf"], ".json, .html or .txt"),
    (["r.csv", "--max-memory", "lots"], "--max-memory must be a size"),
    (["r.csv", "--text", "body"], "unknown column 'body'"),
    (["r.csv", "--rules", "words=x"], "expected a number"),
    (["r.csv", "--bad-words", "none.txt"], "cannot read the word list"),
    (["r.csv", "--threshold", "2"], "threshold"),
])  # fmt: skip
def test_errors_are_one_line(tmp_path, args, says):
    (tmp_path / "r.csv").write_text("text,label\ngood,pos\n")
    done = linnet(*args, code=2, cwd=tmp_path)
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.csv"]


def test_nothing_left_is_a_file_with_columns(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\n<br>,pos\n")
    for name in ("o.csv", "o.parquet", "o.jsonl"):
        linnet("a.csv", "--out", name, cwd=tmp_path)
    assert (tmp_path / "o.csv").read_text() == "text,label\n"
    assert (tmp_path / "o.jsonl").read_text() == ""
    import pyarrow.parquet as pq

    assert pq.read_table(tmp_path / "o.parquet").column_names == ["text", "label"]


def test_rules_are_listed():
    from linnet.text.clean import C4, RULES

    listed = linnet("--list-rules").stdout
    assert all(name in listed for name in [*RULES, *C4, "exact", "near", "spans"])


def test_interrupted_leaves_nothing(tmp_path):
    process = subprocess.Popen(
        [*LINNET, "-", "--out", "o.csv", "--dedup", "spans", "--temp", str(tmp_path)],
        cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(b"text\n" + b"A good film it was. And more. And more of it.\n" * 100_000)
    process.stdin.flush()
    deadline = time.time() + 60
    while not list(tmp_path.iterdir()) and time.time() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.stdin.close()
    assert process.stderr is not None
    assert b"interrupted" in process.stderr.read()
    assert process.wait(60) == 130
    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_is_no_error(tmp_path):
    path = tmp_path / "many.txt"
    path.write_text("a good film\n" * 200_000)
    process = subprocess.Popen([*LINNET, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ)
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"{")
    process.stdout.close()
    assert process.wait(60) == 0
