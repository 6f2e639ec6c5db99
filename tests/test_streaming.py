"""Training on streams: the parts of it against plain oracles, and the whole against ordinary training."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet import TextClassifier, load, read
from linnet._kernels.text import pack_numbers, unpack_numbers
from linnet.data.formats import find_shards
from linnet.errors import DataError, LinnetError
from linnet.features.counting import SparseCounts
from linnet.pipeline.cache import Budget, Cache, StreamVocabulary
from linnet.pipeline.stream import DEV, TEST, TRAIN, Parts, fit_stream
from linnet.values import as_bytes
from reference import varint as reference
from running import run

DATA = os.environ.get("LINNET_DATA")
WORDS = ["good", "fine", "great", "lovely", "bright", "warm", "poor", "bad", "dull", "awful", "grey", "cold"]
WORDS += ["the", "a", "of", "film", "book", "plot", "cast", "end"]


def reviews(n: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Texts whose words lean to their label; sorted by label, as files often are."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for k in range(n):
        positive = k < n // 2
        lean = np.ones(len(WORDS))
        lean[:6] = 4.0 if positive else 1.0
        lean[6:12] = 1.0 if positive else 4.0
        words = rng.choice(WORDS, size=int(rng.integers(3, 30)), p=lean / lean.sum())
        texts.append(" ".join(words) + f" w{rng.integers(3000)}")
        labels.append("pos" if positive else "neg")
    return texts, labels


def write(folder: Path, n: int = 600, shards: int = 1, seed: int = 0) -> Path:
    texts, labels = reviews(n, seed)
    if shards == 1:
        path = folder / "reviews.parquet"
        pq.write_table(pa.table({"label": labels, "text": texts}), path, row_group_size=97)
        return path
    out = folder / "shards"
    out.mkdir()
    for k, rows in enumerate(np.array_split(np.arange(n), shards)):
        part = {"label": [labels[i] for i in rows], "text": [texts[i] for i in rows]}
        pq.write_table(pa.table(part), out / f"part-{k}.parquet", row_group_size=50)
    return out


@pytest.fixture
def many_blocks(monkeypatch):
    """Let no data fit in one block."""
    monkeypatch.setattr(Budget, "whole_entries", lambda self, per_entry: 0)
    monkeypatch.setattr(Budget, "block_entries", lambda self, per_entry: 2_000)


# ---- parts


@given(st.lists(st.integers(0, 2**31 - 1)))
def test_numbers_packed_as_the_reference_packs_them(values):
    array, out = np.array(values, dtype=np.int32), np.empty(5 * len(values), dtype=np.uint8)
    size = pack_numbers(array, out)
    assert out[:size].tobytes() == reference.pack(values)
    back = np.empty(len(values), dtype=np.int32)
    assert unpack_numbers(out[:size], back) == size
    assert back.tolist() == values == reference.unpack(out[:size].tobytes(), len(values))


def test_numbers_cut_short_are_noticed():
    assert unpack_numbers(np.array([129], dtype=np.uint8), np.empty(1, dtype=np.int32)) == -1


batches = st.lists(st.lists(st.sets(st.integers(1, 40), min_size=1, max_size=8), min_size=1, max_size=5), max_size=25)


def fill(vocabulary: StreamVocabulary, stream: list[list[set[int]]]) -> Counter[int]:
    truth: Counter[int] = Counter()
    for batch in stream:
        df = Counter(f for document in batch for f in document)
        truth += df
        fps = np.array(list(df), dtype=np.uint64) << np.uint64(50)
        vocabulary.add(fps, np.array(list(df.values()), dtype=np.int32))
    return truth


@given(batches, st.integers(45, 60))
def test_vocabulary_is_exact_while_it_fits(stream, most):
    v = StreamVocabulary(most + 40)
    truth = fill(v, stream)
    found = dict(zip((v.fps[: v.n] >> np.uint64(50)).tolist(), v.counts.tolist(), strict=True))
    assert found == dict(truth)
    assert v.lost == 0


@settings(max_examples=200)
@given(batches, st.integers(4, 40))
def test_bounded_vocabulary_keeps_its_promise(stream, most):
    """No count is too high or misses more than it says; what is missing is in few documents; the bound is kept."""
    v = StreamVocabulary(most)
    truth = fill(v, stream)
    found = dict(
        zip(
            (v.fps[: v.n] >> np.uint64(50)).tolist(),
            zip(v.counts.tolist(), v.missed.tolist(), strict=True),
            strict=True,
        )
    )
    for feature, n in truth.items():
        low, missed = found.get(feature, (0, v.lost))
        assert low <= n <= low + missed
    largest = max((len({f for d in b for f in d}) for b in stream), default=0)
    kept = max(1, min(most // 2, most - largest))  # counters left by a pruning, at least
    assert v.lost * (kept + 1) <= v.pairs
    assert v.n <= max(most, largest + 1)


@given(batches, batches)
def test_vocabularies_of_two_machines_add_up(first, second):
    a, b, both = StreamVocabulary(), StreamVocabulary(), StreamVocabulary()
    fill(a, first), fill(b, second), fill(both, first + second)
    added = a + b
    kept, want = (v.kept(9, min_df=1, max_df=1.0, max_features=None) if v.n else None for v in (added, both))
    if kept is not None and want is not None:
        assert kept[0].tolist() == want[0].tolist()
    assert added.pairs == both.pairs


def random_rows(rng, n: int, n_blocks: int = 2) -> SparseCounts:
    sizes = rng.integers(0, 6, n * n_blocks)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return SparseCounts(
        indptr,
        rng.integers(0, 1000, indptr[-1]).astype(np.int32),
        rng.integers(1, 9, indptr[-1]).astype(np.int32),
        n_blocks,
        1000,
    )


@pytest.mark.parametrize("blocks", [1, 5])
def test_cache_gives_rows_back(tmp_path, blocks):
    rng = np.random.default_rng(0)
    rows, y = random_rows(rng, 200), rng.integers(0, 3, 200).astype(np.int32)
    none = np.zeros((200, 0))
    cache = Cache(tmp_path, {TRAIN: blocks, DEV: 1}, 2, 1000, counting=True, seed=0)
    with cache:
        for first in range(0, 150, 30):
            cache.add(TRAIN, rows.slice(first, first + 30), y[first : first + 30], none[:30])
        cache.add(DEV, rows.slice(150, 200), y[150:], none[:50])
    asked = rng.permutation(200)[:90]
    got, want = cache.take(asked), rows.take(asked)
    assert got.indices.tolist() == want.indices.tolist()
    assert got.counts.tolist() == want.counts.tolist()
    assert got.indptr.tolist() == want.indptr.tolist()
    assert min(len(cache.read(k)[1]) for k in cache.of((TRAIN,))) > 80 / blocks  # dealt out evenly
    assert len(cache) == 200


def test_cache_that_was_changed_is_refused(tmp_path):
    rows = random_rows(np.random.default_rng(0), 20)
    cache = Cache(tmp_path, {TRAIN: 1}, 2, 1000, counting=False, seed=0)
    with cache:
        cache.add(TRAIN, rows, np.zeros(20, np.int32), np.zeros((20, 0)))
    path = cache.blocks[0].path
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(LinnetError, match="changed while in use"):
        cache.read(0)


def test_drawn_parts_are_the_same_in_every_pass_however_batches_are_cut():
    codes = np.random.default_rng(0).integers(0, 3, 5000).astype(np.int32)
    parts = Parts.drawn(5000, {TRAIN: 0.8, DEV: 0.1, TEST: 0.1}, seed=3)
    whole = parts.next(codes)
    parts.rewind()
    again = np.concatenate([parts.next(codes[k : k + 700]) for k in range(0, 5000, 700)])
    assert whole.tolist() == again.tolist()
    assert np.abs(np.bincount(whole) / 5000 - [0.8, 0.1, 0.1]).max() < 0.02


def test_sizes():
    assert as_bytes("64KiB", "--max-memory") == 65536
    for wrong in ("1 parrot", "", "GB", "-1GB"):
        with pytest.raises(LinnetError, match="must be a size"):
            as_bytes(wrong, "--max-memory")
    with pytest.raises(LinnetError, match="too little"):
        Budget(1000)


# ---- shards


def test_shards_of_paths_patterns_and_folders(tmp_path):
    folder = write(tmp_path, shards=3)
    names = [p.name for p in find_shards([folder])]
    assert names == ["part-0.parquet", "part-1.parquet", "part-2.parquet"]
    assert [p.name for p in find_shards([str(folder / "part-[12].parquet")])] == names[1:]
    assert find_shards([folder / "part-1.parquet", folder])[0].name == "part-1.parquet"
    with pytest.raises(DataError, match="no file is named like"):
        find_shards([str(folder / "*.csv")])


def test_a_folder_of_class_folders_is_one_source(tmp_path):
    for label in ("pos", "neg"):
        (tmp_path / label).mkdir()
        for k in range(30):
            (tmp_path / label / f"{k}.txt").write_text(f"{WORDS[k % 6 + 6 * (label == 'neg')]} film {k}")
    assert find_shards([tmp_path]) == [tmp_path]
    clf = TextClassifier("nb")
    assert fit_stream(clf, tmp_path, max_memory="1GB").rows == 60


# ---- the whole


@pytest.mark.parametrize("model", ["svm", "logistic", "nb", "bernoulli", "nbsvm"])
def test_one_block_gives_the_model_of_ordinary_training(tmp_path, model):
    path = write(tmp_path)
    fit_on, test = read(path, labelled=True).split(0, (0.9, 0.1))
    clf = TextClassifier(model, features="words:1-2+chars:2-4")  # default features are searched in memory only
    clf.fit(fit_on).save(tmp_path / "whole.linnet")
    found = fit_stream(clf, path, max_memory="1GB")
    clf.save(tmp_path / "stream.linnet")
    assert (tmp_path / "whole.linnet").read_bytes() == (tmp_path / "stream.linnet").read_bytes()
    assert found.evaluation.accuracy == clf.score(test.text, test.label_list())
    assert found.blocks == 1


@pytest.mark.parametrize("exact", [True, False])
def test_scripts_without_blanks_get_characters(tmp_path, monkeypatch, exact):
    """As in ordinary training, where rows can be numbered from the very same texts."""
    if not exact:
        monkeypatch.setattr(Budget, "exact_rows", lambda self: 100)
    texts, labels = reviews(1500)
    table = str.maketrans({chr(97 + k): chr(0x4E00 + 7 * k) for k in range(26)} | {" ": None})
    texts = [text if k % 3 == 0 else text.translate(table) for k, text in enumerate(texts)]
    path = tmp_path / "reviews.parquet"
    pq.write_table(pa.table({"label": labels, "text": texts}), path)
    clf = TextClassifier("nb")
    fit_stream(clf, path, max_memory="1GB")
    assert str(clf.artefact.blocks[0]).startswith("chars:1-5")
    if exact:
        clf.save(tmp_path / "stream.linnet")
        TextClassifier("nb").fit(read(path, labelled=True).split(0, (0.9, 0.1))[0]).save(tmp_path / "whole.linnet")
        assert (tmp_path / "whole.linnet").read_bytes() == (tmp_path / "stream.linnet").read_bytes()


@pytest.mark.parametrize("model", ["nb", "bernoulli"])
def test_counts_over_blocks_give_the_same_weights(tmp_path, model, many_blocks):
    path = write(tmp_path)
    fit_on, _ = read(path, labelled=True).split(0, (0.9, 0.1))
    whole = TextClassifier(model).fit(fit_on)
    clf = TextClassifier(model)
    assert fit_stream(clf, path, max_memory="1GB").blocks > 2
    assert np.array_equal(whole.artefact.rows, clf.artefact.rows)
    assert np.array_equal(whole.artefact.b, clf.artefact.b)
    assert whole.artefact.names() == clf.artefact.names()


@pytest.mark.parametrize(("model", "tol"), [("svm", 1e-4), ("logistic", 1e-6)])
@pytest.mark.parametrize("classes", [2, 3])
def test_solvers_over_blocks_reach_the_optimum(tmp_path, model, tol, classes, many_blocks):
    """The weights of a strictly convex problem are unique: those of ordinary training at a small tolerance."""
    texts, labels = reviews(500)
    labels = [f"{label}{k % 2}" if classes == 3 and label == "pos" else label for k, label in enumerate(labels)]
    path = tmp_path / "reviews.parquet"
    pq.write_table(pa.table({"label": labels, "text": texts}), path)
    given = {"params": {"C": 1.0, "tol": tol}, "ratio": 0.5, "calibrate": False, "features": "words:1"}
    fit_on, _ = read(path, labelled=True).split(0, (0.9, 0.1))
    whole = TextClassifier(model, **given).fit(fit_on)
    clf = TextClassifier(model, **given)
    assert fit_stream(clf, path, max_memory="1GB").blocks > 2
    assert np.abs(whole.artefact.rows - clf.artefact.rows).max() < 2e-3 * np.abs(whole.artefact.rows[:, 1:]).max()
    assert np.abs(whole.artefact.b - clf.artefact.b).max() < 5e-3


def test_threads_and_cuts_into_shards_do_not_matter(tmp_path, many_blocks):
    one, several = write(tmp_path), write(tmp_path, shards=4)
    rows = []
    for path, threads in ((one, 1), (one, 2), (several, 2)):
        clf = TextClassifier("svm", n_jobs=threads)
        fit_stream(clf, path, max_memory="1GB")
        rows.append(clf.artefact.rows)
    assert np.array_equal(rows[0], rows[1])
    assert np.array_equal(rows[0], rows[2])


def test_more_rows_than_can_be_numbered(tmp_path, monkeypatch, many_blocks):
    monkeypatch.setattr(Budget, "exact_rows", lambda self: 100)
    clf = TextClassifier("svm")
    found = fit_stream(clf, write(tmp_path, 2000), max_memory="1GB")
    assert found.rows == 2000
    assert found.evaluation.accuracy > 0.8
    assert 150 <= found.evaluation.n <= 250


def test_a_vocabulary_that_does_not_fit_still_learns(tmp_path, monkeypatch):
    monkeypatch.setattr(Budget, "vocabulary", lambda self: 900)
    monkeypatch.setattr(Budget, "batch_bytes", lambda self, spread: 4000)
    clf = TextClassifier("nb", features="words:1")
    found = fit_stream(clf, write(tmp_path, 2000), max_memory="1GB")
    assert found.lost > 0
    assert clf.card["stream"]["lost"] == found.lost
    assert clf.artefact.n_features < 900
    assert set(WORDS) <= set(clf.artefact.names().values())  # what is frequent is there
    assert found.evaluation.accuracy > 0.8


def test_hash_mode(tmp_path, many_blocks):
    path = write(tmp_path)
    clf = TextClassifier("nb", hash_bits=12)
    fit_stream(clf, path, max_memory="1GB")
    fit_on, _ = read(path, labelled=True).split(0, (0.9, 0.1))
    assert np.array_equal(clf.artefact.rows, TextClassifier("nb", hash_bits=12).fit(fit_on).artefact.rows)
    with pytest.raises(LinnetError, match="give --hash-bits"):
        fit_stream(TextClassifier("nb", hash_bits=28), path, max_memory="300MB")


def test_models_that_need_all_rows_say_so(tmp_path, many_blocks):
    with pytest.raises(LinnetError, match="needs all rows in memory"):
        fit_stream(TextClassifier("least-squares"), write(tmp_path), max_memory="1GB")
    with pytest.raises(LinnetError, match="learns nothing from rows"):
        fit_stream(TextClassifier("lexicon"), tmp_path, max_memory="1GB")


# ---- files that are wrong


def test_rows_that_cannot_be_used_are_counted(tmp_path):
    texts, labels = reviews(300)
    rows = [{"text": t, "label": label} for t, label in zip(texts, labels, strict=True)]
    rows[7]["text"], rows[11]["label"] = "  ", None
    lines = [json.dumps(row) for row in rows] + ["{not json"]
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    (tmp_path / "b.jsonl").write_text("\n".join(json.dumps(r) for r in rows[:50] if r["label"]))
    found = fit_stream(TextClassifier("nb"), tmp_path, max_memory="1GB")
    assert dict(found.unusable.counts)["no label"] == 1
    assert len(found.unusable) == 4  # the empty text is in both files
    assert found.rows == 301 + 49 - 4
    assert all("jsonl" in row.detail for row in found.unusable.rows)


def test_a_truncated_shard_is_named_or_left_out(tmp_path):
    folder = write(tmp_path, shards=4)
    bad = folder / "part-2.parquet"
    bad.write_bytes(bad.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"part-2\.parquet.*--skip-damaged"):
        fit_stream(TextClassifier("nb"), folder, max_memory="1GB")
    clf = TextClassifier("nb")
    found = fit_stream(clf, folder, max_memory="1GB", skip_damaged=True)
    assert list(found.damaged) == [str(bad)]
    assert clf.card["stream"]["damaged"] == [bad.name]
    assert found.rows == 450


def test_empty_and_wrong_files_are_one_line(tmp_path):
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    with pytest.raises(DataError, match="is empty"):
        fit_stream(TextClassifier("nb"), empty, max_memory="1GB")
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    with pytest.raises(DataError, match="PNG"):
        fit_stream(TextClassifier("nb"), tmp_path / "picture.csv", max_memory="1GB")
    one = tmp_path / "one.csv"
    one.write_text("text,label\n" + "\n".join(f"a text {k},same" for k in range(30)))
    with pytest.raises(DataError, match="needs two classes"):
        fit_stream(TextClassifier("nb"), one, max_memory="1GB")


def test_input_that_changes_is_noticed_and_nothing_is_left(tmp_path, monkeypatch):
    folder = write(tmp_path, shards=3)
    from linnet.pipeline.disk import DiskRows

    def meddle(self, plan, log):
        (folder / "part-1.parquet").write_bytes((folder / "part-0.parquet").read_bytes())
        (folder / "part-2.parquet").unlink()
        return count(self, plan, log)

    count = DiskRows.count
    monkeypatch.setattr(DiskRows, "count", meddle)
    place = tmp_path / "cache"
    place.mkdir()
    with pytest.raises(DataError):
        fit_stream(TextClassifier("nb"), folder, max_memory="1GB", cache=str(place))
    assert list(place.iterdir()) == []


# ---- the command line


def test_command_line(tmp_path):
    folder, out = write(tmp_path, shards=3), tmp_path / "m.linnet"
    done = run("train", folder, "--max-memory", "1GB", "--model", "nb", "--out", out, "--json", "-", text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["stream"]["rows"] == 600
    assert found["test"]["accuracy"] > 0.8
    assert "MB/s" in done.stderr
    assert load(out).predict(["a lovely great film", "a dull poor plot"]).tolist() == ["pos", "neg"]
    rows = "label,text\n" + "\n".join(f"{label},{text}" for text, label in zip(*reviews(200), strict=True))
    piped = run(
        "train", "-", "--max-memory", "1GB", "--model", "nb", "--out", tmp_path / "p.linnet", text=True, stdin=rows
    )
    assert piped.returncode == 0, piped.stderr
    wrong = run("train", folder, "--workers", 2, text=True)
    assert wrong.returncode == 2
    assert "--engine" in wrong.stderr


# ---- real data


@pytest.mark.slow
def test_memory_stays_below_the_limit(tmp_path):
    """200 MB of text within 400 MB, of which the program takes 150: ordinary training would take about 5 GB."""
    if not DATA:
        pytest.skip("LINNET_DATA is not set")
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    from streaming import make_corpus, measured  # type: ignore[import-not-found]

    corpus = tmp_path / "corpus"
    corpus.mkdir()
    make_corpus(Path(DATA), corpus, 200_000_000)
    found = measured([str(corpus), "--model", "nb", "--max-memory", "400MB", "--out", str(tmp_path / "m.linnet")])
    assert found["peak_mb"] < 400
    assert found["stream"]["blocks"] > 1


@pytest.mark.slow
def test_ctrl_c_in_the_last_fit_keeps_the_weights(tmp_path):
    if not DATA:
        pytest.skip("LINNET_DATA is not set")
    path, out = Path(DATA) / "imdb" / "train.parquet", tmp_path / "m.linnet"
    process = subprocess.Popen(
        [sys.executable, "-m", "linnet", "train", str(path), "--max-memory", "260MB", "--out", str(out), "--watch",
         "--set", "tol=1e-9", "--C", "1", "--ratio", "0"], stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    end = time.monotonic() + 400
    for line in process.stderr:
        if line.strip().startswith("pass    2"):
            process.send_signal(signal.SIGINT)
            break
        assert time.monotonic() < end
    process.stderr.read()
    assert process.wait(100) == 0
    assert load(out).card["data"]["rows"] > 20_000
