"""Ng and Jordan (2002): naive Bayes needs few rows to reach its best, logistic regression more, and then it is better.

Each set is divided once, 80 % to draw from and 20 % to test on. For every size, so many rows are drawn (stratified, so many times),
both models are fitted to them, and the accuracies are averaged. Features are single words, present or absent, known from the drawn
rows alone; naive Bayes adds 1, logistic regression has C = 1. Nothing is tuned.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from linnet.classifier import TextClassifier
from linnet.data.splitting import split_indices
from linnet.datasets.named import read_named
from linnet.reproduce import Lines, TableOptions
from linnet.reproduce.wang2012 import share_right

SETS = ("rt_polarity", "imdb", "movie_reviews")
MODELS: dict[str, dict[str, Any]] = {"nb": {"alpha": 1.0}, "logistic": {"C": 1.0}}
PLAIN: dict[str, Any] = {
    "features": "words:1", "tf": "presence", "idf": False, "norm": None, "ratio": 0.0, "calibrate": False,
}  # fmt: skip


def lines(options: TableOptions) -> Lines:
    """Give a data set a row: the mean accuracy of both models at each size, per cent."""
    yield "", {}
    for name in options.chosen(SETS, "sets"):
        data = read_named(f"hub:{name}", labelled=True)
        codes = np.unique(data.label_list(), return_inverse=True)[1].astype(np.int32)
        pool, held = split_indices(codes, 0, (0.8, 0.2))
        test, sizes = data.take(held), []
        for size in (n for n in options.sizes if n < len(pool)):
            shares = (size / len(pool), 1 - size / len(pool))
            drawn = [pool[split_indices(codes[pool], repeat, shares)[0]] for repeat in range(options.repeats)]
            runs = [(data.take(rows), test) for rows in drawn]
            both = {m: share_right(partial(TextClassifier, m, params=own, **PLAIN), runs) for m, own in MODELS.items()}
            sizes.append({"rows": size, **both})
        text = [f"  {one['rows']:>6,} rows   nb {one['nb']:.2f}   logistic {one['logistic']:.2f}" for one in sizes]
        yield "\n".join([name, *text]), {"set": name, "sizes": sizes}
