"""Text to tokens to fingerprints, for one document: the inner loops that vocab, score and featurize share.

What it does: walks UTF-8 bytes once, cuts tokens, folds case, hashes each token to 64 bits and combines the hashes into
n-grams; the other blocks are in emit.pxd. What it does not do: allocate, touch Python, validate UTF-8 (broken bytes are
read as U+FFFD, one byte each). The plain-Python twin is twins.py; the tests hold the two together on any bytes.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef extern from "unicode_tables.h" nogil:
    const char* LN_UNICODE_VERSION
    const uint8_t ln_class_index[]
    const uint8_t ln_class_block[]
    const uint8_t ln_fold_index[]
    const int32_t ln_fold_block[]
    const uint8_t ln_lower_index[]
    const int32_t ln_lower_block[]
    const int32_t ln_expand[]

cdef extern from "ascii_masks.h" nogil:
    uint64_t ln_masks(const uint8_t* p, uint64_t* word, uint64_t* blank, uint64_t* apostrophe)

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define ln_prefetch(p) __builtin_prefetch((p), 0, 1)
    #define ln_likely(x) __builtin_expect(!!(x), 1)
    #else
    #define ln_prefetch(p) ((void)(p))
    #define ln_likely(x) (x)
    #endif
    #define LN_TOP_BITS UINT64_C(0x8080808080808080)
    #define LN_ONES UINT64_C(0x0101010101010101)
    #include <string.h>
    static inline uint64_t ln_load(const uint8_t* p) {
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
    void ln_prefetch(const void* p) noexcept nogil
    bint ln_likely(bint x) noexcept nogil
    uint64_t ln_load(const uint8_t* p) noexcept nogil
    int ln_low_bit(uint64_t x) noexcept nogil
    int ln_low_byte(uint64_t x) noexcept nogil
    const uint64_t TOP_BITS "LN_TOP_BITS"
    const uint64_t ONES "LN_ONES"

cdef enum:
    WORD = 1
    MARK = 2
    SPACE = 4
    ALONE = 8
    IGNORE = 16
    PYSPACE = 32

cdef enum:  # how tokens are cut
    TOKENS_WORDS = 0        # Unicode words, inner apostrophes kept, punctuation as tokens
    TOKENS_PATTERN = 1      # runs of two or more \w, as in scikit-learn's default pattern
    TOKENS_WHITESPACE = 2   # what str.split() gives
    TOKENS_CHARACTERS = 3   # every character, blanks too
    TOKENS_BYTES = 4        # every byte of the UTF-8, written as the character of that number
    TOKENS_PENN = 5         # English in the manner of the Penn Treebank: did n't, cat .

cdef enum:  # how letters are folded
    CASE_KEEP = 0
    CASE_FOLD = 1
    CASE_LOWER = 2

cdef enum:  # what a block makes of the tokens
    KIND_WORDS = 0
    KIND_CHARS = 1

cdef enum:  # columns of the (n_blocks, 6) int64 table that describes the blocks
    B_KIND = 0
    B_TOKENS = 1
    B_CASE = 2
    B_LOW = 3
    B_HIGH = 4
    B_SEED = 5
    B_WIDTH = 6

cdef enum:  # a character n-gram may begin or end at the edge of its word
    EDGE_LEFT = 1 << 30
    EDGE_RIGHT = 1 << 29
    LENGTH_MASK = (1 << 29) - 1

# Scratch of one thread; tokens and characters of the document at hand. 24 bytes a token, 12 a character.
cdef struct Scratch:
    uint64_t* token_hash     # (n_tokens,)
    int32_t* token_start     # (n_tokens,) byte offsets into the document
    int32_t* token_end
    int32_t* token_char      # (n_tokens + 1,) where the token's characters begin
    uint32_t* char_code      # (n_chars,) folded characters
    int32_t* char_start      # (n_chars,) byte offsets into the document
    int32_t* char_end
    const uint8_t* text      # the document itself
    int64_t n_text
    int64_t n_tokens
    int64_t n_chars


cdef inline uint64_t mix(uint64_t h) noexcept nogil:
    """Finish a hash: every input bit reaches every output bit (splitmix64)."""
    h ^= h >> 30
    h *= <uint64_t>0xBF58476D1CE4E5B9
    h ^= h >> 27
    h *= <uint64_t>0x94D049BB133111EB
    return h ^ (h >> 31)


# A token's hash is that of its folded UTF-8 bytes, eight at a time, and their number: so that plain ASCII words can be
# read eight bytes at a time too.
cdef struct Roll:
    uint64_t h
    uint64_t tail      # bytes not yet absorbed, first byte lowest
    uint32_t n_tail
    uint32_t n_bytes


cdef inline uint64_t absorb(uint64_t h, uint64_t chunk) noexcept nogil:
    """Add eight bytes to a running hash."""
    h = (h ^ chunk) * <uint64_t>0x9E3779B97F4A7C15
    return h ^ (h >> 32)


cdef inline void roll_byte(Roll* r, uint64_t c) noexcept nogil:
    r.tail |= c << (8 * r.n_tail)
    r.n_tail += 1
    r.n_bytes += 1
    if r.n_tail == 8:
        r.h = absorb(r.h, r.tail)
        r.tail = 0
        r.n_tail = 0


cdef inline void roll_char(Roll* r, uint32_t c) noexcept nogil:
    """Add one character as UTF-8."""
    if c < 0x80:
        roll_byte(r, c)
    elif c < 0x800:
        roll_byte(r, 0xC0 | (c >> 6))
        roll_byte(r, 0x80 | (c & 0x3F))
    elif c < 0x10000:
        roll_byte(r, 0xE0 | (c >> 12))
        roll_byte(r, 0x80 | ((c >> 6) & 0x3F))
        roll_byte(r, 0x80 | (c & 0x3F))
    else:
        roll_byte(r, 0xF0 | (c >> 18))
        roll_byte(r, 0x80 | ((c >> 12) & 0x3F))
        roll_byte(r, 0x80 | ((c >> 6) & 0x3F))
        roll_byte(r, 0x80 | (c & 0x3F))


cdef inline uint64_t roll_end(Roll* r) noexcept nogil:
    if r.n_tail:
        r.h = absorb(r.h, r.tail)
    return mix(r.h ^ r.n_bytes)


cdef inline uint64_t at_least(uint64_t x, uint64_t low) noexcept nogil:
    """Set the top bit of every byte of x (all below 0x80) that is at least low."""
    return ((x | TOP_BITS) - low * ONES) & TOP_BITS


cdef inline uint64_t word_bytes(uint64_t x) noexcept nogil:
    """Set the top bit of every byte of x that is an ASCII letter, digit or underscore."""
    cdef uint64_t plain = x & ~TOP_BITS, lower = plain | (0x20 * ONES), found
    found = at_least(lower, 0x61) & ~at_least(lower, 0x7B)
    found |= at_least(plain, 0x30) & ~at_least(plain, 0x3A)
    found |= ~((plain ^ (0x5F * ONES) | TOP_BITS) - ONES) & TOP_BITS
    return found & ~x


cdef inline uint64_t lower_bytes(uint64_t x) noexcept nogil:
    """Lower-case the ASCII letters among eight bytes below 0x80."""
    return x | ((at_least(x, 0x41) & ~at_least(x, 0x5B)) >> 2)


cdef inline uint64_t join(uint64_t h, uint64_t token) noexcept nogil:
    """Add one finished token hash to an n-gram."""
    h = (h ^ token) * <uint64_t>0xD6E8FEB86659FD93
    return h ^ (h >> 32)


cdef inline uint8_t char_class(uint32_t c) noexcept nogil:
    return ln_class_block[(<int64_t>ln_class_index[c >> 7] << 7) + (c & 127)]


cdef inline uint32_t decode(const uint8_t* p, int64_t left, int* length) noexcept nogil:
    """Read one character of a non-ASCII sequence; anything malformed is U+FFFD, one byte long."""
    cdef uint32_t a = p[0], c
    length[0] = 1
    if a < 0x80:
        return a
    if a < 0xC2 or a > 0xF4:
        return 0xFFFD
    if a < 0xE0:
        if left < 2 or (p[1] & 0xC0) != 0x80:
            return 0xFFFD
        length[0] = 2
        return ((a & 0x1F) << 6) | (p[1] & 0x3F)
    if a < 0xF0:
        if left < 3 or (p[1] & 0xC0) != 0x80 or (p[2] & 0xC0) != 0x80:
            return 0xFFFD
        c = ((a & 0x0F) << 12) | (<uint32_t>(p[1] & 0x3F) << 6) | (p[2] & 0x3F)
        if c < 0x800 or 0xD800 <= c < 0xE000:
            return 0xFFFD
        length[0] = 3
        return c
    if left < 4 or (p[1] & 0xC0) != 0x80 or (p[2] & 0xC0) != 0x80 or (p[3] & 0xC0) != 0x80:
        return 0xFFFD
    c = ((a & 0x07) << 18) | (<uint32_t>(p[1] & 0x3F) << 12) | (<uint32_t>(p[2] & 0x3F) << 6) | (p[3] & 0x3F)
    if c < 0x10000 or c > 0x10FFFF:
        return 0xFFFD
    length[0] = 4
    return c


cdef inline void keep_char(Scratch* s, uint32_t c, int64_t start, int64_t end) noexcept nogil:
    s.char_code[s.n_chars] = c
    s.char_start[s.n_chars] = <int32_t>start
    s.char_end[s.n_chars] = <int32_t>end
    s.n_chars += 1


cdef inline void add_char(Scratch* s, Roll* r, uint32_t c, int64_t start, int64_t end, int case_mode,
                          bint keep) noexcept nogil:
    """Fold one character, add it to the token's hash and, where characters are needed, to the list of them."""
    cdef int32_t other = 0
    cdef const int32_t* row
    cdef int k
    if case_mode == CASE_FOLD:
        other = ln_fold_block[(<int64_t>ln_fold_index[c >> 7] << 7) + (c & 127)]
    elif case_mode == CASE_LOWER:
        other = ln_lower_block[(<int64_t>ln_lower_index[c >> 7] << 7) + (c & 127)]
    if other >= 0:
        if other:
            c = <uint32_t>other
        if keep:
            keep_char(s, c, start, end)
        roll_char(r, c)
        return
    row = &ln_expand[3 * (-1 - other)]
    for k in range(3):
        if row[k] == 0:
            break
        if keep:
            keep_char(s, <uint32_t>row[k], start, end)
        roll_char(r, <uint32_t>row[k])


cdef inline void start_token(Roll* r) noexcept nogil:
    r.h = 0
    r.tail = 0
    r.n_tail = 0
    r.n_bytes = 0


cdef inline void close_token(Scratch* s, Roll* r, int64_t start, int64_t end) noexcept nogil:
    s.token_hash[s.n_tokens] = roll_end(r)
    s.token_start[s.n_tokens] = <int32_t>start
    s.token_end[s.n_tokens] = <int32_t>end
    s.n_tokens += 1
    s.token_char[s.n_tokens] = <int32_t>s.n_chars


cdef inline bint is_apostrophe(uint32_t c) noexcept nogil:
    return c == 0x27 or c == 0x2019 or c == 0xFF07


cdef inline uint32_t plain(uint32_t c) noexcept nogil:
    """Write every apostrophe in one way."""
    return 0x27 if is_apostrophe(c) else c


cdef inline int64_t take_ascii(Scratch* s, Roll* r, const uint8_t* p, int64_t n, int64_t i, bint lower,
                               bint keep) noexcept nogil:
    """Read the ASCII letters, digits and underscores at i, eight bytes at a time; returns where they end."""
    cdef uint64_t x, other
    cdef int count, k
    while i + 8 <= n:
        x = ln_load(p + i)
        other = ~word_bytes(x) & TOP_BITS
        count = ln_low_byte(other) if other else 8
        if lower:
            x = lower_bytes(x & ~TOP_BITS)
        if keep:
            for k in range(count):
                keep_char(s, <uint32_t>((x >> (8 * k)) & 0xFF), i + k, i + k + 1)
        i += count
        r.n_bytes += count
        if count < 8:
            if count:
                r.tail = x & ((<uint64_t>1 << (8 * count)) - 1)
            r.n_tail = count
            break
        r.h = absorb(r.h, x)
    return i


cdef inline int64_t take_word(Scratch* s, const uint8_t* p, int64_t n, int64_t start, int case_mode,
                              bint keep) noexcept nogil:
    """Cut the word that begins at start: letters, digits, marks, and apostrophes between two of them."""
    cdef int64_t i, end, peek
    cdef Roll r
    cdef uint32_t c
    cdef int length, next_length
    cdef uint8_t kind
    start_token(&r)
    i = take_ascii(s, &r, p, n, start, case_mode != CASE_KEEP, keep)
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


cdef inline int64_t take_symbol(Scratch* s, const uint8_t* p, int64_t n, int64_t start, uint32_t first, int length,
                                bint run, int case_mode, bint keep) noexcept nogil:
    """Cut a sign or a character that stands alone, with its marks; a run of the same sign is one token ("...").

    A joiner binds the next sign (an emoji made of several), never a letter or a space.
    """
    cdef int64_t i = start + length
    cdef Roll r
    cdef uint32_t c = 0, last
    cdef uint8_t kind
    start_token(&r)
    add_char(s, &r, plain(first), start, i, case_mode, keep)
    while i < n:
        last = c
        c = decode(p + i, n - i, &length)
        kind = char_class(c)
        if not ((run and c == first) or (kind & MARK) or (last == 0x200D and not kind & (WORD | SPACE | IGNORE))):
            break
        add_char(s, &r, plain(c), i, i + length, case_mode, keep)
        i += length
    close_token(s, &r, start, i)
    return i


cdef inline void put_ascii(Scratch* s, const uint8_t* p, int64_t start, int64_t end, bint lower,
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
    s.token_hash[s.n_tokens] = mix(h ^ <uint64_t>(end - start))
    s.token_start[s.n_tokens] = <int32_t>start
    s.token_end[s.n_tokens] = <int32_t>end
    s.n_tokens += 1
    s.token_char[s.n_tokens] = <int32_t>s.n_chars


cdef inline int64_t cut_ascii(Scratch* s, const uint8_t* p, int64_t n, int64_t i, bint lower, bint keep) noexcept nogil:
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
                put_ascii(s, p, i + k, i + end, lower, keep)
                k = end
            else:
                if k + 1 >= limit or p[i + k + 1] == p[i + k]:
                    break
                put_ascii(s, p, i + k, i + k + 1, lower, keep)
                k += 1
        i += k
        if k == 0 or limit < 64:
            break
    return i


cdef inline void cut_words(Scratch* s, const uint8_t* p, int64_t n, int case_mode, bint keep) noexcept nogil:
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
            plain_to = cut_ascii(s, p, n, i, case_mode != CASE_KEEP, keep)
            if plain_to > i:
                i = plain_to
                continue
        if kind & ALONE:
            i = take_symbol(s, p, n, i, c, length, False, case_mode, keep)
        elif kind & (WORD | MARK):
            i = take_word(s, p, n, i, case_mode, keep)
        else:
            i = take_symbol(s, p, n, i, c, length, True, case_mode, keep)


cdef inline void cut_runs(Scratch* s, const uint8_t* p, int64_t n, int tokens, int case_mode, bint keep) noexcept nogil:
    """Cut runs of one class of characters: str.split(), or scikit-learn's pattern of two or more \\w."""
    cdef int64_t i = 0, start, count, first_char, fewest = 2 if tokens == TOKENS_PATTERN else 1
    cdef Roll r
    cdef uint32_t c
    cdef int length = 1
    cdef uint8_t bit = WORD if tokens == TOKENS_PATTERN else PYSPACE, ends = 0 if tokens == TOKENS_PATTERN else PYSPACE
    while i < n:
        start = i
        first_char = s.n_chars
        start_token(&r)
        i = take_ascii(s, &r, p, n, i, case_mode != CASE_KEEP, keep)
        count = i - start
        while i < n:
            c = p[i]
            if ln_likely(c < 0x80):
                length = 1
                if (ln_class_block[c] & bit) == ends:
                    break
            else:
                c = decode(p + i, n - i, &length)
                if (char_class(c) & bit) == ends:
                    break
            add_char(s, &r, c, i, i + length, case_mode, keep)
            i += length
            count += 1
        if count >= fewest:
            close_token(s, &r, start, i)
        else:
            s.n_chars = first_char
        if i < n:   # the character that ended the run
            i += length


cdef inline void cut_each(Scratch* s, const uint8_t* p, int64_t n, bint bytewise, int case_mode,
                          bint keep) noexcept nogil:
    """Cut every character, or every byte: of bytes, only the ASCII letters are folded."""
    cdef int64_t i = 0
    cdef Roll r
    cdef uint32_t c
    cdef int length = 1
    while i < n:
        c = p[i]
        if ln_likely(c < 0x80):   # one byte, folded by hand: what the steps below come to
            if case_mode != CASE_KEEP and 0x41 <= c <= 0x5A:
                c |= 0x20
            if keep:
                keep_char(s, c, i, i + 1)
            s.token_hash[s.n_tokens] = mix(absorb(0, c) ^ 1)
            s.token_start[s.n_tokens] = <int32_t>i
            i += 1
            s.token_end[s.n_tokens] = <int32_t>i
            s.n_tokens += 1
            s.token_char[s.n_tokens] = <int32_t>s.n_chars
            continue
        start_token(&r)
        length = 1
        if bytewise:
            add_char(s, &r, c, i, i + 1, case_mode if c < 0x80 else CASE_KEEP, keep)
        else:
            c = decode(p + i, n - i, &length)
            add_char(s, &r, c, i, i + length, case_mode, keep)
        close_token(s, &r, i, i + length)
        i += length


cdef inline bint is_letter(uint32_t c) noexcept nogil:
    return 0x61 <= (c | 0x20) <= 0x7A and c < 0x80


cdef inline bint is_digit(uint32_t c) noexcept nogil:
    return 0x30 <= c <= 0x39


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


cdef inline void put_piece(Scratch* s, const uint8_t* p, int64_t n, int64_t start, int64_t stop, int case_mode,
                           bint keep) noexcept nogil:
    """Close the token of the bytes start..stop-1, without what is dropped inside words."""
    cdef int64_t i = start, end
    cdef uint64_t x, other
    cdef Roll r
    cdef uint32_t c
    cdef int length, count = 8, k
    start_token(&r)
    while count == 8 and i + 8 <= n:   # as take_ascii, but not beyond stop
        x = ln_load(p + i)
        other = ~word_bytes(x) & TOP_BITS
        count = ln_low_byte(other) if other else 8
        if i + count > stop:
            count = <int>(stop - i)
        if case_mode != CASE_KEEP:
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
    end = i
    while i < stop:
        c = decode(p + i, stop - i, &length)
        if not char_class(c) & IGNORE:
            add_char(s, &r, plain(c), i, i + length, case_mode, keep)
            end = i + length
        i += length
    close_token(s, &r, start, end)


cdef inline int64_t take_penn(Scratch* s, const uint8_t* p, int64_t n, int64_t start, int case_mode,
                              bint keep) noexcept nogil:
    """Cut the word at start, its clitics apart; at an apostrophe, return start where no clitic stands there."""
    cdef bint apostrophes
    cdef int64_t rest, end = penn_end(p, n, start, &rest, &apostrophes), stem, unit
    if apostrophe_at(p + start, n - start):
        if end == start or penn_stem(p + start, end - start) != 0:
            return start
    elif rest == end and end < n and p[end] == 0x2E and not (end + 1 < n and p[end + 1] == 0x2E) \
            and penn_dotted(p + start, end - start):
        put_piece(s, p, n, start, end + 1, case_mode, keep)
        return end + 1
    stem = start + penn_stem(p + start, end - start) if apostrophes else end
    if penn_two(p + start, stem - start):
        put_piece(s, p, n, start, start + 3, case_mode, keep)
        put_piece(s, p, n, start + 3, stem, case_mode, keep)
    elif stem > start:
        put_piece(s, p, n, start, stem, case_mode, keep)
    while stem < end:
        unit = penn_unit(p + stem, end - stem)
        put_piece(s, p, n, stem, stem + unit, case_mode, keep)
        stem += unit
    return rest


cdef inline void cut_penn(Scratch* s, const uint8_t* p, int64_t n, int case_mode, bint keep) noexcept nogil:
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
            end = take_penn(s, p, n, i, case_mode, keep)
            if end > i:
                i = end
                continue
        i = take_symbol(s, p, n, i, c, length, c == 0x2E or c == 0x2D or c == 0x60 or is_apostrophe(c), case_mode,
                        keep)


cdef inline void cut(Scratch* s, const uint8_t* p, int64_t n, int tokens, int case_mode, bint keep) noexcept nogil:
    """Cut a document into tokens; with keep, also list their characters."""
    s.text = p
    s.n_text = n
    s.n_tokens = 0
    s.n_chars = 0
    s.token_char[0] = 0
    if tokens == TOKENS_WORDS:
        cut_words(s, p, n, case_mode, keep)
    elif tokens == TOKENS_PENN:
        cut_penn(s, p, n, case_mode, keep)
    elif tokens == TOKENS_CHARACTERS or tokens == TOKENS_BYTES:
        cut_each(s, p, n, tokens == TOKENS_BYTES, case_mode, keep)
    else:
        cut_runs(s, p, n, tokens, case_mode, keep)


cdef inline void list_chars(Scratch* s, const uint8_t* p, int64_t n, int tokens, int case_mode) noexcept nogil:
    """List the folded characters of a piece of one token, as cut would have listed them inside the whole token."""
    cdef int64_t i = 0
    cdef uint32_t c
    cdef int length
    cdef Roll r
    cdef bint wordy = tokens == TOKENS_WORDS or tokens == TOKENS_PENN
    start_token(&r)
    s.n_chars = 0
    if tokens == TOKENS_BYTES:
        s.n_tokens = 0
        cut_each(s, p, n, True, case_mode, True)
        return
    while i < n:
        c = decode(p + i, n - i, &length)
        if wordy:
            c = plain(c)
        if not wordy or not char_class(c) & IGNORE:
            add_char(s, &r, c, i, i + length, case_mode, True)
        i += length


cdef inline uint64_t finish(uint64_t h) noexcept nogil:
    """Zero marks an empty slot, so no fingerprint is zero."""
    return h if h else 1


cdef inline int64_t emit_words(const Scratch* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out,
                               int32_t* start, int32_t* length) noexcept nogil:
    """Write the fingerprints of the word n-grams, low <= n <= high, and, where start is given, their places."""
    cdef int64_t i, k, n = s.n_tokens, top, m = 0
    cdef uint64_t h
    for i in range(n):
        h = seed
        top = high if i + high <= n else n - i
        for k in range(top):
            h = join(h, s.token_hash[i + k])
            if k + 1 >= low:
                out[m] = finish(h)
                if start != NULL:
                    start[m] = s.token_start[i]
                    length[m] = s.token_end[i + k] - s.token_start[i]
                m += 1
    return m


cdef inline int64_t emit_word(const Scratch* s, int64_t a, int64_t n, int64_t low, int64_t high, uint64_t seed,
                              uint64_t* out, int32_t* start, int32_t* length, bint places) noexcept nogil:
    """Write the n-grams of one word: of its n characters from a on, and a blank on either side.

    The blanks are taken apart from the characters, and what is too short to count apart from what counts, so that the
    inner loops ask nothing.
    """
    cdef const uint32_t* code = s.char_code + a
    cdef const int32_t* ends = s.char_end + a
    cdef int64_t first = low if low < n + 2 else n + 2, i, k, last, quiet, m = 0
    cdef int32_t begin, edge = EDGE_LEFT
    cdef uint64_t h
    for i in range(n + 3 - first):     # 0 is the blank in front
        last = i + high - 1 if i + high < n + 2 else n     # characters below last are in the longest n-gram
        quiet = i + first - 2 if i + first - 2 < last else last     # those below quiet make it too short
        if i == 0:
            h = join(seed, 32)
            begin = s.char_start[a]
            k = 0
            if first == 1:
                out[m] = finish(h)
                if places:
                    start[m] = begin
                    length[m] = edge
                m += 1
        else:
            h = seed
            k = i - 1
            begin = s.char_start[a + k] if k < n else ends[n - 1]
        while k < quiet:
            h = join(h, code[k])
            k += 1
        while k < last:
            h = join(h, code[k])
            out[m] = finish(h)
            if places:
                start[m] = begin
                length[m] = (ends[k] - begin) | edge
            m += 1
            k += 1
        if i + high >= n + 2:     # the blank behind
            out[m] = finish(join(h, 32))
            if places:
                start[m] = begin
                length[m] = (ends[n - 1] - begin) | edge | EDGE_RIGHT
            m += 1
        edge = 0
    return m


cdef inline int64_t emit_chars(const Scratch* s, int64_t low, int64_t high, uint64_t seed, uint64_t* out,
                               int32_t* start, int32_t* length) noexcept nogil:
    """Write the fingerprints of the character n-grams inside words, each word padded by one blank on either side.

    A padded word shorter than low counts once, whole.
    """
    cdef int64_t t, a, m = 0
    for t in range(s.n_tokens):
        a = s.token_char[t]
        if start != NULL:
            m += emit_word(s, a, s.token_char[t + 1] - a, low, high, seed, out + m, start + m, length + m, True)
        else:
            m += emit_word(s, a, s.token_char[t + 1] - a, low, high, seed, out + m, NULL, NULL, False)
    return m
