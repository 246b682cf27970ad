"""Tests in words, and the evidence on the path of a row."""

import numpy as np

MOST_NAMES = 8  # categories written out


def feature_labels(estimator, feature_names=None):
    """Names for display, one a feature."""
    n_features = estimator.n_features_in_
    if feature_names is None:
        feature_names = getattr(
            estimator, "feature_names_in_", [f"x{i}" for i in range(n_features)]
        )
    if len(feature_names) != n_features:
        raise ValueError(
            f"feature_names must contain {n_features} elements, "
            f"got {len(feature_names)}"
        )
    return [str(name) for name in feature_names]


def branch_categories(tree, categories, node, child):
    """Categories that lead from a node to one of its children.

    Parameters
    ----------
    tree : Tree
    categories : list or None
        The estimator's `categories_`.
    node, child : int
        The same if the categories are asked for with which rows stay.

    Returns
    -------
    list or None
        None if the node's test is not nominal. A missing value is None.
    """
    branches = tree.branches(node)
    if branches is None:
        return None
    known = categories[tree.feature[node]]
    # The array may be longer than what is known, to have room for later categories, or
    # shorter, where they have come: with them rows stay.
    leads = np.full(len(known), node)
    leads[: len(branches)] = branches[: len(known)]
    return [known[code] for code in np.flatnonzero(leads == child)]


def category_label(category):
    """Name of a category for display."""
    return "missing" if category is None else str(category)


def branch_label(tree, categories, node, child, name, decimals=4):
    """What is true of the rows that go from a node to one of its children.

    Parameters
    ----------
    tree : Tree
    categories : list or None
        The estimator's `categories_`.
    node, child : int
    name : str
        Of the feature tested.
    decimals : int, default=4
        Significant digits of a threshold.

    Returns
    -------
    str
    """
    leading = branch_categories(tree, categories, node, child)
    if leading is not None:
        labels = [category_label(one) for one in leading]
        if len(labels) == 1:
            return f"{name} = {labels[0]}"
        if len(labels) > MOST_NAMES:
            more = len(labels) - MOST_NAMES
            labels = [*labels[:MOST_NAMES], f"and {more} more"]
        return f"{name} in {{{', '.join(labels)}}}"
    left = child == tree.children_left[node]
    threshold = tree.threshold[node]
    if np.isposinf(threshold):
        return f"{name} is known" if left else f"{name} is missing"
    text = f"{name} {'<=' if left else '>'} {threshold:.{decimals}g}"
    if tree.missing_seen[node] and tree.missing_go_to_left[node] == left:
        text += " or missing"
    return text


def explain_rows(estimator, rows):
    """Evidence of every split on the path of each row.

    Parameters
    ----------
    estimator : ConfidenceTreeClassifier
    rows : ndarray of shape (n_rows, n_features), float32
        Categories as codes.

    Returns
    -------
    list of list of dict
        See `ConfidenceTreeClassifier.explain`.
    """
    tree = estimator.tree_
    names = feature_labels(estimator)
    feature, threshold, parent = tree.feature, tree.threshold, tree.parent
    evidence, categories = tree.evidence, estimator.categories_

    def step(node, child, row):
        leading = branch_categories(tree, categories, node, child)
        value = row[feature[node]].item()
        if leading is not None:
            known = categories[feature[node]]
            value = known[int(value)] if 0 <= value < len(known) else None
        if child == node:
            goes = "stays"
        elif tree.children_left[node] < 0:
            goes = "branch"
        else:
            goes = "left" if child == tree.children_left[node] else "right"
        said = evidence[node]
        return {
            "node": node,
            "feature": int(feature[node]),
            "name": names[feature[node]],
            "threshold": float(threshold[node]),
            "categories": leading,
            "value": value,
            "goes": goes,
            **{key: said[key].item() for key in said.dtype.names},
        }

    explanations = []
    for row, leaf in zip(rows, tree.apply(rows), strict=True):
        node, child = int(leaf), int(leaf)
        steps = []
        if feature[node] >= 0:
            steps.append(step(node, node, row))
        while parent[child] >= 0:
            node = int(parent[child])
            steps.append(step(node, child, row))
            child = node
        explanations.append(steps[::-1])
    return explanations
