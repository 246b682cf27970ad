"""The NCM tree estimator."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..._compat import (
    Interval,
    RealNotInt,
    StrOptions,
    _fit_context,
    validate_parameters,
)
from ...bounds._base import BaseBound
from ...criteria._criterion import CRITERIA
from ...tables._labels import Classes, read_classes
from ...tree._readable import TreeShape
from ...utils import canonical, class_indices, unchanged_on_error
from ...utils._lock import Lockable, learns, reads
from ._growing import resolve_plan
from ._input import read_numbers
from ._model_state import check_ncm_tree
from ._samples import Samples, seed_of_update

# Of a tree, and of the trees of a forest.
GROWTH_CONSTRAINTS = {
    "criterion": [StrOptions(set(CRITERIA)), None],
    "bound": [str, BaseBound, None],
    "delta": [Interval(Real, 0, None, closed="neither"), None],
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "min_samples_split": [Interval(Integral, 2, None, closed="left")],
    "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
    "max_classes": [
        Interval(Integral, 2, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
        StrOptions({"sqrt"}),
        None,
    ],
    "n_assignments": [Interval(Integral, 1, 2**20, closed="both")],
    "max_stored_samples": [Interval(Integral, 1, None, closed="left"), None],
    "random_state": ["random_state"],
}


class NCMEstimator(Lockable, ClassifierMixin, BaseEstimator):
    """What NCM trees and forests share: how they learn and read rows.

    A subclass has `_start`, which learns the first rows, and `_go_on`, one update.
    """

    def _validate_params(self):
        validate_parameters(self)

    @_fit_context(prefer_skip_nested_validation=True)
    @learns
    def fit(self, X, y):
        """Learn a table, whatever was learnt before.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows of numbers, none missing; they are converted to float32.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        NCMEstimator
            The fitted estimator.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid; the estimator is then as it was
            before the call.
        """
        with unchanged_on_error(self) as unchanged:
            self._lock.undo = unchanged.restore
            self._start(X, y)
        return self

    @learns
    def partial_fit(self, X, y, classes=None):
        """Learn further rows, of classes that are known or new.

        Each call is one update, see `update`. The first call does what `fit`
        does.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows of numbers, none missing.
        y : array-like of shape (n_samples,)
            Class labels; rows of a single class, or of new classes only, will do.
        classes : object, default=None
            Not used: classes may come at any time. Here for estimators that give it.

        Returns
        -------
        NCMEstimator
            The estimator itself.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid; nothing is learnt then.
        """
        with unchanged_on_error(self) as unchanged:
            self._lock.undo = unchanged.restore
            self._validate_params()
            if self.__sklearn_is_fitted__():
                self._go_on(X, y)
            else:
                self._start(X, y)
        return self

    def _make_plan(self):
        plan, self.bound_, self.criterion_ = resolve_plan(self)
        return plan

    def _read_more(self, X, y, first):
        # Rows, class indices, and the place of each class so far among those of now.
        caller = type(self).__name__
        X, schema = read_numbers(X, None if first else self._schema, caller)
        labels = read_classes(y, X, caller)
        if first:
            known, classes = None, Classes.listed(labels, stacklevel=4).names
        else:
            known = self.classes_
            classes = Classes(known).more(labels, stacklevel=4).names
        self._schema = schema
        self.n_features_in_ = schema.n_features
        vars(self).pop("feature_names_in_", None)
        if schema.names is not None:
            self.feature_names_in_ = schema.names
        if self.max_stored_samples is not None and (
            self.max_stored_samples < len(classes)
        ):
            raise ValueError(
                f"max_stored_samples must be at least the number of classes, "
                f"{len(classes)}, so that each keeps a row. Got "
                f"{self.max_stored_samples!r}."
            )
        places = np.arange(0) if first else np.searchsorted(classes, known)
        self.classes_, self.n_classes_ = classes, len(classes)
        return X, class_indices(classes, labels), places.astype(np.intp)

    def _draw_seed(self):
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _rows(self, X):
        check_is_fitted(self)
        return read_numbers(X, self._schema, type(self).__name__)[0]

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class NCMTreeClassifier(TreeShape, NCMEstimator):
    r"""A decision tree whose tests are nearest class means.

    A split draws some of the classes of its node and takes their means. Each mean has
    a side, and a row goes to the side of the mean that is nearest to it. Of the
    assignments of means to sides the best one by the criterion is taken, if it gains
    anything. Such trees learn new classes without being grown again: a row of a new
    class goes the way of the classes that it resembles, and is counted in its leaf.

    Use it for numeric features on one scale, where distances mean something, and many
    classes; :class:`NCMForestClassifier` is more accurate.

    Parameters
    ----------
    criterion : str or None, default=None
        What the sides are judged by, as of
        :class:`~skconftree.ConfidenceTreeClassifier`. None: that of the bound, or
        ``"entropy"`` without one.
    bound : str, bound object or None, default=None
        What decides whether a node splits: a test (``"chi2"``, ``"gtest"``, ``"ec2"``)
        or a race against no split (``"hoeffding"``, ``"mcdiarmid"``, ``"derosa"``).
        None: the best assignment, if it gains anything.
    delta : float or None, default=None
        Overrides the bound's own `delta`.
    max_depth : int or None, default=None
        Largest depth of a leaf; the root has 0.
    min_samples_split : int, default=2
        Fewest rows of a node that may split.
    min_samples_leaf : int, default=1
        Fewest rows of a child.
    max_classes : int, float, {"sqrt"} or None, default="sqrt"
        Number of classes of a node whose means its test compares, at least 2. A float
        is a share of them, ``"sqrt"`` the square root of their number, rounded up;
        None means all.
    n_assignments : int, default=256
        Number of assignments to sides that are drawn and compared where a test has
        more than ten means. Up to ten, all are compared.
    update : {"rlp", "rrn"}, default="rlp"
        What `partial_fit` does. ``"rlp"`` keeps nodes and means and counts the rows in
        the leaves they reach; ``"rrn"`` grows another tree from all rows, which are
        kept for that.
    max_stored_samples : int or None, default=None
        Most rows that are kept, in equal parts for the classes; not below their
        number. Only with ``update="rrn"``, and then the tree is grown from these.
        None: all.
    random_state : int, RandomState instance or None, default=None
        Seed of the drawn classes and assignments.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in ascending order; `partial_fit` may add to them.
    n_classes_ : int
        Number of classes.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `X` had string column names.
    bound_ : bound object or None
        The resolved bound.
    criterion_ : str
        The resolved criterion.
    tree_ : NCMTree
        The nodes as read-only arrays: ``counts``, ``value``, ``children_left``,
        ``parent``, ``evidence`` and others, and ``centroids(node)``.
    n_rows_seen_ : int
        Number of rows learnt.
    n_updates_ : int
        Calls of `partial_fit` since `fit`, or since the first of them.

    See Also
    --------
    NCMForestClassifier : A forest of such trees.
    ConfidenceTreeClassifier : A tree with tests of single features.

    Notes
    -----
    Rows and means are float32, distances float64; of equally near means that of the
    first class counts. The tree does not depend on the order of the rows of a call.

    Each call of `partial_fit` is one update, so it matters how rows are divided into
    calls: unlike those of a :class:`~skconftree.ConfidenceTreeClassifier`, several
    calls differ from one, as the classes and means of the tests come from the first.

    The means that a test compares come from the labels of the very rows on which the
    bound then judges it. What a bound says of such a test is therefore optimistic: use
    it to make trees smaller, not as a statement about the error of a split.

    References
    ----------
    .. [1] M. Ristin, M. Guillaumin, J. Gall, L. Van Gool, "Incremental learning of NCM
       forests for large-scale image classification", CVPR 2014.
    .. [2] T. Xie, Y. Peng, C. Wang, "hi-RF: incremental learning random forest for
       large-scale multi-class data classification", 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import NCMTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = NCMTreeClassifier(random_state=0).fit(X[:100], y[:100])
    >>> tree.classes_
    array([0, 1])
    >>> tree.partial_fit(X[100:], y[100:]).classes_
    array([0, 1, 2])
    """

    _parameter_constraints: dict = {
        **GROWTH_CONSTRAINTS,
        "update": [StrOptions({"rlp", "rrn"})],
    }

    def __init__(
        self,
        *,
        criterion=None,
        bound=None,
        delta=None,
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        max_classes="sqrt",
        n_assignments=256,
        update="rlp",
        max_stored_samples=None,
        random_state=None,
    ):
        self.criterion = criterion
        self.bound = bound
        self.delta = delta
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_classes = max_classes
        self.n_assignments = n_assignments
        self.update = update
        self.max_stored_samples = max_stored_samples
        self.random_state = random_state

    # -- learning -----------------------------------------------------------------

    def _start(self, X, y):
        plan = self._make_plan()
        X, y, _ = self._read_more(X, y, first=True)
        self._seed = self._draw_seed()
        self._samples, samples = None, Samples.of(X, y, self.n_classes_, self._seed)
        if self.update == "rrn":
            samples = samples.taken(samples.to_keep(self.max_stored_samples))
            self._samples = samples
        self.tree_ = self._grown(plan, samples, self._seed)
        self.n_rows_seen_ = len(y)
        self.n_updates_ = 0

    def _grown(self, plan, samples, seed):
        once = np.ones(len(samples.y), dtype=np.uint32)
        return plan.grow(samples.X, samples.y, once, self.n_classes_, seed)[0]

    def _go_on(self, X, y):
        plan = self._make_plan()
        X, y, places = self._read_more(X, y, first=False)
        if self.update == "rrn":
            self._grow_again(plan, X, y, places)
        else:
            self.tree_ = self.tree_.recounted(
                self.n_classes_,
                places,
                self.tree_.leaves_of(X),
                y,
                None,
                plan.criterion(self.n_classes_),
                True,
            )
        self.n_rows_seen_ += len(y)
        self.n_updates_ += 1

    def _grow_again(self, plan, X, y, places):
        if self._samples is None:
            raise ValueError(
                "update='rrn' grows the tree again from all rows, which only a tree "
                "keeps that was fitted with it. Fit it again."
            )
        more = Samples.of(X, y, self.n_classes_, self._seed, self.n_rows_seen_)
        samples = self._samples.with_classes(self.n_classes_, places).joined(more)
        samples = samples.taken(samples.to_keep(self.max_stored_samples))
        seed = seed_of_update(self._seed, self.n_updates_ + 1)
        self.tree_ = self._grown(plan, samples, seed)
        self._samples = samples

    # -- reading ------------------------------------------------------------------

    @reads
    def apply(self, X):
        """Index of the leaf that each row reaches.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), intp
        """
        rows = self._rows(X)
        return self.tree_.apply(rows)

    @reads
    def decision_path(self, X):
        """Nodes that each row passes.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        csr_matrix of shape (n_samples, n_nodes)
            1 where the row passes the node.
        """
        leaves = self.apply(X)
        return self.tree_.path(leaves)

    @reads
    def predict_proba(self, X):
        """Class proportions of the leaf that each row reaches.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        leaves = self.apply(X)
        return self.tree_.value_of(leaves)

    @reads
    def predict(self, X):
        """Most frequent class of the leaf that each row reaches.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Among equally frequent classes the first of `classes_`.
        """
        leaves = self.apply(X)
        return self.classes_.take(self.tree_.best_of(leaves))

    # -- state --------------------------------------------------------------------

    def __sklearn_is_fitted__(self):
        return "tree_" in vars(self)

    @reads
    def __getstate__(self):
        return canonical(super().__getstate__())

    def __setstate__(self, state):
        super().__setstate__(state)
        check_ncm_tree(self)
