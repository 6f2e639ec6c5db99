"""scikit-learn: TF-IDF of words and pairs into a linear SVM, kept with joblib.

No ten copies: they would take minutes, and `memory` already says the same of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from systems.job import Command, Job, inline, worker
from systems.measure import passes
from systems.prepare import read_table

ONE_LINE = """
import joblib, sys
text = open(sys.argv[2], encoding="utf-8").read()
print(joblib.load(sys.argv[1]).predict([text])[0])
"""


class Scikit:
    name = "scikit-learn"
    package = "scikit-learn"
    module = "sklearn"
    settings = "TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LinearSVC(), joblib"

    def train(self, job: Job) -> Command:
        return worker("scikit", "train", job.train, self.model(job))

    def model(self, job: Job) -> str:
        return job.file("model.joblib")

    def memory(self, job: Job) -> Command:
        return worker("scikit", "memory", self.model(job), job.test)

    def bulk(self, job: Job) -> None:
        return None

    def bulk_accuracy(self, job: Job) -> None:
        return None

    def one(self, job: Job) -> Command:
        return inline(ONE_LINE, self.model(job), job.file("one.txt"))


def train(source: str, model: str) -> None:
    import joblib
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    table = read_table(Path(source))
    pipeline = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LinearSVC())
    pipeline.fit(table["text"].to_pylist(), table["label"].to_pylist())
    joblib.dump(pipeline, model)


def memory(model: str, test: str) -> None:
    import joblib

    pipeline = joblib.load(model)
    table = read_table(Path(test))
    texts, labels = table["text"].to_pylist(), table["label"].to_pylist()
    predicted: list[str] = []

    def run() -> None:
        predicted[:] = pipeline.predict(texts).tolist()

    timed = passes(run)
    right = sum(got == expected for got, expected in zip(predicted, labels, strict=True))
    print(json.dumps({**timed, "accuracy": right / len(labels)}))


VERBS: dict[str, Callable[..., None]] = {"train": train, "memory": memory}

if __name__ == "__main__":
    VERBS[sys.argv[1]](*sys.argv[2:])
