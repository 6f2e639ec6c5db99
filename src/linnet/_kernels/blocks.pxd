"""A feature block as the kernels know it, how many fingerprints it can write at most, and the choice among the kinds.

A block allocates nothing: hashes of changed tokens are put behind the fingerprints, in the room that emit_bound asks for.
The reference in plain Python is tests/reference/blocks.py.
"""
from libc.stdint cimport int32_t, int64_t, uint64_t
from linnet._kernels.across cimport emit_across
from linnet._kernels.fasttext cimport emit_fasttext, fasttext_bound
from linnet._kernels.hashing cimport emit_hashing, hashing_bound
from linnet._kernels.negation cimport emit_negated, emit_not
from linnet._kernels.ngrams cimport Place, emit_affixes, emit_chars, emit_position, emit_skips, emit_words
from linnet._kernels.shapes cimport emit_shapes
from linnet._kernels.tokens cimport Tokens

cdef enum:  # what a block makes of the tokens: the numbers of features/blocks.py
    KIND_WORDS = 0
    KIND_CHARS = 1
    KIND_ACROSS = 2     # characters of the text, words or not
    KIND_SKIPS = 3      # pairs of tokens with some left out between them
    KIND_NEGATED = 4    # tokens, marked from a negation to the next stop
    KIND_NOT = 5        # a negation, whichever, and the tokens after it
    KIND_POSITION = 6   # tokens with their part of the text: first quarter, middle, last quarter
    KIND_AFFIXES = 7    # how tokens begin and end
    KIND_SHAPES = 8     # capitals, small letters, digits
    KIND_FASTTEXT = 9   # what fastText makes of a line
    KIND_HASHING = 10   # the columns of scikit-learn's HashingVectorizer
    N_KINDS = 11

cdef struct BlockSpec:
    int kind
    int tokens
    int case_mode
    int64_t low
    int64_t high
    uint64_t seed
    double share     # what the block counts beside the others


cdef inline int64_t emit_bound(const Tokens* s, const BlockSpec* block) noexcept nogil:
    """How many fingerprints a block can write for the text at hand, at most, with the room it works in."""
    cdef int64_t lengths = block.high - block.low + 1
    if block.kind == KIND_WORDS:
        return s.n_tokens * lengths
    if block.kind == KIND_CHARS:
        return (s.n_chars + 2 * s.n_tokens) * lengths
    if block.kind == KIND_ACROSS:   # a character of two bytes may become three
        return 2 * s.n_text * lengths
    if block.kind == KIND_AFFIXES:
        return 2 * s.n_tokens * lengths
    if block.kind == KIND_FASTTEXT:
        return fasttext_bound(s.n_text, block.low, block.high, block.seed)
    if block.kind == KIND_HASHING:
        return hashing_bound(s, lengths, block.seed)
    return s.n_tokens * (lengths + 2)


cdef inline int64_t emit(const Tokens* s, const BlockSpec* block, uint64_t* out, Place* start,
                         Place* length) noexcept nogil:
    """Write the fingerprints of one block and their places; return how many, or -1 where the kind is not known.

    CompiledBlocks refuses unknown kinds, so no kernel meets one.
    """
    cdef int64_t low = block.low, high = block.high
    cdef uint64_t seed = block.seed
    if block.kind == KIND_WORDS:
        return emit_words(s, low, high, seed, out, start, length)
    if block.kind == KIND_CHARS:
        return emit_chars(s, low, high, seed, out, start, length)
    if block.kind == KIND_ACROSS:
        return emit_across(s, block.case_mode, low, high, seed, out, start, length)
    if block.kind == KIND_SKIPS:
        return emit_skips(s, low, high, seed, out, start, length)
    if block.kind == KIND_NEGATED:
        return emit_negated(s, low, high, seed, out, start, length)
    if block.kind == KIND_NOT:
        return emit_not(s, low, high, seed, out, start, length)
    if block.kind == KIND_POSITION:
        return emit_position(s, low, high, seed, out, start, length)
    if block.kind == KIND_AFFIXES:
        return emit_affixes(s, low, high, seed, out, start, length)
    if block.kind == KIND_SHAPES:
        return emit_shapes(s, block.tokens, low, high, seed, out, start, length)
    if block.kind == KIND_FASTTEXT:
        return emit_fasttext(s, low, high, seed, out, start, length)
    if block.kind == KIND_HASHING:
        return emit_hashing(s, low, high, seed, out, start, length)
    return -1


cdef inline int64_t tokens_ahead(const BlockSpec* block) noexcept nogil:
    """How many tokens after its first a feature of a block looks at; -1 where it asks for more of the text."""
    if block.kind == KIND_CHARS or block.kind == KIND_AFFIXES:
        return 0
    if block.kind == KIND_WORDS or block.kind == KIND_SHAPES:
        return block.high - 1
    if block.kind == KIND_SKIPS or block.kind == KIND_NOT:
        return block.high + 1
    return -1


cdef inline bint same_tokens(const BlockSpec* a, const BlockSpec* b) noexcept nogil:
    return a.tokens == b.tokens and a.case_mode == b.case_mode
