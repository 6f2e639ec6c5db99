"""Training by the workers of an engine: the model of one machine, also when a worker is killed on the way."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linnet import TextClassifier, read
from linnet.engines import open_engine
from linnet.errors import DataError, LinnetError
from linnet.features.blocks import as_blocks
from linnet.features.buffers import text_buffers
from linnet.features.derived import Texts
from linnet.features.plan import FeaturePlan
from linnet.pipeline import remote
from linnet.pipeline.cache import Budget
from linnet.pipeline.crossval import Weighting
from linnet.pipeline.remote import RemoteRows
from linnet.pipeline.stream import fit_stream
from linnet.solvers.losses import Logistic, Softmax, SquaredHinge
from linnet.solvers.matrix import TrainingSet
from linnet.solvers.problem import SmoothObjective, SumProblem
from test_streaming import reviews, write


def both(folder: Path, model: str, engine: object, **given: object) -> tuple[TextClassifier, TextClassifier]:
    """Train alone and with the engine."""
    alone, together = TextClassifier(model, **given), TextClassifier(model, **given)  # type: ignore[arg-type]
    fit_stream(alone, folder, max_memory="1GB")
    fit_stream(together, folder, max_memory="1GB", engine=engine)
    return alone, together


@pytest.mark.parametrize("model", ["nb", "bernoulli", "svm", "logistic"])
@pytest.mark.parametrize("hash_bits", [None, 12])
def test_rows_that_fit_here_give_the_model_of_one_machine_to_the_byte(tmp_path, model, hash_bits):
    folder = write(tmp_path, shards=5)
    with open_engine("local", workers=3, kind="threads") as engine:
        alone, together = both(folder, model, engine, hash_bits=hash_bits)
    alone.save(tmp_path / "a.linnet")
    together.save(tmp_path / "b.linnet")
    assert (tmp_path / "a.linnet").read_bytes() == (tmp_path / "b.linnet").read_bytes()


def objective(clf: TextClassifier, folder: Path, model: str, C: float) -> float:
    """1/2 |w|^2 + C sum loss of an uncalibrated model, computed from its file and the texts alone."""
    data = [read(path, labelled=True) for path in sorted(folder.iterdir())]
    texts = [t for d in data for t in d.text.to_pylist()]
    y = np.array([clf.classes_.tolist().index(v) for d in data for v in d.label_list()])
    S = clf.artefact.scores(texts)
    loss = SquaredHinge() if model == "svm" else Logistic() if S.shape[1] == 1 else Softmax()
    value = loss.value(S, y.astype(np.int32), np.full(len(y), C))
    W = clf.artefact.rows[:, 1:].astype(np.float64)
    norm = clf.artefact.rows[:, :1].astype(np.float64)
    w = np.divide(W, norm, out=np.zeros_like(W), where=norm > 0)  # with two classes the gain is the norm weight
    b = clf.artefact.b if model == "svm" else np.zeros(1)
    return float(0.5 * np.sum(w * w) + 0.5 * np.sum(b * b) + value)


@pytest.mark.parametrize("model", ["svm", "logistic"])
@pytest.mark.parametrize("hash_bits", [None, 11])
def test_objective_is_that_of_one_machine(tmp_path, model, hash_bits, monkeypatch):
    """Rows are in blocks on the disk, because there is no room for them in memory.

    All rows are fitted on (the test is another file), so that the objective can be computed from outside."""
    folder = write(tmp_path, shards=4)
    other = write(tmp_path, 50, seed=1)
    tol = 1e-5 if model == "svm" else 1e-7
    given: dict[str, Any] = {"ratio": 0.5, "calibrate": False, "features": "words:1", "hash_bits": hash_bits}
    alone = TextClassifier(model, params={"C": 1.0, "tol": tol}, **given)
    together = TextClassifier(model, params={"C": 1.0, "tol": tol}, **given)
    fit_stream(alone, folder, max_memory="1GB", test=str(other))
    monkeypatch.setattr(Budget, "whole_entries", lambda self, per_entry: 0)
    with open_engine("local", workers=3, kind="threads") as engine:
        fit_stream(together, folder, max_memory="1GB", test=str(other), engine=engine)
    want, got = objective(alone, folder, model, 1.0), objective(together, folder, model, 1.0)
    assert abs(got - want) <= 1e-6 * want


@pytest.mark.parametrize("model", ["nb", "svm", "perceptron"])
@pytest.mark.parametrize("hash_bits", [None, 12])
def test_blocks_on_disk_and_late_shards_give_the_model_of_a_stream_to_the_byte(tmp_path, model, hash_bits, monkeypatch):
    folder = write(tmp_path, shards=6)
    monkeypatch.setattr(Budget, "whole_entries", lambda self, per_entry: 0)
    monkeypatch.setattr(Budget, "block_entries", lambda self, per_entry: 2_000)
    encode, written = remote.encode_shard, []

    def first_comes_late(task, encoder):
        if task.number == 0:
            time.sleep(0.5)
            written.extend(Path(tmp_path).rglob("shard-*"))
        return encode(task, encoder)

    monkeypatch.setattr(remote, "encode_shard", first_comes_late)
    alone, together = (TextClassifier(model, features="words:1-2", hash_bits=hash_bits) for _ in range(2))
    assert fit_stream(alone, folder, max_memory="1GB").blocks > 4
    with open_engine("local", workers=3, kind="threads") as engine:
        fit_stream(together, folder, max_memory="1GB", engine=engine, cache=str(tmp_path))
    assert written
    alone.save(tmp_path / "a.linnet")
    together.save(tmp_path / "b.linnet")
    assert (tmp_path / "a.linnet").read_bytes() == (tmp_path / "b.linnet").read_bytes()


@pytest.mark.parametrize("loss", [Logistic(), Softmax(), SquaredHinge()], ids=["logistic", "softmax", "squared_hinge"])
def test_gradient_and_curvature_against_differences(loss):
    texts, labels = reviews(60)
    y = (np.array([label == "pos" for label in labels]) + (np.arange(60) % 3 == 0)).astype(np.int32)
    n_outputs = 1 if isinstance(loss, Logistic) else 3
    y = np.minimum(y, 1).astype(np.int32) if n_outputs == 1 else y
    blocks = as_blocks("words:1")
    rows = Texts(text_buffers(texts)).count(blocks).rows
    plan = FeaturePlan()
    X = Weighting(plan.weights(rows, y, 2 if n_outputs == 1 else 3, 0.0), plan, blocks).matrix(rows)
    c = np.linspace(0.5, 2.0, 60)
    objective, given = SmoothObjective(loss, 1.0), TrainingSet(X, y, 2 if n_outputs == 1 else 3, c)
    problem = SumProblem(
        lambda function, *args: function(given, *args), objective, (X.n_features, n_outputs), float(c.sum())
    )
    rng = np.random.default_rng(0)
    w, d = 0.3 * rng.normal(size=problem.size), rng.normal(size=problem.size)
    here = problem.everything(w)
    step = 1e-5
    up, down = problem.everything(w + step * d), problem.everything(w - step * d)
    assert np.isclose((up.value - down.value) / (2 * step), here.gradient @ d, rtol=1e-5)
    product, _ = problem.local(w).curvature()
    if not isinstance(loss, SquaredHinge):  # whose curvature jumps
        difference = problem.total * (up.gradient - down.gradient) / (2 * step)
        assert np.allclose(product(d), difference, rtol=1e-4, atol=1e-4)


def test_an_engine_trains_and_refuses_what_a_stream_does(tmp_path, monkeypatch):
    folder = write(tmp_path, shards=2)
    with open_engine("local", workers=1, kind="threads") as engine:
        fit_stream(TextClassifier("least-squares", features="words:1"), folder, max_memory="1GB", engine=engine)
        monkeypatch.setattr(Budget, "whole_entries", lambda self, per_entry: 0)
        with pytest.raises(LinnetError, match="needs all rows in memory"):
            fit_stream(TextClassifier("least-squares"), folder, max_memory="1GB", engine=engine)
        (folder / "part-1.parquet").write_bytes(b"PAR1 cut short")
        with pytest.raises(DataError, match="part-1"):
            fit_stream(TextClassifier("nb"), folder, max_memory="1GB", engine=engine)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["local", "dask"])
def test_three_workers_one_killed_on_the_way(tmp_path, name, monkeypatch):
    """The worker dies between counting and making rows; another one takes over."""
    if name == "dask":
        pytest.importorskip("distributed")
    folder = write(tmp_path, shards=6)
    given = {"params": {"C": 1.0}, "ratio": 0.5, "calibrate": False, "features": "words:1"}
    killed = []

    def count_then_kill(self):
        found = plain(self)
        if name == "local":
            pid = self.engine.pids[0]
        else:
            pid = next(iter(self.engine._client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)
        return found

    plain = RemoteRows._vocabulary
    monkeypatch.setattr(Budget, "whole_entries", lambda self, per_entry: 0)
    with open_engine(name, workers=3) as engine:
        undisturbed = TextClassifier("svm", **given)
        fit_stream(undisturbed, folder, max_memory="1GB", engine=engine)
        monkeypatch.setattr(RemoteRows, "_vocabulary", count_then_kill)
        disturbed = TextClassifier("svm", **given)
        fit_stream(disturbed, folder, max_memory="1GB", engine=engine)
    assert len(killed) == 1
    assert np.array_equal(undisturbed.artefact.rows, disturbed.artefact.rows)
