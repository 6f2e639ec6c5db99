"""Sparse counts: columns dropped, segments taken, document frequencies, rows sorted by column."""
from libc.stdint cimport int32_t, int64_t, uint64_t


def prune_columns(int32_t[::1] indices, int32_t[::1] counts, int64_t[::1] indptr, const int32_t[::1] numbers) -> int:
    """Drop entries whose new number is negative and renumber the rest, in place; returns the entries left."""
    cdef int64_t k, i, begin = 0, pos = 0
    cdef int32_t column
    cdef bint counting = counts.shape[0] > 0
    with nogil:
        for k in range(indptr.shape[0] - 1):
            for i in range(begin, indptr[k + 1]):
                column = numbers[indices[i]]
                if column >= 0:
                    indices[pos] = column
                    if counting:
                        counts[pos] = counts[i]
                    pos += 1
            begin = indptr[k + 1]
            indptr[k + 1] = pos
    return pos


def take_segments(const int32_t[::1] indices, const int32_t[::1] counts, const int64_t[::1] begin, const int64_t[::1] indptr,
                  int32_t[::1] numbers, int32_t[::1] columns, int32_t[::1] out_indices, int32_t[::1] out_counts) -> int:
    """Copy segments: segment s of the result, out[indptr[s]:indptr[s + 1]], is what stands from begin[s] on.

    With numbers (one a column, all -1 at first; else empty) columns are numbered afresh in the order of first sight:
    numbers[old] = new, columns[new] = old. Returns how many columns were met. One pass over the entries.
    """
    cdef int64_t s, i, shift
    cdef int32_t column, n = 0
    cdef bint counting = counts.shape[0] > 0, numbering = numbers.shape[0] > 0
    with nogil:
        for s in range(begin.shape[0]):
            shift = begin[s] - indptr[s]
            for i in range(indptr[s], indptr[s + 1]):
                column = indices[i + shift]
                if numbering:
                    if numbers[column] < 0:
                        numbers[column] = n
                        columns[n] = column
                        n += 1
                    column = numbers[column]
                out_indices[i] = column
            if counting:
                for i in range(indptr[s], indptr[s + 1]):
                    out_counts[i] = counts[i + shift]
    return n


def document_frequency(const int32_t[::1] indices, int32_t[::1] df):
    """Count in how many documents each column occurs (an entry a document)."""
    cdef int64_t i
    with nogil:
        for i in range(indices.shape[0]):
            df[indices[i]] += 1


def class_frequency(const int64_t[::1] indptr, const int32_t[::1] indices, const int32_t[::1] y, int32_t[:, ::1] out):
    """Count in how many documents of each class each column occurs."""
    cdef int64_t i, k
    cdef int32_t c
    with nogil:
        for i in range(indptr.shape[0] - 1):
            c = y[i]
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k], c] += 1


cdef fused Number:
    int32_t
    int64_t
    float
    double


cdef inline uint64_t* sort_keys(uint64_t* keys, uint64_t* spare, int64_t n, int n_bytes) noexcept nogil:
    """Sort keys by their upper half, column by byte from the lowest; returns where the sorted keys lie."""
    cdef int64_t count[256]
    cdef int64_t i, k, total, here
    cdef int shift, b
    cdef uint64_t key
    if n <= 48:   # insertion: for few keys quicker than counting bytes
        for i in range(1, n):
            key = keys[i]
            k = i - 1
            while k >= 0 and keys[k] > key:
                keys[k + 1] = keys[k]
                k -= 1
            keys[k + 1] = key
        return keys
    for b in range(n_bytes):
        shift = 32 + 8 * b
        for k in range(256):
            count[k] = 0
        for i in range(n):
            count[(keys[i] >> shift) & 255] += 1
        total = 0
        for k in range(256):
            here = count[k]
            count[k] = total
            total += here
        for i in range(n):
            k = (keys[i] >> shift) & 255
            spare[count[k]] = keys[i]
            count[k] += 1
        keys, spare = spare, keys
    return keys


def sort_rows(const int64_t[::1] indptr, const int32_t[::1] indices, const Number[::1] values, int64_t n_columns,
              uint64_t[:, ::1] scratch, int32_t[::1] out_indices, Number[::1] out_values):
    """Write each row with its columns in order; equal columns keep their order. scratch is (2, longest row).

    Radix sort in the cache: a pass for each byte of the largest column, so the cost is linear in the entries.
    """
    cdef int64_t i, k, n, begin
    cdef int n_bytes = 1
    cdef uint64_t* keys
    while n_bytes < 4 and n_columns > (<int64_t>1 << (8 * n_bytes)):
        n_bytes += 1
    if scratch.shape[1] == 0:
        return
    with nogil:
        for i in range(indptr.shape[0] - 1):
            begin = indptr[i]
            n = indptr[i + 1] - begin
            keys = &scratch[0, 0]
            for k in range(n):
                keys[k] = (<uint64_t>indices[begin + k] << 32) | <uint64_t>k
            keys = sort_keys(keys, &scratch[1, 0], n, n_bytes)
            for k in range(n):
                out_indices[begin + k] = <int32_t>(keys[k] >> 32)
                out_values[begin + k] = values[begin + <int64_t>(keys[k] & <uint64_t>0xFFFFFFFF)]
