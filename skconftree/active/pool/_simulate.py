"""What query strategies would have been worth, on labels that are known."""

import time
from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import check_scoring
from sklearn.model_selection import ShuffleSplit, check_cv
from sklearn.utils import check_consistent_length, check_random_state, check_scalar

from ..._compat import _safe_indexing
from ...tables._label_values import exact_labels
from .._estimators import serves
from .._registry import STRATEGIES, resolve_strategy
from ._learner import ActiveLearner
from ._results import SimulationResult

BASELINES = ("random", "margin")


def simulate(
    estimator,
    X,
    y,
    strategies=(),
    *,
    cv=10,
    budget=100,
    batch_size=1,
    n_initial=0,
    scoring=None,
    refit="auto",
    n_jobs=None,
    verbose=0,
    random_state=None,
):
    """Compare query strategies on a table whose labels are known.

    In each run the rows are parted into a pool and test rows. Every strategy begins
    with the same labels, buys labels of the pool one batch after the other, and is
    scored on the test rows after each. Random and margin sampling are always among
    the strategies: one that does not beat them need not be published.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier or pipeline.
    X : array-like, sparse or frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
        All labels.
    strategies : list, default=()
        Names, strategies, functions, or pairs (name, strategy); see
        :class:`ActiveLearner`.
    cv : int, cross-validation generator or iterable, default=10
        Parts the rows into pool and test rows. A number is that of random halves.
    budget : int, default=100
        Labels that each strategy buys, those of the beginning included.
    batch_size : int, default=1
        Labels between two scores.
    n_initial : int, default=0
        Labels, drawn at random from the pool, that all strategies begin with.
    scoring : str or callable, default=None
        See scikit-learn's ``check_scoring``. None: the score of the classifier.
    refit : {"auto"} or bool, default="auto"
        See :class:`ActiveLearner`.
    n_jobs : int, default=None
        Runs at the same time.
    verbose : int, default=0
        Of joblib.
    random_state : int, RandomState instance or None, default=None
        Governs partitions and strategies. Results do not depend on `n_jobs`.

    Returns
    -------
    SimulationResult

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import simulate
    >>> X, y = load_wine(return_X_y=True)
    >>> result = simulate(GaussianNB(), X, y, ["auto"], cv=6, budget=20, random_state=0)
    >>> for row in result.summary():
    ...     print(row.strategy, row.area > 0.6)
    random True
    margin True
    auto True
    """
    y = np.asarray(exact_labels(y))
    check_consistent_length(X, y)
    budget = check_scalar(budget, "budget", Integral, min_val=1)
    n_initial = check_scalar(n_initial, "n_initial", Integral, min_val=0)
    batch_size = check_scalar(batch_size, "batch_size", Integral, min_val=1)
    named = _named(estimator, strategies)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    splits = list(_partition(cv, seed).split(X, y))
    smallest = min(len(pool) for pool, _ in splits)
    if not n_initial < budget <= smallest:
        raise ValueError(
            f"budget must be above n_initial={n_initial} and at most {smallest}, the "
            f"rows of the smallest pool. Got {budget}."
        )
    if batch_size > budget - n_initial:
        raise ValueError(
            f"batch_size must be at most the {budget - n_initial} labels that are "
            f"bought after the first {n_initial}. Got {batch_size}."
        )
    steps = np.arange(n_initial + batch_size, budget + 1, batch_size)
    given = {"refit": refit, "batch_size": batch_size}
    scorer = check_scoring(estimator, scoring=scoring)
    done = Parallel(n_jobs=n_jobs, verbose=verbose)(
        delayed(_one_run)(
            ActiveLearner(estimator, strategy=strategy, random_state=seed + j, **given),
            X,
            y,
            splits[j],
            n_initial,
            len(steps),
            scorer,
        )
        for strategy in named.values()
        for j in range(len(splits))
    )
    shape = (len(named), len(splits))
    return SimulationResult(
        list(named),
        steps,
        np.array([scores for scores, _ in done]).reshape(*shape, len(steps)),
        np.array([seconds for _, seconds in done]).reshape(shape),
    )


def _named(estimator, strategies):
    out = {name: STRATEGIES[name]() for name in BASELINES}
    if not serves(out["margin"], estimator):
        del out["margin"]
    for one in strategies:
        name, strategy = one if isinstance(one, tuple) else (one, one)
        if not isinstance(name, str):
            name = getattr(name, "__name__", type(name).__name__)
        out[name] = resolve_strategy(strategy)
    return out


def _partition(cv, seed):
    if isinstance(cv, Integral):
        return ShuffleSplit(cv, test_size=0.5, random_state=seed)
    return check_cv(cv)


def _one_run(learner, X, y, split, n_initial, n_steps, scorer):
    pool, test = split
    X_test, y_test = _safe_indexing(X, test), y[test]
    X_pool, y_pool = _safe_indexing(X, pool), y[pool]
    known = np.full(len(pool), None)
    rng = np.random.default_rng(learner.random_state)
    first = rng.choice(len(pool), n_initial, replace=False)
    known[first] = y_pool[first]
    learner.fit(X_pool, known)
    scores, seconds = [], 0.0
    for _ in range(n_steps):
        start = time.process_time()
        rows = learner.query()
        seconds += time.process_time() - start
        learner.teach(rows, y_pool[rows])
        scores.append(scorer(learner, X_test, y_test))
    return scores, seconds / n_steps
