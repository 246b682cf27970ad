"""CART as a good user would tune it, and what its leaves say.

A tree and its prunings are arrays (`prunings`): one tree a fold serves all penalties.
"""

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from .prunings import Arrays, collapse_alphas, pruned_at, representatives, thinned

SHRINKAGE = 10.0  # of our default


def inner(seed=0):
    """Folds of a search."""
    return StratifiedKFold(5, shuffle=True, random_state=seed)


def by_grid(X, y, most):
    """Search a grid of at most so many penalties, as `GridSearchCV` does."""
    plain = DecisionTreeClassifier(random_state=0)
    alphas = plain.cost_complexity_pruning_path(X, y).ccp_alphas
    alphas = np.unique(np.maximum(alphas, 0.0))
    chosen = np.unique(np.linspace(0, len(alphas) - 1, most).round().astype(int))
    search = GridSearchCV(plain, {"ccp_alpha": alphas[chosen]}, cv=inner())
    return search.fit(X, y).best_estimator_


def best_penalty(grow, X, y, seed=0):
    """Find the penalty that cross-validation chooses, of two level ones the larger.

    Parameters
    ----------
    grow : callable
        Of rows and labels; the tree grown in full, and its `Arrays`.
    X, y : ndarray
    seed : int

    Returns
    -------
    tree, arrays
        What `grow` made of all rows.
    alphas : ndarray
        Of `collapse_alphas`.
    best : float
    n_values : int
        Penalties that were compared.
    """
    tree, arrays = grow(X, y)
    alphas = collapse_alphas(arrays)
    values = thinned(alphas)
    right = np.zeros(len(values))
    for train, held in inner(seed).split(X, y):
        part, part_arrays = grow(X[train], y[train])
        leaf = pruned_at(collapse_alphas(part_arrays), values)
        ends = representatives(part_arrays, leaf)[part.apply(X[held])]
        predicted = part_arrays.counts.argmax(axis=1)[ends]
        right += (predicted == y[held][:, None]).sum(axis=0)
    best = values[len(values) - 1 - right[::-1].argmax()]
    return tree, arrays, alphas, best, len(values)


def by_paths(X, y):
    """Prune by cross-validation with one tree a fold: seven fits."""
    classes, codes = np.unique(y, return_inverse=True)

    def grow(X, y):
        model = DecisionTreeClassifier(random_state=0).fit(X, y)
        rows = model.tree_.weighted_n_node_samples
        counts = np.zeros((len(rows), len(classes)))
        counts[:, model.classes_] = model.tree_.value[:, 0] * rows[:, None]
        return model, Arrays(model.tree_, np.rint(counts))

    *_, best, _ = best_penalty(grow, X, codes)
    # the path's own value, reached in spite of rounding
    alpha = best * (1.0 + 1e-9) + 1e-15
    return DecisionTreeClassifier(random_state=0, ccp_alpha=alpha).fit(X, y)


def of_nodes(tree):
    """Probabilities of each node of a CART: smoothed, and shrunk to its ancestors.

    Smoothed by one pseudo-count spread over the classes; shrunk as our default is.
    """
    n = tree.weighted_n_node_samples[:, None]
    share = tree.value[:, 0]
    smooth = (n * share + 1.0 / share.shape[1]) / (n + 1.0)
    shrunk = share.copy()
    for node in np.flatnonzero(tree.children_left >= 0):  # parents come first
        for child in (tree.children_left[node], tree.children_right[node]):
            step = (share[child] - share[node]) * n[node] / (n[node] + SHRINKAGE)
            shrunk[child] = shrunk[node] + step
    return smooth, shrunk
