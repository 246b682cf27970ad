"""Small tables that plug-ins are tried on."""

import numpy as np


def table(n=900, n_classes=3):
    """One column says the class, one a little; whole numbers and many zeros."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) < 3, np.arange(n) % n_classes, rng.integers(0, 3, n))
    y %= n_classes
    X = rng.poisson(1.0, (n, 4)).astype(np.float32)
    X[:, 0] = 3 * y + rng.integers(0, 3, n)
    X[:, 1] += y * (rng.random(n) < 0.3)
    return X, y


def with_wrong_labels():
    """The same, every fifth label being another one: something to prune."""
    X, y = table(600)
    return X, np.where(np.arange(600) % 5 == 0, (y + 1) % 3, y)


def turning(n=4000):
    """A stream whose labels change places half-way."""
    X = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    y[n // 2 :] = 1 - y[n // 2 :]
    return X, y


def errors_that_rise():
    """Errors of a model: one in ten, then six in ten, then one in five."""
    rng = np.random.default_rng(0)
    return rng.random(3000) < np.repeat([0.1, 0.6, 0.2], 1000)


def pool(n=120):
    """Rows of two numbers in three overlapping clouds, one a class."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return np.array([[0, 0], [2, 0], [0, 2]])[y] + 0.7 * rng.normal(size=(n, 2)), y


def some_labels(y, rows=(0, 1, 2, 3, 4, 5)):
    """Labels of a few rows, None for the others."""
    out = np.full(len(y), None)
    out[list(rows)] = y[list(rows)]
    return out
