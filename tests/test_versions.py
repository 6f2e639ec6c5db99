"""compare --files: two model files on the same rows."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

import linnet
from linnet import TextClassifier
from linnet.cli import linnet as command
from linnet.comparison import compare_versions
from linnet.datasets import load
from linnet.errors import DataError, ModelFileError
from linnet.evaluate import mcnemar

TRAIN, DEV, TEST = load("reviews")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("versions")
    TextClassifier("svm").fit(TRAIN, dev=DEV).save(folder / "good.linnet")
    wrong = [{"positive": "negative", "negative": "positive"}[label] for label in TRAIN.label_list()]
    TextClassifier("nb", features="words:1").fit(TRAIN.text.to_pylist(), wrong).save(folder / "bad.linnet")
    with (folder / "test.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *zip(TEST.text.to_pylist(), TEST.label_list(), strict=True)])
    return folder


def run(*words):
    return CliRunner().invoke(command, list(map(str, words)))


def test_worse_is_an_exit_code(files):
    done = run("compare", "--files", files / "good.linnet", files / "bad.linnet", files / "test.csv")
    assert done.exit_code == 1
    assert "The new model is worse" in done.stdout
    done = run("compare", "--files", files / "bad.linnet", files / "good.linnet", files / "test.csv")
    assert done.exit_code == 0
    assert "The new model is better" in done.stdout
    done = run("compare", "--files", files / "good.linnet", files / "good.linnet", files / "test.csv")
    assert done.exit_code == 0
    assert "No clear difference: 0 rows gained, 0 lost, p = 1" in done.stdout


def test_changed_answers_and_json(files, tmp_path):
    done = run(
        "compare", "--files", files / "bad.linnet", files / "good.linnet", files / "test.csv", "--out", tmp_path / "c.csv", "--json", "-"
    )  # fmt: skip
    found = json.loads(done.stdout)
    with (tmp_path / "c.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(found["changed"]) >= found["gained"] + found["lost"]
    assert all(row["old"] != row["new"] for row in rows)
    one = rows[0]
    assert TEST.text.to_pylist()[int(one["row"]) - 1] == one["text"]
    assert TEST.label_list()[int(one["row"]) - 1] == one["label"]


def test_the_test_is_mcnemars(files):
    found = compare_versions(files / "bad.linnet", files / "good.linnet", TEST)
    import linnet

    truth = np.array(TEST.label_list())
    right = [linnet.load(files / name).predict(TEST) == truth for name in ("bad.linnet", "good.linnet")]
    assert found.test == mcnemar(right[1], right[0])
    assert found.old_accuracy == right[0].mean()
    assert found.gained - found.lost == int(right[1].sum()) - int(right[0].sum())


def test_clear_errors(files):
    assert "needs labelled rows" in str(
        run("compare", "--files", files / "good.linnet", files / "bad.linnet").exception
    )
    with pytest.raises(DataError, match="no label of these rows is known"):
        compare_versions(files / "good.linnet", files / "bad.linnet", ["a", "b"], ["x", "y"])


def test_a_folder_of_versions(files, tmp_path):
    folder = tmp_path / "reviews"
    folder.mkdir()
    for name, number in (("good", 2), ("bad", 10)):
        (folder / f"{number}.linnet").write_bytes((files / f"{name}.linnet").read_bytes())
    texts = TEST.text.to_pylist()[:20]

    def answers(path):
        return linnet.load(path).predict(texts).tolist()

    assert answers(folder) == answers(folder / "10.linnet") != answers(folder / "2.linnet")
    (folder / "latest").write_text("2\n")
    assert answers(folder) == answers(folder / "2.linnet")
    done = run("update", folder, files / "test.csv")
    assert done.exit_code == 0, done.output
    assert "saved" in done.output
    assert (folder / "11.linnet").is_file()
    assert "latest still names 2; write 11 into it" in done.output
    assert run("info", folder).stdout.startswith(f"{folder / '2.linnet'}: ")
    assert "latest" in str(run("update", folder, "--undo").exception)
    for name in ("3", "../reviews/2"):
        (folder / "latest").write_text(name)
        with pytest.raises(ModelFileError, match="latest: unknown version"):
            linnet.load(folder)
    (tmp_path / "other").mkdir()
    with pytest.raises(ModelFileError, match="a folder"):
        linnet.load(tmp_path / "other")
