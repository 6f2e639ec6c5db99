"""Data sets by name: a local mirror, a hub on this machine, the cache and its checksums, and one clear line offline."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import linnet
from linnet import datasets
from linnet.datasets import named
from linnet.datasets.named import CATALOGUE
from linnet.errors import DataError
from running import run

ROWS = {
    "train": [("good film", 1), ("bad film", 0), ("fine", 1), ("poor", 0)] * 5,
    "test": [("so good", 1), ("so bad", 0)],
}


def parquet(path: Path, rows, columns=("text", "label")) -> bytes:
    features = {
        columns[0]: {"_type": "Value", "dtype": "string"},
        columns[1]: {"_type": "ClassLabel", "names": ["neg", "pos"]},
    }
    table = pa.table({columns[0]: [r[0] for r in rows], columns[1]: pa.array([r[1] for r in rows], pa.int64())})
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    return path.read_bytes()


class Hub(BaseHTTPRequestHandler):
    """What the library asks of the hub: the facts of a data set, a listing of its files, the files."""

    files: ClassVar[dict[str, dict[str, bytes]]] = {}
    asked: ClassVar[list[str]] = []
    damaged = False

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = unquote(self.path.split("?")[0])
        type(self).asked.append(path)
        repo = next((r for r in self.files if f"/{r}/" in path + "/"), None)
        if repo is None:
            return self.answer(b'{"error": "Repository not found"}', 404, {"X-Error-Code": "RepoNotFound"})
        mine = self.files[repo]
        if path == f"/api/datasets/{repo}":
            facts = {
                "id": repo,
                "sha": "c" * 40,
                "tags": ["license:mit"],
                "cardData": {"license": "mit"},
                "siblings": [],
            }
            return self.answer(json.dumps(facts).encode())
        if path.startswith(f"/api/datasets/{repo}/tree/"):
            entries = [
                {
                    "type": "file", "path": name, "size": len(data), "oid": "0" * 40,
                    "lfs": {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 100},
                }
                for name, data in mine.items()
            ]  # fmt: skip
            return self.answer(json.dumps(entries).encode())
        name = next((n for n in mine if path.endswith("/" + n)), None)
        if name is None:
            return self.answer(b"", 404, {"X-Error-Code": "EntryNotFound"})
        data = mine[name][:-1] + b"x" if self.damaged else mine[name]
        more = {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Repo-Commit": "c" * 40, "Accept-Ranges": "bytes"}
        return self.answer(data, 200, more)

    def answer(self, body, code=200, headers=None):
        self.send_response(code)
        for key, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub on this machine with small data sets, and an empty cache."""
    files = {f"default/{part}/0000.parquet": parquet(tmp_path / f"{part}.parquet", rows) for part, rows in ROWS.items()}
    more = parquet(tmp_path / "more.parquet", [("great", 1)] * 3)
    two = {"a/train/0000.parquet": files["default/train/0000.parquet"], "b/validation/0000.parquet": more}
    handler = type("ThisHub", (Hub,), {"asked": [], "damaged": False, "files": {
        "fancyzhx/ag_news": {**files, "default/train/0001.parquet": more}, "some/tables": two, "some/odd": {"x.csv": b""},
        "stanfordnlp/imdb": {"default/train/0000.parquet": parquet(tmp_path / "o.parquet", ROWS["train"], ("words", "label"))},
    }})  # fmt: skip
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    pytest.importorskip("huggingface_hub")
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setenv("LINNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LINNET_DATA", raising=False)
    yield handler
    server.shutdown()
    server.server_close()


def test_from_the_hub_with_names_of_classes_licence_and_cache(hub):
    found = datasets.load("ag_news")
    assert len(found.train) == 23  # both files of the part
    assert found.dev is None
    assert found.train.counts == {"neg": 10, "pos": 13}
    assert found.test.text.to_pylist() == ["so good", "so bad"]
    assert "licence: mit (hub: fancyzhx/ag_news at cccccccccc)" in found.train.notes
    asked = len(hub.asked)
    again = datasets.load("ag_news")
    assert len(hub.asked) == asked  # from the cache
    assert again.train.text.equals(found.train.text)
    assert "licence: mit" in linnet.read("hub:ag_news:test").describe()
    left = sorted(p.name for p in (named.home() / "fancyzhx--ag_news").iterdir())
    assert left == ["LICENSE", "SHA256SUMS", "test.parquet", "train.parquet"]


def test_streaming_and_other_verbs_take_it_as_a_path(hub):
    rows = [text for batch in linnet.stream("hub:ag_news:test") for text in batch.text.to_pylist()]
    assert rows == ["so good", "so bad"]


def test_a_damaged_download_and_a_damaged_cache_are_noticed(hub):
    hub.damaged = True
    with pytest.raises(DataError, match="was not fetched whole"):
        datasets.load("ag_news")
    assert not (named.home() / "fancyzhx--ag_news").exists()  # nothing half done
    assert not list(named.home().glob(".*"))
    hub.damaged = False
    datasets.load("ag_news")
    path = named.home() / "fancyzhx--ag_news" / "train.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(DataError, match=r"its checksum differs; remove .* and fetch it again"):
        datasets.load("ag_news")


def test_any_public_data_set_by_owner_and_name(hub):
    with pytest.raises(DataError, match=r"several tables; name one: hub:some/tables@a \(a, b\)"):
        linnet.read("hub:some/tables")
    data = linnet.read("hub:some/tables@a")
    assert data.counts == {"neg": 10, "pos": 10}
    assert datasets.load("some/tables@a").train.counts == data.counts
    assert len(linnet.read("hub:some/tables@b:dev")) == 3
    with pytest.raises(DataError, match="has no training part"):
        datasets.load("some/tables@b")
    with pytest.raises(DataError, match="no table 'c'; choose one of: a, b"):
        linnet.read("hub:some/tables@c")
    with pytest.raises(DataError, match="no part 'test'; it has train"):
        linnet.read("hub:some/tables@a:test")
    with pytest.raises(DataError, match="no Parquet version"):
        linnet.read("hub:some/odd")
    with pytest.raises(DataError, match="the hub did not give no/body"):
        linnet.read("hub:no/body")
    with pytest.raises(DataError, match="has no column 'text' any more, but words, label"):
        datasets.load("imdb")


def test_word_vectors_from_the_hub(hub, tmp_path, monkeypatch):
    import huggingface_hub.constants as constants
    from safetensors.numpy import save

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    words = {"good": 0, "great": 1, "bad": 2, "awful": 3}
    E = np.array([[2.0, 0.1], [2.1, 0.2], [-2.0, 0.1], [-2.1, 0.3]], dtype=np.float32)
    hub.files["some/vectors"] = {
        "model.safetensors": save({"embeddings": E}), "tokenizer.json": json.dumps({"model": {"vocab": words}}).encode()
    }  # fmt: skip
    texts, labels = ["good film", "bad film"] * 8, ["pos", "neg"] * 8
    clf = linnet.TextClassifier(features="words:1+vectors:hub:some/vectors").fit(texts, labels)
    assert clf.predict(["awful", "great"]).tolist() == ["neg", "pos"]  # words that no row has
    with pytest.raises(DataError, match="some/tables did not come from the hub"):
        linnet.TextClassifier(features="words:1+vectors:hub:some/tables").fit(texts, labels)


def test_offline_is_one_clear_line(tmp_path, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {
        "HF_ENDPOINT": f"http://127.0.0.1:{port}", "LINNET_CACHE": str(tmp_path), "LINNET_DATA": "", "HF_HUB_ETAG_TIMEOUT": "1",
    }  # fmt: skip
    done = run("train", "hub:ag_news", cwd=tmp_path, env=env)
    assert done.returncode == 2
    lines = done.stderr.decode().strip().splitlines()
    assert len(lines) == 1
    assert "the hub did not give fancyzhx/ag_news" in lines[0]
    assert "LINNET_DATA" in lines[0]
    done = run("train", "hub:ag_news", cwd=tmp_path, env={**env, "HF_HUB_OFFLINE": "1"})
    assert done.returncode == 2
    assert len(done.stderr.decode().strip().splitlines()) == 1


def test_a_missing_extra_says_so(tmp_path, monkeypatch):
    monkeypatch.delenv("LINNET_DATA", raising=False)
    monkeypatch.setenv("LINNET_CACHE", str(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with pytest.raises(linnet.MissingExtraError, match=r"pip install 'linnet\[hub\]'"):
        linnet.read("hub:ag_news")


# ---- a local mirror


@pytest.fixture
def local(tmp_path, monkeypatch):
    root = tmp_path / "mirror"
    for name, parts in {
        "trec": ("train", "test"),
        "rt_polarity": ("all",),
        "ag_news": ("train_subset", "test"),
        "own": ("train",),
    }.items():
        (root / name).mkdir(parents=True)
        for part in parts:
            rows = "\n".join(f'{"pos" if k % 2 else "neg"},"{part} text {k}"' for k in range(40))
            (root / name / f"{part}.csv").write_text(f"label,text\n{rows}\n")
    (root / "trec" / "LICENSE").write_text("free\nto use")
    monkeypatch.setenv("LINNET_DATA", str(root))
    return root


def test_the_mirror_comes_first(local):
    found = datasets.load("trec")
    assert (len(found.train), found.dev, len(found.test)) == (40, None, 40)
    assert any(note.startswith("licence: see ") for note in found.train.notes)
    whole = datasets.load("rt_polarity")
    assert len(whole.train) == 40
    assert whole.test is None
    assert any("never report it as the full data set" in note for note in datasets.load("ag_news").train.notes)
    assert len(datasets.load("own").train) == 40  # a folder that no catalogue knows


def test_checksums_of_a_mirror(local):
    place = local / "trec"
    sums = "".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in sorted(place.glob("*.csv")))
    (place / "SHA256SUMS").write_text(sums)
    datasets.load("trec")
    (place / "train.csv").write_text("label,text\nx,y\nz,w\n")
    with pytest.raises(DataError, match="its checksum differs"):
        datasets.load("trec")


def test_mirrors_that_are_not_as_they_should_be(local):
    (local / "trec" / "train.parquet").write_bytes(b"")
    with pytest.raises(DataError, match="two files for train"):
        datasets.load("trec")
    (local / "mpqa").mkdir()
    with pytest.raises(DataError, match="holds no file train, dev, test or all"):
        datasets.load("mpqa")


def test_train_takes_the_official_test_part(local, tmp_path):
    env = {"LINNET_DATA": str(local)}
    done = run("train", "hub:trec", "--features", "words:1", "--no-check", "-q", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert b"on 40 rows" in done.stdout
    assert b"licence: see" in done.stderr
    assert (tmp_path / "trec.linnet").exists()
    assert linnet.load(tmp_path / "trec.linnet").card["data"]["rows"] == 40
    done = run("tune", "hub:trec", "--models", "nb", "--candidates", "2", "-q", "--json", "-", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["test"]["n"] == 40
    assert "--test hub:trec:test" in json.loads(done.stdout)["command"]
    done = run("evaluate", "trec.linnet", "hub:trec:test", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr


def test_names(monkeypatch):
    monkeypatch.delenv("LINNET_DATA", raising=False)
    with pytest.raises(DataError, match="did you mean 'ag_news'"):
        datasets.load("agnews")
    with pytest.raises(DataError, match="names no data set"):
        linnet.read("hub:")
    with pytest.raises(DataError, match="unknown part 'tset'"):
        linnet.read("hub:trec:tset")
    with pytest.raises(DataError, match="not on the hub; put its files under LINNET_DATA/mpqa"):
        datasets.load("mpqa")
    assert all(entry.name == name and entry.about for name, entry in CATALOGUE.items())
    assert named.split_name("hub:a/b@c:validation") == ("a/b", "c", "dev")
    assert named.part_of("notes.txt") is None
    assert len(datasets.load("reviews").test) == 228


@pytest.mark.slow
@pytest.mark.skipif(not Path(os.environ.get("LINNET_DATA", "/none")).is_dir(), reason="LINNET_DATA is not here")
def test_the_real_mirror():
    sizes = {"trec": (5452, 500), "imdb": (25000, 25000), "ag_news": (43238, 7600), "20newsgroups": (11314, 7532)}
    for name, (train, test) in sizes.items():
        found = datasets.load(name)
        assert (len(found.train), len(found.test)) == (train, test)
