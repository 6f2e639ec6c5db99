"""Character n-grams across words: the text as it stands, folded, runs of blanks as one blank, none at the ends."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from linnet._kernels.characters cimport *
from linnet._kernels.hash cimport *
from linnet._kernels.hints cimport ln_likely
from linnet._kernels.ngrams cimport MOST, Place
from linnet._kernels.tokens cimport *
from linnet._kernels.utf8 cimport decode

cdef struct Window:          # the last characters, and the hash of the last k of them for every k
    uint64_t h[MOST + 1]     # h[k]: of the last k characters
    int32_t begin[MOST + 1]  # begin[k]: where the last k characters begin
    int64_t size
    int64_t m


cdef inline void push(Window* w, uint32_t c, int64_t first, int64_t end, int64_t low, int64_t high, uint64_t seed,
                      uint64_t* out, Place* start, Place* length) noexcept nogil:
    """Add one character and write the n-grams that end with it."""
    cdef int64_t k
    if w.size < high:
        w.size += 1
    w.h[0] = seed
    w.begin[0] = <int32_t>first
    for k in range(w.size, 0, -1):
        w.h[k] = join(w.h[k - 1], c)
        w.begin[k] = w.begin[k - 1]
    for k in range(low, w.size + 1):
        out[w.m] = finish(w.h[k])
        if Place is int32_t:
            start[w.m] = w.begin[k]
            length[w.m] = <int32_t>end - w.begin[k]
        w.m += 1


cdef inline int64_t emit_across(const Tokens* s, int case_mode, int64_t low, int64_t high, uint64_t seed,
                                uint64_t* out, Place* start, Place* length) noexcept nogil:
    cdef int64_t i = 0, blank = -1, blank_end = 0
    cdef int size, n, k
    cdef uint32_t c
    cdef uint32_t folded[3]
    cdef uint8_t kind
    cdef Window w
    w.size = 0
    w.m = 0
    while i < s.n_text:
        c = s.text[i]
        size = 1
        if ln_likely(c < 0x80):
            kind = ln_class_block[c]
        else:
            c = decode(s.text + i, s.n_text - i, &size)
            kind = char_class(c)
        if kind & (SPACE | PYSPACE):
            if blank < 0 and w.size:
                blank = i
                blank_end = i + size
        elif not kind & IGNORE:
            if blank >= 0:   # now it is known that the text goes on
                push(&w, 32, blank, blank_end, low, high, seed, out, start, length)
                blank = -1
            if ln_likely(c < 0x80):
                c = c | 0x20 if case_mode != CASE_KEEP and 0x41 <= c <= 0x5A else c
                push(&w, c, i, i + 1, low, high, seed, out, start, length)
            else:
                n = fold_char(plain_apostrophe(c), case_mode, folded)
                for k in range(n):
                    push(&w, folded[k], i, i + size, low, high, seed, out, start, length)
        i += size
    return w.m


cdef inline void list_across(Tokens* s, const uint8_t* p, int64_t n, int case_mode) noexcept nogil:
    """List the folded characters of a span of emit_across."""
    cdef int64_t i = 0
    cdef int size
    cdef uint32_t c
    cdef uint8_t kind
    cdef TokenHash r
    hash_start(&r)
    s.n_chars = 0
    while i < n:
        c = decode(p + i, n - i, &size)
        kind = char_class(c)
        if kind & (SPACE | PYSPACE):
            if s.n_chars == 0 or s.char_code[s.n_chars - 1] != 32:
                keep_char(s, 32, i, i + size)
        elif not kind & IGNORE:
            add_char(s, &r, plain_apostrophe(c), i, i + size, case_mode, True)
        i += size


# ---- the choice
