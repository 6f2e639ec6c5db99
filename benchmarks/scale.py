"""linnet filter on a corpus larger than memory ought to be: throughput beside fastText, threads, memory.

python benchmarks/scale.py --data DIR --json benchmarks/results/scale.json [--size 2GB] [--peer-size 192MB]

The corpus is IMDB's reviews, repeated and shuffled, in Parquet shards. Rates are megabytes of UTF-8 text a second, from
Parquet to Parquet, of the whole process from start to exit. The peers take turns with linnet on the first shards
(`--peer-size`), and the figure is the best of `--repeat`, in processor time and in wall time; so it is for the runs on
the whole corpus. fastText's own program (Debian's `fasttext`) is handed its text ready, one document a line, and writes
labels only; reading and writing Parquet is not on its clock. Called as datatrove does, once a document from Python, it
reads and writes Parquet as linnet does.
fastText has two models: dim 100 is its default, dim 10 what its authors used for their published results. linnet has two as
well: that of `linnet train --features words:1-2`, and one with `--hash-bits 18`, whose 2 MB of weights stay in the cache.
All learn from IMDB's training set; how good they are is measured on its test set.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from systems.measure import BENCHMARKS, MB, CommandError, Usage, environment, last_json, measure, say

DIMS = (10, 100)
TARGETS = {"program": 3.0, "datatrove": 10.0, "threads": 1.7, "memory_mb": 1000.0}


def size_of(text: str) -> int:
    units = {"K": 10**3, "M": 10**6, "G": 10**9}
    plain = text.upper().removesuffix("B")
    return int(float(plain.rstrip("KMG")) * units.get(plain[-1], 1))


def python(*args: Any, interpreter: str = sys.executable) -> list[str]:
    return [interpreter, "-m", "systems.corpus", *map(str, args)]


def linnet(*args: Any) -> list[str]:
    return [sys.executable, "-m", "linnet", *map(str, args)]


def tree_memory(pid: int) -> float:
    """Resident megabytes of a process and everything below it."""
    total, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            status = Path(f"/proc/{one}/status").read_text()
            total += next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")), 0)
            for children in Path(f"/proc/{one}/task").glob("*/children"):
                waiting += [int(child) for child in children.read_text().split()]
        except (OSError, ProcessLookupError):
            continue
    return total * 1024 / MB


def watched(command: list[str], threads: int) -> tuple[float, float, float, dict[str, Any]]:
    """Wall and processor seconds, the most memory of the whole tree of processes, and what it printed."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        command, cwd=BENCHMARKS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(threads), text=True
    )
    most, stop = 0.0, threading.Event()

    def look() -> None:
        nonlocal most
        while not stop.is_set():
            most = max(most, tree_memory(process.pid))
            time.sleep(0.05)

    watcher = threading.Thread(target=look)
    watcher.start()
    out, err = process.communicate()
    wall = time.perf_counter() - start
    stop.set()
    watcher.join()
    if process.returncode:
        raise CommandError(err[-2000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, most, json.loads(out)


class Bench:
    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self.options, self.work = options, work
        self.corpus = work / "corpus"
        self.model, self.small = work / "imdb.linnet", work / "imdb-small.linnet"
        self.result: dict[str, Any] = {}

    def prepare(self) -> None:
        if not (self.corpus / "made").exists():
            say(f"making {self.options.size} of Parquet")
            measure(python("make", self.options.data, self.corpus, size_of(self.options.size)))
            (self.corpus / "made").touch()
        shards = sorted(self.corpus.glob("*.parquet"))
        n = max(2, round(size_of(self.options.peer_size) / (64 << 20)))
        self.some = self.work / "some"
        shutil.rmtree(self.some, ignore_errors=True)
        self.some.mkdir()
        for shard in shards[:n]:
            os.link(shard, self.some / shard.name)
        self.shards = [str(self.some / shard.name) for shard in shards[:n]]
        self.text = last_json(measure(python("lines", self.work / "some.txt", *self.shards)))
        source = f"{self.options.data}/imdb/train.parquet"
        if not self.model.exists():
            say("training linnet")
            measure(linnet("train", source, "--features", "words:1-2", "--out", self.model))
        if not self.small.exists():
            measure(linnet("train", source, "--features", "words:1-2", "--hash-bits", 18, "--out", self.small))
        self.peers: list[str] = []
        if shutil.which("fasttext") is None:
            say("no program fasttext (apt install fasttext): the peers are left out")
            return
        for part in ("train", "test"):
            measure(python("labelled_lines", self.options.data, part, self.work / f"{part}.ft"))
        for dim in DIMS:
            if not (self.work / f"ft{dim}.bin").exists():
                say(f"training fastText, dim {dim}")
                options = f"-dim {dim} -wordNgrams 2 -epoch 5 -lr 0.25 -thread 2 -verbose 0".split()
                source, target = str(self.work / "train.ft"), str(self.work / f"ft{dim}")
                measure(["fasttext", "supervised", "-input", source, "-output", target, *options])
            self.peers.append(f"fastText program, dim {dim}")
        if self._has_fasttext():
            self.peers += [f"fastText as datatrove, dim {dim}" for dim in DIMS]
        else:
            say(f"{self.options.python} has no fasttext and pyarrow: fastText from Python is left out")

    def _has_fasttext(self) -> bool:
        check = [self.options.python, "-c", "import fasttext, pyarrow"]
        return subprocess.run(check, capture_output=True).returncode == 0

    def accuracy(self) -> None:
        """Of every model, on IMDB's test set."""
        test, told = f"{self.options.data}/imdb/test.parquet", self.work / "scores.json"
        found = {}
        for name, model in (("linnet", self.model), ("linnet, 2 MB model", self.small)):
            measure(linnet("evaluate", model, test, "--json", told))
            found[name] = json.loads(told.read_text())["accuracy"]
        for dim in DIMS if self.peers else ():
            out = measure(["fasttext", "test", str(self.work / f"ft{dim}.bin"), str(self.work / "test.ft")]).output
            found[f"fastText, dim {dim}"] = float(next(line for line in out.splitlines() if "P@1" in line).split()[1])
        self.result["accuracy"] = found
        say(", ".join(f"{name} {100 * value:.2f} %" for name, value in found.items()))

    def filter(self, inputs: Path, threads: int, *more: Any, model: Path | None = None) -> list[str]:
        out = self.work / "out"
        shutil.rmtree(out, ignore_errors=True)
        return linnet(
            "filter",
            model or self.model,
            inputs,
            "--out",
            out,
            "--keep",
            "pos",
            "--threads",
            threads,
            "--json",
            "-q",
            *more,
        )

    def run(self, system: str) -> Usage:
        dim = system.rsplit(" ", 1)[-1]
        if system == "linnet":
            return measure(self.filter(self.some, 1, "--min", 0.99))
        if system == "linnet, 2 MB model":
            return measure(self.filter(self.some, 1, "--min", 0.99, model=self.small))
        if system == "linnet, two threads":
            return measure(self.filter(self.some, 2, "--min", 0.99))
        model = str(self.work / f"ft{dim}.bin")
        if "datatrove" in system:
            return measure(
                python("datatrove", model, self.work / "out-ft", *self.shards, interpreter=self.options.python)
            )
        text, out = self.work / "some.txt", self.work / "ft.out"
        return measure(["sh", "-c", f"exec fasttext predict-prob {model} {text} > {out}"])

    def compare(self) -> None:
        systems = ["linnet", "linnet, 2 MB model", *self.peers, "linnet, two threads"]
        samples: dict[str, list[Usage]] = {name: [] for name in systems}
        for repeat in range(self.options.repeat):
            turn = systems[repeat % len(systems) :] + systems[: repeat % len(systems)]
            for name in turn:
                used = self.run(name)
                samples[name].append(used)
                say(
                    f"{name}: {self.text['bytes'] / MB / used.wall:.1f} MB/s ({self.text['bytes'] / MB / used.cpu:.1f} by processor time)"
                )
        rate = {
            name: {
                "mb_s": self.text["bytes"] / MB / min(u.wall for u in used),
                "cpu_mb_s": self.text["bytes"] / MB / min(u.cpu for u in used),
                "samples": [{"wall_s": u.wall, "cpu_s": u.cpu, "peak_mb": u.peak} for u in used],
            }
            for name, used in samples.items()
        }  # fmt: skip
        self.result["systems"] = rate
        self.result["two_threads"] = rate["linnet, two threads"]["mb_s"] / rate["linnet"]["mb_s"]

    def ratios(self) -> None:
        """How many times the peers' rates linnet's are."""
        rate = self.result["systems"]
        self.result["ratios"] = {
            ours: {
                name: {key: values[key] / rate[name][key] for key in ("mb_s", "cpu_mb_s")} for name in self.peers
            }
            for ours, values in rate.items()
            if ours.startswith("linnet") and "two" not in ours
        }  # fmt: skip

    def whole(self) -> None:
        text = size_of(self.options.size)
        least = ("--min", 0.99)
        kinds: list[tuple[str, Path, int, tuple[Any, ...]]] = [
            ("linnet, whole corpus", self.model, 1, least),
            ("linnet, 2 MB model, whole corpus", self.small, 1, least),
            ("two threads, whole corpus", self.model, 2, least),
            ("top 10 %, two threads, whole corpus", self.model, 2, ("--top", "10%")),
        ]
        for name, model, threads, more in kinds * self.options.repeat:
            command = self.filter(self.corpus, threads, "--max-memory", "1GB", *more, model=model)
            wall, cpu, most, found = watched(command, threads)
            say(f"{name}: {text / MB / wall:.1f} MB/s ({text / MB / cpu:.1f} by processor time), {most:.0f} MB at most")
            share = found.get("cut", {}).get("share")
            values = {
                "seconds": wall, "mb_s": text / MB / wall, "cpu_mb_s": text / MB / cpu, "peak_tree_mb": most,
                "rows": found["rows"], "kept": found["kept"],
                "adds_up": found["rows"] == found["kept"] + found["dropped"] + found["unusable"],
                **({} if share is None else {"share": share}),
            }  # fmt: skip
            before = self.result["systems"].get(name)
            if before is None or values["mb_s"] > before["mb_s"]:
                self.result["systems"][name] = values
        one, two = (
            self.result["systems"][name]["mb_s"] for name in ("linnet, whole corpus", "two threads, whole corpus")
        )
        self.result["two_threads_whole"] = two / one


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("LINNET_DATA", ""))
    parser.add_argument("--json")
    parser.add_argument("--size", default="2GB", help="of text in the corpus")
    parser.add_argument("--peer-size", default="192MB", help="of text for the comparison, whole shards")
    parser.add_argument("--compare-only", action="store_true", help="leave out the runs on the whole corpus")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--python", default=sys.executable, help="an interpreter with fasttext-wheel and pyarrow")
    parser.add_argument(
        "--work", help="a folder for the corpus and the models, kept and used again; else a temporary one"
    )
    options = parser.parse_args()
    if not Path(options.data, "imdb", "train.parquet").exists():
        say("no data: point LINNET_DATA or --data at the data sets")
        return 0
    with contextlib.ExitStack() as stack:
        folder = options.work or stack.enter_context(tempfile.TemporaryDirectory(prefix="linnet-scale-"))
        Path(folder).mkdir(parents=True, exist_ok=True)
        bench = Bench(options, Path(folder))
        bench.prepare()
        bench.accuracy()
        bench.compare()
        if not options.compare_only:
            bench.whole()
        bench.ratios()
    result = {
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "load": os.getloadavg()[0]},
        "size": options.size, "peer_text_mb": bench.text["bytes"] / MB, "targets": TARGETS, **bench.result,
    }  # fmt: skip
    if options.json:
        Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    for name, values in result["systems"].items():
        times = [ratios[name]["cpu_mb_s"] for ratios in result["ratios"].values() if name in ratios]
        memory = f"  {values['peak_tree_mb']:.0f} MB at most" if "peak_tree_mb" in values else ""
        beside = memory + "".join(f"{ratio:8.1f}x" for ratio in times)
        print(f"{name:<32}{values['mb_s']:8.1f} MB/s  {values['cpu_mb_s']:8.1f} by cpu {beside}")
    print(f"two threads: {result['two_threads']:.2f}x one")
    return 0


if __name__ == "__main__":
    sys.exit(main())
