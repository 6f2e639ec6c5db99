"""Models of several labels a row that go on learning: partial_fit, versions, and linnet update."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from linnet import TextClassifier, load
from linnet.cli import linnet as command
from linnet.comparison.versions import update
from linnet.data import read
from linnet.errors import DataError
from linnet.models import MODELS
from test_multilabel import corpus

ABLE = [name for name, model in MODELS.items() if model.traits.incremental and model.traits.multilabel]
TEXTS, LABELS = corpus(400, 2)
OTHERS, TRUTH = corpus(200, 9)


def in_chunks(clf, texts, labels, size, **more):
    for k in range(0, len(texts), size):
        clf.partial_fit(texts[k : k + size], labels[k : k + size], **more)
    return clf


@pytest.mark.parametrize("name", ["nb", "bernoulli"])
@pytest.mark.parametrize("size", [1, 37, 400])
def test_chunks_of_naive_bayes_are_one_fit(name, size):
    fixed = {"features": "words:1", "calibrate": False, "params": {"alpha": 0.5}, "ratio": 0.0, "min_df": 1}
    n = 60 if size == 1 else 400
    whole = TextClassifier(name, **fixed).fit(TEXTS[:n], LABELS[:n])
    parts = in_chunks(TextClassifier(name, **fixed), TEXTS[:n], LABELS[:n], size)
    np.testing.assert_array_equal(parts.decision_function(OTHERS), whole.decision_function(OTHERS))
    weighted = TextClassifier(name, **fixed).partial_fit(TEXTS, LABELS, sample_weight=np.full(400, 2.0))
    twice = in_chunks(TextClassifier(name, **fixed), TEXTS * 2, LABELS * 2, 100)
    np.testing.assert_allclose(weighted.decision_function(OTHERS), twice.decision_function(OTHERS), rtol=1e-6)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("name", ABLE)
def test_chunks_learn_what_a_fit_learns(name, class_weight):
    weight = None if name in ("nb", "bernoulli") else class_weight
    clf = in_chunks(TextClassifier(name, features="words:1", class_weight=weight), TEXTS, LABELS, 50)
    assert clf.evaluate(OTHERS, TRUTH).micro_f1 > 0.95
    assert clf.artefact.multilabel
    assert clf.progressive_.rows == 400
    assert clf.progressive_.chunks[-1][1] > clf.progressive_.chunks[0][1]


@pytest.mark.parametrize("name", ABLE)
def test_a_fitted_model_goes_on(name, tmp_path):
    TextClassifier(name, features="words:1").fit(TEXTS[:200], LABELS[:200]).save(tmp_path / "m.linnet")
    clf = load(tmp_path / "m.linnet")
    before, cuts = clf.decision_function(OTHERS), clf.artefact.decision.thresholds
    in_chunks(clf, TEXTS[200:], LABELS[200:], 50)
    assert not np.array_equal(clf.decision_function(OTHERS), before)
    np.testing.assert_array_equal(clf.artefact.decision.thresholds, cuts)
    assert clf.evaluate(OTHERS, TRUTH).micro_f1 > 0.97
    assert clf.progressive_.accuracy > 0.9
    clf.partial_fit(["zebra stripes zebra"] * 8, [("zoo",)] * 4 + [("zoo", LABELS[0][0])] * 4)
    assert "zoo" in clf.classes_.tolist()
    new = clf.classes_.tolist().index("zoo")
    assert clf.artefact.decision.thresholds[new] == np.median(cuts)
    np.testing.assert_array_equal(np.delete(clf.artefact.decision.thresholds, new), cuts)
    assert clf.decision_function(["zebra zebra"])[0, new] > clf.decision_function(OTHERS)[:, new].max()
    clf.save(tmp_path / "n.linnet")
    again = load(tmp_path / "n.linnet")
    np.testing.assert_array_equal(again.decision_function(OTHERS), clf.decision_function(OTHERS))
    again.partial_fit(OTHERS, TRUTH)  # and once more from the file
    assert again.evaluate(OTHERS, TRUTH).micro_f1 > 0.97


def test_one_label_and_several_do_not_mix():
    clf = TextClassifier("nb", features="words:1").partial_fit(["good", "bad"], ["pos", "neg"])
    with pytest.raises(DataError, match="a row has several labels, and those before had one each"):
        clf.partial_fit(["good"], [("pos", "neg")])
    several = TextClassifier("nb", features="words:1").partial_fit(["good", "bad"], [("pos",), ("pos", "neg")])
    assert several.partial_fit(["fine"], ["pos"]).progressive_.rows == 3
    table = TextClassifier("nb", features="words:1").partial_fit(["good", "bad"], np.array([[1, 0], [1, 1]]))
    assert table.predict(["good"]).shape == (1, 2)


def write(path, texts, labels):
    path.write_text("".join(json.dumps({"text": t, "label": y}) + "\n" for t, y in zip(texts, labels, strict=True)))
    return path


def test_versions_are_compared(tmp_path):
    old = TextClassifier("svm", features="words:1").fit(TEXTS[:12], LABELS[:12])
    new, found = update(old, read(write(tmp_path / "new.jsonl", TEXTS[12:], LABELS[12:]), labelled=True))
    assert found.new_accuracy > found.old_accuracy
    assert found.verdict == "better"
    assert new.card["update"]["rows"] + found.n == 388
    assert new.artefact.multilabel


def test_the_command(tmp_path):
    data, more = (
        write(tmp_path / "a.jsonl", TEXTS[:50], LABELS[:50]),
        write(tmp_path / "b.jsonl", TEXTS[50:], LABELS[50:]),
    )
    model = str(tmp_path / "m.linnet")
    done = CliRunner().invoke(command, ["train", str(data), "--features", "words:1", "--out", model, "--quiet"])
    assert done.exit_code == 0, done.output
    first = (tmp_path / "m.linnet").read_bytes()
    done = CliRunner().invoke(
        command, ["update", model, str(more), "--test", str(write(tmp_path / "c.jsonl", OTHERS, TRUTH))]
    )
    assert done.exit_code == 0, done.output
    assert "learned from 350 more rows" in done.output
    assert load(model).card["update"]["held_out"] == 200
    assert CliRunner().invoke(command, ["update", model, "--undo"]).exit_code == 0
    assert (tmp_path / "m.linnet").read_bytes() == first
