"""--groups and --time of train, tune and compare: whoever is in the rows to learn from is not in those to be judged on."""

from __future__ import annotations

import csv
import json
import random

import pytest
from click.testing import CliRunner

from linnet import compare, load, read
from linnet.cli import linnet as program
from linnet.cli.labelled_rows import split_rows
from linnet.data import Dataset
from linnet.errors import LinnetError

NO_FILES = {"dev": None, "test": None, "text": None, "label": None, "format_": None, "seed": 0}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Reviews in which the author tells the label, and the words hardly do."""
    rng = random.Random(0)
    file = tmp_path_factory.mktemp("held") / "reviews.csv"
    with file.open("w", encoding="utf-8", newline="") as sink:
        rows = csv.writer(sink)
        rows.writerow(["label", "text", "author", "date"])
        for author in range(40):
            label = rng.choice(["pos", "neg"])
            for k in range(8):
                word = rng.choice(["good", "bad"])
                text = f"author{author} says {word} {rng.choice(['film', 'book', 'play'])} {rng.randrange(50)}"
                rows.writerow([label, text, f"a{author}", f"2024-{1 + k:02}-{1 + rng.randrange(28):02}"])
    return file


@pytest.mark.parametrize("watch", [False, True])
def test_no_author_is_on_both_sides(path, watch):
    rows = read(path, labelled=True, also=["author"])
    fit_on, dev, test = split_rows(rows, {**NO_FILES, "watch": watch, "groups": "author", "time": None})
    authors = [set(part.column("author")) for part in (fit_on, dev, test)]
    assert all(authors)
    assert sum(map(len, authors)) == len(set.union(*authors)) == 40
    assert len(fit_on) + len(dev) + len(test) == len(rows)


def test_the_newest_rows_are_held_out(path):
    rows = read(path, labelled=True, also=["date"])
    fit_on, dev, test = split_rows(rows, {**NO_FILES, "watch": False, "groups": None, "time": "date"})
    assert max(fit_on.column("date")) <= min(dev.column("date"))
    assert max(dev.column("date")) <= min(test.column("date"))


WORDS = [f"word{k}" for k in range(200)]


def _texts(n, copies):
    """n texts of twelve words, the last `copies` of them copies of others with a word more."""
    rng = random.Random(3)
    texts = [" ".join(rng.choices(WORDS, k=12)) for _ in range(n - copies)]
    return texts + [f"{text} indeed" for text in texts[:copies]]


@pytest.mark.parametrize(("copies", "groups", "apart"), [(40, None, True), (12, None, False), (40, "none", False)])
def test_near_duplicates_stay_together_where_they_are_many(capsys, copies, groups, apart):
    texts = _texts(200, copies)
    rows = Dataset.from_lists(texts, ["a", "b"] * 100)
    fit_on, dev, test = split_rows(rows, {**NO_FILES, "watch": False, "groups": groups, "time": None})
    parts = [part.text.to_pylist() for part in (fit_on, dev, test) if part is not None]
    together = all((text in part) == (f"{text} indeed" in part) for text in texts[:copies] for part in parts)
    assert together == apart
    assert ("near duplicates kept together (40% of the rows have one" in capsys.readouterr().err) == apart


def test_a_template_is_not_held_out():
    """One group of a third of the rows says nothing that a split could mend."""
    rows = Dataset.from_lists(
        _texts(120, 0) + [f"one two three four five six seven eight nine ten {k}" for k in range(60)], ["a", "b"] * 90
    )
    _, dev, test = split_rows(rows, {**NO_FILES, "watch": False, "groups": None, "time": None})
    assert dev is None
    assert len(test) == 18


def test_nothing_to_hold_out_is_said(path):
    rows = read(path, labelled=True, also=["author"])
    files = {**NO_FILES, "dev": str(path), "test": str(path)}
    with pytest.raises(LinnetError, match="nothing to hold out"):
        split_rows(rows, {**files, "watch": False, "groups": "author", "time": None})


def test_the_saved_model_has_the_rows_of_a_dev_file_too(path, tmp_path):
    dev, told = tmp_path / "dev.csv", tmp_path / "told.json"
    dev.write_text("label,text\nneg,a bad film\npos,a good film\n" + "other,zebra\n" * 5)
    options = ["--dev", dev, "--out", tmp_path / "m.linnet", "--features", "words:1", "--json", told, "-q"]
    result = CliRunner().invoke(program, ["train", *map(str, [path, *options])])
    assert result.exit_code == 0, result.output
    clf = load(tmp_path / "m.linnet")
    assert list(clf.classes_) == ["neg", "other", "pos"]
    assert clf.predict(["zebra"]).tolist() == ["other"]


def test_a_dev_file_of_another_problem_is_refused(path, tmp_path):
    dev = tmp_path / "dev.csv"
    dev.write_text("label,text\n" + "ham,a bad film\nspam,a good film\n" * 5)
    result = CliRunner().invoke(program, ["train", str(path), "--dev", str(dev), "--out", str(tmp_path / "m.linnet")])
    assert result.exit_code == 1
    assert "no dev row has a label of the training rows" in str(result.exception)
    assert not (tmp_path / "m.linnet").exists()


def test_a_model_that_knows_the_authors_is_found_out(path, tmp_path):
    accuracy = {}
    for name, more in (("chance", []), ("groups", ["--groups", "author"])):
        told = tmp_path / f"{name}.json"
        options = ["--features", "words:1", "--out", tmp_path / "m.linnet", "--json", told, *more, "-q"]
        result = CliRunner().invoke(program, ["train", *map(str, [path, *options])])
        assert result.exit_code == 0, result.output
        accuracy[name] = json.loads(told.read_text())["test"]["accuracy"]
    assert accuracy["chance"] > 0.9
    assert accuracy["groups"] < 0.8


def test_folds_keep_groups_together_and_say_so(path):
    rows = read(path, labelled=True, also=["author"])
    by_chance = compare(rows, models="nb", features="words:1", folds=4)
    by_author = compare(rows, models="nb", features="words:1", folds=4, groups="author")
    same = compare(rows, models="nb", features="words:1", folds=4, groups=rows.column("author"))
    assert by_chance.best.accuracy > 0.9
    assert by_author.best.accuracy < 0.8
    assert same.best.accuracy == by_author.best.accuracy
    assert any("40 groups" in note for note in by_author.notes)
    assert (
        by_author.best.accuracy
        == compare(path, models="nb", features="words:1", folds=4, groups="author").best.accuracy
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["train", "--groups", "nobody"], "unknown column 'nobody'"),
        (["train", "--groups", "author", "--time", "date"], "not both"),
        (["train", "--groups", "author", "--max-memory", "1GB"], "linnet split"),
        (["compare", "--models", "nb", "--groups", "nobody"], "unknown column 'nobody'"),
        (["tune", "--groups", "nobody"], "unknown column 'nobody'"),
    ],
)
def test_what_cannot_be_is_one_line(path, tmp_path, monkeypatch, command, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LinnetError, match=words):
        CliRunner().invoke(program, [command[0], str(path), *command[1:]], catch_exceptions=False)
    assert not list(tmp_path.glob("*.linnet"))
