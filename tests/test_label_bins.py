"""Labels from numbers: bins, quantiles, and metrics of ordered classes; in Python, in files, by the commands."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, mean_absolute_error

import linnet
from linnet.cli import linnet as command
from linnet.data import Dataset
from linnet.data.dataset import LabelBins
from linnet.errors import LinnetError
from linnet.evaluate import evaluate

STARS = "stars<=2=negative,2<stars<4=neutral,stars>=4=positive"


@pytest.mark.parametrize("bins", ["stars<=2=bad,stars>=4=good", 3])
def test_bins_of_a_stream_are_those_in_memory(tmp_path, bins):
    """The same model to the byte: in memory, from disk, and on an engine; rows in no bin are counted and said."""
    from linnet.engines import open_engine
    from linnet.pipeline.stream import fit_stream

    rng = np.random.default_rng(0)
    stars = rng.integers(1, 6, 400).tolist()
    words = ["awful", "bad", "fair", "fine", "great"]
    lines = [f"{words[s - 1]} film{k % 7} plot{k % 11},{s}" for k, s in enumerate(stars)]
    path = tmp_path / "rows.csv"
    path.write_text("text,stars\n" + "\n".join(lines) + "\n", encoding="utf-8")
    settings = {"features": "words:1", "params": {"C": 1.0}}
    train, _ = linnet.read(path, label="stars").binned(bins).split(0, (0.9, 0.1))
    linnet.TextClassifier("svm", **settings).fit(train).save(tmp_path / "memory.linnet")
    said: list[str] = []
    clf = linnet.TextClassifier("svm", **settings)
    fit_stream(clf, path, label="stars", bins=bins, max_memory="1GB", say=said.append)
    clf.save(tmp_path / "stream.linnet")
    assert (tmp_path / "memory.linnet").read_bytes() == (tmp_path / "stream.linnet").read_bytes()
    assert any("which lie in no bin" in line for line in said) == isinstance(bins, str)
    with open_engine("local", workers=1) as engine:
        fit_stream(clf, path, label="stars", bins=bins, max_memory="1GB", engine=engine)
    assert clf.artefact.card["data"]["label_bins"] == linnet.load(tmp_path / "memory.linnet").card["data"]["label_bins"]
    assert clf.predict(["awful", "great"]).tolist() == (["bad", "good"] if isinstance(bins, str) else ["low", "high"])


def test_a_stream_names_a_label_that_is_no_number(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("text,stars\ngood,5\nbad,1\nodd,many\n" * 9, encoding="utf-8")
    for wanted in (["--label-bins", "stars<=2=bad,stars>2=good"], ["--label", "stars", "--label-quantiles", "2"]):
        done = CliRunner().invoke(
            command, ["train", str(path), *wanted, "--max-memory", "1GB", "--out", str(tmp_path / "m")]
        )
        assert "labels in bins must be numbers; usable row 3 has 'many'" in str(done.exception)
    done = CliRunner().invoke(command, ["train", str(path), "--label-columns", "p_*", "--max-memory", "1GB"])
    assert "label_columns must be a pattern with one star that names two columns or more" in str(done.exception)


def test_bins_by_hand():
    bins = LabelBins.parse(STARS)
    assert bins.labels([1, 2, 2.5, 3.9, 4, 5]) == ["negative", "negative", "neutral", "neutral", "positive", "positive"]
    assert LabelBins.parse("x>=4=good,x<2=bad").order == ("bad", "good")
    assert LabelBins.parse("x>=4=good,x<2=bad").labels([2, 3.99, 4, 1]) == [None, None, "good", "bad"]
    for wrong in ("stars=2", "stars<=two=a,stars>2=b", "", "stars<=2=a", "stars<=2=a,score>2=b"):
        with pytest.raises(LinnetError, match="label bins"):
            LabelBins.parse(wrong)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=200), st.integers(2, 6))
def test_quantiles_are_equal_parts_and_written_bins_are_read_back(values, n):
    try:
        bins = LabelBins.quantiles(values, n)
    except LinnetError:
        assert len(set(values)) < len(values) or len(values) < n
        return
    labels = bins.labels(values)
    counts = [labels.count(name) for name in bins.names]
    assert None not in labels
    if len(set(values)) == len(values):
        assert max(counts) - min(counts) <= 1
    again = LabelBins.parse(bins.text)
    assert again == bins
    assert again.labels(values) == labels


def test_datasets():
    data = Dataset.from_lists(list("abcdef"), [1, 2, 3, 3, 4, 5])
    found = data.binned("<=2=low,>=4=high")
    assert found.text.to_pylist() == ["a", "b", "e", "f"]
    assert "left out: 2 of 6 rows, which lie in no bin" in found.describe()
    assert data.binned(3).labels == ["high", "low", "middle"]
    for wrong, words in ((("<=0=a,>=9=b"), "1 to 5"), (7, "too few different numbers")):
        with pytest.raises(LinnetError, match=words):
            data.binned(wrong)
    with pytest.raises(LinnetError, match="usable row 2 has 'x'"):
        Dataset.from_lists(["a", "b"], ["1", "x"]).binned(2)


@settings(max_examples=50, deadline=None)
@given(st.integers(3, 6), st.integers(0, 2**32 - 1))
def test_ordered_classes_against_scikit_learn(k, seed):
    rng = np.random.default_rng(seed)
    names = [f"c{i}" for i in rng.permutation(k)]
    t, p = rng.integers(0, k, 60), rng.integers(0, k, 60)
    found = evaluate([names[i] for i in t], [names[i] for i in p], sorted(names), order=names, draws=50).ordinal
    assert found["mean_absolute_error"][0] == pytest.approx(mean_absolute_error(t, p))
    assert found["quadratic_kappa"][0] == pytest.approx(
        cohen_kappa_score(t, p, weights="quadratic", labels=list(range(k)))
    )
    low, high = found["quadratic_kappa"][1]
    assert low <= found["quadratic_kappa"][0] <= high


def test_numbers_have_an_order_and_names_have_none():
    numbers = evaluate(["1", "2", "5", "5"], ["1", "5", "5", "2"], ["1", "2", "5"])
    assert numbers.ordinal["mean_absolute_error"][0] == 1.5
    assert "mean absolute error 1.5000" in numbers.to_text()
    assert numbers.to_dict()["ordinal"]["mean_absolute_error"] == 1.5
    assert evaluate(["a", "b", "c"], ["a", "b", "b"], ["a", "b", "c"]).ordinal is None
    assert evaluate(["0", "1"], ["0", "0"], ["0", "1"]).ordinal is None


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bins")
    words = {1: "awful", 2: "bad", 3: "plain", 4: "good", 5: "great"}
    rng = np.random.default_rng(0)
    for name, n in (("train.csv", 400), ("test.csv", 120)):
        stars = rng.integers(1, 6, n)
        with (folder / name).open("w", newline="") as file:
            rows = [[f"{words[int(s)]} {words[int(rng.integers(1, 6))]} film {i}", s] for i, s in enumerate(stars)]
            csv.writer(file).writerows([["review", "stars"], *rows])
    return folder


def run(*given):
    done = CliRunner().invoke(command, [str(word) for word in given])
    assert done.exit_code == 0, (done.output, done.exception)
    return done


def test_commands(files):
    bins = ["--label-bins", "stars<=2=negative,stars>=4=positive"]
    model = files / "m.linnet"
    done = run(
        "train", files / "train.csv", *bins, "--features", "words:1", "--model", "nb", "--out", model, "--no-check"
    )
    assert "which lie in no bin" in done.output
    assert sorted(linnet.load(model).classes_) == ["negative", "positive"]
    result = json.loads(run("evaluate", model, files / "test.csv", "--json", "-").stdout)  # by the bins of the model
    assert result["ordinal"]["mean_absolute_error"] == pytest.approx(1 - result["accuracy"])
    assert result == json.loads(run("evaluate", model, files / "test.csv", *bins, "--json", "-").stdout)
    thirds = files / "q.linnet"
    words = ["--label-quantiles", 3, "--features", "words:1", "--model", "nb", "--no-check"]
    run("train", files / "train.csv", "--test", files / "test.csv", *words, "--out", thirds)
    assert linnet.load(thirds).card["data"]["label_bins"] == "stars<=2=low,2<stars<=4=middle,stars>4=high"
    assert "quadratic kappa" in run("evaluate", thirds, files / "test.csv").output
    assert "lie in no bin" in run("check", files / "train.csv", *bins).output
    assert (
        "lie in no bin"
        in run(
            "compare", files / "train.csv", *bins, "--models", "nb,votes", "--features", "words:1", "--folds", 3
        ).output
    )
    both = CliRunner().invoke(command, ["train", str(files / "train.csv"), *bins, "--label-quantiles", "2"])
    assert "give one" in str(both.exception)
