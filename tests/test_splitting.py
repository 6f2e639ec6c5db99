"""Splits by groups and by time, further columns, and the seal of a blind test set."""

from __future__ import annotations

import json
import multiprocessing
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linnet
from linnet.data import Dataset, read
from linnet.data.splitting import (
    fold_indices,
    look,
    moments,
    numbered,
    refuse_sealed,
    seal,
    seal_of,
    split_indices,
    time_split,
)
from linnet.errors import DataError

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), min_size=1, max_size=60)
SHARES = st.sampled_from([(0.8, 0.1, 0.1), (0.5, 0.5), (0.9, 0.1), (1.0,), (0.25,) * 4])


def codes_and_groups(rows):
    return np.array([a for a, _ in rows]), np.array([b for _, b in rows])


@settings(max_examples=150, deadline=None)
@given(ROWS, SHARES, st.integers(0, 5))
def test_groups_never_straddle_and_rows_are_all_there(rows, shares, seed):
    codes, groups = codes_and_groups(rows)
    try:
        parts = split_indices(codes, seed, shares, groups=groups)
    except DataError:
        assert len(np.unique(groups)) < len(rows)
        return
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(rows)))
    held = [set(groups[part].tolist()) for part in parts]
    assert sum(map(len, held)) == len(set(groups.tolist()))
    again = split_indices(codes, seed, shares, groups=groups)
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), SHARES, st.integers(0, 5))
def test_groups_of_one_change_nothing(codes, shares, seed):
    codes = np.array(codes)
    plain = split_indices(codes, seed, shares)
    grouped = split_indices(codes, seed, shares, groups=np.arange(len(codes))[::-1])
    assert all(np.array_equal(a, b) for a, b in zip(plain, grouped, strict=True))


def test_shares_hold_as_far_as_groups_allow():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 400, 4000)
    codes = rng.choice(3, 4000, p=[0.6, 0.3, 0.1])
    parts = split_indices(codes, 1, (0.8, 0.1, 0.1), groups=groups)
    for part, share in zip(parts, (0.8, 0.1, 0.1), strict=True):
        assert abs(len(part) / 4000 - share) < 0.02
        assert np.allclose(np.bincount(codes[part]) / len(part), np.bincount(codes) / 4000, atol=0.04)
    folds = fold_indices(codes, 0, 5, groups=groups)
    assert all(not set(groups[a]) & set(groups[b]) for a, b in folds)
    assert all(abs(len(held) - 800) < 30 for _, held in folds)
    assert not np.array_equal(parts[1], split_indices(codes, 2, (0.8, 0.1, 0.1), groups=groups)[1])


def test_one_large_group_is_refused():
    with pytest.raises(DataError, match=r"the largest has 9 of 9 rows.*empty"):
        split_indices(np.zeros(9, int), 0, (0.5, 0.5), groups=np.zeros(9, int))


def test_missing_groups_stand_alone():
    assert numbered(["a", None, "", "a", None, float("nan")]).tolist() == [0, 1, 2, 0, 3, 4]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=50), SHARES)
def test_time_split_is_ordered(times, shares):
    times = np.array(times)
    if len(set(times.tolist())) < len(shares):
        with pytest.raises(DataError, match="different times"):
            time_split(times, shares)
        return
    parts = time_split(times, shares)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(times)))
    for old, new in pairwise(parts):
        assert times[old].max() < times[new].min()
    if len(set(times.tolist())) == len(times) and len(shares) == 2:
        assert abs(len(parts[0]) - shares[0] * len(times)) <= 1


def test_moments():
    assert moments(["2024-01-02T00:00:00+02:00", "2024-01-02"]).tolist() == [1704146400.0, 1704153600.0]
    assert moments(["Wed, 01 May 2024 12:30:00 +0200"]).tolist() == [1714559400.0]
    assert moments([3, 1.5]).tolist() == [3.0, 1.5]
    with pytest.raises(DataError, match=r"row 2: 'yesterday' is no date"):
        moments(["2024-01-02", "yesterday"], "day")
    with pytest.raises(DataError, match=r"column 'day', row 2: '' is no date"):
        moments(["2024-01-02", None], "day")
    with pytest.raises(DataError, match="is no date"):
        moments(["May Day"])


CSV = "id,author,text,day,label\n" + "".join(
    f"{k},a{k % 7},text number {k},2024-01-{k % 28 + 1:02},{'ab'[k % 2]}\n" for k in range(56)
)


def test_further_columns_are_read_when_asked_for(tmp_path):
    (tmp_path / "d.csv").write_text(CSV + ",,,2024-05-05,a\n")
    plain = read(tmp_path / "d.csv")
    assert plain.also == {}
    data = linnet.read(tmp_path / "d.csv", also=["day", "Author"])
    assert data.text.equals(plain.text)
    assert len(data.unusable) == 1
    assert data.column("day")[:2] == ["2024-01-01", "2024-01-02"]
    assert data.take([3, 1]).column("author") == ["a3", "a1"]
    with pytest.raises(DataError, match=r"unknown column 'dya'.*did you mean 'day'"):
        read(tmp_path / "d.csv", also=["dya"])
    with pytest.raises(DataError, match=r"column 'id' was not read; read it with also=\['id'\]"):
        data.column("id")
    with pytest.raises(DataError, match="was not read"):
        read(plain, also=["day"])


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_further_columns_of_any_format(tmp_path, ending):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"text": ["one text", "two texts"], "label": ["a", "b"], "year": [2020, 2021]})
    path = tmp_path / f"d.{ending}"
    if ending == "parquet":
        pq.write_table(table, path)
    elif ending == "csv":
        path.write_text("text,label,year\none text,a,2020\ntwo texts,b,2021\n")
    else:
        path.write_text("\n".join(json.dumps(row) for row in table.to_pylist()))
    assert read(path, also=["year"]).column("year") == ["2020", "2021"]


def test_also_is_never_taken_for_text_or_label():
    rows = [
        {"label": "x", "body": "some long words here", "kind": "a"},
        {"label": "y", "body": "more words", "kind": "b"},
    ] * 3
    assert read(rows).label_column == "label"
    assert read(rows, also=["label"]).label_column == "kind"
    assert read(rows, label="label", also=["label"]).column("label") == ["x", "y"] * 3


def test_dataset_splits(tmp_path):
    (tmp_path / "d.csv").write_text(CSV)
    data = read(tmp_path / "d.csv", also=["author", "day"])
    parts = data.split(0, (0.6, 0.2, 0.2), groups="author")
    authors = [set(part.column("author")) for part in parts]
    assert sum(map(len, authors)) == 7
    old, new = data.split(fractions=(0.5, 0.5), time="day")
    assert max(old.column("day")) < min(new.column("day"))
    with pytest.raises(DataError, match="not both"):
        data.split(groups="author", time="day")
    with pytest.raises(DataError, match="one value a row: 56, got 1"):
        data.split(groups=[1])


def test_duplicates_stay_together():
    texts = [f"this is text {k // 2} of many, and it says {k // 2} things{'!' * (k % 2)}" for k in range(100)]
    data = Dataset.from_lists(texts, ["a", "b"] * 50)
    for part in data.split(3, groups="duplicates"):
        numbers = sorted(int(text.split()[3]) for text in part.text.to_pylist())
        assert numbers[::2] == numbers[1::2]


# ---- the seal


def sealed_file(tmp_path):
    path = tmp_path / "test.csv"
    path.write_text("text,label\ngood,pos\n")
    seal(path, rows=1)
    return path


def test_looks_are_counted_and_kept(tmp_path):
    path = sealed_file(tmp_path)
    model = tmp_path / "m.linnet"
    model.write_bytes(b"model")
    assert seal_of(path).words == "looked at 0 times"
    look(path, "evaluate", model)
    found = look(path, "train", "text")
    assert found.words == "looked at 2 times"
    stored = json.loads((tmp_path / "test.csv.seal.json").read_text())
    assert [one["command"] for one in stored["looks"]] == ["evaluate", "train"]
    assert stored["looks"][0]["model"] == "9372c470eeadd5ecd9c3c74c2b3cb633f8e2f2fad799250a0f70d652b6b825e4"
    assert stored["rows"] == 1
    assert set(stored) == {"linnet_seal", "file", "sha256", "rows", "sealed", "looks"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.linnet", "test.csv", "test.csv.seal.json"]


def test_a_file_without_a_seal(tmp_path):
    path = tmp_path / "test.csv"
    path.write_text("text,label\ngood,pos\n")
    assert seal_of(path) is None
    assert look(path, "evaluate", "m") is None
    assert seal_of("-") is None
    refuse_sealed(path, "to learn from")


def test_what_is_refused(tmp_path):
    path = sealed_file(tmp_path)
    with pytest.raises(DataError, match="sealed already"):
        seal(path, 1)
    with pytest.raises(DataError, match="cannot be used to learn from"):
        refuse_sealed(path, "to learn from")
    path.write_text("text,label\nbetter,pos\n")
    with pytest.raises(DataError, match=r"has changed since it was sealed.*looked at 0 times"):
        look(path, "evaluate", "m")
    (tmp_path / "test.csv.seal.json").write_text("{}")
    with pytest.raises(DataError, match="not a whole seal"):
        seal_of(path)


def _look_often(path):
    for k in range(10):
        look(path, f"run {k}", "m")


def test_looks_of_several_processes_are_all_counted(tmp_path):
    path = sealed_file(tmp_path)
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_look_often, args=(path,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert len(seal_of(path).looks) == 30
