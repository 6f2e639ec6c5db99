"""Negation: which tokens negate, how far that reaches, and the n-grams that are marked by it.

The words are known by their hashes, in a table that tools/negation_table.py writes from linnet/text/tokens.py.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from linnet._kernels.hash cimport finish, join
from linnet._kernels.ngrams cimport Place, chain
from linnet._kernels.tokens cimport Tokens
from linnet._kernels.utf8 cimport decode

cdef extern from "negation_table.h" nogil:
    const uint64_t ln_negations[]
    const int NEGATION_BITS "LN_NEGATION_BITS"

cdef enum:
    NEGATION_WORD = 0x4E4F54


cdef inline bint is_stop(uint32_t c) noexcept nogil:
    """Signs that end the reach of a negation: STOPS of text/tokens.py."""
    if c < 0x80:
        return (c == 0x2E or c == 0x2C or c == 0x21 or c == 0x3F or c == 0x3A or c == 0x3B or c == 0x28 or c == 0x29
                or c == 0x5B or c == 0x5D or c == 0x7B or c == 0x7D)
    return c == 0x2013 or c == 0x2014 or c == 0x2026


cdef inline bint begins_with_stop(const Tokens* s, int64_t t) noexcept nogil:
    cdef int length
    cdef uint32_t c = s.text[s.token_start[t]]
    if c >= 0x80:
        c = decode(s.text + s.token_start[t], s.token_end[t] - s.token_start[t], &length)
    return is_stop(c)


cdef inline bint ends_with_stop(const Tokens* s, int64_t t) noexcept nogil:
    """Say whether a token ends in a sign: one of ASCII, as in "good," where tokens are cut at spaces."""
    cdef uint8_t c = s.text[s.token_end[t] - 1]
    return c < 0x80 and is_stop(c)


cdef inline bint is_negation(uint64_t h) noexcept nogil:
    cdef uint64_t slot = h >> (64 - NEGATION_BITS), mask = (<uint64_t>1 << NEGATION_BITS) - 1
    while ln_negations[slot] != 0:
        if ln_negations[slot] == h:
            return True
        slot = (slot + 1) & mask
    return False


cdef inline bint reach(const Tokens* s, int64_t t, bint inside, bint* marked) noexcept nogil:
    """Walk over one token: whether it is marked as negated, and whether what follows it is."""
    if begins_with_stop(s, t):
        marked[0] = False
        return False
    marked[0] = inside
    return (inside or is_negation(s.token_hash[t])) and not ends_with_stop(s, t)


cdef inline int64_t emit_negated(const Tokens* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out,
                                 Place* start, Place* length) noexcept nogil:
    """Words, each marked where a negation reaches it. The flag says whether the first token stands in its reach."""
    cdef int64_t t, n = s.n_tokens
    cdef uint64_t* tokens = out + n * (high - low + 1)
    cdef uint8_t* flags = <uint8_t*>(tokens + n)
    cdef bint inside = False, marked = False
    for t in range(n):
        flags[t] = inside
        inside = reach(s, t, inside, &marked)
        tokens[t] = join(NEGATION_WORD, s.token_hash[t]) if marked else s.token_hash[t]
    return chain(s, tokens, flags, low, high, seed, out, start, length)


cdef inline int64_t emit_not(const Tokens* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out, Place* start,
                             Place* length) noexcept nogil:
    """The low to high tokens after each negation, as far as the next stop; all negations are one."""
    cdef int64_t i, j, m = 0
    cdef uint64_t h
    for i in range(s.n_starts):
        if not is_negation(s.token_hash[i]):
            continue
        h = seed
        for j in range(i + 1, i + 1 + high if i + 1 + high < s.n_tokens else s.n_tokens):
            if begins_with_stop(s, j):
                break
            h = join(h, s.token_hash[j])
            if j - i >= low:
                out[m] = finish(h)
                if Place is int32_t:
                    start[m] = s.token_start[i]
                    length[m] = s.token_end[j] - s.token_start[i]
                m += 1
            if ends_with_stop(s, j):
                break
    return m
