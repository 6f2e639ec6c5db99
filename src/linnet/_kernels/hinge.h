/* One pass of dual coordinate descent over 1, 4 or 8 binary SVMs side by side: see dual.pyx.
 *
 * The numbers of the problems lie side by side, in lanes, and are computed four at a time. No sum runs across lanes: each
 * problem's own sums keep their order, so its result is the same in any company and on any processor.
 */
#ifndef LINNET_HINGE_H
#define LINNET_HINGE_H
#include <string.h>
#include "arithmetic.h"

typedef struct {
    const int64_t *indptr;
    const int32_t *indices, *order;
    const double *cost;                              /* (n_rows, costs) */
    const int8_t *signs;                             /* (n_rows, lanes), as are alpha, q and active */
    double *alpha, *q;
    int8_t *active, *far;                            /* far: (n_rows, lanes), as is active */
    double *bias, *top, *low, *loss, *above, *below; /* (lanes,), as are near and left */
    double *near;
    int64_t *left;
    int64_t n_blocks, n_order, stride;               /* stride: how many numbers of the table belong to a feature */
    int lanes, costs, ones, even, squared;          /* costs: lanes, or 1 for all problems */
    double bias_scale;
} linnet_hinge;

#define LINNET_INLINE static inline __attribute__((always_inline))
#define LINNET_SOON(p) __builtin_prefetch((p), 0, 3)
#define LINNET_JOIN(a, b, c) a##_##b##_##c
#define LINNET_NAME(a, b, c) LINNET_JOIN(a, b, c)

/* One problem at a time. */
#define LANES 1
#define DOUBLES double
#define WHOLES int64_t
#define CAST(type, x) ((type)(x))
#define IS(bytes, bit) ((*(const uint8_t *)(bytes) & (bit)) != 0)
#define KEEP(bytes, mask) (*(bytes) = (int8_t)((mask) & 1))
#define ANY(mask) (mask)
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
#undef CAST
#undef IS
#undef KEEP
#undef ANY
#undef PICK

/* Four and eight, in vectors of four. */
typedef double linnet_doubles __attribute__((vector_size(32), aligned(8)));
typedef float linnet_floats __attribute__((vector_size(16), aligned(4)));
typedef int64_t linnet_wholes __attribute__((vector_size(32), aligned(8)));

LINNET_INLINE linnet_wholes linnet_each(int64_t bit) /* a bit of each of four bytes that are read as one number */
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (linnet_wholes){bit, bit << 8, bit << 16, bit << 24};
#else
    return (linnet_wholes){bit << 24, bit << 16, bit << 8, bit};
#endif
}

LINNET_INLINE int64_t linnet_any(linnet_wholes x)
{
    return (x[0] | x[1]) | (x[2] | x[3]);
}

LINNET_INLINE linnet_wholes linnet_is(const int8_t *bytes, int64_t bit)
{
    uint32_t all;
    memcpy(&all, bytes, 4);
    return (((linnet_wholes){0} + (int64_t)all) & linnet_each(bit)) != 0;
}

LINNET_INLINE void linnet_keep(int8_t *bytes, linnet_wholes mask)
{
    const uint32_t all = (uint32_t)linnet_any(mask & linnet_each(1));
    memcpy(bytes, &all, 4);
}

#define DOUBLES linnet_doubles
#define WHOLES linnet_wholes
#define IS linnet_is
#define KEEP linnet_keep
#define ANY linnet_any
#define CAST(type, x) __builtin_convertvector(x, type)
#define PICK(mask, a, b) ((linnet_doubles)(((mask) & (linnet_wholes)(a)) | (~(mask) & (linnet_wholes)(b))))
#define REAL double
#define REALS linnet_doubles
#define LANES 4
#include "hinge_pass.h"
#undef LANES
#define LANES 8
#include "hinge_pass.h"
#undef LANES
#undef REAL
#undef REALS
#define REAL float
#define REALS linnet_floats
#define LANES 4
#include "hinge_pass.h"
#undef LANES
#define LANES 8
#include "hinge_pass.h"
#undef LANES
#undef REAL
#undef REALS
#undef DOUBLES
#undef WHOLES
#undef CAST
#undef IS
#undef KEEP
#undef ANY
#undef PICK

static void linnet_hinge_float(const linnet_hinge *h, const float *values, const float *scale, float *table)
{
    (h->lanes == 1 ? linnet_hinge_float_1 : h->lanes == 4 ? linnet_hinge_float_4 : linnet_hinge_float_8)(h, values, scale, table);
}

static void linnet_hinge_double(const linnet_hinge *h, const double *values, const double *scale, double *table)
{
    (h->lanes == 1 ? linnet_hinge_double_1 : h->lanes == 4 ? linnet_hinge_double_4 : linnet_hinge_double_8)(h, values, scale, table);
}
#endif
