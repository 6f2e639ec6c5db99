"""Several labels a row, read as a stream, from blocks on disk and on the workers of an engine."""

from __future__ import annotations

import json

import numpy as np
import pytest

from linnet import TextClassifier, read
from linnet.engines import open_engine
from linnet.errors import LinnetError
from linnet.models import MODELS
from linnet.pipeline.cache import Budget
from linnet.pipeline.stream import fit_stream
from test_multilabel import LEARNS, corpus

FEATURES = "words:1"


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    texts, labels = corpus(400, 2)
    for k, rows in enumerate(np.array_split(np.arange(400), 3)):
        lines = [json.dumps({"text": texts[i], "label": list(labels[i])}) for i in rows]
        (folder / f"part-{k}.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "all.txt").write_text(
        "".join(" ".join([*(f"__label__{v}" for v in y), t]) + "\n" for t, y in zip(texts, labels, strict=True))
    )
    (folder / "one.csv").write_text(
        "text,label\n" + "".join(f"{t},{';'.join(y)}\n" for t, y in zip(texts, labels, strict=True))
    )
    return folder


def bytes_of(clf, tmp_path) -> bytes:
    clf.save(tmp_path / "m.linnet")
    return (tmp_path / "m.linnet").read_bytes()


def in_memory(path, name, **settings):
    rows = read(path, labelled=True, multilabel=settings.pop("multilabel", None))
    train, test = rows.split(0, (0.9, 0.1))
    clf = TextClassifier(name, features=FEATURES, **settings).fit(train)
    return clf, clf.evaluate(test)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("name", LEARNS)
def test_the_bytes_of_training_in_memory(shards, tmp_path, name, class_weight):
    one, scores = in_memory(shards / "all.txt", name, class_weight=class_weight)
    two = TextClassifier(name, features=FEATURES, class_weight=class_weight)
    found = fit_stream(two, shards / "all.txt", max_memory="1GB")
    assert bytes_of(one, tmp_path) == bytes_of(two, tmp_path)
    assert found.evaluation.to_dict() == scores.to_dict()


def test_cells_with_a_separator_and_selection(shards, tmp_path):
    settings = {"select": "chi2:20", "ratio": 0.5}
    one, _ = in_memory(shards / "one.csv", "svm", multilabel=";", **settings)
    two = TextClassifier("svm", features=FEATURES, **settings)
    fit_stream(two, shards / "one.csv", max_memory="1GB", multilabel=";")
    assert bytes_of(one, tmp_path) == bytes_of(two, tmp_path)
    three = TextClassifier("nb", features=FEATURES)
    fit_stream(three, shards / "all.txt", max_memory="1GB", multilabel=False)
    assert "joy|love" in three.classes_.tolist()


@pytest.mark.parametrize("name", ["svm", "logistic", "nb", "bernoulli", "nbsvm", "votes"])
def test_rows_in_blocks(shards, monkeypatch, name):
    whole, scores = in_memory(shards / "all.txt", name, class_weight="balanced")
    monkeypatch.setattr(Budget, "whole_entries", lambda self, per_entry: 0)
    monkeypatch.setattr(Budget, "block_entries", lambda self, per_entry: 1_000)
    clf = TextClassifier(name, features=FEATURES, class_weight="balanced")
    found = fit_stream(clf, shards / "all.txt", max_memory="1GB")
    assert found.blocks > 1
    assert found.evaluation.micro_f1 == pytest.approx(scores.micro_f1, abs=0.05)
    texts, _ = corpus(60, 9)
    if MODELS[name].traits.sums == "statistics":
        np.testing.assert_allclose(clf.decision_function(texts), whole.decision_function(texts), rtol=1e-4, atol=1e-4)


def test_models_of_steps_say_that_they_need_memory(shards, monkeypatch):
    monkeypatch.setattr(Budget, "whole_entries", lambda self, per_entry: 0)
    with pytest.raises(LinnetError, match="Perceptron learns several labels a row in memory only"):
        fit_stream(TextClassifier("perceptron", features=FEATURES), shards / "all.txt", max_memory="1GB")
    with pytest.raises(LinnetError, match="feed-forward learns one label a row"):
        fit_stream(TextClassifier("feed-forward", features=FEATURES), shards / "all.txt", max_memory="1GB")


@pytest.mark.parametrize("name", ["svm", "logistic", "nb"])
def test_on_the_workers_of_an_engine(shards, tmp_path, name):
    parts = sorted(shards.glob("*.jsonl"))
    weight = None if name == "nb" else "balanced"  # whole numbers add up exactly
    one, two = (TextClassifier(name, features=FEATURES, class_weight=weight) for _ in range(2))
    alone = fit_stream(one, parts, max_memory="1GB")
    with open_engine("local", workers=1) as engine:
        found = fit_stream(two, parts, max_memory="1GB", engine=engine)
    texts, _ = corpus(60, 9)
    if name == "nb":
        assert bytes_of(one, tmp_path) == bytes_of(two, tmp_path)
    np.testing.assert_allclose(two.predict_proba(texts), one.predict_proba(texts), atol=0.05)
    assert found.evaluation.micro_f1 == pytest.approx(alone.evaluation.micro_f1, abs=0.03)
