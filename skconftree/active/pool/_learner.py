"""`ActiveLearner`: active learning from a pool.

The pool and its labels are those of the base class. An *audit* draws rows at random to
estimate the error rate. Methods decorated by `reads_consistent` first complete or
revert an interrupted update. `_codes` are class indices of rows (-1: unlabeled), and
`_coder` converts labels to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..._compat import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    available_if,
    validate_parameters,
)
from ...utils._available import absence_error
from ...utils._lock import names_class  # in errors for wrong arguments
from ...utils._parameter_names import suggests_parameters
from ...utils._types import Estimator, Floats, Indices, Seed, TableLike
from .._estimators import (
    check_capabilities,
    has_leaves,
    tags_of_wrapper,
    warn_of_drift_detector,
)
from .._registry import STRATEGIES, resolve_strategy
from .._strategy import TIES
from .._transaction import reads_consistent
from ._estimate import ErrorEstimate, estimate_error
from ._pool_learner import PoolLearner

if TYPE_CHECKING:
    from .._strategy import SamplingStrategy


def _estimator_has(name):
    def check(self):
        estimator = getattr(self, "estimator_", self.estimator)
        getattr(estimator, name)  # raises its own AttributeError
        return True

    return check


@suggests_parameters()  # in the error for an unknown parameter
@dataclass(eq=False, repr=False)
class ActiveLearner(ClassifierMixin, PoolLearner):
    """Pool-based active learner: a classifier that selects the rows to be labeled.

    The learner is fitted to a pool of rows, some or none of which are labeled. `query`
    selects the rows to label next, `teach` adds labels, and `predict` and similar
    methods use the classifier fitted to all labels so far. Rows are always identified
    by their index in the pool.

    The state is a function of the pool, the parameters and the labels in their order.
    So `query` returns the same rows until labels are taught, `undo` exactly reverts the
    last call of `teach`, and teaching the same labels again gives the same model. The
    only exception is :class:`EC2Sampling` with `lazy` and without `pure`, which reuses
    scores of earlier queries.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier or pipeline. It is cloned and not modified, unless
        `prefit` is True.
    strategy : str, SamplingStrategy or callable, default="auto"
        Query strategy: one of ``"auto"``, ``"random"``, ``"least_confident"``,
        ``"margin"``, ``"entropy"``, ``"most_likely"``, ``"density"``, ``"diversity"``,
        ``"k_center"``, ``"vote_entropy"``, ``"expected_error"``, ``"leaf_risk"``,
        ``"leaf_entropy"``, ``"lts"``, ``"ec2"``, ``"gbs"``, a strategy object, or a
        function of the fitted classifier and rows that returns scores.
        ``"most_likely"`` selects the rows most probably of one class, to find as many
        of them as possible, ``"lts"`` is learning to sample, ``"ec2"`` equivalence
        class edge cutting, and ``"gbs"`` generalized binary search. ``"leaf_risk"`` and
        ``"leaf_entropy"`` score the leaves of a tree, by an upper limit of their errors
        and by their entropy.
        Until there are labels of two classes, representative rows of the pool are
        queried by all strategies except ``"random"``.
    batch_size : int, default=1
        Default number of rows of a query. Larger batches need fewer fits, but their
        rows are less informative.
    refit : {"auto"} or bool, default="auto"
        Whether the classifier is refitted after each call of `teach` (True) or updated
        by `partial_fit` (False). ``"auto"`` refits: on few labels, incremental trees
        are rarely better and often worse.
    tie_break : {"auto", "random", "leaf", "density"}, default="auto"
        Which rows of equal score are selected first: random rows, rows of leaves with
        many rows per label (single trees only), or rows in dense regions. ``"auto"`` is
        ``"leaf"`` for single trees, otherwise ``"random"``.
    missing_label : object, default=None
        Value that marks a missing label, in addition to None and NaN; for example -1,
        as in scikit-learn's semi-supervised classifiers.
    classes : array-like, default=None
        All possible labels; other labels raise an error. None: new labels become
        classes.
    embedding : callable, default=None
        Function of the pool that returns coordinates, by which distances are computed.
        None standardizes numeric columns and encodes other columns as indicators.
    neighbors : object with `fit` and `kneighbors`, default=None
        Neighbor search for densities. None: exact up to 20,000 rows, then among 5,000
        random rows.
    prefit : bool, default=False
        Whether `estimator` is already fitted. It is then used until there are labels of
        two classes, or updated with ``refit=False``.
    random_state : int, RandomState instance or None, default=None
        Seed of all random choices, including those of estimators without a
        `random_state`.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to the labels so far. Not available before the first label.
    classes_ : ndarray of shape (n_classes,)
        Labels seen so far, or `classes`.
    y_ : ndarray of shape (n_rows,)
        Labels of the pool, `missing_label` for unlabeled rows.
    n_labeled_ : int
        Number of labeled rows.
    history_ : list of Answer
        Labels that were taught since `fit`, in order.
    audit_ : tuple of int
        Number of wrong predictions for the rows that `run` drew at random to estimate
        the error rate (audit), each by the classifier of that time, and number of these
        rows. `estimate_error` estimates the error rate of the current classifier.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if they have any.

    See Also
    --------
    simulate : Compares query strategies on labeled data.
    StreamActiveLearner : Active learner for data streams.

    Notes
    -----
    Skipped rows are queried again when no other row is left.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import ActiveLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = ActiveLearner(ConfidenceTreeClassifier(), random_state=0)
    >>> learner = learner.fit(X, np.full(150, None))      # no labels
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

    estimator: Estimator
    _: KW_ONLY
    strategy: str | SamplingStrategy | Callable[..., Any] = "auto"
    batch_size: int = 1
    refit: Literal["auto"] | bool = "auto"
    tie_break: Literal["auto", "random", "leaf", "density"] = "auto"
    missing_label: object = None
    classes: ArrayLike | None = None
    embedding: Callable[..., Any] | None = None
    neighbors: Any = None
    prefit: bool = False
    random_state: Seed = None

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
        # the error for a missing capability suggests one of all strategies
        check_capabilities(
            self._strategy,
            self.estimator,
            {name: make() for name, make in STRATEGIES.items()},
        )
        if self.refit is False:
            warn_of_drift_detector(self.estimator)
        if self.tie_break == "leaf" and not has_leaves(self.estimator):
            raise InvalidParameterError(
                "The 'tie_break' parameter of ActiveLearner can only be 'leaf' if the "
                f"estimator is a single tree with apply. Got {self.estimator!r}."
            )

    def __sklearn_tags__(self):
        return tags_of_wrapper(super().__sklearn_tags__(), self.estimator)

    @available_if(_estimator_has("predict"))
    @names_class
    def predict(self, X: TableLike) -> NDArray[Any]:
        """Predict classes with the current classifier.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predicted classes.
        """
        return self._predict(X)

    @available_if(_estimator_has("predict_proba"))
    @names_class
    def predict_proba(self, X: TableLike) -> Floats:
        """Predict class probabilities with the current classifier.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities in the order of `classes_`; 0 for classes without labels.
        """
        return self._predict_proba(X)

    @available_if(_estimator_has("decision_function"))
    @reads_consistent
    def decision_function(self, X: TableLike) -> Floats:
        """Decision function of the current classifier.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Decision values.
        """
        return self._fitted(X).decision_function(X)

    @reads_consistent
    def estimate_error(self, *, confidence: float = 0.95) -> ErrorEstimate:
        """Estimate the error rate of the current classifier on the pool.

        Use it to see whether more labels are needed. The estimate needs labels of rows
        that were drawn at random: by `run` or a :class:`LabelingSession` with
        `random_share` or a stopping rule with an audit, or by ``strategy="random"``.
        Rows that the query strategy selected are not representative.

        Parameters
        ----------
        confidence : float, default=0.95
            Confidence level of the limits, in (0, 1). Larger values give wider limits.

        Returns
        -------
        ErrorEstimate
            The share of wrong predictions with confidence limits; its string is a
            sentence. The share is NaN if no row was drawn at random.

        See Also
        --------
        RiskBelow : Stops at a limit of the error rate that may be checked repeatedly.

        Notes
        -----
        *What is estimated* is the error rate over all rows of the pool that were not
        skipped, if each row is predicted by the classifier refitted without its tenth
        of the labels. The estimate can be pessimistic, because the strategy selected
        the other rows in response to the labels that these classifiers lack. That they
        have fewer labels matters less, and without a query strategy there is no such
        bias; the user guide has measurements. The limits do not include the bias, so
        that they can miss the error rate more often than their confidence level says.
        Weights cannot remove it. :class:`RiskBelow` avoids it: it judges each row
        before it is learned.

        Labeled rows are predicted by stratified 10-fold cross-validation. A row that
        was drawn at random represents all rows that were unlabeled at that time; a row
        that was labeled before represents only itself. The resulting weights make the
        estimate unbiased if the losses do not depend on which rows were drawn, as in
        active testing [1]_. The limits are those of Clopper and Pearson with the
        effective number of random rows [2]_. They are valid if they are evaluated once.
        To stop as soon as a limit is reached, use :class:`RiskBelow`.

        References
        ----------
        .. [1] J. Kossen, S. Farquhar, Y. Gal, T. Rainforth (2021), "Active testing:
           sample-efficient model evaluation", ICML.
        .. [2] E. L. Korn, B. I. Graubard (1998), "Confidence intervals for proportions
           with small expected number of positive counts estimated from survey data",
           Survey Methodology 24, 193-201.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from skconftree.active import ActiveLearner, ArrayOracle
        >>> X, y = load_wine(return_X_y=True)
        >>> learner = ActiveLearner(GaussianNB(), random_state=0).fit(X)
        >>> learner = learner.run(ArrayOracle(y), budget=60, random_share=0.5)
        >>> estimate = learner.estimate_error()
        >>> bool(estimate.low <= (learner.predict(X) != y).mean() <= estimate.high)
        True
        >>> learner.fit(X).estimate_error().n_random
        0
        """
        check_is_fitted(self, "_codes")
        if not isinstance(confidence, Real) or not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence must be in (0, 1). Got {confidence!r}.")
        return estimate_error(self, float(confidence))

    @reads_consistent
    def to_tree(
        self,
        *,
        max_leaf_nodes: int | None = None,
        n_rows: int | None = 20_000,
        random_state: Seed = None,
    ) -> Estimator:
        """Distill the classifier into a single tree, using the whole pool.

        With few labels, a forest is more accurate than a tree and selects more
        informative rows, but a tree is interpretable. The tree is fitted to the
        predictions of the forest for the pool, and to the known labels.

        Parameters
        ----------
        max_leaf_nodes : int, default=None
            Maximum number of leaves. More leaves follow the forest more closely and are
            harder to read. None: as many as the default tree of the labels has, at
            least 16.
        n_rows : int or None, default=20_000
            Number of rows that the forest predicts for the tree. If the pool has fewer
            rows, synthetic rows are interpolated between them. None: the pool only.
        random_state : int, RandomState instance or None, default=None
            Seed of the synthetic rows.

        Returns
        -------
        ConfidenceTreeClassifier
            Fitted tree; `fidelity_` is the share of the rows for which it predicts the
            same class as the forest. Its splits have no p-values, because they are
            fitted to predictions.

        Raises
        ------
        TypeError
            If the estimator has no method `to_tree`.
        ValueError
            If there are labels of fewer than two classes.

        See Also
        --------
        skconftree.tree.distill : The same for any classifier.

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
                f"to_tree needs an estimator with this method, such as "
                f"ConfidenceForestClassifier. Got {self.estimator!r}. Use "
                "skconftree.tree.distill for other classifiers."
            )
        model = self._fitted(self._pool.X)
        if isinstance(model, DummyClassifier):
            raise ValueError(
                "to_tree needs labels of at least two classes. Query more labels."
            )
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


def query_once(
    strategy: str | SamplingStrategy | Callable[..., Any],
    estimator: Estimator,
    X: TableLike,
    y: ArrayLike | None,
    k: int = 1,
    *,
    random_state: Seed = None,
) -> Indices:
    """Select the rows of a pool to label next, without creating a learner.

    Use it in custom active learning loops that manage labels and models themselves.

    Parameters
    ----------
    strategy : str, SamplingStrategy or callable
        Query strategy, as in :class:`ActiveLearner`.
    estimator : classifier
        A fitted classifier is used as it is. Otherwise, a copy is fitted to the labeled
        rows.
    X : array-like, sparse or frame of shape (n_rows, n_features)
        The pool, including labeled rows.
    y : array-like of shape (n_rows,) or None
        Labels, None or NaN for rows without a label. None: no row has a label.
    k : int, default=1
        Number of rows to select. If fewer unlabeled rows remain, all are returned.
    random_state : int, RandomState instance or None, default=None
        Pass an int to select the same rows for the same labels.

    Returns
    -------
    ndarray of shape (k,), intp
        Indices into the pool of unlabeled rows, without duplicates.

    See Also
    --------
    ActiveLearner : Stores the labels and reuses results in later queries.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import query_once
    >>> X, labels = load_iris(return_X_y=True)
    >>> y = np.full(150, None)
    >>> for _ in range(10):
    ...     rows = query_once("margin", GaussianNB(), X, y, 2, random_state=0)
    ...     y[rows] = labels[rows]
    >>> int(sum(label is not None for label in y))
    20
    """
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        learner = ActiveLearner(estimator, strategy=strategy, random_state=random_state)
    else:
        learner = _PrefitLearner(
            estimator, strategy=strategy, random_state=random_state
        )
    return learner.fit(X, y).query(k)


class _PrefitLearner(ActiveLearner):
    """Active learner that uses a fitted classifier without refitting it."""

    def _refit(self):
        self.estimator_ = self.estimator
