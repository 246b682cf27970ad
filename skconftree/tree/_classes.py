"""The estimator `ConfidenceTreeClassifier`, a decision tree.

An *early model* stores the first rows of a stream and is refitted to them, see the
parameter `refit_rows`. A `call` has the validated arguments of `partial_fit`. With new
classes, it is learned in *runs* of rows, each of which begins with a new class. The
*schema* of a model has the names, types and categories of the columns.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn import get_config

from .._compat import InvalidParameterError, _safe_indexing
from ..tables._partial_fit import learn, read_call
from ..utils._available import available_if
from ..utils._fitted import fitted
from ..utils._lock import learns, share_lock  # lock the estimator
from ..utils._parameter_names import suggests_parameters
from ..utils._types import LabelsLike, Seed, TableLike
from ._base import GrownClassifier, ReadableTree, joined_runs
from ._early import EarlyModel, start_early
from ._growth import (
    TreeGrowth,
    check_can_stream,
    check_row_indices,
    check_stream,
    make_stream_model,
)
from ._intervals import LeafLimits  # confidence limits of leaf probabilities
from ._model import NO_POOL, TreePrediction
from ._parameters import CONSTRAINTS, COUNTERPARTS, resolve_split_rule

if TYPE_CHECKING:
    from ..bounds._base import BaseBound
    from ..criteria import BaseCriterion
    from ..drift._base import BaseDetector, LocalRepair
    from ..drift._registry import RiverDetector
    from .pruning._base import BasePruning


@suggests_parameters(COUNTERPARTS)  # for names that only scikit-learn's trees have
@dataclass(eq=False, repr=False)
class ConfidenceTreeClassifier(
    ReadableTree, LeafLimits, TreePrediction, GrownClassifier
):
    """Decision tree classifier with evidence-based stopping.

    At every node the tree searches for the best split, as CART does. It then splits
    only if the *bound*, a statistical split rule (pre-pruning), accepts the split. The
    tree therefore has an appropriate size without tuning, and every split reports its
    *evidence*: how many candidate splits of the node are expected to look as good by
    chance (:func:`skconftree.tree.export_text`, `explain`).

    The default bound is a permissive likelihood-ratio test: it accepts a split if this
    number, a p-value adjusted for multiple comparisons, is below 1. The tree is then
    pruned with exact binomial limits of the errors. Splits of weak evidence are
    therefore uncertain, and are labeled as weak. These defaults were chosen by
    cross-validation on many real tables.

    Parameters apply to both `fit` and `partial_fit` unless their description begins
    with the method they are for.

    Parameters
    ----------
    bound : str, bound object or None, default="gtest"
        Split rule: a name (``"gtest"``, ``"credible"``, ``"possibilistic"``,
        ``"hoeffding"``, ...), an object of :mod:`skconftree.bounds`, or None to split
        whenever the impurity decreases (plain CART). Change it to use a published
        method.
    criterion : {"gini", "entropy", "log_loss", "kearns_mansour", "error", \
            "gain_ratio", "ec2", "balance", "imbalance"}, object, class or None, \
            default=None
        Impurity of a node. None uses the first criterion for which the bound is defined
        (``"gini"`` without a bound). Bounds that compare confidence limits of the
        impurity (``"credible"``, ``"possibilistic"``) use the impurity of this name.
        ``"balance"`` selects the split whose smallest branch has most rows, independent
        of their classes, ``"imbalance"`` the one whose smallest branch has fewest. Both
        require ``bound=None``; the impurity of a node is then the Gini index, as with
        ``"ec2"`` (equivalence class edge cutting: separate the most pairs of rows of
        different classes). So does a criterion of your own: an object of a class
        derived from :class:`~skconftree.criteria.BaseCriterion`, or a compiled class,
        see :func:`skconftree.testing.check_criterion`.
    delta : float or None, default=None
        Confidence parameter of the bound; overrides the bound's own. Its meaning and
        range depend on the bound: :func:`skconftree.bounds.param_grid` returns grids
        over `bound` and `delta`. If it has no effect, for example without a bound,
        there is a warning.
    splitter : {"best", "random"}, default="best"
        Whether to examine all thresholds of a feature, or one that is drawn uniformly
        between the extreme values of the node.
    max_depth : int or None, default=None
        Maximum depth of the tree; the root has depth 0. None means no limit.
    min_samples_split : int or float, default=2
        Minimum weight of a node that may split. A float is a fraction of the total
        weight. Larger values give smaller trees.
    min_samples_leaf : int or float, default=1
        Minimum weight of a child. A float is a fraction of the total weight. Larger
        values give smaller and smoother trees.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a child as a fraction of the total weight, both with
        `class_weight`.
    max_features : int, float, {"auto", "sqrt", "log2"} or None, default=None
        Number of features to examine at a node, drawn among those that vary in it. A
        float is a fraction; None means all, and so does ``"auto"``, except in a forest.
    max_leaf_nodes : int or None, default=None
        Grow best-first, by weighted decrease of impurity, up to this number of leaves.
    min_impurity_decrease : float, default=0.0
        Minimum weighted decrease of impurity of a split, in scikit-learn's units.
    max_bins : int or None, default=None
        `fit` only. Numeric columns with more values are discretized into this number of
        bins, 2 to 255, with about equal numbers of rows; only limits of bins are
        candidate splits. This saves time in large nodes and reduces the number of
        candidates in the evidence. None examines every value, and so do, with a
        warning, sparse tables, ``splitter="random"`` and bounds that weigh an `X_pool`.
    pruning : {"auto", "pessimistic", "c45", "possibilistic", "cost_complexity", \
            "chi2", "ec2"}, pruning object or None, default="auto"
        `fit` only. Method that removes splits from the grown tree, bottom-up: a name,
        or an object such as :class:`~skconftree.tree.PessimisticPruning` with its own
        parameters. ``"auto"`` is the default of the bound, see its `defaults`, and no
        pruning for ``bound=None``. With a value other than ``"auto"`` or None the tree
        has no `partial_fit`, which never removes a split. A subtree becomes a leaf

        - ``"pessimistic"``: unless the upper limits of its errors have a smaller sum,
        - ``"c45"``: the same with the limits of C4.5; a node may also be replaced by
          its larger branch,
        - ``"possibilistic"``: unless its possibilistic entropy, which is computed from
          confidence limits of the class probabilities, is lower,
        - ``"cost_complexity"``: unless it lowers the impurity by more than
          the `ccp_alpha` of the object per leaf, as in scikit-learn,
        - ``"chi2"``: if it is a single split, and class and branch are independent,
        - ``"ec2"``: if it is a single split that label noise may explain.

        The `confidence` of an object, or `ccp_alpha`, is its strength:

        ===================  ========================================  ========  =======
        `pruning`            meaning of its strength                   range     default
        ===================  ========================================  ========  =======
        ``pessimistic``      error of the limit; smaller prunes more   (0, 1)    0.25
        ``c45``              the same, C4.5's confidence factor        (0, 0.5]  0.25
        ``possibilistic``    error of the limits; smaller prunes more  (0, 1)    0.05
        ``chi2``             largest p-value; smaller prunes more      (0, 1)    0.05
        ``ec2``              minimum confidence; larger prunes more    [0, 1]    0.5
        ``cost_complexity``  minimum decrease of impurity per leaf;    [0, inf)  0.0
                             larger prunes more, 0 does not prune
        ===================  ========================================  ========  =======

        A name is the object with its default strength, and ``"auto"`` is what the bound
        recommends: for ``bound="gtest"`` ``PessimisticPruning(0.02)`` with look-ahead,
        else ``PessimisticPruning(0.1)``. If ``"auto"`` prunes, it also merges,
        bottom-up, the leaves of splits without strong evidence that all predict the
        same class.
    ccp_alpha : float, default=0.0
        `fit` only. Minimal cost-complexity pruning, as in scikit-learn: how much each
        leaf must lower the impurity. Larger values prune more. A value above 0 replaces
        ``pruning="auto"`` by ``CostComplexityPruning(ccp_alpha)``; another `pruning` is
        then an error.
    monotonic_cst : array-like of {-1, 0, 1}, dict of these by feature name, or None, \
            default=None
        `fit` only. Monotonicity constraints, as in scikit-learn: with the sign 1 of a
        feature, the probability of ``classes_[1]`` never decreases if only this feature
        increases; with -1 it never increases; 0 is no constraint, also for names that
        are not in a dict. For numeric columns and two classes. A candidate split in the
        wrong order cannot be selected, but counts as a candidate in the evidence. The
        probabilities of up to 2,000 leaves are those in the right order that are
        closest to the unconstrained ones; in larger trees they are clipped at bounds,
        as in scikit-learn. Rows with a missing value are not compared with others. The
        tree then has no `partial_fit`. See :ref:`monotonicity`.
    shrinkage : float or "auto", default="auto"
        `fit` only. How strongly `predict_proba` shrinks the probabilities of a leaf
        toward those of its ancestors (hierarchical shrinkage): from the root down, the
        step from the class proportions of a parent with n rows to those of its child is
        multiplied by ``n / (n + shrinkage)``. Larger values give probabilities closer
        to the class proportions of all rows, in particular below small nodes.
        ``"auto"`` is 10 for ``bound="gtest"``, else 0. It changes neither splits nor
        counts. A fitted or refitted tree keeps it in `partial_fit`, unless `drift` is
        set; an incremental tree has none.
    lookahead : int or "auto", default="auto"
        `fit` only. Number of levels of the tree, from the children of the root down, in
        which splits are chosen with look-ahead; the root is chosen without, so that it
        is stable if rows change. With look-ahead, up to three candidate splits of a
        node are compared, each the best of its feature and accepted by the bound: the
        one with the largest gain and two others. For each, a tree is grown below it
        without look-ahead and pruned; the split with the smallest pessimistic error
        estimate at the `confidence` of the pruning is selected. Requires a pessimistic
        pruning, a bound that judges each split on its own (``"gtest"``, ``"chi2"``),
        all features, ``splitter="best"`` and no `max_leaf_nodes`. Larger values are
        slower. 0 means no look-ahead. ``"auto"`` is the default of the bound (8 for
        ``"gtest"``, else 0) for tables of a weight up to 10,000 with the bound's
        default pruning, else 0.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, \
            default="from_dtype"
        Nominal columns. ``"from_dtype"``: columns of a frame (pandas, polars or
        pyarrow) with a category, enum or string dtype. Otherwise a mask, indices or
        names of columns, whose values may be strings or numbers; None means no nominal
        column. A nominal column may have up to 4,096 categories; a missing value is
        another category. At prediction, a row whose category did not occur at a node in
        training stays there and gets the node's class proportions. `fit` ignores a
        column that identifies rows, with a warning: more than ten categories, and more
        than half of the rows with a unique category.
    nominal_splits : {"auto", "binary", "multiway"}, default="auto"
        Whether a split on a nominal column divides its categories into two sets, or has
        a branch for every category that occurs at the node. ``"auto"`` is
        ``"multiway"`` for ``bound="possibilistic"``, as published, else ``"binary"``.
        The user guide explains which sets are tried.
    grace_period : int, float or "auto", default="auto"
        `partial_fit` only. Weight of the rows that arrive at a leaf before its first
        split attempt, and between two attempts. Larger values are faster and delay
        splits. ``"auto"`` is 100. If leaves store rows and count those inherited from
        their parents (`counts_stored_rows` of the bound), it is the square root of the
        weight that the tree has seen, at least 50 and at most 100: a short stream
        requires early splits, while on a long one an early wrong split is permanent.
    leaf_memory : {"auto", "rows", "histogram", "gaussian"}, default="auto"
        Statistics that a leaf stores of its rows while it grows in `partial_fit`:

        - ``"rows"``: all rows; exact, but memory grows with the stream,
        - ``"histogram"``: class counts in at most 32 bins per feature, whose limits are
          set from the first rows,
        - ``"gaussian"``: mean and variance of each feature in each class,
        - ``"auto"``: rows at first (up to 8192 values, but at least 128 and at most 512
          rows), then a histogram. If the bound counts inherited rows, and `max_bytes`
          is None, the latest rows are stored in addition: a million values in the whole
          tree, in equal shares for all leaves, but no fewer than before.
    max_bytes : int or None, default=None
        `partial_fit` only. Limit of `n_bytes_`, at least 65536. It is enforced after
        every 1,024 rows: the leaves with the fewest errors then keep only their class
        counts and stop splitting. None means no limit.
    leaf_prediction : {"auto", "majority", "nb", "nba"}, default="auto"
        Model of the leaves: class frequencies (``"majority"``), naive Bayes over their
        statistics (``"nb"``), or the model that has predicted more of their recent rows
        correctly: one of these two, or the class frequencies of about the latest ten
        rows (``"nba"``). The probabilities of ``"nba"`` are calibrated by the log loss
        of recent rows. ``"auto"`` is ``"majority"`` after `fit` and ``"nba"`` in
        `partial_fit`.
    refit_rows : int or "auto", default="auto"
        `partial_fit` only. Number of rows that are stored at the start of a stream, if
        the tree is new. Meanwhile there are two trees: the incremental tree, which
        learns each row, and a tree that is refitted to all stored rows as by `fit`, at
        50 rows and whenever there are 25% more (at more than 800 rows without
        look-ahead, except the last time). Predictions, `tree_` and explanations
        are those of the tree that has predicted more of the recent rows correctly
        before they were learned, so that node ids may change. After this number of rows
        only this tree is kept, and continues to grow. Larger values make longer streams
        as accurate as `fit`, but need more time and memory until then; 0 means no
        refits. ``"auto"`` is 2,500, or as many rows as fit into 4 MB, with the defaults
        of `bound`, `delta`, `grace_period`, `leaf_memory` and `max_bytes`, without
        `X_pool`, and if `drift` is None or local; else 0.
    drift : {"local", "ddm", "adwin"}, detector object, LocalRepair or None, \
            default=None
        `partial_fit` only. Reaction to concept drift. None: splits are never removed.
        ``"local"`` monitors the errors at every node. After a warning it trains another
        tree on the rows of the node, which replaces the subtree once it is
        significantly more accurate, or the errors have risen significantly; the
        probability of a replacement without either is at most 0.05 per node
        (:class:`~skconftree.drift.LocalRepair` sets another one). A detector monitors
        the errors of the whole tree: after its warning a second tree is trained, and
        replaces the first when the detector reports a drift. Detectors of river, and
        objects with their protocol (``update(x)``, ``drift_detected``, ``clone()``),
        are supported; they are called in Python after each row, and a tree with such a
        detector can only be saved by pickle.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. They change criterion and predictions; a bound sees
        the reweighted proportions with the unweighted number of rows as evidence.
        ``"balanced"`` makes the total weights of the classes equal; it needs all rows
        at once, so that the tree has no `partial_fit`.
    sample_weight_kind : {"auto", "frequency", "relative"}, default="auto"
        `fit` only. How `sample_weight` is interpreted:

        - ``"frequency"``: weight k equals k copies of a row. All size limits count
          weight, and so does the evidence of a bound.
        - ``"relative"``: only the ratios of the weights matter, as in boosting or
          with importance weights. They are rescaled to the sum
          ``(sum w)**2 / sum(w**2)``, the effective sample size (Kish), and then
          used as frequencies. The defaults of `min_samples_split` and
          `min_samples_leaf` then exclude no split, because scikit-learn counts rows
          there, independent of their weights.
        - ``"auto"``: ``"frequency"`` if all weights are integers, else
          ``"relative"``. Weights of scikit-learn's
          ``compute_sample_weight("balanced", y)`` and of ``AdaBoostClassifier`` are
          therefore relative. Set ``"frequency"`` for frequencies that are not
          integers.

        In `partial_fit`, weights are always frequencies, because the weights of later
        rows are unknown. ``"relative"`` raises an error if weights are passed.
    random_state : int, RandomState instance or None, default=None
        Controls the randomness of `max_features` and ``splitter="random"``. Pass an
        int for reproducible results. Not used otherwise.
    n_jobs : int or None, default=None
        `fit` only. Number of threads. They share the columns of large nodes and the
        subtrees below smaller nodes. The tree does not depend on it. None means 1,
        unless in a joblib context; -1 means all cores. Small and sparse tables use one
        thread. See :ref:`one_tree_on_all_cores`.

    Attributes
    ----------
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
        Mask of the nominal columns; None if all columns are numeric.
    categories_ : list or None
        For each nominal column, the list of its categories in the order of their codes
        in `tree_`; the category None is a missing value. The element is None for a
        numeric column. None if all columns are numeric.
    max_features_ : int
        The inferred value of `max_features`.
    bound_ : bound object or None
        The bound that was used, with the value of `delta`.
    criterion_ : str, class or object
        The criterion that was used.
    pruning_ : pruning object or None
        The pruning that was used.
    shrinkage_ : float
        The shrinkage that was used in `tree_`. It is 0 if the tree is incremental from
        the start, or was trained on rows with `drift` set.
    lookahead_ : int
        The inferred value of `lookahead`: the number of levels at which `fit`, or a
        refit, looked ahead; 0 for an incremental tree.
    tree_ : Tree
        The fitted tree as read-only arrays, with the evidence for its splits.
    n_rows_seen_ : int
        Number of rows that the tree was trained on.
    honest_counts_ : ndarray of shape (n_nodes, n_classes) or None
        Class counts of held-out rows in each node (an honest sample, which was not used
        to grow the tree), from `recount_leaves`; None before it is called.
    n_drifts_ : int
        Number of drifts detected with `drift`.
    drifts_ : list of NamedTuple
        The detected drifts. Each has ``row``, the number of rows learned until then;
        ``node``, the root of the subtree that was replaced (0 if it was the whole
        tree); and ``detector``, the name of the detector.
    n_bytes_ : int
        Memory of the tree and of the statistics of its leaves, in bytes. Not included
        are the spare capacity of a growing tree for further nodes (at most as much
        again), copies of the arrays of ``tree_`` that were accessed, and the tables of
        the bound (``"possibilistic"``: 4 MiB).
    n_inactive_leaves_ : int
        Number of leaves whose statistics were released because of `max_bytes`. They
        keep class counts only; they do not split and do not use naive Bayes.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        Feature importances: the share of each feature in the total decrease of
        impurity, as in scikit-learn. They are measured on the rows by which the splits
        were chosen, which causes a bias: a useless feature that a split uses has a
        share above 0, and features with more distinct values or categories are used
        more often by chance. The bound (split rule) rejects most of such splits.
        :func:`~skconftree.inspection.feature_importance` tests on held-out rows which
        features matter; a forest also has `unbiased_feature_importances_`.

    See Also
    --------
    skconftree.tree.export_text : Print the tree as text, with its evidence.
    sklearn.tree.DecisionTreeClassifier : The class of the result of `to_sklearn`.

    Notes
    -----
    `X` is used as float32 and thresholds are float64 midpoints, as in scikit-learn. If
    several splits are equally good, the split with the lowest feature index is
    selected, then the one with the lowest threshold.

    NaN is a missing value. If training rows of a node miss the value of a numeric
    column, a split on this column sends them to the side that gives the better split,
    or it separates them from all other rows. If no training row of the node missed the
    value, rows that do are sent to the child with more training rows.

    A `sample_weight` of integers is a frequency: weight k equals k copies of a row, and
    all size limits count weight. `fit` treats other weights as relative, unless
    `sample_weight_kind` is ``"frequency"``. Frequencies are 0 or at least 1e-100 and
    sum to at most 2**53; class weights are 0 or from 1e-50 to 1e50.

    References
    ----------
    Collet and Pietquin, "Bayesian Credible Intervals for Online and Active
    Learning of Classification Trees", 2015 (``bound="credible"``).

    Serrurier and Prade, "Entropy evaluation based on confidence intervals of
    frequency estimates: Application to the learning of decision trees", 2015
    (``bound="possibilistic"``).

    Agarwal, Tan, Ronen, Singh and Yu, "Hierarchical Shrinkage: Improving the
    accuracy and interpretability of tree-based methods", 2022 (`shrinkage`).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier(bound="credible", delta=0.1).fit(X, y)
    >>> tree.get_n_leaves()
    3
    >>> tree.predict(X[:2])
    array([0, 0])
    """

    _parameter_constraints = CONSTRAINTS

    bound: str | BaseBound | None = "gtest"
    _: KW_ONLY
    criterion: str | type[Any] | BaseCriterion | None = None
    delta: float | None = None
    splitter: Literal["best", "random"] = "best"
    max_depth: int | None = None
    min_samples_split: float = 2
    min_samples_leaf: float = 1
    min_weight_fraction_leaf: float = 0.0
    max_features: float | Literal["auto", "sqrt", "log2"] | None = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    max_bins: int | None = None
    pruning: str | BasePruning | None = "auto"
    ccp_alpha: float = 0.0
    monotonic_cst: ArrayLike | dict[str, int] | None = None
    shrinkage: float | Literal["auto"] = "auto"
    lookahead: int | Literal["auto"] = "auto"
    categorical_features: ArrayLike | None = "from_dtype"
    nominal_splits: Literal["auto", "binary", "multiway"] = "auto"
    grace_period: float | Literal["auto"] = "auto"
    leaf_memory: Literal["auto", "rows", "histogram", "gaussian"] = "auto"
    max_bytes: int | None = None
    leaf_prediction: Literal["auto", "majority", "nb", "nba"] = "auto"
    refit_rows: int | Literal["auto"] = "auto"
    drift: str | BaseDetector | RiverDetector | LocalRepair | None = None
    class_weight: dict[Any, Any] | Literal["balanced"] | None = None
    sample_weight_kind: Literal["auto", "frequency", "relative"] = "auto"
    random_state: Seed = None
    n_jobs: int | None = None

    _kind = EarlyModel  # class of the model

    # properties that read attributes of the model; learning `changes` some of them
    max_features_ = fitted("resolved.max_features", "The resolved `max_features`.")
    bound_ = fitted("resolved.bound", "The bound that was used.")
    criterion_ = fitted("resolved.criterion", "The criterion that was used.")
    pruning_ = fitted("resolved.pruning", "The pruning that was used.")
    lookahead_ = fitted("resolved.lookahead", "Levels at which `fit` looked ahead.")
    tree_ = fitted("tree", "The fitted tree as read-only arrays, with its evidence.")
    fidelity_ = fitted("fidelity", "How often a distilled tree agrees, see `distill`.")
    shrinkage_ = fitted(
        "tree.shrinkage", "The shrinkage that was used in `tree_`.", changes=True
    )
    honest_counts_ = fitted(
        "honest_counts", "Class counts of held-out rows per node.", changes=True
    )

    def _growth(self):
        return TreeGrowth.of(self)

    @learns
    def _predict_as(self, *distilled):
        # Replace the counts by predictions of a classifier, see `distill`.
        self._model = self._model.distilled(*distilled)

    @available_if(check_can_stream)
    def partial_fit(
        self,
        X: TableLike,
        y: LabelsLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_pool: TableLike | None = None,
        from_pool: ArrayLike | None = None,
        new_classes: Literal["error", "add"] = "error",
    ) -> Self:
        """Train the tree incrementally on further rows.

        Rows are learned one by one in their order. A stream gives the same tree, to the
        last bit, independent of how it is divided into batches. After `fit`, the leaves
        of the fitted tree continue to grow, and its `shrinkage` is kept unless `drift`
        is set. Splits are never removed, except by `drift`, and by `refit_rows` among
        the first rows of a stream. The parameters of the first call are used.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Rows in the order of their arrival. Numeric columns are converted to
            float32. The first call determines which columns are nominal; later rows may
            have new categories.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur, in this or a later call. Required in the first
            call, unless the tree is already fitted: then the classes of `fit` are used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of weight k is learned in one step, not as k
            rows. A row of weight 0 is not learned.
        X_pool : array-like, sparse or frame of shape (n_pool, n_features), default=None
            Unlabeled rows, in the first call only. A bound with a `pool_weight`
            (``"credible"``) weights a child by its labeled and unlabeled rows.
        from_pool : array-like of shape (n_samples,), default=None
            Indices of rows in the `X_pool` of the first call, which are learned instead
            of X; X must be None. These rows then no longer count as unlabeled.
        new_classes : {"error", "add"}, default="error"
            What to do with labels that are not among the classes: ``"error"`` raises an
            error, ``"add"`` makes a class of each right before its first row, and does
            not require `classes` in the first call. With ``"add"``, the rows before an
            invalid one may be learned. ``"add"`` does not work with `from_pool`.

        Returns
        -------
        ConfidenceTreeClassifier
            The estimator itself.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid. The tree is then unchanged.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = ConfidenceTreeClassifier(bound="credible", delta=0.1)
        >>> for start in range(0, 150, 50):
        ...     chunk = slice(start, start + 50)
        ...     tree = tree.partial_fit(X[chunk], y[chunk], classes=[0, 1, 2])
        >>> tree.n_rows_seen_
        150
        """
        if self._adds_classes(new_classes):
            if from_pool is not None:
                raise InvalidParameterError(
                    "new_classes must be 'error' with from_pool. Got 'add'. Pass all "
                    "`classes` in the first call."
                )
            self._learn_in_runs(self._learn, X, y, classes, sample_weight, X_pool)
        else:
            self._learn(X, y, classes, sample_weight, X_pool, from_pool)
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
        return_proba: bool = False,
        new_classes: Literal["error", "add"] = "error",
    ) -> NDArray[Any]:
        """Predict each row before learning it (prequential, test-then-train).

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
        return_proba : bool, default=False
            Whether to return class probabilities instead of classes.
        new_classes : {"error", "add"}, default="error"
            What to do with new labels, as in `partial_fit`.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) if `return_proba`
            The class, or the class probabilities, that the tree predicted for each row
            before it learned the row. Prequential evaluation compares them with `y`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.utils import shuffle
        >>> from skconftree import ConfidenceTreeClassifier
        >>> X, y = shuffle(*load_iris(return_X_y=True), random_state=0)
        >>> tree = ConfidenceTreeClassifier(bound="credible", delta=0.1)
        >>> predicted = tree.partial_fit_predict(X, y, classes=[0, 1, 2])
        >>> bool((predicted == y).mean() > 0.8)
        True
        >>> tree.partial_fit_predict(X[:2], y[:2], return_proba=True).shape
        (2, 3)
        """
        returns = "proba" if return_proba else "class"
        learn = partial(self._learn, returns=returns)
        if self._adds_classes(new_classes):
            runs = self._learn_in_runs(learn, X, y, classes, sample_weight, X_pool)
            return joined_runs(runs, return_proba)
        predicted = learn(X, y, classes, sample_weight, X_pool)
        return predicted if return_proba else self._model.classes.names.take(predicted)

    @learns
    def _learn(
        self, X, y, classes, sample_weight, X_pool, from_pool=None, returns=None
    ):
        if from_pool is not None:
            X, from_pool = self._rows_from_pool(X, y, X_pool, from_pool)
        call = read_call(self, X, y, classes, sample_weight, X_pool)
        return learn(self, call, returns=returns, from_pool=from_pool)

    def _rows_from_pool(self, X, y, X_pool, row_indices):
        # The rows of the `X_pool` that replace X, and their validated indices.
        if X_pool is None:
            if self._model is None:
                raise ValueError(NO_POOL)
            pool = self._model.pool
            row_indices = check_row_indices(X, y, row_indices, len(pool))
            rows = self._model.rows_of_pool(row_indices)
            # `known`: float32 rows that have been read before
            return self._model.schema.known(rows, type(self).__name__), row_indices
        pool = X_pool if hasattr(X_pool, "shape") else np.asarray(X_pool)
        pool = pool.tocsr() if issparse(pool) else pool
        row_indices = check_row_indices(X, y, row_indices, pool.shape[0])
        return _safe_indexing(pool, row_indices), row_indices

    def _check_call(self, classes, X_pool):
        # Called by `read_call`. Parameters are validated in the first call only, before
        # the model `grows` (row by row), because that takes as long as ten rows.
        if self._model is None or not self._model.grows:
            if not get_config()["skip_parameter_validation"]:
                self._validate_params()
        if self._model is None or X_pool is not None:
            check_stream(self, classes, X_pool)

    def _started(self, call):
        # Called by `learn`: make a model that grows, new or with the present tree.
        if self._model is not None:  # the model has a split rule
            return make_stream_model(
                self, self._model, call, split_rule=None, owner=self
            )
        split_rule = resolve_split_rule(
            self.bound, self.criterion, self.delta, type(self).__name__
        )
        model = make_stream_model(
            self, model=None, call=call, split_rule=split_rule, owner=self
        )
        return start_early(self, model, call)


def tree_of_model(model, parameters):
    """Return an estimator that shares the model of another one, for reading it."""
    tree = ConfidenceTreeClassifier(**parameters)
    share_lock(tree, model)
    tree._model = model
    return tree
