"""Models of fastText in linnet, and linnet's models in C: `python benchmarks/portable.py [--json OUT] [--repeat 3]`.

Processor seconds of one thread for the same lines, the best of some runs, without the time to load a model. fastText is its own program
(Debian's `fasttext predict`; what it takes for an empty file is taken off), linnet is `predict` in memory, and the C export is a
program of two dozen lines compiled by `gcc -O2`. Models are trained here, off the clock, on $LINNET_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fasttext
import pyarrow as pa

import linnet

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "RT-s, words 1-2, softmax": ("rt_polarity/all.csv", {"wordNgrams": 2, "bucket": 200_000}),
    "AG News, words 1-2, softmax": ("ag_news/train_subset.csv", {"wordNgrams": 2, "bucket": 500_000}),
    "AG News, words 1-2, one against all": (
        "ag_news/train_subset.csv",
        {"wordNgrams": 2, "bucket": 500_000, "loss": "ova"},
    ),
    "AG News, words 1-2, quantised": (
        "ag_news/train_subset.csv",
        {"wordNgrams": 2, "bucket": 500_000, "quantised": True},
    ),
    "75 languages, subwords 2-4, tree": (
        "lid_lingua75/all.csv",
        {"minn": 2, "maxn": 4, "bucket": 200_000, "dim": 16, "loss": "hs"},
    ),
}
EXPORTED = {
    "RT-s, default": ("rt_polarity/all.csv", {}),
    "AG News, words 1-2": ("ag_news/train_subset.csv", {"features": "words:1-2"}),
    "75 languages, naive Bayes": ("lid_lingua75/all.csv", {"model": "nb", "features": "chars:1-3"}),
}
PROGRAM = """
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include "model.h"
int main(int argc, char **argv) {
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    double p[MODEL_CLASSES];
    FILE *file = fopen(argv[1], "rb");
    while ((n = getline(&line, &room, file)) > 0) {
        int k = model_predict(line, (size_t)(n - 1), p);
        puts(k < 0 ? "" : model_labels[k]);
    }
    return 0;
}
"""


def rows(path: Path, most: int = 20_000) -> tuple[list[str], list[str]]:
    """Return texts without line ends, and labels."""
    data = linnet.read(path)
    texts = [" ".join(text.split()) for text in data.text.to_pylist()[:most]]
    return texts, [label.replace(" ", "_") for label in data.label.to_pylist()[:most]]


def child_seconds(*command: str | Path) -> tuple[float, str]:
    """Run a command; return the processor seconds it took, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def beyond_loading(command: tuple[str | Path, ...], lines: Path, repeat: int) -> tuple[float, list[str]]:
    """Return the processor seconds for a file less those for an empty one, and the lines that were printed."""
    empty = lines.with_name("empty.txt")
    empty.write_text("")
    runs = [child_seconds(*command, lines) for _ in range(repeat)]
    load = min(child_seconds(*command, empty)[0] for _ in range(repeat))
    return min(seconds for seconds, _ in runs) - load, runs[0][1].splitlines()


def linnet_seconds(clf: Any, texts: Any, repeat: int) -> tuple[float, list[str]]:
    clf.predict(texts[:100])
    taken = []
    for _ in range(repeat):
        began = time.process_time()
        clf.predict(texts)
        taken.append(time.process_time() - began)
    classes = clf.artefact.classes
    return min(taken), [
        str(classes[k]) for k in clf.predict_proba(texts).argmax(axis=1)
    ]  # also where all labels may be right


def imported(source: str, settings: dict[str, Any], data: Path, folder: Path, repeat: int) -> dict[str, Any]:
    texts, labels = rows(data / source)
    lines = folder / "train.txt"
    lines.write_text("".join(f"__label__{c} {t}\n" for t, c in zip(texts, labels, strict=True)), encoding="utf-8")
    settings = dict(settings)
    quantised = settings.pop("quantised", False)
    theirs = fasttext.train_supervised(str(lines), thread=1, verbose=0, **{"dim": 50, "epoch": 3, **settings})
    model = folder / ("model.ftz" if quantised else "model.bin")
    if quantised:
        theirs.quantize(input=str(lines), qnorm=True)
    theirs.save_model(str(model))
    plain = folder / "texts.txt"
    plain.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    theirs_s, printed = beyond_loading(("fasttext", "predict", model), plain, repeat)
    ours, answers = linnet_seconds(linnet.load(model, n_jobs=1), pa.array(texts), repeat)
    wanted = [line.removeprefix("__label__") for line in printed]
    same = sum(a == b for a, b in zip(answers, wanted, strict=True)) / len(wanted)
    return {
        "rows": len(texts),
        "linnet_s": ours,
        "fasttext_s": theirs_s,
        "times": theirs_s / ours,
        "same_answers": same,
    }


def exported(source: str, settings: dict[str, Any], data: Path, folder: Path, repeat: int) -> dict[str, Any]:
    texts, labels = rows(data / source)
    clf = linnet.TextClassifier(**settings).fit(texts, labels)
    clf.export(folder / "model.c")
    (folder / "main.c").write_text(PROGRAM)
    program = folder / "program"
    child_seconds("gcc", "-O2", "-w", "-o", program, folder / "main.c", folder / "model.c", "-lm")
    plain = folder / "texts.txt"
    plain.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    clf.save(folder / "model.linnet")
    ours, answers = linnet_seconds(linnet.load(folder / "model.linnet", n_jobs=1), pa.array(texts), repeat)
    c_s, printed = beyond_loading((program,), plain, repeat)
    same = sum(a == b for a, b in zip(answers, printed, strict=True)) / len(texts)
    return {"rows": len(texts), "linnet_s": ours, "c_s": c_s, "times": ours / c_s, "same_answers": same}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("LINNET_DATA", "data")))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if shutil.which("fasttext") is None:
        raise SystemExit("fastText's program is not here: apt-get install fasttext")
    fasttext.FastText.eprint = lambda *_: None
    results: dict[str, Any] = {"import": {}, "export": {}}
    for part, jobs, run in (("import", KINDS, imported), ("export", EXPORTED, exported)):
        for name, (source, settings) in jobs.items():
            with tempfile.TemporaryDirectory() as folder:
                found = run(source, settings, options.data, Path(folder), options.repeat)
            results[part][name] = found
            print(f"{part} {name}: {found['times']:.2f} times, same answers {found['same_answers']:.2%}", flush=True)
    if options.json:
        about = {"date": datetime.now(UTC).date().isoformat(), "machine": platform.processor() or platform.machine()}
        options.json.write_text(json.dumps({**about, **results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
