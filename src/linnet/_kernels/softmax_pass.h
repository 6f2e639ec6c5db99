/* One pass with a table of REAL; included by softmax.h. */

LINNET_INLINE void LINNET_NAME(linnet_add, REAL, 4)(const int32_t *indices, const REAL *values, int64_t n, const REAL *table,
                                                    int64_t width, const int vectors, double *score)
{
    REALS sum[4];
    for (int g = 0; g < vectors; g++)
        sum[g] = (REALS){0};
    for (int64_t k = 0; k < n; k++) {
        const REALS *u = (const REALS *)(table + indices[k] * width);
        for (int g = 0; g < vectors; g++)
            sum[g] += values[k] * u[g];
    }
    for (int g = 0; g < vectors; g++)
        *(linnet_doubles *)(score + 4 * g) += __builtin_convertvector(sum[g], linnet_doubles);
}

LINNET_INLINE void LINNET_NAME(linnet_move, REAL, 4)(const int32_t *indices, const REAL *values, int64_t n, REAL *table,
                                                     int64_t width, const int vectors, const double *d)
{
    REALS step[4];
    for (int g = 0; g < vectors; g++)
        step[g] = __builtin_convertvector(*(const linnet_doubles *)(d + 4 * g), REALS);
    for (int64_t k = 0; k < n; k++) {
        REALS *u = (REALS *)(table + indices[k] * width);
        for (int g = 0; g < vectors; g++)
            u[g] += values[k] * step[g];
    }
}

/* Calls a function with the number of vectors as a constant, so that the compiler unrolls its loops. */
#define LINNET_BY_WIDTH(function, into) \
    switch (width - c) { \
    case 4: LINNET_NAME(function, REAL, 4)(indices, values, n, table + c, width, 1, into + c); break; \
    case 8: LINNET_NAME(function, REAL, 4)(indices, values, n, table + c, width, 2, into + c); break; \
    case 12: LINNET_NAME(function, REAL, 4)(indices, values, n, table + c, width, 3, into + c); break; \
    default: LINNET_NAME(function, REAL, 4)(indices, values, n, table + c, width, 4, into + c); \
    }

LINNET_WIDE static void LINNET_NAME(linnet_softmax, REAL, pass)(linnet_softmax *m, const REAL *all_values, REAL *table)
{
    const int64_t K = m->n_classes, width = m->width;
    double *restrict s = m->scratch, *restrict p = s + width, *restrict z = p + width, *restrict d = z + width;
    double *restrict h = d + width, *restrict r = h + width, *restrict bias = m->bias;
    const double *restrict offset = m->offset, bias_scale = m->bias_scale;
    for (int64_t c = 0; c < 6 * width; c++)
        m->scratch[c] = 0.0;
    for (int64_t i, n, at = 0; at < m->n_order; at++) {
        i = m->order[at];
        n = m->indptr[i + 1] - m->indptr[i];
        const int32_t *indices = m->indices + m->indptr[i];
        const REAL *values = all_values + m->indptr[i];
        double *restrict t = m->t + i * K;
        if (at + 1 < m->n_order) {
            const int64_t next = m->order[at + 1];
            for (int64_t k = m->indptr[next]; k < m->indptr[next + 1]; k++)
                LINNET_SOON(table + m->indices[k] * width);
            LINNET_SOON(m->t + next * K);
        }
        for (int64_t c = 0; c < K; c++)
            s[c] = offset[c] + bias[c] * bias_scale;
        for (int64_t c = 0; c < width; c += 16)
            LINNET_BY_WIDTH(linnet_add, s);
        LINNET_MOST(top, s[0], s[k])
        for (int64_t c = 0; c < K; c++)
            z[c] = linnet_exp(s[c] - top);
        for (int64_t c = 0; c < K; c++)
            p[c] = linnet_exp(t[c]);
        LINNET_SUM(whole, z[k])
        const double C = m->cost[i], Q = m->q[i] * C;
        m->loss += C * (top + linnet_log(whole) - s[m->y[i]]);
        for (int64_t c = 0; c < K; c++)
            d[c] = C * (p[c] - z[c] / whole);
        LINNET_MOST(worst, 0.0, d[k] < 0.0 ? -d[k] : d[k])
        LINNET_SUM(square, d[k] * d[k])
        m->squares[i] = square * m->q[i];
        if (worst <= m->inner * C)
            continue;
        for (int64_t c = 0; c < K; c++) {
            z[c] = s[c] - top + Q * p[c];
            d[c] = p[c];
        }
        m->steps += linnet_share(K, Q, m->inner, z, t, p, h, r);
        for (int64_t c = 0; c < K; c++) {
            d[c] = C * (d[c] - p[c]);
            bias[c] += d[c] * bias_scale;
        }
        for (int64_t c = 0; c < width; c += 16)
            LINNET_BY_WIDTH(linnet_move, d);
    }
}
#undef LINNET_BY_WIDTH
