/* One pass of dual coordinate descent for multinomial logistic regression: see dual.pyx. */
#ifndef LINNET_SOFTMAX_H
#define LINNET_SOFTMAX_H
#include "hinge.h"

typedef struct {
    const int64_t *indptr;
    const int32_t *indices, *order, *y;
    const double *cost, *q;                   /* (n_rows,) */
    double *t;                                /* (n_rows, n_classes): log p */
    const double *offset;                     /* (n_classes,), as is bias */
    double *bias, *squares;                   /* squares: (n_rows,) */
    double *scratch;                          /* (6, width) */
    int64_t n_order, n_classes, width, steps; /* width: numbers of the table that belong to a feature, a multiple of 4 */
    double bias_scale, inner, loss;
} linnet_softmax;

/* Sums over classes are made of four running sums. */
#define LINNET_SUM(name, term) \
    double name; \
    { \
        double lane[4] = {0.0, 0.0, 0.0, 0.0}; \
        int64_t c = 0; \
        for (; c + 4 <= K; c += 4) \
            for (int e = 0; e < 4; e++) { \
                const int64_t k = c + e; \
                lane[e] += (term); \
            } \
        for (; c < K; c++) { \
            const int64_t k = c; \
            lane[0] += (term); \
        } \
        name = (lane[0] + lane[1]) + (lane[2] + lane[3]); \
    }

/* The largest of some numbers, of which eight are compared at a time; `first` where it is above all of them. */
#define LINNET_MOST(name, first, term) \
    double name = (first); \
    { \
        double lane[8]; \
        int64_t c = 0; \
        for (int e = 0; e < 8; e++) \
            lane[e] = name; \
        for (; c + 8 <= K; c += 8) \
            for (int e = 0; e < 8; e++) { \
                const int64_t k = c + e; \
                const double one = (term); \
                lane[e] = one > lane[e] ? one : lane[e]; \
            } \
        for (; c < K; c++) { \
            const int64_t k = c; \
            const double one = (term); \
            lane[0] = one > lane[0] ? one : lane[0]; \
        } \
        for (int e = 0; e < 8; e++) \
            name = lane[e] > name ? lane[e] : name; \
    }

/* Solve for the probabilities p of one row, of which t are the logarithms: log p_c + Q p_c = z_c - lambda, sum p = 1, by Newton's
 * method in log p and lambda. z = s + Q p at first. Returns the steps taken. */
LINNET_INLINE int64_t linnet_share(int64_t K, double Q, double inner, const double *restrict z, double *restrict t,
                                   double *restrict p, double *restrict h, double *restrict r)
{
    for (int64_t turn = 0;; turn++) {
        for (int64_t c = 0; c < K; c++) {
            h[c] = p[c] / (1.0 + Q * p[c]);
            r[c] = z[c] - t[c] - Q * p[c];
        }
        LINNET_SUM(mass, p[k])
        LINNET_SUM(bend, h[k])
        LINNET_SUM(pull, h[k] * r[k])
        const double shift = (pull - (1.0 - mass)) / bend;
        for (int64_t c = 0; c < K; c++) {
            double d = (r[c] - shift) / (1.0 + Q * p[c]);
            h[c] = (d < 0.0 ? -d : d) * (p[c] < 1e-6 ? 1e6 * p[c] : 1.0);
            d = d > 1.0 ? 1.0 : d;
            d = t[c] + d;
            t[c] = d < -690.0 ? -690.0 : d;
        }
        LINNET_MOST(worst, 0.0, h[k])
        for (int64_t c = 0; c < K; c++)
            p[c] = linnet_exp(t[c]);
        if (worst <= inner || turn == 50) {
            LINNET_SUM(whole, p[k])
            const double log_whole = linnet_log(whole);
            for (int64_t c = 0; c < K; c++) {
                p[c] /= whole;
                t[c] -= log_whole;
            }
            return turn + 1;
        }
    }
}

#define REAL float
#define REALS linnet_floats
#include "softmax_pass.h"
#undef REAL
#undef REALS
#define REAL double
#define REALS linnet_doubles
#include "softmax_pass.h"
#undef REAL
#undef REALS
#endif
