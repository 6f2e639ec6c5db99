"""Documents to numbers: word lists looked up and added up, lengths and signs counted.

Inputs are Arrow UTF-8 buffers as in featurize. Word lists are a vocabulary of phrases, each the hash of its tokens, laid
out by vocab.place; the beginnings of phrases are in it too, so that a search goes on only where a phrase may follow.
Cost: one pass over the bytes and one lookup a token. In plain Python: Lists.matches of features/lists.py
and lengths of tests/reference/blocks.py.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from linnet._kernels.characters cimport *
from linnet._kernels.hash cimport finish, join
from linnet._kernels.hints cimport ln_prefetch
from linnet._kernels.negation cimport begins_with_stop, ends_with_stop, is_negation
from linnet._kernels.tokenise cimport tokenise
from linnet._kernels.tokens cimport *

cdef enum:
    REACH = 3           # tokens: how far a negation turns the sign
    TOKENS_AHEAD = 8    # how far ahead slots are asked for


cdef inline int64_t slot_of(uint64_t h, const uint64_t* slots, int shift) noexcept nogil:
    cdef uint64_t slot = h >> shift
    while slots[slot] < h and slots[slot] != 0:
        slot += 1
    return <int64_t>slot if slots[slot] == h else -1


cdef class PhraseTable:
    """Word lists laid out for lookup: what slot j says is lists[begin[j]:end[j]] with their weights."""

    cdef const uint64_t[::1] slots
    cdef int shift, tokens, case_mode
    cdef const int32_t[::1] begin, end, lists
    cdef const double[::1] weights
    cdef tuple given

    def __init__(self, const uint64_t[::1] slots, int shift, const int32_t[::1] begin, const int32_t[::1] end,
                 const int32_t[::1] lists, const double[::1] weights, int tokens, int case_mode):
        self.given = slots, shift, begin, end, lists, weights, tokens, case_mode
        self.slots, self.shift, self.begin, self.end = slots, shift, begin, end
        self.lists, self.weights = lists, weights
        self.tokens, self.case_mode = tokens, case_mode

    def __reduce__(self):
        return PhraseTable, tuple(v if isinstance(v, int) else numpy.asarray(v) for v in self.given)


def list_sums(const uint8_t[::1] data, const int64_t[::1] offsets, PhraseTable phrases, Scratch scratch, double[:, ::1] out):
    """Add up what the lists say of each document: out[d, 2 * list] counts, out[d, 2 * list + 1] sums weights.

    Of the phrases that begin at a token the longest counts, and the search goes on behind it. A sum changes its sign within
    three tokens behind a negation, unless a stop stands between.
    """
    cdef int64_t d, i, k, slot, best, size, j, negation
    cdef uint64_t h
    cdef double sign
    cdef Tokens s = scratch.tokens   # a copy, which nobody else can change
    cdef const int32_t* begin = &phrases.begin[0]
    cdef const int32_t* end = &phrases.end[0]
    cdef const uint64_t* slots = &phrases.slots[0]
    cdef const int32_t* lists = &phrases.lists[0]
    cdef const double* weights = &phrases.weights[0]
    cdef int shift = phrases.shift
    cdef const uint8_t* base = &data[0] if data.shape[0] else NULL
    with nogil:
        for d in range(offsets.shape[0] - 1):
            tokenise(&s, base + offsets[d], offsets[d + 1] - offsets[d], phrases.tokens, phrases.case_mode, False)
            negation = -REACH - 1
            i = 0
            while i < s.n_tokens:
                if i + TOKENS_AHEAD < s.n_tokens:
                    ln_prefetch(slots + (join(0, s.token_hash[i + TOKENS_AHEAD]) >> shift))
                h = 0
                best = -1
                size = 1
                for k in range(i, s.n_tokens):
                    h = join(h, s.token_hash[k])
                    slot = slot_of(finish(h), slots, shift)
                    if slot < 0:
                        break
                    if end[slot] > begin[slot]:
                        best = slot
                        size = k - i + 1
                if best >= 0:
                    sign = -1.0 if i - negation <= REACH else 1.0
                    for j in range(begin[best], end[best]):
                        out[d, 2 * lists[j]] += 1.0
                        out[d, 2 * lists[j] + 1] += sign * weights[j]
                for k in range(i, i + size):
                    if begins_with_stop(&s, k):
                        negation = -REACH - 1
                    elif is_negation(s.token_hash[k]):
                        negation = k
                    if ends_with_stop(&s, k):
                        negation = -REACH - 1
                i += size


def count_lengths(const uint8_t[::1] data, const int64_t[::1] offsets, Scratch scratch, double[:, ::1] out):
    """Count in each document: words, their characters, capitals, words in capitals, digits, !, ?, commas, other signs."""
    cdef int64_t d, t, k, size, upper, other
    cdef uint32_t c, kind
    cdef Tokens s = scratch.tokens   # a copy, which nobody else can change
    cdef const uint8_t* base = &data[0] if data.shape[0] else NULL
    with nogil:
        for d in range(offsets.shape[0] - 1):
            tokenise(&s, base + offsets[d], offsets[d + 1] - offsets[d], TOKENS_WORDS, CASE_KEEP, True)
            for t in range(s.n_tokens):
                size = s.token_char[t + 1] - s.token_char[t]
                c = s.char_code[s.token_char[t]]
                if char_class(c) & (WORD | MARK):
                    upper = 0
                    other = 0
                    for k in range(s.token_char[t], s.token_char[t + 1]):
                        kind = shape_of(s.char_code[k])
                        upper += kind == 0x58
                        other += kind == 0x78
                        out[d, 4] += kind == 0x64
                    out[d, 0] += 1
                    out[d, 1] += size
                    out[d, 2] += upper
                    out[d, 3] += upper > 1 and other == 0
                elif c == 0x21:
                    out[d, 5] += size
                elif c == 0x3F:
                    out[d, 6] += size
                elif c == 0x2C:
                    out[d, 7] += size
                else:
                    out[d, 8] += size
