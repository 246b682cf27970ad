"""Predictions of a forest, and confidence intervals of its probabilities.

The attribute `_model` of a forest has the trees as `model.trees`. A model `grows` if it
learns row by row; it `is_compact` if it was saved for predictions alone. A *bound* is
the split rule of a tree. Methods decorated by `reads` take the lock of the forest for
reading. Validated `rows` unpack into the matrix X, whether it is `finite` (without
missing values), and the schema of the columns. `Voters` adds the class probabilities of
trees to an array.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from sklearn.utils import gen_even_slices
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from ...tables._schema import as_dense
from ...tables._sparse import blocks
from ...tree._distill import distill
from ...tree._intervals import check_limits
from ...tree.nodes._compact import DroppedPartError
from ...tree.nodes._row_index import find_leaves
from ...tree.reading._records import format_value
from ...tree.reading._text import as_table, bound_name, listed, shortened
from ...tree.reading._to_sklearn import forest_to_sklearn, warn_of_missing
from ...utils._lock import reads
from ...utils._types import Estimator, Floats, Indices, LabelsLike, Seed, TableLike
from ...utils._warnings import warn
from .._base import VotingForest
from ._model import Voters
from ._row_index import ForestRowIndex

if TYPE_CHECKING:
    from ...tree._classes import ConfidenceTreeClassifier


TREES = 32  # number of trees whose samples are in memory at a time
ROWS = 4096  # number of rows that are predicted at a time
METHODS = ("jackknife",)  # of `predict_proba_interval`


def limits_of_votes(model, rows, confidence_level):
    """Confidence limits of the trees' mean vote, by the infinitesimal jackknife.

    The vote of a tree on a row is the class proportions of the row's leaf.
    """
    X, finite, _ = rows
    if model.grows:
        raise ValueError(
            "method='jackknife' needs the bootstrap samples of fit, but this forest "
            "was updated by partial_fit. Fit it to all rows instead."
        )
    if model.is_compact:
        raise DroppedPartError("it has no bootstrap samples")
    if model.sampler is None:
        raise ValueError(
            "method='jackknife' needs bootstrap samples, but this forest has "
            "bootstrap=False. Fit it with bootstrap=True."
        )
    n_trees = len(model.trees)
    if n_trees == 1:
        raise ValueError(
            "method='jackknife' needs at least 2 trees, got n_estimators=1. Increase "
            "n_estimators."
        )
    products = products_of_samples(model.sampler, n_trees)
    spread = spread_of_counts(model.sampler)
    out = np.empty((X.shape[0], len(model.classes), 2))
    n_varying = n_without_width = 0
    X = X if isinstance(X, np.ndarray) else X.tocsr()
    for start in range(0, X.shape[0], ROWS):
        part = slice(start, start + ROWS)
        votes = np.stack(
            [
                member.tree.proba[find_leaves(member.tree, X[part], finite)]
                for member in model.trees
            ],
            axis=-1,
        )
        mean, variance, between = jackknife(votes, products, spread)
        varies = between > 0.0
        n_varying += np.count_nonzero(varies)
        n_without_width += np.count_nonzero(varies & (variance <= 0.0))
        radius = ndtri(0.5 + confidence_level / 2.0) * np.sqrt(
            np.maximum(variance, 0.0)
        )
        out[part] = np.stack([mean - radius, mean + radius], axis=-1)
    if 10 * n_without_width > n_varying:
        warn(
            f"{n_without_width} of {n_varying} probabilities on which the trees differ "
            f"have intervals of width 0: {n_trees} trees are too few to separate their "
            "variance from that of drawing samples. Increase n_estimators."
        )
    return np.clip(out, 0.0, 1.0, out=out)


def products_of_samples(sampler, n_trees):
    """Inner products over rows of the centered sample counts of each pair of trees.

    The count of a row is centered by its expected value. A row of weight w stands for w
    rows that share its draws.
    """
    weight = sampler.weights
    expected = sampler.n_draws * (weight / weight.sum())
    scale = np.sqrt(weight)
    products = np.empty((n_trees, n_trees))

    def samples(first):
        counts = [sampler.counts(i) for i in range(first, min(first + TREES, n_trees))]
        return (np.array(counts) - expected) / scale

    for i in range(0, n_trees, TREES):
        batch = samples(i)
        for j in range(0, i + 1, TREES):
            others = batch if j == i else samples(j)
            product = batch @ others.T
            products[i : i + TREES, j : j + TREES] = product
            products[j : j + TREES, i : i + TREES] = product.T
    return products


def spread_of_counts(sampler):
    """Sum over rows of the variance of the number of times a row is drawn."""
    share = sampler.weights / sampler.weights.sum()
    return sampler.n_draws / sampler.weights.sum() * float((1.0 - share).sum())


def jackknife(votes, products, spread):
    """Mean vote, its variance over training sets, and the variance between trees.

    The variance over training sets is corrected for the number of trees, which may
    make it negative. The last axis of the votes is that of the trees; `products` is the
    result of `products_of_samples`, `spread` that of `spread_of_counts`.
    """
    n_trees = votes.shape[-1]
    mean = votes.mean(axis=-1)
    votes = votes - mean[..., np.newaxis]
    between = np.square(votes).mean(axis=-1)
    variance = ((votes @ products) * votes).sum(axis=-1) / n_trees**2
    return mean, variance - spread * between / n_trees, between


MIN_WORK = 1 << 16  # minimum number of rows times trees per thread


class ForestPrediction(VotingForest):
    """Mixin of a forest: predictions, votes, explanations and conversion."""

    def _in_parallel(self, function, n_rows, n_trees):
        # Apply a function to slices of rows; return its results as a list. The result
        # of a row must not depend on the slices.
        work = n_rows * n_trees
        n_parts = min(effective_n_jobs(self.n_jobs), work // MIN_WORK + 1)
        if n_parts <= 1:
            return [function(slice(0, n_rows))]
        return Parallel(n_jobs=n_parts, verbose=self.verbose, require="sharedmem")(
            delayed(function)(part) for part in gen_even_slices(n_rows, n_parts)
        )

    def _mean_proba(self, rows):
        # Mean class probabilities of the trees for validated rows.
        model, X = self._model, rows.X
        out = np.zeros((X.shape[0], len(model.classes)))
        X = X if isinstance(X, np.ndarray) else X.tocsr()
        voters = model.voters(self.vote)

        def add(part):
            for block_rows, block in blocks(X[part]):  # dense blocks of rows
                voters.add(block, rows.finite, out[part][block_rows])

        self._in_parallel(add, X.shape[0], len(model.trees))
        out /= voters.total  # sum of the weights of the trees
        return out

    @reads
    def apply(self, X: TableLike) -> Indices:
        """Index of the leaf that each row reaches in each tree.

        A row whose category did not occur at a node in training stops at that node.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Rows of any type that `fit` accepts.

        Returns
        -------
        ndarray of shape (n_samples, n_trees), intp
            Leaf indices.
        """
        rows = self._rows(X)
        return np.column_stack([tree.leaves(rows) for tree in self._model.trees])

    @reads
    def hypotheses(self, X: TableLike) -> tuple[NDArray[np.int16], NDArray[Any], None]:
        """Predict rows by each tree, as a committee of hypotheses.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Rows of any type that `fit` accepts.

        Returns
        -------
        outcomes : ndarray of shape (n_trees, n_samples), int16
            Index in `classes_` of the most probable class of each tree.
        weights : ndarray of shape (n_trees,)
            Weights of the trees' votes, which sum to 1.
        groups : None
            Groups (equivalence classes) of trees: each tree is one of its own.

        See Also
        --------
        skconftree.active.EC2Sampling : Query strategy that separates the trees.
        """
        X, finite, _ = self._rows(X)
        X = X if isinstance(X, np.ndarray) else X.tocsr()
        model = self._model
        weights = model.vote_weights(self.vote)
        outcomes = np.empty((len(model.trees), X.shape[0]), dtype=np.int16)
        for of_tree, tree in zip(outcomes, model.trees, strict=True):
            voter = Voters([tree], weights=None, growing=model.grows)
            for part, block in blocks(X):
                proba = np.zeros((block.shape[0], len(model.classes)))
                voter.add(block, finite, proba)
                of_tree[part] = proba.argmax(axis=1)
        if weights is None:
            weights = np.ones(len(outcomes))
        return outcomes, weights / weights.sum(), None

    @reads
    def index_rows(self, X: TableLike) -> ForestRowIndex:
        """Create an index of the leaves of a table's rows while the forest grows.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)
            The rows. They are referenced, and must not be modified.

        Returns
        -------
        ForestRowIndex
            The index, which only routes rows again whose leaf was split.
        """
        if self._model is None:
            check_is_fitted(self)
        return ForestRowIndex(self, X)

    @reads
    def to_sklearn(self) -> Estimator:
        """Convert the forest to a scikit-learn classifier.

        The result can be used with any tool for scikit-learn's forests, for example to
        export or explain them.

        Returns
        -------
        sklearn.ensemble.RandomForestClassifier or sklearn.pipeline.Pipeline
            Fitted classifier. After `fit`, its `predict_proba` with one job equals that
            of this forest bit for bit. If there are categorical columns, it is a
            pipeline of encoders and a ``RandomForestClassifier``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = ConfidenceForestClassifier(10, random_state=0).fit(X, y)
        >>> (forest.to_sklearn().predict_proba(X) == forest.predict_proba(X)).all()
        np.True_
        """
        check_is_fitted(self)
        model = self._model
        if any(tree.predicts_by_bayes for tree in model.trees):
            raise ValueError(
                "A forest whose leaves predict by naive Bayes has no counterpart in "
                "scikit-learn. Fit it with leaf_prediction='majority'."
            )
        if model.vote_weights(self.vote) is not None:
            raise ValueError(
                "A forest whose trees vote by their accuracy has no counterpart in "
                "scikit-learn. Set vote='mean'."
            )
        warn_of_missing(model.estimators)
        # `resolved`: parameters with values instead of "auto" and None
        criteria = {tree.resolved.criterion for tree in model.trees}
        parameters = {
            "max_depth": self.max_depth,
            "bootstrap": self.bootstrap,
            "random_state": model.seed,
        }
        if len(criteria) == 1 and criteria <= {"gini", "entropy"}:
            parameters["criterion"] = criteria.pop()
        return forest_to_sklearn(model.estimators, parameters)

    @reads
    def summary(self) -> str:
        """Summarize the forest as text.

        The summary lists the sizes of the trees, the columns by their share of the
        impurity decrease, the columns by the number of trees that split on them at the
        root, with the median threshold, and by the number of trees that split on them
        anywhere.

        Returns
        -------
        str
            Lines of at most 100 characters.

        See Also
        --------
        explain_text : How the trees vote on rows.
        to_tree : A single tree that approximates the forest.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceForestClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> print(ConfidenceForestClassifier(20, random_state=0).fit(X, y).summary())
        ConfidenceForestClassifier: 20 trees, 4 columns, 3 classes; bound: ...
        leaves of a tree: ...
        columns by share of the gain: petal ...
        split at the root (number of trees of 20): petal ...
        split anywhere (number of trees of 20): petal ...
        """
        check_is_fitted(self)
        return summarize(self)

    @reads
    def explain_text(self, X: TableLike) -> str:
        """Explain the predictions of rows by the votes of the trees.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Rows to explain, or a single row: an array of shape (n_features,) or a row
            of a pandas frame.

        Returns
        -------
        str
            Lines of at most 100 characters. For each row: the predicted class, its
            probability and the number of trees that predict it; the trees that
            disagree, as indices in `estimators_`, whose own `explain_text` gives
            reasons; and the columns on the paths to the leaves, by number of trees.

        See Also
        --------
        summary : The forest as a whole.
        hypotheses : The votes as an array.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceForestClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> forest = ConfidenceForestClassifier(20, random_state=0).fit(X, y)
        >>> print(forest.explain_text(X.iloc[0]))
        class 0: probability ..., predicted by 20 of 20 trees
        split on the path (number of trees of 20): petal ...
        """
        X = as_table(X)
        return explain_votes(self, X, as_dense(self._rows(X).X))

    @reads
    def to_tree(
        self,
        X: TableLike,
        y: LabelsLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        max_leaf_nodes: int | None = None,
        n_rows: int | None = 20_000,
        random_state: Seed = None,
    ) -> ConfidenceTreeClassifier:
        """Distill the forest into a single tree.

        The tree is fitted to the predicted probabilities of the forest. It is
        interpretable, and usually more accurate than a tree grown from a few labels
        alone. :func:`skconftree.tree.distill` does the same for any classifier.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Real rows, with or without labels, such as the training rows.
        y : array-like of shape (n_samples,), default=None
            Labels of the rows, None for rows without a label.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, interpreted as frequencies.
        max_leaf_nodes : int, default=None
            Maximum number of leaves. More leaves follow the forest more closely and are
            harder to read. None: as many as the default tree has, at least 16.
        n_rows : int or None, default=20_000
            Number of rows that the forest predicts for the tree. If X has fewer rows,
            synthetic rows are interpolated between them. None: the rows of X only.
        random_state : int, RandomState instance or None, default=None
            Seed of the synthetic rows.

        Returns
        -------
        ConfidenceTreeClassifier
            Fitted tree. `fidelity_` is the share of rows for which it predicts the same
            class as the forest. Its splits have no p-values, because it is fitted to
            predictions.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from skconftree import ConfidenceForestClassifier
        >>> X, y = load_wine(return_X_y=True)
        >>> forest = ConfidenceForestClassifier(random_state=0).fit(X[::4], y[::4])
        >>> tree = forest.to_tree(X, max_leaf_nodes=6, random_state=0)
        >>> tree.fidelity_ > 0.9, bool(tree.score(X, y) > 0.9)
        (True, True)
        """
        return distill(
            self,
            X,
            y,
            sample_weight=sample_weight,
            max_leaf_nodes=max_leaf_nodes,
            n_rows=n_rows,
            categorical_features=self.categorical_features,
            random_state=random_state,
        )

    @property
    @reads
    def feature_importances_(self) -> Floats:
        """Impurity-based feature importances on the training rows, see `Attributes`."""
        check_is_fitted(self)
        return self._model.feature_importances()

    @reads
    def predict_proba_interval(
        self,
        X: TableLike,
        *,
        confidence_level: float = 0.95,
        method: Literal["jackknife"] = "jackknife",
    ) -> Floats:
        """Confidence intervals of the expected class probabilities of the forest.

        The infinitesimal jackknife estimates how much probabilities vary with the
        training rows, from the differences between trees that have drawn a row more
        often and the other trees. The variance is corrected for the number of trees.
        The limits are those of a normal distribution, clipped to [0, 1].

        The intervals describe how the predictions of a forest with infinitely many
        trees vary with the training set. They are not intervals of the true
        probability, from which forests may deviate on all training sets, and not
        prediction intervals of labels.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Rows of any type that `fit` accepts.
        confidence_level : float, default=0.95
            Share of training sets, in (0, 1), for which the interval contains the
            expected probability. Larger values give wider intervals.
        method : {"jackknife"}, default="jackknife"
            How intervals are computed: by the infinitesimal jackknife.

        Returns
        -------
        ndarray of shape (n_samples, n_classes, 2)
            Lower and upper limits.

        Raises
        ------
        ValueError
            If the forest has ``bootstrap=False``, was updated by `partial_fit`, or has
            a single tree.

        Warns
        -----
        UserWarning
            If there are too few trees: of the probabilities on which trees differ, at
            least 10% have no variance left after the correction. Their limits are then
            equal.

        References
        ----------
        S. Wager, T. Hastie, B. Efron, "Confidence intervals for random forests: the
        jackknife and the infinitesimal jackknife", Journal of Machine Learning
        Research 15, 2014, section 3.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from skconftree import ConfidenceForestClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> forest = ConfidenceForestClassifier(500, random_state=0).fit(X, y)
        >>> forest.predict_proba_interval(X[[0, 3]])[:, 1].round(2)
        array([[0.  , 0.06],
               [0.  , 0.34]])
        """
        check_limits(confidence_level, method, METHODS)
        rows = self._rows(X)
        return limits_of_votes(self._model, rows, confidence_level)


MAX_TREES = 8  # maximum number of trees that are listed


def summarize(forest):
    """Summarize a forest, see `ConfidenceForestClassifier.summary`."""
    trees = [estimator.tree_ for estimator in forest.estimators_]
    n = len(trees)
    leaves = [tree.n_leaves for tree in trees]
    depth = [tree.max_depth for tree in trees]
    names = _names(forest)
    roots = Counter(int(tree.feature[0]) for tree in trees if tree.feature[0] >= 0)
    users = Counter()
    for tree in trees:
        users.update(np.unique(tree.feature[tree.feature >= 0]).tolist())
    lines = [
        f"{type(forest).__name__}: {_count(n, 'tree')}, "
        f"{_count(len(names), 'column')}, "
        f"{_count(len(forest.classes_), 'class', 'classes')}; bound: "
        f"{bound_name(forest)}",
        f"leaves of a tree: {_range(leaves)}; depth {_range(depth)}",
    ]
    n_stumps = leaves.count(1)
    if n_stumps:
        lines.append(f"{_count(n_stumps, 'tree')} without a split")
    if not users:
        return "\n".join(lines)
    weight = forest.feature_importances_
    order = sorted(users, key=lambda j: -weight[j])
    entries = [f"{names[j]} ({weight[j]:.2f})" for j in order]
    lines += listed("columns by share of the gain: ", entries)
    entries = [
        f"{names[j]}{_at(forest, trees, j)} ({times})"
        for j, times in roots.most_common()
    ]
    lines += listed(f"split at the root (number of trees of {n}): ", entries)
    entries = [f"{names[j]} ({times})" for j, times in users.most_common()]
    lines += listed(f"split anywhere (number of trees of {n}): ", entries)
    return "\n".join(lines)


def _at(forest, trees, feature):
    """Median threshold of the trees' root splits on a numeric feature, as text."""
    thresholds = [
        float(tree.threshold[0])
        for tree in trees
        if tree.feature[0] == feature and not tree.is_nominal[0]
    ]
    threshold = np.median(thresholds).item() if thresholds else np.inf
    if not np.isfinite(threshold):  # splits on categories or on missing values
        return ""
    # `dates` marks columns of dates, whose thresholds are written as dates
    dates = forest.estimators_[0]._model.schema.dates
    return f" at about {format_value(threshold, dates, feature, decimals=3)}"


def explain_votes(forest, X, rows):
    """Explain the votes on rows, see `ConfidenceForestClassifier.explain_text`."""
    proba = forest.predict_proba(X)
    votes, _, _ = forest.hypotheses(X)
    trees = [estimator.tree_ for estimator in forest.estimators_]
    paths = [tree.path(tree.apply(rows)) for tree in trees]
    shown = [
        _row(forest, proba[row], votes[:, row], trees, paths, row)
        for row in range(len(proba))
    ]
    if len(shown) > 1:
        shown = [[f"row {row}", *lines] for row, lines in enumerate(shown)]
    return "\n\n".join("\n".join(lines) for lines in shown)


def _row(forest, proba, votes, trees, paths, row):
    # Lines about one row: its probabilities, the class that each tree predicts, and the
    # nodes on its path in each tree.
    n, best = len(votes), int(proba.argmax())
    labels = [shortened(str(label), 40) for label in forest.classes_.tolist()]
    agree = np.count_nonzero(votes == best)
    lines = [
        f"class {labels[best]}: probability {proba[best]:.2f}, predicted by {agree} "
        f"of {_count(n, 'tree')}"
    ]
    for code, times in Counter(votes.tolist()).most_common():
        if code != best:
            disagreeing = np.flatnonzero(votes == code).tolist()
            more = ", ..." if times > MAX_TREES else ""
            shown = ", ".join(map(str, disagreeing[:MAX_TREES])) + more
            voters = "tree predicts" if times == 1 else "trees predict"
            lines.append(f"  {times} {voters} {labels[code]}: {shown}")
    names, n_trees_using, splits = _names(forest), Counter(), Counter()
    for tree, path in zip(trees, paths, strict=True):
        nodes = path.indices[path.indptr[row] : path.indptr[row + 1]]
        feature = tree.feature[nodes]
        n_trees_using.update(set(feature[feature >= 0].tolist()))
        splits.update(feature[feature >= 0].tolist())
    if not n_trees_using:
        return [*lines, "no tree has a split"]
    order = sorted(n_trees_using, key=lambda j: (-n_trees_using[j], -splits[j], j))
    entries = [f"{names[j]} ({n_trees_using[j]})" for j in order]
    return lines + listed(f"split on the path (number of trees of {n}): ", entries)


def _names(forest):
    known = getattr(forest, "feature_names_in_", None)
    if known is None:
        return [f"x{j}" for j in range(forest.n_features_in_)]
    return [shortened(str(name), 30) for name in known]


def _range(values):
    low, high = min(values), max(values)
    if low == high:
        return f"{low}"
    return f"{low} to {high}, median {np.median(values).item():g}"


def _count(n, noun, plural=None):
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"
