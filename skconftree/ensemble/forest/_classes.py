"""The confidence forest estimator."""

import copy
import warnings
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
from ...bounds._registry import BOUNDS
from ...tables._content_order import ContentOrder
from ...tables._reading import is_finite, read_more, read_rows, read_table
from ...tables._sparse import take_rows
from ...tables._weights import resolve_class_weight, rows_with_weight
from ...tree._parameters import CONSTRAINTS
from ...tree._training import TrainingTable, leave_out
from ...tree.nodes._tree_state import MAX_CLASSES
from ...utils import (
    canonical,
    check_labels,
    exact_labels,
    unchanged_on_error,
    warn_of_floats,
)
from ...utils._lock import Lockable, learns, reads
from .._bootstrap import tree_seed
from ._growing import NewTree, SampleOf, grow_trees, make_plans
from ._limits import ForestLimits
from ._online import ForestGrowth
from ._out_of_bag import out_of_bag_proba, score_out_of_bag
from ._prediction import ForestPrediction
from ._sampling import Sampler, number_of_draws, rows_at
from ._state import check_forest
from ._templates import TREE_PARAMETERS, ForestTemplates, make_tree


class ConfidenceForestClassifier(
    ForestTemplates,
    ForestPrediction,
    ForestLimits,
    ForestGrowth,
    Lockable,
    ClassifierMixin,
    BaseEstimator,
):
    """A forest of confidence trees.

    Each tree is a :class:`~skconftree.ConfidenceTreeClassifier` grown on a sample of
    the rows, drawn with replacement, and looks for the best test of a node among a few
    features drawn anew at every node. The forest predicts the mean of the class
    probabilities of its trees.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    bound : str, bound object, None or list of these, default="gtest"
        What decides whether a node splits, as in
        :class:`~skconftree.ConfidenceTreeClassifier`. Trees take turns with those of
        a list.
    criterion, delta, splitter : object
        How tests are found and judged, as in
        :class:`~skconftree.ConfidenceTreeClassifier`.
    max_depth, min_samples_split, min_samples_leaf : object
        Limits of the size of each tree and its nodes, as there. Fractions are of the
        weight of a tree's sample.
    min_weight_fraction_leaf : float, default=0.0
        As there.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Number of features examined at a node, drawn among those that vary in it.
        A float is a fraction; None means all. On a stream a leaf draws as many for its
        life, whether they vary or not, and remembers these alone.
    max_leaf_nodes, min_impurity_decrease : object
        Further limits of each tree, as in
        :class:`~skconftree.ConfidenceTreeClassifier`.
    pruning : str or None, default=None
        As there; each tree is pruned by its own sample.
    pruning_confidence : float or None, default=None
        As there.
    shrinkage : float or "auto", default=0.0
        As there, in each tree. A forest is smooth by the mean of its trees.
    categorical_features, nominal_splits : object
        What columns are, as there.
    grace_period, tie_threshold, leaf_memory : object
        When each tree decides and what it remembers, as there.
    max_bytes : int or None, default=None
        Memory that `partial_fit` may use, by `n_bytes_`, in equal parts for the trees:
        at least 65536 for each.
    leaf_prediction : {"auto", "majority", "nb", "nba"}, default="auto"
        How leaves predict, as in :class:`~skconftree.ConfidenceTreeClassifier`.
    drift : {"ddm", "adwin", "hddm_a", "hddm_w", "kswin", "page_hinkley"}, detector \
            object or None, default=None
        What watches the errors of each tree in `partial_fit`. A drift replaces a
        single tree.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Weights of the classes. ``"balanced_subsample"`` balances the sample of each
        tree by itself.
    sample_weight_kind : {"frequency", "relative"}, default="frequency"
        What the `sample_weight` of `fit` is, as in
        :class:`~skconftree.ConfidenceTreeClassifier`.
    bootstrap : bool, default=True
        Whether each tree sees a sample of its own, or all rows.
    max_samples : int, float or None, default=None
        Number of rows drawn by `fit` for each tree; a float is a share of the total
        weight. None means as many as the weights sum up to. Needs `bootstrap`.
    count_repeats : bool, default=True
        Whether, in `fit`, a bound counts a row drawn twice as two. A repeat is no new
        evidence: if False, the bound is told the weight of the distinct rows of a node,
        in the proportions of the sample. Without `bootstrap` no row is drawn twice.
    online_rate : float, default=1.0
        How often a tree learns a row in `partial_fit`, on average, at most 100. Larger
        numbers make trees learn faster and differ less. Needs `bootstrap`.
    vote : {"mean", "accuracy"}, default="mean"
        Whether the trees' votes count alike, or after `partial_fit` by the accuracy
        of each tree on late rows, before it learnt them.
    oob_score : bool or callable, default=False
        Whether `fit` predicts each row by the trees that have not seen it, and scores
        these predictions: by their accuracy, or by a function of labels and predicted
        labels. Needs `bootstrap`.
    warm_start : bool, default=False
        Whether `fit` keeps the trees there are and grows those that are missing.
    n_jobs : int or None, default=None
        Threads of `fit` and of predictions, as of joblib: None is one unless a
        ``joblib.parallel_config`` says otherwise, -1 all processors.
    verbose : int, default=0
        Progress, as of joblib; above 1 each tree as well.
    random_state : int, RandomState instance or None, default=None
        Seed of samples and of drawn features and cuts.

    Attributes
    ----------
    estimators_ : list of ConfidenceTreeClassifier
        The trees. Each is what `fit` gives with its parameters on the rows of its
        sample, if repeats count.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_classes_ : int
        Number of classes.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `X` had string column names.
    is_categorical_ : ndarray of shape (`n_features_in_`,), bool, or None
        Which columns are nominal; None if none is.
    categories_ : list or None
        Categories of each nominal column, as of the tree.
    max_features_ : int
        The resolved value of `max_features`.
    bound_ : bound object, None or list
        The resolved bound, or the list of them.
    criterion_ : str or list of str
        The resolved criterion, or that of each bound.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Class probabilities by the trees that have not seen a row; NaN for a row that
        all have seen, or that has no weight. Only with `oob_score`.
    oob_score_ : float
        Score of these predictions. Only with `oob_score`.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        Mean over the trees of the share of each feature in the decrease of impurity.
    n_rows_seen_ : int
        Number of rows learnt.
    n_drifts_ : int
        Drifts found in all trees.
    n_bytes_ : int
        Bytes that the trees take.

    See Also
    --------
    ConfidenceTreeClassifier : A single tree.
    sklearn.ensemble.RandomForestClassifier : What `to_sklearn` gives.

    Notes
    -----
    **What a sample depends on.** Equal rows with equal labels are drawn as one. All of
    them are put in the order of a hash of what they hold, their weights add up along
    it, and draw j of tree t, a random number keyed by (seed, t, j), falls into that
    sum. So a forest does not depend on the order of the rows, weight k is k copies
    of a row, and weight 0 its absence. The first ten trees of a forest of 100 are the
    forest of ten.

    Rows of `X_pool` are in every sample, once.

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ConfidenceForestClassifier(20, oob_score=True, random_state=0)
    >>> forest.fit(X, y).predict(X[:2])
    array([0, 0])
    >>> forest.oob_score_ > 0.9
    True
    """

    _parameter_constraints: dict = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        **{
            name: allowed
            for name, allowed in CONSTRAINTS.items()
            if name in TREE_PARAMETERS
        },
        "bound": [str, BaseBound, list, tuple, None],
        "class_weight": [
            dict,
            StrOptions({"balanced", "balanced_subsample"}),
            None,
        ],
        "bootstrap": ["boolean"],
        "max_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
            None,
        ],
        "count_repeats": ["boolean"],
        "online_rate": [Interval(Real, 0.0, 100.0, closed="right")],
        "vote": [StrOptions({"mean", "accuracy"})],
        "oob_score": ["boolean", callable],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        bound="gtest",
        criterion=None,
        delta=None,
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features="sqrt",
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        pruning=None,
        pruning_confidence=None,
        shrinkage=0.0,
        categorical_features="from_dtype",
        nominal_splits="auto",
        grace_period=100,
        tie_threshold=0.0,
        leaf_memory="auto",
        max_bytes=None,
        leaf_prediction="auto",
        drift=None,
        class_weight=None,
        sample_weight_kind="frequency",
        bootstrap=True,
        max_samples=None,
        count_repeats=True,
        online_rate=1.0,
        vote="mean",
        oob_score=False,
        warm_start=False,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.bound = bound
        self.criterion = criterion
        self.delta = delta
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.pruning = pruning
        self.pruning_confidence = pruning_confidence
        self.shrinkage = shrinkage
        self.categorical_features = categorical_features
        self.nominal_splits = nominal_splits
        self.grace_period = grace_period
        self.tie_threshold = tie_threshold
        self.leaf_memory = leaf_memory
        self.max_bytes = max_bytes
        self.leaf_prediction = leaf_prediction
        self.drift = drift
        self.class_weight = class_weight
        self.sample_weight_kind = sample_weight_kind
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.count_repeats = count_repeats
        self.online_rate = online_rate
        self.vote = vote
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    _features = None  # what is known of the columns, unless all are numeric
    _sampler = None  # what has drawn the samples of `fit`

    # -- fitting ------------------------------------------------------------------

    def _validate_params(self):
        validate_parameters(self)

    @_fit_context(prefer_skip_nested_validation=True)
    @learns
    def fit(self, X, y, sample_weight=None, *, X_pool=None):
        """Grow the trees from a table.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Training rows; numeric columns are converted to float32. Sparse ones in
            CSR or CSC format, without NaN.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, see `sample_weight_kind`. Rows of weight 0 are left
            out.
        X_pool : array-like, sparse or frame of shape (n_pool, n_features), default=None
            Rows without label, for bounds that weigh a child by all rows that fall
            into it.

        Returns
        -------
        ConfidenceForestClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid; the estimator is then as it was
            before the call.
        """
        with unchanged_on_error(self) as unchanged:
            self._lock.undo = unchanged.restore
            kept = self._trees_to_keep()
            templates = self._make_templates()
            given = y
            if kept:
                X, y, features = self._read_again(X, exact_labels(y))
            else:
                X, y, features = read_table(
                    self,
                    X,
                    exact_labels(y),
                    categorical_features=self.categorical_features,
                    in_order=False,
                    stacklevel=3,
                )
            check_labels(y, given)
            n_given = len(y)
            X, places, weight = rows_with_weight(
                X,
                np.arange(n_given),
                sample_weight,
                self.sample_weight_kind,
                stacklevel=3,
            )
            relative = weight is not None and self.sample_weight_kind == "relative"
            y = self._encode_classes(y[places], kept)
            class_weight = resolve_class_weight(
                templates[0].class_weight, self.classes_, y, weight
            )
            if class_weight is not None and not class_weight.all():
                counted = class_weight[y] > 0.0
                X, y, places = take_rows(X, counted), y[counted], places[counted]
                weight = None if weight is None else weight[counted]
                if not len(y):
                    raise ValueError(
                        "class_weight leaves no row with a positive weight."
                    )
            if features is not None:
                features = self._settle(X, features, len(y) < n_given, weight, kept)
            if X_pool is not None:
                X_pool, _ = read_rows(self, X_pool, features)
            if not kept:
                seed = check_random_state(self.random_state).randint(2**31 - 1)
                self._seed = int(seed)
            self._features = features
            table = TrainingTable(
                X, y, weight, relative, X_pool, features, self.classes_, class_weight
            )
            names = getattr(self, "feature_names_in_", range(self.n_features_in_))
            left_out = leave_out(table, names, stacklevel=3)
            order = None
            if self.bootstrap or weight is None or (weight == np.rint(weight)).all():
                order = ContentOrder(X, y, weight)
            sampler, rows, total = self._make_sampler(order, X, y, weight)
            for template in templates:
                self._complete(template)
            table = table._replace(X=rows[0], y=rows[1], weight=rows[2])
            plans = make_plans(
                templates,
                table,
                (total, relative and sampler is None),
                left_out,
                self.count_repeats,
            )
            self._describe(templates[0])
            new_trees = [
                NewTree(index, tree_seed(self._seed, index), plans[index % len(plans)])
                for index in range(len(kept), self.n_estimators)
            ]
            grown = grow_trees(
                sampler,
                new_trees,
                by_sample=self.class_weight == "balanced_subsample",
                n_jobs=self.n_jobs,
                verbose=self.verbose,
            )
            self.estimators_ = kept + [
                make_tree(templates[one.index % len(templates)], one.seed, tree)
                for one, tree in zip(new_trees, grown, strict=True)
            ]
            self.n_rows_seen_ = len(y)
            self._sampler = sampler
            vars(self).pop("_records", None)
            for one in new_trees:
                tree = self.estimators_[one.index]
                tree._grower = tree._keep_rows(
                    tree.tree_, SampleOf(table, sampler, one.index)
                )
            self._score_out_of_bag(order, sampler, rows[0], y, weight, places, n_given)
        return self

    def _read_again(self, X, y):
        # Further trees see the same columns, with the codes that the first ones know.
        X, y, features, _ = read_more(self, X, y, self._features)
        return X, y, features

    def _settle(self, X, features, fewer, weight, kept):
        # Rows that have been left out are absent.
        learnt = slice(None) if fewer else None
        known = self._features if kept else None
        features = features.settled(X, known, learnt, weight, in_order=bool(kept))
        if kept and features is not known:
            raise ValueError(
                "X has categories that were not there when the first trees were "
                "grown. With warm_start=True all trees are grown from the same rows."
            )
        return features

    def _encode_classes(self, y, kept):
        classes, y = np.unique(y, return_inverse=True)
        if kept and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"y has the classes {classes!r}, and the trees there are know "
                f"{self.classes_!r}. With warm_start=True they must be the same."
            )
        self.classes_ = classes
        warn_of_floats(classes, stacklevel=4)
        self.n_classes_ = len(classes)
        if self.n_classes_ > MAX_CLASSES:
            raise ValueError(
                f"y has {self.n_classes_} classes; at most {MAX_CLASSES} are supported."
            )
        return y.astype(np.uint16)

    def _make_sampler(self, order, X, y, weight):
        # The sampler; the rows that it draws from, in an order that does not depend on
        # theirs, with the weights that trees see; the weight of a sample.
        if not self.bootstrap:
            total = float(len(y)) if weight is None else float(weight.sum())
            if order is not None:
                X, y = rows_at(X, order.places), y[order.places]
                weight = None if weight is None else weight[order.places]
            return None, (X, y, weight), total
        n_draws = number_of_draws(self.max_samples, order.total)
        first = order.places[order.starts]
        sampler = Sampler(order.ends, n_draws, self._seed)
        return sampler, (rows_at(X, first), y[first], None), float(n_draws)

    def _score_out_of_bag(self, order, sampler, X, y, weight, places, n_given):
        for name in ("oob_score_", "oob_decision_function_"):
            vars(self).pop(name, None)
        if not self.oob_score:
            return
        proba = out_of_bag_proba(self, X, is_finite(X, self), sampler)
        proba = proba[order.group_of_rows()]
        unknown = np.isnan(proba[:, 0])
        if unknown.any():
            warnings.warn(
                f"{np.count_nonzero(unknown)} of {len(y)} rows are in the samples of "
                "all trees and have no out-of-bag prediction. Grow more trees.",
                UserWarning,
                stacklevel=4,
            )
        self.oob_decision_function_ = np.full((n_given, self.n_classes_), np.nan)
        self.oob_decision_function_[places] = proba
        self.oob_score_ = score_out_of_bag(
            proba, y, weight, self.classes_, self.oob_score
        )

    # -- the forest ---------------------------------------------------------------

    @property
    @reads
    def categories_(self):
        """Categories of the nominal columns."""
        check_is_fitted(self)
        features = getattr(self, "_features", None)
        return None if features is None else features.categories

    @property
    @reads
    def n_drifts_(self):
        """Drifts found in all trees, each of which replaced one."""
        check_is_fitted(self)
        return sum(tree.n_drifts_ for tree in self.estimators_)

    @property
    @reads
    def n_bytes_(self):
        """Bytes that the trees and the memories of their leaves take."""
        check_is_fitted(self)
        return sum(tree.n_bytes_ for tree in self.estimators_)

    @reads
    def __getstate__(self):
        state = dict(super().__getstate__())
        if "estimators_" in state:
            # what grows is written later, or lives on in a copy: it is of this moment
            state["estimators_"] = [
                tree if tree._grower is None else copy.copy(tree)
                for tree in self.estimators_
            ]
        if "_records" in state:
            state["_records"] = self._records.copy()
        return canonical(state)

    def __setstate__(self, state):
        super().__setstate__(state)
        check_forest(self)
        # what the trees share, they share again
        for name in ("classes_", "is_categorical_") if "estimators_" in state else ():
            if isinstance(getattr(self, name, None), np.ndarray):
                shared = canonical(getattr(self, name))
                for one in (self, *self.estimators_):
                    setattr(one, name, shared)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        bounds = self.bound if isinstance(self.bound, list | tuple) else [self.bound]
        bounds = [BOUNDS.get(one) if isinstance(one, str) else one for one in bounds]
        tags.classifier_tags.poor_score = any(
            getattr(one, "cautious", False) for one in bounds
        )
        return tags
