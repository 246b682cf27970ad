"""Predictions of a forest, and limits of its probabilities."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from ...tables._schema import as_dense
from ...tables._sparse import blocks
from ...tree._distill import distill
from ...tree._intervals import check_limits
from ...tree.nodes._row_index import find_leaves
from ...tree.reading._text import as_table
from ...tree.reading._to_sklearn import forest_to_sklearn, warn_of_missing
from ...utils._lock import reads
from ...utils._types import Estimator, Floats, Indices, LabelsLike, Seed, TableLike
from ...utils._warnings import warn
from .._base import VotingForest
from ._model import Voters
from ._row_index import ForestRowIndex
from ._summary import explain_votes, summarize

if TYPE_CHECKING:
    from ...tree._classes import ConfidenceTreeClassifier

TREES = 32  # whose samples are held at a time
ROWS = 4096  # that are predicted at a time
METHODS = ("jackknife",)


def limits_of_votes(model, rows, confidence_level):
    """Limits of the mean of the trees' votes, by the infinitesimal jackknife."""
    X, finite, _ = rows
    if model.grows:
        raise ValueError(
            "Limits by the jackknife need the samples that fit has drawn, and "
            "this forest has learnt rows by partial_fit."
        )
    if model.sampler is None:
        raise ValueError(
            "Limits by the jackknife need trees with samples of their own: fit "
            "with bootstrap=True."
        )
    n_trees = len(model.trees)
    if n_trees == 1:
        raise ValueError(
            "Limits by the jackknife need at least two trees, and n_estimators is 1."
        )
    products = products_of_samples(model.sampler, n_trees)
    share = spread_of_counts(model.sampler)
    out = np.empty((X.shape[0], len(model.classes), 2))
    n_differing = n_spent = 0
    X = X if isinstance(X, np.ndarray) else X.tocsr()
    for start in range(0, X.shape[0], ROWS):
        part = slice(start, start + ROWS)
        votes = np.stack(
            [
                one.tree.value[find_leaves(one.tree, X[part], finite)]
                for one in model.trees
            ],
            axis=-1,
        )
        mean, variance, between = jackknife(votes, products, share)
        differing = between > 0.0
        n_differing += np.count_nonzero(differing)
        n_spent += np.count_nonzero(differing & (variance <= 0.0))
        radius = ndtri(0.5 + confidence_level / 2.0) * np.sqrt(
            np.maximum(variance, 0.0)
        )
        out[part] = np.stack([mean - radius, mean + radius], axis=-1)
    if 10 * n_spent > n_differing:
        warn(
            f"{n_spent} of {n_differing} probabilities about which the trees "
            f"differ have limits without width, as {n_trees} trees are too few to "
            "tell their variance from that of drawing samples. Set n_estimators "
            "higher."
        )
    return np.clip(out, 0.0, 1.0, out=out)


def products_of_samples(sampler, n_trees):
    """Inner products of the trees' samples.

    They run over rows, of how much more often than expected each tree has drawn the
    row. A row of weight w is w rows that share what is drawn of them.
    """
    weight = sampler.weights
    expected = sampler.n_draws * (weight / weight.sum())
    scale = np.sqrt(weight)
    products = np.empty((n_trees, n_trees))

    def samples(first):
        counts = [sampler.counts(i) for i in range(first, min(first + TREES, n_trees))]
        return (np.array(counts) - expected) / scale

    for i in range(0, n_trees, TREES):
        some = samples(i)
        for j in range(0, i + 1, TREES):
            others = some if j == i else samples(j)
            found = some @ others.T
            products[i : i + TREES, j : j + TREES] = found
            products[j : j + TREES, i : i + TREES] = found.T
    return products


def spread_of_counts(sampler):
    """Sum over rows of the variance of how often one is drawn."""
    share = sampler.weights / sampler.weights.sum()
    return sampler.n_draws / sampler.weights.sum() * float((1.0 - share).sum())


def jackknife(votes, products, spread):
    """Mean of trees' votes, its variance over training sets, and that among trees.

    The variance, corrected for the number of trees, is negative where nothing is left
    of it. The last axis of the votes is that of the trees; `products` is of
    `products_of_samples`, `spread` of `spread_of_counts`.
    """
    n_trees = votes.shape[-1]
    mean = votes.mean(axis=-1)
    votes = votes - mean[..., np.newaxis]
    between = np.square(votes).mean(axis=-1)
    variance = ((votes @ products) * votes).sum(axis=-1) / n_trees**2
    return mean, variance - spread * between / n_trees, between


LEAST_WORK = 1 << 16  # rows times trees that pay for another thread


class ForestPrediction(VotingForest):
    """Mixin of a forest that says of rows what its trees do; it has no state."""

    def _in_parallel(self, function, n_rows, n_trees):
        # Apply a function to slices of rows. The result for a row is always the same,
        # so that neither their number nor the threads matter.
        work = n_rows * n_trees
        n_parts = min(effective_n_jobs(self.n_jobs), work // LEAST_WORK + 1)
        if n_parts <= 1:
            return [function(slice(0, n_rows))]
        ends = np.linspace(0, n_rows, n_parts + 1).astype(int).tolist()
        return Parallel(n_jobs=n_parts, verbose=self.verbose, require="sharedmem")(
            delayed(function)(slice(start, end)) for start, end in pairwise(ends)
        )

    def _mean_proba(self, rows):
        model, X = self._model, rows.X
        out = np.zeros((X.shape[0], len(model.classes)))
        X = X if isinstance(X, np.ndarray) else X.tocsr()
        voters = model.voters(self.vote)

        def add(part):
            for some, block in blocks(X[part]):
                voters.add(block, rows.finite, out[part][some])

        self._in_parallel(add, X.shape[0], len(model.trees))
        out /= voters.total
        return out

    @reads
    def apply(self, X: TableLike) -> Indices:
        """Index of the leaf that each row reaches in each tree.

        A row with a category that did not occur at a node in training stays there.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_trees), intp
        """
        rows = self._rows(X)
        return np.column_stack([tree.leaves(rows) for tree in self._model.trees])

    @reads
    def hypotheses(self, X: TableLike) -> tuple[NDArray[np.int16], NDArray[Any], None]:
        """Say what each tree takes rows for, as a committee that may be tested.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)

        Returns
        -------
        outcomes : ndarray of shape (n_trees, n_samples), int16
            Place in `classes_` of the class that each tree finds most probable.
        weights : ndarray of shape (n_trees,)
            Weights of the trees' votes, which sum to 1.
        groups : None
            Each tree stands for itself.

        See Also
        --------
        skconftree.active.EC2Sampling : Buys the labels that tell trees apart.
        """
        X, finite, _ = self._rows(X)
        X = X if isinstance(X, np.ndarray) else X.tocsr()
        model = self._model
        weights = model.vote_weights(self.vote)
        outcomes = np.empty((len(model.trees), X.shape[0]), dtype=np.int16)
        for one, tree in zip(outcomes, model.trees, strict=True):
            voter = Voters([tree], None, model.grows)
            for part, block in blocks(X):
                proba = np.zeros((block.shape[0], len(model.classes)))
                voter.add(block, finite, proba)
                one[part] = proba.argmax(axis=1)
        if weights is None:
            weights = np.ones(len(outcomes))
        return outcomes, weights / weights.sum(), None

    @reads
    def index_rows(self, X: TableLike) -> ForestRowIndex:
        """Keep track of the leaves of a table's rows while the forest grows.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)
            A pool of rows. It is referred to, and must not be changed.

        Returns
        -------
        ForestRowIndex
        """
        if self._model is None:
            check_is_fitted(self)
        return ForestRowIndex(self, X)

    @reads
    def to_sklearn(self) -> Estimator:
        """Copy the forest into a genuine scikit-learn classifier.

        Whatever accepts scikit-learn's forests (exporting, explaining) accepts the
        result.

        Returns
        -------
        sklearn.ensemble.RandomForestClassifier or sklearn.pipeline.Pipeline
            Fitted; its `predict_proba`, with one job, equals this forest's bit for bit
            after `fit`. A pipeline of encoders and a ``RandomForestClassifier`` if
            there are nominal columns.

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
                "scikit-learn. Use leaf_prediction='majority'."
            )
        if model.vote_weights(self.vote) is not None:
            raise ValueError(
                "A forest whose trees vote by their accuracy has no counterpart in "
                "scikit-learn. Use vote='mean'."
            )
        warn_of_missing(model.estimators)
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
        """Tell in a few lines what the forest is like.

        The sizes of its trees, the columns by their share of the gain, and by how many
        trees each is asked first, about where (the median of their cuts), and asked at
        all.

        Returns
        -------
        str
            Lines of at most 100 columns.

        See Also
        --------
        explain_text : How the trees vote on rows.
        to_tree : A single tree that answers as the forest does.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceForestClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> print(ConfidenceForestClassifier(20, random_state=0).fit(X, y).summary())
        ConfidenceForestClassifier: 20 trees, 4 columns, 3 classes; bound: ...
        leaves of a tree: ...
        columns by share of the gain: petal ...
        asked first, by how many of the 20 trees: petal ...
        asked at all, by how many of the 20 trees: petal ...
        """
        check_is_fitted(self)
        return summarize(self)

    @reads
    def explain_text(self, X: TableLike) -> str:
        """Tell in words how the trees vote on rows.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Some rows; also a single one, an array of shape (n_features,) or a row of a
            pandas frame.

        Returns
        -------
        str
            Lines of at most 100 columns: for each row its class, its probability and
            how many trees find that class most probable; which trees disagree, as
            places in `estimators_`, whose own `explain_text` says why; and the columns
            asked on the way to the leaves, by how many trees.

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
        class 0: probability ..., said by 20 of 20 trees
        asked on the way, by how many of the 20 trees: petal ...
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
        """Grow a single tree that answers as the forest does.

        It can be read, and tells what the forest has learnt from few labels better than
        a tree that is grown from these alone. See :func:`skconftree.tree.distill`,
        which does the same for any classifier.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Real rows, which need no labels: a pool, or the training rows.
        y : array-like of shape (n_samples,), default=None
            Labels of the rows, None where one is not known.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, which are frequencies.
        max_leaf_nodes : int, default=None
            Most leaves. None: as many as the default tree has, at least 16.
        n_rows : int or None, default=20_000
            How many rows to ask the forest of; a smaller X is filled up with rows that
            are made up between its own. None: the rows of X as they are.
        random_state : int, RandomState instance or None, default=None
            Draws the rows.

        Returns
        -------
        ConfidenceTreeClassifier
            Fitted, with `fidelity_`; its splits have no evidence.

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
        """Mean over the trees of the share of each feature in the fall of impurity."""
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
        """Limits of the class probabilities that such forests have on average.

        By the infinitesimal jackknife: probabilities vary with the training rows as
        far as trees that have drawn a row more often differ from the others. The
        variance is corrected for the number of trees, and the limits are those of a
        normal distribution, cut at 0 and 1.

        **What they are not.** They say how the forest's own answer would vary with
        other training rows, for infinitely many trees. They are no limits of the true
        probability, from which forests may be away on all training sets alike, and
        none of labels.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
        confidence_level : float, default=0.95
            Share of training sets, in (0, 1), for which the limits hold the mean
            answer.
        method : {"jackknife"}, default="jackknife"

        Returns
        -------
        ndarray of shape (n_samples, n_classes, 2)
            Lower and upper limits.

        Raises
        ------
        ValueError
            If the trees have no samples of their own (``bootstrap=False``), if
            they have learnt by `partial_fit`, or if there is one tree.

        Warns
        -----
        UserWarning
            If trees are too few: no variance is left after the correction in at least
            one of ten probabilities about which trees differ. Their limits are then
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
