"""The prunings: by errors, entropy, impurity, or tests of the splits."""

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
from ...criteria._criterion import CRITERIA
from ...utils._types import Floats
from ._base import BasePruning, proportionate_counts
from ._pruning import PessimisticCost, SubtreeRaising

if TYPE_CHECKING:
    from ..nodes._tree import LeafCost, Tree
    from ._base import TrainingRows


class PessimisticPruning(BasePruning):
    """A subtree stays if the upper limits of its leaves' errors sum to less.

    Parameters
    ----------
    confidence : float, default=0.25
        Error of the limits, in (0, 1); smaller prunes more.
    protect_below : float or None, default=0.01
        Splits with fewer than this expected by chance stay, whatever their errors, so
        that leaves of one class can differ in their probabilities. It is compared with
        the ``statistic`` of bounds whose small statistics are strong
        (``smaller_is_stronger``). None: errors alone count.

    See Also
    --------
    skconftree.bounds.binomial_upper : The limits.

    Notes
    -----
    Whether a subtree is taken back is decided by errors everywhere, as if no split had
    been kept. Then splits that are strong and whose children say something else than
    their node stay, unless they are below one that goes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.tree import PessimisticPruning
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(bound=None, pruning=PessimisticPruning(0.01))
    >>> tree.fit(X, y).get_n_leaves()
    5

    A split that no prediction needs, but probabilities do:

    >>> import numpy as np
    >>> X = np.repeat([[0.0], [1.0]], 500, axis=0)
    >>> y = np.arange(1000) % 10 < np.where(X[:, 0] > 0, 4, 1)
    >>> tree = ConfidenceTreeClassifier(pruning=PessimisticPruning(protect_below=None))
    >>> tree.fit(X, y).get_n_leaves()
    1
    >>> tree.set_params(pruning__protect_below=0.01).fit(X, y).get_n_leaves()
    2
    """

    limits_errors = True
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
        goes = keep_as_leaf & (tree.n_children > 0)
        if self.protect_below is not None and smaller_is_stronger and goes.any():
            # a leaf has no evidence, which is below nothing
            strong = tree.evidence["statistic"] < self.protect_below
            keep_as_leaf &= ~(strong & _tells_more(tree))
        return keep_as_leaf

    # Errors alone, in a growth that looks ahead too: strong splits that change no
    # prediction do not differ in their cost of errors.
    def leaf_cost(self, n_leaves: int) -> LeafCost | None:
        return PessimisticCost(self.confidence, n_leaves)

    def cost(self, tree: Tree, rows: TrainingRows) -> Floats | None:
        return self.leaf_cost(tree.node_count).of_nodes(proportionate_counts(tree))


def _tells_more(tree):
    """Whether the children of each node have other class proportions than it has."""
    value, parent = tree.raw_value, tree.parent
    differs = np.zeros(tree.node_count, dtype=bool)
    differs[parent[1:][(value[1:] != value[parent[1:]]).any(axis=1)]] = True
    return differs


class C45Pruning(BasePruning):
    """A subtree becomes a leaf, or its larger branch takes its place.

    As the pruning of C4.5, in Weka's form.

    Parameters
    ----------
    confidence : float, default=0.25
        C4.5's confidence factor, in (0, 0.5]; smaller prunes more.

    See Also
    --------
    PessimisticPruning : The idea with exact limits, and without raised branches.

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

    limits_errors = True
    _parameter_constraints: dict = {
        "confidence": [Interval(Real, 0.0, 0.5, closed="right")]
    }

    def __init__(self, confidence: float = 0.25) -> None:
        self.confidence = confidence

    def prune(self, tree: Tree, rows: TrainingRows) -> Tree:
        X, y, weight = rows.take()
        weight = np.ones(len(y)) if weight is None else weight
        score = CRITERIA[rows.criterion](tree.n_classes)
        y = y.astype(np.intp, copy=False)
        X = X.tocsr() if issparse(X) else X
        return SubtreeRaising(tree, score, X, y, weight, self.confidence).prune()


class CostComplexityPruning(BasePruning):
    """Minimal cost-complexity pruning, as by scikit-learn's `ccp_alpha`.

    Parameters
    ----------
    ccp_alpha : float, default=0.0
        Decrease of the impurity that each leaf must be worth, at least 0. Larger prunes
        more, 0 not at all.

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
    strength_parameter = "ccp_alpha"

    def __init__(self, ccp_alpha: float = 0.0) -> None:
        self.ccp_alpha = ccp_alpha

    def prune(self, tree: Tree, rows: TrainingRows) -> Tree:
        if self.ccp_alpha == 0.0:
            return tree  # as scikit-learn, which else would merge equal leaves
        return super().prune(tree, rows)

    def cost(self, tree: Tree, rows: TrainingRows) -> Floats | None:
        weight = tree.weighted_n_node_samples
        return tree.impurity * (weight / weight[0]) + self.ccp_alpha


class PossibilisticPruning(BasePruning):
    """A subtree stays if its possibilistic entropy is lower.

    Parameters
    ----------
    confidence : float, default=0.05
        Error of the limits, in (0, 1); smaller prunes more.

    See Also
    --------
    skconftree.bounds.possibilistic_entropy : The entropy.

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


class UnsupportedTests(BasePruning):
    """A node above leaves becomes one if its test is not supported; see `stops`."""

    def stops(self, tables, depth, rows):
        """Say which tests are not supported, from the class counts of their outcomes.

        `tables` is of shape (n_tests, n_outcomes, n_classes), `depth` of the tests'
        nodes.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define stops.")

    def keep_as_leaf(self, tree: Tree, rows: TrainingRows) -> NDArray[np.bool_] | None:
        counts = proportionate_counts(tree)
        parent, depth, n_children = tree.parent, tree.depth, tree.n_children
        first = np.zeros(tree.node_count, dtype=np.intp)
        first[parent[:0:-1]] = np.arange(tree.node_count - 1, 0, -1)
        keep_as_leaf = np.zeros(tree.node_count, dtype=bool)
        internal = n_children > 0
        n_internal_children = np.bincount(
            parent[1:][internal[1:]], minlength=tree.node_count
        )
        nodes = np.flatnonzero(internal & (n_internal_children == 0))
        while len(nodes):
            stopped = []
            for r in np.unique(n_children[nodes]):
                same = nodes[n_children[nodes] == r]
                tables = counts[first[same][:, np.newaxis] + np.arange(r)]
                stopped.append(same[self.stops(tables, depth[same], rows)])
            nodes = np.concatenate(stopped)
            keep_as_leaf[nodes] = True
            nodes = parent[nodes[nodes > 0]]
            np.subtract.at(n_internal_children, nodes, 1)
            nodes = np.unique(nodes[n_internal_children[nodes] == 0])
        return keep_as_leaf


class Chi2Pruning(UnsupportedTests):
    """A test above leaves stays if class and outcome depend on each other.

    Small tables have the p-value of the tree's bound, if it is a `Chi2Bound`.

    Parameters
    ----------
    confidence : float, default=0.05
        Largest p-value of a test that stays, in (0, 1); smaller prunes more.

    See Also
    --------
    skconftree.bounds.chi2_pvalue : The p-value.

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

    def stops(self, tables: Any, depth: Any, rows: TrainingRows) -> NDArray[np.bool_]:
        bound = rows.bound if isinstance(rows.bound, Chi2Bound) else Chi2Bound()
        # Exact p-values are ratios of small numbers: they meet .05 and rounding.
        p = chi2_pvalue(tables, fisher=bound.fisher)
        return p > self.confidence * (1.0 + 1e-9)


class EC2Pruning(UnsupportedTests):
    """A test above leaves stays if label noise hardly explains it.

    The noise, and what is to be beaten, are those of the tree's bound, if it is EC2's.

    Parameters
    ----------
    confidence : float, default=0.5
        Least confidence of a test that stays, in [0, 1]; larger prunes more.

    See Also
    --------
    skconftree.bounds.ec2_confidence : The confidence.

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

    def stops(self, tables: Any, depth: Any, rows: TrainingRows) -> NDArray[np.bool_]:
        noise = rows.bound if isinstance(rows.bound, EC2Bound) else EC2Bound()
        sure = ec2_confidence(
            tables,
            depth,
            noise.noise,
            error_outcomes=noise.error_outcomes,
            margin=noise.margin,
            against=noise.against,
        )
        return sure < self.confidence
