"""fastText's own autotune: `python -m systems.autotune TRAIN DEV ALL TEST SECONDS THREADS`, all in its own format.

It tunes on DEV for so many seconds. Two models are judged on TEST: its own, trained on TRAIN, and one with the same
settings trained on ALL rows, as linnet does after its search; which of the two is better is for the reader to take.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

SETTINGS = ("lr", "dim", "epoch", "wordNgrams", "minn", "maxn", "bucket", "minCount")


def accuracy(model: Any, test: str) -> float:
    return float(model.test(test)[1])


def main(train: str, dev: str, every: str, test: str, seconds: str, threads: str) -> None:
    import fasttext

    began = time.perf_counter()
    own = fasttext.train_supervised(
        train, autotuneValidationFile=dev, autotuneDuration=int(seconds), thread=int(threads), verbose=0, seed=0
    )
    tuned = time.perf_counter() - began
    arguments = own.f.getArgs()
    found = {name: getattr(arguments, name) for name in SETTINGS}
    loss = str(arguments.loss).split(".")[-1]
    result = {"accuracy": accuracy(own, test), "seconds": tuned, "settings": {**found, "loss": loss}}
    try:
        again = fasttext.train_supervised(every, thread=int(threads), loss=loss, verbose=0, **found)
        result["accuracy_refitted"] = accuracy(again, test)
    except RuntimeError as error:  # "Encountered NaN" happens on small data
        result["refit_failed"] = str(error)
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:7])
