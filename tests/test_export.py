"""Exported models answer as linnet does: C compiled here, JavaScript in Node, the page in Chromium."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import linnet
from linnet.cli import linnet as cli
from linnet.datasets import whole
from linnet.export import FORMATS, export_model
from linnet.model.calibration import CalibrationCurve
from linnet.model.decision import Decision

DATA = Path(os.environ.get("LINNET_DATA", "/nonexistent"))
CHROMIUM = Path("/usr/bin/chromium")
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
NODE = shutil.which("node")
needs_compiler = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed (Debian package nodejs)")

SENTENCES = {
    "en": "It isn't the best book I've read; nevertheless, I LOVED every page of it!!! (5/5)",
    "de": "Die Straßenbahn fährt heute größtenteils über die Brücke – SCHÖN, nicht wahr?",
    "el": "Ο ΟΔΥΣΣΕΥΣ ταξίδευε δέκα χρόνια, και οι σύντροφοί του χάθηκαν στη θάλασσα.",
    "ru": "Мой дядя самых честных правил, когда не в шутку занемог… ЁЛКА!",
    "tr": "İstanbul’da IŞIK ve ırmak: güzel bir gün değil mi?",
    "ja": "吾輩は猫である。名前はまだ無い。カタカナ、ひらがな、123。",
    "th": "สวัสดีชาวโลก วันนี้อากาศดีมาก",
    "ar": "هذا كتابٌ جميلٌ جداً، وقد أعجبني كثيراً.",
    "hi": "यह किताब बहुत अच्छी है, मुझे पसंद आई।",
    "emoji": "👩‍👩‍👧‍👦 so good 👍🏽👍🏽 ❤️❤️ :-) ﬁne ＡＢＣ ™ x² 🇩🇪",
}
HARNESS = """
#include "%s.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static void add(void *context, size_t start, size_t end, double value) {
    double *sums = context;
    sums[0] += value;
    sums[1] += start <= end && end <= (size_t)sums[2] ? 0 : 1;
}
int main(void) {
    uint32_t n;
    while (fread(&n, 4, 1, stdin) == 1) {
        char *text = malloc(n + 1);
        double p[%s_CLASSES], sums[3] = {0, 0, n};
        if (n && fread(text, n, 1, stdin) != 1) return 1;
        int32_t label = %s_predict(text, n, p);
        fwrite(&label, 4, 1, stdout);
        fwrite(p, sizeof p, 1, stdout);
        double score = %s_explain(text, n, %s_CLASSES - 1, add, sums);
        score += sums[0];
        if (sums[1]) return 2;
        fwrite(&score, 8, 1, stdout);
        free(text);
    }
    return 0;
}
"""
SCRIPT = """
import { readFileSync, writeFileSync } from "node:fs";
const { predict, explain, labels } = await import(process.argv[2]);
const out = JSON.parse(readFileSync(0, "utf8")).map(text => {
  const p = predict(text), e = explain(text, labels[labels.length - 1]);
  const sum = e.contributions.reduce((s, c) => s + c.value, e.intercept);
  return [p.label === null ? -1 : labels.indexOf(p.label), p.probabilities, sum, Array.from(e.characters)];
});
writeFileSync(1, JSON.stringify(out));
"""


def random_texts(n, seed=0):
    """Texts of any characters: all planes, pieces of words, apostrophes, joiners, marks, blanks of every kind."""
    rng = random.Random(seed)
    odd = "'’＇‍‌­​ \t\n\x00\x7f\x85  _ßİıſΣςﬁŉǰΐ\ufeff\U0001f468\U0001f3fd\u0301\u20e3…!!!??.,0９०"
    pieces = [word for sentence in SENTENCES.values() for word in sentence.split()] + list(odd)
    ranges = [(0, 0x7F), (0x80, 0x24F), (0x250, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x1FFFF), (0x20000, 0x10FFFF)]

    def piece():
        if rng.random() < 0.6:
            return rng.choice(pieces)
        low, high = rng.choice(ranges)
        return "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 4)))

    return ["".join(piece() + rng.choice(["", " "]) for _ in range(rng.randint(0, 25))) for _ in range(n)]


def scripts(n=60):
    """A training set of several scripts: shuffled words of the sentences."""
    rng = random.Random(1)
    labels = [label for label in SENTENCES for _ in range(n)]
    return [
        " ".join(rng.sample(SENTENCES[c].split(), k=max(1, len(SENTENCES[c].split()) // 2))) for c in labels
    ], labels


def fitted(model, **settings):
    return linnet.TextClassifier(model, **settings).fit(*scripts()).artefact


def several(features="words:1+chars:2-3"):
    texts, labels = scripts()
    sets = [[c, "long"] if len(t) > 30 else [c] for t, c in zip(texts, labels, strict=True)]
    return linnet.TextClassifier("logistic", features=features).fit(texts, sets).artefact


def curved(model, slope):
    points = np.array([[-30.0, -20.0], [-1.0, -0.4], [0.0, 0.1], [0.0, 0.2], [2.0, 2.1], [30.0, 30.0 * slope]])
    return replace(model, curve=CalibrationCurve(points))


def two(**settings):
    return linnet.TextClassifier("svm", **settings).fit(whole("reviews")).artefact


MODELS = {
    "two classes, by default": lambda: two(),
    "two classes, curve, thresholds": lambda: replace(
        curved(two(features="words:1"), 0.7), decision=Decision.of(("negative", "positive"), threshold=0.6)
    ),
    "logistic, sublinear": lambda: fitted("logistic", features="words:1-2+chars:1-3", tf="sublinear"),
    "naive Bayes, counts, pattern": lambda: fitted("nb", features="words:1-2:pattern:lower+chars:2-4:keep", tf="count"),
    "nbsvm": lambda: fitted("nbsvm", features="words:1-3"),
    "perceptron, hashed": lambda: fitted("perceptron", features="words:1-2:whitespace:keep+chars:3-5", hash_bits=10),
    "several classes, curve": lambda: curved(fitted("svm", features="words:1-2"), 1.2),
    "across, skips, position": lambda: fitted(
        "svm", features="words:1-2+across:2-5*0.8+chars:3+position:1-2*0.5+skips:1-2*0.5+across:1:keep"
    ),
    "characters and bytes": lambda: fitted("logistic", features="words:1-3:characters+words:2-4:bytes+chars:1:bytes"),
    "several labels": several,
    "compact": lambda: fitted("svm", features="words:1-2+chars:2-4").compact(few=0),
    "compact, hashed": lambda: fitted("nb", features="words:1", hash_bits=9).compact(few=0),
    "word vectors": lambda: fitted("svm", features="words:1+chars:2-3", unlabelled=scripts(30)[0], tf="sublinear"),
}


@pytest.fixture(scope="module", params=list(MODELS))
def model(request):
    return MODELS[request.param]()


def expected(model, texts):
    """Label number, probabilities, score of the last label, as linnet has them; and where two labels have the highest score."""
    scores = model.scores(texts)
    answers = model.answers(scores)
    ordered = np.sort(scores if scores.shape[1] > 1 else np.concatenate([scores, -scores], axis=1), axis=1)
    tied = ordered[:, -1] - ordered[:, -2] < 1e-9 * np.maximum(1.0, np.abs(ordered[:, -1]))
    return answers.best, answers.proba, scores[:, -1], tied


def compiled(model, folder, compiler="gcc", flags=("-O2",)):
    export_model(model, folder / "my model.c")
    name = "my_model"
    source = folder / "main.c"
    keys = ("my model", name.upper(), name, name, name.upper())
    source.write_text(HARNESS % keys)
    program = folder / "program"
    warn = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run(
        [compiler, *warn, *flags, str(source), str(folder / "my model.c"), "-o", str(program), "-lm"], check=True
    )
    return program


def run_c(program, texts, n_classes):
    data = b"".join(struct.pack("<I", len(raw)) + raw for raw in (t.encode() for t in texts))
    done = subprocess.run([str(program)], input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[:2000]
    found = np.frombuffer(done.stdout, np.dtype([("label", "<i4"), ("p", "<f8", (n_classes,)), ("score", "<f8")]))
    assert len(found) == len(texts)
    return found["label"], found["p"], found["score"]


def run_js(model, folder, texts):
    export_model(model, folder / "m.mjs")
    (folder / "run.mjs").write_text(SCRIPT)
    command = [str(NODE), str(folder / "run.mjs"), str(folder / "m.mjs")]
    done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)
    return (
        np.array([r[0] for r in rows]),
        np.array([r[1] for r in rows]),
        np.array([r[2] for r in rows]),
        [r[3] for r in rows],
    )


def same(found, wanted):
    tied = wanted[3]  # by the last digit one of the two comes first, and calibration moves that one alone
    np.testing.assert_allclose(found[1][~tied], wanted[1][~tied], atol=1e-9)
    np.testing.assert_allclose(np.sort(found[1][tied], axis=1), np.sort(wanted[1][tied], axis=1), atol=1e-9)
    np.testing.assert_allclose(found[2], wanted[2], atol=1e-9 * max(1.0, float(np.abs(wanted[2]).max())))
    ordered = np.sort(wanted[1], axis=1)
    near = ((ordered[:, -1] - ordered[:, -2] < 1e-9) | tied) & (wanted[0] >= 0)  # two labels as probable
    assert np.array_equal(found[0][~near], wanted[0][~near])


TEXTS = [*SENTENCES.values(), "", " ", "a", *random_texts(400)]
TEXTS.append(" ".join(TEXTS))


@needs_compiler
def test_c_answers_as_linnet(model, tmp_path):
    same(run_c(compiled(model, tmp_path, COMPILERS[0]), TEXTS, len(model.classes)), expected(model, TEXTS))


@needs_compiler
def test_c_takes_bytes_that_are_no_utf8(tmp_path):
    model = MODELS["characters and bytes"]()
    program = compiled(model, tmp_path, COMPILERS[0])
    rng = np.random.default_rng(0)
    raw = [rng.integers(0, 256, size=n, dtype=np.uint8).tobytes() for n in range(100)]
    data = b"".join(struct.pack("<I", len(r)) + r for r in raw)
    assert subprocess.run([str(program)], input=data, capture_output=True, check=True).stdout


@needs_node
def test_javascript_answers_as_linnet(model, tmp_path):
    *found, characters = run_js(model, tmp_path, TEXTS)
    same(found, expected(model, TEXTS))
    clf = linnet.TextClassifier()
    clf.model_ = model
    for k in (0, 3, 5):  # no characters beyond the first plane: places are the same
        mine = clf.explain(TEXTS[k], model.classes[-1]).characters()
        np.testing.assert_allclose(characters[k], mine, atol=1e-9)


def test_the_module_is_small(tmp_path):
    texts = ["good", "bad"] * 20
    clf = linnet.TextClassifier("nb", features="words:1").fit(texts, ["p", "n"] * 20)
    (path,) = clf.export(tmp_path / "m.js")
    assert path.stat().st_size < 60_000


def test_json_holds_every_weight(tmp_path):
    model = MODELS["logistic, sublinear"]()
    (path,) = export_model(model, tmp_path / "m", "json")
    found = json.loads(path.read_text(encoding="utf-8"))
    rows = {int(row[0], 16): row[1 : 1 + len(found["b"]) + 1] for row in found["features"]}
    for slot in np.flatnonzero(model.slots)[:50]:
        assert np.array_equal(np.array(rows[int(model.slots[slot])], np.float32), model.rows[slot])
    assert found["labels"] == list(model.classes)
    assert any(len(row) > len(found["b"]) + 2 for row in found["features"])  # names


def test_a_table_of_weights(tmp_path):
    clf = linnet.TextClassifier("nb", features="words:1").fit(["good film", "bad film"] * 10, ["p", "n"] * 10)
    (path,) = clf.export(tmp_path / "w.tsv")
    head, intercept, *rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    assert head == ["feature", "key", "norm", "p"]
    assert intercept[0] == "(intercept)"
    assert {row[0] for row in rows} == {"good", "bad", "film"}
    assert (
        float(next(row for row in rows if row[0] == "good")[3])
        > 0
        > float(next(row for row in rows if row[0] == "bad")[3])
    )


def test_what_cannot_be_exported_is_named(tmp_path):
    texts, labels = scripts(10)
    for features, word in (
        ("words:1+not:1-2", "not:1-2"),
        ("words:1:penn", "penn"),
        ("words:1+lengths", "lengths"),
    ):
        clf = linnet.TextClassifier("nb", features=features).fit(texts, labels)
        with pytest.raises(linnet.LinnetError, match=word):
            clf.export(tmp_path / "m.c")
    clf = linnet.TextClassifier("feed-forward", features="words:1", params={"max_iter": 1}).fit(texts, labels)
    with pytest.raises(linnet.LinnetError, match="feed-forward"):
        clf.export(tmp_path / "m.c")
    with pytest.raises(linnet.LinnetError, match="exe"):
        clf.export(tmp_path / "m.exe")
    assert not list(tmp_path.iterdir())


ONNX = {
    "two classes, curve, thresholds": lambda: replace(
        curved(two(features="words:1-2:whitespace:keep"), 0.7),
        decision=Decision.of(("negative", "positive"), threshold={"positive": 0.6}),
    ),
    "no answer": lambda: replace(
        two(features="words:1:whitespace:keep"), decision=Decision.of(("negative", "positive"), threshold=0.7)
    ),
    "several classes, curve, two blocks": lambda: curved(
        fitted("svm", features="words:1:whitespace:keep+words:2-3:whitespace:keep*0.5"), 1.2
    ),
    "sublinear": lambda: fitted("logistic", features="words:1-2:whitespace:keep", tf="sublinear"),
    "counts": lambda: fitted("nb", features="words:2:whitespace:keep", tf="count"),
    "several labels": lambda: several("words:1:whitespace:keep"),
}


@pytest.mark.parametrize("name", list(ONNX))
def test_onnx_answers_as_linnet(name, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = ONNX[name]()
    texts = [*TEXTS, "x\u3000The\xa0z\x85 a\x1cb"]
    (path,) = export_model(model, tmp_path / "m.onnx")
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    found = dict(
        zip([o.name for o in session.get_outputs()], session.run(None, {"text": np.array(texts, object)}), strict=True)
    )
    answers = model.answers(model.scores(texts))
    np.testing.assert_allclose(found["probabilities"], answers.proba, atol=1e-9)
    if model.multilabel:
        assert np.array_equal(found["chosen"], answers.sets)
    else:
        assert found["label"].tolist() == [model.classes[k] if k >= 0 else "" for k in answers.best]


def test_onnx_refuses_what_its_operators_cannot_do(tmp_path):
    pytest.importorskip("onnx")
    for features, bits, word in (
        ("words:1", None, "words:1-2:whitespace:keep"),
        ("words:1:whitespace", None, "StringNormalizer depends"),
        ("chars:2:whitespace:keep", None, "between blanks"),
        ("words:1:whitespace:keep", 8, "hash-bits"),
    ):
        clf = linnet.TextClassifier("nb", features=features, hash_bits=bits).fit(*scripts(5))
        with pytest.raises(linnet.LinnetError, match=word):
            clf.export(tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


def test_labels_cannot_break_out(tmp_path):
    labels = ['a"b\\', "</script><b>", "*/ ??/ \n", "linnet_predict"]
    texts = [f"text {k} word{k}" for k in range(4) for _ in range(10)]
    clf = linnet.TextClassifier("nb", features="words:1").fit(texts, [c for c in labels for _ in range(10)])
    for name in FORMATS.keys() - {"onnx"}:
        clf.export(tmp_path / f"m.{name}")
    assert "<b>" not in (tmp_path / "m.html").read_text(encoding="utf-8")
    if COMPILERS:
        program = compiled(clf.artefact, tmp_path, COMPILERS[0])
        same(run_c(program, texts, 4), expected(clf.artefact, texts))


def test_the_command(tmp_path):
    from click.testing import CliRunner

    clf = linnet.TextClassifier("nb", features="words:1").fit(["good", "bad"] * 10, ["p", "n"] * 10)
    clf.save(tmp_path / "m.linnet")
    done = CliRunner().invoke(cli, ["export", str(tmp_path / "m.linnet"), "--format", "c"], catch_exceptions=False)
    assert done.exit_code == 0
    assert {"m.c", "m.h"} <= {path.name for path in tmp_path.iterdir()}
    assert "m.h" in done.output
    done = CliRunner().invoke(cli, ["export", str(tmp_path / "m.linnet"), "-o", str(tmp_path / "page.html")])
    assert "<textarea" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "name", ["two classes, by default", "perceptron, hashed", "characters and bytes", "several labels"]
)
def test_c_with_sanitizers(name, compiler, tmp_path):
    model = MODELS[name]()
    flags = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    texts = [*TEXTS, *random_texts(3000, seed=5)]
    same(run_c(compiled(model, tmp_path, compiler, flags), texts, len(model.classes)), expected(model, texts))


@pytest.mark.slow
@needs_compiler
@needs_node
@pytest.mark.skipif(not (DATA / "lid_lingua75" / "all.csv").exists(), reason="LINNET_DATA has no lid_lingua75")
def test_real_texts_in_many_scripts_and_random_ones(tmp_path):
    data = linnet.read(DATA / "lid_lingua75" / "all.csv")
    texts, labels = data.text.to_pylist(), data.label_list()
    model = linnet.TextClassifier("nb", features="words:1+chars:1-3", min_df=3).fit(texts[::4], labels[::4]).artefact
    real = random.Random(0).sample(texts, 5000)
    program = compiled(model, tmp_path)
    for some in (real, random_texts(100_000, seed=7)):
        wanted = expected(model, some)
        same(run_c(program, some, len(model.classes)), wanted)
        same(run_js(model, tmp_path, some)[:3], wanted)


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed (Debian package chromium)")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(scheme, tmp_path):
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    model = MODELS["logistic, sublinear"]()
    (path,) = export_model(model, tmp_path / "m.html")
    texts = TEXTS[:150]
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme=scheme).new_page()
        requests, complaints = [], []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        rows = page.evaluate("texts => texts.map(t => linnet.predict(t).probabilities)", texts)
        np.testing.assert_allclose(np.array(rows), expected(model, texts)[1], atol=1e-9)
        page.fill("#text", SENTENCES["ru"])
        page.locator("#answer", has_text=re.compile("^ru$")).wait_for()  # wait_for_function would need eval
        assert page.locator("#marked mark").count() > 2
        assert page.locator("#marked").inner_text() == SENTENCES["ru"]
        page.locator("#bars button").nth(1).click()
        assert page.locator("#bars button[aria-pressed=true]").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert requests == [path.as_uri()]
        assert complaints == []
        browser.close()
