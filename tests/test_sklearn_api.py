"""TextClassifier and Vectorizer by scikit-learn's conventions: all of check_estimator, nested settings, learned state.

check_estimator tries no estimator that declares text as its input. Here a thin class stands before each: it checks rows of
numbers as scikit-learn's own estimators do, and writes each row as a text with a word for every feature.
"""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import InputTags
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted, validate_data

import linnet
from linnet import TextClassifier
from linnet.datasets import load
from linnet.errors import DataError, LinnetError
from linnet.features.vectorizer import Vectorizer
from linnet.models import LinearSVM, LogisticRegression

TEXTS = ["loved it", "great fun", "loved the cast", "a great cast", "dull", "a dull bore", "awful", "awful and dull"]
LABELS = ["pos"] * 4 + ["neg"] * 4


def written(X) -> list[str]:
    """A row as text: for every feature a word that says about how large its value is."""
    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return [" ".join(f"f{j}at{int(np.floor(2 * v)) + 1000}" for j, v in enumerate(row)) for row in dense]


class Rows:
    """What stands before an estimator of texts."""

    def _texts(self, X, y="no_validation", reset=False):
        if not reset:
            check_is_fitted(self)
        if isinstance(y, str):
            return written(validate_data(self, X, reset=reset, accept_sparse=True)), None
        X, y = validate_data(self, X, y, reset=reset, accept_sparse=True)
        return written(X), y

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = InputTags(sparse=True)
        return tags


class RowClassifier(Rows, TextClassifier):
    def __init__(self, model="logistic", *, params=None, idf=False, norm=None, ratio=0.0, random_state=0):
        super().__init__(
            model, features="words:1", min_df=1, params=params, idf=idf, norm=norm, ratio=ratio, calibrate=False,
            random_state=random_state,
        )  # fmt: skip

    def fit(self, X, y=None, sample_weight=None):
        texts, y = self._texts(X, y, reset=True)
        return super().fit(texts, y, sample_weight=sample_weight)

    def partial_fit(self, X, y=None, classes=None, sample_weight=None):
        texts, y = self._texts(X, y, reset=not hasattr(self, "n_features_in_"))
        return super().partial_fit(texts, y, classes, sample_weight)

    def predict(self, X):
        return super().predict(self._texts(X)[0])

    def predict_proba(self, X):
        return super().predict_proba(self._texts(X)[0])

    def predict_log_proba(self, X):
        return np.log(self.predict_proba(X))

    def decision_function(self, X):
        return super().decision_function(self._texts(X)[0])


class RowVectorizer(Rows, Vectorizer):
    def __init__(self, features="words:1", *, tf="presence", idf=False, norm=None):
        super().__init__(features, tf=tf, idf=idf, norm=norm)

    def fit(self, X, y=None):
        return super().fit(self._texts(X, reset=True)[0], y)

    def fit_transform(self, X, y=None):
        return super().fit_transform(self._texts(X, reset=True)[0], y)

    def transform(self, X):
        return super().transform(self._texts(X)[0])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [RowClassifier(params={"C": 1.0, "tol": 1e-11}), RowVectorizer(), RowVectorizer(tf="count", idf=True, norm="l2")],
    ids=repr,
)
def test_check_estimator(estimator):
    results = check_estimator(estimator, on_fail=None)
    failed = [f"{r['check_name']}: {r['exception']!r}"[:400] for r in results if r["status"] == "failed"]
    assert not failed, "\n".join(failed)
    assert sum(r["status"] == "passed" for r in results) >= 35


def test_nested_settings():
    clf = TextClassifier("svm", features="words:1")
    assert clf.get_params()["model__C"] == 1.0
    assert clone(clf).set_params(model__C=3.0, model__tol=0.1).params == {"C": 3.0, "tol": 0.1}
    search = GridSearchCV(clf, {"model__C": [0.1, 1.0], "features": ["words:1", "words:1-2"]}, cv=2).fit(TEXTS, LABELS)
    assert set(search.best_params_) == {"model__C", "features"}
    assert search.best_estimator_.card["settings"]["C"] == search.best_params_["model__C"]
    given = TextClassifier(LogisticRegression(C=2.0))
    assert given.get_params()["model__C"] == 2.0
    given.set_params(model__C=5.0)
    assert given.model.C == 5.0
    with pytest.raises(LinnetError, match="did you mean 'features'"):
        clf.set_params(feature="words:1")
    with pytest.raises(LinnetError, match="unknown setting 'c'"):
        clf.set_params(model__c=1.0).fit(TEXTS, LABELS)
    with pytest.raises(DataError, match="has no settings"):
        clf.set_params(features__low=1)


def test_not_fitted():
    for use in (
        lambda c: c.predict(["a"]),
        lambda c: c.coef_,
        lambda c: c.get_feature_names_out(),
        lambda c: c.classes_,
    ):
        with pytest.raises(NotFittedError):
            use(TextClassifier("nb"))


@pytest.mark.parametrize("labels", [LABELS, ["a", "a", "b", "b", "c", "c", "c", "b"]])
def test_learned_state(labels):
    clf = TextClassifier("logistic", features="words:1", tf="presence", idf=False, norm=None, ratio=0.0).fit(
        TEXTS, labels
    )
    names = clf.get_feature_names_out()
    assert clf.coef_.shape == (1 if len(set(labels)) == 2 else 3, len(names))
    X = np.array([[name in text.split() for name in names] for text in TEXTS], dtype=float)
    scores = X @ clf.coef_.T + clf.intercept_
    np.testing.assert_allclose(
        clf.decision_function(TEXTS), scores[:, 0] if scores.shape[1] == 1 else scores, atol=1e-5
    )
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(TEXTS)), clf.predict_proba(TEXTS))


def test_evaluate_is_the_command():
    train, dev, test = load("reviews")
    clf = TextClassifier("nb", features="words:1").fit(train, dev=dev)
    found = clf.evaluate(test)
    assert found.accuracy == clf.score(test, test.label_list())
    assert clf.evaluate(test.text.to_pylist(), test.label_list()).to_dict() == found.to_dict()
    with pytest.raises(LinnetError, match="takes a labelled Dataset, or texts"):
        clf.evaluate(["a text"])
    assert clf.label_score("a great book", "positive") == -clf.label_score("a great book", "negative")


def test_weights_of_a_score():
    clf = TextClassifier("nb", features="words:1").fit(TEXTS, LABELS)
    wrong = ["neg", *LABELS[1:]]
    assert clf.score(TEXTS, wrong, sample_weight=[0] + [1] * 7) == clf.score(TEXTS[1:], LABELS[1:])


def test_modules_are_reached_from_linnet():
    code = "import sys, linnet; assert 'numpy' not in sys.modules; print(linnet.models.LinearSVM().C, 'models' in dir(linnet))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1.0", "True"]
    assert linnet.models.LinearSVM is LinearSVM


def test_threads_as_jobs():
    for n_jobs in (None, -1, 1, 2):
        model = TextClassifier("svm", features="words:1", n_jobs=n_jobs).fit(TEXTS, LABELS)
        assert model.predict(["great"]).tolist() == ["pos"]
    assert cross_val_score(TextClassifier("nb"), TEXTS, LABELS, cv=2).shape == (2,)
    for bad in (0, 1.5):
        with pytest.raises(LinnetError, match="must be 1 or more, or None for all cores"):
            TextClassifier("svm", n_jobs=bad).fit(TEXTS, LABELS)


# ---- Vectorizer


def shouted(text):
    return text.upper()


def halves(text):
    return [text[: len(text) // 2], text[len(text) // 2 :]]


CORPUS = [
    "The blue dog ate a blue biscuit.",
    "A dog, the dog!",
    "Caf\u00e9 cr\u00e8me at the caf\u00e9",
    "one 1 two 22",
    "x",
]


@pytest.mark.parametrize(
    "settings",
    [
        {"stop_words": "english"}, {"stop_words": ["the", "dog"]}, {"token_pattern": r"[a-z]+"}, {"analyzer": "char"},
        {"analyzer": "char", "ngram_range": (2, 3)}, {"tokenizer": str.split, "token_pattern": None},
        {"preprocessor": shouted}, {"strip_accents": "unicode"}, {"strip_accents": "ascii", "ngram_range": (1, 2)},
        {"analyzer": halves}, {"ngram_range": (1, 2), "stop_words": ["the"]}, {"analyzer": "char_wb", "ngram_range": (2, 2)},
        {"vocabulary": ["dog", "the", "zebra"]}, {"vocabulary": {"dog": 1, "blue dog": 0}, "ngram_range": (1, 2)},
        {"analyzer": "char_wb", "ngram_range": (2, 2), "vocabulary": [" d", "og", "g "]},
        {"stop_words": ["a"], "vocabulary": ["dog", "blue"]},
    ],
    ids=lambda settings: "-".join(settings),
)  # fmt: skip
@pytest.mark.parametrize("tfidf", [False, True])
def test_arguments_of_sklearn(settings, tfidf):
    theirs = TfidfVectorizer(norm="l1", **settings) if tfidf else CountVectorizer(**settings)
    ours = Vectorizer.like_sklearn(**settings, **({"use_idf": True, "norm": "l1"} if tfidf else {}))
    X, Y = theirs.fit_transform(CORPUS), ours.fit_transform(CORPUS)
    np.testing.assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    np.testing.assert_allclose(Y.toarray(), X.toarray(), rtol=1e-12)
    np.testing.assert_allclose(
        ours.transform(CORPUS[::-1]).toarray(), theirs.transform(CORPUS[::-1]).toarray(), rtol=1e-12
    )
    assert (pickle.loads(pickle.dumps(ours)).transform(CORPUS) != Y).nnz == 0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"smooth_idf": False}, "ln\\(\\(1 \\+ n\\)"), ({"input": "filename"}, "linnet.read"),
        ({"vocabulary": []}, "vocabulary is empty"), ({"vocabulary": ["a b"]}, "are never 'a b'"),
        ({"vocabulary": ["dog", "dog"]}, "a name twice"), ({"vocabulary": {"dog": 1}}, "number its columns 0 to 0"),
        ({"vocabulary": 3}, "must be a list of names"),
    ],
)  # fmt: skip
def test_what_is_not_taken_names_its_substitute(settings, words):
    with pytest.raises(LinnetError, match=words):
        Vectorizer.like_sklearn(**settings).fit(CORPUS)


def test_set_output():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    v = Vectorizer("words:1", tf="count")
    wanted = v.fit_transform(CORPUS).toarray()
    frame = v.set_output(transform="pandas").transform(CORPUS)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == v.get_feature_names_out().tolist()
    np.testing.assert_array_equal(frame.to_numpy(), wanted)
    frame = v.set_output(transform="polars").fit_transform(CORPUS)
    assert isinstance(frame, pl.DataFrame)
    np.testing.assert_array_equal(frame.to_numpy(), wanted)
    assert v.set_output().set_output(transform="default").transform(CORPUS).shape == wanted.shape
    with pytest.raises(LinnetError, match="did you mean 'pandas'"):
        v.set_output(transform="panda")
