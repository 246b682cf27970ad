"""`LearningToSampleClassifier`: gradient boosting that selects its training labels.

Updates are atomic, see `Transactional`: `fit` changes a shadow copy, whose attributes
replace those of the classifier at the end. The decorators `learns` and `reads` lock it.
The *oracle* is the function that returns labels of queried rows. `DocLinkMixin` links
the HTML representation to the documentation, and `VersionedState` stores the version of
the package in pickles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ..._compat import (
    HasMethods,
    Interval,
    RealNotInt,
    _safe_indexing,
    validate_parameters,
)
from ...utils._codec import VersionedState
from ...utils._doc_links import DocLinkMixin
from ...utils._lock import learns, reads
from ...utils._parameter_names import suggests_parameters
from ...utils._types import Floats, Seed, TableLike
from .._labels import LabelCodes
from .._transaction import Transactional
from ._boosting import (
    FOLDS,
    MIN_OUT_OF_FOLD_LABELS,
    BoostedTrees,
    assign_folds,
    fit_sampler,
    predict_errors,
)
from ._selection import choose, find_groups


@suggests_parameters()  # in the error for an unknown parameter
@dataclass(eq=False, repr=False)
class LearningToSampleClassifier(
    Transactional, DocLinkMixin, ClassifierMixin, VersionedState, BaseEstimator
):
    r"""Gradient boosting classifier that selects the labels to learn (active learning).

    It is designed for large pools (tables of unlabeled rows) of which few rows can be
    labeled, with possibly rare classes, such as record linkage, fraud or defects. In
    each round, trees are fitted to the labels so far, a *sampling model* is fitted to
    the errors of the trees, and the next labels are queried where the expected error is
    large, from many *groups* of rows.

    Parameters
    ----------
    budget : int, float or None, default=None
        Number of labels to query; a float is a fraction of the rows, in (0, 1]. None:
        100, or all rows if there are fewer.
    n_rounds : int, default=None
        Number of rounds, in which equal numbers of labels are queried. More rounds
        select more informative labels and take longer. None: 10, or the number of
        labels if that is smaller.
    alpha : float, default=1.0
        Weight of diversity against the expected error, in [0, inf]. With 0, only the
        error counts; with infinity, the number of groups, then the error.
    groups : array-like of shape (n_rows,), clusterer or None, default=None
        Group of each row of the pool, or a clusterer whose ``fit_predict`` returns
        them. None: cells of a grid on the standardized columns or their principal
        components, at least as many cells as labels are queried in a round.
    max_dimensions : int, default=8
        Maximum number of dimensions of the grid, which has at least two cells along
        each.
    trees_per_round : int, default=10
        Number of boosting steps per round, on all labels so far. Trees of earlier
        rounds are retained. Larger values fit the labels more closely.
    learning_rate : float, default=0.3
        Factor of leaf values. Smaller values need more trees.
    max_depth : int, default=4
        Maximum depth of the trees.
    l2_regularization : float, default=1.0
        Penalty of squared leaf values. Larger values shrink predictions.
    min_gain : float, default=0.0
        Minimum reduction of the penalized loss of a split. Larger values give smaller
        trees.
    sampler : regressor, default=None
        Sampling model; it must accept `sample_weight`. None: a
        ``GradientBoostingRegressor`` of 20 trees of depth 3.
    random_state : int, RandomState instance or None, default=None
        Seed of the random order of ties, which include most rows in the first round.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes of the queried labels. Other classes are unknown.
    queried_ : ndarray of shape (n_labeled,), intp
        Rows whose labels were queried, in order.
    labels_ : ndarray of shape (n_labeled,)
        Labels of these rows.
    skipped_ : ndarray of shape (n_skipped,), intp
        Rows for which the oracle returned no label (None or NaN).
    n_labeled_ : int
        Number of labels.
    n_rounds_ : int
        Number of completed rounds.
    n_trees_ : int
        Number of trees of the model.
    sampler_ : regressor or None
        The last sampling model. None if all errors were equal.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if they have any.

    See Also
    --------
    LTSSampling : The query strategy, for any classifier in an `ActiveLearner`.

    Notes
    -----
    A round with q labels maximizes :math:`\sum_i g(x_i) + \alpha \sum_j \sqrt{n_j}`
    exactly, where :math:`g` is the sampling model and :math:`n_j` the number of rows
    selected from group j (:func:`~skconftree.active.lts.lts_select`). The paper [1]_
    does not define the targets of g. Here they are :math:`1 - p` of the true class,
    out-of-fold from 20 labels on, with balanced class weights. The first labels are
    selected from as many groups as possible. No labels are queried after the last
    trees.

    If the oracle raises an exception or is interrupted, the model is fitted to the
    labels of the previous rounds, and the exception is raised.

    Threads may share a model. Until `fit` has learned the last label, the previous
    model is used, which the oracle may also use.

    References
    ----------
    .. [1] J. Shao, Q. Wang and F. Liu (2019), "Learning to sample: an active learning
       framework", ICDM.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from skconftree.active import LearningToSampleClassifier
    >>> X, y = make_classification(
    ...     20_000, n_features=10, n_informative=4, n_clusters_per_class=1,
    ...     weights=[0.99], flip_y=0.0, class_sep=2.5, random_state=0)
    >>> def oracle(rows, indices):      # a person or a laboratory; here, known labels
    ...     return y[indices]
    >>> model = LearningToSampleClassifier(200, random_state=0).fit(X, oracle)
    >>> model.n_labeled_, bool(model.score(X, y) > 0.99)
    (200, True)
    """

    _parameter_constraints = {
        "budget": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            None,
        ],
        "n_rounds": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="both")],
        "groups": ["array-like", HasMethods(["fit_predict"]), None],
        "max_dimensions": [Interval(Integral, 1, 16, closed="both")],
        "trees_per_round": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_depth": [Interval(Integral, 1, None, closed="left")],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "min_gain": [Interval(Real, 0, None, closed="left")],
        "sampler": [HasMethods(["fit", "predict"]), None],
        "random_state": ["random_state"],
    }

    budget: float | None = None
    _: KW_ONLY
    n_rounds: int | None = None
    alpha: float = 1.0
    groups: Any = None
    max_dimensions: int = 8
    trees_per_round: int = 10
    learning_rate: float = 0.3
    max_depth: int = 4
    l2_regularization: float = 1.0
    min_gain: float = 0.0
    sampler: Any = None
    random_state: Seed = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: TableLike, y: Callable[..., Any] | ArrayLike) -> Self:
        """Query labels and fit the model to them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            The pool.
        y : callable or array-like of shape (n_rows,)
            Oracle, called as ``y(rows, indices)`` with rows of `X` and their indices,
            which returns their labels, None or NaN for rows without a label. Or the
            labels of all rows, of which only those that are queried are used.

        Returns
        -------
        LearningToSampleClassifier
            The fitted classifier.
        """
        # a copy is fitted, and replaces the attributes of this learner at the end
        other = self._shadow_copy()
        run, oracle, sizes = other._begin(X, y)
        for size in sizes:
            try:
                update = run.query(size, oracle)
            except BaseException:
                if run.n_rounds:
                    run.finish()
                    self._replace_by(other)
                raise
            run.learn(update)
        run.finish()
        self._replace_by(other)
        return self

    def _begin(self, X, y):
        validate_parameters(self)
        if self.sampler is not None:
            clone(self.sampler)  # before any label is queried
        table = X
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, order="C")
        n_rows = X.shape[0]
        oracle = _oracle(y, table, n_rows)
        sizes = self._round_sizes(n_rows)
        rng = check_random_state(self.random_state)
        seed = rng.randint(2**31 - 1)
        groups = find_groups(self.groups, X, sizes[0], self.max_dimensions, seed)
        return _Run(self, X, groups, rng), oracle, sizes

    @learns
    def _replace_by(self, other):
        # Parameters may have been set since `fit` was called.
        vars(other).update(self.get_params(deep=False))
        self._take_over(other)

    def _round_sizes(self, n_rows):
        budget = self.budget
        if budget is None:
            budget = min(100, n_rows)
        elif not isinstance(budget, Integral):
            budget = max(1, round(budget * n_rows))
        if budget > n_rows:
            raise ValueError(
                f"budget must be at most the {n_rows} rows of the pool "
                f"(n_samples = {n_rows}). Got {budget} instead."
            )
        n_rounds = min(10, budget) if self.n_rounds is None else self.n_rounds
        if budget < n_rounds:
            raise ValueError(
                f"budget must be at least n_rounds={n_rounds}: each round needs a "
                f"label. Got {self.budget!r}, which is {budget} of {n_rows} rows "
                f"(n_samples = {n_rows})."
            )
        quotient, remainder = divmod(int(budget), int(n_rounds))
        return [quotient + (t < remainder) for t in range(n_rounds)]

    def _scores(self, X):
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=np.float32, order="C", reset=False
        )
        return self._trees.scores(X, len(self.classes_))

    @reads
    def decision_function(self, X: TableLike) -> Floats:
        """Sum of the values of the trees.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Log odds of the second of two classes, otherwise a score per class.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @reads
    def predict_proba(self, X: TableLike) -> Floats:
        """Predict class probabilities.

        The probabilities reflect the class frequencies of the queried labels. Rare
        classes are queried more often, so that these differ from those of the pool.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Class probabilities, in the order of `classes_`.
        """
        return softmax(self._scores(X), axis=1)

    @reads
    def predict(self, X: TableLike) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predicted classes.
        """
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]

    @reads
    def __getstate__(self):
        return super().__getstate__()


def _oracle(y, X, n_rows):
    # Function that returns labels of rows, called once per round.
    if y is None:
        raise ValueError(
            "LearningToSampleClassifier requires y to be passed, but the target y is "
            "None. Pass labels, or a function that returns them."
        )
    if callable(y):
        return lambda rows: y(_safe_indexing(X, rows), rows.copy())
    if hasattr(y, "__array__") and not hasattr(y, "__len__"):
        y = np.asarray(y)
    if getattr(y, "ndim", 1) == 2:
        y = column_or_1d(y, warn=True)
    if not hasattr(y, "__len__"):
        raise ValueError(
            "y must be the labels of the pool, or a function that returns labels. Got "
            f"{y!r} instead."
        )
    if len(y) != n_rows:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: X and y must "
            f"have as many rows each. Got {n_rows} and {len(y)}."
        )
    return lambda queried_rows: _safe_indexing(y, queried_rows)


class _Run:
    # State of a call of fit. Classes are numbered in the order of their appearance.

    def __init__(self, model, X, groups, rng):
        self.model, self.X, self.groups, self.rng = model, X, groups, rng
        self.is_candidate = np.ones(X.shape[0], dtype=bool)  # rows that may be queried
        self.classes = []
        # validates labels and sorts the classes; None and NaN mark missing labels
        self.label_codes = LabelCodes(None)
        self.labels = []  # one array per round
        self.rows = np.empty(0, dtype=np.intp)
        self.codes = np.empty(0, dtype=np.intp)
        self.folds = np.empty(0, dtype=np.intp)
        self.skipped = np.empty(0, dtype=np.intp)
        self.n_rounds = 0
        self.sampler = None
        # the model, and one for each fold that does not learn its labels
        self.trees, *self.held_out = (
            BoostedTrees(
                model.learning_rate,
                model.max_depth,
                model.l2_regularization,
                model.min_gain,
            )
            for _ in range(1 + FOLDS)
        )

    def query(self, size, oracle):
        # Queries labels; returns the changes of attributes, which `learn` applies.
        candidates = np.flatnonzero(self.is_candidate)
        size = min(size, len(candidates))
        alpha = self.model.alpha if self.n_rounds else np.inf
        scores = np.zeros(len(candidates))
        if self.n_rounds:
            self._fit_sampler()
            scores = predict_errors(self.sampler, self.X, candidates)
        # indices of candidates, and their gains
        chosen, _ = choose(scores, self.groups[candidates], size, alpha, self.rng)
        queried_rows = candidates[chosen]
        known, labels = self.label_codes.read(
            oracle(queried_rows), "The oracle's answer"
        )
        if len(known) != size:
            raise ValueError(
                f"The oracle must return a label for each of {size} rows. Got "
                f"{len(known)}."
            )
        is_candidate = self.is_candidate.copy()
        is_candidate[queried_rows] = False
        skipped = np.append(self.skipped, queried_rows[~known])
        update = {"is_candidate": is_candidate, "skipped": skipped}
        if len(labels):
            update |= self._encoded(queried_rows[known], labels)
        return update

    def _encoded(self, queried_rows, labels):
        classes = list(dict.fromkeys([*self.classes, *labels.tolist()]))
        numbers = {label: i for i, label in enumerate(classes)}
        codes = np.array([numbers[label] for label in labels.tolist()], dtype=np.intp)
        folds = assign_folds(codes, self.codes, self.rng)
        return {
            "label_codes": self.label_codes.with_classes_of(*self.labels, labels),
            "labels": [*self.labels, labels],
            "classes": classes,
            "folds": np.append(self.folds, folds),
            "codes": np.append(self.codes, codes),
            "rows": np.append(self.rows, queried_rows),
        }

    def learn(self, update):
        vars(self).update(update)
        X, K, steps = self.X[self.rows], len(self.classes), self.model.trees_per_round
        self.trees.boost(X, self.codes, K, steps)
        if len(self.classes) > 1:
            for fold, trees in enumerate(self.held_out):
                train = self.folds != fold
                trees.boost(X[train], self.codes[train], K, steps)
        self.n_rounds += 1

    def _fit_sampler(self):
        K = len(self.classes)
        self.sampler = None
        if K < 2:
            return
        X = self.X[self.rows]
        if len(self.rows) < MIN_OUT_OF_FOLD_LABELS:
            scores = self.trees.scores(X, K)
        else:
            scores = np.empty((X.shape[0], K))
            for fold, trees in enumerate(self.held_out):
                held_out_rows = self.folds == fold
                scores[held_out_rows] = trees.scores(X[held_out_rows], K)
        self.sampler = fit_sampler(
            self.model.sampler,
            X,
            self.codes,
            softmax(scores, axis=1),
            self.rng.randint(2**31 - 1),
        )

    def finish(self):
        model = self.model
        if not len(self.rows):
            raise ValueError("The oracle returned no label. At least one is needed.")
        model.classes_ = self.label_codes.classes
        order = {label: i for i, label in enumerate(model.classes_.tolist())}
        new_codes = np.array([order[label] for label in self.classes], dtype=np.int32)
        # `renumbered` permutes the classes in a copy, so that an interrupted call can
        # be repeated
        model._trees = self.trees.renumbered(new_codes)
        model.queried_ = self.rows
        model.labels_ = model.classes_[new_codes[self.codes]]
        model.skipped_ = self.skipped
        model.n_labeled_ = len(self.rows)
        model.n_rounds_ = self.n_rounds
        model.n_trees_ = model._trees.n_trees
        model.sampler_ = self.sampler
