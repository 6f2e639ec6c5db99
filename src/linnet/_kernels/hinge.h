/* One pass of dual coordinate descent over 1 or 8 binary SVMs side by side: see dual.pyx.
 *
 * The numbers of the problems lie side by side, in lanes, and are computed four at a time. No sum runs across lanes: each
 * problem's own sums keep their order, so its result is the same in any company and on any processor.
 */
#ifndef LINNET_HINGE_H
#define LINNET_HINGE_H
#include "arithmetic.h"

typedef struct {
    const int64_t *indptr;
    const int32_t *indices, *order;
    const double *cost;                              /* (n_rows, costs) */
    const int8_t *signs;                             /* (n_rows, lanes), as are alpha, q and active */
    double *alpha, *q;
    int8_t *active;
    double *bias, *top, *low, *loss, *above, *below; /* (lanes,), as is left */
    int64_t *left;
    int64_t n_blocks, n_order, stride;               /* stride: how many numbers of the table belong to a feature */
    int lanes, costs, ones, even, squared;          /* costs: lanes, or 1 for all problems */
    double bias_scale;
} linnet_hinge;

#define LINNET_INLINE static inline __attribute__((always_inline))
#define LINNET_SOON(p) __builtin_prefetch((p), 0, 1)
#define LINNET_JOIN(a, b, c) a##_##b##_##c
#define LINNET_NAME(a, b, c) LINNET_JOIN(a, b, c)

/* One problem at a time. */
#define LANES 1
#define DOUBLES double
#define WHOLES int64_t
#define BYTES int8_t
#define CAST(type, x) ((type)(x))
#define PICK(mask, a, b) ((mask) ? (a) : (b))
#define REAL float
#define REALS float
#include "hinge_pass.h"
#undef REAL
#undef REALS
#define REAL double
#define REALS double
#include "hinge_pass.h"
#undef REAL
#undef REALS
#undef LANES
#undef DOUBLES
#undef WHOLES
#undef BYTES
#undef CAST
#undef PICK

/* Eight, in vectors of four. */
typedef double linnet_doubles __attribute__((vector_size(32), aligned(8)));
typedef float linnet_floats __attribute__((vector_size(16), aligned(4)));
typedef int64_t linnet_wholes __attribute__((vector_size(32), aligned(8)));
typedef int8_t linnet_bytes __attribute__((vector_size(4), aligned(1)));
#define DOUBLES linnet_doubles
#define WHOLES linnet_wholes
#define BYTES linnet_bytes
#define CAST(type, x) __builtin_convertvector(x, type)
#define PICK(mask, a, b) ((linnet_doubles)(((mask) & (linnet_wholes)(a)) | (~(mask) & (linnet_wholes)(b))))
#define LANES 8
#define REAL double
#define REALS linnet_doubles
#include "hinge_pass.h"
#undef REAL
#undef REALS
#define REAL float
#define REALS linnet_floats
#include "hinge_pass.h"
#undef LANES
#undef REAL
#undef REALS
#undef DOUBLES
#undef WHOLES
#undef BYTES
#undef CAST
#undef PICK

static void linnet_hinge_float(const linnet_hinge *h, const float *values, const float *scale, float *table)
{
    (h->lanes == 1 ? linnet_hinge_float_1 : linnet_hinge_float_8)(h, values, scale, table);
}

static void linnet_hinge_double(const linnet_hinge *h, const double *values, const double *scale, double *table)
{
    (h->lanes == 1 ? linnet_hinge_double_1 : linnet_hinge_double_8)(h, values, scale, table);
}
#endif
