"""Products of a sparse row matrix (CSR) with dense ones, its transpose, row keys, class sums and row norms.

X is (indptr, indices, values); W is feature-major, (n_features, n_outputs), so one entry touches one cache line.
Cost of each: one pass over the entries times n_outputs.
"""
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from linnet._kernels.arithmetic cimport log

cdef fused real:
    float
    double

cdef fused weight_real:
    float
    double

cdef enum:
    TF_PRESENCE = 0
    TF_COUNT = 1
    TF_SUBLINEAR = 2

cdef enum:
    NORM_MEAN = 2


def dot(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const weight_real[:, ::1] W,
        int64_t first, int64_t last, double[:, ::1] out):
    """Write out[i] = X[i] W for rows first..last-1."""
    cdef int64_t i, k, c, n_outputs = W.shape[1]
    cdef double v
    cdef const weight_real* w
    with nogil:
        if n_outputs == 1:
            w = &W[0, 0] if W.shape[0] else NULL
            for i in range(first, last):
                v = 0.0
                for k in range(indptr[i], indptr[i + 1]):
                    v += <double>values[k] * w[indices[k]]
                out[i, 0] = v
        else:
            for i in range(first, last):
                for c in range(n_outputs):
                    out[i, c] = 0.0
                for k in range(indptr[i], indptr[i + 1]):
                    v = values[k]
                    w = &W[indices[k], 0]
                    for c in range(n_outputs):
                        out[i, c] += v * w[c]


def transposed_dot(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values,
                   const double[:, ::1] R, double[:, ::1] out):
    """Add X^T R to out: out[j] += sum_i X[i, j] R[i]."""
    cdef int64_t i, k, c, n_outputs = R.shape[1]
    cdef double v
    cdef double* o
    with nogil:
        if n_outputs == 1:
            o = &out[0, 0] if out.shape[0] else NULL
            for i in range(indptr.shape[0] - 1):
                v = R[i, 0]
                for k in range(indptr[i], indptr[i + 1]):
                    o[indices[k]] += values[k] * v
        else:
            for i in range(indptr.shape[0] - 1):
                for k in range(indptr[i], indptr[i + 1]):
                    v = values[k]
                    o = &out[indices[k], 0]
                    for c in range(n_outputs):
                        o[c] += v * R[i, c]


def curved_dot(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const double[::1] h,
               const double[::1] p, double shift, double[::1] out) -> float:
    """Add X^T (h * (X p + shift)) to out, row by row, and return sum_i h_i (X p + shift)_i."""
    cdef int64_t i, k
    cdef double v, total = 0.0
    with nogil:
        for i in range(indptr.shape[0] - 1):
            v = shift
            for k in range(indptr[i], indptr[i + 1]):
                v += values[k] * p[indices[k]]
            v *= h[i]
            total += v
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k]] += values[k] * v
    return total


def squared_columns(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values,
                    const double[::1] h, double[::1] out):
    """Add the weighted squares of each column to out: out[j] += sum_i h_i X[i, j]^2."""
    cdef int64_t i, k
    with nogil:
        for i in range(indptr.shape[0] - 1):
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k]] += h[i] * values[k] * values[k]


def transpose(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values,
              int64_t[::1] out_indptr, int32_t[::1] out_indices, real[::1] out_values):
    """Write X^T as sparse rows: row j of it holds column j of X, in the order of the rows of X.

    out_indptr, (n_features + 1,), must hold zeros.
    """
    cdef int64_t i, k, j, at, n_columns = out_indptr.shape[0] - 1, following
    with nogil:
        for k in range(indptr[0], indptr[indptr.shape[0] - 1]):
            out_indptr[indices[k] + 1] += 1
        for j in range(n_columns):
            out_indptr[j + 1] += out_indptr[j]
        for i in range(indptr.shape[0] - 1):  # out_indptr[j] runs on to where row j ends ...
            for k in range(indptr[i], indptr[i + 1]):
                at = out_indptr[indices[k]]
                out_indptr[indices[k]] = at + 1
                out_indices[at] = <int32_t>i
                out_values[at] = values[k]
        following = 0
        for j in range(n_columns):  # ... and is put back to where it begins
            at = out_indptr[j]
            out_indptr[j] = following
            following = at


def has_duplicates(const int64_t[::1] indptr, const int32_t[::1] indices) -> bool:
    """Return whether some row has two entries in one column.

    A few bits a column say that it may have been met in this row; only then are the entries before it looked through.
    """
    cdef int64_t i, k, j
    cdef uint32_t h
    cdef uint64_t[512] met
    cdef bint found = False
    with nogil:
        for i in range(indptr.shape[0] - 1):
            memset(met, 0, sizeof(met))
            for k in range(indptr[i], indptr[i + 1]):
                h = (<uint32_t>indices[k] * <uint32_t>2654435761) >> 17   # 15 bits
                if met[h >> 6] >> (h & 63) & 1:
                    for j in range(indptr[i], k):
                        if indices[j] == indices[k]:
                            found = True
                            break
                met[h >> 6] |= <uint64_t>1 << (h & 63)
            if found:
                break
    return found


cdef inline uint64_t mix(uint64_t h) noexcept nogil:
    """Scramble 64 bits (the finaliser of splitmix64)."""
    h = (h ^ (h >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    h = (h ^ (h >> 27)) * <uint64_t>0x94D049BB133111EB
    return h ^ (h >> 31)


def row_keys(const int64_t[::1] indptr, int64_t n_blocks, const int32_t[::1] indices, const real[::1] values,
             const real[::1] scale, int64_t first, int64_t last, uint64_t[::1] out):
    """Write a 64-bit key of the content of rows first..last-1: a sum over entries, so their order does not matter.

    A row is n_blocks segments; its entries are 1 where values is empty, times the scale of the segment where there is
    one. key = sum_k mix((column + 1) * odd + bits of the value as a double), entries of value zero left out: 32-bit and
    64-bit values that are equal have the same key.
    """
    cdef int64_t i, s, k
    cdef uint64_t key, bits
    cdef real factor
    cdef double v
    cdef bint ones = values.shape[0] == 0, even = scale.shape[0] == 0
    with nogil:
        for i in range(first, last):
            key = 0
            for s in range(i * n_blocks, (i + 1) * n_blocks):
                factor = <real>1.0 if even else scale[s]
                v = factor
                memcpy(&bits, &v, sizeof(double))
                for k in range(indptr[s], indptr[s + 1]):
                    if not ones:
                        v = <real>(values[k] * factor)
                        memcpy(&bits, &v, sizeof(double))
                    if v != 0.0:
                        key += mix((<uint64_t>indices[k] + 1) * <uint64_t>0x9E3779B97F4A7C15 + bits)
            out[i] = key


def class_sums(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int32_t[::1] y,
               const double[::1] weight, weight_real[:, ::1] out):
    """Add each row, times its weight, to the column of its class: out[j, y[i]] += weight[i] X[i, j].

    With no values every entry counts one; a negative class is left out.
    """
    cdef int64_t i, k
    cdef int32_t c
    cdef bint ones = values.shape[0] == 0
    with nogil:
        for i in range(indptr.shape[0] - 1):
            c = y[i]
            if c < 0:
                continue
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k], c] += <weight_real>(weight[i] if ones else weight[i] * values[k])


def scale_segments(const int64_t[::1] indptr, const int32_t[::1] indices, const int32_t[::1] counts, int tf,
                   const real[::1] norm_weight, int normalise, bint multiply, real[::1] values):
    """Write the weighted value of each entry: tf, divided by the norm of its segment (a block of a document).

    tf is 1, the count, or 1 + ln count; the norm is that of tf * norm_weight: its length (normalise 1) or its sum, which
    makes a weighted mean (2). With multiply the value is also
    multiplied by the column's weight (the matrix scikit-learn would give); without, the weight stays in the model.
    """
    cdef int64_t s, k
    cdef double total, t
    with nogil:
        for s in range(indptr.shape[0] - 1):
            total = 0.0
            for k in range(indptr[s], indptr[s + 1]):
                t = 1.0
                if tf == TF_COUNT:
                    t = counts[k]
                elif tf == TF_SUBLINEAR:
                    t = 1.0 + log(<double>counts[k])
                values[k] = <real>t
                t *= norm_weight[indices[k]]
                total += t if normalise == NORM_MEAN else t * t
            if normalise and total > 0.0:
                total = 1.0 / (total if normalise == NORM_MEAN else sqrt(total))
            else:
                total = 1.0
            for k in range(indptr[s], indptr[s + 1]):
                values[k] = <real>(values[k] * total)
                if multiply:
                    values[k] *= norm_weight[indices[k]]


def segment_scale(const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] norm_weight, int normalise,
                  float[::1] scale):
    """Write one over the norm of each segment of present features (1 where it is empty): its length (1) or sum (2)."""
    cdef int64_t s, k
    cdef double total
    with nogil:
        for s in range(indptr.shape[0] - 1):
            total = 0.0
            for k in range(indptr[s], indptr[s + 1]):
                if normalise == NORM_MEAN:
                    total += norm_weight[indices[k]]
                else:
                    total += <double>norm_weight[indices[k]] * norm_weight[indices[k]]
            if total > 0.0:
                scale[s] = <float>(1.0 / (total if normalise == NORM_MEAN else sqrt(total)))
            else:
                scale[s] = 1.0
