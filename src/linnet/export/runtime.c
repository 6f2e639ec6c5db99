/* ---- the runtime: text to tokens, tokens to fingerprints, fingerprints to weights, weights to probabilities.
   It is the same for every model; what a model knows stands above. It follows linnet's kernels step by step. */

enum { LN_WORD = 1, LN_MARK = 2, LN_SPACE = 4, LN_ALONE = 8, LN_IGNORE = 16, LN_PYSPACE = 32 };
enum { LN_CASE_KEEP, LN_CASE_FOLD, LN_CASE_LOWER };
enum { LN_TOKENS_WORDS, LN_TOKENS_PATTERN, LN_TOKENS_WHITESPACE, LN_TOKENS_CHARACTERS, LN_TOKENS_BYTES };
enum { LN_KIND_WORDS, LN_KIND_CHARS, LN_KIND_ACROSS, LN_KIND_SKIPS, LN_KIND_POSITION };
enum { LN_BATCH = 512, LN_AHEAD = 12, LN_SMALL = 2048 };

#if defined(__GNUC__) || defined(__clang__)
#define LN_PREFETCH(p) __builtin_prefetch((p), 0, 1)
#else
#define LN_PREFETCH(p) ((void)(p))
#endif

typedef struct { uint64_t hash; uint32_t start, end, first; } ln_token;   /* first: where its characters begin */
typedef struct { uint32_t code, start, end; } ln_char;
typedef struct { uint64_t h, tail; uint32_t n_tail, n_bytes; } ln_hash;

typedef struct {
    const uint8_t *p;
    size_t n, n_tokens, n_chars;
    ln_token *tokens;
    ln_char *chars;
    int mode;   /* how letters are folded */
} ln_text;

typedef struct {   /* the known features of one block, in the order of the text */
    uint64_t fps[LN_BATCH];
    uint32_t starts[LN_BATCH], ends[LN_BATCH], small[LN_SMALL];
    size_t n, n_found, room, size;   /* size: of the table from places to numbers, a power of two */
    uint32_t *place, *count, *table;
    double *value;                   /* of each feature, where they are visited */
    linnet_visit visit;
    void *context;
} ln_found;

/* ---- hashes */

static uint64_t ln_mix(uint64_t h) {
    h = (h ^ h >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    h = (h ^ h >> 27) * UINT64_C(0x94D049BB133111EB);
    return h ^ h >> 31;
}
static uint64_t ln_absorb(uint64_t h, uint64_t chunk) { h = (h ^ chunk) * UINT64_C(0x9E3779B97F4A7C15); return h ^ h >> 32; }
static uint64_t ln_join(uint64_t h, uint64_t token) { h = (h ^ token) * UINT64_C(0xD6E8FEB86659FD93); return h ^ h >> 32; }

static void ln_byte(ln_hash *r, uint64_t c) {
    r->tail |= c << (8 * r->n_tail);
    r->n_tail++;
    r->n_bytes++;
    if (r->n_tail == 8) {
        r->h = ln_absorb(r->h, r->tail);
        r->tail = r->n_tail = 0;
    }
}

static void ln_hash_char(ln_hash *r, uint32_t c) {   /* as UTF-8 */
    if (c < 0x80) { ln_byte(r, c); return; }
    if (c < 0x800) ln_byte(r, 0xC0 | c >> 6);
    else {
        if (c < 0x10000) ln_byte(r, 0xE0 | c >> 12);
        else { ln_byte(r, 0xF0 | c >> 18); ln_byte(r, 0x80 | (c >> 12 & 0x3F)); }
        ln_byte(r, 0x80 | (c >> 6 & 0x3F));
    }
    ln_byte(r, 0x80 | (c & 0x3F));
}

/* ---- characters */

static uint32_t ln_decode(const uint8_t *p, size_t left, uint32_t *length) {   /* what is malformed is U+FFFD, a byte long */
    uint32_t a = p[0], c, size = a < 0x80 ? 1 : a < 0xC2 ? 0 : a < 0xE0 ? 2 : a < 0xF0 ? 3 : a <= 0xF4 ? 4 : 0, k;
    *length = 1;
    if (size == 1) return a;
    if (size == 0 || size > left) return 0xFFFD;
    c = a & (0x7Fu >> size);
    for (k = 1; k < size; k++) {
        if ((p[k] & 0xC0) != 0x80) return 0xFFFD;
        c = c << 6 | (p[k] & 0x3Fu);
    }
    if ((size == 3 && (c < 0x800 || (c >= 0xD800 && c < 0xE000))) || (size == 4 && (c < 0x10000 || c > 0x10FFFF))) return 0xFFFD;
    *length = size;
    return c;
}

static uint8_t ln_class(uint32_t c) { return ln_class_block[((size_t)ln_class_index[c >> 7] << 7) + (c & 127)]; }
static int ln_is_apostrophe(uint32_t c) { return c == 0x27 || c == 0x2019 || c == 0xFF07; }
static uint32_t ln_plain(uint32_t c) { return ln_is_apostrophe(c) ? 0x27 : c; }

static void ln_add(ln_text *s, ln_hash *r, uint32_t c, size_t start, size_t end, int mode) {
    int32_t other = 0, k;
    uint32_t folded;
    if (mode != LN_CASE_KEEP && c < 0x80) c |= c >= 0x41 && c <= 0x5A ? 0x20 : 0;
#ifdef LN_FOLDS
    else if (mode == LN_CASE_FOLD) other = ln_fold_block[((size_t)ln_fold_index[c >> 7] << 7) + (c & 127)];
#endif
#ifdef LN_LOWERS
    else if (mode == LN_CASE_LOWER) other = ln_lower_block[((size_t)ln_lower_index[c >> 7] << 7) + (c & 127)];
#endif
    for (k = 0; k < 3; k++) {
        folded = c;
        if (other > 0) folded = (uint32_t)other;
#if defined(LN_FOLDS) || defined(LN_LOWERS)
        if (other < 0) folded = (uint32_t)ln_expand[3 * (-1 - other) + k];
#endif
        if (folded == 0 && other < 0) break;
#if LN_CHARS
        s->chars[s->n_chars].code = folded;
        s->chars[s->n_chars].start = (uint32_t)start;
        s->chars[s->n_chars++].end = (uint32_t)end;
#else
        (void)s; (void)start; (void)end;
#endif
        ln_hash_char(r, folded);
        if (other >= 0) break;
    }
}

/* ---- tokens */

static void ln_close_hash(ln_text *s, uint64_t h, size_t start, size_t end) {
    ln_token *t = &s->tokens[s->n_tokens++];
    t->hash = h;
    t->start = (uint32_t)start;
    t->end = (uint32_t)end;
    t[1].first = (uint32_t)s->n_chars;
}

static void ln_close(ln_text *s, ln_hash *r, size_t start, size_t end) {
    ln_close_hash(s, ln_mix((r->n_tail ? ln_absorb(r->h, r->tail) : r->h) ^ r->n_bytes), start, end);
}

static uint32_t ln_low_bit(uint64_t x) {
#if defined(__GNUC__) || defined(__clang__)
    return x ? (uint32_t)__builtin_ctzll(x) : 64;
#else
    uint32_t n = 0;
    while (n < 64 && !(x >> n & 1)) n++;
    return n;
#endif
}

static uint64_t ln_load(const uint8_t *p) {
    uint64_t x = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&x, p, 8);
#else
    int k;
    for (k = 7; k >= 0; k--) x = x << 8 | p[k];
#endif
    return x;
}

static uint64_t ln_lower8(uint64_t x) {   /* the ASCII capitals among eight bytes below 0x80 */
    const uint64_t one = UINT64_C(0x0101010101010101), top = one << 7;
    return x | ((((x | top) - 0x41 * one) & ~((x | top) - 0x5B * one) & top) >> 2);
}

static void ln_close_ascii(ln_text *s, size_t start, size_t end) {   /* eight bytes from its last one on are there */
    uint64_t h = 0, x;
    size_t i, k;
    for (i = start; i < end; i += 8) {
        x = ln_load(s->p + i);
        if (end - i < 8) x &= (UINT64_C(1) << (8 * (end - i))) - 1;
        if (s->mode != LN_CASE_KEEP) x = ln_lower8(x);
        h = ln_absorb(h, x);
        for (k = 0; LN_CHARS && k < 8 && i + k < end; k++) {
            ln_char *c = &s->chars[s->n_chars++];
            c->code = (uint32_t)(x >> (8 * k) & 0xFF);
            c->start = (uint32_t)(i + k);
            c->end = (uint32_t)(i + k + 1);
        }
    }
    ln_close_hash(s, ln_mix(h ^ (end - start)), start, end);
}

static size_t ln_ascii(ln_text *s, size_t i) {   /* cut plain tokens, 64 bytes at once; where one begins that is not so plain */
    uint64_t word, blank, apostrophe, there;
    uint32_t k, end, limit;
    while (i + 72 <= s->n) {
        limit = ln_low_bit(ln_masks(s->p + i, &word, &blank, &apostrophe));
        word |= apostrophe & word << 1 & word >> 1;
        for (k = 0;;) {
            there = k < 64 ? ~blank & (~UINT64_C(0) << k) : 0;
            if (!there) { k = 64; break; }
            k = ln_low_bit(there);
            if (word >> k & 1) {
                end = ln_low_bit(~word & (~UINT64_C(0) << k));
                if (end + 1 >= limit) break;
                ln_close_ascii(s, i + k, i + end);
                k = end;
            } else {
                if (k + 1 >= limit || s->p[i + k + 1] == s->p[i + k]) break;
                ln_close_ascii(s, i + k, i + k + 1);
                k++;
            }
        }
        i += k;
        if (k == 0 || limit < 64) break;
    }
    return i;
}

static size_t ln_read_word(ln_text *s, size_t start) {
    size_t i = start, end = start;
    uint32_t c, length, next;
    uint8_t kind;
    ln_hash r = {0, 0, 0, 0};
    while (i < s->n) {
        c = ln_decode(s->p + i, s->n - i, &length);
        kind = ln_class(c);
        if (kind & LN_IGNORE) i += length;
        else if ((kind & (LN_WORD | LN_MARK)) && !(kind & LN_ALONE)) {
            ln_add(s, &r, c, i, i + length, s->mode);
            i += length;
            end = i;
        } else {
            if (!ln_is_apostrophe(c) || i + length >= s->n) break;
            kind = ln_class(ln_decode(s->p + i + length, s->n - i - length, &next));
            if (!(kind & LN_WORD) || (kind & LN_ALONE)) break;
            ln_add(s, &r, 0x27, i, i + length, LN_CASE_KEEP);
            i += length;
        }
    }
    ln_close(s, &r, start, end);
    return i;
}

static size_t ln_read_symbol(ln_text *s, size_t start, uint32_t first, uint32_t length, int run) {
    size_t i = start + length;
    uint32_t c = 0, last;
    uint8_t kind;
    ln_hash r = {0, 0, 0, 0};
    ln_add(s, &r, ln_plain(first), start, i, s->mode);
    while (i < s->n) {
        last = c;
        c = ln_decode(s->p + i, s->n - i, &length);
        kind = ln_class(c);
        if (!((run && c == first) || (kind & LN_MARK) || (last == 0x200D && !(kind & (LN_WORD | LN_SPACE | LN_IGNORE))))) break;
        ln_add(s, &r, ln_plain(c), i, i + length, s->mode);
        i += length;
    }
    ln_close(s, &r, start, i);
    return i;
}

static void ln_words(ln_text *s) {
    size_t i = 0, plain;
    uint32_t c, length;
    uint8_t kind;
    while (i < s->n) {
        c = ln_decode(s->p + i, s->n - i, &length);
        kind = ln_class(c);
        if (kind & (LN_SPACE | LN_IGNORE)) { i += length; continue; }
        if (c < 0x80 && (plain = ln_ascii(s, i)) > i) i = plain;
        else if (kind & LN_ALONE) i = ln_read_symbol(s, i, c, length, 0);
        else if (kind & (LN_WORD | LN_MARK)) i = ln_read_word(s, i);
        else i = ln_read_symbol(s, i, c, length, 1);
    }
}

static void ln_runs(ln_text *s, int pattern) {   /* str.split(), or runs of two or more \w */
    size_t i = 0, start, count, chars;
    uint32_t c, length = 1;
    while (i < s->n) {
        ln_hash r = {0, 0, 0, 0};
        start = i;
        count = 0;
        chars = s->n_chars;
        while (i < s->n) {
            c = ln_decode(s->p + i, s->n - i, &length);
            if (pattern ? !(ln_class(c) & LN_WORD) : ln_class(c) & LN_PYSPACE) break;
            ln_add(s, &r, c, i, i + length, s->mode);
            i += length;
            count++;
        }
        if (count > (size_t)pattern) ln_close(s, &r, start, i);
        else s->n_chars = chars;
        i += length;
    }
}

static void ln_each(ln_text *s, int bytes) {
    size_t i;
    uint32_t c, length;
    for (i = 0; i < s->n; i += length) {
        ln_hash r = {0, 0, 0, 0};
        c = ln_decode(s->p + i, s->n - i, &length);
        if (bytes) { c = s->p[i]; length = 1; }
        ln_add(s, &r, c, i, i + length, bytes && c >= 0x80 ? LN_CASE_KEEP : s->mode);
        ln_close(s, &r, i, i + length);
    }
}

static void ln_across(ln_text *s) {   /* the characters of the text; a run of blanks is one, those at the ends none */
    size_t i, blank = 0, blank_end = 0;
    uint32_t c, length;
    uint8_t kind;
    ln_hash r = {0, 0, 0, 0};
    for (i = 0; i < s->n; i += length) {
        c = ln_decode(s->p + i, s->n - i, &length);
        kind = ln_class(c);
        if (kind & (LN_SPACE | LN_PYSPACE)) {
            if (!blank_end && s->n_chars) { blank = i; blank_end = i + length; }
        } else if (!(kind & LN_IGNORE)) {
            if (blank_end) ln_add(s, &r, 32, blank, blank_end, LN_CASE_KEEP);   /* now it is known that the text goes on */
            blank_end = 0;
            ln_add(s, &r, ln_plain(c), i, i + length, s->mode);
        }
    }
}

static void ln_tokenise(ln_text *s, const ln_block *block) {
    s->n_tokens = s->n_chars = s->tokens[0].first = 0;
    s->mode = block->mode;
    if (block->kind == LN_KIND_ACROSS) ln_across(s);
    else if (block->tokens == LN_TOKENS_WORDS) ln_words(s);
    else if (block->tokens >= LN_TOKENS_CHARACTERS) ln_each(s, block->tokens == LN_TOKENS_BYTES);
    else ln_runs(s, block->tokens == LN_TOKENS_PATTERN);
}

/* ---- features */

static int ln_find(uint64_t fp, uint32_t *place) {   /* fingerprints ascend; 0 is an empty place, less one it is above all */
    const uint32_t *row;
    uint64_t there, at = fp >> LN_SHIFT;
    for (;; at++) {
        row = ln_table + at * LN_ROW;
        there = (uint64_t)row[1] << 32 | row[0];
        if (there - 1 >= fp - 1) break;
    }
    *place = (uint32_t)at;
    return there == fp;
}

static float ln_weight(uint32_t place, int column) {   /* 0: its part of the norm; from 1 on: of an output */
    float x;
    memcpy(&x, ln_table + (size_t)place * LN_ROW + 2 + column, sizeof x);
    return x;
}

static uint32_t *ln_entry(const ln_found *f, uint32_t place) {
    size_t at = (size_t)((place * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (f->size - 1);
    while (f->table[at] && f->place[f->table[at] - 1] != place) at = (at + 1) & (f->size - 1);
    return &f->table[at];
}

static int ln_grow(ln_found *f) {
    size_t k, room = f->room ? 2 * f->room : LN_SMALL / 2;
    uint32_t *place = realloc(f->place, room * sizeof *place), *count = NULL, *table;
    if (place) { f->place = place; count = realloc(f->count, room * sizeof *count); }
    if (!count) return 0;
    f->count = count;
    if (f->room) {
        if (!(table = calloc(2 * room, sizeof *table))) return 0;
        if (f->table != f->small) free(f->table);
        f->table = table;
    }
    f->room = room;
    f->size = 2 * room;
    for (k = 0; k < f->n_found; k++) *ln_entry(f, f->place[k]) = (uint32_t)(k + 1);
    return 1;
}

static int ln_flush(ln_found *f) {
    size_t i, n = f->n;
    uint32_t place, *entry;
    f->n = 0;
    for (i = 0; i < n + LN_AHEAD; i++) {
        if (i < n) {
#if LN_HASHED
            f->fps[i] = f->fps[i] >> LN_SHIFT << LN_SHIFT | 1;
#else
            f->fps[i] |= LN_IGNORED;
#endif
            LN_PREFETCH(ln_table + (f->fps[i] >> LN_SHIFT) * LN_ROW);
        }
        if (i < LN_AHEAD || !ln_find(f->fps[i - LN_AHEAD], &place)) continue;
        entry = ln_entry(f, place);
        if (f->visit) {
            f->visit(f->context, f->starts[i - LN_AHEAD], f->ends[i - LN_AHEAD], f->value[*entry - 1]);
            continue;
        }
        if (!*entry) {
            if (f->n_found == f->room) {
                if (!ln_grow(f)) return 0;
                entry = ln_entry(f, place);
            }
            f->place[f->n_found] = place;
            f->count[f->n_found] = 0;
            *entry = (uint32_t)++f->n_found;
        }
        f->count[*entry - 1]++;
    }
    return 1;
}

static int ln_push(ln_found *f, uint64_t h, uint32_t start, uint32_t end) {
    f->fps[f->n] = h ? h : 1;
    f->starts[f->n] = start;
    f->ends[f->n] = end;
    return ++f->n < LN_BATCH || ln_flush(f);
}

static int ln_emit(const ln_text *s, const ln_block *block, ln_found *f) {
    size_t t, i, k, n, first, stop;
    uint32_t start;
    uint64_t h;
    for (i = 0; block->kind == LN_KIND_ACROSS && i < s->n_chars; i++) {
        h = block->seed;
        for (k = i; k < i + block->high && k < s->n_chars; k++) {
            h = ln_join(h, s->chars[k].code);
            if (k + 1 - i >= block->low && !ln_push(f, h, s->chars[i].start, s->chars[k].end)) return 0;
        }
    }
    for (t = 0; t < s->n_tokens; t++) {
        const ln_token *token = s->tokens + t;
        if (block->kind == LN_KIND_SKIPS) {
            h = ln_join(block->seed, token->hash);
            for (k = 1 + block->low; k <= 1 + block->high && t + k < s->n_tokens; k++)
                if (!ln_push(f, ln_join(h, token[k].hash), token->start, token[k].end)) return 0;
            continue;
        }
        if (block->kind != LN_KIND_CHARS) {
            h = block->seed;   /* of the part of the text: first quarter, middle half, last quarter */
            if (block->kind == LN_KIND_POSITION) h = ln_join(h, 0x504F53 + (4 * t < s->n_tokens ? 0 : 4 * t < 3 * s->n_tokens ? 1 : 2));
            for (k = 0; k < block->high && t + k < s->n_tokens; k++) {
                h = ln_join(h, token[k].hash);
                if (k + 1 >= block->low && !ln_push(f, h, token->start, token[k].end)) return 0;
            }
            continue;
        }
        const ln_char *c = s->chars + token->first;   /* a blank, n characters, a blank */
        n = token[1].first - token->first;
        first = block->low < n + 2 ? block->low : n + 2;
        for (i = 0; i + first <= n + 2; i++) {
            h = block->seed;
            stop = i + block->high < n + 2 ? i + block->high : n + 2;
            start = i > n ? c[n - 1].end : c[i ? i - 1 : 0].start;
            for (k = i; k < stop; k++) {
                h = ln_join(h, k == 0 || k == n + 1 ? 32 : c[k - 1].code);
                if (k + 1 - i < first) continue;
                if (f->visit) f->ends[f->n] = k == 0 ? start : c[k > n ? n - 1 : k - 1].end;
                f->starts[f->n] = start;
                f->fps[f->n] = h ? h : 1;
                if (++f->n == LN_BATCH && !ln_flush(f)) return 0;
            }
        }
    }
    return ln_flush(f);
}

static double ln_tf(uint32_t count) { return LN_TF == 0 ? 1.0 : LN_TF == 1 ? (double)count : 1.0 + log((double)count); }

/* Add up the weights of one block; where there is a visit, show what each place adds to the output. */
static int ln_add_block(const ln_text *s, const ln_block *block, double *scores, int output, double sign, linnet_visit visit,
                        void *context) {
    ln_found f;
    double total[LN_OUTPUTS] = {0}, norm = 0, t, w, factor = block->share;
    size_t k;
    int c, fine;
    f.n = f.n_found = f.room = 0;
    f.place = f.count = NULL;
    f.value = NULL;
    f.table = f.small;
    f.size = LN_SMALL;
    f.visit = NULL;
    memset(f.small, 0, sizeof f.small);
    fine = ln_emit(s, block, &f);
    for (k = 0; fine && k < f.n_found; k++) {
        t = ln_tf(f.count[k]);
        w = ln_weight(f.place[k], 0);
        norm += LN_NORM == 2 ? t * w : t * t * w * w;
        for (c = 0; c < LN_OUTPUTS; c++) total[c] += t * ln_weight(f.place[k], 1 + c);
    }
    if (LN_NORM && norm > 0.0) factor /= LN_NORM == 2 ? norm : sqrt(norm);
    for (c = 0; c < LN_OUTPUTS; c++) scores[c] += total[c] * factor;
    if (fine && visit && f.n_found) {
        fine = (f.value = malloc(f.n_found * sizeof *f.value)) != NULL;
        for (k = 0; fine && k < f.n_found; k++)
            f.value[k] = sign * ln_tf(f.count[k]) * factor * ln_weight(f.place[k], 1 + output) / f.count[k];
        f.visit = visit;
        f.context = context;
        fine = fine && ln_emit(s, block, &f);
    }
    free(f.value);
    free(f.place);
    free(f.count);
    if (f.table != f.small) free(f.table);
    return fine;
}

static int ln_score(const char *text, size_t length, double *scores, int output, double sign, linnet_visit visit, void *context) {
    ln_text s;
    int k, fine;
    for (k = 0; k < LN_OUTPUTS; k++) scores[k] = ln_b[k];
    if (length > UINT32_MAX / 2 - 2 || length > SIZE_MAX / 64) return 0;
    s.p = (const uint8_t *)text;
    s.n = length;
    s.tokens = malloc((length + 2) * sizeof *s.tokens);
    s.chars = malloc(LN_CHARS ? 2 * (length + 2) * sizeof *s.chars : 1);
    fine = s.tokens && s.chars;
    for (k = 0; fine && k < LN_BLOCKS; k++) {
        if (k == 0 || ln_blocks[k].tokens != ln_blocks[k - 1].tokens || ln_blocks[k].mode != ln_blocks[k - 1].mode
            || (ln_blocks[k].kind == LN_KIND_ACROSS) != (ln_blocks[k - 1].kind == LN_KIND_ACROSS))
            ln_tokenise(&s, ln_blocks + k);
        fine = ln_add_block(&s, ln_blocks + k, scores, output, sign, visit, context);
    }
    free(s.tokens);
    free(s.chars);
    return fine;
}

/* ---- probabilities */

#if LN_CURVE
static double ln_curve_at(double x) {   /* points of a rising curve, straight lines between them */
    int k = 1;
    double width;
    if (LN_CURVE == 1) return ln_curve[0][1];
    x = x < ln_curve[0][0] ? ln_curve[0][0] : x > ln_curve[LN_CURVE - 1][0] ? ln_curve[LN_CURVE - 1][0] : x;
    while (k < LN_CURVE - 1 && ln_curve[k][0] <= x) k++;
    width = ln_curve[k][0] - ln_curve[k - 1][0];
    return ln_curve[k - 1][1] + (x - ln_curve[k - 1][0]) / (width > 0 ? width : 1.0) * (ln_curve[k][1] - ln_curve[k - 1][1]);
}
#endif

static int ln_largest(const double *x, int n) {
    int k, best = 0;
    for (k = 1; k < n; k++) if (x[k] > x[best]) best = k;
    return best;
}

static double ln_sigmoid(double x) { double e = exp(-fabs(x)); return x >= 0 ? 1 / (1 + e) : e / (1 + e); }

static void ln_probabilities(double *s, double *p) {
    int k, top = ln_largest(s, LN_OUTPUTS);
    double sum = 0, most;
#if LN_CURVE
    if (LN_OUTPUTS == 1 || LN_MULTILABEL) for (k = 0; k < LN_OUTPUTS; k++) s[k] = ln_curve_at(s[k]);
    else {
        double second = -INFINITY, rest = 0;
        for (k = 0; k < LN_OUTPUTS; k++) if (k != top && s[k] > second) second = s[k];
        for (k = 0; k < LN_OUTPUTS; k++) if (k != top) rest += exp(s[k] - second);
        rest = second + log(rest);
        most = rest + ln_curve_at(s[top] - rest);
        s[top] = most > second + 1e-9 ? most : second + 1e-9;
    }
#endif
    if (LN_MULTILABEL) for (k = 0; k < LN_OUTPUTS; k++) p[k] = ln_sigmoid(s[k]);
    else if (LN_OUTPUTS == 1) { p[1] = ln_sigmoid(s[0]); p[0] = 1.0 - p[1]; }
    else {
        most = s[top];
        for (k = 0; k < LN_OUTPUTS; k++) sum += p[k] = exp(s[k] - most);
        for (k = 0; k < LN_OUTPUTS; k++) p[k] /= sum;
    }
}

int linnet_predict(const char *text, size_t length, double *probabilities) {
    double scores[LN_OUTPUTS], best_ratio = 0, ratio;
    int k, best, first = -1, rest = -1;
    if (!ln_score(text, length, scores, 0, 1.0, NULL, NULL)) return LINNET_OUT_OF_MEMORY;
    ln_probabilities(scores, probabilities);
    best = ln_largest(probabilities, LINNET_CLASSES);
    if (LN_MULTILABEL) return best;
    for (k = 0; k < LINNET_CLASSES; k++) {
        if (linnet_thresholds[k] < 0) {
            if (rest < 0 || probabilities[k] > probabilities[rest]) rest = k;
        } else if (probabilities[k] >= linnet_thresholds[k] && probabilities[k] > 0) {
            ratio = linnet_thresholds[k] > 0 ? probabilities[k] / linnet_thresholds[k] : INFINITY;
            if (first < 0 || ratio > best_ratio) { first = k; best_ratio = ratio; }
        }
    }
    best = first >= 0 ? first : rest;
    return best >= 0 && probabilities[best] >= LN_LEAST ? best : LINNET_NO_ANSWER;
}

double linnet_explain(const char *text, size_t length, int label, linnet_visit visit, void *context) {
    double scores[LN_OUTPUTS], sign = LN_OUTPUTS == 1 && LINNET_CLASSES == 2 && label == 0 ? -1.0 : 1.0;
    int output = LN_OUTPUTS == 1 ? 0 : label;
    if (!ln_score(text, length, scores, output, sign, visit, context)) return NAN;
    return sign * ln_b[output];
}
