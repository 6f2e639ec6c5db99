"""A filter run on a thousand workers with failures, simulated, beside the formula of docs/scale.md.

python benchmarks/simulate_scale.py [--json F] [--check]

An event is the end of a shard, the loss of a machine or its replacement. A lost machine loses the shards its cores were
in the middle of; they go back to the queue and are counted once. Each shard takes its size divided by the rate of its core, which is
drawn once a machine (slow machines are stragglers), and reading is shared: where all cores together ask for more than the
storage gives, all slow down by the same factor. --check also times `linnet filter` with 1, 2 and 4 local workers.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Plan:
    text_tb: float = 1000.0  # of text, uncompressed
    shard_mb: float = 1000.0  # of text
    machines: int = 63
    cores: int = 16
    rate_mb_s: float = 50.0  # text a core
    packed: float = 0.4  # bytes stored for a byte of text
    storage_gb_s: float = 100.0  # all machines together
    network_gb_s: float = 1.25  # a machine: 10 Gbit/s
    spread: float = 0.1  # of the rates of machines, as a share
    lost_per_hour: float = 0.05  # a machine: spot instances
    replaced_s: float = 300.0  # until another machine is up
    speculate: bool = True  # idle cores do the last shards a second time

    @property
    def workers(self) -> int:
        return self.machines * self.cores

    @property
    def shards(self) -> int:
        return round(self.text_tb * 1e6 / self.shard_mb)


def effective_rate(plan: Plan) -> tuple[float, str]:
    """MB of text a second of a core, and what limits it."""
    limits = {
        "cores": plan.rate_mb_s,
        "network": plan.network_gb_s * 1e3 / plan.packed / plan.cores,
        "storage": plan.storage_gb_s * 1e3 / plan.packed / plan.workers,
    }
    name = min(limits, key=limits.__getitem__)
    return limits[name], name


def formula(plan: Plan) -> dict[str, Any]:
    """The estimate of docs/scale.md, in seconds."""
    rate, limit = effective_rate(plan)
    shard_s = plan.shard_mb / rate
    lost = plan.lost_per_hour / 3600
    work = plan.shards * shard_s / plan.workers
    waste = 1 + lost * shard_s / 2 + lost * plan.replaced_s
    tail = shard_s * (1.0 + plan.spread if not plan.speculate else 1.0)
    return {
        "limit": limit,
        "shard_s": shard_s,
        "hours": (work * waste + tail) / 3600,
        "tail_s": tail,
        "waste": waste - 1,
    }


def simulate(plan: Plan, seed: int = 0) -> dict[str, Any]:
    """Run it, core by core."""
    rng = random.Random(seed)
    rate, _ = effective_rate(plan)
    speeds = [max(0.2, rng.gauss(1.0, plan.spread)) for _ in range(plan.machines)]
    lost = plan.lost_per_hour / 3600
    waiting = list(range(plan.shards - 1, -1, -1))
    running: dict[int, list[tuple[int, int]]] = {}  # shard -> (machine, life) that have it
    done: set[int] = set()
    life = [0] * plan.machines
    busy: list[set[int]] = [set() for _ in range(plan.machines)]
    idle: list[int] = []
    events: list[tuple[float, int, str, int, int, int]] = []
    count = losses = again = copies = 0

    def push(at: float, kind: str, machine: int, shard: int = -1) -> None:
        nonlocal count
        count += 1
        heapq.heappush(events, (at, count, kind, machine, life[machine], shard))

    def next_for(machine: int) -> int | None:
        nonlocal copies
        if waiting:
            return waiting.pop()
        if plan.speculate:
            alone = [shard for shard, who in running.items() if len(who) == 1 and who[0][0] != machine]
            if alone:
                copies += 1
                return alone[0]
        return None

    def give(now: float, machine: int) -> None:
        shard = next_for(machine)
        if shard is None:
            idle.append(machine)
            return
        running.setdefault(shard, []).append((machine, life[machine]))
        busy[machine].add(shard)
        push(now + plan.shard_mb / (rate * speeds[machine]), "end", machine, shard)

    now = 0.0
    for machine in range(plan.machines):
        if lost:
            push(rng.expovariate(lost), "lost", machine)
    for _ in range(plan.cores):
        for machine in range(plan.machines):
            give(0.0, machine)
    while len(done) < plan.shards:
        now, _, kind, machine, born, shard = heapq.heappop(events)
        if kind != "up" and born != life[machine]:
            continue
        if kind == "end":
            busy[machine].discard(shard)
            done.add(shard)  # a second result of the same shard counts once
            running.pop(shard, None)
            give(now, machine)
        elif kind == "lost":
            losses += 1
            life[machine] += 1
            for orphan in busy[machine]:
                left = [who for who in running.get(orphan, []) if who[0] != machine]
                if orphan in running:
                    running[orphan] = left
                    if not left:
                        del running[orphan]
                        waiting.append(orphan)
                        again += 1
            busy[machine].clear()
            idle[:] = [one for one in idle if one != machine]
            push(now + plan.replaced_s, "up", machine)
            ready, idle[:] = list(idle), []
            for other in ready:
                give(now, other)
        else:
            speeds[machine] = max(0.2, rng.gauss(1.0, plan.spread))
            push(now + rng.expovariate(lost), "lost", machine)
            for _ in range(plan.cores):
                give(now, machine)
    assert len(done) == plan.shards
    return {"hours": now / 3600, "machines_lost": losses, "shards_again": again, "copies": copies}


def local(rows: int = 3000) -> list[dict[str, float]]:
    """`linnet filter` with 1, 2 and 4 workers on generated shards, seconds of wall and of processor."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = random.Random(0)
    words = [f"w{k}" for k in range(5000)]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        (where / "in").mkdir()
        for k in range(8):
            texts = [" ".join(rng.choices(words, k=200)) for _ in range(rows)]
            pq.write_table(pa.table({"text": texts}), where / "in" / f"{k}.parquet")
        train = where / "train.csv"
        train.write_text(
            "label,text\n"
            + "".join(f"{'ab'[k % 2]},{' '.join(rng.choices(words[k % 2 :: 2], k=20))}\n" for k in range(400))
        )
        command = [sys.executable, "-m", "linnet"]
        subprocess.run(
            [*command, "train", train, "--out", where / "m.linnet", "--features", "words:1-2"],
            check=True,
            capture_output=True,
        )
        for workers in (1, 2, 4):
            before, start = os.times(), time.perf_counter()
            out = where / f"out{workers}"
            subprocess.run(
                [*command, "filter", where / "m.linnet", where / "in", "--out", out, "--keep", "a", "--threads", str(workers), "-q"],
                check=True, capture_output=True,
            )  # fmt: skip
            after = os.times()
            cpu = after.children_user + after.children_system - before.children_user - before.children_system
            found.append({"workers": workers, "wall_s": time.perf_counter() - start, "cpu_s": cpu})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--rate", type=float, default=50.0, help="MB of text a second of a core")
    options = parser.parse_args()
    base = Plan(text_tb=100.0, rate_mb_s=options.rate)
    plans = {
        "no failures": replace(base, lost_per_hour=0.0, spread=0.0), "stragglers": replace(base, lost_per_hour=0.0, spread=0.2),
        "spot": base, "very unstable": replace(base, lost_per_hour=0.5), "large shards": replace(base, shard_mb=20_000.0),
        "no copies": replace(base, shard_mb=20_000.0, speculate=False),
        "network": replace(base, network_gb_s=0.125), "storage": replace(base, storage_gb_s=10.0),
        "10,000 workers": replace(base, machines=625),
    }  # fmt: skip
    rows = []
    print(f"{'':<16}{'limit':>9}{'formula, h':>12}{'simulated, h':>14}{'lost':>7}{'again':>7}{'copies':>8}")
    for name, plan in plans.items():
        want, got = formula(plan), simulate(plan)
        rows.append({"name": name, "plan": asdict(plan), "formula": want, "simulated": got})
        print(
            f"{name:<16}{want['limit']:>9}{want['hours']:>12.3f}{got['hours']:>14.3f}{got['machines_lost']:>7}"
            f"{got['shards_again']:>7}{got['copies']:>8}"
        )
    result: dict[str, Any] = {"plans": rows}
    if options.check:
        result["local"] = local()
        for row in result["local"]:
            print(f"{row['workers']} local workers: {row['wall_s']:.1f} s, {row['cpu_s']:.1f} s of processor")
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
