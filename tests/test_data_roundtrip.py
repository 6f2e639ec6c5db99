"""Whatever text goes into a file comes out of it, except NUL, which becomes a space."""

import contextlib
import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.data import read, stream
from linnet.errors import DataError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
LABEL = st.sampled_from(["pos", "neg", "so, so", 'the "best"', "größer"])
ROWS = st.lists(st.tuples(LABEL, TEXT), min_size=1, max_size=30)


def out(text):
    return text.replace("\0", " ")


def usable(text):
    return bool(out(text)) and not out(text).isspace()


def check(path, rows, **options):
    expected = [(label, out(text)) for label, text in rows if usable(text)]
    batches = list(stream(path, **options))
    assert [out(text) for _, text in rows] == [text for batch in batches for text in batch.text.to_pylist()]
    if not expected:
        with pytest.raises(DataError, match="no usable rows"):
            read(path, **options)
        return
    data = read(path, **options)
    assert list(zip(data.label.to_pylist(), data.text.to_pylist(), strict=True)) == expected
    assert len(data) + len(data.unusable) == len(rows)
    empty = [row for row, (_, text) in enumerate(rows, 1) if not usable(text)]
    assert [row.row for row in data.unusable.rows] == empty


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("roundtrip") / "x"


@settings(deadline=None)
@given(rows=ROWS, delimiter=st.sampled_from(",;|\t"), newline=st.sampled_from(["\n", "\r\n"]), every=st.booleans())
def test_csv(path, rows, delimiter, newline, every):
    file = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if every or newline == "\n" else csv.QUOTE_MINIMAL
    csv.writer(file, delimiter=delimiter, lineterminator=newline, quoting=quoting).writerows([("label", "text"), *rows])
    path.write_bytes(file.getvalue().encode())
    check(path, rows, format="tsv" if delimiter == "\t" else "csv")


@settings(deadline=None)
@given(rows=ROWS, ascii_only=st.booleans(), end=st.sampled_from(["", "\n"]))
def test_jsonl(path, rows, ascii_only, end):
    lines = [json.dumps({"label": label, "text": text}, ensure_ascii=ascii_only) for label, text in rows]
    path.write_bytes(("\n".join(lines) + end).encode())
    check(path, rows, format="jsonl")


@settings(deadline=None)
@given(texts=st.lists(TEXT.map(lambda text: text.replace("\n", "").replace("\r", "")), min_size=1, max_size=30))
def test_lines(path, texts):
    path.write_bytes("".join(text + "\n" for text in texts).encode())
    batches = list(stream(path, format="text")) if usable("".join(texts)) else []
    if batches:
        assert [text for batch in batches for text in batch.text.to_pylist()] == [out(text) for text in texts]


@settings(deadline=None)
@given(data=st.binary(max_size=300), format=st.sampled_from(["csv", "tsv", "jsonl", "text", "fasttext", "json"]))
def test_any_bytes_are_read_or_refused(path, data, format):
    path.write_bytes(data)
    for use in (read, lambda *args, **options: list(stream(*args, **options))):
        with contextlib.suppress(DataError):
            use(path, format=format)
