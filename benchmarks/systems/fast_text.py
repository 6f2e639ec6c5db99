"""fastText: the settings of its classification-results.sh, but 2 M buckets, its default (10 M: slower, no better).

In memory is its C++ `test`, which reads and splits the tokenised file as it goes: that is how it predicts fastest.
List input for `predict`, because the one for a single string is broken with numpy 2.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from systems.job import DATASETS, Command, Job, inline, worker
from systems.measure import passes

CHUNK = 10_000  # lines per call of predict
ONE_LINE = """
import fasttext, sys
text = open(sys.argv[2], encoding="utf-8").read().strip()
print(fasttext.load_model(sys.argv[1]).predict([text])[0][0][0])
"""


class FastText:
    name = "fastText"
    package = "fasttext-wheel"
    module = "fasttext"
    settings = "shuffled, lower-cased, tokenised text; dim 10, wordNgrams 2, epoch 5, lr by set, bucket 2 M"

    def train(self, job: Job) -> Command:
        rate = DATASETS[job.name].fasttext_lr
        return worker("fast_text", "train", job.file("train.ft"), self.model(job), rate, job.threads)

    def model(self, job: Job) -> str:
        return job.file("model.ft.bin")

    def memory(self, job: Job) -> Command:
        return worker("fast_text", "memory", self.model(job), job.file("test.ft"))

    def bulk(self, job: Job) -> Command:
        return worker("fast_text", "predict", self.model(job), job.file("bulk.ft"), job.file("bulk.ft.out"))

    def bulk_accuracy(self, job: Job) -> Command:
        return worker("fast_text", "accuracy", job.file("bulk.ft"), job.file("bulk.ft.out"))

    def one(self, job: Job) -> Command:
        return inline(ONE_LINE, self.model(job), job.file("one.ft"))


def train(source: str, model: str, rate: str, threads: str) -> None:
    import fasttext

    options = {"dim": 10, "wordNgrams": 2, "epoch": 5, "bucket": 2_000_000, "verbose": 0}
    limit = {"thread": int(threads)} if int(threads) else {}
    fasttext.train_supervised(source, lr=float(rate), **limit, **options).save_model(model)


def memory(model: str, test: str) -> None:
    import fasttext

    loaded = fasttext.load_model(model)
    print(json.dumps({**passes(lambda: loaded.test(test)), "accuracy": loaded.test(test)[1]}))


def predict(model: str, source: str, out: str) -> None:
    import fasttext

    loaded = fasttext.load_model(model)
    with Path(source).open(encoding="utf-8") as lines, Path(out).open("w", encoding="utf-8") as target:
        while chunk := [line.rstrip("\n").split(" ", 1)[1] for line in islice(lines, CHUNK)]:
            labels, _ = loaded.predict(chunk)
            target.writelines(f"{label[0] if label else ''}\n" for label in labels)


def accuracy(gold: str, predicted: str) -> None:
    right = rows = 0
    with Path(gold).open(encoding="utf-8") as gold_lines, Path(predicted).open(encoding="utf-8") as predicted_lines:
        for expected, got in zip(gold_lines, predicted_lines, strict=True):
            right += expected.split(" ", 1)[0] == got.strip()
            rows += 1
    print(json.dumps({"accuracy": right / rows, "rows": rows}))


VERBS: dict[str, Callable[..., None]] = {"train": train, "memory": memory, "predict": predict, "accuracy": accuracy}

if __name__ == "__main__":
    VERBS[sys.argv[1]](*sys.argv[2:])
