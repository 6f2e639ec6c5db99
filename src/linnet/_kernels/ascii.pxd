"""ASCII text eight bytes at a time, in one 64-bit number, or 64 bytes at a time, as masks of one bit a byte.

A byte of a 64-bit number is marked by its top bit: word_bytes(x) marks the letters, digits and underscores of x.
"""
from libc.stdint cimport uint8_t, uint64_t

cdef extern from "ascii_masks.h" nogil:
    uint64_t ln_masks(const uint8_t* p, uint64_t* word, uint64_t* blank, uint64_t* apostrophe)

cdef extern from *:
    """
    #define LN_TOP_BITS UINT64_C(0x8080808080808080)
    #define LN_ONES UINT64_C(0x0101010101010101)
    #include <string.h>
    static inline uint64_t ln_load(const uint8_t* p) {   /* eight bytes, the first one lowest */
        uint64_t x; memcpy(&x, p, 8);
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        x = __builtin_bswap64(x);
    #endif
        return x;
    }
    static inline int ln_low_bit(uint64_t x) {   /* the number of the lowest bit that is set; 64 if there is none */
    #if defined(__GNUC__) || defined(__clang__)
        return x ? __builtin_ctzll(x) : 64;
    #else
        int n = 0; if (!x) return 64; while (!(x & 1)) { x >>= 1; n++; } return n;
    #endif
    }
    static inline int ln_low_byte(uint64_t x) { return ln_low_bit(x) >> 3; }
    """
    uint64_t ln_load(const uint8_t* p) noexcept nogil
    int ln_low_bit(uint64_t x) noexcept nogil
    int ln_low_byte(uint64_t x) noexcept nogil
    const uint64_t TOP_BITS "LN_TOP_BITS"
    const uint64_t ONES "LN_ONES"


cdef inline uint64_t at_least(uint64_t x, uint64_t low) noexcept nogil:
    """Set the top bit of every byte of x (all below 0x80) that is at least low."""
    return ((x | TOP_BITS) - low * ONES) & TOP_BITS


cdef inline uint64_t word_bytes(uint64_t x) noexcept nogil:
    """Set the top bit of every byte of x that is an ASCII letter, digit or underscore."""
    cdef uint64_t plain_apostrophe = x & ~TOP_BITS, lower = plain_apostrophe | (0x20 * ONES), found
    found = at_least(lower, 0x61) & ~at_least(lower, 0x7B)
    found |= at_least(plain_apostrophe, 0x30) & ~at_least(plain_apostrophe, 0x3A)
    found |= ~((plain_apostrophe ^ (0x5F * ONES) | TOP_BITS) - ONES) & TOP_BITS
    return found & ~x


cdef inline uint64_t lower_bytes(uint64_t x) noexcept nogil:
    """Lower-case the ASCII letters among eight bytes below 0x80."""
    return x | ((at_least(x, 0x41) & ~at_least(x, 0x5B)) >> 2)
