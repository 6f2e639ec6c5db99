"""Does anything that people build by hand beat `linnet train` with no flags? One table over every data set.

    python benchmarks/quality.py [--data DIR] [--sets trec,atis] [--systems linnet,scikit,fasttext,vw] [--svc] [--json OUT]

Systems, each with the same training rows and the same test rows:
- linnet: TextClassifier() as it is.
- scikit: tf-idf (sublinear) of words 1-2 and of characters 2-5 inside words, side by side; logistic regression and
  LinearSVC, C by three folds; the better of the two by those folds. With --svc LinearSVC alone, where the other takes hours.
- fasttext: wordNgrams=2, its other defaults but 25 epochs; vw: oaa, bigrams, 10 passes. Left out, and named, where not
  installed.

The test rows are those of the data set; without such, a fifth (stratified, seed 0). "better" and "worse" are McNemar's
test of linnet against each other system, corrected over all data sets and systems by Holm's method, at 5 %.
Results go to JSON after every set, so that a run that is cut short keeps what it has; benchmarks/render.py writes the table.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
FIXED = {
    "trec": ("train.csv", "test.csv"), "atis": ("train.csv", "test.csv"), "germeval18": ("train.csv", "test.csv"),
    "r52": ("train.csv", "test.csv"), "yelp_subset": ("train.csv", "test.csv"), "dbpedia14_subset": ("train.csv", "test.csv"),
    "clinc150": ("train.csv", "test.csv"), "ag_news": ("train_subset.csv", "test.csv"),
    "20newsgroups": ("train.parquet", "test.parquet"), "imdb": ("train.parquet", "test.parquet"),
}  # fmt: skip
SPLIT = ("sms_spam", "rt_polarity", "mpqa", "movie_reviews", "lid_lingua75")


def load(folder: Path, name: str) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return training texts and labels, test texts and labels."""
    import linnet

    if name in FIXED:
        train, test = (linnet.read(folder / name / part, labelled=True) for part in FIXED[name])
    else:
        train, test = linnet.read(folder / name / "all.csv", labelled=True).split(0, (0.8, 0.2))
    return tuple(column.to_pylist() for part in (train, test) for column in (part.text, part.label))  # type: ignore[return-value]


def linnet_(train: list[str], y: list[str], test: list[str]) -> tuple[list[str], dict[str, Any]]:
    from linnet import TextClassifier

    clf = TextClassifier().fit(train, y)
    settings = clf.card["settings"]
    names = ("model", "features", "tf", "ratio", "C")
    return clf.predict(test).tolist(), {name: settings.get(name) for name in names}


def scikit(train: list[str], y: list[str], test: list[str], logistic: bool = True) -> tuple[list[str], dict[str, Any]]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import make_union
    from sklearn.svm import LinearSVC

    union = make_union(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b"),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True),
    )
    X = union.fit_transform(train)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    tried: list[tuple[Any, list[float]]] = [(LinearSVC(), [0.1, 0.3, 1.0, 3.0])]
    if logistic:
        tried.append((LogisticRegression(max_iter=300), [3.0, 10.0, 30.0, 100.0]))
    found = [GridSearchCV(model, {"C": values}, cv=folds, n_jobs=1).fit(X, y) for model, values in tried]
    best = max(found, key=lambda search: float(search.best_score_))
    settings = {"model": type(best.best_estimator_).__name__, **best.best_params_, "tried": len(found)}
    return best.predict(union.transform(test)).tolist(), settings


def fasttext(train: list[str], y: list[str], test: list[str]) -> tuple[list[str], dict[str, Any]]:
    import fasttext as ft

    def line(text: str) -> str:
        return " ".join(text.split())

    codes = {label: f"__label__{k}" for k, label in enumerate(sorted(set(y)))}
    back = {code: label for label, code in codes.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        order = np.random.default_rng(0).permutation(len(y))  # it does not shuffle by itself
        path.write_text("".join(f"{codes[y[k]]} {line(train[k])}\n" for k in order))
        model = ft.train_supervised(str(path), wordNgrams=2, epoch=25, thread=1, verbose=0)
    found = model.f.multilinePredict([line(text) + "\n" for text in test], 1, 0.0, "strict")
    return [back[labels[0]] if labels else y[0] for labels in found[0]], {"wordNgrams": 2, "epoch": 25}


def vw(train: list[str], y: list[str], test: list[str]) -> tuple[list[str], dict[str, Any]]:
    import re

    import vowpalwabbit as v

    names = sorted(set(y))
    number = {label: k + 1 for k, label in enumerate(names)}

    def line(text: str, label: str | None) -> str:
        words = " ".join(re.findall(r"\w+|[^\w\s:|]", text.lower()))
        return f"{'' if label is None else number[label]} |w {words}"

    order = np.random.default_rng(0).permutation(len(y))
    with tempfile.TemporaryDirectory() as folder:
        path, model = Path(folder) / "train.vw", Path(folder) / "model.vw"
        path.write_text("".join(line(train[k], y[k]) + "\n" for k in order))
        arguments = f"--oaa {len(names)} -b 22 --ngram w2 --passes 10 --loss_function logistic --quiet"
        v.Workspace(f"{arguments} -d {path} -c -k -f {model}").finish()
        asked = v.Workspace(f"-i {model} -t --quiet")
        found = [names[int(asked.predict(line(text, None))) - 1] for text in test]
        asked.finish()
    return found, {"passes": 10, "bits": 22}


SYSTEMS: dict[str, Any] = {"linnet": linnet_, "scikit": scikit, "fasttext": fasttext, "vw": vw}
NEEDS = {"fasttext": "fasttext", "vw": "vowpalwabbit", "scikit": "sklearn"}


def _bits(found: dict[str, Any], system: str) -> Any:
    packed = np.frombuffer(bytes.fromhex(found["systems"][system]["right"]), dtype=np.uint8)
    return np.unpackbits(packed, count=found["test"]).astype(bool)


def judge(sets: dict[str, Any]) -> None:
    """Add to every set how linnet stands to the others, by McNemar's test with Holm's correction."""
    from linnet.evaluate.significance import holm, mcnemar

    pairs = [(s, name) for s in sets.values() for name in s["systems"] if name != "linnet" and "linnet" in s["systems"]]
    right = [[_bits(s, name) for name in ("linnet", other)] for s, other in pairs]
    corrected = holm([mcnemar(*pair).p for pair in right])
    for (found, other), (ours, theirs), p in zip(pairs, right, corrected, strict=True):
        verdict = "tie" if p >= 0.05 else "better" if ours.sum() > theirs.sum() else "worse"
        found["systems"][other] |= {"p": float(p), "linnet_is": verdict}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("LINNET_DATA", "../shared/data")))
    parser.add_argument("--sets", default=",".join((*FIXED, *SPLIT)))
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--json", type=Path, default=HERE / "results/quality.json")
    parser.add_argument("--svc", action="store_true")
    given = parser.parse_args()
    if given.svc:
        SYSTEMS["scikit"] = partial(scikit, logistic=False)
    whole: dict[str, Any] = json.loads(given.json.read_text()) if given.json.exists() else {"sets": {}}
    for name in given.sets.split(","):
        train, y, test, truth = load(given.data, name)
        found = whole["sets"].setdefault(
            name, {"rows": len(y), "test": len(truth), "classes": len(set(y)), "systems": {}}
        )
        for system in given.systems.split(","):
            if importlib.util.find_spec(NEEDS.get(system, "linnet")) is None:
                print(f"{name}: {system} is not installed, left out", flush=True)
                continue
            began, cpu = time.perf_counter(), time.process_time()
            predicted, settings = SYSTEMS[system](train, y, test)
            right = np.array(predicted) == np.array(truth)
            found["systems"][system] = {
                "accuracy": float(right.mean()), "seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu,
                "settings": settings, "right": np.packbits(right).tobytes().hex(),
            }  # fmt: skip
            print(f"{name:18} {system:9} {right.mean():.4f} {time.process_time() - cpu:8.1f} s {settings}", flush=True)
        judge(whole["sets"])
        whole["machine"] = {
            "processor": platform.processor() or platform.machine(),
            "python": platform.python_version(),
        }
        given.json.write_text(json.dumps(whole))


if __name__ == "__main__":
    main()
