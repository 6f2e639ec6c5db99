"""How many explanations a second, one thread, beside a plain scikit-learn pipeline on the same texts?

    python benchmarks/explaining.py [--data DIR] [--json OUT] [--rounds N] [--nearest]

Texts are film-review sentences of 60 to 100 characters, the models a linear SVM over words 1-2 and over the default
features (words 1-3 and characters 2-6). An explanation of linnet is the label, its score and probability, every feature
with its part and its places in the text; "named" adds the names of the ten largest, "characters" the part of each
character. scikit-learn transforms, multiplies by the coefficients and names the ten largest: no places, no probability.
Systems take turns, the best of several rounds counts; seconds are those of the processor, not of the clock. --nearest also
times the index of the nearest examples on IMDB.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import linnet
from linnet import TextClassifier

TARGET = 20_000
FEATURES = {"words:1-2": "words:1-2", "default": None}


def linnet_runs(clf: TextClassifier, texts: list[str]) -> dict[str, Callable[[], Any]]:
    """Return what is timed of linnet, by name."""

    def parts() -> None:
        for _ in clf.explain_many(texts):
            pass

    def named() -> None:
        for e in clf.explain_many(texts):
            e.top(10)

    def characters() -> None:
        for e in clf.explain_many(texts):
            e.characters()

    def single() -> None:
        for text in texts[:500]:
            clf.explain(text).top(10)

    return {"linnet": parts, "linnet, named": named, "linnet, characters": characters, "linnet, one by one": single}


def scikit_runs(kind: str, train: list[str], y: list[Any], texts: list[str]) -> dict[str, Callable[[], Any]]:
    """Return what is timed of scikit-learn, by name."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import FeatureUnion
    from sklearn.svm import LinearSVC

    words = TfidfVectorizer(ngram_range=(1, 2 if kind == "words:1-2" else 3), sublinear_tf=True)
    chars = TfidfVectorizer(ngram_range=(2, 6), analyzer="char_wb", sublinear_tf=True)
    vectorizer = words if kind == "words:1-2" else FeatureUnion([("words", words), ("chars", chars)])
    model = LinearSVC().fit(vectorizer.fit_transform(train), y)
    names, coef = vectorizer.get_feature_names_out(), model.coef_[0]

    def explain(some: list[str]) -> list[Any]:
        X = vectorizer.transform(some).tocsr()
        out = []
        for k in range(X.shape[0]):
            columns = X.indices[X.indptr[k] : X.indptr[k + 1]]
            values = X.data[X.indptr[k] : X.indptr[k + 1]] * coef[columns]
            top = np.argsort(-np.abs(values))[:10]
            out.append((values.sum() + model.intercept_[0], list(zip(names[columns[top]], values[top], strict=True))))
        return out

    return {
        "scikit-learn": lambda: explain(texts),
        "scikit-learn, one by one": lambda: [explain([text]) for text in texts[:500]],
    }


def sentences(data: Path) -> tuple[list[str], list[Any]]:
    """Return the sentences of RT-s and their labels."""
    source = data / "rt_polarity" / "all.csv"
    if not source.exists():
        raise SystemExit(f"{source}: no such file; point --data or LINNET_DATA at the data sets")
    rows = linnet.read(source)
    return rows.text.to_pylist(), rows.label.to_pylist()


def exact(clf: TextClassifier, texts: list[str]) -> float:
    """Return the largest difference between a score and the sum of its parts."""
    return max(abs(e.bias + sum(c.value for c in e.contributions) - e.score) for e in clf.explain_many(texts))


def nearest(data: Path) -> dict[str, float]:
    """Time the index of IMDB's training reviews and questions to it."""
    table = pq.read_table(data / "imdb" / "train.parquet")
    texts, labels = table["text"].to_pylist(), table["label"].to_pylist()
    clf = TextClassifier("svm", features="words:1-2", params={"C": 1.0}, ratio=0.5, n_jobs=1).fit(texts, labels)
    began = time.process_time()
    index = clf.index((texts, labels))
    built = time.process_time() - began
    asked = pq.read_table(data / "imdb" / "test.parquet")["text"].to_pylist()[:50]
    began = time.process_time()
    for text in asked:
        index.nearest(text)
    each = (time.process_time() - began) / len(asked)
    return {"rows": len(index), "entries": int(index.X.nnz), "build_s": built, "query_ms": 1000 * each}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "data"))
    parser.add_argument("--json", metavar="OUT")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nearest", action="store_true")
    options = parser.parse_args()
    train, y = sentences(Path(options.data))
    texts = [t for t in train if 60 <= len(t) <= 100][:2000]
    results = []
    for kind, features in FEATURES.items():
        clf = TextClassifier("svm", features=features, params={"C": 1.0}, ratio=0.0, n_jobs=1).fit(train, y)
        timed = {**linnet_runs(clf, texts), **scikit_runs(kind, train, y, texts)}
        best = dict.fromkeys(timed, float("inf"))
        for _ in range(options.rounds):
            for name, run in timed.items():
                began = time.process_time()
                run()
                best[name] = min(best[name], time.process_time() - began)
        for name, seconds in best.items():
            rate = (500 if name.endswith("one by one") else len(texts)) / seconds
            results.append({"features": kind, "system": name, "per_s": rate})
            print(f"{kind:<10} {name:<26} {rate:>10,.0f} explanations/s")
        print(f"{kind:<10} largest difference between a score and its parts: {exact(clf, texts[:300]):.1e}")
    found = nearest(Path(options.data)) if options.nearest else None
    if found:
        print(
            "nearest on IMDB: {rows:,} rows, {entries:,} entries, built in {build_s:.1f} s, {query_ms:.1f} ms a question".format(
                **found
            )
        )
    if options.json:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
        about = {"date": datetime.now(UTC).date().isoformat(), "machine": machine, "texts": len(texts), "threads": 1}
        content = {**about, "target_per_s": TARGET, "results": results, "nearest": found}
        Path(options.json).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
