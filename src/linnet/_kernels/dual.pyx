"""Dual coordinate descent for the linear SVM, several binary problems side by side, one pass.

Problem   min_w  1/2 |w|^2 + sum_i C_i loss(y_i w.x_i),  loss = max(0, 1 - z)^2 (squared hinge) or max(0, 1 - z)
Dual      min_a  1/2 a'Qa - sum_i a_i,  0 <= a_i <= U_i,  Q_ij = y_i y_j x_i.x_j + D_i [i = j]
          squared hinge: U = inf, D_i = 1 / (2 C_i); hinge: U_i = C_i, D = 0
Update    G = y_i w.x_i - 1 + D_i a_i;  a_i <- clip(a_i - G / Q_ii);  w += (new a_i - old a_i) y_i x_i
Weights   features may carry a weight g_j, x_ij = v_ij g_j, another for each problem. The kernel keeps u_j = g_j w_j of all
          problems beside g_j^2, so an entry touches one or two cache lines: score = sum_j v_ij u_j, update
          u_j += d v_ij g_j^2. Plain SVM: g = 1.
Shrinking coordinates at a bound whose gradient points out of it are set aside (Hsieh et al., section 3.2).
Cost      two passes over the entries of the rows that are active in any problem.
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


cdef extern from "hinge.h" nogil:
    ctypedef struct linnet_hinge:
        const int64_t *indptr
        const int32_t *indices
        const int32_t *order
        const double *cost
        const int8_t *signs
        double *alpha
        double *q
        int8_t *active
        int8_t *far
        double *bias
        double *top
        double *low
        double *loss
        double *above
        double *below
        double *near
        int64_t *left
        int64_t n_blocks, n_order, stride
        int lanes, costs, ones, even, squared
        double bias_scale
    void linnet_hinge_float(const linnet_hinge* h, const float* values, const float* scale, float* table)
    void linnet_hinge_double(const linnet_hinge* h, const double* values, const double* scale, double* table)


cdef class HingeDual:
    """The duals of 1, 4 or 8 binary SVMs side by side. The arrays that it is given are kept, not copied.

    signs       y_i of each problem, +1 or -1, (n_rows, lanes); 0 where there is no problem
    cost        C_i, (n_rows, 1), or of each problem, (n_rows, lanes)
    alpha       a_i, (n_rows, lanes): start it at zero
    q           squared norms of the rows, with the constant feature of the intercept, (n_rows, lanes); a pass fills in those
                below zero
    squared     whether the hinge is squared
    active      which variables a pass visits, and after it, which are to be visited in the next, (n_rows, lanes)
    far         which had a projected gradient beyond near, (lanes,), as they were last met, (n_rows, lanes)
    bias        the weights of the constant feature bias_scale, (lanes,), as are
    top, low    the largest and smallest projected gradient of the last pass
    loss        of the rows as they were met: it lags the weights by up to one pass
    left        how many variables are active after it
    """

    cdef readonly object signs, alpha, q, cost, active, far, bias, top, low, loss, left, above, below, near
    cdef linnet_hinge h

    def __init__(self, const int8_t[:, ::1] signs, const double[:, ::1] cost, double[:, ::1] alpha, double[:, ::1] q, *,
                 bint squared, double bias_scale):
        cdef int64_t n = signs.shape[0], lanes = signs.shape[1]
        cdef int8_t[:, ::1] active, far
        cdef double[:, ::1] each
        cdef double[::1] near
        cdef int64_t[::1] left
        if not n == cost.shape[0] == alpha.shape[0] == q.shape[0] or not lanes == alpha.shape[1] == q.shape[1]:
            raise ValueError(f"signs ({n}, {lanes}), {cost.shape[0]} costs, variables ({alpha.shape[0]}, {alpha.shape[1]}), "
                             f"norms ({q.shape[0]}, {q.shape[1]}); one of each a row and problem")
        if lanes not in (1, 4, 8) or cost.shape[1] not in (1, lanes):
            raise ValueError(f"{lanes} problems side by side, {cost.shape[1]} costs; there are kernels for 1, 4 and 8")
        self.signs, self.cost = numpy.asarray(signs), numpy.asarray(cost)
        self.alpha, self.q = numpy.asarray(alpha), numpy.asarray(q)
        self.active, self.left = numpy.ones((n, lanes), numpy.int8), numpy.zeros(lanes, numpy.int64)
        self.far, self.near = numpy.zeros((n, lanes), numpy.int8), numpy.full(lanes, INFINITE)
        numbers = numpy.zeros((6, lanes))
        self.bias, self.top, self.low, self.loss, self.above, self.below = numbers
        active, far, each, near, left = self.active, self.far, numbers, self.near, self.left
        self.h.signs, self.h.cost, self.h.alpha, self.h.q = &signs[0, 0], &cost[0, 0], &alpha[0, 0], &q[0, 0]
        self.h.active, self.h.far, self.h.left = &active[0, 0], &far[0, 0], &left[0]
        self.h.bias, self.h.top, self.h.low = &each[0, 0], &each[1, 0], &each[2, 0]
        self.h.loss, self.h.above, self.h.below, self.h.near = &each[3, 0], &each[4, 0], &each[5, 0], &near[0]
        self.h.lanes, self.h.costs, self.h.squared, self.h.bias_scale = lanes, cost.shape[1], squared, bias_scale
        self.widen(slice(None))

    @property
    def spread(self):
        """Return the width of the projected gradient in the last pass, (lanes,); 0 where no variable was active."""
        return numpy.maximum(self.top - self.low, 0.0)

    def narrow(self):
        """Let the next pass set variables aside by the gradients of the last."""
        self.above[:] = numpy.where(self.top > 0.0, self.top, INFINITE)
        self.below[:] = numpy.where(self.low < 0.0, self.low, -INFINITE)

    def widen(self, which):
        """Let the next pass of these problems visit every row and set none aside."""
        self.above[which], self.below[which] = INFINITE, -INFINITE
        self.active[:, which] = 1


def svm_pass(const int64_t[::1] indptr, int64_t n_blocks, const int32_t[::1] indices, const real[::1] values,
             const real[::1] scale, const int32_t[::1] order, real[:, :, ::1] table, HingeDual dual, *,
             const int8_t[::1] revisited=None, int revisits=0):
    """Visit the rows in order once, for all problems.

    A row is n_blocks segments; v_ij is its value, 1 where values is empty, times the scale of its segment, 1 where scale
    is empty. table holds u_j of each problem and, behind them, g_j^2 of each, (n_features, 2, lanes); u_j alone where g = 1.
    With revisited, a flag for each problem, only its active variables that are far are visited, and again those that still are,
    revisits times at most; what is active stays as it is.
    """
    cdef linnet_hinge h = dual.h
    cdef int64_t n = order.shape[0]
    cdef int32_t[::1] again
    if table.shape[2] != h.lanes:
        raise ValueError(f"a table of {table.shape[2]} problems for {h.lanes}")
    dual.top[:], dual.low[:], dual.loss[:], dual.left[:] = -1e300, 1e300, 0.0, 0
    if n == 0 or indptr.shape[0] == 0:
        return
    h.indptr, h.indices, h.order = &indptr[0], &indices[0], &order[0]
    h.n_blocks, h.n_order, h.stride = n_blocks, n, table.shape[1] * table.shape[2]
    h.ones, h.even = values.shape[0] == 0, scale.shape[0] == 0
    if revisited is None:
        with nogil:
            if real is float:
                linnet_hinge_float(&h, &values[0], &scale[0], &table[0, 0, 0])
            else:
                linnet_hinge_double(&h, &values[0], &scale[0], &table[0, 0, 0])
        return
    kept, again = dual.active.copy(), numpy.empty(n, numpy.int32)
    with nogil:
        h.n_order = far_rows(&h, &order[0], &revisited[0], &again[0])
        h.order = &again[0]
        while h.n_order and revisits:
            if real is float:
                linnet_hinge_float(&h, &values[0], &scale[0], &table[0, 0, 0])
            else:
                linnet_hinge_double(&h, &values[0], &scale[0], &table[0, 0, 0])
            h.n_order = far_rows(&h, &again[0], &revisited[0], &again[0])
            revisits -= 1
    dual.active[:] = kept


cdef int64_t far_rows(linnet_hinge* h, const int32_t* order, const int8_t* wanted, int32_t* again) noexcept nogil:
    """Leave the variables of the wanted problems active that are far, and write the rows that have one; returns how many."""
    cdef int64_t t, i, n = 0
    cdef int c
    cdef int8_t one, some
    for t in range(h.n_order):
        i = order[t]
        some = 0
        for c in range(h.lanes):
            one = h.active[i * h.lanes + c] & h.far[i * h.lanes + c] & wanted[c]
            h.active[i * h.lanes + c] = one
            some |= one
        if some:
            again[n] = <int32_t>i
            n += 1
    return n


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


cdef class LogisticDual:
    """The dual of two-class logistic regression. The arrays that it is given are kept, not copied.

    Dual      min_a  1/2 a'Qa + sum_i a_i log a_i + (C_i - a_i) log(C_i - a_i),  0 < a_i < C_i; rest_i = C_i - a_i
    signs     y_i, +1 or -1
    q         squared norms of the rows, with the constant feature of the intercept
    bias      the weight of the constant feature bias_scale
    loss      of the rows as they were met in the last pass, with e_i = a_i - C_i sigmoid(-y_i score_i)
    squares   e_i^2 q_i of each row as it was last met, which together are about the squared gradient of the primal problem by w
    """

    cdef readonly double bias, loss
    cdef readonly object squares
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
        self.loss = 0.0
        self.squares = numpy.zeros(signs.shape[0])


def logistic_pass(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int32_t[::1] order,
                  double[::1] w, LogisticDual dual, double offset, double inner) -> int:
    """One pass of dual coordinate descent for logistic regression; returns the Newton steps taken on single variables.

    Update    Newton on one variable, a_i or C_i - a_i, whichever will be the smaller, until its slope is below inner
    offset    is added to every score
    Paper     Yu, Huang, Lin: Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models, 2011.
    """
    cdef int64_t t, i, begin, n = order.shape[0], count, steps = 0, turn
    cdef double score, sign, old, other, z, C, slope, d, bias_scale = dual.bias_scale
    cdef double b = dual.bias, loss = 0.0
    cdef const int8_t[::1] y = dual.signs
    cdef double[::1] alpha = dual.alpha, rest = dual.rest, squares = dual.squares
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
            squares[i] = d * d * q[i]
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
    dual.bias, dual.loss = b, loss
    return steps


def logistic_gradient(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int8_t[::1] y,
                      const int32_t[::1] rows, const double[::1] C, const double[::1] w, double b, double[::1] out) -> tuple:
    """Add -sum_i C_i y_i sigmoid(-y_i (w.x_i + b)) x_i over the given rows to out; return it for the intercept, and its slope."""
    cdef int64_t t, i, begin, count
    cdef double score, d, drift = 0.0, slope = 0.0
    with nogil:
        for t in range(rows.shape[0]):
            i = rows[t]
            begin = indptr[i]
            count = indptr[i + 1] - begin
            score = y[i] * (b + row_score(&indices[begin], &values[begin], count, &w[0]))
            d = exp(-fabs(score))
            slope += C[i] * d / ((1.0 + d) * (1.0 + d))
            d = -C[i] * y[i] * (d if score > 0.0 else 1.0) / (1.0 + d)
            drift += d
            add_row(&indices[begin], &values[begin], count, d, &out[0])
    return drift, slope


cdef extern from "softmax.h" nogil:
    ctypedef struct linnet_softmax:
        const int64_t *indptr
        const int32_t *indices
        const int32_t *order
        const int32_t *y
        const double *cost
        const double *q
        double *t
        const double *offset
        double *bias
        double *squares
        double *scratch
        int64_t n_order, n_classes, width, steps
        double bias_scale, inner, loss
    void linnet_softmax_float_pass(linnet_softmax* m, const float* values, float* table)
    void linnet_softmax_double_pass(linnet_softmax* m, const double* values, double* table)


cdef class SoftmaxDual:
    """The dual of multinomial logistic regression. The arrays that it is given are kept, not copied.

    Dual      min_a  1/2 sum_c |w_c|^2 + sum_ic a_ic log a_ic,  sum_c a_ic = C_i,  w_c = sum_i (C_i [c = y_i] - a_ic) x_i
    y         the class of each row
    cost      C_i
    q         squared norms of the rows, with the constant feature of the intercepts
    t         log(a_ic / C_i), (n_rows, n_classes): the logarithm of a probability
    bias      the weights of the constant feature bias_scale, (n_classes,)
    loss      of the rows as they were met in the last pass, with e_i = a_i - C_i softmax(scores_i)
    squares   |e_i|^2 q_i of each row as it was last met, which together are about the squared gradient of the primal problem by W
    """

    cdef readonly object y, cost, q, t, bias, squares, scratch
    cdef linnet_softmax m

    def __init__(self, const int32_t[::1] y, const double[::1] cost, const double[::1] q, double[:, ::1] t, double[::1] bias, *,
                 double bias_scale):
        cdef double[::1] squares, scratch
        if not y.shape[0] == cost.shape[0] == q.shape[0] == t.shape[0] or t.shape[1] != bias.shape[0]:
            raise ValueError(f"{y.shape[0]} labels, {cost.shape[0]} costs, {q.shape[0]} norms, variables ({t.shape[0]}, "
                             f"{t.shape[1]}), {bias.shape[0]} intercepts; one of each a row, or a class")
        self.y, self.cost, self.q = numpy.asarray(y), numpy.asarray(cost), numpy.asarray(q)
        self.t, self.bias = numpy.asarray(t), numpy.asarray(bias)
        self.squares = numpy.zeros(y.shape[0])
        self.m.width = (t.shape[1] + 3) // 4 * 4
        self.scratch = numpy.empty(6 * self.m.width)
        squares, scratch = self.squares, self.scratch
        self.m.y, self.m.cost, self.m.q, self.m.t, self.m.bias = &y[0], &cost[0], &q[0], &t[0, 0], &bias[0]
        self.m.squares, self.m.scratch = &squares[0], &scratch[0]
        self.m.n_classes, self.m.bias_scale = t.shape[1], bias_scale

    @property
    def loss(self):
        return self.m.loss


def softmax_pass(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int32_t[::1] order,
                 real[:, ::1] table, SoftmaxDual dual, const double[::1] offset, double inner) -> int:
    """One pass of dual coordinate descent for multinomial logistic regression; returns the Newton steps taken on rows.

    Update    the variables of a row all at once: log a_c + q a_c = z_c - lambda, sum a = C_i, by Newton's method in log a and
              lambda, until a step is below inner; rows with |e| <= inner C_i stay as they are
    table     the weights, (n_features, n_classes rounded up to a multiple of 4)
    offset    is added to the scores
    Paper     Yu, Huang, Lin: Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models, 2011.
    """
    cdef linnet_softmax* m = &dual.m
    if table.shape[1] != m.width:
        raise ValueError(f"a table of {table.shape[1]} columns for {m.n_classes} classes; it needs {m.width}")
    m.loss = 0.0
    m.steps = 0
    m.indptr, m.indices, m.order, m.n_order = &indptr[0], &indices[0], &order[0], order.shape[0]
    m.offset, m.inner = &offset[0], inner
    with nogil:
        if real is float:
            linnet_softmax_float_pass(m, &values[0], &table[0, 0])
        else:
            linnet_softmax_double_pass(m, &values[0], &table[0, 0])
    return m.steps
