"""What speaks for a row: its leaf, or rows with a label that are near."""

import numpy as np

from ..._compat import get_feature_names
from .._estimators import final_step, has_leaves
from .._rows import take
from ..pool._view import LearnerView

N_NEAR = 5
MOST_TESTS = 12


def reasons(learner, row, has_model, named=None):
    """Sentences about a row of a learner's pool.

    `named` has for each column its name and how its numbers are written; None: as in X.
    """
    if not has_model:
        return [
            "There are no labels of two classes yet. Rows are asked for that lie far "
            "from each other, so that the first labels cover the pool."
        ]
    model = learner.estimator_
    if has_leaves(model) and hasattr(final_step(model)[0], "tree_"):
        return _of_leaf(learner, row, named)
    return _of_neighbours(learner, row)


def _of_leaf(learner, row, named):
    model = learner.estimator_
    final, seen = final_step(model)
    view = LearnerView(learner)
    X, codes = view.X, view.codes

    def leaves(rows):
        return final.apply(seen(take(X, rows)))

    here = int(leaves(np.array([row]))[0])
    labeled = np.flatnonzero(codes >= 0)
    inside = labeled[leaves(labeled) == here]
    counts = np.bincount(codes[inside], minlength=len(learner.classes_))
    told = ", ".join(
        f"{count} {label}"
        for label, count in zip(learner.classes_.tolist(), counts, strict=True)
        if count
    )
    out = [f"It lies in leaf {here}, whose labels are: {told or 'none'}."]
    if model is not final and len(model) > 1:  # features of other columns
        named = None
        names = getattr(model[:-1], "get_feature_names_out", lambda: None)()
    else:
        names = get_feature_names(X)
    if named is None:
        if names is None:
            names = [f"column {j}" for j in range(final.n_features_in_)]
        named = [(str(name), _number) for name in names]
    tests = _tests(final.tree_, here, named)
    if tests:
        out.append(f"The leaf is where {' and '.join(tests[:MOST_TESTS])}.")
    return out


def _number(value):
    return f"{value:.4g}"


def _tests(tree, leaf, named):
    # Of trees with tests of one number each; nothing of others.
    left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
    if not hasattr(tree, "threshold") or (left == -2).any():
        return []
    parent = {}
    for node in np.flatnonzero(left >= 0).tolist():
        parent[int(left[node])] = node, "<="
        parent[int(right[node])] = node, ">"
    tests = []
    while leaf in parent:
        leaf, sign = parent[leaf]
        feature = int(tree.feature[leaf])
        threshold = float(tree.threshold[leaf])
        if not np.isfinite(threshold):  # categories, or missing values alone
            return []
        name, write = named[feature]
        tests.append(f"{name} {sign} {write(threshold)}")
    return tests[::-1]


def _of_neighbours(learner, row):
    view = LearnerView(learner)
    labeled = view.labeled
    labeled = labeled[labeled != row]
    away = view.squared_distances(row, labeled)
    near = labeled[np.argsort(away, kind="stable")[:N_NEAR]]
    classes = learner.classes_[view.codes[near]].tolist()
    told = ", ".join(
        f"row {other} ({label})"
        for other, label in zip(near.tolist(), classes, strict=True)
    )
    return [f"The nearest rows with a label are: {told}."]
