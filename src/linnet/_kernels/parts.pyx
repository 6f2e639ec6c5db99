"""Bytes to the parts of scores: the walk of the scorer, with every known feature, its factor and its places kept.

score_c = b_c + sum over features of factor_j W_jc,  factor_j = share tf_j / norm of its block (see score.pyx)

Features are numbered in the order of block and first sight; the places of feature f are first[f] .. first[f] + count[f] - 1,
in the order of the text: a fingerprint, a first byte and a length whose two highest bits are flags (see ngrams.pxd).
Cost: that of scoring, one pass more over the features, and 16 bytes written a place. The reference in plain
Python is in tests/test_explain_exact.py.
"""
from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset
from linnet._kernels.arithmetic cimport log
from linnet._kernels.blocks cimport *
from linnet._kernels.tokenise cimport tokenise
from linnet._kernels.tokens cimport Tokens


cdef inline int64_t number_distinct(const uint64_t* fps, int64_t n, int drop, uint64_t ignored, uint64_t* keys, int32_t* owner,
                                    int32_t* tally, uint32_t* table) noexcept nogil:
    """Number distinct keys, fingerprints without their lowest bits or with ones there, in the order of first sight; count them."""
    cdef int64_t i, m = 0
    cdef uint64_t size = 16, mask, slot, key
    cdef int bits = 4
    while <int64_t>size < 2 * n:
        size <<= 1
        bits += 1
    mask = size - 1
    memset(table, 0, <size_t>size * sizeof(uint32_t))
    for i in range(n):
        key = (fps[i] >> drop) << drop | ignored
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


cdef class FoundFeatures:
    """The known features of some documents, and where they stand; walk_documents fills it.

    Feature f is in row slot[f] of the table of weights, has the factor factor[f] and the places first[f] .. first[f] +
    count[f] - 1: fps, starts and lengths. ends[d * n_blocks + b] is where the features of block b of document d end, counted
    from the first feature of all; unknown[d] is how many n-grams of document d the model does not know. room is how many
    features and places there is room for at first; it grows.
    """

    cdef int64_t n_features, n_places, room
    cdef int64_t[::1] slots, firsts, counts, end, unknowns, next_place
    cdef double[::1] factors
    cdef uint64_t[::1] fingerprints, keys
    cdef int32_t[::1] start, length, owner, tally

    def __init__(self, int64_t n_documents, int64_t n_blocks, int64_t room):
        self.n_features = self.n_places = 0
        self.end = numpy.zeros(n_documents * n_blocks, numpy.int64)
        self.unknowns = numpy.zeros(n_documents, numpy.int64)
        self.keys, self.owner, self.tally, self.next_place = None, None, None, None
        self.room = room
        self.slots, self.firsts, self.counts = (numpy.empty(room, numpy.int64) for _ in range(3))
        self.factors = numpy.empty(room, numpy.float64)
        self.fingerprints = numpy.empty(room, numpy.uint64)
        self.start, self.length = numpy.empty(room, numpy.int32), numpy.empty(room, numpy.int32)

    @property
    def features(self):
        """The slot, the factor, the first place and the number of places of each feature."""
        n = self.n_features
        return beginning(self.slots, n), beginning(self.factors, n), beginning(self.firsts, n), beginning(self.counts, n)

    @property
    def places(self):
        """The fingerprint, the first byte and the length (with flags) of each place."""
        n = self.n_places
        return beginning(self.fingerprints, n), beginning(self.start, n), beginning(self.length, n)

    @property
    def ends(self):
        """Where the features of each block of each document end."""
        return numpy.asarray(self.end)

    @property
    def unknown(self):
        """How many n-grams of each document the model does not know."""
        return numpy.asarray(self.unknowns)

    cdef grow(self, int64_t room):
        """Have room for this many features and places."""
        self.room = room
        self.slots = larger_copy(self.slots, room)
        self.firsts = larger_copy(self.firsts, room)
        self.counts = larger_copy(self.counts, room)
        self.factors = larger_copy(self.factors, room)
        self.fingerprints = larger_copy(self.fingerprints, room)
        self.start = larger_copy(self.start, room)
        self.length = larger_copy(self.length, room)

    cdef work_room(self, int64_t room):
        """Have room to number this many fingerprints of one block."""
        if self.keys is None or self.keys.shape[0] < room:
            self.keys = numpy.empty(room, numpy.uint64)
            self.owner, self.tally = numpy.empty(room, numpy.int32), numpy.empty(room, numpy.int32)
            self.next_place = numpy.empty(room, numpy.int64)


def walk_documents(const uint8_t[::1] data, const int64_t[::1] offsets, CompiledBlocks blocks, WeightTable weights,
                   Scratch scratch, FoundFeatures found):
    """Find the features of all documents that the model knows."""
    cdef Lookup w = weights.lookup
    cdef Tokens s = scratch.tokens   # a copy, which nobody else can change
    cdef int64_t n_blocks = blocks.n, d, b, m, n, i, k, f, p
    cdef const BlockSpec* block
    cdef const uint8_t* text = &data[0] if data.shape[0] else NULL
    cdef uint64_t slot, key
    cdef double norm, t, x
    scratch.need_room(1)
    found.work_room(scratch.room)
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for b in range(n_blocks):
                block = blocks.specs + b
                if b == 0 or not same_tokens(block, block - 1):
                    tokenise(&s, text + offsets[d], offsets[d + 1] - offsets[d], block.tokens, block.case_mode,
                             blocks.needs_chars)
                n = emit_bound(&s, block)
                if n > scratch.room:
                    with gil:
                        scratch.need_room(n)
                        found.work_room(scratch.room)
                n = emit(&s, block, scratch.out_fps, scratch.out_starts, scratch.out_lengths)
                f = found.n_features
                p = found.n_places
                if f + n > found.room or p + n > found.room:
                    with gil:
                        found.grow(max(2 * found.room, found.room + n))
                m = number_distinct(scratch.out_fps, n, w.shift if w.hashing else 0, w.ignored, &found.keys[0],
                                    &found.owner[0], &found.tally[0], scratch.distinct)
                for k in range(m if m < LOOKAHEAD else LOOKAHEAD):
                    touch(w, found.keys[k] >> w.shift)
                norm = 0.0
                for k in range(m):
                    if k + LOOKAHEAD < m:
                        touch(w, found.keys[k + LOOKAHEAD] >> w.shift)
                    key = found.keys[k]
                    slot = find_slot(w, key)
                    if not is_at(w, slot, key):
                        found.unknowns[d] += found.tally[k]
                        found.next_place[k] = -1
                        continue
                    t = 1.0 if weights.tf == 0 else found.tally[k] if weights.tf == 1 else 1.0 + log(<double>found.tally[k])
                    x = t * norm_of(w, slot)
                    norm += x if w.mean else x * x
                    found.slots[f] = <int64_t>slot
                    found.factors[f] = t
                    found.firsts[f] = found.next_place[k] = p
                    found.counts[f] = found.tally[k]
                    p += found.tally[k]
                    f += 1
                t = block.share
                if weights.normalise and norm > 0.0:
                    t /= norm if w.mean else sqrt(norm)
                for k in range(found.n_features, f):
                    found.factors[k] *= t
                for i in range(n):
                    k = found.next_place[found.owner[i]]
                    if k >= 0:
                        found.fingerprints[k] = scratch.out_fps[i]
                        found.start[k] = scratch.out_starts[i]
                        found.length[k] = scratch.out_lengths[i]
                        found.next_place[found.owner[i]] += 1
                found.n_features = f
                found.n_places = p
                found.end[d * n_blocks + b] = f


def weigh_features(const int64_t[::1] ptr, const int64_t[::1] slot, const double[::1] factor, const float[:, :] W,
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


def largest_of_runs(const double[::1] values, const int64_t[::1] ptr, int64_t[:, ::1] out):
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


def spread_over_characters(const double[::1] values, const int64_t[::1] first, const int64_t[::1] count, const int32_t[::1] begin,
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


cdef class NameTable:
    """The commonest features that hash to each of some columns, by Metwally's space saving.

    rank is the row of a column in the tables, or -1; width is how many features of a column are counted. A feature that
    finds its row full takes the place of the rarest, with its count: what is common stays, and a row is bounded. dropped
    says that a row has met more than it holds. tally, fps, document, start, length and block are (n_rows, width).
    """

    cdef readonly object tally, fps, document, start, length, block, dropped
    cdef const int32_t[::1] rank
    cdef int shift
    cdef int64_t[:, ::1] counts, documents
    cdef uint64_t[:, ::1] names
    cdef int32_t[:, ::1] starts, lengths
    cdef uint8_t[:, ::1] blocks
    cdef uint8_t[::1] more

    def __init__(self, const int32_t[::1] rank, int shift, int64_t n_rows, int64_t width):
        shape = n_rows, width
        self.rank, self.shift = rank, shift
        self.tally = self.counts = numpy.zeros(shape, numpy.int64)
        self.fps = self.names = numpy.zeros(shape, numpy.uint64)
        self.document = self.documents = numpy.zeros(shape, numpy.int64)
        self.start = self.starts = numpy.zeros(shape, numpy.int32)
        self.length = self.lengths = numpy.zeros(shape, numpy.int32)
        self.block = self.blocks = numpy.zeros(shape, numpy.uint8)
        self.dropped = self.more = numpy.zeros(n_rows, numpy.uint8)

    def add(self, Scratch scratch, const int64_t[::1] ends, int64_t n_documents, int64_t n_blocks, int64_t first_document):
        """Count the documents whose fingerprints emit_chunk wrote to scratch; the first has the number first_document."""
        cdef int64_t segment, i, r, k, least, width = self.names.shape[1], begin = 0
        cdef uint64_t fp
        with nogil:
            for segment in range(n_documents * n_blocks):
                for i in range(begin, ends[segment]):
                    fp = scratch.out_fps[i]
                    r = self.rank[fp >> self.shift]
                    if r < 0:
                        continue
                    least = 0
                    for k in range(width):
                        if self.counts[r, k] == 0 or self.names[r, k] == fp:
                            break
                        if self.counts[r, k] < self.counts[r, least]:
                            least = k
                    else:
                        k = least
                        self.more[r] = 1
                    if self.names[r, k] != fp or self.counts[r, k] == 0:
                        self.names[r, k] = fp
                        self.documents[r, k] = first_document + segment // n_blocks
                        self.starts[r, k] = scratch.out_starts[i]
                        self.lengths[r, k] = scratch.out_lengths[i]
                        self.blocks[r, k] = <uint8_t>(segment % n_blocks)
                    self.counts[r, k] += 1
                begin = ends[segment]
