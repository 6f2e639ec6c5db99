"""Bytes to scores in one pass: tokenise, hash, look up, add; no sparse matrix in between.

score_c = b_c + sum over blocks of (share / norm) * sum_j tf_j W_jc,  norm^2 = sum_j (tf_j n_j)^2 where rows are normalised,
norm = sum_j tf_j n_j where they are averaged

The vocabulary is laid out by vocab.place: the slot of a fingerprint is its top bits, or one soon after. rows[slot] =
[n, W_1 .. W_K] as 32-bit floats; with few classes the fingerprint and its row are one record in one cache line. The
address is known from the fingerprint alone and is prefetched. The rows of a slot must be contiguous.
In hash mode there are no slots and the row is the top bits. Sums are kept in double, in the order of the text.

Rounded weights are codes of 16 bits, and a record is [key, number of n, code_1 .. code_K] or, with many classes, [key, row
number]; n is norms[its number]. A key is the lowest 32 bits of the bits of a fingerprint that count. Keys along a cluster rise,
and the home of each is near, so two keys are compared by the sign of their difference; the key of an empty slot is the largest
that could be there, and its row is zeros. Sums of codes are whole numbers, so they are exact: times the step of their class,
a power of two, they are what the floats give.
Where counts matter, repetitions are taken out before the look-up. Where only presence does, they are found after it, by
one bit a slot: two classes then need no branch that depends on the text, but where a cluster is long.
Cost: the walk over the bytes plus one or two cache lines per feature.
"""
from libc.math cimport sqrt
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset
from linnet._kernels.arithmetic cimport log
from linnet._kernels.blocks cimport *
from linnet._kernels.hints cimport ln_prefetch
from linnet._kernels.tokenise cimport tokenise
from linnet._kernels.tokens cimport Tokens

cdef enum:
    PIECE = 1 << 18     # bytes: longer texts are taken in pieces
    LOOKAHEAD = 48
    ROWS_AHEAD = 8  # of many classes
    CODES_A_LINE = 32
    STEPS = 2       # along a cluster without a branch
    MOST_HITS = (1 << 16) - 1   # codes whose sum has room in 32 bits
    ONE_RECORD = 6  # outputs: up to here a key and its codes share one record
    NORMS = 1 << 16         # different norm weights

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
    const char* next_base   # what is read after the slot: its row, or the slots behind it
    int64_t slot_step
    int64_t row_step
    int64_t next_step
    int64_t n_outputs
    int64_t last            # slot
    int shift
    int key_shift           # what is left of a fingerprint, in its lowest 32 bits, is its key
    uint64_t ignored        # bits of a fingerprint that do not count
    const int16_t* codes    # rows of rounded weights, [number of n, code_1 .. code_K]; with few classes in the records
    const float* norms      # (NORMS,); NULL: weights are floats
    bint hashing            # no slots: the row is the top bits of the fingerprint
    bint mean               # rows are averaged, not divided by their length


cdef class WeightTable:
    """What a model knows of its features, laid out for lookup: b, tf, normalise, and floats by slot or codes.

    tf is 0 (presence), 1 (count) or 2 (sublinear); normalise is 0 (not), 1 (length 1) or 2 (mean). The arrays are kept, not copied.
    """

    cdef Lookup lookup
    cdef int tf, normalise
    cdef int64_t n_slots
    cdef tuple given
    cdef const double[::1] b
    cdef double[::1] steps

    def __init__(self, const double[::1] b, int tf, int normalise, int shift):
        if not 0 <= tf <= TF_SUBLINEAR or not 0 <= normalise <= NORM_MEAN:
            raise ValueError(f"unknown tf {tf} or normalise {normalise}")
        self.b, self.tf, self.normalise = b, tf, normalise
        self.steps = numpy.ones(b.shape[0])
        self.lookup.n_outputs = b.shape[0]
        self.lookup.shift = shift
        self.lookup.mean = normalise == NORM_MEAN
        self.given = numpy.asarray(b), tf, normalise, shift

    def of_floats(self, const uint64_t[:] slots, const float[:, :] rows, uint64_t ignored):
        """Read fingerprints by slot and rows [n, W_1 .. W_K]; slots is empty in hash mode.

        ignored has the bits of fingerprints that do not count; they are ones in the slots.
        """
        if rows.shape[0] == 0 or rows.shape[1] != self.b.shape[0] + 1:
            raise ValueError(f"rows of {rows.shape[1]} numbers, with {self.b.shape[0]} outputs; a row is its norm and a weight each")
        self.given = *self.given[:4], "of_floats", (numpy.asarray(slots), numpy.asarray(rows), ignored)
        self.n_slots = rows.shape[0]
        self.lookup.hashing = slots.shape[0] == 0
        self.lookup.row_base = <const char*>&rows[0, 0]
        self.lookup.row_step = rows.strides[0]
        self.lookup.slot_base = self.lookup.row_base if self.lookup.hashing else <const char*>&slots[0]
        self.lookup.slot_step = self.lookup.row_step if self.lookup.hashing else slots.strides[0]
        self.lookup.ignored = ignored
        self.read_ahead(not self.lookup.hashing and slots.strides[0] == sizeof(uint64_t))
        return self

    cdef read_ahead(self, bint rows):
        """Say what touch asks for behind a slot: its row, which is elsewhere, or the slots behind."""
        self.lookup.next_base = self.lookup.row_base if rows else self.lookup.slot_base + STEPS * self.lookup.slot_step
        self.lookup.next_step = self.lookup.row_step if rows else self.lookup.slot_step

    def of_codes(self, const uint16_t[:, ::1] records, const int16_t[:, ::1] codes, const float[::1] norms, const float[::1] steps,
                 int bits):
        """Read codes as `encode_rows` writes them; bits of a fingerprint count. The numbers in records must be rows of codes."""
        cdef int64_t K = self.b.shape[0], c
        cdef bint fits = K <= ONE_RECORD and records.shape[0] > 0
        if records.shape[1] != record_width(K) or norms.shape[0] != NORMS or steps.shape[0] != K + 1 or (
                not fits and (codes.shape[0] == 0 or codes.shape[1] != K + 1)):
            raise ValueError("records, codes, norms and steps do not fit together")
        self.given = *self.given[:4], "of_codes", tuple(map(numpy.asarray, (records, codes, norms, steps))) + (bits,)
        self.lookup.hashing = records.shape[0] == 0
        self.n_slots = codes.shape[0] if self.lookup.hashing else records.shape[0]
        self.lookup.slot_base = <const char*>&codes[0, 0] if self.lookup.hashing else <const char*>&records[0, 0]
        self.lookup.slot_step = (codes.shape[1] if self.lookup.hashing else records.shape[1]) * sizeof(uint16_t)
        self.read_ahead(False)
        self.lookup.codes = NULL if fits else &codes[0, 0]
        self.lookup.norms = &norms[0]
        self.lookup.last = self.n_slots - 1
        self.lookup.key_shift = 64 - bits
        self.lookup.ignored = (<uint64_t>1 << (64 - bits)) - 1 if bits < 64 else 0
        for c in range(K):
            self.steps[c] = steps[1 + c]
        return self

    def find(self, const uint64_t[::1] fps, int64_t[::1] out):
        """Write the slot of each fingerprint, or -1; in hash mode, the top bits."""
        cdef Lookup w = self.lookup
        cdef int64_t i
        cdef uint64_t slot
        with nogil:
            for i in range(fps.shape[0]):
                if i + LOOKAHEAD < fps.shape[0]:
                    touch(w, fps[i + LOOKAHEAD] >> w.shift)
                slot = find_slot(w, fps[i] | w.ignored)
                out[i] = <int64_t>slot if is_at(w, slot, fps[i] | w.ignored) else -1

    def __reduce__(self):
        return _weight_table, self.given


def _weight_table(b, tf, normalise, shift, how, arrays):
    return getattr(WeightTable(b, tf, normalise, shift), how)(*arrays)


def record_width(int64_t n_outputs) -> int:
    """Return how many numbers of 16 bits a record has: a key, and codes or a row number, in whole words of 64 bits."""
    return (3 + n_outputs + 3) // 4 * 4 if n_outputs <= ONE_RECORD else 4


ctypedef fused code_or_float:
    int8_t
    int16_t
    float


def encode_rows(const uint64_t[:] keys, const float[:] norm, const code_or_float[:, :] W, const float[::1] steps, int shift, int bits,
                uint16_t[:, ::1] records, int16_t[:, ::1] codes, float[::1] norms, int64_t[::1] used) -> bool:
    """Lay out the rows of ascending fingerprints, those that are 0 left out; records is as long as the slots, or empty in hash mode.

    Weights are codes, or floats that are rounded to multiples of their step. codes has a row more than there are features: the first
    is that of empty slots. In hash mode it has a row a column. norms is filled from 1 on. used are the slots that were taken.
    Returns False where there are too many different norms, or a fingerprint is too far from its home.
    """
    cdef int64_t i, c, K = W.shape[1], slot = -1, n = 0, n_norms = 1, last = records.shape[0] - 1, far
    cdef int rest = bits - (64 - shift)
    cdef bint hashing = records.shape[0] == 0, one = K <= ONE_RECORD
    cdef float whole = 12582912.0, value
    cdef uint32_t place
    cdef uint32_t* key
    cdef int16_t* row
    cdef uint32_t[::1] known = numpy.zeros(2 * NORMS, numpy.uint32)
    if not hashing and not 0 <= rest <= 26:
        return False
    far = (<int64_t>1 << (31 - rest)) - 2 * STEPS if not hashing else 0     # keys of neighbours are less than 2^31 apart
    with nogil:
        for i in range(records.shape[0]):
            key = <uint32_t*>&records[i, 0]
            key[0] = empty_key(i, rest)
        for i in range(norm.shape[0]):
            if not hashing:
                if keys[i] == 0:
                    continue
                slot = max(slot + 1, <int64_t>(keys[i] >> shift))
                if slot >= last or slot - <int64_t>(keys[i] >> shift) > far:
                    with gil:
                        return False
            value = norm[i]
            if steps[0] != 0.0:
                value = (value / steps[0] + whole - whole) * steps[0]
            place = ((<uint32_t*>&value)[0] * <uint32_t>2654435761) >> 15
            while known[place] != 0 and norms[known[place]] != value:
                place = (place + 1) & (2 * NORMS - 1)
            if known[place] == 0:
                if n_norms == NORMS:
                    with gil:
                        return False
                known[place] = <uint32_t>n_norms
                norms[n_norms] = value
                n_norms += 1
            if hashing:
                row = &codes[i, 0]
            else:
                key = <uint32_t*>&records[slot, 0]
                key[0] = <uint32_t>(keys[i] >> (64 - bits))
                used[n] = slot
                n += 1
                if one:
                    row = <int16_t*>&records[slot, 2]
                else:
                    key[1] = <uint32_t>n
                    row = &codes[n, 0]
            row[0] = <int16_t>known[place]
            for c in range(K):
                if code_or_float is float:
                    row[1 + c] = <int16_t>(W[i, c] / steps[1 + c] + whole - whole)
                else:
                    row[1 + c] = W[i, c]
    return True


cdef inline uint32_t empty_key(int64_t slot, int rest) noexcept nogil:
    return <uint32_t>((<uint64_t>(slot + 1) << rest) - 1)


cdef inline uint32_t key_at(Lookup w, uint64_t slot) noexcept nogil:
    return (<const uint32_t*>(w.slot_base + slot * w.slot_step))[0]


cdef inline uint32_t row_number(Lookup w, uint64_t slot) noexcept nogil:
    return (<const uint32_t*>(w.slot_base + slot * w.slot_step))[1]


cdef inline const int16_t* codes_at(Lookup w, uint64_t slot) noexcept nogil:
    """The number of n and the codes of a slot."""
    if w.codes == NULL:
        return <const int16_t*>(w.slot_base + slot * w.slot_step) + 2
    if w.hashing:
        return w.codes + slot * (w.n_outputs + 1)
    return w.codes + <int64_t>row_number(w, slot) * (w.n_outputs + 1)


cdef inline void touch(Lookup w, uint64_t slot) noexcept nogil:
    """Ask for the cache lines of a slot ahead of time. (Small, or compilers take the call for one that does nothing.)"""
    ln_prefetch(w.slot_base + slot * w.slot_step)
    ln_prefetch(w.next_base + slot * w.next_step)


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


cdef inline uint64_t slot_for_key(Lookup w, uint64_t fp) noexcept nogil:
    """Where a key is, or the first slot with a larger one."""
    cdef uint64_t slot = fp >> w.shift
    cdef uint32_t key = <uint32_t>(fp >> w.key_shift)
    cdef int _
    for _ in range(STEPS):
        slot += <int32_t>(key_at(w, slot) - key) < 0
    while <int32_t>(key_at(w, slot) - key) < 0 and slot < <uint64_t>w.last:
        slot += 1
    return slot


cdef inline uint64_t find_slot(Lookup w, uint64_t fp) noexcept nogil:
    """Where a fingerprint is, if it is anywhere."""
    return fp >> w.shift if w.hashing else slot_for(w, fp) if w.norms == NULL else slot_for_key(w, fp)


cdef inline bint is_at(Lookup w, uint64_t slot, uint64_t fp) noexcept nogil:
    """Whether a slot has this fingerprint."""
    if w.hashing:
        return True
    if w.norms == NULL:
        return fingerprint_at(w, slot) == fp
    return key_at(w, slot) == <uint32_t>(fp >> w.key_shift) and codes_at(w, slot)[0] != 0


cdef inline float norm_of(Lookup w, uint64_t slot) noexcept nogil:
    return row_at(w, slot)[0] if w.norms == NULL else w.norms[<uint16_t>codes_at(w, slot)[0]]


cdef inline void add_row(Lookup w, uint64_t slot, double t, double* total) noexcept nogil:
    """Add t times the weights of a slot, or their codes."""
    cdef int64_t c
    cdef const float* row
    cdef const int16_t* codes
    if w.norms == NULL:
        row = row_at(w, slot)
        for c in range(w.n_outputs):
            total[c] += t * row[1 + c]
    else:
        codes = codes_at(w, slot)
        for c in range(w.n_outputs):
            total[c] += t * codes[1 + c]


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


cdef inline bint first_sight(uint64_t* seen, uint64_t slot, bint hit) noexcept nogil:
    """Whether a slot was hit, and for the first time; its bit is set."""
    cdef uint64_t bit = seen[slot >> 6], new = <uint64_t>hit & ~(bit >> (slot & 63))
    seen[slot >> 6] = bit | (new << (slot & 63))
    return new


cdef inline void add_sums(int32_t* sums, int64_t n, double* total) noexcept nogil:
    """Add sums of codes to total; they are zero after."""
    cdef int64_t c
    for c in range(n):
        total[c] += sums[c]
        sums[c] = 0


cdef inline double add_row_codes(Lookup w, const uint32_t* rows, int64_t n, double norm, int32_t* sums, double* total) noexcept nogil:
    """Add rows of codes to total; return norm and theirs."""
    cdef int64_t i, k, c, K = w.n_outputs
    cdef double x
    cdef const int16_t* codes
    for i in range(n):
        if i + ROWS_AHEAD < n:
            codes = w.codes + <int64_t>rows[i + ROWS_AHEAD] * (K + 1)
            k = 0
            while k < K:
                ln_prefetch(codes + k)
                k += CODES_A_LINE
            ln_prefetch(codes + K)
        codes = w.codes + <int64_t>rows[i] * (K + 1)
        x = w.norms[<uint16_t>codes[0]]
        norm += x if w.mean else x * x
        for c in range(K):
            sums[c] += codes[1 + c]
        if i % MOST_HITS == 0:
            add_sums(sums, K, total)
    add_sums(sums, K, total)
    return norm


cdef inline double add_pairs(Lookup w, uint64_t* fps, int64_t m, uint64_t* seen, double norm, double* total) noexcept nogil:
    """Do what add_present does, for codes of one output: a record is 64 bits, and there is no branch that depends on the text."""
    cdef const uint64_t* records = <const uint64_t*>w.slot_base
    cdef const float* norms = w.norms
    cdef double[2] units
    cdef double x
    cdef int64_t i, first = 0
    cdef uint64_t slot, bit, hit, record, last = w.last
    cdef uint32_t key
    cdef int _, shift = w.shift, key_shift = w.key_shift
    units[0] = 0.0
    units[1] = 1.0
    for i in range(m if m < LOOKAHEAD else LOOKAHEAD):
        ln_prefetch(records + (fps[i] >> shift))
    for i in range(m):
        if i + LOOKAHEAD < m:
            slot = fps[i + LOOKAHEAD] >> shift
            ln_prefetch(records + slot)
            ln_prefetch(records + slot + STEPS)
            ln_prefetch(seen + (slot >> 6))
        slot = fps[i] >> shift
        key = <uint32_t>(fps[i] >> key_shift)
        for _ in range(STEPS):
            slot += <int32_t>(<uint32_t>records[slot] - key) < 0
        while <int32_t>(<uint32_t>records[slot] - key) < 0 and slot < last:
            slot += 1
        record = records[slot]
        hit = <uint32_t>record == key
        fps[i] = slot >> 6
        bit = seen[slot >> 6]
        hit &= ~(bit >> (slot & 63))
        seen[slot >> 6] = bit | (hit << (slot & 63))
        x = norms[<uint16_t>(record >> 32)]
        norm += units[hit] * (x if w.mean else x * x)
        first += <int64_t>hit * <int16_t>(record >> 48)
    total[0] += first
    return norm


cdef inline double add_codes(Lookup w, uint64_t* fps, int64_t m, uint64_t* seen, double norm, uint32_t* rows, int32_t* sums,
                             double* total) noexcept nogil:
    """Do what add_present does, for codes: with many classes rows are found first and added then."""
    cdef double x
    cdef int64_t i, c, n = 0, K = w.n_outputs
    cdef uint64_t slot, bit, hit
    cdef const int16_t* codes
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
            slot = slot_for_key(w, fps[i])
            hit = key_at(w, slot) == <uint32_t>(fps[i] >> w.key_shift)
        fps[i] = slot >> 6
        bit = seen[slot >> 6]
        hit &= ~(bit >> (slot & 63))
        seen[slot >> 6] = bit | (hit << (slot & 63))
        if w.codes != NULL:
            rows[n] = <uint32_t>slot if w.hashing else row_number(w, slot)
            n += hit
            continue
        if hit:
            codes = codes_at(w, slot)
            x = w.norms[<uint16_t>codes[0]]
            norm += x if w.mean else x * x
            for c in range(K):
                sums[c] += codes[1 + c]
            n += 1
            if n % MOST_HITS == 0:
                add_sums(sums, K, total)
    if w.codes != NULL:
        return add_row_codes(w, rows, n, norm, sums, total)
    add_sums(sums, K, total)
    return norm


cdef inline double add_distinct(Lookup w, int64_t m, double norm, Scratch scratch) noexcept nogil:
    """Add what a model knows of m fingerprints, each once, to the sums; return norm and theirs."""
    if w.norms == NULL:
        return add_present(w, scratch.out_fps, m, scratch.seen, norm, scratch.sums)
    if w.n_outputs == 1 and w.codes == NULL:
        return add_pairs(w, scratch.out_fps, m, scratch.seen, norm, scratch.sums)
    return add_codes(w, scratch.out_fps, m, scratch.seen, norm, scratch.distinct, scratch.code_sums, scratch.sums)


cdef inline double add_counted(Lookup w, uint64_t* fps, int32_t* counts, int64_t m, uint32_t* table, int tf,
                               double* total) noexcept nogil:
    """Add the rows of the features that are there, times their counts or 1 + log of them, to total; return the norm."""
    cdef double norm = 0.0, t, n
    cdef int64_t i, size = 16
    cdef int bits = 4
    cdef uint64_t slot
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
        slot = find_slot(w, fps[i])
        if not is_at(w, slot, fps[i]):
            continue
        t = 1.0 + log(counts[i]) if tf == TF_SUBLINEAR else counts[i]
        n = norm_of(w, slot)
        norm += t * n if w.mean else t * t * n * n
        add_row(w, slot, t, total)
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
        slot = find_slot(w, fps[i])
        if not is_at(w, slot, fps[i]):
            continue
        if counts[slot] == 0:
            places[n] = slot
            n += 1
        counts[slot] += 1
    return n


cdef inline double add_places(Lookup w, int32_t* counts, const int64_t* places, int64_t n, int tf, double* total) noexcept nogil:
    """Add the rows of some slots, times their counts or 1 + log of them, to total; return the norm. Counts are zero after."""
    cdef double norm = 0.0, t, x
    cdef int64_t i
    for i in range(n):
        t = 1.0 + log(counts[places[i]]) if tf == TF_SUBLINEAR else counts[places[i]]
        x = norm_of(w, places[i])
        norm += t * x if w.mean else t * t * x * x
        add_row(w, places[i], t, total)
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
            norm = add_distinct(w, m, norm, scratch)
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
    cdef const double* steps = &weights.steps[0]
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
                        norm = add_distinct(w, m, 0.0, scratch)
                        for i in range(m):
                            scratch.seen[scratch.out_fps[i]] = 0
                    else:
                        norm = add_counted(w, scratch.out_fps, scratch.out_starts, m, scratch.distinct, weights.tf, total)
                t = block.share
                if weights.normalise and norm > 0.0:
                    t /= norm if w.mean else sqrt(norm)
                for c in range(n_outputs):
                    out[d, c] += total[c] * steps[c] * t
