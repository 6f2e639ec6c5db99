"""Files are written whole or not at all; endings and first bytes tell how a file is compressed."""

from __future__ import annotations

import os
import stat

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linnet.data import read
from linnet.data.formats import named_shards
from linnet.data.writers import ENDINGS, KEPT, format_to_write, open_writer
from linnet.errors import DataError
from linnet.files import COMPRESSED, OutputError, codec_of, open_atomic, split_ending, write_atomic


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("mode", ["wb", "w"])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, mode, error):
    target = tmp_path / "a.txt"
    target.write_text("before")

    def fail():
        with open_atomic(target, mode) as file:
            file.write("half" if mode == "w" else b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert target.read_text() == "before"
    assert names(tmp_path) == ["a.txt"]


def test_the_file_has_its_name_only_when_it_is_whole(tmp_path):
    with open_atomic(tmp_path / "a.bin") as file:
        file.write(b"x" * 3_000_000)
        assert "a.bin" not in names(tmp_path)
    assert (tmp_path / "a.bin").stat().st_size == 3_000_000
    assert names(tmp_path) == ["a.bin"]


def test_staging_folders_and_permissions(tmp_path):
    target, staging = tmp_path / "new" / "a.txt", tmp_path / "parts"
    with open_atomic(target, staging=staging, mkdir=True) as file:
        file.write(b"one")
        assert len(names(staging)) == 1
    assert names(staging) == []
    target.chmod(0o600)
    write_atomic(target, "two")
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("two", 0o600)


def test_what_cannot_be_written(tmp_path):
    for target, words in (
        (tmp_path, "a folder"),
        ("/dev/null", "not a regular file"),
        (tmp_path / "no/a", "No such file"),
    ):
        with pytest.raises(OutputError, match=words) as caught:
            write_atomic(target, "x")
        assert isinstance(caught.value.__cause__, OSError)
    assert names(tmp_path) == []


def test_a_full_disk_is_told_apart_from_other_errors(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"cannot write .*a\.txt: No space left on device"):
        write_atomic(tmp_path / "a.txt", "x")
    with pytest.raises(FileNotFoundError), open_atomic(tmp_path / "a.txt"):
        (tmp_path / "other").read_text()  # an error of reading is not one of writing
    assert names(tmp_path) == []


def test_endings_and_first_bytes_agree():
    assert {split_ending(f"a.csv{ending}") for ending in COMPRESSED} == {
        (".csv", codec) for codec in COMPRESSED.values()
    }
    for codec in ("gzip", "zstd", "bz2"):
        out = pa.BufferOutputStream()
        with pa.CompressedOutputStream(out, codec) as packed:
            packed.write(b"text")
        assert codec_of(out.getvalue().to_pybytes()) == codec


TABLE = pa.table(
    {
        "id": [1, 2, 3],
        "label": ["pos", "neg", "pos"],
        "text": ["good, really", 'he said "bad"\nand left', "schön\t好き"],
        "score": [0.5, None, 1.0],
    }
)


@pytest.mark.parametrize("ending", [*(e for e in ENDINGS if ENDINGS[e] in KEPT), ".csv.gz", ".tsv.zst", ".jsonl.gz"])
def test_what_is_written_is_read_again(tmp_path, ending):
    path = tmp_path / f"rows{ending}"
    with open_writer(path) as writer:
        writer.write(TABLE.slice(0, 1))
        writer.write(TABLE.slice(1).append_column("late", pa.array(["x", "y"])))
    found = read(path, also=["id", "score"])
    assert found.text.to_pylist() == TABLE["text"].to_pylist()
    assert found.label.to_pylist() == TABLE["label"].to_pylist()
    assert (found.column("id"), [value or None for value in found.column("score")]) == (
        ["1", "2", "3"],
        ["0.5", None, "1"],
    )
    assert writer.left_out == (set() if "jsonl" in ENDINGS[split_ending(path)[0]] else {"late"})


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".arrows", ".csv", ".jsonl"])
def test_no_rows_at_all(tmp_path, ending):
    with open_writer(tmp_path / f"none{ending}") as writer:
        writer.write(TABLE.slice(0, 0))
    if ending == ".parquet":
        assert pq.read_schema(tmp_path / "none.parquet").names == TABLE.column_names
    elif ending == ".csv":
        assert (tmp_path / "none.csv").read_text() == "id,label,text,score\n"
    with open_writer(tmp_path / f"less{ending}"):
        pass
    assert (tmp_path / f"less{ending}").exists()


def test_names_that_cannot_be_written():
    for name in ("rows", "rows.txt", "rows.parquet.gz", "rows.arrow.zst"):
        with pytest.raises(DataError, match="cannot tell how to write"):
            format_to_write(name)


def test_names_of_shards(tmp_path):
    for name in ("a/x.csv", "b/x.csv", "b/y.json", "b/notes.txt", "_hidden/z.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    found = named_shards([tmp_path])
    assert sorted(found.values()) == ["a/x.csv", "b/notes.txt", "b/x.csv", "b/y.json"]
    assert sorted(named_shards([tmp_path], loose=False).values()) == ["a/x.csv", "b/x.csv"]
    assert sorted(named_shards([tmp_path / "a" / "x.csv", tmp_path / "b" / "x.csv"]).values()) == ["a/x.csv", "b/x.csv"]
    assert list(named_shards([tmp_path / "a" / "x.csv", tmp_path / "a", str(tmp_path / "a" / "*.csv")]).values()) == [
        "x.csv"
    ]
