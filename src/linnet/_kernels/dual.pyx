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

cdef fused real:
    float
    double

cdef double SMALLEST = 1e-300   # share of C: below, the logarithm of a share has no number


cdef inline bint hinge_step(double slack, double diag, double upper, double q, const double* bounds, double* alpha,
                            double* moved, double* top, double* low) noexcept nogil:
    """Move one coordinate and say how far; False where it is set aside. top and low are the widest gradients met."""
    cdef double old = alpha[0], G = diag * old - slack, PG = G, new
    moved[0] = 0.0
    if old == 0.0:
        if G > bounds[0]:
            return False
        if G > 0.0:
            PG = 0.0
    elif old == upper:
        if G < bounds[1]:
            return False
        if G < 0.0:
            PG = 0.0
    if PG > top[0]:
        top[0] = PG
    if PG < low[0]:
        low[0] = PG
    if PG > 1e-14 or PG < -1e-14:
        new = old - G / (q + diag)
        if new < 0.0:
            new = 0.0
        elif new > upper:
            new = upper
        alpha[0] = new
        moved[0] = new - old
    return True


def svm_pass(const int64_t[::1] indptr, int64_t n_blocks, const int32_t[::1] indices, const real[::1] values,
             const real[::1] scale, const int8_t[::1] y, const int32_t[::1] order, real[:, ::1] pair, double[::1] bias,
             double bias_scale, double[::1] alpha, const double[::1] diag, const double[::1] upper, double[::1] q,
             const double[::1] weight, bint squared, double[::1] bounds, double[::1] stats, int32_t[::1] keep) -> int:
    """Visit the rows in order once; write the rows still active to keep and return how many there are.

    A row is n_blocks segments; v_ij is its value, 1 where values is empty, times the scale of its segment, 1 where scale
    is empty. bounds = [largest, smallest] projected gradient of the last pass (for shrinking); stats receives [largest,
    smallest, loss]: the loss is summed as the rows are met, so it lags the weights by up to one pass. q, the squared
    norms with the constant feature of the intercept, is filled in as rows are first met: start it at -1.
    """
    cdef int64_t t, i, k, s, n_keep = 0, n = order.shape[0], ahead, ahead_end
    cdef double score, part, norm, moved = 0.0, d, step, loss = 0.0, slack, top = -1e300, low = 1e300, b = bias[0]
    cdef real* p
    cdef bint ones = values.shape[0] == 0, even = scale.shape[0] == 0
    with nogil:
        for t in range(n):
            i = order[t]
            ahead = ahead_end = 0
            if t + 1 < n:
                ahead = indptr[order[t + 1] * n_blocks]
                ahead_end = indptr[(order[t + 1] + 1) * n_blocks]
                if not ones:
                    ln_prefetch(&values[ahead])
            score = b * bias_scale
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
            slack = 1.0 - y[i] * score
            if slack > 0.0:
                loss += weight[i] * (slack * slack if squared else slack)
            if not hinge_step(slack, diag[i], upper[i], q[i], &bounds[0], &alpha[i], &moved, &top, &low):
                continue
            keep[n_keep] = <int32_t>i
            n_keep += 1
            if moved != 0.0:
                d = moved * y[i]
                b += d * bias_scale
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
        bias[0] = b
        stats[0] = top
        stats[1] = low
        stats[2] = loss
    return n_keep


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


def plain_pass(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int8_t[::1] y,
               const int32_t[::1] order, double[::1] w, double[::1] bias, double bias_scale, double[::1] alpha,
               const double[::1] diag, const double[::1] upper, const double[::1] q, const double[::1] weight,
               bint squared, double[::1] bounds, double[::1] stats, int32_t[::1] keep, double[::1] slacks) -> int:
    """svm_pass for plain rows: a value an entry, no gains. q holds the squared norms of the rows with the intercept.

    slacks receives 1 - y_i score of each row as it is met.
    """
    cdef int64_t t, i, k, begin, n_keep = 0, n = order.shape[0], count
    cdef double moved = 0.0, d, loss = 0.0, slack, top = -1e300, low = 1e300, b = bias[0]
    with nogil:
        for t in range(n):
            i = order[t]
            begin = indptr[i]
            count = indptr[i + 1] - begin
            if t + 1 < n:
                ln_prefetch(&indices[indptr[order[t + 1]]])
                ln_prefetch(&values[indptr[order[t + 1]]])
            slack = 1.0 - y[i] * (b * bias_scale + row_score(&indices[begin], &values[begin], count, &w[0]))
            slacks[i] = slack
            if slack > 0.0:
                loss += weight[i] * (slack * slack if squared else slack)
            if not hinge_step(slack, diag[i], upper[i], q[i], &bounds[0], &alpha[i], &moved, &top, &low):
                continue
            keep[n_keep] = <int32_t>i
            n_keep += 1
            if moved != 0.0:
                d = moved * y[i]
                b += d * bias_scale
                for k in range(begin, begin + count):
                    w[indices[k]] += d * values[k]
        bias[0] = b
        stats[0] = top
        stats[1] = low
        stats[2] = loss
    return n_keep


def logistic_pass(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int8_t[::1] y,
                  const int32_t[::1] order, double[::1] w, double[::1] bias, double bias_scale, double offset,
                  double[::1] alpha, double[::1] rest, const double[::1] q, double inner, double[::1] stats) -> int:
    """One pass of dual coordinate descent for logistic regression; returns the Newton steps taken on single variables.

    Dual      min_a  1/2 a'Qa + sum_i a_i log a_i + (C_i - a_i) log(C_i - a_i),  0 < a_i < C_i; rest_i = C_i - a_i
    Update    Newton on one variable, a_i or C_i - a_i, whichever will be the smaller, until its slope is below inner
    offset    is added to every score
    stats     receives, as rows are met with e_i = a_i - C_i sigmoid(-y_i score_i): the loss, sum_i e_i^2 q_i, which is
              about the squared gradient of the primal problem by w, and sum_i y_i e_i, about that by the intercept
    Paper     Yu, Huang, Lin: Dual Coordinate Descent Methods for Logistic Regression and Maximum Entropy Models, 2011.
    """
    cdef int64_t t, i, k, begin, n = order.shape[0], count, steps = 0, turn
    cdef double score, sign, old, other, z, C, slope, d, b = bias[0], loss = 0.0, total = 0.0, drift = 0.0
    with nogil:
        for t in range(n):
            i = order[t]
            begin = indptr[i]
            count = indptr[i + 1] - begin
            if t + 1 < n:
                ln_prefetch(&indices[indptr[order[t + 1]]])
                ln_prefetch(&values[indptr[order[t + 1]]])
            C = alpha[i] + rest[i]
            score = y[i] * (offset + b * bias_scale + row_score(&indices[begin], &values[begin], count, &w[0]))
            d = exp(-fabs(score))
            loss += C * (log1p(d) - (score if score < 0.0 else 0.0))
            d = alpha[i] - C * (d if score > 0.0 else 1.0) / (1.0 + d)
            total += d * d * q[i]
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
            for k in range(begin, begin + count):
                w[indices[k]] += d * values[k]
        bias[0] = b
        stats[0] = loss
        stats[1] = total
        stats[2] = drift
    return steps


def logistic_gradient(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int8_t[::1] y,
                      const int32_t[::1] rows, const double[::1] C, const double[::1] w, double b, double[::1] out) -> float:
    """Add -sum_i C_i y_i sigmoid(-y_i (w.x_i + b)) x_i over the given rows to out, and return it for the intercept."""
    cdef int64_t t, i, k, begin, end
    cdef double score, d, drift = 0.0
    with nogil:
        for t in range(rows.shape[0]):
            i = rows[t]
            begin = indptr[i]
            end = indptr[i + 1]
            score = y[i] * (b + row_score(&indices[begin], &values[begin], end - begin, &w[0]))
            d = exp(-fabs(score))
            d = -C[i] * y[i] * (d if score > 0.0 else 1.0) / (1.0 + d)
            drift += d
            for k in range(begin, end):
                out[indices[k]] += d * values[k]
    return drift
