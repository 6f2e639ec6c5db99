"""What is known of a character: its classes, what it is folded to, its shape. The tables are made by tools/unicode_tables.py."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

cdef extern from "unicode_tables.h" nogil:
    const char* LN_UNICODE_VERSION
    const uint8_t ln_class_index[]
    const uint8_t ln_class_block[]
    const uint8_t ln_fold_index[]
    const int32_t ln_fold_block[]
    const uint8_t ln_lower_index[]
    const int32_t ln_lower_block[]
    const int32_t ln_expand[]

cdef enum:  # classes of characters, bits
    WORD = 1        # letters, digits, underscores
    MARK = 2        # combining marks
    SPACE = 4
    ALONE = 8       # scripts that are written without spaces: each character is a word
    IGNORE = 16     # dropped: controls, soft hyphens, marks of direction
    PYSPACE = 32    # str.isspace

cdef enum:  # how letters are folded
    CASE_KEEP = 0
    CASE_FOLD = 1
    CASE_LOWER = 2


cdef inline uint8_t char_class(uint32_t c) noexcept nogil:
    return ln_class_block[(<int64_t>ln_class_index[c >> 7] << 7) + (c & 127)]


cdef inline int fold_char(uint32_t c, int case_mode, uint32_t* out) noexcept nogil:
    """Write what a character is folded to; returns how many characters that is."""
    cdef int32_t other = 0
    cdef int k
    if case_mode == CASE_FOLD:
        other = ln_fold_block[(<int64_t>ln_fold_index[c >> 7] << 7) + (c & 127)]
    elif case_mode == CASE_LOWER:
        other = ln_lower_block[(<int64_t>ln_lower_index[c >> 7] << 7) + (c & 127)]
    if other >= 0:
        out[0] = <uint32_t>other if other else c
        return 1
    for k in range(3):
        out[k] = <uint32_t>ln_expand[3 * (-1 - other) + k]
        if out[k] == 0:
            return k
    return 3


cdef inline bint is_apostrophe(uint32_t c) noexcept nogil:
    return c == 0x27 or c == 0x2019 or c == 0xFF07


cdef inline uint32_t plain_apostrophe(uint32_t c) noexcept nogil:
    """Write every apostrophe in one way."""
    return 0x27 if is_apostrophe(c) else c


cdef inline bint is_letter(uint32_t c) noexcept nogil:
    return 0x61 <= (c | 0x20) <= 0x7A and c < 0x80


cdef inline bint is_digit(uint32_t c) noexcept nogil:
    return 0x30 <= c <= 0x39


cdef inline uint32_t shape_of(uint32_t c) noexcept nogil:
    """X for capitals, x for other letters, d for 0-9, other signs as they are."""
    if 0x61 <= c <= 0x7A:
        return 0x78
    if ln_lower_block[(<int64_t>ln_lower_index[c >> 7] << 7) + (c & 127)] != 0:
        return 0x58
    if 0x30 <= c <= 0x39:
        return 0x64
    return 0x78 if char_class(c) & (WORD | MARK) else c
