"""Which column is the text and which the label: as given, else by name, else by what the columns hold; and their names.

The choice is never silent: it comes with a sentence that says what was chosen and why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from linnet.data.arrays import take
from linnet.draw.terminal import listed
from linnet.errors import DataError, nearest
from linnet.values import alike, is_number

#: Names that people give to texts and labels, the clearest first.
_TEXT = (
    "text texts review reviews comment comments message messages msg body content contents sentence sentences document "
    "documents doc tweet utterance question query post description abstract article email mail sms snippet phrase "
    "paragraph passage summary transcript ticket input data title headline subject"
)
_LABEL = (
    "label labels class classes category categories target targets sentiment polarity stars star rating ratings score "
    "y tag tags topic topics queue intent emotion emotions gold annotation newsgroup spam toxic language lang genre type "
    "group output"
)
TEXT_NAMES, LABEL_NAMES = tuple(_TEXT.split()), tuple(_LABEL.split())
_SAMPLE = 2000


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The chosen columns; None where names alone do not decide. `why_*` say how each was found."""

    text: str | None
    label: str | None
    why_text: str = ""
    why_label: str = ""
    source: str = field(default="the data", repr=False)
    not_text: frozenset[str] = field(default=frozenset(), repr=False)  # columns of numbers

    @property
    def how(self) -> str:
        """The choice in one sentence."""
        label = f"label column '{self.label}' ({self.why_label})" if self.label else "no label column"
        return f"text column '{self.text}' ({self.why_text}), {label}"


class TrainedOn(str):
    """The text column that a model was trained on: taken where the source has it, else the text is found as if none were named."""

    __slots__ = ()


def normalise(name: str) -> str:
    """A column name in one spelling.

    >>> normalise(" Review Text"), normalise("reviewText"), normalise("LABEL")
    ('review_text', 'review_text', 'label')
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\W_]+", "_", spaced).strip("_").lower()


def by_name(
    names: Sequence[str],
    *,
    text: str | None = None,
    label: str | None = None,
    source: str = "the data",
    not_text: frozenset[str] = frozenset(),
) -> ColumnChoice:
    """Choose columns as given, or by their names.

    >>> by_name(["id", "Review", "Stars"]).how
    "text column 'Review' (by name), label column 'Stars' (by name)"
    >>> by_name(["text", "body"], text=TrainedOn("body")).how, by_name(["text", "id"], text=TrainedOn("body")).why_text
    ("text column 'body' (as in training), no label column", "by name; the model was trained on 'body', which is not there")
    >>> by_name(["a", "b"], text="B")
    ColumnChoice(text='b', label=None, why_text='as given', why_label='')
    >>> by_name(["text", "label"], label="lable")
    Traceback (most recent call last):
    linnet.errors.DataError: the data: unknown column 'lable'; choose one of: text, label (did you mean 'label'?)
    """
    usual = text if isinstance(text, TrainedOn) else None
    if usual is not None:
        text = alike(usual, names)
    given_text, given_label = (None if name is None else given(name, names, source) for name in (text, label))
    if given_text is not None and given_text == given_label:
        raise DataError(f"{source}: column '{given_text}' cannot be both the text and the label; name two columns")
    found_text, why_text = given_text, "as given" if usual is None else "as in training"
    if found_text is None:
        rest = [name for name in names if name != given_label and name not in not_text]
        found_text, why_text = _match(rest, TEXT_NAMES, LABEL_NAMES)
        if usual is not None and len(rest) > 1:
            why_text += f"; the model was trained on '{usual}', which is not there"
    found_label, why_label = given_label, "as given"
    if found_label is None:
        found_label, why_label = _match([name for name in names if name != found_text], LABEL_NAMES, TEXT_NAMES)
    return ColumnChoice(found_text, found_label, why_text, why_label, source, not_text)


def given(wanted: str, names: Sequence[str], source: str) -> str:
    """The column that a user named, as the source spells it; case and white space around it do not matter."""
    found = alike(wanted, names)
    if found is None:
        raise DataError(f"{source}: {nearest('column', wanted, names)}")
    return found


def _match(names: Sequence[str], known: Sequence[str], other: Sequence[str]) -> tuple[str | None, str]:
    """The first name that is a known one; else the first whose last word is ('review_text', 'sentiment label')."""
    spelled = {name: normalise(name) for name in names}
    for word in known:
        hits = [name for name in names if spelled[name] == word]
        if hits:
            also = [name for name in names if name not in hits and spelled[name] in known]
            return hits[0], "by name" + (f"; '{also[0]}' is another" if also else "")
    for word in known:
        for name in names:
            words = spelled[name].split("_")
            if spelled[name] not in other and words[-1] == word and len(words) < 5:
                return name, "by name"
    return None, ""


def by_content(columns: Mapping[str, pa.ChunkedArray], choice: ColumnChoice, *, labelled: bool | None) -> ColumnChoice:
    """Fill what names left open, from string columns: the longest texts, and the fewest distinct values.

    >>> from linnet.data.arrays import strings
    >>> rows = {"a": ["1", "2", "1", "2"], "b": ["a good film", "a bad film", "so good", "so bad"]}
    >>> columns = {name: pa.chunked_array([strings(values)]) for name, values in rows.items()}
    >>> by_content(columns, by_name(["a", "b"]), labelled=None).how
    "text column 'b' (longest texts, 8 characters on average), label column 'a' (2 distinct values)"
    """
    text, why_text, label, why_label = choice.text, choice.why_text, choice.label, choice.why_label
    if text is None:
        rest = {name: column for name, column in columns.items() if name != label}
        text, why_text = _longest(rest, choice.not_text)
        why_text = "the only other column" if why_text == "the only column" and label else why_text
        why_text += choice.why_text
    if text is None:
        raise DataError(f"{choice.source}: none of the columns ({listed(columns, 20)}) holds texts; {_FLAGS}")
    if label is None and labelled is not False:
        others = {name: column for name, column in columns.items() if name != text}
        label, why_label = _fewest(others)
        if label is None and labelled and len(others) == 1:
            label, why_label = next(iter(others)), "the only other column"
    if label is None and labelled:
        raise DataError(
            f"{choice.source}: no column looks like labels, which are needed, beside the text column '{text}' "
            f"({listed(columns, 20)}); {_FLAGS}"
        )
    return replace(choice, text=text, label=label, why_text=why_text, why_label=why_label)


_FLAGS = "name them: --text COL --label COL (text=..., label=... in Python)"


def _longest(columns: Mapping[str, pa.ChunkedArray], not_text: frozenset[str]) -> tuple[str | None, str]:
    """The column with the longest, most varied values; addresses, identifiers and dates yield to prose."""
    if len(columns) == 1:
        return next(iter(columns)), "the only column"
    best: tuple[tuple[bool, float], str, float] | None = None
    for name, column in columns.items():
        step = max(1, len(column) // _SAMPLE)
        sample = [value for value in take(column, np.arange(0, len(column), step)).to_pylist() if value]
        if not sample or name in not_text or sum(map(is_number, sample)) > 0.9 * len(sample):
            continue
        mean = sum(map(len, sample)) / len(sample)
        prose = sum(" " in value.strip() or not value.isascii() for value in sample) >= len(sample) / 4
        rank = (prose, mean * len(set(sample)) / len(sample))
        if best is None or rank > best[0]:
            best = rank, name, mean
    if best is None:
        return None, ""
    return best[1], f"longest texts, {best[2]:.0f} characters on average"


def _fewest(columns: Mapping[str, pa.ChunkedArray]) -> tuple[str | None, str]:
    """The column with the fewest distinct values, between 2 and 1,000, each twice on average."""
    counted = {}
    for name, column in columns.items():
        values = column.unique().to_pylist() if len(column) else []
        distinct = len({value.strip() for value in values if value} - {""})
        if 2 <= distinct <= min(1000, len(column) / 2):
            counted[name] = distinct
    if not counted:
        return None, ""
    ranked = sorted(counted, key=lambda name: counted[name])
    also = f"; '{ranked[1]}' has {counted[ranked[1]]}" if len(ranked) > 1 else ""
    return ranked[0], f"{counted[ranked[0]]} distinct values{also}"


_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|\.\d+)([eE][+-]?\d+)?%?")
_KNOWN = frozenset(TEXT_NAMES) | frozenset(LABEL_NAMES)


def is_name_row(cells: Sequence[str]) -> bool:
    """Whether every cell could be a column name, and one is a name people give to texts or labels.

    >>> is_name_row(["id", "Review", "stars"]), is_name_row(["text", "It was all right. I would go again."])
    (True, False)
    """
    return any(normalise(cell) in _KNOWN for cell in cells) and not any(map(_is_sentence, cells))


def has_header(rows: Sequence[Sequence[str]], given: Sequence[str] = ()) -> bool:
    """Whether the first row holds names rather than data.

    It is data if one of its cells is a sentence, occurs again further down its column, or is a number above numbers.

    >>> has_header([["label", "text"], ["3", "Stocks fell"], ["4", "New phone"]])
    True
    >>> has_header([["3", "Wall St. Bears Claw Back", "Short-sellers are seeing green again."], ["1", "b", "c d"]])
    False
    >>> has_header([["ham", "ok lar"], ["spam", "Win!!"], ["ham", "see you"]])
    False
    """
    if not rows:
        return False
    first, rest = rows[0], rows[1:]
    cells = [cell.strip() for cell in first]
    if any(name.strip().casefold() == cell.casefold() for name in given for cell in cells):
        return True
    if any(map(_is_sentence, cells)):
        return False
    if is_name_row(cells):
        return True
    for column, cell in enumerate(cells):
        below = [row[column].strip() for row in rest if column < len(row)]
        if not cell or not below:
            continue
        if cell in below:
            return False
        if _NUMBER.fullmatch(cell) and sum(bool(_NUMBER.fullmatch(value)) for value in below) > len(below) / 2:
            return False
    return True


def _is_sentence(cell: str) -> bool:
    words = len(cell.split())
    return len(cell) > 80 or words > 7 or "\n" in cell or (words > 2 and cell.rstrip().endswith((".", "!", "?")))


def column_names(cells: Sequence[str]) -> list[str]:
    """Names from a header row: without white space around them, none empty, none twice.

    >>> column_names([" text ", "", "label", "label"])
    ['text', 'column_2', 'label', 'label_2']
    """
    names: dict[str, None] = {}  # in their order, found at once
    next_number: dict[str, int] = {}
    for number, cell in enumerate(cells, 1):
        name = base = cell.strip() or f"column_{number}"
        again = next_number.get(base, 2)
        while name in names:
            name, again = f"{base}_{again}", again + 1
        next_number[base] = again
        names[name] = None
    return list(names)
