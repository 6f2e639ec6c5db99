"""Dataset: rows by number, splits, descriptions; and Python objects as sources."""

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linnet
from linnet.data import Dataset, Unusable, UnusableRow, read, stream
from linnet.data.splitting import split_indices
from linnet.errors import DataError

TEXTS, LABELS = ["good", "bad", "so so"], ["pos", "neg", "pos"]


class TestObjects:
    @pytest.mark.parametrize(
        "source",
        [
            list(zip(TEXTS, LABELS, strict=True)),
            [list(pair) for pair in zip(TEXTS, LABELS, strict=True)],
            [{"text": text, "label": label} for text, label in zip(TEXTS, LABELS, strict=True)],
            pd.DataFrame({"text": TEXTS, "label": LABELS}, index=[7, 8, 9]),
            pd.DataFrame({"text": TEXTS, "label": pd.Categorical(LABELS)}),
            pd.DataFrame({"text": TEXTS, "label": LABELS}).astype(object),
            pl.DataFrame({"text": TEXTS, "label": LABELS}),
            pa.table({"text": TEXTS, "label": LABELS}),
            pa.RecordBatch.from_pydict({"text": TEXTS, "label": LABELS}),
        ],
        ids=lambda value: type(value).__module__ + "." + type(value).__name__,
    )
    def test_labelled(self, source):
        data = read(source)
        assert data.text.to_pylist() == TEXTS
        assert data.label.to_pylist() == LABELS
        (batch,) = stream(source)
        assert batch.text.to_pylist() == TEXTS
        assert batch.label.to_pylist() == LABELS

    @pytest.mark.parametrize(
        "source",
        [TEXTS, tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object), pa.array(TEXTS),
         pa.chunked_array([TEXTS]), pd.Series(TEXTS), pl.Series(TEXTS), pd.DataFrame({"text": TEXTS})],
        ids=lambda value: type(value).__module__ + "." + type(value).__name__,
    )  # fmt: skip
    def test_texts_only(self, source):
        data = read(source)
        assert data.text.to_pylist() == TEXTS
        assert data.label is None

    @pytest.mark.parametrize(
        "labels", [LABELS, np.array(LABELS), pd.Series(LABELS), pl.Series(LABELS), pa.array(LABELS)]
    )
    def test_from_lists(self, labels):
        data = Dataset.from_lists(TEXTS, labels)
        assert data.label.to_pylist() == LABELS
        assert data.how == "texts and labels as given"

    @pytest.mark.parametrize(
        ("labels", "expected"),
        [
            ([1, 2, 1], ["1", "2", "1"]),
            (np.array([1, 2, 1]), ["1", "2", "1"]),
            ([1.0, 2.5, 1.0], ["1", "2.5", "1"]),
            ([True, False, True], ["true", "false", "true"]),
            (np.array([True, False, True]), ["true", "false", "true"]),
            (pd.Series([1, 2, 1]), ["1", "2", "1"]),
            ([["joy", "love"], ["joy"], ["fear"]], ["joy|love", "joy", "fear"]),
        ],
    )
    def test_labels_are_printable(self, labels, expected):
        assert Dataset.from_lists(TEXTS, labels).label.to_pylist() == expected

    def test_pandas_integers_with_gaps_stay_integers(self):
        data = read(pd.DataFrame({"text": TEXTS, "label": [1, None, 3]}))
        assert data.label.to_pylist() == ["1", "3"]
        assert [(row.row, row.reason) for row in data.unusable.rows] == [(2, "no label")]

    def test_pandas_mixed_objects(self):
        data = read(pd.DataFrame({"text": TEXTS, "label": pd.Series([1, "x", None], dtype=object)}))
        assert data.label.to_pylist() == ["1", "x"]

    def test_none_is_an_empty_text(self):
        data = read(["a", None, "b"])
        assert data.text.to_pylist() == ["a", "b"]
        assert data.unusable.rows[0].row == 2

    def test_iterators_stream(self):
        batches = list(stream((f"text {i}" for i in range(5)), batch_rows=2))
        assert [batch.first_row for batch in batches] == [1, 3, 5]
        assert batches[2].text.to_pylist() == ["text 4"]

    def test_a_dataset_streams(self):
        (batch,) = stream(Dataset.from_lists(TEXTS, LABELS))
        assert batch.label.to_pylist() == LABELS

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            (["a", 3], "row 2 is not a text but int: 3"),
            ([3], "row 1 is not a text but int: 3"),
            ([("a", "b"), ("c",)], r"row 2 is not a \(text, label\) pair"),
            ([["a", "b", "c"], ["x", "y", "z"]], r"Dataset.from_lists\(texts, labels\)"),
            ([{"text": "a"}, "b"], "row 2 is str where the rows before are dicts"),
            (7, "cannot read builtins.int; give a path"),
            (b"x", "cannot read bytes"),
            (None, "cannot read NoneType"),
            ([], "no rows"),
        ],
    )
    def test_refused(self, source, message):
        with pytest.raises(DataError, match=message):
            read(source)

    def test_lengths_must_agree(self):
        with pytest.raises(DataError, match="3 texts but 2 labels"):
            Dataset.from_lists(TEXTS, ["a", "b"])


class TestTake:
    data = Dataset.from_lists(TEXTS, LABELS)

    @pytest.mark.parametrize("kind", [list, tuple, np.array, lambda rows: np.array(rows, np.uint8)])
    def test_rows(self, kind):
        part = self.data.take(kind([2, 0, 2]))
        assert part.text.to_pylist() == ["so so", "good", "so so"]
        assert part.label.to_pylist() == ["pos", "pos", "pos"]

    def test_nothing(self):
        assert len(self.data.take([])) == 0
        assert self.data.take([]).labels == []

    @pytest.mark.parametrize("rows", [[3], [-1], [0.5], [[0]], ["a"]])
    def test_refused(self, rows):
        with pytest.raises(DataError):
            self.data.take(rows)


class TestSplit:
    def test_default(self):
        labels = ["a"] * 500 + ["b"] * 300 + ["c"] * 200
        data = Dataset.from_lists([f"text {i}" for i in range(1000)], labels)
        parts = data.split(seed=3)
        assert [len(part) for part in parts] == [800, 100, 100]
        assert [part.counts for part in parts] == [
            {"a": 400, "b": 240, "c": 160},
            {"a": 50, "b": 30, "c": 20},
            {"a": 50, "b": 30, "c": 20},
        ]
        assert Counter(text for part in parts for text in part.text.to_pylist()) == Counter(data.text.to_pylist())

    def test_seeds(self):
        data = Dataset.from_lists([f"text {i}" for i in range(100)], ["a", "b"] * 50)
        first, again, other = (data.split(seed=seed)[2].text.to_pylist() for seed in (0, 0, 1))
        assert first == again != other

    def test_the_split_is_the_same_for_ever(self):
        assert [part.tolist() for part in split_indices(np.array([0, 1] * 6), 0, (0.5, 0.25, 0.25))] == FROZEN

    def test_numbers_do_not_depend_on_chunks(self):
        whole = Dataset.from_lists(TEXTS * 20, LABELS * 20)
        chunked = Dataset.from_lists(
            pa.chunked_array([TEXTS * 7, TEXTS * 13]), pa.chunked_array([LABELS * 15, LABELS * 5])
        )
        assert [part.text.to_pylist() for part in whole.split()] == [part.text.to_pylist() for part in chunked.split()]

    @given(
        st.lists(st.integers(0, 4), min_size=1, max_size=200),
        st.sampled_from([(0.8, 0.1, 0.1), (0.5, 0.5), (1.0,), (0.6, 0.2, 0.1, 0.1)]),
        st.integers(0, 10),
    )
    def test_properties(self, labels, fractions, seed):
        codes = np.unique(np.array(labels), return_inverse=True)[1]
        parts = split_indices(codes, seed, fractions)
        assert sorted(np.concatenate(parts).tolist()) == list(range(len(labels)))
        for code, n in Counter(codes.tolist()).items():
            counts = [int((codes[part] == code).sum()) for part in parts]
            if n >= len(fractions):
                assert min(counts) >= 1
                assert all(
                    abs(count - n * share) < len(fractions) for count, share in zip(counts, fractions, strict=True)
                )
        for part in parts:
            assert (np.diff(part) > 0).all()

    def test_without_labels(self):
        parts = Dataset.from_lists([f"text {i}" for i in range(20)]).split()
        assert [len(part) for part in parts] == [16, 2, 2]

    def test_rare_classes_go_to_the_largest_part(self):
        data = Dataset.from_lists(list("abcdefgh"), ["x"] * 5 + ["once", "twice", "twice"])
        train, dev, test = data.split()
        assert {"once", "twice"} <= set(train.labels)
        assert (dev.labels, test.labels) == (["x"], ["x"])

    @pytest.mark.parametrize("fractions", [(0.8, 0.1), (1.2, -0.2), (), (0.5, 0.5, 0.0)])
    def test_fractions_are_checked(self, fractions):
        with pytest.raises(DataError, match="must be positive and add up to 1"):
            Dataset.from_lists(TEXTS).split(fractions=fractions)


FROZEN = [[1, 2, 3, 6, 8, 11], [0, 4, 7], [5, 9, 10]]


def test_describe():
    texts = [f"text {i}" for i in range(24)]
    data = Dataset.from_lists([*texts, ""], [f"label {i % 12:02}" for i in range(25)])
    lines = data.describe().splitlines()
    assert lines[0] == "25 Python texts: 24 usable rows"
    assert lines[2].startswith("labels: 12 (label 00 2, ")
    assert lines[2].endswith(" and 2 more)")
    assert lines[3] == "1 unusable row: 1 empty text (first: row 25)"
    assert repr(data) == (
        "<Dataset: 24 texts, labels label 00, label 01, label 02, label 03, label 04 and 7 more, from 25 Python texts>"
    )


def test_dataset_is_frozen():
    with pytest.raises(AttributeError):
        Dataset.from_lists(TEXTS).source = "x"


def test_unusable_adds_up():
    one, two = Unusable.of([UnusableRow(1, "a")]), Unusable.of([UnusableRow(2, "b"), UnusableRow(3, "a")])
    assert dict((one + two).counts) == {"a": 2, "b": 1}
    assert [row.row for row in (one + two).rows] == [1, 2, 3]
    assert str(Unusable()) == "no unusable rows"
    assert not Unusable()


def test_numbers_with_fractions_are_no_classes():
    labels = [f"{k % 300 / 1000:.3f}" for k in range(1200)]
    with pytest.raises(
        DataError, match="look like numbers, not classes; make a few groups of numbers with --label-quantiles 3"
    ):
        linnet.TextClassifier("nb").fit([f"text {k}" for k in range(1200)], labels)
