"""How unlike the training rows a text is: against counting by hand, in Python, by the command and the server."""

from __future__ import annotations

import csv
import io
import itertools
import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.metrics import roc_auc_score

import linnet
from linnet.classifier import TextClassifier
from linnet.cli import linnet as command

WORDS = {"sport": ["match", "goal", "team"], "money": ["bank", "loan", "rate"], "food": ["soup", "bread", "cook"]}
STRANGE = ["planet orbit", "piano concert", "goal of the moon", "quantum bank", "dinosaur bone bread"]


def rows(seed, n=300):
    rng = np.random.default_rng(seed)
    y = rng.choice(list(WORDS), n)
    return [" ".join(rng.choice([*WORDS[k], "the", "a"], 4)) for k in y], y.tolist()


@pytest.fixture(scope="module")
def clf():
    return TextClassifier("svm", features="words:1-2").fit(*rows(0))


def test_the_share_of_known_features(clf):
    known = set(clf.get_feature_names_out())
    texts = [*rows(1, 20)[0], *STRANGE, "", "the zebra the zebra"]
    for text, share in zip(texts, clf.artefact.known_share(texts), strict=True):
        words = text.split()
        features = {*words, *(f"{a} {b}" for a, b in itertools.pairwise(words))}
        assert share == pytest.approx(len(features & known) / len(features) if features else 1.0), text


@pytest.mark.parametrize("settings", [{"features": "words:1-2"}, {"features": "words:1+chars:2-3", "hash_bits": 16}])
@pytest.mark.parametrize("model", ["svm", "nb", "logistic"])
def test_strange_texts_stand_out(model, settings, tmp_path):
    clf = TextClassifier(model, **settings).fit(*rows(0))
    texts = rows(1, 50)[0]
    far = clf.out_of_scope(texts + STRANGE)
    assert ((far >= 0) & (far <= 1)).all()
    told = "hash_bits" not in settings or model != "nb"  # smoothing gives every hashed column a weight
    assert roc_auc_score([0] * 50 + [1] * 5, far) > (0.95 if told else 0.8)
    clf.save(tmp_path / "m.linnet")
    again = linnet.load(tmp_path / "m.linnet")
    assert np.array_equal(again.out_of_scope(texts + STRANGE), far)
    one = TextClassifier(model, n_jobs=1, **settings).fit(*rows(0))
    assert np.array_equal(one.out_of_scope(texts + STRANGE), far)
    assert clf.out_of_scope(["zebra"])[0] > clf.out_of_scope(["match"])[0]


def test_the_command_and_the_server(clf, tmp_path):
    from linnet.serve.predictions import Query, answer_all
    from linnet.serve.schema import requests
    from linnet.serve.settings import Settings

    clf.save(tmp_path / "m.linnet")
    (tmp_path / "new.txt").write_text("\n".join(STRANGE) + "\n")
    done = CliRunner().invoke(
        command, ["predict", str(tmp_path / "m.linnet"), str(tmp_path / "new.txt"), "--out-of-scope", "-q"]
    )
    assert done.exit_code == 0, done.exception
    table = list(csv.DictReader(io.StringIO(done.stdout)))
    far = clf.out_of_scope(STRANGE)
    assert [float(row["out_of_scope"]) for row in table] == pytest.approx(far.tolist(), abs=1e-5)

    class Served:
        name, version, labels = "m", "1", list(clf.artefact.classes)

    Served.clf = clf
    asked = requests(Settings((("m", "m.linnet"),)))[0](texts=STRANGE, out_of_scope=True)
    found = json.loads(answer_all([Query.of(Served(), asked)])[0])["results"]
    assert [one["out_of_scope"] for one in found] == pytest.approx(far.tolist(), abs=1e-5)
