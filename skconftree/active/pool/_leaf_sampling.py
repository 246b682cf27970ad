"""Strategies for a single tree: a leaf is chosen, then a row in it.

All rows of a leaf have the same score, so that these strategies say how much a leaf
is worth and draw inside it.
"""

from __future__ import annotations

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
    """Base class: `worth` of leaves, of which the largest is asked for.

    In a batch a leaf is looked at again after each row, as if the class that it
    predicts had been the answer.

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

    needs = ("leaves",)

    def worth(self, counts: Floats, sizes: NDArray[Any], total: int) -> Floats:
        """How much a label in a leaf is worth.

        Parameters
        ----------
        counts : ndarray of shape (n_leaves, n_classes)
            Labels of each class.
        sizes : ndarray of shape (n_leaves,)
            Rows of the leaf without a label, at least one.
        total : int
            Unlabelled rows in all leaves.

        Returns
        -------
        ndarray of shape (n_leaves,)
            The larger, the sooner the leaf is asked in.
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
        # A choice of a subclass is heard.
        own = type(self).select is not LeafSampling.select
        if own or context.costs is not None:
            return super().select_rows(context, k)
        return self._chosen(context, k)

    def _chosen(self, context, k):
        # Rows of the pool, and their scores, without costs.
        leaves, sizes = _occupied(context)
        counts = np.array(context.leaf_counts[leaves], dtype=np.float64)
        left, total = sizes.astype(np.intp), context.n_candidates
        worth_of = self._worth_in(context)
        worth = self._worth_now(worth_of, leaves, counts, sizes, total, context)
        rank = None  # among leaves of equal worth
        asked, scores = [], []
        while True:
            open_leaves = np.where(left > 0, worth, -np.inf) if asked else worth
            best = np.flatnonzero(open_leaves == open_leaves.max())
            if len(best) > 1:
                if rank is None:
                    rank = context.rng(FOR_ROWS).random(len(leaves))
                best = best[[rank[best].argmin()]]
            j = int(best[0])
            if k == 1:
                return self._members(int(leaves[j]), 1, context), worth[best]
            asked.append(j)
            scores.append(worth[j])
            if len(asked) == k:
                break
            left[j] -= 1
            counts[j, counts[j].argmax()] += 1.0
            if left[j]:
                worth[j] = worth_of(counts[j : j + 1], left[j : j + 1], total)[0]
        asked = np.array(asked, dtype=np.intp)
        rows = np.empty(k, dtype=np.intp)
        for j in dict.fromkeys(asked.tolist()):
            times = asked == j
            rows[times] = self._members(int(leaves[j]), int(times.sum()), context)
        return rows, np.array(scores)

    def _worth_now(self, worth_of, leaves, counts, sizes, total, context):
        # What leaves are worth; of those that have not changed it is known.
        if not self._is_local:
            return np.array(worth_of(counts, sizes, total), dtype=np.float64)
        key = type(self), context.grows, tuple(vars(self).values())
        n_nodes = len(context.leaf_sizes)
        old = context.kept.get(key)
        if old is None or old[0].shape[1] != counts.shape[1]:
            old = np.zeros((0, counts.shape[1])), np.zeros(0), np.zeros(0)
        more = max(n_nodes - len(old[1]), 0)
        if more:
            old = (
                np.pad(old[0], ((0, more), (0, 0))),
                np.pad(old[1], (0, more)),
                np.pad(old[2], (0, more)),
            )
        old_counts, old_sizes, old_worth = old
        other = (old_sizes[leaves] != sizes) | (old_counts[leaves] != counts).any(
            axis=1
        )
        changed = np.flatnonzero(other)
        if len(changed):
            places = leaves[changed]
            old_counts[places], old_sizes[places] = counts[changed], sizes[changed]
            old_worth[places] = worth_of(counts[changed], sizes[changed], total)
        context.kept[key] = old
        return old_worth[leaves]

    _is_local = False  # the worth of a leaf depends on it alone, not on the pool

    def _worth_in(self, context):
        # `worth`, with what the parameters leave to the classifier.
        return self.worth

    def _members(self, leaf, n, context):
        # The first `n` rows that are asked for in a leaf.
        if context.index is not None:
            if type(self)._ordered is LeafSampling._ordered:
                return context.index.draw(leaf, context.draw_key(FOR_LEAVES), size=n)
            inside = np.searchsorted(context.candidates, context.index.members(leaf))
        else:
            inside = np.flatnonzero(context.leaf_ids == leaf)
        return context.candidates[self._ordered(inside, context)[:n]]

    def _ordered(self, inside, context):
        # The members of a leaf in the order in which they are asked for: at random.
        leaf = int(context.leaf_ids[inside[0]])
        return context.rng(FOR_LEAVES + leaf).permutation(inside)


def _occupied(context):
    leaves = np.flatnonzero(context.leaf_sizes)
    return leaves, context.leaf_sizes[leaves]


class LeafRiskSampling(LeafSampling):
    """Ask in the leaf whose risk may be largest (BOCT-AL), or whose excess risk may.

    The risk of a leaf is the probability of a wrong prediction there, times its rows;
    its excess risk the part that the best prediction would avoid. The worth is the
    upper limit that it exceeds with posterior probability `delta`: leaves without
    labels, and large leaves, come first, and pure leaves of few labels before pure
    leaves of many. The row is drawn at random inside the leaf, which keeps its labels
    a fair sample of it.

    Its statement stands on splits that stay: with a tree that is fitted anew at each
    label the leaves were chosen by the very labels that are counted in them.

    Parameters
    ----------
    delta : float, default=0.1
        Posterior probability of a larger risk, in (0, 1).
    gap : {"auto"} or bool, default="auto"
        Whether to ask by the excess risk: a leaf whose classes are equally frequent
        is left alone once that is known, while its whole risk stays large however
        many labels it gets. False asks by the whole risk, as published for a tree
        that grows; ``"auto"`` by the excess risk where the tree grows
        (``refit=False``), and by the risk where it is fitted anew.
    prior : {"uniform", "perks"}, default="uniform"
        Pseudo-counts, see :func:`~skconftree.bounds.risk_upper`.

    Notes
    -----
    Leaves that have no excess risk come after all others, in the order of their risk
    r: their scores are ``-1 / (1 + r)``.

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
    >>> int(learner.fit(X, y).query()[0]) > 24    # where one label stands for many rows
    True
    """

    _parameter_constraints = {
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "gap": [StrOptions({"auto"}), "boolean"],
        "prior": [StrOptions(set(PRIORS))],
    }
    _is_local = True

    def __init__(
        self,
        delta: float = 0.1,
        gap: Literal["auto"] | bool = "auto",
        prior: Literal["uniform", "perks"] = "uniform",
    ) -> None:
        self.delta = delta
        self.gap = gap
        self.prior = prior

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
        counts = _two(counts)
        delta, prior = self.delta, self.prior
        if not (type(delta) is float and 0.0 < delta < 1.0 and prior in PRIORS):
            validate_parameters(self)
            delta = float(delta)
        if not gap:
            return risk_of_leaves(counts, delta, rows, prior)
        worth = excess_risk_of_leaves(counts, delta, rows, prior)
        none = np.flatnonzero(worth <= 0.0)
        if len(none):
            risk = risk_of_leaves(counts[none], delta, rows[none], prior)
            worth[none] = -1.0 / (1.0 + risk)
        return worth


def _two(counts):
    # A tree that has seen one class has counts of that one: the other has none.
    return counts if counts.shape[1] > 1 else np.pad(counts, ((0, 0), (0, 1)))


class LeafEntropySampling(LeafSampling):
    """Ask in the leaf with the largest entropy times share of the pool (CT-AL).

    Inside the leaf, the row that is farthest from those with a label comes first.

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
        chance = context.rng(FOR_LEAVES + leaf).permutation(len(inside))
        return inside[np.lexsort((chance, -context.dist_to_labeled[inside]))]


class ExpectedErrorSampling(LeafSampling):
    """Ask in the leaf whose expected error a label would lower most.

    Exact where leaves predict their most frequent class: the answer is taken to be of
    each class with its posterior mean probability (one pseudo-count a class), and the
    leaf's error after it is compared with that before. Among leaves where no single
    answer changes the prediction, the one with the largest error comes first.

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
        counts = _two(counts) + 1.0
        n = counts.sum(axis=1)
        predicted = counts.argmax(axis=1)
        lines = np.arange(len(counts))
        share = counts / n[:, None]
        error = 1.0 - share[lines, predicted]
        # after an answer of class c the better of the two predictions is made
        after = counts + 1.0
        most = counts.max(axis=1)
        gain = np.maximum(after - most[:, None], 0.0)
        gain[lines, predicted] = 0.0
        saved = sizes * (share * gain).sum(axis=1) / (n + 1.0)
        return saved + 1e-6 * sizes * error / (1.0 + total)
