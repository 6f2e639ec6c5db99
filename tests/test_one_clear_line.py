"""Every failure is one clear line: commands x bad inputs, and model files that are signed but are no models."""

from __future__ import annotations

import copy
import json
import os
import random
import subprocess
import sys
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

import linnet
from linnet.cli import linnet as command_line
from linnet.errors import DataError, LinnetError, ModelFileError, nearest, shown
from linnet.model import file as store
from running import run

TEXTS = ["so good", "great fun", "what fun", "so dull", "bad", "what a bore"] * 4
LABELS = (["pos"] * 3 + ["neg"] * 3) * 4
CONTROL = "evil\x1b[31m\x07label"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Every bad input, once."""
    made = tmp_path_factory.mktemp("bad")
    linnet.TextClassifier("nb", features="words:1").fit(TEXTS, LABELS).save(made / "m.linnet")
    rows = [f"{y},{t} {k}" for k, (y, t) in enumerate(zip(LABELS, TEXTS, strict=True))]
    head, table = "label,text\n", "\n".join(rows) + "\n"
    contents = {
        "good.csv": head + table,
        "empty.csv": "",
        "header.csv": head,
        "blank.csv": "\n\n\n",
        "unique.csv": head + "".join(f"{k * 1.37:.3f},text number {k}\n" for k in range(60)),
        "nearly.csv": head + "".join(f"{k % 45 * 1.37:.3f},text number {k}\n" for k in range(60)),
        "names.csv": head + "".join(f"person{k},text number {k}\n" for k in range(60)),
        "twice.csv": head + "".join(f"person{k // 2},text number {k}\n" for k in range(60)),
        "one.csv": head + "".join(f"pos,text number {k}\n" for k in range(60)),
        "control.csv": head
        + "".join(f"{[CONTROL, 'neg'][k % 2]},{['good', 'bad'][k % 2]} text {k}\n" for k in range(60)),
        "nolabel.csv": "a,b\n1,2\n3,4\n",
        "broken.jsonl": '{"text": "a"\n[1]\nx\n',
        "nul.csv": "label,text\n" + "\0" * 300,
        "long.csv": head + f"pos,{'x' * 100_000}\n" + f"{'l' * 100_000},y\n" * 12,
        "cut.linnet": (made / "m.linnet").read_bytes()[:300],
        "text.linnet": "not a model",
    }
    for name, content in contents.items():
        (made / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (made / "bytes.bin").write_bytes(random.Random(0).randbytes(5000))
    (made / "folder").mkdir()
    (made / "locked").mkdir(mode=0o500)
    return made


INPUTS = [
    "good.csv", "empty.csv", "header.csv", "blank.csv", "unique.csv", "nearly.csv", "names.csv", "twice.csv", "one.csv", "control.csv",
    "nolabel.csv", "broken.jsonl", "nul.csv", "long.csv", "bytes.bin", "folder", "missing.csv", "no/such/place.csv", "a\0b.csv", "x" * 300,
    "m.linnet", "bad\x1b[31m.csv",
]  # fmt: skip
COMMANDS = {
    "train": ["train", "{}", "--model", "nb", "--features", "words:1", "--out", "{out}/x.linnet", "--force"],
    "train streamed": ["train", "{}", "--model", "nb", "--features", "words:1",
                       "--max-memory", "1GB", "--force", "--out", "{out}/x.linnet"],
    "train --test": ["train", "good.csv", "--model", "nb", "--features", "words:1", "--test", "{}", "--out", "{out}/x.linnet", "--force"],
    "predict": ["predict", "m.linnet", "{}"],
    "predict --out": ["predict", "m.linnet", "{}", "--out", "{out}/p.parquet", "--keep-columns=all"],
    "evaluate": ["evaluate", "m.linnet", "{}"],
    "explain": ["explain", "m.linnet", "good", "--nearest", "{}"],
    "check": ["check", "{}"],
    "split": ["split", "{}", "--out-dir", "{out}/parts"],
    "compare": ["compare", "{}", "--models", "nb", "--features", "words:1", "--folds", "2"],
    "clean": ["clean", "{}", "--dedup", "exact", "--out", "{out}/c.jsonl"],
    "vocab": ["vocab", "{}"],
    "tokenize": ["tokenize", "{}"],
    "info": ["info", "{}"],
    "features": ["features", "{}", "a text"],
    "predict with": ["predict", "{}", "good.csv"],
}  # fmt: skip
OUTPUTS = ["no/such/x.json", "locked/x.json", "folder", "/dev/full", "a\0b", "x" * 300]
WRITERS = [
    ["train", "good.csv", "--model", "nb", "--features", "words:1", "--out", "{out}/x.linnet", "--json", "{}"],
    ["train", "good.csv", "--model", "nb", "--features", "words:1", "--out", "{}"],
    ["train", "good.csv", "--model", "nb", "--features", "words:1", "--out", "{out}/x.linnet", "--report", "{}"],
    ["evaluate", "m.linnet", "good.csv", "--json", "{}"],
    ["predict", "m.linnet", "good.csv", "--to", "csv", "--out", "{}"],
    ["check", "good.csv", "--json", "{}"],
    ["split", "good.csv", "--out-dir", "{}/parts"],
    ["compare", "good.csv", "--models", "nb", "--folds", "2", "--out", "{}"],
    ["vocab", "good.csv", "--save", "{}"],
    ["clean", "good.csv", "--out", "{out}/c.csv", "--report", "{}"],
    ["filter", "m.linnet", "good.csv", "--keep", "pos", "--quiet", "--out", "{}"],
]


def judged(arguments, folder, tmp_path, monkeypatch):
    """Run a command in the folder; it ends well, or with one clear line."""
    monkeypatch.chdir(folder)
    command = [a.replace("{out}", str(tmp_path)) for a in arguments]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = CliRunner().invoke(command_line, command)
    error = done.exception
    if error is not None and not isinstance(error, SystemExit):
        assert isinstance(error, LinnetError), (command, repr(error)[:500])
        assert 10 < len(str(error)) < 1500, str(error)[:200]
        assert "\n" not in str(error)
    lines = done.output.splitlines()
    assert all(len(line) < 3000 for line in lines if not line.startswith('{"')), max(map(len, lines))
    if command[0] not in ("predict", "tokenize", "clean"):  # these hand data through as they are
        assert "\x1b[31m" not in done.output
    return done


@pytest.mark.parametrize("name", COMMANDS)
def test_bad_inputs(name, folder, tmp_path, monkeypatch):
    for value in INPUTS:
        judged([a.replace("{}", value) for a in COMMANDS[name]], folder, tmp_path, monkeypatch)


@pytest.mark.parametrize("arguments", WRITERS, ids=lambda a: f"{a[0]} {a[-2]}")
def test_bad_outputs(arguments, folder, tmp_path, monkeypatch):
    for value in OUTPUTS:
        if value.startswith("locked") and os.geteuid() == 0:
            continue  # root may write everywhere
        if arguments[0] in ("split", "filter") and value in ("folder", "no/such/x.json", "locked/x.json", "a\0b"):
            continue  # folders are made; no shell hands over a zero byte
        done = judged([a.replace("{}", value) for a in arguments], folder, tmp_path, monkeypatch)
        assert isinstance(done.exception, LinnetError), (arguments, value, done.output)


@pytest.mark.parametrize("name", ["unique.csv", "nearly.csv"])
@pytest.mark.parametrize("command", ["train", "train streamed", "compare"])
def test_numbers_are_no_classes(name, command, folder, tmp_path, monkeypatch):
    done = judged([a.replace("{}", name) for a in COMMANDS[command]], folder, tmp_path, monkeypatch)
    assert "these look like numbers, not classes" in str(done.exception)


def test_labels_for_single_rows(folder, tmp_path, monkeypatch):
    for name in ("names.csv", "twice.csv"):
        done = judged([a.replace("{}", name) for a in COMMANDS["train"]], folder, tmp_path, monkeypatch)
        assert "a class needs several rows" in str(done.exception)


def test_tables_of_labels_are_refused():
    Y = np.eye(2, dtype=int)[[0, 1] * 12]
    for y in (Y * 3, np.array([["a", "b"]] * 24), Y[:, :, None], np.array([["a"], ["b"]] * 12)):
        with pytest.raises(DataError):
            linnet.TextClassifier("nb").fit(TEXTS, y)
    as_lists = linnet.TextClassifier("nb", features="words:1").fit(
        TEXTS, Y.tolist()
    )  # an indicator matrix all the same
    assert as_lists.artefact.multilabel
    assert as_lists.artefact.classes == (0, 1)


def test_a_name_of_a_file_is_not_cut_into_tokens(folder, tmp_path, monkeypatch):
    done = judged(["tokenize", "missing.csv"], folder, tmp_path, monkeypatch)
    assert "there is no file missing.csv" in str(done.exception)
    assert judged(["tokenize", "see missing.csv"], folder, tmp_path, monkeypatch).exit_code == 0
    assert judged(["tokenize", "it's"], folder, tmp_path, monkeypatch).exit_code == 0


def test_names_are_shown_on_one_line():
    assert shown(CONTROL) == "evil\\x1b[31m\\x07label"
    assert len(shown("x" * 1000)) == 80
    assert len(nearest("label", "x" * 100_000, (f"label{k}" for k in range(50_000)))) < 1000


# ---- what only a real process shows


def process(folder, *arguments, before="", **settings):
    code = f"{before}\nfrom linnet.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(os.fspath, arguments)], cwd=folder, stderr=subprocess.PIPE, text=True, timeout=120,
        check=False, **settings,
    )  # fmt: skip


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")  # noqa: PTH110
@pytest.mark.parametrize(
    "arguments", [["info", "m.linnet", "--json"], ["predict", "m.linnet", "good.csv"]], ids=lambda a: a[0]
)
def test_a_full_disk_behind_standard_output(arguments, folder):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = process(folder, *arguments, stdout=full)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "linnet: cannot write standard output: No space left on device"
    assert "Traceback" not in done.stderr


def test_standard_output_is_closed(folder):
    done = process(folder, "info", "m.linnet", preexec_fn=lambda: os.close(1))
    assert done.returncode == 2
    assert done.stderr == "linnet: standard output is closed; send it to a file, or to /dev/null\n"


def test_ctrl_c_while_importing(folder):
    for module in ("click", "linnet.cli.info", "numpy"):
        stop = (
            f"import sys\nclass Stop:\n    def find_spec(self, name, *_):\n        if name == {module!r}: raise KeyboardInterrupt\n"
            "sys.meta_path.insert(0, Stop())"
        )
        done = process(folder, "info", "m.linnet", before=stop)
        assert done.returncode == 130
        assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are Unicode")
def test_names_of_files_that_are_not_utf8(folder, tmp_path):
    bad = os.fsencode(tmp_path) + b"/bad\xff.csv"
    with open(bad, "wb") as file:  # noqa: PTH123
        file.write((folder / "good.csv").read_bytes())
    for arguments in (
        ["filter", folder / "m.linnet", bad, "--keep", "pos", "--out", tmp_path / "kept"],
        ["predict", folder / "m.linnet", bad, "--out", tmp_path / "p.csv"],
        ["evaluate", folder / "m.linnet", bad],
    ):
        done = process(folder, *arguments, stdout=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
    assert os.path.exists(os.fsencode(tmp_path) + b"/kept/bad\xff.csv")  # noqa: PTH110


# ---- model files with a right checksum

BAD = [None, True, -1, 0, 2**63, 1e308, "", "x", "y" * 100_000, CONTROL, [], [1], {}, {"a": 1}]
TYPES = [np.uint8, np.uint16, np.uint32, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64]


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    made, out = tmp_path_factory.mktemp("bases"), []
    three = ["a", "b", "c"] * 8
    for name, settings, labels in (
        ("nb", {"features": "words:1+lengths"}, LABELS),
        ("svm", {"features": "words:1-2+chars:2-3"}, three),
        ("nb", {"features": "words:1", "hash_bits": 8}, LABELS),
        ("feed-forward", {"features": "words:1"}, three),
        ("nb", {"features": "words:1+functions:linnet.features.functions.word_count"}, LABELS),
    ):
        path = made / f"{len(out)}.linnet"
        try:
            linnet.TextClassifier(name, **settings).fit(TEXTS, labels).save(path)
        except LinnetError:
            continue
        out.append(store.read(path))
    return out


def places(value, at=()):
    if at:
        yield at
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*at, key))


def altered(base, rng):
    """Return arrays and a card with one or two things wrong."""
    arrays, card = {k: np.array(v) for k, v in base.tensors.items()}, json.loads(json.dumps(base.card))
    for _ in range(rng.choice([1, 1, 2])):
        if rng.random() < 0.5:
            name = rng.choice(sorted(arrays))
            a = arrays[name]
            flat = np.ascontiguousarray(a).reshape(-1)
            number = rng.choice([np.nan, np.inf, -np.inf, np.finfo(a.dtype).max]) if a.dtype.kind == "f" else 255
            changed = flat.copy()
            changed[rng.randrange(len(flat)) if len(flat) else slice(0)] = number
            noise = flat.copy().view(np.uint8)
            noise[rng.randrange(noise.size) if noise.size else slice(0)] = rng.randrange(256)
            arrays[name] = rng.choice([
                a.astype(rng.choice(TYPES)), flat.view(np.uint8), a[None], flat, a[:0], a[:-1], np.concatenate([a, a[:1]]),
                np.zeros_like(a), changed.reshape(a.shape), noise.view(a.dtype).reshape(a.shape),
            ])  # fmt: skip
            if rng.random() < 0.1:
                del arrays[name]
            if not arrays:
                return None
        else:
            inside = card if rng.random() < 0.3 else card.get("model", card)
            found = list(places(inside))
            if not found:
                continue
            *way, last = rng.choice(found)
            for key in way:
                inside = inside[key]
            if rng.random() < 0.15:
                del inside[last]
            else:
                inside[last] = copy.deepcopy(rng.choice(BAD))  # or a second change could put it into itself
    return arrays, card


def check_altered(bases, rng, path, n):
    for _ in range(n):
        with np.errstate(all="ignore"):
            found = altered(rng.choice(bases), rng)
        if found is None:
            continue
        try:
            store.write(path, *found)
        except ModelFileError:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said = ""
            try:
                clf = linnet.load(path)
                P = clf.predict_proba(["so good and dull", "", "fun " * 50])
                assert np.isfinite(P).all()
                assert (P >= 0).all()
                clf.predict(["good"])
                clf.explain("so good")
            except LinnetError as error:
                said = str(error)
            assert len(said) < 1500
            assert not {"\n", "\x1b"} & set(said)
            done = CliRunner().invoke(command_line, ["info", str(path)])
        assert done.exception is None or isinstance(done.exception, LinnetError | SystemExit), repr(done.exception)
        assert "\x1b" not in done.output
        assert all(len(line) < 6000 for line in done.output.splitlines())


@pytest.mark.timeout(120)
def test_signed_files_that_are_no_models(bases, tmp_path):
    check_altered(bases, random.Random(0), tmp_path / "x.linnet", 400)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 7))
def test_more_signed_files_that_are_no_models(seed, bases, tmp_path):
    check_altered(bases, random.Random(seed), tmp_path / "x.linnet", 1500)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["features", "words:1", "a text"], 0), (["train", "missing.csv"], 2), (["train", "--nonsense"], 2)],
)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_nobody_reads(tmp_path, arguments, code, stream):
    reader, writer = os.pipe()
    os.close(reader)
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: writer}
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}  # with buffers, as in a user's shell
    done = subprocess.run([sys.executable, "-m", "linnet", *arguments], cwd=tmp_path, env=plain, check=False, **streams)
    os.close(writer)
    assert done.returncode == code


def test_a_warning_is_one_line_and_comes_of_the_last_fits_only(folder, tmp_path):
    options = ["--features", "words:1", "--set", "C=1,1000000", "--set", "max_iter=1", "--no-check"]
    done = run("train", "good.csv", *options, "--out", tmp_path / "w.linnet", cwd=folder, text=True, code=0)
    warned = [line for line in done.stderr.splitlines() if "max_iter" in line and "stopped" in line]
    assert len(warned) <= 2  # judged, and once more on all rows
    assert all(line.startswith("linnet: warning: LinearSVM stopped after") for line in warned)
    assert ".py" not in done.stderr
