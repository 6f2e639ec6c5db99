"""Imported fastText models answer as fastText does: models trained by fastText here, and files that are no models."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest

import linnet
from linnet.importing import import_model
from linnet.importing.fasttext import _tree
from test_export import SENTENCES, random_texts, scripts

fasttext = pytest.importorskip("fasttext", reason="fasttext-wheel is not installed")
fasttext.FastText.eprint = lambda *a: None
DATA = Path(os.environ.get("LINNET_DATA", "/nonexistent"))

KINDS = {
    "softmax": {"loss": "softmax"},
    "softmax, word n-grams": {"loss": "softmax", "wordNgrams": 3, "bucket": 5000},
    "softmax, subwords": {"loss": "softmax", "minn": 2, "maxn": 4, "bucket": 2000, "wordNgrams": 2},
    "softmax, few dimensions": {"loss": "softmax", "dim": 4, "minn": 1, "maxn": 3, "bucket": 300},
    "one against all": {"loss": "ova", "wordNgrams": 2, "bucket": 1000, "epoch": 30},
    "one against all, few dimensions": {"loss": "ova", "dim": 3, "epoch": 30},
    "tree": {"loss": "hs", "minn": 3, "maxn": 6, "bucket": 1000},
    "tree, few dimensions": {"loss": "hs", "dim": 5, "wordNgrams": 2, "bucket": 500},
}


def trained(folder, texts, labels, **settings):
    path = folder / "train.txt"
    lines = (f"__label__{c} {' '.join(t.split())}\n" for t, c in zip(texts, labels, strict=True))
    path.write_text("".join(lines), encoding="utf-8")
    return fasttext.train_supervised(str(path), **{"epoch": 15, "dim": 20, "thread": 1, "verbose": 0, **settings})


def probabilities(theirs, texts, classes):
    """What fastText says, without the 1e-5 that it adds to every probability."""
    column = {f"__label__{c}": k for k, c in enumerate(classes)}
    out = np.zeros((len(texts), len(classes)))
    for row, text in zip(out, texts, strict=True):
        for p, label in theirs.f.predict(text + "\n", len(classes), 0.0, "strict"):  # NumPy 2 breaks model.predict
            row[column[label]] = p
    return out


def same(mine, theirs, texts, loss):
    wanted = probabilities(theirs, texts, mine.artefact.classes) - 1e-5
    found = mine.predict_proba(texts)
    if loss == "ova":  # the table of the sigmoid has steps; next to one, 32-bit sums may fall on the other side
        scores = mine.artefact.scores(texts) * 32
        near = np.abs(scores - np.round(scores)) < 1e-3
        assert near.mean() < 0.1
        assert np.abs(found - wanted)[~near].max() < 1e-5
        assert np.abs(found - wanted).max() < 0.01
        return
    depth = _tree([1] * len(mine.artefact.classes)).shape[1] + 6 if loss == "hs" else 1  # 1e-5 is added at every node
    assert np.abs(found - wanted).max() < 1e-5 * depth
    ordered = np.sort(wanted, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 2e-5 * depth
    assert clear.any()
    assert np.array_equal(found.argmax(axis=1)[clear], wanted.argmax(axis=1)[clear])


def lines(texts):
    return [" ".join(t.replace("\0", " ").split("\n")) for t in texts]


TEXTS = lines([*SENTENCES.values(), "", " ", "__label__en a __label__x b", "a </s> b", *random_texts(300)])


@pytest.mark.parametrize("name", list(KINDS))
@pytest.mark.parametrize("n_labels", [2, 10])
def test_answers_as_fasttext(name, n_labels, tmp_path):
    texts, labels = scripts(30)
    few = list(SENTENCES)[:n_labels]
    some = [(t, c) for t, c in zip(texts, labels, strict=True) if c in few]
    theirs = trained(tmp_path, *zip(*some, strict=True), **KINDS[name])
    theirs.save_model(str(tmp_path / "m.bin"))
    mine = linnet.load(tmp_path / "m.bin")
    assert sorted(mine.artefact.classes) == sorted(few)
    same(mine, theirs, TEXTS, KINDS[name]["loss"])
    mine.save(tmp_path / "m.linnet")
    again = linnet.load(tmp_path / "m.linnet")
    assert np.array_equal(again.predict_proba(TEXTS), mine.predict_proba(TEXTS))
    found = again.explain(SENTENCES["en"])
    assert found.bias + sum(c.value for c in found.contributions) == pytest.approx(found.score)


@pytest.mark.parametrize("settings", [{}, {"qnorm": True}, {"cutoff": 300}, {"cutoff": 260, "qnorm": True, "dsub": 3}])
def test_quantised(settings, tmp_path):
    texts, labels = scripts(30)
    theirs = trained(tmp_path, texts, labels, wordNgrams=2, bucket=600, minn=2, maxn=3)
    theirs.quantize(input=str(tmp_path / "train.txt"), retrain=False, **settings)
    theirs.save_model(str(tmp_path / "m.ftz"))
    same(linnet.load(tmp_path / "m.ftz"), theirs, TEXTS, "softmax")


def test_many_labels_and_quantised_outputs(tmp_path):
    labels = [f"c{k}" for k in range(300)] * 3
    theirs = trained(tmp_path, [f"word{c} other" for c in labels], labels, lr=1.0, bucket=400, minn=2, maxn=3)
    theirs.save_model(str(tmp_path / "m.bin"))
    texts = [f"wordc{k} c{k}" for k in range(0, 300, 7)]
    same(linnet.load(tmp_path / "m.bin"), theirs, texts, "softmax")
    theirs.quantize(input=str(tmp_path / "train.txt"), retrain=False, qout=True, qnorm=True)
    theirs.save_model(str(tmp_path / "m.ftz"))
    same(linnet.load(tmp_path / "m.ftz"), theirs, texts, "softmax")


def test_the_command_and_what_is_no_classifier(tmp_path):
    from click.testing import CliRunner

    from linnet.cli import linnet as cli

    theirs = trained(tmp_path, *scripts(10), lr=1.0)
    theirs.save_model(str(tmp_path / "m.bin"))
    done = CliRunner().invoke(
        cli, ["import", str(tmp_path / "m.bin"), "-o", str(tmp_path / "m.linnet")], catch_exceptions=False
    )
    assert done.exit_code == 0
    assert "10 labels" in done.output
    assert linnet.load(tmp_path / "m.linnet").predict([SENTENCES["ru"]])[0] == "ru"
    vectors = fasttext.train_unsupervised(str(tmp_path / "train.txt"), dim=4, minCount=1, bucket=100, verbose=0)
    vectors.save_model(str(tmp_path / "v.bin"))
    with pytest.raises(linnet.ModelFileError, match="word vectors"):
        import_model(tmp_path / "v.bin")
    (tmp_path / "x.bin").write_bytes(b"nothing of the kind")
    with pytest.raises(linnet.ModelFileError, match="not one of"):
        import_model(tmp_path / "x.bin")


def altered(folder, n, seed):
    """Read n altered files: bits, whole numbers and lengths changed, cut, extended; each is read or refused in one line."""
    texts, labels = scripts(5)
    theirs = trained(folder, texts, labels, dim=4, epoch=1, wordNgrams=2, bucket=400, minn=2, maxn=3)
    theirs.save_model(str(folder / "m.bin"))
    plain = (folder / "m.bin").read_bytes()
    theirs.quantize(input=str(folder / "train.txt"), retrain=False, qnorm=True, cutoff=260)
    theirs.save_model(str(folder / "m.ftz"))
    short = (folder / "m.ftz").read_bytes()
    rng = random.Random(seed)
    path = folder / "altered.bin"
    refused = []
    for k in range(n):
        data = bytearray(plain if k % 2 else short)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(4, 120) if rng.random() < 0.6 else rng.randrange(4, len(data))
            if rng.random() < 0.5:
                data[at] = rng.randrange(256)
            else:
                size = rng.choice([4, 8])
                number = rng.choice([0, 1, -1, 2**31 - 1, -(2**31), 2**20, rng.randrange(2**16)])
                data[at : at + size] = number.to_bytes(size, "little", signed=True)
        if rng.random() < 0.3:
            del data[rng.randrange(4, len(data)) :]
        path.write_bytes(data)
        try:
            import_model(path).scores(TEXTS[:5], 1)
        except linnet.LinnetError as error:
            refused.append(str(error))
    assert len(refused) > n // 4
    assert all("\n" not in line and len(line) < 600 for line in refused)


def test_altered_files_are_refused_in_one_line(tmp_path):
    altered(tmp_path, 300, 0)


@pytest.mark.slow
def test_many_altered_files(tmp_path):
    altered(tmp_path, 6000, 1)


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "lid_lingua75" / "all.csv").exists(), reason="LINNET_DATA has no lid_lingua75")
@pytest.mark.parametrize("loss", ["softmax", "hs"])
@pytest.mark.parametrize("name", ["rt_polarity/all.csv", "ag_news/train_subset.csv", "lid_lingua75/all.csv"])
def test_real_texts(name, loss, tmp_path):
    data = linnet.read(DATA / name)
    texts, labels = data.text.to_pylist(), data.label_list()
    theirs = trained(
        tmp_path, texts[::2], labels[::2], loss=loss, epoch=3, wordNgrams=2, minn=2, maxn=4, bucket=200_000
    )
    theirs.save_model(str(tmp_path / "m.bin"))
    same(linnet.load(tmp_path / "m.bin"), theirs, lines(random.Random(0).sample(texts, 2000)), loss)
