"""Near duplicates: documents to sets of word shingles, to small sketches, to groups.

Problem: find the pairs of documents whose sets of shingles A, B have a Jaccard similarity |A & B| / |A | B| of at least
t, without comparing all pairs.
Sketches: (1) m minima, one for each of m hash functions x -> (a_j x) >> 32: two documents agree in one of them with the
probability of their similarity (Broder 1997); bands of r minima are the keys under which candidates meet. (2) the k
smallest hashes of the set: the k smallest of the union, counted, give the similarity, exactly for sets of at most k
and within about 1 / (2 sqrt(k)) beyond (bottom-k, Cohen & Kaplan 2007). Candidates are verified with (2).
Words are runs of letters and digits, ASCII letters lowered, everything else kept; characters from U+3000 on, and Thai,
Lao, Khmer and Burmese, stand alone. A document of fewer words than a shingle is one shingle.
Cost: one pass over the bytes, a sort and m multiplications per shingle. The reference in plain Python is
tests/reference/minhash.py.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from linnet._kernels.hash cimport mix


cdef inline bint is_word(uint8_t c) noexcept nogil:
    return c >= 0x80 or (48 <= c <= 57) or (65 <= c <= 90) or (97 <= c <= 122)


cdef inline bint stands_alone(const uint8_t* p, int64_t left) noexcept nogil:
    """Say whether the three or four bytes at p are a character of a script that is written without spaces."""
    if p[0] < 0xE0 or left < 3:
        return False
    if p[0] == 0xE0:   # Thai and Lao: U+0E00 to U+0EFF
        return 0xB8 <= p[1] <= 0xBB
    if p[0] == 0xE1:   # Burmese U+1000 to U+109F, Khmer U+1780 to U+17FF
        return p[1] <= 0x82 or p[1] == 0x9E or p[1] == 0x9F
    return 0xE3 <= p[0] and not (p[0] == 0xEF and p[1] >= 0xB8 and p[1] != 0xBD and p[1] != 0xBE)


cdef inline bint is_sign(const uint8_t* p, int64_t left) noexcept nogil:
    """Say whether the bytes at p are a blank or a sign from U+2000 to U+206F, or a non-breaking space."""
    if left >= 3 and p[0] == 0xE2:
        return p[1] == 0x80 or p[1] == 0x81
    return left >= 2 and p[0] == 0xC2 and p[1] == 0xA0


cdef int64_t hash_words(const uint8_t* p, int64_t n, uint64_t* out) noexcept nogil:
    """Write the hash of each word; return how many."""
    cdef int64_t i = 0, m = 0, stop
    cdef uint64_t h
    cdef uint8_t c
    while i < n:
        if not is_word(p[i]):
            i += 1
            continue
        if is_sign(p + i, n - i):
            i += 3 if p[i] == 0xE2 else 2
            continue
        h = <uint64_t>0x9E3779B97F4A7C15
        if stands_alone(p + i, n - i):
            stop = i + (4 if p[i] >= 0xF0 and n - i >= 4 else 3)
            while i < stop:
                h = (h ^ p[i]) * <uint64_t>0x100000001B3
                i += 1
        else:
            while i < n and is_word(p[i]):
                c = p[i]
                if c >= 0xC2 and (is_sign(p + i, n - i) or stands_alone(p + i, n - i)):
                    break
                if 65 <= c <= 90:
                    c += 32
                h = (h ^ c) * <uint64_t>0x100000001B3
                i += 1
        out[m] = mix(h)
        m += 1
    return m


cdef int compare_hashes(const void* a, const void* b) noexcept nogil:
    cdef uint64_t x = (<const uint64_t*>a)[0], y = (<const uint64_t*>b)[0]
    return (x > y) - (x < y)


cdef int64_t shingle(uint64_t* words, int64_t n, int64_t size) noexcept nogil:
    """Turn word hashes into the hashes of their shingles, in place; return how many."""
    cdef int64_t i, k, m, top = size if size < n else n
    cdef uint64_t h
    if n == 0:
        return 0
    m = n - top + 1
    for i in range(m):
        h = <uint64_t>top
        for k in range(top):
            h = mix(h ^ words[i + k]) + <uint64_t>0x9E3779B97F4A7C15
        words[i] = mix(h)
    return m


cdef int64_t distinct_hashes(uint64_t* hashes, int64_t n) noexcept nogil:
    """Sort hashes and drop those that repeat, in place; return how many are left."""
    cdef int64_t i, k = 1
    if n == 0:
        return 0
    qsort(hashes, <size_t>n, sizeof(uint64_t), compare_hashes)
    for i in range(1, n):
        if hashes[i] != hashes[i - 1]:
            hashes[k] = hashes[i]
            k += 1
    return k


cdef uint64_t key_of(const uint64_t* words, int64_t n, const uint8_t* p, int64_t n_bytes) noexcept nogil:
    """A hash of all words, in order; of the bytes where there are none."""
    cdef int64_t i
    cdef uint64_t h = <uint64_t>n
    for i in range(n):
        h = mix(h ^ words[i]) + <uint64_t>0x9E3779B97F4A7C15
    if n == 0:
        for i in range(n_bytes):
            h = (h ^ p[i]) * <uint64_t>0x100000001B3
    return mix(h)


def word_keys(const uint8_t[::1] data, const int64_t[::1] offsets, uint64_t[::1] scratch, uint64_t[::1] keys):
    """Write a hash of the words of each document; scratch is as in sketch_documents."""
    cdef int64_t d, n
    cdef const uint8_t* p
    with nogil:
        for d in range(keys.shape[0]):
            n = offsets[d + 1] - offsets[d]
            p = &data[offsets[d]] if n else NULL
            keys[d] = key_of(&scratch[0], hash_words(p, n, &scratch[0]), p, n)


cdef inline uint32_t least(uint32_t a, uint64_t h) noexcept nogil:
    cdef uint32_t b = <uint32_t>(h >> 32)
    return b if b < a else a


cdef void take_minima(const uint64_t* hashes, int64_t n, const uint64_t* by, int64_t m, uint32_t* out) noexcept nogil:
    """Write the least of (hash * by[j]) >> 32 for each of up to four multipliers."""
    cdef int64_t i
    cdef uint32_t a, b, c, d
    a = b = c = d = <uint32_t>0xFFFFFFFF
    if m == 4:
        for i in range(n):
            a = least(a, hashes[i] * by[0])
            b = least(b, hashes[i] * by[1])
            c = least(c, hashes[i] * by[2])
            d = least(d, hashes[i] * by[3])
        out[0] = a
        out[1] = b
        out[2] = c
        out[3] = d
        return
    for i in range(n * m):
        out[i % m] = least(out[i % m], hashes[i // m] * by[i % m])


cdef void all_minima(const uint64_t* hashes, int64_t n, const uint64_t* by, int64_t m, uint32_t* out) noexcept nogil:
    """Write the least of (hash * by[j]) >> 32 for each multiplier, all ones where there are no hashes."""
    cdef int64_t j
    for j in range(m):
        out[j] = <uint32_t>0xFFFFFFFF
    for j in range(0, m, 4):   # four at a time: the multiplications do not wait for each other
        take_minima(hashes, n, &by[j], m - j if m - j < 4 else 4, &out[j])


def document_minima(const uint8_t[::1] data, const int64_t[::1] offsets, int64_t first, int64_t last, int64_t size,
                    const uint64_t[::1] multipliers, uint64_t[::1] scratch, uint32_t[:, ::1] minima):
    """Write the minima of documents first..last-1 alone: those of sketch_documents, which sorts shingles and keeps some."""
    cdef int64_t d, n
    with nogil:
        for d in range(first, last):
            n = offsets[d + 1] - offsets[d]
            n = hash_words(&data[offsets[d]] if n else NULL, n, &scratch[0])
            n = shingle(&scratch[0], n, size)
            all_minima(&scratch[0], n, &multipliers[0], multipliers.shape[0], &minima[d - first, 0])


def sketch_documents(const uint8_t[::1] data, const int64_t[::1] offsets, int64_t first, int64_t last, int64_t size,
                     const uint64_t[::1] multipliers, uint64_t[::1] scratch, uint64_t[::1] keys, int32_t[::1] totals,
                     uint32_t[:, ::1] smallest, uint32_t[:, ::1] minima):
    """Sketch documents first..last-1 into rows 0.. of the outputs.

    keys: a hash of all words in order; of the bytes where there are none. totals: the number of distinct shingles.
    smallest: the k smallest shingle hashes (their upper halves), sorted. minima: one for each multiplier, all ones for
    a document without words. scratch holds as many values as the longest document has bytes.
    """
    cdef int64_t d, i, n, row, k = smallest.shape[1]
    cdef const uint8_t* p
    with nogil:
        for d in range(first, last):
            row = d - first
            n = offsets[d + 1] - offsets[d]
            p = &data[offsets[d]] if n else NULL
            n = hash_words(p, n, &scratch[0])
            keys[row] = key_of(&scratch[0], n, p, offsets[d + 1] - offsets[d])
            n = distinct_hashes(&scratch[0], shingle(&scratch[0], n, size))
            totals[row] = <int32_t>n
            for i in range(n if n < k else k):
                smallest[row, i] = <uint32_t>(scratch[i] >> 32)
            all_minima(&scratch[0], n, &multipliers[0], multipliers.shape[0], &minima[row, 0])


cdef double alike(const uint32_t* a, int64_t n, const uint32_t* b, int64_t m, int64_t k) noexcept nogil:
    """Jaccard similarity from the k smallest of two sets; n and m are what is there of them, at most k each."""
    cdef int64_t i = 0, j = 0, both = 0, seen = 0
    while seen < k and (i < n or j < m):
        if j == m or (i < n and a[i] < b[j]):
            i += 1
        elif i == n or b[j] < a[i]:
            j += 1
        else:
            both += 1
            i += 1
            j += 1
        seen += 1
    return <double>both / seen if seen else 0.0


def similarity(const uint32_t[::1] a, const uint32_t[::1] b, int64_t k) -> float:
    """Return the similarity of two sets from their k smallest."""
    return alike(&a[0] if a.shape[0] else NULL, a.shape[0], &b[0] if b.shape[0] else NULL, b.shape[0], k)


cdef inline int64_t root(int64_t[::1] parent, int64_t d) noexcept nogil:
    while parent[d] != d:
        parent[d] = parent[parent[d]]
        d = parent[d]
    return d


def link_similar(const int64_t[::1] order, const uint64_t[::1] keys, const int64_t[::1] starts, const uint32_t[::1] values,
                 int64_t k, double threshold, int64_t patience, int64_t[::1] parent) -> int:
    """Unite the documents of equal keys that are at least as similar as the threshold; return the comparisons made.

    order lists documents by (key, document); keys are theirs. Document d has the sketch values[starts[d]:starts[d + 1]].
    A document stops after patience comparisons in vain. The root of a group is its first document.
    """
    cdef int64_t a = 0, b, i, j, x, y, p, q, n = order.shape[0], vain, made = 0
    with nogil:
        while a < n:
            b = a + 1
            while b < n and keys[b] == keys[a]:
                b += 1
            for i in range(a + 1, b):
                x = order[i]
                vain = 0
                for j in range(a, i):
                    y = order[j]
                    p = root(parent, x)
                    q = root(parent, y)
                    if p == q:
                        continue
                    made += 1
                    if alike(&values[starts[x]], starts[x + 1] - starts[x], &values[starts[y]],
                             starts[y + 1] - starts[y], k) >= threshold:
                        if p < q:
                            parent[q] = p
                        else:
                            parent[p] = q
                    else:
                        vain += 1
                        if vain == patience:
                            break
            a = b
    return made
