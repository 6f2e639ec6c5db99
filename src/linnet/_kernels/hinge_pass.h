/* One pass over LANES problems with tables of REAL; hinge.h says what a number, or four of them, are. */
#define GROUPS ((LANES + 3) / 4)
#define WIDTH (LANES / GROUPS)

LINNET_WIDE static void LINNET_NAME(linnet_hinge, REAL, LANES)(const linnet_hinge *h, const REAL *values, const REAL *scale,
                                                               REAL *table)
{
    const int64_t *indptr = h->indptr, n_blocks = h->n_blocks, n = h->n_order, stride = h->stride;
    const int32_t *indices = h->indices, *order = h->order;
    const int ones = h->ones, even = h->even, gains = stride > LANES;
    const double bias_scale = h->bias_scale;
    const DOUBLES zero = {0};
    DOUBLES bias[GROUPS], top[GROUPS], low[GROUPS], loss[GROUPS];
    WHOLES left[GROUPS];
    for (int g = 0; g < GROUPS; g++) {
        bias[g] = *(DOUBLES *)(h->bias + g * WIDTH);
        top[g] = zero - 1e300;
        low[g] = zero + 1e300;
        loss[g] = zero;
        left[g] = (WHOLES){0};
    }
    for (int64_t t = 0; t < n; t++) {
        const int64_t i = order[t], first = i * n_blocks, last = first + n_blocks;
        int64_t ahead = 0, ahead_end = 0;
        WHOLES moved = {0};
        DOUBLES score[GROUPS], d[GROUPS];
        REALS sum[GROUPS], step[GROUPS];
        if (t + 1 < n) {
            const int64_t next = order[t + 1], soon = order[t + 4 < n ? t + 4 : n - 1], later = order[t + 8 < n ? t + 8 : n - 1];
            ahead = indptr[next * n_blocks];
            ahead_end = indptr[(next + 1) * n_blocks];
            LINNET_SOON(indptr + later * n_blocks);
            LINNET_SOON(h->signs + later * LANES);
            LINNET_SOON(h->active + later * LANES);
            LINNET_SOON(h->far + later * LANES);
            LINNET_SOON(h->alpha + later * LANES);
            LINNET_SOON(h->q + later * LANES);
            LINNET_SOON(indices + indptr[soon * n_blocks]);
            if (!ones)
                LINNET_SOON(values + indptr[soon * n_blocks]);
        }
        if (h->q[i * LANES] < 0.0) { /* the squared norms are not known yet */
            for (int g = 0; g < GROUPS; g++)
                score[g] = (DOUBLES){0} + bias_scale * bias_scale;
            for (int64_t s = first; s < last; s++) {
                for (int g = 0; g < GROUPS; g++)
                    sum[g] = (REALS){0};
                for (int64_t k = indptr[s]; k < indptr[s + 1]; k++) {
                    const REALS *squares = (const REALS *)(table + indices[k] * stride + LANES);
                    const REAL v = ones ? 1 : values[k] * values[k];
                    for (int g = 0; g < GROUPS; g++)
                        sum[g] += gains ? v * squares[g] : (REALS){0} + v;
                }
                for (int g = 0; g < GROUPS; g++)
                    score[g] += CAST(DOUBLES, sum[g]) * (even ? 1.0 : (double)scale[s] * scale[s]);
            }
            for (int g = 0; g < GROUPS; g++)
                *(DOUBLES *)(h->q + i * LANES + g * WIDTH) = score[g];
        }
        for (int g = 0; g < GROUPS; g++)
            score[g] = bias[g] * bias_scale;
        for (int64_t s = first; s < last; s++) {
            for (int g = 0; g < GROUPS; g++)
                sum[g] = (REALS){0};
            for (int64_t k = indptr[s]; k < indptr[s + 1]; k++) {
                const REALS *u = (const REALS *)(table + indices[k] * stride);
                const REAL v = ones ? 1 : values[k];
                for (int g = 0; g < GROUPS; g++)
                    sum[g] += ones ? u[g] : v * u[g];
                if (ahead < ahead_end) { /* the weights of the next row, while this one waits for memory */
                    LINNET_SOON(table + indices[ahead] * stride);
                    ahead++;
                }
            }
            for (int g = 0; g < GROUPS; g++)
                score[g] += CAST(DOUBLES, sum[g]) * (even ? 1.0 : scale[s]);
        }
        for (int g = 0; g < GROUPS; g++) { /* move the variables and the intercepts */
            const int64_t at = i * LANES + g * WIDTH, c = g * WIDTH;
            DOUBLES *a = (DOUBLES *)(h->alpha + at);
            const DOUBLES above = *(DOUBLES *)(h->above + c), below = *(DOUBLES *)(h->below + c), old = *a;
            const DOUBLES near = *(DOUBLES *)(h->near + c);
            const DOUBLES cost = h->costs > 1 ? *(DOUBLES *)(h->cost + at) : zero + h->cost[i];
            const DOUBLES diag = !h->squared ? zero : h->costs > 1 ? 0.5 / cost : zero + 0.5 / h->cost[i];
            const DOUBLES upper = h->squared ? zero + LINNET_INFINITY : cost;
            const DOUBLES y = PICK(IS(h->signs + at, 0x80), zero - 1.0, zero + 1.0);
            const DOUBLES slack = 1.0 - y * score[g], G = diag * old - slack;
            const WHOLES on = IS(h->active + at, 1), none = old == 0.0, all = old == upper;
            const WHOLES kept = on & ~((none & (G > above)) | (all & (G < below)));
            const DOUBLES PG = PICK((none & (G > 0.0)) | (all & (G < 0.0)), zero, G);
            DOUBLES new = old - G / (*(DOUBLES *)(h->q + at) + diag);
            new = PICK(new < 0.0, zero, new);
            new = PICK(new > upper, upper, new);
            new = PICK(kept & ((PG > 1e-14) | (PG < -1e-14)), new, old);
            loss[g] += PICK(on & (slack > 0.0), cost * (h->squared ? slack * slack : slack), zero);
            top[g] = PICK(kept & (PG > top[g]), PG, top[g]);
            low[g] = PICK(kept & (PG < low[g]), PG, low[g]);
            *a = new;
            d[g] = (new - old) * y;
            bias[g] += d[g] * bias_scale;
            KEEP(h->active + at, kept);
            KEEP(h->far + at, kept & ((PG > near) | (PG < zero - near)));
            left[g] += kept & 1;
            moved |= d[g] != 0.0;
        }
        if (!ANY(moved))
            continue;
        for (int64_t s = first; s < last; s++) {
            for (int g = 0; g < GROUPS; g++)
                step[g] = CAST(REALS, even ? d[g] : d[g] * scale[s]);
            for (int64_t k = indptr[s]; k < indptr[s + 1]; k++) {
                REALS *u = (REALS *)(table + indices[k] * stride);
                const REALS *squares = (const REALS *)(table + indices[k] * stride + LANES);
                const REAL v = ones ? 1 : values[k];
                for (int g = 0; g < GROUPS; g++)
                    u[g] += gains ? step[g] * v * squares[g] : step[g] * v;
            }
        }
    }
    for (int g = 0; g < GROUPS; g++) {
        *(DOUBLES *)(h->bias + g * WIDTH) = bias[g];
        *(DOUBLES *)(h->top + g * WIDTH) = top[g];
        *(DOUBLES *)(h->low + g * WIDTH) = low[g];
        *(DOUBLES *)(h->loss + g * WIDTH) = loss[g];
        *(WHOLES *)(h->left + g * WIDTH) = left[g];
    }
}
#undef GROUPS
#undef WIDTH
