"""How fast are the solvers? SVM, logistic regression and naive Bayes beside scikit-learn's, on the same sparse matrix.

    python benchmarks/solvers.py [--data DIR] [--sets imdb,20newsgroups] [--repeat 3] [--json OUT]

Word pairs with tf-idf, as scikit-learn's TfidfVectorizer gives them (CSR, 64 bits). Each side is run at a ladder of
tolerances and of passes, one thread, in turns; a run is (seconds of processor time of the whole ``fit``, objective). For
a relative gap to the optimum, the time of a side is that of its fastest run that comes so near. What is compared:

svm       LinearSVM and LinearSVC(dual=True): the same problem, its intercept a penalised weight. 20 Newsgroups is solved
          for all classes, one against the rest, on both sides; the objectives are summed.
logistic  LogisticRegression and scikit-learn's with solver="liblinear", dual=True and dual=False, whichever is faster.
          Liblinear penalises the intercept and ours does not, so both go without. Liblinear has two classes: 20 Newsgroups
          is one class against the rest.
nb        MultinomialNB, the time of a fit.
threads   LinearSVM (all classes) and softmax LogisticRegression on 20 Newsgroups with one and with two threads: wall time,
          and whether the weights are the same bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.linear_model import LogisticRegression as TheirLogistic
from sklearn.naive_bayes import MultinomialNB as TheirNB
from sklearn.svm import LinearSVC

import linnet
from linnet.models import LinearSVM, LogisticRegression, MultinomialNB

HERE = Path(__file__).resolve().parent
GAPS = (1e-2, 1e-4, 1e-6)
PASSES = (2, 3, 4, 5, 6, 8, 11, 15, 20)
ONE_CLASS = "comp.graphics"  # against the rest, where liblinear takes two classes

Run = tuple[float, float]  # seconds, objective


def matrix(name: str, data: Path, cache: Path) -> tuple[sp.csr_matrix, np.ndarray]:
    """Word pairs with tf-idf, made once and kept."""
    files = cache / f"{name}-pairs.npz", cache / f"{name}-labels.npy"
    if not all(f.exists() for f in files):
        import pyarrow.parquet as pq
        from sklearn.feature_extraction.text import TfidfVectorizer

        table = pq.read_table(data / name / "train.parquet", columns=["text", "label"])
        cache.mkdir(parents=True, exist_ok=True)
        X = TfidfVectorizer(ngram_range=(1, 2)).fit_transform(table["text"].to_pylist())
        sp.save_npz(files[0], X, compressed=False)
        np.save(files[1], np.array(table["label"].to_pylist()).astype(str))
    return sp.load_npz(files[0]), np.load(files[1])


def svm_objective(model: Any, X: sp.csr_matrix, y: np.ndarray) -> float:
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    slack = np.maximum(0.0, 1.0 - np.where(y[:, None] == classes, 1.0, -1.0) * (X @ model.coef_.T + model.intercept_))
    return float((np.sum(model.coef_**2) + np.sum(model.intercept_**2)) / 2 + model.C * np.sum(slack**2))


def logistic_objective(model: Any, X: sp.csr_matrix, y: np.ndarray) -> float:
    t = np.where(y == model.classes_[1], 1.0, -1.0)
    return float(np.sum(model.coef_**2) / 2 + model.C * np.sum(np.logaddexp(0.0, -t * (X @ model.coef_[0]))))


def timed(model: Any, X: sp.csr_matrix, y: np.ndarray, clock: Callable[[], float] = time.process_time) -> float:
    began = clock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return clock() - began


def ladders(C: float, problem: str, many: bool) -> dict[str, list[Any]]:
    """The models of each side, from loose to tight."""
    passes = PASSES if not many else ()  # twenty times the work: tolerances only
    if problem == "svm":
        ours = [LinearSVM(C, tol=t, max_iter=20_000) for t in (1.0, 0.1, 1e-2, 1e-3)]
        ours += [LinearSVM(C, tol=1e-9, max_iter=k) for k in passes]
        theirs = [LinearSVC(C=C, dual=True, tol=t, max_iter=20_000) for t in (1.0, 0.1, 1e-2, 1e-3)]
        theirs += [LinearSVC(C=C, dual=True, tol=1e-9, max_iter=k) for k in passes]
        return {"linnet": ours, "liblinear": theirs}
    plain = {"C": C, "fit_intercept": False}
    ours = [LogisticRegression(**plain, tol=t) for t in (0.1, 1e-2, 1e-4, 1e-8)]
    ours += [LogisticRegression(**plain, tol=1e-12, max_iter=k) for k in passes]
    liblinear = {**plain, "solver": "liblinear"}
    dual = [TheirLogistic(**liblinear, dual=True, tol=t, max_iter=20_000) for t in (1.0, 0.1, 1e-4)]
    dual += [TheirLogistic(**liblinear, dual=True, tol=1e-12, max_iter=k) for k in passes]
    primal = [TheirLogistic(**liblinear, tol=t, max_iter=20_000) for t in (1.0, 0.1, 1e-3)]
    return {"linnet": ours, "liblinear dual": dual, "liblinear primal": primal}


def best(C: float, problem: str, X: sp.csr_matrix, y: np.ndarray) -> float:
    """The optimum, by our solver at a tolerance that leaves no gap in the digits shown."""
    if problem == "svm":
        model: Any = LinearSVM(C, tol=1e-8, max_iter=20_000).fit(X, y)
        return svm_objective(model, X, y)
    return logistic_objective(LogisticRegression(C, fit_intercept=False, tol=1e-10).fit(X, y), X, y)


def race(problem: str, C: float, X: sp.csr_matrix, y: np.ndarray, repeat: int) -> dict[str, Any]:
    """Run both sides in turns; returns their runs and, for each gap, times and the ratio."""
    objective = svm_objective if problem == "svm" else logistic_objective
    optimum = best(C, problem, X, y)
    sides = ladders(C, problem, len(set(y)) > 2)
    runs: dict[str, list[Run]] = {side: [(np.inf, np.inf)] * len(models) for side, models in sides.items()}
    for _ in range(repeat):
        for step in range(max(map(len, sides.values()))):
            for side, models in sides.items():
                if step < len(models):
                    seconds = timed(models[step], X, y)
                    runs[side][step] = (min(seconds, runs[side][step][0]), objective(models[step], X, y))
    optimum = min([optimum, *(o for found in runs.values() for _, o in found)])
    rows = []
    for gap in GAPS:
        times = {
            side: min((s for s, o in found if o - optimum <= gap * optimum), default=np.inf)
            for side, found in runs.items()
        }
        theirs = min(t for side, t in times.items() if side != "linnet")
        rows.append({"gap": gap, **times, "ratio": theirs / times["linnet"]})
    return {"optimum": optimum, "gaps": rows, "runs": runs}


def naive_bayes(X: sp.csr_matrix, y: np.ndarray, repeat: int) -> dict[str, float]:
    times = {
        side: min(timed(Model(), X, y) for _ in range(2 * repeat + 1))
        for side, Model in (("linnet", MultinomialNB), ("scikit-learn", TheirNB))
    }
    return {**times, "ratio": times["scikit-learn"] / times["linnet"]}


def threads(X: sp.csr_matrix, y: np.ndarray, repeat: int) -> dict[str, Any]:
    """One thread and two, wall time, where there are many classes."""
    out = {}
    for name, make in (
        ("svm", lambda t: LinearSVM(n_jobs=t)),
        ("softmax", lambda t: LogisticRegression(tol=1e-3, n_jobs=t)),
    ):
        seconds, weights = {1: np.inf, 2: np.inf}, {}
        for _ in range(repeat):
            for t in (1, 2):
                model = make(t)
                seconds[t] = min(seconds[t], timed(model, X, y, time.perf_counter))
                weights[t] = model.coef_.tobytes()
        same = weights[1] == weights[2]
        out[name] = {"one": seconds[1], "two": seconds[2], "ratio": seconds[1] / seconds[2], "same": same}
    return out


def measure(name: str, data: Path, cache: Path, options: argparse.Namespace) -> dict[str, Any]:
    X, y = matrix(name, data, cache)
    print(f"{name}: {X.shape[0]} rows, {X.shape[1]} columns, {X.nnz} entries", flush=True)
    result: dict[str, Any] = {"rows": X.shape[0], "columns": X.shape[1], "entries": X.nnz}
    many = len(set(y)) > 2
    two = (y == (ONE_CLASS if ONE_CLASS in y else y[0])) if many else y
    for problem in options.problems.split(","):
        if problem == "nb":
            result["nb"] = found = naive_bayes(X, y, options.repeat)
            print(
                f"  nb        linnet {found['linnet']:.3f} s, scikit-learn {found['scikit-learn']:.3f} s: {found['ratio']:.2f} x"
            )
        elif problem == "threads":
            if many:
                result["threads"] = found = threads(X, y, options.repeat)
                for model, f in found.items():
                    print(
                        f"  threads   {model} {f['one']:.2f} s, {f['two']:.2f} s: {f['ratio']:.2f} x, same bytes: {f['same']}"
                    )
        else:
            result[problem] = race(problem, options.C, X, y if problem == "svm" else two, options.repeat)
            for row in result[problem]["gaps"]:
                sides = ", ".join(f"{k} {v:.2f} s" for k, v in row.items() if k not in ("gap", "ratio"))
                print(f"  {problem:<9} gap {row['gap']:.0e}: {sides}: {row['ratio']:.2f} x", flush=True)
    return result


def main() -> None:
    """Measure the sets, print a line each, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "../shared/data"))
    parser.add_argument("--sets", default="imdb,20newsgroups")
    parser.add_argument("--problems", default="svm,logistic,nb,threads")
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=HERE / "cache")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = {name: measure(name, Path(options.data), options.cache, options) for name in options.sets.split(",")}
    if options.json:
        machine = {
            "python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count(),
            "linnet": linnet.__version__, "scikit-learn": sklearn.__version__,
        }  # fmt: skip
        content = {"date": datetime.now(UTC).date().isoformat(), "C": options.C, "machine": machine, "results": results}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
