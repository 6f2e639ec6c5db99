"""Vowpal Wabbit, by `python -m vowpalwabbit`, which is its command line.

`--holdout_off`, since by default it keeps a tenth of the rows from several passes: with it VW is both faster and more
accurate. It always parses in a second thread beside the learner, whatever is asked for. In memory it has no entry: from
Python it takes one line per call, and its own loop over a file is the whole process measured as `bulk`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from systems.job import Command, Job, worker

VW = [sys.executable, "-m", "vowpalwabbit", "--quiet"]
PAIRS = ["--ngram", "2", "-b", "22"]
THREE_PASSES = ["--passes", "3", "-c", "-k", "--holdout_off"]


class Vowpal:
    name = "Vowpal Wabbit"
    package = "vowpalwabbit"
    module = "vowpalwabbit"
    settings = (
        "shuffled, lower-cased, tokenised text; --ngram 2 -b 22 --passes 3 -c -k --holdout_off "
        "--loss_function logistic, --oaa K for more than two classes"
    )

    def train(self, job: Job) -> Command:
        options = [*PAIRS, *THREE_PASSES, "--loss_function", "logistic"]
        classes = ["--oaa", str(job.n_classes)] if job.n_classes > 2 else []
        return [*VW, *options, *classes, "-d", job.file("train.vw"), "-f", self.model(job)]

    def model(self, job: Job) -> str:
        return job.file("model.vw")

    def memory(self, job: Job) -> None:
        return None

    def bulk(self, job: Job) -> Command:
        return self._predict(job, "bulk")

    def bulk_accuracy(self, job: Job) -> Command:
        return worker("vowpal", job.file("bulk.vw"), job.file("bulk.vw.out"), job.n_classes)

    def one(self, job: Job) -> Command:
        return self._predict(job, "one")

    def _predict(self, job: Job, name: str) -> Command:
        return [*VW, "-t", "-i", self.model(job), "-d", job.file(f"{name}.vw"), "-p", job.file(f"{name}.vw.out")]


def accuracy(gold: str, predicted: str, n_classes: str) -> None:
    """Two classes: the sign of the margin. More: the number of the class."""
    right = rows = 0
    with Path(gold).open(encoding="utf-8") as gold_lines, Path(predicted).open(encoding="utf-8") as predicted_lines:
        for expected, got in zip(gold_lines, predicted_lines, strict=True):
            label, answer = int(expected.split(" ", 1)[0]), float(got.split()[0])
            right += (answer > 0) == (label > 0) if n_classes == "2" else int(answer) == label
            rows += 1
    print(json.dumps({"accuracy": right / rows, "rows": rows}))


if __name__ == "__main__":
    accuracy(*sys.argv[1:])
