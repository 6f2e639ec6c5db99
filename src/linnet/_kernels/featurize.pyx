"""Documents to fingerprints: the first half of vectorising, and the same walk for one text with its tokens.

Inputs are Arrow UTF-8 buffers (bytes and 64-bit offsets) and a table of blocks, (n_blocks, 6) int64: kind, tokens,
case, low, high, seed. Outputs are flat arrays. Cost: one pass over the bytes plus one multiplication per n-gram.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from linnet._kernels.emit cimport *
from linnet._kernels.text cimport *


cdef Scratch scratch_of(uint64_t[::1] hashes, int32_t[:, ::1] tokens, uint32_t[::1] codes,
                        int32_t[:, ::1] chars) noexcept nogil:
    cdef Scratch s
    s.token_hash = &hashes[0]
    s.token_start = &tokens[0, 0]
    s.token_end = &tokens[1, 0]
    s.token_char = &tokens[2, 0]
    s.char_code = &codes[0]
    s.char_start = &chars[0, 0]
    s.char_end = &chars[1, 0]
    s.n_tokens = 0
    s.n_chars = 0
    return s


def unicode_version() -> str:
    """Return the Unicode version of the tables in this build."""
    return (<bytes>LN_UNICODE_VERSION).decode()


def classify(uint32_t[::1] codes, uint8_t[::1] out):
    """Write the class bits of each character: 1 word, 2 mark, 4 space, 8 alone, 16 dropped, 32 str.isspace."""
    cdef int64_t i
    for i in range(codes.shape[0]):
        out[i] = char_class(codes[i])


def scripts(const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] rows, int64_t longest,
            uint8_t[::1] out):
    """Say of the first bytes of some documents: 2 if half of their letters or more need no blanks, 1 if not, 0 if empty."""
    cdef int64_t r, i, end, words, alone
    cdef int length
    cdef uint8_t kind
    with nogil:
        for r in range(rows.shape[0]):
            i = offsets[rows[r]]
            end = offsets[rows[r] + 1]
            out[r] = end > i
            if end - i > longest:
                end = i + longest
            while i + 8 <= end and not ln_load(&data[i]) & TOP_BITS:
                i += 8
            if i + 8 > end:   # ASCII but for the last few bytes, at most
                while i < end and data[i] < 0x80:
                    i += 1
                if i == end:
                    continue
            words = alone = 0
            i = offsets[rows[r]]
            while i < end:
                kind = char_class(decode(&data[i], end - i, &length))
                words += kind & WORD != 0
                alone += kind & ALONE != 0
                i += length
            out[r] = 2 if 2 * alone > words else 1


cdef int64_t room_for(Scratch* s, const uint8_t* p, int64_t n, const int64_t* table, int64_t n_blocks,
                      bint keep) noexcept nogil:
    """How many fingerprints one document can have, over all blocks."""
    cdef int64_t b, total = 0
    for b in range(n_blocks):
        cut(s, p, n, <int>table[b * B_WIDTH + B_TOKENS], <int>table[b * B_WIDTH + B_CASE], keep)
        total += emit_bound(s, table + b * B_WIDTH)
    return total


def emit_chunk(const uint8_t[::1] data, const int64_t[::1] offsets, int64_t first, int64_t last,
               const int64_t[:, ::1] blocks, uint64_t[::1] hashes, int32_t[:, ::1] tokens, uint32_t[::1] codes,
               int32_t[:, ::1] chars, uint64_t[::1] fps, int32_t[::1] starts, int32_t[::1] lengths,
               int64_t[::1] ends) -> int:
    """Write the fingerprints of documents first..last-1 until fps is full.

    ends[(d - first) * n_blocks + b] is where the fingerprints of block b of document d end. Returns the number of
    documents done; if not even one fits, minus the room it needs.
    """
    cdef int64_t n_blocks = blocks.shape[0], d, b, used = 0, bound, room = fps.shape[0]
    cdef const int64_t* table = &blocks[0, 0]
    cdef const int64_t* block
    cdef bint keep = needs_chars(table, n_blocks)
    cdef Scratch s = scratch_of(hashes, tokens, codes, chars)
    cdef const uint8_t* base = &data[0] if data.shape[0] else NULL
    cdef int64_t most = ends.shape[0] // n_blocks
    with nogil:
        if last - first > most:
            last = first + most
        for d in range(first, last):
            for b in range(n_blocks):
                block = table + b * B_WIDTH
                if b == 0 or not same_tokens(block, block - B_WIDTH):
                    cut(&s, base + offsets[d], offsets[d + 1] - offsets[d], <int>block[B_TOKENS], <int>block[B_CASE],
                        keep)
                bound = emit_bound(&s, block)
                if used + bound > room:
                    if d > first:
                        with gil:
                            return d - first
                    bound = room_for(&s, base + offsets[d], offsets[d + 1] - offsets[d], table, n_blocks, keep)
                    with gil:
                        return -bound
                used += emit(&s, block, &fps[used], &starts[used], &lengths[used])
                ends[(d - first) * n_blocks + b] = used
    return last - first


def cut_one(const uint8_t[::1] data, int tokens_mode, int case_mode, uint64_t[::1] hashes, int32_t[:, ::1] tokens,
            uint32_t[::1] codes, int32_t[:, ::1] chars) -> int:
    """Cut one text; tokens[0] and tokens[1] hold the byte offsets, tokens[2] where the characters begin."""
    cdef Scratch s = scratch_of(hashes, tokens, codes, chars)
    with nogil:
        cut(&s, &data[0] if data.shape[0] else NULL, data.shape[0], tokens_mode, case_mode, True)
    return s.n_tokens


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


cdef inline void trim(Scratch* s, int32_t flags, uint64_t seed, uint64_t wanted, int64_t* first,
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


cdef inline int64_t put_token(Scratch* s, int64_t t, bint shape, uint8_t* out) noexcept nogil:
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


cdef int64_t write_tokens(Scratch* s, int64_t kind, int32_t flags, bint glued, uint8_t* out) noexcept nogil:
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


cdef int64_t write_chars(Scratch* s, int64_t kind, int32_t flags, int64_t first, int64_t last,
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
                const uint8_t[::1] which, const uint64_t[::1] fps, const int64_t[:, ::1] blocks, uint64_t[::1] hashes,
                int32_t[:, ::1] tokens, uint32_t[::1] codes, int32_t[:, ::1] chars, uint8_t[::1] out,
                int64_t[::1] out_offsets):
    """Write the readable name of each feature from the place in the text where it was first seen.

    begin are byte positions in data, lengths carry the edge flags of character n-grams, which is the feature's block.
    Words are joined by one blank, characters and bytes by nothing; the blanks of the padding of character n-grams
    are part of the name. fps, which may be empty, tells which of the letters that one character was folded to
    belong to an n-gram. The caller makes out large enough: a name has at most 8 bytes for each byte of its span,
    and 16.
    """
    cdef int64_t i, pos = 0, size, first, last, kind
    cdef const int64_t* block
    cdef const uint8_t* text
    cdef Scratch s = scratch_of(hashes, tokens, codes, chars)
    cdef int32_t flags
    cdef bint glued
    out_offsets[0] = 0
    with nogil:
        for i in range(begin.shape[0]):
            block = &blocks[which[i], 0]
            kind = block[B_KIND]
            flags = lengths[i] & ~LENGTH_MASK
            size = lengths[i] & LENGTH_MASK
            text = &data[begin[i]] if size else NULL
            if kind == KIND_CHARS or kind == KIND_AFFIXES or kind == KIND_ACROSS:
                if kind == KIND_ACROSS:
                    list_across(&s, text, size, <int>block[B_CASE])
                else:
                    list_chars(&s, text, size, <int>block[B_TOKENS], <int>block[B_CASE])
                first = 0
                last = s.n_chars
                if fps.shape[0]:
                    trim(&s, flags, <uint64_t>block[B_SEED], fps[i], &first, &last)
                pos += write_chars(&s, kind, flags, first, last, &out[pos])
            else:
                cut(&s, text, size, <int>block[B_TOKENS], <int>block[B_CASE], True)
                glued = block[B_TOKENS] == TOKENS_CHARACTERS or block[B_TOKENS] == TOKENS_BYTES
                pos += write_tokens(&s, kind, flags >> FLAG_SHIFT, glued, &out[pos])
            out_offsets[i + 1] = pos
