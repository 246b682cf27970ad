"""What the trees say of rows that were not in their samples."""

import numpy as np
from sklearn.metrics import accuracy_score

from ...tables._sparse import blocks
from ._voting import add_votes

TREES = 32  # whose absent rows are noted at a time


def out_of_bag_proba(forest, model, X, finite):
    """Mean class proportions over the trees that have not seen a row."""
    n_rows = X.shape[0]
    X = X if isinstance(X, np.ndarray) else X.tocsr()
    votes = np.zeros((n_rows, len(model.classes)))
    n_votes = np.zeros(n_rows)
    sampler, trees = model.sampler, [one.tree for one in model.trees]
    values = [tree.value for tree in trees]
    for first in range(0, len(trees), TREES):
        some = slice(first, first + TREES)
        absent = [sampler.counts(first + i) == 0 for i in range(len(trees[some]))]
        for one in absent:
            n_votes += one

        def add(rows, some=some, absent=absent):
            masks = [one[rows] for one in absent]
            for part, block in blocks(X[rows]):
                add_votes(
                    trees[some],
                    values[some],
                    block,
                    finite,
                    votes[rows][part],
                    [one[part] for one in masks],
                )

        forest._in_parallel(add, n_rows, len(trees))
    with np.errstate(invalid="ignore"):
        return votes / n_votes[:, np.newaxis]


def score_out_of_bag(proba, y, weight, classes, score):
    """Score of the rows that have an out-of-bag prediction."""
    known = ~np.isnan(proba[:, 0])
    if not known.any():
        return float("nan")
    true = classes.take(y[known])
    predicted = classes.take(proba[known].argmax(axis=1))
    if callable(score):
        return score(true, predicted)
    weight = None if weight is None else weight[known]
    return float(accuracy_score(true, predicted, sample_weight=weight))
