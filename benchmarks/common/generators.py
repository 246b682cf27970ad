"""Made-up tables of the timing scripts."""

import numpy as np
import scipy.sparse as sp


def continuous(n, d, seed=0):
    """Continuous features, two classes, a smooth concept of six of them with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    return X, concept(X, rng)


def integers(n, d, seed=1):
    """Features of 256 levels, the same concept."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 256, (n, d)).astype(np.float32)
    return X, concept((X - 127.5) / 74.0, rng)


def concept(Z, rng):
    """Draw labels from a smooth, noisy function of the first six features."""
    odds = 1.5 * Z[:, 0] + Z[:, 1] * Z[:, 2] + np.sin(2.0 * Z[:, 3])
    odds = 1.5 * (odds + Z[:, 4] ** 2 - 1.0) + 0.7 * np.abs(Z[:, 5])
    return (rng.random(len(Z)) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int64)


def cascade(n, d, depth, seed=2, growth=1.1, variance=0.4):
    """Labels from a random tree in which every split matters.

    Each split moves the probability of class 1 up on one side and down on the other,
    so that greedy growth finds it; the steps grow with the depth, since the nodes
    shrink. The default makes a cautious bound grow more than 1,000 leaves.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n, d), dtype=np.float32)
    node, p = np.zeros(n, dtype=int), np.array([0.5])
    low, high = np.zeros((1, d)), np.ones((1, d))
    steps = growth ** np.arange(depth)
    for step in steps * np.sqrt(variance / np.sum(steps**2)):
        each = np.arange(len(p))
        feature = rng.integers(0, d, len(p))
        cut = (low[each, feature] + high[each, feature]) / 2.0
        right = X[np.arange(n), feature[node]] > cut[node]
        shift = rng.choice([-1.0, 1.0], len(p)) * np.minimum(step, np.minimum(p, 1 - p))
        low, high = np.repeat(low, 2, axis=0), np.repeat(high, 2, axis=0)
        high[2 * each, feature] = low[2 * each + 1, feature] = cut
        p = np.column_stack([p - shift, p + shift]).ravel()
        node = 2 * node + right
    return X, (rng.random(n) < p[node]).astype(np.int64)


def make_table(n_rows, n_features, seed=0):
    """Normal columns, half of them rounded to 0.1; labels from five, with noise.

    The labels of a fixed share of the rows are random.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    X[:, 1::2] = np.round(X[:, 1::2], 1)
    score = X[:, 0] * X[:, 1] + X[:, 2] + X[:, 3] - np.abs(X[:, 4])
    y = (score > -0.5).astype(np.int64)
    noisy = rng.random(n_rows) < 0.2
    y[noisy] = rng.integers(0, 2, np.count_nonzero(noisy))
    return X, y


def make_sparse(n_rows, n_features=100, density=0.1, seed=0):
    """Words that occur or not; labels from eight of them, with noise."""
    rng = np.random.default_rng(seed)
    X = sp.random_array(
        (n_rows, n_features), density=density, format="csr", dtype=np.float32, rng=rng
    )
    X.data[:] = 1.0
    score = X[:, :4].sum(axis=1) - X[:, 4:8].sum(axis=1)
    return X, (score + rng.normal(size=n_rows) > 0.0).astype(np.int64)


def make_texts(n_rows, n_features, n_words=100, seed=0):
    """Counts of words, few of them frequent (Zipf); labels from fifty, with noise."""
    rng = np.random.default_rng(seed)
    share = np.arange(1, n_features + 1) ** -0.9
    words = rng.choice(n_features, size=(n_rows, n_words), p=share / share.sum())
    texts = np.repeat(np.arange(n_rows), n_words)
    X = sp.coo_array(
        (np.ones(words.size, dtype=np.float32), (texts, words.ravel())),
        shape=(n_rows, n_features),
    ).tocsc()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    score = X[:, 10:35].sum(axis=1) - X[:, 35:60].sum(axis=1)
    score += rng.normal(size=n_rows) / 4
    return X, (score > np.median(score)).astype(np.int64)
