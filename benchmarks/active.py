"""How many labels does the order of the Label page save? Active beside random order, the same model, mean of seeds.

    python benchmarks/active.py [--data DIR] [--json OUT] [--sets trec,rt_polarity,ag_news,clinc150] [--seeds N] [--most N] [--step N]

For each seed some rows are held out to measure accuracy; the others are labelled in the order that the
studio asks, some of them at random as there, or all at random. The model is fitted again every --step labels (the page
does it after each). For a budget of random labels, the figure is the share of it after which the mean curve of the
active order, averaged over neighbouring looks as the random one is, is as high.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import linnet
from linnet.studio.active import RANDOM_EVERY, Learner, Pool

SETS: dict[str, tuple[tuple[str, ...], int, int]] = {  # files, rows held out, classes (0: all)
    "trec": (("trec/train.csv", "trec/test.csv"), 1000, 0),
    "rt_polarity": (("rt_polarity/all.csv",), 2000, 0),
    "ag_news": (("ag_news/test.csv",), 2000, 0),
    "clinc150": (("clinc150/train.csv",), 700, 20),
}
TARGET = 0.7
BUDGETS = (50, 100, 200, 500, 1000, 1500, 2000)
SMOOTH = 3  # looks on either side over which a curve is averaged before it is compared


def curve(pool: Pool, labels: list[str], held: np.ndarray, order: str, most: int, step: int, seed: int) -> list[float]:
    """Return the accuracy on the held rows after every step labels."""
    learner = Learner(pool, sorted(set(labels)))
    truth = np.array(labels)[held]
    rest = np.setdiff1d(np.arange(len(labels)), held)
    shuffled = np.random.default_rng([seed, 1]).permutation(rest)
    answers: dict[int, str] = {}
    fitted, out = None, []
    while len(answers) < most:
        if order == "random":
            rows = shuffled[len(answers) : len(answers) + step].tolist()
        else:
            rows = [pick.row for pick in learner.queue(fitted, answers, held.tolist(), step)]
        answers |= {row: labels[row] for row in rows}
        fitted = learner.fit(answers)
        out.append(0.0 if fitted is None else float(np.mean(np.array(fitted.predict(held.tolist())) == truth)))
    return out


def smoothed(values: np.ndarray) -> np.ndarray:
    """Return the mean of each value and its neighbours on both sides: one lucky look is not a level."""
    ends = [(max(0, k - SMOOTH), min(len(values), k + SMOOTH + 1)) for k in range(len(values))]
    widths = [min(k - a, b - 1 - k) for k, (a, b) in enumerate(ends)]  # as far to the left as to the right
    return np.array([values[k - w : k + w + 1].mean() for k, w in enumerate(widths)])


def needed(active: np.ndarray, random: np.ndarray, budget: int, step: int) -> float | None:
    """Return the share of a budget of random labels after which the active order is as good; None if it never is."""
    k = budget // step - 1
    if k >= len(random):
        return None
    reached = np.flatnonzero(active >= random[k])
    return float((reached[0] + 1) * step / budget) if len(reached) else None


def run(name: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one set."""
    files, n_held, classes = SETS[name]
    parts = [linnet.read(str(folder / file)) for file in files]
    both = [pair for part in parts for pair in zip(part.text.to_pylist(), part.label_list(), strict=True)]
    names = sorted({label for _, label in both})
    kept = {*names[:: len(names) // classes][:classes]} if classes else {*names}
    texts, labels = (list(column) for column in zip(*(pair for pair in both if pair[1] in kept), strict=True))
    curves: dict[str, list[list[float]]] = {"active": [], "random": []}
    for seed in range(options.seeds):
        held = np.sort(np.random.default_rng(seed).permutation(len(texts))[:n_held])
        pool = Pool.of(texts, seed, threads=1)
        for order, found in curves.items():
            found.append(curve(pool, labels, held, order, options.most, options.step, seed))
        print(
            f"{name} seed {seed}: {curves['active'][-1][-1]:.4f} active, {curves['random'][-1][-1]:.4f} random",
            flush=True,
        )
    active, random = (smoothed(np.mean(curves[order], axis=0)) for order in ("active", "random"))
    rest = np.setdiff1d(np.arange(len(texts)), held)
    every = Learner(pool, sorted(kept)).fit({int(row): labels[row] for row in rest})
    goal = 0.9 * float(np.mean(np.array(every.predict(held.tolist())) == np.array(labels)[held])) if every else 1.0
    reached = {order: np.flatnonzero(curve_ >= goal) for order, curve_ in (("random", random), ("active", active))}
    nine = {order: int(found[0] + 1) * options.step if len(found) else None for order, found in reached.items()}
    print(f"{name:<12} 90 % of the accuracy with all labels ({100 * goal:.1f} %): {nine}")
    rows = []
    for budget in (b for b in BUDGETS if b <= options.most and b % options.step == 0):
        k = budget // options.step - 1
        share = needed(active, random, budget, options.step)
        rows.append({"labels": budget, "random": float(random[k]), "active": float(active[k]), "share_needed": share})
        shown = "never" if share is None else f"{100 * share:.0f} %"
        print(
            f"{name:<12} {budget:>5} labels: random {random[k]:.4f}, active {active[k]:.4f}; as good as random with {shown} of them"
        )
    return {
        "set": name,
        "rows": len(texts),
        "held_out": n_held,
        "labels_for_90_percent": nine,
        "budgets": rows,
        "curves": {"active": active.round(4).tolist(), "random": random.round(4).tolist()},
    }


def main() -> None:
    """Run the sets, print a line a budget, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "../shared/data"))
    parser.add_argument("--json")
    parser.add_argument("--sets", default="trec,rt_polarity,ag_news,clinc150")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--most", type=int, default=2000)
    parser.add_argument("--step", type=int, default=20)
    options = parser.parse_args()
    folder = Path(options.data)
    results = []
    for name in options.sets.split(","):
        if not (folder / SETS[name][0][0]).exists():
            print(f"{name}: not in {folder}; skipped (point --data or LINNET_DATA at the data sets)")
            continue
        results.append(run(name, folder, options))
    met = [r["share_needed"] is not None and r["share_needed"] <= TARGET for s in results for r in s["budgets"][-1:]]
    print(
        f"target: at most {100 * TARGET:.0f} % of {options.most:,} labels on one set: {'met' if any(met) else 'NOT met'}"
    )
    if options.json:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
        about = {
            "date": datetime.now(UTC).date().isoformat(), "machine": machine, "seeds": options.seeds, "step": options.step,
            "random_every": RANDOM_EVERY, "target_share": TARGET,
        }  # fmt: skip
        Path(options.json).write_text(json.dumps({**about, "results": results}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
