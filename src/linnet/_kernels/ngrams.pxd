"""Tokens to fingerprints of n-grams: words, pairs with a gap, words with their position, characters, affixes.

Every function writes fingerprints to out and, where Place is a number, their places: a first byte and a length in bytes
whose two highest bits are flags, from which names.pyx can write the name again. Cost: one multiplication per n-gram.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from linnet._kernels.hash cimport finish, join
from linnet._kernels.tokens cimport Tokens

cdef fused Place:   # how places are written: as numbers, or not at all, where start and length are NULL
    int32_t
    char

cdef enum:  # a character n-gram may begin or end at the edge of its word
    EDGE_LEFT = 1 << 30
    EDGE_RIGHT = 1 << 29
    LENGTH_MASK = (1 << 29) - 1

cdef enum:
    MOST = 12           # the longest n-gram, LONGEST of features/blocks.py
    FLAG_SHIFT = 29
    POSITION_WORD = 0x504F53


cdef inline int64_t chain(const Tokens* s, const uint64_t* tokens, const uint8_t* flags, int64_t low, int64_t high,
                          uint64_t seed, uint64_t* out, Place* start, Place* length) noexcept nogil:
    """Write n-grams of token hashes, low <= n <= high; the flag of an n-gram, where there are flags, is that of its first token."""
    cdef int64_t i, k, n = s.n_tokens, top, m = 0
    cdef int32_t flag = 0
    cdef uint64_t h
    for i in range(s.n_starts):
        h = seed
        top = high if i + high <= n else n - i
        if flags != NULL:
            flag = <int32_t>flags[i] << FLAG_SHIFT
        for k in range(top):
            h = join(h, tokens[i + k])
            if k + 1 >= low:
                out[m] = finish(h)
                if Place is int32_t:
                    start[m] = s.token_start[i]
                    length[m] = (s.token_end[i + k] - s.token_start[i]) | flag
                m += 1
    return m


cdef inline int64_t emit_words(const Tokens* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out, Place* start,
                               Place* length) noexcept nogil:
    """Word n-grams."""
    return chain(s, s.token_hash, NULL, low, high, seed, out, start, length)


cdef inline int64_t emit_position(const Tokens* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out,
                                  Place* start, Place* length) noexcept nogil:
    """Words with the part of the text in which they begin: 0 the first quarter, 1 the middle half, 2 the last quarter."""
    cdef int64_t i, k, n = s.n_tokens, top, m = 0, part
    cdef uint64_t h
    for i in range(n):
        part = 0 if 4 * i < n else 1 if 4 * i < 3 * n else 2
        h = join(seed, POSITION_WORD + part)
        top = high if i + high <= n else n - i
        for k in range(top):
            h = join(h, s.token_hash[i + k])
            if k + 1 >= low:
                out[m] = finish(h)
                if Place is int32_t:
                    start[m] = s.token_start[i]
                    length[m] = (s.token_end[i + k] - s.token_start[i]) | <int32_t>(part << FLAG_SHIFT)
                m += 1
    return m


cdef inline int64_t emit_skips(const Tokens* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out,
                               Place* start, Place* length) noexcept nogil:
    """Pairs with low to high tokens left out between them; how many is not part of the feature."""
    cdef int64_t i, j, last, m = 0
    cdef uint64_t h
    for i in range(s.n_starts):
        h = join(seed, s.token_hash[i])
        last = i + 2 + high if i + 2 + high < s.n_tokens else s.n_tokens
        for j in range(i + 1 + low, last):
            out[m] = finish(join(h, s.token_hash[j]))
            if Place is int32_t:
                start[m] = s.token_start[i]
                length[m] = s.token_end[j] - s.token_start[i]
            m += 1
    return m


cdef inline int64_t emit_word(const Tokens* s, int64_t a, int64_t n, int64_t low, int64_t high, uint64_t seed,
                              uint64_t* out, Place* start, Place* length) noexcept nogil:
    """Write the n-grams of one word: of its n characters from a on, and a blank on either side.

    The blanks are taken apart from the characters, and what is too short to count apart from what counts, so that the
    inner loops ask nothing.
    """
    cdef const uint32_t* code = s.char_code + a
    cdef const int32_t* ends = s.char_end + a
    cdef int64_t first = low if low < n + 2 else n + 2, i, k, last, quiet, m = 0
    cdef int32_t begin, edge = EDGE_LEFT
    cdef uint64_t h
    for i in range(n + 3 - first):     # 0 is the blank in front
        last = i + high - 1 if i + high < n + 2 else n     # characters below last are in the longest n-gram
        quiet = i + first - 2 if i + first - 2 < last else last     # those below quiet make it too short
        if i == 0:
            h = join(seed, 32)
            begin = s.char_start[a]
            k = 0
            if first == 1:
                out[m] = finish(h)
                if Place is int32_t:
                    start[m] = begin
                    length[m] = edge
                m += 1
        else:
            h = seed
            k = i - 1
            begin = s.char_start[a + k] if k < n else ends[n - 1]
        while k < quiet:
            h = join(h, code[k])
            k += 1
        while k < last:
            h = join(h, code[k])
            out[m] = finish(h)
            if Place is int32_t:
                start[m] = begin
                length[m] = (ends[k] - begin) | edge
            m += 1
            k += 1
        if i + high >= n + 2:     # the blank behind
            out[m] = finish(join(h, 32))
            if Place is int32_t:
                start[m] = begin
                length[m] = (ends[n - 1] - begin) | edge | EDGE_RIGHT
            m += 1
        edge = 0
    return m


cdef inline int64_t emit_chars(const Tokens* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out,
                               Place* start, Place* length) noexcept nogil:
    """Write the fingerprints of the character n-grams inside words, each word padded by one blank on either side.

    A padded word shorter than low counts once, whole.
    """
    cdef int64_t t, a, m = 0
    for t in range(s.n_starts):
        a = s.token_char[t]
        if Place is int32_t:
            m += emit_word(s, a, s.token_char[t + 1] - a, low, high, seed, out + m, start + m, length + m)
        else:
            m += emit_word(s, a, s.token_char[t + 1] - a, low, high, seed, out + m, start, length)
    return m


cdef inline int64_t emit_affixes(const Tokens* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out,
                                 Place* start, Place* length) noexcept nogil:
    """The first and the last low to high characters of each token that has more of them; a blank stands for the edge."""
    cdef int64_t t, j, k, a, b, top, m = 0
    cdef uint64_t h, tail
    for t in range(s.n_starts):
        a = s.token_char[t]
        b = s.token_char[t + 1]
        top = high if high < b - a else b - a - 1
        h = join(seed, 32)
        for k in range(1, top + 1):
            h = join(h, s.char_code[a + k - 1])
            if k >= low:
                out[m] = finish(h)
                if Place is int32_t:
                    start[m] = s.char_start[a]
                    length[m] = (s.char_end[a + k - 1] - s.char_start[a]) | EDGE_LEFT
                m += 1
        for k in range(low, top + 1):
            tail = seed
            for j in range(b - k, b):
                tail = join(tail, s.char_code[j])
            out[m] = finish(join(tail, 32))
            if Place is int32_t:
                start[m] = s.char_start[b - k]
                length[m] = (s.char_end[b - 1] - s.char_start[b - k]) | EDGE_RIGHT
            m += 1
    return m
