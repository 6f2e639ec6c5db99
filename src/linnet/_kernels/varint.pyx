"""Whole numbers as few bytes: what the cache of a training run on a stream is written in.

A number takes one byte for every seven of its bits, the lowest first; the top bit of a byte says that another follows
(LEB128, as in Protocol Buffers). Columns are numbered in the order of first sight, so frequent features have small
numbers: one to three bytes an entry where a fixed width would take four. Cost: about ten operations a number, without a branch
on its length, which a processor could not guess.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from linnet._kernels.ascii cimport ln_load, ln_low_bit

cdef uint64_t FIVE_ENDS = 0x8080808080  # the top bits of five bytes; the one that is not set ends a number


def pack_numbers(const int32_t[::1] values, uint8_t[::1] out) -> int:
    """Write numbers that are not negative; out has room for five bytes each. Returns the bytes written."""
    cdef int64_t i, at = 0
    cdef uint32_t v
    with nogil:
        for i in range(values.shape[0]):
            v = <uint32_t>values[i]
            while v >= 128:
                out[at] = <uint8_t>(v | 128)
                v >>= 7
                at += 1
            out[at] = <uint8_t>v
            at += 1
    return at


def unpack_numbers(const uint8_t[::1] data, int32_t[::1] out) -> int:
    """Read as many numbers as out has room for; returns the bytes read, or -1 where data ends before."""
    cdef int64_t i, at = 0, n = data.shape[0]
    cdef uint64_t x, last
    cdef uint32_t v
    cdef int shift
    with nogil:
        for i in range(out.shape[0]):
            if at + 8 <= n:
                x = ln_load(&data[at])
                last = ~x & FIVE_ENDS
                if not last:
                    at = -1
                    break
                x &= last ^ (last - 1)
                out[i] = <int32_t>(x & 0x7F | x >> 1 & 0x3F80 | x >> 2 & 0x1FC000 | x >> 3 & 0xFE00000 | x >> 4 & 0x70000000)
                at += (ln_low_bit(last) >> 3) + 1
                continue
            v = 0
            shift = 0
            while at < n and data[at] >= 128 and shift < 28:
                v |= <uint32_t>(data[at] & 127) << shift
                shift += 7
                at += 1
            if at >= n:
                at = -1
                break
            v |= <uint32_t>data[at] << shift
            at += 1
            out[i] = <int32_t>v
    return at
