"""Fingerprints to columns: the vocabulary, hash mode, and the bookkeeping of a sparse matrix.

The growing table holds two 64-bit words a slot: the fingerprint, and the column (high half) beside the place in the
output where the column was last written (low half). The second word makes the per-document count free: a feature whose
last place lies in the current segment is a repetition. Linear probing, home slot = top bits, prefetch a few ahead.
Columns are numbered in the order of first sight, so the numbering does not depend on how documents were shared out:
shards merged in order give the numbers one shard would have given.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from linnet._kernels.text cimport ln_prefetch

cdef enum:
    AHEAD = 24


def index_chunk(const uint64_t[::1] fps, const int32_t[::1] starts, const int32_t[::1] lengths,
                const int64_t[::1] ends, int64_t first_segment, int64_t n_segments, int64_t n_blocks,
                int64_t first_doc, uint64_t[::1] table, int shift, int64_t[::1] state, int32_t[::1] indices,
                int32_t[::1] counts, int64_t[::1] indptr, uint64_t[::1] vocab, int32_t[::1] seen_doc,
                int32_t[::1] seen_start, int32_t[::1] seen_length, uint8_t[::1] seen_block) -> int:
    """Number the fingerprints of segments first_segment.. of a chunk; new ones get the next column.

    state = [columns so far, entries so far, segments so far]. counts may be empty (presence). Stops, and returns the
    segment to go on with, when the table is 3/4 full or an output array has no room for the next segment.
    """
    cdef int64_t n_columns = state[0], pos = state[1], segment = state[2], k, i, begin, end, ahead
    cdef int64_t segment_start, before
    cdef int64_t capacity = table.shape[0] // 2, limit = capacity * 3 // 4
    cdef uint64_t mask = <uint64_t>(capacity - 1), fp, slot, word
    cdef bint counting = counts.shape[0] > 0
    cdef int64_t last_fp = ends[n_segments - 1] if n_segments else 0
    with nogil:
        k = first_segment
        while k < n_segments:
            begin = ends[k - 1] if k else 0
            end = ends[k]
            if (n_columns + (end - begin) > limit or n_columns + (end - begin) > vocab.shape[0]
                    or pos + (end - begin) > indices.shape[0]):
                break
            segment_start = pos
            for i in range(begin, end):
                ahead = i + AHEAD
                if ahead < last_fp:
                    ln_prefetch(&table[2 * (fps[ahead] >> shift)])
                fp = fps[i]
                slot = fp >> shift
                while table[2 * slot] != fp and table[2 * slot] != 0:
                    slot = (slot + 1) & mask
                if table[2 * slot] == 0:
                    table[2 * slot] = fp
                    vocab[n_columns] = fp
                    seen_doc[n_columns] = <int32_t>(first_doc + k // n_blocks)
                    seen_start[n_columns] = starts[i]
                    seen_length[n_columns] = lengths[i]
                    seen_block[n_columns] = <uint8_t>(k % n_blocks)
                    word = <uint64_t>n_columns << 32
                    n_columns += 1
                else:
                    word = table[2 * slot + 1]
                    before = <int64_t>(<uint32_t>word)
                    if segment_start <= before < pos and indices[before] == <int32_t>(word >> 32):
                        if counting:
                            counts[before] += 1
                        continue
                    word = (word >> 32) << 32
                table[2 * slot + 1] = word | <uint64_t>pos
                indices[pos] = <int32_t>(word >> 32)
                if counting:
                    counts[pos] = 1
                pos += 1
            segment += 1
            indptr[segment] = pos
            k += 1
        state[0] = n_columns
        state[1] = pos
        state[2] = segment
    return k


def rehash(const uint64_t[::1] old, uint64_t[::1] table, int shift):
    """Move a growing table into a larger, zeroed one."""
    cdef int64_t i
    cdef uint64_t mask = <uint64_t>(table.shape[0] // 2 - 1), slot
    with nogil:
        for i in range(old.shape[0] // 2):
            if old[2 * i] == 0:
                continue
            slot = old[2 * i] >> shift
            while table[2 * slot] != 0:
                slot = (slot + 1) & mask
            table[2 * slot] = old[2 * i]
            table[2 * slot + 1] = old[2 * i + 1]


def merge(const uint64_t[::1] shard, uint64_t[::1] table, int shift, int64_t n_columns, uint64_t[::1] vocab,
          int32_t[::1] numbers) -> int:
    """Number the columns of a shard in the common table; numbers[j] is the common column of the shard's j."""
    cdef int64_t i
    cdef uint64_t mask = <uint64_t>(table.shape[0] // 2 - 1), slot, fp
    with nogil:
        for i in range(shard.shape[0]):
            if i + AHEAD < shard.shape[0]:
                ln_prefetch(&table[2 * (shard[i + AHEAD] >> shift)])
            fp = shard[i]
            slot = fp >> shift
            while table[2 * slot] != fp and table[2 * slot] != 0:
                slot = (slot + 1) & mask
            if table[2 * slot] == 0:
                table[2 * slot] = fp
                table[2 * slot + 1] = <uint64_t>n_columns << 32
                vocab[n_columns] = fp
                n_columns += 1
            numbers[i] = <int32_t>(table[2 * slot + 1] >> 32)
    return n_columns


def place(const uint64_t[::1] fps, uint64_t[:] slots, int shift) -> bool:
    """Lay distinct fingerprints out for lookup: home slot = top bits, clusters in ascending order.

    Ordered linear probing (Amble and Knuth, 1974): the layout depends on the set alone, not on the order of insertion,
    and a search ends at the first larger value. slots has spare room behind the last home slot, so nothing wraps round;
    returns False where that room was too small. The last slot stays empty.
    """
    cdef int64_t i
    cdef uint64_t slot, fp, other, last = <uint64_t>(slots.shape[0] - 1)
    with nogil:
        for i in range(fps.shape[0]):
            if i + AHEAD < fps.shape[0]:
                ln_prefetch(&slots[fps[i + AHEAD] >> shift])
            fp = fps[i]
            slot = fp >> shift
            while fp != 0:
                while slots[slot] != 0 and slots[slot] < fp:
                    slot += 1
                if slot >= last:
                    with gil:
                        return False
                other = slots[slot]
                slots[slot] = fp
                fp = other
                slot += 1
    return True


def lookup_chunk(const uint64_t[::1] fps, const int64_t[::1] ends, int64_t n_segments, const uint64_t[::1] slots,
                 int shift, const int32_t[::1] column_of, uint32_t[::1] last, int64_t[::1] state,
                 int32_t[::1] indices, int32_t[::1] counts, int64_t[::1] indptr):
    """Find the columns of a chunk's fingerprints in a laid-out vocabulary; unknown ones are left out.

    With no slots the column is the top bits of the fingerprint (hash mode). last, one a column, must start at zero;
    the caller makes the output arrays large enough. state = [entries so far, segments so far].
    """
    cdef int64_t pos = state[0], segment = state[1], k, i, begin, segment_start, last_fp
    cdef uint64_t fp, slot
    cdef bint counting = counts.shape[0] > 0, hashing = slots.shape[0] == 0
    cdef int32_t column
    cdef int64_t place_of
    last_fp = ends[n_segments - 1] if n_segments else 0
    with nogil:
        begin = 0
        for k in range(n_segments):
            segment_start = pos
            for i in range(begin, ends[k]):
                fp = fps[i]
                slot = fp >> shift
                if hashing:
                    column = <int32_t>slot
                else:
                    if i + AHEAD < last_fp:
                        ln_prefetch(&slots[fps[i + AHEAD] >> shift])
                    while slots[slot] < fp and slots[slot] != 0:
                        slot += 1
                    if slots[slot] != fp:
                        continue
                    column = column_of[slot]
                    if column < 0:
                        continue
                place_of = <int64_t>last[column] - 1
                if place_of >= segment_start and place_of < pos and indices[place_of] == column:
                    if counting:
                        counts[place_of] += 1
                    continue
                last[column] = <uint32_t>(pos + 1)
                indices[pos] = column
                if counting:
                    counts[pos] = 1
                pos += 1
            begin = ends[k]
            segment += 1
            indptr[segment] = pos
        state[0] = pos
        state[1] = segment


def find(const uint64_t[::1] fps, const uint64_t[:] slots, int shift, int64_t[::1] out):
    """Write the slot of each fingerprint, or -1; with no slots, the top bits (hash mode)."""
    cdef int64_t i
    cdef uint64_t slot
    with nogil:
        for i in range(fps.shape[0]):
            slot = fps[i] >> shift
            if slots.shape[0]:
                if i + AHEAD < fps.shape[0]:
                    ln_prefetch(&slots[fps[i + AHEAD] >> shift])
                while slots[slot] < fps[i] and slots[slot] != 0:
                    slot += 1
                if slots[slot] != fps[i]:
                    out[i] = -1
                    continue
            out[i] = <int64_t>slot


def fill_rows(const uint64_t[::1] fps, const uint64_t[:] slots, int shift, const float[::1] norm,
              const float[:, ::1] W, float[:, :] rows):
    """Write the norm weight and the weights of each fingerprint into the row of its slot."""
    cdef int64_t i, c, n_outputs = W.shape[1]
    cdef uint64_t slot
    with nogil:
        for i in range(fps.shape[0]):
            if i + AHEAD < fps.shape[0]:
                ln_prefetch(&slots[fps[i + AHEAD] >> shift])
            slot = fps[i] >> shift
            while slots[slot] != fps[i]:
                slot += 1
            rows[slot, 0] = norm[i]
            for c in range(n_outputs):
                rows[slot, 1 + c] = W[i, c]


def renumber(int32_t[::1] indices, const int32_t[::1] numbers):
    """Replace each column by numbers[column], in place."""
    cdef int64_t i
    with nogil:
        for i in range(indices.shape[0]):
            indices[i] = numbers[indices[i]]


def prune(int32_t[::1] indices, int32_t[::1] counts, int64_t[::1] indptr, const int32_t[::1] numbers) -> int:
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


def take(const int32_t[::1] indices, const int32_t[::1] counts, const int64_t[::1] begin, const int64_t[::1] indptr,
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


cdef fused number:
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


def sort_rows(const int64_t[::1] indptr, const int32_t[::1] indices, const number[::1] values, int64_t n_columns,
              uint64_t[:, ::1] scratch, int32_t[::1] out_indices, number[::1] out_values):
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
