"""Bytes to the parts of scores: the walk of the scorer, with every known feature, its factor and its places kept.

score_c = b_c + sum over features of factor_j W_jc,  factor_j = share tf_j / norm of its block (see score.pyx)

Features are numbered in the order of block and first sight; the places of feature f are first[f] .. first[f] + count[f] - 1,
in the order of the text: a fingerprint, a first byte and a length whose two highest bits are flags (see emit.pxd).
Cost: that of scoring, one pass more over the features, and 16 bytes written a place. The plain-Python twin is in
tests/test_explain_exact.py.
"""
from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset
from linnet._kernels.arithmetic cimport log
from linnet._kernels.emit cimport *
from linnet._kernels.text cimport *

cdef enum:
    LOOKAHEAD = 12

cdef enum:
    NORM_MEAN = 2

cdef enum:  # state
    FEATURES = 0
    PLACES = 1
    NEED_SCRATCH = 2


cdef inline int64_t number(const uint64_t* fps, int64_t n, int drop, uint64_t* keys, int32_t* owner, int32_t* tally,
                           uint32_t* table) noexcept nogil:
    """Number distinct keys, fingerprints without their lowest bits, in the order of first sight; count them."""
    cdef int64_t i, m = 0
    cdef uint64_t size = 16, mask, slot, key
    cdef int bits = 4
    while <int64_t>size < 2 * n:
        size <<= 1
        bits += 1
    mask = size - 1
    memset(table, 0, <size_t>size * sizeof(uint32_t))
    for i in range(n):
        key = (fps[i] >> drop) << drop
        slot = key >> (64 - bits)
        while table[slot] != 0 and keys[table[slot] - 1] != key:
            slot = (slot + 1) & mask
        if table[slot] == 0:
            keys[m] = key
            tally[m] = 0
            m += 1
            table[slot] = <uint32_t>m
        owner[i] = <int32_t>(table[slot] - 1)
        tally[owner[i]] += 1
    return m


def walk_documents(const uint8_t[::1] data, const int64_t[::1] offsets, int64_t first, int64_t last,
                   const int64_t[:, ::1] blocks, const double[::1] shares, int tf, int normalise,
                   const uint64_t[:] slots, int shift, const float[:, :] rows,
                   uint64_t[::1] hashes, int32_t[:, ::1] tokens, uint32_t[::1] codes, int32_t[:, ::1] chars,
                   uint64_t[::1] fps, int32_t[::1] starts, int32_t[::1] lengths, uint32_t[::1] table,
                   uint64_t[::1] keys, int32_t[::1] owner, int32_t[::1] tally, int64_t[::1] at,
                   int64_t[::1] state, int64_t[::1] ends, int64_t[::1] unknown,
                   int64_t[::1] out_slot, double[::1] out_factor, int64_t[::1] out_first, int64_t[::1] out_count,
                   uint64_t[::1] out_fp, int32_t[::1] out_start, int32_t[::1] out_length) -> int:
    """Walk documents first..last-1; returns last, or the document at which there was no room.

    state is [features, places, what the scratch must hold (0: the output is too small)]. ends[(d - first) * n_blocks + b]
    is where the features of block b of document d end, counted from the first feature of all; unknown[d - first] is how
    many pieces of text the model does not know. keys, owner, tally and at are scratch, as large as fps.
    """
    cdef Scratch s
    cdef int64_t n_blocks = blocks.shape[0], d, b, m, n, i, k, f, p, room = fps.shape[0], f0, p0
    cdef const int64_t* base = &blocks[0, 0]
    cdef const int64_t* block
    cdef const uint8_t* text = &data[0] if data.shape[0] else NULL
    cdef bint keep = needs_chars(base, n_blocks), hashing = slots.shape[0] == 0, mean = normalise == NORM_MEAN
    cdef uint64_t slot, found
    cdef double norm, t, w
    cdef const char* slot_base = <const char*>&slots[0] if slots.shape[0] else NULL
    cdef const char* row_base = <const char*>&rows[0, 0]
    cdef int64_t slot_step = slots.strides[0], row_step = rows.strides[0]
    s.token_hash = &hashes[0]
    s.token_start = &tokens[0, 0]
    s.token_end = &tokens[1, 0]
    s.token_char = &tokens[2, 0]
    s.char_code = &codes[0]
    s.char_start = &chars[0, 0]
    s.char_end = &chars[1, 0]
    with nogil:
        for d in range(first, last):
            f0 = state[FEATURES]
            p0 = state[PLACES]
            unknown[d - first] = 0
            for b in range(n_blocks):
                block = base + b * B_WIDTH
                if b == 0 or not same_tokens(block, block - B_WIDTH):
                    cut(&s, text + offsets[d], offsets[d + 1] - offsets[d], <int>block[B_TOKENS],
                        <int>block[B_CASE], keep)
                n = emit_bound(&s, block)
                state[NEED_SCRATCH] = n if n > room else 0
                if n <= room:
                    n = emit(&s, block, &fps[0], &starts[0], &lengths[0])
                f = state[FEATURES]
                p = state[PLACES]
                if state[NEED_SCRATCH] or f + n > out_slot.shape[0] or p + n > out_fp.shape[0]:
                    state[FEATURES] = f0
                    state[PLACES] = p0
                    with gil:
                        return d
                m = number(&fps[0], n, shift if hashing else 0, &keys[0], &owner[0], &tally[0], &table[0])
                for k in range(m if m < LOOKAHEAD else LOOKAHEAD):
                    ln_prefetch((row_base + (keys[k] >> shift) * row_step) if hashing
                                else (slot_base + (keys[k] >> shift) * slot_step))
                norm = 0.0
                for k in range(m):
                    if k + LOOKAHEAD < m:
                        slot = keys[k + LOOKAHEAD] >> shift
                        ln_prefetch((row_base + slot * row_step) if hashing else (slot_base + slot * slot_step))
                    slot = keys[k] >> shift
                    if not hashing:
                        found = (<const uint64_t*>(slot_base + slot * slot_step))[0]
                        while found < keys[k] and found != 0:
                            slot += 1
                            found = (<const uint64_t*>(slot_base + slot * slot_step))[0]
                        if found != keys[k]:
                            unknown[d - first] += tally[k]
                            at[k] = -1
                            continue
                    t = 1.0 if tf == 0 else tally[k] if tf == 1 else 1.0 + log(<double>tally[k])
                    w = t * (<const float*>(row_base + slot * row_step))[0]
                    norm += w if mean else w * w
                    out_slot[f] = <int64_t>slot
                    out_factor[f] = t
                    out_first[f] = at[k] = p
                    out_count[f] = tally[k]
                    p += tally[k]
                    f += 1
                t = shares[b]
                if normalise and norm > 0.0:
                    t /= norm if mean else sqrt(norm)
                for k in range(state[FEATURES], f):
                    out_factor[k] *= t
                for i in range(n):
                    k = at[owner[i]]
                    if k >= 0:
                        out_fp[k] = fps[i]
                        out_start[k] = starts[i]
                        out_length[k] = lengths[i]
                        at[owner[i]] += 1
                state[FEATURES] = f
                state[PLACES] = p
                ends[(d - first) * n_blocks + b] = f
    return last


def weigh(const int64_t[::1] ptr, const int64_t[::1] slot, const double[::1] factor, const float[:, :] W,
          const int64_t[::1] plus, const int64_t[::1] minus, const double[::1] sign, double[::1] out):
    """Write what each feature adds: factor times its weight in column plus of its document, less that in column minus.

    A negative column counts nothing; sign turns all of a document round.
    """
    cdef int64_t d, j
    cdef double w
    with nogil:
        for d in range(ptr.shape[0] - 1):
            for j in range(ptr[d], ptr[d + 1]):
                w = W[slot[j], plus[d]]
                if minus[d] >= 0:
                    w -= W[slot[j], minus[d]]
                out[j] = sign[d] * factor[j] * w


def largest(const double[::1] values, const int64_t[::1] ptr, int64_t[:, ::1] out):
    """Write where the values of each run ptr[d]..ptr[d + 1] - 1 are largest in size, largest first, ties in order; -1 pads."""
    cdef int64_t d, j, k, n = out.shape[1], m
    cdef double size
    with nogil:
        for d in range(ptr.shape[0] - 1):
            m = 0
            for j in range(ptr[d], ptr[d + 1]):
                size = fabs(values[j])
                if m == n and not size > fabs(values[out[d, n - 1]]):
                    continue
                k = m if m < n else n - 1
                if m < n:
                    m += 1
                while k > 0 and size > fabs(values[out[d, k - 1]]):
                    out[d, k] = out[d, k - 1]
                    k -= 1
                out[d, k] = j
            for k in range(m, n):
                out[d, k] = -1


def spread(const double[::1] values, const int64_t[::1] first, const int64_t[::1] count, const int32_t[::1] begin,
           const int32_t[::1] end, const uint8_t[::1] blank, double[::1] out) -> float:
    """Share each value between its places, each place between its characters, blanks left out unless there is nothing else.

    Adds to out, one number a character of the text, and returns what had no place with a character in it.
    """
    cdef int64_t f, p, c, solid, places
    cdef double share, left = 0.0
    with nogil:
        for f in range(values.shape[0]):
            places = 0
            for p in range(first[f], first[f] + count[f]):
                places += end[p] > begin[p]
            if places == 0:
                left += values[f]
                continue
            for p in range(first[f], first[f] + count[f]):
                if end[p] <= begin[p]:
                    continue
                solid = 0
                for c in range(begin[p], end[p]):
                    solid += blank[c] == 0
                share = values[f] / places / (solid if solid else end[p] - begin[p])
                for c in range(begin[p], end[p]):
                    if solid == 0 or blank[c] == 0:
                        out[c] += share
    return left


def gather_names(const uint64_t[::1] fps, const int32_t[::1] starts, const int32_t[::1] lengths, const int64_t[::1] ends,
                 int64_t n_segments, int64_t n_blocks, int64_t document, int shift, const int32_t[::1] rank,
                 uint64_t[:, ::1] names, int64_t[:, ::1] tally, int64_t[:, ::1] docs, int32_t[:, ::1] at,
                 int32_t[:, ::1] size, uint8_t[:, ::1] block, uint8_t[::1] dropped):
    """Keep the commonest features that hash to each wanted column, by Metwally's space saving.

    rank is the place of a column in the tables, or -1. A feature that finds its row full takes the place of the rarest,
    with its count: what is common stays, and a row is bounded. dropped says that a row has met more than it holds.
    """
    cdef int64_t segment, i, r, k, least, width = names.shape[1], begin = 0
    with nogil:
        for segment in range(n_segments):
            for i in range(begin, ends[segment]):
                r = rank[fps[i] >> shift]
                if r < 0:
                    continue
                least = 0
                for k in range(width):
                    if tally[r, k] == 0 or names[r, k] == fps[i]:
                        break
                    if tally[r, k] < tally[r, least]:
                        least = k
                else:
                    k = least
                    dropped[r] = 1
                if names[r, k] != fps[i] or tally[r, k] == 0:
                    names[r, k] = fps[i]
                    docs[r, k] = document + segment // n_blocks
                    at[r, k] = starts[i]
                    size[r, k] = lengths[i]
                    block[r, k] = <uint8_t>(segment % n_blocks)
                tally[r, k] += 1
            begin = ends[segment]
