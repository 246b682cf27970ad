"""`ActiveLearner`: active learning from a pool."""

from __future__ import annotations

import copy
from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.dummy import DummyClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._compat import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    available_if,
    validate_parameters,
)
from ...utils._available import absence_error
from ...utils._codec import default_parameters, with_version, without_version
from ...utils._lock import learns
from ...utils._parameter_names import suggests_parameters
from ...utils._types import Estimator, Floats, LabelsLike, Seed, TableLike
from ...utils._warnings import warn
from .._estimators import (
    has_leaves,
    refuse_unserved,
    tags_of_wrapper,
    warn_of_own_detector,
)
from .._labels import LabelCodes, n_rows_of, readable
from .._registry import STRATEGIES, resolve_strategy
from .._strategy import TIES
from .._transaction import reads_settled
from ._query import QueryMixin
from ._teach import Answer, Batch, LearningMixin, Pool

if TYPE_CHECKING:
    from .._strategy import SamplingStrategy


def _estimator_has(name):
    def check(self):
        estimator = getattr(self, "estimator_", self.estimator)
        getattr(estimator, name)  # its own AttributeError says more than ours
        return True

    return check


class ReportingMixin:
    """Mixin of an active learner that tells what it knows and predicts."""

    @property
    @reads_settled
    def classes_(self) -> NDArray[Any]:
        """Labels seen so far."""
        check_is_fitted(self, "_codes")
        return self._coder.classes

    @property
    @reads_settled
    def y_(self) -> NDArray[Any]:
        """Labels of the pool's rows."""
        check_is_fitted(self, "_codes")
        return self._coder.write(self._codes)

    @property
    @reads_settled
    def n_labeled_(self) -> int:
        """Rows with a label."""
        check_is_fitted(self, "_codes")
        return len(self._order)

    @property
    @reads_settled
    def history_(self) -> list[Answer]:
        """What has been taught, in order."""
        check_is_fitted(self, "_codes")
        out = []
        for one in self._answers:
            weight = np.ones(len(one.rows)) if one.weight is None else one.weight
            pairs = one.pairs(self.missing_label)
            out += [
                Answer(*two, w) for two, w in zip(pairs, weight.tolist(), strict=True)
            ]
        return out

    @property
    @reads_settled
    def audit_(self) -> tuple[int, int]:
        """Wrong predictions among, and number of, the rows drawn for an audit."""
        check_is_fitted(self, "_codes")
        return self._audit()

    def _audit(self):
        judged = [one for one in self._answers if one.n_wrong is not None]
        return (
            sum(one.n_wrong for one in judged),
            sum(int(one.known.sum()) for one in judged),
        )

    def _fitted(self, X=None):
        check_is_fitted(self, "_codes")
        if not hasattr(self, "estimator_"):
            raise ValueError(
                "There is no label yet that this ActiveLearner could have learnt from. "
                "Ask with query() and answer with teach()."
            )
        if isinstance(self.estimator_, DummyClassifier):
            validate_data(self, X, reset=False, skip_check_array=True)
        return self.estimator_

    @available_if(_estimator_has("predict"))
    @reads_settled
    def predict(self, X: TableLike) -> NDArray[Any]:
        """Predict classes with the classifier fitted so far.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._fitted(X).predict(X)

    @available_if(_estimator_has("predict_proba"))
    @reads_settled
    def predict_proba(self, X: TableLike) -> Floats:
        """Probabilities of the classifier fitted so far.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns are those of `classes_`; 0 for a class without a label yet.
        """
        model = self._fitted(X)
        proba = model.predict_proba(X)
        seen = getattr(model, "classes_", None)
        if seen is None or len(seen) == len(self.classes_):
            return proba
        places = self._coder.encode(np.asarray(seen))
        if places is None:  # a model that was fitted elsewhere knows more
            return proba
        out = np.zeros((len(proba), len(self.classes_)))
        out[:, places] = proba
        return out

    @available_if(_estimator_has("decision_function"))
    @reads_settled
    def decision_function(self, X: TableLike) -> Floats:
        """Decision values of the classifier fitted so far.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        return self._fitted(X).decision_function(X)

    @reads_settled
    def to_tree(
        self,
        *,
        max_leaf_nodes: int | None = None,
        n_rows: int | None = 20_000,
        random_state: Seed = None,
    ) -> Estimator:
        """Grow a tree that answers as the classifier does, on the whole pool.

        A forest makes more of few labels than a tree, and chooses better which to ask
        for; the tree can be read. It says what the forest says of the rows of the pool,
        but of those with a label what that is.

        Parameters
        ----------
        max_leaf_nodes : int, default=None
            Most leaves. None: as many as the default tree has that is grown from the
            labels, at least 16.
        n_rows : int or None, default=20_000
            How many rows to ask the forest of; a smaller pool is filled up with rows
            that are made up between its own. None: the pool as it is.
        random_state : int, RandomState instance or None, default=None
            Draws the rows.

        Returns
        -------
        ConfidenceTreeClassifier
            Fitted, with `fidelity_`; its splits have no evidence.

        Raises
        ------
        TypeError
            If the estimator has no method `to_tree`.
        ValueError
            As long as no labels of two classes are known.

        See Also
        --------
        skconftree.tree.distill : The same of any classifier.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceForestClassifier
        >>> from skconftree.active import ActiveLearner
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = ConfidenceForestClassifier(random_state=0)
        >>> learner = ActiveLearner(forest, random_state=0).fit(X)
        >>> while learner.n_labeled_ < 20:
        ...     rows = learner.query()
        ...     learner = learner.teach(rows, y[rows])
        >>> bool(learner.to_tree(random_state=0).score(X, y) > 0.9)
        True
        """
        if not hasattr(self.estimator, "to_tree"):
            raise TypeError(
                f"to_tree needs an estimator that has this method, as "
                f"ConfidenceForestClassifier. Got {self.estimator!r}; "
                "skconftree.tree.distill takes any classifier."
            )
        model = self._fitted(self._pool.X)
        if isinstance(model, DummyClassifier):
            raise ValueError("to_tree needs labels of at least two classes.")
        y = np.full(len(self._codes), None)
        known = self._codes >= 0
        y[known] = self._coder.classes[self._codes[known]]
        return model.to_tree(
            self._pool.X,
            y,
            max_leaf_nodes=max_leaf_nodes,
            n_rows=n_rows,
            random_state=random_state,
        )


# attributes that a step changes in place
MUTABLE = ("_codes", "_skipped", "_order", "_weights", "_answers", "_pool")
# attributes that are no part of the state
CACHES = ("_index", "_kept", "_forest", "_memory", "_unsettled", "_in_query")


@suggests_parameters()
class ActiveLearner(
    QueryMixin,
    LearningMixin,
    ReportingMixin,
    ClassifierMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """A classifier that asks for the labels it wants to learn from.

    Give it a pool of rows, some or none of which have a label. `query` says which rows
    to label next, `teach` takes the labels, and `predict` and its kin are those of the
    classifier fitted to all labels so far. Rows are always given by their place in the
    pool: nothing has to be kept in step by hand.

    Everything is a function of the pool, the parameters and the answers in their order.
    So `query` gives the same rows until something is taught, `undo` takes back the last
    answers as if they had not been given, and teaching the same answers again gives
    the same model. (One strategy makes guesses by its earlier queries, if it is told
    to: :class:`EC2Sampling` with `lazy` and without `pure`.)

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier or pipeline. It is cloned, not changed, unless
        `prefit` says that it has been fitted.
    strategy : str, SamplingStrategy or callable, default="auto"
        What to ask for: one of ``"auto"``, ``"random"``, ``"least_confident"``,
        ``"margin"``, ``"entropy"``, ``"density"``, ``"diversity"``, ``"k_center"``,
        ``"vote_entropy"``, ``"expected_error"``, ``"leaf_risk"``, ``"leaf_entropy"``,
        ``"lts"``, ``"ec2"``, ``"gbs"``, an object, or a function of the fitted
        classifier and rows that gives scores.
        Until there are labels of two classes, the pool is covered whatever the
        strategy, unless it is ``"random"``.
    batch_size : int, default=1
        Rows that `query` gives unless it is told a number.
    refit : {"auto"} or bool, default="auto"
        Whether the classifier is fitted anew at each label (True) or goes on with
        `partial_fit` (False). ``"auto"`` fits anew: on few labels a tree that grows
        is hardly ever better, and often worse.
    tie_break : {"auto", "random", "leaf", "density"}, default="auto"
        Which of the rows with equal scores come first: any, those in leaves with many
        rows a label, of a single tree only, or those in crowded places. ``"auto"``
        takes leaves with a single tree, else any.
    missing_label : object, default=None
        What stands for a missing label in `y` and in answers, beside None and NaN; -1
        as in scikit-learn's semi-supervised classifiers.
    classes : array-like, default=None
        All labels that may be given; any other raises. None: labels never seen before
        become classes.
    embedding : callable, default=None
        Makes coordinates, in which distances are measured, of the pool. None
        standardises numeric columns and makes indicators of others.
    neighbors : object with `fit` and `kneighbors`, default=None
        Searches neighbours for densities. None: exact up to 20,000 rows, then among
        5,000 at random.
    prefit : bool, default=False
        `estimator` is fitted: it predicts, and is asked about rows, until there are
        labels of two classes, or goes on learning with ``refit=False``.
    random_state : int, RandomState instance or None, default=None
        Governs all random choices, those of an estimator without a `random_state` of
        its own included.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to the labels so far. Not there before the first label.
    classes_ : ndarray of shape (n_classes,)
        Labels seen so far, or `classes`.
    y_ : ndarray of shape (n_rows,)
        Labels of the pool's rows, with `missing_label` where there is none.
    n_labeled_ : int
        Rows with a label.
    history_ : list of Answer
        What has been taught since `fit`, in order.
    audit_ : tuple of int
        Wrong predictions among, and number of, the rows that `run` drew for an audit.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if they have any.

    See Also
    --------
    simulate : What a strategy would have been worth, on labels that are known.
    StreamActiveLearner : For rows that come one after the other.

    Notes
    -----
    Skipped rows are parked: they are asked for again when no other row is left.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import ActiveLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = ActiveLearner(ConfidenceTreeClassifier(), random_state=0)
    >>> learner = learner.fit(X, np.full(150, None))      # no label at all
    >>> for _ in range(30):
    ...     rows = learner.query()
    ...     learner = learner.teach(rows, y[rows])
    >>> learner.n_labeled_, bool(learner.score(X, y) > 0.9)
    (30, True)
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict"])],
        "strategy": [StrOptions(set(STRATEGIES)), callable, HasMethods(["select"])],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "refit": [StrOptions({"auto"}), "boolean"],
        "tie_break": [StrOptions({"auto", *TIES})],
        "missing_label": [object],
        "classes": ["array-like", None],
        "embedding": [callable, None],
        "neighbors": [HasMethods(["fit", "kneighbors"]), None],
        "prefit": ["boolean"],
        "random_state": ["random_state"],
    }

    _index = None, None  # a tree, and the index of the pool's rows in it
    _forest = None, None  # a forest, and its index
    _kept = None  # what strategies found out about that tree
    _memory = None  # and what they remember of earlier queries

    def __init__(
        self,
        estimator: Estimator,
        *,
        strategy: str | SamplingStrategy | Callable[..., Any] = "auto",
        batch_size: int = 1,
        refit: Literal["auto"] | bool = "auto",
        tie_break: Literal["auto", "random", "leaf", "density"] = "auto",
        missing_label: object = None,
        classes: ArrayLike | None = None,
        embedding: Callable[..., Any] | None = None,
        neighbors: Any = None,
        prefit: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.strategy = strategy
        self.batch_size = batch_size
        self.refit = refit
        self.tie_break = tie_break
        self.missing_label = missing_label
        self.classes = classes
        self.embedding = embedding
        self.neighbors = neighbors
        self.prefit = prefit
        self.random_state = random_state

    @learns
    def fit(self, X: TableLike, y: LabelsLike | None = None) -> Self:
        """Take a pool, and learn the labels that it has.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)
            The pool. It is kept, not copied.
        y : array-like of shape (n_rows,), default=None
            Labels; `missing_label`, None or NaN where there is none. None: there are
            no labels at all.

        Returns
        -------
        ActiveLearner
            The fitted learner.
        """
        other = self._shadow_copy()
        other._begin(X, y)
        self._take_over(other)
        return self

    def _begin(self, X, y):
        self._check_parameters()
        X = readable(X)
        validate_data(self, X, skip_check_array=True)
        n = n_rows_of(X)
        if y is None:
            y = np.full(n, None)
        coder = LabelCodes(self.missing_label, self.classes)
        known, labels = coder.read(y)
        if len(known) and not known.any() and np.asarray(y).dtype.kind == "f":
            raise ValueError(
                "Input y contains NaN only. Leave y out to begin without a label."
            )
        if len(known) != n:
            raise ValueError(
                f"X and y must have as many rows each. Got {n} and {len(known)}."
            )
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._pool = Pool(X, self.embedding, self.neighbors, self._seed)
        self._coder = coder
        self._start = Batch(np.flatnonzero(known), known[known], labels, None)
        self._replay([], _queried_rows=None, _memory={}, _in_query=False)

    def _check_parameters(self):
        validate_parameters(self)
        self._strategy = resolve_strategy(self.strategy)
        validate_parameters(self._strategy)
        absent = absence_error(self.estimator, "partial_fit")
        if self.refit is False and absent is not None:
            raise InvalidParameterError(
                "The 'refit' parameter of ActiveLearner must be True or 'auto' with an "
                f"estimator that has no partial_fit. Got {self.estimator!r}: {absent}"
            ) from absent
        refuse_unserved(
            self._strategy,
            self.estimator,
            {name: make() for name, make in STRATEGIES.items()},
        )
        if self.refit is False:
            warn_of_own_detector(self.estimator)
        if self.tie_break == "leaf" and not has_leaves(self.estimator):
            raise InvalidParameterError(
                "The 'tie_break' parameter of ActiveLearner can be 'leaf' only with a "
                "single tree, whose leaves (apply) are compared. Got "
                f"{self.estimator!r}."
            )

    @learns
    def teach(
        self,
        rows: int | ArrayLike,
        labels: object,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn labels.

        Parameters
        ----------
        rows : int or array-like of shape (k,)
            Places in the pool.
        labels : object or array-like of shape (k,)
            Their labels; `missing_label`, None or NaN skips a row.
        sample_weight : array-like of shape (k,), default=None
            Weights, such as the trust in who gave the labels.

        Returns
        -------
        ActiveLearner
            The learner itself.

        Raises
        ------
        ValueError
            If a row is not of the pool or has a label already, or a label is not one
            of `classes`. Nothing is learnt then.
        """
        if not hasattr(self, "_codes"):
            check_is_fitted(self, "_codes")
        self._settle()
        batch = self._read_batch(rows, labels, sample_weight)
        asked = batch.rows if self._queried_rows is None else self._queried_rows
        others = sorted(set(batch.rows.tolist()) - set(asked.tolist()))
        if others:
            warn(
                f"Row {others[0]} was not asked for. Its label is learnt all the same; "
                "give labels to the rows that query() returned, in their order."
            )
        self._learn(batch)
        return self

    def _read_batch(self, rows, labels, weight):
        scalar = np.ndim(rows) == 0
        rows = np.atleast_1d(np.asarray(rows))
        n = self._pool.n_rows
        if rows.size == 0:
            rows = rows.astype(np.intp)
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise ValueError(
                f"rows must be places in the pool, integers. Got {rows!r} instead."
            )
        rows = rows.astype(np.intp)
        outside = (rows < 0) | (rows >= n)
        if outside.any():
            raise ValueError(
                f"rows must be places in the pool of {n} rows, from 0 to {n - 1}. Got "
                f"{rows[outside][0]} instead."
            )
        if len(np.unique(rows)) != len(rows):
            raise ValueError(f"rows must be different from each other. Got {rows}.")
        again = self._codes[rows] >= 0
        if again.any():
            raise ValueError(
                f"Row {rows[again][0]} has a label already. Take it back with undo()."
            )
        known, found = self._coder.read([labels] if scalar else labels, "labels")
        if len(known) != len(rows):
            raise ValueError(
                f"There must be a label for each row. Got {len(known)} labels for "
                f"{len(rows)} rows."
            )
        if weight is not None:
            weight = np.atleast_1d(np.asarray(weight, dtype=np.float64))
            sound = np.isfinite(weight) & (weight > 0.0)
            if weight.shape != rows.shape or not sound.all():
                raise ValueError(
                    "sample_weight must be a finite number above 0 for each row. Got "
                    f"{weight}."
                )
        return Batch(rows, known, found, weight)

    @learns
    def undo(self, n: int = 1) -> Self:
        """Take back the last calls of `teach`.

        Parameters
        ----------
        n : int, default=1
            How many.

        Returns
        -------
        ActiveLearner
            The learner, as it was before them.
        """
        check_is_fitted(self, "_codes")
        if not isinstance(n, Integral) or not 1 <= n <= len(self._answers):
            raise ValueError(
                f"n must be an integer from 1 to the {len(self._answers)} calls of "
                f"teach so far. Got {n!r} instead."
            )
        kept = self._answers[: len(self._answers) - n]
        self._relearn(kept, _queried_rows=None, _memory={}, _in_query=False)
        return self

    @reads_settled
    def __getstate__(self):
        # what was handed out, but not answered, is not part of the state, nor is what
        # can be made again
        state = super().__getstate__() | {"_queried_rows": None}
        # what the next call of teach changes is written later, or lives on in a copy
        state |= {name: copy.copy(state[name]) for name in MUTABLE if name in state}
        if self.refit is False and hasattr(self, "estimator_"):
            state["estimator_"] = copy.deepcopy(self.estimator_)
        return with_version({k: v for k, v in state.items() if k not in CACHES})

    def __setstate__(self, state):
        kind = type(self)
        parameters = default_parameters(kind)
        super().__setstate__(without_version(state, parameters, kind.__name__))

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_codes")

    def __sklearn_tags__(self):
        return tags_of_wrapper(super().__sklearn_tags__(), self.estimator)
