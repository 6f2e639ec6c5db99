"""Vectorising alone: (1, 2)-grams into a sparse matrix, scikit-learn's CountVectorizer beside linnet's Vectorizer.

`python -m systems.vectorise NAME TRAIN TEST [KEEP]`, with a NAME of `ENTRIES`, prints the seconds of `fit_transform` on
the training texts and of `transform` on the first test texts. With KEEP, the matrices and the names of their columns
are kept there, and `python -m systems.vectorise compare A B` says whether they are equal, column by column.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from systems.job import Job, worker
from systems.measure import CommandError, Samples, last_json, measure, say, summary
from systems.prepare import read_table

TRANSFORMED = 5000  # test texts, at most: enough for a speed, and scikit-learn's run stays short


def scikit_vectorizer() -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(ngram_range=(1, 2))


def linnet_vectorizer() -> Any:
    """The settings whose matrix equals that of CountVectorizer(ngram_range=(1, 2))."""
    from linnet.features import Vectorizer

    return Vectorizer.like_sklearn(ngram_range=(1, 2), n_jobs=1)


# name: (vectoriser, whether it is given a list of str rather than an Arrow array)
ENTRIES: dict[str, tuple[Callable[[], Any], bool]] = {
    "scikit": (scikit_vectorizer, True),
    "linnet": (linnet_vectorizer, False),
    "linnet_list": (linnet_vectorizer, True),
}


def benchmark(job: Job, modules: set[str], repeat: int) -> tuple[dict[str, Any], dict[str, str]]:
    """The medians of each entry and whether the matrices are equal, for the harness; and what failed."""
    needs = {"scikit": "sklearn", "linnet": "linnet", "linnet_list": "linnet"}
    entries = [name for name in ENTRIES if needs[name] in modules]
    samples: dict[str, Samples] = {name: {} for name in entries}
    failed: dict[str, str] = {}
    for turn in range(repeat):
        for name in [name for name in entries if name not in failed]:
            keep = [job.file(f"{name}.matrix")] if turn == 0 else []
            try:
                result = last_json(measure(worker("vectorise", name, job.train, job.test, *keep), job.threads))
            except CommandError as error:
                say(f"{job.name}: vectorise {name} failed: {error}")
                failed[name] = str(error).splitlines()[0]
                continue
            for measurement, value in result.items():
                samples[name].setdefault(measurement, []).append(value)
            say(f"{job.name}: vectorise {name} {result['fit_transform']:.2f} s, {result['transform']:.2f} s")
    summaries: dict[str, Any] = {name: summary(values) for name, values in samples.items() if values}
    if {"scikit", "linnet"} <= summaries.keys():
        compared = measure(worker("vectorise", "compare", job.file("scikit.matrix"), job.file("linnet.matrix")))
        summaries["equal"] = last_json(compared)["equal"]
    for kept in job.folder.glob("*.matrix"):
        kept.unlink()
    return summaries, {f"vectorise {name}": error for name, error in failed.items()}


def run(entry: str, train: str, test: str, keep: str | None = None) -> None:
    make, as_list = ENTRIES[entry]
    parts = [read_table(Path(path))["text"].combine_chunks() for path in (train, test)]
    parts[1] = parts[1].slice(0, TRANSFORMED)
    train_texts, test_texts = [part.to_pylist() if as_list else part for part in parts]
    vectorizer = make()
    start = time.perf_counter()
    X_train = vectorizer.fit_transform(train_texts)
    fitted = time.perf_counter()
    X_test = vectorizer.transform(test_texts)
    done = time.perf_counter()
    if keep:
        import joblib

        joblib.dump((X_train, X_test, list(vectorizer.get_feature_names_out())), keep)
    rows, columns = X_train.shape
    result = {"fit_transform": fitted - start, "transform": done - fitted}
    print(json.dumps({**result, "rows": rows, "columns": columns, "entries": int(X_train.nnz)}))


def compare(one: str, other: str) -> None:
    """Equal: the same names, and the same count of each in each document, whatever the order of the columns."""
    import joblib
    import numpy as np

    kept = [joblib.load(path) for path in (one, other)]
    orders = [np.argsort(np.asarray(names, dtype=object)) for _, _, names in kept]
    names = [[kept[i][2][j] for j in orders[i]] for i in (0, 1)]
    equal = names[0] == names[1]
    for part in (0, 1):
        a, b = (kept[i][part].tocsr()[:, orders[i]] for i in (0, 1))
        equal = equal and a.shape == b.shape and (a != b).nnz == 0
    print(json.dumps({"equal": bool(equal)}))


if __name__ == "__main__":
    if sys.argv[1] == "compare":
        compare(*sys.argv[2:])
    else:
        run(*sys.argv[1:])
