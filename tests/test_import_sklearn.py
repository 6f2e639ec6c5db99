"""Imported scikit-learn pipelines give the scores of scikit-learn."""

from __future__ import annotations

import random

import numpy as np
import pytest

import linnet
from test_export import SENTENCES, random_texts, scripts

skops = pytest.importorskip("skops.io", reason="skops is not installed")
pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer  # noqa: E402
from sklearn.linear_model import LogisticRegression, SGDClassifier  # noqa: E402
from sklearn.naive_bayes import GaussianNB, MultinomialNB  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.svm import LinearSVC  # noqa: E402

# İ and Σ are lowered by their neighbours in Python, and characters one by one by linnet
TEXTS = [t.replace("İ", "").replace("Σ", "") for t in [*SENTENCES.values(), "", "a", *random_texts(200)]]

PIPELINES = {
    "counts, logistic": lambda: make_pipeline(CountVectorizer(ngram_range=(1, 2)), LogisticRegression()),
    "tf-idf, logistic": lambda: make_pipeline(
        TfidfVectorizer(ngram_range=(1, 3), sublinear_tf=True), LogisticRegression()
    ),
    "characters, svm": lambda: make_pipeline(TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)), LinearSVC()),
    "presence, naive Bayes": lambda: make_pipeline(CountVectorizer(binary=True), MultinomialNB()),
    "hashed, many collisions": lambda: make_pipeline(
        HashingVectorizer(n_features=50, ngram_range=(1, 2)), LogisticRegression()
    ),
    "hashed without signs, idf": lambda: make_pipeline(
        HashingVectorizer(n_features=1 << 9, alternate_sign=False), TfidfTransformer(norm=None), LogisticRegression()
    ),
    "hashed characters, l1": lambda: make_pipeline(
        HashingVectorizer(n_features=1 << 10, analyzer="char_wb", ngram_range=(2, 4), norm="l1"), LinearSVC()
    ),
    "hashed, presence": lambda: make_pipeline(
        HashingVectorizer(n_features=333, binary=True, lowercase=False), SGDClassifier(random_state=0)
    ),
    "three steps": lambda: make_pipeline(
        CountVectorizer(lowercase=False), TfidfTransformer(norm="l1"), SGDClassifier(random_state=0)
    ),
}


def fitted(pipeline, n_labels):
    texts, labels = scripts(15)
    few = list(SENTENCES)[:n_labels]
    some = [(t, c) for t, c in zip(texts, labels, strict=True) if c in few]
    return pipeline.fit(*map(list, zip(*some, strict=True)))


@pytest.mark.parametrize("n_labels", [2, 5])
@pytest.mark.parametrize("name", list(PIPELINES))
def test_answers_as_sklearn(name, n_labels, tmp_path):
    theirs = fitted(PIPELINES[name](), n_labels)
    skops.dump(theirs, tmp_path / "m.skops")
    mine = linnet.load(tmp_path / "m.skops")
    assert list(mine.artefact.classes) == theirs.classes_.tolist()
    if hasattr(theirs, "predict_proba"):
        np.testing.assert_allclose(mine.predict_proba(TEXTS), theirs.predict_proba(TEXTS), atol=1e-5)
    else:
        wanted = theirs.decision_function(TEXTS).reshape(len(TEXTS), -1)
        np.testing.assert_allclose(mine.artefact.scores(TEXTS), wanted, rtol=1e-5, atol=1e-5)
    mine.save(tmp_path / "m.linnet")
    again = linnet.load(tmp_path / "m.linnet")
    assert np.array_equal(again.predict(TEXTS), mine.predict(TEXTS))
    found = again.explain(SENTENCES["en"])
    assert found.bias + sum(c.value for c in found.contributions) == pytest.approx(found.score)


def test_what_is_refused(tmp_path):
    path = tmp_path / "m.skops"
    for pipeline, word in (
        (
            make_pipeline(
                HashingVectorizer(alternate_sign=False), TfidfTransformer(sublinear_tf=True), LogisticRegression()
            ),
            "sublinear_tf",
        ),
        (make_pipeline(CountVectorizer(stop_words="english"), LogisticRegression()), "stop_words"),
        (make_pipeline(CountVectorizer(token_pattern=r"\w+"), LogisticRegression()), "token_pattern"),
        (make_pipeline(CountVectorizer(analyzer="char"), LogisticRegression()), "char"),
    ):
        skops.dump(fitted(pipeline, 3), path)
        with pytest.raises(linnet.ModelFileError, match=word):
            linnet.load(path)
    skops.dump(make_pipeline(CountVectorizer(), GaussianNB()), path)
    with pytest.raises(linnet.ModelFileError, match="GaussianNB"):
        linnet.load(path)
    skops.dump(make_pipeline(CountVectorizer(), LogisticRegression()), path)
    with pytest.raises(linnet.ModelFileError, match="not fitted"):
        linnet.load(path)


def test_pickles_need_trust(tmp_path):
    import joblib
    from click.testing import CliRunner

    from linnet.cli import linnet as command
    from linnet.importing import import_model

    pipeline = fitted(PIPELINES["counts, logistic"](), 2)
    path = tmp_path / "m.joblib"
    joblib.dump(pipeline, path)
    with pytest.raises(linnet.ModelFileError, match="can run any code; save the pipeline with skops"):
        import_model(path)
    with pytest.raises(linnet.ModelFileError):
        linnet.load(path)
    done = CliRunner().invoke(command, ["import", str(path), "--trust"], catch_exceptions=False)
    assert done.exit_code == 0
    assert linnet.load(tmp_path / "m.linnet").predict(TEXTS).tolist() == pipeline.predict(TEXTS).tolist()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(linnet.ModelFileError, match="truncated or altered"):
        import_model(path, trust=True)


def test_altered_files(tmp_path):
    skops.dump(fitted(PIPELINES["counts, logistic"](), 2), tmp_path / "m.skops")
    data, rng = (tmp_path / "m.skops").read_bytes(), random.Random(0)
    path, refused = tmp_path / "altered.skops", []
    for _ in range(60):
        other = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            other[rng.randrange(2, len(other))] = rng.randrange(256)
        path.write_bytes(other[: rng.randrange(2, len(other))] if rng.random() < 0.4 else other)
        try:
            linnet.load(path).predict(TEXTS[:3])
        except linnet.LinnetError as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert all("\n" not in line for line in refused)
