"""The data sets of the project: all rows arrive, with the labels their descriptions promise."""

import os
from pathlib import Path

import pytest

from linnet.data import read, stream

FOLDER = Path(os.environ.get("LINNET_DATA", "/nowhere"))
SETS = {
    "rt_polarity/all.csv": (10_662, 2),
    "mpqa/all.csv": (10_606, 2),
    "movie_reviews/all.csv": (2_000, 2),
    "imdb/train.parquet": (25_000, 2),
    "imdb/test.parquet": (25_000, 2),
    "ag_news/train_subset.csv": (43_238, 4),
    "ag_news/test.csv": (7_600, 4),
    "20newsgroups/train.parquet": (11_314, 20),
    "20newsgroups/test.parquet": (7_532, 20),
    "trec/train.csv": (5_452, 6),
    "trec/test.csv": (500, 6),
    "sms_spam/all.csv": (5_574, 2),
    "yelp_subset/train.csv": (5_000, 5),
    "yelp_subset/test.csv": (5_000, 5),
    "dbpedia14_subset/train.csv": (5_000, 14),
    "dbpedia14_subset/test.csv": (5_000, 14),
    "clinc150/train.csv": (15_000, 150),
    "clinc150/dev.csv": (3_000, 150),
    "clinc150/test.csv": (4_500, 150),
    "clinc150/oos_train.csv": (100, 1),
    "clinc150/oos_dev.csv": (100, 1),
    "clinc150/oos_test.csv": (1_000, 1),
    "goemotions/train.csv": (43_410, None),
    "goemotions/dev.csv": (5_426, None),
    "goemotions/test.csv": (5_427, None),
    "lid_lingua75/all.csv": (74_141, 75),
    "lexicons/hu_liu.csv": (6_789, 2),
    "lexicons/vader.csv": (7_520, None),
    "lexicons/afinn_111.csv": (2_477, None),
}
EMPTY = {"mpqa/all.csv": 3}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no data sets at {FOLDER}: point LINNET_DATA at them")


@pytest.mark.parametrize("name", SETS)
def test_rows(name):
    rows, classes = SETS[name]
    data = read(FOLDER / name, labelled=True)
    assert dict(data.unusable.counts) == ({"empty text": EMPTY[name]} if name in EMPTY else {})
    assert len(data) == rows - EMPTY.get(name, 0)
    assert classes is None or len(data.labels) == classes
    assert data.how == "text column 'text' (by name), label column 'label' (by name)"
    assert data.notes == ()
    assert data.encoding == "utf-8"


@pytest.mark.parametrize("name", ["mpqa/all.csv", "imdb/test.parquet", "ag_news/test.csv"])
def test_stream_has_every_row(name):
    assert sum(len(batch) for batch in stream(FOLDER / name)) == SETS[name][0]


def test_folds_are_columns_by_content():
    assert len(read(FOLDER / "movie_reviews" / "folds.csv", text="file", label="fold").labels) == 10


def test_mnist_is_refused():
    from linnet.errors import DataError

    found = sorted((FOLDER / "mnist").glob("*.gz"))
    if not found:
        pytest.skip("mnist is not there")
    with pytest.raises(DataError, match="binary file"):
        read(found[0])
