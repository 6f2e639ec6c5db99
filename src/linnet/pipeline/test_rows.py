"""The rows of the test: set aside on disk as texts, scored at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from linnet.data.dataset import labels_of
from linnet.model.model import Model
from linnet.pipeline.cache import writing

__all__ = ["TestRows"]


class TestRows:
    """Texts and labels in a compressed Arrow stream; open it as a context manager to write."""

    __test__ = False  # not a test case

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = 0
        self._schema = pa.schema([("text", pa.large_string()), ("label", pa.large_string())])

    def __enter__(self) -> TestRows:
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._file = self.path.open("wb")
        self._writer = pa.ipc.new_stream(self._file, self._schema, options=options)
        return self

    def __exit__(self, *_: object) -> None:
        with writing(self.path.parent):
            self._writer.close()
            self._file.close()

    def add(self, text: Any, label: Any) -> None:
        """Keep some rows."""
        kind = pa.large_string()
        with writing(self.path.parent):
            self._writer.write_batch(pa.record_batch([text.cast(kind), label.cast(kind)], schema=self._schema))
        self.rows += len(text)

    def batches(self) -> Iterator[tuple[Any, Any]]:
        """Read the rows back, (texts, labels) at a time."""
        with self.path.open("rb") as file, pa.ipc.open_stream(file) as reader:
            for batch in reader:
                yield batch.column(0), batch.column(1)

    def evaluated(self, model: Model, threads: int | None, separator: str | None = None) -> Any:
        """Return the metrics of a model on all rows; separator stands between the labels of a row, if it has several."""
        from linnet.evaluate import evaluate_answers, evaluate_multilabel

        labels: list[str] = []
        known: dict[str, str] = {}
        found = [np.zeros((0, model.n_outputs))]
        for text, label in self.batches():
            labels += [known.setdefault(value, value) for value in label.to_pylist()]
            found.append(model.scores(text, threads))
        answers = model.answers(np.concatenate(found))
        if separator is None:
            return evaluate_answers(labels, answers, model.classes, costs=model.decision.costs)
        truth = [labels_of(cell, separator) for cell in labels]
        return evaluate_multilabel(truth, answers.chosen, model.classes, proba=answers.proba)
