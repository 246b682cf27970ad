"""Pruning methods: by errors, entropy, impurity, or statistical tests of splits.

A bound is the split rule of a tree, see `skconftree.bounds`. Proportionate counts are
the class counts of nodes, reweighted by `class_weight` and scaled to the unweighted
total.
"""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..._compat import Interval
from ...bounds import (
    Chi2Bound,
    EC2Bound,
    chi2_pvalue,
    ec2_confidence,
    possibilistic_entropy,
)
from ...criteria._criterion import criterion_maker
from ...utils._types import Floats
from ._base import BasePruning, proportionate_counts
from ._pruning import PessimisticCost, SubtreeRaising

if TYPE_CHECKING:
    from ..nodes._tree import LeafCost, Tree
    from ._base import TrainingRows


class PessimisticPruning(BasePruning):
    """Pessimistic pruning with exact binomial upper limits of the errors.

    A subtree becomes a leaf unless the upper limits of the errors of its leaves have a
    smaller sum than the upper limit of its root.

    Parameters
    ----------
    confidence : float, default=0.25
        One minus the confidence of the limits, in (0, 1). Smaller values prune more.
    protect_below : float or None, default=0.01
        Splits are kept, independent of their errors, if fewer than this number of
        candidate splits are expected to look as good by chance, so that leaves that
        predict the same class can have different probabilities. The number is the
        ``statistic`` of bounds with small statistics for strong splits
        (``smaller_is_stronger``). Larger values keep more splits. None: only errors
        decide.

    See Also
    --------
    skconftree.bounds.binomial_upper : The upper limits.

    Notes
    -----
    First, the errors decide which subtrees become leaves, as if no split were
    protected. Then strong splits are restored if their children have other class
    proportions than their node, unless a split above them is removed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import PessimisticPruning
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(bound=None, pruning=PessimisticPruning(0.01))
    >>> tree.fit(X, y).get_n_leaves()
    5

    A split that changes the probabilities, but not the predicted classes:

    >>> import numpy as np
    >>> X = np.repeat([[0.0], [1.0]], 500, axis=0)
    >>> y = np.arange(1000) % 10 < np.where(X[:, 0] > 0, 4, 1)
    >>> tree = ConfidenceTreeClassifier(pruning=PessimisticPruning(protect_below=None))
    >>> tree.fit(X, y).get_n_leaves()
    1
    >>> tree.set_params(pruning__protect_below=0.01).fit(X, y).get_n_leaves()
    2
    """

    limits_errors = True  # compares upper limits of the errors, see BasePruning
    _parameter_constraints: dict = {
        "confidence": [Interval(Real, 0.0, 1.0, closed="neither")],
        "protect_below": [Interval(Real, 0.0, None, closed="neither"), None],
    }

    def __init__(
        self, confidence: float = 0.25, *, protect_below: float | None = 0.01
    ) -> None:
        self.confidence = confidence
        self.protect_below = protect_below

    def keep_as_leaf(self, tree: Tree, rows: TrainingRows) -> NDArray[np.bool_] | None:
        keep_as_leaf = super().keep_as_leaf(tree, rows)
        smaller_is_stronger = getattr(rows.bound, "smaller_is_stronger", False)
        pruned = keep_as_leaf & (tree.n_children > 0)
        if self.protect_below is not None and smaller_is_stronger and pruned.any():
            # the evidence of a leaf is NaN, so the comparison is False
            strong = tree.evidence["statistic"] < self.protect_below
            keep_as_leaf &= ~(strong & _changes_proportions(tree))
        return keep_as_leaf

    # The cost ignores `protect_below`, also in look-ahead, which compares splits by the
    # pruned subtrees below them: strong splits that do not change a predicted class
    # have the same cost. `n_leaves` is approximate: the size of a cache.
    def leaf_cost(self, n_leaves: int) -> LeafCost | None:
        return PessimisticCost(self.confidence, n_leaves)

    def cost(self, tree: Tree, rows: TrainingRows) -> Floats | None:
        return self.leaf_cost(tree.node_count).of_nodes(proportionate_counts(tree))


def _changes_proportions(tree):
    """Whether the children of each node have other class proportions than the node."""
    value, parent = tree.raw_proba, tree.parent  # proportions before shrinkage
    differs = np.zeros(tree.node_count, dtype=bool)
    differs[parent[1:][(value[1:] != value[parent[1:]]).any(axis=1)]] = True
    return differs


class C45Pruning(BasePruning):
    """Pruning of C4.5 with subtree raising, as in Weka's J48.

    A subtree is replaced by a leaf, or by its larger branch, if that does not raise the
    pessimistic error estimate.

    Parameters
    ----------
    confidence : float, default=0.25
        Confidence factor of C4.5, in (0, 0.5]. Smaller values prune more.

    See Also
    --------
    PessimisticPruning : Exact limits of the errors, without subtree raising.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import C45Pruning
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(bound=None, pruning=C45Pruning(0.1))
    >>> tree.fit(X, y).get_n_leaves()
    7
    """

    limits_errors = True  # compares upper limits of the errors, see BasePruning
    _parameter_constraints: dict = {
        "confidence": [Interval(Real, 0.0, 0.5, closed="right")]
    }

    def __init__(self, confidence: float = 0.25) -> None:
        self.confidence = confidence

    def prune(self, tree: Tree, rows: TrainingRows) -> Tree:
        X, y, weight = rows.take()  # the training data; weight can be None
        weight = np.ones(len(y)) if weight is None else weight
        score = criterion_maker(rows.criterion)(tree.max_n_classes)
        y = y.astype(np.intp, copy=False)
        X = X.tocsr() if issparse(X) else X
        return SubtreeRaising(tree, score, X, y, weight, self.confidence).prune()


class CostComplexityPruning(BasePruning):
    """Minimal cost-complexity pruning, as with `ccp_alpha` in scikit-learn.

    Parameters
    ----------
    ccp_alpha : float, default=0.0
        Decrease of the impurity that each leaf must contribute, at least 0. Larger
        values prune more; 0 does not prune.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import CostComplexityPruning
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(
    ...     bound=None, pruning=CostComplexityPruning(0.01))
    >>> tree.fit(X, y).get_n_leaves()
    5
    """

    _parameter_constraints: dict = {
        "ccp_alpha": [Interval(Real, 0.0, None, closed="left")]
    }
    strength_parameter = "ccp_alpha"  # controls how strongly the tree is pruned

    def __init__(self, ccp_alpha: float = 0.0) -> None:
        self.ccp_alpha = ccp_alpha

    def prune(self, tree: Tree, rows: TrainingRows) -> Tree:
        if self.ccp_alpha == 0.0:
            return tree  # as in scikit-learn; otherwise equal leaves would be merged
        return super().prune(tree, rows)

    def cost(self, tree: Tree, rows: TrainingRows) -> Floats | None:
        weight = tree.weighted_n_node_samples
        return tree.impurity * (weight / weight[0]) + self.ccp_alpha


class PossibilisticPruning(BasePruning):
    """Pruning that minimizes the possibilistic entropy.

    A subtree becomes a leaf unless its possibilistic entropy is lower than that of its
    root. This entropy is computed from confidence limits of the class probabilities.

    Parameters
    ----------
    confidence : float, default=0.05
        One minus the confidence of the limits, in (0, 1). Smaller values prune more.

    See Also
    --------
    skconftree.bounds.possibilistic_entropy : The entropy as a function.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import PossibilisticPruning
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(
    ...     bound=None, pruning=PossibilisticPruning(1e-6))
    >>> tree.fit(X, y).get_n_leaves()
    3
    """

    _parameter_constraints: dict = {
        "confidence": [Interval(Real, 0.0, 1.0, closed="neither")]
    }

    def __init__(self, confidence: float = 0.05) -> None:
        self.confidence = confidence

    def cost(self, tree: Tree, rows: TrainingRows) -> Floats | None:
        counts = proportionate_counts(tree)
        return counts.sum(axis=1) * possibilistic_entropy(counts, self.confidence)


class SplitTestPruning(BasePruning):
    """Bottom-up pruning: remove splits that fail a test and have only leaves below."""

    def fails(self, tables, depth, rows):
        """Return a mask of the splits that fail, from their tables of class counts.

        `tables` has shape (n_splits, n_branches, n_classes); `depth` is that of the
        nodes.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define fails.")

    def keep_as_leaf(self, tree: Tree, rows: TrainingRows) -> NDArray[np.bool_] | None:
        counts = proportionate_counts(tree)
        parent, depth, n_children = tree.parent, tree.depth, tree.n_children
        # the first child of each node; the ids of its children are consecutive
        first = np.zeros(tree.node_count, dtype=np.intp)
        first[parent[:0:-1]] = np.arange(tree.node_count - 1, 0, -1)
        keep_as_leaf = np.zeros(tree.node_count, dtype=bool)
        internal = n_children > 0
        n_internal_children = np.bincount(
            parent[1:][internal[1:]], minlength=tree.node_count
        )
        nodes = np.flatnonzero(internal & (n_internal_children == 0))
        while len(nodes):
            failed = []
            for r in np.unique(n_children[nodes]):
                same = nodes[n_children[nodes] == r]
                tables = counts[first[same][:, np.newaxis] + np.arange(r)]
                failed.append(same[self.fails(tables, depth[same], rows)])
            nodes = np.concatenate(failed)
            keep_as_leaf[nodes] = True
            nodes = parent[nodes[nodes > 0]]
            np.subtract.at(n_internal_children, nodes, 1)
            nodes = np.unique(nodes[n_internal_children[nodes] == 0])
        return keep_as_leaf


class Chi2Pruning(SplitTestPruning):
    """Pruning by the chi-squared test of independence.

    A split whose children are leaves is removed if branch and class are independent
    according to the test, bottom-up. Small tables are tested as by the bound of the
    tree, if it is a `Chi2Bound`.

    Parameters
    ----------
    confidence : float, default=0.05
        Largest p-value of a split that is kept, in (0, 1). Smaller values prune more.

    See Also
    --------
    skconftree.bounds.chi2_pvalue : The p-value as a function.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import Chi2Pruning
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(bound=None, pruning=Chi2Pruning(0.01))
    >>> tree.fit(X, y).get_n_leaves()
    4
    """

    _parameter_constraints: dict = {
        "confidence": [Interval(Real, 0.0, 1.0, closed="neither")]
    }

    def __init__(self, confidence: float = 0.05) -> None:
        self.confidence = confidence

    def fails(self, tables: Any, depth: Any, rows: TrainingRows) -> NDArray[np.bool_]:
        bound = rows.bound if isinstance(rows.bound, Chi2Bound) else Chi2Bound()
        # Exact p-values are ratios of small integers, which may equal the limit up to
        # rounding.
        # `fisher`: how the p-values of Fisher's exact test are computed
        p = chi2_pvalue(tables, fisher=bound.fisher)
        return p > self.confidence * (1.0 + 1e-9)


class EC2Pruning(SplitTestPruning):
    """Pruning by the stopping rule of EC2 trees (equivalence class edge cutting).

    A split whose children are leaves is removed if label noise may explain it,
    bottom-up. The other parameters of the rule are those of the bound of the tree, if
    it is an `EC2Bound`.

    Parameters
    ----------
    confidence : float, default=0.5
        Smallest confidence of a split that is kept, in [0, 1]. Larger values prune
        more.

    See Also
    --------
    skconftree.bounds.ec2_confidence : The confidence as a function.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import EC2Pruning
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(bound=None, pruning=EC2Pruning(0.9))
    >>> tree.fit(X, y).get_n_leaves()
    7
    """

    _parameter_constraints: dict = {
        "confidence": [Interval(Real, 0.0, 1.0, closed="both")]
    }

    def __init__(self, confidence: float = 0.5) -> None:
        self.confidence = confidence

    def fails(self, tables: Any, depth: Any, rows: TrainingRows) -> NDArray[np.bool_]:
        bound = rows.bound if isinstance(rows.bound, EC2Bound) else EC2Bound()
        # `noise`: probability of a wrong outcome or label; `error_outcomes`: how errors
        # are distributed over the other outcomes; `margin`: edges to cut in addition;
        # `against`: whether errors above the node or chance explain the edges cut.
        confidence = ec2_confidence(
            tables,
            depth,
            bound.noise,
            error_outcomes=bound.error_outcomes,
            margin=bound.margin,
            against=bound.against,
        )
        return confidence < self.confidence
