"""Row weights, soft labels and label smoothing on streams: the model of training in memory, from blocks and workers too."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linnet import TextClassifier, read
from linnet.engines import open_engine
from linnet.errors import DataError
from linnet.models import MODELS
from linnet.pipeline import stream
from linnet.pipeline.cache import Budget
from linnet.pipeline.stream import fit_stream
from test_soft_labels import LEARNS, NAMES, teacher
from test_weights import FIXED

BLOCKS = [name for name in LEARNS if MODELS[name].traits.sums != "no"]
CASES = {
    "weight": {"weight": "w"},
    "soft": {"label_columns": "p_*"},
    "smoothed": {"label_smoothing": 0.2},
    "all": {"weight": "w", "label_columns": "p_*", "label_smoothing": 0.1, "class_weight": "balanced"},
}


def write(path, n=240, seed=3, names=NAMES):
    """Rows with a weight, a label and the probability of each label."""
    texts, P = teacher(n, seed, names)
    weights = np.random.default_rng(seed).choice([0.25, 1.0, 2.5], n)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", "w", *(f"p_{name}" for name in names)])
        for text, row, w in zip(texts, P, weights, strict=True):
            writer.writerow([text, names[row.argmax()], w, *map(repr, row.tolist())])
    return path


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return write(tmp_path_factory.mktemp("rows") / "rows.csv")


def split_case(case):
    """Return the settings of the classifier, and those of the rows."""
    mine = {name: value for name, value in CASES[case].items() if name in ("label_smoothing", "class_weight")}
    return mine, {name: value for name, value in CASES[case].items() if name not in mine}


def in_memory(path, clf, shares=(0.9, 0.1), weight=None, label_columns=None):
    data = read(path, also=["w"], label_columns=label_columns, **({} if label_columns else {"label": "label"}))
    train, *dev, test = data.split(0, shares)
    each = None if weight is None else np.concatenate([part.numbers(weight) for part in (train, *dev)])
    clf.fit(train, dev=dev[0] if dev else None, sample_weight=each)
    return clf.evaluate(test)


def bytes_of(clf, folder) -> bytes:
    clf.save(folder / "m.linnet")
    return (folder / "m.linnet").read_bytes()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", LEARNS)
def test_the_bytes_of_training_in_memory(rows, tmp_path, name, case):
    mine, of_rows = split_case(case)
    one, two = (TextClassifier(name, features="words:1", **mine) for _ in range(2))
    scores = in_memory(rows, one, **of_rows)
    found = fit_stream(two, rows, max_memory="1GB", label=None if "label_columns" in of_rows else "label", **of_rows)
    assert bytes_of(one, tmp_path) == bytes_of(two, tmp_path)
    assert found.evaluation.to_dict() == scores.to_dict()


@pytest.mark.parametrize("refit", [True, False])
def test_dev_rows_of_the_same_file_keep_their_weights(rows, tmp_path, monkeypatch, refit):
    monkeypatch.setattr(stream, "FEW_ROWS", 100)
    one, two = (TextClassifier("svm", features="words:1", class_weight="balanced", refit=refit) for _ in range(2))
    in_memory(rows, one, (0.8, 0.1, 0.1), weight="w")
    fit_stream(two, rows, max_memory="1GB", label="label", weight="w")
    assert bytes_of(one, tmp_path) == bytes_of(two, tmp_path)


def test_several_labels_with_weights(tmp_path):
    texts, P = teacher(150, 8, NAMES)
    cells = ["|".join(NAMES[c] for c in np.flatnonzero(row > 0.3)) or NAMES[0] for row in P]
    lines = [f"{t},{cell},{1 + k % 3 / 3}" for k, (t, cell) in enumerate(zip(texts, cells, strict=True))]
    path = tmp_path / "several.csv"
    path.write_text("text,label,w\n" + "\n".join(lines))
    one, two = (TextClassifier("svm", features="words:1", class_weight="balanced") for _ in range(2))
    train, _ = read(path, also=["w"], multilabel="|").split(0, (0.9, 0.1))
    one.fit(train, sample_weight=train.numbers("w"))
    fit_stream(two, path, max_memory="1GB", multilabel="|", weight="w")
    assert bytes_of(one, tmp_path) == bytes_of(two, tmp_path)


def in_blocks(monkeypatch, numbered=True):
    monkeypatch.setattr(Budget, "whole_entries", lambda self, per_entry: 0)
    monkeypatch.setattr(Budget, "block_entries", lambda self, per_entry: 900)
    if not numbered:
        monkeypatch.setattr(Budget, "exact_rows", lambda self: 10)


@pytest.mark.parametrize("names", [NAMES[:2], NAMES])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", BLOCKS)
def test_rows_in_blocks(tmp_path, monkeypatch, name, case, names):
    path, held = write(tmp_path / "rows.csv", names=names), write(tmp_path / "held.csv", 60, 9, names)
    mine, of_rows = split_case(case)
    fixed = {"features": "words:1", "calibrate": False, "params": FIXED[name], **mine}
    fixed["ratio"] = 0.5 if name == "svm" else 0.0
    if name == "logistic":
        fixed["params"] = {"C": 0.5, "tol": 1e-6}
    of_file = {"max_memory": "1GB", "dev": str(held), "test": str(held)}
    whole, blocks, drawn = (TextClassifier(name, **fixed) for _ in range(3))
    fit_stream(whole, path, **of_file, **of_rows)
    in_blocks(monkeypatch)
    assert fit_stream(blocks, path, **of_file, **of_rows).blocks > 1
    in_blocks(monkeypatch, numbered=False)
    fit_stream(drawn, path, **of_file, **of_rows)
    texts, _ = teacher(50, 10, names)
    S, T, U = (clf.decision_function(texts) for clf in (whole, blocks, drawn))
    assert np.array_equal(T, U) or np.abs(T - U).max() < 0.05 * np.abs(T).max()  # blocks are dealt out alike
    if MODELS[name].traits.sums == "epochs":  # steps in another order
        assert (np.sign(S) == np.sign(T)).mean() > 0.75
    else:
        np.testing.assert_allclose(T, S, rtol=0.02, atol=0.02 * np.abs(S).max())


@pytest.mark.parametrize("blocks", [False, True])
@given(weights=st.lists(st.integers(0, 3), min_size=40, max_size=40).filter(lambda w: sum(map(bool, w)) > 20))
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_weight_two_is_a_row_twice(tmp_path, blocks, weights):
    texts, P = teacher(40, 5, NAMES)
    labels = [NAMES[k] for k in P.argmax(axis=1)]
    held = write(tmp_path / "held.csv", 60, 9)
    once = [f"{t},{y},{w}" for t, y, w in zip(texts, labels, weights, strict=True)]
    twice = [f"{t},{y},1" for t, y, w in zip(texts, labels, weights, strict=True) for _ in range(w)]
    for name in ("nb", "svm", "logistic"):
        found = []
        for lines, weight in ((once, "w"), (twice, None)):
            (tmp_path / "rows.csv").write_text("text,label,w\n" + "\n".join(lines))
            clf = TextClassifier(name, features="words:1", calibrate=False, ratio=0.0, params=FIXED[name])
            with pytest.MonkeyPatch.context() as patch:
                if blocks:
                    in_blocks(patch)
                fit_stream(
                    clf, tmp_path / "rows.csv", label="label", weight=weight, max_memory="1GB", dev=str(held), test=str(held)
                )  # fmt: skip
            found.append(clf.decision_function(texts))
        np.testing.assert_allclose(*found, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("here", [True, False])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["svm", "logistic", "nb"])
def test_on_the_workers_of_an_engine(rows, tmp_path, monkeypatch, name, case, here):
    lines = rows.read_text().splitlines()
    for k in range(3):
        (tmp_path / f"part-{k}.csv").write_text("\n".join([lines[0], *lines[1 + 80 * k : 81 + 80 * k]]))
    mine, of_rows = split_case(case)
    fixed = {"features": "words:1", "params": FIXED[name], **mine}
    given = {"max_memory": "1GB", **of_rows, **({} if "label_columns" in of_rows else {"label": "label"})}
    alone, together = (TextClassifier(name, **fixed) for _ in range(2))
    parts = sorted(tmp_path.glob("part-*.csv"))
    fit_stream(alone, parts, **given)
    if not here:
        monkeypatch.setattr(Budget, "whole_entries", lambda self, per_entry: 0)
    with open_engine("local", workers=2, kind="threads") as engine:
        fit_stream(together, parts, engine=engine, **given)
    if here:
        assert bytes_of(alone, tmp_path) == bytes_of(together, tmp_path)
    texts, _ = teacher(50, 10, NAMES)
    np.testing.assert_allclose(together.predict_proba(texts), alone.predict_proba(texts), atol=0.03)


def test_what_is_wrong_is_named(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("text,label,w\n" + "good,pos,1\nbad,neg,2\n" * 10 + "fine,pos,much\n")
    with pytest.raises(DataError, match=r"column 'w' must hold numbers from 0; usable row 21 has 'much'"):
        fit_stream(TextClassifier("nb"), path, max_memory="1GB", weight="w")
    with pytest.raises(DataError, match="unknown column 'v'"):
        fit_stream(TextClassifier("nb"), path, max_memory="1GB", weight="v")
    path.write_text("text,label,w\n" + "good film,pos,0\nbad film,neg,0\n" * 10)
    with pytest.raises(DataError, match="no row has a weight above 0"):
        fit_stream(TextClassifier("nb"), path, max_memory="1GB", weight="w")
    path.write_text("text,p_neg,p_pos\n" + "good film,0.1,0.9\nbad film,0.9,0.1\n" * 10 + "odd film,0.9,0.9\n")
    with pytest.raises(DataError, match="row 21 must hold probabilities from 0 that add up to 1"):
        fit_stream(TextClassifier("nb"), path, max_memory="1GB", label_columns="p_*")
    path.write_text("text,label\n" + "good film,pos|fun\nbad film,neg\n" * 10)
    with pytest.raises(DataError, match="label_smoothing is for one label a row"):
        fit_stream(TextClassifier("nb", label_smoothing=0.1), path, max_memory="1GB", multilabel="|")
