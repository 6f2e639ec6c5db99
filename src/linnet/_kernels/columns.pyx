"""A smaller matrix with the same optimum: frequent columns first, columns of one row made one.

Locality  a solver walks over rows and looks up a weight an entry. With the columns in the order of their frequency (by
          powers of two) most lookups hit the same few pages.
Private   columns met in one row only: under an L2 penalty their weights are a multiple of their values, w_j = z v_ij, so
          all of them are one column of value sqrt(sum_j v_ij^2), exactly. Of word pairs, two thirds are private.
Gains     where features have a gain, x_ij = v_ij g_j, the private columns of a row are one of value 1 and gain
          sqrt(sum_j v_ij^2 g_j^2).
Cost      two passes over the entries, and a copy of them.
"""
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from linnet._kernels.hints cimport ln_prefetch

cdef fused real:
    float
    double

cdef enum:
    GROUPS = 33
    AHEAD = 24   # entries: what a lookup costs is waiting for memory


def count_columns(const int64_t[::1] indptr, const int32_t[::1] indices, const int32_t[::1] rows, int32_t[::1] counts):
    """Add to counts how many entries each column has in the given rows."""
    cdef int64_t t, k
    with nogil:
        for t in range(rows.shape[0]):
            for k in range(indptr[rows[t]], indptr[rows[t] + 1]):
                if k + AHEAD < indptr[rows[t] + 1]:
                    ln_prefetch(&counts[indices[k + AHEAD]])
                counts[indices[k]] += 1


cdef inline int group(int32_t count) noexcept nogil:
    """0 for the most frequent; one more with each half."""
    cdef int g = GROUPS - 1
    while count > 1:
        count >>= 1
        g -= 1
    return g


def rank_columns(const int32_t[::1] counts, int32_t[::1] place) -> tuple:
    """Number the columns with two entries and more, frequent groups first; -1 for the rest.

    Returns how many such columns there are, and how many entries they have.
    """
    cdef int64_t j, total = 0, entries = 0
    cdef int64_t[GROUPS] start
    cdef int g
    with nogil:
        for g in range(GROUPS):
            start[g] = 0
        for j in range(counts.shape[0]):
            if counts[j] > 1:
                start[group(counts[j])] += 1
        for g in range(GROUPS):
            total += start[g]
            start[g] = total - start[g]
        for j in range(counts.shape[0]):
            place[j] = -1
            if counts[j] > 1:
                g = group(counts[j])
                place[j] = <int32_t>start[g]
                start[g] += 1
                entries += counts[j]
    return total, entries


def compact_rows(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int32_t[::1] rows,
                 int32_t[::1] place, double[::1] factor, int64_t n_shared, int64_t[::1] out_indptr,
                 int32_t[::1] out_indices, real[::1] out_values, double[::1] norms, int32_t[::1] scratch) -> int:
    """Write the given rows over the new columns; place[j] and factor[j] become column and share of each old one.

    w_j = factor[j] * w_new[place[j]]. norms receives the squared norm of each row. scratch has room for the longest row.
    Returns the number of columns.
    """
    cdef int64_t t, k, i, s, n_own, at = 0, n_columns = n_shared
    cdef int32_t j, p
    cdef double own, v, total
    with nogil:
        out_indptr[0] = 0
        for t in range(rows.shape[0]):
            i = rows[t]
            own = total = 0.0
            n_own = 0
            for k in range(indptr[i], indptr[i + 1]):
                if k + AHEAD < indptr[i + 1]:
                    ln_prefetch(&place[indices[k + AHEAD]])
                v = values[k]
                p = place[indices[k]]
                if p >= 0:
                    total += v * v
                    out_indices[at] = p
                    out_values[at] = values[k]
                    at += 1
                else:
                    own += v * v
                    scratch[n_own] = <int32_t>(k - indptr[i])
                    n_own += 1
            norms[t] = total + own
            if own > 0.0:
                own = sqrt(own)
                for s in range(n_own):
                    k = indptr[i] + scratch[s]
                    j = indices[k]
                    place[j] = <int32_t>n_columns
                    factor[j] = values[k] / own
                out_indices[at] = <int32_t>n_columns
                out_values[at] = <real>own
                at += 1
                n_columns += 1
            out_indptr[t + 1] = at
    return n_columns


def compact_gains(const int64_t[::1] indptr, const int32_t[::1] indices, const float[::1] values, const float[::1] gain,
                  int32_t[::1] place, double[::1] factor, int64_t n_shared, int64_t[::1] out_indptr, int32_t[::1] out_indices,
                  float[::1] out_values, float[::1] out_gain, int32_t[::1] scratch) -> int:
    """Write all segments over the new columns: those of one entry become one a segment, with the gain of all of them.

    values may be empty: every entry is 1. place[j] and factor[j] become column and share of each old one in the folded weights;
    out_gain receives the gains of the new columns. scratch has room for the longest segment. Returns the number of columns.
    """
    cdef int64_t s, k, t, n_own, at = 0, n_columns = n_shared
    cdef int32_t j, p
    cdef double v = 1.0, total
    cdef bint valued = values.shape[0] > 0
    with nogil:
        out_indptr[0] = 0
        for s in range(indptr.shape[0] - 1):
            n_own = 0
            total = 0.0
            for k in range(indptr[s], indptr[s + 1]):
                if k + AHEAD < indptr[s + 1]:
                    ln_prefetch(&place[indices[k + AHEAD]])
                j = indices[k]
                p = place[j]
                if valued:
                    v = values[k]
                if p >= 0:
                    out_indices[at] = p
                    if valued:
                        out_values[at] = <float>v
                    at += 1
                else:
                    factor[j] = v * gain[j] * gain[j]
                    total += v * factor[j]
                    scratch[n_own] = j
                    n_own += 1
            if total > 0.0:
                for t in range(n_own):
                    place[scratch[t]] = <int32_t>n_columns
                    factor[scratch[t]] /= total
                out_indices[at] = <int32_t>n_columns
                out_gain[n_columns] = <float>sqrt(total)
                if valued:
                    out_values[at] = 1.0
                at += 1
                n_columns += 1
            out_indptr[s + 1] = at
    return n_columns
