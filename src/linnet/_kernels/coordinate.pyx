"""Coordinate descent on a quadratic with an L1 penalty, over columns.

Problem   min_d  sum_a g_a d_a + 1/2 d'Hd + sum_a penalty_a |w_a + d_a|      over active weights a = (column, output)
          H is the curvature of a loss of the scores X d: (H d)_a = sum_i x_ij A_ik (D_ik - m_i), a = (j, k),
          D = X d, m_i = sum_k B_ik D_ik. Softmax: A = c P, B = P. One output: A is the curvature of each row, B = 0.
Update    the exact minimum along one weight: a Newton step, cut at zero (soft threshold)
State     D and m follow d, so that a weight costs two walks over its column
Cost      two passes over the entries of the active columns
Paper     Yuan, Ho, Lin: An Improved GLMNET for L1-regularized Logistic Regression, 2012.
"""
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t

cdef fused real:
    float
    double


def column_curvature(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values,
                     const int32_t[::1] column, const int32_t[::1] output, const double[:, ::1] A,
                     const double[:, ::1] B, double[::1] out):
    """Write the diagonal of H: out[a] = sum_i x_ij^2 A_ik (1 - B_ik). Rows of the matrix are columns of the problem."""
    cdef int64_t a, p, i, k
    cdef double total
    with nogil:
        for a in range(column.shape[0]):
            k = output[a]
            total = 0.0
            for p in range(indptr[column[a]], indptr[column[a] + 1]):
                i = indices[p]
                total += <double>values[p] * values[p] * A[i, k] * (1.0 - B[i, k])
            out[a] = total


cdef class Quadratic:
    """The quadratic part of the problem at D = X d: A and B as above, m the means. The arrays are kept, not copied."""

    cdef const double[:, ::1] A, B
    cdef double[:, ::1] D
    cdef double[::1] mean

    def __init__(self, const double[:, ::1] A, const double[:, ::1] B, double[:, ::1] D, double[::1] mean):
        cdef int64_t n = A.shape[0], m = A.shape[1]
        if not n == B.shape[0] == D.shape[0] == mean.shape[0] or not m == B.shape[1] == D.shape[1]:
            raise ValueError(f"A, B and D must be of one shape with a mean a row, got {n} by {m}, {B.shape[0]} by {B.shape[1]}, "
                             f"{D.shape[0]} by {D.shape[1]} and {mean.shape[0]}")
        self.A, self.B, self.D, self.mean = A, B, D, mean


cdef class ActiveWeights:
    """The weights that a pass may move. The arrays are kept, not copied.

    column, output  where each weight is
    slope           g_a, its gradient before the first pass
    diagonal        H_aa
    penalty         of |w_a + d_a|
    w, d            the weight, and how far it has moved
    """

    cdef const int32_t[::1] column, output
    cdef const double[::1] slope, diagonal, penalty, w
    cdef double[::1] d

    def __init__(self, const int32_t[::1] column, const int32_t[::1] output, const double[::1] slope, const double[::1] diagonal,
                 const double[::1] penalty, const double[::1] w, double[::1] d):
        cdef int64_t n = column.shape[0]
        if not n == output.shape[0] == slope.shape[0] == diagonal.shape[0] == penalty.shape[0] == w.shape[0] == d.shape[0]:
            raise ValueError(f"{n} columns; every array must have a number for each")
        self.column, self.output, self.slope, self.diagonal = column, output, slope, diagonal
        self.penalty, self.w, self.d = penalty, w, d


def lasso_pass(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int32_t[::1] order,
               ActiveWeights active, Quadratic at) -> float:
    """Visit the active weights in order once; returns the sum of how far each was from optimal as it was met."""
    cdef int64_t t, a, p, i, k, begin, end
    cdef double g, h, u, z, r, violation = 0.0
    cdef const int32_t[::1] column = active.column, output = active.output
    cdef const double[::1] slope = active.slope, diagonal = active.diagonal, penalty = active.penalty, w = active.w
    cdef double[::1] d = active.d, mean = at.mean
    cdef const double[:, ::1] A = at.A, B = at.B
    cdef double[:, ::1] D = at.D
    with nogil:
        for t in range(order.shape[0]):
            a = order[t]
            k = output[a]
            begin = indptr[column[a]]
            end = indptr[column[a] + 1]
            g = slope[a]
            for p in range(begin, end):
                i = indices[p]
                g += values[p] * A[i, k] * (D[i, k] - mean[i])
            r = penalty[a]
            h = diagonal[a]
            u = w[a] + d[a]
            if u > 0.0:
                violation += fabs(g + r)
            elif u < 0.0:
                violation += fabs(g - r)
            elif fabs(g) > r:
                violation += fabs(g) - r
            if g + r <= h * u:
                z = -(g + r) / h
            elif g - r >= h * u:
                z = -(g - r) / h
            else:
                z = -u
            if z == 0.0:
                continue
            d[a] += z
            if z == -u:
                d[a] = -w[a]   # exactly zero
            for p in range(begin, end):
                i = indices[p]
                D[i, k] += z * values[p]
                mean[i] += B[i, k] * z * values[p]
    return violation
