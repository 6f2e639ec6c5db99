"""scikit-learn's pipelines of a vectoriser and a linear model, as skops writes them (.skops): nothing in the file is run.

Files of joblib and pickle are read only for a caller who trusts them.

    value of a term = tf * idf / norm,  score = b + sum of value * coef:  a row of linnet is (idf, idf * coef)

The same tokens, terms and scores; what linnet's kernels do not count in the same way is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from linnet.array_types import Floats32
from linnet.errors import ModelFileError, require, shown
from linnet.features.blocks import Block, Chars, Hashing, Words
from linnet.features.counting import joined
from linnet.features.vectorizer import NORMS, TOKEN_PATTERN, features_named
from linnet.model.model import Model
from linnet.model.table import FloatTable

VECTORISERS = ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer")
SOFTMAX = ("LogisticRegression", "MultinomialNB")  # probabilities by softmax, or of two classes by the sigmoid
MARGINS = ("LinearSVC", "SGDClassifier", "RidgeClassifier", "Perceptron", "PassiveAggressiveClassifier")


def read_skops(path: Path) -> Model:
    """Read a pipeline of a vectoriser, perhaps a TfidfTransformer, and a linear model or naive Bayes."""
    io = require("skops.io", "a .skops file", "sklearn")

    def load(path: Path) -> Any:
        odd = io.get_untrusted_types(file=path)
        if odd:
            raise ModelFileError(f"it names code outside scikit-learn: {', '.join(map(shown, odd[:5]))}")
        return io.load(path)

    return _read(path, load)


def read_pickle(path: Path) -> Model:
    """Read a pipeline that joblib or pickle wrote. That runs whatever the file says: only for files that are trusted."""
    return _read(path, require("joblib", "a .joblib file", "sklearn").load)


def _read(path: Path, load: Callable[[Path], Any]) -> Model:
    problem = "truncated or altered"
    try:
        found = load(path)
        problem = "not fitted, or altered"
        return _of_pipeline(found)
    except ModelFileError as error:
        raise ModelFileError(f"cannot import {shown(path, 300)}: {error}") from error
    except Exception as error:  # whatever a damaged archive, a pickle or altered arrays raise
        raise ModelFileError(f"cannot import {shown(path, 300)}: {problem} ({shown(error, 200)})") from error


def _of_pipeline(found: Any) -> Model:
    steps = [step for _, step in getattr(found, "steps", ())]
    names = [type(step).__name__ for step in steps]
    middle = names[1:-1]
    if len(steps) < 2 or names[0] not in VECTORISERS or middle not in ([], ["TfidfTransformer"]):
        given = " + ".join(names) or type(found).__name__
        raise ModelFileError(f"{given}; a pipeline of {' or '.join(VECTORISERS)} and a linear model can be read")
    if names[-1] not in (*SOFTMAX, *MARGINS):
        raise ModelFileError(f"the model {names[-1]}; these can be read: {', '.join((*SOFTMAX, *MARGINS))}")
    tfidf = steps[-2] if middle or names[0] == "TfidfVectorizer" else None
    return _model(steps[0], tfidf, steps[-1], names[-1])


def _model(vectoriser: Any, tfidf: Any, model: Any, name: str) -> Model:
    block, terms = _block(vectoriser)
    n_terms = block.n_features if isinstance(block, Hashing) else len(terms)
    idf = in_norm = np.ones(n_terms)
    tf, norm = "presence" if vectoriser.binary else "count", getattr(vectoriser, "norm", None)
    if tfidf is not None:
        if tfidf.sublinear_tf and isinstance(block, Hashing):
            raise ModelFileError("sublinear_tf of hashed columns, whose counts have signs or are divided by their norm")
        tf = "sublinear" if tfidf.sublinear_tf and not vectoriser.binary else tf
        idf = np.asarray(tfidf.idf_, np.float64) if tfidf.use_idf else idf
        if tfidf.norm is not None:
            norm, in_norm = tfidf.norm, idf
    if norm not in NORMS:
        raise ModelFileError(f"norm={norm!r}")
    if name == "MultinomialNB":
        W, b = np.asarray(model.feature_log_prob_), np.asarray(model.class_log_prior_)
        W, b = (W[1:] - W[:1], b[1:] - b[:1]) if len(W) == 2 else (W, b)
    else:
        W, b = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_) + np.zeros(len(np.atleast_2d(model.coef_)))
        rest = getattr(model, "multi_class", "auto") == "ovr" or getattr(model, "solver", "") == "liblinear"
        if name == "LogisticRegression" and len(W) > 1 and rest:
            raise ModelFileError(
                "one-vs-rest logistic regression of several classes, whose probabilities are no softmax"
            )
    classes = tuple(c.item() if isinstance(c, np.generic) else c for c in model.classes_)
    if W.shape[1] != n_terms or len(idf) != n_terms or len(W) != (1 if len(classes) == 2 else len(classes)):
        raise ModelFileError(
            f"altered: {W.shape[0]} x {W.shape[1]} weights for {len(classes)} classes and {n_terms} terms"
        )
    rows = np.concatenate([in_norm[:, None], (W * idf).T], axis=1, dtype=np.float32)
    if isinstance(block, Hashing):
        table, slots = _hashed(block, rows), np.zeros(0, np.int64)
    else:
        keys = features_named(terms, (block,))[0]
        table = FloatTable.of(keys, np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1:]))
        named = np.argsort(-np.abs(W).max(axis=0), kind="stable")[:20_000]
        slots, terms = table.find(keys[named]), [terms[k] for k in named.tolist()]
    made = Model(
        classes, (block,), tf, NORMS[norm], table, np.ascontiguousarray(b, np.float64),
        *joined([term.encode() for term in terms]), slots, False,
        {"settings": {"model": "sklearn", "features": str(block)}, "imported": {"from": "scikit-learn", "model": name}},
    )  # fmt: skip
    made.check_numbers()
    return made


def _block(v: Any) -> tuple[Block, list[str]]:
    """Return the block that counts as a vectoriser does, and the terms in the order of their columns; none where it hashes."""
    for name in ("tokenizer", "preprocessor", "strip_accents", "stop_words"):
        if getattr(v, name, None) is not None:
            raise ModelFileError(f"the vectoriser has {name}, which linnet does not have in the same way")
    if v.analyzer == "word" and v.token_pattern != TOKEN_PATTERN:
        raise ModelFileError(
            f"token_pattern {shown(v.token_pattern)}; only scikit-learn's own, {TOKEN_PATTERN}, is counted alike"
        )
    if v.analyzer not in ("word", "char_wb"):
        raise ModelFileError(f"analyzer {shown(v.analyzer)}; word and char_wb are counted alike")
    case, (low, high) = "lower" if v.lowercase else "keep", v.ngram_range
    chars = v.analyzer == "char_wb"
    tokens = "whitespace" if chars else "pattern"
    if not hasattr(v, "vocabulary_") and hasattr(v, "alternate_sign"):
        signed = bool(v.alternate_sign) and not v.binary  # binary: every column that occurs counts 1
        return Hashing(low, high, tokens, case, n_features=int(v.n_features), signed=signed, chars=chars), []
    terms = sorted(v.vocabulary_, key=v.vocabulary_.__getitem__)
    numbered = sorted(v.vocabulary_.values()) == list(range(len(terms)))
    if not terms or not numbered or not all(isinstance(t, str) for t in terms):
        raise ModelFileError("altered: its vocabulary has no order")
    return (Chars if chars else Words)(low, high, tokens=tokens, case=case), terms


def _hashed(block: Hashing, rows: Floats32) -> FloatTable:
    """Lay rows out by the numbers of their columns; with signs, the row of a negative column follows that of the positive."""
    out = np.zeros((1 << block.bits, rows.shape[1]), np.float32)
    step = 1 + block.signed
    out[: step * len(rows) : step] = rows
    if block.signed:
        out[1 : 2 * len(rows) : 2] = np.where(np.arange(rows.shape[1]) > 0, -rows, rows)
    return FloatTable(np.zeros(0, np.uint64), out, 64 - block.bits)
