"""The confidence tree estimator."""

from sklearn.base import BaseEstimator, ClassifierMixin

from .._compat import validate_parameters
from ..bounds._registry import BOUNDS
from ..utils._lock import Lockable
from ._batch import BatchGrowth
from ._grown_tree import GrownTree
from ._limits import LeafLimits
from ._model_state import SavedModel
from ._online import OnlineGrowth
from ._parameters import CONSTRAINTS
from ._prediction import LeafPrediction
from ._readable import ReadableTree
from ._resolve import resolve_settings


class ConfidenceTreeClassifier(
    LeafPrediction,
    LeafLimits,
    GrownTree,
    ReadableTree,
    BatchGrowth,
    OnlineGrowth,
    SavedModel,
    Lockable,
    ClassifierMixin,
    BaseEstimator,
):
    """A decision tree that splits only where a confidence statement allows it.

    At every node the tree looks for the best test, as CART does, and then asks
    its *bound* whether the data support that split. Where they do not, the node
    stays a leaf. So the tree ends up right-sized without tuning, and every split
    carries the evidence that justified it (`tree_.evidence`,
    :func:`skconftree.tree.export_text`, `explain`).

    The default is a lax likelihood-ratio test, which installs a split if fewer than
    one test as good is expected at the node by chance, followed by pruning at an
    exact binomial limit. It was chosen by cross-validation on many real tables.

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
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Number of features examined at a node, drawn among those that vary in it.
        A float is a fraction; None means all.
    max_leaf_nodes : int or None, default=None
        Grow best-first, by weighted decrease of impurity, up to this many leaves.
    min_impurity_decrease : float, default=0.0
        Smallest weighted decrease of impurity of a split, in scikit-learn's units.
    pruning : {"auto", "pessimistic", "c45", "possibilistic", \
            "cost_complexity", "chi2", "ec2"} or None, default="auto"
        `fit` only. What removes splits from the grown tree, from the leaves upwards.
        ``"auto"`` is what goes with the bound, see its `defaults`; nothing for
        ``bound=None``. Any other is an error in `partial_fit`, which never removes a
        split. A subtree becomes a leaf

        - ``"pessimistic"``: unless its upper limits of errors sum to less,
        - ``"c45"``: the same with the limits of C4.5, which also lets the larger
          branch of a node take its place,
        - ``"possibilistic"``: unless its possibilistic entropy is lower,
        - ``"cost_complexity"``: unless it lowers the impurity by more than
          `pruning_confidence` per leaf (scikit-learn's `ccp_alpha`),
        - ``"chi2"``: if it is one test, and class and outcome are not dependent,
        - ``"ec2"``: if it is one test, and label noise may explain it.
    pruning_confidence : float or None, default=None
        `fit` only. Strength of the pruning:

        ===================  ========================================  ========  ====
        `pruning`            meaning                                   range     None
        ===================  ========================================  ========  ====
        ``pessimistic``      error of the limit; smaller prunes more   (0, 1)    0.25
        ``c45``              the same, C4.5's confidence factor        (0, 0.5]  0.25
        ``possibilistic``    error of the limits; smaller prunes more  (0, 1)    0.05
        ``chi2``             largest p-value; smaller prunes more      (0, 1)    0.05
        ``ec2``              least confidence; larger prunes more      [0, 1]    0.5
        ``cost_complexity``  impurity that a leaf must earn; larger    [0, inf)  0.0
                             prunes more, 0 not at all
        ===================  ========================================  ========  ====

        With ``pruning="auto"`` None is what the bound recommends, which for
        ``bound="gtest"`` is 0.02 where the tree looks ahead, else 0.1. Ignored without
        pruning.
    shrinkage : float or "auto", default="auto"
        `fit` only. How strongly `predict_proba` draws a leaf towards the nodes above
        it (hierarchical shrinkage): from the root down, the step from the class
        proportions of a parent with n rows to those of its child counts
        ``n / (n + shrinkage)``. So a leaf of few rows says less than its proportions
        do. ``"auto"`` is 10 for ``bound="gtest"``, else 0: proportions as they are.
        It changes neither tests nor counts. `partial_fit` ends it.
    lookahead : int or "auto", default="auto"
        `fit` only. Number of levels of the tree, from the root down, in which the
        growth looks ahead. At a node there the best test of each feature is looked
        at, if the bound accepts it on its own: the test that would be installed
        otherwise and those two others of largest gain. Of these the one is installed
        below which the trees, grown without look-ahead and pruned, have the smallest
        pessimistic count of errors (``pruning="pessimistic"``, at the
        `pruning_confidence`).
        Needs that pruning, a bound that judges each test by itself (``"gtest"``,
        ``"chi2"``), all features, the best cut of each and no `max_leaf_nodes`.
        0: none. ``"auto"`` is what the bound says (8 for ``"gtest"``, else 0) for
        tables of a weight up to 10,000, with the pruning that goes with the bound; none
        where look-ahead is not served.
    honest_share : float, default=0.0
        `fit` only. Share of the rows that are kept back, in [0, 1). They have no say in
        the tree, which is that of the other rows, and are counted in its leaves for
        ``predict_proba_interval(method="honest")``. Each row is kept back with this
        probability, by a hash of its values and label: neither the order of the rows
        matters nor, unless weights are relative, whether a row has weight k or comes
        k times. `classes_` and balanced class weights are those of all rows.
        `partial_fit` discards those of `fit`, with a warning.
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
    grace_period : int or float, default=100
        `partial_fit` only. Weight of the rows that a leaf sees before it is examined
        for the first time, and between two examinations.
    tie_threshold : float, default=0.0
        Race bounds only: once the radius has shrunk to this, the best test is
        installed although no winner is sure. 0 never settles a tie.
    leaf_memory : {"auto", "rows", "histogram", "gaussian"}, default="auto"
        What a leaf remembers of its rows while it grows in `partial_fit`:

        - ``"rows"``: all of them; exact, memory grows with the stream,
        - ``"histogram"``: class counts in at most 32 bins a feature, whose limits
          are set when the leaf is young,
        - ``"gaussian"``: mean and variance of each feature in each class,
        - ``"auto"``: rows while there are few (up to 8192 values, but at least 128
          and at most 512 rows), then a histogram.
    max_bytes : int or None, default=None
        `partial_fit` only. Memory that may be used, by `n_bytes_`, at least 65536.
        It is looked at after every 1,024 rows: leaves with the fewest errors to save
        then keep no more than their class counts and stop growing.
    leaf_prediction : {"auto", "majority", "nb", "nba"}, default="auto"
        How leaves predict: by their class frequencies (``"majority"``), by naive
        Bayes over what they remember (``"nb"``), or by whichever of the two, or of
        the class frequencies of their latest ten rows or so, has predicted more of
        their late rows correctly (``"nba"``). ``"auto"`` is ``"majority"`` after
        `fit` and ``"nba"`` in `partial_fit`.
    drift : {"ddm", "adwin", "hddm_a", "hddm_w", "kswin", "page_hinkley"}, detector \
            object or None, default=None
        `partial_fit` only. What is done when the concept changes. None: a split is
        never removed. A detector watches the errors of the tree; from its warning on
        a second tree learns beside the first and takes its place when the detector
        reports a drift.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. They change criterion and predictions; a bound sees
        the reweighted proportions with the unweighted number of rows as evidence.
    sample_weight_kind : {"frequency", "relative"}, default="frequency"
        `fit` only. What its `sample_weight` is:

        - ``"frequency"``: weight k equals k copies of a row. All size limits count
          weight, and so does the evidence of a bound.
        - ``"relative"``: only the ratios of the weights matter, as in boosting or
          with importance weights. They are rescaled to the sum
          ``(sum w)**2 / sum(w**2)``, which is the number of equally weighted rows
          that are worth as much, and then count as frequencies. The defaults of
          `min_samples_split` and `min_samples_leaf` exclude nothing then: in
          scikit-learn they count rows, whatever their weights. An error in
          `partial_fit`, which does not know the rows to come.
    random_state : int, RandomState instance or None, default=None
        Used by `max_features` and ``splitter="random"`` only.

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
    pruning_ : str or None
        The resolved pruning.
    pruning_confidence_ : float or None
        Its strength.
    shrinkage_ : float
        The resolved shrinkage of `tree_`; 0 once `partial_fit` has been called.
    lookahead_ : int
        The resolved number of levels at which `fit` looked ahead; 0 in `partial_fit`.
    tree_ : Tree
        The tree as read-only arrays, evidence included.
    n_rows_seen_ : int
        Number of rows learnt; those kept back are not.
    n_drifts_ : int
        Drifts found by `drift`, each of which replaced the tree.
    n_bytes_ : int
        Bytes that the tree and the memories of its leaves take. Not counted are the
        room for further nodes of a tree that grows (as much again at most), copies
        that were asked for (of ``tree_``'s arrays), and the tables of the bound
        (``"possibilistic"``: 4 MiB).
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

    `sample_weight` is a frequency unless `sample_weight_kind` says otherwise: weight
    k equals k copies of a row, and all size limits count weight. Frequencies are 0 or
    at least 1e-100 and sum to at most 2**53; class weights are 0 or from 1e-50 to
    1e50.

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
        bound="gtest",
        *,
        criterion=None,
        delta=None,
        splitter="best",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=None,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        pruning="auto",
        pruning_confidence=None,
        shrinkage="auto",
        lookahead="auto",
        honest_share=0.0,
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
        random_state=None,
    ):
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
        self.lookahead = lookahead
        self.honest_share = honest_share
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
        self.random_state = random_state

    _features = None  # what is known of the columns, unless all are numeric
    _grower = None  # of a tree that grows row by row

    def _validate_params(self):
        validate_parameters(self)

    def _settings(self, bound, criterion, features, total=None, relative=False):
        return resolve_settings(
            self,
            bound,
            criterion,
            self.n_features_in_,
            nominal=features is not None,
            total=total,
            relative=relative,
        )

    def _become(self, classes, features, settings):
        # What is settled before the first row is learnt.
        self.classes_, self.n_classes_ = classes, len(classes)
        self.is_categorical_ = None if features is None else features.is_categorical
        self.bound_, self.criterion_ = settings.bound, settings.criterion
        self.max_features_ = settings.max_features
        self._features = features

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        # validate_data asks for tags at each call: no copy of the bound for them
        bound = BOUNDS.get(self.bound) if isinstance(self.bound, str) else self.bound
        tags.classifier_tags.poor_score = getattr(bound, "cautious", False)
        return tags
