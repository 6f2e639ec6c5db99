"""One update, three algorithms: perceptron, cost-augmented SVM, softmax regression by stochastic steps.

Update    theta += rate * (f(x, y) - sum_y' a_y' f(x, y')): more like the right answer, less like the wrong ones
          perceptron: a = one-hot on the best label; SVM: one-hot on the best label after adding the cost c(y, y');
          softmax: a = the model's probabilities
Decay     theta <- (1 - rate * decay) theta before each step, kept as one running scale: W = scale * V
Average   the mean of theta over all steps, by the lazy sums of Daume. A step d that V takes when S scales were summed
          counts in every later theta, so sum_t W_t = S V - A with A += S d. The intercept is not decayed: all its
          scales are one, S is the number of steps before, and sum_t b_t = steps b - A_b.
Intercept the weight of a constant feature: b moves by bias_rate (the square of that constant) times the step; 0: none
Batch     all rows of a batch are scored with the weights at its start, then their steps are added; one row: no batch
Inputs    rows in the given order, a rate per step; V (n_features, n_classes) feature-major
Cost      one pass over the entries times n_classes, twice where a row is updated
Source    Eisenstein, Introduction to Natural Language Processing, chapter 2.
"""
from libc.stdint cimport int32_t, int64_t
from linnet._kernels.arithmetic cimport exp, log

cdef fused real:
    float
    double

cdef enum:
    LOSS_PERCEPTRON = 0
    LOSS_HINGE = 1
    LOSS_SOFTMAX = 2


def online_pass(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int32_t[::1] y,
                const int32_t[::1] order, const double[::1] rates, const double[::1] weight, int loss,
                const double[:, ::1] cost, double decay, double bias_rate, real[:, ::1] V, double[::1] b,
                real[:, ::1] A, double[::1] A_b, double[::1] state, double[::1] scratch) -> int:
    """Take one step a row; returns the number of rows that changed the weights.

    state = [scale, sum of scales, steps, loss of this call]: the first three go on from call to call. A is empty when
    no average is wanted. scratch holds n_classes numbers for each row of a batch, so its length says how many rows
    that is; a batch counts as many steps as it has rows, all of them with the weights it ends in.
    """
    cdef int64_t t, last, i, k, c, best, n_classes = V.shape[1], changed = 0
    cdef int64_t batch = scratch.shape[0] // n_classes, first = 0
    cdef double scale = state[0], total_scale = state[1], steps = state[2], loss_sum = 0.0, top, total, v, step_size
    cdef double before, rate
    cdef bint averaging = A.shape[0] > 0
    cdef real* w
    cdef real* a
    cdef double* score
    cdef int32_t right
    with nogil:
        while first < order.shape[0]:
            last = min(first + batch, order.shape[0])
            before = scale
            for t in range(first, last):  # score, and turn the scores into the direction of the step
                i = order[t]
                right = y[i]
                score = &scratch[(t - first) * n_classes]
                for c in range(n_classes):
                    score[c] = 0.0
                for k in range(indptr[i], indptr[i + 1]):
                    v = values[k]
                    w = &V[indices[k], 0]
                    for c in range(n_classes):
                        score[c] += v * w[c]
                for c in range(n_classes):
                    score[c] = score[c] * before + b[c]
                if decay > 0.0:
                    scale *= 1.0 - rates[t] * decay
                if loss == LOSS_SOFTMAX:
                    top = score[0]
                    for c in range(1, n_classes):
                        if score[c] > top:
                            top = score[c]
                    total = 0.0
                    for c in range(n_classes):
                        total += exp(score[c] - top)
                    loss_sum += weight[i] * (log(total) + top - score[right])
                    for c in range(n_classes):
                        score[c] = -exp(score[c] - top) / total
                    score[right] += 1.0
                    changed += 1
                else:
                    best = 0
                    top = score[0] + cost[right, 0]
                    for c in range(1, n_classes):
                        if score[c] + cost[right, c] > top:
                            top = score[c] + cost[right, c]
                            best = c
                    if best != right:
                        loss_sum += weight[i] * (top - score[right])
                        changed += 1
                    for c in range(n_classes):
                        score[c] = 0.0
                    score[right] = 1.0
                    score[best] -= 1.0  # nothing at all where the best is the right one
            for t in range(first, last):
                i = order[t]
                score = &scratch[(t - first) * n_classes]
                if loss != LOSS_SOFTMAX and score[y[i]] == 0.0:
                    continue
                rate = rates[t] * weight[i]
                step_size = rate / scale
                for k in range(indptr[i], indptr[i + 1]):
                    v = step_size * values[k]
                    w = &V[indices[k], 0]
                    for c in range(n_classes):
                        w[c] += <real>(v * score[c])
                    if averaging:
                        a = &A[indices[k], 0]
                        for c in range(n_classes):
                            a[c] += <real>(total_scale * v * score[c])
                for c in range(n_classes):
                    b[c] += bias_rate * rate * score[c]
                    if averaging:
                        A_b[c] += steps * bias_rate * rate * score[c]
            total_scale += (last - first) * scale
            steps += last - first
            first = last
        state[0] = scale
        state[1] = total_scale
        state[2] = steps
        state[3] = loss_sum
    return changed
