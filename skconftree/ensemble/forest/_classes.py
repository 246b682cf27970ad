"""The confidence forest estimator.

Its attribute `_model` is a `ForestModel`, which has the trees; `fitted` makes
properties such as `estimators_`, which are computed from it. The mixin of predictions
is `ForestPrediction`, and `GrownClassifier` has `fit`. Methods decorated by `learns`
take the lock of the forest for writing. If labels become classes, `partial_fit` divides
its rows into *runs*, each of which begins with a new class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Self

from numpy.typing import ArrayLike, NDArray
from sklearn import get_config

from ..._compat import (
    Interval,
    InvalidParameterError,
    RealNotInt,
    StrOptions,
    validate_parameters,
)
from ...bounds._base import BaseBound
from ...drift._registry import DETECTORS
from ...tables._partial_fit import learn, read_call  # `read_call` validates arguments
from ...tree._base import GrownClassifier, joined_runs
from ...tree._classes import ConfidenceTreeClassifier
from ...tree._growth import check_can_stream, check_stream
from ...tree._parameters import CONSTRAINTS, COUNTERPARTS, MIN_BYTES
from ...utils._available import available_if
from ...utils._fitted import fitted
from ...utils._lock import learns
from ...utils._parameter_names import suggests_parameters
from ...utils._types import LabelsLike, Seed, TableLike
from ._growth import ForestGrowth, make_stream_forest
from ._model import MAX_DRAWS, TREE_PARAMETERS, ForestModel, tree_parameters
from ._prediction import ForestPrediction

if TYPE_CHECKING:
    from ...criteria import BaseCriterion
    from ...drift._base import BaseDetector, LocalRepair
    from ...drift._registry import RiverDetector
    from ...tree.pruning._base import BasePruning

# Parameters that may change between calls of `partial_fit`; others are read once.
VALIDATED_BY_EVERY_CALL = {"n_jobs", "online_rate"}


# in the error for an unknown parameter; `COUNTERPARTS` has hints what to use instead
# of parameters of scikit-learn that do not exist here
@suggests_parameters(COUNTERPARTS)
@dataclass(eq=False, repr=False)
class ConfidenceForestClassifier(ForestPrediction, GrownClassifier):
    """Random forest classifier of confidence trees.

    Each tree is a :class:`~skconftree.ConfidenceTreeClassifier` grown on a bootstrap
    sample of the rows. At each node it searches for the best split among a random
    subset of the features. The forest predicts the mean of the class probabilities of
    its trees.

    Parameters apply to both `fit` and `partial_fit` unless their description begins
    with the method they are for. Those shared with
    :class:`~skconftree.ConfidenceTreeClassifier` are described there in more detail.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees. More trees make probabilities more stable and take
        proportionally longer.
    bound : str, bound object, None or list of these, default="gtest"
        Split rule that decides whether a node is split, as in
        :class:`~skconftree.ConfidenceTreeClassifier`. The bounds of a list are assigned
        to the trees in turn.
    criterion, delta, splitter : object
        How candidate splits are generated and scored, as in
        :class:`~skconftree.ConfidenceTreeClassifier`.
    max_depth, min_samples_split, min_samples_leaf : object
        Limits of the size of each tree and its nodes, as in
        :class:`~skconftree.ConfidenceTreeClassifier`. Fractions refer to the weight of
        the tree's sample.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a fraction of the weight of the tree's sample.
        Larger values give smaller trees.
    max_features : int, float, {"auto", "sqrt", "log2"} or None, default="auto"
        Number of features examined at a node, drawn from those that vary in it. A float
        is a fraction; None means all. Smaller values make the trees more different from
        each other. ``"auto"`` is ``"sqrt"`` in `fit` and all in `partial_fit`. In
        `partial_fit`, a leaf draws its features once, whether they vary or not, and
        stores statistics of these only.
    max_leaf_nodes, min_impurity_decrease : object
        Further limits of the size of each tree, as in
        :class:`~skconftree.ConfidenceTreeClassifier`.
    max_bins : int or None, default=None
        `fit` only. Maximum number of bins per numeric feature; None uses all values.
        All trees share the bins, which are computed from the whole table. Smaller
        values are faster and less accurate.
    pruning : str, pruning object or None, default=None
        `fit` only. Pruning of each tree, by its own sample, as in
        :class:`~skconftree.ConfidenceTreeClassifier`. Forests with a pruning have no
        `partial_fit`.
    ccp_alpha : float, default=0.0
        `fit` only. Cost-complexity pruning of each tree, as in
        :class:`~skconftree.ConfidenceTreeClassifier`. Larger values prune more.
    monotonic_cst : array-like of {-1, 0, 1}, dict of these by feature name, or None, \
            default=None
        `fit` only. Sign by which the probability of ``classes_[1]`` may change if only
        this feature increases, as in :class:`~skconftree.ConfidenceTreeClassifier`.
        Every tree is monotone, and so is the forest. It then has no `partial_fit`.
    shrinkage : float or "auto", default=0.0
        `fit` only. Shrinkage of leaf probabilities toward those of the parent nodes in
        each tree, as in :class:`~skconftree.ConfidenceTreeClassifier`. Larger values
        shrink more. Averaging over trees already smooths probabilities, so the default
        is 0.
    categorical_features, nominal_splits : object
        Which columns are categorical and how nodes split them, as in
        :class:`~skconftree.ConfidenceTreeClassifier`.
    grace_period : int, float or "auto", default="auto"
        `partial_fit` only. Number of rows that a leaf learns between two split
        attempts, as in :class:`~skconftree.ConfidenceTreeClassifier`. Larger values
        take less time and split later. ``"auto"`` starts at 25 rows and is at least 60
        times the leaf's share of all rows: other trees compensate for an early split,
        but less so for one at the root. With an `online_rate` above 1, by which rows
        weigh more, its limits are multiplied by that rate.
    leaf_memory : {"auto", "rows", "histogram", "gaussian"}, default="auto"
        `partial_fit` only. Which statistics the leaves of each tree store, as in
        :class:`~skconftree.ConfidenceTreeClassifier`.
    max_bytes : int or None, default=None
        `partial_fit` only. Limit of the memory, measured by `n_bytes_`, divided equally
        between the trees; at least 65536 per tree. None means no limit, with one
        warning when the forest exceeds 1 GB.
    leaf_prediction : {"auto", "majority", "nb", "nba"}, default="auto"
        How leaves predict: class frequencies, naive Bayes (``"nb"``), or the more
        accurate of them on recent rows (``"nba"``), as in
        :class:`~skconftree.ConfidenceTreeClassifier`.
    drift : {"local", "ddm", "adwin"}, detector object, LocalRepair, None or "auto", \
            default="auto"
        `partial_fit` only. Detector of concept drift that monitors the errors of each
        tree. Each tree has its own clone of a detector object, which may be a detector
        of river. When drift is detected, the tree is replaced, or with ``"local"`` a
        subtree of it. ``"auto"`` is ``"local"``. It is None with `max_bytes`, because
        the new subtrees need memory, and with a bound that weights the branches of a
        split by other rows than those of the node.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Weights of the classes. ``"balanced_subsample"`` computes balanced weights for
        each tree from its sample. Forests with ``"balanced"`` or
        ``"balanced_subsample"`` have no `partial_fit`.
    sample_weight_kind : {"auto", "frequency", "relative"}, default="auto"
        `fit` only. How `sample_weight` is interpreted, as in
        :class:`~skconftree.ConfidenceTreeClassifier`.
    bootstrap : bool, default=True
        Whether each tree is grown on a bootstrap sample. If False, each is grown on all
        rows.
    max_samples : int, float or None, default=None
        `fit` only. Number of rows drawn for each tree; a float is a multiple of the
        total weight. None draws as many as the sum of the weights. Smaller values make
        trees smaller and more different from each other. Requires `bootstrap`.
    count_repeats : bool, default=True
        `fit` only. Whether a bound counts a row that was drawn twice as two rows.
        Repeated rows are not additional evidence: if False, the bound uses the weight
        of the distinct rows of a node, with the class proportions of the sample.
        Without `bootstrap` there are no repeated rows.
    online_rate : float, default=1.5
        `partial_fit` only. Average number of times that a tree learns each row, at most
        100. Larger values make trees learn faster and differ less. Requires
        `bootstrap`.
    vote : {"mean", "accuracy"}, default="mean"
        `partial_fit` only. Whether all trees have the same weight, or a weight that is
        the accuracy of the tree on recent rows before it learned them.
    oob_score : bool or callable, default=False
        `fit` only. Whether to compute out-of-bag predictions, their score, which is
        the accuracy or the result of a function of labels and predicted labels, and
        `unbiased_feature_importances_`. Requires `bootstrap`.
    warm_start : bool, default=False
        `fit` only. Whether to keep the existing trees and add new ones up to
        `n_estimators`.
    n_jobs : int or None, default=None
        Number of threads of `fit` and of predictions, as in joblib: None means 1
        unless in a ``joblib.parallel_config`` context, -1 means all processors.
    verbose : int, default=0
        Verbosity of joblib; values above 1 also print each tree.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples, features and thresholds that are drawn.

    Attributes
    ----------
    estimator_ : ConfidenceTreeClassifier
        The first tree as an unfitted estimator; `estimator` before `fit`.
    estimators_ : list of ConfidenceTreeClassifier
        The trees, also by ``forest[i]``, ``len(forest)`` and iteration. Without bins,
        and if repeats count, each tree equals the result of `fit` with its parameters
        on the rows of its sample.
    estimators_samples_ : list of ndarray of int32
        Indices of the rows in the sample of each tree. Only after `fit`.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_classes_ : int
        Number of classes.
    n_outputs_ : int
        1.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `X` had string column names.
    is_categorical_ : ndarray of shape (`n_features_in_`,), bool, or None
        Which columns are categorical; None if no column is.
    categories_ : list or None
        Categories of each categorical column, as in the tree.
    max_features_ : int
        The inferred value of `max_features`.
    bound_ : bound object, None or list
        The bound that was used, or the list of bounds.
    criterion_ : str, class, object or list of str
        The criterion that was used, or the criterion of each bound.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Out-of-bag class probabilities: the mean over the trees whose sample does not
        contain the row. NaN for rows of weight 0 and rows that all samples contain.
        Only with `oob_score`.
    oob_score_ : float
        Score of the out-of-bag predictions. Only with `oob_score`.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        Impurity-based feature importances: the mean over the trees of each feature's
        share of the decrease of impurity, as in scikit-learn. They are measured on the
        rows by which the splits were chosen, which causes a bias: a useless feature has
        a share above 0, and the more distinct values or categories it has, the larger.
        `unbiased_feature_importances_` does not have this bias, and
        :func:`~skconftree.inspection.feature_importance` tests on held-out rows which
        features matter.
    unbiased_feature_importances_ : ndarray of shape (`n_features_in_`,)
        Decrease of the Gini index by the splits on each feature, measured on the
        out-of-bag rows of each tree, averaged over the trees. The expected value of a
        useless feature is 0, whatever its number of values, so that about half of such
        features are negative. The values are not divided by their sum; it is
        approximately the Gini index of all rows minus that of the leaves. See Notes.
        NaN if no tree has out-of-bag rows. Only with `oob_score`.
    n_rows_seen_ : int
        Number of rows learned.
    n_drifts_ : int
        Number of drifts detected in all trees.
    drifts_ : list of NamedTuple
        Detected drifts in the order of rows: ``row``, ``node`` and ``detector`` as in
        the tree, and ``tree``, the index in `estimators_`.
    n_bytes_ : int
        Number of bytes that the trees occupy.
    n_inactive_leaves_ : int
        Number of leaves that only store class counts, because of `max_bytes`.

    See Also
    --------
    ConfidenceTreeClassifier : A single tree.
    sklearn.ensemble.RandomForestClassifier : The result of `to_sklearn`.

    Notes
    -----
    **Bootstrap samples.** Groups of equal rows with equal labels are sorted by a hash
    of their content, and their weights are accumulated in this order. Draw j of tree t
    is a random number keyed by (seed, t, j) that selects a group by these cumulative
    weights. So the forest does not depend on the order of the rows, weight k is the
    same as k copies of a row, and weight 0 the same as leaving the row out. The first
    ten trees of a forest of 100 trees are the forest of ten trees.

    Unlabeled rows (`X_pool`) are in every sample once.

    **Unbiased feature importances.** A node has the class proportions p in the sample
    of the tree and q in its out-of-bag rows. The impurity ``1 - sum(p * q)`` replaces
    the Gini index in the decrease of impurity [2]_. Children are weighted by their
    out-of-bag rows, as in [3]_. The expected decrease is then 0 for a feature that is
    independent of the class and of the other features, also for weighted rows and
    for children without out-of-bag rows. Rows whose category is unknown at a node do
    not count there. Of k equal rows with equal labels of which c are drawn,
    ``k * (1 - 1 / k) ** c`` are out-of-bag. The Gini index is used for every
    `criterion`, because other criteria have no such estimate: the cross-entropy of p
    and q, for example, is worse after a useless split, and infinite if a class is not
    in the sample.

    References
    ----------
    .. [1] L. Breiman, "Random forests", Machine Learning 45, 2001.
    .. [2] Z. Zhou, G. Hooker, "Unbiased measurement of feature importance in tree-based
       methods", ACM Transactions on Knowledge Discovery from Data 15, 2021.
    .. [3] X. Li, Y. Wang, S. Basu, K. Kumbier, B. Yu, "A debiased MDI feature
       importance measure for random forests", NeurIPS 2019.

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

    _parameter_constraints = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        **{
            name: allowed
            for name, allowed in CONSTRAINTS.items()
            if name in TREE_PARAMETERS
        },
        "bound": [str, BaseBound, list, tuple, None],
        # the first constraint of trees has the names, without "auto"
        "drift": [StrOptions({"auto", "local", *DETECTORS}), *CONSTRAINTS["drift"][1:]],
        "class_weight": [dict, StrOptions({"balanced", "balanced_subsample"}), None],
        "bootstrap": ["boolean"],
        "max_samples": [
            Interval(Integral, 1, None, closed="left"),
            # MAX_DRAWS: maximum number of rows that are drawn for each tree
            Interval(RealNotInt, 0.0, float(MAX_DRAWS), closed="right"),
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

    n_estimators: int = 100
    _: KW_ONLY
    bound: str | BaseBound | Sequence[Any] | None = "gtest"
    criterion: str | type[Any] | BaseCriterion | None = None
    delta: float | None = None
    splitter: Literal["best", "random"] = "best"
    max_depth: int | None = None
    min_samples_split: float = 2
    min_samples_leaf: float = 1
    min_weight_fraction_leaf: float = 0.0
    max_features: float | Literal["auto", "sqrt", "log2"] | None = "auto"
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    max_bins: int | None = None
    pruning: str | BasePruning | None = None
    ccp_alpha: float = 0.0
    monotonic_cst: ArrayLike | dict[str, int] | None = None
    shrinkage: float | Literal["auto"] = 0.0
    categorical_features: ArrayLike | None = "from_dtype"
    nominal_splits: Literal["auto", "binary", "multiway"] = "auto"
    grace_period: float | Literal["auto"] = "auto"
    leaf_memory: Literal["auto", "rows", "histogram", "gaussian"] = "auto"
    max_bytes: int | None = None
    leaf_prediction: Literal["auto", "majority", "nb", "nba"] = "auto"
    drift: str | BaseDetector | RiverDetector | LocalRepair | None = "auto"
    class_weight: (
        dict[Any, Any] | Literal["balanced"] | Literal["balanced_subsample"] | None
    ) = None
    sample_weight_kind: Literal["auto", "frequency", "relative"] = "auto"
    bootstrap: bool = True
    max_samples: float | None = None
    count_repeats: bool = True
    online_rate: float = 1.5
    vote: Literal["mean", "accuracy"] = "mean"
    oob_score: bool | Callable[..., Any] = False
    warm_start: bool = False
    n_jobs: int | None = None
    verbose: int = 0
    random_state: Seed = None

    _kind = ForestModel  # class of `_model`

    estimator_ = fitted("template", "The first tree as an unfitted estimator.")
    estimators_ = fitted("estimators", "The trees.")
    estimators_samples_ = fitted("samples", "Rows in the sample of each tree.")
    max_features_ = fitted("max_features", "The inferred value of `max_features`.")
    bound_ = fitted("bound", "The bound that was used, or the list of bounds.")
    criterion_ = fitted("criterion", "The criterion, or the criterion of each bound.")
    # `known_oob`: out-of-bag results, or an error if there are none
    oob_decision_function_ = fitted("known_oob.proba", "Out-of-bag probabilities.")
    oob_score_ = fitted("known_oob.score", "Score of the out-of-bag predictions.")
    unbiased_feature_importances_ = fitted(
        "unbiased_importances", "Feature importances on out-of-bag rows."
    )

    @property
    def estimator(self) -> ConfidenceTreeClassifier:
        """An unfitted tree with the parameters of the forest."""
        # `tree_parameters` has a dict of parameters for each bound
        return ConfidenceTreeClassifier(**tree_parameters(self)[0])

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: Any) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[ConfidenceTreeClassifier]:
        return iter(self.estimators_)

    def _growth(self):
        # What `fit` uses to grow a model from a table.
        return ForestGrowth.of(self)

    # not available if a parameter, such as `pruning`, is incompatible with the method
    @available_if(check_can_stream)
    def partial_fit(
        self,
        X: TableLike,
        y: LabelsLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_pool: TableLike | None = None,
        new_classes: Literal["error", "add"] = "error",
    ) -> Self:
        """Update the forest with further rows (online bagging).

        Each tree learns a row with a Poisson weight of mean `online_rate`; weight 0
        skips the row, and without `bootstrap` all weights are 1. The weights are keyed
        by the tree and the number of rows learned before. So the forest does not depend
        on how a stream is divided into calls; it is the same bit for bit. After `fit`,
        the leaves of the fitted trees continue to grow. The growth parameters of the
        first call are used in all calls.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Rows in the order of their arrival; numeric columns are converted to
            float32. The first call determines which columns are categorical; later
            calls may contain new categories.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur, now or later. Required on the first call, unless
            the forest is already fitted, which determines them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, which are multiplied by the Poisson weights. A row of
            weight 0 is ignored.
        X_pool : array-like, sparse or frame of shape (n_pool, n_features), default=None
            Unlabeled rows, on the first call only, for bounds that weight a child by
            all rows that reach it.
        new_classes : {"error", "add"}, default="error"
            What to do with labels that are not among the classes: ``"error"`` raises an
            error, ``"add"`` makes a class of each right before its first row, and does
            not require `classes` in the first call. With ``"add"``, the rows before an
            invalid one may be learned.

        Returns
        -------
        ConfidenceForestClassifier
            The updated estimator.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid. The estimator is then unchanged.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = ConfidenceForestClassifier(5, random_state=0)
        >>> for start in range(0, 150, 50):
        ...     chunk = slice(start, start + 50)
        ...     forest = forest.partial_fit(X[chunk], y[chunk], classes=[0, 1, 2])
        >>> forest.n_rows_seen_
        150
        """
        learn = partial(self._learn, predicts=False)
        if self._adds_classes(new_classes):  # new_classes="add"
            self._learn_in_runs(learn, X, y, classes, sample_weight, X_pool)
        else:
            learn(X, y, classes, sample_weight, X_pool)
        return self

    @available_if(check_can_stream)
    def partial_fit_predict(
        self,
        X: TableLike,
        y: LabelsLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_pool: TableLike | None = None,
        new_classes: Literal["error", "add"] = "error",
    ) -> NDArray[Any]:
        """Predict each row before learning it (prequential `partial_fit`).

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Rows in the order of their arrival.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur, as in `partial_fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of weight 0 is predicted, but not learned.
        X_pool : array-like, sparse or frame of shape (n_pool, n_features), default=None
            Unlabeled rows, on the first call only.
        new_classes : {"error", "add"}, default="error"
            What to do with new labels, as in `partial_fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class predicted for each row by the forest before any of its trees
            learned the row, which prequential evaluation compares with `y`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.utils import shuffle
        >>> from skconftree import ConfidenceForestClassifier
        >>> X, y = shuffle(*load_iris(return_X_y=True), random_state=0)
        >>> forest = ConfidenceForestClassifier(5, random_state=0)
        >>> predicted = forest.partial_fit_predict(X, y, classes=[0, 1, 2])
        >>> bool((predicted == y).mean() > 0.8)
        True
        """
        learn = partial(self._learn, predicts=True)
        if self._adds_classes(new_classes):
            runs = self._learn_in_runs(learn, X, y, classes, sample_weight, X_pool)
            return joined_runs(runs, is_proba=False)
        predicted = learn(X, y, classes, sample_weight, X_pool)
        return self.classes_.take(predicted)

    @learns
    def _learn(self, X, y, classes, sample_weight, X_pool, predicts):
        # Validate rows and learn them. If `predicts`, return the class index predicted
        # for each row before it was learned.
        call = read_call(self, X, y, classes, sample_weight, X_pool)
        n_before = 0 if self._model is None else self._model.n_rows_seen
        predicted = learn(
            self,
            call,
            predicts=predicts,
            rate=self.online_rate if self.bootstrap else None,
            weighs_votes=self.vote == "accuracy",
            n_jobs=self.n_jobs,
        )
        if self.max_bytes is None:
            self._model.warn_of_size(n_before)  # if it has just exceeded 1 GB
        return predicted

    def _check_call(self, classes, X_pool):
        # Validate the parameters for `partial_fit`; called by `read_call`. A model
        # `grows` if it has learned rows by `partial_fit`.
        model, name = self._model, type(self).__name__
        starting = model is None or not model.grows
        if not get_config()["skip_parameter_validation"]:
            if starting:
                self._validate_params()
            else:
                validate_parameters(self, VALIDATED_BY_EVERY_CALL)
        check_stream(self, classes, X_pool)  # error if these arguments are invalid
        if starting and self.max_bytes is not None:
            n_trees = self.n_estimators if model is None else len(model.trees)
            if self.max_bytes < MIN_BYTES * n_trees:
                raise InvalidParameterError(
                    f"The 'max_bytes' parameter of {name} must be at least "
                    f"{MIN_BYTES * n_trees} for {n_trees} trees, {MIN_BYTES} for each. "
                    f"Got {self.max_bytes} instead."
                )

    def _started(self, call):
        # The model to train in the first call of `partial_fit`; called by `learn`.
        return make_stream_forest(self, call)
