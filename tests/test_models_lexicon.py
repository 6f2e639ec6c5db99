"""The lexicon: lists from anywhere, counts that can be checked by hand, and the same table as every other model."""

from __future__ import annotations

import json
import pickle
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linnet
from linnet import TextClassifier
from linnet.data.wordlists import word_lists
from linnet.datasets import lexicon, load
from linnet.errors import DataError, LinnetError
from linnet.models import MODELS, Lexicon
from linnet.text import tokenize

LISTS = {"neg": ["bad", "not good", "dull"], "pos": ["good", "fun", "not bad at all"]}
TEXTS = ["good good fun", "bad", "NOT GOOD!", "not bad at all", "so so", "", "bad fun", "not\tgood, not  bad"]
TRAIN, DEV, TEST = load("reviews")


def matches(text, entries):
    """Count by hand: every place where the tokens of an entry stand side by side."""
    tokens = [t.text for t in tokenize(text)]
    total = 0.0
    for entry, weight in entries.items():
        words = [t.text for t in tokenize(entry)]
        total += weight * sum(tokens[k : k + len(words)] == words for k in range(len(tokens) - len(words) + 1))
    return total


def test_counts_are_those_of_hand():
    model = Lexicon(LISTS).fit(TEXTS, ["pos", "neg"] * 4)
    for text in TEXTS:
        for label, words in LISTS.items():
            assert model.label_score(text, label) == matches(text, dict.fromkeys(words, 1.0))
    assert model.decision_function(TEXTS).tolist() == [3, -1, 0, 0, 0, 0, 0, -1]
    assert model.predict(TEXTS).tolist() == ["pos", "neg", "neg", "neg", "neg", "neg", "neg", "neg"]
    assert model.score(TEXTS, ["pos"] * 8) == 1 / 8


words = st.lists(st.sampled_from(["good", "Bad", "not", "all", "a-b", "ﬁne", "!"]), min_size=1, max_size=4)


@given(
    st.lists(words.map(" ".join), max_size=6),
    st.dictionaries(words.map(" ".join), st.sampled_from([-2.0, 0.5, 1.0, 3.0]), min_size=1, max_size=5),
)
def test_any_lists_on_any_texts(texts, valences):
    model = Lexicon(valences)
    folded = {}
    for entry, weight in valences.items():  # what folds alike is one entry: the first, for each label
        folded.setdefault((" ".join(t.text for t in tokenize(entry)), weight > 0), weight)
    for label, positive in (("negative", False), ("positive", True)):
        mine = {entry: abs(w) for (entry, sign), w in folded.items() if sign == positive}
        for text in texts:
            assert model.label_score(text, label) == pytest.approx(matches(text, mine))


def test_three_labels_ties_and_default():
    lists = {"a": ["x", "y"], "b": ["y", "z"], "c": ["w"]}
    plain, last = Lexicon(lists), Lexicon(lists, default="c")
    assert [plain.classify(t) for t in ("x", "y", "z", "w", "?", "y w")] == ["a", "a", "b", "c", "a", "a"]
    assert [last.classify(t) for t in ("x", "y", "z", "w", "?", "y w")] == ["a", "a", "b", "c", "c", "c"]
    assert last.classify("?", ["a", "b"]) == "a"
    assert plain.decision_function(["y w w"]).tolist() == [[1, 1, 2]]
    two = {"a": ["x"], "b": ["y"]}
    assert Lexicon(two, default="b").predict(["?", "x", "y", "x y"]).tolist() == ["b", "a", "b", "b"]
    assert Lexicon(two, default="a").predict(["?", "x", "y", "x y"]).tolist() == ["a", "a", "b", "a"]
    clf = TextClassifier(Lexicon(two, default="b")).fit(["?", "x", "y", "x y"], ["b", "a", "b", "b"])
    assert clf.predict(["?", "x", "y", "x y"]).tolist() == ["b", "a", "b", "b"]
    with pytest.raises(DataError, match="put it in a list"):
        plain.classify("x", "ab")
    with pytest.raises(DataError, match="labels is empty"):
        plain.classify("x", [])
    with pytest.raises(DataError, match="unknown label 'd'"):
        Lexicon(lists, default="d").classify("x")


def test_a_word_of_two_lists_counts_for_both():
    model = Lexicon({"a": {"x": 2}, "b": ["x", "y"]})
    assert (model.label_score("x", "a"), model.label_score("x", "b")) == (2, 1)
    assert model.classify("x y") == "a"  # 2 to 2
    assert model.classify("x y y") == "b"


def test_labels_without_a_list_score_nothing():
    model = Lexicon({"pos": ["good"], "neg": ["bad"]}).fit(["a", "b", "c"], ["neg", "other", "pos"])
    assert model.decision_function(["good", "bad", "?"]).tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0]]
    assert Lexicon({"pos": ["good"], "neg": ["bad"]}, default="other").fit(
        ["a", "b", "c"], ["neg", "other", "pos"]
    ).predict(["good", "?"]).tolist() == ["pos", "other"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        some = Lexicon({"pos": ["good"], "neg": ["bad"], "odd": ["weird"]}).fit(["a", "b"], ["neg", "pos"])
    assert some.predict(["weird good"]).tolist() == ["pos"]
    with pytest.warns(UserWarning, match=r"lists of neg are left out.*labels negative have no list"):
        Lexicon({"pos": ["good"], "neg": ["bad"]}).fit(["a", "b"], ["negative", "pos"])
    with pytest.raises(
        DataError, match="no label of the data has a list: the data has x, y, the lists are for a, b, c"
    ):
        Lexicon({"a": ["good"], "b": ["bad"], "c": ["odd"]}).fit(["s", "t"], ["x", "y"])


def test_labels_that_are_numbers(tmp_path):
    (tmp_path / "w.csv").write_text("word,label\ngood,1\nbad,0\n")
    model = Lexicon(str(tmp_path / "w.csv")).fit(["a", "b"], [0, 1])
    assert model.predict(["good", "bad"]).tolist() == [1, 0]
    assert model.classify("good") == 1
    assert Lexicon({0: ["bad"], 1: ["good"]}).predict(["good"]).tolist() == [1]


# ---- where lists come from


def test_valences():
    model = Lexicon({"good": 1.5, "bad": -2, "meh": 0})
    assert (model.label_score("good good bad", "positive"), model.label_score("good good bad", "negative")) == (
        3.0,
        2.0,
    )
    fitted = Lexicon({"good": 1.5, "bad": -2}).fit(["a", "b", "c"], ["neg", "neutral", "pos"])
    assert fitted.decision_function(["good bad"]).tolist() == [[2.0, 0.0, 1.5]]
    named = Lexicon({"good": 1, "bad": -1}, negative="sad", positive="happy").fit(["a", "b"], ["happy", "sad"])
    assert named.predict(["good", "bad"]).tolist() == ["happy", "sad"]
    assert Lexicon({"good": 1, "bad": -1}).fit(["a", "b"], [0, 1]).predict(["good", "bad"]).tolist() == [1, 0]
    with pytest.raises(DataError, match=r"the labels are 'happy', 'sad': set negative= and positive="):
        Lexicon({"good": 1, "bad": -1}).fit(["a", "b"], ["happy", "sad"])
    with pytest.raises(DataError, match="the labels are 0, 1, 2:"):  # 0 and 1 are not the two ends of three
        Lexicon({"good": 1, "bad": -1}).fit(["a", "b", "c"], [0, 1, 2])


def test_lists_of_negative_and_positive_for_data_with_neg_and_pos():
    model = Lexicon({"negative": ["bad"], "positive": ["good"]}).fit(["a", "b"], ["neg", "pos"])
    assert model.predict(["good", "bad"]).tolist() == ["pos", "neg"]


FILES = {
    "labels.csv": 'word,label\ngood,pos\n"not good",neg\nbad,neg\n',
    "weights.tsv": "label\tword\tweight\npos\tgood\t1\nneg\tnot good\t1\nneg\tbad\t1\n",
    "semicolon.csv": "\ufeffTerm;Class\ngood;pos\nnot good;neg\n\nbad;neg\n",
    "valence.csv": "word,valence\ngood,1\nnot good,-1\nbad,-1\n",
    "numbers.csv": "label,text\n1,good\n-1,not good\n-1,bad\n",
    "sentiment.csv": "word,sentiment\ngood,pos\nnot good,neg\nbad,neg\n",
    "rows.jsonl": '{"word": "good", "label": "pos"}\n\n{"word": "not good", "label": "neg"}\n{"word": "bad", "label": "neg"}\n',
    "valence.jsonl": '{"word": "good", "valence": 1}\n{"word": "not good", "valence": -1}\n{"word": "bad", "valence": -1.0}\n',
    "lists.json": '{"pos": ["good"], "neg": ["not good", "bad"]}',
    "valences.json": '{"good": 1, "not good": -1, "bad": -1}',
}


@pytest.mark.parametrize("name", FILES)
def test_files(name, tmp_path):
    path = tmp_path / name
    path.write_text(FILES[name], encoding="utf-8")
    for given_as in (path, str(path)):
        model = Lexicon(given_as).fit(["a", "b"], ["neg", "pos"])
        assert model.named_weights() == {"neg": {"bad": 1.0, "not good": 1.0}, "pos": {"good": 1.0}}


def test_one_file_a_label(tmp_path):
    (tmp_path / "neg.txt").write_text("# the bad ones\nbad\n\nnot good\n#\n#fail\n")
    (tmp_path / "pos.txt").write_text("good\n")
    expected = {"neg": {"# fail": 1.0, "bad": 1.0, "not good": 1.0}, "pos": {"good": 1.0}}
    assert Lexicon(tmp_path).named_weights() == expected
    assert Lexicon({"neg": str(tmp_path / "neg.txt"), "pos": tmp_path / "pos.txt"}).named_weights() == expected
    (tmp_path / "pos.csv").write_text("word,weight\ngood,2\n")
    assert Lexicon({"neg": ["x"], "pos": tmp_path / "pos.csv"}).label_score("good", "pos") == 2


def test_columns_by_name(tmp_path):
    (tmp_path / "w.csv").write_text("w,v,label\ngood,1,x\nbad,-1,y\n")
    with pytest.raises(DataError, match=r"w.csv: there is no column of words; it has 'w', 'v', 'label'"):
        Lexicon(tmp_path / "w.csv").classify("good")
    assert Lexicon(tmp_path / "w.csv", columns={"word": "w"}).classify("good") == "x"
    with pytest.raises(DataError, match="there is no column 'word' for the word; it has 'w', 'v', 'label'"):
        Lexicon(tmp_path / "w.csv", columns={"word": "word"}).classify("good")
    with pytest.raises(DataError, match="unknown column 'words'; choose one of: word, label, valence, weight"):
        Lexicon(tmp_path / "w.csv", columns={"words": "w"}).classify("good")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("w.csv", "word,label\ngood,pos\nbad\n", r"w.csv, row 2: wrong number of fields \(1 instead of 2\)"),
        ("w.csv", "word,label\ngood,pos\nbad,\n", r"w.csv, row 2: there is no label in the column 'label'"),
        ("w.csv", "word,label\n ,pos\n", r"w.csv, row 1: the word is empty"),
        ("w.csv", "word,valence\ngood,high\n", r"w.csv, row 1: the valence of 'good' is 'high', not a number"),
        ("w.csv", "word,valence\ngood,nan\n", r"row 1: the valence of 'good' is 'nan', not a number"),
        ("w.csv", "word,other\ngood,1\n", r"no column says the label; it has 'word', 'other'; call it 'label'"),
        ("w.csv", "a,b\ngood,1\n", r"there is no column of words; it has 'a', 'b'; call it 'word'"),
        ("w.csv", "word,label,score\ngood,pos,2\n", r"both 'label' and 'score' could say the label; rename"),
        ("w.csv", 'word,label\n"good,pos\n', r"w.csv, row 1: wrong number of fields"),
        ("w.csv", "word,label\n", "the word lists are empty"),
        ("w.csv", "", "the word lists are empty"),
        ("w.csv", "word,label\ngood,pos\n", "two labels or more, got"),
        (
            "w.csv",
            "word,valence\ngood,1\nbad,-1\ngood,2\n",
            r"row 3: 'good' has another weight for 'positive' than .*row 1",
        ),
        ("w.csv", f"word,label\n{'a ' * 13},pos\nb,neg\n", r"row 1: .* is 13 words long; an entry has 1 to 12"),
        ("w.jsonl", '{"word": "good", "label": "pos"}\n{"word"\n', r"w.jsonl, row 2: not a JSON object"),
        ("w.jsonl", "[1]\n", r"w.jsonl: no line is a JSON object"),
        ("w.json", "[1]", "must hold one object"),
        ("w.json", '{"pos": \n x}', r"w.json: this is not JSON .*line 2"),
        ("w.txt", "good\n", "a plain list has no labels; give one file a label"),
    ],
)
def test_files_that_cannot_be_used(name, content, message, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        Lexicon(tmp_path / name).classify("good")


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        (
            {"pos": "no/such/file.txt", "neg": ["x"]},
            "cannot read the word list no/such/file.txt",
        ),
        ({"pos": ["good", None], "neg": ["x"]}, "the list of 'pos', entry 2: None is not a text"),
        ({"pos": ["good", " "], "neg": ["x"]}, "the list of 'pos', entry 2: the word is empty"),
        ({"pos": {"good": "x"}, "neg": ["x"]}, "the list of 'pos', entry 1: the weight of 'good' is 'x', not a number"),
        ({"pos": 1, "neg": ["x"]}, r"holds numbers, as of \{word: valence\}, but 'neg' has \['x'\]"),
        ({"pos": None, "neg": ["x"]}, "the list of 'pos' must be words"),
        ({}, "the word lists are empty"),
        (3, "lists must be .* got 3"),
        ({"pos": ["x"]}, "two labels or more, got"),
    ],
)
def test_lists_that_cannot_be_used(lists, message):
    with pytest.raises(DataError, match=message):
        Lexicon(lists).classify("good")


def test_other_codes_are_read_as_in_data(tmp_path):
    (tmp_path / "w.csv").write_bytes(b"word,label\ncaf\xe9,pos\nbar,neg\n")
    assert Lexicon(tmp_path / "w.csv").classify("caf\xe9") == "pos"


# ---- as a text classifier, in a file


def test_it_ends_as_the_same_artefact(tmp_path):
    labels = ["pos", "neg", "neg", "pos", "neg", "neg", "pos", "neg"]
    clf = TextClassifier("lexicon", params={"lists": LISTS}, calibrate=False).fit(TEXTS, labels)
    model = Lexicon(LISTS).fit(TEXTS, labels)
    np.testing.assert_array_equal(clf.decision_function(TEXTS), model.decision_function(TEXTS))
    np.testing.assert_array_equal(clf.predict(TEXTS), model.predict(TEXTS))
    assert clf.artefact.b.tolist() == [0.0]
    assert clf.named_weights()["pos"] == {
        "bad": -1,
        "dull": -1,
        "fun": 1,
        "good": 1,
        "not bad at all": 1,
        "not good": -1,
    }
    assert clf.card["choice"]["accuracy"] == np.mean(clf.predict(TEXTS) == labels)
    clf.save(tmp_path / "m.linnet")
    again = linnet.load(tmp_path / "m.linnet")
    np.testing.assert_array_equal(again.decision_function(TEXTS), clf.decision_function(TEXTS))
    assert again.card == clf.card
    again.save(tmp_path / "again.linnet")
    assert (tmp_path / "m.linnet").read_bytes() == (tmp_path / "again.linnet").read_bytes()
    e = again.explain("not good, not good fun", "neg")
    assert {c.feature: c.value for c in e.contributions} == {"not good": 2.0, "good": -2.0, "fun": -1.0}
    assert e.score == e.bias + sum(c.value for c in e.contributions) == -1.0
    assert pickle.loads(pickle.dumps(clf)).predict(["fun"]).tolist() == ["pos"]


def test_calibration_scales_and_changes_no_answer():
    plain = TextClassifier("lexicon", calibrate=False).fit(TRAIN, dev=DEV)
    scaled = TextClassifier("lexicon").fit(TRAIN, dev=DEV)
    np.testing.assert_array_equal(plain.predict(TEST.text), scaled.predict(TEST.text))
    scale, (shift,) = (scaled.card["calibration"][part] for part in ("scale", "shift"))
    np.testing.assert_allclose(
        scaled.decision_function(TEST.text), scale * plain.decision_function(TEST.text) + shift, rtol=1e-5
    )
    assert 0.0 < scale < 2.0


def test_words_of_the_lists_need_not_be_in_the_data():
    clf = TextClassifier("lexicon", params={"lists": {"a": ["zebra"], "b": ["yak"]}}).fit(["x", "y"], ["a", "b"])
    assert clf.predict(["a yak", "a zebra"]).tolist() == ["b", "a"]


def test_many_labels_and_how_words_are_cut():
    lists = {f"label{k}": [f"word{k}", f"two words{k}"] for k in range(9)}
    clf = TextClassifier("lexicon", params={"lists": lists}).fit([f"t{k}" for k in range(9)], list(lists))
    assert clf.predict(["word7", "it is two words3"]).tolist() == ["label7", "label3"]
    cased = TextClassifier("lexicon", features="words:1:whitespace:keep", params={"lists": {"a": ["US"], "b": ["us"]}})
    cased = cased.fit(["x", "y"], ["a", "b"])
    assert cased.predict(["the US", "for us", "for us."]).tolist() == ["a", "b", "a"]
    presence = TextClassifier("lexicon", tf="presence", params={"lists": LISTS}, calibrate=False).fit(
        ["x", "y"], ["neg", "pos"]
    )
    assert presence.decision_function(["good good good"]).tolist() == [1.0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hash_bits": 10}, "learns nothing from the data; leave out hash_bits=10"),
        ({"idf": True}, "leave out idf=True"),
        ({"ratio": 0.5}, "leave out ratio"),
        ({"features": "chars:3"}, "a lexicon matches words"),
        (
            {"features": "words:1+functions:linnet.features.functions.word_count"},
            "a lexicon counts n-grams of the text itself",
        ),
        ({"params": {"list": "x"}}, r"unknown setting 'list'; .* \(did you mean 'lists'\?\)"),
    ],
)
def test_settings_that_a_lexicon_cannot_use(settings, message):
    with pytest.raises(LinnetError, match=message):
        TextClassifier("lexicon", **settings).fit(TRAIN)


def test_lists_to_choose_from(tmp_path):
    (tmp_path / "good.csv").write_text("word,valence\ngood,1\nbad,-1\n")
    (tmp_path / "wrong.csv").write_text("word,valence\ngood,-1\nbad,1\n")
    paths = [str(tmp_path / "wrong.csv"), str(tmp_path / "good.csv")]
    clf = TextClassifier("lexicon", params={"lists": paths}).fit(["good", "bad", "so good"], ["pos", "neg", "pos"])
    assert clf.card["settings"]["lists"] == paths[1]
    assert [t["accuracy"] for t in clf.card["choice"]["tried"]] == [0.0, 1.0]
    assert clf.predict(["good"]).tolist() == ["pos"]


def test_built_in_words():
    words = lexicon()
    signs = Counter(np.sign(list(words.values())).tolist())
    assert min(signs[1.0], signs[-1.0]) >= 150
    assert sum(" " in word for word in words) >= 20
    assert len({word.casefold() for word in words}) == len(words)
    clf = TextClassifier("lexicon").fit(TRAIN, dev=DEV)
    assert clf.artefact.n_features == len(words)
    accuracy = clf.score(TRAIN.text, TRAIN.label.to_pylist())
    assert accuracy > 0.5 + 2 * 0.5 / np.sqrt(len(TRAIN))  # better than a coin by two standard errors
    assert Lexicon().classify("a superb gem") == "positive"
    with pytest.raises(
        DataError, match=r"are for the labels 'negative' and 'positive', and the data has 'a', 'b'.*lists='words"
    ):
        TextClassifier("lexicon").fit(["x", "y"], ["a", "b"])


# ---- as a scikit-learn estimator


def test_estimator_checks():
    """check_estimator has few checks for estimators over texts; those that need no rows of numbers are run by hand."""
    from sklearn.utils import estimator_checks as checks

    with pytest.warns(checks.SkipTestWarning, match="string=True"):
        found = checks.check_estimator(Lexicon(LISTS), on_fail=None, on_skip=None)
    assert found
    assert [c for c in found if c["status"] != "passed"] == []
    for check in (
        checks.check_parameters_default_constructible,
        checks.check_no_attributes_set_in_init,
        checks.check_get_params_invariance,
        checks.check_set_params,
        checks.check_estimator_repr,
        checks.check_estimator_cloneable,
        checks.check_valid_tag_types,
        checks.check_estimator_tags_renamed,
    ):
        check("Lexicon", Lexicon(LISTS))


def test_in_scikit_learns_tools():
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import GridSearchCV, cross_val_score

    texts, labels = np.array(TRAIN.text.to_pylist(), object), np.array(TRAIN.label.to_pylist())
    assert is_classifier(Lexicon())
    assert len(cross_val_score(Lexicon(), texts, labels, cv=3)) == 3
    grid = GridSearchCV(Lexicon(), {"lists": [{"negative": ["the"], "positive": ["a"]}, lexicon()]}, cv=2)
    assert grid.fit(texts, labels).best_params_["lists"] == lexicon()
    model = Lexicon(LISTS, default="pos")
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.fit(TEXTS, ["pos", "neg"] * 4) is copy
    assert copy.classes_.tolist() == ["neg", "pos"]
    assert MODELS["lexicon"] is Lexicon


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (["a", "b"], None, "requires y"),
        (["a", "b"], ["neg"], "inconsistent numbers of samples"),
        (["a", "b"], ["neg", "neg"], "got 1 class"),
        (["a", 3], ["neg", "pos"], "text number 2 is 3, not a string"),
        ("a", ["neg"], "put it in a list"),
    ],
)
def test_data_that_cannot_be(X, y, message):
    with pytest.raises(DataError, match=message):
        Lexicon(LISTS).fit(X, y)


def test_a_long_text_and_heavy_weights():
    model = Lexicon({"a": {"x": 1e6}, "b": {"y": 1e-6}})
    assert model.label_score("x " * 100_000, "a") == 1e11
    assert model.classify("y") == "b"


def test_entries_know_where_they_come_from(tmp_path):
    (tmp_path / "w.csv").write_text(json.dumps("a") + ",label\n")
    entries = word_lists({"pos": ["good"], "neg": {"bad": 2}})
    assert [(e.text, e.label, e.weight, e.where) for e in entries] == [
        ("good", "pos", 1.0, "the list of 'pos', entry 1"),
        ("bad", "neg", 2.0, "the list of 'neg', entry 1"),
    ]


@pytest.mark.parametrize(
    "line", ["[" * 100_000, '{"word": ' * 100_000, '{"word": "a", "valence": ' + "9" * 5_000 + "}"]
)
def test_json_that_is_no_word_list_is_one_line(tmp_path, line):
    for name in ("l.json", "l.jsonl"):
        (tmp_path / name).write_text(line)
        with pytest.raises(DataError, match=r"this is not JSON|no line is a JSON object|not a number"):
            list(word_lists(tmp_path / name))
