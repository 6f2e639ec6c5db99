"""Several labels a row: linnet beside scikit-learn and LibMultiLabel on GoEmotions (28 labels, 43,410 rows).

    python benchmarks/multilabel.py [--data DIR] [--systems linnet,svc] [--libmultilabel-python PYTHON] [--json OUT]

Every system is one fresh process with one thread: read the CSV files, learn from train, choose on dev, label test.
Processor seconds are those of the whole process, imports included. The systems:

linnet         TextClassifier() with no settings: features, the search of settings and thresholds are its own
svc, logistic  scikit-learn: tf-idf of words and pairs, OneVsRestClassifier(LinearSVC() or LogisticRegression()); as it
               comes (score above 0), and with the threshold of highest F1 on dev for each label
svc-search     the same, with C chosen on dev among four values by macro F1, as linnet searches, too
libmultilabel  its linear `train_1vsrest` and `train_thresholding` (SCutFBR by cross-validation inside), on the same tf-idf

LibMultiLabel wants an environment of its own: python -m venv V, V/bin/pip install libmultilabel, and name V/bin/python. Where it is
not there it is left out with a line that says so.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
SYSTEMS = ("linnet", "svc", "logistic", "svc-search", "libmultilabel")
COSTS = (0.1, 0.3, 1.0, 3.0)

Parts = dict[str, tuple[list[str], np.ndarray]]


def read_parts(folder: Path) -> tuple[Parts, list[str]]:
    """Return texts and indicator matrices of train, dev and test, and the labels."""
    rows: dict[str, list[tuple[str, list[str]]]] = {}
    for part in ("train", "dev", "test"):
        with (folder / f"{part}.csv").open(encoding="utf-8", newline="") as file:
            rows[part] = [(row["text"], row["label"].split("|")) for row in csv.DictReader(file)]
    labels = sorted({label for _, found in rows["train"] for label in found})
    place = {label: k for k, label in enumerate(labels)}
    parts: Parts = {}
    for part, found in rows.items():
        Y = np.zeros((len(found), len(labels)), dtype=np.int64)
        for k, (_, mine) in enumerate(found):
            Y[k, [place[label] for label in mine if label in place]] = 1
        parts[part] = [text for text, _ in found], Y
    return parts, labels


def best_cut(scores: np.ndarray, truth: np.ndarray) -> float:
    """Return the score above which F1 is highest; what linnet does, written down once more."""
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(truth[order])
    f1 = 2.0 * hits / (np.arange(1, len(order) + 1) + truth.sum())
    k = int(f1.argmax())
    return float((ranked[k] + ranked[min(k + 1, len(ranked) - 1)]) / 2.0)


def cut_by_label(scores: np.ndarray, truth: np.ndarray, asked: np.ndarray) -> np.ndarray:
    return np.stack([asked[:, c] > best_cut(scores[:, c], truth[:, c]) for c in range(scores.shape[1])], axis=1)


def macro_f1(truth: np.ndarray, predicted: np.ndarray) -> float:
    both = truth.sum(0) + predicted.sum(0)
    return float(np.mean(np.where(both > 0, 2.0 * (truth * predicted).sum(0) / np.maximum(both, 1), 0.0)))


# ---- the systems: each returns {name of the row: predicted indicator matrix of test}


def run_linnet(parts: Parts) -> dict[str, np.ndarray]:
    from linnet import TextClassifier

    (texts, Y), (dev, D) = parts["train"], parts["dev"]
    clf = TextClassifier(n_jobs=1).fit(texts, Y, dev=(dev, D))
    scores = clf.artefact.scores(parts["test"][0], 1)
    return {"linnet": clf.artefact.chosen(scores), "linnet, every threshold at 0.5": clf.artefact.proba(scores) > 0.5}


def run_scikit(parts: Parts, model: Any, name: str, costs: tuple[float, ...]) -> dict[str, np.ndarray]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.multiclass import OneVsRestClassifier

    (texts, Y), (dev, D) = parts["train"], parts["dev"]
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    X, V, T = vectorizer.fit_transform(texts), vectorizer.transform(dev), vectorizer.transform(parts["test"][0])
    found: list[tuple[float, np.ndarray, np.ndarray]] = []
    for C in costs:
        clf = OneVsRestClassifier(model(C=C)).fit(X, Y)
        scores, asked = clf.decision_function(V), clf.decision_function(T)
        found.append((macro_f1(D, cut_by_label(scores, D, scores)), asked, cut_by_label(scores, D, asked)))
    _, asked, cut = max(found, key=lambda one: one[0])
    if len(costs) > 1:
        return {f"scikit-learn {name}, C and thresholds chosen on dev": cut}
    return {f"scikit-learn {name}": asked > 0, f"scikit-learn {name}, thresholds chosen on dev": cut}


def run_libmultilabel(parts: Parts, how: str) -> dict[str, np.ndarray]:
    import libmultilabel.linear as linear
    from scipy import sparse
    from sklearn.feature_extraction.text import TfidfVectorizer

    (texts, Y), (dev, D) = parts["train"], parts["dev"]  # it chooses by folds of its own: dev is more to learn from
    vectorizer = TfidfVectorizer()  # what its Preprocessor makes of texts
    X = vectorizer.fit_transform([*texts, *dev]).astype("d")
    T = vectorizer.transform(parts["test"][0]).astype("d")
    Y = np.concatenate([Y, D])

    class Labels(sparse.csr_matrix):  # type: ignore[misc]
        def tocsc(self, copy: bool = False) -> Any:
            return Columns(super().tocsc(copy))

    class Columns(sparse.csc_matrix):  # type: ignore[misc]
        def sum(self, axis: Any = None, **more: Any) -> Any:
            """Sum over rows where it says np.sum(y, 2), which scipy no longer takes."""
            return super().sum(axis=0 if axis == 2 else axis, **more)

    model = getattr(linear, f"train_{how}")(Labels(Y), X, options="", verbose=False)
    return {f"LibMultiLabel, {how}": np.asarray(linear.predict_values(model, T)) > 0}


def work(system: str, data: Path, out: Path) -> None:
    """Run one system in this process."""
    parts, _ = read_parts(data)
    if system == "linnet":
        found = run_linnet(parts)
    elif system.startswith("libmultilabel:"):
        found = run_libmultilabel(parts, system.partition(":")[2])
    else:
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        model = LogisticRegression if system == "logistic" else LinearSVC
        found = run_scikit(parts, model, model.__name__, COSTS if system == "svc-search" else (1.0,))
    np.savez(out, **found)


def timed(python: str, system: str, data: Path) -> tuple[dict[str, np.ndarray], float, float]:
    """Run a system in a process of its own; returns its predictions, processor and wall seconds."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.npz"
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        command = [python, str(Path(__file__).resolve()), "--work", system, "--data", str(data), "--out", str(out)]
        subprocess.run(command, check=True, env={**os.environ, **dict.fromkeys(names, "1")})
        wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        with np.load(out) as found:
            return {name: found[name] for name in found.files}, used, wall


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(os.environ.get("LINNET_DATA", HERE.parent.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=root / "goemotions")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--libmultilabel-python", default=sys.executable)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.data, options.out)
        return 0
    if not (options.data / "train.csv").is_file():
        print(f"skip: no {options.data}/train.csv; point --data or LINNET_DATA at the data sets", file=sys.stderr)
        return 0
    from linnet import __version__
    from linnet.evaluate import evaluate_multilabel

    parts, labels = read_parts(options.data)
    rows: list[dict[str, Any]] = []
    failed = 0
    for system in options.systems.split(","):
        python = sys.executable
        runs = [system]
        if system == "libmultilabel":
            python = options.libmultilabel_python
            runs = ["libmultilabel:1vsrest", "libmultilabel:thresholding"]
            if subprocess.run([python, "-c", "import libmultilabel.linear"], capture_output=True).returncode:
                print(f"skip LibMultiLabel: {python} has no libmultilabel; see --help", file=sys.stderr)
                continue
        for run in runs:
            try:
                found, used, wall = timed(python, run, options.data)
            except subprocess.CalledProcessError as error:
                print(f"{run} failed: {error}", file=sys.stderr)
                failed = 1
                continue
            for name, predicted in found.items():
                result = evaluate_multilabel(parts["test"][1], predicted, labels)
                row = {"system": name, "cpu_s": used, "wall_s": wall} | {
                    key: getattr(result, key)
                    for key in ("micro_f1", "micro_f1_interval", "macro_f1", "macro_f1_interval")
                }
                rows.append(row)
                print(f"{name:60} micro {row['micro_f1']:.4f} macro {row['macro_f1']:.4f} {used:8.1f} s", flush=True)
    if options.json:
        about = {
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "linnet": __version__,
            "machine": platform.processor(),
            "results": rows,
        }
        options.json.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main())
