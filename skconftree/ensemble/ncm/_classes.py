"""The NCM tree estimator."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Literal, Self

import numpy as np
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
from ...tables._partial_fit import Call
from ...tables._row_hashes import Rows
from ...tree._model import TreePrediction
from ...utils._fitted import ModelClassifier, fitted
from ...utils._lock import learns
from ...utils._parameter_names import suggests_parameters
from ...utils._types import LabelsLike, Seed, TableLike
from ._model import NCMTreeModel, Samples, read_numbers, resolve_plan, seed_of_update

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


class NCMEstimator(ModelClassifier):
    """What NCM trees and forests share: how they learn and read rows.

    A subclass has `_start`, which makes a model of the first rows, `_updated`, which
    makes one of a model and further rows, and the class of its models, `_kind`.
    """

    bound_ = fitted("bound", "The resolved bound.")
    criterion_ = fitted("criterion", "The resolved criterion.")
    n_updates_ = fitted("n_updates", "Calls of `partial_fit` since the first.")

    def _validate_params(self):
        validate_parameters(self)

    @_fit_context(prefer_skip_nested_validation=True)
    @learns
    def fit(self, X: TableLike, y: LabelsLike) -> Self:
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
        call = self._read(X, y, None)
        self._model = self._start(resolve_plan(self), call)
        return self

    @learns
    def partial_fit(self, X: TableLike, y: LabelsLike, classes: object = None) -> Self:
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
        self._validate_params()
        model = self._model
        call, plan = self._read(X, y, model), resolve_plan(self)
        if model is None:
            self._model = self._start(plan, call)
        else:
            self._model = self._updated(plan, call, model)
        return self

    def _read(self, X, y, model):
        caller = type(self).__name__
        X, schema = read_numbers(X, None if model is None else model.schema, caller)
        labels = read_classes(y, X, caller)
        if model is None:
            classes = Classes.listed(labels)
        else:
            classes = model.classes.more(labels)
        most = self.max_stored_samples
        if most is not None and most < len(classes):
            raise ValueError(
                f"max_stored_samples must be at least the number of classes, "
                f"{len(classes)}, so that each keeps a row. Got {most!r}."
            )
        return Call(Rows(X, True, schema), classes.codes(labels), classes)

    def _rows(self, X):
        check_is_fitted(self)
        return read_numbers(X, self._model.schema, type(self).__name__)[0]


@suggests_parameters()
class NCMTreeClassifier(TreePrediction, NCMEstimator):
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
        criterion: str | None = None,
        bound: str | BaseBound | None = None,
        delta: float | None = None,
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_classes: float | Literal["sqrt"] | None = "sqrt",
        n_assignments: int = 256,
        update: Literal["rlp", "rrn"] = "rlp",
        max_stored_samples: int | None = None,
        random_state: Seed = None,
    ) -> None:
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

    _kind = NCMTreeModel
    tree_ = fitted("tree", "The nodes as read-only arrays.")

    def _start(self, plan, call):
        seed, kept, n_classes = self._draw_seed(), None, len(call.classes)
        samples = Samples.of(call.rows.X, call.labels, n_classes, seed)
        if self.update == "rrn":
            kept = samples = samples.taken(samples.to_keep(self.max_stored_samples))
        return NCMTreeModel(
            call.rows.schema,
            call.classes,
            plan.settings.bound,
            plan.settings.criterion,
            seed,
            kept,
            len(call.labels),
            0,
            _grown(plan, samples, n_classes, seed),
        )

    def _updated(self, plan, call, model):
        n_classes, samples = len(call.classes), model.samples
        places = call.classes.indices_of(model.classes)
        if self.update == "rrn":
            if samples is None:
                raise ValueError(
                    "update='rrn' grows the tree again from all rows, which only a "
                    "tree keeps that was fitted with it. Fit it again."
                )
            more = Samples.of(
                call.rows.X, call.labels, n_classes, model.seed, model.n_rows_seen
            )
            samples = samples.with_classes(n_classes, places).joined(more)
            samples = samples.taken(samples.to_keep(self.max_stored_samples))
            seed = seed_of_update(model.seed, model.n_updates + 1)
            tree = _grown(plan, samples, n_classes, seed)
        else:
            tree = model.tree.recounted(
                n_classes,
                places,
                model.tree.leaves_of(call.rows.X),
                call.labels,
                None,
                plan.criterion(n_classes),
                True,
            )
            samples = None  # it cannot be grown again from rows that were not kept
        return replace(
            model,
            classes=call.classes,
            bound=plan.settings.bound,
            criterion=plan.settings.criterion,
            samples=samples,
            n_rows_seen=model.n_rows_seen + len(call.labels),
            n_updates=model.n_updates + 1,
            tree=tree,
        )


def _grown(plan, samples, n_classes, seed):
    once = np.ones(len(samples.y), dtype=np.uint32)
    return plan.grow(samples.X, samples.y, once, n_classes, seed)[0]


def tree_of_model(model, parameters):
    """An estimator of a tree that a forest has, for whoever looks at it."""
    tree = NCMTreeClassifier(**parameters)
    tree._model = model
    return tree
