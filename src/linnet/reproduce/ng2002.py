"""Ng and Jordan (2002): naive Bayes needs few rows to reach its best, logistic regression more, and then it is better.

Each set is divided once, 80 % to draw from and 20 % to test on. For every size, so many rows are drawn (stratified, so many times),
both models are fitted to them, and the accuracies are averaged. Features are single words, present or absent, known from the drawn
rows alone; naive Bayes adds 1, logistic regression has C = 1. Nothing is tuned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from linnet.classifier import TextClassifier
from linnet.data.splitting import split_indices
from linnet.datasets.named import read_named
from linnet.reproduce import TableOptions

SETS = ("rt_polarity", "imdb", "movie_reviews")
MODELS: dict[str, dict[str, Any]] = {"nb": {"alpha": 1.0}, "logistic": {"C": 1.0}}
PLAIN: dict[str, Any] = {
    "features": "words:1", "tf": "presence", "idf": False, "norm": None, "ratio": 0.0, "calibrate": False,
}  # fmt: skip


def rows(options: TableOptions) -> Iterator[dict[str, Any]]:
    """Give a data set a row: the mean accuracy of both models at each size, per cent."""
    for name in options.chosen(SETS, "sets"):
        data = read_named(f"hub:{name}", labelled=True)
        codes = np.unique(data.label_list(), return_inverse=True)[1].astype(np.int32)
        pool, held = split_indices(codes, 0, (0.8, 0.2))
        test = data.take(held)
        texts, truth = test.text.to_pylist(), np.array(test.label_list())
        sizes = []
        for size in (n for n in options.sizes if n < len(pool)):
            found: dict[str, list[float]] = {model: [] for model in MODELS}
            for repeat in range(options.repeats):
                shares = (size / len(pool), 1 - size / len(pool))
                drawn = pool[split_indices(codes[pool], repeat, shares)[0]]
                train = data.take(drawn)
                for model, settings in MODELS.items():
                    clf = TextClassifier(model, params=settings, **PLAIN)
                    clf.fit(train.text.to_pylist(), train.label_list())
                    found[model].append(float(np.mean(clf.predict(texts) == truth)))
            sizes.append({"rows": size, **{model: 100 * float(np.mean(scores)) for model, scores in found.items()}})
        yield {"set": name, "sizes": sizes}


def line(row: dict[str, Any]) -> str:
    """Write a row: a line a size."""
    sizes = [f"  {one['rows']:>6,} rows   nb {one['nb']:.2f}   logistic {one['logistic']:.2f}" for one in row["sizes"]]
    return "\n".join([row["set"], *sizes])
