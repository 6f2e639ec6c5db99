/* Logarithm, exponential and power made of + - * / and bit operations only.
 *
 * IEEE 754 fixes every one of those operations, so the result has the same bits on any processor; the functions of libm and
 * NumPy differ in their last digit with the vector instructions that are there. Compile with -ffp-contract=off: a fused
 * multiply-add rounds once where these round twice. Nothing branches on its argument, so loops over arrays are vectorised.
 *
 * log and log1p   x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), and s = f / (2 + f):
 *                 log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + R(s^2)), R a polynomial of degree 7
 * exp             x = k log 2 + r, |r| <= log(2) / 2: exp(r) = 1 + r + r c / (2 - c), c = r - r^2 P(r^2)
 * power           exp(y log x), the logarithm and the product carried as the sum of two doubles
 *
 * Largest errors found in 20 million arguments, in units in the last place: log 0.84, exp 0.92, log1p 0.83, power 0.89.
 * Coefficients: fdlibm (Sun Microsystems, 1993) and its float versions (Ian Lance Taylor, Cygnus, 1993). Sums of two
 * doubles: Dekker, A Floating-Point Technique for Extending the Available Precision, 1971.
 */
#ifndef LINNET_ARITHMETIC_H
#define LINNET_ARITHMETIC_H

#include <stdint.h>
#include <string.h>

#define LINNET_INFINITY __builtin_inf()
#define LINNET_LN2_HI 6.93147180369123816490e-01 /* 32 bits: times a whole number below 2^21 it is exact */
#define LINNET_LN2_LO 1.90821492927058770002e-10
#define LINNET_LN2_REST 1.1612227229362532e-26 /* log 2 - LN2_HI - LN2_LO */

static inline uint64_t linnet_bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline double linnet_from_bits(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Split a normal x > 0: returns 1 + f and writes k. */
static inline double linnet_split(double x, double *k)
{
    const uint64_t root = 0x3FE6A09E00000000; /* just below sqrt(1/2) */
    uint64_t u = linnet_bits(x) + (0x3FF0000000000000 - root);
    *k = linnet_from_bits((u >> 52) | 0x4330000000000000) - (0x1p52 + 1023.0); /* the exponent, as a double */
    return linnet_from_bits((u & 0x000FFFFFFFFFFFFF) + root);
}

/* log(1 + f) + k log 2 + c for a small c. */
static inline double linnet_log_sum(double f, double k, double c)
{
    double s = f / (2.0 + f), z = s * s, w = z * z, half = 0.5 * f * f;
    double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double odd = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01
                                                                                    + w * 1.479819860511658591e-01)));
    return s * (half + (odd + even)) + (k * LINNET_LN2_LO + c) - half + f + k * LINNET_LN2_HI;
}

/* What log and log1p are outside of (0, inf): y where u, the argument of the logarithm, is inside. */
static inline double linnet_log_domain(double u, double y)
{
    y = u < LINNET_INFINITY ? y : u; /* inf, nan */
    y = u == 0.0 ? -LINNET_INFINITY : y;
    return u < 0.0 ? LINNET_INFINITY - LINNET_INFINITY : y;
}

static inline double linnet_log(double x)
{
    double k, small = x < 0x1p-1022 ? 1.0 : 0.0; /* subnormal numbers have no exponent of their own */
    double m = linnet_split(x * (small > 0.0 ? 0x1p54 : 1.0), &k);
    return linnet_log_domain(x, linnet_log_sum(m - 1.0, k - 54.0 * small, 0.0));
}

static inline double linnet_log1p(double x)
{
    double k, u = 1.0 + x, m = linnet_split(u, &k);
    double f = k == 0.0 ? x : m - 1.0;
    double c = k >= 2.0 ? 1.0 - (u - x) : x - (u - 1.0); /* what 1 + x lost by rounding */
    double y = linnet_log_domain(u, linnet_log_sum(f, k, k == 0.0 ? 0.0 : c / u));
    return x == 0.0 ? x : y;
}

/* exp(x + low) for a low far smaller than x. */
static inline double linnet_exp_sum(double x, double low)
{
    const double round = 0x1.8p52; /* added and taken away again, it leaves the nearest whole number */
    double c = x < 710.0 ? x : 710.0;
    c = c > -746.0 ? c : -746.0;
    double k = (c * 1.44269504088896338700 + round) - round;
    double hi = c - k * LINNET_LN2_HI, lo = k * LINNET_LN2_LO - low, r = hi - lo, z = r * r;
    double q = r - z * (1.66666666666666019037e-01 + z * (-2.77777777770155933842e-03 + z * (6.61375632143793436117e-05
                 + z * (-1.65339022054652515390e-06 + z * 4.13813679705723846039e-08))));
    double y = 1.0 + ((r * q / (2.0 - q) - lo) + hi);
    double half = (0.5 * k + round) - round; /* 2^k in two factors: neither overflows, and y is rounded once */
    y *= linnet_from_bits(linnet_bits(half + (round + 1023.0)) << 52);
    y *= linnet_from_bits(linnet_bits(k - half + (round + 1023.0)) << 52);
    return x != x ? x : y;
}

static inline double linnet_exp(double x)
{
    return linnet_exp_sum(x, 0.0);
}

/* a + b and a * b as the sum of two doubles: the rounded result is returned, what it lost is written to low. */
static inline double linnet_two_sum(double a, double b, double *low)
{
    double s = a + b, t = s - a;
    *low = (a - (s - t)) + (b - t);
    return s;
}

static inline double linnet_two_product(double a, double b, double *low)
{
    double p = a * b, s = 134217729.0 * a, t = 134217729.0 * b;
    double a1 = s - (s - a), a2 = a - a1, b1 = t - (t - b), b2 = b - b1; /* halves of 26 bits */
    *low = a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2);
    return p;
}

/* log(x 2^shift) of a normal x > 0, with some 65 bits. */
static inline double linnet_long_log(double x, double shift, double *low)
{
    double k, f = linnet_split(x, &k) - 1.0, d_low, p_low, z_low, c_low, t_low, e_low;
    k += shift;
    double d = linnet_two_sum(2.0, f, &d_low), s = f / d; /* s + s_low = f / (2 + f) */
    double p = linnet_two_product(s, d, &p_low), s_low = (((f - p) - p_low) - s * d_low) / d;
    double z = linnet_two_product(s, s, &z_low); /* z + z_low = s^2 */
    z_low += 2.0 * s * s_low;
    /* log(1 + f) = 2 s (1 + z / 3 + z^2 (1/5 + z / 7 + ...)), where only the first two terms need a low part */
    double rest = z * z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9 + z * (1.0 / 11 + z * (1.0 / 13 + z * (1.0 / 15
                    + z * (1.0 / 17 + z * (1.0 / 19 + z * (1.0 / 21 + z / 23)))))))));
    double c = linnet_two_product(z, 1.0 / 3, &c_low);
    c_low += z_low / 3 + z * 1.850371707708594e-17 + rest; /* 1/3 has a low part too */
    double t = linnet_two_product(2.0 * s, c, &t_low);
    t_low += 2.0 * (s * c_low + s_low * c) + 2.0 * s_low;
    double sum = linnet_two_sum(2.0 * s, t, &e_low);
    double high = linnet_two_sum(k * LINNET_LN2_HI, sum, &d_low);
    high = linnet_two_sum(high, k * LINNET_LN2_LO, low);
    *low += t_low + e_low + d_low + k * LINNET_LN2_REST;
    return high;
}

static inline double linnet_power(double x, double y)
{
    double size = x < 0.0 ? -x : x, log_low, low;
    double small = size < 0x1p-1022 ? 1.0 : 0.0, inside = size > 0.0 && size < LINNET_INFINITY ? 1.0 : 0.0;
    double log = linnet_long_log(inside > 0.0 ? size * (small > 0.0 ? 0x1p54 : 1.0) : 2.0, -54.0 * small, &log_low);
    double by = y < 1e280 ? (y > -1e280 ? y : -1e280) : 1e280; /* so far out every power is 0, 1 or infinite */
    double p = linnet_two_product(by, log, &low);
    p = inside > 0.0 ? p : ((size > 0.0) == (y > 0.0) ? 1e4 : -1e4); /* infinity and zero: only the signs count */
    low = p < 800.0 && p > -800.0 ? low + by * log_low : 0.0;
    double v = linnet_exp_sum(p, low);
    double half = 0.5 * y, whole = __builtin_floor(y) == y, odd = whole > 0.0 && __builtin_floor(half) != half;
    v = x < 0.0 ? (whole > 0.0 ? (odd > 0.0 ? -v : v) : LINNET_INFINITY - LINNET_INFINITY) : v;
    v = x != x || y != y ? x + y : v;
    return x == 1.0 || y == 0.0 ? 1.0 : v;
}

/* The same for a float x >= 0: in double the short way has digits to spare. */
static inline float linnet_powerf(float x, double y)
{
    return (float)linnet_exp(y * linnet_log((double)x));
}

/* The logarithm in single precision: below one unit in the last place, and four or more at a time. */
static inline float linnet_logf(float x)
{
    const uint32_t root = 0x3F3504F3; /* sqrt(1/2) */
    float small = x < 0x1p-126f ? 1.0f : 0.0f, scaled = x * (small > 0.0f ? 0x1p25f : 1.0f), m, y;
    uint32_t u;
    memcpy(&u, &scaled, sizeof u);
    u += 0x3F800000 - root;
    float k = (float)((int32_t)(u >> 23) - 127) - 25.0f * small;
    u = (u & 0x007FFFFF) + root;
    memcpy(&m, &u, sizeof m);
    float f = m - 1.0f, s = f / (2.0f + f), z = s * s, w = z * z, half = 0.5f * f * f;
    float R = z * (0xaaaaaa.0p-24f + w * 0x91e9ee.0p-25f) + w * (0xccce13.0p-25f + w * 0xf89e26.0p-26f);
    y = s * (half + R) + k * 9.0580006145e-06f - half + f + k * 6.9313812256e-01f;
    y = x < (float)LINNET_INFINITY ? y : x;
    y = x == 0.0f ? -(float)LINNET_INFINITY : y;
    return x < 0.0f ? (float)(LINNET_INFINITY - LINNET_INFINITY) : y;
}

/* Loops over arrays. Where the compiler can make several versions of a function it does, and the processor picks the widest:
 * with contraction off they differ in speed alone. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define LINNET_WIDE __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define LINNET_WIDE
#endif
#define LINNET_LOOP(name, type, expression) \
    LINNET_WIDE static void name(const type *restrict x, double y, type *restrict out, int64_t n) \
    { \
        for (int64_t i = 0; i < n; i++) \
            out[i] = (expression); \
    }

LINNET_LOOP(linnet_logs, double, linnet_log(x[i]))
LINNET_LOOP(linnet_log1ps, double, linnet_log1p(x[i]))
LINNET_LOOP(linnet_exps, double, linnet_exp(x[i]))
LINNET_LOOP(linnet_powers, double, linnet_power(x[i], y))
LINNET_LOOP(linnet_logs32, float, linnet_logf(x[i]))
LINNET_LOOP(linnet_log1ps32, float, (float)linnet_log1p((double)x[i]))
LINNET_LOOP(linnet_exps32, float, (float)linnet_exp((double)x[i]))
LINNET_LOOP(linnet_powers32, float, (float)linnet_power((double)x[i], y))
LINNET_LOOP(linnet_short_powers32, float, linnet_powerf(x[i], y))

#endif
