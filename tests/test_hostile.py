"""tools/hostile.py itself: it covers every command, finds what it should find, and gives the same cases for a seed."""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "tools"))
pytestmark = pytest.mark.skipif(os.name != "posix", reason="the tool forks")

from hostility import commands, inputs, models, watched  # noqa: E402
from linnet import cli  # noqa: E402


def test_every_command_is_tried_with_many_inputs(tmp_path):
    found = inputs.make_inputs(tmp_path / "in", random.Random(0))
    assert len(found) >= 120
    everywhere = list(commands.places(cli.linnet))
    assert {place.command for place in everywhere} == set(cli.COMMANDS) - {"demo"}  # which takes no input
    again = inputs.make_inputs(tmp_path / "again", random.Random(0))
    assert [path.read_bytes() for path in found.values() if path.is_file()] == [
        path.read_bytes() for path in again.values() if path.is_file()
    ]


def test_altered_models_are_signed_and_the_same_for_a_number(tmp_path):
    import linnet
    from linnet.model.file import read

    rows = inputs.GOOD_ROWS
    linnet.TextClassifier("nb", features="words:1").fit([t for t, _ in rows], [y for _, y in rows]).save(tmp_path / "m")
    made = {"nb": (tmp_path / "m").read_bytes()}
    assert models.signed(made["nb"]) == made["nb"]
    files = [models.make(k, made, 0) for k in range(60)]
    assert files == [models.make(k, made, 0) for k in range(60)]
    kinds = {what.partition(":")[0] for _, what, _ in files}
    assert kinds == {"bits", "bytes", "cut", "longer", "header", "card", "offsets", "unsigned"}
    weights = next(data for _, what, data in files if what == "bytes")
    assert read(weights, verify=True).nbytes == len(
        made["nb"]
    )  # the checksum is right: only a look at the content helps


def leave(name: str) -> None:
    Path(name).write_bytes(b"")


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        (lambda: sys.exit(0), None),
        (lambda: 1 / 0, "traceback: ZeroDivisionError"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "ended by SIGSEGV"),
        (lambda: sys.exit(1), "exit code 1"),
        (lambda: sys.exit(2), "exit code 2 without"),
        (lambda: signal.pause(), "no end in 2 s"),
        (lambda: leave(".linnet-1.tmp"), "left behind"),
        (lambda: leave(os.path.join(os.environ["TMPDIR"], "x")), "left behind"),  # noqa: PTH118
        (lambda: leave("given.csv"), "the input was changed"),
    ],
)
def test_what_must_not_happen_is_found(tmp_path, monkeypatch, act, problem):
    given = tmp_path / "given.csv"
    given.write_bytes(inputs.CSV)
    (tmp_path / "good.csv").write_bytes(inputs.CSV)
    (tmp_path / "good.linnet").write_bytes(b"")
    monkeypatch.setattr(cli, "main", act)
    place = commands.Place("check", "data", ("check", None))
    (case,) = commands.bad_input_cases([place], {"given": given}, tmp_path)
    case.seconds = 2.0 if problem and problem.startswith("no end") else 60.0
    (outcome,) = watched.run_all([case], tmp_path / "runs", 1, tmp_path / "kept")
    assert (outcome.problems == []) if problem is None else any(found.startswith(problem) for found in outcome.problems)
    assert (tmp_path / "kept").exists() == (problem is not None)
