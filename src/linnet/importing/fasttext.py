"""fastText's supervised models (.bin, .ftz): the same words, subwords and word n-grams, the same scores.

    hidden = mean of the input rows of all features,  scores = hidden Out,  p = softmax, or a sigmoid a label, or a path in a tree

Where labels are few, the two matrices are multiplied once: a feature then has one weight a label, and prediction is one lookup a feature.
fastText takes its sigmoid of one-vs-all models from a table of 512 steps; so does the imported model. It also adds 1e-5 to every
probability that it reports, which the imported model does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from linnet import arithmetic
from linnet._kernels.text import phrase_hash
from linnet.array_types import Array, Bytes, Floats, Floats32, Hashes, Ints
from linnet.errors import LinnetError, ModelFileError, shown
from linnet.features.blocks import LONGEST, FastText
from linnet.features.counting import joined
from linnet.model.calibration import CalibrationCurve
from linnet.model.model import Model
from linnet.model.table import FloatTable
from linnet.solvers.network import DenseLayers, TreeLayers
from linnet.text.duplicates import mixed

ROWS = 1 << 13  # rows of the input matrix that are read together
NAMED = 20_000
LONGEST_WORD = 1 << 16  # bytes
LOSSES = {1: "hs", 2: "ns", 3: "softmax", 4: "ova"}
SETTINGS = (
    "dim", "ws", "epoch", "minCount", "neg", "wordNgrams", "loss", "model", "bucket", "minn", "maxn", "lrUpdateRate",
)  # fmt: skip


class Reader:
    """The bytes of a file in order; every size is compared with what is left before anything is made of it."""

    def __init__(self, path: Path) -> None:
        self.path, self.at = path, 0
        self.data = np.memmap(path, dtype=np.uint8, mode="r")

    def fail(self, problem: str) -> NoReturn:
        """Refuse the file."""
        raise ModelFileError(f"cannot import {shown(self.path, 300)}: {problem}")

    def array(self, dtype: str, count: int) -> Array:
        """Return the next numbers, where they are in the file."""
        size = np.dtype(dtype).itemsize * count
        if count < 0 or size > len(self.data) - self.at:
            self.fail(f"truncated or altered: {count:,} numbers are to follow byte {self.at:,} of {len(self.data):,}")
        self.at += size
        return self.data[self.at - size : self.at].view(dtype)

    def number(self, dtype: str = "<i4") -> int:
        """Return the next whole number."""
        return int(self.array(dtype, 1)[0])

    def text(self) -> bytes:
        """Return the next bytes up to a zero."""
        part = self.data[self.at : self.at + LONGEST_WORD].tobytes()
        end = part.find(b"\0")
        if end < 0:
            self.fail(f"truncated or altered: a word of more than {len(part):,} bytes")
        self.at += end + 1
        return part[:end]


@dataclass(frozen=True)
class QuantisedMatrix:
    """A product-quantised matrix: a row is a few numbers of centroids, and the number of its norm."""

    shape: tuple[int, int]
    codes: Bytes  # (n_rows, n_parts)
    centroids: list[Floats32]  # of each part, (256, width)
    norms: Floats32 | None  # (n_rows,)

    def __getitem__(self, rows: Ints) -> Floats:
        """Return some rows."""
        codes = self.codes[rows]
        out = np.concatenate([c[codes[:, k]] for k, c in enumerate(self.centroids)], axis=1).astype(np.float64)
        return out if self.norms is None else out * self.norms[rows, None]


Matrix = Floats32 | QuantisedMatrix


def _quantiser(file: Reader, columns: int) -> list[Floats32]:
    dim, parts, width, last = (file.number() for _ in range(4))
    if dim != columns or min(parts, width, last) < 1 or (parts - 1) * width + last != dim:
        file.fail(f"altered: a quantiser of {parts} parts for {columns} columns")
    values = file.array("<f4", dim * 256)
    cut = (parts - 1) * 256 * width
    whole = values[:cut].reshape(parts - 1, 256, width)
    return [*whole, values[cut:].reshape(256, last)]


def _matrix(file: Reader, quantised: bool) -> Matrix:
    with_norms = bool(file.number("u1")) if quantised else False
    rows, columns = file.number("<i8"), file.number("<i8")
    if not (0 <= rows < 1 << 40 and 1 <= columns < 1 << 20):
        file.fail(f"altered: a matrix of {rows:,} x {columns:,}")
    if not quantised:
        return file.array("<f4", rows * columns).reshape(rows, columns)
    codes = file.array("u1", file.number())
    centroids = _quantiser(file, columns)
    if len(codes) != rows * len(centroids):
        file.fail(f"altered: {len(codes):,} codes for {rows:,} rows")
    norms = None
    if with_norms:
        numbers = file.array("u1", rows)
        norms = _quantiser(file, 1)[0][numbers, 0]
    return QuantisedMatrix((rows, columns), codes.reshape(rows, len(centroids)), centroids, norms)


def read_fasttext(path: Path) -> Model:
    """Read a supervised fastText model."""
    file = Reader(path)
    file.number()
    version = file.number()
    if version not in (11, 12):
        file.fail(f"version {version} of fastText's format; versions 11 and 12 can be read")
    args = {name: file.number() for name in SETTINGS}
    file.array("<f8", 1)
    if args["model"] != 3:
        file.fail("word vectors, not a classifier: it was not trained by fasttext supervised")
    if args["loss"] not in LOSSES:
        file.fail(f"altered: the loss number {args['loss']}")
    if version == 11:
        args["maxn"] = 0
    size, n_words, n_labels = (file.number() for _ in range(3))
    file.number("<i8")
    n_kept = file.number("<i8")
    if min(size, n_words, n_labels) < 0 or size != n_words + n_labels or size * 10 > len(file.data):
        file.fail(f"altered: {n_words:,} words and {n_labels:,} labels of {size:,}")
    words, counts = [], []
    for k in range(size):
        words.append(file.text())
        counts.append(file.number("<i8"))
        if file.number("u1") != (k >= n_words):
            file.fail(f"altered: word {k + 1:,} is of the wrong kind")
    kept = file.array("<i4", 2 * max(0, n_kept)).reshape(-1, 2).astype(np.int64)
    quantised = bool(file.number("u1"))
    source = _matrix(file, quantised)
    target = _matrix(file, bool(file.number("u1")) and quantised)
    if target.shape != (n_labels, source.shape[1]):
        file.fail(f"altered: {target.shape[0]:,} x {target.shape[1]:,} outputs for {n_labels:,} labels")
    if n_labels < 2:
        file.fail("it has one label; a classifier tells two or more apart")
    try:
        block = FastText(
            max(1, args["minn"]) if args["maxn"] > 0 else 1, max(1, args["maxn"]), bucket=args["bucket"],
            ngrams=args["wordNgrams"], subwords=args["maxn"] > 0,
        )  # fmt: skip
    except LinnetError:
        file.fail(f"n-grams of {args['minn']} to {args['maxn']} characters; up to {LONGEST} can be read")
    keys, rows = _features(file, words[:n_words], source.shape[0], block, kept if n_kept >= 0 else None)
    labels = tuple(w.decode("utf-8", "replace").removeprefix("__label__") for w in words[n_words:])
    if len(set(labels)) < n_labels:
        file.fail("altered: two of its labels are the same")
    origin = {"from": "fastText", "version": version, **args}
    about = {"settings": {"model": "fasttext", "features": str(block)}, "imported": origin}
    with np.errstate(all="ignore"):  # numbers that are none are refused below
        model = _model(
            block, labels, LOSSES[args["loss"]], counts[n_words:], source, target, keys, rows, words[:n_words], about
        )
    try:
        model.check_numbers()
    except ValueError as error:
        file.fail(f"altered: {error}")
    return model


def _features(file: Reader, words: list[bytes], n_rows: int, block: FastText, kept: Ints | None) -> tuple[Hashes, Ints]:
    """Return the fingerprint of each feature, words first, and its row of the input matrix."""
    keys, known = np.zeros(len(words), np.uint64), np.ones(len(words), bool)
    for k, word in enumerate(words):
        try:
            keys[k] = phrase_hash([word.decode("utf-8")])
        except UnicodeDecodeError:  # no text holds it
            known[k] = False
    if kept is None:
        bucket = block.bucket if block.ngrams > 1 or block.subwords else 0
        if n_rows < len(words) + bucket:
            file.fail(f"altered: {n_rows:,} rows for {len(words):,} words and {bucket:,} buckets")
        kept = np.repeat(np.arange(bucket)[:, None], 2, axis=1)
    numbers, rows = kept[:, 0], len(words) + kept[:, 1]
    if len(rows) and not (numbers.min() >= 0 and rows.min() >= len(words) and rows.max() < n_rows):
        file.fail(f"altered: {n_rows:,} rows for {len(words):,} words and {len(rows):,} n-grams")
    keys = np.concatenate([keys[known], _bucket_keys(numbers)])
    rows = np.concatenate([np.flatnonzero(known), rows])
    if len(np.unique(keys)) < len(keys):
        file.fail("altered: a word or an n-gram is listed twice")
    return keys, rows


def _bucket_keys(numbers: Ints) -> Hashes:
    """Return bucket_fingerprint of the kernels."""
    h = mixed(numbers.astype(np.uint64) ^ np.uint64(0x66617374 << 32))
    return np.where(h == 0, np.uint64(1), h)


def _model(
    block: FastText, labels: tuple[str, ...], loss: str, counts: list[int], source: Matrix, target: Matrix,
    keys: Hashes, rows: Ints, words: list[bytes], about: dict[str, Any],
) -> Model:  # fmt: skip
    """Lay the input matrix, times the output matrix where that is narrower, out for lookup."""
    out = target[np.arange(len(labels))].astype(np.float64).T  # (dim, n_labels)
    tree = _tree(counts) if loss == "hs" else None
    each = loss in ("ova", "ns")  # a sigmoid a label
    if tree is not None:
        out = out[:, : len(labels) - 1]  # of the inner nodes
        if len(labels) == 2:
            out = out if tree[1, 0] > 0 else -out
    elif len(labels) == 2 and not each:
        out = out[:, 1:] - out[:, :1]
    head: DenseLayers | None = None
    multiplied = out.shape[1] <= out.shape[0]
    layer = (np.eye(out.shape[1]) if multiplied else np.ascontiguousarray(out), np.zeros(out.shape[1]))
    if tree is not None and len(labels) > 2:
        head = TreeLayers((layer,), tree)
    elif not multiplied:
        head = DenseLayers((layer,))
    W = np.empty((len(keys), out.shape[1] if multiplied else out.shape[0]), np.float32)
    order = np.argsort(rows, kind="stable")
    for first in range(0, len(order), ROWS):
        some = order[first : first + ROWS]
        part = source[rows[some]].astype(np.float64)
        W[some] = arithmetic.matmul(part, out) if multiplied else part
    table = FloatTable.of(keys, np.ones(len(keys), np.float32), W)
    names = words[:NAMED]
    slots_of_names = table.find(np.array([phrase_hash([w.decode("utf-8", "replace")]) for w in names], np.uint64))
    listed = [(name, slot) for name, slot in zip(names, slots_of_names.tolist(), strict=True) if slot >= 0]
    return Model(
        labels, (block,), "count", "mean", table, np.zeros(W.shape[1]),
        *joined([name for name, _ in listed]), np.array([slot for _, slot in listed], np.int64), False, about, head=head, multilabel=each,
        curve=_steps() if each else None,
    )  # fmt: skip


def _steps() -> CalibrationCurve:
    """Return fastText's table of the sigmoid: 512 steps from -8 to 8, 0 and 1 beyond."""
    grid = np.arange(513) / 32.0 - 8.0
    x = np.concatenate([[np.nextafter(-8.0, -9.0)], np.repeat(grid, 2)[1:], [np.nextafter(8.0, 9.0)]])
    y = np.concatenate([[-40.0], np.repeat(grid, 2)[:-1], [40.0]])
    return CalibrationCurve(np.stack([x, y], axis=1))


def _tree(counts: list[int]) -> Ints:
    """Return the path of each label through fastText's Huffman tree: 1 + the number of each inner node, negative to the left."""
    n = len(counts)
    weight = [*counts, *([10**15] * (n - 1))]
    parent, side = [0] * (2 * n - 1), [1] * (2 * n - 1)
    leaf, node = n - 1, n
    for new in range(n, 2 * n - 1):
        total = 0
        for sign in (-1, 1):
            if leaf >= 0 and weight[leaf] < weight[node]:
                child, leaf = leaf, leaf - 1
            else:
                child, node = node, node + 1
            parent[child], side[child] = new, sign
            total += weight[child]
        weight[new] = total
    paths = []
    for k in range(n):
        path, at = [], k
        while at != 2 * n - 2:
            path.append(side[at] * (parent[at] - n + 1))
            at = parent[at]
        paths.append(path)
    depth = max(map(len, paths))
    return np.array([path + [0] * (depth - len(path)) for path in paths], np.int64)
