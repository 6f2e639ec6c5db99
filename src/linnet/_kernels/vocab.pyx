"""Fingerprints to columns: the growing vocabulary, hash mode, and the layout for lookup.

The growing table holds two 64-bit words a slot: the fingerprint, and the column (high half) beside the place in the
output where the column was last written (low half). The second word makes the per-document count free: a feature whose
last place lies in the current segment is a repetition. Linear probing, home slot = top bits, prefetch a few ahead.
Columns are numbered in the order of first sight, so the numbering does not depend on how documents were shared out:
shards merged in order give the numbers one shard would have given.
"""
from libc.math cimport fabs
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from linnet._kernels.hints cimport ln_prefetch

cdef enum:
    AHEAD = 24
    STEP = 1 << 16   # columns that are taken over at a time


cdef class VocabularyBuilder:
    """Counts of some documents and the vocabulary they make: columns are numbered in the order of first sight.

    bits is the size of the table at first, n_entries and n_segments the room for sparse counts; all but n_segments grow.
    With counting, repetitions within a segment (one block of one document) are counted; else presence is all that is kept.
    Of each column the fingerprint is kept and where it was first seen: document, first byte, length and block.
    """

    cdef int bits
    cdef bint counting
    cdef readonly int64_t n_columns, n_entries, n_segments
    cdef uint64_t[::1] table, fingerprint
    cdef int32_t[::1] document, start, length, index, count
    cdef uint8_t[::1] block
    cdef int64_t[::1] pointer

    def __init__(self, int bits, int64_t n_entries, int64_t n_segments, bint counting):
        self.bits, self.counting = bits, counting
        self.n_columns = self.n_entries = self.n_segments = 0
        self.table = numpy.zeros(2 << bits, numpy.uint64)
        self.index = numpy.empty(n_entries, numpy.int32)
        self.count = numpy.empty(n_entries if counting else 0, numpy.int32)
        self.pointer = numpy.zeros(n_segments + 1, numpy.int64)
        room = max(1024, (1 << bits) * 3 // 4)
        self.fingerprint = numpy.empty(room, numpy.uint64)
        self.document, self.start, self.length = (numpy.empty(room, numpy.int32) for _ in range(3))
        self.block = numpy.empty(room, numpy.uint8)

    @property
    def fingerprints(self):
        """The fingerprint of each column."""
        return beginning(self.fingerprint, self.n_columns)

    @property
    def seen(self):
        """Where each column was first seen: documents, first bytes, lengths, blocks."""
        n = self.n_columns
        return beginning(self.document, n), beginning(self.start, n), beginning(self.length, n), beginning(self.block, n)

    @property
    def indptr(self):
        """Where the entries of each segment begin, and the last ends."""
        return numpy.asarray(self.pointer)

    @property
    def indices(self):
        """The column of each entry."""
        return beginning(self.index, self.n_entries)

    @property
    def counts(self):
        """The count of each entry; empty where only presence is kept."""
        return beginning(self.count, self.n_entries)

    def add(self, Scratch scratch, const int64_t[::1] ends, int64_t n_documents, int64_t n_blocks, int64_t first_document):
        """Count the documents whose fingerprints emit_chunk wrote to scratch; the first has the number first_document."""
        cdef int64_t segment = 0, n = n_documents * n_blocks, wanted
        while segment < n:
            segment = self.add_segments(scratch, &ends[0], segment, n, n_blocks, first_document)
            if segment < n:
                wanted = ends[segment] - (ends[segment - 1] if segment else 0)
                self.need(wanted, wanted)

    def absorb(self, VocabularyBuilder other):
        """Take over what was counted of the documents that follow: columns that are new here come behind the others."""
        cdef int64_t i, k = 0, n_columns, limit
        cdef int shift
        cdef uint64_t mask, slot, fp
        cdef int64_t shared = self.n_entries, n_other = other.n_columns
        cdef int32_t[::1] numbers = numpy.empty(n_other, numpy.int32)
        self.need(0, other.n_entries)
        self.pointer = larger_copy(self.pointer, self.n_segments + other.n_segments + 1)
        while k < n_other:
            self.need(min(STEP, n_other - k), 0)
            n_columns, shift, mask = self.n_columns, 64 - self.bits, (<uint64_t>1 << self.bits) - 1
            with nogil:
                limit = min(k + STEP, n_other)
                for i in range(k, limit):
                    if i + AHEAD < n_other:
                        ln_prefetch(&self.table[2 * (other.fingerprint[i + AHEAD] >> shift)])
                    fp = other.fingerprint[i]
                    slot = fp >> shift
                    while self.table[2 * slot] != fp and self.table[2 * slot] != 0:
                        slot = (slot + 1) & mask
                    if self.table[2 * slot] == 0:
                        self.table[2 * slot] = self.fingerprint[n_columns] = fp
                        self.table[2 * slot + 1] = <uint64_t>n_columns << 32
                        self.document[n_columns] = other.document[i]
                        self.start[n_columns] = other.start[i]
                        self.length[n_columns] = other.length[i]
                        self.block[n_columns] = other.block[i]
                        n_columns += 1
                    numbers[i] = <int32_t>(self.table[2 * slot + 1] >> 32)
                k = limit
            self.n_columns = n_columns
        with nogil:
            for i in range(other.n_entries):
                self.index[shared + i] = numbers[other.index[i]]
            if self.counting:
                for i in range(other.n_entries):
                    self.count[shared + i] = other.count[i]
            for i in range(other.n_segments):
                self.pointer[self.n_segments + i + 1] = shared + other.pointer[i + 1]
        self.n_entries += other.n_entries
        self.n_segments += other.n_segments

    cdef need(self, int64_t columns, int64_t entries):
        """Have room for so many more columns and entries."""
        cdef int64_t room
        columns, entries = self.n_columns + columns, self.n_entries + entries
        while (<int64_t>1 << self.bits) * 3 // 4 < columns:
            self.bits += 1
            larger = numpy.zeros(2 << self.bits, numpy.uint64)
            rehash_table(self.table, larger, 64 - self.bits)
            self.table = larger
        if columns > self.fingerprint.shape[0]:
            room = max(2 * self.fingerprint.shape[0], columns)
            self.fingerprint = larger_copy(self.fingerprint, room)
            self.document = larger_copy(self.document, room)
            self.start = larger_copy(self.start, room)
            self.length = larger_copy(self.length, room)
            self.block = larger_copy(self.block, room)
        if entries > self.index.shape[0]:
            room = max(self.index.shape[0] * 3 // 2, entries)
            self.index = larger_copy(self.index, room)
            if self.counting:
                self.count = larger_copy(self.count, room)

    cdef int64_t add_segments(self, Scratch scratch, const int64_t* ends, int64_t first_segment, int64_t n, int64_t n_blocks,
                              int64_t first_document) noexcept:
        """Number the fingerprints of segments first_segment..n-1; return the segment for which there is no room, or n."""
        cdef int64_t n_columns = self.n_columns, pos = self.n_entries, k, i, begin, end, ahead, segment_start, before
        cdef int64_t capacity = <int64_t>1 << self.bits, limit = capacity * 3 // 4, room = self.index.shape[0]
        cdef int64_t last_fp = ends[n - 1], n_segments = self.n_segments
        cdef int shift = 64 - self.bits
        cdef uint64_t mask = <uint64_t>(capacity - 1), fp, slot, word
        cdef bint counting = self.counting
        # plain pointers: what is read through self may have changed after every store
        cdef const uint64_t* fps = scratch.out_fps
        cdef const int32_t* starts = scratch.out_starts
        cdef const int32_t* lengths = scratch.out_lengths
        cdef uint64_t* table = &self.table[0]
        cdef uint64_t* fingerprint = &self.fingerprint[0]
        cdef int32_t* document = &self.document[0]
        cdef int32_t* seen_start = &self.start[0]
        cdef int32_t* seen_length = &self.length[0]
        cdef uint8_t* block = &self.block[0]
        cdef int32_t* indices = &self.index[0]
        cdef int32_t* counts = &self.count[0] if counting else NULL
        cdef int64_t* indptr = &self.pointer[0]
        if limit > self.fingerprint.shape[0]:
            limit = self.fingerprint.shape[0]
        with nogil:
            k = first_segment
            while k < n:
                begin = ends[k - 1] if k else 0
                end = ends[k]
                if n_columns + (end - begin) > limit or pos + (end - begin) > room:
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
                        fingerprint[n_columns] = fp
                        document[n_columns] = <int32_t>(first_document + k // n_blocks)
                        seen_start[n_columns] = starts[i]
                        seen_length[n_columns] = lengths[i]
                        block[n_columns] = <uint8_t>(k % n_blocks)
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
                n_segments += 1
                indptr[n_segments] = pos
                k += 1
        self.n_columns, self.n_entries, self.n_segments = n_columns, pos, n_segments
        return k


def rehash_table(const uint64_t[::1] old, uint64_t[::1] table, int shift):
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


def merge_vocabulary(const uint64_t[::1] shard, uint64_t[::1] table, int shift, int64_t n_columns, uint64_t[::1] vocab,
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


def place_fingerprints(const uint64_t[::1] fps, uint64_t[:] slots, int shift) -> bool:
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


def lookup_chunk(Scratch scratch, const int64_t[::1] ends, int64_t n_segments, const uint64_t[::1] slots, int shift,
                 const int32_t[::1] column_of, uint32_t[::1] last, int64_t[::1] state,
                 int32_t[::1] indices, int32_t[::1] counts, int64_t[::1] indptr):
    """Find the columns of the fingerprints that emit_chunk wrote to scratch in a laid-out vocabulary; unknown ones are left out.

    With no slots the column is the top bits of the fingerprint (hash mode). last, one a column, must start at zero;
    the caller makes the output arrays large enough. state = [entries so far, segments so far].
    """
    cdef int64_t pos = state[0], segment = state[1], k, i, begin, segment_start, last_fp
    cdef uint64_t fp, slot
    cdef bint counting = counts.shape[0] > 0, hashing = slots.shape[0] == 0
    cdef int32_t column
    cdef int64_t place_of
    cdef const uint64_t* fps = scratch.out_fps
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


def find_slots(const uint64_t[::1] fps, const uint64_t[:] slots, int shift, int64_t[::1] out):
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


def measure_rows(const float[:, :] rows, double[::1] squares, double[::1] most):
    """Write the sum of the squares and the largest absolute value of each column.

    Where several columns follow the first, squares are of how far values are from the mean of their row: that is what tells classes apart.
    """
    cdef int64_t i, c, K = rows.shape[1] - 1
    cdef double value, mean = 0.0
    with nogil:
        for i in range(rows.shape[0]):
            if K > 1:
                mean = 0.0
                for c in range(1, K + 1):
                    mean += rows[i, c]
                mean /= K
            for c in range(K + 1):
                value = rows[i, c] - (mean if c else 0.0)
                squares[c] += value * value
                most[c] = max(most[c], fabs(<double>rows[i, c]))


def read_keys(const uint8_t[:, ::1] planes, int shift, uint64_t[::1] out) -> bool:
    """Write the fingerprints whose differences are given byte by byte, (width, n), the lowest byte first; shifted, ones below.

    Returns False where they are not in ascending order.
    """
    cdef int64_t i, k, width = planes.shape[0], n = out.shape[0]
    cdef uint64_t key = 0, gap, before = 0, ones = (<uint64_t>1 << shift) - 1
    with nogil:
        for i in range(n):
            gap = 0
            for k in range(width):
                gap |= <uint64_t>planes[k, i] << (8 * k)
            key += gap
            out[i] = key << shift | ones
            if out[i] <= before:
                with gil:
                    return False
            before = out[i]
    return True


ctypedef fused whole_number:
    int8_t
    int16_t


def spread(const uint8_t[::1] bits, const whole_number[::1] values, whole_number[::1] out) -> bool:
    """Write values where bits say, the highest bit of a byte first; returns whether there are as many as bits."""
    cdef int64_t i, n = values.shape[0], size = out.shape[0], taken = 0
    cdef int k
    cdef uint8_t byte
    if bits.shape[0] != (size + 7) // 8:
        return False
    with nogil:
        for i in range(bits.shape[0]):
            byte = bits[i]
            k = 0
            while byte:
                if byte & 0x80:
                    if taken == n or 8 * i + k >= size:
                        with gil:
                            return False
                    out[8 * i + k] = values[taken]
                    taken += 1
                byte <<= 1
                k += 1
    return taken == n


def lay_out(const uint64_t[::1] fps, uint64_t[:] slots, int shift, const float[::1] norm, const float[:, ::1] W,
            float[:, :] rows, int64_t[::1] used) -> bool:
    """Do what place_fingerprints and fill_rows do, for ascending fingerprints: from left to right, without a search.

    used are the slots that were taken, in that order. Returns False where the room behind the last home was too small.
    """
    cdef int64_t i, c, slot = -1, n_outputs = W.shape[1], last = slots.shape[0] - 1
    with nogil:
        for i in range(fps.shape[0]):
            slot = max(slot + 1, <int64_t>(fps[i] >> shift))
            if slot >= last:
                with gil:
                    return False
            slots[slot] = fps[i]
            used[i] = slot
            rows[slot, 0] = norm[i]
            for c in range(n_outputs):
                rows[slot, 1 + c] = W[i, c]
    return True
