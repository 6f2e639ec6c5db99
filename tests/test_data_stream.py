"""Streams: batches bounded in rows and bytes, nothing dropped, memory constant whatever the size."""

import csv
import gzip
import json
import subprocess
import sys
import textwrap

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linnet.data import read, stream
from linnet.data.readers.delimited import Dialect, whole_records
from linnet.errors import DataError

N = 30_000


def texts():
    return [f'text {i}, "quoted"\nand more' if i % 3 else "" for i in range(N)]


def labels():
    return ["pos" if i % 2 else "neg" for i in range(N)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stream")
    with (folder / "x.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("label", "text"), *zip(labels(), texts(), strict=True)])
    rows = [json.dumps({"label": label, "text": text}) for label, text in zip(labels(), texts(), strict=True)]
    (folder / "x.jsonl").write_text("\n".join(rows))
    pq.write_table(pa.table({"label": labels(), "text": texts()}), folder / "x.parquet", row_group_size=20_000)
    (folder / "x.csv.gz").write_bytes(gzip.compress((folder / "x.csv").read_bytes(), 1))
    return folder


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet", "x.csv.gz"])
@pytest.mark.parametrize("block", [1 << 12, 8 << 20])
def test_rows_stay_aligned(files, name, block, monkeypatch):
    monkeypatch.setattr("linnet.data.reading._BATCH_BYTES", block)
    found, numbers, bad = [], [], []
    next_row = 1
    for batch in stream(files / name, batch_rows=1000):
        assert isinstance(batch.text, pa.Array)
        assert 0 < len(batch) == len(batch.label) <= 1000
        assert batch.first_row == next_row
        next_row += len(batch)
        found += batch.text.to_pylist()
        numbers += batch.label.to_pylist()
        bad += [row.row for row in batch.unusable.rows]
        assert len(batch.unusable) == sum(text == "" for text in batch.text.to_pylist())
    assert found == texts()
    assert numbers == labels()
    assert bad == list(range(1, N + 1, 3))


def test_batches_are_bounded_in_bytes(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text(("x" * 1_000_000 + "\n") * 30)
    assert max(batch.text.nbytes for batch in stream(path)) < 9 << 20
    pq.write_table(pa.table({"text": [f"{i}" + "y" * 1_000_000 for i in range(30)]}), tmp_path / "x.parquet")
    assert max(batch.text.nbytes for batch in stream(tmp_path / "x.parquet")) < 9 << 20


def test_nulls_are_empty_texts(tmp_path):
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        table = pa.table({"text": pa.array([None, "a", None, " "], kind), "label": pa.array([1, None, 2, 3])})
        (batch,) = stream(table)
        assert batch.text.to_pylist() == ["", "a", "", " "]
        assert batch.text.null_count == 0
        assert batch.label.to_pylist() == ["1", None, "2", "3"]
        assert [row.row for row in batch.unusable.rows] == [1, 3, 4]


def test_repairs_are_noted_once(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(b"plain\nplain\nna\xefve\na\0b\n")
    first, second = stream(path, batch_rows=2)
    assert second.text.to_pylist() == ["naïve", "a b"]
    assert second.notes == ()
    assert first.notes == (
        "not UTF-8, decoded as Windows-1252 (cells: 1)",
        "NUL characters replaced by spaces (cells: 1)",
    )


def test_batch_rows_is_checked():
    with pytest.raises(DataError, match="batch_rows must be at least 1; got 0"):
        stream(["a"], batch_rows=0)


def test_an_abandoned_stream_closes_its_file(files):
    batches = stream(files / "x.csv", batch_rows=10)
    next(batches)
    batches.close()


def test_jsonl_columns_may_come_late(tmp_path, monkeypatch):
    monkeypatch.setattr("linnet.data.reading._BATCH_BYTES", 64)
    path = tmp_path / "x.jsonl"
    lines = [{"text": "some text", "label": 1}] * 5 + [{"other": 1}] * 5 + [{"text": "x", "label": "late"}] * 5
    path.write_text("\n".join(map(json.dumps, lines)))
    batches = list(stream(path))
    assert [text for batch in batches for text in batch.text.to_pylist()] == ["some text"] * 5 + [""] * 5 + ["x"] * 5
    assert [label for batch in batches for label in batch.label.to_pylist()] == ["1"] * 5 + [None] * 5 + ["late"] * 5


@pytest.mark.parametrize("size", range(8, 60))
def test_pieces_end_where_records_end(size, tmp_path, monkeypatch):
    """However small the blocks, the rows are those of the whole file; stray quotes included."""
    path = tmp_path / "x.csv"
    path.write_bytes(b'label,text\na,"one\ntwo"\r\nb,5" nail\nc,"say ""hi""\n"\n\nd,"x" y\ne,"",\nf,"",""\ng,\xfc\n')
    whole = read(path)
    expected = ["one\ntwo", '5" nail', 'say "hi"\n', "x y", "", "", "ü"]
    monkeypatch.setattr("linnet.data.reading._BATCH_BYTES", size)
    found = [text for batch in stream(path) for text in batch.text.to_pylist()]
    assert found == expected
    assert whole.text.to_pylist() == [text for text in expected if text]


def test_no_whole_record():
    assert whole_records(b'a,"b\nc', Dialect()) == 0
    assert whole_records(b"a,b", Dialect()) == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "jsonl", "txt", "txt.gz", "parquet", "arrow"])
def test_constant_memory(tmp_path, kind):
    """A file of 300 MB passes through a process that may not use half of that."""
    path = tmp_path / f"x.{kind}"
    script = f"""
        import gzip, json, resource, sys
        import pyarrow as pa
        text = "a rather ordinary sentence about films " * 25
        kind, path, n = {kind!r}, {str(path)!r}, 300_000
        if kind in ("parquet", "arrow"):
            import pyarrow.parquet as pq
            part = pa.table({{"text": [text] * 10_000}})
            opened = pq.ParquetWriter(path, part.schema, use_dictionary=False) if kind == "parquet" else \
                pa.ipc.new_file(path, part.schema)
            with opened as writer:
                for _ in range(n // 10_000):
                    writer.write_table(part)
        else:
            line = json.dumps({{"text": text}}) if kind == "jsonl" else text
            with (gzip.open(path, "wt", 1) if kind == "txt.gz" else open(path, "w")) as file:
                file.write("text\\n" if kind == "csv" else "")
                for _ in range(n):
                    file.write(line + "\\n")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)
    script = f"""
        import resource
        from linnet.data import stream
        rows = iter(stream({str(path)!r}))
        n = len(next(rows))
        def anonymous():
            with open("/proc/self/status") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) >> 10
        before, peak = anonymous(), 0
        for i, batch in enumerate(rows):
            n += len(batch)
            peak = max(peak, anonymous()) if i % 8 == 0 else peak
        print(n, peak - before)
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], check=True, capture_output=True, text=True, env=_environment()
    )
    n, grown = map(int, result.stdout.split())
    assert n == 300_000
    assert grown < 120


def _environment():
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
