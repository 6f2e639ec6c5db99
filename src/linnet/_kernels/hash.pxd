"""Hashes: of tokens, character by character, and of n-grams, token by token.

A token's hash is that of its folded UTF-8 bytes, eight at a time, and their number, so that plain ASCII words can be read
eight bytes at a time too. An n-gram's hash is its block's seed with the hashes of its tokens joined to it.
"""
from libc.stdint cimport uint32_t, uint64_t


cdef inline uint64_t mix(uint64_t h) noexcept nogil:
    """Finish a hash: every input bit reaches every output bit (splitmix64)."""
    h ^= h >> 30
    h *= <uint64_t>0xBF58476D1CE4E5B9
    h ^= h >> 27
    h *= <uint64_t>0x94D049BB133111EB
    return h ^ (h >> 31)


cdef struct TokenHash:
    uint64_t h
    uint64_t tail      # bytes not yet absorbed, first byte lowest
    uint32_t n_tail
    uint32_t n_bytes


cdef inline uint64_t absorb(uint64_t h, uint64_t chunk) noexcept nogil:
    """Add eight bytes to a running hash."""
    h = (h ^ chunk) * <uint64_t>0x9E3779B97F4A7C15
    return h ^ (h >> 32)


cdef inline void hash_start(TokenHash* r) noexcept nogil:
    r.h = 0
    r.tail = 0
    r.n_tail = 0
    r.n_bytes = 0


cdef inline void hash_byte(TokenHash* r, uint64_t c) noexcept nogil:
    r.tail |= c << (8 * r.n_tail)
    r.n_tail += 1
    r.n_bytes += 1
    if r.n_tail == 8:
        r.h = absorb(r.h, r.tail)
        r.tail = 0
        r.n_tail = 0


cdef inline void hash_char(TokenHash* r, uint32_t c) noexcept nogil:
    """Add one character as UTF-8."""
    if c < 0x80:
        hash_byte(r, c)
    elif c < 0x800:
        hash_byte(r, 0xC0 | (c >> 6))
        hash_byte(r, 0x80 | (c & 0x3F))
    elif c < 0x10000:
        hash_byte(r, 0xE0 | (c >> 12))
        hash_byte(r, 0x80 | ((c >> 6) & 0x3F))
        hash_byte(r, 0x80 | (c & 0x3F))
    else:
        hash_byte(r, 0xF0 | (c >> 18))
        hash_byte(r, 0x80 | ((c >> 12) & 0x3F))
        hash_byte(r, 0x80 | ((c >> 6) & 0x3F))
        hash_byte(r, 0x80 | (c & 0x3F))


cdef inline uint64_t hash_end(TokenHash* r) noexcept nogil:
    if r.n_tail:
        r.h = absorb(r.h, r.tail)
    return mix(r.h ^ r.n_bytes)


cdef inline uint64_t join(uint64_t h, uint64_t token) noexcept nogil:
    """Add one finished token hash to an n-gram."""
    h = (h ^ token) * <uint64_t>0xD6E8FEB86659FD93
    return h ^ (h >> 32)


cdef inline uint64_t finish(uint64_t h) noexcept nogil:
    """Zero marks an empty slot, so no fingerprint is zero."""
    return h if h else 1
