"""What the notes say of optimisation, written out in plain NumPy."""

from __future__ import annotations

import numpy as np

from linnet.models import LogisticRegression
from linnet.solvers import Constant, GradientDescent, Inverse, LinearProblem, Momentum, optimise
from linnet.solvers.losses import Softmax
from linnet.solvers.matrix import Matrix


def data(n=48, d=6, classes=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, classes))).argmax(axis=1)


def gradients(W, b, X, y):
    """004, the exercise: the mean of (p(y' | x) - [y' = y]) x, and of the same without x."""
    S = X @ W + b
    P = np.exp(S) / np.exp(S).sum(axis=1, keepdims=True)
    P[np.arange(len(y)), y] -= 1
    return X.T @ P / len(y), P.mean(axis=0)


def test_the_gradient_of_a_linear_classifier():
    X, y = data()
    f = LinearProblem(Matrix.from_dense(X), y.astype(np.int32), np.ones(len(y)), Softmax(), 3, l2=0.0)
    w = np.random.default_rng(1).normal(size=f.size)
    dW, db = gradients(*f.weights(w), X, y)
    np.testing.assert_allclose(f.everything(w).gradient, np.concatenate([dW.ravel(), db]), rtol=1e-12, atol=1e-14)


def test_stochastic_gradient_descent_of_004():
    """E epochs; shuffle, cut in batches of B, step against the mean gradient of each, at the rate of the schedule."""
    X, y = data()
    N, B, E = 48, 12, 4
    rng = np.random.Generator(np.random.PCG64(3))
    W, b = np.zeros((6, 3)), np.zeros(3)
    for epoch in range(E):
        order = rng.permutation(N)
        for j in range(N // B):
            batch = order[j * B : (j + 1) * B]
            eta = 0.5 / (1 + epoch + j * B / N)
            dW, db = gradients(W, b, X[batch], y[batch])
            W, b = W - eta * dW, b - eta * db
    f = LinearProblem(Matrix.from_dense(X), y.astype(np.int32), np.ones(N), Softmax(), 3, l2=0.0)
    found = optimise(f, GradientDescent(0.5, Inverse(), batch_size=B), max_epochs=E, seed=3)
    np.testing.assert_allclose(f.weights(found.w)[0], W, rtol=1e-11)
    np.testing.assert_allclose(f.weights(found.w)[1], b, rtol=1e-11)


def test_the_penalty_of_004():
    """mean loss + lambda |theta|^2 is C = 1 / (2 lambda N): its gradient vanishes at our optimum."""
    X, y = data()
    strength = 0.03
    model = LogisticRegression(C=1 / (2 * strength * len(y)), tol=1e-12).fit(X, y)
    dW, db = gradients(model.coef_.T, model.intercept_, X, y)
    np.testing.assert_allclose(dW + 2 * strength * model.coef_.T, 0, atol=1e-9)
    np.testing.assert_allclose(db, 0, atol=1e-9)


def test_momentum_of_003():
    """The settings of 003, rate 0.01 and momentum 0.9, as its library defines them: v = 0.9 v + g, w -= 0.01 v."""
    X, y = data()
    W, b, vW, vb = np.zeros((6, 3)), np.zeros(3), 0.0, 0.0
    for _ in range(10):
        dW, db = gradients(W, b, X, y)
        vW, vb = 0.9 * vW + dW, 0.9 * vb + db
        W, b = W - 0.01 * vW, b - 0.01 * vb
    f = LinearProblem(Matrix.from_dense(X), y.astype(np.int32), np.ones(48), Softmax(), 3, l2=0.0)
    found = optimise(f, Momentum(0.01, Constant(), beta=0.9), max_epochs=10)
    np.testing.assert_allclose(f.weights(found.w)[0], W, rtol=1e-11)
