"""`StreamActiveLearner`: active learning from a stream.

An `Account` is the label budget: it counts rows and queried labels. The *random branch*
of a strategy is a random part of the rows, whose labels are queried at random. Methods
decorated by `learns` lock the learner exclusively; those decorated by
`reads_consistent` first complete an interrupted update. A `DictConverter` makes tables
of rows that are dictionaries.
"""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_array, check_random_state, column_or_1d, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._compat import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    check_row_weights,
    validate_parameters,
)
from ...drift import BaseDetector
from ...drift._registry import DETECTORS, resolve_detector
from ...tables._dictionaries import DictConverter, dictionaries_in, is_dictionary
from ...tables._labels import check_labels, exact_labels, unique_classes
from ...utils._available import absence_error
from ...utils._codec import VersionedState, canonical
from ...utils._doc_links import DocLinkMixin
from ...utils._lock import learns
from ...utils._parameter_names import suggests_parameters
from ...utils._types import Estimator, Floats, LabelsLike, RowsLike, Seed, TableLike
from ...utils._warnings import warn
from .._estimators import check_capabilities, tags_of_wrapper, warn_of_drift_detector
from .._labels import take
from .._transaction import reads_consistent
from ._context import LeafLabels, StreamContext
from ._decisions import Account
from ._strategies import (
    STREAM_STRATEGIES,
    RandomStream,
    StreamStrategy,
    resolve_stream_strategy,
)
from ._update import (
    NONE_PENDING,
    PendingUpdate,
    StreamUpdates,
    check_strategy,
    read_parts,
    write_parts,
)

if TYPE_CHECKING:
    from ...drift._registry import RiverDetector


class StreamRun(NamedTuple):
    """Result of :meth:`~skconftree.active.StreamActiveLearner.run`.

    Parameters
    ----------
    predictions : ndarray of shape (n_rows,)
        Class predicted for each row before its label was learned.
    queried : ndarray of shape (n_rows,), bool
        Whether the label of each row was queried.
    accuracy : float
        Accuracy of the predictions; NaN without predictions.
    f1 : float
        F1 of the rarest class of the stream; NaN without predictions.
    n_unpredicted : int
        Number of rows before the first model, whose prediction is None. They are
        excluded from `accuracy` and `f1`.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.active.stream import StreamRun
    >>> run = StreamRun(
    ...     predictions=np.array([None, 1]), queried=np.array([True, False]),
    ...     accuracy=1.0, f1=1.0, n_unpredicted=1)
    >>> run.n_unpredicted
    1
    """

    predictions: np.ndarray
    queried: np.ndarray
    accuracy: float
    f1: float
    n_unpredicted: int


def compare(predictions, queried, y):
    """Compare predictions (None without a model) with labels."""
    known = np.array([label is not None for label in predictions], dtype=bool)
    n_unpredicted = int((~known).sum())
    if not known.any():
        return StreamRun(predictions, queried, np.nan, np.nan, n_unpredicted)
    labels, counts = np.unique(y, return_counts=True)
    rare = labels[counts.argmin()]
    predicted, true = predictions[known], y[known]
    pairs = zip(predicted, true, strict=True)
    right = np.array([label == other for label, other in pairs], dtype=bool)
    predicts_rare = np.array([label == rare for label in predicted], dtype=bool)
    is_rare = true == rare
    n_both = (predicts_rare & is_rare).sum()
    f1 = 2.0 * n_both / max(predicts_rare.sum() + is_rare.sum(), 1)
    return StreamRun(
        predictions, queried, float(right.mean()), float(f1), n_unpredicted
    )


LOOKAHEAD = 512  # maximal number of rows decided on at once


@suggests_parameters()  # in the error for an unknown parameter
@dataclass(eq=False, repr=False)
class StreamActiveLearner(
    StreamUpdates,
    DocLinkMixin,
    ClassifierMixin,
    MetaEstimatorMixin,
    VersionedState,
    BaseEstimator,
):
    """Active learner for data streams with a labeling budget.

    `query` decides row by row whether to query the label, `teach` learns the queried
    labels. The share of queried labels never exceeds the budget at any row. Between two
    calls of `teach`, decisions do not depend on the division of rows into calls.

    A classifier with `learns_unlabeled`, such as :class:`~skconftree.OASISClassifier`,
    also learns each row whose label was not queried, before the next decision. Such
    rows are stored until there is a model.

    Parameters
    ----------
    estimator : classifier with `partial_fit`
        Classifier that is trained. It is cloned and not modified.
    strategy : str or StreamStrategy, default="conf_tree"
        One of ``"conf_tree"``, ``"random"``, ``"fixed_uncertainty"``,
        ``"variable_uncertainty"``, ``"random_variable_uncertainty"``,
        ``"selective_sampling"``, ``"split"``, ``"split_conf_tree"``, ``"oasis"``,
        ``"gbs"``, ``"uc"``, or a strategy object.
        ``"conf_tree"`` queries in leaves whose majority class is uncertain, ``"split"``
        adds random queries. Strategies with ``conf_tree`` in their name need a single
        tree; ``"oasis"``, ``"gbs"`` (generalized binary search) and ``"uc"``
        (uncertainty) are scores of a classifier with `query_score`.
    budget : float, default=0.1
        Maximum share of rows whose labels are queried, in (0, 1].
    strict_budget : bool, default=True
        Whether the budget is kept at every row. If False, a label may be queried while
        the share of the previous rows is below the budget, as published.
    budget_estimate : {"exact", "windowed"}, default="exact"
        Whether the budget refers to all rows, or to an estimate over the last 100 rows.
        With ``"windowed"``, labels that were not queried long ago cannot be queried
        now, and the budget is only kept on average.
    drift : {"ddm", "adwin"}, detector object or None, default=None
        Drift detector that monitors the errors on labels queried at random. The model
        is replaced when a drift is detected. It requires a strategy that queries labels
        at random: ``"random"``, ``"split"`` or ``"split_conf_tree"``. ``"ddm"`` is the
        published detector; detectors of the library river are accepted, too.
    classes : array-like, default=None
        All labels of the stream. None: labels are stored until there are two classes,
        and further classes raise an error.
    random_state : int, RandomState instance or None, default=None
        Seed of random draws, which are keyed by the number of the row.

    Attributes
    ----------
    estimator_ : classifier
        Trained classifier. Not available before two classes have been learned.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_rows_seen_ : int
        Number of rows decided on.
    n_queried_ : int
        Number of labels queried.
    queried_share_ : float
        `n_queried_` divided by `n_rows_seen_`; 0.0 before the first row.
    n_taught_ : int
        Number of labels learned by `teach` and `run`. An interrupted call of `teach`
        learns either all or none of its labels, which this attribute shows.
    n_drifts_ : int
        Number of detected drifts, each of which replaced the model.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if they have any.

    See Also
    --------
    ActiveLearner : For a pool of rows that one may choose from.

    References
    ----------
    .. [1] R. De Rosa, N. Cesa-Bianchi, "Confidence decision trees via online and
       active learning for streaming data", Journal of Artificial Intelligence
       Research 60 (2017).

    Examples
    --------
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import StreamActiveLearner
    >>> from skconftree.datasets import make_sea
    >>> X, y = make_sea(5000, random_state=0)
    >>> learner = StreamActiveLearner(
    ...     ConfidenceTreeClassifier(), budget=0.1, classes=[0, 1], random_state=0)
    >>> for start in range(0, 5000, 100):
    ...     rows, labels = X[start : start + 100], y[start : start + 100]
    ...     ask = learner.query(rows)
    ...     learner = learner.teach(rows[ask], labels[ask])
    >>> learner.queried_share_ <= 0.1, bool(learner.score(X, y) > 0.8)
    (True, True)
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["partial_fit", "predict"])],
        # "uncertainty": the largest class probability is below a threshold, which is
        # fixed, adaptive (variable) or adaptive and randomized; "selective_sampling"
        # queries with a probability that increases with the uncertainty
        "strategy": [StrOptions(set(STREAM_STRATEGIES)), StreamStrategy],
        "budget": [Interval(Real, 0, 1, closed="right")],
        "strict_budget": ["boolean"],
        "budget_estimate": [StrOptions({"exact", "windowed"})],
        "drift": [
            StrOptions(set(DETECTORS)),
            BaseDetector,
            HasMethods(["update"]),
            None,
        ],
        "classes": ["array-like", None],
        "random_state": ["random_state"],
    }

    estimator: Estimator
    _: KW_ONLY
    strategy: str | StreamStrategy = "conf_tree"
    budget: float = 0.1
    strict_budget: bool = True
    budget_estimate: Literal["exact", "windowed"] = "exact"
    drift: str | BaseDetector | RiverDetector | None = None
    classes: ArrayLike | None = None
    random_state: Seed = None

    # Updates are atomic (`_update.py`): a method changes a shadow copy, whose
    # attributes replace those of the learner at the end (`_take_over`). Models that
    # count the rows they have learned are not copied: they learn in place, and
    # `_recover` completes or reverts an interrupted update. `is_random` is a mask of
    # the queried labels that were drawn at random; only these are used to detect drift.

    def _start(self):
        # Validate the parameters and initialize the state, before the first row.
        absent = absence_error(self.estimator, "partial_fit", "predict")
        if absent is not None:
            raise InvalidParameterError(
                "The 'estimator' parameter of StreamActiveLearner must be an object "
                f"implementing 'partial_fit' and 'predict'. Got {self.estimator!r} "
                f"instead: {absent}"
            ) from absent
        validate_parameters(self)
        strategy = resolve_stream_strategy(self.strategy)
        validate_parameters(strategy)
        # the error for a missing capability suggests one of `others`
        others = {name: make() for name, make in STREAM_STRATEGIES.items()}
        check_capabilities(strategy, self.estimator, others)
        if self.drift is not None and not strategy.has_random_branch:
            raise ValueError(
                "drift must be None unless the strategy queries labels at random for "
                "the detector, as 'random', 'split' and 'split_conf_tree' do. Got "
                f"drift={self.drift!r} with strategy={self.strategy!r}."
            )
        if not isinstance(strategy, RandomStream):
            # its own detector would monitor rows that the strategy selects
            warn_of_drift_detector(self.estimator)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        window = 100 if self.budget_estimate == "windowed" else 0
        classes = None if self.classes is None else unique_classes(self.classes)
        if classes is not None and len(classes) < 2:
            raise ValueError(
                f"classes must contain at least two labels. Got {classes}."
            )
        detector = resolve_detector(self.drift)
        self._strategy = strategy
        self._state = strategy.start()
        self._seed = seed
        # counts rows and queried labels
        self._budget = Account(self.budget, self.strict_budget, window)
        self._leaves = LeafLabels()  # numbers of rows and queried labels of leaves
        self._classes = classes
        self._stored_batches = []  # (rows, labels or None, weights) before the model
        self._unqueried = None  # the last row, if its label was not queried
        # the detector is a compiled object
        self._detector = None if detector is None else detector.kernel()
        self._background = None  # model that replaces the current one at a drift
        self._n_drifts = self._n_taught = 0
        # for each queried label that was not passed to `teach`: is it a random one?
        self._pending = NONE_PENDING

    @learns
    def query(self, X: RowsLike) -> NDArray[np.bool_]:
        """Decide which labels to query.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features), dict or list of dict
            Rows in the order of their arrival, each of them once. The keys of
            dictionaries are columns; the first call determines which there are.

        Returns
        -------
        ndarray of shape (n_rows,), bool
            Whether to query the label of each row, which is charged to the budget.
        """
        self._recover()
        other = self._shadow_copy()
        X = other._read(X)
        if self._learns_unlabeled:
            other._check_rows(X)
        if len(other._pending):
            warn(
                f"{len(other._pending)} queried labels have not been passed to "
                "teach(). They remain charged to the budget."
            )
        other._copy_counts()
        if not self._learns_unlabeled:
            queried, _, other._pending = other._decide(X, stop=False)
        else:
            if X.shape[0] == 1 and self._learns_inplace():
                self._learn_unqueried()  # the previous row; also if this call fails
                other._unqueried = None
            else:
                other._copy_models()
            queried, other._pending = other._decide_each(X)
        self._take_over(other)
        return queried.astype(bool)

    def _copy_counts(self):
        self._budget = copy.copy(self._budget)
        self._state = self._state.copy()
        self._leaves = self._leaves.copy()

    @property
    def _learns_unlabeled(self):
        return getattr(self.estimator, "learns_unlabeled", False)

    def _check_rows(self, X):
        # Validate the rows before the first one is learned.
        if hasattr(self, "estimator_") and X.shape[0]:
            self.estimator_.predict(X)
        elif X.shape[0]:
            tags = get_tags(self.estimator).input_tags
            check_array(
                X,
                accept_sparse=True,
                dtype=None if tags.string or tags.categorical else "numeric",
                ensure_all_finite="allow-nan" if tags.allow_nan else True,
            )

    def _decide_each(self, X):
        queried = np.zeros(X.shape[0], dtype=bool)
        are_random = [np.zeros(0, dtype=bool)]
        for i in range(len(queried)):
            row = take(X, np.array([i]))
            decision, _, is_random = self._decide(row, stop=False)
            queried[i] = decision[0]
            are_random.append(is_random)
        return queried, np.concatenate(are_random)

    def _read(self, X):
        if not hasattr(self, "_budget"):
            self._start()
        if (rows := dictionaries_in(X)) is not None:
            return self._read_dictionaries(rows)
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        validate_data(
            self, X, reset=not hasattr(self, "n_features_in_"), skip_check_array=True
        )
        if len(X.shape) != 2:
            raise ValueError(f"X must be a 2d table. Got shape {X.shape}.")
        if X.shape[1] == 0:
            raise ValueError(
                f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 "
                "is required."
            )
        return X

    def _read_dictionaries(self, rows):
        self._dictionaries, X = self._table(rows)
        names, n_features = X.feature_names, X.shape[1]
        if not hasattr(self, "n_features_in_"):
            self.n_features_in_ = n_features
            if names is not None:
                self.feature_names_in_ = names
        # `of_names`: whether X has the column names of the first rows
        elif self.n_features_in_ != n_features or not X.of_names(
            getattr(self, "feature_names_in_", None)
        ):
            raise ValueError(
                "The keys of dictionaries must be the column names of the rows before. "
                f"Got {X.columns}."
            )
        return X

    def _table(self, rows):
        # Returns the converter of dictionaries to tables, and a table of the rows.
        dictionaries = copy.copy(vars(self).get("_dictionaries"))
        dictionaries = dictionaries or DictConverter(vars(self).get("estimator_"))
        return dictionaries, dictionaries.table(rows)

    def _as_table(self, X):
        check_is_fitted(self, "estimator_")
        rows = dictionaries_in(X)
        return X if rows is None else self._table(rows)[1]

    def _decide(self, X, stop):
        # Decide on rows; with `stop`, until the first one whose label is queried.
        # Return whether each row was queried, the number of rows decided on, and
        # `is_random`.
        is_single_row = self._learns_unlabeled
        if is_single_row:
            self._learn_unqueried()
        first = self._budget.n_rows
        n_classes = 2 if self._classes is None else len(self._classes)
        context = StreamContext(
            getattr(self, "estimator_", None),
            X,
            n_classes,
            first,
            self._seed,
            self._leaves,
            self._budget,
            stop,
        )
        queried = np.zeros(X.shape[0], dtype=np.uint8)
        if not context.n_rows:
            return queried, 0, np.zeros(0, dtype=bool)
        n = self._strategy.decide(context, self._state, queried)
        # `needs`: what the strategy uses of the model
        if context.estimator is not None and "leaves" in self._strategy.needs:
            self._leaves.add_rows(context.leaf_ids[:n])
        if is_single_row and not queried[0]:
            self._unqueried = X
        is_random = self._strategy.random_branch(context) == 1
        return queried, n, is_random[:n][queried[:n] == 1]

    @learns
    def teach(
        self,
        X: RowsLike,
        y: LabelsLike | Any,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn the queried labels.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features), dict or list of dict
            The rows, in the order in which they were queried.
        y : array-like of shape (n_rows,), or a label if X is one dictionary
            Labels of the rows.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows.

        Returns
        -------
        StreamActiveLearner
            The updated learner.
        """
        self._recover()
        other = self._shadow_copy()
        if is_dictionary(X):
            y = [y]
            sample_weight = None if sample_weight is None else [sample_weight]
        X = other._read(X)
        y = other._read_labels(y, X)
        weight = None
        if sample_weight is not None:
            weight = check_row_weights(sample_weight, X)
        is_random = other._pending
        if len(is_random) != len(y):
            if len(y):
                warn(
                    f"teach() got {len(y)} labels, but {len(is_random)} were queried. "
                    "They are learned, but not used to detect drift."
                )
            is_random = np.zeros(len(y), dtype=bool)
        if len(y) and self._learns_inplace():
            self._learn_inplace(PendingUpdate(X, y, is_random, weight))
            return self
        other._pending = NONE_PENDING
        if len(y):
            other._copy_models()
            other._learn_in_copy(X, y, is_random, weight)
        self._take_over(other)
        return self

    def _read_labels(self, y, X):
        y = column_or_1d(exact_labels(y), warn=True)  # without rounding any label
        if len(y) != X.shape[0]:
            raise ValueError(
                f"X and y must have the same length. Got {X.shape[0]} and {len(y)}."
            )
        if len(y):
            check_labels(y, y)  # the second argument is shown in errors
        self._check_known(y)
        return y

    def _check_known(self, y):
        if self._classes is not None:
            unknown = ~np.isin(y, self._classes)
            if unknown.any():
                raise ValueError(
                    "y contains a label that is not one of the classes "
                    f"{self._classes.tolist()}: {y[unknown].tolist()[0]!r}. Pass all "
                    "labels of the stream as `classes` to the constructor."
                )

    @learns
    def run(self, X: TableLike, y: LabelsLike) -> StreamRun:
        """Simulate the learner on a labeled stream: predict, decide and learn.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            The stream.
        y : array-like of shape (n_rows,)
            All labels; only queried labels are learned.

        Returns
        -------
        StreamRun
            Predictions, queried rows and metrics.
        """
        self._recover()
        other = self._shadow_copy()
        X = other._read(X)
        y = other._read_labels(y, X)
        if self._learns_unlabeled:
            other._check_rows(X)
        other._copy_counts()
        other._copy_models()
        predictions, queried = other._run(X, y)
        result = compare(predictions, queried, y)
        self._take_over(other)
        return result

    def _run(self, X, y):
        n = len(y)
        queried = np.zeros(n, dtype=bool)
        predictions = np.full(n, None, dtype=object)
        start, n_ahead = 0, 16
        while start < n:
            n_ahead = 1 if self._learns_unlabeled else n_ahead
            rows = np.arange(start, min(start + n_ahead, n))
            block = take(X, rows)
            decisions, done, is_random = self._decide(block, stop=True)
            if hasattr(self, "estimator_"):
                first = take(block, np.arange(done))
                predictions[start : start + done] = self.estimator_.predict(first)
            start += done
            is_queried = bool(decisions[done - 1])
            # about as many rows as are decided on before a label changes the model
            n_ahead = max(2 * done if is_queried else 2 * n_ahead, 16)
            n_ahead = min(n_ahead, LOOKAHEAD)
            if is_queried:
                queried[start - 1] = True
                row, label = take(X, np.array([start - 1])), y[start - 1 : start]
                self._check_known(label)
                self._learn_in_copy(row, label, is_random, weight=None)
        return predictions, queried

    @learns
    def fit(self, X: TableLike, y: LabelsLike) -> Self:
        """Start a new stream with labeled rows.

        The labels are learned, but not charged to the budget.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Labels.

        Returns
        -------
        StreamActiveLearner
            The learner itself.
        """
        other = self._shadow_copy()
        for name in (
            "n_features_in_",
            "feature_names_in_",
            "estimator_",
            "_dictionaries",
            "_pending_update",
        ):
            vars(other).pop(name, None)
        other._start()
        X = other._read(X)
        y = other._read_labels(y, X)
        classes = unique_classes(y) if other._classes is None else other._classes
        model = other._new_estimator()
        model.partial_fit(X, y, classes=classes)
        other.estimator_, other._classes = model, classes
        self._take_over(other)
        return self

    @property
    @reads_consistent
    def classes_(self) -> NDArray[Any]:
        """Labels of the stream."""
        check_is_fitted(self, "estimator_")
        return self._classes

    @property
    @reads_consistent
    def n_rows_seen_(self) -> int:
        """Number of rows decided on."""
        return self._budget.n_rows if hasattr(self, "_budget") else 0

    @property
    @reads_consistent
    def n_queried_(self) -> int:
        """Number of labels queried."""
        return self._budget.n_queried if hasattr(self, "_budget") else 0

    @property
    @reads_consistent
    def queried_share_(self) -> float:
        """Share of the rows whose labels were queried."""
        return self.n_queried_ / max(self.n_rows_seen_, 1)

    @property
    @reads_consistent
    def n_taught_(self) -> int:
        """Number of labels learned by `teach` and `run`."""
        return getattr(self, "_n_taught", 0)

    @property
    @reads_consistent
    def n_drifts_(self) -> int:
        """Number of detected drifts, each of which replaced the model."""
        return getattr(self, "_n_drifts", 0)

    @reads_consistent
    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Predict classes with the model so far.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features), dict or list of dict
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        X = self._as_table(X)  # raises if there is no model
        return self.estimator_.predict(X)

    @reads_consistent
    def predict_proba(self, X: RowsLike) -> Floats:
        """Class probabilities of the model so far.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_features), dict or list of dict
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        X = self._as_table(X)
        return self.estimator_.predict_proba(X)

    @reads_consistent
    def __getstate__(self):
        state = dict(super().__getstate__())
        state.pop("_pending_update", None)
        # `write_parts` converts compiled objects to plain values, `canonical` makes
        # pickles of equal states equal
        return canonical(write_parts(state))

    def __setstate__(self, state):
        super().__setstate__(read_parts(state))
        check_strategy(self)  # raises an error if its state is corrupt

    def __sklearn_is_fitted__(self):
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self):
        return tags_of_wrapper(super().__sklearn_tags__(), self.estimator)
