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
from linnet._kernels.arithmetic cimport exp, largest, log

import numpy

cdef fused real:
    float
    double

cdef enum:
    LOSS_PERCEPTRON = 0
    LOSS_HINGE = 1
    LOSS_SOFTMAX = 2


cdef class OnlineSteps:
    """What steps over some rows have in common, and what they carry on. The arrays that it is given are kept, not copied.

    y            the right class of each row
    weight       of each row
    loss         0 (perceptron), 1 (SVM) or 2 (softmax)
    cost         c(y, y'), (n_classes, n_classes)
    decay        see above; 0: none
    bias_rate    the square of the constant feature; 0: no intercept
    batch        rows that are scored before they take their steps; they count as that many steps, all with the weights
                 that they end in
    b            the intercepts, (n_classes,)
    A_b          their lazy sums
    scale        W = scale * V
    total_scale  S, the sum of the scales
    steps        how many there were
    loss_sum     the weighted loss of the rows of the last call as they were met
    """

    cdef readonly object b, A_b
    cdef readonly double scale, total_scale, steps, loss_sum
    cdef const int32_t[::1] y
    cdef const double[::1] weight
    cdef const double[:, ::1] cost
    cdef double[::1] intercepts, lazy, scores
    cdef int loss
    cdef double decay, bias_rate
    cdef int64_t batch

    def __init__(self, const int32_t[::1] y, const double[::1] weight, double[::1] b, const double[:, ::1] cost, *, int loss,
                 double decay, double bias_rate, int64_t batch):
        cdef int64_t n_classes = b.shape[0]
        if y.shape[0] != weight.shape[0]:
            raise ValueError(f"{y.shape[0]} classes, {weight.shape[0]} weights; one of each a row")
        if cost.shape[0] != n_classes or cost.shape[1] != n_classes:
            raise ValueError(f"costs of {cost.shape[0]} by {cost.shape[1]} classes, with {n_classes} of them")
        if not LOSS_PERCEPTRON <= loss <= LOSS_SOFTMAX or batch < 1:
            raise ValueError(f"unknown loss {loss}, or a batch of {batch} rows")
        self.y, self.weight, self.cost, self.intercepts = y, weight, cost, b
        self.loss, self.decay, self.bias_rate, self.batch = loss, decay, bias_rate, batch
        self.b = numpy.asarray(b)
        self.A_b = self.lazy = numpy.zeros(n_classes)
        self.scores = numpy.empty(batch * n_classes)
        self.loss_sum = 0.0
        self.restart()

    def restart(self):
        """Begin the average again, with a scale of one."""
        self.scale, self.total_scale, self.steps = 1.0, 0.0, 0.0
        self.A_b[:] = 0.0


def online_pass(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int32_t[::1] order,
                const double[::1] rates, real[:, ::1] V, real[:, ::1] A, OnlineSteps taken) -> int:
    """Take one step a row; returns the number of rows that changed the weights. A is empty when no average is wanted."""
    cdef int64_t t, last, i, k, c, best, n_classes = V.shape[1], changed = 0, batch = taken.batch, first = 0
    cdef double scale = taken.scale, total_scale = taken.total_scale, steps = taken.steps, loss_sum = 0.0
    cdef double top, total, v, step_size, before, rate, decay = taken.decay, bias_rate = taken.bias_rate
    cdef const int32_t* y = &taken.y[0]
    cdef const double* weight = &taken.weight[0]
    cdef const double* price
    cdef double* b = &taken.intercepts[0]
    cdef double* A_b = &taken.lazy[0]
    cdef int loss = taken.loss
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
                score = &taken.scores[(t - first) * n_classes]
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
                    top = largest(score, n_classes)
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
                    price = &taken.cost[right, 0]
                    top = score[0] + price[0]
                    for c in range(1, n_classes):
                        if score[c] + price[c] > top:
                            top = score[c] + price[c]
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
                score = &taken.scores[(t - first) * n_classes]
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
    taken.scale, taken.total_scale, taken.steps, taken.loss_sum = scale, total_scale, steps, loss_sum
    return changed
