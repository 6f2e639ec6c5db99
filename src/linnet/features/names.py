"""The names of columns: UTF-8 bytes that become strings only when asked for, and their order.

>>> names = Names.of(["to", "be", "to be"])
>>> names[2], names.order().tolist()
('to be', [1, 0, 2])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

LONGEST = 80

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Names:
    """Name j is data[begin[j]:begin[j] + length[j]]; group j, where given, is the block that the column belongs to."""

    data: npt.NDArray[np.uint8]
    begin: Indices
    length: Indices
    group: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, names: Iterable[str]) -> Names:
        """Take names from Python strings."""
        encoded = [name.encode() for name in names]
        length = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return cls(data, np.cumsum(length) - length, length, np.zeros(len(length), np.uint8))

    def __len__(self) -> int:
        return len(self.begin)

    def __getitem__(self, column: int) -> str:
        at = int(self.begin[column])
        return self.data[at : at + int(self.length[column])].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        data = self.data.tobytes()
        ends = (self.begin + self.length).tolist()
        return (data[a:b].decode() for a, b in zip(self.begin.tolist(), ends, strict=True))

    def take(self, columns: npt.NDArray[np.integer]) -> Names:
        """Return the names of some columns, in the given order; the bytes are shared."""
        return Names(self.data, self.begin[columns], self.length[columns], self.group[columns])

    def order(self) -> Indices:
        """Return the order of the columns by group, then by name as Python compares strings.

        The order of code points is that of UTF-8 bytes. Bytes are compared eight at a time, as big-endian numbers;
        names that are equal so far go to the next round, with their common rank in front of fewer bytes.
        """
        if not self.data.all():  # a zero byte looks like the end of a name
            keys = list(zip(self.group.tolist(), self, strict=True))
            return np.array(sorted(range(len(self)), key=keys.__getitem__), dtype=np.int64)
        padded = np.concatenate([self.data, np.zeros(8, np.uint8)])
        words = np.ndarray(len(self.data) + 1, dtype=">u8", buffer=padded, strides=(1,))
        order = np.argsort(self.group, kind="stable")
        place, rank, depth = np.arange(len(self)), self.group[order].astype(np.uint64), 0
        while len(place):
            width = (64 - int(rank[-1]).bit_length()) // 8  # bytes that fit beside the rank
            mine = order[place]
            left = np.clip(self.length[mine] - depth, 0, width)  # bytes of the name that count in this round
            key = words[np.where(left > 0, self.begin[mine] + depth, 0)].astype(np.uint64)
            unused = (64 - 8 * left).astype(np.uint64)  # a shift by 64 gives 0
            key = key >> unused << unused >> np.uint64(64 - 8 * width)
            key |= rank << np.uint64(8 * width) if width < 8 else np.uint64(0)
            sorting = np.argsort(key, kind="stable")
            order[place], key = mine[sorting], key[sorting]
            depth += width
            same = np.zeros(len(key) + 1, dtype=bool)
            same[1:-1] = key[1:] == key[:-1]
            tied = same[1:] | same[:-1]
            if self.length[order[place[tied]]].max(initial=0) <= depth:
                break
            rank = np.cumsum(~same[:-1])[tied].astype(np.uint64)
            place = place[tied]
        return order


def shown(name: str) -> str:
    """Show the blanks at the edges of a character n-gram.

    >>> shown(" th"), shown("the end")
    ('▁th', 'the end')
    """
    if not (name.startswith(" ") or name.endswith(" ")):
        return name
    inner = name.strip(" ")
    left = len(name) - len(name.lstrip(" "))
    return "▁" * left + inner + "▁" * (len(name) - left - len(inner)) if inner else "▁" * len(name)


def bounded(name: str) -> str:
    """Cut a name that is longer than a table of names has room for.

    >>> len(bounded("a" * 1000)), bounded("short")
    (80, 'short')
    """
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
