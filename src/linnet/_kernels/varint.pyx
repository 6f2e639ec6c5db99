"""Whole numbers as few bytes: what the cache of a training run on a stream is written in.

A number takes one byte for every seven of its bits, the lowest first; the top bit of a byte says that another follows
(LEB128, as in Protocol Buffers). Columns are numbered in the order of first sight, so frequent features have small
numbers: one to three bytes an entry where a fixed width would take four. Cost: a few operations a byte.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t


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
    cdef uint32_t v
    cdef int shift
    with nogil:
        for i in range(out.shape[0]):
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
