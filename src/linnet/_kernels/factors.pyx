"""Factors of small dense matrices in a fixed order of operations: singular values by rotations, Cholesky's triangle.

LAPACK's last digits change with the processor and the number of threads; these do not.

Rotations   one-sided Jacobi: rows of M are rotated in pairs until all are orthogonal; then their lengths are the singular
            values, M = S U^T, and V, rotated with them, holds the other vectors. Cost of a sweep: 4 k^2 n for k rows of n.
Cholesky    G = L L^T for a positive definite G: d^3 / 6.
Paper       Hestenes: Inversion of Matrices by Biorthogonalization and Related Results, 1958; Demmel and Veselic: Jacobi's
            Method is More Accurate than QR, 1992.
"""
from libc.math cimport fabs, sqrt
from libc.stdint cimport int64_t


cdef double inner(const double* x, const double* y, int64_t n) noexcept nogil:
    cdef double[4] lane
    cdef int64_t i = 0, c
    for c in range(4):
        lane[c] = 0.0
    while i + 4 <= n:
        for c in range(4):
            lane[c] += x[i + c] * y[i + c]
        i += 4
    while i < n:
        lane[0] += x[i] * y[i]
        i += 1
    return (lane[0] + lane[1]) + (lane[2] + lane[3])


cdef void rotate(double* x, double* y, double c, double s, int64_t n) noexcept nogil:
    cdef int64_t i
    cdef double v
    for i in range(n):
        v = x[i]
        x[i] = c * v - s * y[i]
        y[i] = s * v + c * y[i]


def sweep(double[:, ::1] M, double[:, ::1] V, double[::1] squares, double tol) -> int:
    """Rotate every pair of rows whose cosine is above tol, those of V alike; returns how many pairs were.

    squares receives the squared lengths of the rows.
    """
    cdef int64_t p, q, k = M.shape[0], n = M.shape[1], rotated = 0
    cdef double d, t, c, zeta
    with nogil:
        for p in range(k):
            squares[p] = inner(&M[p, 0], &M[p, 0], n)
        for p in range(k - 1):
            for q in range(p + 1, k):
                d = inner(&M[p, 0], &M[q, 0], n)
                if fabs(d) <= tol * sqrt(squares[p]) * sqrt(squares[q]):
                    continue
                rotated += 1
                zeta = (squares[q] - squares[p]) / (2.0 * d)
                t = 1.0 / (fabs(zeta) + sqrt(1.0 + zeta * zeta))
                if zeta < 0.0:
                    t = -t
                c = 1.0 / sqrt(1.0 + t * t)
                rotate(&M[p, 0], &M[q, 0], c, c * t, n)
                rotate(&V[p, 0], &V[q, 0], c, c * t, V.shape[1])
                squares[p] = inner(&M[p, 0], &M[p, 0], n)
                squares[q] = inner(&M[q, 0], &M[q, 0], n)
    return rotated


def cholesky(double[:, ::1] G) -> bool:
    """Write L over the lower triangle of G; False where G is not positive definite."""
    cdef int64_t i, j, d = G.shape[0]
    cdef double v
    cdef bint sound = True
    with nogil:
        for i in range(d):
            for j in range(i + 1):
                v = G[i, j] - inner(&G[i, 0], &G[j, 0], j)
                if i > j:
                    G[i, j] = v / G[j, j]
                elif v > 0.0:
                    G[i, i] = sqrt(v)
                else:
                    sound = False
                    break
            if not sound:
                break
    return sound


def solve(const double[:, ::1] L, double[:, ::1] B):
    """Write the X of L L^T X = B over B."""
    cdef int64_t i, k, c, d = L.shape[0], m = B.shape[1]
    with nogil:
        for i in range(d):
            for k in range(i):
                for c in range(m):
                    B[i, c] -= L[i, k] * B[k, c]
            for c in range(m):
                B[i, c] /= L[i, i]
        for i in range(d - 1, -1, -1):
            for c in range(m):
                B[i, c] /= L[i, i]
            for k in range(i):
                for c in range(m):
                    B[k, c] -= L[i, k] * B[i, c]
