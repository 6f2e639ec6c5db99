"""linnet tune, run as a user runs it: a real process, files, exit codes, Ctrl-C, kill and resume, limits."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import linnet
from linnet.data import Dataset
from running import run
from test_cli import TRAIN, write

QUICK = ("--models", "nb,svm", "--candidates", "7", "--budget", "120s")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tune")
    write(folder / "train.csv", TRAIN)
    return folder


def started(folder, *options):
    command = [sys.executable, "-m", "linnet", "tune", "train.csv", "--budget", "300s", *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for_lines(path, n, process):
    until = time.monotonic() + 120
    while (not path.exists() or path.read_bytes().count(b"\n") < n) and time.monotonic() < until:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)


def test_tune_says_what_it_found_and_its_command_makes_the_same_model(folder):
    done = run("tune", "train.csv", *QUICK, "--json", "r.json", "--out", "t.linnet", cwd=folder)
    assert done.returncode == 0, done.stderr
    out, err = done.stdout.decode(), done.stderr.decode()
    for word in (
        "accuracy",
        "95 %",
        "(default)",
        "too high by about",
        "Test accuracy, measured once",
        "again: linnet train",
    ):
        assert word in out
    assert " left)" in err
    assert "\x1b[" not in out
    found = json.loads((folder / "r.json").read_text())
    assert set(found) == {
        "model", "state", "source", "rows", "metric", "seed", "budget_seconds", "seconds", "finished", "resumed", "candidates",
        "judged", "levels", "winner", "gain_over_default", "optimism", "leaderboard", "refused", "size_bytes", "test", "command",
        "notes", "words", "seal",
    }  # fmt: skip
    assert found["candidates"] == 7
    assert found["gain_over_default"] >= 0
    assert found["size_bytes"] == (folder / "t.linnet").stat().st_size
    words = shlex.split(found["command"])
    assert words[:3] == ["linnet", "train", "train.csv"]
    words[words.index("t.linnet")] = "again.linnet"
    again = run(*words[1:], cwd=folder)
    assert again.returncode == 0, again.stderr
    first, second = linnet.load(folder / "t.linnet"), linnet.load(folder / "again.linnet")
    texts = TRAIN.text
    assert first.predict_proba(texts).tobytes() == second.predict_proba(texts).tobytes()
    for part, value in first.card.items():  # train adds checksums, the command and the scores of the test
        assert part == "tuning" or value == second.card[part] or value.items() <= second.card[part].items()
    assert first.card["tuning"]["candidates"] == 7


def test_json_to_standard_output(folder):
    done = run("tune", "train.csv", *QUICK, "--candidates", "2", "--json", "-", "--out", "j.linnet", "-q", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["finished"] is True
    assert b"left" not in done.stderr


def test_any_metric_of_the_registry_is_searched_for(folder):
    done = run("tune", "train.csv", *QUICK, "--candidates", "2", "--metric", "matthews", "--json", "m.json", "--out", "m.linnet",
               "-q", cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Test matthews, measured once" in done.stdout.decode()
    found = json.loads((folder / "m.json").read_text())
    assert found["metric"] == "matthews"
    assert -1 <= found["winner"]["low"] <= found["winner"]["score"] <= found["winner"]["high"] <= 1
    assert found["test"]["matthews_interval"][0] <= found["test"]["matthews"]


def test_the_same_command_goes_on_after_a_kill(folder):
    state = folder / "k.linnet.tune.jsonl"
    process = started(folder, "--models", "nb,svm", "--out", "k.linnet")
    wait_for_lines(state, 5, process)
    process.kill()
    process.communicate()
    assert not (folder / "k.linnet").exists()
    done = run("tune", "train.csv", *QUICK, "--out", "k.linnet", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "results were known from k.linnet.tune.jsonl" in done.stdout.decode()
    fresh = run("tune", "train.csv", *QUICK, "--candidates", "2", "--out", "k.linnet", "--fresh", cwd=folder)
    assert "results were known" not in fresh.stdout.decode()


def test_ctrl_c_saves_the_best_so_far(folder):
    process = started(folder, "--out", "c.linnet")
    wait_for_lines(folder / "c.linnet.tune.jsonl", 4, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "interrupted: this is the best so far" in out.decode()
    assert linnet.load(folder / "c.linnet").predict(["good"]).shape == (1,)


def test_the_budget_is_kept(folder):
    began = time.monotonic()
    done = run("tune", "train.csv", "--budget", "8s", "--out", "b.linnet", "--json", "b.json", "-q", cwd=folder)
    spent = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "b.json").read_text())["seconds"] <= 10.0  # eight, and a little for a busy machine
    assert spent < 20.0  # with Python's own start and end


def test_size_and_memory_are_kept(folder):
    code = (
        "import re, sys; from linnet.cli import linnet\n"
        "linnet.main(sys.argv[1:], standalone_mode=False)\n"
        "peak = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())\n"  # ru_maxrss counts the parent's too
        "print('peak', int(peak.group(1)) * 1024)"
    )
    options = ["--max-size", "100kB", "--max-memory", "600MB", "--candidates", "8", "--out", "s.linnet", "-q"]
    command = [sys.executable, "-c", code, "tune", "train.csv", "--budget", "300s", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "s.linnet").stat().st_size <= 100_000
    assert int(done.stdout.split()[-1]) <= 600_000_000


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--budget", "soon"), "the budget must be a time"),
        (("--max-size", "huge"), "--max-size must be a size"),
        (("--metric", "auc"), "unknown metric 'auc'"),
        (("--models", "svm,xyz"), "unknown model that learns 'xyz'"),
        (("--max-memory", "1MB"), "larger --max-memory"),
        (("--budget", "1ms"), "the budget of"),
        (("--lists", "none.csv"), "none.csv"),
    ],
)
def test_errors_are_one_line_and_exit_2(folder, options, words):
    done = run("tune", "train.csv", *options, "--out", "e.linnet", cwd=folder)
    assert done.returncode == 2
    last = done.stderr.decode().strip().splitlines()[-1]
    assert last.startswith("linnet: ")
    assert words in last


def test_one_class_and_one_row_a_class(folder):
    write(folder / "one.csv", Dataset.from_lists([f"text {k}" for k in range(30)], ["pos"] * 30))
    done = run("tune", "one.csv", cwd=folder)
    assert done.returncode == 2
    assert b"every row has the label 'pos'" in done.stderr
    write(folder / "each.csv", Dataset.from_lists([f"text {k}" for k in range(20)], [f"c{k}" for k in range(20)]))
    done = run("tune", "each.csv", cwd=folder)
    assert done.returncode == 2
    assert b"needs several rows to learn from" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path(os.environ.get("LINNET_DATA", "/none")).is_dir(), reason="LINNET_DATA is not here")
def test_memory_is_kept_on_real_data(tmp_path):
    """AG News under 700 MB: the default would take more, something smaller is found."""
    data = os.environ["LINNET_DATA"]
    code = (
        "import re, sys; from linnet.cli import linnet\n"
        "linnet.main(sys.argv[1:], standalone_mode=False)\n"
        "peak = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())\n"  # ru_maxrss counts the parent's too
        "print('peak', int(peak.group(1)) * 1024)"
    )
    options = ["--budget", "60s", "--max-memory", "700MB", "--out", str(tmp_path / "m.linnet"), "-q"]
    command = [sys.executable, "-c", code, "tune", f"{data}/ag_news/train_subset.csv", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) <= 700_000_000
