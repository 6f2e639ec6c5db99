"""The artefact: what every text model ends as, and all that prediction needs.

Classes, blocks, a vocabulary laid out for lookup (or the number of hash bits), ``rows`` (feature-major: the norm weight
and one weight a class), ``b``, names of the weightiest features, and a card. Calibration is folded into the weights:
scores are log-odds, their softmax is the probability, the largest one is the answer. It scores bytes in one fused pass,
in threads, and imports neither scipy nor scikit-learn. A net looks up embeddings in the same way and has a ``head``,
a few dense layers, that turns their sums into scores.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from linnet._kernels.text import CompiledBlocks, WeightTable, score_documents
from linnet.array_types import Array, Bools, Bytes, Floats, Floats32, Hashes, Hashes32, Ints
from linnet.errors import LinnetError, ModelFileError, UntrustedModelError, shown
from linnet.features import blocks as features
from linnet.features.blocks import Block, Blocks, ComputedBlocks
from linnet.features.buffers import Run, TextBuffer, shards, spare, text_buffers
from linnet.features.counting import NORM, TF, Norm, in_threads, thread_count
from linnet.features.derived import Derived, DerivedBlock, Texts, TextSource, by_source, derive, states
from linnet.model import file as store
from linnet.model.calibration import CalibrationCurve
from linnet.model.coded import FEW_WEIGHTS, CodedTable, Table, read_table, rounded
from linnet.model.decision import Answers, Decision
from linnet.model.learned import Learned, TextsSeen, compare, extended
from linnet.model.table import FloatTable, check_arrays, check_card, check_numbers
from linnet.solvers.losses import probabilities, sigmoid

if TYPE_CHECKING:
    from linnet.solvers.network import DenseLayers

PACKED = {"fingerprints", "norm", "weights", "nonzero", "names", "name_sizes", "name_features", "learned.features"}
SMALL_JOB = 1 << 16  # bytes: below this a second thread costs more than it saves
LONG_TEXT = 1 << 18  # bytes: the kernel takes longer texts in pieces


def _block(values: dict[str, Any], tensors: Mapping[str, Array]) -> Block:
    """Read a block, and what it has learned."""
    settings = dict(values)
    number = settings.pop("tokeniser", None)
    block = features.from_dict(settings)
    if number is None or not isinstance(block, DerivedBlock):
        return block
    return block.with_state(tensors[f"tokeniser.{number}"].tobytes())


def _current(about: dict[str, Any], tensors: Mapping[str, Array]) -> tuple[dict[str, Any], Mapping[str, Array]]:
    """Read what the first files called otherwise: normalise, True or False, and the thresholds of several labels as scores."""
    if "normalise" in about:
        old = about["normalise"]
        about = {**about, "norm": {True: "l2", False: None}.get(old, old)}
    if "thresholds" in tensors:
        about = {"multilabel": True, **about}
        tensors = {**tensors, "decision.thresholds": sigmoid(tensors["thresholds"])}
    return about, tensors


def _named(tensors: Mapping[str, Array], table: Table) -> tuple[Array, Array]:
    """Read where names begin, and the slots of their features."""
    if "name_slots" in tensors:
        return tensors["name_offsets"], tensors["name_slots"]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(tensors["name_sizes"], dtype=np.int64)])
    return offsets, table.used[tensors["name_features"]]


def _where(path: str | os.PathLike[str] | bytes) -> str:
    return "the bytes given" if isinstance(path, bytes) else shown(os.fspath(path), 500)


@dataclass(frozen=True)
class Model:
    """A model over text. ``scores`` has one column for two classes (above zero means the second), else one each."""

    classes: tuple[Any, ...]
    blocks: Blocks
    tf: str
    norm: Norm
    table: Table
    b: Floats  # (n_lookup,)
    name_bytes: Bytes = field(default_factory=lambda: np.zeros(0, np.uint8))
    name_offsets: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    name_slots: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    calibrated: bool = False
    card: Mapping[str, Any] = field(default_factory=dict)
    computed: ComputedBlocks = ()
    computed_weights: Floats32 = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    head: DenseLayers | None = None
    training_texts: Hashes32 = field(default_factory=lambda: np.zeros(0, np.uint32))
    multilabel: bool = False
    """Whether an answer may be several labels, or none."""
    decision: Decision = field(default_factory=Decision)
    """How probabilities become answers."""
    learned: Learned | None = None
    """What a counting model goes on learning from; others go on from their weights."""
    curve: CalibrationCurve | None = None
    """What calibration does to the log-odds of an answer beyond the scale, which is in the weights."""

    @property
    def slots(self) -> Hashes:
        """Fingerprints by slot; empty in hash mode."""
        return self.table.slots

    @property
    def rows(self) -> Floats32:
        """The norm weight and one weight an output, by slot, (n_slots, 1 + n_outputs)."""
        return self.table.rows

    @property
    def shift(self) -> int:
        """By how many bits a fingerprint is shifted to be its home slot."""
        return self.table.shift

    @property
    def n_lookup(self) -> int:
        """How many numbers are looked up a feature: a weight an output, or the embedding that a head reads."""
        return self.table.n_outputs

    @property
    def n_outputs(self) -> int:
        """1 for two classes, else the number of classes."""
        return self.n_lookup if self.head is None else self.head.n_outputs

    @property
    def n_features(self) -> int:
        """How many features the model knows."""
        return len(self.table.used) + len(self.computed_weights)

    @property
    def computed_names(self) -> list[str]:
        """The names of the computed columns, in the order of their weights."""
        return features.column_names(self.computed)

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns of the data that the model reads beside the text."""
        return features.needed((*self.blocks, *self.computed))

    @property
    def text_column(self) -> str:
        """What the column of texts was called in training."""
        return str(self.card.get("data", {}).get("text_column") or "text")

    @property
    def label_order(self) -> tuple[str, ...] | None:
        """The labels in their order, where they were made of numbers."""
        from linnet.data.dataset import LabelBins

        bins = self.card.get("data", {}).get("label_bins")
        return LabelBins.parse(bins).order if isinstance(bins, str) else None

    def pieces(self, texts: Any) -> list[TextBuffer]:
        """Return texts, or rows of texts and columns, as the model reads them."""
        return text_buffers(texts, self.needs, self.text_column)

    @cached_property
    def compiled(self) -> CompiledBlocks:
        """The blocks as the kernels read them."""
        return features.compile_blocks(self.blocks)

    @cached_property
    def weights(self) -> WeightTable:
        """The table of weights as the kernels read it."""
        return self.table.read_by(WeightTable(self.b, TF[self.tf], NORM[self.norm], self.shift))

    def scores(self, texts: Any, threads: int | None = None) -> Floats:
        """Return the score of every text, (n_texts, n_outputs)."""
        sums = self.sums(texts, threads)
        return sums if self.head is None else self.head.apply(sums)

    def sums(self, texts: Any, threads: int | None = None) -> Floats:
        """Return what the lookups add up to, (n_texts, n_lookup): the scores, but for a head."""
        pieces = self.pieces(texts)
        scores = self._derived(pieces, threads) if self._sources else self._counted(pieces, threads)
        if not self.computed:
            return scores
        return features.add_scores(scores, features.compute(self.computed, pieces), self.computed_weights)

    def _counted(self, pieces: list[TextBuffer], threads: int | None) -> Floats:
        """Return what the kernels add, and b."""
        size = sum(int(p.offsets[-1] - p.offsets[0]) for p in pieces)
        parts = [np.empty((len(p), self.n_lookup)) for p in pieces]
        runs = shards(pieces, 1 if size < SMALL_JOB else thread_count(threads))
        if not self.blocks:  # computed columns only
            for part in parts:
                part[:] = self.b
        else:
            in_threads(lambda run: self._run(pieces, run, parts), runs)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @cached_property
    def _sources(self) -> list[tuple[TextSource | None, Model]]:
        """The model in parts, one for each text that its blocks read; empty where all read the original."""
        groups = by_source(self.blocks)
        if all(source is None for source, _ in groups):
            return []
        zero = np.zeros_like(self.b)
        return [
            (source, replace(self, blocks=tuple(self.blocks[k] for k in numbers), b=zero)) for source, numbers in groups
        ]

    def _derived(self, pieces: list[TextBuffer], threads: int | None) -> Floats:
        """Add up what the blocks of the original and of the derived texts give."""
        scores = np.tile(self.b, (sum(map(len, pieces)), 1))
        for source, model in self._sources:
            mine = pieces if source is None else derive(source, pieces)
            scores += model._counted(mine, threads)
        return scores

    def _run(self, pieces: list[TextBuffer], run: Run, parts: list[Floats]) -> None:
        scratch = spare(min(LONG_TEXT, max(pieces[k].longest() for k, _, _ in run)))
        for k, first, last in run:
            text = pieces[k]
            score_documents(text.data, text.offsets, first, last, self.compiled, self.weights, scratch, parts[k])

    def known_features(self, texts: Any, threads: int | None = None, *, counting: bool = False) -> tuple[Ints, Ints]:
        """Return how many features of each text the model knows, and how many it has: each once, or with counting each time."""
        pieces, hashed = self.pieces(texts), self.table.hashed
        if not self.blocks:
            none = np.zeros(sum(map(len, pieces)), np.int64)
            return none, none
        counted = Derived.of(Texts(pieces), self.blocks, pieces).count(
            self.blocks, hash_bits=64 - self.shift if hashed else None, counting=counting, threads=threads
        )
        rows = counted.rows
        known = np.asarray(self.rows[:, 1:].any(axis=1)) if hashed else self.table.find(counted.fingerprints) >= 0
        every = rows.counts if counting else np.ones(len(rows.indices), np.int64)
        sums = (np.concatenate([[0], np.cumsum(some)]) for some in (every * known[rows.indices], every))
        mine, whole = (np.diff(total[rows.row_ptr]) for total in sums)
        return mine, whole

    def known_share(self, texts: Any, threads: int | None = None) -> Floats:
        """Return the share of each text's different features that the model knows; 1 where it has none."""
        known, every = self.known_features(texts, threads)
        return np.where(every > 0, known / np.maximum(every, 1), 1.0)

    def out_of_scope(self, texts: Any, threads: int | None = None, scores: Floats | None = None) -> Floats:
        """Return how unlike the training rows each text is, from 0 to 1: what no class explains with features that are known.

        With the share k of known features: 1 - k * max probability of the scores times k^2. Unknown features count as if they were in
        the norm of the text, which makes its scores smaller.
        """
        pieces = self.pieces(texts)
        found = self.scores(pieces, threads) if scores is None else scores
        share = self.known_share(pieces, threads)
        return np.asarray(1.0 - share * self.proba(found * np.square(share)[:, None]).max(axis=1))

    def texts_seen(self, texts: Any) -> TextsSeen:
        """Count the texts that the model was trained on."""
        return compare(self.training_texts, self.pieces(texts))

    def effects(self, slots: Ints, output: int) -> Floats:
        """Return what the features in some slots, and behind them the computed ones, do to a score: their weights.

        With a head there are none; then it is how far a text of that feature alone is from an empty one.
        """
        if self.head is None:
            counted = self.table.at(slots)[:, 1 + output].astype(np.float64)
            return np.concatenate([counted, self.computed_weights[:, output]]) if self.computed else counted
        rows = self.table.at(slots).astype(np.float64)
        norm, sums = rows[:, :1], rows[:, 1:]
        if self.norm:
            sums = np.divide(sums, norm, out=sums.copy(), where=norm > 0.0)
        if self.computed:
            sums = np.concatenate([sums, self.computed_weights])
        empty = self.head.apply(self.b[None, :])
        return np.asarray(self.head.apply(sums + self.b)[:, output] - empty[0, output])

    def proba(self, scores: Floats) -> Floats:
        """Turn scores into probabilities, (n_texts, n_classes); of several labels, each for itself."""
        scores = self.calibrated_scores(scores)
        return np.asarray(sigmoid(scores)) if self.multilabel else probabilities(scores)

    def calibrated_scores(self, scores: Floats) -> Floats:
        """Return scores as log-odds: their sigmoid or softmax are the probabilities."""
        if self.curve is None:
            return scores
        return self.curve.at(scores) if self.multilabel else self.curve.moved(scores)

    def answers(self, scores: Floats, decision: Decision | None = None) -> Answers:
        """Turn scores into answers, by the rule of the model or by another one."""
        rule = decision or self.decision
        if rule.plain and scores.shape[1] > 1 and not self.multilabel:  # no curve puts another class first
            return Answers(lambda: self.proba(scores), scores.argmax(axis=1))
        return rule.answers(self.proba(scores), self.multilabel)

    def best(self, scores: Floats) -> Ints:
        """Return the class number of each answer; that of the most probable class where there is none."""
        return self.answers(scores).most_probable

    def chosen(self, scores: Floats) -> Bools:
        """Return which labels each text has, (n_texts, n_classes)."""
        return self.answers(scores).chosen

    def names(self) -> dict[int, str]:
        """Return the names that were kept, by slot; features that share a hashed column stand side by side."""
        return {slot: " | ".join(names) for slot, names in self.sharing.items()}

    @cached_property
    def sharing(self) -> dict[int, tuple[str, ...]]:
        """The names that were kept, by slot. A hashed column may have several, the commonest first.

        An empty one, shown as "…", means that there were more.
        """
        data = self.name_bytes.tobytes()
        at = self.name_offsets.tolist()
        out: dict[int, tuple[str, ...]] = {}
        for slot, a, b in zip(self.name_slots.tolist(), at[:-1], at[1:], strict=True):
            out[slot] = (*out.get(slot, ()), data[a:b].decode("utf-8", "replace") or "…")
        return out

    def with_training_texts(self, numbers: Hashes32) -> Model:
        """Return the model with a note of the texts it was trained on, these and those known before, as its size allows."""
        arrays = [*self._tensors(mapped=True).values()]
        known = extended(self.training_texts, numbers, sum(array.nbytes for array in arrays))
        return replace(self, training_texts=known)

    def compact(self, few: int = FEW_WEIGHTS) -> Model:
        """Round the weights of a model with more than few of them and cut its fingerprints: ``linnet.model.coded``."""
        table = rounded(self.table, few)
        return self.with_table(table) if isinstance(table, CodedTable) else self

    def with_table(self, table: Table, **more: Any) -> Model:
        """Return the model with a table of rounded weights; the card says how they are stored, and more."""
        about = {"weights": "16 bits, a step a class", **more}
        if not table.hashed:
            about |= {"fingerprint_bits": table.bits, "false_hit_rate": len(table.used) / 2.0**table.bits}
        return replace(self, table=table, card={**self.card, "storage": about})

    def _tensors(self, *, mapped: bool) -> dict[str, Array]:
        """Return the table, b, the names and the layers, as the file holds them."""
        out = self.table.mapped_tensors() if mapped else self.table.tensors()
        out |= {"b": self.b, "names": self.name_bytes}
        out |= {} if self.head is None else self.head.tensors()
        if mapped:
            return out | {"name_offsets": self.name_offsets, "name_slots": self.name_slots}
        used, numbers = self.table.used, np.zeros(self.table.n_slots, np.uint32)
        numbers[used] = np.arange(len(used), dtype=np.uint32)
        return out | {
            "name_sizes": np.diff(self.name_offsets).astype(np.uint32),
            "name_features": numbers[self.name_slots],
        }

    def save(self, path: str | os.PathLike[str], *, mapped: bool = False) -> None:
        """Write the model file: whole or not at all. With mapped it is large, and as it is in memory: processes can share it."""
        store.write(path, *self._stored(mapped))

    @property
    def file_size(self) -> int:
        """How many bytes its file has."""
        return sum(len(part) for part in store.parts_of(*self._stored()))

    def _stored(self, mapped: bool = False) -> tuple[dict[str, Array], dict[str, Any], set[str]]:
        """Return the arrays and the card of the file, and which arrays are packed."""
        learned = states(self.blocks)
        tensors = self._tensors(mapped=mapped) | self.decision.tensors()
        tensors |= {f"tokeniser.{k}": np.frombuffer(state, np.uint8) for k, state in enumerate(learned)}
        tensors |= {} if self.learned is None else self.learned.tensors()
        tensors |= {} if self.curve is None else {"calibration": self.curve.points}
        some = {"training_texts": self.training_texts, "computed_weights": self.computed_weights}
        tensors |= {name: array for name, array in some.items() if len(array)}
        blocks = [b.to_dict() for b in self.blocks]
        for block, values in zip(self.blocks, blocks, strict=True):
            if isinstance(block, DerivedBlock) and block.state is not None:
                values["tokeniser"] = learned.index(block.state)
        about: dict[str, Any] = {
            "classes": list(self.classes),
            "blocks": blocks,
            "tf": self.tf,
            "norm": self.norm,
            "shift": self.shift,
        }
        more = {
            "computed": [c.to_dict() for c in self.computed],
            "fingerprint_bits": self.table.bits if self.table.bits < 64 else None,
            "multilabel": self.multilabel,
            "decision": self.decision.to_dict(),
            "head": None if self.head is None else {"layers": len(self.head.layers), "inputs": self.n_lookup},
        }
        about |= {"calibrated": self.calibrated, **{name: value for name, value in more.items() if value}}
        card = {**self.card, "model": about}
        return tensors, card, set() if mapped else PACKED & tensors.keys()

    @classmethod
    def load(
        cls, path: str | os.PathLike[str] | bytes, *, verify: bool = True, trust: bool = False, names_only: bool = False
    ) -> Model:  # fmt: skip
        """Map a model file; a file that is not whole or not ours is refused with one clear line.

        A file that names functions of other programs is refused before any of them is imported (UntrustedModelError),
        unless the caller says ``trust=True``. With names_only such a model can be looked at, but not used.
        """
        stored = store.read(path, verify=verify)
        try:
            card = dict(stored.card)
            about = card.pop("model")
            check_card(about, card)
            check_arrays(stored.tensors)
            called = [] if trust or names_only else [*about.get("computed", ()), *about["blocks"]]
            if names := [name for values in called for name in features.wanted(values)]:
                raise UntrustedModelError(_where(path), names)  # before any of it is imported
            about, t = _current(about, stored.tensors)
            multilabel = bool(about.get("multilabel"))
            computed = [(features.kind_of(values["block"]), values) for values in about.get("computed", ())]
            n_outputs = 1 if len(about["classes"]) == 2 and not multilabel else len(about["classes"])
            head = None
            if "head" in about:
                from linnet.solvers.network import DenseLayers

                head = DenseLayers.of_tensors(t, int(about["head"]["layers"]))
            n_lookup = n_outputs if head is None else int(about["head"]["inputs"])
            table = read_table(t, n_lookup, int(about["shift"]), int(about.get("fingerprint_bits", 64)))
            model = cls(
                tuple(about["classes"]), tuple(_block(b, t) for b in about["blocks"]), about["tf"], about["norm"],
                table, t["b"], t["names"], *_named(t, table), bool(about["calibrated"]), card,
                tuple((kind.named if names_only else kind.from_dict)(values) for kind, values in computed),
                t.get("computed_weights", np.zeros((0, 0), np.float32)),
                head=head,
                training_texts=t.get("training_texts", np.zeros(0, np.uint32)), multilabel=multilabel,
                decision=Decision.from_tensors(about.get("decision", {}), t, len(about["classes"])),
                curve=CalibrationCurve(t["calibration"]) if "calibration" in t else None,
            )  # fmt: skip
            model._check()
            if "learned.rows" in t:
                model = replace(model, learned=Learned.of_tensors(t, len(table.used), len(model.classes) + multilabel))
            if verify:
                model.check_numbers()
            vars(table).pop("used", None)  # eight bytes a feature, which prediction does not need
        except UntrustedModelError:
            raise
        except LinnetError as error:  # it knows better what is missing
            raise ModelFileError(f"{_where(path)}: {shown(error, 1000)}") from error
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
            problem = f"the model file does not hold a linnet text model ({shown(error, 200)})"
            raise ModelFileError(f"{_where(path)}: {problem}; train it again") from error
        return model

    def check_numbers(self) -> None:
        """Refuse weights that are not finite, or too large to be added up."""
        layers = {} if self.head is None else self.head.tensors()
        rows = (
            {"rows": self.rows} if isinstance(self.table, FloatTable) else {}
        )  # rounded ones were checked with their steps
        check_numbers({**rows, "b": self.b, "computed_weights": self.computed_weights, **layers})

    def _check(self) -> None:
        """Refuse tables that a kernel could run out of: lookups end at an empty slot, every slot has its row, names their bytes."""
        offsets, slots = self.name_offsets, self.name_slots
        self.table.check()
        n_slots, homes = self.table.n_slots, 1 << (64 - self.shift)
        fits = (
            0 < self.shift < 64
            and 8 <= self.table.bits <= 64
            and (n_slots == homes if self.table.hashed else n_slots >= homes)
            and self.n_outputs == (1 if len(self.classes) == 2 and not self.multilabel else len(self.classes))
            and self.b.shape == (self.n_lookup,)
            and (self.head is None or self.head.n_inputs == self.n_lookup)
            and self.tf in TF
            and self.norm in NORM
            and len(self.blocks) + len(self.computed) > 0
            and self.computed_weights.shape == ((len(self.computed_names), self.n_lookup) if self.computed else (0, 0))
            and len(offsets) == len(slots) + 1
            and offsets[0] == 0
            and offsets[-1] == len(self.name_bytes)
            and bool((np.diff(offsets) >= 0).all())
            and bool(((slots >= 0) & (slots < n_slots)).all())
        )
        if not fits:
            raise ValueError("its tables or names do not fit together")
