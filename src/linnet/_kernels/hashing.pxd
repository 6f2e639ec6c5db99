"""The columns of scikit-learn's HashingVectorizer: words or characters inside words, MurmurHash3 of 32 bits (seed 0) of their UTF-8.

A term with the hash h is in column |h| mod n_features. With signs it counts 1 where h >= 0 and -1 where not, and terms of one column cancel
each other: only what is left of a column is written, with the sign that is left. The seed of the block is n_features + (signed << 32) +
(characters << 33) + (bits << 40): the highest bits of a fingerprint are the column, or twice the column and 1 for a negative one.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset
from linnet._kernels.ngrams cimport EDGE_LEFT, EDGE_RIGHT, Place
from linnet._kernels.tokens cimport Tokens
from linnet._kernels.utf8 cimport put_utf8

cdef extern from *:
    const uint32_t NO_COUNT "UINT32_C(0x80000000)"   # what a count of 0 is in the table of columns


cdef struct Murmur:
    uint32_t h
    uint32_t tail      # bytes not yet absorbed, first byte lowest
    uint32_t n_bytes


cdef inline uint32_t scrambled(uint32_t k) noexcept nogil:
    k *= <uint32_t>0xCC9E2D51U
    return ((k << 15) | (k >> 17)) * <uint32_t>0x1B873593U


cdef inline void murmur_add(Murmur* r, uint32_t c) noexcept nogil:
    """Add one character as UTF-8."""
    cdef uint8_t[4] utf8
    cdef int64_t k
    for k in range(put_utf8(utf8, c)):
        r.tail |= <uint32_t>utf8[k] << (8 * (r.n_bytes & 3))
        r.n_bytes += 1
        if not r.n_bytes & 3:
            r.h ^= scrambled(r.tail)
            r.h = ((r.h << 13) | (r.h >> 19)) * 5 + <uint32_t>0xE6546B64U
            r.tail = 0


cdef inline uint32_t murmur_end(const Murmur* r) noexcept nogil:
    cdef uint32_t h = r.h ^ scrambled(r.tail) ^ r.n_bytes
    h = (h ^ (h >> 16)) * <uint32_t>0x85EBCA6BU
    h = (h ^ (h >> 13)) * <uint32_t>0xC2B2AE35U
    return h ^ (h >> 16)


cdef inline uint64_t column_fingerprint(uint32_t h, uint64_t seed) noexcept nogil:
    cdef uint64_t negative = h >> 31, size = <uint32_t>seed
    cdef uint64_t column = (-h if negative else h) % size
    if h == NO_COUNT:
        column = (<uint64_t>0x7FFFFFFF - (size - 1)) % size   # scikit-learn's way round the number without a positive
    if seed >> 32 & 1:
        column = 2 * column + negative
    return column << (64 - (seed >> 40)) | 1


cdef inline int64_t hashing_bound(const Tokens* s, int64_t lengths, uint64_t seed) noexcept nogil:
    cdef int64_t m = (s.n_chars + 2 * s.n_tokens if seed >> 33 & 1 else s.n_tokens) * lengths
    return 5 * m + 16 if seed >> 32 & 1 else m


cdef inline int64_t uncancelled(uint64_t* out, Place* start, Place* length, int64_t m, uint64_t seed) noexcept nogil:
    """Keep what is left of each column, in place; the table of columns and their counts lies behind."""
    cdef uint64_t* table = out + m
    cdef uint64_t mask = 15, column, at, negative
    cdef int64_t i, k = 0
    cdef int step
    while mask < 2 * <uint64_t>m:
        mask = 2 * mask + 1
    memset(table, 0, <size_t>(mask + 1) * sizeof(uint64_t))
    for step in range(2):
        for i in range(m):
            column = out[i] >> (64 - (seed >> 40))
            negative = column & 1
            column = (column >> 1) + 1
            at = column * <uint64_t>0x9E3779B97F4A7C15 >> 32 & mask
            while table[at] and table[at] >> 32 != column:
                at = (at + 1) & mask
            if not table[at]:
                table[at] = column << 32 | NO_COUNT
            if step == 0:
                table[at] += -1 if negative else 1
            elif <uint32_t>table[at] != NO_COUNT and (<uint32_t>table[at] < NO_COUNT) == negative:
                table[at] += 1 if negative else -1
                out[k] = out[i]
                if Place is int32_t:
                    start[k] = start[i]
                    length[k] = length[i]
                k += 1
    return k


cdef inline int64_t emit_hashing(const Tokens* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out, Place* start,
                                 Place* length) noexcept nogil:
    cdef int64_t t, i, j, k, a, n, first, m = 0
    cdef Murmur r
    for t in range(s.n_starts):
        a = s.token_char[t]
        if not seed >> 33 & 1:
            memset(&r, 0, sizeof(Murmur))
            for k in range(t, t + high if t + high < s.n_tokens else s.n_tokens):
                if k > t:
                    murmur_add(&r, 32)
                for j in range(s.token_char[k], s.token_char[k + 1]):
                    murmur_add(&r, s.char_code[j])
                if k - t + 1 >= low:
                    out[m] = column_fingerprint(murmur_end(&r), seed)
                    if Place is int32_t:
                        start[m] = s.token_start[t]
                        length[m] = s.token_end[k] - s.token_start[t]
                    m += 1
            continue
        n = s.token_char[t + 1] - a + 2     # places 0 and n - 1 are blanks
        first = low if low < n else n
        for i in range(n - first + 1):
            memset(&r, 0, sizeof(Murmur))
            for j in range(i, i + high if i + high < n else n):
                murmur_add(&r, s.char_code[a + j - 1] if 0 < j < n - 1 else 32)
                if j - i + 1 < first:
                    continue
                out[m] = column_fingerprint(murmur_end(&r), seed)
                if Place is int32_t:
                    k = s.token_end[t]
                    start[m] = s.char_start[a + i - 1] if 0 < i < n - 1 else s.token_start[t] if i == 0 else <int32_t>k
                    length[m] = (s.char_end[a + j - 1] if 0 < j < n - 1 else <int32_t>k if j else start[m]) - start[m]
                    length[m] |= (EDGE_LEFT if i == 0 else 0) | (EDGE_RIGHT if j == n - 1 else 0)
                m += 1
    return uncancelled(out, start, length, m, seed) if seed >> 32 & 1 else m
