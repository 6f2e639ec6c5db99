"""Does `linnet monitor` keep its promises? False alarms on unchanged input, and how often a shift is found.

python benchmarks/monitor.py --data DIR --json benchmarks/results/monitor.json

AG News subset. The model knows three of the four topics and is trained on half of their rows. 100 times the other rows are shuffled: a
reference of 4,000 and a sample of 3,000; an alarm is false. 100 times a tenth of the sample is rows of the fourth topic; an alarm is
right. The level is 5 % for all three tests together.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

import linnet
from linnet.evaluate.drift import Measured, drift

LOOKS, REFERENCE, ROWS, SHIFT = 100, 4_000, 3_000, 0.1


def looks(model: Any, pool: Measured, other: Measured, seed: int) -> dict[str, list[str]]:
    """Return the signals that raised an alarm, look by look, without and with a shift."""
    rng, found = np.random.default_rng(seed), {"unchanged": [], "shifted": []}
    n = int(SHIFT * ROWS)
    for _ in range(LOOKS):
        order = rng.permutation(len(pool))
        reference = pool.take(order[:REFERENCE]).reference(len(model.classes))
        same, strange = (
            pool.take(order[REFERENCE : REFERENCE + ROWS]),
            other.take(rng.choice(len(other), n, replace=False)),
        )
        mixed = Measured(*(
            np.concatenate([getattr(same, name)[n:], getattr(strange, name)]) for name in ("unknown", "confidence", "best")
        ))  # fmt: skip
        for name, sample in (("unchanged", same), ("shifted", mixed)):
            result = drift(model, sample, reference=reference)
            found[name].append("+".join(one.name for one in result.signals if one.corrected < result.level))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("LINNET_DATA"), required="LINNET_DATA" not in os.environ
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = linnet.read(options.data / "ag_news" / "train_subset.csv")
    labels, results = np.array(rows.label_list()), {}
    for left_out in sorted(set(labels)):
        order = np.random.default_rng(0).permutation(np.flatnonzero(labels != left_out))
        half = len(order) // 2
        model = (
            linnet.TextClassifier("svm", features="words:1-2", ratio=0.0, params={"C": 1.5})
            .fit(rows.take(order[:half]))
            .artefact
        )
        pool, other = (
            Measured.of(model, rows.take(part)) for part in (order[half:], np.flatnonzero(labels == left_out))
        )
        found = looks(model, pool, other, seed=1)
        results[left_out] = {name: sum(map(bool, alarms)) for name, alarms in found.items()} | {
            "signals": found["shifted"]
        }
        print(
            f"without {left_out}: {results[left_out]['unchanged']} false alarms, {results[left_out]['shifted']} of {LOOKS} shifts found"
        )
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
