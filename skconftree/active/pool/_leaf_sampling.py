"""Query strategies for a single tree: they select a leaf, then a row in it.

All rows of a leaf have the same score, so that these strategies score leaves and draw
rows within them. The *worth* of a leaf is its score. The *pool* is the table of
unlabeled and labeled rows. Of the context of a query, `candidates` are the rows that
can be queried, `grows` tells whether the tree is updated instead of refitted, `index`
finds the rows of a leaf, `kept` is a cache, and `costs` are the costs of labels or
None; `leaf_sizes` (candidates) and `leaf_counts` (labels) are indexed by node id. The
numbers FOR_ROWS and FOR_LEAVES separate random draws for different purposes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._compat import Interval, StrOptions, validate_parameters
from ...bounds._limits import PRIORS, excess_risk_of_leaves, risk_of_leaves
from ...utils._types import Floats, Indices
from .._strategy import FOR_LEAVES, FOR_ROWS, SamplingStrategy, entropy

if TYPE_CHECKING:
    from ._context import QueryContext


class LeafSampling(SamplingStrategy):
    """Base class of strategies that score leaves by `worth`.

    The leaf with the largest score is queried. In a batch, the leaf is scored again
    after each row, as if the label were the class that it predicts.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skconftree.active import ActiveLearner
    >>> from skconftree.active.pool import LeafSampling
    >>> class LargestLeaf(LeafSampling):
    ...     def worth(self, counts, sizes, total):
    ...         return sizes / total
    >>> X, y = load_iris(return_X_y=True)
    >>> known = [label if i % 5 == 0 else None for i, label in enumerate(y)]
    >>> learner = ActiveLearner(DecisionTreeClassifier(), strategy=LargestLeaf())
    >>> len(learner.fit(X, known).query(3))
    3
    """

    needs = ("leaves",)  # what the strategy uses of the model

    def worth(self, counts: Floats, sizes: NDArray[Any], total: int) -> Floats:
        """Score leaves.

        Parameters
        ----------
        counts : ndarray of shape (n_leaves, n_classes)
            Number of labels of each class.
        sizes : ndarray of shape (n_leaves,)
            Number of unlabeled rows of each leaf, at least one.
        total : int
            Number of unlabeled rows in all leaves.

        Returns
        -------
        ndarray of shape (n_leaves,)
            Scores; leaves with larger scores are queried first.
        """
        raise NotImplementedError

    def score(self, context: QueryContext) -> Floats:
        leaves, sizes = _occupied(context)
        worth = np.zeros(len(context.leaf_sizes))
        worth[leaves] = self._worth_in(context)(
            context.leaf_counts[leaves], sizes, context.n_candidates
        )
        return worth[context.leaf_ids]

    def select(self, context: QueryContext, k: int) -> tuple[Indices, Floats]:
        if context.costs is not None:
            return super().select(context, k)
        rows, scores = self._chosen(context, k)
        return np.searchsorted(context.candidates, rows), scores

    def select_rows(self, context: QueryContext, k: int) -> tuple[Indices, Floats]:
        # As `select`, but returns rows of the pool, not indices of candidates. A
        # subclass may override `select`.
        is_overridden = type(self).select is not LeafSampling.select
        if is_overridden or context.costs is not None:
            return super().select_rows(context, k)
        return self._chosen(context, k)

    def _chosen(self, context, k):
        # Selected rows of the pool and their scores, without costs.
        leaves, sizes = _occupied(context)
        counts = np.array(context.leaf_counts[leaves], dtype=np.float64)
        left, total = sizes.astype(np.intp), context.n_candidates
        worth_of = self._worth_in(context)
        worth = self._cached_worth(worth_of, leaves, counts, sizes, total, context)
        rank = None  # among leaves of equal score
        leaf_indices, scores = [], []
        while True:
            open_leaves = np.where(left > 0, worth, -np.inf) if leaf_indices else worth
            best = np.flatnonzero(open_leaves == open_leaves.max())
            if len(best) > 1:
                if rank is None:
                    rank = context.rng(FOR_ROWS).random(len(leaves))
                best = best[[rank[best].argmin()]]
            j = int(best[0])
            if k == 1:
                return self._members(int(leaves[j]), 1, context), worth[best]
            leaf_indices.append(j)
            scores.append(worth[j])
            if len(leaf_indices) == k:
                break
            left[j] -= 1
            counts[j, counts[j].argmax()] += 1.0
            if left[j]:
                worth[j] = worth_of(counts[j : j + 1], left[j : j + 1], total)[0]
        leaf_indices = np.array(leaf_indices, dtype=np.intp)
        rows = np.empty(k, dtype=np.intp)
        for j in dict.fromkeys(leaf_indices.tolist()):
            times = leaf_indices == j
            rows[times] = self._members(int(leaves[j]), int(times.sum()), context)
        return rows, np.array(scores)

    def _cached_worth(self, worth_of, leaves, counts, sizes, total, context):
        # Scores of leaves; cached for leaves that have not changed.
        if not self._is_local:
            return np.array(worth_of(counts, sizes, total), dtype=np.float64)
        key = type(self), context.grows, tuple(vars(self).values())
        n_nodes = len(context.leaf_sizes)
        cached = context.kept.get(key)
        if cached is None or cached[0].shape[1] != counts.shape[1]:
            cached = np.zeros((0, counts.shape[1])), np.zeros(0), np.zeros(0)
        more = max(n_nodes - len(cached[1]), 0)
        if more:
            cached = (
                np.pad(cached[0], ((0, more), (0, 0))),
                np.pad(cached[1], (0, more)),
                np.pad(cached[2], (0, more)),
            )
        cached_counts, cached_sizes, cached_worth = cached
        differs = (cached_sizes[leaves] != sizes) | (
            cached_counts[leaves] != counts
        ).any(axis=1)
        changed = np.flatnonzero(differs)
        if len(changed):
            nodes = leaves[changed]
            cached_counts[nodes], cached_sizes[nodes] = counts[changed], sizes[changed]
            cached_worth[nodes] = worth_of(counts[changed], sizes[changed], total)
        context.kept[key] = cached
        return cached_worth[leaves]

    _is_local = False  # whether the score of a leaf does not depend on the pool

    def _worth_in(self, context):
        # The function `worth`, with "auto" parameters resolved.
        return self.worth

    def _members(self, leaf, n, context):
        # The first `n` rows to query in a leaf.
        if context.index is not None:
            if type(self)._ordered is LeafSampling._ordered:
                return context.index.draw(leaf, context.draw_key(FOR_LEAVES), size=n)
            inside = np.searchsorted(context.candidates, context.index.members(leaf))
        else:
            inside = np.flatnonzero(context.leaf_ids == leaf)
        return context.candidates[self._ordered(inside, context)[:n]]

    def _ordered(self, inside, context):
        # Rows of a leaf in the order of queries: random.
        leaf = int(context.leaf_ids[inside[0]])
        return context.rng(FOR_LEAVES + leaf).permutation(inside)


def _occupied(context):
    # Leaves with candidates, and their numbers of candidates.
    leaves = np.flatnonzero(context.leaf_sizes)
    return leaves, context.leaf_sizes[leaves]


@dataclass(eq=False, repr=False)
class LeafRiskSampling(LeafSampling):
    """Query strategy by upper credible limits of the risk of leaves (BOCT-AL in [1]_).

    The risk of a leaf is its error probability times its number of rows; its excess
    risk is the part that the best prediction would avoid. The score is the upper limit
    that the risk, or the excess risk, exceeds with posterior probability `delta`. So
    leaves without labels and large leaves come first, and pure leaves with few labels
    before those with many. The row is drawn at random inside the leaf, so that its
    labels are a representative sample.

    The limits are valid if splits do not change. In a tree that is refitted after each
    label, the leaves depend on the labels that are counted in them.

    Parameters
    ----------
    delta : float, default=0.1
        Posterior probability of a larger risk, in (0, 1). Smaller values prefer leaves
        with few labels.
    gap : {"auto"} or bool, default="auto"
        Whether to score by the excess risk. The excess risk of a leaf with equally
        frequent classes becomes small with many labels, whereas its risk stays large.
        False uses the risk, as published for incremental trees. ``"auto"`` uses the
        excess risk if the tree is updated (``refit=False``), and the risk if it is
        refitted.
    prior : {"uniform", "perks"}, default="uniform"
        Pseudo-counts: 1 per class (uniform), or a total of 1 (Perks), see
        :func:`~skconftree.bounds.risk_upper`.

    Notes
    -----
    Leaves without excess risk come after all others, in the order of their risk r:
    their scores are ``-1 / (1 + r)``.

    References
    ----------
    .. [1] T. Collet, O. Pietquin, "Bayesian credible intervals for online and active
       learning of classification trees", ADPRL 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import ActiveLearner, LeafRiskSampling
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> y = np.full(40, None)
    >>> y[[0, 2, 4, 6, 8, 10, 38]] = [0, 0, 0, 0, 0, 0, 1]
    >>> tree = ConfidenceTreeClassifier(bound=None)
    >>> learner = ActiveLearner(tree, strategy=LeafRiskSampling(), random_state=0)
    >>> int(learner.fit(X, y).query()[0]) > 24    # a large leaf with a single label
    True
    """

    _parameter_constraints = {
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "gap": [StrOptions({"auto"}), "boolean"],
        "prior": [StrOptions(set(PRIORS))],
    }
    _is_local = True

    delta: float = 0.1
    gap: Literal["auto"] | bool = "auto"
    prior: Literal["uniform", "perks"] = "uniform"

    def _worth_in(self, context):
        if self.gap != "auto":
            return self.worth
        if type(self).worth is LeafRiskSampling.worth:
            return partial(self._worth_by, context.grows)
        parameters = self.get_params(deep=False) | {"gap": context.grows}
        return type(self)(**parameters).worth

    def worth(self, counts: Floats, sizes: Floats, total: float) -> Floats:
        return self._worth_by(self.gap != "auto" and self.gap, counts, sizes, total)

    def _worth_by(self, gap, counts, sizes, total):
        # By the excess risk if `gap`, else by the risk.
        rows = sizes + counts.sum(axis=1)
        counts = _with_two_classes(counts)
        delta, prior = self.delta, self.prior
        if not (type(delta) is float and 0.0 < delta < 1.0 and prior in PRIORS):
            validate_parameters(self)
            delta = float(delta)
        if not gap:
            return risk_of_leaves(counts, delta, rows, prior)
        worth = excess_risk_of_leaves(counts, delta, rows, prior)
        no_excess = np.flatnonzero(worth <= 0.0)
        if len(no_excess):
            risk = risk_of_leaves(counts[no_excess], delta, rows[no_excess], prior)
            worth[no_excess] = -1.0 / (1.0 + risk)
        return worth


def _with_two_classes(counts):
    # A tree that has seen one class has counts of that class only.
    return counts if counts.shape[1] > 1 else np.pad(counts, ((0, 0), (0, 1)))


class LeafEntropySampling(LeafSampling):
    """Query strategy by the entropy of leaves times their share of the pool.

    This is the strategy CT-AL of [1]_.

    Within a leaf, the row that is farthest from labeled rows is queried first.

    References
    ----------
    .. [1] A. Jose et al. (2024), "Classification tree-based active learning: a wrapper
       approach", arXiv 2404.09953.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skconftree.active import ActiveLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> known = [label if i % 5 == 0 else None for i, label in enumerate(y)]
    >>> learner = ActiveLearner(DecisionTreeClassifier(), strategy="leaf_entropy")
    >>> len(learner.fit(X, known).query(3))
    3
    """

    def worth(self, counts: Floats, sizes: Floats, total: float) -> Floats:
        n = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        return entropy(counts / n) * sizes / total

    def _ordered(self, inside, context):
        leaf = int(context.leaf_ids[inside[0]])
        ties = context.rng(FOR_LEAVES + leaf).permutation(len(inside))
        return inside[np.lexsort((ties, -context.dist_to_labeled[inside]))]


class ExpectedErrorSampling(LeafSampling):
    """Query strategy by expected error reduction in the leaves of a tree.

    It is exact if leaves predict their most frequent class. Each class is assumed to be
    the label with its posterior mean probability (one pseudo-count per class), and the
    error of the leaf after the label is compared with that before. Among leaves whose
    prediction no single label changes, the one with the largest error comes first.

    References
    ----------
    .. [1] N. Roy, A. McCallum (2001), "Toward optimal active learning through sampling
       estimation of error reduction", ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skconftree.active import ActiveLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> known = [label if i % 5 == 0 else None for i, label in enumerate(y)]
    >>> learner = ActiveLearner(DecisionTreeClassifier(), strategy="expected_error")
    >>> len(learner.fit(X, known).query(3))
    3
    """

    def worth(self, counts: Floats, sizes: Floats, total: float) -> Floats:
        counts = _with_two_classes(counts) + 1.0
        n = counts.sum(axis=1)
        predicted = counts.argmax(axis=1)
        row_idx = np.arange(len(counts))
        share = counts / n[:, None]
        error = 1.0 - share[row_idx, predicted]
        # after a label of class c, the leaf predicts the more frequent of two classes
        after = counts + 1.0
        largest = counts.max(axis=1)
        gain = np.maximum(after - largest[:, None], 0.0)
        gain[row_idx, predicted] = 0.0
        saved = sizes * (share * gain).sum(axis=1) / (n + 1.0)
        return saved + 1e-6 * sizes * error / (1.0 + total)
