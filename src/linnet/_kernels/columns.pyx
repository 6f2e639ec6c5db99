"""A smaller matrix with the same optimum: frequent columns first, columns of one row made one.

Locality  a solver walks over rows and looks up a weight an entry. With the columns in the order of their frequency (by
          powers of two) most lookups hit the same few pages.
Private   columns met in one row only: under an L2 penalty their weights are a multiple of their values, w_j = z v_ij, so
          all of them are one column of value sqrt(sum_j v_ij^2), exactly. Of word pairs, two thirds are private.
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
                 int32_t[::1] out_indices, real[::1] out_values, double[::1] norms, int32_t[::1] scratch,
                 const double[::1] coefficient, double[::1] sums) -> int:
    """Write the given rows over the new columns; place[j] and factor[j] become column and share of each old one.

    w_j = factor[j] * w_new[place[j]]. norms receives the squared norm of each row. scratch has room for the longest row. sums
    receives sum_t coefficient_t x_t over new columns, where coefficient is not empty. Returns the number of columns.
    """
    cdef int64_t t, k, i, s, n_own, at = 0, n_columns = n_shared
    cdef int32_t j, p
    cdef double own, v, total, c = 0.0
    cdef bint summing = coefficient.shape[0] > 0
    with nogil:
        out_indptr[0] = 0
        for t in range(rows.shape[0]):
            i = rows[t]
            own = total = 0.0
            if summing:
                c = coefficient[t]
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
                    if summing:
                        sums[p] += c * v
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
                if summing:
                    sums[n_columns] = c * own
                at += 1
                n_columns += 1
            out_indptr[t + 1] = at
    return n_columns
