"""The front door: fit, choose, predict, save, load; and what must not change the result."""

from __future__ import annotations

import hashlib
import pickle

import numpy as np
import pyarrow as pa
import pytest

import linnet
from linnet import TextClassifier
from linnet.datasets import load
from linnet.errors import DataError, LinnetError, ModelFileError
from linnet.models import MODELS

TRAIN, DEV, TEST = load("reviews")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def svm():
    return TextClassifier("svm", features="words:1-2").fit(TRAIN, dev=DEV)


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if hasattr(model, "fit_matrix")])
def test_every_model_learns_saves_and_loads_bit_equal(name, tmp_path):
    clf = TextClassifier(name, features="words:1-2").fit(TRAIN, dev=DEV)
    assert clf.score(TRAIN.text, TRAIN.label.to_pylist()) > 0.9
    assert clf.score(TEST.text, TEST.label.to_pylist()) > 0.55
    path = tmp_path / "m.linnet"
    clf.save(path)
    again = linnet.load(path)
    assert np.array_equal(clf.decision_function(TEST.text), again.decision_function(TEST.text))
    assert again.classes_.tolist() == ["negative", "positive"]
    assert again.card == clf.card
    again.save(tmp_path / "again.linnet")
    assert digest(path) == digest(tmp_path / "again.linnet")


@pytest.mark.parametrize("features", ["words:1-2", "words:1+chars:2-4", "chars:3"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"tf": "count"}, {"tf": "sublinear"}, {"hash_bits": 12}, {"norm": None}, {"norm": "mean"}],
)
def test_prediction_from_bytes_equals_the_trained_matrix(features, settings):
    """The fused scorer and the training rows agree: W and b on the rows that training saw give the same scores."""
    from linnet.features.buffers import text_buffers
    from linnet.features.counting import count_known
    from linnet.features.plan import FeatureWeights
    from linnet.pipeline.crossval import Weighting

    clf = TextClassifier("svm", features=features, params={"C": 1.0}, ratio=0.5, **settings).fit(TRAIN)
    model = clf.artefact
    n_slots = len(model.rows)
    columns = np.arange(n_slots, dtype=np.int32)
    rows = count_known(
        text_buffers(TEST.text),
        model.blocks,
        np.ascontiguousarray(model.slots),
        model.shift,
        columns,
        n_slots,
        counting=True,
    )
    norm = np.ascontiguousarray(model.rows[:, 0])
    plan = clf.plan().features
    expected = Weighting(FeatureWeights(norm, norm[None]), plan, model.blocks).scores(
        rows, np.ascontiguousarray(model.rows[:, 1:]), model.b
    )
    assert np.allclose(expected, model.scores(TEST.text), rtol=1e-5, atol=1e-5)


def test_threads_and_runs_give_identical_files(tmp_path):
    made = []
    for k, threads in enumerate((1, 2, 3, 1)):
        clf = TextClassifier("svm", n_jobs=threads).fit(TRAIN, dev=DEV)
        clf.save(tmp_path / f"{k}.linnet")
        made.append(digest(tmp_path / f"{k}.linnet"))
    assert len(set(made)) == 1


def test_sorted_input_is_as_good_as_shuffled():
    texts, labels = np.array(TRAIN.text.to_pylist(), dtype=object), np.array(TRAIN.label.to_pylist())
    order = np.argsort(labels, kind="stable")
    settings = {"features": "words:1-2", "params": {"C": 0.3}, "ratio": 0.5}
    shuffled = TextClassifier("svm", **settings).fit(texts.tolist(), labels.tolist())
    sorted_ = TextClassifier("svm", **settings).fit(texts[order].tolist(), labels[order].tolist())
    a, b = shuffled.decision_function(TEST.text), sorted_.decision_function(TEST.text)
    clear = np.abs(a) > 0.1  # the others are as near to the line as the tolerance of the solver
    assert clear.mean() >= 0.8
    assert ((a > 0) == (b > 0))[clear].all()
    assert np.corrcoef(a, b)[0, 1] > 0.99


def test_inputs_of_every_kind_are_the_same(svm):
    texts = TEST.text.to_pylist()
    expected = svm.predict(texts)
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for column in (
        pa.array(texts), pa.array(texts, pa.large_string()), pa.array(texts, pa.string_view()),
        pa.chunked_array([texts[:7], texts[7:]]), pa.array(["x", *texts])[1:], np.array(texts, dtype=object),
        pandas.Series(texts), polars.Series(texts), tuple(texts),
    ):  # fmt: skip
        assert np.array_equal(svm.predict(column), expected), type(column)


def test_labels_keep_their_kind():
    texts = ["good", "fine", "bad", "poor"] * 5
    for labels in (
        [1, 1, 0, 0] * 5,
        [True, True, False, False] * 5,
        ["a", "a", "b", "b"] * 5,
        [1.0, 1.0, 2.0, 2.0] * 5,
    ):
        clf = TextClassifier("nb", features="words:1").fit(texts, labels)
        assert clf.predict(["good"])[0] == labels[0]
        assert type(clf.classify("good")) is type(labels[0])


def test_probabilities_and_decisions_agree(svm):
    P = svm.predict_proba(TEST.text)
    assert np.allclose(P.sum(axis=1), 1)
    assert np.array_equal(svm.classes_[P.argmax(axis=1)], svm.predict(TEST.text))


def test_more_than_two_classes_and_label_subsets():
    texts = ["red apple", "red rose", "green leaf", "green grass", "blue sky", "blue sea"] * 4
    labels = ["red", "red", "green", "green", "blue", "blue"] * 4
    clf = TextClassifier("svm", features="words:1").fit(texts, labels)
    assert clf.predict(["red thing", "blue thing"]).tolist() == ["red", "blue"]
    assert clf.predict(["red thing"], labels=["green", "blue"])[0] in ("green", "blue")
    assert clf.classify("green sea", ["green", "blue"]) in ("green", "blue")
    assert clf.label_score("red thing", "red") > clf.label_score("red thing", "blue")
    with pytest.raises(LinnetError, match="did you mean 'green'"):
        clf.predict(["x"], labels=["gren"])


def test_ties_go_to_the_first_class():
    clf = TextClassifier("nb", features="words:1").fit(["a", "b"] * 4, ["x", "y"] * 4)
    assert clf.predict(["unseen words only"])[0] == "x"


def test_weights_of_rows_and_classes():
    texts, labels = TRAIN.text.to_pylist(), TRAIN.label.to_pylist()
    settings = {"features": "words:1", "params": {"C": 0.3}, "ratio": 0.0, "calibrate": False}
    doubled = TextClassifier("svm", **settings).fit(texts + texts[:50], labels + labels[:50])
    weighted = TextClassifier("svm", **settings)
    weighted.fit(texts, labels, sample_weight=np.r_[np.full(50, 2.0), np.ones(len(texts) - 50)])
    assert np.corrcoef(doubled.decision_function(TEST.text), weighted.decision_function(TEST.text))[0, 1] > 0.99
    rare = [t for t, c in zip(texts, labels, strict=True) if c == "negative"][:40]
    many = [t for t, c in zip(texts, labels, strict=True) if c == "positive"][:160]
    y = ["negative"] * 40 + ["positive"] * 160
    plain = TextClassifier("svm", **settings).fit(rare + many, y)
    even = TextClassifier("svm", class_weight="balanced", **settings).fit(rare + many, y)
    recall = [
        np.mean(c.predict(TEST.text)[np.array(TEST.label.to_pylist()) == "negative"] == "negative")
        for c in (plain, even)
    ]
    assert recall[1] > recall[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a", "b"], None), "needs labels"),
        ((["a", "b"], ["x"]), "2 texts but 1 labels"),
        ((["a", "b"], ["x", "x"]), "every row has the label 'x'"),
        (([], []), "no training rows"),
        ((["a", None], ["x", "y"]), "text number 2 is None"),
        ((["a", "b"], ["x", None]), "row 2 has no label"),
        ((["a", "b"], ["x", 1]), "one kind"),
        (("one text", ["x"]), "put it in a list"),
    ],
)
def test_bad_training_data_is_told(arguments, message):
    with pytest.raises(DataError, match=message):
        TextClassifier("nb").fit(*arguments)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "svn"}, "did you mean 'svm'"),
        ({"features": "wrods:1"}, "did you mean 'words'"),
        ({"features": "words:3-1"}, "low <= high"),
        ({"features": "words:1+words:1"}, "given twice"),
        ({"tf": "tfidf"}, "unknown tf"),
        ({"params": {"D": 1}}, "unknown setting 'D'"),
        ({"hash_bits": 99}, "from 8 to 28"),
    ],
)
def test_bad_settings_are_told(settings, message):
    with pytest.raises(LinnetError, match=message):
        TextClassifier(**settings).fit(TRAIN)


def test_not_fitted_and_foreign_files(tmp_path):
    with pytest.raises(LinnetError, match="not fitted"):
        TextClassifier().predict(["x"])
    (tmp_path / "x.linnet").write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(ModelFileError):
        linnet.load(tmp_path / "x.linnet")


def test_altered_tables_are_refused(svm, tmp_path):
    """A file that is well formed but whose tables do not fit together must not reach a kernel."""
    from linnet.model import file as store

    svm.save(tmp_path / "m.linnet")
    stored = store.read(tmp_path / "m.linnet")
    for name, change in (
        ("weights", lambda t: t[: len(t) // 2]),
        ("weights", lambda t: t.astype(np.int16)),
        ("weights", lambda t: np.full_like(t, np.inf)),
        ("norm", lambda t: t[1:]),
        ("fingerprints", lambda t: np.zeros_like(t)),
        ("fingerprints", lambda t: np.full((9, t.shape[1]), 1, np.uint8)),
        ("b", lambda t: np.zeros(3)),
        ("name_sizes", lambda t: t[:-1]),
        ("name_features", lambda t: t + np.uint32(1 << 30)),
    ):
        tensors = {**stored.tensors, name: change(stored.tensors[name])}
        store.write(tmp_path / "bad.linnet", tensors, stored.card)
        with pytest.raises(ModelFileError, match="train it again"):
            linnet.load(tmp_path / "bad.linnet")


def test_interrupt_keeps_the_best_so_far():
    seen = []

    def stop(event):
        seen.append(event.kind)
        if event.kind == "candidate" and seen.count("candidate") == 3:
            raise KeyboardInterrupt

    clf = TextClassifier("svm", features="words:1").fit(TRAIN, on_event=stop)
    assert seen.count("candidate") == 3
    assert len(clf.card["choice"]["tried"]) == 3
    assert clf.score(TEST.text, TEST.label.to_pylist()) > 0.5


def test_history_holds_candidates_and_passes(svm):
    kinds = {h["kind"] for h in svm.history_}
    assert kinds == {"candidate", "pass"}
    losses = [h["loss"] for h in svm.history_ if h["kind"] == "pass"]
    assert losses[-1] < losses[0]


def test_odd_texts_have_answers(svm):
    odd = ["", " ", "\x00", "\ud800", "😀" * 1000, "a" * 1_000_000, "word " * 100_000, "ﬃ ẞ İ Σ", "ไทย 中文 日本語"]
    P = svm.predict_proba(odd)
    assert P.shape == (len(odd), 2)
    assert np.isfinite(P).all()
    assert np.allclose(svm.decision_function(["", " "]), svm.artefact.b[0])


def test_clone_params_and_reprs(svm):
    sklearn_base = pytest.importorskip("sklearn.base")
    copy = sklearn_base.clone(TextClassifier("nb", features="words:1", random_state=3))
    assert copy.get_params()["random_state"] == 3
    assert repr(copy) == "TextClassifier(model='nb', features='words:1', random_state=3)"
    html = svm._repr_html_()
    assert "words:1-2" in html
    assert "<script" not in html


def test_cross_validation_by_scikit_learn():
    model_selection = pytest.importorskip("sklearn.model_selection")
    clf = TextClassifier("nb", features="words:1", params={"alpha": 1.0})
    scores = model_selection.cross_val_score(
        clf, np.array(TRAIN.text.to_pylist(), object), TRAIN.label.to_pylist(), cv=3
    )
    assert len(scores) == 3
    assert min(scores) > 0.5


def test_pickle_keeps_the_model(svm):
    again = pickle.loads(pickle.dumps(svm))
    assert np.array_equal(again.decision_function(TEST.text), svm.decision_function(TEST.text))


def test_pruning_follows_the_rules_of_the_vectorizer():
    texts = ["a b", "a c", "a d", "a b"] * 5
    labels = ["x", "y", "y", "x"] * 5
    settings = {"features": "words:1", "params": {"alpha": 1.0}}
    assert TextClassifier("nb", **settings).fit(texts, labels).artefact.n_features == 4
    assert TextClassifier("nb", max_df=0.9, **settings).fit(texts, labels).artefact.n_features == 3
    assert TextClassifier("nb", min_df=6, **settings).fit(texts, labels).artefact.n_features == 2
    assert TextClassifier("nb", max_features=2, **settings).fit(texts, labels).artefact.n_features == 2
    with pytest.raises(DataError, match="no feature is left"):
        TextClassifier("nb", min_df=11, max_df=0.9, **settings).fit(texts, labels)
