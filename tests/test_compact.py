"""Compact model files: rounded weights, short fingerprints, packed arrays, and what still holds with them."""

from __future__ import annotations

import numpy as np
import pytest

import linnet
from linnet.model import file as store
from linnet.model.coded import CodedTable
from linnet.model.model import Model
from linnet.model.table import FloatTable

CLASSES = ("neg", "pos")


def texts_of(n, classes, seed=0):
    """Long made-up texts: every class has words of its own among many that all have."""
    rng = np.random.default_rng(seed)
    words = np.char.add("w", np.arange(30_000).astype(str))
    own = {c: np.char.add(c, np.arange(200).astype(str)) for c in classes}
    labels = [classes[k] for k in rng.integers(len(classes), size=n)]
    texts = [" ".join([*rng.choice(words, 50).tolist(), *rng.choice(own[c], 4).tolist()]) for c in labels]
    return texts, labels


def fitted(classes=CLASSES, model="nb", **settings):
    return linnet.TextClassifier(model, features="words:1-2", **settings).fit(*texts_of(1200, classes))


@pytest.fixture(scope="module")
def pair():
    """The same rows, compact and in full precision."""
    return fitted(), fitted(full_precision=True)


def test_a_large_model_is_rounded_and_answers_as_before(pair, tmp_path):
    compact, full = pair
    for clf, name in zip(pair, ("c", "f"), strict=True):
        clf.save(tmp_path / name)
    assert (tmp_path / "c").stat().st_size < 0.8 * (tmp_path / "f").stat().st_size
    assert isinstance(full.artefact.table, FloatTable)
    assert full.artefact.table.bits == 64
    stored = compact.card["storage"]
    assert stored["fingerprint_bits"] == compact.artefact.table.bits <= 48
    assert 0 < stored["false_hit_rate"] < 1e-6
    texts, _ = texts_of(400, CLASSES, seed=1)
    a, b = compact.decision_function(texts), full.decision_function(texts)
    assert np.abs(a - b).max() < 0.02 * np.abs(b).std()
    assert np.mean(compact.predict(texts) != full.predict(texts)) <= 0.005


@pytest.mark.parametrize("settings", [{}, {"hash_bits": 17}, {"classes": tuple("abcdefgh"), "model": "svm"}])
def test_a_compact_file_is_the_model_in_memory(settings, tmp_path):
    clf = fitted(**settings)
    assert isinstance(clf.artefact.table, CodedTable)
    texts, _ = texts_of(50, CLASSES, seed=2)
    for name, how in (("m", {}), ("mapped", {"mapped": True})):
        clf.artefact.save(tmp_path / name, **how)
        back = linnet.load(tmp_path / name)
        np.testing.assert_array_equal(back.artefact.scores(texts), clf.artefact.scores(texts))
        assert back.artefact.names() == clf.artefact.names()
        assert back.artefact.n_features == clf.artefact.n_features
    linnet.load(tmp_path / "m").save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_explanations_add_up_and_strange_texts_are_strange(pair):
    clf = pair[0]
    text = texts_of(1, CLASSES, seed=3)[0][0]
    found = clf.explain(text)
    assert found.bias + sum(c.value for c in found.contributions) == pytest.approx(found.score, abs=1e-9)
    known, new = clf.artefact.known_share([text, "nobody wrote that"])
    assert known > new == 0.0


def test_a_compact_model_goes_on_learning(tmp_path):
    clf = fitted(model="perceptron", ratio=0.0, calibrate=False)
    clf.save(tmp_path / "m")
    again = linnet.load(tmp_path / "m")
    before = again.artefact.n_features
    texts, labels = texts_of(50, CLASSES, seed=4)
    again.partial_fit([*texts, "quite another word"], [*labels, "pos"])
    assert again.artefact.table.bits == clf.artefact.table.bits
    assert again.artefact.n_features > before
    assert again.artefact.known_share(["quite another word"]) == 1.0
    assert np.mean(again.predict(texts) == labels) > 0.9
    again.save(tmp_path / "n")
    np.testing.assert_array_equal(linnet.load(tmp_path / "n").decision_function(texts), again.decision_function(texts))


def test_weights_are_multiples_of_a_power_of_two(pair):
    table = pair[0].artefact.table
    assert table.steps[0] == 0.0
    assert (np.frexp(table.steps[1:])[0] == 0.5).all()
    codes = table.rows[:, 1:] / table.steps[1:]
    assert (codes == np.rint(codes)).all()
    assert np.abs(codes).max() <= 32_767


def test_steps_are_as_fine_as_what_tells_classes_apart():
    """Naive Bayes has log probabilities, nearly the same for all classes; steps of their size changed answers."""
    compact, full = (fitted(tuple("abcdefgh"), **more).artefact for more in ({}, {"full_precision": True}))
    W = full.table.rows[full.table.used, 1:]
    apart = np.sqrt(np.square(W - W.mean(axis=1, keepdims=True)).mean(axis=0))
    assert (apart < 0.2 * np.sqrt(np.square(W).mean(axis=0))).all()
    assert (compact.table.steps[1:] <= np.maximum(apart / 64, np.abs(W).max(axis=0) / 16_383)).all()
    texts, _ = texts_of(400, tuple("abcdefgh"), seed=1)
    errors = compact.scores(texts) - full.scores(texts)
    assert np.abs(errors - errors.mean(axis=1, keepdims=True)).max() < 0.02 * np.ptp(full.scores(texts), axis=1).min()


def test_small_models_keep_their_floats():
    small = linnet.TextClassifier("nb", features="words:1").fit(["good", "bad", "so good"], ["pos", "neg", "pos"])
    assert isinstance(small.artefact.table, FloatTable)
    assert "storage" not in small.card


@pytest.mark.parametrize("change", [
    lambda p: p.update(weights=["I16", [3, 1]]),
    lambda p: p.update(weights=["F32", [1 << 40, 1]]),
    lambda p: p.update(weights=["I16", [-1, 1]]),
    lambda p: p.update(weights=["X", [1, 1]]),
    lambda p: p.update(nothing=["I16", [1, 1]]),
    lambda p: p.update(b=["F64", [1]]),
])  # fmt: skip
def test_packed_arrays_that_do_not_fit_are_refused(pair, change, tmp_path):
    import hashlib
    import json

    pair[0].save(tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    packed = json.loads(header["__metadata__"]["packed"])
    change(packed)
    header["__metadata__"] |= {"packed": json.dumps(packed), "checksum": f"sha256:{'0' * 64}"}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    made = len(text).to_bytes(8, "little") + text + data[end:]
    digest = hashlib.sha256(made).hexdigest().encode()
    with pytest.raises(linnet.ModelFileError, match=r"packed arrays|train it again"):
        Model.load(made.replace(b"0" * 64, digest, 1))


def test_weights_that_are_mostly_zero_are_written_as_those_that_are_not(tmp_path):
    clf = fitted(tuple("abcdefgh"), "svm")
    tensors = clf.artefact.table.tensors()
    codes = np.rint(clf.artefact.table.rows[clf.artefact.table.used, 1:] / clf.artefact.table.steps[1:])
    assert np.count_nonzero(codes) == len(tensors["weights"]) < 0.5 * codes.size
    np.testing.assert_array_equal(np.unpackbits(tensors["nonzero"], count=codes.size), codes.ravel() != 0)
    clf.save(tmp_path / "m")
    stored = store.read(tmp_path / "m")
    for cut in ({"weights": tensors["weights"][1:]}, {"nonzero": tensors["nonzero"][1:]}):
        store.write(tmp_path / "n", {**stored.tensors, **cut}, stored.card)
        with pytest.raises(linnet.ModelFileError, match="train it again"):
            Model.load(tmp_path / "n")


def test_arrays_are_packed_and_unpacked(tmp_path):
    arrays = {"a": np.arange(6, dtype=np.int16).reshape(2, 3), "b": np.zeros(0), "c": np.ones(5, np.float32)}
    store.write(tmp_path / "m", arrays, {}, packed=("a", "b"))
    found = store.read(tmp_path / "m").tensors
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


@pytest.mark.parametrize("settings", [{}, {"hash_bits": 17}, {"classes": tuple("abcdefgh"), "model": "svm"}])
def test_shrink_keeps_the_size_and_most_answers(settings, tmp_path):
    clf = fitted(**settings)
    texts, labels = texts_of(300, settings.get("classes", CLASSES), seed=5)
    size = 120_000
    small = clf.shrink(size, texts)
    small.save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_size <= size
    assert np.mean(small.predict(texts) == labels) > np.mean(clf.predict(texts) == labels) - 0.05
    a, b = small.decision_function(texts), clf.decision_function(texts)
    assert np.abs(a).mean() == pytest.approx(np.abs(b).mean(), rel=0.25)
    found = small.explain(texts[0])
    assert found.bias + sum(c.value for c in found.contributions) == pytest.approx(found.score, abs=1e-9)
    back = linnet.load(tmp_path / "m")
    np.testing.assert_array_equal(back.decision_function(texts), a)
    assert small.card["storage"]["shrunk_from"] == clf.artefact.n_features
    assert back.top_features(clf.classes_[0], 3) == small.top_features(clf.classes_[0], 3)


def test_a_model_that_is_small_enough_stays_and_none_is_smaller_than_its_card(pair):
    assert pair[0].shrink("100MB").artefact is pair[0].artefact
    with pytest.raises(linnet.LinnetError, match=r"no model fits into 200 B"):
        pair[0].shrink(200)


def test_the_command_says_what_is_lost(pair, tmp_path):
    import json

    from click.testing import CliRunner

    from linnet.cli import linnet as cli

    pair[0].save(tmp_path / "m.linnet")
    texts, labels = texts_of(100, CLASSES, seed=6)
    rows = ["text,label", *(f"{t},{c}" for t, c in zip(texts, labels, strict=True))]
    (tmp_path / "dev.csv").write_text("\n".join(rows) + "\n")
    words = ["shrink", str(tmp_path / "m.linnet"), "--max-size", "100kB"]
    done = CliRunner().invoke(cli, [*words, "--data", str(tmp_path / "dev.csv")])
    assert done.exit_code == 0, done.output
    assert "accuracy before: " in done.output
    assert "of the answers are others" in done.output
    assert (tmp_path / "m.small.linnet").stat().st_size <= 100_000
    done = CliRunner().invoke(cli, [*words, "--out", str(tmp_path / "n.linnet"), "--json"])
    assert json.loads(done.stdout)["bytes"]["after"] <= 100_000
    done = CliRunner().invoke(cli, [*words, "--out", str(tmp_path / "m.linnet")])
    assert "would be lost" in str(done.exception)  # never over its input
