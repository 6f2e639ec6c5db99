"""linnet by its command line, and in Python for the prediction in memory (an Arrow array, and a list of str)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from systems.job import COPIES, Command, Job, worker
from systems.measure import passes
from systems.prepare import read_table

SCRIPT = Path(sys.executable).parent / "linnet"
LINNET = [str(SCRIPT)] if SCRIPT.is_file() else [sys.executable, "-m", "linnet"]


class Linnet:
    package = "linnet"
    module = "linnet"

    def __init__(self, model: str = "svm") -> None:
        self.kind, self.name = model, "linnet" if model == "svm" else f"linnet {model}"
        self.settings = f"linnet train --features words:1-2 --model {model}"

    def train(self, job: Job) -> Command:
        options = [
            "--features",
            "words:1-2",
            "--model",
            self.kind,
            "--out",
            self.model(job),
            *_threads(job),
        ]
        return [*LINNET, "train", str(job.train), *options]

    def model(self, job: Job) -> str:
        return job.file(f"model.{self.kind}.linnet")

    def memory(self, job: Job) -> Command:
        return worker("linnet_cli", "memory", self.model(job), job.test)

    def bulk(self, job: Job) -> Command:
        return self._predict(job, job.bulk, f"bulk.{self.kind}.csv")

    def bulk_accuracy(self, job: Job) -> Command:
        return worker("linnet_cli", "accuracy", job.test, job.file(f"bulk.{self.kind}.csv"))

    def one(self, job: Job) -> Command:
        return self._predict(job, job.file("one.txt"), f"one.{self.kind}.csv")

    def version(self) -> Command:
        return [*LINNET, "--version"]

    def _predict(self, job: Job, source: str, out: str) -> Command:
        options = ["--out", job.file(out), *_threads(job)]
        return [*LINNET, "predict", self.model(job), source, *options]


def _threads(job: Job) -> Command:
    return ["--threads", str(job.threads)] if job.threads else []


def memory(model: str, test: str) -> None:
    import linnet

    classifier: Any = linnet.load(model, n_jobs=1)
    table = read_table(Path(test))
    texts, labels = table["text"].combine_chunks(), table["label"].to_pylist()
    strings = texts.to_pylist()
    timed = passes(lambda: classifier.predict(texts))
    timed_list = {f"{name}_list": value for name, value in passes(lambda: classifier.predict(strings)).items()}
    right = sum(got == expected for got, expected in zip(classifier.predict(texts), labels, strict=True))
    print(json.dumps({**timed, **timed_list, "accuracy": right / len(labels)}))


def accuracy(gold: str, predicted: str) -> None:
    """The first column of the output that is called label, prediction or predicted is the answer."""
    from pyarrow import csv

    labels = read_table(Path(gold))["label"].to_pylist() * COPIES
    table = csv.read_csv(predicted, parse_options=csv.ParseOptions(newlines_in_values=True))
    column = next((name for name in table.column_names if name in {"label", "prediction", "predicted"}), None)
    if column is None:
        raise SystemExit(f"{predicted}: no column of predictions among {table.column_names}")
    right = sum(got == expected for got, expected in zip(table[column].to_pylist(), labels, strict=True))
    print(json.dumps({"accuracy": right / len(labels), "rows": len(labels)}))


VERBS: dict[str, Callable[..., None]] = {"memory": memory, "accuracy": accuracy}

if __name__ == "__main__":
    VERBS[sys.argv[1]](*sys.argv[2:])
