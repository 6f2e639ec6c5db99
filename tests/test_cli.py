"""The command line, run as a user runs it: a real process, real files, exit codes, what goes to which stream."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import select
import signal
import subprocess
import sys
import time

import pytest

from linnet import __version__
from linnet.datasets import load
from linnet.evaluate.metrics import ALL_METRICS
from running import run

TRAIN, DEV, TEST = load("reviews")


def write(path, data):
    with path.open("w", encoding="utf-8", newline="") as f:
        rows = csv.writer(f)
        rows.writerow(["label", "text"])
        rows.writerows(zip(data.label.to_pylist(), data.text.to_pylist(), strict=True))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    write(folder / "train.csv", TRAIN)
    write(folder / "test.csv", TEST)
    done = run("train", "train.csv", "--features", "words:1-2", "--out", "m.linnet", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_train_says_what_it_did(folder):
    done = run("train", "train.csv", "--test", "test.csv", "--features", "words:1", "--json", "r.json", cwd=folder)
    assert done.returncode == 0
    out, err = done.stdout.decode(), done.stderr.decode()
    assert out.startswith("test accuracy 0.")
    assert "saved train.linnet" in out
    assert "text column 'text'" in err
    assert "dev accuracy" in err
    assert "passes, mean loss" in err
    result = json.loads((folder / "r.json").read_text())
    assert result["test"]["n"] == len(TEST)
    assert result["card"]["settings"]["features"] == "words:1"


def test_the_perceptron_says_that_it_has_separated_the_rows(tmp_path):
    texts = ["good film", "good fun", "great fun", "bad film", "bad bore", "awful bore"] * 5
    rows = "".join(f"{'neg' if 'b' in t else 'pos'},{t} {k}\n" for k, t in enumerate(texts))
    (tmp_path / "small.csv").write_text("label,text\n" + rows, encoding="utf-8")
    done = run("train", "small.csv", "--model", "perceptron", "--features", "words:1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    assert re.search(r"separated the training rows after \d+ passes", done.stderr.decode())


def test_train_splits_by_itself_and_is_reproducible(folder):
    a = run("train", "train.csv", "--features", "words:1", "--out", "a.linnet", "--threads", "1", "-q", cwd=folder)
    b = run("train", "train.csv", "--features", "words:1", "--out", "b.linnet", "--threads", "2", "-q", cwd=folder)
    assert a.returncode == b.returncode == 0
    assert (folder / "a.linnet").read_bytes() == (folder / "b.linnet").read_bytes()
    assert b"on 183 rows" in a.stdout


def test_predict_pipes(folder):
    done = run("predict", "m.linnet", stdin=b"a wonderful book\na dull, boring mess\n\n", cwd=folder)
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()
    assert len(lines) == 3
    assert set(lines) <= {"positive", "negative"}


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "txt"])
def test_predict_writes_whole_files_of_each_form(folder, ending):
    done = run("predict", "m.linnet", "test.csv", "--out", f"p.{ending}", cwd=folder)
    assert done.returncode == 0
    lines = (folder / f"p.{ending}").read_text().splitlines()
    assert len(lines) == len(TEST) + (ending in ("csv", "tsv"))
    if ending == "jsonl":
        assert set(json.loads(lines[0])) == {"label", "probability"}
    if ending == "csv":
        assert lines[0] == "label,probability"
    assert not list(folder.glob(".*part"))


def test_predict_probabilities(folder):
    done = run("predict", "m.linnet", "test.csv", "--proba", "-q", cwd=folder)
    rows = list(csv.DictReader(done.stdout.decode().splitlines()))
    assert list(rows[0]) == ["label", "probability", "p_negative", "p_positive"]
    for row in rows:
        assert abs(float(row["p_negative"]) + float(row["p_positive"]) - 1) < 1e-5
        assert float(row[f"p_{row['label']}"]) == float(row["probability"])


def test_predict_reads_gzip_and_survives_a_closed_pipe(folder):
    (folder / "many.txt.gz").write_bytes(gzip.compress(b"some words to label\n" * 50_000))
    command = f"{sys.executable} -m linnet predict m.linnet many.txt.gz | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, cwd=folder, timeout=120, check=False)
    assert done.stdout.decode().strip() in ("positive", "negative")
    assert b"Traceback" not in done.stderr


def test_evaluate(folder):
    done = run("evaluate", "m.linnet", "test.csv", "--json", "-", cwd=folder)
    assert done.returncode == 0
    result = json.loads(done.stdout)
    for key in ("accuracy", "macro_f1", "micro_f1", "log_loss", "confusion", "per_class", "n"):
        assert key in result, sorted(result)
    for name in ALL_METRICS:
        assert {name.replace("-", "_"), name.replace("-", "_") + "_interval"} <= set(result)
    assert -1 <= result["matthews_interval"][0] <= result["matthews"] <= 1
    done = run("evaluate", "m.linnet", "test.csv", cwd=folder)
    assert b"precision" in done.stdout


def test_explain(folder):
    done = run("explain", "m.linnet", "not a dull page in this wonderful book", cwd=folder)
    assert b"= score" in done.stdout
    assert b"\x1b[" not in done.stdout
    coloured = run("explain", "m.linnet", "a dull page", "--color", cwd=folder)
    assert b"\x1b[" in coloured.stdout
    found = json.loads(run("explain", "m.linnet", "--json", "a dull page", cwd=folder).stdout)
    assert abs(found["bias"] + sum(c["value"] for c in found["contributions"]) - found["score"]) < 1e-6


def test_info(folder):
    done = run("info", "m.linnet", cwd=folder)
    assert b"checksum right" in done.stdout
    assert json.loads(run("info", "m.linnet", "--json", cwd=folder).stdout)["linnet"] == __version__


def test_demo_tells_the_whole_story(tmp_path):
    done = run("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    out = done.stdout.decode()
    for word in ("labels may be wrong", "near-duplicates", "test accuracy", "= score", "What to try next"):
        assert word in out
    assert "delivery: probability" in out
    for name in ("tickets.csv", "tickets.linnet", "tickets.html"):
        assert (tmp_path / name).exists()
    assert run("demo", cwd=tmp_path).returncode == 0  # its own files are no obstacle
    (tmp_path / "tickets.csv").write_text("text,label\nmine,a\n")
    refused = run("demo", cwd=tmp_path)
    assert refused.returncode == 2
    assert b"another tickets.csv" in refused.stderr
    assert (tmp_path / "tickets.csv").read_text() == "text,label\nmine,a\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "missing.csv"], "missing.csv"),
        (["train", "empty.csv"], "empty"),
        (["train", "picture.png"], "picture.png"),
        (["train", "train.csv", "--label", "lable"], "did you mean 'label'"),
        (["train", "train.csv", "--model", "svn"], "did you mean 'svm'"),
        (["train", "train.csv", "--out", "no/such/folder/m.linnet"], "folder"),
        (["train", "one.csv"], "label"),
        (["predict", "train.csv", "test.csv"], "train.csv"),
        (["predict", "m.linnet", "missing.csv"], "missing.csv"),
        (["predict", "cut.linnet", "test.csv"], "cut.linnet"),
        (["evaluate", "m.linnet", "empty.csv"], "empty"),
        (["explain", "m.linnet", " "], "no text"),
        (["trian", "train.csv"], "did you mean 'train'"),
    ],
)
def test_errors_are_one_line_and_exit_2(folder, arguments, message):
    (folder / "empty.csv").write_bytes(b"")
    (folder / "one.csv").write_text("text\nsome words\nother words\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    (folder / "cut.linnet").write_bytes((folder / "m.linnet").read_bytes()[:5000])
    done = run(*arguments, cwd=folder)
    err = done.stderr.decode()
    assert done.returncode == 2, err
    assert message in err
    assert "Traceback" not in err
    assert err.count("\nlinnet:") + err.startswith("linnet:") == 1
    assert "Traceback" in run("--debug", *arguments, cwd=folder).stderr.decode()


def test_unusable_rows_are_kept_aside(folder):
    lines = (folder / "train.csv").read_text().splitlines()
    (folder / "dirty.csv").write_text("\n".join([*lines, "positive,", ",no label here", "a,b,c,d"]) + "\n")
    done = run("train", "dirty.csv", "--features", "words:1", "--unusable", "aside.csv", "-q", cwd=folder)
    assert done.returncode == 0, done.stderr
    aside = list(csv.DictReader((folder / "aside.csv").open()))
    assert len(aside) == 3
    assert b"3 unusable" in done.stderr


def test_version_imports_no_numpy_and_predict_neither_scipy_nor_sklearn(folder):
    probe = (
        "import atexit, sys; from linnet.cli import main\n"
        "atexit.register(lambda: print(sorted({m.split('.')[0] for m in sys.modules}), file=sys.stderr)); main()"
    )

    def modules(*arguments, stdin=None):
        done = subprocess.run(
            [sys.executable, "-c", probe, *arguments],
            capture_output=True,
            cwd=folder,
            input=stdin,
            timeout=60,
            check=False,
        )
        return done.stderr.decode()

    heavy = modules("--version")
    assert "'numpy'" not in heavy
    assert "'pyarrow'" not in heavy
    heavy = modules("predict", "m.linnet", "-", stdin=b"some words\n")
    for name in ("scipy", "sklearn", "pandas", "polars", "rich"):
        assert f"'{name}'" not in heavy


def test_interrupt_while_training_saves_a_model(folder):
    """Ctrl-C in the search ends it; the model is fitted with the best settings so far and saved."""
    lines = (folder / "train.csv").read_text().splitlines()
    rows = [f"{line[:-1]} {k}{line[-1]}" for k in range(12) for line in lines[1:]]  # enough work to interrupt
    (folder / "long.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "linnet", "train", "long.csv", "--model", "logistic", "--out", "stopped.linnet"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    seen = b""
    began = time.monotonic()
    while b"dev accuracy" not in seen and time.monotonic() - began < 60:
        seen += process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert b"saved stopped.linnet" in out
    tried = json.loads(run("info", "stopped.linnet", "--json", cwd=folder).stdout)["choice"]["tried"]
    assert len(tried) < 4


LIVE = {
    "lines": (
        [b"a warm and funny book\n", b"dull, long and dull\n", b"one\ntwo\nthree\n", b"no end of li", b"ne\n"],
        [1, 1, 3, 0, 1],
    ),
    "json lines": ([b'{"text": "warm"}\n', b'{"text": "dull"}\n{"text": "warm"}\n'], [1, 2]),
    "csv": ([b"text,label\n", b"warm,positive\n", b'"a\nb",negative\n'], [0, 1, 1]),
    "short": ([b"ok\n", b"\n", b"x"], [1, 1, 0]),
}


@pytest.mark.skipif(os.name != "posix", reason="pipes are not waited for on Windows")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", list(LIVE))
def test_predict_answers_a_live_pipe_when_it_pauses(folder, kind):
    pieces, counts = LIVE[kind]
    command = [sys.executable, "-m", "linnet", "predict", str(folder / "m.linnet"), "-", "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for piece, count in zip(pieces, counts, strict=True):
            process.stdin.write(piece)
            process.stdin.flush()
            assert [process.stdout.readline() in (b"positive\n", b"negative\n") for _ in range(count)] == [True] * count
            time.sleep(0.2)
            assert select.select([process.stdout], [], [], 0)[0] == []  # and nothing more
        process.stdin.close()
        assert len(process.stdout.read().splitlines()) == (1 if kind == "short" else 0)
        assert process.wait() == 0
