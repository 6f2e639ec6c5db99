"""Bytes to scores in one pass: tokenise, hash, look up, add; no sparse matrix in between.

score_c = b_c + sum over blocks of (share / norm) * sum_j tf_j W_jc,  norm^2 = sum_j (tf_j n_j)^2 where rows are normalised,
norm = sum_j tf_j n_j where they are averaged

The vocabulary is laid out by vocab.place: the slot of a fingerprint is its top bits, or one soon after. rows[slot] =
[n, W_1 .. W_K] as 32-bit floats; with few classes the fingerprint and its row are one record in one cache line. The
address is known from the fingerprint alone and is prefetched. The rows of a slot must be contiguous.
In hash mode there are no slots and the row is the top bits. Sums are kept in double, in the order of the text.
Where counts matter, repetitions are taken out before the look-up. Where only presence does, they are found after it, by
one bit a slot: two classes then need no branch that depends on the text, but where a cluster is long.
Cost: the walk over the bytes plus one or two cache lines per feature.
"""
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset
from linnet._kernels.arithmetic cimport log
from linnet._kernels.emit cimport *
from linnet._kernels.text cimport *

cdef enum:
    LOOKAHEAD = 12
    STEPS = 2       # along a cluster without a branch

cdef enum:
    TF_PRESENCE = 0
    TF_SUBLINEAR = 2

cdef enum:
    NORM_MEAN = 2


cdef inline int64_t distinct(uint64_t* fps, int32_t* counts, int64_t n, uint32_t* table, uint64_t mask,
                             int shift) noexcept nogil:
    """Keep the first of each fingerprint, in place, and count the others into it."""
    cdef int64_t i, m = 0
    cdef uint64_t slot
    memset(table, 0, <size_t>(mask + 1) * sizeof(uint32_t))
    for i in range(n):
        slot = fps[i] >> shift
        while table[slot] != 0 and fps[table[slot] - 1] != fps[i]:
            slot = (slot + 1) & mask
        if table[slot] == 0:
            table[slot] = <uint32_t>(m + 1)
            fps[m] = fps[i]
            counts[m] = 1
            m += 1
        else:
            counts[table[slot] - 1] += 1
    return m


cdef inline void touch(const char* slot_base, int64_t slot_step, const char* row_base, int64_t row_step, uint64_t slot,
                       bint hashing, bint apart) noexcept nogil:
    """Ask for the cache lines of a slot ahead of time."""
    if not hashing:
        ln_prefetch(slot_base + slot * slot_step)
    if hashing or apart:
        ln_prefetch(row_base + slot * row_step)


cdef inline uint64_t find(const char* slot_base, int64_t slot_step, uint64_t fp, uint64_t slot) noexcept nogil:
    """Where a fingerprint is, or the first slot that says it is nowhere; an empty slot, less one, is above them all."""
    cdef int _
    for _ in range(STEPS):
        slot += (<const uint64_t*>(slot_base + slot * slot_step))[0] - 1 < fp - 1
    while (<const uint64_t*>(slot_base + slot * slot_step))[0] - 1 < fp - 1:
        slot += 1
    return slot


cdef inline double add_present(uint64_t* fps, int64_t m, const char* slot_base, int64_t slot_step, const char* row_base,
                               int64_t row_step, int shift, bint hashing, bint apart, bint mean, int64_t n_outputs,
                               uint64_t* seen, double* total) noexcept nogil:
    """Add the rows of the features that are there, each once, to total; return the norm. seen is zero again after."""
    cdef double norm = 0.0, first = 0.0, unit
    cdef double[2] units
    cdef int64_t i, c
    cdef uint64_t slot, bit, hit
    cdef const float* row
    units[0] = 0.0
    units[1] = 1.0
    for i in range(m if m < LOOKAHEAD else LOOKAHEAD):
        touch(slot_base, slot_step, row_base, row_step, fps[i] >> shift, hashing, apart)
    for i in range(m):
        if i + LOOKAHEAD < m:
            touch(slot_base, slot_step, row_base, row_step, fps[i + LOOKAHEAD] >> shift, hashing, apart)
            ln_prefetch(seen + (fps[i + LOOKAHEAD] >> shift >> 6))
        slot = fps[i] >> shift
        hit = 1
        if not hashing:
            slot = find(slot_base, slot_step, fps[i], slot)
            hit = (<const uint64_t*>(slot_base + slot * slot_step))[0] == fps[i]
        fps[i] = slot >> 6
        bit = seen[slot >> 6]
        hit &= ~(bit >> (slot & 63))
        seen[slot >> 6] = bit | (hit << (slot & 63))
        row = <const float*>(row_base + slot * row_step)
        if n_outputs == 1:
            unit = units[hit]
            norm += unit * (row[0] if mean else <double>row[0] * row[0])
            first += unit * row[1]
        elif hit:
            norm += row[0] if mean else <double>row[0] * row[0]
            for c in range(n_outputs):
                total[c] += row[1 + c]
    if n_outputs == 1:
        total[0] = first
    for i in range(m):
        seen[fps[i]] = 0
    return norm


cdef inline double add_counted(uint64_t* fps, int32_t* counts, int64_t m, uint32_t* table, const char* slot_base,
                               int64_t slot_step, const char* row_base, int64_t row_step, int shift, bint hashing,
                               bint apart, bint mean, int tf, int64_t n_outputs, double* total) noexcept nogil:
    """Add the rows of the features that are there, times their counts or 1 + log of them, to total; return the norm."""
    cdef double norm = 0.0, t
    cdef int64_t i, c, size = 16
    cdef int bits = 4
    cdef uint64_t slot
    cdef const float* row
    if hashing:   # features that share a column are one feature, as in training
        for i in range(m):
            fps[i] = (fps[i] >> shift) << shift
    while size < 2 * m:
        size <<= 1
        bits += 1
    m = distinct(fps, counts, m, table, size - 1, 64 - bits)
    for i in range(m if m < LOOKAHEAD else LOOKAHEAD):
        touch(slot_base, slot_step, row_base, row_step, fps[i] >> shift, hashing, apart)
    for i in range(m):
        if i + LOOKAHEAD < m:
            touch(slot_base, slot_step, row_base, row_step, fps[i + LOOKAHEAD] >> shift, hashing, apart)
        slot = fps[i] >> shift
        if not hashing:
            slot = find(slot_base, slot_step, fps[i], slot)
            if (<const uint64_t*>(slot_base + slot * slot_step))[0] != fps[i]:
                continue
        row = <const float*>(row_base + slot * row_step)
        t = 1.0 + log(counts[i]) if tf == TF_SUBLINEAR else counts[i]
        norm += t * row[0] if mean else t * t * row[0] * row[0]
        for c in range(n_outputs):
            total[c] += t * row[1 + c]
    return norm


def score_documents(const uint8_t[::1] data, const int64_t[::1] offsets, int64_t first, int64_t last,
                    const int64_t[:, ::1] blocks, const double[::1] shares, int tf, int normalise,
                    const uint64_t[:] slots, int shift, const float[:, :] rows, const double[::1] b,
                    uint64_t[::1] hashes, int32_t[:, ::1] tokens, uint32_t[::1] codes, int32_t[:, ::1] chars,
                    uint64_t[::1] fps, int32_t[::1] starts, int32_t[::1] lengths, uint32_t[::1] table,
                    uint64_t[::1] seen, double[::1] total, double[:, ::1] out) -> int:
    """Score documents first..last-1 into out; returns the document at which the scratch was too small, or last.

    normalise is 0 (not), 1 (length 1) or 2 (mean). total is scratch, (n_outputs,); seen too, a bit a slot, all zero.
    """
    cdef Scratch s
    cdef int64_t n_blocks = blocks.shape[0], n_outputs = rows.shape[1] - 1, d, block_number, m, c, room = fps.shape[0]
    cdef const int64_t* base = &blocks[0, 0]
    cdef const int64_t* block
    cdef const uint8_t* text = &data[0] if data.shape[0] else NULL
    cdef bint keep = needs_chars(base, n_blocks), hashing = slots.shape[0] == 0, mean = normalise == NORM_MEAN
    cdef double norm, t
    # plain pointers and strides: the arrays may be columns of one table of records
    cdef const char* slot_base = <const char*>&slots[0] if slots.shape[0] else NULL
    cdef const char* row_base = <const char*>&rows[0, 0]
    cdef int64_t slot_step = slots.strides[0], row_step = rows.strides[0]
    cdef bint apart = not hashing and slot_step == sizeof(uint64_t)
    s.token_hash = &hashes[0]
    s.token_start = &tokens[0, 0]
    s.token_end = &tokens[1, 0]
    s.token_char = &tokens[2, 0]
    s.char_code = &codes[0]
    s.char_start = &chars[0, 0]
    s.char_end = &chars[1, 0]
    with nogil:
        for d in range(first, last):
            for c in range(n_outputs):
                out[d, c] = b[c]
            for block_number in range(n_blocks):
                block = base + block_number * B_WIDTH
                if block_number == 0 or not same_tokens(block, block - B_WIDTH):
                    cut(&s, text + offsets[d], offsets[d + 1] - offsets[d], <int>block[B_TOKENS],
                        <int>block[B_CASE], keep)
                if emit_bound(&s, block) > room:
                    with gil:
                        return d
                m = emit(&s, block, &fps[0], NULL, NULL)
                for c in range(n_outputs):
                    total[c] = 0.0
                if tf == TF_PRESENCE:
                    norm = add_present(&fps[0], m, slot_base, slot_step, row_base, row_step, shift, hashing, apart, mean,
                                       n_outputs, &seen[0], &total[0])
                else:
                    norm = add_counted(&fps[0], &starts[0], m, &table[0], slot_base, slot_step, row_base, row_step, shift,
                                       hashing, apart, mean, tf, n_outputs, &total[0])
                t = shares[block_number]
                if normalise and norm > 0.0:
                    t /= norm if mean else sqrt(norm)
                for c in range(n_outputs):
                    out[d, c] += total[c] * t
    return last
