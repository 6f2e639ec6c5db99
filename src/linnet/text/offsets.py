"""Where a changed text came from: edits, and the map from its characters back to the original.

An edit is ``(start, end, new)``: the characters start..end of a text become ``new``. Edits are sorted and do not
overlap. Applying them gives a new text and an `Offsets`, the place in the source of every character; offsets compose, so
that a text can go through any number of stages and every word can still be shown where the user wrote it.

>>> text, edits = "see <b>this</b>!", [(4, 7, ""), (11, 15, "")]
>>> clean, offsets = apply(text, edits), Offsets.of(edits, len(text))
>>> clean, offsets.span(4, 8), text[slice(*offsets.span(4, 8))]
('see this!', (7, 11), 'this')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linnet.array_types import Ints

Edit = tuple[int, int, str]


def apply(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with its edits made.

    >>> apply("a&amp;b", [(1, 6, "&")])
    'a&b'
    """
    parts, at = [], 0
    for start, end, new in edits:
        parts += [text[at:start], new]
        at = end
    parts.append(text[at:])
    return "".join(parts)


@dataclass(frozen=True, eq=False)
class Offsets:
    """A map from the characters of a text to those of the text it was made from.

    Character k came from the characters ``starts[k]..ends[k]`` of the source: from one where it was copied, from all that were
    replaced where it is part of an edit. What was removed lies between them.

    >>> both = Offsets.of([(0, 1, "")], 6).after(Offsets.of([(1, 6, "&")], 10))   # first '&amp;' -> '&', then cut one
    >>> both.starts.tolist(), both.ends.tolist()
    ([1, 6, 7, 8, 9], [6, 7, 8, 9, 10])
    """

    starts: Ints
    ends: Ints

    @classmethod
    def of(cls, edits: Sequence[Edit], length: int) -> Offsets:
        """Return the map that edits make of a text of so many characters."""
        starts, ends, at = [], [], 0
        for start, end, new in [*edits, (length, length, "")]:
            copied = np.arange(at, start)
            starts += [copied, np.full(len(new), start)]
            ends += [copied + 1, np.full(len(new), end)]
            at = end
        return cls(np.concatenate(starts), np.concatenate(ends))

    def __len__(self) -> int:
        return len(self.starts)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of the source that the characters ``start..end`` came from: the least slice with all of it.

        >>> Offsets.of([(3, 20, "URL")], 25).span(4, 7)   # of 'at URL today'
        (3, 21)
        """
        if not 0 <= start <= end <= len(self):
            raise IndexError(f"characters {start} to {end} are not in a text of {len(self)}")
        begin = int(self._begins()[start])
        return begin, begin if start == end else int(self.ends[end - 1])

    def _begins(self) -> Ints:
        """Return where each character begins in the source, and the end of the last one."""
        return np.append(self.starts, self.ends[-1] if len(self) else 0)

    def after(self, first: Offsets) -> Offsets:
        """Return the map of two changes, `first` and then this one, straight to the first source."""
        starts, ends = first._begins()[self.starts], np.append(0, first.ends)[self.ends]
        return Offsets(starts, np.where(self.starts < self.ends, ends, starts))
