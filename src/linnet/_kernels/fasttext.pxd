"""The features of fastText: words, character n-grams of words between < and >, and word n-grams, the last two in buckets.

All are one block, because fastText divides by the number of all of them. A line ends with the word </s>. Words are cut at ASCII
blanks and zero bytes; labels are no words. The hash is FNV-1a of 32 bits, with bytes taken as signed numbers. The seed of the block is
bucket + (word n-grams << 32) + (no subwords << 48). A fingerprint is that of the word's bytes, or of the number of its bucket.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp
from linnet._kernels.hash cimport TokenHash, finish, hash_byte, hash_end, hash_start, join, mix
from linnet._kernels.ngrams cimport EDGE_LEFT, EDGE_RIGHT, Place
from linnet._kernels.tokens cimport Tokens

cdef extern from *:
    """
    static const char ln_end_of_line[] = "</s>", ln_label[] = "__label__";
    """
    const char* END_OF_LINE "ln_end_of_line"
    const char* LABEL "ln_label"
    const uint32_t FNV_START "UINT32_C(2166136261)"

cdef enum:
    FNV_PRIME = 16777619
    NGRAM_PRIME = 116049371
    BUCKET_SEED = 0x66617374


cdef inline bint is_gap(uint8_t c) noexcept nogil:
    return c == 32 or 9 <= c <= 13 or c == 0


cdef inline uint32_t fnv(uint32_t h, uint8_t c) noexcept nogil:
    return (h ^ <uint32_t>(c if c < 0x80 else c | <uint32_t>0xFFFFFF00U)) * <uint32_t>FNV_PRIME


cdef inline int64_t fasttext_bound(int64_t n_text, int64_t low, int64_t high, uint64_t seed) noexcept nogil:
    cdef int64_t words = n_text // 2 + 2
    return words * (3 + <int64_t>((seed >> 32) & 0xFFFF)) + (n_text + 2 * words) * (high - low + 1)


cdef inline uint64_t bucket_fingerprint(uint64_t number) noexcept nogil:
    return finish(mix(number ^ (<uint64_t>BUCKET_SEED << 32)))


cdef inline int64_t emit_subwords(const uint8_t* p, int64_t begin, int64_t end, int64_t low, int64_t high, uint32_t bucket,
                                  uint64_t* out, Place* start, Place* length, int64_t m) noexcept nogil:
    """Write the character n-grams of <word>; a lone < or > is none. Returns m and how many there are."""
    cdef int64_t i, j, n, last = end - begin + 2     # places 0 and last - 1 are < and >
    cdef uint32_t h
    cdef uint8_t c
    for i in range(last):
        if 0 < i < last - 1 and (p[begin + i - 1] & 0xC0) == 0x80:
            continue
        h = FNV_START
        j = i
        n = 1
        while j < last and n <= high:
            c = 60 if j == 0 else 62 if j == last - 1 else p[begin + j - 1]
            h = fnv(h, c)
            j += 1
            while j < last - 1 and (p[begin + j - 1] & 0xC0) == 0x80 and j > 0:
                h = fnv(h, p[begin + j - 1])
                j += 1
            if n >= low and not (n == 1 and (i == 0 or j == last)):
                out[m] = bucket_fingerprint(h % bucket)
                if Place is int32_t:
                    start[m] = <int32_t>(begin + (i - 1 if i else 0))
                    length[m] = <int32_t>((begin + j - 1 if j < last else end) - start[m])
                    if i == 0:
                        length[m] |= EDGE_LEFT
                    if j == last:
                        length[m] |= EDGE_RIGHT
                m += 1
            n += 1
    return m


cdef inline int64_t emit_fasttext(const Tokens* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out, Place* start,
                                  Place* length) noexcept nogil:
    cdef const uint8_t* p = s.text
    cdef int64_t i = 0, begin, k, t, n_words = 0, m = 0, n = s.n_text
    cdef int64_t ngrams = <int64_t>((seed >> 32) & 0xFFFF)
    cdef uint32_t bucket = <uint32_t>(seed & 0xFFFFFFFFU), h
    cdef bint subwords = not (seed >> 48) & 1, ended = False
    # the hash of each word, its first byte and the one behind its last, after all that can be written
    cdef int32_t* words = <int32_t*>(out + fasttext_bound(n, low, high, seed) - 2 * (n // 2 + 2))
    cdef TokenHash r
    cdef uint64_t g
    while not ended:
        while i < n and is_gap(p[i]):
            i += 1
        begin = i
        h = FNV_START
        hash_start(&r)
        while i < n and not is_gap(p[i]):
            h = fnv(h, p[i])
            hash_byte(&r, p[i])
            i += 1
        if i == begin or (i - begin == 4 and memcmp(p + begin, END_OF_LINE, 4) == 0):
            ended = True
            h = FNV_START
            hash_start(&r)
            for k in range(4):
                h = fnv(h, <uint8_t>END_OF_LINE[k])
                hash_byte(&r, <uint8_t>END_OF_LINE[k])
        elif i - begin >= 9 and memcmp(p + begin, LABEL, 9) == 0:
            continue
        out[m] = finish(join(0, hash_end(&r)))   # phrase_hash of the word
        if Place is int32_t:
            start[m] = <int32_t>begin
            length[m] = <int32_t>(i - begin)
        m += 1
        if subwords and not ended and bucket:
            m = emit_subwords(p, begin, i, low, high, bucket, out, start, length, m)
        words[4 * n_words] = <int32_t>h
        words[4 * n_words + 1] = <int32_t>begin
        words[4 * n_words + 2] = <int32_t>i
        n_words += 1
    if bucket:
        for t in range(n_words):
            g = <uint64_t><int64_t>words[4 * t]
            for k in range(t + 1, t + ngrams if t + ngrams < n_words else n_words):
                g = g * <uint64_t>NGRAM_PRIME + <uint64_t><int64_t>words[4 * k]
                out[m] = bucket_fingerprint(g % bucket)
                if Place is int32_t:
                    start[m] = words[4 * t + 1]
                    length[m] = words[4 * k + 2] - words[4 * t + 1]
                m += 1
    return m
