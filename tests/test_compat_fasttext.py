"""The calls of fastText: the same shapes and meanings as its own, on models of either program."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linnet
from linnet.compat import fasttext
from test_export import SENTENCES, scripts


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("lines") / "train.txt"
    texts, labels = scripts(20)
    rows = [f"__label__{c} {' '.join(t.split())}" for t, c in zip(texts, labels, strict=True)]
    path.write_bytes("\r\n".join([*rows, "no label", "__label__en"]).encode())
    return path


@pytest.fixture(scope="module")
def model(path):
    return fasttext.train_supervised(path, wordNgrams=2, minn=2, maxn=3, epoch=25, lr=0.5, dim=10, bucket=1000)


def test_predict(model):
    labels, values = model.predict(SENTENCES["ru"])
    assert labels == ("__label__ru",)
    assert values.shape == (1,)
    labels, values = model.predict(SENTENCES["ru"] + "\nмой дядя", k=-1)
    assert len(labels) == len(values) == 10
    assert np.all(np.diff(values) <= 0)
    assert values.sum() == pytest.approx(1)
    labels, values = model.predict(list(SENTENCES.values()), k=3, threshold=0.4)
    assert [row[0] for row in labels] == [f"__label__{c}" for c in SENTENCES]
    assert all((v >= 0.4).all() for v in values)
    assert model.predict([]) == ([], [])
    assert model.predict("", threshold=1.1)[0] == ()
    assert sorted(model.get_labels()) == model.labels == sorted(f"__label__{c}" for c in SENTENCES)


def test_test_and_files(model, path, tmp_path):
    n, precision, recall = model.test(path)
    assert n == 200
    assert precision == recall > 0.95
    assert model.test(path, k=2)[1] == pytest.approx(0.5)
    each = model.test_label(path)
    assert each["__label__ja"]["f1score"] > 0.9
    assert math.isnan(model.test(path, threshold=1.1)[1])
    model.save_model(tmp_path / "m.bin")
    assert fasttext.load_model(tmp_path / "m.bin").predict("吾輩は猫")[0] == model.predict("吾輩は猫")[0]


def test_several_labels(tmp_path):
    path = tmp_path / "several.txt"
    path.write_text("__label__a __label__b x y\n__label__a x\n__label__b y\n" * 20)
    model = fasttext.train_supervised(path, loss="ova", autotuneValidationFile=path)
    assert set(model.predict("x y", k=-1, threshold=0.5)[0]) == {"__label__a", "__label__b"}
    assert model.predict("x", k=-1, threshold=0.5)[0] == ("__label__a",)


def test_what_is_refused(model, path, tmp_path):
    for settings, word in (
        ({"autotuneDuration": 60}, "linnet tune"), ({"pretrainedVectors": "v.vec"}, "vectors"), ({"learning": 1}, "unknown"),
        ({"loss": "hinge"}, "softmax"),
    ):  # fmt: skip
        with pytest.raises(linnet.LinnetError, match=word):
            fasttext.train_supervised(path, **settings)
    with pytest.raises(linnet.LinnetError, match="linnet shrink"):
        model.quantize(input=path)
    with pytest.raises(linnet.LinnetError, match="k must be"):
        model.predict("a", k=0)
    (tmp_path / "empty.txt").write_text("text only\n")
    with pytest.raises(linnet.LinnetError, match="no line has a label"):
        fasttext.train_supervised(tmp_path / "empty.txt")


def test_as_fasttext_says(path, tmp_path):
    theirs = pytest.importorskip("fasttext", reason="fasttext-wheel is not installed")
    other = theirs.train_supervised(str(path), dim=10, epoch=20, verbose=0, thread=1, lr=1.0)
    other.save_model(str(tmp_path / "m.bin"))
    model = fasttext.load_model(tmp_path / "m.bin")
    for k, threshold in ((1, 0.0), (2, 0.2), (3, 0.0)):
        mine = model.test(path, k, threshold)
        yours = other.f.test(str(path), k, threshold)
        assert mine == pytest.approx(
            (yours[0] if not hasattr(yours, "nexamples") else yours.nexamples(), *yours[1:]), abs=0.02
        )
    assert sorted(model.get_labels()) == sorted(other.get_labels())
