"""A model file never runs code: nothing is imported because a file names it, unless the caller says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import linnet
from linnet.cli import linnet as command_line
from linnet.errors import LinnetError, ModelFileError, UntrustedModelError
from linnet.features import functions
from linnet.features.functions import word_count
from linnet.model import file as store
from linnet.model.model import Model

TEXTS = ["so good", "great fun", "what fun", "so dull", "bad", "what a bore"] * 3
LABELS = (["pos"] * 3 + ["neg"] * 3) * 3
EVIL = (
    "import pathlib\npathlib.Path(r'{}').write_text('ran')\ndef f(tokens):\n    return 1\ndef load(*a):\n    return f\n"
)


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    path = tmp_path_factory.mktemp("trust") / "honest.linnet"
    features = "words:1+functions:linnet.features.functions.word_count"
    linnet.TextClassifier("nb", features=features).fit(TEXTS, LABELS).save(path)
    return path


def crafted(honest: Path, out: Path, *, paths=None, block=None, computed=None, settings=None) -> Path:
    """Write the honest file again with other names in its card; the checksum is right."""
    stored = store.read(honest)
    card = json.loads(json.dumps(stored.card))
    about = card["model"]
    if paths is not None:
        about["computed"][0]["functions"] = paths
    if computed is not None:
        about["computed"] = [computed]
    if block is not None:
        about["blocks"] = [block]
    card["settings"] |= settings or {}
    store.write(out, dict(stored.tensors), card)
    return out


FUNCTIONS = {
    "spawn": "setuptools._distutils.spawn:spawn",
    "pip": "pip._internal.cli.main:main",
    "here": "evil:f",
    "python": "os:system",
    "linnet": "linnet.files:write_atomic",
    "attribute": "evil:f.__globals__",
    "nonsense": "; import os",
    "long": "a" * 100_000 + ":f",
    "control": "evil\x1b[31m\n:f",
}
OTHERS = {
    "pipeline": {"block": {"block": "pos", "low": 1, "high": 1, "pipeline": "en_core_evil", "weight": 1.0}},
    "folder": {"block": {"block": "adjectives", "low": 1, "high": 1, "pipeline": "./pipe", "weight": 1.0}},
    "language": {"block": {"block": "lemmas", "low": 1, "high": 1, "language": "../../evil", "weight": 1.0}},
    "newline": {"block": {"block": "stems", "low": 1, "high": 1, "language": "en\n", "weight": 1.0}},
    "class": {"block": {"block": "evil:f", "low": 1, "high": 1}},
    "misplaced": {"block": {"block": "functions", "functions": ["evil:f"], "weight": 1.0}},
    "computed": {"computed": {"block": "evil", "functions": ["evil:f"], "weight": 1.0}},
    "model": {"settings": {"model": "evil:f", "features": "functions:evil.f", "lists": "evil.py"}},
}

AUDITED = r"""
import json, os, pathlib, sys
import linnet, linnet.serve.catalogue
from click.testing import CliRunner
from linnet.cli import linnet as command_line
from linnet.errors import LinnetError
from linnet.filter.settings import Rule
from linnet.filter.settings import FilterSettings
from linnet.model.model import Model
from linnet.studio.state import Studio

names, here = sys.argv[1:], str(pathlib.Path.cwd())
events, watching = [], False


def hook(event, arguments):
    if not watching:
        return
    if event == "import":
        events.append(["import", str(arguments[0])])
    elif event == "exec":
        events.append(["exec", str(getattr(arguments[0], "co_filename", "?"))])
    elif event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "ctypes.dlopen", "pickle.find_class"):
        events.append([event, str(arguments)])


def every_road(path):
    studio = Studio("studio", threads=1)
    roads = [
        lambda: Model.load(path), lambda: linnet.load(path).predict(["rm -rf", "x"]), lambda: linnet.load(pathlib.Path(path).read_bytes()),
        lambda: Model.load(path, names_only=True), lambda: linnet.serve.catalogue.Catalogue([("m", path)], "."),
        lambda: studio.open(path), lambda: FilterSettings(path, Rule({"pos": 0.5}), "out").artefact,
    ]
    for road in roads:
        try:
            road()
        except LinnetError as error:
            assert len(str(error)) < 2000 and "\x1b" not in str(error), error
    commands = [["info", path], ["info", path, "--json"], ["predict", path, "t.txt"], ["evaluate", path, "t.csv"], ["explain", path, "x"],
                ["features", path, "x"]]
    for command in commands:
        done = CliRunner().invoke(command_line, command)
        assert done.exception is None or isinstance(done.exception, (LinnetError, SystemExit)), (command, done.exception)


sys.addaudithook(hook)
every_road("honest.linnet")
watching = True
for name in names:
    every_road(name)
watching = False
print(json.dumps([here, events]), flush=True)
os._exit(0)  # as a command ends: threads of Arrow may be at work
"""


def test_no_file_causes_an_import(honest, tmp_path):
    """Walk every import, execution and process that loading crafted files causes, on every road that loads a model."""
    ran = tmp_path / "ran"
    for module in ("evil", "en_core_evil"):
        (tmp_path / f"{module}.py").write_text(EVIL.format(ran))
    (tmp_path / "pipe").mkdir()
    (tmp_path / "pipe" / "meta.json").write_text("{}")
    (tmp_path / "t.txt").write_text("some text\n")
    (tmp_path / "t.csv").write_text("label,text\npos,good\nneg,bad\n")
    (tmp_path / "honest.linnet").write_bytes(honest.read_bytes())
    names = [crafted(honest, tmp_path / f"f-{k}.linnet", paths=[v]).name for k, v in FUNCTIONS.items()]
    names += [crafted(honest, tmp_path / f"o-{k}.linnet", **v).name for k, v in OTHERS.items()]
    command = [sys.executable, "-c", AUDITED, *names]  # with -c the current folder is on the path: the worst case
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    here, events = json.loads(done.stdout.splitlines()[-1])
    assert not ran.exists()
    for kind, what in events:
        if kind == "import":
            assert what.partition(".")[0] in {"linnet", "simplemma", "Stemmer", *sys.stdlib_module_names}, what
        else:
            assert kind == "exec", (kind, what)
            assert not what.startswith(here), what
            assert "setuptools" not in what, what
            assert "/pip/" not in what, what


def test_the_error_names_the_functions_and_the_remedy(honest, tmp_path):
    path = crafted(honest, tmp_path / "m.linnet", paths=["evil:f", "other:g"])
    with pytest.raises(UntrustedModelError) as caught:
        linnet.load(path)
    assert caught.value.names == ("evil:f", "other:g")
    assert isinstance(caught.value, ModelFileError)
    for part in (str(path), "evil:f, other:g", "nothing was imported", "--trust", "trust=True", "register_function"):
        assert part in str(caught.value)


@pytest.fixture
def trusted(tmp_path, monkeypatch):
    (tmp_path / "trusted_features.py").write_text("def f(tokens):\n    return len(tokens)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    monkeypatch.delitem(sys.modules, "trusted_features", raising=False)
    yield tmp_path
    sys.modules.pop("trusted_features", None)


def test_trust_is_said_by_the_caller(honest, trusted):
    path = str(crafted(honest, trusted / "m.linnet", paths=["trusted_features:f"]))
    (trusted / "t.txt").write_text("some text\n")
    for command in (["predict", path, "t.txt"], ["explain", path, "good"], ["features", path, "good"]):
        refused = CliRunner().invoke(command_line, command)
        assert isinstance(refused.exception, UntrustedModelError)
        assert "trusted_features" not in sys.modules
        assert str(trusted) not in sys.path
    shown = CliRunner().invoke(command_line, ["info", path])
    assert shown.exit_code == 0, shown.exception
    assert "trusted_features:f" in shown.output
    assert "trusted_features" not in sys.modules
    done = CliRunner().invoke(command_line, ["predict", path, "t.txt", "--trust"])
    assert done.exit_code == 0, done.exception
    assert linnet.load(path, trust=True).artefact.computed[0].columns == ("f",)


def test_registered_functions_need_no_trust(honest, tmp_path, monkeypatch):
    monkeypatch.setattr(functions, "_REGISTERED", dict(functions._REGISTERED))
    path = crafted(honest, tmp_path / "m.linnet", paths=["nowhere:count"])
    with pytest.raises(UntrustedModelError):
        linnet.load(path)
    linnet.register_function(lambda tokens: 3.0, "nowhere:count")
    assert linnet.load(path).explain("a b").score == pytest.approx(linnet.load(honest).explain("a b c").score, abs=20)
    linnet.register_function(word_count)
    with pytest.raises(LinnetError, match="takes a function"):
        linnet.register_function("os.system")


def test_names_only_is_for_looking(honest, tmp_path):
    model = Model.load(crafted(honest, tmp_path / "m.linnet", paths=["evil:f"]), names_only=True)
    assert model.computed_names == ["f"]
    with pytest.raises(LinnetError, match="opened to look at"):
        model.scores(["x"])


def test_typed_features_look_in_the_current_folder(trusted):
    rows = "".join(f"{label},{text} {k}\n" for k, (label, text) in enumerate(zip(LABELS, TEXTS, strict=True)))
    (trusted / "r.csv").write_text("label,text\n" + rows)
    done = CliRunner().invoke(
        command_line, ["train", "r.csv", "--model", "nb", "--features", "words:1+functions:trusted_features.f"]
    )
    assert done.exit_code == 0, done.exception


def test_the_tagger_reads_its_own_data(tmp_path, monkeypatch):
    pytest.importorskip("HanTa")
    from linnet.text import lang

    monkeypatch.chdir(tmp_path)
    (tmp_path / "morphmodel_en.pgz").write_bytes(b"a pickle would be run")
    lang._tagger.cache_clear()
    assert lang._tagger("en").tag_sent(["good"], taglevel=0)


def test_the_studio_takes_functions_only_where_it_is_trusted(tmp_path):
    from linnet.studio.runs import Runs

    data = linnet.Dataset.from_lists(TEXTS, LABELS)
    with pytest.raises(LinnetError, match="started with --trust"):
        Runs(tmp_path).start({"model": "nb", "features": "words:1+functions:evil.f"}, data, data, wait=True)
