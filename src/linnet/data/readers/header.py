"""The first rows of a CSV or TSV file: which delimiter, and is there a header row?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from linnet.data.columns import LABEL_NAMES, TEXT_NAMES, normalise

__all__ = ["column_names", "has_header", "is_name_row"]

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
