"""Documents to fingerprints: the first half of vectorising, and the same walk for one text with its tokens.

Inputs are Arrow UTF-8 buffers (bytes and 64-bit offsets) and a table of blocks, (n_blocks, 6) int64: kind, tokens,
case, low, high, seed. Outputs are flat arrays. Cost: one pass over the bytes plus one multiplication per n-gram.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
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


def write_names(const uint8_t[::1] data, const int64_t[::1] begin, const int32_t[::1] lengths,
                const uint8_t[::1] which, const uint64_t[::1] fps, const int64_t[:, ::1] blocks, uint64_t[::1] hashes,
                int32_t[:, ::1] tokens, uint32_t[::1] codes, int32_t[:, ::1] chars, uint8_t[::1] out,
                int64_t[::1] out_offsets):
    """Write the readable name of each feature from the place in the text where it was first seen.

    begin are byte positions in data, lengths carry the edge flags of character n-grams, which is the feature's block.
    Words are joined by one blank, characters and bytes by nothing; the blanks of the padding of character n-grams
    are part of the name. fps, which may be empty, tells which of the letters that one character was folded to
    belong to an n-gram. The caller makes out large enough: a name has at most 4 bytes for each byte of its span,
    and 2.
    """
    cdef int64_t i, t, k, pos = 0, size, first, last
    cdef const int64_t* block
    cdef Scratch s = scratch_of(hashes, tokens, codes, chars)
    cdef int32_t flags
    out_offsets[0] = 0
    with nogil:
        for i in range(begin.shape[0]):
            block = &blocks[which[i], 0]
            flags = lengths[i]
            if block[B_KIND] == KIND_CHARS:
                size = flags & LENGTH_MASK
                list_chars(&s, &data[begin[i]] if size else NULL, size, <int>block[B_TOKENS], <int>block[B_CASE])
                first = 0
                last = s.n_chars
                if fps.shape[0]:
                    trim(&s, flags, <uint64_t>block[B_SEED], fps[i], &first, &last)
                if flags & EDGE_LEFT:
                    out[pos] = 32
                    pos += 1
                for k in range(first, last):
                    pos += put_utf8(&out[pos], s.char_code[k])
                if flags & EDGE_RIGHT:
                    out[pos] = 32
                    pos += 1
            else:
                cut(&s, &data[begin[i]] if flags else NULL, flags, <int>block[B_TOKENS], <int>block[B_CASE], True)
                for t in range(s.n_tokens):
                    if t and block[B_TOKENS] != TOKENS_CHARACTERS and block[B_TOKENS] != TOKENS_BYTES:
                        out[pos] = 32
                        pos += 1
                    for k in range(s.token_char[t], s.token_char[t + 1]):
                        pos += put_utf8(&out[pos], s.char_code[k])
            out_offsets[i + 1] = pos
