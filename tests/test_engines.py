"""Engines: every shard counts once whatever dies on the way, and sums are the same on every engine."""

from __future__ import annotations

import functools
import operator
import os
import random
import shutil
import signal
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine_jobs as jobs
from linnet.engines import ENGINES, ShardError, TreeSum, open_engine
from linnet.errors import DataError, LinnetError

SETTINGS = {
    "threads": ("local", {"workers": 2, "kind": "threads"}),
    "processes": ("local", {"workers": 2}),
    "dask": ("dask", {"workers": 2}),
    "spark": ("spark", {"workers": 2}),
}
SEPARATE = [pytest.param("processes"), *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("dask", "spark"))]
ALL = [pytest.param("threads"), *SEPARATE]


def engine(kind, **more):
    name, settings = SETTINGS[kind]
    if name == "dask":
        pytest.importorskip("distributed")
    if name == "spark":
        pytest.importorskip("pyspark")
        if shutil.which("java") is None:
            pytest.skip("Spark needs Java, which is not installed")
    return open_engine(name, **{**settings, **more})


def tree(values):
    """The sum as the interface promises it, straight from the definition."""
    while len(values) > 1:
        pairs = [values[k : k + 2] for k in range(0, len(values), 2)]
        values = [functools.reduce(operator.add, pair) for pair in pairs]
    return values[0]


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_sums_do_not_depend_on_the_order_of_arrival(values, rng):
    order = list(range(len(values)))
    rng.shuffle(order)
    total = TreeSum(len(values), operator.add)
    for k in order:
        total.put(k, values[k])
    assert total.value == tree(values)
    assert len(total.waiting) == 1


def test_few_values_wait_when_they_come_in_order():
    total, most = TreeSum(1000, operator.add), 0
    for k in range(1000):
        total.put(k, 1)
        most = max(most, len(total.waiting))
    assert most <= 10
    assert total.value == 1000


@pytest.mark.parametrize("kind", ALL)
def test_the_interface(kind, tmp_path):
    news = []
    with engine(kind) as run:
        outcomes = list(run.map(jobs.square, range(20), watch=news.append))
        assert sorted((o.index, o.value) for o in outcomes) == [(k, k * k) for k in range(20)]
        assert all(o.error is None and o.attempts == 1 and o.worker for o in outcomes)
        assert sorted(h.index for h in news if h.kind == "done") == list(range(20))
        factor, offset = run.broadcast(3), run.broadcast(1)
        assert run.add_up(jobs.scaled, range(7), factor, offset) == 3 * 21 + 7
        factor = run.broadcast(5)
        assert run.add_up(jobs.scaled, range(7), factor, offset) == 5 * 21 + 7
        assert run.add_up(jobs.third, range(23)) == tree([(k + 1) / 3 for k in range(23)])
        assert list(run.map(jobs.square, [])) == []
        with pytest.raises(LinnetError, match="no shards"):
            run.add_up(jobs.square, [])
        with pytest.raises(ShardError, match=r"shard 1: 1 is odd \(after 3 attempts\)"):
            run.add_up(jobs.fail_on_odd, [0, 1, 2])
        bad = [o for o in run.map(jobs.fail_on_odd, range(6)) if o.error]
        assert sorted((o.index, str(o.error), o.attempts) for o in bad) == [(k, f"{k} is odd", 3) for k in (1, 3, 5)]
        folder = run.broadcast(str(tmp_path))
        with pytest.raises(DataError, match=r"^1 is odd$"):  # wrong input: final at the first attempt
            run.add_up(jobs.refuse_on_odd, [0, 1], folder)
        assert (tmp_path / "tries-1").read_text() == "x"


@pytest.mark.parametrize("kind", SEPARATE)
def test_a_killed_worker_costs_nothing(kind, tmp_path):
    with engine(kind) as run:
        outcomes = list(run.map(jobs.die_once, range(8), run.broadcast(str(tmp_path))))
    assert sorted((o.index, o.value) for o in outcomes) == [(k, k) for k in range(8)]
    assert (tmp_path / "died-2").exists()
    assert (tmp_path / "died-5").exists()


@pytest.mark.parametrize("kind", SEPARATE)
def test_a_shard_that_always_kills_is_given_up(kind):
    with engine(kind, retries=1) as run:
        outcomes = {o.index: o for o in run.map(jobs.always_die, range(4))}
    assert sorted(outcomes) == [0, 1, 2, 3]
    assert isinstance(outcomes[2].error, ShardError)
    assert "died" in str(outcomes[2].error)
    assert [outcomes[k].value for k in (0, 1, 3)] == [0, 1, 3]


def patience(kind: str) -> float:
    """Seconds for a shard that ends at once; on Spark they include the start of a Python worker."""
    return 12.0 if kind == "spark" else 3.0


@pytest.mark.parametrize("kind", ALL)
def test_a_worker_that_hangs_is_replaced(kind, tmp_path):
    with engine(kind, timeout=patience(kind)) as run:
        outcomes = {o.index: o for o in run.map(jobs.hang_once, range(4), run.broadcast(str(tmp_path)))}
    assert {k: o.value for k, o in outcomes.items()} == {k: k for k in range(4)}
    assert outcomes[1].attempts == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL)
def test_a_shard_that_always_hangs_is_given_up(kind):
    began = time.monotonic()
    with engine(kind, timeout=patience(kind), retries=1) as run:
        outcomes = {o.index: o for o in run.map(jobs.always_hang, range(3))}
    assert f"did not finish in {patience(kind):g} seconds" in str(outcomes[1].error)
    assert [outcomes[k].value for k in (0, 2)] == [0, 2]
    assert time.monotonic() - began < 120


def test_workers_killed_from_outside_while_busy_and_idle():
    random.seed(0)
    with open_engine("local", workers=2) as run:
        assert len(list(run.map(jobs.nap_and_pid, range(4)))) == 4
        os.kill(run.pids[0], signal.SIGKILL)  # idle
        seen = []
        for outcome in run.map(jobs.nap_and_pid, range(12)):
            assert outcome.error is None
            seen.append(outcome.index)
            if outcome.index == 3:
                os.kill(random.choice(run.pids), signal.SIGKILL)  # busy
    assert sorted(seen) == list(range(12))


def test_leaving_in_the_middle_ends_the_workers():
    with open_engine("local", workers=2) as run:
        for _ in run.map(jobs.nap_and_pid, range(50)):
            break
        assert len(list(run.map(jobs.square, range(3)))) == 3  # and it can be used again
        pids = run.pids
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_what_cannot_be_sent_and_what_is_not_there():
    with open_engine("local", workers=1) as run, pytest.raises(LinnetError, match="importable by name"):
        list(run.map(lambda shard: shard, [1]))
    for settings in ({"workers": 0}, {"retries": -1}, {"timeout": 0}, {"kind": "fibres"}):
        with pytest.raises(LinnetError):
            open_engine("local", **settings)
    assert list(ENGINES) == ["local", "dask", "spark"]
