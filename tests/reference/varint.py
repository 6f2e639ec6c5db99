"""The varint kernel in plain Python."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["pack", "unpack"]


def pack(values: Iterable[int]) -> bytes:
    """Write each number in bytes of seven bits, the lowest first.

    >>> pack([1, 300]).hex()
    '01ac02'
    """
    out = bytearray()
    for v in values:
        while v >= 128:
            out.append(v % 128 + 128)
            v //= 128
        out.append(v)
    return bytes(out)


def unpack(data: bytes, n: int) -> list[int]:
    """Read n numbers.

    >>> unpack(bytes.fromhex("01ac02"), 2)
    [1, 300]
    """
    out, at = [], 0
    for _ in range(n):
        v, scale = 0, 1
        while data[at] >= 128:
            v += (data[at] - 128) * scale
            scale *= 128
            at += 1
        out.append(v + data[at] * scale)
        at += 1
    return out
