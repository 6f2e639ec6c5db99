"""Unicode words: letters, digits and marks with apostrophes inside; signs as tokens, a run of the same sign as one.

Plain ASCII is read 64 and eight bytes at a time, everything else character by character.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from linnet._kernels.ascii cimport *
from linnet._kernels.characters cimport *
from linnet._kernels.hash cimport *
from linnet._kernels.hints cimport ln_likely
from linnet._kernels.tokens cimport *
from linnet._kernels.utf8 cimport decode


cdef inline int64_t read_ascii(Tokens* s, TokenHash* r, const uint8_t* p, int64_t n, int64_t i, int64_t stop, bint lower,
                               bint keep) noexcept nogil:
    """Read the ASCII letters, digits and underscores from i to stop - 1 at most, eight bytes at a time; return where they end.

    Nothing is read where fewer than eight bytes are left of the n bytes at p.
    """
    cdef uint64_t x, other
    cdef int count = 8, k
    while count == 8 and i + 8 <= n:
        x = ln_load(p + i)
        other = ~word_bytes(x) & TOP_BITS
        count = ln_low_byte(other) if other else 8
        if i + count > stop:
            count = <int>(stop - i)
        if lower:
            x = lower_bytes(x & ~TOP_BITS)
        if keep:
            for k in range(count):
                keep_char(s, <uint32_t>((x >> (8 * k)) & 0xFF), i + k, i + k + 1)
        i += count
        r.n_bytes += count
        if count == 8:
            r.h = absorb(r.h, x)
        elif count:
            r.tail = x & ((<uint64_t>1 << (8 * count)) - 1)
            r.n_tail = count
    return i


cdef inline int64_t read_word(Tokens* s, const uint8_t* p, int64_t n, int64_t start, int case_mode,
                              bint keep) noexcept nogil:
    """Cut the word that begins at start: letters, digits, marks, and apostrophes between two of them."""
    cdef int64_t i, end, peek
    cdef TokenHash r
    cdef uint32_t c
    cdef int length, next_length
    cdef uint8_t kind
    hash_start(&r)
    i = read_ascii(s, &r, p, n, start, n, case_mode != CASE_KEEP, keep)
    end = i
    while i < n:
        c = p[i]
        length = 1
        if ln_likely(c < 0x80):
            kind = ln_class_block[c]
            if ln_likely(not (kind & WORD) and c != 0x27):
                break
        else:
            c = decode(p + i, n - i, &length)
            kind = char_class(c)
        if kind & IGNORE:
            i += length
            continue
        if (kind & (WORD | MARK)) and not (kind & ALONE):
            add_char(s, &r, c, i, i + length, case_mode, keep)
            i += length
            end = i
            continue
        if is_apostrophe(c):
            peek = i + length
            if peek < n:
                c = decode(p + peek, n - peek, &next_length)
                kind = char_class(c)
                if (kind & WORD) and not (kind & ALONE):
                    add_char(s, &r, 0x27, i, i + length, CASE_KEEP, keep)
                    i = peek
                    continue
        break
    close_token(s, &r, start, end)
    return i


cdef inline int64_t read_symbol(Tokens* s, const uint8_t* p, int64_t n, int64_t start, uint32_t first, int length,
                                bint run, int case_mode, bint keep) noexcept nogil:
    """Cut a sign or a character that stands alone, with its marks; a run of the same sign is one token ("...").

    A joiner binds the next sign (an emoji made of several), never a letter or a space.
    """
    cdef int64_t i = start + length
    cdef TokenHash r
    cdef uint32_t c = 0, last
    cdef uint8_t kind
    hash_start(&r)
    add_char(s, &r, plain_apostrophe(first), start, i, case_mode, keep)
    while i < n:
        last = c
        c = decode(p + i, n - i, &length)
        kind = char_class(c)
        if not ((run and c == first) or (kind & MARK) or (last == 0x200D and not kind & (WORD | SPACE | IGNORE))):
            break
        add_char(s, &r, plain_apostrophe(c), i, i + length, case_mode, keep)
        i += length
    close_token(s, &r, start, i)
    return i


cdef inline void close_ascii(Tokens* s, const uint8_t* p, int64_t start, int64_t end, bint lower,
                             bint keep) noexcept nogil:
    """Close the token of the ASCII bytes start..end-1; eight bytes from its last one on must be there to be read."""
    cdef uint64_t h = 0, x
    cdef int64_t i = start, k
    cdef int left
    while i < end:
        x = ln_load(p + i)
        left = <int>(end - i)
        if left < 8:
            x &= (<uint64_t>1 << (8 * left)) - 1
        if lower:
            x = lower_bytes(x)
        h = absorb(h, x)
        if keep:
            for k in range(8 if left > 8 else left):
                keep_char(s, <uint32_t>((x >> (8 * k)) & 0xFF), i + k, i + k + 1)
        i += 8
    add_token(s, mix(h ^ <uint64_t>(end - start)), start, end)


cdef inline int64_t tokenise_ascii(Tokens* s, const uint8_t* p, int64_t n, int64_t i, bint lower, bint keep) noexcept nogil:
    """Cut the plain tokens from i on, looking at 64 bytes at once; returns where one begins that is not so plain.

    Plain is what is ASCII together with the byte behind it, but for a sign that is repeated and the end of the text.
    """
    cdef uint64_t word, blank, apostrophe, there
    cdef int k, end, limit
    while i + 72 <= n:
        limit = ln_low_bit(ln_masks(p + i, &word, &blank, &apostrophe))
        word |= apostrophe & (word << 1) & (word >> 1)
        k = 0
        while True:
            there = ~blank & (~<uint64_t>0 << k)
            if there == 0:
                k = 64
                break
            k = ln_low_bit(there)
            if (word >> k) & 1:
                end = ln_low_bit(~word & (~<uint64_t>0 << k))
                if end + 1 >= limit:
                    break
                close_ascii(s, p, i + k, i + end, lower, keep)
                k = end
            else:
                if k + 1 >= limit or p[i + k + 1] == p[i + k]:
                    break
                close_ascii(s, p, i + k, i + k + 1, lower, keep)
                k += 1
        i += k
        if k == 0 or limit < 64:
            break
    return i


cdef inline void tokenise_words(Tokens* s, const uint8_t* p, int64_t n, int case_mode, bint keep) noexcept nogil:
    cdef int64_t i = 0, plain_to
    cdef uint32_t c
    cdef int length
    cdef uint8_t kind
    while i < n:
        c = p[i]
        if ln_likely(c < 0x80):
            length = 1
            kind = ln_class_block[c]
        else:
            c = decode(p + i, n - i, &length)
            kind = char_class(c)
        if kind & (SPACE | IGNORE):
            i += length
            continue
        if c < 0x80:
            plain_to = tokenise_ascii(s, p, n, i, case_mode != CASE_KEEP, keep)
            if plain_to > i:
                i = plain_to
                continue
        if kind & ALONE:
            i = read_symbol(s, p, n, i, c, length, False, case_mode, keep)
        elif kind & (WORD | MARK):
            i = read_word(s, p, n, i, case_mode, keep)
        else:
            i = read_symbol(s, p, n, i, c, length, True, case_mode, keep)
