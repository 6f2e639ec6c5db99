"""Word shapes: X for a capital, x for another letter, d for a digit, at most four in a row."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from linnet._kernels.characters cimport *
from linnet._kernels.hash cimport *
from linnet._kernels.ngrams cimport Place, chain
from linnet._kernels.tokens cimport TOKENS_PENN, TOKENS_WORDS, Tokens
from linnet._kernels.utf8 cimport decode

cdef enum:
    SHAPE_RUN = 4       # a longer run of the same is cut to this


cdef inline int64_t emit_shapes(const Tokens* s, int tokens_mode, int64_t low, int64_t high, uint64_t seed, uint64_t* out,
                                Place* start, Place* length) noexcept nogil:
    """Shapes are read from the text itself: characters need not be listed for them."""
    cdef int64_t t, k, n = s.n_tokens, run
    cdef uint64_t* tokens = out + n * (high - low + 1)
    cdef uint32_t c, last
    cdef int size
    cdef TokenHash r
    for t in range(n):
        hash_start(&r)
        last = 0
        run = 0
        k = s.token_start[t]
        while k < s.token_end[t]:
            c = s.text[k]
            size = 1
            if c >= 0x80:
                c = decode(s.text + k, s.token_end[t] - k, &size)
            k += size
            if (tokens_mode == TOKENS_WORDS or tokens_mode == TOKENS_PENN) and c >= 0x80:
                if char_class(c) & IGNORE:
                    continue
                c = plain_apostrophe(c)
            c = shape_of(c)
            run = run + 1 if c == last and run else 1
            last = c
            if run <= SHAPE_RUN:
                hash_char(&r, c)
        tokens[t] = hash_end(&r)
    return chain(s, tokens, NULL, low, high, seed, out, start, length)


# ---- characters across words: the text as it stands, folded, runs of blanks one blank, none at the ends
