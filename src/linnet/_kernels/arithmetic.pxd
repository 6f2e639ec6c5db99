# The scalar functions of arithmetic.h, for other kernels: cimport these, never those of libc.math (sqrt and fabs are exact).
from libc.stdint cimport int64_t

cdef extern from "arithmetic.h" nogil:
    double log "linnet_log"(double x) noexcept
    double log1p "linnet_log1p"(double x) noexcept
    double exp "linnet_exp"(double x) noexcept
    double power "linnet_power"(double x, double y) noexcept


cdef inline double largest(const double* x, int64_t n) noexcept nogil:
    """The largest of one or more numbers."""
    cdef double top = x[0]
    cdef int64_t k
    for k in range(1, n):
        if x[k] > top:
            top = x[k]
    return top
