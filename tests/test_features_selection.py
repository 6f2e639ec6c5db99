"""Selection of features: scikit-learn's scores, training rows only, a report of what was dropped."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet import TextClassifier
from linnet.errors import LinnetError
from linnet.features.blocks import Words
from linnet.features.buffers import text_buffers
from linnet.features.counting import count
from linnet.features.plan import METHODS, Selection, chi2, mutual_information

words = st.lists(st.sampled_from("abcdef"), max_size=8).map(" ".join)
labelled = st.lists(st.tuples(words, st.integers(0, 2)), min_size=3, max_size=25)


def counted(texts, counting):
    return count(text_buffers(texts), (Words(1, 1),), counting=counting, threads=1).rows


@settings(max_examples=80, deadline=None)
@given(labelled, st.booleans())
def test_scores_are_those_of_scikit_learn(data, counting):
    from sklearn import feature_selection

    texts, labels = [t for t, _ in data], np.array([y for _, y in data])
    classes, y = np.unique(labels, return_inverse=True)
    rows = counted(texts, counting)
    if len(classes) < 2 or not rows.n_columns:
        return
    X = rows.to_scipy().astype(float)
    y = y.astype(np.int32)
    assert np.allclose(chi2(rows, y, len(classes)), feature_selection.chi2(X, y)[0], rtol=1e-10, atol=1e-12)
    present = (X > 0).astype(int).toarray()
    theirs = feature_selection.mutual_info_classif(present, y, discrete_features=True)
    assert np.allclose(mutual_information(rows, y, len(classes)), theirs, rtol=1e-9, atol=1e-12)


TEXTS = [f"{'good' if k % 2 else 'bad'} film number {k}" for k in range(60)]
LABELS = ["pos" if k % 2 else "neg" for k in range(60)]


@pytest.mark.parametrize("method", METHODS)
def test_the_best_features_are_kept(method):
    clf = TextClassifier("svm", features="words:1", select=f"{method}:2").fit(TEXTS, LABELS)
    report = clf.card["selection"]
    kept = set(clf.artefact.names().values())
    assert kept <= {"good", "bad"}
    assert report["kept"] == len(kept) == clf.artefact.n_features
    assert report["kept"] + report["dropped"] == 64
    assert kept.isdisjoint(name for name, _ in report["best_dropped"])
    assert clf.card["settings"]["select"] == f"{method}:2"
    assert clf.predict(["good film", "bad film"]).tolist() == ["pos", "neg"]


@pytest.mark.parametrize("method", METHODS)
def test_held_out_rows_have_no_say(method):
    """Labels are noise: features chosen on all rows would look good on held-out ones, chosen inside folds they do not."""
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{j}" for j in rng.choice(3000, 30, replace=False)) for _ in range(200)]
    labels = np.array(["a", "b"])[rng.integers(0, 2, 200)].tolist()
    clf = TextClassifier("svm", features="words:1", select=f"{method}:40", ratio=0.0, params={"C": 1.0})
    assert clf.fit(texts, labels).card["choice"]["accuracy"] < 0.62


def test_what_makes_no_sense_is_refused():
    for wrong, message in (("chi2", "cannot read"), ("chi:5", "chi2"), ("chi2:0", "at least one")):
        with pytest.raises(LinnetError, match=message):
            Selection.of(wrong)
    with pytest.raises(LinnetError, match="hash_bits"):
        TextClassifier(select="mi:5", hash_bits=10).plan()


def test_threads_and_the_number_of_features():
    models = [TextClassifier("nb", select="mi:9", n_jobs=t, features="words:1-2").fit(TEXTS, LABELS) for t in (1, 2)]
    assert np.array_equal(models[0].decision_function(TEXTS), models[1].decision_function(TEXTS))
    many = TextClassifier("nb", select="mi:100000", features="words:1").fit(TEXTS, LABELS)
    assert many.card["selection"]["dropped"] == 0
