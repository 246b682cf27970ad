"""What a forest says of rows."""

from itertools import pairwise

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from ...tables._reading import read_rows
from ...tables._sparse import blocks
from ...tree.nodes._apply import find_leaves
from ...tree.reading._to_sklearn import forest_to_sklearn, warn_of_missing
from ...utils._lock import reads
from ._row_index import ForestRowIndex
from ._voting import add_votes

LEAST_WORK = 1 << 16  # rows times trees that pay for another thread


class ForestPrediction:
    """Mixin of an estimator with `estimators_`, whose votes it adds up."""

    def _rows(self, X):
        # Numbers and codes, and whether no value is missing.
        if not hasattr(self, "estimators_"):
            check_is_fitted(self)  # raises; it takes longer than routing a row
        return read_rows(self, X, getattr(self, "_features", None))

    def _in_parallel(self, function, n_rows):
        # Apply a function to slices of rows. The result for a row is always the same,
        # so that neither their number nor the threads matter.
        work = n_rows * len(self.estimators_)
        n_parts = min(effective_n_jobs(self.n_jobs), work // LEAST_WORK + 1)
        if n_parts <= 1:
            return [function(slice(0, n_rows))]
        ends = np.linspace(0, n_rows, n_parts + 1).astype(int).tolist()
        return Parallel(n_jobs=n_parts, verbose=self.verbose, require="sharedmem")(
            delayed(function)(slice(start, end)) for start, end in pairwise(ends)
        )

    def _mean_proba(self, X, finite):
        out = np.zeros((X.shape[0], self.n_classes_))
        X = X if isinstance(X, np.ndarray) else X.tocsr()
        voters = self._voters()

        def add(rows):
            for part, block in blocks(X[rows]):
                voters.add(block, finite, out[rows][part])

        self._in_parallel(add, X.shape[0])
        out /= voters.total
        return out

    def _voters(self):
        return Voters(self.estimators_, self._vote_weights(), self._learns_on())

    @reads
    def predict_proba(self, X):
        """Mean class probabilities of the trees.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The same bits for every `n_jobs`.
        """
        return self._mean_proba(*self._rows(X))

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @reads
    def predict(self, X):
        """Most probable class of each row.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Among equally probable classes the first of `classes_`.
        """
        best = self._mean_proba(*self._rows(X)).argmax(axis=1)
        return self.classes_.take(best)

    @reads
    def apply(self, X):
        """Index of the leaf that each row reaches in each tree.

        A row with a category that did not occur at a node in training stays there.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_trees), intp
        """
        rows, finite = self._rows(X)
        return np.column_stack(
            [find_leaves(tree.tree_, rows, finite) for tree in self.estimators_]
        )

    @reads
    def hypotheses(self, X):
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
        X, finite = self._rows(X)
        X = X if isinstance(X, np.ndarray) else X.tocsr()
        growing, weights = self._learns_on(), self._vote_weights()
        outcomes = np.empty((len(self.estimators_), X.shape[0]), dtype=np.int16)
        for one, tree in zip(outcomes, self.estimators_, strict=True):
            voter = Voters([tree], None, growing)
            for part, block in blocks(X):
                proba = np.zeros((block.shape[0], self.n_classes_))
                voter.add(block, finite, proba)
                one[part] = proba.argmax(axis=1)
        if weights is None:
            weights = np.ones(len(outcomes))
        return outcomes, weights / weights.sum(), None

    @reads
    def index_rows(self, X):
        """Keep track of the leaves of a table's rows while the forest grows.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)
            A pool of rows. It is referred to, and must not be changed.

        Returns
        -------
        ForestRowIndex
        """
        if not hasattr(self, "estimators_"):
            check_is_fitted(self)
        return ForestRowIndex(self, X)

    @reads
    def decision_path(self, X):
        """Nodes that each row passes, in all trees.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            1 where the row passes the node.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            The columns of tree i are those from ``n_nodes_ptr[i]`` to
            ``n_nodes_ptr[i + 1]``.
        """
        leaves = self.apply(X)
        paths = [
            tree.tree_.path(leaves[:, i]) for i, tree in enumerate(self.estimators_)
        ]
        ends = np.cumsum([0, *(path.shape[1] for path in paths)])
        return sparse.hstack(paths, format="csr"), ends

    @reads
    def to_sklearn(self):
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
        if any(tree._predicts_by_bayes() for tree in self.estimators_):
            raise ValueError(
                "A forest whose leaves predict by naive Bayes has no counterpart in "
                "scikit-learn. Use leaf_prediction='majority'."
            )
        if self._vote_weights() is not None:
            raise ValueError(
                "A forest whose trees vote by their accuracy has no counterpart in "
                "scikit-learn. Use vote='mean'."
            )
        warn_of_missing(self.estimators_, stacklevel=2)
        criteria = {tree.criterion_ for tree in self.estimators_}
        parameters = {
            "max_depth": self.max_depth,
            "bootstrap": self.bootstrap,
            "random_state": self._seed,
        }
        if len(criteria) == 1 and criteria <= {"gini", "entropy"}:
            parameters["criterion"] = criteria.pop()
        return forest_to_sklearn(self.estimators_, parameters)

    @property
    @reads
    def feature_importances_(self):
        """Mean over the trees of the share of each feature in the fall of impurity."""
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        n_split = 0
        for tree in self.estimators_:
            if tree.tree_.node_count > 1:
                total += tree.tree_.feature_importances()
                n_split += 1
        if n_split:
            total /= n_split
        return total / total.sum() if total.any() else total


class Voters:
    """The trees of a forest as they are while somebody reads it.

    Parameters
    ----------
    estimators : list of ConfidenceTreeClassifier
    weights : ndarray of shape (n_trees,), float64, or None
        Of their votes; None: all are 1.
    growing : bool, default=False
        Whether all trees grow, so that what grows them predicts.
    """

    def __init__(self, estimators, weights=None, growing=False):
        self.estimators = estimators
        self.weights = weights
        # Neighbours that vote by their leaves do so in one go.
        self.groups = []
        for estimator in estimators:
            by_bayes = growing or estimator._predicts_by_bayes()
            if by_bayes or weights is not None:
                self.groups.append((by_bayes, [estimator]))
            elif self.groups and not self.groups[-1][0]:
                self.groups[-1][1].append(estimator)
            else:
                self.groups.append((False, [estimator]))
        self.groups = [
            (by_bayes, some, [one.tree_ for one in some], _values(by_bayes, some))
            for by_bayes, some in self.groups
        ]

    @property
    def total(self):
        """Weight of all votes."""
        return (
            len(self.estimators) if self.weights is None else sum(self.weights.tolist())
        )

    def add(self, X, finite, out):
        """Add the votes of all trees, in their order.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features), float32, C-contiguous
        finite : bool
        out : ndarray of shape (n_rows, n_classes), float64
        """
        for i, (by_bayes, some, trees, values) in enumerate(self.groups):
            if by_bayes:
                with some[0]._lock:
                    votes = some[0]._grower.predict_proba(X, finite)
            elif self.weights is None:
                add_votes(trees, values, X, finite, out)
                continue
            else:
                votes = values[0].take(trees[0].apply(X, finite), axis=0)
            if self.weights is not None:
                votes *= self.weights[i]
            out += votes


def _values(by_bayes, some):
    return None if by_bayes else [one.tree_.value for one in some]
