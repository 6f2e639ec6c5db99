"""Word lists as features: how many words of each list a text holds, and what their valences come to.

    linnet train reviews.csv --features words:1-2+lists:moods.csv

A file is what ``linnet.data.wordlists`` reads (word,label or word,valence, JSON, a plain list); a dict will do. It holds a
list for each label, or of valences one of the positive and one of the negative words. Each list gives two columns: how
often its entries occur, and the sum of their valences (1 where there are none). A valence changes its sign within three
tokens behind a negation. Both are log-scaled, sign(x) log(1 + |x|). Of overlapping entries
the longest counts. The entries are kept in the model file: the model does not need the list file.

>>> moods = Lists({"good": 2, "bad": -2, "not bad at all": 3})
>>> moods.columns
('list positive entries', 'list positive sum', 'list negative entries', 'list negative sum')
>>> [m[:3] for m in moods.matches("Not good, but not bad at all: good!")]
[('good', 4, 8), ('not bad at all', 14, 28), ('good', 30, 34)]
>>> moods.values(["Not good, but not bad at all: good!"]).round(3).tolist()  # -2 + 3 + 2
[[1.386, 1.386, 0.0, 0.0]]
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from linnet import arithmetic
from linnet._kernels.text import PhraseTable, Scratch, list_sums, phrase_hash
from linnet.array_types import Floats
from linnet.data.wordlists import TABLES, word_lists
from linnet.errors import DataError
from linnet.features.blocks import Computed
from linnet.features.buffers import TextBuffer
from linnet.features.counting import Slots
from linnet.text.tokens import CASES, STOPS, TOKENS, is_negation, tokenize, words_of

REACH = 3

Entries = dict[tuple[str, ...], dict[int, float]]


class Match(NamedTuple):
    """An entry found in a text: its words, its place in characters, the list's number, its valence with the sign."""

    text: str
    start: int
    end: int
    list: int
    value: float


class Lists(Computed):
    """The word lists of one file or dict; see the head of this file."""

    name: ClassVar[str] = "lists"

    def __init__(self, lists: Any, weight: float = 1.0, source: str | None = None) -> None:
        if isinstance(lists, str | os.PathLike):
            path, source = Path(lists), source or os.fspath(lists)
            if path.is_file() and path.suffix.lower() not in (*TABLES, ".json"):
                lists = {path.stem: lists}  # a plain list of words
        stem, found = Path(source or "").stem or "list", dict[str, dict[str, float]]()
        for entry in word_lists(lists):
            kind = ("negative" if entry.weight < 0 else "positive") if entry.label is None else str(entry.label)
            label = stem if kind == stem else f"{stem} {kind}"
            found.setdefault(label, {})[entry.text] = entry.weight
        self._keep(found, weight, source or "")

    def _keep(self, lists: dict[str, dict[str, float]], weight: float, source: str) -> None:
        """Keep the entries by list, in the order of the file: {list: {word: valence}}."""
        self.lists, self.weight, self.source = lists, weight, source
        self._check_weight()
        self.entries: Entries = _cut(lists)
        if not self.entries:
            raise DataError(f"no entry of the word lists holds a word or a sign ({source or list(lists)!r:.60})")

    @property
    def columns(self) -> tuple[str, ...]:
        """Two names a list."""
        return tuple(f"{name} {what}" for name in self.lists for what in ("entries", "sum"))

    # ---- values

    def values_of(self, piece: TextBuffer, first: int = 0) -> Floats:
        """Return the numbers of all documents, (n_texts, 2 n_lists)."""
        out = np.zeros((len(piece), 2 * len(self.lists)))
        list_sums(piece.data, piece.offsets, self._table, Scratch(piece.longest(), room=0), out)
        return np.asarray(np.sign(out) * arithmetic.log1p(np.abs(out)))

    @cached_property
    def _table(self) -> PhraseTable:
        """The entries and their beginnings, laid out for lookup."""
        hashes = {words: phrase_hash(words) for words in self.entries}
        beginnings = {phrase_hash(words[:k]) for words in self.entries for k in range(1, len(words))}
        fps = np.array(sorted({*hashes.values(), *beginnings}), dtype=np.uint64)
        slots = Slots.of(fps)
        begin, end = np.zeros(len(slots.slots), np.int32), np.zeros(len(slots.slots), np.int32)
        lists: list[int] = []
        weights: list[float] = []
        at = dict(zip(fps.tolist(), slots.find(fps).tolist(), strict=True))
        for words, found in self.entries.items():
            begin[at[hashes[words]]] = len(lists)
            lists += found
            weights += found.values()
            end[at[hashes[words]]] = len(lists)
        values = np.array(lists, np.int32), np.array(weights, np.float64)
        return PhraseTable(slots.slots, slots.shift, begin, end, *values, TOKENS["words"], CASES["fold"])

    def matches(self, text: str) -> list[Match]:
        """Return the entries in a text, with their places: what the kernel adds up, in plain Python."""
        tokens = tokenize(text)
        words = [t.text for t in tokens]
        longest = max(map(len, self.entries))
        out, i, negation = [], 0, -REACH - 1
        while i < len(words):
            sizes = [n for n in range(min(longest, len(words) - i), 0, -1) if tuple(words[i : i + n]) in self.entries]
            size = sizes[0] if sizes else 1
            if sizes:
                sign = -1.0 if i - negation <= REACH else 1.0
                found = self.entries[tuple(words[i : i + size])]
                place = tokens[i].start, tokens[i + size - 1].end
                out += [Match(" ".join(words[i : i + size]), *place, k, sign * w) for k, w in found.items()]
            for k in range(i, i + size):
                if text[tokens[k].start] in STOPS or text[tokens[k].end - 1] in STOPS:
                    negation = -REACH - 1
                elif is_negation(words[k]):
                    negation = k
            i += size
        return out

    def places(self, text: str) -> list[tuple[tuple[int, int], ...]]:
        """Return where the entries of each list stand, once for each of its two columns."""
        found = self.matches(text)
        spans = [tuple((m.start, m.end) for m in found if m.list == k) for k in range(len(self.lists))]
        return [place for place in spans for _ in range(2)]

    # ---- names

    def to_dict(self) -> dict[str, Any]:
        """Return the entries themselves, in order: the model does not need the file."""
        lists = [{"list": k, "words": list(v), "valences": list(v.values())} for k, v in self.lists.items()]
        return {"block": self.name, "lists": lists, "source": self.source, "weight": self.weight}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Lists:
        """Read back what ``to_dict`` wrote."""
        made, lists = cls.__new__(cls), {}
        for one in values["lists"]:
            pairs = zip(map(str, one["words"]), map(float, one["valences"]), strict=True)
            lists[str(one["list"])] = dict(pairs)
        made._keep(lists, float(values["weight"]), str(values["source"]))
        return made

    def written(self) -> list[str]:
        """Return the file."""
        return [self.source or "(given)"]

    def __repr__(self) -> str:
        words = sum(map(len, self.lists.values()))
        return f"Lists({self.source or '...'}: {len(self.lists)} lists, {words:,} entries)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lists) and (str(self), self.lists) == (str(other), other.lists)

    def __hash__(self) -> int:
        return hash((str(self), tuple(self.lists)))


def _cut(lists: Mapping[str, Mapping[str, float]]) -> Entries:
    """Cut every entry into tokens as texts are cut; of entries that are then the same the last counts."""
    entries: Entries = {}
    for number, words in enumerate(lists.values()):
        for tokens, value in zip(words_of(words), words.values(), strict=True):
            if tokens:
                entries.setdefault(tuple(tokens), {})[number] = value
    return entries
