"""linnet compare, run as a user runs it: a real process, files, exit codes, Ctrl-C, what goes to which stream."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time

import pytest

from linnet.evaluate.metrics import METRICS
from linnet.models import MODELS
from running import run
from test_cli import TRAIN, write

QUICK = ("--models", "svm,nb", "--features", "words:1", "--folds", "3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    write(folder / "train.csv", TRAIN)
    return folder


def test_the_built_in_data_needs_no_argument_and_lists_every_family(folder):
    done = run("compare", "--features", "words:1", "--folds", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "built-in reviews: 2,282 usable rows" in err
    assert out.startswith("model")
    for word in ("accuracy", "95 % interval", "train s", "size MB", "Test: McNemar", "Use "):
        assert word in out
    for name in MODELS:
        assert name in out  # in the table, or left out with its reason


def test_compare_says_what_it_found(folder):
    done = run("compare", "train.csv", *QUICK, cwd=folder)
    assert done.returncode == 0, done.stderr
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "text column 'text'" in err
    assert err.count("fold 1 of 3: ") == 2
    assert "left" in err
    assert "fold 1" not in out
    assert "\x1b[" not in out
    assert "(p " in out
    quiet = run("compare", "train.csv", *QUICK, "-q", cwd=folder)
    assert b"fold 1" not in quiet.stderr


def test_json_and_csv(folder):
    done = run("compare", "train.csv", *QUICK, "--json", "-", "--out", "table.csv", "-q", "--curve", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rows"] == len(TRAIN)
    assert found["folds"] == found["folds_done"] == 3
    assert {m["model"] for m in found["models"]} == {"svm", "nb"}
    assert set(found["models"][0]) == {
        "model", "accuracy", "accuracy_interval", "macro_f1", "macro_f1_interval", "log_loss", "fold_accuracy",
        "train_seconds", "predict_seconds", "predict_megabytes_per_second", "size_bytes", "settings",
        *(name.replace("-", "_") + end for name in METRICS for end in ("", "_interval")),
    }  # fmt: skip
    assert -1 <= found["models"][0]["matthews_interval"][0] <= found["models"][0]["matthews"] <= 1
    assert set(found["pairs"][0]) >= {"better", "other", "difference", "p", "differ", "test", "bootstrap", "fold_test"}
    assert found["curves"][0]["points"][-1]["accuracy"] == pytest.approx(found["models"][0]["accuracy"])
    rows = list(csv.DictReader((folder / "table.csv").open()))
    assert [row["model"] for row in rows] == [m["model"] for m in found["models"]]
    assert float(rows[0]["accuracy"]) == found["models"][0]["accuracy"]
    piped = run("compare", "train.csv", *QUICK, "--out", "-", "--json", "all.json", cwd=folder)
    assert piped.stdout.decode().splitlines()[0].startswith("model,accuracy,low,high")
    same = json.loads((folder / "all.json").read_text())
    assert [m["accuracy"] for m in same["models"]] == [m["accuracy"] for m in found["models"]]


def test_settings_and_standard_input(folder):
    data = (folder / "train.csv").read_bytes()
    models = "svm:features=words:1,C=0.1/1,ratio=0,nb:features=words:1-2,tf=count"
    done = run("compare", "-", "--format", "csv", "--models", models, "--folds", "2", "-q", stdin=data, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert b"svm:features=words:1,C=0.1/1,ratio=0" in done.stdout
    assert b"nb:features=words:1-2,tf=count" in done.stdout


def test_threads_do_not_matter(folder):
    def scores(threads):
        done = run("compare", "train.csv", *QUICK, "--json", "-", "-q", "--threads", threads, cwd=folder)
        return [(m["model"], m["accuracy"], m["log_loss"]) for m in json.loads(done.stdout)["models"]]

    assert scores(1) == scores(2)


def test_a_closed_pipe(folder):
    command = f"{sys.executable} -m linnet compare train.csv {' '.join(QUICK)} -q | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, cwd=folder, timeout=120, check=False)
    assert done.stdout.startswith(b"model")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.csv"], "missing.csv"),
        (["empty.csv"], "empty"),
        (["picture.png"], "picture.png"),
        (["one.csv"], "every row has the label 'a'"),
        (["alone.csv"], "fewer than two labels have two rows"),
        (["train.csv", "--models", "svn"], "did you mean 'svm'"),
        (["train.csv", "--models", "svm:C=big"], "C must be"),
        (["train.csv", "--features", "word:1"], "did you mean 'words'"),
        (["train.csv", "--label", "lable"], "did you mean 'label'"),
        (["train.csv", "--folds", "2000"], "at most 1828 folds"),
        (["train.csv", "--json", "no/such/folder/r.json"], "does not exist"),
        (["train.csv", "--out", "."], "is a folder"),
        (["train.csv", "--out", "-", "--json", "-"], "standard output"),
    ],
)
def test_errors_are_one_line_and_exit_2(folder, arguments, message):
    (folder / "empty.csv").write_bytes(b"")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    (folder / "one.csv").write_text("text,label\nsome words,a\nother words,a\nmore words,a\n")
    (folder / "alone.csv").write_text("text,label\nsome words,a\nother words,a\nmore words,b\n")
    done = run("compare", *arguments, cwd=folder)
    err = done.stderr.decode()
    assert done.returncode == 2, err
    assert message in err
    assert "Traceback" not in err
    assert err.count("\nlinnet:") + err.startswith("linnet:") == 1


def test_a_label_with_fewer_rows_than_folds(folder):
    lines = (folder / "train.csv").read_text()
    (folder / "rare.csv").write_text(lines + "rare,odd words\nrare,odd ones\n")
    done = run("compare", "rare.csv", "--models", "nb", "--features", "words:1", "-q", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert b"note: labels with fewer rows than the 5 folds: 'rare' 2" in done.stdout


def test_interrupt_reports_the_folds_that_are_finished(folder):
    lines = (folder / "train.csv").read_text().splitlines()
    rows = [f"{line[:-1]} {k}{line[-1]}" for k in range(6) for line in lines[1:]]  # enough work to interrupt
    (folder / "long.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "linnet", "compare", "long.csv", "--models", "nb,logistic", "--json", "part.json"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    seen = b""
    began = time.monotonic()
    while b"fold 1 of 5: logistic" not in seen and time.monotonic() - began < 100:
        seen += process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert b"interrupted" in out
    assert b"Traceback" not in err
    found = json.loads((folder / "part.json").read_text())
    assert not found["finished"]
    assert 1 <= found["folds_done"] < 5
    assert {m["model"] for m in found["models"]} == {"nb", "logistic"}


def test_help_shows_the_notation(folder):
    out = run("compare", "--help", cwd=folder).stdout.decode()
    assert "svm:features=words:1,C=1" in out
    assert "compare" in run("--help").stdout.decode()


def test_the_result_as_a_page(tmp_path):
    data = write(tmp_path / "t.csv", TRAIN.take(list(range(0, len(TRAIN), 6))))
    words = {
        "compare": ("--models", "nb,votes", "--features", "words:1", "--folds", "2"),
        "check": ("--only", "duplicates,imbalance"),
        "tune": ("--models", "nb", "--candidates", "1", "--budget", "9h", "--out", tmp_path / "t.linnet"),
    }
    for name, more in words.items():
        page = tmp_path / f"{name}.html"
        done = run(name, data, *more, "--quiet", "--report", page, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert page.read_text().startswith("<!doctype html>")
        assert {"compare": "macro F1", "check": "imbalance", "tune": "Chosen: nb"}[name] in page.read_text()
