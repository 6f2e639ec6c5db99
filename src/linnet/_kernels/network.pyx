"""Embeddings, one hidden layer, scores: the gradient of a mini-batch of sparse rows, the steps, and the dense layers.

Problem   min over E, A, a, B, c of  sum_i s_i loss(t_i, z_i),   e = sum_j x_ij E_j,  h = max(0, e A + a),  z = h B + c
          (without a hidden layer h = e). The loss is the cross-entropy of softmax(z), or of sigmoid(z) with one output,
          against t = (1 - smoothing) one-hot + smoothing / classes.
Dropout   h is multiplied by a row of the mask, which holds 0 or 1 / share kept: its mean is 1
Backward  dz = s_i (p - t);  dB = h' dz;  dh = mask * (dz B') where h > 0;  dA = e' dh;  de = dh A';  dE_j = x_ij de
Sparse    only the embeddings of the features of a batch have a gradient: they are collected in the first rows of a
          table, place[j] saying where, and only those rows of E take a step
Step      "adagrad" divides by the root of the squares seen so far: one sum a number in the dense layers, one sum a
          feature (the mean over its embedding) in E. "sgd" takes plain steps. A gradient that is longer than clip, over
          E and theta together, is shortened to that length first.
Layout    theta = A, a, B, c one after another, matrices by rows: A (dim, hidden), B (hidden or dim, n_outputs)
Cost      two passes over entries times dim, and three products with each dense layer a row
Papers    Duchi, Hazan, Singer: Adaptive Subgradient Methods, 2011; Joulin et al.: Bag of Tricks for Efficient Text
          Classification, 2016.
"""
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset
from linnet._kernels.arithmetic cimport exp, largest, log, log1p
from linnet._kernels.hints cimport ln_prefetch

import numpy

cdef fused real:
    float
    double

cdef enum:
    LINE = 64  # bytes of a cache line

cdef enum:
    STEP_SGD = 0
    STEP_ADAGRAD = 1


cdef inline double inner(const double* x, const double* y, int64_t n) noexcept nogil:
    """x . y by four running sums: always in the same order."""
    cdef double p = 0.0, q = 0.0, r = 0.0, s = 0.0
    cdef int64_t k = 0
    while k + 3 < n:
        p += x[k] * y[k]
        q += x[k + 1] * y[k + 1]
        r += x[k + 2] * y[k + 2]
        s += x[k + 3] * y[k + 3]
        k += 4
    while k < n:
        p += x[k] * y[k]
        k += 1
    return (p + q) + (r + s)


cdef inline void add(double* out, const double* x, double factor, int64_t n) noexcept nogil:
    """out += factor x."""
    cdef int64_t k
    for k in range(n):
        out[k] += factor * x[k]


cdef inline void affine(const double* x, const double* A, int64_t n, int64_t m, double* out) noexcept nogil:
    """out = x A + a, with a behind A."""
    cdef int64_t k
    for k in range(m):
        out[k] = A[n * m + k]
    for k in range(n):
        if x[k] != 0.0:
            add(out, A + k * m, x[k], m)


cdef inline double cross_entropy(double* z, int64_t n, int32_t right, double smoothing) noexcept nogil:
    """Replace scores by p - t, the derivative of the loss; returns the loss."""
    cdef double top, total = 0.0, loss, t, even
    cdef int64_t k
    if n == 1:
        t = (1.0 - smoothing) * right + 0.5 * smoothing
        total = exp(-z[0]) if z[0] > 0.0 else exp(z[0])  # at most 1
        loss = (z[0] if z[0] > 0.0 else 0.0) + log1p(total) - t * z[0]
        z[0] = (1.0 / (1.0 + total) if z[0] > 0.0 else total / (1.0 + total)) - t
        return loss
    top = largest(z, n)
    even = 0.0
    for k in range(n):
        z[k] -= top
        even += z[k]
        total += exp(z[k])
    loss = log(total) - (1.0 - smoothing) * z[right] - smoothing * even / n
    for k in range(n):
        z[k] = exp(z[k]) / total - smoothing / n
    z[right] -= 1.0 - smoothing
    return loss


cdef class NetGradient:
    """The dense layers of a net, the labels of its rows, and the gradient of a batch. The arrays given are kept, not copied.

    y, weight     of each row
    theta         see above
    smoothing     of the labels
    d_embeddings  (room, dim): the gradient of the features of a batch, of which there are at most room; begins with zeros
    place         (n_features,): -1, or the row of d_embeddings that a feature has
    touched       the feature of each row of d_embeddings
    d_theta       the gradient of theta; begins with zeros
    loss          grows by the loss of each batch
    """

    cdef readonly object place, touched, d_embeddings, d_theta
    cdef public double loss
    cdef const int32_t[::1] y
    cdef const double[::1] weight
    cdef double[::1] theta, dense, scratch
    cdef double[:, ::1] embedded
    cdef int32_t[::1] places, features
    cdef int64_t dim, hidden, outputs
    cdef double smoothing

    def __init__(self, const int32_t[::1] y, const double[::1] weight, double[::1] theta, *, int64_t n_features, int64_t dim,
                 int64_t hidden, int64_t room, double smoothing):
        cdef int64_t width = hidden if hidden > 0 else dim
        if y.shape[0] != weight.shape[0]:
            raise ValueError(f"{y.shape[0]} classes, {weight.shape[0]} weights; one of each a row")
        self.y, self.weight, self.theta, self.smoothing, self.loss = y, weight, theta, smoothing, 0.0
        self.dim, self.hidden = dim, hidden
        self.outputs = (theta.shape[0] - (dim * hidden + hidden if hidden > 0 else 0)) // (width + 1)
        self.place = self.places = numpy.full(n_features, -1, numpy.int32)
        self.touched = self.features = numpy.empty(room, numpy.int32)
        self.d_embeddings = self.embedded = numpy.zeros((room, dim))
        self.d_theta = self.dense = numpy.zeros(theta.shape[0])
        self.scratch = numpy.empty(2 * dim + 2 * hidden + self.outputs)


cdef int64_t collect(const int64_t* indptr, const int32_t* indices, const real* values, const int32_t* rows, int64_t n_rows,
                     const real* E, const double* mask, NetGradient net) noexcept nogil:
    """Add the gradient of some rows to d_embeddings and d_theta; returns how many features they have."""
    cdef int64_t dim = net.dim, hidden = net.hidden, outputs = net.outputs, width, i, k, c, t, found = 0
    cdef const int32_t* y = &net.y[0]
    cdef const double* weight = &net.weight[0]
    cdef const double* theta = &net.theta[0]
    cdef int32_t* place = &net.places[0]
    cdef int32_t* touched = &net.features[0]
    cdef double* dE = &net.embedded[0, 0]
    cdef double* dtheta = &net.dense[0]
    cdef double* scratch = &net.scratch[0]
    cdef int64_t ahead, ahead_end, line = LINE // <int64_t>sizeof(real)
    cdef const double* B = theta
    cdef double* dB = dtheta
    cdef double* e = scratch
    cdef double* h = scratch
    cdef double* z
    cdef double* dh
    cdef double* de
    cdef const real* row
    cdef double v
    width = dim
    if hidden > 0:
        width = hidden
        h = scratch + dim
        B = theta + dim * hidden + hidden
        dB = dtheta + dim * hidden + hidden
    z = scratch + dim + hidden
    de = z + outputs
    dh = de + dim if hidden > 0 else de
    for t in range(n_rows):
        i = rows[t]
        ahead = ahead_end = 0
        if t + 1 < n_rows:
            ahead = indptr[rows[t + 1]]
            ahead_end = indptr[rows[t + 1] + 1]
        memset(e, 0, <size_t>dim * sizeof(double))
        for k in range(indptr[i], indptr[i + 1]):
            if ahead < ahead_end:   # the embeddings of the next row, while this one waits for memory
                row = E + indices[ahead] * dim
                c = 0
                while c < dim:
                    ln_prefetch(row + c)
                    c += line
                ahead += 1
            row = E + indices[k] * dim
            v = values[k]
            for c in range(dim):
                e[c] += v * row[c]
        if hidden > 0:
            affine(e, theta, dim, hidden, h)
            for c in range(hidden):
                if h[c] < 0.0:
                    h[c] = 0.0
        if mask != NULL:
            for c in range(width):
                h[c] *= mask[t * width + c]
        affine(h, B, width, outputs, z)
        net.loss += weight[i] * cross_entropy(z, outputs, y[i], net.smoothing)
        for c in range(outputs):
            z[c] *= weight[i]
            dB[width * outputs + c] += z[c]
        for c in range(width):
            if h[c] != 0.0:
                add(dB + c * outputs, z, h[c], outputs)
            dh[c] = inner(B + c * outputs, z, outputs)
            if mask != NULL:
                dh[c] *= mask[t * width + c]
            if hidden > 0 and h[c] <= 0.0:
                dh[c] = 0.0
        if hidden > 0:
            add(dtheta + dim * hidden, dh, 1.0, hidden)
            for c in range(dim):
                add(dtheta + c * hidden, dh, e[c], hidden)
                de[c] = inner(theta + c * hidden, dh, hidden)
        for k in range(indptr[i], indptr[i + 1]):
            if place[indices[k]] < 0:
                place[indices[k]] = <int32_t>found
                touched[found] = indices[k]
                found += 1
            add(dE + place[indices[k]] * dim, de, values[k], dim)
    return found


def gradient(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int32_t[::1] rows,
             const real[:, ::1] E, const double[:, ::1] mask, NetGradient net) -> int:
    """Add the gradient of the rows to d_embeddings, in the order of touched, and d_theta; returns how many features have one.

    mask is empty without dropout, else (len(rows), hidden or dim). place must hold -1; it holds the rows of d_embeddings after.
    """
    return collect(&indptr[0], &indices[0], &values[0], &rows[0], rows.shape[0], &E[0, 0],
                   &mask[0, 0] if mask.shape[0] else NULL, net)


cdef class NetSteps:
    """How steps are taken: step is 0 (sgd) or 1 (adagrad), batch how many rows make one.

    The gradient is that of the sum of the losses of a batch times share; clip is the most that its length may be, 0 for
    any. feature_squares, (n_features,), and squares, as long as theta, are the sums of the squares seen so far.
    """

    cdef readonly object feature_squares, squares
    cdef double[::1] of_features, of_theta
    cdef int step
    cdef int64_t batch
    cdef double rate, share, clip

    def __init__(self, NetGradient net, *, int step, int64_t batch, double rate, double share, double clip=0.0):
        if not STEP_SGD <= step <= STEP_ADAGRAD or batch < 1:
            raise ValueError(f"unknown step {step}, or a batch of {batch} rows")
        self.step, self.batch, self.rate, self.share, self.clip = step, batch, rate, share, clip
        self.feature_squares = self.of_features = numpy.zeros(net.places.shape[0])
        self.squares = self.of_theta = numpy.zeros(net.theta.shape[0])


def descend(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int32_t[::1] order,
            real[:, ::1] E, const double[:, ::1] mask, NetGradient net, NetSteps how):
    """Take a step a batch of the rows in order, with E and with the dense layers.

    mask is as above. place holds -1, the gradients zeros, before and after.
    """
    cdef int64_t first, size, found, t, c, j, n = order.shape[0], dim = net.dim, batch = how.batch
    cdef double g, total, scale, rate = how.rate, share, clip = how.clip
    cdef bint adagrad = how.step == STEP_ADAGRAD
    cdef int32_t[::1] place = net.places, touched = net.features
    cdef double[:, ::1] dE = net.embedded
    cdef double[::1] theta = net.theta, dtheta = net.dense, squares_E = how.of_features, squares = how.of_theta
    cdef real* row
    cdef double* d
    with nogil:
        first = 0
        while first < n:
            size = batch if first + batch <= n else n - first
            found = collect(&indptr[0], &indices[0], &values[0], &order[first], size, &E[0, 0],
                            &mask[first, 0] if mask.shape[0] else NULL, net)
            share = how.share
            if clip > 0.0:
                total = 0.0
                for t in range(found):
                    total += inner(&dE[t, 0], &dE[t, 0], dim)
                total = share * sqrt(total + inner(&dtheta[0], &dtheta[0], dtheta.shape[0]))
                if total > clip:
                    share *= clip / total
            for t in range(found):
                j = touched[t]
                place[j] = -1
                row = &E[j, 0]
                d = &dE[t, 0]
                scale = rate * share
                if adagrad:
                    total = 0.0
                    for c in range(dim):
                        total += d[c] * d[c]
                    squares_E[j] += total * share * share / dim
                    scale = scale / sqrt(squares_E[j]) if squares_E[j] > 0.0 else 0.0
                for c in range(dim):
                    row[c] -= <real>(scale * d[c])
                    d[c] = 0.0
            for c in range(theta.shape[0]):
                g = dtheta[c] * share
                dtheta[c] = 0.0
                if adagrad:
                    squares[c] += g * g
                    g = g / sqrt(squares[c]) if squares[c] > 0.0 else 0.0
                theta[c] -= rate * g
            first += size


def layer(const double[:, ::1] X, const double[:, ::1] A, const double[::1] a, bint relu, double[:, ::1] out):
    """Write X A + a, row by row in the same order whatever the rows beside it; with relu, nothing below zero."""
    cdef int64_t i, k, c, n = A.shape[0], m = A.shape[1]
    cdef double* o
    with nogil:
        for i in range(X.shape[0]):
            o = &out[i, 0]
            for c in range(m):
                o[c] = a[c]
            for k in range(n):
                if X[i, k] != 0.0:
                    add(o, &A[k, 0], X[i, k], m)
            if relu:
                for c in range(m):
                    if o[c] < 0.0:
                        o[c] = 0.0
