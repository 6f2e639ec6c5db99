"""UTF-8: one character read, one character written. Broken bytes are read as U+FFFD, one byte each."""
from libc.stdint cimport int64_t, uint8_t, uint32_t


cdef inline uint32_t decode(const uint8_t* p, int64_t left, int* length) noexcept nogil:
    """Read one character of a non-ASCII sequence; anything malformed is U+FFFD, one byte long."""
    cdef uint32_t a = p[0], c
    length[0] = 1
    if a < 0x80:
        return a
    if a < 0xC2 or a > 0xF4:
        return 0xFFFD
    if a < 0xE0:
        if left < 2 or (p[1] & 0xC0) != 0x80:
            return 0xFFFD
        length[0] = 2
        return ((a & 0x1F) << 6) | (p[1] & 0x3F)
    if a < 0xF0:
        if left < 3 or (p[1] & 0xC0) != 0x80 or (p[2] & 0xC0) != 0x80:
            return 0xFFFD
        c = ((a & 0x0F) << 12) | (<uint32_t>(p[1] & 0x3F) << 6) | (p[2] & 0x3F)
        if c < 0x800 or 0xD800 <= c < 0xE000:
            return 0xFFFD
        length[0] = 3
        return c
    if left < 4 or (p[1] & 0xC0) != 0x80 or (p[2] & 0xC0) != 0x80 or (p[3] & 0xC0) != 0x80:
        return 0xFFFD
    c = ((a & 0x07) << 18) | (<uint32_t>(p[1] & 0x3F) << 12) | (<uint32_t>(p[2] & 0x3F) << 6) | (p[3] & 0x3F)
    if c < 0x10000 or c > 0x10FFFF:
        return 0xFFFD
    length[0] = 4
    return c


cdef inline int64_t put_utf8(uint8_t* out, uint32_t c) noexcept nogil:
    if c < 0x80:
        out[0] = <uint8_t>c
        return 1
    if c < 0x800:
        out[0] = <uint8_t>(0xC0 | (c >> 6))
        out[1] = <uint8_t>(0x80 | (c & 0x3F))
        return 2
    if c < 0x10000:
        out[0] = <uint8_t>(0xE0 | (c >> 12))
        out[1] = <uint8_t>(0x80 | ((c >> 6) & 0x3F))
        out[2] = <uint8_t>(0x80 | (c & 0x3F))
        return 3
    out[0] = <uint8_t>(0xF0 | (c >> 18))
    out[1] = <uint8_t>(0x80 | ((c >> 12) & 0x3F))
    out[2] = <uint8_t>(0x80 | ((c >> 6) & 0x3F))
    out[3] = <uint8_t>(0x80 | (c & 0x3F))
    return 4
