"""Shapley values of the columns by their definition, for small trees."""

from itertools import combinations
from math import factorial

import numpy as np


def expected(tree, row, known, node=0):
    """Expected probabilities if only the columns in `known` of a row are known.

    `tree` is a `tree_`, `row` a row of numbers and codes.
    """
    children = tree.children(node)
    if not len(children):
        return tree.proba[node]
    column, value = tree.feature[node], row[tree.feature[node]]
    if column not in known:
        weight = tree.weighted_n_node_samples[children]
        weight = weight / weight.sum() if weight.sum() > 0 else None
        values = [expected(tree, row, known, child) for child in children]
        return np.average(values, axis=0, weights=weight)
    targets = tree.branches(node)
    if targets is not None:
        code = int(value) if value == value else -1
        taken = targets[code] if 0 <= code < len(targets) else node
        if taken == node:  # the category is unknown
            return tree.proba[node]
    elif value != value:
        taken = children[0 if tree.missing_go_to_left[node] else 1]
    else:
        taken = children[0 if value <= tree.threshold[node] else 1]
    return expected(tree, row, known, taken)


def shapley_values(tree, row):
    """Shapley value of each column and class, and the value of no columns."""
    n_columns = len(row)
    values = np.zeros((n_columns, tree.max_n_classes))
    for column in range(n_columns):
        others = [other for other in range(n_columns) if other != column]
        for size in range(n_columns):
            weight = factorial(size) * factorial(n_columns - size - 1)
            for known in combinations(others, size):
                gain = expected(tree, row, {*known, column}) - expected(
                    tree, row, known
                )
                values[column] += weight / factorial(n_columns) * gain
    return values, expected(tree, row, ())
