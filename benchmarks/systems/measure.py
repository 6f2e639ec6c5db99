"""Run a command in a fresh process: wall time, processor time and peak memory of all of it.

Peak memory is the largest process of the tree (wait4 counts descendants that were waited for). Linux carries the peak
of the parent over into a child at exec, so the harness must stay small: it imports no numpy and reads no data.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MB = 1e6
BENCHMARKS = Path(__file__).resolve().parents[1]  # the workers run there, as python -m systems.NAME
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",  # Arrow's processor pool listens to this one too
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "ARROW_IO_THREADS",
)
LONG_PASS = 3.0  # seconds: a pass longer than this is its own warm-up
MAX_PASSES = 5


Samples = dict[str, list[float]]  # measurement -> one value a repeat


@dataclass(frozen=True)
class Usage:
    wall: float  # seconds
    cpu: float  # seconds, user + system; more than wall means more than one thread
    peak: float  # MB
    output: str


class CommandError(RuntimeError):
    """A measured command ended with an error."""


def environment(threads: int) -> dict[str, str]:
    """The variables of a process: without a limit (0) each system uses as many threads as it does by itself."""
    limits = dict.fromkeys(THREAD_VARIABLES, str(threads)) if threads else {}
    return {**os.environ, **limits, "PYTHONUTF8": "1", "PYTHONHASHSEED": "0"}


def measure(command: Sequence[str], threads: int = 1) -> Usage:
    """Run a command to its end and say what it took."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=BENCHMARKS, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment(threads)
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        output = out.read().decode(errors="replace")
        if process.returncode != 0:
            err.seek(0)
            message = (err.read().decode(errors="replace") or output).strip()
            raise CommandError(f"exit {process.returncode}: {' '.join(command)}\n{message[-2000:]}")
    return Usage(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / MB, output)


def passes(run: Callable[[], object], budget: float = 1.0) -> dict[str, float]:
    """Median wall and processor seconds of a pass of `run` in this process, for the workers.

    A first pass shorter than `LONG_PASS` is a warm-up and is thrown away; then passes are timed until `budget` seconds
    are spent, at most `MAX_PASSES`.
    """
    first = _time(run)
    timed = [first] if first[0] > LONG_PASS else []
    while not timed or (first[0] <= LONG_PASS and len(timed) < MAX_PASSES and sum(wall for wall, _ in timed) < budget):
        timed.append(_time(run))
    return {"seconds": median([wall for wall, _ in timed]), "cpu_seconds": median([cpu for _, cpu in timed])}


def last_json(used: Usage) -> dict[str, Any]:
    """What a worker says in its last line."""
    result: dict[str, Any] = json.loads(used.output.splitlines()[-1])
    return result


def summary(samples: Samples) -> dict[str, Any]:
    """The medians, and beside them the values they come from."""
    return {**{name: median(values) for name, values in samples.items()}, "samples": samples}


def say(line: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {line}", file=sys.stderr, flush=True)


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def _time(run: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu
