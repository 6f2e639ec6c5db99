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
from libc.stdint cimport int8_t, int32_t, int64_t
from linnet._kernels.text cimport ln_prefetch

cdef fused real:
    float
    double


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
    cdef double score, part, norm, G, PG, old, new, d, step, loss = 0.0, slack, top = -1e300, low = 1e300, b = bias[0]
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
            old = alpha[i]
            G = diag[i] * old - slack
            PG = G
            if old == 0.0:
                if G > bounds[0]:
                    continue
                if G > 0.0:
                    PG = 0.0
            elif old == upper[i]:
                if G < bounds[1]:
                    continue
                if G < 0.0:
                    PG = 0.0
            keep[n_keep] = <int32_t>i
            n_keep += 1
            if PG > top:
                top = PG
            if PG < low:
                low = PG
            if PG > 1e-14 or PG < -1e-14:
                new = old - G / (q[i] + diag[i])
                if new < 0.0:
                    new = 0.0
                elif new > upper[i]:
                    new = upper[i]
                alpha[i] = new
                d = (new - old) * y[i]
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
