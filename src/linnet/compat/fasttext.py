"""fastText's Python calls for classifiers, answered by linnet: ``from linnet.compat import fasttext``.

``load_model`` opens fastText's own files and linnet's. ``train_supervised`` trains a linear model on fastText's lines: wordNgrams, minn,
maxn, minCount, loss and the validation file mean what they do there; what only steers fastText's stochastic steps (lr, dim, epoch, ws,
neg, bucket, lrUpdateRate, t) is taken and has no effect, because linnet solves the problem to its optimum, without a hidden layer.
A line break in a text is a blank. Probabilities are plain: fastText adds 1e-5 to each.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linnet.array_types import Floats
from linnet.classifier import TextClassifier, load
from linnet.errors import DataError, LinnetError, check_choice

PREFIX = "__label__"
_UNUSED = {"lr", "dim", "ws", "epoch", "neg", "bucket", "lrUpdateRate", "t", "verbose", "minCountLabel"}
_LOSSES = ("softmax", "hs", "ns", "ova", "one-vs-all")
_REFUSED = ("pretrainedVectors", "autotuneDuration", "autotuneModelSize", "autotuneMetric", "autotunePredictions")


class FastTextClassifier:
    """A classifier with fastText's calls; ``classifier`` is the linnet one behind it."""

    def __init__(self, classifier: TextClassifier) -> None:
        self.classifier = classifier
        self._names = np.array([f"{PREFIX}{c}" for c in classifier.artefact.classes], dtype=object)

    @property
    def labels(self) -> list[str]:
        """The labels, with their prefix."""
        return self.get_labels()

    def get_labels(self, include_freq: bool = False, on_unicode_error: str = "strict") -> list[str]:
        """Return the labels, with their prefix."""
        if include_freq:
            raise LinnetError("get_labels(include_freq=True): a model keeps no counts of its labels")
        return list(self._names.tolist())

    def predict(
        self, text: Any, k: int = 1, threshold: float = 0.0, on_unicode_error: str = "strict"
    ) -> tuple[Any, Any]:
        """Return the k most probable labels (-1: all) that reach the threshold, and their probabilities, of a text or of each of a list.

        >>> model = FastTextClassifier(TextClassifier("nb", features="words:1").fit(["good", "bad"] * 9, ["pos", "neg"] * 9))
        >>> model.predict("good")[0], len(model.predict(["good", "bad"], k=2)[0][1])
        (('__label__pos',), 2)
        """
        labels, values = self._top([text] if isinstance(text, str) else text, k, threshold)
        return (tuple(labels[0]), values[0]) if isinstance(text, str) else (labels, values)

    def _top(self, texts: Iterable[str], k: int, threshold: float) -> tuple[list[list[str]], list[Floats]]:
        if k == 0 or k < -1:
            raise DataError(f"k must be 1 or more, or -1 for all labels, got {k}")
        given = [" ".join(t.splitlines()) for t in texts]
        if not given:
            return [], []
        P = self.classifier.predict_proba(given)
        order = np.argsort(-P, axis=1, kind="stable")[:, : k if k > 0 else None]
        values = [row[mine] for row, mine in zip(P, order, strict=True)]
        fits = [v >= threshold for v in values]
        names = [self._names[mine[ok]].tolist() for mine, ok in zip(order, fits, strict=True)]
        return names, [v[ok] for v, ok in zip(values, fits, strict=True)]

    def _tested(self, path: str | os.PathLike[str], k: int, threshold: float) -> list[tuple[set[str], set[str]]]:
        texts, truth = read_lines(path)
        found, _ = self._top(texts, k, threshold)
        return [({f"{PREFIX}{c}" for c in labels}, set(mine)) for labels, mine in zip(truth, found, strict=True)]

    def test(self, path: str | os.PathLike[str], k: int = 1, threshold: float = 0.0) -> tuple[int, float, float]:
        """Return the number of rows of a file of fastText lines, precision at k and recall at k."""
        rows = self._tested(path, k, threshold)
        right = sum(len(truth & found) for truth, found in rows)
        said, true = (sum(len(row[side]) for row in rows) for side in (1, 0))
        return len(rows), right / said if said else float("nan"), right / true if true else float("nan")

    def test_label(
        self, path: str | os.PathLike[str], k: int = 1, threshold: float = 0.0
    ) -> dict[str, dict[str, float]]:
        """Return precision, recall and f1score of each label of a file."""
        rows, out = self._tested(path, k, threshold), {}
        for label in sorted(set().union(*(truth | found for truth, found in rows))):
            right = sum(label in truth and label in found for truth, found in rows)
            said, true = (sum(label in row[side] for row in rows) for side in (1, 0))
            scores = right / said if said else float("nan"), right / true if true else float("nan")
            f1 = 2 * right / (said + true) if said + true else float("nan")
            out[label] = {"precision": scores[0], "recall": scores[1], "f1score": f1}
        return out

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Save the model as a .linnet file, whatever the ending: fastText itself cannot read it."""
        self.classifier.save(path)

    def quantize(self, *args: Any, **settings: Any) -> None:
        """Refuse: linnet has no product quantiser."""
        raise LinnetError(
            "quantize: linnet has no product quantiser; linnet shrink MODEL --max-size 1MB writes a smaller model"
        )


def load_model(path: str | os.PathLike[str]) -> FastTextClassifier:
    """Open a fastText classifier (.bin, .ftz) or a linnet model."""
    return FastTextClassifier(load(path))


def train_supervised(
    input: str | os.PathLike[str], *, wordNgrams: int = 1, minn: int = 0, maxn: int = 0, minCount: int = 1,
    loss: str = "softmax", label: str = PREFIX, thread: int | None = None, seed: int = 0,
    autotuneValidationFile: str | os.PathLike[str] = "", **settings: Any,
) -> FastTextClassifier:  # fmt: skip
    """Train a classifier on a file of fastText lines; see the head of this module for what the arguments mean."""
    for name, value in settings.items():
        if name in _REFUSED and value:
            raise LinnetError(f"train_supervised({name}=...): use linnet train --vectors FILE, or linnet tune")
        check_choice("argument of train_supervised", name, [*_UNUSED, *_REFUSED], LinnetError)
    check_choice("loss", loss, _LOSSES, LinnetError)
    texts, labels = read_lines(input, label)
    features = f"words:1-{wordNgrams}:whitespace:keep" if wordNgrams > 1 else "words:1:whitespace:keep"
    if maxn > 0:
        features += f"+chars:{max(1, minn)}-{maxn}:whitespace:keep"
    clf = TextClassifier("logistic", features=features, min_df=minCount, n_jobs=thread, random_state=seed)
    several = loss in ("ova", "one-vs-all") or any(len(row) > 1 for row in labels)
    dev = None
    if autotuneValidationFile:
        other, truth = read_lines(autotuneValidationFile, label)
        dev = (other, _targets(truth, several))
    return FastTextClassifier(clf.fit(texts, _targets(labels, several), dev=dev))


def _targets(labels: Sequence[list[str]], several: bool) -> list[Any]:
    return list(labels) if several else [row[0] for row in labels]


def read_lines(path: str | os.PathLike[str], prefix: str = PREFIX) -> tuple[list[str], list[list[str]]]:
    """Return the texts and the labels of the lines that have both; labels may stand anywhere in a line."""
    texts, labels = [], []
    with Path(path).open(encoding="utf-8", errors="replace", newline=None) as file:
        for line in file:
            words = line.split()
            mine = [w.removeprefix(prefix) for w in words if w.startswith(prefix) and w != prefix]
            rest = [w for w in words if not w.startswith(prefix)]
            if mine and rest:
                texts.append(" ".join(rest))
                labels.append(mine)
    if not texts:
        raise DataError(f"{os.fspath(path)}: no line has a label ({prefix}NAME) and a text")
    return texts, labels
