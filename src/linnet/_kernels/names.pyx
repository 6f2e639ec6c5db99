"""The readable names of features, from the places in the text where they were first seen."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from linnet._kernels.across cimport list_across
from linnet._kernels.blocks cimport *
from linnet._kernels.characters cimport shape_of
from linnet._kernels.hash cimport finish, join
from linnet._kernels.negation cimport reach
from linnet._kernels.ngrams cimport EDGE_LEFT, EDGE_RIGHT, FLAG_SHIFT, LENGTH_MASK
from linnet._kernels.shapes cimport SHAPE_RUN
from linnet._kernels.tokenise cimport list_chars, tokenise
from linnet._kernels.tokens cimport *
from linnet._kernels.utf8 cimport put_utf8


cdef inline void trim(Tokens* s, int32_t flags, uint64_t seed, uint64_t wanted, int64_t* first,
                      int64_t* last) noexcept nogil:
    """Find which of the letters that one character was folded to ("ss" for one letter) belong to the n-gram."""
    cdef int64_t skip, drop, k
    cdef uint64_t h
    for skip in range(3):
        for drop in range(3):
            if skip + drop >= s.n_chars:
                break
            h = join(seed, 32) if flags & EDGE_LEFT else seed
            for k in range(skip, s.n_chars - drop):
                h = join(h, s.char_code[k])
            if flags & EDGE_RIGHT:
                h = join(h, 32)
            if finish(h) == wanted:
                first[0] = skip
                last[0] = s.n_chars - drop
                return


cdef inline int64_t put_token(Tokens* s, int64_t t, bint shape, uint8_t* out) noexcept nogil:
    """Write one token, or its shape."""
    cdef int64_t k, pos = 0, run = 0
    cdef uint32_t c, last = 0
    for k in range(s.token_char[t], s.token_char[t + 1]):
        c = s.char_code[k]
        if shape:
            c = shape_of(c)
            run = run + 1 if c == last and k > s.token_char[t] else 1
            last = c
            if run > SHAPE_RUN:
                continue
        pos += put_utf8(out + pos, c)
    return pos


cdef inline int64_t put_text(uint8_t* out, const char* text) noexcept nogil:
    cdef int64_t n = 0
    while text[n]:
        out[n] = <uint8_t>text[n]
        n += 1
    return n


cdef int64_t write_tokens(Tokens* s, int64_t kind, int32_t flags, bint glued, uint8_t* out) noexcept nogil:
    """Write the name of an n-gram of the tokens that were cut from its span."""
    cdef int64_t t, pos = 0
    cdef bint inside = flags != 0, marked = False
    for t in range(s.n_tokens):
        if kind == KIND_SKIPS:
            if 0 < t < s.n_tokens - 1:
                continue
            if t:
                pos += put_text(out + pos, " \xe2\x80\xa6")
        if t and not glued:
            out[pos] = 32
            pos += 1
        if kind == KIND_NOT and t == 0:
            pos += put_text(out + pos, "not")
            continue
        if kind == KIND_NEGATED:
            inside = reach(s, t, inside, &marked)
            if marked:
                pos += put_text(out + pos, "NOT_")
        pos += put_token(s, t, kind == KIND_SHAPES, out + pos)
    if kind == KIND_POSITION:
        pos += put_text(out + pos, "@first" if flags == 0 else "@middle" if flags == 1 else "@last")
    return pos


cdef int64_t write_chars(Tokens* s, int64_t kind, int32_t flags, int64_t first, int64_t last,
                         uint8_t* out) noexcept nogil:
    """Write the name of an n-gram of characters; affixes have a hyphen where their word goes on."""
    cdef int64_t k, pos = 0
    if flags & (EDGE_RIGHT if kind == KIND_AFFIXES else EDGE_LEFT):
        out[pos] = 0x2D if kind == KIND_AFFIXES else 32
        pos += 1
    for k in range(first, last):
        pos += put_utf8(out + pos, s.char_code[k])
    if flags & (EDGE_LEFT if kind == KIND_AFFIXES else EDGE_RIGHT):
        out[pos] = 0x2D if kind == KIND_AFFIXES else 32
        pos += 1
    return pos


def write_names(const uint8_t[::1] data, const int64_t[::1] begin, const int32_t[::1] lengths,
                const uint8_t[::1] which, const uint64_t[::1] fps, CompiledBlocks blocks, Scratch scratch, uint8_t[::1] out,
                int64_t[::1] out_offsets):
    """Write the readable name of each feature from the place in the text where it was first seen.

    begin are byte positions in data, lengths carry the edge flags of character n-grams, which is the feature's block.
    Words are joined by one blank, characters and bytes by nothing; the blanks of the padding of character n-grams
    are part of the name. fps, which may be empty, tells which of the letters that one character was folded to
    belong to an n-gram. The caller makes out large enough: a name has at most 8 bytes for each byte of its span,
    and 16.
    """
    cdef int64_t i, pos = 0, size, first, last, kind
    cdef const BlockSpec* block
    cdef const uint8_t* text
    cdef Tokens s = scratch.tokens   # a copy, which nobody else can change
    cdef int32_t flags
    cdef bint glued
    out_offsets[0] = 0
    with nogil:
        for i in range(begin.shape[0]):
            block = blocks.specs + which[i]
            kind = block.kind
            flags = lengths[i] & ~LENGTH_MASK
            size = lengths[i] & LENGTH_MASK
            text = &data[begin[i]] if size else NULL
            if kind == KIND_HASHING and block.seed >> 33 & 1:
                kind = KIND_CHARS
            if kind == KIND_CHARS or kind == KIND_AFFIXES or kind == KIND_ACROSS:
                if kind == KIND_ACROSS:
                    list_across(&s, text, size, block.case_mode)
                else:
                    list_chars(&s, text, size, block.tokens, block.case_mode)
                first = 0
                last = s.n_chars
                if fps.shape[0]:
                    trim(&s, flags, block.seed, fps[i], &first, &last)
                pos += write_chars(&s, kind, flags, first, last, &out[pos])
            elif kind == KIND_FASTTEXT:
                if flags & EDGE_LEFT or not size:
                    pos += put_text(&out[pos], "<" if size else "</s>")
                if size:
                    memcpy(&out[pos], text, <size_t>size)
                pos += size
                if flags & EDGE_RIGHT:
                    pos += put_text(&out[pos], ">")
            else:
                tokenise(&s, text, size, block.tokens, block.case_mode, True)
                glued = block.tokens == TOKENS_CHARACTERS or block.tokens == TOKENS_BYTES
                pos += write_tokens(&s, kind, flags >> FLAG_SHIFT, glued, &out[pos])
            out_offsets[i + 1] = pos
