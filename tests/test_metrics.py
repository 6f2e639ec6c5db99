"""Scores against scikit-learn, intervals against scipy, and the odd cases."""

from __future__ import annotations

import functools
import json
import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn import metrics as sk

from linnet.draw.terminal import width_of
from linnet.errors import DataError
from linnet.evaluate import bootstrap, evaluate, f1_wilson, wilson
from linnet.evaluate.metrics import METRICS, PROBABILITY_METRICS, score_of

EXACT = {"rel": 1e-12, "abs": 1e-12}


def sample(seed, n, k, names=None):
    """Labels, probabilities and class names; the first classes are common, the last ones rare."""
    rng = np.random.default_rng(seed)
    classes = names or [f"c{number:03d}" for number in range(k)]
    y = np.minimum(rng.geometric(0.3, n) - 1, k - 1)
    scores = rng.normal(size=(n, k))
    scores[np.arange(n), y] += 1.5
    P = np.exp(scores)
    return [classes[label] for label in y], P / P.sum(axis=1, keepdims=True), classes


# ---- intervals


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_wilson_against_scipy(level):
    for n in (1, 2, 7, 100, 25_000):
        for successes in sorted({0, 1, n // 3, n // 2, n - 1, n}):
            expected = binomtest(successes, n).proportion_ci(level, method="wilson")
            assert wilson(successes, n, level) == pytest.approx(tuple(expected), **EXACT)


def test_wilson_odd_cases():
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(0, 5)[0] == 0.0
    assert wilson(5, 5)[1] == 1.0
    for arguments in ((3, 2), (-1, 2), (1, 2, 0), (1, 2, 1)):
        with pytest.raises(ValueError):
            wilson(*arguments)


def test_f1_interval_is_the_image_of_a_proportion():
    low, high = f1_wilson(8, 4)
    assert low / (2 - low) == pytest.approx(wilson(8, 12)[0])
    assert high / (2 - high) == pytest.approx(wilson(8, 12)[1])
    assert low < 16 / 20 < high
    assert f1_wilson(0, 0) == (0.0, 1.0)


def test_bootstrap_of_a_proportion_is_near_the_exact_one():
    def share(table):
        return table[:, 0] / table.sum(axis=1)

    low, high = bootstrap([700, 300], share, draws=4000)
    expected = binomtest(700, 1000).proportion_ci(method="exact")
    assert low == pytest.approx(expected.low, abs=0.005)
    assert high == pytest.approx(expected.high, abs=0.005)
    assert bootstrap([700, 300], share, seed=3) == bootstrap([700, 300], share, seed=3)
    assert bootstrap([700, 300], share, seed=3) != bootstrap([700, 300], share, seed=4)
    assert bootstrap([1], lambda table: table[:, 0] * np.nan) == (0.0, 1.0)


# ---- scores


@pytest.mark.parametrize(("n", "k"), [(1, 2), (3, 2), (50, 2), (40, 3), (500, 7), (300, 60), (60, 60)])
@pytest.mark.parametrize("seed", [0, 1])
def test_against_scikit_learn(seed, n, k):
    y, P, classes = sample(seed, n, k)
    guess = [classes[column] for column in P.argmax(axis=1)]
    result = evaluate(y, P, classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        precision, recall, f1, support = sk.precision_recall_fscore_support(y, guess, labels=classes, zero_division=0)
        assert result.accuracy == pytest.approx(sk.accuracy_score(y, guess), **EXACT)
        assert result.balanced_accuracy == pytest.approx(sk.balanced_accuracy_score(y, guess), **EXACT)
        for kind in ("macro", "micro", "weighted"):
            expected = sk.f1_score(y, guess, average=kind, zero_division=0)
            assert getattr(result, f"{kind}_f1") == pytest.approx(expected, **EXACT)
        assert result.log_loss == pytest.approx(sk.log_loss(y, P, labels=classes), **EXACT)
        assert result.brier == pytest.approx(sk.brier_score_loss(y, P, labels=classes), **EXACT)
    assert [one.precision for one in result.per_class] == pytest.approx(list(precision), **EXACT)
    assert [one.recall for one in result.per_class] == pytest.approx(list(recall), **EXACT)
    assert [one.f1 for one in result.per_class] == pytest.approx(list(f1), **EXACT)
    assert [one.support for one in result.per_class] == list(support)
    np.testing.assert_array_equal(result.confusion, sk.confusion_matrix(y, guess, labels=classes))
    assert result.accuracy_interval == wilson(round(result.accuracy * n), n)
    for one in result.per_class:
        hits = round(one.recall * one.support)
        assert one.precision_interval == wilson(hits, one.predicted)
        assert one.recall_interval == wilson(hits, one.support)
        assert one.f1_interval[0] - 1e-9 <= one.f1 <= one.f1_interval[1] + 1e-9 or not one.support + one.predicted
    # labels give what their probabilities gave
    plain = evaluate(y, guess, classes)
    assert (plain.accuracy, plain.macro_f1, plain.log_loss) == (result.accuracy, result.macro_f1, None)
    both = evaluate(y, guess, classes, proba=P)
    assert both.to_dict() == result.to_dict()


REFERENCES = {  # every metric of the registry in scikit-learn
    "accuracy": sk.accuracy_score,
    "balanced-accuracy": sk.balanced_accuracy_score,
    "matthews": sk.matthews_corrcoef,
    **{
        f"{kind}-{name}": functools.partial(score, average=kind, zero_division=0)
        for kind in ("macro", "weighted")
        for name, score in (("precision", sk.precision_score), ("recall", sk.recall_score), ("f1", sk.f1_score))
    },
}


@pytest.mark.parametrize("name", METRICS)
@settings(max_examples=60, deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
def test_every_metric_is_that_of_scikit_learn(name, pairs):
    truth, predicted = np.array(pairs).T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = REFERENCES[name](truth, predicted)
    assert score_of(name, truth, predicted, 5) == pytest.approx(expected, **EXACT)
    result = evaluate(truth, predicted, range(5), draws=50)
    value, (low, high) = result.score(name)
    assert value == pytest.approx(expected, **EXACT)
    assert METRICS[name].bounds[0] <= low <= high <= METRICS[name].bounds[1]
    assert result.to_dict()[name.replace("-", "_")] == value


def test_matthews_of_odd_tables():
    guessing = evaluate(["a", "b"] * 50, ["a", "a", "b", "b"] * 25, ["a", "b"])
    assert guessing.matthews == 0
    assert guessing.matthews_interval[0] < 0 < guessing.matthews_interval[1]
    right = evaluate(["a", "b"] * 10, ["a", "b"] * 10, ["a", "b"])
    low, high = right.accuracy_interval
    assert (right.matthews, right.matthews_interval) == (1, (2 * low - 1, 2 * high - 1))
    constant = evaluate(["a", "b"], ["a", "a"], ["a", "b"])  # undefined: nothing is predicted but one label
    assert constant.matthews == 0
    assert "Matthews correlation 0.5774" in evaluate(list("abbb"), list("aabb"), list("ab")).to_text()


def test_unknown_scores_are_refused():
    result = evaluate(["a"], ["a"], ["a"])
    with pytest.raises(AttributeError, match="did you mean 'macro_f1'"):
        getattr(result, "macro_f2")  # noqa: B009
    assert {name: result.score(name) for name in PROBABILITY_METRICS} == dict.fromkeys(
        PROBABILITY_METRICS, (None, None)
    )


def test_probability_of_zero_is_clipped():
    result = evaluate(["a", "b"], [[1.0, 0.0], [1.0, 0.0]], ["a", "b"])
    assert result.log_loss == pytest.approx(sk.log_loss([0, 1], [[1.0, 0.0], [1.0, 0.0]], labels=[0, 1]), **EXACT)
    assert result.brier == pytest.approx(0.5)


def test_calibration_error():
    # 15 bins of two rows: confidence 0.5 + 0.03 b, one of two right in each.
    confidence = np.repeat(0.51 + 0.03 * np.arange(15), 2)
    P = np.stack([1 - confidence, confidence], axis=1)
    y = np.tile([0, 1], 15)
    by_hand = np.mean([0.51 + 0.03 * b - 0.5 for b in range(15)])
    assert evaluate(y, P, [0, 1]).calibration_error == pytest.approx(by_hand)
    order = np.random.default_rng(0).permutation(30)
    assert evaluate(y[order], P[order], [0, 1]).calibration_error == pytest.approx(by_hand)
    # one confidence for all rows: whatever their order, |confidence - accuracy|
    y = np.repeat([0, 1], [60, 40])
    assert evaluate(y, np.tile([0.3, 0.7], (100, 1)), [0, 1]).calibration_error == pytest.approx(0.3)
    assert evaluate([0], [[0.8, 0.2]], [0, 1]).calibration_error == pytest.approx(0.2)


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


def test_order_of_rows_does_not_matter():
    y, P, classes = sample(5, 400, 6)
    order = np.random.default_rng(1).permutation(400)
    first = evaluate(y, P, classes).to_dict()
    second = evaluate([y[row] for row in order], P[order], classes).to_dict()
    assert rounded(first) == rounded(second)  # sums in another order differ in the last bits


def test_labels_of_any_kind():
    y, guess = [3, 1, 1], [3, 3, 1]
    expected = evaluate(y, guess, [1, 3]).to_dict()
    assert evaluate(np.array(y), np.array(guess), np.array([1, 3])).to_dict() == expected
    assert evaluate(pa.array(y), pa.chunked_array([guess]), (1, 3)).to_dict() == expected
    assert evaluate([np.int64(label) for label in y], guess, [1, 3]).to_dict() == expected
    assert expected["classes"] == [1, 3]
    assert evaluate([True, False], [True, True], [False, True]).accuracy == 0.5
    assert evaluate([None, "a"], ["a", "a"], [None, "a"]).accuracy == 0.5


# ---- odd cases


def test_unknown_labels_are_errors():
    y = ["a", "a", "b", "x", "x", "y"]
    P = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.7, 0.3], [0.1, 0.9], [0.5, 0.5]])
    guess = ["a", "b", "b", "a", "b", "a"]
    result = evaluate(y, P, ["a", "b"])
    assert dict(result.unknown_labels) == {"x": 2, "y": 1}
    assert result.n == 6
    assert result.accuracy == pytest.approx(2 / 6)
    assert result.accuracy_interval == wilson(2, 6)
    assert result.confusion.tolist() == [[1, 1], [0, 1]]
    assert result.unknown_confusion.tolist() == [[1, 1], [1, 0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in ("macro", "micro", "weighted"):
            expected = sk.f1_score(y, guess, average=kind, zero_division=0)
            assert getattr(result, f"{kind}_f1") == pytest.approx(expected, **EXACT)
        assert result.balanced_accuracy == pytest.approx(sk.balanced_accuracy_score(y, guess), **EXACT)
    assert [one.predicted for one in result.per_class] == [3, 3]
    wide = np.hstack([P, np.zeros((6, 2))])
    assert result.log_loss == pytest.approx(sk.log_loss(y, wide, labels=["a", "b", "x", "y"]), **EXACT)
    assert 2 * result.brier == pytest.approx(sk.brier_score_loss(y, wide, labels=["a", "b", "x", "y"]), **EXACT)
    assert "3 rows have labels the classifier does not know ('x', 'y'); counted as errors" in result.warnings
    assert "(unknown)" in result.to_text()
    low, high = result.macro_f1_interval
    assert low <= result.macro_f1 <= high
    assert "1 row has a label" in evaluate(["q", "a"], ["a", "a"], ["a"]).warnings[0]
    lost = evaluate([1, 2], ["1", "2"], ["1", "2"])  # numbers against texts: nothing is known
    assert (lost.accuracy, lost.macro_f1, lost.n) == (0, 0, 2)


def test_undefined_scores_are_named():
    result = evaluate(["a", "b"], ["a", "a"], ["a", "b", "c"])
    assert result.per_class[1].precision == 0.0
    assert result.per_class[2].recall == 0.0
    assert result.per_class[2].f1_interval == (0.0, 1.0)
    assert result.warnings == (
        "nothing was predicted as 'b', 'c'; precision is undefined there and set to 0.0",
        "no row is labelled 'c'; recall is undefined there and set to 0.0",
    )
    many = evaluate(["0"], ["0"], [str(number) for number in range(40)])
    assert "'1', '2', '3', '4', '5' and 34 more" in many.warnings[0]
    assert many.macro_f1 == 1.0  # labels seen nowhere say nothing


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], [], ["a"]), "no rows to evaluate"),
        ((["a"], ["a", "a"], ["a"]), "1 true labels but 2 predictions"),
        ((["a"], ["b"], ["a"]), "prediction 'b' \\(row 0\\) is none of the classes 'a'"),
        ((["a"], [0.7], ["a", "b"]), "or probabilities of shape"),
        ((["a"], ["a"], []), "one or more different labels"),
        ((["a"], ["a"], ["a", "a"]), "one or more different labels"),
        ((["a"], [[0.5, 0.5, 0.0]], ["a", "b"]), r"shape \(1, 2\), rows and classes; got \(1, 3\)"),
        ((["a", "a"], [[0.5, 0.5], [2.0, -1.0]], ["a", "b"]), "row 1 holds no probabilities.*but 2, -1; give"),
        ((["a"], [[0.5, 0.2]], ["a", "b"]), "row 0 holds no"),
        ((["a"], [[np.nan, 1.0]], ["a", "b"]), "row 0 holds no"),
        ((["a", None, "b"], ["a", "a", "a"], ["a", "b"]), "1 of 3 rows have no label, first row 1"),
        (([float("nan"), "b"], ["b", "b"], ["b"]), "1 of 2 rows have no label, first row 0"),
    ],
)
def test_clear_errors(arguments, words):
    with pytest.raises(DataError, match=words):
        evaluate(*arguments)


def test_probabilities_twice():
    with pytest.raises(DataError, match="leave proba out"):
        evaluate(["a"], [[1.0, 0.0]], ["a", "b"], proba=[[1.0, 0.0]])


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_any_labels(data):
    k = data.draw(st.integers(1, 5))
    classes = list(range(k))
    y = data.draw(st.lists(st.integers(0, k + 1), min_size=1, max_size=12))
    guess = data.draw(st.lists(st.integers(0, k - 1), min_size=len(y), max_size=len(y)))
    result = evaluate(y, guess, classes, draws=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in ("macro", "micro", "weighted"):
            expected = sk.f1_score(y, guess, average=kind, zero_division=0)
            assert getattr(result, f"{kind}_f1") == pytest.approx(expected, **EXACT)
        assert result.balanced_accuracy == pytest.approx(sk.balanced_accuracy_score(y, guess), **EXACT)
    assert result.confusion.sum() + sum(result.unknown_labels.values()) == result.n == len(y)
    assert result.unknown_confusion.sum() == sum(result.unknown_labels.values())
    low, high = result.macro_f1_interval
    assert 0 <= low <= high <= 1
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == result.to_dict()
    width = data.draw(st.integers(45, 100))
    report = result.to_text(width)
    table = report.split("\n\n")[1]
    assert max(map(width_of, table.splitlines())) <= width
    assert result._repr_html_().startswith("<div>")


# ---- reports


def test_macro_interval_is_lazy_seeded_and_close_to_plain_resampling():
    y, P, classes = sample(2, 400, 4)
    result = evaluate(y, P, classes, seed=1)
    assert "macro_f1_interval" not in vars(result)
    low, high = result.macro_f1_interval
    assert "macro_f1_interval" in vars(result)
    assert (low, high) == evaluate(y, P, classes, seed=1).macro_f1_interval
    rng = np.random.default_rng(0)
    truth, guess = np.array(y), np.array(classes)[P.argmax(axis=1)]
    scores = [sk.f1_score(truth[rows], guess[rows], average="macro") for rows in rng.integers(0, 400, (400, 400))]
    assert [low, high] == pytest.approx(list(np.quantile(scores, [0.025, 0.975])), abs=0.015)
    perfect = evaluate(["a", "b"], ["a", "b"], ["a", "b"])
    assert perfect.macro_f1_interval == perfect.accuracy_interval


def test_accuracy_line():
    y = ["pos"] * 12_500 + ["neg"] * 12_500
    guess = ["pos"] * 11_516 + ["neg"] * 984 + ["neg"] * 11_517 + ["pos"] * 983
    text = evaluate(y, guess, ["neg", "pos"]).to_text()
    assert text.splitlines()[0] == "accuracy 0.9213 [0.9179, 0.9246] on 25,000 rows"
    assert "neg  11,517     983" in text
    assert evaluate(["a"], ["a"], ["a"]).to_text().splitlines()[0].endswith("on 1 row")


def test_large_and_wide_reports():
    y, P, classes = sample(0, 500, 20)
    result = evaluate(y, P, classes)
    text = result.to_text()
    assert "confusion matrix" not in text
    block = next(part for part in text.split("\n\n") if part.startswith("largest confusions"))
    counts = [int(line.split()[-1]) for line in block.splitlines()[2:]]
    off = result.confusion - np.diag(np.diag(result.confusion))
    assert counts == sorted(off.ravel(), reverse=True)[:10]
    names = ["a very long name of a class, " * 3 + str(number) for number in range(12)]
    y, P, _ = sample(1, 300, 12, names)
    for width in (60, 80, 120, 200):
        report = evaluate(y, P, names).to_text(width)
        blocks = report.split("\n\n")[1:3]
        assert max(width_of(line) for part in blocks for line in part.splitlines()) <= width


def test_strange_labels_in_reports():
    classes = ["<b>&", "新闻\n体育", "\x1b[31m", ("a", 1)]
    result = evaluate(classes, classes, classes)
    text, page = result.to_text(), result._repr_html_()
    assert "\x1b" not in text
    assert "新闻 体育" in text
    assert "&lt;b&gt;&amp;" in page
    assert "<b>" not in page
    assert len({width_of(line) for line in text.split("\n\n")[1].splitlines()}) == 1
    assert result.to_dict()["classes"][3] == ["a", 1]
    json.dumps(result.to_dict())


def test_dict_holds_plain_values_only():
    y, P, classes = sample(0, 100, 3)

    def check(value):
        assert type(value) in (dict, list, str, int, float, bool, type(None))
        for item in value.values() if type(value) is dict else value if type(value) is list else ():
            check(item)

    stored = evaluate(np.array(y), P.astype(np.float32), np.array(classes)).to_dict()
    check(stored)
    assert set(stored) == {
        "n", "abstained", "mean_cost", "ordinal",
        "classes", "accuracy", "accuracy_interval", "macro_f1", "macro_f1_interval", "micro_f1", "weighted_f1",
        "balanced_accuracy", "log_loss", "brier", "calibration_error", "level", "per_class", "confusion",
        "largest_confusions", "unknown_labels", "unknown_confusion", "warnings",
        "macro_precision", "macro_precision_interval", "macro_recall", "macro_recall_interval",
        "weighted_precision", "weighted_precision_interval", "weighted_recall", "weighted_recall_interval",
        "micro_precision", "micro_precision_interval", "micro_recall", "micro_recall_interval", "micro_f1_interval",
        "weighted_f1_interval", "balanced_accuracy_interval", "log_loss_interval", "brier_interval",
        "calibration_error_interval", "roc_area", "roc_area_interval", "pr_area", "pr_area_interval",
        "calibration_bins", "top_k", *(name.replace("-", "_") + end for name in METRICS for end in ("", "_interval")),
    }  # fmt: skip
