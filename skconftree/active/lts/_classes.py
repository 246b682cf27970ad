"""`LearningToSampleClassifier`."""

from __future__ import annotations

from collections.abc import Callable
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
from ...utils._codec import default_parameters, with_version, without_version
from ...utils._lock import learns, reads
from ...utils._parameter_names import suggests_parameters
from ...utils._types import Floats, Seed, TableLike
from .._labels import LabelCodes
from .._transaction import Transactional
from ._boosting import (
    ENOUGH,
    FOLDS,
    BoostedTrees,
    assign_folds,
    fit_sampler,
    predict_errors,
)
from ._selection import choose, find_groups


@suggests_parameters()
class LearningToSampleClassifier(Transactional, ClassifierMixin, BaseEstimator):
    r"""Boosted trees that choose the labels they are fitted to.

    For pools of very many rows, few of which can be labelled, with classes that may be
    rare: pairs of records that are of the same person, fraud, defects. In each round
    the labels requested so far get more trees, a *sampling model* is fitted to how
    wrong the trees are about them, and the next labels are requested where it expects
    large errors, spread over many *groups* of rows.

    Parameters
    ----------
    budget : int, float or None, default=None
        Labels to request: a number, or a share of the rows, in (0, 1]. None: 100, or
        all rows where there are fewer.
    n_rounds : int, default=None
        Rounds in which they are requested, in equal parts. None: 10, or as many as
        there are labels.
    alpha : float, default=1.0
        Weight of diversity against the expected error, in [0, inf]: at 0 only the
        error counts, at infinity the number of groups, and the error within them.
    groups : array-like of shape (n_rows,), clusterer or None, default=None
        Groups of the pool's rows: one for each row, or what ``fit_predict`` of a
        clusterer gives. None: cells of a grid, at least as many as labels are requested
        in a round, on the standardised columns or their principal components.
    max_dimensions : int, default=8
        Of that grid, which has at least two cells along each.
    trees_per_round : int, default=10
        Steps of boosting in each round, on all labels requested so far. Trees of
        earlier rounds stay as they are.
    learning_rate : float, default=0.3
        What leaf values are multiplied by.
    max_depth : int, default=4
        Of the trees.
    l2_regularization : float, default=1.0
        Penalty of squared leaf values.
    min_gain : float, default=0.0
        Reduction of the penalised loss below which a node is not split.
    sampler : regressor, default=None
        The sampling model; it must take a `sample_weight`. None: a
        ``GradientBoostingRegressor`` of 20 trees of depth 3.
    random_state : int, RandomState instance or None, default=None
        Chooses among rows of equal worth, which are most of them in the first round.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels that were requested. A class that no label requested has is not known.
    queried_ : ndarray of shape (n_labeled,), intp
        Rows whose labels were requested, in order.
    labels_ : ndarray of shape (n_labeled,)
        Their labels.
    skipped_ : ndarray of shape (n_skipped,), intp
        Rows for which the oracle had no label (None or NaN).
    n_labeled_ : int
        Labels that were requested.
    n_rounds_ : int
        Rounds that were finished.
    n_trees_ : int
        Trees of the model.
    sampler_ : regressor or None
        The last sampling model. None while all errors were the same.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if they have any.

    See Also
    --------
    LTSSampling : The choice of rows, for any classifier in an `ActiveLearner`.

    Notes
    -----
    A round with q labels maximises :math:`\sum_i g(x_i) + \alpha \sum_j \sqrt{n_j}`,
    where :math:`g` is the sampling model and :math:`n_j` the number of rows chosen from
    group j, exactly (:func:`~skconftree.active.lts.lts_select`). The paper [1]_ leaves
    the targets of g open: here they are :math:`1 - p` of the true class, out of fold
    from 20 labels on, and weights balance the classes. The first labels come from as
    many groups as possible.
    Nothing is requested after the last trees.

    If the oracle raises, or is interrupted, the exception passes, and the model is
    fitted to the labels of the rounds before.

    Any number of threads may share a model. Until `fit` has requested and learnt the
    last label the model is the one before, which may be read, by the oracle too.

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
    >>> def ask(rows, places):      # a person, a laboratory; here, the known labels
    ...     return y[places]
    >>> model = LearningToSampleClassifier(200, random_state=0).fit(X, ask)
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

    def __init__(
        self,
        budget: float | None = None,
        *,
        n_rounds: int | None = None,
        alpha: float = 1.0,
        groups: Any = None,
        max_dimensions: int = 8,
        trees_per_round: int = 10,
        learning_rate: float = 0.3,
        max_depth: int = 4,
        l2_regularization: float = 1.0,
        min_gain: float = 0.0,
        sampler: Any = None,
        random_state: Seed = None,
    ) -> None:
        self.budget = budget
        self.n_rounds = n_rounds
        self.alpha = alpha
        self.groups = groups
        self.max_dimensions = max_dimensions
        self.trees_per_round = trees_per_round
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.l2_regularization = l2_regularization
        self.min_gain = min_gain
        self.sampler = sampler
        self.random_state = random_state

    def fit(self, X: TableLike, y: Callable[..., Any] | ArrayLike) -> Self:
        """Buy labels and learn them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The pool.
        y : callable or array-like of shape (n_rows,)
            An oracle, called as ``y(rows, places)`` with rows of `X` and their places,
            which gives their labels, None or NaN where it has none. Or labels, of which
            only those that are requested are looked at.

        Returns
        -------
        LearningToSampleClassifier
            The fitted classifier.
        """
        other = self._shadow_copy()
        run, ask, sizes = other._begin(X, y)
        for size in sizes:
            try:
                bought = run.buy(size, ask)
            except BaseException:
                if run.n_rounds:
                    run.finish()
                    self._become(other)
                raise
            run.learn(bought)
        run.finish()
        self._become(other)
        return self

    def _begin(self, X, y):
        validate_parameters(self)
        if self.sampler is not None:
            clone(self.sampler)  # no label is paid for if that fails
        given = X
        X = validate_data(self, X, dtype=np.float32, order="C")
        ask = _oracle(y, given, len(X))
        sizes = self._round_sizes(len(X))
        rng = check_random_state(self.random_state)
        seed = rng.randint(2**31 - 1)
        groups = find_groups(self.groups, X, sizes[0], self.max_dimensions, seed)
        return _Run(self, X, groups, rng), ask, sizes

    @learns
    def _become(self, other):
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
        least, more = divmod(int(budget), int(n_rounds))
        return [least + (t < more) for t in range(n_rounds)]

    def _scores(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, order="C", reset=False)
        return self._trees.scores(X, len(self.classes_))

    @reads
    def decision_function(self, X: TableLike) -> Floats:
        """Sum of the trees' values.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Log-odds of the second class if there are two, else a score a class.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @reads
    def predict_proba(self, X: TableLike) -> Floats:
        """Class probabilities.

        They are those of the labels that were requested. Where rare classes were sought
        out, as they are meant to be, these are not the shares of the pool.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return softmax(self._scores(X), axis=1)

    @reads
    def predict(self, X: TableLike) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]

    @reads
    def __getstate__(self):
        return with_version(super().__getstate__())

    def __setstate__(self, state):
        kind = type(self)
        parameters = default_parameters(kind)
        super().__setstate__(without_version(state, parameters, kind.__name__))


def _oracle(y, X, n_rows):
    # Labels of rows, one call for each round.
    if y is None:
        raise ValueError(
            "LearningToSampleClassifier requires y to be passed, but the target y is "
            "None. Give labels, or a function that gives them."
        )
    if callable(y):
        return lambda places: y(_safe_indexing(X, places), places.copy())
    if hasattr(y, "__array__") and not hasattr(y, "__len__"):
        y = np.asarray(y)
    if getattr(y, "ndim", 1) == 2:
        y = column_or_1d(y, warn=True)
    if not hasattr(y, "__len__"):
        raise ValueError(
            "y must be labels of the pool's rows, or a function that gives them. Got "
            f"{y!r} instead."
        )
    if len(y) != n_rows:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: X and y must "
            f"have as many rows each. Got {n_rows} and {len(y)}."
        )
    return lambda places: _safe_indexing(y, places)


class _Run:
    # What one call of fit knows. Classes are numbered as they are met.

    def __init__(self, model, X, groups, rng):
        self.model, self.X, self.groups, self.rng = model, X, groups, rng
        self.open = np.ones(len(X), dtype=bool)  # may be asked for
        self.classes = []
        self.coder = LabelCodes(None)
        self.labels = []  # one array a round
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

    def buy(self, size, ask):
        # What a round changes, for `learn`: until then it has not been.
        candidates = np.flatnonzero(self.open)
        size = min(size, len(candidates))
        alpha = self.model.alpha if self.n_rounds else np.inf
        scores = np.zeros(len(candidates))
        if self.n_rounds:
            self._fit_sampler()
            scores = predict_errors(self.sampler, self.X, candidates)
        chosen, _ = choose(scores, self.groups[candidates], size, alpha, self.rng)
        places = candidates[chosen]
        known, labels = self.coder.read(ask(places), "The oracle's answer")
        if len(known) != size:
            raise ValueError(
                f"The oracle must give a label for each of {size} rows. Got "
                f"{len(known)}."
            )
        open_ = self.open.copy()
        open_[places] = False
        bought = {"open": open_, "skipped": np.append(self.skipped, places[~known])}
        if len(labels):
            bought |= self._coded(places[known], labels)
        return bought

    def _coded(self, places, labels):
        classes = list(dict.fromkeys([*self.classes, *labels.tolist()]))
        numbers = {label: i for i, label in enumerate(classes)}
        codes = np.array([numbers[one] for one in labels.tolist()], dtype=np.intp)
        folds = assign_folds(codes, self.codes, self.rng)
        return {
            "coder": self.coder.learned(*self.labels, labels),
            "labels": [*self.labels, labels],
            "classes": classes,
            "folds": np.append(self.folds, folds),
            "codes": np.append(self.codes, codes),
            "rows": np.append(self.rows, places),
        }

    def learn(self, bought):
        vars(self).update(bought)
        X, K, steps = self.X[self.rows], len(self.classes), self.model.trees_per_round
        self.trees.boost(X, self.codes, K, steps)
        if len(self.classes) > 1:
            for fold, trees in enumerate(self.held_out):
                kept = self.folds != fold
                trees.boost(X[kept], self.codes[kept], K, steps)
        self.n_rounds += 1

    def _fit_sampler(self):
        K = len(self.classes)
        self.sampler = None
        if K < 2:
            return
        X = self.X[self.rows]
        if len(self.rows) < ENOUGH:
            scores = self.trees.scores(X, K)
        else:
            scores = np.empty((len(X), K))
            for fold, trees in enumerate(self.held_out):
                left_out = self.folds == fold
                scores[left_out] = trees.scores(X[left_out], K)
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
            raise ValueError("The oracle gave no label at all.")
        model.classes_ = self.coder.classes
        order = {label: i for i, label in enumerate(model.classes_.tolist())}
        places = np.array([order[one] for one in self.classes], dtype=np.int32)
        # of a copy, as a run that was interrupted here could not do so twice
        model._trees = self.trees.renumbered(places)
        model.queried_ = self.rows
        model.labels_ = model.classes_[places[self.codes]]
        model.skipped_ = self.skipped
        model.n_labeled_ = len(self.rows)
        model.n_rounds_ = self.n_rounds
        model.n_trees_ = model._trees.n_trees
        model.sampler_ = self.sampler
