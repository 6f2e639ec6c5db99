"""English tokens in the manner of the Penn Treebank: did n't, cat ., gon na, U.S."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from linnet._kernels.ascii cimport *
from linnet._kernels.characters cimport *
from linnet._kernels.hash cimport *
from linnet._kernels.hints cimport ln_likely
from linnet._kernels.tokens cimport *
from linnet._kernels.utf8 cimport decode
from linnet._kernels.words cimport read_ascii, read_symbol


cdef inline uint32_t letters_at(const uint8_t* p, int count) noexcept nogil:
    """Up to four bytes as one number, ASCII letters in lower case, the first byte highest."""
    cdef uint32_t x = 0
    cdef int k
    for k in range(count):
        x = (x << 8) | (p[k] | 0x20 if is_letter(p[k]) else p[k])
    return x


cdef inline int apostrophe_at(const uint8_t* p, int64_t n) noexcept nogil:
    """The length of the apostrophe at p, 0 if there is none."""
    cdef int length
    if n > 0 and p[0] == 0x27:
        return 1
    return length if n > 2 and is_apostrophe(decode(p, n, &length)) else 0


cdef inline int64_t penn_unit(const uint8_t* p, int64_t n) noexcept nogil:
    """The length of the clitic at p: n't, 's, 'm, 'd, 're, 've or 'll; 0 if there is none."""
    cdef int length
    cdef uint32_t two
    if n > 2 and (p[0] | 0x20) == 0x6E:
        length = apostrophe_at(p + 1, n - 1)
        return length + 2 if length and n > length + 1 and (p[length + 1] | 0x20) == 0x74 else 0
    length = apostrophe_at(p, n)
    if length == 0 or n <= length:
        return 0
    two = p[length] | 0x20
    if two == 0x73 or two == 0x6D or two == 0x64:
        return length + 1
    two = letters_at(p + length, 2) if n > length + 1 else 0
    return length + 2 if two == 0x7265 or two == 0x7665 or two == 0x6C6C else 0


cdef inline int64_t penn_stem(const uint8_t* p, int64_t n) noexcept nogil:
    """Where the clitics at the end of a word begin; n where there are none, 0 where it is a clitic itself."""
    cdef int64_t k, size
    while True:
        size = 0
        for k in range(2, 6):   # the letters and the apostrophe of a unit take 2 to 5 bytes
            if k <= n and penn_unit(p + n - k, k) == k:
                size = k
                break
        if size == 0:
            return n
        n -= size


cdef inline bint penn_two(const uint8_t* p, int64_t n) noexcept nogil:
    """Whether a word is two in one: can-not, gon-na, wan-na, got-ta, gim-me, lem-me."""
    cdef uint32_t head, tail
    if n == 6:
        return letters_at(p, 4) == 0x63616E6E and letters_at(p + 4, 2) == 0x6F74
    if n != 5:
        return False
    head = letters_at(p, 3)
    tail = letters_at(p + 3, 2)
    if tail == 0x6E61:
        return head == 0x676F6E or head == 0x77616E
    if tail == 0x6D65:
        return head == 0x67696D or head == 0x6C656D
    return tail == 0x7461 and head == 0x676F74


cdef inline bint penn_dotted(const uint8_t* p, int64_t n) noexcept nogil:
    """Whether the full stop after a word belongs to it: U.S., e.g., and a few titles."""
    cdef int64_t k
    cdef uint32_t word
    if n >= 3 and n % 2 and p[1] == 0x2E:
        for k in range(n):
            if (p[k] != 0x2E) if k % 2 else not is_letter(p[k]):
                return False
        return True
    if n < 2 or n > 4:
        return False
    word = letters_at(p, <int>n)
    return (word == 0x6D72 or word == 0x6D7273 or word == 0x6D73 or word == 0x6472 or word == 0x70726F66
            or word == 0x7374 or word == 0x6A72 or word == 0x7372 or word == 0x7673 or word == 0x657463)


cdef inline int64_t penn_end(const uint8_t* p, int64_t n, int64_t start, int64_t* rest, bint* apostrophes) noexcept nogil:
    """Where the word that begins at start ends, in rest[0] where to read on, and whether it holds apostrophes.

    Inside words stay apostrophes, hyphens, slashes and full stops before a letter or digit, and between digits , and :.
    """
    cdef int64_t i = start, end = start
    cdef uint64_t other
    cdef uint32_t c, before = 0, after
    cdef int length, next_length, count
    cdef uint8_t kind
    apostrophes[0] = False
    while i < n:
        if i + 8 <= n:   # ASCII letters and digits, eight bytes at a time
            other = ~word_bytes(ln_load(p + i)) & TOP_BITS
            count = ln_low_byte(other) if other else 8
            if count:
                i += count
                end = i
                before = p[i - 1]
                if count == 8 or i == n:
                    continue
        c = p[i]
        length = 1
        if ln_likely(c < 0x80):
            kind = ln_class_block[c]
        else:
            c = decode(p + i, n - i, &length)
            kind = char_class(c)
        if (kind & (WORD | MARK)) and not (kind & ALONE):
            end = i + length
        elif i == start and is_apostrophe(c):
            apostrophes[0] = True
        elif not kind & IGNORE:
            if i + length >= n or not (is_apostrophe(c) or 0x2C <= c <= 0x2F or c == 0x3A):   # , - . / :
                break
            after = decode(p + i + length, n - i - length, &next_length)
            kind = char_class(after)
            if not (kind & WORD) or kind & ALONE:
                break
            if (c == 0x2C or c == 0x3A) and not (is_digit(before) and is_digit(after)):
                break
            apostrophes[0] |= is_apostrophe(c)
        before = c
        i += length
    rest[0] = i
    return end


cdef inline void close_piece(Tokens* s, const uint8_t* p, int64_t n, int64_t start, int64_t stop, int case_mode,
                             bint keep) noexcept nogil:
    """Close the token of the bytes start..stop-1, without what is dropped inside words."""
    cdef int64_t i, end
    cdef TokenHash r
    cdef uint32_t c
    cdef int length
    hash_start(&r)
    i = end = read_ascii(s, &r, p, n, start, stop, case_mode != CASE_KEEP, keep)
    while i < stop:
        c = decode(p + i, stop - i, &length)
        if not char_class(c) & IGNORE:
            add_char(s, &r, plain_apostrophe(c), i, i + length, case_mode, keep)
            end = i + length
        i += length
    close_token(s, &r, start, end)


cdef inline int64_t read_penn(Tokens* s, const uint8_t* p, int64_t n, int64_t start, int case_mode,
                              bint keep) noexcept nogil:
    """Cut the word at start, its clitics apart; at an apostrophe, return start where no clitic stands there."""
    cdef bint apostrophes
    cdef int64_t rest, end = penn_end(p, n, start, &rest, &apostrophes), stem, unit
    if apostrophe_at(p + start, n - start):
        if end == start or penn_stem(p + start, end - start) != 0:
            return start
    elif rest == end and end < n and p[end] == 0x2E and not (end + 1 < n and p[end + 1] == 0x2E) \
            and penn_dotted(p + start, end - start):
        close_piece(s, p, n, start, end + 1, case_mode, keep)
        return end + 1
    stem = start + penn_stem(p + start, end - start) if apostrophes else end
    if penn_two(p + start, stem - start):
        close_piece(s, p, n, start, start + 3, case_mode, keep)
        close_piece(s, p, n, start + 3, stem, case_mode, keep)
    elif stem > start:
        close_piece(s, p, n, start, stem, case_mode, keep)
    while stem < end:
        unit = penn_unit(p + stem, end - stem)
        close_piece(s, p, n, stem, stem + unit, case_mode, keep)
        stem += unit
    return rest


cdef inline void tokenise_penn(Tokens* s, const uint8_t* p, int64_t n, int case_mode, bint keep) noexcept nogil:
    """Cut English words as the Penn Treebank does; signs stand alone but for runs of . - ' and `."""
    cdef int64_t i = 0, end
    cdef uint32_t c
    cdef int length
    cdef uint8_t kind
    while i < n:
        c = p[i]
        length = 1
        if ln_likely(c < 0x80):
            kind = ln_class_block[c]
        else:
            c = decode(p + i, n - i, &length)
            kind = char_class(c)
        if kind & (SPACE | IGNORE):
            i += length
            continue
        if (kind & (WORD | MARK) and not kind & ALONE) or is_apostrophe(c):
            end = read_penn(s, p, n, i, case_mode, keep)
            if end > i:
                i = end
                continue
        i = read_symbol(s, p, n, i, c, length, c == 0x2E or c == 0x2D or c == 0x60 or is_apostrophe(c), case_mode,
                        keep)
