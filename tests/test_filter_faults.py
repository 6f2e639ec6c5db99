"""Things that happen to long runs: killed workers and drivers, full disks, broken and vanishing shards, workers that hang.

Each must end in the output of an undisturbed run, byte for byte, or in one clear line and a state to go on from.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from filter_corpora import folder_bytes, make_model, make_parquet
from linnet.engines import open_engine
from linnet.errors import LinnetError
from linnet.filter import Rule, filter_corpus

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SHARDS = 8
RULES = {"probability": Rule({"pos": 0.6}), "top": Rule({"pos": None}, top=0.15)}
OPTIONS = {"probability": ["--min", "0.6"], "top": ["--top", "15%"]}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model, a corpus, and the undisturbed output for each rule."""
    folder = tmp_path_factory.mktemp("faults")
    model, corpus = make_model(folder / "m.linnet"), make_parquet(folder / "crawl", SHARDS, 2000)
    whole = {}
    for name, rule in RULES.items():
        with open_engine("local", workers=1, kind="threads") as engine:
            filter_corpus(model, [corpus], folder / name, rule, engine=engine)
        whole[name] = folder_bytes(folder / name)
    return model, corpus, whole


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hanging"])
def test_local_workers_that_die_or_hang(made, tmp_path, rule, signal_):
    model, corpus, whole = made
    hit, news = [], []

    def tell(event):
        happening = event.happening
        if happening is not None:
            news.append(happening.kind)
            if happening.kind == "start" and happening.attempt == 1 and len(hit) < 2:
                hit.append(int(happening.worker.split()[-1]))
                os.kill(hit[-1], signal_)

    with open_engine("local", workers=2, timeout=20.0, retries=3) as engine:
        filter_corpus(model, [corpus], tmp_path / "out", RULES[rule], engine=engine, on_progress=tell)
    assert len(hit) == 2
    assert news.count("lost" if signal_ == signal.SIGKILL else "late") >= 1
    assert folder_bytes(tmp_path / "out") == whole[rule]


def test_a_dask_worker_is_killed(made, tmp_path):
    pytest.importorskip("distributed")
    model, corpus, whole = made
    with open_engine("dask", workers=2) as engine:
        killed = []

        def tell(event):
            if event.kind == "shard" and not killed:
                killed.extend(engine._client.run(os.getpid).values())
                os.kill(killed[0], signal.SIGKILL)

        filter_corpus(model, [corpus], tmp_path / "out", RULES["top"], engine=engine, on_progress=tell)
    assert killed
    assert folder_bytes(tmp_path / "out") == whole["top"]


def records(out):
    """How many shards are recorded as done; a run that ends while they are counted takes its records away."""
    try:
        return len(list((out / ".linnet-filter").glob("*/0*.json")))
    except FileNotFoundError:
        return 0


@pytest.mark.parametrize("rule", RULES)
def test_the_driver_is_killed_again_and_again(made, tmp_path, rule):
    model, corpus, whole = made
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "linnet",
        "filter",
        model,
        corpus,
        "--out",
        out,
        "--keep",
        "pos",
        *OPTIONS[rule],
        "--threads",
        "2",
    ]
    command = list(map(str, command))
    kills = 0
    for patience in (1, 2, 3, 4, 6, 9, 12):  # records to wait for
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while process.poll() is None and records(out) < patience:
            time.sleep(0.002)
        if process.poll() is None:
            workers = children(process.pid)
            process.kill()
            process.wait()
            kills += 1
            gone(workers)
    assert kills >= 3
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert folder_bytes(out) == whole[rule]


def children(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(child) for child in task.read_text().split()]
    return found


def gone(pids):
    """Workers end with their driver."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        alive = [
            pid
            for pid in pids
            if Path(f"/proc/{pid}/stat").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]
        ]
        if not alive:
            return
        time.sleep(0.05)
    raise AssertionError(f"workers outlive their driver: {alive}")


def filter_command(made, out, *more):
    model, corpus, _ = made
    return [
        str(part)
        for part in (
            sys.executable,
            "-m",
            "linnet",
            "filter",
            model,
            corpus,
            "--out",
            out,
            "--keep",
            "pos",
            "--min",
            "0.6",
            *more,
        )
    ]


def test_files_may_not_grow(made, tmp_path):
    """As on a full disk, by a limit on the size of files, which every user can set."""

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    out = tmp_path / "out"
    done = subprocess.run(filter_command(made, out), capture_output=True, text=True, preexec_fn=limited)
    assert done.returncode == 2
    assert done.stderr.count("linnet: cannot write") == 1
    assert "File too large" in done.stderr
    assert "run the same command again" in done.stderr
    assert not list(out.glob("*.parquet"))
    assert subprocess.run(filter_command(made, out), capture_output=True).returncode == 0
    assert folder_bytes(out) == made[2]["probability"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_the_disk_is_full(made, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    need = sum(map(len, made[2]["probability"].values()))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={need * 2 // 3}", "tmpfs", disk], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("cannot mount a small disk here")
    try:
        done = subprocess.run(filter_command(made, disk / "out", "--threads", "1"), capture_output=True, text=True)
        assert done.returncode == 2
        assert "No space left" in done.stderr
        assert [line.startswith("linnet: ") for line in done.stderr.strip().splitlines()].count(True) == 1
        assert "Traceback" not in done.stderr
        subprocess.run(["mount", "-o", f"remount,size={need * 3}", disk], check=True)
        done = subprocess.run(filter_command(made, disk / "out"), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "done before" in done.stderr
        assert folder_bytes(disk / "out") == made[2]["probability"]
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("damage", ["cut", "page", "empty"])
def test_a_damaged_shard_is_set_aside_and_the_counts_add_up(made, tmp_path, rule, damage):
    model, _, _ = made
    corpus = make_parquet(tmp_path / "crawl", 4, 500)
    sick = corpus / "part-002.parquet"
    data = bytearray(sick.read_bytes())
    if damage == "page":  # the footer is whole, what it points to is not
        data[200:3000] = bytes(2800)
    sick.write_bytes({"cut": data[: len(data) // 2], "page": data, "empty": b""}[damage])
    with open_engine("local", workers=2) as engine:
        manifest = filter_corpus(model, [corpus], tmp_path / "out", RULES[rule], engine=engine)
    assert manifest["rows"] == manifest["kept"] + manifest["dropped"] + manifest["unusable"]
    assert [shard["name"] for shard in manifest["bad_shards"]] == ["part-002.parquet"]
    assert manifest["rows"] == 1500
    assert not (tmp_path / "out/part-002.parquet").exists()
    assert (tmp_path / "out/_quarantine/shards.json").exists()
    sick.unlink()  # what is left is what a corpus without that shard gives
    with open_engine("local", workers=1, kind="threads") as engine:
        filter_corpus(model, [corpus], tmp_path / "without", RULES[rule], engine=engine)
    for name in ("part-000.parquet", "part-001.parquet", "part-003.parquet"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "without" / name).read_bytes()


@pytest.mark.parametrize("rule", RULES)
def test_a_shard_vanishes_and_comes_back(made, tmp_path, rule):
    model, _, whole = made
    corpus = make_parquet(tmp_path / "crawl", SHARDS, 2000)
    victim, away = corpus / "part-006.parquet", tmp_path / "away.parquet"

    def tell(event):
        if event.kind == "shard" and victim.exists():
            victim.rename(away)

    def run(**more):
        with open_engine("local", workers=2) as engine:
            return filter_corpus(model, [corpus], tmp_path / "out", RULES[rule], engine=engine, **more)

    with pytest.raises(LinnetError, match=r"part-006.parquet has gone .* 7 of 8 shards are done"):
        run(on_progress=tell)
    with pytest.raises(LinnetError, match=r"holds a run that is not this one: other shards"):
        run()
    away.rename(victim)
    manifest = run()
    assert folder_bytes(tmp_path / "out") == whole[rule]
    assert manifest["bad_shards"] == []


def test_too_many_bad_shards_stop_the_run(made, tmp_path):
    model, _, _ = made
    corpus = make_parquet(tmp_path / "crawl", 4, 50)
    for k in (1, 2):
        (corpus / f"part-00{k}.parquet").write_bytes(b"PAR1")
    with open_engine("local", workers=1, kind="threads") as engine, pytest.raises(LinnetError, match="--max-bad 1"):
        filter_corpus(model, [corpus], tmp_path / "out", RULES["top"], engine=engine, max_bad=1)


def test_any_number_of_workers_gives_the_same_bytes(made, tmp_path):
    model, corpus, whole = made
    for workers in (1, 3):
        with open_engine("local", workers=workers) as engine:
            filter_corpus(model, [corpus], tmp_path / f"out{workers}", RULES["top"], engine=engine, threads=workers)
        assert folder_bytes(tmp_path / f"out{workers}") == whole["top"]
    assert pq.read_metadata(corpus / "part-000.parquet").num_rows == 2000
