"""Watching training: histories on models, dev scores after every pass, Ctrl-C, and what the command line shows."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import linnet
import running
from generated import counts
from linnet import TextClassifier
from linnet.cli.output import TrainingProgress
from linnet.datasets import load
from linnet.draw.terminal import sparkline
from linnet.errors import LinnetError
from linnet.models import LinearSVM, LogisticRegression
from linnet.solvers import LBFGS, SGD, Adam, Curves, Newton
from linnet.solvers.callbacks import curve

TRAIN, DEV, TEST = load("reviews")


@pytest.mark.parametrize(
    "model",
    [
        LinearSVM(),
        LinearSVM(solver="sgd"),
        LinearSVM(solver=LBFGS()),
        LogisticRegression(),
        LogisticRegression(solver=SGD()),
        LogisticRegression(solver=Adam(batch_size=16), max_iter=12),
        LogisticRegression(solver=Newton()),
    ],
    ids=repr,
)
def test_models_keep_their_history(model):
    X, y = counts()
    model.fit(X, y)
    assert [p.number for p in model.history_] == list(range(1, model.n_iter_ + 1))
    assert model.history_[-1].loss < model.history_[0].loss
    first = model.history_
    model.fit(X, y)
    assert model.history_ is not first
    assert model.history_ == first


def passes(clf):
    return [h for h in clf.history_ if h["kind"] == "pass"]


@pytest.mark.parametrize("model", ["svm", "logistic", LogisticRegression(solver="lbfgs")], ids=repr)
def test_dev_accuracy_after_every_pass(model):
    clf = TextClassifier(model, features="words:1", refit=False, params={"C": 1.0}, ratio=0.5).fit(TRAIN, dev=DEV)
    assert len(passes(clf)) > 2
    # the last one is that of the model itself, which never saw the dev rows
    assert passes(clf)[-1]["dev_accuracy"] == pytest.approx(clf.score(DEV.text, DEV.label.to_pylist()))
    assert len({h["dev_accuracy"] for h in passes(clf)}) > 1
    refitted = TextClassifier(model, features="words:1", params={"C": 1.0}, ratio=0.5).fit(TRAIN, dev=DEV)
    assert all("dev_accuracy" not in h for h in passes(refitted))


@pytest.mark.filterwarnings("ignore::linnet.solvers.callbacks.ConvergenceWarning")
@pytest.mark.parametrize("solver", [None, "sgd", "adam", "lbfgs", "momentum"])
def test_ctrl_c_keeps_what_did_best_on_dev(solver):
    """Interrupted in pass 16, the model is that of the best pass before, not of the last."""
    model = "svm" if solver is None else "logistic"
    params = {"C": 30.0} if solver is None else {"C": 30.0, "solver": solver}
    if solver is None:
        params["tol"] = 1e-6

    def stop(event):
        if event.kind == "pass" and event.done == 16:
            raise KeyboardInterrupt

    clf = TextClassifier(model, features="chars:2-3", refit=False, params=params, ratio=0.0, calibrate=False)
    clf.fit(TRAIN, dev=DEV, on_event=stop)
    scores = [h["dev_accuracy"] for h in passes(clf)]
    assert len(scores) == 16
    assert clf.score(DEV.text, DEV.label.to_pylist()) == pytest.approx(max(scores))


@pytest.mark.filterwarnings("ignore::linnet.solvers.callbacks.ConvergenceWarning")
def test_some_best_pass_was_not_the_last():
    """So that the test above can fail."""
    found = []
    for solver in ("adam", "momentum"):
        clf = TextClassifier(
            "logistic", features="chars:2-3", refit=False, params={"C": 30.0, "solver": solver, "max_iter": 16}
        )
        found.append([h["dev_accuracy"] for h in passes(clf.fit(TRAIN, dev=DEV))])
    assert any(scores[-1] < max(scores) for scores in found)


# ---- plots


def test_curves_of_every_history():
    X, y = counts()
    model = LogisticRegression().fit(X, y)
    assert Curves.of(model.history_).losses == tuple(p.loss for p in model.history_)
    assert "dev accuracy" not in str(Curves.of(model.history_))
    clf = TextClassifier("svm", features="words:1", refit=False).fit(TRAIN, dev=DEV)
    curves = Curves.of(clf.history_)
    assert curves.scores == tuple(h["dev_accuracy"] for h in passes(clf))
    assert str(curves).count("best") == 2
    page = clf._repr_html_()
    assert page.count("<svg") == 2
    assert f"dev accuracy {curves.scores[0]:.4g} to {curves.scores[-1]:.4g}" in page
    with pytest.raises(LinnetError, match="the history has no passes"):
        Curves.of(TextClassifier("nb", features="words:1").fit(TRAIN).history_)


def test_a_picture_by_hand():
    drawn = curve([(1, 4.0), (2, 2.0), (3, 3.0)], "pass", "loss", "a < b", mark=2)
    assert 'points="54.0,27.0 248.0,189.0 442.0,108.0"' in drawn  # a margin of 8 % above 4 and below 2
    assert 'd="M248.0,202.0L248.0,14.0"' in drawn
    assert "a &lt; b" in drawn
    assert "nan" not in curve([(1, 4.0)], "pass", "loss", "one pass", mark=1)


# ---- the command line


def test_sparkline():
    assert sparkline([1.0]) == "▁"
    assert sparkline([0.0, 1.0]) == "▁█"
    assert sparkline([2.0, 2.0, 2.0]) == "▁▁▁"
    long = sparkline([float(k) for k in range(1000)])
    assert len(long) == 40
    assert (long[0], long[-1]) == ("▁", "█")
    assert list(long) == sorted(long)


def test_lines_of_passes(capsys):
    from linnet.classifier import Event

    with TrainingProgress(watch=True) as progress:
        for k, (loss, accuracy) in enumerate([(10.0, 0.5), (5.0, 0.75), (4.0, 0.7)], 1):
            values = {"loss": 9 * loss, "mean_loss": loss, "violation": 0.1, "dev_accuracy": accuracy}
            progress(Event("pass", f"pass {k}", k, 0, values))
    lines = capsys.readouterr().err.splitlines()
    assert lines[1] == "  pass    2   mean loss 5            dev accuracy 0.7500"
    assert lines[3] == "  3 passes, mean loss 4, dev accuracy 0.7000"
    assert lines[4] == "  loss          █▂▁ 10 to 4, best 4 at pass 3"
    assert lines[5] == "  dev accuracy  ▁█▇ 0.5 to 0.7, best 0.75 at pass 2"


def run(*arguments, cwd):
    return running.run(*arguments, cwd=cwd, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watching")
    for name, data in (("train", TRAIN), ("dev", DEV), ("test", TEST)):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as f:
            writer = csv.writer(f)
            writer.writerow(["label", "text"])
            writer.writerows(zip(data.label.to_pylist(), data.text.to_pylist(), strict=True))
    return folder


@pytest.mark.parametrize(
    ("files", "dev_rows"), [((), 183), (("--test", "test.csv"), 183), (("--dev", "dev.csv"), len(DEV))], ids=str
)
def test_watch(folder, files, dev_rows):
    done = run("train", "train.csv", "--features", "words:1", "--watch", *files, cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = [
        line
        for line in done.stderr.splitlines()
        if re.match(r"  pass +\d+   mean loss [\d.e+]+ +dev accuracy 0\.\d{4}", line)
    ]
    assert len(lines) > 2
    assert re.search(r"dev accuracy  [▁-█]+ 0\.\d+ to", done.stderr)
    assert f"on {dev_rows} rows)" in done.stderr
    fitted = re.search(r"fitting on ([\d,]+) rows", done.stderr)[1]
    assert fitted == {(): "1,462", ("--test", "test.csv"): "1,645", ("--dev", "dev.csv"): "1,645"}[files]


def test_solver_on_the_command_line(folder):
    done = run(
        "train", "train.csv", "--model", "logistic", "--solver", "lbfgs", "--features", "words:1", "-q", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert "test accuracy" in done.stdout
    wrong = run("train", "train.csv", "--solver", "lbfg", "--features", "words:1", cwd=folder)
    assert wrong.returncode == 2
    assert "did you mean 'lbfgs'" in wrong.stderr
    none = run("train", "train.csv", "--model", "nb", "--solver", "adam", cwd=folder)
    assert none.returncode == 2
    assert "unknown setting 'solver'" in none.stderr


# ---- numerics


def test_exponentials_are_taken_in_one_place():
    """Sigmoid, softmax and log-sum-exp come from solvers/numerics: nothing else raises e to a score.

    Logarithms of probabilities, and squared distances below zero, may be: they are never above 0.
    """
    never_above_zero = {
        "naive_bayes.py",
        "naive_bayes_columns.py",
        "multinomial.py",
        "categorical.py",
        "kernels.py",
        "vocabulary.py",
        "candidate.py",
        "drift.py",
        "significance.py",
        "intervals.py",
    }
    root = Path(linnet.__file__).parent
    found = []
    for path in sorted(root.rglob("*.py")):
        if path.name not in never_above_zero | {"numerics.py"}:
            text = path.read_text(encoding="utf-8")
            found += [
                f"{path.name}: {m}"
                for m in re.findall(
                    r"np\.exp\(|np\.logaddexp|math\.exp\(|expit|scipy\.special import .*(?:softmax|logsumexp)", text
                )
            ]
    assert found == []


def test_models_at_scores_of_a_thousand_and_beyond():
    """Weights of 1e6: probabilities are 0 and 1, their logarithms keep their digits, nothing warns."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    two = LogisticRegression().fit(X, [0, 0, 1, 1])
    three = LogisticRegression().fit(X, [0, 1, 1, 2])
    with np.errstate(all="raise", under="ignore"):
        for size in (1e3, 1e6, 1e300):
            two.coef_, two.intercept_ = np.array([[size]]), np.zeros(1)
            assert two.predict_proba([[-1.0], [0.0], [1.0]]).tolist() == [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
            assert two.predict_log_proba([[1.0]]).tolist() == [[-size, 0.0]]
            three.coef_, three.intercept_ = np.array([[size], [0.0], [-size]]), np.zeros(3)
            assert three.predict_proba([[1.0]]).tolist() == [[1.0, 0.0, 0.0]]
            assert three.predict_log_proba([[1.0]]).tolist() == [[0.0, -size, -2 * size]]


def test_profile_of_the_stages(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from linnet.cli.train import train

    monkeypatch.chdir(tmp_path)
    data = Path(linnet.__file__).parent / "datasets" / "reviews.csv"
    options = ["--features", "words:1", "--model", "nb", "--profile", "--no-check", "--json", "run.json"]
    for more in ([], ["--max-memory", "1GB"]):
        found = CliRunner().invoke(train, [str(data), "--out", "m.linnet", *options, *more])
        assert found.exit_code == 0, found.output
        stages = {one["stage"]: one for one in json.loads(Path("run.json").read_text())["profile"]}
        assert set(stages) == {"read", "count", "search", "fit", "calibrate", "test", "save"}
        assert all(
            one["wall_s"] > 0.0 and one["processor_s"] >= 0.0 and one["peak_mb"] > 1.0 for one in stages.values()
        )
        assert re.search(r"profile\n  stage +wall +processor +peak\n  read ", found.output)


def test_the_calibration_of_the_search_serves_the_last_fit(monkeypatch):
    clf = TextClassifier("svm", features="words:1", params={"C": 1.0}, ratio=0.5).fit(TRAIN)
    again = clf.refitted(TRAIN)
    assert again.card["calibration"] == clf.card["calibration"]
    monkeypatch.setattr("linnet.pipeline.fit.calibrate", None)  # is not asked again
    assert np.array_equal(clf.refitted(TRAIN).decision_function(TEST.text), again.decision_function(TEST.text))
