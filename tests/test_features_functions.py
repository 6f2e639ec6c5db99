"""Feature functions: computed columns beside the counted ones, in training, prediction, explanation and the model file."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import linnet
from linnet import TextClassifier
from linnet.datasets import load
from linnet.errors import DataError, LinnetError, ModelFileError
from linnet.features import Chars, Functions, Vectorizer, Words
from linnet.features.blocks import as_blocks, compute, describe, parse, split
from linnet.features.buffers import text_buffers
from linnet.features.functions import find, import_path, joint, word_count
from linnet.model import file as store
from linnet.text import CASES, TOKENS, tokenize, words_of

TRAIN, DEV, TEST = load("reviews")
TRAIN_Y, TEST_Y = TRAIN.label.to_pylist(), TEST.label.to_pylist()


def ends_in_s(tokens):
    return any(t.endswith("s") for t in tokens)


def exclaims(tokens):
    return sum(t.startswith("!") for t in tokens)


def thousandfold(tokens):
    return 1000.0 * len(tokens)


def below_zero(tokens):
    return -len(tokens)


def shouts(tokens):
    return sum(t.isupper() and len(t) > 1 for t in tokens)


def mutates(tokens):
    tokens.clear()
    return np.float32(1.5)


class Named:
    @staticmethod
    def constant(tokens):
        return np.int64(1)


HERE = __name__
BOTH = Words(1, 1) + Functions(ends_in_s, exclaims)


# ---- blocks


def test_blocks_add_up_and_are_written_and_read():
    assert (Words(1, 1), Functions(ends_in_s, exclaims)) == BOTH
    assert Functions(word_count) + Words(1, 2) == (Functions(word_count), Words(1, 2))
    assert (Words(1, 1) + Chars(2, 3)) + Functions(word_count) == (Words(1, 1), Chars(2, 3), Functions(word_count))
    assert "words:1" + Functions(word_count) == (Words(1, 1), Functions(word_count))
    text = f"words:1+functions:{HERE}.ends_in_s,{HERE}.exclaims"
    assert describe(BOTH) == text
    assert parse(text) == BOTH
    odd = Functions(shouts, weight=0.5, tokens="whitespace", case="keep")
    assert str(odd) == f"functions:{HERE}.shouts:whitespace:keep*0.5"
    assert as_blocks(str(odd)) == (odd,)
    assert repr(odd) == "Functions(weight=0.5, tokens='whitespace', case='keep')"
    assert Functions(f"{HERE}.Named.constant").functions == (Named.constant,)
    assert split(BOTH) == ((Words(1, 1),), (Functions(ends_in_s, exclaims),))
    with pytest.raises(LinnetError, match="given twice"):
        as_blocks((*BOTH, Functions(ends_in_s, exclaims)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Functions(), "at least one function"),
        (lambda: Functions(3), "functions of a list of tokens, got 3"),
        (lambda: Functions(ends_in_s, ends_in_s), "the same name"),
        (lambda: Functions(ends_in_s, weight=0), "weight of a block must be above 0, got 0"),
        (lambda: Functions(ends_in_s, case="folded"), r"unknown case 'folded'.*did you mean 'fold'"),
        (lambda: Functions(ends_in_s, tokens="word"), r"unknown tokens 'word'.*did you mean 'words'"),
        (lambda: parse("functions"), "cannot read the feature block 'functions'"),
        (lambda: parse("functions:ends_in_s"), "cannot be imported .*write module.name"),
        (lambda: parse(f"functions:{HERE}.ends_in_s:flod"), "unknown setting 'flod'"),
        (lambda: parse("function:x.y"), "cannot read|unknown feature block"),
        (lambda: joint([1, 2], "x", ["a", "b"]), "unknown label 'x'"),
        (lambda: joint([1, 2], "a", ["a", "a"]), "twice"),
        (lambda: joint([[1, 2]], "a", ["a", "b"]), "one row of numbers"),
    ],
)
def test_blocks_that_cannot_be(make, message):
    with pytest.raises(LinnetError, match=message):
        make()


def test_values():
    block = Functions(word_count, ends_in_s, exclaims, mutates, Named.constant)
    assert block.columns == ("word_count", "ends_in_s", "exclaims", "mutates", "constant")
    expected = [[4, 1, 1, 1.5, 1], [0, 0, 0, 1.5, 1]]
    assert block.values(["It ROCKS so!", ""]).tolist() == expected
    assert Functions(shouts).vector("GO AWAY now").tolist() == [0]  # folded
    assert Functions(shouts, case="keep").vector("GO AWAY now").tolist() == [2]
    pieces = [*text_buffers(["a b", "c"]), *text_buffers(["it rocks"])]
    found = compute((Functions(word_count), Functions(ends_in_s)), pieces)
    assert found.tolist() == [[2, 0], [1, 0], [2, 1]]
    assert found.dtype == np.float32


@given(st.lists(st.text(), max_size=4), st.sampled_from(list(TOKENS)), st.sampled_from(list(CASES)))
@example(["\ufeff", "ΟΔΟΣ İx", "\ud800", "ﬁne STRASSE ß"], "words", "lower")
def test_functions_get_the_tokens_of_the_tokeniser(texts, tokens, case):
    wanted = [[t.text for t in tokenize(text, tokens, case)] for text in texts]
    assert list(words_of(texts, tokens, case)) == wanted


def gives_text(tokens):
    return "many"


def gives_nan(tokens):
    return float("nan") if len(tokens) == 1 else 0.0


def gives_too_much(tokens):
    return 1e300


def divides(tokens):
    return 1 / len(tokens)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (gives_text, rf"{HERE}.gives_text returned 'many' for text number 1 \('a b'\); it must return a number"),
        (gives_nan, "gives_nan of text number 2 is nan"),
        (gives_too_much, "gives_too_much of text number 1 is inf, or too large"),
        (divides, rf"{HERE}.divides failed on text number 3 \(''\) with ZeroDivisionError.*also for an empty one"),
    ],
)
def test_functions_that_fail_say_where(f, message):
    with pytest.raises(DataError, match=message):
        TextClassifier("svm", features=Functions(f)).fit(["a b", "c", "", "d e"], ["x", "y", "x", "y"])


# ---- learning


def scaled(texts, *functions):
    values = compute((Functions(*functions),), text_buffers(texts)).astype(np.float64)
    return values, np.sqrt((values**2).mean(axis=0))


@pytest.mark.parametrize("counted", [False, True])
def test_the_solution_is_scikit_learns(counted):
    """Logistic regression on counted and scaled computed columns is the same optimum, and weights apply to raw values."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.linear_model import LogisticRegression

    functions = (word_count, ends_in_s, exclaims)
    block = Functions(*functions, weight=2.0)
    clf = TextClassifier(
        "logistic", features=Words(1, 1) + block if counted else block, idf=False, norm=None, ratio=0.0,
        params={"C": 0.7, "tol": 1e-9}, calibrate=False,
    ).fit(TRAIN)  # fmt: skip
    values, size = scaled(TRAIN.text, *functions)
    X = csr_matrix(2.0 * values / size)
    v = Vectorizer("words:1")
    if counted:
        X = hstack([v.fit_transform(TRAIN.text), X]).tocsr()
    theirs = LogisticRegression(C=0.7, tol=1e-10, max_iter=10_000).fit(X, TRAIN_Y)
    w = clf.named_weights()["positive"]
    np.testing.assert_allclose(
        [w[f.__name__] for f in functions], theirs.coef_[0, -3:] * 2.0 / size, rtol=2e-3, atol=1e-5
    )
    new, _ = scaled(TEST.text, *functions)
    new_X = csr_matrix(2.0 * new / size)
    if counted:
        new_X = hstack([v.transform(TEST.text), new_X]).tocsr()
    np.testing.assert_allclose(clf.decision_function(TEST.text), theirs.decision_function(new_X), atol=2e-3)


@pytest.mark.parametrize("model", ["svm", "logistic", "nb"])
@pytest.mark.parametrize("settings", [{}, {"hash_bits": 10}, {"tf": "count"}, {"ratio": 0.5}, {"norm": None}])
def test_computed_columns_are_learned_in_every_mode(model, settings):
    """A function that tells the classes apart decides, whatever stands beside it; and held-out rows say so."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["a", "b", "c", "d"], 6)) + (" yes!" if k % 3 == 0 else "") for k in range(120)]
    labels = ["loud" if k % 3 == 0 else "calm" for k in range(120)]
    plain = TextClassifier(model, features="words:2", **settings).fit([t.replace(" yes!", "") for t in texts], labels)
    clf = TextClassifier(model, features=Words(2, 2) + Functions(exclaims), **settings).fit(texts, labels)
    assert clf.card["choice"]["accuracy"] > plain.card["choice"]["accuracy"]
    assert clf.card["choice"]["accuracy"] > 0.95
    w = clf.named_weights()
    assert w["loud"]["exclaims"] > 0 > w["calm"]["exclaims"] == -w["loud"]["exclaims"]
    assert clf.top_features("loud", 1)[0][0] == "exclaims" or settings or model == "nb"


def test_the_scale_of_a_function_does_not_matter():
    settings = {"params": {"C": 1.0, "tol": 1e-6}, "ratio": 0.0}
    a = TextClassifier("svm", features=Words(1, 1) + Functions(word_count), **settings).fit(TRAIN)
    b = TextClassifier("svm", features=Words(1, 1) + Functions(thousandfold), **settings).fit(TRAIN)
    np.testing.assert_allclose(a.decision_function(TEST.text), b.decision_function(TEST.text), atol=1e-4)
    ratio = a.named_weights()["positive"]["word_count"] / b.named_weights()["positive"]["thousandfold"]
    assert ratio == pytest.approx(1000, rel=1e-3)


def test_several_classes_threads_and_batches():
    texts = TRAIN.text.to_pylist()
    labels = [y + str(k % 2) for k, y in enumerate(TRAIN_Y)]
    clfs = [TextClassifier("svm", features=BOTH, n_jobs=t, params={"C": 1.0}).fit(texts, labels) for t in (1, 2, 3)]
    assert clfs[0].artefact.computed_weights.shape == (2, 4)
    scores = [c.decision_function(TEST.text) for c in clfs]
    assert scores[0].tobytes() == scores[1].tobytes() == scores[2].tobytes()
    one_by_one = np.concatenate([clfs[0].decision_function([t]) for t in TEST.text.to_pylist()])
    assert one_by_one.tobytes() == scores[0].tobytes()


def test_copies():
    import pickle

    from sklearn.base import clone

    clf = clone(TextClassifier("nb", features=BOTH)).fit(TRAIN)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.decision_function(TEST.text), clf.decision_function(TEST.text))


def test_negative_values():
    block = Functions(below_zero)
    assert TextClassifier("svm", features=block).fit(TRAIN).predict(["a"]).shape == (1,)
    with pytest.raises(DataError, match="MultinomialNB takes no negative features"):
        TextClassifier("nb", features=block).fit(TRAIN)


def test_without_functions_nothing_changes(tmp_path):
    clf = TextClassifier("nb", features="words:1").fit(TRAIN)
    assert clf.artefact.computed == ()
    assert clf.artefact.computed_weights.shape == (0, 0)
    clf.save(tmp_path / "m.linnet")
    stored = store.read(tmp_path / "m.linnet")
    assert "computed_weights" not in stored.tensors
    assert "computed" not in stored.card["model"]


def test_a_vectorizer_takes_none():
    with pytest.raises(LinnetError, match="Vectorizer counts n-grams of the text itself; leave out 'functions:"):
        Vectorizer(BOTH).fit(["a"])


# ---- explaining


@pytest.mark.parametrize("settings", [{}, {"hash_bits": 10}, {"features": Functions(ends_in_s, exclaims)}])
@pytest.mark.parametrize("classes", [2, 3])
def test_explanations_name_functions_and_add_up(settings, classes):
    labels = [y if classes == 2 or k % 3 else "odd" for k, y in enumerate(TRAIN_Y)]
    clf = TextClassifier("logistic", **{"features": BOTH, **settings}).fit(TRAIN.text, labels)
    for text in ("It rocks! Loved it!!", "dull", ""):
        for label in clf.classes_.tolist():
            e = clf.explain(text, label)
            assert e.score == pytest.approx(clf.label_score(text, label), abs=1e-9)
            assert e.bias + sum(c.value for c in e.contributions) == pytest.approx(e.score, abs=1e-6)
            assert e.bias + sum(v for _, v in e.by_word()) == pytest.approx(e.score, abs=1e-6)
            mine = {c.feature: c for c in e.contributions if c.block == "functions"}
            assert set(mine) == {"ends_in_s", "exclaims"}
            for name, c in mine.items():
                assert c.value == pytest.approx(c.amount * clf.named_weights()[label][name], abs=1e-9)
                assert c.spans == ()
    e = clf.explain("It rocks! Loved it!!")
    assert {c.feature: c.amount for c in e.contributions if c.amount is not None} == {"ends_in_s": 1.0, "exclaims": 2.0}
    assert "exclaims = 2" in str(e)
    assert "exclaims = 2" in e._repr_html_()
    assert [c["amount"] for c in e.to_dict()["contributions"] if c["feature"] == "exclaims"] == [2.0]


# ---- the model file


@pytest.mark.parametrize("settings", [{}, {"hash_bits": 10}, {"features": Functions(word_count, exclaims, weight=0.5)}])
def test_saved_by_import_path_and_loaded_bit_equal(settings, tmp_path):
    clf = TextClassifier("svm", **{"features": BOTH, **settings}).fit(TRAIN, dev=DEV)
    path = tmp_path / "m.linnet"
    clf.save(path)
    (block,) = store.read(path).card["model"]["computed"]
    assert block["functions"] == [import_path(f) for f in clf.artefact.computed[0].functions]
    again = linnet.load(path, trust=True)
    assert again.artefact.computed == clf.artefact.computed
    np.testing.assert_array_equal(again.decision_function(TEST.text), clf.decision_function(TEST.text))
    again.save(tmp_path / "again.linnet")
    digests = {hashlib.sha256((tmp_path / f).read_bytes()).hexdigest() for f in ("m.linnet", "again.linnet")}
    assert len(digests) == 1


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    """A module that a user wrote, and a model that needs it."""
    folder = tmp_path / "code"
    folder.mkdir()
    file = folder / "reviewer_features.py"
    file.write_text("def long(tokens):\n    return len(tokens) > 5\n\n\nlater = len\n")
    monkeypatch.syspath_prepend(str(folder))
    clf = TextClassifier("nb", features="words:1+functions:reviewer_features.long").fit(TRAIN)
    clf.save(tmp_path / "m.linnet")
    return file, tmp_path / "m.linnet"


def forget():
    sys.modules.pop("reviewer_features", None)
    import importlib

    importlib.invalidate_caches()


def test_what_is_missing_at_load_is_said(own_module):
    file, model = own_module
    assert linnet.load(model, trust=True).predict(["x"]).shape == (1,)
    needed = "m.linnet: the feature function reviewer_features:long"
    file.write_text("def longer(tokens):\n    return 1\n")
    forget()
    with pytest.raises(
        ModelFileError, match=rf"{needed} cannot be imported \(AttributeError: .*has no attribute 'long'"
    ):
        linnet.load(model, trust=True)
    file.write_text("import no_such_package\n")
    forget()
    with pytest.raises(ModelFileError, match=rf"{needed} .* No module named 'no_such_package'.*mend it"):
        linnet.load(model, trust=True)
    file.write_text("1 / 0\n")
    forget()
    with pytest.raises(ModelFileError, match=rf"{needed} cannot be imported \(ZeroDivisionError: .*mend it"):
        linnet.load(model, trust=True)
    file.write_text("from subprocess import call as long\n")
    forget()
    with pytest.raises(ModelFileError, match=rf"{needed} is no function written in that module"):
        linnet.load(model, trust=True)
    file.unlink()
    forget()
    with pytest.raises(
        ModelFileError, match=rf"{needed} .*No module named 'reviewer_features'.*put the folder of the module on the Py"
    ):
        linnet.load(model, trust=True)
    forget()


def test_a_model_file_cannot_name_functions_of_python(own_module, tmp_path):
    _, model = own_module
    stored = store.read(model)
    for path in ("subprocess:call", "os:system", "builtins:eval", "no colon", "a.b;c:d", "numpy:zeros", ":x"):
        card = {k: v for k, v in stored.card.items() if k != "model"}
        about = dict(stored.card["model"])
        about["computed"] = [{**about["computed"][0], "functions": [path]}]
        store.write(tmp_path / "bad.linnet", dict(stored.tensors), {**card, "model": about})
        with pytest.raises(ModelFileError, match=r"belongs to Python itself|cannot be imported|no function written"):
            linnet.load(tmp_path / "bad.linnet", trust=True)


def test_altered_weights_are_refused(own_module, tmp_path):
    _, model = own_module
    stored = store.read(model)
    tensors = {**stored.tensors, "computed_weights": np.zeros((3, 1), np.float32)}
    store.write(tmp_path / "bad.linnet", tensors, stored.card)
    with pytest.raises(ModelFileError, match="do not fit together"):
        linnet.load(tmp_path / "bad.linnet", trust=True)


def test_functions_without_an_import_path_are_refused_before_training():
    def local(tokens):
        return 1

    for f, message in (
        (lambda tokens: 1, "<lambda> is no function that a saved model could find by its name; write it with def"),
        (local, "test_functions_without.*local is no function that a saved model could find"),
        (functools.partial(ends_in_s), "functools.partial.* is no function that"),
        (len, "builtins.len is no function that"),
        (os.path.join, "belongs to Python itself"),
    ):
        with pytest.raises(LinnetError, match=message):
            TextClassifier("nb", features=Words(1, 1) + Functions(f)).fit(TRAIN)
    assert Functions(local).joint("a", "x", ["x", "y"]).tolist() == [1, 1, 0, 0]  # to try out


def test_functions_of_the_running_program_can_be_tried_but_not_saved(tmp_path):
    code = """
        import linnet
        from linnet.features import Functions
        def n(tokens): return len(tokens)
        clf = linnet.TextClassifier("svm", features=Functions(n)).fit(["a b", "c", "d e", "f"] * 5, ["x", "y"] * 10)
        assert clf.predict(["q r", "s"]).tolist() == ["x", "y"]
        try:
            clf.save("m.linnet")
        except linnet.LinnetError as error:
            print(error)
    """
    script = tmp_path / "program.py"
    script.write_text("\n".join(line[8:] for line in code.splitlines()))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stderr == ""
    assert "the function n was written in the program that is running" in done.stdout
    assert "move it into a module" in done.stdout


def test_a_function_that_changed_its_name_is_refused_at_save():
    path = import_path(ends_in_s)
    assert find(path) is ends_in_s

    def other(tokens):
        return 0

    other.__qualname__, other.__module__ = "ends_in_s", HERE
    with pytest.raises(LinnetError, match=f"{path} is another function by now"):
        Functions(other).to_dict()


# ---- the command line


def run(*arguments, cwd):
    # the console script, as installed: the current folder is not on its path by itself
    code = "import sys; sys.path = [p for p in sys.path if p]; from linnet.cli import main; main()"
    command = [sys.executable, "-P", "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import csv

    folder = tmp_path_factory.mktemp("functions")
    with (folder / "r.csv").open("w", encoding="utf-8", newline="") as f:
        rows = csv.writer(f)
        rows.writerow(["label", "text"])
        rows.writerows(zip(TRAIN_Y, TRAIN.text.to_pylist(), strict=True))
    (folder / "mine.py").write_text("def long(tokens):\n    return len(tokens) > 20\n")
    (folder / "words.csv").write_text("word,label\ngood,positive\nbad,negative\nnot good,negative\n")
    return folder


def test_functions_on_the_command_line(folder, tmp_path):
    done = run("train", "r.csv", "--features", "words:1+functions:mine.long", "--out", "f.linnet", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "long = 0" in run("explain", "f.linnet", "not long", "--trust", cwd=folder).stdout
    assert run("predict", "f.linnet", "r.csv", "--trust", cwd=folder).stdout.split()[0] in ("negative", "positive")
    elsewhere = run("explain", folder / "f.linnet", "x", "--trust", cwd=tmp_path)
    assert elsewhere.returncode == 2
    assert "f.linnet: the feature function mine:long cannot be imported" in elsewhere.stderr
    assert elsewhere.stderr.count("\n") == 1
    wrong = run("train", "r.csv", "--features", "functions:mine.lnog", cwd=folder)
    assert wrong.returncode == 2
    assert "module 'mine' has no attribute 'lnog'" in wrong.stderr


def test_lexicon_and_settings_on_the_command_line(folder):
    done = run("train", "r.csv", "--model", "lexicon", "--set", "lists=words.csv", "--out", "l.linnet", cwd=folder)
    assert done.returncode == 0, done.stderr
    clf = linnet.load(folder / "l.linnet")
    assert clf.card["settings"]["lists"] == "words.csv"
    assert clf.artefact.n_features == 3
    assert "not good" in run("explain", "l.linnet", "not good", cwd=folder).stdout
    done = run("train", "r.csv", "--model", "lexicon", "--set", 'lists={"negative": ["dull"], "positive": ["fun"]}',
               "--set", "default=positive", "--out", "l.linnet", cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert linnet.load(folder / "l.linnet").classify("?") == "positive"
    built_in = run("train", "r.csv", "--model", "lexicon", "-q", "--out", "l.linnet", cwd=folder)
    assert built_in.returncode == 0, built_in.stderr
    assert "lexicon" in run("train", "--help", cwd=folder).stdout


def test_set_on_the_command_line(folder):
    done = run("train", "r.csv", "--features", "words:1", "--set", "C=0.03,3", "--set", "loss=hinge", "--set",
               "fit_intercept=false", "--out", "s.linnet", cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    clf = linnet.load(folder / "s.linnet")
    assert {t["C"] for t in clf.card["choice"]["tried"]} == {0.03, 3}
    assert clf.card["settings"]["loss"] == "hinge"
    assert clf.artefact.b.tolist() == clf.card["calibration"].get("shift", [0.0])  # no intercept but the calibration's
    fixed = run("train", "r.csv", "--features", "words:1", "--C", "0.5", "--out", "s.linnet", cwd=folder)
    assert fixed.returncode == 0
    assert linnet.load(folder / "s.linnet").card["settings"]["C"] == 0.5
    for wrong, message in (
        (["--set", "D=1"], "unknown setting 'D'; choose one of: C, "),
        (["--set", "C"], "--set takes NAME=VALUE, got 'C'"),
        (["--set", "C=1", "--set", "C=2"], "--set C is given twice"),
        (["--set", "C=1", "--C", "2"], "C is given twice, as --C and as --set C"),
        (["--set", "C=high"], "C must be a number above 0, got 'high'"),
        (["--model", "lexicn"], "did you mean 'lexicon'"),
    ):
        done = run("train", "r.csv", *wrong, cwd=folder)
        assert done.returncode == 2
        assert message in done.stderr


def test_values_of_mixed_kinds_can_be_tried():
    clf = TextClassifier("svm", features="words:1", params={"class_weight": [None, "balanced"], "C": 1.0}, ratio=0.0)
    clf = clf.fit(TRAIN)
    assert [t["class_weight"] for t in clf.card["choice"]["tried"]] == [None, "balanced"]
