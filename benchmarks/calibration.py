"""Are probabilities right, and does abstaining reach the accuracy that was asked for?

    python benchmarks/calibration.py [--data DIR] [--sets rt_polarity,ag_news,clinc150] [--seeds 3] [--abstain-seeds 20] [--json OUT]

Calibration error (15 bins of equal mass, over the most probable label), log loss and accuracy of `TextClassifier()` and of scikit-learn's
CalibratedClassifierCV over TfidfVectorizer (words 1-2, sublinear) and LinearSVC, with method sigmoid and isotonic and five folds: the same
rows, a new split for every seed. Then the accuracy of the answered test rows for a wanted accuracy of 95 %, a new split for each
seed; "reached" counts the seeds in which it is 94 % or more.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv

from linnet import TextClassifier
from linnet.evaluate import evaluate

WANTED = 0.95
SETS: dict[
    str, dict[str, Any]
] = {  # files, how many rows to train on, and settings that are not searched (those that the search takes)
    "rt_polarity": {"files": ["rt_polarity/all.csv"], "train": 6400},
    "ag_news": {"files": ["ag_news/train_subset.csv", "ag_news/test.csv"], "train": 38_000},
    "clinc150": {
        "files": ["clinc150/train.csv", "clinc150/dev.csv", "clinc150/test.csv"],
        "train": 6_000,
        "settings": {"ratio": 0.0, "params": {"C": 1.5}},
    },
}


def rows_of(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the texts and labels of a set, all of its parts together."""
    tables = [pyarrow.csv.read_csv(folder / file) for file in SETS[name]["files"]]
    texts = [text for table in tables for text in table["text"].to_pylist()]
    return np.array(texts, object), np.array([str(y) for table in tables for y in table["label"].to_pylist()], object)


def split(n: int, train: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the rows to train and to test on."""
    order = np.random.default_rng(seed).permutation(n)
    return order[:train], order[train:]


def scikit(method: str, texts: Any, labels: Any) -> Any:
    """Fit scikit-learn's pipeline."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    return make_pipeline(words, CalibratedClassifierCV(LinearSVC(), method=method, cv=5)).fit(texts, labels)


def scores(clf: Any, texts: Any, labels: Any) -> dict[str, float]:
    """Return what the probabilities of test rows are worth."""
    found = evaluate(labels, clf.predict_proba(texts), [str(c) for c in clf.classes_], draws=1)
    return {
        "calibration_error": found.calibration_error,
        "log_loss": found.log_loss,
        "accuracy": float(np.mean(found.truth == found.predicted)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "data"))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--abstain-seeds", type=int, default=20)
    parser.add_argument("--json")
    options = parser.parse_args()
    result: dict[str, Any] = {"calibration": {}, "abstain": {}}
    for name in options.sets.split(","):
        texts, labels = rows_of(Path(options.data), name)
        table: dict[str, list[dict[str, float]]] = {}
        answered = []
        for seed in range(max(options.seeds, options.abstain_seeds)):
            train, test = split(len(texts), SETS[name]["train"], seed)
            began = time.process_time()
            clf = TextClassifier(random_state=seed, **SETS[name].get("settings", {})).fit(
                texts[train].tolist(), labels[train].tolist()
            )
            seconds = time.process_time() - began
            if seed < options.abstain_seeds:
                found = clf.evaluate(texts[test].tolist(), labels[test].tolist(), abstain=WANTED)
                answered.append({"accuracy": found.accuracy, "answered": found.answered, "rows": found.n})
            if seed < options.seeds:
                ours = scores(clf, texts[test].tolist(), labels[test].tolist())
                ours["method"] = clf.card["calibration"]["method"]
                table.setdefault("linnet", []).append(ours | {"seconds": seconds})
                for method in ("sigmoid", "isotonic"):
                    began = time.process_time()
                    other = scikit(method, texts[train], labels[train])
                    seconds = time.process_time() - began
                    row = scores(other, texts[test], labels[test]) | {"seconds": seconds}
                    table.setdefault(f"scikit-learn {method}", []).append(row)
        result["calibration"][name], result["abstain"][name] = table, answered
        for system, runs in table.items():
            means = {
                key: np.mean([run[key] for run in runs])
                for key in ("calibration_error", "log_loss", "accuracy", "seconds")
            }
            methods = " ".join(sorted({str(run["method"]) for run in runs if "method" in run}))
            print(
                f"{name:12} {system:22} calibration error {means['calibration_error']:.4f}  log loss {means['log_loss']:.4f}  "
                f"accuracy {means['accuracy']:.4f}  {means['seconds']:.1f} s  {methods}",
                flush=True,
            )
        if answered:
            reached = sum(run["accuracy"] >= WANTED - 0.01 for run in answered)
            print(
                f"{name:12} abstain {WANTED}: reached in {reached} of {len(answered)} seeds, accuracy "
                f"{np.mean([run['accuracy'] for run in answered]):.4f} (least {min(run['accuracy'] for run in answered):.4f}) of "
                f"{np.mean([run['answered'] for run in answered]):.1%} answered",
                flush=True,
            )
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
