"""Requests a second: `linnet serve` beside a plain FastAPI server with scikit-learn's pipeline of the same model type.

    python benchmarks/serving.py [--data DIR] [--sets rt_polarity,imdb] [--seconds 3] [--rounds 3] [--json OUT]

Both are logistic regression on words and pairs of words (sublinear tf-idf, L2), trained on the same rows, one process each,
one thread, uvloop and httptools under both. linnet writes its log of every request, the peer writes none. Texts are
those of the set's test rows, another in every request. Load comes from `wrk` over loopback (one thread, keep-alive): 16
connections that send one text, 4 that send 64. Where wrk is not installed (apt install wrk), a client in Python takes
its place; it is as slow as the servers, so ratios come out smaller.

The servers take turns: another one begins every round, and only one runs at a time. Figures are the median over rounds. On a
busy machine look at `cpu_us`, the processor time that the server process spent on a request.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import os
import platform
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BATCH = 64
TARGET = {"single": 1.3, "batch": 10.0}
KINDS = {"single": 16, "batch": 4}  # connections
SCRIPT = """
local bodies, n, k = {}, 0, 0
init = function(args)
  for line in io.lines("@BODIES@") do
    n = n + 1
    bodies[n] = wrk.format("POST", "@PATH@", {["Host"] = "x", ["Content-Type"] = "application/json"}, line)
  end
end
request = function() k = k % n + 1; return bodies[k] end
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("JSON %d %d %d %d %d\\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
"""


# ---- what is served


def read(folder: Path | None, name: str) -> tuple[list[str], list[str], list[str]]:
    """Return training texts, their labels, and texts to ask about."""
    if name == "reviews" or folder is None:
        from linnet.datasets import whole

        rows = whole("reviews")
        texts = rows.text.to_pylist()
        return texts, rows.label_list(), texts
    if name == "imdb":
        import pyarrow.parquet as pq

        train, test = (pq.read_table(folder / name / f"{part}.parquet").to_pydict() for part in ("train", "test"))
        return train["text"], [str(label) for label in train["label"]], test["text"][::50]
    with (folder / name / "all.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    held = rows[::10]
    kept = [row for k, row in enumerate(rows) if k % 10]
    return [r["text"] for r in kept], [r["label"] for r in kept], [r["text"] for r in held]


def train(texts: list[str], labels: list[str], folder: Path) -> tuple[Path, Path]:
    """Fit both and save them."""
    import joblib
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    import linnet

    ours, theirs = folder / "model.linnet", folder / "model.joblib"
    clf = linnet.TextClassifier(
        "logistic", features="words:1-2", tf="sublinear", idf=True, ratio=0.0, params={"C": 1.0}
    )
    clf.fit(texts, labels).save(ours)
    pipeline = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LogisticRegression(C=1.0, max_iter=200)
    )
    joblib.dump(pipeline.fit(texts, labels), theirs)
    return ours, theirs


def bodies(texts: list[str], folder: Path) -> dict[str, Path]:
    """Write the bodies of requests, one a line."""
    found = {}
    for kind in KINDS:
        found[kind] = folder / f"{kind}.jsonl"
        if kind == "single":
            lines = [json.dumps({"text": text}) for text in texts[:1000]]
        else:
            groups = [
                [texts[(k + j) % len(texts)] for j in range(BATCH)] for k in range(0, min(len(texts), 2000), BATCH)
            ]
            lines = [json.dumps({"texts": group}) for group in groups]
        found[kind].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return found


# ---- servers


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Running:
    """A server process."""

    def __init__(self, command: list[str], port: int, log: Path) -> None:
        limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        self.port = port
        with log.open("w") as sink:
            self.process = subprocess.Popen(command, stdout=sink, stderr=sink, env={**os.environ, **limits})
        end = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/openapi.json", timeout=5).read()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise SystemExit(f"{' '.join(command)} does not answer:\n{log.read_text()}") from None
                time.sleep(0.1)

    def cpu(self) -> float:
        """Return the processor seconds so far; 0 where /proc is not there."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(30)


def systems(ours: Path, theirs: Path) -> dict[str, tuple[Any, dict[str, str]]]:
    """Return {name: (command of a port, path by kind)}."""

    def linnet(port: int, *more: str) -> list[str]:
        return [sys.executable, "-m", "linnet", "serve", str(ours), "--port", str(port), "--threads", "1", *more]

    own = dict.fromkeys(KINDS, "/v1/predict")
    return {
        "linnet": (linnet, own),
        "linnet, nothing gathered": (lambda port: linnet(port, "--gather", "1"), own),
        "FastAPI + scikit-learn": (
            lambda port: [sys.executable, str(HERE / "plain_server.py"), str(theirs), str(port)],
            {"single": "/one", "batch": "/many"},
        ),
    }


# ---- load


def with_wrk(port: int, path: str, lines: Path, connections: int, seconds: float) -> dict[str, float]:
    script = lines.with_suffix(".lua")
    script.write_text(SCRIPT.replace("@BODIES@", str(lines)).replace("@PATH@", path))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "20s", "-s", str(script)]
    done = subprocess.run([*command, f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True)
    found = re.search(r"JSON (\d+) (\d+) (\d+) (\d+) (\d+)", done.stdout)
    if found is None:
        raise SystemExit(f"wrk said:\n{done.stdout}{done.stderr}")
    requests, duration, p50, p99, errors = map(float, found.groups())
    return {
        "requests": requests,
        "rps": requests / duration * 1e6,
        "p50_ms": p50 / 1e3,
        "p99_ms": p99 / 1e3,
        "errors": errors,
    }


def with_python(port: int, path: str, lines: Path, connections: int, seconds: float) -> dict[str, float]:
    """Send requests over raw sockets from this process."""
    bodies = [line.encode() for line in lines.read_text(encoding="utf-8").splitlines()]
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: "
    requests = [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]
    times: list[float] = []
    errors = 0

    async def client(number: int, end: float) -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        k = number
        while time.perf_counter() < end:
            k += connections
            began = time.perf_counter()
            writer.write(requests[k % len(requests)])
            answer = (await reader.readuntil(b"\r\n\r\n")).lower()
            found = re.search(rb"content-length: (\d+)", answer)
            await reader.readexactly(int(found.group(1)) if found else 0)
            times.append(time.perf_counter() - began)
            errors += not answer.startswith(b"http/1.1 200")
        writer.close()

    async def all_clients() -> float:
        began = time.perf_counter()
        await asyncio.gather(*(client(k, began + seconds) for k in range(connections)))
        return time.perf_counter() - began

    duration = asyncio.run(all_clients())
    times.sort()
    return {
        "requests": len(times), "rps": len(times) / duration, "p50_ms": 1e3 * times[len(times) // 2],
        "p99_ms": 1e3 * times[int(0.99 * len(times))], "errors": errors,
    }  # fmt: skip


def measured(options: argparse.Namespace, name: str, folder: Path) -> list[dict[str, Any]]:
    """Return a row a system and kind of request."""
    texts, labels, asked = read(options.data, name)
    lines, running = bodies(asked, folder), systems(*train(texts, labels, folder))
    load = with_wrk if options.client == "wrk" else with_python
    samples: dict[tuple[str, str], list[dict[str, float]]] = {(s, k): [] for s in running for k in KINDS}
    for turn in range(options.rounds):
        order = list(running)
        for system in order[turn % len(order) :] + order[: turn % len(order)]:
            command, paths = running[system]
            port = free_port()
            with Running(command(port), port, folder / "server.log") as server:
                for kind, connections in KINDS.items():
                    load(port, paths[kind], lines[kind], connections, 0.5)
                    before = server.cpu()
                    found = load(port, paths[kind], lines[kind], connections, options.seconds)
                    found["cpu_us"] = 1e6 * (server.cpu() - before) / max(1.0, found["requests"])
                    samples[system, kind].append(found)
    rows = []
    for (system, kind), several in samples.items():
        row: dict[str, Any] = {"set": name, "system": system, "kind": kind, "connections": KINDS[kind]}
        for key in ("rps", "p50_ms", "p99_ms", "cpu_us"):
            row[key] = round(statistics.median(s[key] for s in several), 3)
        row["errors"] = int(sum(s["errors"] for s in several))
        rows.append(row)
    return rows


def ratios(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return how many times the peer's figures linnet's are, by kind."""
    by = {(row["system"], row["kind"]): row for row in rows}
    out = {}
    for kind in KINDS:
        ours, alone, peer = (by[s, kind] for s in ("linnet", "linnet, nothing gathered", "FastAPI + scikit-learn"))
        out[kind] = {
            "requests": round(ours["rps"] / peer["rps"], 2),
            "cpu": round(peer["cpu_us"] / ours["cpu_us"], 2) if ours["cpu_us"] else 0.0,
            "gathering": round(ours["rps"] / alone["rps"], 2),
            "target": TARGET[kind],
        }
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = os.environ.get("LINNET_DATA")
    parser.add_argument("--data", type=Path, default=Path(data) if data else None)
    parser.add_argument("--sets", default="rt_polarity,imdb", help="rt_polarity, mpqa, imdb or reviews (built in)")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--client", choices=["wrk", "python"], default="wrk" if shutil.which("wrk") else "python")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    import linnet

    found: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"), "client": options.client, "rounds": options.rounds,
        "seconds": options.seconds, "batch": BATCH,
        "machine": {"python": platform.python_version(), "cores": os.cpu_count(), "linnet": linnet.__version__},
        "sets": {},
    }  # fmt: skip
    failed = False
    for name in options.sets.split(",") if options.data else ["reviews"]:
        if options.data and name != "reviews" and not (options.data / name).is_dir():
            print(f"{name}: not in {options.data}, left out", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as folder:
            rows = measured(options, name, Path(folder))
        found["sets"][name] = {"results": rows, "ratios": ratios(rows)}
        failed |= any(row["errors"] for row in rows)
        print(f"{name:<42}{'req/s':>9}{'p50 ms':>9}{'p99 ms':>9}{'cpu us':>9}{'errors':>8}")
        for row in rows:
            head = f"  {row['kind']:<7} {row['system']}"
            print(
                f"{head:<42}{row['rps']:>9.0f}{row['p50_ms']:>9.2f}{row['p99_ms']:>9.2f}{row['cpu_us']:>9.0f}{row['errors']:>8}"
            )
        print(f"  {found['sets'][name]['ratios']}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
