"""Row weights: a row of weight 2 is the row twice, for every model, from Python and the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from linnet import TextClassifier, load
from linnet.cli import linnet as command
from linnet.data import read
from linnet.errors import DataError
from linnet.models import MODELS

RNG = np.random.default_rng(5)
WORDS = ["good", "fine", "fun", "dull", "poor", "bad", "film", "book", "a", "the"]
LABELS = ["pos", "neg", "mixed"] * 14
TEXTS = [
    " ".join(RNG.choice(WORDS[:3] + WORDS[6:] if y == "pos" else WORDS[3:] if y == "neg" else WORDS, 5)) for y in LABELS
]
WEIGHTS = RNG.integers(1, 4, len(TEXTS))
FIXED = {
    "svm": {"C": 0.5, "tol": 1e-6}, "logistic": {"C": 0.5}, "nb": {"alpha": 0.5}, "bernoulli": {"alpha": 0.5},
    "nbsvm": {"C": 0.5, "beta": 0.5, "tol": 1e-6}, "perceptron": {"max_iter": 5}, "passive-aggressive": {"C": 0.1},
    "least-squares": {"alpha": 1.0}, "feed-forward": {"learning_rate": 0.05, "max_iter": 3}, "votes": {},
}  # fmt: skip


CASES = [
    (name, several)
    for name, m in MODELS.items()
    for several in (False, True)
    if m.traits.learns and (m.traits.multilabel or not several)
]


@pytest.mark.parametrize(("name", "several"), CASES)
def test_weight_two_is_a_row_twice(name, several):
    plan = MODELS[name].plan
    settings = {
        "features": "words:1-2",
        "ratio": 0.5 if len(plan.ratio) > 1 else 0.0,
        "min_df": 1,
        "params": FIXED[name],
    }
    labels = [tuple({y, "pos" if k % 3 else y}) for k, y in enumerate(LABELS)] if several else LABELS
    weighted = TextClassifier(name, calibrate=False, **settings).fit(TEXTS, labels, sample_weight=WEIGHTS)
    repeated = TextClassifier(name, calibrate=False, **settings).fit(
        [t for t, w in zip(TEXTS, WEIGHTS, strict=True) for _ in range(w)],
        [y for y, w in zip(labels, WEIGHTS, strict=True) for _ in range(w)],
    )
    assert weighted.get_feature_names_out().tolist() == repeated.get_feature_names_out().tolist() or name == "votes"
    np.testing.assert_allclose(
        weighted.decision_function(TEXTS), repeated.decision_function(TEXTS), rtol=1e-4, atol=1e-5
    )


def test_weights_change_what_is_learned():
    heavy = np.where(np.array(LABELS) == "neg", 20.0, 0.5)
    plain, tilted = (
        TextClassifier("nb", features="words:1").fit(TEXTS, LABELS, sample_weight=w) for w in (None, heavy)
    )
    assert (tilted.predict(TEXTS) == "neg").sum() > (plain.predict(TEXTS) == "neg").sum()


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    lines = [{"text": t, "label": y, "w": int(w)} for t, y, w in zip(TEXTS, LABELS, WEIGHTS, strict=True)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def run(*words):
    return CliRunner().invoke(command, list(map(str, words)))


def test_on_the_command_line(rows, tmp_path):
    done = run("train", rows, "--weight", "w", "--features", "words:1", "--out", tmp_path / "a.linnet", "--quiet")
    assert done.exit_code == 0, done.output
    done = run("train", rows, "--features", "words:1", "--out", tmp_path / "b.linnet", "--quiet")
    assert (tmp_path / "a.linnet").read_bytes() != (tmp_path / "b.linnet").read_bytes()
    stream = ["--features", "words:1", "--max-memory", "1GB", "--out", tmp_path / "c.linnet", "--quiet"]
    assert run("train", rows, *stream).exit_code == 0
    plain = load(tmp_path / "c.linnet").decision_function(TEXTS)
    assert run("train", rows, "--weight", "w", *stream).exit_code == 0
    run(
        "train",
        rows,
        "--weight",
        "w",
        "--features",
        "words:1",
        "--hold-out-test",
        "--out",
        tmp_path / "d.linnet",
        "--quiet",
    )
    weighted, memory = (load(tmp_path / f"{name}.linnet").decision_function(TEXTS) for name in "cd")
    assert np.array_equal(weighted, memory)
    assert not np.array_equal(weighted, plain)
    assert "'v'" in str(run("train", rows, "--weight", "v", "--out", tmp_path / "c.linnet").exception)


def test_cells_that_are_no_weights(tmp_path):
    (tmp_path / "rows.csv").write_text("text,label,w\ngood,pos,1\nbad,neg,much\n")
    with pytest.raises(DataError, match=r"column 'w' must hold numbers from 0; usable row 2 has 'much'"):
        read(tmp_path / "rows.csv", also=["w"]).numbers("w")
    for bad in ("-1", "", "nan", "inf"):
        (tmp_path / "rows.csv").write_text(f"text,label,w\ngood,pos,{bad}\nbad,neg,1\n")
        with pytest.raises(DataError, match="usable row 1 has"):
            read(tmp_path / "rows.csv", also=["w"]).numbers("w")
