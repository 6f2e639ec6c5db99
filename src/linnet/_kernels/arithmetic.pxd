# The scalar functions of arithmetic.h, for other kernels: cimport these, never those of libc.math (sqrt and fabs are exact).
cdef extern from "arithmetic.h" nogil:
    double log "linnet_log"(double x) noexcept
    double log1p "linnet_log1p"(double x) noexcept
    double exp "linnet_exp"(double x) noexcept
    double power "linnet_power"(double x, double y) noexcept
