"""Export to ONNX, by its standard operators alone: for words cut at blanks, with their case kept.

    text (N) -> for each: StringSplit at every blank -> TfIdfVectorizer a block -> scores;  probabilities (N, K) and label (N)

StringSplit of onnxruntime cuts at U+0020 alone, so the graph has one for each character that str.split() cuts at. There is no operator for
characters of a text, Unicode words or 64-bit hashes, and the lower case of StringNormalizer is that of the machine's locale: other
blocks are refused. Numbers are doubles.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linnet.errors import LinnetError, require
from linnet.export.portable import PortableModel
from linnet.model.calibration import AHEAD

OPSET = 20  # StringSplit
IR_VERSION = 9
WHITESPACE, KEEP = 2, 0
BLANKS = [c for c in map(chr, range(sys.maxunicode + 1)) if c.isspace()]
REMEDY = "train with --features words:1-2:whitespace:keep, or choose c, js, html or json"


class Graph:
    """Nodes and constants of a graph; a call adds a node and returns the name of its output."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.n = 0

    def __call__(self, operator: str, *inputs: Any, name: str = "", extra: int = 0, **attributes: Any) -> str:
        """Add a node; arrays and numbers become constants, doubles unless they are whole."""
        self.n += 1
        name = name or f"v{self.n}"
        names = [given if isinstance(given, str) else self.constant(given) for given in inputs]
        outputs = [name, *(f"{name}_{k}" for k in range(extra))]
        self.nodes.append(self.onnx.helper.make_node(operator, names, outputs, **attributes))
        return name

    def constant(self, value: Any) -> str:
        """Add a constant."""
        self.n += 1
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), f"c{self.n}"))
        return f"c{self.n}"


def write_onnx(model: PortableModel, path: Path, title: str) -> dict[Path, bytes]:
    """Return the bytes of the file."""
    onnx = require("onnx", "an ONNX file", "onnx")
    terms = _terms(model)
    g = Graph(onnx)
    loop = g("Loop", g("Size", "text"), np.array(True), body=_one_text(model, terms, g))
    P = _probabilities(model, loop, g)
    kind, info = onnx.TensorProto, onnx.helper.make_tensor_value_info
    outputs = [info(P, kind.DOUBLE, ["N", len(model.labels)])]
    if model.multilabel:
        chosen = g("GreaterOrEqual", P, np.array(model.thresholds), name="chosen")
        outputs.append(info(chosen, kind.BOOL, ["N", len(model.labels)]))
    else:
        outputs.insert(0, info(_label(model, P, g), kind.STRING, ["N"]))
    graph = onnx.helper.make_graph(g.nodes, "linnet", [info("text", kind.STRING, ["N"])], outputs, g.constants)
    made = onnx.helper.make_model(
        graph, producer_name="linnet", doc_string=title, ir_version=IR_VERSION,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
    )  # fmt: skip
    onnx.helper.set_model_props(made, {"labels": json.dumps(model.labels, ensure_ascii=False)})
    onnx.checker.check_model(made)
    return {path: made.SerializeToString()}


def _terms(model: PortableModel) -> list[list[str]]:
    """Return the words of each feature; refuse a model that the operators cannot express."""
    for block in model.blocks:
        if block["kind"] != "words" or block["tokens"] != WHITESPACE:
            raise LinnetError(f"cannot export to onnx: it has operators for words between blanks only; {REMEDY}")
        if block["case"] != KEEP:
            raise LinnetError(
                f"cannot export to onnx: the lower case of its StringNormalizer depends on the machine; {REMEDY}"
            )
    if model.hashed or len(model.names) < len(model.keys):
        raise LinnetError(
            f"cannot export to onnx: it needs the words of every feature, and the model keeps {len(model.names):,} of "
            f"{len(model.keys):,}; train with --max-features {len(model.names) or 50_000} and without --hash-bits"
        )
    return [model.names[k].split() for k in range(len(model.keys))]


def _one_text(model: PortableModel, terms: list[list[str]], outer: Graph) -> Any:
    """Return the body of the loop over texts: tokens, counts, and the scores of one text. Its constants are those of the graph."""
    onnx, kind = outer.onnx, outer.onnx.TensorProto
    g = Graph(onnx)
    g.n, g.constants = 1 << 20, outer.constants  # names of its own
    tokens = g("Unsqueeze", g("Gather", "text", "number"), np.array([0]))
    for blank in BLANKS:
        parts = g("Reshape", g("StringSplit", tokens, extra=1, delimiter=blank), np.array([-1]))
        tokens = g("Compress", parts, g("Not", g("Equal", parts, np.array("", object))))
    scores = g.constant(model.b)
    for block in model.blocks:
        low, high = block["low"], block["high"]
        mine = sorted((len(words), k) for k, words in enumerate(terms) if low <= len(words) <= high)
        if not mine:
            continue
        columns = [k for _, k in mine]
        sizes = np.array([size for size, _ in mine])
        counts = g(
            "TfIdfVectorizer", tokens, mode="TF", min_gram_length=low, max_gram_length=high, max_skip_count=0,
            pool_strings=[word for k in columns for word in terms[k]], ngram_indexes=range(len(columns)),
            ngram_counts=[int(sizes[sizes < size].sum()) for size in range(1, high + 1)],
        )  # fmt: skip
        t = g("Cast", counts, to=kind.DOUBLE)
        if model.tf == 0:
            t = g("Min", t, 1.0)
        elif model.tf == 2:
            t = g("Where", g("Greater", t, 0.0), g("Add", g("Log", g("Max", t, 1.0)), 1.0), 0.0)
        part = g("MatMul", g("Unsqueeze", t, np.array([0])), g("Cast", model.rows[columns, 1:], to=kind.DOUBLE))
        part = g("Mul", part, float(block["share"]))
        if model.norm:
            weighed = g("Mul", t, g("Cast", model.rows[columns, 0], to=kind.DOUBLE))
            norm = g("ReduceSum", weighed) if model.norm == 2 else g("Sqrt", g("ReduceSumSquare", weighed))
            part = g("Div", part, g("Where", g("Greater", norm, 0.0), norm, 1.0))
        scores = g("Add", scores, g("Squeeze", part, np.array([0])))
    g("Identity", scores, name="scores")
    g("Identity", "going", name="go_on")
    info = onnx.helper.make_tensor_value_info
    inputs = [info("number", kind.INT64, []), info("going", kind.BOOL, [])]
    outputs = [info("go_on", kind.BOOL, []), info("scores", kind.DOUBLE, [len(model.b)])]
    return onnx.helper.make_graph(g.nodes, "one_text", inputs, outputs)


def _probabilities(model: PortableModel, scores: str, g: Graph) -> str:
    """Apply the calibration curve, then sigmoid or softmax."""
    if model.curve and (model.multilabel or len(model.b) == 1):
        scores = _on_curve(model, scores, g)
    elif model.curve:
        top = g("ReduceMax", scores, np.array([1]))
        mine = g("Equal", g("ArgMax", scores, axis=1), np.arange(len(model.b)))
        others = g("Where", mine, -np.inf, scores)
        rest = g("ReduceLogSumExp", others, np.array([1]))
        moved = g("Add", rest, _on_curve(model, g("Sub", top, rest), g))
        ahead = g("Add", g("ReduceMax", others, np.array([1])), AHEAD)
        scores = g("Where", mine, g("Max", moved, ahead), scores)
    if model.multilabel:
        return g("Sigmoid", scores, name="probabilities")
    if len(model.b) > 1:
        return g("Softmax", scores, axis=1, name="probabilities")
    p = g("Sigmoid", scores)
    return g("Concat", g("Sub", 1.0, p), p, axis=1, name="probabilities")


def _on_curve(model: PortableModel, odds: str, g: Graph) -> str:
    x, y = np.array(model.curve).T
    if len(x) == 1:
        return g("Add", g("Mul", odds, 0.0), float(y[0]))
    inside = g("Clip", odds, x[0], x[-1])
    before = g("Cast", g("LessOrEqual", x, g("Unsqueeze", inside, np.array([-1]))), to=g.onnx.TensorProto.INT64)
    k = g("Sub", g("Clip", g("ReduceSum", before, np.array([-1]), keepdims=0), 1, len(x) - 1), 1)
    width = np.diff(x)
    slope = np.diff(y) / np.where(width > 0, width, 1.0)
    x0, y0, a = (g("Gather", values, k) for values in (x[:-1], y[:-1], slope))
    return g("Add", y0, g("Mul", g("Sub", inside, x0), a))


def _label(model: PortableModel, P: str, g: Graph) -> str:
    """Return the label of each text, an empty string where there is no answer: see the rule in ``linnet.model.decision``."""
    cut: npt.NDArray[np.float64] = np.array(model.thresholds)
    own = cut >= 0.0
    reached = g("And", own, g("And", g("GreaterOrEqual", P, cut), g("Greater", P, 0.0)))
    ratio = g("Where", reached, g("Div", P, cut), -1.0)
    rest = g("ArgMax", g("Where", own, -1.0, P), axis=1, keepdims=0)
    any_reached = g("Greater", g("ReduceMax", ratio, np.array([1]), keepdims=0), 0.0)
    found = g("Where", any_reached, g("ArgMax", ratio, axis=1, keepdims=0), len(cut) if own.all() else rest)
    mine = g("Equal", g("Unsqueeze", found, np.array([1])), np.arange(len(cut)))
    p = g("ReduceMax", g("Where", mine, P, -1.0), np.array([1]), keepdims=0)
    answer = g("Where", g("GreaterOrEqual", p, float(model.least)), found, len(cut))
    return g("Gather", np.array([*model.labels, ""], object), answer, name="label")
