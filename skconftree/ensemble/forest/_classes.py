"""The confidence forest estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from ...tables._partial_fit import learn, read_call
from ...tree._base import GrownClassifier
from ...tree._growth import check_can_stream, check_stream
from ...tree._parameters import CONSTRAINTS, COUNTERPARTS, MIN_BYTES
from ...utils._available import available_if
from ...utils._fitted import fitted
from ...utils._lock import learns
from ...utils._parameter_names import suggests_parameters
from ...utils._types import LabelsLike, Seed, TableLike
from ._growth import ForestGrowth, grow_forest_on
from ._model import TREE_PARAMETERS, ForestModel
from ._prediction import ForestPrediction

if TYPE_CHECKING:
    from ...drift._base import BaseDetector, LocalRepair
    from ...drift._river import RiverDetector
    from ...tree.pruning._base import BasePruning

READ_BY_EVERY_CALL = {"n_jobs", "online_rate"}


@suggests_parameters(COUNTERPARTS)
class ConfidenceForestClassifier(ForestPrediction, GrownClassifier):
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
    max_features : int, float, {"auto", "sqrt", "log2"} or None, default="auto"
        Number of features examined at a node, drawn among those that vary in it.
        A float is a fraction; None means all. ``"auto"`` is ``"sqrt"`` in `fit` and all
        in `partial_fit`. On a stream a leaf draws as many for its life, whether they
        vary or not, and remembers these alone.
    max_leaf_nodes, min_impurity_decrease : object
        Further limits of each tree, as in
        :class:`~skconftree.ConfidenceTreeClassifier`.
    max_bins : int or None, default=None
        As there; the bins are those of the whole table, for all trees.
    pruning : str, pruning object or None, default=None
        As there; each tree is pruned by its own sample. With a pruning the forest has
        no `partial_fit`.
    shrinkage : float or "auto", default=0.0
        As there, in each tree. A forest is smooth by the mean of its trees.
    categorical_features, nominal_splits : object
        What columns are, as there.
    grace_period : int, float or "auto", default="auto"
        As there, but that ``"auto"`` is from 25 on, and at least 60 times the share
        that a leaf has of all rows: trees make up for each other's early splits, but
        not for those at the root. It is in rows: with an `online_rate` above 1, which
        lets a row weigh more, its limits are as many times larger.
    leaf_memory : {"auto", "rows", "histogram", "gaussian"}, default="auto"
        What the leaves of each tree remember, as there.
    max_bytes : int or None, default=None
        Memory that `partial_fit` may use, by `n_bytes_`, in equal parts for the trees:
        at least 65536 for each.
    leaf_prediction : {"auto", "majority", "nb", "nba"}, default="auto"
        How leaves predict, as in :class:`~skconftree.ConfidenceTreeClassifier`.
    drift : {"local", "ddm", "adwin"}, detector object, LocalRepair, None or "auto", \
            default="auto"
        What watches the errors of each tree in `partial_fit`; each has its own clone
        of a detector object, which may be one of river. A drift replaces a
        single tree, or with ``"local"`` a part of one. ``"auto"`` is ``"local"``, but
        None with `max_bytes`, as trees that grow beside others need memory, and with a
        bound that weighs the branches of a test by other rows than those of the node.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Weights of the classes. ``"balanced_subsample"`` balances the sample of each
        tree by itself. With either of the two the forest has no `partial_fit`.
    sample_weight_kind : {"auto", "frequency", "relative"}, default="auto"
        How `fit` interprets `sample_weight`, as in
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
    online_rate : float, default=1.5
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
        sample, if repeats count and there are no bins.
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
    drifts_ : list of NamedTuple
        Each of them, by rows: ``row``, ``node`` and ``detector`` as of a tree, and
        ``tree``, its place in `estimators_`.
    n_bytes_ : int
        Bytes that the trees take.
    n_inactive_leaves_ : int
        Leaves of all trees that `max_bytes` has switched off.

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
        "drift": [StrOptions({"auto", "local", *DETECTORS}), *CONSTRAINTS["drift"][1:]],
        "class_weight": [dict, StrOptions({"balanced", "balanced_subsample"}), None],
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
        n_estimators: int = 100,
        *,
        bound: str | BaseBound | Sequence[Any] | None = "gtest",
        criterion: str | None = None,
        delta: float | None = None,
        splitter: Literal["best", "random"] = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | Literal["auto", "sqrt", "log2"] | None = "auto",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        max_bins: int | None = None,
        pruning: str | BasePruning | None = None,
        shrinkage: float | Literal["auto"] = 0.0,
        categorical_features: ArrayLike | None = "from_dtype",
        nominal_splits: Literal["auto", "binary", "multiway"] = "auto",
        grace_period: float | Literal["auto"] = "auto",
        leaf_memory: Literal["auto", "rows", "histogram", "gaussian"] = "auto",
        max_bytes: int | None = None,
        leaf_prediction: Literal["auto", "majority", "nb", "nba"] = "auto",
        drift: str | BaseDetector | RiverDetector | LocalRepair | None = "auto",
        class_weight: dict[Any, Any]
        | Literal["balanced"]
        | Literal["balanced_subsample"]
        | None = None,
        sample_weight_kind: Literal["auto", "frequency", "relative"] = "auto",
        bootstrap: bool = True,
        max_samples: float | None = None,
        count_repeats: bool = True,
        online_rate: float = 1.5,
        vote: Literal["mean", "accuracy"] = "mean",
        oob_score: bool | Callable[..., Any] = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
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
        self.max_bins = max_bins
        self.pruning = pruning
        self.shrinkage = shrinkage
        self.categorical_features = categorical_features
        self.nominal_splits = nominal_splits
        self.grace_period = grace_period
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

    _kind = ForestModel

    estimators_ = fitted("estimators", "The trees.")
    max_features_ = fitted("max_features", "The resolved `max_features`.")
    bound_ = fitted("bound", "The resolved bound, or the list of them.")
    criterion_ = fitted("criterion", "The resolved criterion, or that of each bound.")
    oob_decision_function_ = fitted(
        "known_out_of_bag.proba", "Probabilities out of bag."
    )
    oob_score_ = fitted(
        "known_out_of_bag.score", "Score of the predictions out of bag."
    )

    def _growth(self):
        return ForestGrowth.of(self)

    @available_if(check_can_stream)
    def partial_fit(
        self,
        X: TableLike,
        y: LabelsLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_pool: TableLike | None = None,
    ) -> Self:
        """Go on growing the trees with further rows.

        Each tree learns a row as often as a Poisson number says, whose mean is
        `online_rate` (not at all if that is 0; without `bootstrap` once). That number
        is keyed by the tree and by how many rows the forest has learnt before, so a
        stream gives the same forest, bit for bit, however it is cut into calls. After
        `fit` the fitted leaves grow on. Parameters of the growth are those of the
        first call.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Rows in the order of their arrival; numeric columns are converted to
            float32. Which columns are nominal is settled by the first call; new
            categories may come later.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur, now or later. Needed on the first call, unless
            the forest is fitted already: then they are those of `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. The weight of a row enters at once, times the
            Poisson number; a row of weight 0 is not learnt.
        X_pool : array-like, sparse or frame of shape (n_pool, n_features), default=None
            Unlabelled rows, on the first call only, for bounds that weigh a child
            by all rows that fall into it.

        Returns
        -------
        ConfidenceForestClassifier
            The estimator itself.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid; nothing is learnt then.

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
        self._learn(X, y, classes, sample_weight, X_pool, False)
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
    ) -> NDArray[Any]:
        """Predict each row, then learn it: `partial_fit` with foresight.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Rows in the order of their arrival.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur, as in `partial_fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of weight 0 is predicted, but not learnt.
        X_pool : array-like, sparse or frame of shape (n_pool, n_features), default=None
            Unlabelled rows, on the first call only.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class predicted for each row by the forest as it was before any of its
            trees learnt the row: what prequential evaluation compares with `y`.

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
        found = self._learn(X, y, classes, sample_weight, X_pool, True)
        return self.classes_.take(found)

    @learns
    def _learn(self, X, y, classes, sample_weight, X_pool, tells):
        call = read_call(self, X, y, classes, sample_weight, X_pool)
        return learn(
            self,
            call,
            tells=tells,
            rate=self.online_rate if self.bootstrap else None,
            weighs_votes=self.vote == "accuracy",
            n_jobs=self.n_jobs,
        )

    def _check_call(self, classes, X_pool):
        model, name = self._model, type(self).__name__
        starting = model is None or not model.grows
        if not get_config()["skip_parameter_validation"]:
            if starting:
                self._validate_params()
            else:
                validate_parameters(self, READ_BY_EVERY_CALL)
        check_stream(self, classes, X_pool)
        if starting and self.max_bytes is not None:
            n_trees = self.n_estimators if model is None else len(model.trees)
            if self.max_bytes < MIN_BYTES * n_trees:
                raise InvalidParameterError(
                    f"The 'max_bytes' parameter of {name} must be at least "
                    f"{MIN_BYTES * n_trees} for {n_trees} trees, {MIN_BYTES} for each. "
                    f"Got {self.max_bytes} instead."
                )

    def _started(self, call):
        return grow_forest_on(self, call)
