"""Which way new rows go in a fitted tree, and how many of each class."""

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from ..utils import is_missing, warn

MOST = 2.0**53  # up to which counts are exact
SHOWN = 5  # values that a message names


class TreeShape:
    """Nodes and tests of a fitted tree, ours or scikit-learn's; rows are not kept."""

    def __init__(self, estimator):
        final = _final(estimator)
        tree = final.tree_
        imitates = hasattr(final, "fidelity_")
        self._lay_out(_children(tree), final.classes_, imitates, _tests(tree))

    def _lay_out(self, children, classes, imitates, tests):
        self.children = children
        self.classes, self.imitates, self.tests = classes, imitates, tests
        self.parent = np.full(len(self.children), -1)
        self.depth = np.zeros(len(self.children), np.intp)
        self.order = []  # parents before children, from the left
        waiting = [0]
        while waiting:
            node = waiting.pop()
            self.order.append(node)
            below = self.children[node]
            self.parent[below] = node
            self.depth[below] = self.depth[node] + 1
            waiting += below[::-1]
        self.splits = [node for node in self.order if self.children[node]]

    def state(self):
        """What the shape is made from, as plain values."""
        return {
            "children": self.children,
            "classes": self.classes,
            "imitates": self.imitates,
            "tests": self.tests,
        }

    @classmethod
    def of_state(cls, state):
        """Make a shape from what came out of a file; None if it is not one of a tree.

        Every node but the first is the child of one node that comes before it.
        """
        children = state["children"]
        below = [(node, one) for node, some in enumerate(children) for one in some]
        if sorted(one for _, one in below) != list(range(1, len(children))) or any(
            node >= one for node, one in below
        ):
            return None
        made = cls.__new__(cls)
        made._lay_out(**state)
        return made

    def is_of(self, estimator):
        """Whether an estimator, or the last step of a pipeline, is this very tree."""
        other = TreeShape(estimator)
        return (
            self.children == other.children
            and np.array_equal(self.classes, other.classes)
            and len(self.tests) == len(other.tests)
            and all(
                np.array_equal(one, two, equal_nan=True)
                for one, two in zip(self.tests, other.tests, strict=True)
            )
        )


def _final(estimator):
    final = estimator
    while isinstance(final, Pipeline):
        final = final[-1]
    if isinstance(final, type) or not (
        hasattr(final, "decision_path") and is_classifier(final)
    ):
        raise TypeError(
            "tree must be a fitted tree classifier of skconftree or scikit-learn, or a "
            f"Pipeline that ends in one. Got {final!r} instead."
        )
    check_is_fitted(final)
    if not hasattr(final, "tree_"):
        raise TypeError(
            "tree must be one tree. A forest is audited tree by tree, by the members "
            f"of its estimators_. Got {type(final).__name__} instead."
        )
    if getattr(final, "n_outputs_", 1) > 1:
        raise ValueError(
            f"tree must have one output. Got one with {final.n_outputs_} outputs."
        )
    return final


def _children(tree):
    if hasattr(tree, "children"):
        return [tree.children(node).tolist() for node in range(tree.node_count)]
    pairs = zip(tree.children_left.tolist(), tree.children_right.tolist(), strict=True)
    return [[] if left < 0 else [left, right] for left, right in pairs]


def _tests(tree):
    # Two trees of the same nodes that ask other questions differ in these.
    names = ("feature", "threshold", "centroids")
    return [np.asarray(getattr(tree, name)) for name in names if hasattr(tree, name)]


def own_counts(estimator):
    """Rows of each class that a tree itself holds in its nodes; None if unknown."""
    final = _final(estimator)
    tree = final.tree_
    if hasattr(tree, "counts"):
        return tree.counts
    if final.class_weight is not None:
        return None
    return np.rint(tree.value[:, 0] * tree.weighted_n_node_samples[:, np.newaxis])


def kept_counts(estimator):
    """Rows of each class that had no say in one of our trees, as it counted them."""
    final = _final(estimator)
    counts = getattr(final, "honest_counts_", None)
    if counts is None:
        raise ValueError(
            "Without X_new and y_new an audit rests on the rows that recount_leaves "
            f"of a tree has counted, and this {type(final).__name__} has none: give "
            "new rows, or call recount_leaves of a ConfidenceTreeClassifier first."
        )
    if (counts != np.floor(counts)).any():
        raise ValueError(
            "The rows that recount_leaves has counted had weights that are not whole "
            "numbers. An audit needs frequencies."
        )
    return np.array(counts)


def count_rows(estimator, shape, X, y, sample_weight):
    """Count new rows of each class in each node."""
    check_consistent_length(X, y)
    codes = _codes(y, shape.classes)
    weight = _frequencies(sample_weight, len(codes))
    final, rows = estimator, X
    while isinstance(final, Pipeline):
        if len(final) > 1:
            rows = final[:-1].transform(rows)
        final = final[-1]
    path = final.decision_path(rows)
    _refuse_unknown_categories(final, shape, path, rows)
    is_class = csr_matrix(
        (weight, (np.arange(len(codes)), codes)), (len(codes), len(shape.classes))
    )
    return np.asarray((path.T.astype(np.float64) @ is_class).todense())


def _codes(y, classes):
    labels = np.asarray(y)
    if labels.ndim != 1 and labels.shape[1:] != (1,):
        raise ValueError(
            f"y_new must hold one label a row. Got an array of shape {labels.shape}."
        )
    place = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([place.get(one, -1) for one in labels.ravel().tolist()], np.intp)
    if (codes < 0).any():
        others = labels.ravel()[codes < 0].tolist()
        # NaN is no other NaN, but is named once
        others = {repr(one): one for one in others}.values()
        raise ValueError(
            f"y_new holds labels that the tree does not know: {_some(others)}. Its "
            f"classes are {_some(classes.tolist())}."
        )
    return codes


def _some(values):
    values = list(values)
    more = f" and {len(values) - SHOWN} more" if len(values) > SHOWN else ""
    return f"{', '.join(map(repr, values[:SHOWN]))}{more}"


def _frequencies(sample_weight, n_rows):
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("sample_weight must be an array of numbers.") from error
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have shape ({n_rows},), one weight a row. Got shape "
            f"{weight.shape}."
        )
    fine = np.isfinite(weight) & (weight >= 0.0) & (weight == np.floor(weight))
    if not fine.all():
        raise ValueError(
            "sample_weight of an audit must be frequencies, whole numbers of at least "
            f"0: a row of weight 2 is two rows. Got {weight[~fine][0]:g}."
        )
    if not 0.0 < weight.sum() <= MOST:
        raise ValueError(
            "sample_weight must have a sum above 0 and of at most 2**53. Got "
            f"{weight.sum():g}."
        )
    return weight


def _refuse_unknown_categories(final, shape, path, X):
    # Rows whose category a node does not send on stay there. That happens to known
    # categories as well; those that the tree has never seen are an error.
    is_inner = np.zeros(len(shape.children))
    is_inner[shape.splits] = 1.0
    is_leaf = 1.0 - is_inner
    stays = np.flatnonzero(path @ is_leaf == 0.0)
    categories = getattr(final, "categories_", None)
    if categories is None or not len(stays):
        return
    values = X[stays].toarray() if issparse(X) else np.asarray(X, dtype=object)[stays]
    names = getattr(final, "feature_names_in_", range(values.shape[1]))
    for name, known, column in zip(names, categories, values.T, strict=True):
        if known is None:
            continue
        known = set(known)
        unknown = [one for one in column if not is_missing(one) and one not in known]
        if unknown:
            raise ValueError(
                f"Column {name!r} of X_new has categories that the tree does not know: "
                f"{_some(dict.fromkeys(unknown))}. Leave their rows out: a split has "
                "no branch for them."
            )


def warn_of_training_rows(estimator, counts):
    """Warn if the rows are as many, of each class in each node, as the tree's own."""
    own = own_counts(estimator)
    if len(counts) > 1 and own is not None and np.array_equal(own, counts):
        warn(
            "In every node X_new has as many rows of each class as the tree itself: "
            "these seem to be its training rows. They chose the splits, so they "
            "confirm them whether they are real or not. An audit needs rows that had "
            "no say."
        )
