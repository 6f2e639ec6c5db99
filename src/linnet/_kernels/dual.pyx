"""Dual coordinate descent for the linear SVM, one binary problem, one pass.

Problem   min_w  1/2 |w|^2 + sum_i C_i loss(y_i w.x_i),  loss = max(0, 1 - z)^2 (squared hinge) or max(0, 1 - z)
Dual      min_a  1/2 a'Qa - sum_i a_i,  0 <= a_i <= U_i,  Q_ij = y_i y_j x_i.x_j + D_i [i = j]
          squared hinge: U = inf, D_i = 1 / (2 C_i); hinge: U_i = C_i, D = 0
Update    G = y_i w.x_i - 1 + D_i a_i;  a_i <- clip(a_i - G / Q_ii);  w += (new a_i - old a_i) y_i x_i
Weights   features may carry a weight g_j, x_ij = v_ij g_j. The kernel keeps u_j = g_j w_j beside g_j^2 in one pair, so
          an entry touches one cache line: score = sum_j v_ij u_j, update u_j += d v_ij g_j^2. Plain SVM: g = 1.
Shrinking coordinates at a bound whose gradient points out of it are set aside (Hsieh et al., section 3.2).
Cost      two passes over the entries of the active rows.
Paper     Hsieh, Chang, Lin, Keerthi, Sundararajan: A Dual Coordinate Descent Method for Large-scale Linear SVM, 2008.
"""
from libc.math cimport fabs
from libc.stdint cimport int8_t, int32_t, int64_t
from linnet._kernels.arithmetic cimport exp, log, log1p
from linnet._kernels.hints cimport ln_prefetch

import numpy

cdef fused real:
    float
    double

cdef double INFINITE = numpy.inf
cdef double SMALLEST = 1e-300   # share of C: below, the logarithm of a share has no number


cdef class HingeDual:
    """The dual of one binary SVM. The arrays that it is given are kept, not copied.

    signs     y_i, +1 or -1
    cost      C_i
    alpha     a_i: start it at zero
    q         squared norms of the rows, with the constant feature of the intercept; svm_pass fills in those below zero
    squared   whether the hinge is squared
    bias      the weight of the constant feature bias_scale
    keep      the rows still active after a pass, as many as it returned
    slack     1 - y_i score of each row as it was last met
    top, low  the largest and smallest projected gradient of the last pass
    loss      of the rows as they were met: it lags the weights by up to one pass
    """

    cdef readonly object signs, alpha, keep, slack
    cdef readonly double bias, top, low, loss
    cdef const int8_t[::1] y
    cdef const double[::1] cost
    cdef double[::1] a, q, slacks
    cdef int32_t[::1] kept
    cdef bint squared
    cdef int64_t n_kept
    cdef double bias_scale, above, below

    def __init__(self, const int8_t[::1] signs, const double[::1] cost, double[::1] alpha, double[::1] q, *, bint squared,
                 double bias_scale, double bias=0.0):
        cdef int64_t n = signs.shape[0]
        if not n == cost.shape[0] == alpha.shape[0] == q.shape[0]:
            raise ValueError(f"{n} signs, {cost.shape[0]} costs, {alpha.shape[0]} variables, {q.shape[0]} norms; one of each a row")
        self.signs, self.alpha = numpy.asarray(signs), numpy.asarray(alpha)
        self.keep = self.kept = numpy.empty(n, numpy.int32)
        self.slack = self.slacks = numpy.zeros(n)
        self.y, self.cost, self.a, self.q = signs, cost, alpha, q
        self.squared, self.bias_scale, self.bias = squared, bias_scale, bias
        self.widen()
        begin_pass(self)

    @property
    def spread(self) -> float:
        """Return the width of the projected gradient in the last pass; 0 where no row is active."""
        return self.top - self.low if self.n_kept else 0.0

    def narrow(self):
        """Let the next pass set rows aside by the gradients of the last."""
        self.above = self.top if self.top > 0.0 else INFINITE
        self.below = self.low if self.low < 0.0 else -INFINITE

    def widen(self):
        """Let the next pass set no row aside."""
        self.above, self.below = INFINITE, -INFINITE


cdef inline void begin_pass(HingeDual p) noexcept nogil:
    p.n_kept = 0
    p.top, p.low, p.loss = -1e300, 1e300, 0.0


cdef inline double visit(HingeDual p, int64_t i, double score) noexcept nogil:
    """Move the variable of row i, which has this score, and the intercept; returns the step of the row's weights."""
    cdef double slack = 1.0 - p.y[i] * score, cost = p.cost[i], old = p.a[i], diag = 0.0, upper = cost, G, PG, new, d
    if p.squared:
        diag, upper = 0.5 / cost, INFINITE
    p.slacks[i] = slack
    if slack > 0.0:
        p.loss += cost * (slack * slack if p.squared else slack)
    G = PG = diag * old - slack
    if old == 0.0:
        if G > p.above:
            return 0.0
        if G > 0.0:
            PG = 0.0
    elif old == upper:
        if G < p.below:
            return 0.0
        if G < 0.0:
            PG = 0.0
    if PG > p.top:
        p.top = PG
    if PG < p.low:
        p.low = PG
    p.kept[p.n_kept] = <int32_t>i
    p.n_kept += 1
    if not (PG > 1e-14 or PG < -1e-14):
        return 0.0
    new = old - G / (p.q[i] + diag)
    if new < 0.0:
        new = 0.0
    elif new > upper:
        new = upper
    p.a[i] = new
    d = (new - old) * p.y[i]
    if d != 0.0:
        p.bias += d * p.bias_scale
    return d


def svm_pass(const int64_t[::1] indptr, int64_t n_blocks, const int32_t[::1] indices, const real[::1] values,
             const real[::1] scale, const int32_t[::1] order, real[:, ::1] pair, HingeDual dual) -> int:
    """Visit the rows in order once; returns how many of them are still active.

    A row is n_blocks segments; v_ij is its value, 1 where values is empty, times the scale of its segment, 1 where scale
    is empty.
    """
    cdef int64_t t, i, k, s, n = order.shape[0], ahead, ahead_end
    cdef double score, part, norm, d, step, bias_scale = dual.bias_scale
    cdef double[::1] q = dual.q
    cdef real* p
    cdef bint ones = values.shape[0] == 0, even = scale.shape[0] == 0
    with nogil:
        begin_pass(dual)
        for t in range(n):
            i = order[t]
            ahead = ahead_end = 0
            if t + 1 < n:
                ahead = indptr[order[t + 1] * n_blocks]
                ahead_end = indptr[(order[t + 1] + 1) * n_blocks]
                if not ones:
                    ln_prefetch(&values[ahead])
            score = dual.bias * bias_scale
            if q[i] < 0.0:
                q[i] = bias_scale * bias_scale
                for s in range(i * n_blocks, (i + 1) * n_blocks):
                    norm = 0.0
                    for k in range(indptr[s], indptr[s + 1]):
                        norm += (1.0 if ones else <double>values[k] * values[k]) * pair[indices[k], 1]
                    q[i] += norm if even else norm * scale[s] * scale[s]
            for s in range(i * n_blocks, (i + 1) * n_blocks):
                part = 0.0
                if ones:
                    for k in range(indptr[s], indptr[s + 1]):
                        part += pair[indices[k], 0]
                        if ahead < ahead_end:   # the weights of the next row, while this one waits for memory
                            ln_prefetch(&pair[indices[ahead], 0])
                            ahead += 1
                else:
                    for k in range(indptr[s], indptr[s + 1]):
                        part += <double>values[k] * pair[indices[k], 0]
                score += part if even else part * scale[s]
            d = visit(dual, i, score)
            if d != 0.0:
                for s in range(i * n_blocks, (i + 1) * n_blocks):
                    step = d if even else d * scale[s]
                    if ones:
                        for k in range(indptr[s], indptr[s + 1]):
                            p = &pair[indices[k], 0]
                            p[0] += <real>(step * p[1])
                    else:
                        for k in range(indptr[s], indptr[s + 1]):
                            p = &pair[indices[k], 0]
                            p[0] += <real>(step * values[k] * p[1])
    return dual.n_kept


cdef inline double row_score(const int32_t* indices, const real* values, int64_t n, const double* w) noexcept nogil:
    """The inner product of a row with the weights, in four sums that do not wait for each other."""
    cdef int64_t k
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    for k in range(0, n - 3, 4):
        a += values[k] * w[indices[k]]
        b += values[k + 1] * w[indices[k + 1]]
        c += values[k + 2] * w[indices[k + 2]]
        d += values[k + 3] * w[indices[k + 3]]
    for k in range(n - n % 4, n):
        a += values[k] * w[indices[k]]
    return (a + b) + (c + d)


cdef inline void add_row(const int32_t* indices, const real* values, int64_t n, double factor, double* w) noexcept nogil:
    """Add a row, times a factor, to the weights."""
    cdef int64_t k
    for k in range(n):
        w[indices[k]] += factor * values[k]


cdef inline void expect_row(const int32_t* indices, const real* values) noexcept nogil:
    """Ask for the beginning of the next row ahead of time."""
    ln_prefetch(indices)
    ln_prefetch(values)


def plain_pass(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int32_t[::1] order,
               double[::1] w, HingeDual dual) -> int:
    """svm_pass for plain rows: a value an entry, no gains; all of q must be there."""
    cdef int64_t t, i, begin, n = order.shape[0], count
    cdef double d
    with nogil:
        begin_pass(dual)
        for t in range(n):
            i = order[t]
            begin = indptr[i]
            count = indptr[i + 1] - begin
            if t + 1 < n:
                expect_row(&indices[indptr[order[t + 1]]], &values[indptr[order[t + 1]]])
            d = visit(dual, i, dual.bias * dual.bias_scale + row_score(&indices[begin], &values[begin], count, &w[0]))
            if d != 0.0:
                add_row(&indices[begin], &values[begin], count, d, &w[0])
    return dual.n_kept


cdef class LogisticDual:
    """The dual of two-class logistic regression. The arrays that it is given are kept, not copied.

    Dual      min_a  1/2 a'Qa + sum_i a_i log a_i + (C_i - a_i) log(C_i - a_i),  0 < a_i < C_i; rest_i = C_i - a_i
    signs     y_i, +1 or -1
    q         squared norms of the rows, with the constant feature of the intercept
    bias      the weight of the constant feature bias_scale
    loss      of the rows as they were met in the last pass, with e_i = a_i - C_i sigmoid(-y_i score_i) as are
    square    sum_i e_i^2 q_i, about the squared gradient of the primal problem by w, and
    drift     sum_i y_i e_i, about that by the intercept
    """

    cdef readonly double bias, loss, square, drift
    cdef const int8_t[::1] signs
    cdef double[::1] alpha, rest
    cdef const double[::1] q
    cdef double bias_scale

    def __init__(self, const int8_t[::1] signs, double[::1] alpha, double[::1] rest, const double[::1] q, *, double bias_scale,
                 double bias=0.0):
        if not signs.shape[0] == alpha.shape[0] == rest.shape[0] == q.shape[0]:
            raise ValueError(f"{signs.shape[0]} signs, {alpha.shape[0]} and {rest.shape[0]} variables, {q.shape[0]} norms; "
                             "one of each a row")
        self.signs, self.alpha, self.rest, self.q = signs, alpha, rest, q
        self.bias_scale, self.bias = bias_scale, bias
        self.loss = self.square = self.drift = 0.0


def logistic_pass(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int32_t[::1] order,
                  double[::1] w, LogisticDual dual, double offset, double inner) -> int:
    """One pass of dual coordinate descent for logistic regression; returns the Newton steps taken on single variables.

    Update    Newton on one variable, a_i or C_i - a_i, whichever will be the smaller, until its slope is below inner
    offset    is added to every score
    Paper     Yu, Huang, Lin: Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models, 2011.
    """
    cdef int64_t t, i, begin, n = order.shape[0], count, steps = 0, turn
    cdef double score, sign, old, other, z, C, slope, d, bias_scale = dual.bias_scale
    cdef double b = dual.bias, loss = 0.0, square = 0.0, drift = 0.0
    cdef const int8_t[::1] y = dual.signs
    cdef double[::1] alpha = dual.alpha, rest = dual.rest
    cdef const double[::1] q = dual.q
    with nogil:
        for t in range(n):
            i = order[t]
            begin = indptr[i]
            count = indptr[i + 1] - begin
            if t + 1 < n:
                expect_row(&indices[indptr[order[t + 1]]], &values[indptr[order[t + 1]]])
            C = alpha[i] + rest[i]
            score = y[i] * (offset + b * bias_scale + row_score(&indices[begin], &values[begin], count, &w[0]))
            d = exp(-fabs(score))
            loss += C * (log1p(d) - (score if score < 0.0 else 0.0))
            d = alpha[i] - C * (d if score > 0.0 else 1.0) / (1.0 + d)
            square += d * d * q[i]
            drift += d * y[i]
            sign = 1.0 if 0.5 * q[i] * (rest[i] - alpha[i]) + score >= 0.0 else -1.0
            old, other = alpha[i], rest[i]
            if sign < 0.0:
                old, other = other, old
            slope = sign * score + log(old / other)
            if fabs(slope) < inner:
                continue
            z = old
            if z > 0.5 * C:
                z = 0.1 * old
                slope = q[i] * (z - old) + sign * score + log(z / (C - z))
            turn = 0
            while fabs(slope) >= inner and turn < 100:
                d = z - slope / (q[i] + C / ((C - z) * z))
                z = d if d > 0.0 else 0.1 * z
                slope = q[i] * (z - old) + sign * score + log(z / (C - z))
                turn += 1
            if z < SMALLEST * C:
                z = SMALLEST * C
            steps += turn
            if sign > 0.0:
                alpha[i] = z
                rest[i] = C - z
            else:
                rest[i] = z
                alpha[i] = C - z
            d = sign * (z - old) * y[i]
            b += d * bias_scale
            add_row(&indices[begin], &values[begin], count, d, &w[0])
    dual.bias, dual.loss, dual.square, dual.drift = b, loss, square, drift
    return steps


def logistic_gradient(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int8_t[::1] y,
                      const int32_t[::1] rows, const double[::1] C, const double[::1] w, double b, double[::1] out) -> float:
    """Add -sum_i C_i y_i sigmoid(-y_i (w.x_i + b)) x_i over the given rows to out, and return it for the intercept."""
    cdef int64_t t, i, begin, count
    cdef double score, d, drift = 0.0
    with nogil:
        for t in range(rows.shape[0]):
            i = rows[t]
            begin = indptr[i]
            count = indptr[i + 1] - begin
            score = y[i] * (b + row_score(&indices[begin], &values[begin], count, &w[0]))
            d = exp(-fabs(score))
            d = -C[i] * y[i] * (d if score > 0.0 else 1.0) / (1.0 + d)
            drift += d
            add_row(&indices[begin], &values[begin], count, d, &out[0])
    return drift
