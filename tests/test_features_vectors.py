"""Word vectors: the files they come in, and that a folded model scores as the vectors would."""

import json
import pickle
import struct
import subprocess
import sys

import numpy as np
import pytest

import linnet
from generated import TOPICS, topics
from linnet import TextClassifier
from linnet.errors import LinnetError
from linnet.features.blocks import FoldedVectors
from linnet.features.buffers import text_buffers
from linnet.features.counting import count
from linnet.features.vectors import Vectors, _leading, _mutual_information, learn_vectors, read_vectors

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
        ("a.txt", b"", "holds no word vectors"),
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
        model = linnet.load(out)
        assert "vectors" in model.card["settings"]["features"]
        scores.append(model.decision_function(["a great film", "awful", "the plot"]))
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


def test_vectors_learned_from_texts_without_labels():
    more, _ = topics(600, 1)
    texts, labels = topics(4, 2)
    asked, truth = topics(200, 3)
    plain = TextClassifier().fit(texts, labels)
    clf = TextClassifier(unlabelled=more).fit(texts, labels)
    right, before = ((one.predict(asked) == np.array(truth)).mean() for one in (clf, plain))
    assert right > 0.97
    assert right > before
    known = Vectors(learn_vectors(text_buffers(more))).word_vectors
    E = known.E / np.linalg.norm(known.E, axis=1, keepdims=True)
    nearest = known.words[int(np.argsort(-(E @ E[known.words.index("bread")]))[1])]
    assert nearest in TOPICS["food"]
    again = TextClassifier(unlabelled=more).fit(texts, labels)
    assert np.array_equal(again.decision_function(asked), clf.decision_function(asked))


def test_learned_vectors_are_the_leading_eigenvectors():
    rng = np.random.default_rng(0)
    M = np.zeros((30, 30))
    M[:10, :10], M[10:20, 10:20], M[20:, 20:] = 81.0, 9.0, 1.0
    M += 0.001 * (lambda R: R + R.T)(rng.random((30, 30)))
    indptr, indices, values = np.arange(0, 901, 30), np.tile(np.arange(30, dtype=np.int32), 30), M.ravel()
    found = _leading(indptr.astype(np.int64), indices, np.ascontiguousarray(values), 3)
    size, V = np.linalg.eigh(M)
    order = np.argsort(-np.abs(size))[:3]
    np.testing.assert_allclose(found @ found.T, (V[:, order] * size[order]) @ V[:, order].T, atol=1e-3)


def test_mutual_information_is_that_of_a_plain_count():
    texts = ["a b c", "a b", "b c d", "a d", "c d a b"] * 3
    counted = count(text_buffers(texts), (FoldedVectors(),))
    n = counted.rows.n_columns
    indptr, indices, values = _mutual_information(counted.rows, n)
    found = np.zeros((n, n))
    for i in range(n):
        found[i, indices[indptr[i] : indptr[i + 1]]] = values[indptr[i] : indptr[i + 1]]
    B = counted.rows.to_scipy().toarray() > 0
    C = B.T.astype(float) @ B
    np.fill_diagonal(C, 0.0)
    context = C.sum(axis=1) ** 0.75
    with np.errstate(divide="ignore"):
        expected = np.maximum(np.log(C * context.sum() / (C.sum(axis=1)[:, None] * context[None])), 0.0)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_texts_with_nothing_in_common_teach_no_vectors(vectors):
    texts, labels = reviews()
    with pytest.raises(LinnetError, match="too few words in common"):
        TextClassifier(unlabelled=["one", "two"]).fit(texts, labels)
    with pytest.raises(LinnetError, match="leave one of the two out"):
        TextClassifier(unlabelled=["one", "two"], vectors=str(vectors)).fit(texts, labels)


def test_vectors_of_another_language_come_last(vectors):
    german = [f"der Film war {'gut' if k % 2 else 'schlecht'} und lang" for k in range(40)]
    clf = TextClassifier(vectors=str(vectors)).fit(german, [k % 2 for k in range(40)])
    assert "vectors" not in clf.card["settings"]["features"]
    assert Vectors(str(vectors)).known_share(text_buffers(["the film good", "xyz"])) == 0.75


def test_learned_vectors_go_along_to_other_processes():
    more, _ = topics(300, 1)
    block = Vectors(learn_vectors(text_buffers(more)), 2.0, "sublinear")
    code = "import pickle, sys; b = pickle.load(sys.stdin.buffer); print(b, b.tf, len(b.word_vectors.words))"
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(block), capture_output=True, check=True)
    assert done.stdout.decode().split() == [str(block), "sublinear", str(len(block.word_vectors.words))]


def test_tune_joins_vectors_to_every_candidate(vectors):
    texts, labels = reviews()
    found = linnet.tune(texts, labels, vectors=vectors, candidates=3)
    assert all("+vectors:" in row["settings"]["features"] for row in found.to_dict()["leaderboard"])
    assert found.model.predict(["great", "awful"]).tolist() == ["pos", "neg"]  # words that no row has
    with pytest.raises(LinnetError, match="word vectors do not go with nb"):
        linnet.tune(texts, labels, vectors=vectors, models="nb")
