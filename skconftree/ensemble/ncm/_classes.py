"""The nearest class mean (NCM) tree estimator.

A *plan* has the parameters of growth, with values instead of None. A *call* has the
validated arguments of `fit` or `partial_fit`. The *samples* are the stored rows with
their labels. The `schema` has the number and names of the columns, and validates later
rows. The code of a class is its index. `fitted` makes a property that reads the model,
the attribute `_model`. Methods decorated by `learns` take the lock of the estimator for
writing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from ._model import (
    NCMTreeModel,
    Samples,
    TreeUpdate,
    Update,
    read_numbers,
    resolve_plan,
    seed_of_update,
)

# Parameters of a tree, and of the trees of a forest.
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
    """Base of NCM trees and forests: fitting, updating and input validation.

    A subclass has `_start(plan, call)`, which creates a model from the first rows,
    `_updated(plan, call, model)`, which creates one from a model and further rows, and
    the class of its models, `_kind`.
    """

    bound_ = fitted("bound", "The bound (split rule) that was used.")
    criterion_ = fitted("criterion", "The criterion that was used.")
    n_updates_ = fitted("n_updates", "Number of updates by `partial_fit`.")

    def _validate_params(self):
        validate_parameters(self)

    @_fit_context(prefer_skip_nested_validation=True)
    @learns
    def fit(self, X: TableLike, y: LabelsLike) -> Self:
        """Fit to a table; a previous fit is discarded.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows of numbers without missing values; they are converted to float32.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        NCMEstimator
            The fitted estimator.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid. The estimator is then unchanged.
        """
        call = self._read(X, y, None)
        self._model = self._start(resolve_plan(self), call)
        return self

    @learns
    def partial_fit(self, X: TableLike, y: LabelsLike, classes: object = None) -> Self:
        """Update with further rows of known or new classes.

        Each call is one update, see `update`. The first call is equivalent to `fit`.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows of numbers without missing values.
        y : array-like of shape (n_samples,)
            Class labels. All rows may belong to a single class or to new classes.
        classes : object, default=None
            Ignored, because new classes may appear at any time. Present for API
            consistency.

        Returns
        -------
        NCMEstimator
            The updated estimator.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid. The estimator is then unchanged.
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
        # Validate rows and labels; `model` is None for the first rows.
        caller = type(self).__name__
        X, schema = read_numbers(X, None if model is None else model.schema, caller)
        labels = read_classes(y, X, caller)
        if model is None:
            classes = Classes.listed(labels)
        else:
            classes = model.classes.more(labels)
        max_rows = self.max_stored_samples
        if max_rows is not None and max_rows < len(classes):
            raise ValueError(
                "max_stored_samples must be at least the number of classes, "
                f"{len(classes)}, so that each has a stored row. Got {max_rows!r}."
            )
        return Call(Rows(X, finite=True, schema=schema), classes.codes(labels), classes)

    def _stored_samples(self, model):
        if model.samples is None:
            raise ValueError(
                f"update={self.update!r} needs the rows of earlier calls, which were "
                "not stored. Fit the estimator again with this update."
            )
        return model.samples

    def _rows(self, X):
        # Validate rows to predict.
        check_is_fitted(self)
        return read_numbers(X, self._model.schema, type(self).__name__)[0]


@suggests_parameters()  # in the error for an unknown parameter
@dataclass(eq=False, repr=False, kw_only=True)
class NCMTreeClassifier(TreePrediction, NCMEstimator):
    r"""Decision tree classifier with nearest class mean (NCM) splits.

    A split draws some of the classes of its node and computes their means. Each mean is
    assigned to one of two children, and a row goes to the child of the nearest mean.
    The split uses the best assignment by the criterion, if it decreases the impurity.
    Such trees learn new classes without being regrown: a row of a new class is routed
    like the classes that it resembles, and counted in its leaf.

    Use it for many classes and numeric features on a common scale, for which distances
    are meaningful. :class:`NCMForestClassifier` is more accurate.

    Parameters
    ----------
    criterion : str or None, default=None
        Impurity criterion of assignments, as in
        :class:`~skconftree.ConfidenceTreeClassifier`. None uses the criterion of the
        bound, or ``"entropy"`` without a bound.
    bound : str, bound object or None, default=None
        Split rule that decides whether a node is split: a statistical test (``"chi2"``,
        ``"gtest"``, ``"ec2"``), or a Hoeffding-type comparison with no split
        (``"hoeffding"``, ``"mcdiarmid"``, ``"derosa"``). None accepts the best
        assignment if it decreases the impurity.
    delta : float or None, default=None
        Overrides the `delta` of the bound. Smaller values give smaller trees.
    max_depth : int or None, default=None
        Maximum depth of the tree; the root has depth 0. None means no limit.
    min_samples_split : int, default=2
        Minimum number of rows of a node that may be split. Larger values give smaller
        trees.
    min_samples_leaf : int, default=1
        Minimum number of rows of a child. Larger values give smaller trees.
    max_classes : int, float, {"sqrt"} or None, default="sqrt"
        Number of classes of a node whose means are compared, at least 2. A float is a
        fraction of them, ``"sqrt"`` the square root of their number, rounded up; None
        means all. Larger values take longer.
    n_assignments : int, default=256
        Number of random assignments of means to children that are compared if a split
        has more than ten means. With up to ten means, all assignments are compared.
        Larger values take longer and give better splits.
    update : {"leaves", "igt", "rrn"}, default="leaves"
        How `partial_fit` updates the tree:

        - ``"leaves"``: the new rows are added to the class counts of the leaves. No
          rows are stored.
        - ``"igt"``: incrementally growing tree. The new rows are added to the leaves
          that they reach, and these leaves are split further by the same rule as in
          `fit`.
        - ``"rrn"``: another tree is grown from all stored rows (RRN in [2]_).
    max_stored_samples : int or None, default=None
        Maximum number of rows stored with ``update="igt"`` or ``"rrn"``, divided
        equally between the classes; at least the number of classes. The tree is grown
        from the stored rows. None stores all.
    random_state : int, RandomState instance or None, default=None
        Seed of the classes and assignments that are drawn.

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
        The bound that was used.
    criterion_ : str
        The criterion that was used.
    tree_ : NCMTree
        The nodes as read-only arrays: ``counts``, ``proba``, ``children_left``,
        ``parent``, ``evidence`` (test statistics of splits) and others, and
        ``centroids(node)``.
    n_rows_seen_ : int
        Number of rows learned.
    n_updates_ : int
        Number of calls of `partial_fit` that updated the fitted model.

    See Also
    --------
    NCMForestClassifier : A forest of such trees.
    ConfidenceTreeClassifier : A tree whose splits use single features.

    Notes
    -----
    Rows and means are float32, distances float64; if several means are equally near,
    the first class is selected. The tree does not depend on the order of the rows of a
    call.

    Each call of `partial_fit` is one update, so the division of rows into calls
    matters. Unlike with :class:`~skconftree.ConfidenceTreeClassifier`, several calls
    differ from one, because the first call determines the classes and means of the
    splits. With ``update="leaves"``, the division of later rows does not matter.

    The means of a split are computed from the labels of the same rows by which the
    bound tests the split. The test is therefore optimistic: use a bound to obtain
    smaller trees, but do not interpret the p-value of a split as its error probability.

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

    _parameter_constraints = {
        **GROWTH_CONSTRAINTS,
        "update": [StrOptions({"leaves", "igt", "rrn"})],
    }

    criterion: str | None = None
    bound: str | BaseBound | None = None
    delta: float | None = None
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    max_classes: float | Literal["sqrt"] | None = "sqrt"
    n_assignments: int = 256
    update: Literal["leaves", "igt", "rrn"] = "leaves"
    max_stored_samples: int | None = None
    random_state: Seed = None

    _kind = NCMTreeModel
    tree_ = fitted("tree", "The nodes as read-only arrays.")

    def _start(self, plan, call):
        seed, retained, n_classes = self._draw_seed(), None, len(call.classes)
        samples = Samples.of(call.rows.X, call.labels, n_classes, seed)
        if self.update != "leaves":
            retained = samples = samples.restricted_to(
                samples.select_retained(self.max_stored_samples)
            )
        return NCMTreeModel(
            call.rows.schema,
            call.classes,
            plan.settings.bound,
            plan.settings.criterion,
            seed,
            retained,
            len(call.labels),
            0,  # number of updates
            _grown(plan, samples, n_classes, seed),
        )

    def _updated(self, plan, call, model):
        n_classes, labels = len(call.classes), call.labels
        new_codes = call.classes.indices_of(model.classes)
        if self.update == "leaves":
            samples = None  # earlier rows were not stored
            # only stored rows have ranks (random numbers that select the rows to
            # retain) and `n_seen`, the number of rows of each class so far
            new = Samples(call.rows.X, labels, ranks=None, n_seen=None)
            update = Update(plan, new, n_classes, new_codes, model.seed)
            # tree 0 of a forest of one; the leaves of the rows are not known
            tree_update = TreeUpdate(0, model.tree, leaves=None)
            tree = update.with_leaf_counts(tree_update).tree
        else:
            known = self._stored_samples(model).with_classes(n_classes, new_codes)
            more = Samples.of(
                call.rows.X, labels, n_classes, model.seed, model.n_rows_seen
            )
            samples = known.concatenated(more)
            retained = samples.select_retained(self.max_stored_samples)
            samples = samples.restricted_to(retained)
            n_new = len(labels)
            if retained is not None:
                n_new = np.count_nonzero(retained[len(known.y) :])
            if self.update == "rrn":
                seed = seed_of_update(model.seed, model.n_updates + 1)
                tree = _grown(plan, samples, n_classes, seed)
            else:
                # no sample is drawn, so the seed of the update is not used
                update = Update(
                    plan, samples, n_classes, new_codes, seed=0, n_new=n_new
                )
                once = np.ones(len(samples.y), dtype=np.uint32)
                tree, _ = update.continued(
                    model.tree, leaves=None, times=once, seed=model.seed
                )
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
    # A tree from all rows, each of which counts once.
    once = np.ones(len(samples.y), dtype=np.uint32)
    return plan.grow(samples.X, samples.y, once, n_classes, seed)[0]


def tree_of_model(model, parameters):
    """Make the estimator of a tree of a forest."""
    tree = NCMTreeClassifier(**parameters)
    tree._model = model
    return tree
