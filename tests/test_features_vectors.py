"""Word vectors: the files they come in, and that a folded model scores as the vectors would."""

import json
import struct

import numpy as np
import pytest

import linnet
from linnet import TextClassifier
from linnet.errors import LinnetError
from linnet.features.vectors import Vectors, read_vectors

WORDS = ["the", "film", "good", "great", "bad", "awful", "Good", "and/or", "naïve", "plot"]


@pytest.fixture
def matrix():
    rng = np.random.default_rng(0)
    E = rng.normal(size=(len(WORDS), 5)).astype(np.float32)
    E[2:4, 0] += 4  # good and great are alike, and so are bad and awful
    E[4:6, 0] -= 4
    return E


def as_text(E, *, header=False):
    lines = [f"{len(E)} {E.shape[1]}\n"] if header else []
    return "".join([*lines, *(f"{w} {' '.join(map(str, row))}\n" for w, row in zip(WORDS, E.tolist(), strict=True))])


@pytest.fixture
def vectors(tmp_path, matrix):
    path = tmp_path / "vectors.txt"
    path.write_text(as_text(matrix), encoding="utf-8")
    return path


def reviews():
    texts = ["the film good", "the plot good", "good good film", "a bad plot", "bad film", "the bad bad film"] * 4
    return texts, (["pos"] * 3 + ["neg"] * 3) * 4


def test_every_format_gives_the_same_vectors(tmp_path, matrix, vectors):
    plain = read_vectors(str(vectors))
    assert plain.words == ("the", "film", "good", "great", "bad", "awful", "naïve", "plot")  # one token, once each
    files = {}
    files["word2vec"] = tmp_path / "w2v.txt"
    files["word2vec"].write_text(as_text(matrix, header=True), encoding="utf-8")
    files["binary"] = tmp_path / "w2v.bin"
    files["binary"].write_bytes(
        f"{len(WORDS)} 5\n".encode()
        + b"".join(w.encode() + b" " + row.tobytes() + b"\n" for w, row in zip(WORDS, matrix, strict=True))
    )
    header = json.dumps(
        {"E": {"dtype": "F32", "shape": list(matrix.shape), "data_offsets": [0, matrix.nbytes]}}
    ).encode()
    whole = struct.pack("<Q", len(header)) + header + matrix.tobytes()
    files["safetensors"] = tmp_path / "some.safetensors"
    files["safetensors"].write_bytes(whole)
    (tmp_path / "some.words.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    folder = tmp_path / "tokenised"
    folder.mkdir()
    files["tokenizer.json"] = folder / "model.safetensors"
    files["tokenizer.json"].write_bytes(whole)
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {"Ġ" + w: k for k, w in enumerate(WORDS)}}}))
    for name, path in files.items():
        found = read_vectors(str(path))
        assert found.words == plain.words, name
        assert np.array_equal(found.fingerprints, plain.fingerprints)
        np.testing.assert_allclose(found.E, plain.E, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", b"good 1 2 3\nbad 1 2\n", "line 2: expected a word and 3 numbers"),
        ("a.txt", b"good 1 2\nbad 1 x\n", "line 2"),
        ("a.txt", b"", "do not go together"),
        ("a.txt", b"good nan 1\n", "the vector of 'good' is not finite"),
        ("a.txt", b"good\n", "expected a word and some numbers"),
        ("a.bin", b"3 5\ngood \x00\x00", "is cut off"),
        ("a.safetensors", b"\xff" * 40, "not a safetensors file"),
        ("a.safetensors", struct.pack("<Q", 2) + b"{}", "not a safetensors file"),
        ("a.txt", b"a,b 1 2\n", "none of its 1 words"),
    ],
)
def test_a_wrong_file_is_one_clear_line(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_bytes(content)
    texts, labels = reviews()
    with pytest.raises(LinnetError, match=said):
        TextClassifier(vectors=path).fit(texts, labels)


def test_a_folded_model_scores_as_the_vectors_would(vectors, monkeypatch):
    texts, labels = reviews()
    asked = ["a great film", "awful", "nothing known", "", "the awful plot was not great, it was awful"]
    for tf in ("presence", "sublinear", "count"):
        settings = {"features": "words:1", "vectors": str(vectors), "tf": tf, "params": {"C": 1.0}, "ratio": 0.5}
        folded = TextClassifier(**settings).fit(texts, labels)
        with monkeypatch.context() as patched:
            patched.setattr(Vectors, "folded", lambda self, W: None)
            patched.setattr(Vectors, "to_dict", lambda self: {"block": "vectors"})
            plain = TextClassifier(**settings).fit(texts, labels)
            assert plain.model_.computed
            expected = plain.decision_function(asked)
        assert not folded.model_.computed
        np.testing.assert_allclose(folded.decision_function(asked), expected, atol=1e-5)


def test_words_that_no_row_has_are_known_and_parts_add_up(vectors, tmp_path):
    texts, labels = reviews()
    clf = TextClassifier(vectors=str(vectors)).fit(texts, labels)
    assert clf.predict(["great", "awful"]).tolist() == ["pos", "neg"]
    plain = TextClassifier(features="words:1").fit(texts, labels)
    assert plain.predict_proba(["great", "awful"])[0].tolist() == plain.predict_proba(["great", "awful"])[1].tolist()
    clf.save(tmp_path / "m.linnet")
    vectors.unlink()  # the model needs them no more
    again = linnet.load(tmp_path / "m.linnet")
    text = "a great film with an awful plot"
    assert again.predict_proba([text]).tolist() == clf.predict_proba([text]).tolist()
    found = again.explain(text)
    assert sum(part.value for part in found.contributions) + found.bias == pytest.approx(found.score, abs=1e-5)


def test_vectors_are_left_where_they_do_not_help(vectors):
    rng = np.random.default_rng(0)
    texts = [f"{'x' if k % 2 else 'y'}{rng.integers(3)} the film" for k in range(200)]
    clf = TextClassifier(vectors=str(vectors)).fit(texts, [k % 2 for k in range(200)])
    tried = {t["features"] for t in clf.card["choice"]["tried"]}
    assert any("vectors" in f for f in tried)
    assert any("vectors" not in f for f in tried)


def test_a_stream_learns_the_same_model(vectors, tmp_path):
    from click.testing import CliRunner

    from linnet.cli import linnet as command

    texts, labels = reviews()
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "".join(f"{x},{y}\n" for x, y in zip(texts, labels, strict=True)))
    scores = []
    for name, flags in (("memory", ["--hold-out-test"]), ("stream", ["--max-memory", "1GB"])):
        out = tmp_path / f"{name}.linnet"
        arguments = [
            "train",
            str(path),
            "--out",
            str(out),
            "--features",
            "words:1-2",
            "--vectors",
            str(vectors),
            "--quiet",
        ]
        done = CliRunner().invoke(command, [*arguments, *flags])
        assert done.exit_code == 0, done.output
        scores.append(linnet.load(out).decision_function(["a great film", "awful", "the plot"]))
    assert np.array_equal(*scores)


def test_what_cannot_go_with_vectors_is_said(vectors):
    texts, labels = reviews()
    with pytest.raises(LinnetError, match="do not go with hash_bits"):
        TextClassifier(vectors=str(vectors), hash_bits=12).fit(texts, labels)
    with pytest.raises(LinnetError, match="no file of word vectors"):
        TextClassifier(vectors="missing.txt").fit(texts, labels)
    with pytest.raises(LinnetError, match="naive Bayes"):
        TextClassifier("nb", vectors=str(vectors)).fit(texts, labels)
    clf = TextClassifier(vectors=str(vectors)).fit(texts, labels)
    with pytest.raises(LinnetError, match="word vectors"):
        clf.partial_fit(["good"], ["pos"])
