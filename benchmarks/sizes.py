"""How large model files are, and what is lost in small ones, beside fastText's quantize at the same size.

    python benchmarks/sizes.py [--data DIR] [--sets imdb,ag_news] [--models svm,nb] [--max-size 1MB] [--json OUT]

Every set is fitted once with the default settings in full precision. The table as it is in memory and the file, in full precision and by
default, and the file after `shrink` are measured, for other models than the SVM full precision and default, each with its accuracy on the
test rows and the share of answers that differ from full precision.
shrink sees 2,000 training texts, never the test rows. fastText is trained on the same lower-cased lines and quantised (qnorm, retrain)
with the largest cutoff whose file is small enough. lid_lingua75 has no test part: a tenth, drawn by seed 0, is held out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import linnet
from linnet.evaluate.intervals import wilson
from linnet.model.model import Model
from linnet.values import as_bytes

SETS = {
    "imdb": ("imdb/train.parquet", "imdb/test.parquet", {"wordNgrams": 2, "dim": 10, "lr": 0.5, "epoch": 5}),
    "ag_news": ("ag_news/train_subset.csv", "ag_news/test.csv", {"wordNgrams": 2, "dim": 10, "lr": 0.5, "epoch": 5}),
    "20newsgroups": ("20newsgroups/train.parquet", "20newsgroups/test.parquet", None),
    "lid_lingua75": ("lid_lingua75/all.csv", None, {"dim": 16, "minn": 2, "maxn": 4, "lr": 0.5, "epoch": 10}),
}
BUCKETS = 200_000
TRIES = 6


def rows_of(folder: Path, train: str, test: str | None) -> tuple[list[str], list[str], list[str], list[str]]:
    """Texts and labels to learn from, texts and labels to test on."""
    rows = linnet.read(folder / train)
    texts, labels = rows.text.to_pylist(), rows.label_list()
    if test is not None:
        other = linnet.read(folder / test)
        return texts, labels, other.text.to_pylist(), other.label_list()
    order = np.random.default_rng(0).permutation(len(texts))
    parts = np.sort(order[len(order) // 10 :]).tolist(), np.sort(order[: len(order) // 10]).tolist()
    fit, held = parts
    return [texts[k] for k in fit], [labels[k] for k in fit], [texts[k] for k in held], [labels[k] for k in held]


def result(found: Any, truth: list[str], size: int, base: Any = None, **more: Any) -> dict[str, Any]:
    """Accuracy with its interval, the size, and the share of answers that differ."""
    right = int(np.sum(np.asarray(found) == np.asarray(truth)))
    low, high = wilson(right, len(truth))
    other = {} if base is None else {"differ": float(np.mean(np.asarray(found) != np.asarray(base)))}
    return {"accuracy": right / len(truth), "low": low, "high": high, "bytes": size, **other, **more}


def ours(data: tuple[list[str], list[str], list[str], list[str]], folder: Path, most: int) -> dict[str, Any]:
    """The file as it is in memory, in full precision, by default, and shrunk."""
    texts, labels, tests, truth = data
    clf = linnet.TextClassifier(full_precision=True).fit(texts, labels)
    base, path, out = clf.predict(tests), folder / "m.linnet", {}
    clf.artefact.save(path, mapped=True)
    out["--full-precision, as in memory"] = result(base, truth, path.stat().st_size, features=clf.artefact.n_features)
    clf.save(path)
    out["--full-precision"] = result(base, truth, path.stat().st_size, features=clf.artefact.n_features)
    clf.model_ = Model.load(path).compact()
    answers = clf.predict(tests)
    for name, mapped in (("default, as in memory", True), ("default", False)):
        clf.artefact.save(path, mapped=mapped)
        out[name] = result(answers, truth, path.stat().st_size, base, features=clf.artefact.n_features)
    some = np.random.default_rng(0).permutation(len(texts))[:2000].tolist()
    small = clf.shrink(most, [texts[k] for k in some])
    small.save(path)
    name = f"linnet shrink --max-size {most // 1000}kB"
    out[name] = result(small.predict(tests), truth, path.stat().st_size, base, features=small.artefact.n_features)
    return out


def rounded(data: tuple[list[str], list[str], list[str], list[str]], kind: str, folder: Path) -> dict[str, Any]:
    """The file of another model in full precision, and by default."""
    texts, labels, tests, truth = data
    clf, path = linnet.TextClassifier(kind, full_precision=True).fit(texts, labels), folder / "m.linnet"
    clf.save(path)
    base, out = clf.predict(tests), {}
    out[f"{kind}, --full-precision"] = result(base, truth, path.stat().st_size, features=clf.artefact.n_features)
    clf.model_ = Model.load(path).compact()
    clf.save(path)
    out[f"{kind}, default"] = result(
        clf.predict(tests), truth, path.stat().st_size, base, features=clf.artefact.n_features
    )
    return out


def fasttexts(
    data: tuple[list[str], list[str], list[str], list[str]], settings: dict[str, Any], folder: Path, most: int
) -> dict[str, Any]:
    """The trained model, and the quantised one with the largest cutoff that fits."""
    import fasttext

    texts, labels, tests, truth = data
    names = {label: f"__label__{k}" for k, label in enumerate(dict.fromkeys(labels))}
    back = {name: label for label, name in names.items()}
    lines = [" ".join(text.lower().split()) for text in tests]
    source, path = folder / "train.txt", folder / "m.bin"
    order = np.random.default_rng(0).permutation(len(texts)).tolist()  # fastText does not shuffle
    pairs = [(labels[k], texts[k]) for k in order]
    source.write_text("".join(f"{names[a]} {' '.join(t.lower().split())}\n" for a, t in pairs), encoding="utf-8")

    def trained() -> Any:
        return fasttext.train_supervised(str(source), bucket=BUCKETS, thread=2, verbose=0, seed=1, **settings)

    def answers(model: Any) -> list[str]:
        return [back[one[0]] for one in model.predict(lines)[0]]

    model = trained()
    model.save_model(str(path))
    base = answers(model)
    out = {"fastText": result(base, truth, path.stat().st_size)}
    cutoff = most // 14
    for _ in range(TRIES):
        model.quantize(input=str(source), qnorm=True, retrain=True, cutoff=cutoff, thread=2, verbose=0)
        model.save_model(str(path))
        size = path.stat().st_size
        if size <= most:
            out["fastText quantize"] = result(answers(model), truth, size, base, cutoff=cutoff)
            return out
        cutoff, model = int(cutoff * 0.97 * most / size), trained()
    return out


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", "../shared/data"))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--models", default="svm,logistic,nb,nbsvm", help="of any but svm, rounding alone is measured")
    parser.add_argument("--max-size", default="1MB")
    parser.add_argument("--json", default=str(Path(__file__).parent / "results" / "sizes.json"))
    given = parser.parse_args()
    most, before = as_bytes(given.max_size, "--max-size") or 0, Path(given.json)
    found = (
        json.loads(before.read_text(encoding="utf-8"))["sets"] if before.is_file() else {}
    )  # other models keep theirs
    for name in given.sets.split(","):
        train, test, settings = SETS[name]
        data = rows_of(Path(given.data), train, test)
        with tempfile.TemporaryDirectory() as folder:
            models = found.setdefault(name, {"rows_tested": len(data[3]), "models": {}})["models"]
            for kind in given.models.split(","):
                models |= ours(data, Path(folder), most) if kind == "svm" else rounded(data, kind, Path(folder))
            if settings is not None and "svm" in given.models.split(","):
                models |= fasttexts(data, settings, Path(folder), most)
        for model, one in found[name]["models"].items():
            print(f"{name}: {model}: {one['bytes'] / 1e6:.2f} MB, accuracy {one['accuracy']:.4f}", flush=True)
        machine = {"python": platform.python_version(), "machine": platform.machine(), "linnet": linnet.__version__}
        content = {"date": datetime.now(UTC).date().isoformat(), "machine": machine, "sets": found}
        Path(given.json).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
