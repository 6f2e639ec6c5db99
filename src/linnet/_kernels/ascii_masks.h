/* Which of 64 bytes are what, a bit a byte, the first byte lowest: words (letters, digits, underscores), blanks (up to
   0x20, and 0x7F), apostrophes; returned is what is not ASCII. The 64 bytes must be there to be read. */
#ifndef LN_ASCII_MASKS_H
#define LN_ASCII_MASKS_H
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) && !defined(LN_PLAIN_MASKS)
#include <emmintrin.h>

static inline uint64_t ln_masks(const uint8_t* p, uint64_t* word, uint64_t* blank, uint64_t* apostrophe) {
    uint64_t beyond = 0;
    *word = *blank = *apostrophe = 0;
    for (int k = 0; k < 64; k += 16) {
        __m128i x = _mm_loadu_si128((const __m128i*)(p + k)), small = _mm_or_si128(x, _mm_set1_epi8(0x20));
        __m128i letter = _mm_and_si128(_mm_cmpgt_epi8(small, _mm_set1_epi8(0x60)), _mm_cmpgt_epi8(_mm_set1_epi8(0x7B), small));
        __m128i digit = _mm_and_si128(_mm_cmpgt_epi8(x, _mm_set1_epi8(0x2F)), _mm_cmpgt_epi8(_mm_set1_epi8(0x3A), x));
        __m128i space = _mm_and_si128(_mm_cmpgt_epi8(_mm_set1_epi8(0x21), x), _mm_cmpgt_epi8(x, _mm_set1_epi8(-1)));
        letter = _mm_or_si128(_mm_or_si128(letter, digit), _mm_cmpeq_epi8(x, _mm_set1_epi8(0x5F)));
        space = _mm_or_si128(space, _mm_cmpeq_epi8(x, _mm_set1_epi8(0x7F)));
        *word |= (uint64_t)(uint32_t)_mm_movemask_epi8(letter) << k;
        *blank |= (uint64_t)(uint32_t)_mm_movemask_epi8(space) << k;
        *apostrophe |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8(0x27))) << k;
        beyond |= (uint64_t)(uint32_t)_mm_movemask_epi8(x) << k;
    }
    return beyond;
}
#else   /* eight bytes at a time: a comparison sets the top bit of each byte, a multiplication collects the eight */
#define LN_EACH(c) (UINT64_C(0x0101010101010101) * (c))
#define LN_TOP LN_EACH(0x80)

static inline uint64_t ln_at_least(uint64_t x, uint64_t low) { return ((x | LN_TOP) - LN_EACH(low)) & LN_TOP; }
static inline uint64_t ln_equals(uint64_t x, uint64_t c) { return ~((x ^ LN_EACH(c)) + LN_EACH(0x7F)) & LN_TOP; }
static inline uint64_t ln_collect(uint64_t tops) { return (tops >> 7) * UINT64_C(0x0102040810204080) >> 56; }

static inline uint64_t ln_masks(const uint8_t* p, uint64_t* word, uint64_t* blank, uint64_t* apostrophe) {
    uint64_t beyond = 0;
    *word = *blank = *apostrophe = 0;
    for (int k = 0; k < 64; k += 8) {
        uint64_t all = 0, x, small, found, ascii;
        for (int j = 7; j >= 0; j--) all = all << 8 | p[k + j];
        x = all & ~LN_TOP;
        ascii = ~all & LN_TOP;
        small = x | LN_EACH(0x20);
        found = (ln_at_least(small, 0x61) & ~ln_at_least(small, 0x7B)) | (ln_at_least(x, 0x30) & ~ln_at_least(x, 0x3A))
              | ln_equals(x, 0x5F);
        *word |= ln_collect(found & ascii) << k;
        *blank |= ln_collect((~ln_at_least(x, 0x21) | ln_equals(x, 0x7F)) & ascii) << k;
        *apostrophe |= ln_collect(ln_equals(x, 0x27) & ascii) << k;
        beyond |= ln_collect(all & LN_TOP) << k;
    }
    return beyond;
}
#endif
#endif
