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
from linnet._kernels.blocks cimport *
from linnet._kernels.hints cimport ln_prefetch
from linnet._kernels.tokenise cimport tokenise
from linnet._kernels.tokens cimport Tokens

cdef enum:
    PIECE = 1 << 18     # bytes: longer texts are taken in pieces
    LOOKAHEAD = 48
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


cdef struct Lookup:
    const char* slot_base   # plain pointers and steps in bytes: slots and rows may be columns of one table of records
    const char* row_base
    int64_t slot_step
    int64_t row_step
    int64_t n_outputs
    int shift
    uint64_t ignored        # bits of a fingerprint that do not count
    bint hashing            # no slots: the row is the top bits of the fingerprint
    bint apart              # slots and rows are in different cache lines
    bint mean               # rows are averaged, not divided by their length


cdef class WeightTable:
    """What a model knows of its features, laid out for lookup: fingerprints by slot, rows [n, W_1 .. W_K], b, tf, normalise.

    ignored has the bits of fingerprints that do not count; they are ones in the slots. tf is 0 (presence), 1 (count) or 2
    (sublinear); normalise is 0 (not), 1 (length 1) or 2 (mean). slots is empty in hash mode. The arrays are kept, not copied.
    """

    cdef Lookup lookup
    cdef int tf, normalise
    cdef int64_t n_slots
    cdef tuple given
    cdef const double[::1] b

    def __init__(self, const uint64_t[:] slots, int shift, const float[:, :] rows, const double[::1] b, int tf, int normalise,
                 uint64_t ignored=0):
        if not 0 <= tf <= TF_SUBLINEAR or not 0 <= normalise <= NORM_MEAN:
            raise ValueError(f"unknown tf {tf} or normalise {normalise}")
        if rows.shape[0] == 0 or rows.shape[1] != b.shape[0] + 1:
            raise ValueError(f"rows of {rows.shape[1]} numbers, with {b.shape[0]} outputs; a row is its norm and a weight each")
        self.given = numpy.asarray(slots), shift, numpy.asarray(rows), numpy.asarray(b), tf, normalise, ignored
        self.b, self.tf, self.normalise, self.n_slots = b, tf, normalise, rows.shape[0]
        self.lookup.slot_base = <const char*>&slots[0] if slots.shape[0] else NULL
        self.lookup.row_base = <const char*>&rows[0, 0]
        self.lookup.slot_step = slots.strides[0]
        self.lookup.row_step = rows.strides[0]
        self.lookup.n_outputs = b.shape[0]
        self.lookup.shift = shift
        self.lookup.ignored = ignored
        self.lookup.hashing = slots.shape[0] == 0
        self.lookup.apart = slots.shape[0] > 0 and slots.strides[0] == sizeof(uint64_t)
        self.lookup.mean = normalise == NORM_MEAN

    def __reduce__(self):
        return WeightTable, self.given


cdef inline void touch(Lookup w, uint64_t slot) noexcept nogil:
    """Ask for the cache lines of a slot ahead of time."""
    if not w.hashing:
        ln_prefetch(w.slot_base + slot * w.slot_step)
    if w.hashing or w.apart:
        ln_prefetch(w.row_base + slot * w.row_step)
    else:   # where a cluster goes on in the next line
        ln_prefetch(w.slot_base + (slot + STEPS) * w.slot_step)


cdef inline void cut(Lookup w, uint64_t* fps, int64_t m) noexcept nogil:
    """Set the bits that do not count."""
    cdef int64_t i
    if w.ignored:
        for i in range(m):
            fps[i] |= w.ignored


cdef inline uint64_t fingerprint_at(Lookup w, uint64_t slot) noexcept nogil:
    return (<const uint64_t*>(w.slot_base + slot * w.slot_step))[0]


cdef inline const float* row_at(Lookup w, uint64_t slot) noexcept nogil:
    return <const float*>(w.row_base + slot * w.row_step)


cdef inline uint64_t slot_for(Lookup w, uint64_t fp) noexcept nogil:
    """Where a fingerprint is, or the first slot that says it is nowhere; an empty slot, less one, is above them all."""
    cdef uint64_t slot = fp >> w.shift
    cdef int _
    for _ in range(STEPS):
        slot += fingerprint_at(w, slot) - 1 < fp - 1
    while fingerprint_at(w, slot) - 1 < fp - 1:
        slot += 1
    return slot


cdef inline double add_present(Lookup w, uint64_t* fps, int64_t m, uint64_t* seen, double norm, double* total) noexcept nogil:
    """Add the rows of the features that are there and were not seen, each once, to total; return norm and theirs.

    Afterwards fps are the places of the bits that were set.
    """
    cdef double first = total[0], unit
    cdef double[2] units
    cdef int64_t i, c
    cdef uint64_t slot, bit, hit
    cdef const float* row
    units[0] = 0.0
    units[1] = 1.0
    for i in range(m if m < LOOKAHEAD else LOOKAHEAD):
        touch(w, fps[i] >> w.shift)
    for i in range(m):
        if i + LOOKAHEAD < m:
            touch(w, fps[i + LOOKAHEAD] >> w.shift)
            ln_prefetch(seen + (fps[i + LOOKAHEAD] >> w.shift >> 6))
        if w.hashing:
            slot = fps[i] >> w.shift
            hit = 1
        else:
            slot = slot_for(w, fps[i])
            hit = fingerprint_at(w, slot) == fps[i]
        fps[i] = slot >> 6
        bit = seen[slot >> 6]
        hit &= ~(bit >> (slot & 63))
        seen[slot >> 6] = bit | (hit << (slot & 63))
        row = row_at(w, slot)
        if w.n_outputs == 1:
            unit = units[hit]
            norm += unit * (row[0] if w.mean else <double>row[0] * row[0])
            first += unit * row[1]
        elif hit:
            norm += row[0] if w.mean else <double>row[0] * row[0]
            for c in range(w.n_outputs):
                total[c] += row[1 + c]
    if w.n_outputs == 1:
        total[0] = first
    return norm


cdef inline double add_counted(Lookup w, uint64_t* fps, int32_t* counts, int64_t m, uint32_t* table, int tf,
                               double* total) noexcept nogil:
    """Add the rows of the features that are there, times their counts or 1 + log of them, to total; return the norm."""
    cdef double norm = 0.0, t
    cdef int64_t i, c, size = 16
    cdef int bits = 4
    cdef uint64_t slot
    cdef const float* row
    if w.hashing:   # features that share a column are one feature, as in training
        for i in range(m):
            fps[i] = (fps[i] >> w.shift) << w.shift
    while size < 2 * m:
        size <<= 1
        bits += 1
    m = distinct(fps, counts, m, table, size - 1, 64 - bits)
    for i in range(m if m < LOOKAHEAD else LOOKAHEAD):
        touch(w, fps[i] >> w.shift)
    for i in range(m):
        if i + LOOKAHEAD < m:
            touch(w, fps[i + LOOKAHEAD] >> w.shift)
        slot = fps[i] >> w.shift
        if not w.hashing:
            slot = slot_for(w, fps[i])
            if fingerprint_at(w, slot) != fps[i]:
                continue
        row = row_at(w, slot)
        t = 1.0 + log(counts[i]) if tf == TF_SUBLINEAR else counts[i]
        norm += t * row[0] if w.mean else t * t * row[0] * row[0]
        for c in range(w.n_outputs):
            total[c] += t * row[1 + c]
    return norm


cdef inline int64_t count_present(Lookup w, const uint64_t* fps, int64_t m, int32_t* counts, int64_t* places,
                                  int64_t n) noexcept nogil:
    """Count the features that are there, slot by slot; places are the n slots with a count, in the order of the text."""
    cdef int64_t i
    cdef uint64_t slot
    for i in range(m if m < LOOKAHEAD else LOOKAHEAD):
        touch(w, fps[i] >> w.shift)
    for i in range(m):
        if i + LOOKAHEAD < m:
            touch(w, fps[i + LOOKAHEAD] >> w.shift)
        slot = fps[i] >> w.shift
        if not w.hashing:
            slot = slot_for(w, fps[i])
            if fingerprint_at(w, slot) != fps[i]:
                continue
        if counts[slot] == 0:
            places[n] = slot
            n += 1
        counts[slot] += 1
    return n


cdef inline double add_places(Lookup w, int32_t* counts, const int64_t* places, int64_t n, int tf, double* total) noexcept nogil:
    """Add the rows of some slots, times their counts or 1 + log of them, to total; return the norm. Counts are zero after."""
    cdef double norm = 0.0, t
    cdef int64_t i, c
    cdef const float* row
    for i in range(n):
        row = row_at(w, places[i])
        t = 1.0 + log(counts[places[i]]) if tf == TF_SUBLINEAR else counts[places[i]]
        norm += t * row[0] if w.mean else t * t * row[0] * row[0]
        for c in range(w.n_outputs):
            total[c] += t * row[1 + c]
        counts[places[i]] = 0
    return norm


cdef inline bint is_blank(uint8_t c) noexcept nogil:
    return c == 32 or 9 <= c <= 13


cdef inline int64_t piece_end(const uint8_t* text, int64_t begin, int64_t wanted, int64_t n) noexcept nogil:
    """Where a piece of about the wanted size ends: after a blank, or with the text."""
    cdef int64_t end = begin + wanted
    if end >= n:
        return n
    while end > begin and not is_blank(text[end - 1]):
        end -= 1
    return end if end > begin else n if begin + 2 * wanted >= n else piece_end(text, begin, 2 * wanted, n)


cdef inline int64_t next_start(const Tokens* s, int64_t ahead) noexcept nogil:
    """The token that the next piece begins with: one after a blank, with enough tokens behind those before it; 0 is none."""
    cdef int64_t t = s.n_tokens - ahead - 1
    while t > 0 and not is_blank(s.text[s.token_start[t] - 1]):
        t -= 1
    return t if t > 0 else 0


cdef double score_long(const uint8_t* text, int64_t n, const BlockSpec* block, bint needs_chars, WeightTable weights,
                       Scratch scratch, double* total) except? -1.0 nogil:
    """Score one block of a long text in pieces, with the sums that the whole text gives; returns the norm."""
    cdef Lookup w = weights.lookup
    cdef Tokens s
    cdef int64_t begin = 0, end, wanted = PIECE, ahead = tokens_ahead(block), following, m, n_places = 0
    cdef double norm = 0.0
    if ahead < 0:
        wanted = n   # it needs the whole text
    with gil:
        scratch.bits(weights.n_slots)
        if weights.tf != TF_PRESENCE:
            scratch.tally(weights.n_slots)
    while begin < n:
        end = piece_end(text, begin, wanted, n)
        if end - begin > scratch.longest:
            with gil:
                scratch.need_length(end - begin)
        s = scratch.tokens
        tokenise(&s, text + begin, end - begin, block.tokens, block.case_mode, needs_chars)
        following = 0
        if end < n:
            following = next_start(&s, ahead)
            if following == 0:     # not a place to cut at
                wanted *= 2
                continue
            s.n_starts = following
        m = emit_bound(&s, block)
        if m > scratch.room:
            with gil:
                scratch.need_room(m)
        m = emit(&s, block, scratch.out_fps, <char*>NULL, <char*>NULL)
        cut(w, scratch.out_fps, m)
        if weights.tf == TF_PRESENCE:
            norm = add_present(w, scratch.out_fps, m, scratch.seen, norm, total)
        else:
            n_places = count_present(w, scratch.out_fps, m, scratch.counts, scratch.places, n_places)
        begin = begin + s.token_start[following] if following else n
        wanted = PIECE if ahead >= 0 else n
    if weights.tf == TF_PRESENCE:
        memset(scratch.seen, 0, <size_t>((weights.n_slots + 63) // 64) * sizeof(uint64_t))
        return norm
    return add_places(w, scratch.counts, scratch.places, n_places, weights.tf, total)


def score_documents(const uint8_t[::1] data, const int64_t[::1] offsets, int64_t first, int64_t last, CompiledBlocks blocks,
                    WeightTable weights, Scratch scratch, double[:, ::1] out):
    """Score documents first..last-1 into their rows of out; the scratch is made larger where a document needs it.

    A text longer than PIECE bytes is taken in pieces, so that it needs no more memory than a short one.
    """
    cdef Lookup w = weights.lookup
    cdef Tokens s
    cdef int64_t d, number, m, c, i, length, n_outputs = w.n_outputs
    cdef const BlockSpec* block
    cdef const uint8_t* text = &data[0] if data.shape[0] else NULL
    cdef const double* b = &weights.b[0]
    cdef double norm, t
    cdef double* total
    if out.shape[1] != n_outputs:
        raise ValueError(f"out has {out.shape[1]} columns, the model {n_outputs} outputs")
    for d in range(first, last):
        length = min(PIECE, offsets[d + 1] - offsets[d])
        if length > scratch.longest:
            scratch.need_length(length)
    s = scratch.tokens   # a copy, which nobody else can change
    scratch.need_room(1)
    scratch.outputs(n_outputs)
    if weights.tf == TF_PRESENCE:
        scratch.bits(weights.n_slots)
    total = scratch.sums
    with nogil:
        for d in range(first, last):
            length = offsets[d + 1] - offsets[d]
            for c in range(n_outputs):
                out[d, c] = b[c]
            for number in range(blocks.n):
                block = blocks.specs + number
                for c in range(n_outputs):
                    total[c] = 0.0
                if length > PIECE:
                    norm = score_long(text + offsets[d], length, block, blocks.needs_chars, weights, scratch, total)
                    s = scratch.tokens
                else:
                    if number == 0 or not same_tokens(block, block - 1):
                        tokenise(&s, text + offsets[d], length, block.tokens, block.case_mode, blocks.needs_chars)
                    m = emit_bound(&s, block)
                    if m > scratch.room:
                        with gil:
                            scratch.need_room(m)
                    m = emit(&s, block, scratch.out_fps, <char*>NULL, <char*>NULL)
                    cut(w, scratch.out_fps, m)
                    if weights.tf == TF_PRESENCE:
                        norm = add_present(w, scratch.out_fps, m, scratch.seen, 0.0, total)
                        for i in range(m):
                            scratch.seen[scratch.out_fps[i]] = 0
                    else:
                        norm = add_counted(w, scratch.out_fps, scratch.out_starts, m, scratch.distinct, weights.tf, total)
                t = block.share
                if weights.normalise and norm > 0.0:
                    t /= norm if w.mean else sqrt(norm)
                for c in range(n_outputs):
                    out[d, c] += total[c] * t
