"""Where a changed text came from: edits, and the map from its characters back to the original.

An edit is ``(start, end, new)``: the characters start..end of a text become ``new``. Edits are sorted and do not
overlap. Applying them gives a new text and an `Offsets`, a few runs of integers; offsets compose, so that a text can go
through any number of stages and every word can still be shown where the user wrote it.

>>> text, edits = "see <b>this</b>!", [(4, 7, ""), (11, 15, "")]
>>> clean, offsets = apply(text, edits), Offsets.of(edits, len(text))
>>> clean, offsets.span(4, 8), text[slice(*offsets.span(4, 8))]
('see this!', (7, 11), 'this')
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Edit = tuple[int, int, str]


def apply(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with its edits made.

    >>> apply("a&amp;b", [(1, 6, "&")])
    'a&b'
    """
    parts, at = [], 0
    for start, end, new in edits:
        parts.append(text[at:start])
        parts.append(new)
        at = end
    parts.append(text[at:])
    return "".join(parts)


class TextRun(NamedTuple):
    """Characters ``start..end`` of the new text that came from ``source_start..source_end``.

    They were copied one by one if `copied`; otherwise they stand, all together, for the whole of the source.
    """

    start: int
    end: int
    source_start: int
    source_end: int
    copied: bool


@dataclass(init=False, unsafe_hash=True)
class Offsets:
    """A map from the characters of a text to those of the text it was made from.

    `runs` cover the new text from end to end, in order; what was removed lies between them. Equal maps have equal runs.

    >>> both = Offsets.of([(0, 1, "")], 6).after(Offsets.of([(1, 6, "&")], 10))   # first '&amp;' -> '&', then cut one
    >>> both.runs
    (TextRun(start=0, end=1, source_start=1, source_end=6, copied=False),
     TextRun(start=1, end=5, source_start=6, source_end=10, copied=True))
    """

    runs: tuple[TextRun, ...]

    def __init__(self, runs: Iterable[TextRun]) -> None:
        self.runs = tuple(_joined(runs))
        self._starts = [run.start for run in self.runs]

    @classmethod
    def of(cls, edits: Sequence[Edit], length: int) -> Offsets:
        """Return the map that edits make of a text of so many characters."""
        runs, at, source = [], 0, 0
        for start, end, new in edits:
            runs.append(TextRun(at, at + start - source, source, start, True))
            at += start - source
            runs.append(TextRun(at, at + len(new), start, end, False))
            at += len(new)
            source = end
        runs.append(TextRun(at, at + length - source, source, length, True))
        return cls(runs)

    @classmethod
    def same(cls, length: int) -> Offsets:
        """Return the map of a text that was not changed."""
        return cls([TextRun(0, length, 0, length, True)])

    def __len__(self) -> int:
        return self.runs[-1].end if self.runs else 0

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of the source that the characters ``start..end`` came from: the least slice with all of it.

        >>> Offsets.of([(3, 20, "URL")], 25).span(4, 7)   # of 'at URL today'
        (3, 21)
        """
        if not 0 <= start <= end <= len(self):
            raise IndexError(f"characters {start} to {end} are not in a text of {len(self)}")
        if not self.runs:
            return 0, 0
        begin = self._source(start, after=start == len(self))
        return begin, begin if start == end else self._source(end, after=True)

    def _source(self, at: int, *, after: bool) -> int:
        """Return the place in the source before a character, or after the one before it."""
        run = self.runs[bisect_right(self._starts, at - after) - 1]
        return run.source_start + at - run.start if run.copied else run.source_end if after else run.source_start

    def after(self, first: Offsets) -> Offsets:
        """Return the map of two changes, `first` and then this one, straight to the first source."""
        runs: list[TextRun] = []
        for run in self.runs:
            if run.copied:
                runs += first._part(run.source_start, run.source_end, run.start)
            else:
                runs.append(TextRun(run.start, run.end, *first.span(run.source_start, run.source_end), False))
        return Offsets(runs)

    def _part(self, start: int, end: int, to: int) -> list[TextRun]:
        """Return the runs of ``start..end``, moved so that they begin at `to`."""
        found, shift = [], to - start
        k = bisect_right(self._starts, start) - 1
        while start < end:
            run = self.runs[k]
            stop = min(end, run.end)
            source = self.span(start, stop)
            found.append(TextRun(start + shift, stop + shift, *source, run.copied))
            start, k = stop, k + 1
        return found


def _joined(runs: Iterable[TextRun]) -> list[TextRun]:
    """Drop empty runs and join copied runs that continue each other."""
    out: list[TextRun] = []
    for run in runs:
        if run.start == run.end:
            continue
        last = out[-1] if out else None
        if last and last.copied and run.copied and last.source_end == run.source_start:
            out[-1] = TextRun(last.start, run.end, last.source_start, run.source_end, True)
        else:
            out.append(run)
    return out
