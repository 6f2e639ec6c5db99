"""Vowpal Wabbit's text format: one file and one row of the registry, and every command reads it."""

from __future__ import annotations

import gzip
import json
import random

import pytest

from linnet.data import read, stream
from linnet.data.formats import find_format, find_shards
from linnet.data.labelled import LabelledFiles
from running import run

GOOD, BAD, PLAIN = ["good", "fine", "lovely"], ["bad", "dull", "awful"], ["the", "film", "was", "plot", "cast"]


def lines(rows: int = 200) -> list[str]:
    rng = random.Random(5)
    found = []
    for k in range(rows):
        words = [rng.choice(GOOD if k % 2 else BAD), *(rng.choice(PLAIN) for _ in range(5))]
        found.append(f"{1 if k % 2 else -1} 1.5 'row{k} |title {words[0]}:2.5 {words[1]} |body {' '.join(words[2:])}")
    return found


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "reviews.vw"
    path.write_text("\n".join(lines()) + "\n")
    return path


def linnet(*args):
    return run(*args, text=True, code=0)


def test_labels_and_words(tmp_path):
    path = tmp_path / "x.vw"
    path.write_text(
        "1 |f good film:3\n-1 2 'id |a:0.5 so bad |b dull\n|f no label\nspam |f win: now\n1 tag|f a\n\nno bar\n2 |f  \n"
    )
    data = read(path)
    assert data.text.to_pylist() == ["good film film film", "so bad dull", "win now", "a"]
    assert data.label.to_pylist() == ["1", "-1", "spam", "1"]
    assert [(row.line, row.reason) for row in data.unusable.rows] == [
        (3, "no label"), (6, "empty text"), (7, "empty text"), (8, "empty text"),
    ]  # fmt: skip
    assert data.how.startswith("one Vowpal Wabbit line a document")
    assert [text for batch in stream(path, batch_rows=2) for text in batch.text.to_pylist()][3] == "win now"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"1 |f a b\n", "vw"), (b"-1 0.5 'tag |f a\n", "vw"), (b"3 | a b\n", "vw"), (b"| a | b |\n", "text"),
        (b"text|label\ngood|1\n", "csv"), (b"1 or 2\n", "text"),
    ],
)  # fmt: skip
def test_told_by_its_content(head, name):
    assert find_format("-", head).name == name


def test_compressed_and_in_a_folder_of_shards(path, tmp_path):
    packed = tmp_path / "shards" / "part.vw.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert find_shards([packed.parent]) == [packed]
    assert read(packed).text.to_pylist() == read(path).text.to_pylist()
    assert LabelledFiles([packed.parent]).scan(1000).labels == {"-1": 100, "1": 100}


def test_train_predict_and_filter_read_it(path, tmp_path):
    model = tmp_path / "m.linnet"
    linnet("train", path, "--model", "nb", "--features", "words:1", "--out", model, "-q")
    linnet("train", path, path, "--model", "nb", "--features", "words:1", "--out", tmp_path / "s.linnet", "-q")
    linnet("predict", model, path, "--out", tmp_path / "found.csv", "-q")
    found = (tmp_path / "found.csv").read_text().splitlines()
    truth = [line.split()[0] for line in lines()]
    assert [line.split(",")[0] for line in found[1:]] == truth

    done = linnet("filter", model, path, "--out", tmp_path / "kept", "--keep", "1", "--min", "0.5", "--json", "-q")
    assert json.loads(done.stdout)["kept"] == 100
    rows = [json.loads(line) for line in (tmp_path / "kept" / "reviews.vw.jsonl").read_text().splitlines()]
    assert [row["text"] for row in rows] == [
        t for t, y in zip(read(path).text.to_pylist(), truth, strict=True) if y == "1"
    ]
    assert set(rows[0]) == {"label", "text", "weight", "id", "title", "body", "linnet_label", "linnet_p_1"}
    assert {row["linnet_label"] for row in rows} == {"1"}


def test_it_is_written_too(tmp_path):
    import pyarrow as pa

    from linnet.data.writers import WRITERS

    rows = {
        "label": ["spam", "ham", None],
        "weight": [2.0, 1.0, 1.0],
        "text": ["win: now|here", "hi  there", "x"],
        "length": [3, 2, 1],
    }
    with (tmp_path / "m.vw").open("wb") as file:
        writer = WRITERS["vw"](file)
        writer.write(pa.table(rows))
        writer.close()
    lines = (tmp_path / "m.vw").read_text().splitlines()
    assert lines == [
        "spam 2.0 |text win_ now_here |length length:3", "ham 1.0 |text hi there |length length:2", "|text x |length length:1",
    ]  # fmt: skip
    found = read(tmp_path / "m.vw")
    assert found.label_list() == ["spam", "ham"]
    assert found.text.to_pylist()[1] == "hi there"


def test_namespaces_values_importance_and_several_labels(tmp_path):
    path = tmp_path / "x.vw"
    path.write_text(
        "1,3 2 'a |title good:2 film |price price:9.5\n"
        "2 0.5 |body so bad:0 dull:-1 |title x:0.2 |price price:3\n"
        "1 |late word |title film\n"
    )
    data = read(path, also=["weight", "id", "title", "price", "late"])
    assert data.label_sets() == [("1", "3"), ("2",), ("1",)]
    assert data.text.to_pylist() == ["good good film", "so dull x", "word film"]
    assert data.column("title") == ["good good film", "x", "film"]
    assert (data.column("weight"), data.column("id")) == (["2", "0.5", "1"], ["a", None, None])
    assert (data.column("price"), data.column("late")) == (["9.5", "3", None], [None, None, "word"])
    assert read(path, text="title").text.to_pylist() == ["good good film", "x", "film"]
    assert [b.also["price"].to_pylist() for b in stream(path, also=["price"], batch_rows=2)] == [["9.5", "3"], [None]]


def test_a_model_uses_namespaces_and_importance(tmp_path):
    from linnet import TextClassifier

    rows = [f"{k % 2} {1 + k % 3} |words {PLAIN[k % 5]} |price price:{5 * (k % 2) + k % 3}" for k in range(60)]
    path = tmp_path / "x.vw"
    path.write_text("\n".join(rows) + "\n")
    data = read(path, also=["weight", "price"])
    clf = TextClassifier("svm", features="words:1+column:price", params={"C": 1.0})
    clf.fit(data, sample_weight=data.numbers("weight"))
    assert clf.predict(data).tolist() == data.label_list()


def test_clean_and_predict_write_it(path, tmp_path):
    linnet("clean", path, "--out", tmp_path / "clean.vw")
    assert read(tmp_path / "clean.vw").text.to_pylist() == read(path).text.to_pylist()
    linnet("train", path, "--model", "nb", "--features", "words:1", "--out", tmp_path / "m.linnet", "-q")
    linnet("predict", tmp_path / "m.linnet", path, "--out", tmp_path / "p.vw", "--keep-columns")
    assert len((tmp_path / "p.vw").read_text().splitlines()) == 200
