"""Lexicon: word lists written by people; the label with the most matches wins. Nothing is learned.

    score(x, y) = sum over the words w of x of weight_y(w),   weight 1 for a word of the list of y, 0 for others

Every occurrence counts. An entry can have its own weight, and can be several words ("not good"): it then matches where
these words stand side by side, and words inside it still count for themselves. Texts and entries are cut into words and
folded alike, by linnet's tokeniser. Equal scores, such as 0 to 0 where nothing matches, go to ``default`` where it is
given and among the best, else to the first class.

As a table of weights it is the same (W, b) as every other linear model, with b = 0, so it can be saved, explained and
served like one learned from data.

Entries of word lists as the kernels will meet them in texts: fingerprints, names, and a weight for each class.

>>> from linnet.data.wordlists import word_lists
>>> known = listed(word_lists({"pos": ["Good", "not bad"], "neg": ["bad"]}), ["neg", "pos"])
>>> str(known.block), known.names, known.weights.tolist()
('words:1-2', [b'good', b'bad', b'not bad'], [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from linnet.array_types import Array, Floats, Hashes
from linnet.data.wordlists import WordEntry, word_lists
from linnet.errors import DataError
from linnet.estimator import Estimator, sklearn_tags
from linnet.features.blocks import LONGEST, Words, counted_only
from linnet.features.buffers import text_buffers
from linnet.features.counting import joined
from linnet.features.plan import FeaturePlan
from linnet.features.vectorizer import features_named
from linnet.models import inputs
from linnet.models.estimator import Traits
from linnet.text.tokens import words_of
from linnet.values import label_number, label_numbers

if TYPE_CHECKING:
    from linnet.model.model import Model


_WORDS = Words(1, 1)


@dataclass(frozen=True)
class Listed:
    """Distinct entries as the kernels see them, with a weight for each class."""

    block: Words
    fingerprints: Hashes
    names: list[bytes]
    weights: Floats  # (n_entries, n_classes)


def listed(entries: list[WordEntry], classes: Sequence[Any], block: Words = _WORDS) -> Listed:
    """Fingerprint the entries as the kernels will meet them in texts, the shortest first, and note who says what."""
    number = {c: k for k, c in enumerate(classes)}
    found: dict[tuple[str, ...], dict[int, WordEntry]] = {}  # by the words of an entry, then by class
    for e, words in zip(entries, words_of([e.text for e in entries], block.tokens, block.case), strict=True):
        if not 1 <= len(words) <= LONGEST:
            raise DataError(f"{e.where}: {e.text!r} is {len(words)} words long; an entry has 1 to {LONGEST}")
        mine = found.setdefault(tuple(words), {})
        before = mine.setdefault(number[e.label], e)  # of "No!" and "NO!" the first counts
        if before.weight != e.weight and before.text == e.text:
            raise DataError(f"{e.where}: {e.text!r} has another weight for {e.label!r} than {before.where}; keep one")
    wanted = sorted(found, key=len)
    W = np.zeros((len(wanted), len(classes)))
    for row, mine in zip(W, map(found.__getitem__, wanted), strict=True):
        row[list(mine)] = [e.weight for e in mine.values()]
    known = Words(len(wanted[0]), len(wanted[-1]), block.tokens, block.case)
    texts = [next(iter(found[words].values())).text for words in wanted]
    blank = "" if block.tokens in ("characters", "bytes") else " "
    fingerprints, names = features_named([blank.join(words) for words in wanted], (known,), texts)
    return Listed(known, fingerprints, [name.encode() for name in names], W)


SIGNS = (("negative", "positive"), ("neg", "pos"), ("bad", "good"), ("-1", "1"), ("-", "+"), ("0", "1"), ("no", "yes"))
"""Pairs of labels whose names say which is for words of negative and which for words of positive valence."""
TIE = 1e-6  # of the smallest weight: what default has in advance


@dataclass(eq=False, repr=False)
class Lexicon(Estimator):
    """Count the words of each label's list.

    Parameters: ``lists`` is {label: words}, {label: {word: weight}}, {label: file}, {word: valence}, or the path of a
    table with the columns word,label or word,valence (see ``linnet.data.wordlists``); without lists, those that come
    with linnet, for the labels negative and positive. ``columns`` names columns that are called otherwise, such as
    {"word": "term"}. ``negative`` and ``positive`` say for which label words with a valence below and above zero speak,
    where the labels do not say so themselves. ``default`` wins ties.

    It works without ``fit``, for the labels of its lists. ``fit`` learns nothing but which labels there are; one without
    a list scores 0, and lists of other labels are left out.

    >>> model = Lexicon({"pos": ["good", "fun", "not bad"], "neg": ["bad", "boring"]})
    >>> model.label_score("Good fun, good cast; not bad.", "pos"), model.classify("boring, but good fun")
    (4.0, 'pos')
    """

    plan = FeaturePlan(tf="count", idf=False, norm=None)
    traits = Traits(learns=False)

    lists: Any = None
    _: KW_ONLY
    columns: Any = None
    negative: Any = None
    positive: Any = None
    default: Any = None

    # ---- as an estimator over texts

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Note the labels and check that the lists fit them; the texts teach nothing."""
        name = type(self).__name__
        n = sum(map(len, text_buffers(X)))
        labels = inputs.as_labels(y, n, name)
        classes, _ = inputs.index_of(labels, inputs.as_weight(sample_weight, n), name)
        self.counter_ = self._counter(classes.tolist())
        self.classes_ = classes
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return how far the second label is ahead, (n_texts,), for two labels; else the matches, (n_texts, n_labels)."""
        scores = self._scores(self._ready(), X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> Array:
        """Return the label with the most matches; ties go to default, else to the first."""
        ready = self._ready()
        classes = self.classes_ if hasattr(self, "classes_") else np.array(ready.classes)
        return np.asarray(classes[self._scores(ready, X).argmax(axis=1)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on labelled texts."""
        return inputs.accuracy(self, X, y, sample_weight)

    def label_score(self, text: str, label: Any) -> float:
        """Return the matches of one label in one text."""
        ready = self._ready()
        return float(ready.scores([text])[0, label_number(ready.classes, label)])

    def classify(self, text: str, labels: Iterable[Any] | None = None) -> Any:
        """Return the best of some labels for one text."""
        ready = self._ready()
        allowed = label_numbers(ready.classes, ready.classes if labels is None else labels)
        return ready.classes[allowed[int(self._scores(ready, [text])[0, allowed].argmax())]]

    def named_weights(self) -> dict[Any, dict[str, float]]:
        """Return {label: {entry: weight}} as the texts meet it: folded, and without what weighs nothing.

        >>> Lexicon({"Fun": 2, "dull": -1}).named_weights()
        {'negative': {'dull': 1.0}, 'positive': {'fun': 2.0}}
        """
        ready = self._ready()
        names, rows = ready.names(), ready.rows[:, 1:]
        slots = sorted(names, key=names.__getitem__)
        each = enumerate(ready.classes)
        return {label: {names[s]: float(rows[s, k]) for s in slots if rows[s, k] != 0} for k, label in each}

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        return sklearn_tags("classifier", requires_fit=False, one_d_array=True, two_d_array=False, string=True)

    def _ready(self) -> Model:
        return self.counter_ if hasattr(self, "counter_") else self._counter(None)

    def _scores(self, ready: Model, X: Any) -> Floats:
        return ready.scores(X) + self._ahead(ready.classes, ready.rows[:, 1:])

    # ---- as the table every linear model ends as

    def build(self, classes: Sequence[Any], plan: FeaturePlan | None = None) -> Model:
        """Return the model for some labels, ready to predict; of the plan, tf, norm and how words are cut count.

        For two labels the weights of the first are taken from those of the second, as in every model.
        """
        plan = plan or self.plan
        known, _ = self._known(list(classes), _block(plan))
        W, b = known.weights, self._ahead(classes, known.weights)
        if len(classes) == 2:
            W, b = W[:, 1:] - W[:, :1], b[1:] - b[:1]
        entries = {str(c): int(np.count_nonzero(known.weights[:, k])) for k, c in enumerate(classes)}
        lists = self.lists if isinstance(self.lists, str) else "built-in" if self.lists is None else "given"
        return _model(classes, known, W, b, plan, {"lexicon": {"lists": lists, "entries": entries}})

    def _counter(self, classes: Sequence[Any] | None) -> Model:
        """Return a table with a column of its own for every label, also where they are two."""
        known, labels = self._known(classes, _block(self.plan))
        return _model(labels, known, known.weights, np.zeros(len(labels)), self.plan, {})

    def _known(self, classes: Sequence[Any] | None, block: Words) -> tuple[Listed, list[Any]]:
        """Return the entries for some classes, by default those of the lists, and these classes."""
        entries = self._entries(classes)
        if classes is None:
            low = "negative" if self.negative is None else self.negative
            high = "positive" if self.positive is None else self.positive
            both = {low, high} if any(e.label is None for e in entries) else set()
            entries = [self._signed(e, low, high) for e in entries]
            classes = sorted(both | {e.label for e in entries}, key=lambda v: (str(type(v)), v))
        else:
            entries = self._for(entries, classes)
        if len(classes) < 2:
            raise DataError(f"a lexicon needs lists of two labels or more, got {list(classes)}")
        if self.default is not None:
            label_number(classes, self.default)
        return listed(entries, list(classes), block), list(classes)

    def _entries(self, classes: Sequence[Any] | None) -> list[WordEntry]:
        """Return the entries of the lists; without lists the built-in ones, for the labels they are for."""
        if self.lists is not None:
            return word_lists(self.lists, self.columns)
        from linnet.datasets import lexicon

        if classes is not None and sorted(map(str, classes)) != ["negative", "positive"]:
            found = ", ".join(map(repr, classes))
            raise DataError(
                f"the lists that come with linnet are for the labels 'negative' and 'positive', and the data has {found}; "
                "give your own, for example lists='words.csv' with the columns word,label"
            )
        return word_lists(lexicon())

    def _for(self, entries: list[WordEntry], classes: Sequence[Any]) -> list[WordEntry]:
        """Return the entries for these classes, labels as the data spells them (1 for "1" of a file)."""
        spelt = {**{str(c): c for c in classes}, **{c: c for c in classes}}
        pair = next((p for p in SIGNS if set(p) == {str(e.label).lower() for e in entries}), None)
        if pair and not any(e.label in spelt for e in entries):  # lists of negative and positive, data with neg and pos
            like = dict(zip(pair, self._signs(classes), strict=True))
            entries = [WordEntry(e.text, like[str(e.label).lower()], e.weight, e.where) for e in entries]
        signs = self._signs(classes) if any(e.label is None for e in entries) else (None, None)
        entries = [self._signed(e, *signs) for e in entries]
        found = {e.label for e in entries}
        kept = {label for label in found if label in spelt}
        left, bare = sorted(map(str, found - kept)), sorted(set(map(str, classes)) - set(map(str, kept)))
        if not kept:
            raise DataError(
                f"no label of the data has a list: the data has {', '.join(bare)}, the lists are for {', '.join(left)}; "
                "give both the same names"
            )
        if left and bare:
            warnings.warn(
                f"the lists of {', '.join(left)} are left out, because the data has no such labels, while its labels "
                f"{', '.join(bare)} have no list and score 0; are they the same under other names?",
                stacklevel=2,
            )
        return [WordEntry(e.text, spelt[e.label], e.weight, e.where) for e in entries if e.label in kept]

    def _signs(self, classes: Sequence[Any]) -> tuple[Any, Any]:
        """Return the labels of negative and positive valences: as set, or a pair of names that says so."""
        if self.negative is not None and self.positive is not None:
            return classes[label_number(classes, self.negative)], classes[label_number(classes, self.positive)]
        named = {str(c).lower(): c for c in classes}
        for low, high in SIGNS:
            if low in named and high in named and (low != "0" or len(classes) == 2):
                return named[low], named[high]
        found = ", ".join(map(repr, classes))
        raise DataError(f"the labels are {found}: set negative= and positive= to those that valences speak for")

    def _signed(self, entry: WordEntry, negative: Any, positive: Any) -> WordEntry:
        if entry.label is not None:
            return entry
        return WordEntry(entry.text, negative if entry.weight < 0 else positive, abs(entry.weight), entry.where)

    def _ahead(self, classes: Sequence[Any], weights: Array) -> Floats:
        """Return what each class has in advance: nothing, but for default a trifle that decides ties only."""
        ahead = np.zeros(len(classes))
        sizes = np.abs(weights[weights != 0])
        if self.default is not None:
            ahead[label_number(classes, self.default)] = TIE * float(sizes.min(initial=1.0))
        return ahead


def _block(plan: FeaturePlan) -> Words:
    """Return how words are cut; settings that would learn from data are refused."""
    plain = Lexicon.plan
    for name in ("idf", "ratio", "min_df", "max_df", "max_features", "hash_bits", "select"):
        if getattr(plan, name) != getattr(plain, name):
            raise DataError(f"a lexicon learns nothing from the data; leave out {name}={getattr(plan, name)!r}")
    if plan.features is None:
        return Words(1, 1)
    blocks = counted_only(plan.features, "a lexicon")
    if len(blocks) != 1 or not isinstance(blocks[0], Words) or blocks[0].weight != 1:
        raise DataError("a lexicon matches words; of features= it takes one block of words, as words:1:whitespace:keep")
    return blocks[0]


def _model(
    classes: Sequence[Any], known: Listed, W: Floats, b: Floats, plan: FeaturePlan, card: dict[str, Any]
) -> Model:
    """Return the entries and their weights as a model of text."""
    from linnet.model.model import Model
    from linnet.model.table import FloatTable

    table = FloatTable.of(known.fingerprints, np.ones(len(W), np.float32), W.astype(np.float32))
    return Model(
        tuple(classes), (known.block,), plan.tf, plan.norm, table, b, *joined(known.names),
        table.find(known.fingerprints), card=card,
    )  # fmt: skip
