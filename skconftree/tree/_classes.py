"""The confidence tree estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config

from .._compat import _safe_indexing
from ..tables._partial_fit import learn, read_call
from ..utils._available import available_if
from ..utils._fitted import fitted
from ..utils._lock import learns, share_lock
from ..utils._parameter_names import suggests_parameters
from ..utils._types import LabelsLike, Seed, TableLike
from ._base import GrownClassifier, ReadableTree
from ._growth import (
    TreeGrowth,
    check_can_stream,
    check_row_indices,
    check_stream,
    grow_on,
)
from ._intervals import LeafLimits
from ._model import NO_POOL, TreeModel, TreePrediction
from ._parameters import CONSTRAINTS, COUNTERPARTS, resolve_statement

if TYPE_CHECKING:
    from ..bounds._base import BaseBound
    from ..drift._base import BaseDetector, LocalRepair
    from ..drift._river import RiverDetector
    from .pruning._base import BasePruning


@suggests_parameters(COUNTERPARTS)
class ConfidenceTreeClassifier(
    ReadableTree, LeafLimits, TreePrediction, GrownClassifier
):
    """A decision tree that splits only where a confidence statement allows it.

    At every node the tree looks for the best test, as CART does, and then asks
    its *bound* whether the data support that split. Where they do not, the node
    stays a leaf. So the tree ends up right-sized without tuning, and every split
    carries the evidence that justified it (`tree_.evidence`,
    :func:`skconftree.tree.export_text`, `explain`).

    The default is a lax likelihood-ratio test, which makes a split if fewer than one
    as good is expected by chance among the candidate splits of the node, followed by
    pruning at an exact binomial limit of the errors. So some of the splits are guesses,
    which the tree calls weak. It was chosen by cross-validation on
    many real tables.

    Parameters are of `fit` and `partial_fit` alike, but for those that begin by saying
    which of the two has a use for them.

    Parameters
    ----------
    bound : str, bound object or None, default="gtest"
        What decides whether a node splits: a name (``"gtest"``, ``"credible"``,
        ``"possibilistic"``, ``"hoeffding"``, ...), an object of
        :mod:`skconftree.bounds`, or None to split wherever impurity can fall
        (plain CART).
    criterion : {"gini", "entropy", "log_loss", "kearns_mansour", "error", \
            "gain_ratio", "ec2", "balance", "imbalance"} or None, default=None
        Impurity of a node. None takes the first criterion the bound is defined
        for (``"gini"`` without a bound). An interval bound measures the
        heterogeneity of this name. ``"balance"`` takes the test whose smallest outcome
        has most rows, whatever their classes, ``"imbalance"`` the one whose smallest
        outcome has fewest: both without a bound, and the impurity of a node is the
        Gini index then, as with ``"ec2"``.
    delta : float or None, default=None
        Overrides the bound's own confidence parameter. What it means, and its range,
        differ from bound to bound: :func:`skconftree.bounds.param_grid` makes grids
        over `bound` and `delta`. Where it has no effect, as without a bound, a
        warning says so.
    splitter : {"best", "random"}, default="best"
        Examine every cut of a feature, or one cut drawn uniformly between the
        extreme values of the node.
    max_depth : int or None, default=None
        Largest depth of a leaf; the root has depth 0.
    min_samples_split : int or float, default=2
        Smallest weight of a node that may split. A float is a fraction of the
        total weight.
    min_samples_leaf : int or float, default=1
        Smallest weight of a child. A float is a fraction of the total weight.
    min_weight_fraction_leaf : float, default=0.0
        Smallest weight of a child as a fraction of the total weight, both with
        `class_weight`.
    max_features : int, float, {"auto", "sqrt", "log2"} or None, default=None
        Number of features examined at a node, drawn among those that vary in it.
        A float is a fraction; None means all, and so does ``"auto"``, but in a forest.
    max_leaf_nodes : int or None, default=None
        Grow best-first, by weighted decrease of impurity, up to this many leaves.
    min_impurity_decrease : float, default=0.0
        Smallest weighted decrease of impurity of a split, in scikit-learn's units.
    max_bins : int or None, default=None
        `fit` only. Numeric columns with more values are cut into so many bins, from 2
        to 255, of about as many rows each, and tests ask for the limits of bins alone.
        That saves time in large nodes, and evidence counts fewer candidates. None:
        every value is examined. So it is, with a warning, in sparse tables, with
        ``splitter="random"``, and if the bound weighs an `X_pool`.
    pruning : {"auto", "pessimistic", "c45", "possibilistic", "cost_complexity", \
            "chi2", "ec2"}, pruning object or None, default="auto"
        `fit` only. What removes splits from the grown tree, from the leaves upwards: a
        name, or an object such as :class:`~skconftree.tree.PessimisticPruning` with its
        own parameters. ``"auto"`` is what goes with the bound, see its `defaults`;
        nothing for ``bound=None``. With any other the tree has no `partial_fit`, which
        never removes a split. A subtree becomes a leaf

        - ``"pessimistic"``: unless its upper limits of errors sum to less,
        - ``"c45"``: the same with the limits of C4.5, which also lets the larger
          branch of a node take its place,
        - ``"possibilistic"``: unless its possibilistic entropy is lower,
        - ``"cost_complexity"``: unless it lowers the impurity by more than
          the `ccp_alpha` of the object per leaf, as in scikit-learn,
        - ``"chi2"``: if it is one test, and class and outcome are not dependent,
        - ``"ec2"``: if it is one test, and label noise may explain it.

        The `confidence` of an object, or `ccp_alpha`, is its strength:

        ===================  ========================================  ========  ====
        `pruning`            meaning of its strength                   range     own
        ===================  ========================================  ========  ====
        ``pessimistic``      error of the limit; smaller prunes more   (0, 1)    0.25
        ``c45``              the same, C4.5's confidence factor        (0, 0.5]  0.25
        ``possibilistic``    error of the limits; smaller prunes more  (0, 1)    0.05
        ``chi2``             largest p-value; smaller prunes more      (0, 1)    0.05
        ``ec2``              least confidence; larger prunes more      [0, 1]    0.5
        ``cost_complexity``  impurity that a leaf must earn; larger    [0, inf)  0.0
                             prunes more, 0 not at all
        ===================  ========================================  ========  ====

        A name is the object with its own strength, and ``"auto"`` is what the
        bound recommends, which for ``bound="gtest"`` is ``PessimisticPruning(0.02)``
        where the tree looks ahead, else ``PessimisticPruning(0.1)``. If ``"auto"``
        prunes, it also merges the leaves of a split without strong evidence that all
        predict the same class, from the leaves upwards.
    shrinkage : float or "auto", default="auto"
        `fit` only. How strongly `predict_proba` draws a leaf towards the nodes above
        it (hierarchical shrinkage): from the root down, the step from the class
        proportions of a parent with n rows to those of its child counts
        ``n / (n + shrinkage)``. So a leaf of few rows says less than its proportions
        do. ``"auto"`` is 10 for ``bound="gtest"``, else 0: proportions as they are.
        It changes neither tests nor counts. A fitted tree keeps it in `partial_fit`,
        for later splits too, unless `drift` is set; one that starts with
        `partial_fit` has none.
    lookahead : int or "auto", default="auto"
        `fit` only. Number of levels of the tree, from the children of the root down, in
        which the growth looks ahead; the root is chosen without, as that keeps it the
        same when rows change. At a node there the best test of each feature is looked
        at, if the bound accepts it on its own: the test that would be taken
        otherwise and those two others of largest gain. Of these the one is taken
        below which the trees, grown without look-ahead and pruned, have the smallest
        pessimistic count of errors at the `confidence` of the pruning.
        Needs a pessimistic pruning, a bound that judges each test by itself
        (``"gtest"``, ``"chi2"``), all features, the best cut of each and no
        `max_leaf_nodes`.
        0: none. ``"auto"`` is what the bound says (8 for ``"gtest"``, else 0) for
        tables of a weight up to 10,000, with the pruning that goes with the bound; none
        where look-ahead is not served.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, \
            default="from_dtype"
        Which columns are nominal: those of a frame (pandas, polars or pyarrow) with a
        category, enum or string dtype; or a mask, indices or names of columns, whose
        values may then be strings or numbers; or none. A nominal column may have up
        to 4,096 categories; a missing value is one more. At prediction a row whose
        category did not occur at a node in training stays there, and that node's
        class proportions are its prediction. `fit` leaves a column that identifies
        rows out of the search, with a warning: more than ten categories, and more
        than half of the rows with a category of their own.
    nominal_splits : {"auto", "binary", "multiway"}, default="auto"
        Whether a test of a nominal column divides its categories into two sets, or
        has a branch for every category that occurs at the node. ``"auto"`` is
        ``"multiway"`` for ``bound="possibilistic"``, as published, else ``"binary"``.
        See the user guide for which sets are tried.
    grace_period : int, float or "auto", default="auto"
        `partial_fit` only. Weight of the rows that a leaf sees before it is examined
        for the first time, and between two examinations. ``"auto"`` is 100. Where
        leaves keep rows and count those of their parents (`counts_handed_rows` of the
        bound) it is the square root of the weight that the tree has seen, but at least
        50 and at most 100: a short stream cannot wait, and on a long one a split that
        comes too early is there to stay.
    leaf_memory : {"auto", "rows", "histogram", "gaussian"}, default="auto"
        What a leaf remembers of its rows while it grows in `partial_fit`:

        - ``"rows"``: all of them; exact, memory grows with the stream,
        - ``"histogram"``: class counts in at most 32 bins a feature, whose limits
          are set when the leaf is young,
        - ``"gaussian"``: mean and variance of each feature in each class,
        - ``"auto"``: rows while there are few (up to 8192 values, but at least 128
          and at most 512 rows), then a histogram. If the bound counts rows that a
          parent hands over, and `max_bytes` is None, the latest rows are kept beside
          it: a million values in the whole tree, an equal share for each leaf, but no
          fewer than before.
    max_bytes : int or None, default=None
        `partial_fit` only. Memory that may be used, by `n_bytes_`, at least 65536.
        It is looked at after every 1,024 rows: leaves with the fewest errors to save
        then keep no more than their class counts and stop growing.
    leaf_prediction : {"auto", "majority", "nb", "nba"}, default="auto"
        How leaves predict: by their class frequencies (``"majority"``), by naive
        Bayes over what they remember (``"nb"``), or by whichever of the two, or of
        the class frequencies of their latest ten rows or so, has predicted more of
        their late rows correctly (``"nba"``). The probabilities of the latter are
        calibrated by the log loss of late rows. ``"auto"`` is ``"majority"`` after
        `fit` and ``"nba"`` in `partial_fit`.
    drift : {"local", "ddm", "adwin"}, detector object, LocalRepair or None, \
            default=None
        `partial_fit` only. What is done when the concept changes. None: a split is
        never removed. ``"local"`` watches the errors at every node, and replaces what
        lies below one by a tree that grew on the rows there since a warning, once that
        has shown to be better or the errors to have risen; where neither is so, with
        probability .05 at most (:class:`~skconftree.drift.LocalRepair` takes another).
        A detector watches the errors of the tree; from its warning on a second tree
        learns beside the first and takes its place when the detector reports a drift.
        Detectors of river, and objects with their protocol (``update(x)``,
        ``drift_detected``, ``clone()``), may be given as well; they are called in
        Python after each row, and a tree that has one can be saved by pickle only.
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
          ``(sum w)**2 / sum(w**2)``, which is the number of equally weighted rows
          that are worth as much, and then count as frequencies. The defaults of
          `min_samples_split` and `min_samples_leaf` exclude nothing then: in
          scikit-learn they count rows, whatever their weights.
        - ``"auto"``: ``"frequency"`` if all weights are whole numbers, else
          ``"relative"``. So weights of scikit-learn's
          ``compute_sample_weight("balanced", y)`` and of ``AdaBoostClassifier`` are
          relative. Frequencies that are not whole numbers need ``"frequency"``.

        In `partial_fit` weights are always frequencies, whole numbers or not, as it
        does not know those of the rows to come; ``"relative"`` is an error there
        if weights are given.
    random_state : int, RandomState instance or None, default=None
        Used by `max_features` and ``splitter="random"`` only.
    n_jobs : int or None, default=None
        `fit` only. Number of threads that share the work on the tree: columns of large
        nodes, and what lies below smaller ones. The tree is the same for every number.
        None is 1, unless a context of joblib says otherwise; -1 is all cores. Small and
        sparse tables are left to one thread. See :ref:`one_tree_on_all_cores`.

    Attributes
    ----------
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
        For each nominal column the list of its categories, in the order of their
        codes in `tree_`, None standing for a missing value; None for a numeric
        column. None if no column is nominal.
    max_features_ : int
        The resolved value of `max_features`.
    bound_ : bound object or None
        The resolved bound, `delta` included.
    criterion_ : str
        The resolved criterion.
    pruning_ : pruning object or None
        The resolved pruning.
    shrinkage_ : float
        The resolved shrinkage of `tree_`; 0 of a tree that started with `partial_fit`,
        or learned rows with `drift` set.
    lookahead_ : int
        The resolved number of levels at which `fit` looked ahead; 0 in `partial_fit`.
    tree_ : Tree
        The tree as read-only arrays, evidence included.
    n_rows_seen_ : int
        Number of rows learnt.
    honest_counts_ : ndarray of shape (n_nodes, n_classes) or None
        Rows of each class in each node that had no say in the tree, counted by
        `recount_leaves`; None if there are none.
    n_drifts_ : int
        Number of drifts found by `drift`.
    drifts_ : list of NamedTuple
        Each of them: ``row``, how many rows had been learnt by then; ``node``, below
        which all was replaced, 0 being the root; and ``detector``, its name.
    n_bytes_ : int
        Bytes that the tree and the memories of its leaves take. Not counted are the
        room for further nodes of a tree that grows (as much again at most), copies
        that were asked for (of ``tree_``'s arrays), and the tables of the bound
        (``"possibilistic"``: 4 MiB).
    n_inactive_leaves_ : int
        Leaves that `max_bytes` has switched off: they count classes, and neither split
        nor use naive Bayes any more.
    feature_importances_ : ndarray of shape (`n_features_in_`,)
        Share of each feature in the decrease of impurity.

    See Also
    --------
    skconftree.tree.export_text : The tree as text, with its evidence.
    sklearn.tree.DecisionTreeClassifier : What `to_sklearn` gives.

    Notes
    -----
    `X` is used as float32 and thresholds are float64 midpoints, as in
    scikit-learn. Ties go to the lowest feature, then the lowest cut.

    NaN is a missing value. A test of a numeric column that rows of its node miss
    sends them to the side that is better for the split, or asks whether there is a
    value at all; where no row missed it in training, rows that do go to the
    child with more training rows.

    A `sample_weight` of whole numbers is a frequency: weight k equals k copies of a
    row, and all size limits count weight. `fit` takes other weights as relative,
    unless `sample_weight_kind` says otherwise. Frequencies are 0 or at least 1e-100
    and sum to at most 2**53; class weights are 0 or from 1e-50 to 1e50.

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

    _parameter_constraints: dict = CONSTRAINTS

    def __init__(
        self,
        bound: str | BaseBound | None = "gtest",
        *,
        criterion: str | None = None,
        delta: float | None = None,
        splitter: Literal["best", "random"] = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | Literal["auto", "sqrt", "log2"] | None = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        max_bins: int | None = None,
        pruning: str | BasePruning | None = "auto",
        shrinkage: float | Literal["auto"] = "auto",
        lookahead: int | Literal["auto"] = "auto",
        categorical_features: ArrayLike | None = "from_dtype",
        nominal_splits: Literal["auto", "binary", "multiway"] = "auto",
        grace_period: float | Literal["auto"] = "auto",
        leaf_memory: Literal["auto", "rows", "histogram", "gaussian"] = "auto",
        max_bytes: int | None = None,
        leaf_prediction: Literal["auto", "majority", "nb", "nba"] = "auto",
        drift: str | BaseDetector | RiverDetector | LocalRepair | None = None,
        class_weight: dict[Any, Any] | Literal["balanced"] | None = None,
        sample_weight_kind: Literal["auto", "frequency", "relative"] = "auto",
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
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
        self.lookahead = lookahead
        self.categorical_features = categorical_features
        self.nominal_splits = nominal_splits
        self.grace_period = grace_period
        self.leaf_memory = leaf_memory
        self.max_bytes = max_bytes
        self.leaf_prediction = leaf_prediction
        self.drift = drift
        self.class_weight = class_weight
        self.sample_weight_kind = sample_weight_kind
        self.random_state = random_state
        self.n_jobs = n_jobs

    _kind = TreeModel

    max_features_ = fitted("resolved.max_features", "The resolved `max_features`.")
    bound_ = fitted("resolved.bound", "The resolved bound.")
    criterion_ = fitted("resolved.criterion", "The resolved criterion.")
    pruning_ = fitted("resolved.pruning", "The resolved pruning.")
    lookahead_ = fitted("resolved.lookahead", "Levels at which `fit` looked ahead.")
    tree_ = fitted("tree", "The tree as read-only arrays, evidence included.")
    fidelity_ = fitted("fidelity", "How often a distilled tree agrees, see `distill`.")
    shrinkage_ = fitted(
        "tree.shrinkage", "How strongly leaves are drawn upwards.", changes=True
    )
    honest_counts_ = fitted(
        "honest_counts", "Rows that had no say in the tree.", changes=True
    )

    def _growth(self):
        return TreeGrowth.of(self)

    @learns
    def _answer_as(self, *said):
        # Keep the tests; all else are predictions of a classifier, see `distill`.
        self._model = self._model.distilled(*said)

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
    ) -> Self:
        """Go on growing the tree with further rows.

        Rows are learnt one by one in their order: a stream gives the same tree,
        bit for bit, however it is cut into calls. After `fit` the fitted leaves
        grow on, and `shrinkage` stays unless `drift` is set. Splits are never removed.
        Parameters of the growth are those of the first call.

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
            the tree is fitted already: then they are those of `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. The weight of a row enters at once; a row of weight
            0 is not learnt.
        X_pool : array-like, sparse or frame of shape (n_pool, n_features), default=None
            Unlabelled rows, on the first call only. A bound with a `pool_weight`
            (``"credible"``) weighs a child by all rows that fall into it.
        from_pool : array-like of shape (n_samples,), default=None
            Learn these rows of `X_pool`, that of the first call, given by their places,
            with X=None. A row that has got its label is no longer one without.

        Returns
        -------
        ConfidenceTreeClassifier
            The estimator itself.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid; nothing is learnt then.

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
        return_proba : bool, default=False
            Give class probabilities instead of classes.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) if `return_proba`
            The class predicted for each row by the tree as it was before the row
            was learnt: what prequential evaluation compares with `y`. Or the
            probabilities, those of `predict_proba` before the row.

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
        if return_proba:
            return self._learn(X, y, classes, sample_weight, X_pool, tells="proba")
        found = self._learn(X, y, classes, sample_weight, X_pool, tells="class")
        return self._model.classes.names.take(found)

    @learns
    def _learn(self, X, y, classes, sample_weight, X_pool, from_pool=None, tells=None):
        if from_pool is not None:
            X, from_pool = self._rows_from_pool(X, y, X_pool, from_pool)
        call = read_call(self, X, y, classes, sample_weight, X_pool)
        return learn(self, call, tells=tells, from_pool=from_pool)

    def _rows_from_pool(self, X, y, X_pool, places):
        # What is learnt instead of X, and the places as the grower wants them.
        if X_pool is None:
            if self._model is None:
                raise ValueError(NO_POOL)
            pool = self._model.pool
            places = check_row_indices(X, y, places, len(pool))
            rows = self._model.rows_of_pool(places)
            return self._model.schema.known(rows, type(self).__name__), places
        pool = X_pool if hasattr(X_pool, "shape") else np.asarray(X_pool)
        places = check_row_indices(X, y, places, pool.shape[0])
        return _safe_indexing(pool, places), places

    def _check_call(self, classes, X_pool):
        # Parameters are those of the call that growth begins in; to check them takes as
        # long as ten rows.
        if self._model is None or not self._model.grows:
            if not get_config()["skip_parameter_validation"]:
                self._validate_params()
        check_stream(self, classes, X_pool)

    def _started(self, call):
        statement = None
        if self._model is None:
            caller = type(self).__name__
            statement = resolve_statement(
                self.bound, self.criterion, self.delta, caller
            )
        return grow_on(self, self._model, call, statement, owner=self)


def tree_of_model(model, parameters):
    """An estimator of a model that somebody else has, for whoever looks at it."""
    tree = ConfidenceTreeClassifier(**parameters)
    share_lock(tree, model)
    tree._model = model
    return tree
