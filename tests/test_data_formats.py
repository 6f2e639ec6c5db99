"""Every format, plain and compressed, gives the same rows; formats are found by name and by content."""

import gzip
import io
import json
import sys

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from linnet.data import read, stream
from linnet.data.formats import FORMATS, find_format
from linnet.errors import DataError

ROWS = [("pos", "a good film, really"), ("neg", 'he said "bad"'), ("pos", "schön, 好き"), ("neg", "dull")]
LABELS, TEXTS = [row[0] for row in ROWS], [row[1] for row in ROWS]


def table():
    return pa.table({"label": LABELS, "text": TEXTS})


def as_csv():
    out = io.BytesIO()
    pacsv.write_csv(table(), out)
    return out.getvalue()


def as_tsv():
    return ("label\ttext\n" + "".join(f"{label}\t{text}\n" for label, text in ROWS)).encode()


def as_jsonl():
    return "".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in ROWS).encode()


def as_json():
    return json.dumps([{"label": label, "text": text} for label, text in ROWS], indent=1).encode()


def as_parquet():
    out = io.BytesIO()
    pq.write_table(table(), out, row_group_size=3)
    return out.getvalue()


def as_arrow_file():
    out = io.BytesIO()
    with pa.ipc.new_file(out, table().schema) as writer:
        writer.write_table(table(), max_chunksize=3)
    return out.getvalue()


def as_arrow_stream():
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table().schema) as writer:
        writer.write_table(table(), max_chunksize=3)
    return out.getvalue()


def as_feather():
    out = io.BytesIO()
    pyarrow.feather.write_feather(table(), out, compression="zstd")
    return out.getvalue()


def as_fasttext():
    return "".join(f"__label__{label} {text}\n" for label, text in ROWS).encode()


FILES = {
    "csv": as_csv,
    "tsv": as_tsv,
    "jsonl": as_jsonl,
    "ndjson": as_jsonl,
    "json": as_json,
    "parquet": as_parquet,
    "arrow": as_arrow_file,
    "arrows": as_arrow_stream,
    "feather": as_feather,
    "ft": as_fasttext,
    "txt": as_fasttext,
}


@pytest.mark.parametrize("how", ["plain", "gz", "zst"])
@pytest.mark.parametrize("ending", FILES)
class TestEveryFormat:
    def path(self, tmp_path, ending, how, name="reviews"):
        path = tmp_path / (f"{name}.{ending}" + ("" if how == "plain" else f".{how}"))
        path.write_bytes(compressed_bytes(FILES[ending](), how))
        return path

    def test_read(self, tmp_path, ending, how):
        data = read(self.path(tmp_path, ending, how))
        assert data.text.to_pylist() == TEXTS
        assert data.label.to_pylist() == LABELS
        assert data.labels == ["neg", "pos"]
        assert (data.text_column, data.label_column) == ("text", "label")
        assert len(data.unusable) == 0
        assert data.notes == ()

    def test_stream(self, tmp_path, ending, how):
        batches = list(stream(self.path(tmp_path, ending, how), batch_rows=3))
        assert [text for batch in batches for text in batch.text.to_pylist()] == TEXTS
        assert [label for batch in batches for label in batch.label.to_pylist()] == LABELS
        assert [batch.first_row for batch in batches] == [1, 4]

    def test_by_content(self, tmp_path, ending, how):
        """A name that says nothing: the content decides."""
        path = tmp_path / "reviews"
        path.write_bytes(compressed_bytes(FILES[ending](), how))
        assert read(path).text.to_pylist() == TEXTS

    def test_standard_input(self, tmp_path, ending, how, monkeypatch):
        data = compressed_bytes(FILES[ending](), how)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert read("-").text.to_pylist() == TEXTS
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert [label for batch in stream("-") for label in batch.label.to_pylist()] == LABELS


def compressed_bytes(data, how):
    if how == "zst":
        return pa.Codec("zstd").compress(data, asbytes=True)
    return gzip.compress(data) if how == "gz" else data


def test_a_pipe_is_read_once(tmp_path):
    import os
    import threading

    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(as_csv(),))
    writer.start()
    assert read(path).text.to_pylist() == TEXTS
    writer.join()


def test_format_settles_it(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_bytes(as_tsv())
    assert read(path, format="tsv").text.to_pylist() == TEXTS


def test_unknown_format_is_explained(tmp_path):
    with pytest.raises(DataError, match=r"unknown format 'cvs'; choose one of: .*did you mean 'csv'"):
        read(tmp_path / "x", format="cvs")


def test_parquet_under_another_name_is_parquet(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_bytes(as_parquet())
    assert read(path).text.to_pylist() == TEXTS


def test_text_under_a_parquet_name_is_explained(tmp_path):
    path = tmp_path / "reviews.parquet"
    path.write_bytes(as_csv())
    with pytest.raises(DataError, match=r"reviews\.parquet is not in parquet format"):
        read(path)


def test_registry_is_sound():
    endings = [ending for format in FORMATS.values() for ending in format.extensions]
    assert len(endings) == len(set(endings))
    for name, format in FORMATS.items():
        assert name == format.name
        assert all(find_format(f"x{ending}", b"").name == name for ending in format.extensions)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"label,text\npos,good\n", "csv"),
        (b"Review;Stars\ngood, but slow;4\n", "csv"),
        (b'3,"Wall St.","Bears claw back"\n4,"Phones","A new one"\n', "csv"),
        (b"good, but slow\nbad, and slow\n", "text"),
        (b"good\n", "text"),
        (b"ham\tok\nspam\twin\n", "tsv"),
        (b'\n{"text": "a"}\n', "jsonl"),
        (b' [ {"text": "a"}]', "json"),
        (b"[laughs] good\n", "text"),
        (b"__label__a b\n", "fasttext"),
        (b"", "text"),
    ],
)
def test_content(head, name):
    assert find_format("standard input", head).name == name


class TestText:
    def test_one_document_a_line(self, tmp_path):
        path = tmp_path / "docs.txt"
        path.write_bytes(b"one, two\r\n\nthree\n  \nfour")
        data = read(path)
        assert data.text.to_pylist() == ["one, two", "three", "four"]
        assert data.label is None
        assert data.labels == []
        assert [(row.row, row.line, row.reason) for row in data.unusable.rows] == [
            (2, 2, "empty text"),
            (4, 4, "empty text"),
        ]

    def test_labels_cannot_be_had(self, tmp_path):
        path = tmp_path / "docs.txt"
        path.write_text("one\ntwo\n")
        with pytest.raises(DataError, match="no column looks like labels"):
            read(path, labelled=True)


class TestFastText:
    def test_several_labels_and_none(self, tmp_path):
        path = tmp_path / "f.txt"
        path.write_text("__label__joy __label__love so sweet\nno label here\n__label__joy\n")
        data = read(path)
        assert data.text.to_pylist() == ["so sweet"]
        assert data.label.to_pylist() == ["joy|love"]
        assert [(row.line, row.reason, row.text, row.label) for row in data.unusable.rows] == [
            (2, "no label", "no label here", ""),
            (3, "empty text", "", "joy"),
        ]


class TestFolder:
    @pytest.fixture
    def folder(self, tmp_path):
        for name, data in {
            "pos/b.txt": b"good\nfilm",
            "pos/a.txt": b"nice",
            "neg/z.txt": b"bad",
            "neg/y.txt.gz": gzip.compress("schlecht, très".encode("cp1252")),
            "neg/x.txt": b"  ",
            "neg/notes.md": b"not a text of the class",
            ".git/config.txt": b"hidden",
            "README": b"about",
        }.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(data)
        return tmp_path

    def test_read(self, folder):
        data = read(folder)
        assert data.text.to_pylist() == ["schlecht, très", "bad", "nice", "good\nfilm"]
        assert data.label.to_pylist() == ["neg", "neg", "pos", "pos"]
        assert [(row.row, row.reason, row.detail) for row in data.unusable.rows] == [(1, "empty text", "neg/x.txt")]
        assert data.notes == ("not UTF-8, decoded as Windows-1252 (cells: 1)",)

    def test_stream(self, folder):
        batches = list(stream(folder, batch_rows=2))
        assert [batch.text.to_pylist() for batch in batches] == [
            ["  ", "schlecht, très"],
            ["bad", "nice"],
            ["good\nfilm"],
        ]

    def test_files_without_an_ending(self, tmp_path):
        for name in ("sci/101", "rec/102"):
            (tmp_path / name).parent.mkdir()
            (tmp_path / name).write_text(name)
        assert read(tmp_path).text.to_pylist() == ["rec/102", "sci/101"]

    def test_a_picture_among_them(self, tmp_path):
        (tmp_path / "pos").mkdir()
        (tmp_path / "pos" / "a").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
        (tmp_path / "pos" / "b").write_bytes(b"good")
        data = read(tmp_path)
        assert data.text.to_pylist() == ["good"]
        assert data.unusable.rows[0].reason == "not a text file"
        assert (data.unusable.rows[0].text, data.unusable.rows[0].detail) == ("pos/a", "a PNG image")

    def test_no_class_folders(self, tmp_path):
        (tmp_path / "train.csv").write_bytes(as_csv())
        with pytest.raises(DataError, match="a folder without class folders"):
            read(tmp_path)

    def test_format_folder_needs_a_folder(self, tmp_path):
        (tmp_path / "train.csv").write_bytes(as_csv())
        with pytest.raises(DataError, match="is not a folder"):
            read(tmp_path / "train.csv", format="folder")


class TestTypes:
    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            (pa.array([1, 2, 3]), ["1", "2", "3"]),
            (pa.array([1.0, 2.0, 0.5]), ["1", "2", "0.5"]),
            (pa.array([True, False, True]), ["true", "false", "true"]),
            (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
            (pa.array(["a", "b", "a"], pa.large_string()), ["a", "b", "a"]),
            (pa.array(["a", "b", "a"], pa.string_view()), ["a", "b", "a"]),
            (pa.array([["joy", "love"], ["joy"], ["fear"]]), ["joy|love", "joy", "fear"]),
            (pa.array([b"a", b"b", b"c"]), ["a", "b", "c"]),
        ],
        ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
    )
    def test_labels(self, tmp_path, values, expected):
        source = pa.table({"text": ["x", "y", "z"], "label": values})
        data = read(source)
        assert data.label.to_pylist() == expected
        assert data.label.type == pa.string()

    @pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()])
    def test_texts(self, kind):
        column = pa.array(["skip", "a", "ü", None, "b"], pa.string()).cast(kind)[1:]
        data = read(pa.table({"text": column}))
        assert data.text.to_pylist() == ["a", "ü", "b"]
        assert data.text.type in (pa.string(), pa.large_string())
        assert data.unusable.rows[0].row == 3

    def test_jsonl_values(self, tmp_path):
        path = tmp_path / "x.jsonl"
        big = 123456789012345678901
        lines = [{"text": "2020-01-01", "label": 1}, {"text": "2020-01-02", "label": 1.5}, {"text": "c", "label": big}]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        data = read(path)
        assert data.text.to_pylist() == ["2020-01-01", "2020-01-02", "c"]
        assert data.label.to_pylist() == ["1", "1.5", str(big)]

    def test_jsonl_dates_stay_as_written(self, tmp_path):
        path = tmp_path / "x.jsonl"
        path.write_text('{"text": "2020-01-01", "label": "a"}\n{"text": "2021-01-01", "label": "b"}\n')
        assert read(path).text.to_pylist() == ["2020-01-01", "2021-01-01"]

    def test_names_that_occur_twice(self, tmp_path):
        table = pa.table([TEXTS, LABELS, LABELS[::-1]], names=["text", "label", "label"])
        with pa.ipc.new_file(tmp_path / "x.arrow", table.schema) as writer:
            writer.write_table(table)
        for source in (table, tmp_path / "x.arrow"):
            assert read(source).label.to_pylist() == LABELS
            assert read(source, label="label_2").label.to_pylist() == LABELS[::-1]
