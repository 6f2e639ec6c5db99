"""What Python makes once and hands to every call: the working memory of a thread, and the feature blocks of a model."""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from linnet._kernels.blocks cimport *
from linnet._kernels.characters cimport CASE_LOWER
from linnet._kernels.ngrams cimport MOST
from linnet._kernels.tokens cimport *

import numpy

NO_FINGERPRINTS, NO_PLACES = numpy.empty(0, numpy.uint64), numpy.empty(0, numpy.int32)


cdef beginning(values, int64_t n):
    """Return the first n values as an array that shares their memory."""
    return numpy.asarray(values)[:n]


cdef larger_copy(old, int64_t room):
    """Return an array with more room that begins with the values of old."""
    before = numpy.asarray(old)
    new = numpy.empty(room, before.dtype)
    new[: len(before)] = before
    return new


cdef class Scratch:
    """The working memory of one thread: tokens of the document at hand, and the fingerprints of some documents.

    It holds documents of up to longest bytes; room is how many fingerprints it holds, and grows where more are needed: 0 is
    enough for tokens alone.
    After tokenise_text, token_places is [first byte, last byte + 1, first character] of each token, and codes are the
    folded characters. After emit_chunk, fps are fingerprints, starts and lengths their places.
    """

    cdef Tokens tokens
    cdef uint64_t* out_fps
    cdef int32_t* out_starts
    cdef int32_t* out_lengths
    cdef uint32_t* distinct      # a table of at least 2 * room slots
    cdef uint64_t* seen          # bits, all zero between calls
    cdef int32_t* counts         # of each slot, all zero between calls
    cdef int64_t* places
    cdef double* sums
    cdef int32_t* code_sums      # all zero between calls
    cdef readonly int64_t longest, room
    cdef readonly object hashes, token_places, codes, char_places, fps, starts, lengths
    cdef object _distinct, _seen, _sums, _code_sums, _counts, _places

    def __init__(self, int64_t longest, int64_t room=1 << 15):
        self.need_length(longest)
        self.room = 0
        self.fps, self.starts, self.lengths = NO_FINGERPRINTS, NO_PLACES, NO_PLACES
        if room:
            self.make_room(room)

    cdef need_length(self, int64_t longest):
        """Have room for a document of this many bytes; the tokens at hand are lost where that is not so."""
        if self.codes is not None and longest <= self.longest:
            return
        cdef int64_t n = longest + 2
        cdef uint64_t[::1] hashes
        cdef int32_t[:, ::1] places, char_places
        cdef uint32_t[::1] codes
        self.longest = longest
        self.hashes = hashes = numpy.empty(n, numpy.uint64)
        self.token_places = places = numpy.empty((3, n), numpy.int32)
        self.codes = codes = numpy.empty(2 * n, numpy.uint32)
        self.char_places = char_places = numpy.empty((2, 2 * n), numpy.int32)
        self.tokens.token_hash = &hashes[0]
        self.tokens.token_start = &places[0, 0]
        self.tokens.token_end = &places[1, 0]
        self.tokens.token_char = &places[2, 0]
        self.tokens.char_code = &codes[0]
        self.tokens.char_start = &char_places[0, 0]
        self.tokens.char_end = &char_places[1, 0]
        self.tokens.n_tokens = self.tokens.n_starts = self.tokens.n_chars = 0

    def make_room(self, int64_t room):
        """Give the fingerprints this much room; what they held is lost."""
        cdef uint64_t[::1] fps
        cdef int32_t[::1] starts, lengths
        cdef uint32_t[::1] distinct
        self.room = room
        self.fps = fps = numpy.empty(room, numpy.uint64)
        self.starts = starts = numpy.empty(room, numpy.int32)
        self.lengths = lengths = numpy.empty(room, numpy.int32)
        self._distinct = distinct = numpy.empty(max(16, 1 << (2 * int(room) - 1).bit_length()), numpy.uint32)
        self.out_fps = &fps[0]
        self.out_starts = &starts[0]
        self.out_lengths = &lengths[0]
        self.distinct = &distinct[0]

    cdef need_room(self, int64_t room):
        """Have room for this many fingerprints, and for twice as many as before where that is not so."""
        if room > self.room:
            self.make_room(max(room, 2 * self.room))

    cdef bits(self, int64_t n):
        """Have at least n bits, all zero; who sets them clears them."""
        cdef uint64_t[::1] seen
        if self._seen is None or 64 * len(self._seen) < n:
            self._seen = seen = numpy.zeros((n + 63) // 64, numpy.uint64)
            self.seen = &seen[0]

    cdef tally(self, int64_t n):
        """Have n counts, all zero, and room for as many places; who sets counts clears them."""
        cdef int32_t[::1] counts
        cdef int64_t[::1] places
        if self._counts is None or len(self._counts) < n:
            self._counts, self._places = counts, places = numpy.zeros(n, numpy.int32), numpy.empty(n, numpy.int64)
            self.counts, self.places = &counts[0], &places[0]

    cdef outputs(self, int64_t n):
        """Have room for n sums."""
        cdef double[::1] sums
        cdef int32_t[::1] code_sums
        if self._sums is None or len(self._sums) < n:
            self._sums, self._code_sums = sums, code_sums = numpy.empty(n, numpy.float64), numpy.zeros(n, numpy.int32)
            self.sums, self.code_sums = &sums[0], &code_sums[0]


cdef class CompiledBlocks:
    """Feature blocks as the kernels read them. A row is (kind, tokens, case, low, high, seed, share); see features/blocks.py."""

    cdef BlockSpec* specs
    cdef int64_t n
    cdef bint needs_chars
    cdef readonly tuple rows

    def __cinit__(self, rows):
        cdef BlockSpec* spec
        self.rows = tuple(map(tuple, rows))
        self.n = len(self.rows)
        self.specs = <BlockSpec*>malloc(max(1, self.n) * sizeof(BlockSpec))
        if self.specs == NULL:
            raise MemoryError
        self.needs_chars = False
        for k, (kind, tokens, case, low, high, seed, share) in enumerate(self.rows):
            if not 0 <= kind < N_KINDS:
                raise ValueError(f"unknown kind of feature block {kind}; the kernels know 0 to {N_KINDS - 1}")
            if not 0 <= tokens <= (TOKENS_NONE if kind == KIND_FASTTEXT else TOKENS_PENN) or not 0 <= case <= CASE_LOWER:
                raise ValueError(f"unknown tokens {tokens} or case {case} of a feature block")
            if not 1 <= low <= high <= MOST:
                raise ValueError(f"n-grams of {low} to {high}; give 1 <= low <= high <= {MOST}")
            spec = self.specs + <int64_t>k
            spec.kind, spec.tokens, spec.case_mode = kind, tokens, case
            spec.low, spec.high, spec.seed, spec.share = low, high, seed, share
            self.needs_chars |= spec.kind in (KIND_CHARS, KIND_AFFIXES, KIND_HASHING)

    def __dealloc__(self):
        free(self.specs)

    def __len__(self):
        return self.n

    def __reduce__(self):
        return CompiledBlocks, (self.rows,)
