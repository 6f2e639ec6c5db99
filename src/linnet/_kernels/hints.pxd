"""Hints to the compiler: which memory is read soon, which branch is usual. They change no result."""

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define ln_prefetch(p) __builtin_prefetch((p), 0, 3)
    #define ln_likely(x) __builtin_expect(!!(x), 1)
    #else
    #define ln_prefetch(p) ((void)(p))
    #define ln_likely(x) (x)
    #endif
    """
    void ln_prefetch(const void* p) noexcept nogil
    bint ln_likely(bint x) noexcept nogil
