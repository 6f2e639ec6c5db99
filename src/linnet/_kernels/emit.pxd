"""Tokens to fingerprints, block by block: the n-grams beyond plain words and characters, and the choice among all.

Every block writes fingerprints and, where asked, their places: a first byte and a length in bytes whose two highest
bits are flags, from which featurize.write_names can spell the name again. Cost: one multiplication per n-gram. It
allocates nothing: hashes of changed tokens are put behind the fingerprints, in the room that emit_bound asks for.
The plain-Python twin is twins_blocks.py.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from linnet._kernels.text cimport *

cdef extern from "negation_table.h" nogil:
    const uint64_t ln_negations[]
    const int NEGATION_BITS "LN_NEGATION_BITS"

cdef enum:  # what a block makes of the tokens, beside KIND_WORDS and KIND_CHARS
    KIND_ACROSS = 2     # characters of the text, words or not
    KIND_SKIPS = 3      # pairs of tokens with some left out between them
    KIND_NEGATED = 4    # tokens, marked from a negation to the next stop
    KIND_NOT = 5        # a negation, whichever, and the tokens after it
    KIND_POSITION = 6   # tokens with their part of the text: first quarter, middle, last quarter
    KIND_AFFIXES = 7    # how tokens begin and end
    KIND_SHAPES = 8     # capitals, small letters, digits

cdef enum:
    MOST = 12           # the longest n-gram, LONGEST of features/blocks.py
    FLAG_SHIFT = 29
    SHAPE_RUN = 4       # a longer run of the same is cut to this
    NEGATION_WORD = 0x4E4F54
    POSITION_WORD = 0x504F53


cdef inline bint is_stop(uint32_t c) noexcept nogil:
    """Signs that end the reach of a negation: STOPS of negation.py."""
    if c < 0x80:
        return (c == 0x2E or c == 0x2C or c == 0x21 or c == 0x3F or c == 0x3A or c == 0x3B or c == 0x28 or c == 0x29
                or c == 0x5B or c == 0x5D or c == 0x7B or c == 0x7D)
    return c == 0x2013 or c == 0x2014 or c == 0x2026


cdef inline bint begins_with_stop(const Scratch* s, int64_t t) noexcept nogil:
    cdef int length
    cdef uint32_t c = s.text[s.token_start[t]]
    if c >= 0x80:
        c = decode(s.text + s.token_start[t], s.token_end[t] - s.token_start[t], &length)
    return is_stop(c)


cdef inline bint ends_with_stop(const Scratch* s, int64_t t) noexcept nogil:
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


cdef inline bint reach(const Scratch* s, int64_t t, bint inside, bint* marked) noexcept nogil:
    """Walk over one token: whether it is marked as negated, and whether what follows it is."""
    if begins_with_stop(s, t):
        marked[0] = False
        return False
    marked[0] = inside
    return (inside or is_negation(s.token_hash[t])) and not ends_with_stop(s, t)


cdef inline int64_t chain(const Scratch* s, const uint64_t* tokens, const uint8_t* flags, int64_t low, int64_t high,
                          uint64_t seed, uint64_t* out, int32_t* start, int32_t* length) noexcept nogil:
    """Write n-grams of changed tokens; the flag of an n-gram is that of its first token."""
    cdef int64_t i, k, n = s.n_tokens, top, m = 0
    cdef uint64_t h
    for i in range(n):
        h = seed
        top = high if i + high <= n else n - i
        for k in range(top):
            h = join(h, tokens[i + k])
            if k + 1 >= low:
                out[m] = finish(h)
                if start != NULL:
                    start[m] = s.token_start[i]
                    length[m] = (s.token_end[i + k] - s.token_start[i]) | (<int32_t>flags[i] << FLAG_SHIFT)
                m += 1
    return m


cdef inline int64_t emit_negated(const Scratch* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out,
                                 int32_t* start, int32_t* length) noexcept nogil:
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


cdef inline int64_t emit_not(const Scratch* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out, int32_t* start,
                             int32_t* length) noexcept nogil:
    """The low to high tokens after each negation, as far as the next stop; all negations are one."""
    cdef int64_t i, j, m = 0
    cdef uint64_t h
    for i in range(s.n_tokens):
        if not is_negation(s.token_hash[i]):
            continue
        h = seed
        for j in range(i + 1, i + 1 + high if i + 1 + high < s.n_tokens else s.n_tokens):
            if begins_with_stop(s, j):
                break
            h = join(h, s.token_hash[j])
            if j - i >= low:
                out[m] = finish(h)
                if start != NULL:
                    start[m] = s.token_start[i]
                    length[m] = s.token_end[j] - s.token_start[i]
                m += 1
            if ends_with_stop(s, j):
                break
    return m


cdef inline int64_t emit_position(const Scratch* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out,
                                  int32_t* start, int32_t* length) noexcept nogil:
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
                if start != NULL:
                    start[m] = s.token_start[i]
                    length[m] = (s.token_end[i + k] - s.token_start[i]) | <int32_t>(part << FLAG_SHIFT)
                m += 1
    return m


cdef inline int64_t emit_skips(const Scratch* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out,
                               int32_t* start, int32_t* length) noexcept nogil:
    """Pairs with low to high tokens left out between them; how many is not part of the feature."""
    cdef int64_t i, j, last, m = 0
    cdef uint64_t h
    for i in range(s.n_tokens):
        h = join(seed, s.token_hash[i])
        last = i + 2 + high if i + 2 + high < s.n_tokens else s.n_tokens
        for j in range(i + 1 + low, last):
            out[m] = finish(join(h, s.token_hash[j]))
            if start != NULL:
                start[m] = s.token_start[i]
                length[m] = s.token_end[j] - s.token_start[i]
            m += 1
    return m


cdef inline int64_t emit_affixes(const Scratch* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out,
                                 int32_t* start, int32_t* length) noexcept nogil:
    """The first and the last low to high characters of each token that has more of them; a blank stands for the edge."""
    cdef int64_t t, j, k, a, b, top, m = 0
    cdef uint64_t h, tail
    for t in range(s.n_tokens):
        a = s.token_char[t]
        b = s.token_char[t + 1]
        top = high if high < b - a else b - a - 1
        h = join(seed, 32)
        for k in range(1, top + 1):
            h = join(h, s.char_code[a + k - 1])
            if k >= low:
                out[m] = finish(h)
                if start != NULL:
                    start[m] = s.char_start[a]
                    length[m] = (s.char_end[a + k - 1] - s.char_start[a]) | EDGE_LEFT
                m += 1
        for k in range(low, top + 1):
            tail = seed
            for j in range(b - k, b):
                tail = join(tail, s.char_code[j])
            out[m] = finish(join(tail, 32))
            if start != NULL:
                start[m] = s.char_start[b - k]
                length[m] = (s.char_end[b - 1] - s.char_start[b - k]) | EDGE_RIGHT
            m += 1
    return m


cdef inline uint32_t shape_of(uint32_t c) noexcept nogil:
    """X for capitals, x for other letters, d for 0-9, other signs as they are."""
    if 0x61 <= c <= 0x7A:
        return 0x78
    if ln_lower_block[(<int64_t>ln_lower_index[c >> 7] << 7) + (c & 127)] != 0:
        return 0x58
    if 0x30 <= c <= 0x39:
        return 0x64
    return 0x78 if char_class(c) & (WORD | MARK) else c


cdef inline int64_t emit_shapes(const Scratch* s, int tokens_mode, int64_t low, int64_t high, uint64_t seed, uint64_t* out,
                                int32_t* start, int32_t* length) noexcept nogil:
    """Shapes are read from the text itself: characters need not be listed for them."""
    cdef int64_t t, k, n = s.n_tokens, run
    cdef uint64_t* tokens = out + n * (high - low + 1)
    cdef uint8_t* flags = <uint8_t*>(tokens + n)
    cdef uint32_t c, last
    cdef int size
    cdef Roll r
    for t in range(n):
        start_token(&r)
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
                c = plain(c)
            c = shape_of(c)
            run = run + 1 if c == last and run else 1
            last = c
            if run <= SHAPE_RUN:
                roll_char(&r, c)
        tokens[t] = roll_end(&r)
        flags[t] = 0
    return chain(s, tokens, flags, low, high, seed, out, start, length)


# ---- characters across words: the text as it stands, folded, runs of blanks one blank, none at the ends

cdef struct Window:          # the last characters, and the hash of the last k of them for every k
    uint64_t h[MOST + 1]     # h[k]: of the last k characters
    int32_t begin[MOST + 1]  # begin[k]: where the last k characters begin
    int64_t size
    int64_t m


cdef inline void push(Window* w, uint32_t c, int64_t first, int64_t end, int64_t low, int64_t high, uint64_t seed,
                      uint64_t* out, int32_t* start, int32_t* length) noexcept nogil:
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
        if start != NULL:
            start[w.m] = w.begin[k]
            length[w.m] = <int32_t>end - w.begin[k]
        w.m += 1


cdef inline int fold_char(uint32_t c, int case_mode, uint32_t* out) noexcept nogil:
    """Write what a character is folded to; returns how many characters that is."""
    cdef int32_t other = 0
    cdef int k
    if case_mode == CASE_FOLD:
        other = ln_fold_block[(<int64_t>ln_fold_index[c >> 7] << 7) + (c & 127)]
    elif case_mode == CASE_LOWER:
        other = ln_lower_block[(<int64_t>ln_lower_index[c >> 7] << 7) + (c & 127)]
    if other >= 0:
        out[0] = <uint32_t>other if other else c
        return 1
    for k in range(3):
        out[k] = <uint32_t>ln_expand[3 * (-1 - other) + k]
        if out[k] == 0:
            return k
    return 3


cdef inline int64_t emit_across(const Scratch* s, int case_mode, int64_t low, int64_t high, uint64_t seed,
                                uint64_t* out, int32_t* start, int32_t* length) noexcept nogil:
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
                n = fold_char(plain(c), case_mode, folded)
                for k in range(n):
                    push(&w, folded[k], i, i + size, low, high, seed, out, start, length)
        i += size
    return w.m


cdef inline void list_across(Scratch* s, const uint8_t* p, int64_t n, int case_mode) noexcept nogil:
    """List the folded characters of a span of emit_across."""
    cdef int64_t i = 0
    cdef int size
    cdef uint32_t c
    cdef uint8_t kind
    cdef Roll r
    start_token(&r)
    s.n_chars = 0
    while i < n:
        c = decode(p + i, n - i, &size)
        kind = char_class(c)
        if kind & (SPACE | PYSPACE):
            if s.n_chars == 0 or s.char_code[s.n_chars - 1] != 32:
                keep_char(s, 32, i, i + size)
        elif not kind & IGNORE:
            add_char(s, &r, plain(c), i, i + size, case_mode, True)
        i += size


# ---- the choice

cdef inline int64_t emit_bound(const Scratch* s, const int64_t* block) noexcept nogil:
    """How many fingerprints a block can write for the text at hand, at most, with the room it works in."""
    cdef int64_t spread = block[B_HIGH] - block[B_LOW] + 1, kind = block[B_KIND]
    if kind == KIND_WORDS:
        return s.n_tokens * spread
    if kind == KIND_CHARS:
        return (s.n_chars + 2 * s.n_tokens) * spread
    if kind == KIND_ACROSS:   # a character of two bytes may become three
        return 2 * s.n_text * spread
    if kind == KIND_AFFIXES:
        return 2 * s.n_tokens * spread
    return s.n_tokens * (spread + 2)


cdef inline int64_t emit(const Scratch* s, const int64_t* block, uint64_t* out, int32_t* start,
                         int32_t* length) noexcept nogil:
    """Write the fingerprints of one block and their spans; return how many."""
    cdef int64_t kind = block[B_KIND], low = block[B_LOW], high = block[B_HIGH]
    cdef uint64_t seed = <uint64_t>block[B_SEED]
    if kind == KIND_WORDS:
        return emit_words(s, low, high, seed, out, start, length)
    if kind == KIND_CHARS:
        return emit_chars(s, low, high, seed, out, start, length)
    if kind == KIND_ACROSS:
        return emit_across(s, <int>block[B_CASE], low, high, seed, out, start, length)
    if kind == KIND_SKIPS:
        return emit_skips(s, low, high, seed, out, start, length)
    if kind == KIND_NEGATED:
        return emit_negated(s, low, high, seed, out, start, length)
    if kind == KIND_NOT:
        return emit_not(s, low, high, seed, out, start, length)
    if kind == KIND_POSITION:
        return emit_position(s, low, high, seed, out, start, length)
    if kind == KIND_AFFIXES:
        return emit_affixes(s, low, high, seed, out, start, length)
    return emit_shapes(s, <int>block[B_TOKENS], low, high, seed, out, start, length)


cdef inline bint same_tokens(const int64_t* a, const int64_t* b) noexcept nogil:
    return a[B_TOKENS] == b[B_TOKENS] and a[B_CASE] == b[B_CASE]


cdef inline bint needs_chars(const int64_t* blocks, int64_t n_blocks) noexcept nogil:
    cdef int64_t b, kind
    for b in range(n_blocks):
        kind = blocks[b * B_WIDTH + B_KIND]
        if kind == KIND_CHARS or kind == KIND_AFFIXES:
            return True
    return False
