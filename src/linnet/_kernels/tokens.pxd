"""The tokens of one document: their hashes and places, and where needed their folded characters."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from linnet._kernels.characters cimport fold_char
from linnet._kernels.hash cimport TokenHash, hash_char, hash_end

cdef enum:  # how a text is split into tokens: TOKENS of text/tokens.py
    TOKENS_WORDS = 0        # Unicode words, inner apostrophes kept, punctuation as tokens
    TOKENS_PATTERN = 1      # runs of two or more \w, as in scikit-learn's default pattern
    TOKENS_WHITESPACE = 2   # what str.split() gives
    TOKENS_CHARACTERS = 3   # every character, blanks too
    TOKENS_BYTES = 4        # every byte of the UTF-8, written as the character of that number
    TOKENS_PENN = 5         # English in the manner of the Penn Treebank: did n't, cat .
    TOKENS_NONE = 6         # the block reads the text itself

cdef struct Tokens:          # 24 bytes a token, 12 a character
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
    int64_t n_starts         # tokens that n-grams begin at: all, or without those that the next piece begins with
    int64_t n_chars


cdef inline void keep_char(Tokens* s, uint32_t c, int64_t start, int64_t end) noexcept nogil:
    s.char_code[s.n_chars] = c
    s.char_start[s.n_chars] = <int32_t>start
    s.char_end[s.n_chars] = <int32_t>end
    s.n_chars += 1


cdef inline void add_char(Tokens* s, TokenHash* r, uint32_t c, int64_t start, int64_t end, int case_mode,
                          bint keep) noexcept nogil:
    """Fold one character, add it to the token's hash and, where characters are needed, to the list of them."""
    cdef uint32_t[3] folded
    cdef int k, n = fold_char(c, case_mode, folded)
    for k in range(n):
        if keep:
            keep_char(s, folded[k], start, end)
        hash_char(r, folded[k])


cdef inline void add_token(Tokens* s, uint64_t h, int64_t start, int64_t end) noexcept nogil:
    s.token_hash[s.n_tokens] = h
    s.token_start[s.n_tokens] = <int32_t>start
    s.token_end[s.n_tokens] = <int32_t>end
    s.n_tokens += 1
    s.token_char[s.n_tokens] = <int32_t>s.n_chars


cdef inline void close_token(Tokens* s, TokenHash* r, int64_t start, int64_t end) noexcept nogil:
    add_token(s, hash_end(r), start, end)
