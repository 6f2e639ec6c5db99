"""Rows with several labels: reading, training, thresholds, predicting, evaluating, saving, explaining, commands."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_rel
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import linnet
from linnet import TextClassifier
from linnet.cli import linnet as command
from linnet.comparison import compare
from linnet.comparison.run_comparison import ComparedRows
from linnet.data import Dataset, read
from linnet.data.splitting import fold_indices
from linnet.errors import DataError, LinnetError
from linnet.evaluate.evaluation import row_f1
from linnet.features.vectorizer import Vectorizer
from linnet.model.decision import Decision
from linnet.models import MODELS
from linnet.pipeline.fit import best_threshold, choose_thresholds

WORDS = {
    "joy": ["glad", "happy", "fun"],
    "love": ["love", "dear", "kiss"],
    "fear": ["afraid", "scary", "panic"],
    "rare": ["odd"],
}


def corpus(n: int, seed: int = 0) -> tuple[list[str], list[tuple[str, ...]]]:
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        mine = tuple(
            sorted(name for name, p in zip(WORDS, (0.5, 0.4, 0.3, 0.04), strict=True) if rng.random() < p)
        ) or ("joy",)
        words = [str(rng.choice(WORDS[name])) for name in mine] + list(rng.choice(["the", "a", "it", "was", "so"], 4))
        rng.shuffle(words)
        texts.append(" ".join(words))
        labels.append(mine)
    return texts, labels


TEXTS, LABELS = corpus(300)
OTHERS, TRUTH = corpus(100, 1)


@pytest.fixture(scope="module")
def clf():
    return TextClassifier("svm", features="words:1").fit(TEXTS, LABELS)


LEARNS = [name for name, model in MODELS.items() if model.traits.learns and model.traits.multilabel]


@pytest.mark.parametrize("name", LEARNS)
def test_every_model_that_can(name):
    found = TextClassifier(name, features="words:1").fit(TEXTS, LABELS).evaluate(OTHERS, TRUTH)
    assert found.precision_at_1 > (0.5 if name == "votes" else 0.8)
    if name != "votes":
        assert found.micro_f1 > 0.9


def long_and_short(n, seed):
    """Texts of 2 to 60 words, most of which no label has met often: a flat prior ranks them by their length."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        mine = tuple(name for name, p in (("a", 0.05), ("b", 0.05), ("c", 0.9)) if rng.random() < p)
        words = [f"{name}{rng.integers(4)}" for name in mine]
        words += [f"w{k}" for k in np.minimum(rng.zipf(1.4, int(rng.integers(2, 60))), 3000)]
        texts.append(" ".join(words))
        labels.append(mine)
    return texts, labels


@pytest.mark.parametrize("name", ["nb", "bernoulli"])
def test_naive_bayes_ranks_texts_of_any_length_for_a_rare_label(name):
    clf = TextClassifier(name, features="words:1").fit(*long_and_short(1200, 0))
    texts, labels = long_and_short(600, 1)
    rare = ["a" in row for row in labels]
    assert roc_auc_score(rare, clf.decision_function(texts)[:, 0]) > 0.9
    assert clf.evaluate(texts, labels).macro_f1 > 0.6


def test_answers(clf):
    assert clf.predict(["happy dear"]).tolist() == [("joy", "love")]
    assert clf.predict(["the a it"])[0] == ()
    assert clf.predict(["happy dear"], labels=["love", "fear"]).tolist() == [("love",)]
    P = clf.predict_proba(OTHERS)
    assert P.shape == (100, 4)
    assert ((P > 0) & (P < 1)).all()
    assert not np.allclose(P.sum(axis=1), 1.0)
    assert clf.explain("happy dear", "joy").to_dict()["contributions"]
    assert clf.explain("happy dear").label in ("joy", "love")


def test_saved_and_loaded(clf, tmp_path):
    clf.save(tmp_path / "m.linnet")
    again = linnet.load(tmp_path / "m.linnet")
    assert np.array_equal(again.artefact.decision.thresholds, clf.artefact.decision.thresholds)
    assert np.array_equal(again.decision_function(OTHERS), clf.decision_function(OTHERS))
    assert again.predict(OTHERS).tolist() == clf.predict(OTHERS).tolist()
    again.save(tmp_path / "n.linnet")
    assert (tmp_path / "m.linnet").read_bytes() == (tmp_path / "n.linnet").read_bytes()
    other = TextClassifier("svm", features="words:1", n_jobs=1).fit(TEXTS, LABELS)
    other.save(tmp_path / "o.linnet")
    assert (tmp_path / "m.linnet").read_bytes() == (tmp_path / "o.linnet").read_bytes()


def test_the_order_of_rows_and_labels_does_not_matter(clf):
    order = np.random.default_rng(3).permutation(len(TEXTS))
    fixed = {"features": "words:1", "ratio": 0.5, "calibrate": False, "params": {"C": 1.0, "tol": 1e-8}}
    one = TextClassifier("svm", **fixed).fit(TEXTS, LABELS)
    two = TextClassifier("svm", **fixed).fit([TEXTS[k] for k in order], [LABELS[k][::-1] for k in order])
    assert one.classes_.tolist() == two.classes_.tolist()
    W = dict(zip(one.get_feature_names_out(), one.coef_.T, strict=True))
    V = dict(zip(two.get_feature_names_out(), two.coef_.T, strict=True))
    for name in W:
        np.testing.assert_allclose(W[name], V[name], rtol=1e-4, atol=1e-5)


def test_like_one_vs_rest_of_scikit_learn():
    """Without ratio, idf and norm it is scikit-learn's LinearSVC, label by label."""
    ours = TextClassifier(
        "svm", features="words:1", idf=False, norm=None, ratio=0.0, calibrate=False, params={"C": 1.0, "tol": 1e-6}
    ).fit(TEXTS, LABELS)
    X = Vectorizer("words:1", dtype=np.float64).fit(TEXTS)
    Y = np.array([[name in row for name in ours.classes_] for row in LABELS], dtype=int)
    theirs = OneVsRestClassifier(LinearSVC(C=1.0, tol=1e-6, max_iter=100_000)).fit(X.transform(TEXTS), Y)
    np.testing.assert_allclose(ours.decision_function(OTHERS), theirs.decision_function(X.transform(OTHERS)), atol=1e-3)


PLAIN = {"features": "words:1", "idf": False, "norm": None, "ratio": 0.0, "calibrate": False}


@pytest.mark.parametrize("class_weight", ["balanced", {"rare": 5.0, "joy": 0.5}])
def test_class_weights_are_those_of_scikit_learn_label_by_label(class_weight):
    ours = TextClassifier("svm", **PLAIN, class_weight=class_weight, params={"C": 1.0, "tol": 1e-6}).fit(TEXTS, LABELS)
    X = Vectorizer("words:1", dtype=np.float64).fit(TEXTS)
    found = ours.decision_function(OTHERS)
    for k, name in enumerate(ours.classes_):
        y = np.array([name in row for row in LABELS])
        weight = "balanced" if class_weight == "balanced" else {True: class_weight.get(name, 1.0), False: 1.0}
        svc = LinearSVC(C=1.0, tol=1e-6, max_iter=100_000, class_weight=weight).fit(X.transform(TEXTS), y)
        np.testing.assert_allclose(found[:, k], svc.decision_function(X.transform(OTHERS)), atol=1e-3)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("name", LEARNS)
def test_weight_2_is_the_row_twice(name, class_weight):
    """With dev rows, so that the folds are the same."""
    weight = np.random.default_rng(5).integers(1, 4, len(TEXTS))
    twice = np.repeat(np.arange(len(TEXTS)), weight)
    dev = (OTHERS, TRUTH)
    one = TextClassifier(name, features="words:1", class_weight=class_weight, refit=False)
    one.fit(TEXTS, LABELS, dev=dev, sample_weight=weight)
    two = TextClassifier(name, features="words:1", class_weight=class_weight, refit=False)
    two.fit([TEXTS[k] for k in twice], [LABELS[k] for k in twice], dev=dev)
    scale = np.abs(one.decision_function(OTHERS)).max()
    difference = np.abs(one.decision_function(OTHERS) - two.decision_function(OTHERS)).max()
    assert difference <= 2e-3 * scale
    assert one.predict(OTHERS).tolist() == two.predict(OTHERS).tolist()


def test_names_of_labels_do_not_matter():
    """Labels that sort the other way give the same model, its columns the other way round."""
    names = {"joy": "d", "love": "c", "fear": "b", "rare": "a"}
    fixed = {"features": "words:1", "params": {"C": 1.0, "tol": 1e-8}, "ratio": 0.5}
    one = TextClassifier("svm", **fixed).fit(TEXTS, LABELS, dev=(OTHERS, TRUTH))
    renamed = [[tuple(names[label] for label in row) for row in rows] for rows in (LABELS, TRUTH)]
    two = TextClassifier("svm", **fixed).fit(TEXTS, renamed[0], dev=(OTHERS, renamed[1]))
    at = [two.classes_.tolist().index(names[label]) for label in one.classes_]
    np.testing.assert_allclose(
        one.decision_function(OTHERS), two.decision_function(OTHERS)[:, at], rtol=1e-4, atol=1e-4
    )
    rules = one.artefact.decision, two.artefact.decision
    np.testing.assert_allclose(rules[0].thresholds, rules[1].thresholds[at], rtol=1e-4, atol=1e-4)


@settings(max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_any_thresholds_survive_the_file(clf, tmp_path_factory, thresholds):
    path = tmp_path_factory.mktemp("thresholds") / "m.linnet"
    replace(clf.artefact, decision=Decision(np.array(thresholds))).save(path)
    assert linnet.load(path).artefact.decision.thresholds.tobytes() == np.array(thresholds).tobytes()


def test_indicators_in_and_out():
    names = sorted(WORDS)
    Y = np.array([[name in row for name in names] for row in LABELS], dtype=int)
    clf = TextClassifier("svm", features="words:1").fit(TEXTS, Y)
    found = clf.predict(OTHERS)
    assert found.shape == (100, 4)
    assert set(np.unique(found)) <= {0, 1}
    T = np.array([[name in row for name in names] for row in TRUTH], dtype=int)
    assert clf.evaluate(OTHERS, T).micro_f1 == pytest.approx(f1_score(T, found, average="micro"))
    assert clf.score(OTHERS, T) == pytest.approx((found == T).all(axis=1).mean())
    with pytest.raises(DataError, match="indicator matrix of 0 and 1"):
        TextClassifier("svm").fit(TEXTS, Y * 2)


# ---- thresholds


@settings(max_examples=50)
@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_best_threshold_is_best(n, seed):
    rng = np.random.default_rng(seed)
    scores, truth = rng.integers(-3, 4, n).astype(float), rng.random(n) < 0.4
    cut = best_threshold(scores, truth)
    tries = [
        f1_score(truth, scores > t, zero_division=0.0) for t in np.append(np.unique(scores) - 0.5, scores.max() + 1)
    ]
    assert f1_score(truth, scores > cut, zero_division=0.0) == pytest.approx(max(tries))


def test_rare_labels_have_the_common_threshold():
    rng = np.random.default_rng(0)
    truth = rng.random((200, 3)) < (0.3, 0.3, 0.01)
    scores = truth * 2.0 + rng.normal(size=(200, 3))
    found = choose_thresholds(scores, truth)
    assert truth[:, 2].sum() < 5
    assert found[2] == best_threshold(scores.ravel(), truth.ravel())
    assert found[0] == best_threshold(scores[:, 0], truth[:, 0])


# ---- reading


def test_files(tmp_path):
    rows = [("good fun", ["joy", "love"]), ("bad", ["fear"])]
    (tmp_path / "a.txt").write_text("__label__joy __label__love good fun\n__label__fear bad\n")
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": t, "label": y}) + "\n" for t, y in rows))
    (tmp_path / "c.json").write_text(json.dumps([{"text": t, "label": y} for t, y in rows]))
    pq.write_table(pa.table({"text": [t for t, _ in rows], "label": [y for _, y in rows]}), tmp_path / "d.parquet")
    (tmp_path / "e.csv").write_text("text,label\ngood fun,joy; love\nbad,fear\n")
    for name in "abcde":
        path = next(tmp_path.glob(f"{name}.*"))
        data = read(path, multilabel=";" if name == "e" else None)
        assert data.label_sets() == [("joy", "love"), ("fear",)], path
        assert "several labels a row" in data.describe()
        assert data.counts == {"fear": 1, "joy": 1, "love": 1}
        with pytest.raises(DataError, match="rows have several labels"):
            data.label_list()
    assert read(tmp_path / "a.txt", multilabel=False).label_list() == ["joy|love", "fear"]
    assert read(tmp_path / "e.csv").separator is None
    assert Dataset.from_lists(["a", "b"], [["x", "y"], ["x"]]).label_sets() == [("x", "y"), ("x",)]


def test_single_labels_stay_single(tmp_path):
    (tmp_path / "a.txt").write_text("__label__joy good fun\n__label__fear bad\n")
    data = read(tmp_path / "a.txt")
    assert data.separator is None
    assert data.label_list() == ["joy", "fear"]
    assert data.label_sets() == [("joy",), ("fear",)]


def test_parts_have_every_label_in_its_share():
    data = Dataset.from_lists(TEXTS, [list(row) for row in LABELS])
    for part in data.split(seed=1):
        assert set(part.counts) == set(WORDS)
    train, test = data.split(seed=1, fractions=(0.8, 0.2))
    assert abs(test.counts["fear"] / len(test) - train.counts["fear"] / len(train)) < 0.08


# ---- commands


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    for name, (texts, labels) in {"train": (TEXTS, LABELS), "test": (OTHERS, TRUTH)}.items():
        lines = [
            " ".join([*(f"__label__{label}" for label in row), text]) for text, row in zip(texts, labels, strict=True)
        ]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    done = CliRunner().invoke(
        command,
        [
            "train",
            str(folder / "train.txt"),
            "--features",
            "words:1",
            "--out",
            str(folder / "m.linnet"),
            "--hold-out-test",
        ],
    )
    assert done.exit_code == 0, done.output
    assert "test micro F1" in done.stdout
    assert "several labels a row" in done.stderr
    return folder


def run(*words):
    return CliRunner().invoke(command, list(map(str, words)))


def test_evaluate(files):
    done = run("evaluate", files / "m.linnet", files / "test.txt", "--json", "-")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["micro_f1"] > 0.9
    assert found["labels"] == sorted(WORDS)
    text = run("evaluate", files / "m.linnet", files / "test.txt").stdout
    assert "precision at 1" in text
    assert "subset accuracy" in text


def test_predict(files, tmp_path):
    (tmp_path / "in.txt").write_text("happy dear\nthe a it\n")
    assert run("predict", files / "m.linnet", tmp_path / "in.txt").stdout.splitlines() == ["joy|love", ""]
    lines = run("predict", files / "m.linnet", tmp_path / "in.txt", "--to", "jsonl", "--proba").stdout.splitlines()
    assert json.loads(lines[0])["labels"] == ["joy", "love"]
    assert json.loads(lines[1])["labels"] == []
    assert {f"p_{name}" for name in WORDS} <= set(json.loads(lines[1]))
    done = run("predict", files / "m.linnet", tmp_path / "in.txt", "--out", tmp_path / "out.parquet")
    assert done.exit_code == 0, done.output
    assert pq.read_table(tmp_path / "out.parquet")["labels"].to_pylist() == [["joy", "love"], []]


def test_compare(files, tmp_path):
    words = ("compare", files / "train.txt", "--models", "svm,votes", "--features", "words:1", "--folds", "3")
    done = run(*words, "--json", tmp_path / "found.json", "--curve")
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["metric"] == "samples F1"
    assert found["best"] == "svm"
    best, other = found["models"]
    assert best["accuracy"] == pytest.approx(best["samples_f1"])
    assert best["micro_f1"] > 0.9
    assert "paired t-test on the F1 of the labels of the same 300 held-out rows" in " ".join(found["words"])
    assert found["pairs"][0]["difference"] == pytest.approx(best["accuracy"] - other["accuracy"])
    assert "F1 of the rows" in " ".join(found["words"])
    text = run(*words).stdout
    assert "samples F1" in text


def test_compared_as_scikit_learn_does():
    """The mean F1 of the rows, and the paired t-test of scipy on them."""
    found = compare(TEXTS, [list(row) for row in LABELS], models="svm,nb", features="words:1", folds=3)
    rows = ComparedRows.of(Dataset.from_lists(TEXTS, [list(row) for row in LABELS]))
    held = [part for _, part in fold_indices(rows.codes, 0, 3)]
    scores = []
    for name in (found.models[0].name, found.models[1].name):
        answers = []
        for part in held:
            train = np.setdiff1d(np.arange(len(TEXTS)), part)
            clf = TextClassifier(name, features="words:1").fit([TEXTS[k] for k in train], [LABELS[k] for k in train])
            answers.append(clf.artefact.chosen(clf.artefact.scores([TEXTS[k] for k in part])))
        truth = rows.sets[np.concatenate(held)]
        scores.append(row_f1(truth, np.concatenate(answers)))
        expected = f1_score(truth, np.concatenate(answers), average="samples", zero_division=0.0)
        assert scores[-1].mean() == pytest.approx(expected)
    assert found.models[0].accuracy == pytest.approx(scores[0].mean())
    assert found.pairs[0].test.p == pytest.approx(ttest_rel(*scores).pvalue)


def test_report(files, tmp_path):
    done = run("evaluate", files / "m.linnet", files / "test.txt", "--report", tmp_path / "r.html")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "r.html").read_text()
    assert "Scores for each label" in page
    assert "hamming loss" in page
    assert "R-precision" in page
    done = run(
        "train",
        files / "train.txt",
        "--features",
        "words:1",
        "--out",
        tmp_path / "m.linnet",
        "--report",
        tmp_path / "t.html",
    )
    assert done.exit_code == 0, done.output
    assert "Data check" in (tmp_path / "t.html").read_text()


def test_studio(tmp_path):
    """Training, trying and the list of errors; what takes one label a row says so."""
    pytest.importorskip("nicegui")
    from linnet.studio.state import Studio, prediction_html

    rows = zip(TEXTS, LABELS, strict=True)
    (tmp_path / "t.jsonl").write_text("".join(json.dumps({"text": t, "label": list(y)}) + "\n" for t, y in rows))
    studio = Studio(tmp_path / "studio")
    studio.open(str(tmp_path / "t.jsonl"))
    done = studio.train({"model": "nb", "features": "words:1"}, wait=True)
    assert done.status == "done", done.error
    assert done.scores["accuracy"] == pytest.approx(np.mean(done.right))
    assert 'data-label="joy, love"' in prediction_html(studio.model("run-1"), "happy dear")
    n, right = len(done.right), sum(done.right)
    assert (f"{n - right} of {n} rows" if right < n else "no errors") in studio.wrong_sets("run-1", "dev")
    with pytest.raises(DataError, match="fixing labels takes one label a row"):
        studio.fix(0, "joy")
    with pytest.raises(DataError, match="labelling takes one label a row"):
        studio.label_texts(["joy", "love"])


def test_check(tmp_path):
    rows = [(text, list(row)) for text, row in zip(TEXTS, LABELS, strict=True)]
    rows += [
        ("twice the same", ["joy"]),
        ("twice the same", ["joy", "love"]),
        ("again here", ["fear"]),
        ("again here", ["fear"]),
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps({"text": t, "label": y}) + "\n" for t, y in rows))
    done = run("check", tmp_path / "t.jsonl", "--json", "-")
    assert done.exit_code in (0, 1), done.output
    found = {one["check"]: one for one in json.loads(done.stdout)["findings"]}
    assert any(one["text"] == "twice the same" for one in found["conflicts"]["examples"])
    assert not any(one["text"] == "again here" for one in found["conflicts"]["examples"])
    counts = Counter(label for _, y in rows for label in y)
    assert found["imbalance"]["details"]["baseline"] == pytest.approx(max(counts.values()) / len(rows))
    assert "takes one" not in found["loopholes"]["says"] + found["label-errors"]["says"]


def test_loopholes():
    rng = np.random.default_rng(0)
    sets = [tuple(name for name in ("art", "law", "war") if rng.random() < 0.4) or ("art",) for _ in range(400)]
    texts = [" ".join([*rng.choice(list("abcdefgh"), 6), *(["id77x"] if "law" in row else [])]) for row in sets]
    found = linnet.check(linnet.Dataset.from_lists(texts, sets), only=["loopholes"])["loopholes"]
    assert [(one["word"], one["label"], one["purity"]) for one in found.examples] == [("id77x", "law", 1.0)]


def test_label_errors():
    rng = np.random.default_rng(1)
    words = {"art": "paint colour brush", "law": "court judge claim", "war": "tank troop front"}
    sets = [tuple(name for name in words if rng.random() < 0.45) or ("art",) for _ in range(300)]
    texts = [" ".join(rng.choice(" ".join(words[one] for one in row).split(), 8)) for row in sets]
    sets[40], texts[40] = ("art",), "paint brush tank troop front"  # war is missing
    found = linnet.check(linnet.Dataset.from_lists(texts, sets), only=["label-errors"])["label-errors"].examples
    assert (found[0]["row"], found[0]["suggested"]) == (41, "art|war")
    assert set(found[0]["words"]) & {"tank", "troop", "front"}
    for one in found[1:]:  # a label none of whose words is there
        (gone,) = set(one["label"].split("|")) - set(one["suggested"].split("|"))
        assert not set(words[gone].split()) & set(one["text"].split())
    assert len(found) < 10


def test_tune(files, tmp_path):
    words = ("--budget", "9h", "--candidates", "3", "--models", "nb", "--quiet", "--json", "-")
    done = run("tune", files / "train.txt", *words, "--out", tmp_path / "t.linnet")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["metric"] == "micro-f1"
    assert found["test"]["micro_f1"] > 0.5
    assert linnet.load(tmp_path / "t.linnet").artefact.multilabel


def test_streams_give_the_same_file(files, tmp_path):
    words = ("train", files / "train.txt", "--features", "words:1")
    one = run(*words, "--hold-out-test", "--out", tmp_path / "n.linnet")
    assert one.exit_code == 0, one.output
    done = run(*words, "--max-memory", "1GB", "--out", tmp_path / "m.linnet")
    assert done.exit_code == 0, done.output
    assert "several labels a row (split at '|')" in done.stderr
    held = [linnet.load(tmp_path / name) for name in ("m.linnet", "n.linnet")]
    assert np.array_equal(held[0].decision_function(OTHERS), held[1].decision_function(OTHERS))
    assert held[0].predict(OTHERS).tolist() == held[1].predict(OTHERS).tolist()


def test_clear_errors():
    with pytest.raises(LinnetError, match="learns one label a row"):
        TextClassifier("feed-forward").fit(TEXTS, LABELS)
    with pytest.raises(LinnetError, match="which are not labels"):
        TextClassifier("svm", class_weight={"jy": 2.0}).fit(TEXTS, LABELS)
    with pytest.raises(LinnetError, match="two labels or more"):
        TextClassifier("svm").fit(TEXTS, [("a",)] * len(TEXTS))
    with pytest.raises(LinnetError, match="answers one label a row"):
        TextClassifier("lexicon").fit(TEXTS, LABELS)


@pytest.mark.parametrize("separator", ["|", ","])
def test_a_model_knows_how_its_labels_were_joined(tmp_path, separator):
    rows = [f'"{separator.join(mine)}",{text}' for text, mine in zip(TEXTS, LABELS, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["label,text", *rows]))
    model, data = tmp_path / "m.linnet", tmp_path / "rows.csv"
    done = run("train", data, "--multilabel", separator, "--features", "words:1", "--out", model, "--quiet")
    assert done.exit_code == 0, done.output
    found = json.loads(run("evaluate", model, data, "--json", "-").stdout)
    assert found["micro_f1"] > 0.9
    assert not found["unknown_labels"]
    assert run("compare", "--files", model, model, data).exit_code == 0
    assert run("update", model, data).exit_code == 0
    assert linnet.load(model).classes_.tolist() == sorted({label for mine in LABELS for label in mine})


def test_joined_labels_are_said(tmp_path):
    rows = [f"{'|'.join(mine)},{text}" for text, mine in zip(TEXTS, LABELS, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["label,text", *rows]))
    assert "--multilabel '|' takes them apart" in read(tmp_path / "rows.csv").describe()
    assert "--multilabel" not in Dataset.from_lists(["a b", "c", "d"], ["Law, Crime", "Sport", "War"]).describe()
