"""Processes that are killed leave nothing for ever; SIGTERM ends like Ctrl-C; large files are checked, too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import linnet
from linnet import files
from linnet.model import file as store

CODE = "import sys; from linnet.cli import main; main()"
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("interrupted") / "m.linnet"
    linnet.TextClassifier("nb", features="words:1").fit(["good", "bad"] * 10, ["pos", "neg"] * 10).save(path)
    return path


def dead_process() -> int:
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def named(pid: int, hidden: bool = True) -> str:
    return f"{'.' if hidden else ''}linnet-{files._host()}-{pid}-{'0' * 16}{'.tmp' if hidden else ''}"


def test_temporary_files_of_dead_processes_are_removed(tmp_path):
    gone, here = tmp_path / named(dead_process()), tmp_path / named(os.getpid())
    elsewhere = tmp_path / f".linnet-00000000-{dead_process()}-{'0' * 16}.tmp"
    others = tmp_path / ".linnet-notes.tmp"
    for path in (gone, here, elsewhere, others):
        path.write_text("half")
    files.write_atomic(tmp_path / "a.txt", "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["a.txt", here.name, elsewhere.name, others.name])


def test_temporary_folders_of_dead_processes_are_removed(tmp_path):
    gone = tmp_path / named(dead_process(), hidden=False)
    gone.mkdir()
    (gone / "keys").write_text("half")
    (tmp_path / "linnet-mine").mkdir()
    with files.temporary_folder(tmp_path) as folder:
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([folder.name, "linnet-mine"])
    assert [path.name for path in tmp_path.iterdir()] == ["linnet-mine"]


def start(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    """Start a command that waits for more of its standard input, and wait until it has begun to write."""
    command = [sys.executable, "-c", CODE, *map(str, arguments)]
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(folder / "tmp")},
    )  # fmt: skip
    for _ in range(600):
        if any(".linnet-" in path.name for path in folder.iterdir()):
            break
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    return process


COMMANDS = {
    "predict": ["--out", "p.csv"],
    "clean": ["-", "--dedup", "exact,near", "--out", "p.csv"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_signals_leave_nothing(command, how, model, tmp_path):
    (tmp_path / "tmp").mkdir()
    process = start(tmp_path, command, *([model, "-"] if command == "predict" else []), *COMMANDS[command])
    process.send_signal(how)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + how, err
    assert err.splitlines()[-1] == ("linnet: ended by SIGTERM" if how == signal.SIGTERM else "linnet: interrupted")
    assert "Traceback" not in err
    assert out == ""
    assert [path.name for path in tmp_path.rglob("*")] == ["tmp"]


def test_the_next_run_removes_what_a_killed_one_left(model, tmp_path):
    (tmp_path / "tmp").mkdir()
    process = start(tmp_path, "clean", "-", "--dedup", "exact", "--out", "p.csv")
    process.kill()
    process.communicate(timeout=60)
    assert len(list(tmp_path.rglob("*linnet-*"))) >= 1
    (tmp_path / "in.csv").write_text("text\ngood\nbad\n")
    command = [sys.executable, "-c", CODE, "clean", "in.csv", "--dedup", "exact", "--out", "p.csv"]
    subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")}, check=True, capture_output=True
    )
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["in.csv", "p.csv", "tmp"]


# ---- texts that the model was trained on


def test_a_model_knows_the_texts_it_was_trained_on(tmp_path):
    from linnet.model import learned as training_texts

    texts = [f"{'good' if k % 2 else 'bad'} film number {k}" for k in range(300)]
    labels = ["pos" if k % 2 else "neg" for k in range(300)]
    clf = linnet.TextClassifier("nb", features="words:1-2").fit(texts[:200], labels[:200])
    assert clf.artefact.texts_seen(texts) == training_texts.TextsSeen(300, 200)
    clf.save(tmp_path / "m.linnet")
    stored = store.read(tmp_path / "m.linnet")
    assert len(stored.tensors["training_texts"]) == 201
    assert linnet.load(tmp_path / "m.linnet").artefact.texts_seen(texts).share == 2 / 3
    small = clf.artefact.with_training_texts(training_texts.numbers_of(clf.artefact.pieces(texts[:200])))
    few = training_texts.fitting(small.training_texts, 4_000)
    assert len(few) == 40
    seen = training_texts.compare(few, clf.artefact.pieces(texts))
    assert seen.seen == 40
    assert 40 <= seen.looked_at < 120


@pytest.mark.parametrize(
    ("rows", "said"), [(slice(0, 20), "100% of the texts seem to be among those"), (slice(20, 40), "")]
)
def test_evaluate_says_so(rows, said, tmp_path):
    from click.testing import CliRunner

    from linnet.cli import linnet as command_line

    texts = [f"{'good' if k % 2 else 'bad'} film number {k}" for k in range(40)]
    labels = ["pos" if k % 2 else "neg" for k in range(40)]
    linnet.TextClassifier("nb", features="words:1-2").fit(texts[:20], labels[:20]).save(tmp_path / "m.linnet")
    lines = [f"{y},{t}" for y, t in zip(labels[rows], texts[rows], strict=True)]
    (tmp_path / "d.csv").write_text("\n".join(["label,text", *lines]) + "\n")
    done = CliRunner().invoke(command_line, ["evaluate", str(tmp_path / "m.linnet"), str(tmp_path / "d.csv")])
    assert done.exit_code == 0, done.exception
    assert (said in done.stderr) if said else "among those" not in done.stderr
    (tmp_path / "other.csv").write_text("label,text\n" + "spam,buy\nham,hello you\n" * 5)
    done = CliRunner().invoke(command_line, ["evaluate", str(tmp_path / "m.linnet"), str(tmp_path / "other.csv")])
    assert isinstance(done.exception, linnet.DataError)
    assert "the model knows none of its labels (ham, spam)" in str(done.exception)
