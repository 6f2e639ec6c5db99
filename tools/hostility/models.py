"""Model files, linnet's own and those of other programs, that are altered: whatever they hold, they load or are refused in one line.

linnet's are signed again. A name ends as its file does (model.ftz); names without an ending are .linnet files.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import random
import resource
import signal
import struct
import sys
import time
import traceback
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

__all__ = ["altered", "make_foreign", "make_models", "try_altered"]

TEXTS = ["a superb and warm book", "", "not bad, I'd say: 7/10 http://x.org", "漢字 émile \0", "dull " * 300]
DIGEST = b'"checksum":"sha256:'
SECONDS = 20.0  # for one altered file
MEMORY = 6 << 30  # bytes that all of a process may have
FOREIGN_MEMORY = 1 << 30  # that files of other programs may take on top of what there is


def make_models(folder: Path, rows: list[tuple[str, str]]) -> dict[str, bytes]:
    """Fit one model of every kind that a file can hold differently."""
    import linnet

    folder.mkdir(parents=True, exist_ok=True)
    texts, labels = [text for text, _ in rows], [label for _, label in rows]
    three = ["a" if k % 3 == 0 else label for k, label in enumerate(labels)]
    kinds: dict[str, tuple[Any, ...]] = {
        "two-classes": ("svm", labels, {"features": "words:1-2", "params": {"C": 1.0}}),
        "three-classes": ("logistic", three, {"features": "words:1+chars:2-3", "params": {"C": 1.0}}),
        "many-classes": ("nb", [f"class {k % 9}" for k in range(len(rows))], {"features": "words:1"}),
        "hashed": ("svm", labels, {"features": "words:1", "hash_bits": 10, "params": {"C": 1.0}}),
        "learned-tokens": ("svm", labels, {"features": "bpe:300", "params": {"C": 1.0}}),
        "computed": ("svm", three, {"features": "words:1+lengths", "params": {"C": 1.0}}),
        "net": ("feed-forward", three, {"features": "words:1", "params": {"max_iter": 2}}),
    }
    found = {}
    for name, (model, given, settings) in kinds.items():
        path = folder / f"{name}.linnet"
        try:
            linnet.TextClassifier(model, n_jobs=1, **settings).fit(texts, given).save(path)
        except Exception as error:
            print(f"no model '{name}': {error}", file=sys.stderr)
            continue
        found[name] = path.read_bytes()
    return found


def make_foreign(folder: Path, rows: list[tuple[str, str]]) -> dict[str, bytes]:
    """Write small files of every kind that other programs write: fastText, scikit-learn, Vowpal Wabbit."""
    import fasttext
    import skops.io
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    folder.mkdir(parents=True, exist_ok=True)
    texts, labels = [text for text, _ in rows], [label for _, label in rows]
    lines = folder / "train.txt"
    lines.write_text("".join(f"__label__{label}{k % 3} {text}\n" for k, (text, label) in enumerate(rows)))
    fasttext.FastText.eprint = lambda *_: None
    for loss in ("softmax", "ova", "hs"):
        settings = {
            "dim": 4,
            "epoch": 1,
            "wordNgrams": 2,
            "bucket": 300,
            "minn": 2,
            "maxn": 3,
            "thread": 1,
            "verbose": 0,
        }
        model = fasttext.train_supervised(str(lines), loss=loss, **settings)
        model.save_model(str(folder / f"{loss}.bin"))
    model = fasttext.train_supervised(str(lines), **{**settings, "bucket": 900})
    model.quantize(input=str(lines), retrain=False, qnorm=True, cutoff=260)
    model.save_model(str(folder / "quantised.ftz"))
    for name, vectoriser in (("words", TfidfVectorizer()), ("hashed", HashingVectorizer(n_features=64))):
        skops.io.dump(make_pipeline(vectoriser, LogisticRegression()).fit(texts, labels), folder / f"{name}.skops")
    spaces = (f"{k % 3} {k % 2}.5 'tag{k} |text {t} |more words:2 x:0.5 |n n:{k}\n" for k, t in enumerate(texts))
    (folder / "rows.vw").write_text("".join(spaces))
    lines.unlink()
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def altered_foreign(name: str, data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Return what was done to a file of another program, and the file."""
    if name.endswith(".skops") and rng.random() < 0.6:  # its parts, packed again
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {part: archive.read(part) for part in archive.namelist()}
        part = rng.choice(list(parts))
        if part == "schema.json" or rng.random() < 0.5:
            tree = json.loads(parts["schema.json"])
            what = _edit(tree, rng)
            parts["schema.json"] = json.dumps(tree).encode("utf-8", "surrogatepass")
        else:
            what, parts[part] = altered_foreign(part, parts[part], rng)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for part, content in parts.items():
                archive.writestr(part, content)
        return f"parts: {what}", packed.getvalue()
    found = bytearray(data)
    how = rng.choices(("bits", "numbers", "cut", "longer", "doubled", "words"), (25, 35, 10, 5, 10, 15))[0]
    if how == "cut":
        return how, data[: rng.randrange(len(data))]
    if how == "longer":
        return how, data + rng.randbytes(rng.choice((1, 64, 4096)))
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(4, 200) if rng.random() < 0.5 else rng.randrange(len(found))
        at = min(at, len(found) - 1)
        if how == "bits":
            found[at] ^= 1 << rng.randrange(8)
        elif how == "numbers":  # absurd sizes
            value = rng.choice((0, 1, -1, 2, 255, 1 << 16, 1 << 30, (1 << 31) - 1, -(1 << 31), rng.getrandbits(31)))
            wide = rng.choice(("<i", "<q"))
            at -= at % 4
            number = struct.pack(wide, value)
            found[at : at + len(number)] = number
        elif how == "doubled":
            size = rng.choice((1, 8, 100, 2000))
            found[at:at] = found[at : at + size]
        else:
            word = rng.choice(
                (
                    b"|",
                    b":",
                    b"\n",
                    b"\0",
                    b"'",
                    b" 1e999 ",
                    b"\xff\xfe",
                    b"|n n:inf",
                    b"__label__x",
                    b"|a:b:c",
                    b"9" * 400,
                )
            )
            found[at : at + rng.choice((0, 1, len(word)))] = word
    return how, bytes(found)


def signed(data: bytes) -> bytes:
    """Write the checksum that belongs to the bytes."""
    at = data.find(DIGEST, 0, 4096)
    if at < 0:
        return data
    at += len(DIGEST)
    blank = data[:at] + b"0" * 64 + data[at + 64 :]
    return data[:at] + hashlib.sha256(blank).hexdigest().encode() + data[at + 64 :]


def altered(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Return what was done, and the file."""
    how = rng.choices(
        ("bits", "bytes", "cut", "longer", "header", "card", "offsets", "unsigned"), (20, 15, 5, 3, 15, 35, 10, 5)
    )[0]
    start = 8 + struct.unpack("<Q", data[:8])[0]
    if how in ("bits", "unsigned"):
        found = bytearray(data)
        for _ in range(rng.choice((1, 1, 4, 32))):
            found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
        return how, bytes(found) if how == "unsigned" else signed(bytes(found))
    if how == "bytes":  # among the arrays: whole numbers of every size
        found = bytearray(data)
        for _ in range(rng.choice((1, 2, 8))):
            at = rng.randrange(start, len(found)) if start < len(found) else 0
            value = rng.choice(
                (
                    b"\xff" * 8,
                    bytes(8),
                    b"\x7f" * 8,
                    b"\0\0\0\x80" * 2,
                    struct.pack("<d", float("nan")),
                    rng.randbytes(8),
                )
            )
            found[at : at + 8] = value[: len(found) - at]
        return how, signed(bytes(found))
    if how == "cut":
        return how, signed(data[: rng.randrange(1, len(data))])
    if how == "longer":
        return how, signed(data + rng.randbytes(rng.choice((1, 64, 4096))))
    header = json.loads(data[8:start])
    if how == "card":
        card = json.loads(header["__metadata__"]["card"])
        what = _edit(card, rng)
        header["__metadata__"]["card"] = json.dumps(card)
    elif how == "offsets":
        what = _swap(header, rng)
    else:
        what = _edit(header, rng)
    text = json.dumps(header, separators=(",", ":")).encode("utf-8", "surrogatepass")
    text += b" " * (-(8 + len(text)) % 64)
    return f"{how}: {what}", signed(struct.pack("<Q", len(text)) + text + data[start:])


def _edit(tree: Any, rng: random.Random) -> str:
    """Change one to three values somewhere in a tree of lists and dictionaries."""
    said = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        spots = list(_spots(tree))
        if not spots:
            break
        holder, key = rng.choice(spots)
        how = rng.choice(("value", "value", "near", "near", "delete", "copy", "rename"))
        if how == "delete":
            del holder[key]
        elif how == "copy":
            other, its = rng.choice(spots)
            with contextlib.suppress(KeyError, IndexError):
                holder[key] = json.loads(json.dumps(other[its]))
        elif how == "rename" and isinstance(holder, dict):
            holder[rng.choice(("x", "", str(key) + "s", "\ud800"))] = holder.pop(key)
        elif how == "near":
            holder[key] = _near(holder[key], rng)
        else:
            holder[key] = rng.choice(
                (None, True, 0, -1, 1, 2**31, 2**63, 2**64, 10**30, 0.5, -1e308, 1e308, "", "x", "\0", "\ud800", [], {}, [[]], [None],
                 {"a": 1},
                 "os.system", "../x", "words", [1] * 50, "9" * 5000)
            )  # fmt: skip
        said.append(f"{how} {key!r}"[:60])
    return ", ".join(said)


def _near(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + rng.choice((-1, 1, 64, -64, 1 << 20))
    if isinstance(value, float):
        return value * rng.choice((-1, 0, 1e300))
    if isinstance(value, str):
        return rng.choice((value[:-1], value + value, value.upper(), value[::-1]))
    if isinstance(value, list):
        return rng.choice((value[:-1], value + value, value[::-1], [value]))
    return {**value, "extra": 1}


def _spots(tree: Any) -> Iterator[tuple[Any, Any]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(items):
        yield tree, key
        yield from _spots(value)


def _swap(header: dict[str, Any], rng: random.Random) -> str:
    """Change the shapes and types of arrays so that their bytes still fill their places, or nearly."""
    names = [name for name in header if name != "__metadata__" and not name.startswith("_align")]
    if not names:
        return "nothing"
    name = rng.choice(names)
    row = header[name]
    size = row["data_offsets"][1] - row["data_offsets"][0]
    types = {"U64": 8, "I64": 8, "F64": 8, "U32": 4, "I32": 4, "F32": 4, "U16": 2, "F16": 2, "U8": 1}
    how = rng.choice(("type", "flat", "shape", "swap", "empty", "rename"))
    if how == "type":
        kind = rng.choice([kind for kind, width in types.items() if width == types[row["dtype"]]] or ["U8"])
        row["dtype"] = kind
    elif how == "flat":
        kind = rng.choice([kind for kind, width in types.items() if size % width == 0])
        row["dtype"], row["shape"] = kind, [size // types[kind]]
    elif how == "shape":
        row["shape"] = rng.choice(
            (row["shape"][::-1], [1, *row["shape"]], [*row["shape"], 1], [2, size // types[row["dtype"]] // 2])
        )
    elif how == "swap":
        other = rng.choice(names)
        header[name], header[other] = header[other], header[name]
    elif how == "empty":
        row["shape"], row["data_offsets"] = [0], [row["data_offsets"][0]] * 2
    else:
        header[name + "2"] = header.pop(name)
    return f"{how} {name}"


def use(path: Path, number: int) -> None:
    """Do with a model what commands do; LinnetError is how it is refused."""
    from click.testing import CliRunner

    import linnet
    from linnet.cli import linnet as group
    from linnet.errors import LinnetError

    foreign = path.suffix != ".linnet"
    try:
        if path.suffix == ".vw":
            linnet.read(path, labelled=bool(number % 2))
        else:
            clf = linnet.load(path, n_jobs=1)
            clf.predict(TEXTS)
            clf.predict_proba(TEXTS)
            clf.explain(TEXTS[0])
    except LinnetError as error:
        if "\n" in str(error):
            raise AssertionError(f"more than one line: {str(error)!r}") from error
    if foreign and number % 8:
        return
    own = (["info", str(path)], ["info", str(path), "--json"], ["explain", str(path), "a warm book", "--json"],
           ["features", str(path), "a warm book"])[number % 4]  # fmt: skip
    command = ["import", str(path), "-o", f"{path}.linnet"] if foreign else own
    done = CliRunner().invoke(group, command)
    if done.exception is not None and not isinstance(done.exception, LinnetError | SystemExit):
        raise done.exception


def try_altered(
    models: dict[str, bytes], count: int, seed: int, root: Path, jobs: int, kept: Path
) -> Iterator[tuple[str, str, str]]:
    """Alter files and use them; yields (model, what was done, problem). Every number gives the same file again."""
    names = list(models)
    queues = [list(range(k, count, jobs)) for k in range(jobs)]
    going: dict[int, int] = {}

    def begin(worker: int) -> None:
        if queues[worker]:
            pid = os.fork()
            if not pid:
                _work(queues[worker], models, seed, root / f"w{worker}")
            going[pid] = worker

    for worker in range(jobs):
        (root / f"w{worker}").mkdir(parents=True)
        begin(worker)
    while going:
        time.sleep(0.05)
        for pid, worker in list(going.items()):
            place = root / f"w{worker}"
            done, status = os.waitpid(pid, os.WNOHANG)
            at = _progress(place)
            stuck = not done and at is not None and time.time() - (place / "at").stat().st_mtime > SECONDS
            if stuck:
                os.kill(pid, signal.SIGKILL)
                _, status = os.waitpid(pid, 0)
                done = pid
            if not done:
                continue
            del going[pid]
            for line in (place / "found").read_text().splitlines() if (place / "found").exists() else ():
                number, problem = line.split("\t", 1)
                yield _aside(int(number), problem, models, names, seed, kept)
            (place / "found").unlink(missing_ok=True)
            code = os.waitstatus_to_exitcode(status)
            if code != 0 and at is not None:
                problem = (
                    f"no end in {SECONDS:.0f} s"
                    if stuck
                    else f"ended by {signal.Signals(-code).name}"
                    if code < 0
                    else f"exit code {code}"
                )
                yield _aside(at, problem, models, names, seed, kept)
                queues[worker] = [n for n in queues[worker] if n > at]
                begin(worker)


def make(number: int, models: dict[str, bytes], seed: int) -> tuple[str, str, bytes]:
    """Return the file of a number: model, what was done, bytes."""
    rng = random.Random(f"{seed}/{number}")
    name = list(models)[number % len(models)]
    own = ending(name) == ".linnet"
    what, data = altered(models[name], rng) if own else altered_foreign(name, models[name], rng)
    return name, what, data


def ending(name: str) -> str:
    """Return how the file of a model ends."""
    return Path(name).suffix or ".linnet"


def _aside(
    number: int, problem: str, models: dict[str, bytes], names: list[str], seed: int, kept: Path
) -> tuple[str, str, str]:
    name, what, data = make(number, models, seed)
    kept.mkdir(parents=True, exist_ok=True)
    (kept / f"model-{seed}-{number}{ending(name)}").write_bytes(data)
    return name, f"number {number}, {what}", problem


def _progress(place: Path) -> int | None:
    try:
        return int((place / "at").read_text())
    except (OSError, ValueError):
        return None


def _work(numbers: list[int], models: dict[str, bytes], seed: int, place: Path) -> None:
    code = 1
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        foreign = any(ending(name) != ".linnet" for name in models)
        if foreign:
            pa.array(["reserved"])  # Arrow reserves 1 GB of addresses when it is first asked for memory
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + FOREIGN_MEMORY, MEMORY))
        for number in numbers:
            (place / "at").write_text(str(number))
            path = place / f"m{ending(list(models)[number % len(models)])}"
            path.unlink(missing_ok=True)
            path.write_bytes(make(number, models, seed)[2])
            try:
                use(path, number)
            except Exception as error:
                if isinstance(error, MemoryError) and not foreign:
                    continue
                where = traceback.extract_tb(error.__traceback__)[-1]
                said = f"{type(error).__name__}: {error}".replace("\n", " ")[:140]
                with (place / "found").open("a") as file:
                    file.write(f"{number}\ttraceback: {said} ({Path(where.filename).name}:{where.lineno})\n")
        code = 0
    finally:
        os._exit(code)
