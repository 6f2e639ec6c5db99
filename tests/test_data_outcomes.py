"""What becomes of odd, broken and huge input: each case has one defined outcome."""

import csv
import gzip
import io
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linnet.data import Dataset, read, stream
from linnet.errors import DataError


@pytest.fixture
def write(tmp_path):
    def writer(name, data):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return writer


def one_line(info):
    message = str(info.value)
    assert "\n" not in message
    return message


class TestCsv:
    def test_quoted_newlines_quotes_and_commas(self, write):
        path = write("x.csv", 'label,text\npos,"one\ntwo, ""three"""\r\nneg,"a\r\nb"\n')
        data = read(path)
        assert data.text.to_pylist() == ['one\ntwo, "three"', "a\r\nb"]

    def test_old_mac_newlines(self, write):
        assert read(write("x.csv", "label,text\rpos,a\rneg,b\r")).text.to_pylist() == ["a", "b"]

    def test_blank_lines_are_no_rows(self, write):
        data = read(write("x.csv", "\nlabel,text\n\npos,a\n\n\nneg,\n"))
        assert data.text.to_pylist() == ["a"]
        assert data.unusable.rows[0].row == 2

    @pytest.mark.parametrize("streaming", [False, True])
    def test_wrong_number_of_fields(self, write, streaming):
        path = write("x.csv", 'label,text\npos,a\nneg,b,"c\nd"\npos\nneg,e\n')
        unusable = _unusable(path, streaming)
        assert [(row.row, row.reason, row.detail, row.text) for row in unusable.rows] == [
            (2, "wrong number of fields", "3 instead of 2", 'neg,b,"c\nd"'),
            (3, "wrong number of fields", "1 instead of 2", "pos"),
        ]
        assert dict(unusable.counts) == {"wrong number of fields": 2}
        if streaming:
            (batch,) = stream(path)
            assert batch.text.to_pylist() == ["a", "", "", "e"]
            assert batch.label.to_pylist() == ["pos", None, None, "neg"]
        else:
            assert read(path).text.to_pylist() == ["a", "e"]

    @pytest.mark.parametrize("streaming", [False, True])
    def test_wrong_number_of_fields_and_not_utf8(self, write, streaming):
        path = write("x.csv", 'label,text\npos,"a ""q"""\nneg,b,ü\n\npos,ü\n'.encode("cp1252"))
        unusable = _unusable(path, streaming)
        assert [(row.row, row.text) for row in unusable.rows] == [(2, "neg,b,ü")]
        if not streaming:
            assert read(path).text.to_pylist() == ['a "q"', "ü"]

    def test_many_bad_rows_in_a_large_file(self, write):
        rows = [f"pos,text {i}" if i % 1000 else f"neg,text,{i}" for i in range(200_000)]
        data = read(write("x.csv", "label,text\n" + "\n".join(rows)))
        assert len(data) == 199_800
        assert data.text[0].as_py() == "text 1"
        assert data.text[-1].as_py() == "text 199999"
        assert [row.row for row in data.unusable.rows] == list(range(1, 200_001, 1000))
        assert data.unusable.rows[7].text == "neg,text,7000"

    def test_semicolons(self, write):
        data = read(write("x.csv", "text;label\ngood, really;1\nbad, really;0\n"))
        assert data.text.to_pylist() == ["good, really", "bad, really"]

    def test_stray_quotes(self, write):
        data = read(write("x.csv", 'label,text\na,a 5" nail\nb,"7"" nail"\nc,x" y "z\n'))
        assert data.text.to_pylist() == ['a 5" nail', '7" nail', 'x" y "z']

    def test_tsv_quotes_that_are_no_quotes(self, write):
        data = read(write("x.tsv", 'label\ttext\na\t"Yes" he said\nb\t"half a quote\nc\tplain\n'))
        assert data.text.to_pylist() == ['"Yes" he said', '"half a quote', "plain"]

    def test_tsv_quotes_that_are(self, write):
        data = read(write("x.tsv", 'label\ttext\na\t"tab\there"\nb\t"two\nlines"\n'))
        assert data.text.to_pylist() == ["tab\there", "two\nlines"]

    def test_a_quote_that_is_never_closed_is_noted(self, write):
        data = read(write("x.csv", 'label,text\na,b\nc,"d\ne,f\ng,h\n'))
        assert data.text.to_pylist()[0] == "b"
        (note,) = data.notes
        assert note.startswith("row 2: a quote is never closed, so the last 3 lines became one field; close the quote")

    def test_duplicate_and_empty_names(self, write):
        data = read(write("x.csv", ",text,label,label\n0,a,x,y\n1,b,z,w\n"))
        assert data.label.to_pylist() == ["x", "z"]
        assert read(write("y.csv", ",text,label,label\n0,a,x,y\n"), label="label_2").label.to_pylist() == ["y"]

    def test_white_space_around_labels_is_dropped(self, write):
        data = read(write("x.csv", "label, text\npos , a\n neg, b\npos, c\n"))
        assert data.labels == ["neg", "pos"]


class TestEncodings:
    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
    @pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x"])
    def test_marks(self, write, encoding, name):
        raw = "label,text\npos,schön\nneg,好き\nneg,something longer in ASCII\n".encode(encoding)
        path = write(name, gzip.compress(raw) if name.endswith("gz") else raw)
        data = read(path)
        assert data.text.to_pylist() == ["schön", "好き", "something longer in ASCII"]
        assert data.label_column == "label"
        assert data.encoding == encoding.removesuffix("-sig")
        assert next(iter(stream(path))).text.to_pylist() == data.text.to_pylist()

    def test_windows_1252(self, write):
        raw = b"label,text\npos,na\xefve\nneg,\x80 5 \x97 ok\npos,plain\nneg,utf-8 \xc3\xbc\npos,\x81\xe9\n"
        data = read(write("x.csv", raw))
        assert data.text.to_pylist() == ["naïve", "€ 5 — ok", "plain", "utf-8 ü", "\x81é"]
        assert data.notes == ("not UTF-8, decoded as Windows-1252 (cells: 3)",)
        assert data.encoding == "windows-1252"

    def test_windows_1252_labels_and_names(self, write):
        data = read(write("x.csv", "größe,text\nmäßig,a\ngroß,b\n".encode("cp1252")), label="größe")
        assert data.label.to_pylist() == ["mäßig", "groß"]
        assert data.notes == ("not UTF-8, decoded as Windows-1252 (cells: 2)",)

    @pytest.mark.parametrize("name", ["x.jsonl", "x.txt"])
    def test_windows_1252_in_lines(self, write, name):
        line = '{"text": "naïve"}' if name == "x.jsonl" else "naïve"
        data = read(write(name, f"{line}\n{line}\n".encode("cp1252")))
        assert data.text.to_pylist() == ["naïve", "naïve"]
        assert data.notes == ("not UTF-8, decoded as Windows-1252 (cells: 2)",)

    def test_cut_utf8_is_not_taken_for_windows_1252(self, write):
        data = read(write("x.txt", "你好吗".encode()[:-1] + b"\nfine\n"))
        assert data.text.to_pylist() == ["你好\ufffd", "fine"]
        assert data.notes == ("broken UTF-8 bytes replaced by U+FFFD (cells: 1)",)

    def test_broken_utf16(self, write):
        with pytest.raises(DataError, match=r"x\.csv: not valid utf-16.*save it as UTF-8") as info:
            read(write("x.csv", "label,text\na,b\n".encode("utf-16")[:-1]))
        one_line(info)

    @pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.txt", "x.parquet"])
    def test_nul(self, write, tmp_path, name):
        if name == "x.parquet":
            pq.write_table(pa.table({"text": ["a\0b\0", "c"]}), tmp_path / name)
            path = tmp_path / name
        else:
            raw = {"x.csv": b"text\na\0b\0\nc\n", "x.jsonl": b'{"text": "a\\u0000b\\u0000"}\n{"text": "c"}\n'}
            path = write(name, raw.get(name, b"a\0b\0\nc\n"))
        data = read(path)
        assert data.text.to_pylist() == ["a b ", "c"]
        assert data.notes == ("NUL characters replaced by spaces (cells: 1)",)

    def test_invalid_utf8_in_parquet(self, tmp_path):
        bad = pa.array([b"na\xefve", b"ok"]).view(pa.string())
        pq.write_table(pa.table({"text": bad}), tmp_path / "x.parquet")
        assert read(tmp_path / "x.parquet").text.to_pylist() == ["naïve", "ok"]

    def test_lone_surrogates(self, write):
        data = read(write("x.jsonl", '{"text": "a\\ud800b"}\n{"text": "\\ud83d\\ude00"}\n'))
        assert data.text.to_pylist() == ["a\ufffdb", "😀"]
        assert read(["a\ud800b"]).text.to_pylist() == ["a\ufffdb"]


class TestUnusable:
    def test_empty_texts_and_missing_labels(self, write, tmp_path):
        path = write("x.csv", 'label,text\npos,a\nneg,\npos," \t"\n,b\n  ,c\nneg,d\n')
        data = read(path, labelled=True)
        assert data.text.to_pylist() == ["a", "d"]
        assert dict(data.unusable.counts) == {"empty text": 2, "no label": 2}
        assert [(row.row, row.reason, row.label, row.text) for row in data.unusable.rows] == [
            (2, "empty text", "neg", ""),
            (3, "empty text", "pos", " \t"),
            (4, "no label", "", "b"),
            (5, "no label", "", "c"),
        ]
        data.write_unusable(tmp_path / "bad.csv")
        with (tmp_path / "bad.csv").open(newline="") as file:
            assert list(csv.reader(file)) == [
                ["row", "line", "reason", "detail", "label", "text"],
                ["2", "", "empty text", "", "neg", ""],
                ["3", "", "empty text", "", "pos", " \t"],
                ["4", "", "no label", "", "", "b"],
                ["5", "", "no label", "", "", "c"],
            ]

    def test_labelled_false_keeps_rows_without_a_label(self, write):
        data = read(write("x.csv", "label,text\npos,a\n,b\n"), labelled=False)
        assert data.label.to_pylist() == ["pos", None]
        assert data.labels == ["pos"]
        assert len(data.unusable) == 0

    def test_a_label_column_without_labels(self, write):
        path = write("x.csv", "label,text\n,a\n,b\n")
        data = read(path)
        assert data.label is None
        assert data.notes == ("label column 'label' holds nothing: read without labels",)
        with pytest.raises(DataError, match=r"no usable rows in .*: 2 unusable rows: 2 no label"):
            read(path, labelled=True)

    def test_writing_is_all_or_nothing(self, write, tmp_path, monkeypatch):
        data = read(write("x.csv", "label,text\npos,a\nneg,\n"))
        target = tmp_path / "bad.csv"
        target.write_text("before")

        def fail(self, target):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("pathlib.Path.replace", fail)
        with pytest.raises(DataError, match=r"cannot write .*bad\.csv: No space left"):
            data.write_unusable(target)
        assert target.read_text() == "before"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "x.csv"]
        with pytest.raises(DataError, match="cannot write"):
            data.write_unusable(tmp_path / "nowhere" / "bad.csv")

    def test_malformed_json_lines(self, write):
        lines = [
            '{"text": "a", "label": 1}',
            "",
            '{"text": "b", "label": 2',
            '["c", 3]',
            '{"text": "d", "label": "x"}',
            "7",
        ]
        path = write("x.jsonl", "\n".join(lines))
        data = read(path)
        assert data.text.to_pylist() == ["a", "d"]
        assert data.label.to_pylist() == ["1", "x"]
        assert [(row.row, row.line, row.reason, row.text) for row in data.unusable.rows] == [
            (2, 3, "not a JSON object", lines[2]),
            (3, 4, "not a JSON object", lines[3]),
            (5, 6, "not a JSON object", lines[5]),
        ]
        assert data.unusable.rows[1].detail == "not an object but list"
        (batch,) = stream(path)
        assert batch.text.to_pylist() == ["a", "", "", "d", ""]
        assert len(batch.unusable) == 3

    def test_json_null_and_missing_keys(self, write):
        path = write("x.jsonl", '{"text": "a", "label": "p"}\n{"text": null, "label": "p"}\n{"text": "c"}\n')
        assert [(row.line, row.reason) for row in read(path).unusable.rows] == [(2, "empty text"), (3, "no label")]

    def test_json_array_with_a_foreign_element(self, write):
        with pytest.raises(DataError, match="element 2 is not an object but int"):
            read(write("x.json", '[{"text": "a"}, 3]'))
        with pytest.raises(DataError, match="is not a JSON array of objects"):
            read(write("y.json", '[{"text": "a"}, '))

    def test_pretty_printed_json_object_is_explained(self, write):
        with pytest.raises(DataError, match="no line is a JSON object with values; line 1: Expecting") as info:
            read(write("x.json", '{\n"text": "a"\n}\n'))
        one_line(info)


class TestHuge:
    BIG = "x" * 5_000_000 + "\n" + "y,\"'" * 1_500_000

    def test_csv_field_of_10_mb(self, write):
        out = io.StringIO()
        csv.writer(out).writerows([["label", "text"], ["a", "small"], ["b", self.BIG], ["a", "after"]])
        path = write("x.csv", out.getvalue())
        assert read(path).text.to_pylist() == ["small", self.BIG, "after"]
        batches = list(stream(path))
        assert [text for batch in batches for text in batch.text.to_pylist()] == ["small", self.BIG, "after"]
        assert [batch.first_row for batch in batches] == [1, 2, 3]

    def test_first_field_is_huge_and_there_is_no_header(self, write):
        out = io.StringIO()
        csv.writer(out).writerows([["1", self.BIG], ["2", "b"], ["1", "c"], ["2", "d"]])
        data = read(write("x.csv", out.getvalue()))
        assert [len(text) for text in data.text.to_pylist()] == [len(self.BIG), 1, 1, 1]

    @pytest.mark.parametrize("name", ["x.jsonl", "x.txt", "x.parquet"])
    def test_other_formats(self, write, tmp_path, name):
        big = self.BIG if name != "x.txt" else self.BIG.replace("\n", " ")
        if name == "x.parquet":
            pq.write_table(pa.table({"text": ["a", big, "b"]}), tmp_path / name)
        else:
            lines = [json.dumps({"text": text}) if name == "x.jsonl" else text for text in ("a", big, "b")]
            write(name, "\n".join(lines))
        assert read(tmp_path / name).text.to_pylist() == ["a", big, "b"]
        assert [text for batch in stream(tmp_path / name) for text in batch.text.to_pylist()] == ["a", big, "b"]

    def test_a_row_without_end_is_refused(self, write, monkeypatch):
        monkeypatch.setattr("linnet.data.input_file.MAX_RECORD", 20 << 20)
        path = write("x.csv", 'label,text\na,"' + "never closed\n" * 3_000_000)
        with pytest.raises(DataError, match="is a closing quote missing"):
            list(stream(path))


class TestRefused:
    @pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.tsv", "x.txt", "x.ft", "x.json", "x"])
    def test_empty_file(self, write, name):
        path = write(name, "")
        with pytest.raises(DataError, match=f"{re.escape(str(path))} is empty") as info:
            read(path)
        one_line(info)
        assert list(stream(path)) == []

    def test_header_only(self, write):
        path = write("x.csv", "label,text\n")
        with pytest.raises(DataError, match=r"x\.csv has columns \(label, text\) but no rows"):
            read(path)
        assert list(stream(path)) == []

    def test_parquet_without_rows(self, tmp_path):
        pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "x.parquet")
        with pytest.raises(DataError, match="no rows"):
            read(tmp_path / "x.parquet")

    def test_missing_file(self, write, tmp_path):
        write("reviews.csv", "")
        with pytest.raises(DataError, match=r"no file '.*reveiws\.csv'; did you mean '.*/reviews\.csv'\?") as info:
            read(tmp_path / "reveiws.csv")
        one_line(info)
        with pytest.raises(DataError, match=r"the folder '.*nowhere' does not exist"):
            read(tmp_path / "nowhere" / "x.csv")
        with pytest.raises(DataError, match="no file"):
            stream(tmp_path / "reveiws.csv")

    def test_png(self, write):
        png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01" + bytes(range(256)) * 8
        for name in ("x.png", "x.csv"):
            with pytest.raises(DataError, match="is not a data file but a PNG image"):
                read(write(name, png))

    def test_unknown_binary(self, write):
        with pytest.raises(DataError, match="it looks like a binary file") as info:
            read(write("x.csv", bytes(range(256)) * 8))
        one_line(info)

    def test_excel(self, write):
        with pytest.raises(DataError, match="export it as CSV"):
            read(write("x.xlsx", b"PK\x03\x04" + bytes(100)))

    @pytest.mark.parametrize("name", ["x.csv.gz", "x.parquet.gz", "x.txt.gz"])
    def test_truncated_gz(self, write, name):
        body = b"label,text\n" + b"".join(b"pos,text %d\n" % i for i in range(10_000))
        path = write(name, gzip.compress(body)[:-1000])
        with pytest.raises(DataError, match=r"gz is damaged or cut short \(Truncated compressed stream\)") as info:
            read(path)
        one_line(info)
        with pytest.raises(DataError, match="cut short"):
            list(stream(path))

    @pytest.mark.parametrize("keep", [0.3, 0.9])
    def test_truncated_parquet(self, write, tmp_path, keep):
        pq.write_table(pa.table({"text": [f"text {i}" for i in range(1000)]}), tmp_path / "whole.parquet")
        raw = (tmp_path / "whole.parquet").read_bytes()
        path = write("x.parquet", raw[: int(len(raw) * keep)])
        for use in (read, lambda path: list(stream(path))):
            with pytest.raises(DataError, match=r"x\.parquet is damaged or cut short") as info:
                use(path)
            one_line(info)

    @pytest.mark.parametrize("kind", ["file", "stream"])
    def test_truncated_arrow(self, write, kind):
        table = pa.table({"text": [f"text {i}" for i in range(1000)]})
        out = io.BytesIO()
        with (pa.ipc.new_file if kind == "file" else pa.ipc.new_stream)(out, table.schema) as writer:
            writer.write_table(table)
        path = write("x.arrow", out.getvalue()[:-2000])
        for use in (read, lambda path: list(stream(path))):
            with pytest.raises(DataError, match=r"x\.arrow is damaged or cut short") as info:
                use(path)
            one_line(info)

    def test_unreadable(self, write, monkeypatch):
        path = write("x.csv", "label,text\na,b\n")

        def refuse(self, mode):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("pathlib.Path.open", refuse)
        with pytest.raises(DataError, match=r"cannot open .*x\.csv: Permission denied"):
            read(path)

    def test_one_column_only(self, write):
        path = write("x.csv", "text\na b\nc d\n")
        assert read(path, labelled=False).text.to_pylist() == ["a b", "c d"]
        assert read(path).label is None
        with pytest.raises(
            DataError, match=r"no column looks like labels, which are needed, beside the text column 'text'"
        ):
            read(path, labelled=True)

    def test_closed_standard_input(self, monkeypatch):
        monkeypatch.setattr("sys.stdin", None)
        with pytest.raises(DataError, match="standard input is closed"):
            read("-")


def _unusable(path, streaming):
    if streaming:
        (batch,) = stream(path)
        return batch.unusable
    return read(path).unusable


def test_dataset_is_returned_as_it_is():
    data = Dataset.from_lists(["a"])
    assert read(data) is data
    with pytest.raises(DataError, match="has no labels"):
        read(data, labelled=True)


def test_a_missing_file_is_likened_to_names_that_are_close_only(tmp_path):
    for name in ("bin.csv", "reviews.csv"):
        (tmp_path / name).write_text("text,label\ngood,pos\n")
    with pytest.raises(DataError, match=r"did you mean '.*reviews.csv'"):
        read(tmp_path / "review.csv")
    with pytest.raises(DataError, match=r"^no file '[^']*missing.csv'$"):
        read(tmp_path / "missing.csv")
