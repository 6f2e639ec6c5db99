"""linnet filter: what is kept is what the model says, counts add up, every form comes back, a second run goes on."""

from __future__ import annotations

import csv
import gzip
import json
import random
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import running
from filter_corpora import folder_bytes, make_jsonl, make_model, make_parquet, texts_and_ids
from linnet.classifier import load
from linnet.engines import open_engine
from linnet.errors import LinnetError
from linnet.filter import Rule, filter_corpus


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("model") / "m.linnet")


@pytest.fixture
def corpus(tmp_path):
    return make_parquet(tmp_path / "crawl", shards=4, rows=150)


def run(model, inputs, out, rule, **more):
    inputs = inputs if isinstance(inputs, list) else [inputs]
    with open_engine("local", workers=2, kind="threads", retries=0) as engine:
        return filter_corpus(model, inputs, out, rule, engine=engine, **more)


def check_counts(manifest):
    assert manifest["rows"] == manifest["kept"] + manifest["dropped"] + manifest["unusable"]
    assert manifest["dropped"] == sum(manifest["dropped_by"].values())
    assert manifest["unusable"] == sum(manifest["unusable_by"].values())
    for name in ("rows", "kept", "dropped", "unusable"):
        assert manifest[name] == sum(shard[name] for shard in manifest["by_shard"])
    for both in manifest["histograms"].values():
        assert sum(both["kept"]) == manifest["kept"]
        cleaned = sum(n for why, n in manifest["dropped_by"].items() if why.startswith("clean"))
        assert sum(both["rows"]) == manifest["rows"] - manifest["unusable"] - cleaned
        assert all(k <= n for k, n in zip(both["kept"], both["rows"], strict=True))


def expected(model, folder, least):
    """The ids that predict_proba would keep, and their probabilities, shard by shard."""
    clf = load(model)
    found = {}
    for path in sorted(Path(folder).rglob("*.parquet")):
        table = pq.read_table(path)
        rows = [
            (i, t) for i, t in zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True) if (t or "").strip()
        ]
        P = clf.predict_proba([t for _, t in rows])[:, 1]
        found[path.name] = {i: p for (i, _), p in zip(rows, P.tolist(), strict=True) if p >= least}
    return found


def test_parquet_keeps_what_the_model_says_with_the_same_schema(model, corpus, tmp_path):
    manifest = run(model, corpus, tmp_path / "out", Rule({"pos": 0.7}))
    check_counts(manifest)
    want = expected(model, corpus, 0.7)
    assert manifest["kept"] == sum(map(len, want.values()))
    assert 0 < manifest["kept"] < manifest["rows"]
    assert manifest["unusable_by"] == {"empty text": sum(1 for _, t in texts_and_ids(corpus) if not (t or "").strip())}
    for name, ids in want.items():
        before, after = pq.read_schema(corpus / name), pq.read_table(tmp_path / "out" / name)
        assert after.schema.names == [*before.names, "linnet_label", "linnet_p_pos"]
        assert [after.schema.field(f.name).type for f in before] == [f.type for f in before]
        assert after.schema.metadata[b"made"] == b"by the test"
        assert after["id"].to_pylist() == list(ids)  # in the order of the input
        assert np.allclose(after["linnet_p_pos"].to_numpy(), list(ids.values()), atol=1e-6)
        assert set(after["linnet_label"].to_pylist()) <= {"pos", "neg"}
    assert json.loads((tmp_path / "out" / "_manifest.json").read_text()) == manifest
    assert not (tmp_path / "out" / ".linnet-filter").exists()
    assert len(pq.read_table(tmp_path / "out")) == manifest["kept"]  # the folder is one table to those who read folders


def test_bad_rows_are_in_the_quarantine_with_reasons(model, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(
        b'{"text": "good film", "n": 1}\n{"text": "go\n\n[1]\n{"text": ""}\n{"n": 3}\n{"text": "bad film"}\n'
    )
    manifest = run(model, path, tmp_path / "out", Rule({"pos": 0.0}))
    check_counts(manifest)
    assert manifest["unusable_by"] == {"empty text": 2, "not a JSON object": 2}
    rows = [json.loads(line) for line in (tmp_path / "out/_quarantine/rows.jsonl.jsonl").read_text().splitlines()]
    assert [(r["row"], r["reason"]) for r in rows] == [
        (2, "not a JSON object"), (3, "not a JSON object"), (4, "empty text"), (5, "empty text"),
    ]  # fmt: skip
    assert rows[0]["raw"] == '{"text": "go'
    assert manifest["kept"] == 2


def test_json_lines_stay_as_they_were_but_for_the_scores(model, tmp_path):
    for ending, pack in (("", bytes), (".gz", gzip.compress), (".zst", lambda b: pa.compress(b, "zstd", asbytes=True))):
        lines = [
            b'{ "text" :"good film",  "big": 12345678901234567890123, "x": [1, {"y": null}] }',
            b'{"text": "a good \\u00e9"}\r',
        ]
        path = tmp_path / f"rows.jsonl{ending}"
        path.write_bytes(pack(b"\n".join(lines) + b"\n"))
        out = tmp_path / f"out{ending}"
        run(model, path, out, Rule({"pos": 0.0}))
        packed = (out / path.name).read_bytes()
        data = {
            "": lambda b: b,
            ".gz": gzip.decompress,
            ".zst": lambda b: pa.input_stream(pa.BufferReader(b), compression="zstd").read(),
        }[ending](packed)
        got = data.splitlines()
        assert got[0].startswith(
            b'{ "text" :"good film",  "big": 12345678901234567890123, "x": [1, {"y": null}], "linnet_label": '
        )
        assert json.loads(got[1])["text"] == "a good é"
        assert 0 < json.loads(got[1])["linnet_p_pos"] < 1
        assert len(got) == 2


def test_csv_and_tsv_come_back(model, tmp_path):
    for ending, comma in (("csv", ","), ("tsv", "\t")):
        path = tmp_path / f"rows.{ending}"
        with path.open("w", newline="") as file:
            rows = csv.writer(file, delimiter=comma, lineterminator="\n")
            rows.writerows([["id", "text"], ["007", 'good, "fine"'], ["8", "bad"], ["9", ""]])
        manifest = run(model, path, tmp_path / f"out-{ending}", Rule({"pos": None}))
        check_counts(manifest)
        with (tmp_path / f"out-{ending}" / path.name).open(newline="") as file:
            got = list(csv.DictReader(file, delimiter=comma))
        assert [(r["id"], r["text"], r["linnet_label"]) for r in got] == [("007", 'good, "fine"', "pos")]


def test_formats_that_keep_their_types_and_those_that_become_json_lines(model, tmp_path):
    rows = pa.table({"id": [1, 2, 3], "raw": [b"\xff", b"b", None], "text": ["good film", "bad film", ""]})
    for name, new in (("a.arrow", pa.ipc.new_file), ("b.arrows", pa.ipc.new_stream)):
        with pa.OSFile(str(tmp_path / name), "wb") as file, new(file, rows.schema) as writer:
            writer.write_table(rows)
    (tmp_path / "c.txt").write_text("a good film\na bad film\n")
    (tmp_path / "d.ft").write_text("__label__x a good film\n__label__y a bad film\n")
    (tmp_path / "e.json").write_text('[{"n": [1], "text": "a good film"}, {"n": [2], "text": "a bad film"}]')
    files = sorted(tmp_path.glob("?.*"))
    manifest = run(model, files, tmp_path / "out", Rule({"pos": None}))
    check_counts(manifest)
    assert manifest["bad_shards"] == []
    assert [s["name"] for s in manifest["by_shard"]] == [
        "a.arrow",
        "b.arrows",
        "c.txt.jsonl",
        "d.ft.jsonl",
        "e.json.jsonl",
    ]
    for name, opened in (("a.arrow", pa.ipc.open_file), ("b.arrows", pa.ipc.open_stream)):
        got = opened(pa.OSFile(str(tmp_path / "out" / name))).read_all()
        assert got.schema.types == [*rows.schema.types, pa.string(), pa.float32()]
        assert got.select(["id", "raw", "linnet_label"]).to_pylist() == [
            {"id": 1, "raw": b"\xff", "linnet_label": "pos"}
        ]
    for name in ("c.txt", "d.ft", "e.json"):
        (line,) = (tmp_path / "out" / f"{name}.jsonl").read_text().splitlines()
        assert json.loads(line)["text"] == "a good film"
        assert 0.5 < json.loads(line)["linnet_p_pos"] < 1


def wet(records):
    out = []
    for k, (kind, content) in enumerate(records):
        mime = "application/warc-fields" if kind == "warcinfo" else "text/plain"
        head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://h{k % 2}.example/{k}\r\n"
        head += f"Content-Type: {mime}\r\nContent-Length: {len(content)}\r\n"
        out.append(gzip.compress(head.encode() + b"\r\n" + content + b"\r\n\r\n"))
    return b"".join(out)


def test_web_archives(model, tmp_path):
    from linnet.data import read
    from linnet.data.input_file import InputFile
    from linnet.data.readers.warc import records

    path = tmp_path / "CC-1.warc.wet.gz"
    texts = [b"good good film", b"bad dull film", "naïve good\r\n\r\nline".encode(), b""]
    path.write_bytes(wet([("warcinfo", b"software: x"), *(("conversion", t) for t in texts)]))
    assert read(path).text.to_pylist() == [t.decode() for t in texts[:3]]
    manifest = run(model, path, tmp_path / "out", Rule({"pos": 0.5}))
    check_counts(manifest)
    assert (manifest["rows"], manifest["kept"], manifest["unusable"]) == (4, 2, 1)
    with InputFile(tmp_path / "out" / path.name) as source:
        got = list(records(source.read, "out"))
    assert [r.content for r in got] == [texts[0], texts[2]]
    assert [r.field(b"linnet_label") for r in got] == [b"pos", b"pos"]
    assert got[0].field(b"WARC-Target-URI") == b"http://h1.example/1"
    path.write_bytes(path.read_bytes()[:-30])  # cut short: the whole shard is bad
    manifest = run(model, path, tmp_path / "cut", Rule({"pos": 0.5}))
    assert "cut short" in manifest["bad_shards"][0]["reason"]
    assert not (tmp_path / "cut" / path.name).exists()


def test_pages_as_fetched_and_clean_texts(model, tmp_path):
    page = b"<p>A <b>good</b> film</p>"
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + page
    image = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG"
    head = "WARC/1.0\r\nWARC-Type: response\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n"
    path = tmp_path / "a.warc"
    path.write_bytes(b"".join(head.format(len(b)).encode() + b + b"\r\n\r\n" for b in (http, image)))
    manifest = run(model, path, tmp_path / "out", Rule({"pos": 0.5}), clean=["html", "whitespace"])
    assert (manifest["rows"], manifest["kept"]) == (1, 1)
    out = (tmp_path / "out/a.warc").read_bytes()
    assert b"\r\n\r\nA good film" in out
    assert b"WARC-Type: conversion" in out


def test_cleaning_first(model, tmp_path):
    path = tmp_path / "a.parquet"
    texts = ["<b>good</b> film", "<i></i>", "a { good } page", None, "bad"]
    pq.write_table(pa.table({"text": pa.array(texts, pa.large_string()), "k": range(5)}), path)
    for rule in (Rule({"pos": 0.0}), Rule({"pos": None}, top=1.0)):
        out = tmp_path / f"out{rule.passes}"
        manifest = run(model, path, out, rule, clean=["html", "whitespace"], pages=["curly"])
        check_counts(manifest)
        assert manifest["dropped_by"] == {"clean: curly": 1, "clean: empty": 1}
        got = pq.read_table(out / "a.parquet")
        assert got["text"].to_pylist() == ["good film", "bad"]
        assert got.schema.field("text").type == pa.large_string()


@pytest.mark.parametrize("unit", ["documents", "characters", "tokens"])
def test_the_best_share(model, corpus, tmp_path, unit):
    manifest = run(model, corpus, tmp_path / "out", Rule({"pos": None}, top=0.1, of=unit))
    check_counts(manifest)
    cut = manifest["cut"]
    assert abs(cut["share"] - 0.1) < 0.02  # 600 documents: one long one is a point
    assert abs(cut["share"] - cut["estimated_share"]) <= cut["error_bound"] + 1e-12
    weigh = {"documents": lambda t: 1, "characters": len, "tokens": lambda t: len(t.split())}[unit]
    kept = [t for _, t in texts_and_ids(tmp_path / "out")]
    every = [t for _, t in texts_and_ids(corpus) if (t or "").strip()]
    assert sum(map(weigh, kept)) / sum(map(weigh, every)) == pytest.approx(cut["share"])
    worst = min(
        p for path in (tmp_path / "out").glob("*.parquet") for p in pq.read_table(path)["linnet_p_pos"].to_pylist()
    )
    better = [p for ids in expected(model, corpus, 0).values() for p in ids.values() if p > worst + 1e-6]
    assert len(better) <= len(kept)


def test_a_quota_for_every_source_is_exact(model, corpus, tmp_path):
    manifest = run(model, corpus, tmp_path / "out", Rule({"pos": 0.3}, quota=7, by="source"))
    check_counts(manifest)
    clf = load(model)
    rows = [
        r
        for path in sorted(corpus.glob("*.parquet"))
        for r in pq.read_table(path).to_pylist()
        if (r["text"] or "").strip()
    ]
    P = clf.predict_proba([r["text"] for r in rows])[:, 1]
    want = []
    for source in {r["source"] for r in rows}:
        mine = [
            (-np.float32(np.log(p / (1 - p))), k, r["id"])
            for k, (r, p) in enumerate(zip(rows, P, strict=True))
            if r["source"] == source and p >= 0.3
        ]
        want += [i for _, _, i in sorted(mine)[:7]]  # ties: the first in the order of the corpus
    assert sorted(i for i, _ in texts_and_ids(tmp_path / "out")) == sorted(want)


def test_several_labels_each_with_its_own_threshold(tmp_path, corpus):
    model = make_model(tmp_path / "three.linnet", classes=3)
    manifest = run(model, corpus, tmp_path / "out", Rule({"pos": 0.8, "odd": 0.2}), proba=True)
    check_counts(manifest)
    assert list(manifest["histograms"]) == ["pos", "odd", "neg"]
    clf = load(model)
    kept = dict(texts_and_ids(tmp_path / "out"))
    for i, text in texts_and_ids(corpus):
        if (text or "").strip():
            p = dict(zip(clf.classes_.tolist(), clf.predict_proba([text])[0], strict=True))
            assert (i in kept) == (p["pos"] >= 0.8 or p["odd"] >= 0.2)
    got = pq.read_table(next((tmp_path / "out").glob("*.parquet"))).to_pylist()[0]
    assert got["linnet_p_pos"] + got["linnet_p_odd"] + got["linnet_p_neg"] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "rule", [Rule({"pos": 0.7}), Rule({"pos": None}, top=0.2), Rule({"pos": None}, quota=3, by="source")]
)
def test_a_run_that_was_stopped_goes_on_and_ends_the_same(model, corpus, tmp_path, rule):
    run(model, corpus, tmp_path / "whole", rule)
    rng = random.Random(1)
    for stop in range(1, 8, 2):

        class Stopped(Exception):
            pass

        seen = []

        def tell(news, seen=seen, stop=stop, Stopped=Stopped):
            if news.kind == "shard":
                seen.append(news.shard.name)
                if len(seen) == stop:
                    raise Stopped

        out = tmp_path / f"out{stop}"
        try:
            run(model, corpus, out, rule, on_progress=tell)
        except Stopped:
            assert not (out / "_manifest.json").exists()
            done = list((out / ".linnet-filter").rglob("0*.json"))
            rng.choice(done).unlink()  # a record that was not written, or half of one
            rng.choice([p for p in done if p.exists()] or done).write_text("{")
        resumed = []
        run(model, corpus, out, rule, on_progress=lambda news, resumed=resumed: resumed.append(news))
        assert folder_bytes(out) == folder_bytes(tmp_path / "whole")


def test_forms_in_one_run_folders_below_and_names_that_clash(model, tmp_path):
    make_parquet(tmp_path / "crawl/a", shards=1, rows=30)
    make_parquet(tmp_path / "crawl/b", shards=1, rows=30)
    make_jsonl(tmp_path / "crawl/c.jsonl", rows=30)
    (tmp_path / "crawl/README.md").write_text("not a shard")
    manifest = run(model, tmp_path / "crawl", tmp_path / "out", Rule({"pos": 0.5}))
    assert [s["name"] for s in manifest["by_shard"]] == ["a/part-000.parquet", "b/part-000.parquet", "c.jsonl"]
    files = [tmp_path / "crawl/a/part-000.parquet", tmp_path / "crawl/b/part-000.parquet"]
    again = run(model, files, tmp_path / "out2", Rule({"pos": 0.5}))
    assert [s["name"] for s in again["by_shard"]] == ["a/part-000.parquet", "b/part-000.parquet"]
    assert (tmp_path / "out2/a/part-000.parquet").read_bytes() == (tmp_path / "out/a/part-000.parquet").read_bytes()


def test_what_is_refused(model, corpus, tmp_path):
    rule = Rule({"pos": 0.5})
    out = tmp_path / "out"
    for bad, words in (
        (Rule({"good": 0.5}), "unknown label 'good'"),
        (Rule({"pos": None}, quota=3, by="sauce"), "sauce"),
    ):
        manifest_or_error = _error(lambda bad=bad: run(model, corpus, tmp_path / "bad", bad, max_bad=0))
        assert words in manifest_or_error
    for make, words in (
        (lambda: Rule({}), "--keep"), (lambda: Rule({"a": 2}), "between 0 and 1"), (lambda: Rule({"a": None}, top=0), "--top"),
        (lambda: Rule({"a": None}, top=0.1, quota=3, by="s"), "exclude"), (lambda: Rule({"a": None}, quota=3), "--by"),
        (lambda: Rule({"a": None, "b": None}, top=0.1), "one label"), (lambda: Rule({"a": None}, top=0.1, of="bytes"), "unit"),
    ):  # fmt: skip
        with pytest.raises(LinnetError, match=words):
            make()
    assert "is where the input is" in _error(lambda: run(model, corpus, corpus, rule))
    run(model, corpus, out, rule)
    assert "other rule" in _error(lambda: run(model, corpus, out, Rule({"pos": 0.6})))
    make_parquet(corpus, shards=5, rows=150)
    assert "other shards" in _error(lambda: run(model, corpus, out, rule))
    run(model, corpus, out, rule, restart=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").write_text("mine")
    assert "not empty" in _error(lambda: run(model, corpus, tmp_path / "other", rule))
    assert (tmp_path / "other/file").read_text() == "mine"
    assert "another --prefix" in str(run(model, out / "part-000.parquet", tmp_path / "twice", rule)["bad_shards"])


def _error(call):
    with pytest.raises(LinnetError) as caught:
        call()
    return str(caught.value)


def test_the_page_is_whole_and_loads_nothing(model, corpus, tmp_path):
    from html.parser import HTMLParser

    run(model, corpus, tmp_path / "out", Rule({"pos": None}, top=0.1))
    page = (tmp_path / "out/_summary.html").read_text()
    assert "http" not in page
    assert "<script" not in page
    HTMLParser().feed(page)
    assert (page.count("<svg"), page.count('class="bar"')) == (1, 3)
    assert "share of" in page


def test_the_command_line(model, corpus, tmp_path):
    def linnet(*args, code=0):
        return running.run("filter", *args, text=True, code=code)

    done = linnet(model, corpus / "*.parquet", "--out", tmp_path / "out", "--keep", "pos", "--min", 0.7, "--threads", 2)
    assert "in  " in done.stdout
    assert "filtering 4 shards" in done.stderr
    done = linnet(
        model, corpus, "--out", tmp_path / "out2", "--keep", "pos", "--min", 0.7, "--json", "-q", "--threads", 1
    )
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["rows"] == found["kept"] + found["dropped"] + found["unusable"] == 600
    assert folder_bytes(tmp_path / "out") == folder_bytes(tmp_path / "out2")
    assert "already" not in linnet(model, corpus, "--out", tmp_path / "out2", "--keep", "pos", "--min", 0.7).stderr
    assert (
        "unknown engine"
        in linnet(model, corpus, "--out", tmp_path / "o", "--keep", "pos", "--engine", "sparc", code=2).stderr
    )
    assert "--keep" in linnet(model, corpus, "--out", tmp_path / "o", code=2).stderr
    done = linnet(model, corpus, "--out", tmp_path / "o", "--keep", "pos", "--max-memory", "10MB", code=2)
    assert "too little" in done.stderr
    shutil.rmtree(tmp_path / "out")


def test_two_runs_do_not_share_a_folder(model, corpus, tmp_path):
    def second(news):
        if news.kind == "stage":
            assert "another run is at work" in _error(lambda: run(model, corpus, tmp_path / "out", Rule({"pos": 0.5})))

    run(model, corpus, tmp_path / "out", Rule({"pos": 0.5}), on_progress=second)


def test_an_engine_that_is_given_stays_open(model, corpus, tmp_path):
    with open_engine("local", workers=1) as engine:
        filter_corpus(model, [corpus], tmp_path / "a", Rule({"pos": 0.5}), engine=engine)
        pids = engine.pids
        filter_corpus(model, [corpus], tmp_path / "b", Rule({"pos": 0.6}), engine=engine)
        assert engine.pids == pids


class Stopped(Exception):
    pass


def test_a_shard_that_was_bad_and_is_good_again_moves_the_cut(model, corpus, tmp_path):
    rule = Rule({"pos": None}, top=0.2)
    run(model, corpus, tmp_path / "whole", rule)
    sick = corpus / "part-001.parquet"
    healthy = sick.read_bytes()
    sick.write_bytes(bytes(len(healthy)))

    def tell(news):
        if news.kind == "shard" and news.stage == "selecting":
            raise Stopped

    with pytest.raises(Stopped):
        run(model, corpus, tmp_path / "out", rule, on_progress=tell)
    sick.write_bytes(healthy)
    assert run(model, corpus, tmp_path / "out", rule)["bad_shards"] == []
    assert folder_bytes(tmp_path / "out") == folder_bytes(tmp_path / "whole")
