"""Documents to fingerprints: the first half of vectorising, and the tokens of one text.

Inputs are Arrow UTF-8 buffers (bytes and 64-bit offsets) and compiled blocks. Cost: one pass over the bytes plus one
multiplication per n-gram.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from linnet._kernels.ascii cimport TOP_BITS, ln_load
from linnet._kernels.blocks cimport *
from linnet._kernels.characters cimport *
from linnet._kernels.hash cimport *
from linnet._kernels.tokenise cimport tokenise
from linnet._kernels.tokens cimport *
from linnet._kernels.utf8 cimport decode


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


def phrase_hash(words) -> int:
    """Return the hash of a phrase, given its folded tokens: that of a word n-gram with the seed 0.

    >>> phrase_hash(["not", "bad"]) != phrase_hash(["bad", "not"])
    True
    """
    cdef uint64_t h = 0
    cdef TokenHash token
    cdef uint8_t byte
    for word in words:
        hash_start(&token)
        for byte in <bytes>word.encode():
            hash_byte(&token, byte)
        h = join(h, hash_end(&token))
    return finish(h)


def tokenise_text(const uint8_t[::1] data, int tokens, int case_mode, Scratch scratch) -> int:
    """Split one text into tokens, in scratch; return how many there are."""
    if not 0 <= tokens <= TOKENS_PENN or not 0 <= case_mode <= CASE_LOWER:
        raise ValueError(f"unknown tokens {tokens} or case {case_mode}")
    if data.shape[0] > scratch.longest:
        raise ValueError(f"the text has {data.shape[0]} bytes, the scratch holds {scratch.longest}")
    with nogil:
        tokenise(&scratch.tokens, &data[0] if data.shape[0] else NULL, data.shape[0], tokens, case_mode, True)
    return scratch.tokens.n_tokens


cdef int64_t room_for(Tokens* s, const uint8_t* p, int64_t n, const BlockSpec* blocks, int64_t n_blocks,
                      bint keep) noexcept nogil:
    """How many fingerprints one document can have, over all blocks."""
    cdef int64_t b, total = 0
    for b in range(n_blocks):
        tokenise(s, p, n, blocks[b].tokens, blocks[b].case_mode, keep)
        total += emit_bound(s, blocks + b)
    return total


def emit_chunk(const uint8_t[::1] data, const int64_t[::1] offsets, int64_t first, int64_t last, CompiledBlocks blocks,
               Scratch scratch, int64_t[::1] ends) -> int:
    """Write the fingerprints of documents first..last-1 to scratch until it or ends is full; return how many documents fitted.

    ends[(d - first) * n_blocks + b] is where the fingerprints of block b of document d end. The scratch is made larger where
    not even one document fits.
    """
    cdef int64_t n_blocks = blocks.n, d, b, used = 0, room = scratch.room, most = ends.shape[0] // max(1, n_blocks)
    cdef const BlockSpec* block
    cdef Tokens s = scratch.tokens   # a copy, which nobody else can change
    cdef const uint8_t* base = &data[0] if data.shape[0] else NULL
    cdef uint64_t* fps = scratch.out_fps
    cdef int32_t* starts = scratch.out_starts
    cdef int32_t* lengths = scratch.out_lengths
    with nogil:
        if last - first > most:
            last = first + most
        for d in range(first, last):
            for b in range(n_blocks):
                block = blocks.specs + b
                if b == 0 or not same_tokens(block, block - 1):
                    tokenise(&s, base + offsets[d], offsets[d + 1] - offsets[d], block.tokens, block.case_mode,
                             blocks.needs_chars)
                if used + emit_bound(&s, block) > room:
                    if d == first:
                        room = room_for(&s, base + offsets[d], offsets[d + 1] - offsets[d], blocks.specs, n_blocks,
                                        blocks.needs_chars)
                        with gil:
                            scratch.make_room(room)
                            return emit_chunk(data, offsets, first, last, blocks, scratch, ends)
                    with gil:
                        return d - first
                used += emit(&s, block, fps + used, starts + used, lengths + used)
                ends[(d - first) * n_blocks + b] = used
    return last - first
