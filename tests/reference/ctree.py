"""Conditional inference trees of Hothorn, Hornik and Zeileis (2006), written plainly.

Every statistic is computed from its definition, with the full conditional expectation
and covariance of Strasser and Weber (1999): no formula is simplified for a kind of
feature, and nothing is shared with the package.
"""

from itertools import product

import numpy as np
from scipy.stats import chi2, norm

TIES = 1e-9


def moments(G, H, w):
    """Linear statistic with its expectation and covariance."""
    n = w.sum()
    t = (G * w[:, None]).T @ H
    mean = w @ H / n
    V = (H - mean).T @ ((H - mean) * w[:, None]) / n
    total = w @ G
    squares = (G * w[:, None]).T @ G
    covariance = n / (n - 1) * np.kron(squares, V) - 1 / (n - 1) * np.kron(
        np.outer(total, total), V
    )
    return t.ravel(), np.outer(total, mean).ravel(), covariance


def quadratic(G, H, w):
    """Quadratic form and the rank of the covariance."""
    t, mean, covariance = moments(G, H, w)
    values, vectors = np.linalg.eigh(covariance)
    kept = values > values[-1] * 1e-10
    z = vectors[:, kept].T @ (t - mean)
    return (z**2 / values[kept]).sum(), kept.sum()


def maximum(G, H, w):
    """Largest standardized entry."""
    t, mean, covariance = moments(G, H, w)
    variance = np.diag(covariance)
    kept = variance > variance.max() * 1e-10
    return np.abs((t - mean)[kept] / np.sqrt(variance[kept])).max()


def indicators(codes):
    return (codes[:, None] == np.unique(codes)).astype(float)


def log_pvalue(x, is_nominal, y, w, form="quadratic"):
    """Test of one feature: (log p, statistic), or None for a constant."""
    seen = (w > 0) & ~np.isnan(x)
    x, y, w = x[seen], y[seen], w[seen]
    if len(x) == 0 or x.min() == x.max() or y.min() == y.max():
        return None
    G = indicators(x) if is_nominal else (x - x.mean())[:, None]
    H = indicators(y)
    if form == "quadratic":
        statistic, df = quadratic(G, H, w)
        return chi2.logsf(statistic, df), statistic
    statistic = maximum(G, H, w)
    rows = G.shape[1] if G.shape[1] > 2 else 1
    n_cells = rows * (H.shape[1] if H.shape[1] > 2 else 1)
    log_tail = np.log(2) + norm.logsf(statistic)
    # Sidak's inequality: as if the entries were independent
    log_p = np.log(n_cells) + log_tail
    if log_tail > -30:
        log_p = np.log(adjusted(min(log_tail, 0.0), n_cells))
    return log_p, statistic


def adjusted(log_p, m):
    p = np.exp(log_p)
    return 1.0 if p == 1.0 else -np.expm1(m * np.log1p(-p))


def sides(x, is_nominal):
    """Rows that go left, for every binary split."""
    seen = ~np.isnan(x)
    values = np.unique(x[seen])
    if is_nominal:
        for chosen in product([False, True], repeat=len(values) - 1):
            if any(chosen):
                yield np.isin(x, values[:-1][list(chosen)])
        return
    for missing_left in (False, True) if not seen.all() else (False,):
        for value in values[: -1 if missing_left or seen.all() else None]:
            yield (x <= value) | (~seen if missing_left else False)


def best_split(x, is_nominal, y, w, least):
    best, left = -1.0, None
    H = indicators(y)
    for side in sides(x, is_nominal):
        n_left = w @ side
        if n_left < least or w.sum() - n_left < least:
            continue
        statistic, _ = quadratic(side[:, None].astype(float), H, w)
        if statistic > best * (1 + TIES):
            best, left = statistic, side
    return left


def examine(X, nominal, y, w, *, alpha=0.05, least=7.0, form="quadratic"):
    """Tests of the features, their number, and the split of a node: (feature, left)."""
    tests = [
        log_pvalue(x, is_nominal, y, w, form)
        for x, is_nominal in zip(X.T, nominal, strict=True)
    ]
    m = sum(test is not None for test in tests)
    ranked = sorted(
        (test[0], feature) for feature, test in enumerate(tests) if test is not None
    )
    for log_p, feature in ranked:
        if adjusted(log_p, m) > alpha:
            break
        left = best_split(X[:, feature], nominal[feature], y, w, least)
        if left is not None:
            return tests, m, (feature, left)
    return tests, m, None


def assert_defined(model, X, nominal, y, w, alpha, least, form):
    """Require that every node of a fitted tree is split, or a leaf, by definition."""
    tree = model.tree_
    inside = model.decision_path(X).toarray().astype(bool)
    for node in range(tree.node_count):
        rows = inside[:, node] & (w > 0)
        if len(np.unique(y[rows])) < 2 or w[rows].sum() < 2 * least:
            continue
        tests, m, split = examine(
            X[rows], nominal, y[rows], w[rows], alpha=alpha, least=least, form=form
        )
        if tree.children_left[node] < 0:
            assert split is None
            continue
        feature = tree.feature[node]
        assert split is not None
        log_p = tests[feature][0]
        assert log_p <= tests[split[0]][0] + 1e-8  # or features are tied
        expected = adjusted(log_p, m)
        np.testing.assert_allclose(
            tree.evidence["statistic"][node], expected, rtol=1e-8, atol=1e-300
        )
        left = inside[rows, tree.children_left[node]]
        value, best = (
            quadratic(side[:, None].astype(float), indicators(y[rows]), w[rows])[0]
            for side in (left, split[1])
        )
        if feature == split[0]:
            np.testing.assert_allclose(value, best, rtol=1e-8)
