"""Train every kind of model under many settings of the machine and see that the files are the same to the last byte.

    python tools/same_bytes.py [--quick] [--jobs PATTERN]

The same small data sets are trained on in subprocesses: as the machine is; with NumPy's and glibc's vector code switched
off step by step; with other kernels of OpenBLAS; in other locales, folders, hash seeds and numbers of threads. Rows come in
memory, as a stream in one block and in many, and through the workers of an engine; from CSV, JSON lines and Parquet, where
all but the name of the source must be equal. Prints a line a setting, and exits 1 where a file differs. Where LINNET_DATA
names the data sets, RT-s and TREC are trained on too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import linnet
from linnet.models import MODELS

SEED = "1"  # of Python's string hashes, where nothing else is said
# for settings that touch less
SOME = r"^(reviews|four) (csv|blocks|engine) (svm|logistic|nb|feed-forward|least-squares)( features=words:1-2)?$"
Job = dict[str, Any]


# ---- data


def write(folder: Path, name: str, labels: list[str], texts: list[str]) -> None:
    """Write rows as CSV, Parquet and JSON lines, and as three shards."""
    table = pa.table({"label": labels, "text": texts})
    pa.csv.write_csv(table, folder / f"{name}.csv")
    pa.parquet.write_table(table, folder / f"{name}.parquet")
    lines = [json.dumps({"label": a, "text": t}) for a, t in zip(labels, texts, strict=True)]
    (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / name).mkdir()
    size = -(-len(labels) // 3)
    for k in range(3):
        pa.csv.write_csv(table.slice(k * size, size), folder / name / f"part-{k}.csv")


def make_data(folder: Path, *, quick: bool) -> None:
    """Write the built-in reviews with two labels and with four, and parts of RT-s and TREC where they are."""
    rows = linnet.read(Path(linnet.__file__).parent / "datasets" / "reviews.csv")
    labels, texts = rows.label.to_pylist()[::2], rows.text.to_pylist()[::2]
    write(folder, "reviews", labels, texts)
    write(
        folder, "four", [f"{a} {'long' if len(t) > 60 else 'short'}" for a, t in zip(labels, texts, strict=True)], texts
    )
    real = Path(os.environ.get("LINNET_DATA", ""))
    if quick or not (real / "trec").is_dir():
        return
    for name, path, step in (("rt", "rt_polarity/all.csv", 4), ("trec", "trec/train.csv", 2)):
        rows = linnet.read(real / path)
        write(folder, name, rows.label.to_pylist()[::step], rows.text.to_pylist()[::step])


# ---- what is trained


def jobs(folder: Path, *, quick: bool) -> dict[str, Job]:
    """Return what to train, by name: a data set, a way that rows come in, and the settings of a classifier."""
    found: dict[str, Job] = {}

    def add(data: str, way: str, model: str, **settings: Any) -> None:
        more = "".join(f" {k}={v}" for k, v in settings.items())
        found[f"{data} {way} {model}{more}"] = {"data": data, "way": way, "model": model, "settings": settings}

    if quick:
        for model in ("svm", "logistic", "nb"):
            add("reviews", "csv", model, features="words:1-2")
        add("four", "csv", "logistic", features="words:1-2")
        return found
    for model in MODELS:
        add("reviews", "csv", model)
        if model != "lexicon":
            add("four", "csv", model, features="words:1-2")
    plain = {"features": "words:1-2", "ratio": 0.0}
    for solver in ("newton", "lbfgs", "adam", "momentum", "sgd", "proximal-gradient"):
        add("reviews", "csv", "logistic", **plain, params={"solver": solver, "C": 1.0})
    for data in ("reviews", "four"):
        add(data, "csv", "logistic", **plain, params={"penalty": "l1", "C": 1.0})
        add(data, "csv", "svm", **plain, params={"loss": "hinge", "C": 1.0})
        add(data, "csv", "least-squares", features="words:1", min_df=5, params={"solver": "normal", "alpha": 1.0})
        add(data, "csv", "least-squares", features="words:1", min_df=5, params={"solver": "pinv", "alpha": 1.0})
    add("reviews", "csv", "perceptron", features="words:1-2", params={"start": "random"})
    add("reviews", "csv", "nbsvm", features="words:1-2", params={"power": 0.7, "beta": 0.25})
    add("reviews", "csv", "svm", features="words:1-2+lengths")
    for tf in ("count", "sublinear"):
        add("four", "csv", "svm", features="words:1-2", tf=tf, ratio=0.7, class_weight="balanced")
    for select in ("chi2:300", "mi:300", "l1:300"):
        add("four", "csv", "svm", features="words:1", select=select)
    for model in ("svm", "logistic", "nb", "bernoulli"):
        add("reviews", "csv", model, features="words:1-2", hash_bits=12)
        add("reviews", "engine", model, features="words:1-2")
        for data in ("reviews", "four"):
            add(data, "stream", model, features="words:1-2")
            add(data, "blocks", model, features="words:1-2")
    for model in ("nbsvm", "perceptron", "passive-aggressive"):
        add("four", "blocks", model, features="words:1-2")
    add("four", "engine", "logistic", features="words:1-2", hash_bits=12)
    add("four", "engine", "svm", features="words:1-2", class_weight="balanced")
    for way in ("jsonl", "parquet"):
        add("reviews", way, "svm")  # as from CSV, above
        add("four", way, "logistic", features="words:1-2")
    if (folder / "trec").is_dir():
        for model in ("svm", "logistic", "nb", "nbsvm"):
            add("rt", "csv", model)
            add("trec", "csv", model, features="words:1-2")
        add("rt", "blocks", "logistic", features="words:1-2")
        add("trec", "blocks", "svm", features="words:1-2")
        add("trec", "engine", "logistic", features="words:1-2")
    return found


def train(job: Job, folder: Path, out: Path, threads: int) -> None:
    """Train one model and write its file."""
    clf = linnet.TextClassifier(job["model"], n_jobs=threads, **job["settings"])
    way, data = job["way"], folder / job["data"]
    if way in ("csv", "jsonl", "parquet"):
        clf.fit(linnet.read(f"{data}.{way}"))
    else:
        from linnet.pipeline.stream import fit_stream

        if way == "engine":
            from linnet.engines import open_engine

            with open_engine("local", workers=threads) as engine:
                fit_stream(clf, data, max_memory="1GB", engine=engine)
        else:
            with many_blocks(way == "blocks"):
                fit_stream(clf, f"{data}.csv", max_memory="1GB")
    clf.save(out)


@contextmanager
def many_blocks(wanted: bool) -> Iterator[None]:
    """Let no data fit in one block of rows, however little it is."""
    from linnet.pipeline.cache import Budget

    with ExitStack() as stack:
        for name, entries in (("whole_entries", 0), ("block_entries", 5_000)) if wanted else ():
            stack.enter_context(patch.object(Budget, name, lambda self, per_entry, entries=entries: entries))
        yield


def digests(path: Path) -> tuple[str, str]:
    """Return the SHA-256 of a model file, and that of all but the name of its source."""
    from linnet.model import file as store

    stored = store.read(path)
    card = json.loads(json.dumps(stored.card))
    card.get("data", {}).pop("source", None)
    rest = hashlib.sha256(json.dumps(card, sort_keys=True).encode())
    for name in sorted(stored.tensors):
        rest.update(name.encode() + stored.tensors[name].tobytes())
    return hashlib.sha256(path.read_bytes()).hexdigest(), rest.hexdigest()


def work(folder: Path, threads: int, quick: bool, pattern: str) -> None:
    """Train everything here and now, and print the digests as JSON: what a subprocess does."""
    found = {}
    with tempfile.TemporaryDirectory() as made:
        for name, job in jobs(folder, quick=quick).items():
            if re.search(pattern, name):
                out = Path(made) / "m.linnet"
                train(job, folder, out, threads)
                found[name] = digests(out)
    print(json.dumps(found))


# ---- settings of the machine


def dispatched() -> list[str]:
    """Return the vector instructions of this processor that NumPy can be told not to use."""
    from numpy._core import _multiarray_umath as core

    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]


def locales() -> list[str]:
    """Return a locale or two of this machine beside C, those with another decimal point first."""
    done = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False)
    found = [name for name in done.stdout.split() if name not in ("C", "POSIX")]
    return sorted(found, key=lambda name: (not name.startswith(("de", "fr", "tr")), name))[:1]


def settings(*, quick: bool) -> dict[str, tuple[dict[str, str], int, str]]:
    """Return the settings by name: environment variables, the number of threads, and which models to train."""
    features = dispatched()
    wide = [name for name in features if "512" in name or name.endswith("V4")]
    found: dict[str, tuple[dict[str, str], int, str]] = {"as it is": ({}, 2, "")}
    if wide:
        found["NumPy without " + " ".join(wide)] = {"NPY_DISABLE_CPU_FEATURES": " ".join(wide)}, 2, ""
    if set(features) - set(wide):
        found["NumPy without " + " ".join(features)] = (
            {"NPY_DISABLE_CPU_FEATURES": " ".join(features)},
            2,
            "" if quick else SOME,
        )
    if quick:
        return found
    for core in ("Haswell", "Prescott"):
        found[f"OpenBLAS for {core}"] = {"OPENBLAS_CORETYPE": core, "OMP_NUM_THREADS": "1"}, 2, SOME
    tunables = "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-AVX2_Usable,-FMA_Usable"
    found["glibc without AVX2 and FMA"] = {"GLIBC_TUNABLES": tunables}, 2, SOME
    found["everything off, one thread"] = (
        {
            "NPY_DISABLE_CPU_FEATURES": " ".join(features), "GLIBC_TUNABLES": tunables, "OPENBLAS_CORETYPE": "Prescott",
            "OMP_NUM_THREADS": "1",
        },
        1,
        "",
    )  # fmt: skip
    found["locale C"] = {"LC_ALL": "C"}, 2, SOME
    for name in locales():
        found[f"locale {name}"] = {"LC_ALL": name}, 2, SOME
    found["another hash seed"] = {"PYTHONHASHSEED": "77"}, 2, SOME
    found["another folder"] = {}, 2, SOME
    return found


def main() -> int:
    """Run all settings and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few models, NumPy's vector code only")
    parser.add_argument("--jobs", default="", metavar="PATTERN", help="train only what matches, such as '^four .*svm'")
    parser.add_argument("--work", help=argparse.SUPPRESS)  # in a subprocess: the folder of the data
    parser.add_argument("--threads", type=int, default=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(Path(given.work), given.threads, given.quick, given.jobs)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir()
        make_data(data, quick=given.quick)
        return compare(data, given.quick, given.jobs)


def compare(data: Path, quick: bool, pattern: str) -> int:
    """Run the settings one after another; returns 1 where a file differs from that of the first."""
    first: dict[str, list[str]] = {}
    wrong = 0
    for name, (variables, threads, some) in settings(quick=quick).items():
        where = data
        if name == "another folder":
            where = data.parent / "some" / "other folder"
            shutil.copytree(data, where)
        command = [sys.executable, "-W", "ignore", str(Path(__file__).resolve()), "--work", str(where)]
        command += ["--jobs", pattern or some, "--threads", str(threads), *(["--quick"] if quick else [])]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=where.parent,
            env=os.environ | {"PYTHONHASHSEED": SEED} | variables,
        )  # fmt: skip
        if done.returncode:
            print(f"{name}: failed\n{done.stderr[-2000:]}")
            wrong += 1
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        first = first or found
        differ = [job for job in found if found[job][0] != first[job][0]]
        wrong += len(differ)
        print(f"{name}: {len(found) - len(differ)} of {len(found)} files the same", flush=True)
        for job in differ:
            print(f"  differs: {job}")
    for job, (_, rest) in first.items():
        twin = re.sub(r" (jsonl|parquet) ", " csv ", job)
        if twin != job and twin in first and first[twin][1] != rest:
            print(f"differs from CSV in more than the name of the source: {job}")
            wrong += 1
    return 1 if wrong or not first else 0


if __name__ == "__main__":
    sys.exit(main())
