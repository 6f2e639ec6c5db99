"""Text to tokens, one document: walk the UTF-8 bytes once, find the tokens, fold case, hash each token to 64 bits.

Words are in words.pxd, Penn Treebank tokens in penn.pxd; here are runs of one class, single characters, and the choice. It
does not allocate, touch Python or validate UTF-8 (see utf8.pxd). The reference in plain Python is tests/reference/text.py;
the tests compare the two on any bytes.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from linnet._kernels.characters cimport *
from linnet._kernels.hash cimport *
from linnet._kernels.hints cimport ln_likely
from linnet._kernels.penn cimport tokenise_penn
from linnet._kernels.tokens cimport *
from linnet._kernels.utf8 cimport decode
from linnet._kernels.words cimport read_ascii, tokenise_words


cdef inline void tokenise_runs(Tokens* s, const uint8_t* p, int64_t n, int tokens, int case_mode, bint keep) noexcept nogil:
    """Cut runs of one class of characters: str.split(), or scikit-learn's pattern of two or more \\w."""
    cdef int64_t i = 0, start, count, first_char, fewest = 2 if tokens == TOKENS_PATTERN else 1
    cdef TokenHash r
    cdef uint32_t c
    cdef int length = 1
    cdef uint8_t bit = WORD if tokens == TOKENS_PATTERN else PYSPACE, ends = 0 if tokens == TOKENS_PATTERN else PYSPACE
    while i < n:
        start = i
        first_char = s.n_chars
        hash_start(&r)
        i = read_ascii(s, &r, p, n, i, n, case_mode != CASE_KEEP, keep)
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


cdef inline void tokenise_each(Tokens* s, const uint8_t* p, int64_t n, bint bytewise, int case_mode,
                               bint keep) noexcept nogil:
    """Cut every character, or every byte: of bytes, only the ASCII letters are folded."""
    cdef int64_t i = 0
    cdef TokenHash r
    cdef uint32_t c
    cdef int length = 1
    while i < n:
        c = p[i]
        if ln_likely(c < 0x80):   # one byte, folded by hand: what the steps below come to
            if case_mode != CASE_KEEP and 0x41 <= c <= 0x5A:
                c |= 0x20
            if keep:
                keep_char(s, c, i, i + 1)
            add_token(s, mix(absorb(0, c) ^ 1), i, i + 1)
            i += 1
            continue
        hash_start(&r)
        length = 1
        if bytewise:
            add_char(s, &r, c, i, i + 1, case_mode if c < 0x80 else CASE_KEEP, keep)
        else:
            c = decode(p + i, n - i, &length)
            add_char(s, &r, c, i, i + length, case_mode, keep)
        close_token(s, &r, i, i + length)
        i += length


cdef inline void tokenise(Tokens* s, const uint8_t* p, int64_t n, int tokens, int case_mode, bint keep) noexcept nogil:
    """Split a document into tokens; with keep, also list their characters. tokens is one of TOKENS_..., checked before."""
    s.text = p
    s.n_text = n
    s.n_tokens = 0
    s.n_chars = 0
    s.token_char[0] = 0
    if tokens == TOKENS_WORDS:
        tokenise_words(s, p, n, case_mode, keep)
    elif tokens == TOKENS_PENN:
        tokenise_penn(s, p, n, case_mode, keep)
    elif tokens == TOKENS_CHARACTERS or tokens == TOKENS_BYTES:
        tokenise_each(s, p, n, tokens == TOKENS_BYTES, case_mode, keep)
    elif tokens != TOKENS_NONE:
        tokenise_runs(s, p, n, tokens, case_mode, keep)
    s.n_starts = s.n_tokens


cdef inline void list_chars(Tokens* s, const uint8_t* p, int64_t n, int tokens, int case_mode) noexcept nogil:
    """List the folded characters of a piece of one token, as tokenise would have listed them inside the whole token."""
    cdef int64_t i = 0
    cdef uint32_t c
    cdef int length
    cdef TokenHash r
    cdef bint wordy = tokens == TOKENS_WORDS or tokens == TOKENS_PENN
    hash_start(&r)
    s.n_chars = 0
    if tokens == TOKENS_BYTES:
        s.n_tokens = 0
        tokenise_each(s, p, n, True, case_mode, True)
        return
    while i < n:
        c = decode(p + i, n - i, &length)
        if wordy:
            c = plain_apostrophe(c)
        if not wordy or not char_class(c) & IGNORE:
            add_char(s, &r, c, i, i + length, case_mode, True)
        i += length
