"""Elementary functions and sums of arrays, with the same bits on any processor.

The functions are those of arithmetic.h. A sum of n numbers is made in one order: eight running sums over blocks of 128,
and blocks added in pairs, so that its error grows with log n. Products and sums are of doubles, whatever the input is.
Cost of each: one pass over the array.
"""
from libc.stdint cimport int64_t

cdef extern from "arithmetic.h" nogil:
    void linnet_logs(const double* x, double y, double* out, int64_t n) noexcept
    void linnet_log1ps(const double* x, double y, double* out, int64_t n) noexcept
    void linnet_exps(const double* x, double y, double* out, int64_t n) noexcept
    void linnet_powers(const double* x, double y, double* out, int64_t n) noexcept
    void linnet_logs32(const float* x, double y, float* out, int64_t n) noexcept
    void linnet_log1ps32(const float* x, double y, float* out, int64_t n) noexcept
    void linnet_exps32(const float* x, double y, float* out, int64_t n) noexcept
    void linnet_powers32(const float* x, double y, float* out, int64_t n) noexcept
    void linnet_short_powers32(const float* x, double y, float* out, int64_t n) noexcept

from linnet._kernels.arithmetic cimport power

cdef fused real:
    float
    double

cdef enum:
    LANES = 8
    BLOCK = 128   # numbers, or rows: summed one after the other


def logs(const real[::1] x, real[::1] out):
    """Write the natural logarithm of each number."""
    with nogil:
        if x.shape[0] == 0:
            pass
        elif real is double:
            linnet_logs(&x[0], 0.0, &out[0], x.shape[0])
        else:
            linnet_logs32(&x[0], 0.0, &out[0], x.shape[0])


def log1ps(const real[::1] x, real[::1] out):
    """Write log(1 + x) of each number."""
    with nogil:
        if x.shape[0] == 0:
            pass
        elif real is double:
            linnet_log1ps(&x[0], 0.0, &out[0], x.shape[0])
        else:
            linnet_log1ps32(&x[0], 0.0, &out[0], x.shape[0])


def exps(const real[::1] x, real[::1] out):
    """Write e^x of each number."""
    with nogil:
        if x.shape[0] == 0:
            pass
        elif real is double:
            linnet_exps(&x[0], 0.0, &out[0], x.shape[0])
        else:
            linnet_exps32(&x[0], 0.0, &out[0], x.shape[0])


def powers(const real[::1] x, double exponent, bint negative, real[::1] out):
    """Write x^exponent of each number; negative says that some may be below zero."""
    with nogil:
        if x.shape[0] == 0:
            pass
        elif real is double:
            linnet_powers(&x[0], exponent, &out[0], x.shape[0])
        elif negative:
            linnet_powers32(&x[0], exponent, &out[0], x.shape[0])
        else:
            linnet_short_powers32(&x[0], exponent, &out[0], x.shape[0])


def powers_of(const double[::1] x, const double[::1] exponent, double[::1] out):
    """Write x^exponent of each pair of numbers."""
    cdef int64_t i
    with nogil:
        for i in range(x.shape[0]):
            out[i] = power(x[i], exponent[i])


cdef double sum_of(const real* x, const real* y, int64_t n) noexcept nogil:
    """Return sum x_i y_i, or sum x_i where there is no y."""
    cdef double[LANES] lane
    cdef double result
    cdef int64_t i, c, half
    if n > BLOCK:
        half = (n // 2) // LANES * LANES
        return sum_of(x, y, half) + sum_of(x + half, NULL if y == NULL else y + half, n - half)
    for c in range(LANES):
        lane[c] = 0.0
    i = 0
    if y == NULL:
        while i + LANES <= n:
            for c in range(LANES):
                lane[c] += x[i + c]
            i += LANES
    else:
        while i + LANES <= n:
            for c in range(LANES):
                lane[c] += <double>x[i + c] * <double>y[i + c]
            i += LANES
    result = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]))
    while i < n:
        result += <double>x[i] if y == NULL else <double>x[i] * <double>y[i]
        i += 1
    return result


def total(const real[::1] x) -> float:
    """Return the sum of all numbers."""
    cdef double result = 0.0
    with nogil:
        if x.shape[0]:
            result = sum_of(&x[0], <const real*>NULL, x.shape[0])
    return result


def dot(const real[::1] x, const real[::1] y) -> float:
    """Return the sum of the products."""
    cdef double result = 0.0
    with nogil:
        if x.shape[0]:
            result = sum_of(&x[0], &y[0], x.shape[0])
    return result


def row_totals(const real[:, ::1] X, double[::1] out):
    """Write the sum of each row."""
    cdef int64_t i
    with nogil:
        if X.shape[1]:
            for i in range(X.shape[0]):
                out[i] = sum_of(&X[i, 0], <const real*>NULL, X.shape[1])


def column_totals(const real[:, ::1] X, double[::1] scratch, double[::1] out):
    """Add the sum of each column to out, block by block of rows; scratch is as long as a row."""
    cdef int64_t i, c, first, last, n = X.shape[0], m = X.shape[1]
    with nogil:
        first = 0
        while first < n:
            last = first + BLOCK if first + BLOCK < n else n
            for c in range(m):
                scratch[c] = 0.0
            for i in range(first, last):
                for c in range(m):
                    scratch[c] += X[i, c]
            for c in range(m):
                out[c] += scratch[c]
            first = last


def matmul(const double[:, ::1] A, const double[:, ::1] B, double[:, ::1] out):
    """Add A B to out, the terms of each number in the order of the rows of B."""
    cdef int64_t i, k, c, m = B.shape[1]
    cdef double v
    with nogil:
        for i in range(A.shape[0]):
            for k in range(B.shape[0]):
                v = A[i, k]
                for c in range(m):
                    out[i, c] += v * B[k, c]
