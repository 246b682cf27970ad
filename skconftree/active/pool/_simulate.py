"""Simulated active learning: learning curves of query strategies."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import wilcoxon
from sklearn.metrics import check_scoring
from sklearn.model_selection import ShuffleSplit, check_cv
from sklearn.utils import check_consistent_length, check_random_state, check_scalar

from ..._compat import _safe_indexing
from ...tables._labels import exact_labels
from ...utils._types import Estimator, LabelsLike, Seed, TableLike
from .._estimators import serves
from .._registry import STRATEGIES, resolve_strategy
from ._learner import ActiveLearner


class StrategySummary(NamedTuple):
    """What one strategy was worth, see :meth:`SimulationResult.summary`.

    Parameters
    ----------
    strategy : str
        Its name.
    area : float
        Mean score over all numbers of labels and all runs.
    area_error : float
        Its standard error over the runs.
    final : float
        Mean score at the end.
    gain : float
        Mean difference of the area to that of random sampling.
    wins : int
        Runs in which the area was larger than that of random sampling.
    p_value : float
        Of Wilcoxon's signed-rank test of these differences; NaN for random sampling
        or if there are fewer than six runs.
    labels_to_random : float
        Labels at which the mean score reaches the final one of random sampling; NaN
        if it does not.
    seconds : float
        Mean CPU seconds of a query.

    See Also
    --------
    simulate : Makes it.

    Examples
    --------
    >>> from skconftree.active.pool import StrategySummary
    >>> StrategySummary._fields[:3]
    ('strategy', 'area', 'area_error')
    """

    strategy: str
    area: float
    area_error: float
    final: float
    gain: float
    wins: int
    p_value: float
    labels_to_random: float
    seconds: float


class SimulationResult(NamedTuple):
    """Learning curves of :func:`~skconftree.active.simulate`.

    Parameters
    ----------
    strategies : list of str
        Names.
    n_labels : ndarray of shape (n_steps,)
        Labels requested at each step.
    scores : ndarray of shape (n_strategies, n_runs, n_steps)
        Scores on the test rows.
    seconds : ndarray of shape (n_strategies, n_runs)
        CPU seconds of a query, on average.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.active.pool import SimulationResult
    >>> scores = np.array([[[0.5, 0.7]], [[0.6, 0.8]]])
    >>> seconds = np.zeros((2, 1))
    >>> result = SimulationResult(["random", "mine"], np.array([1, 2]), scores, seconds)
    >>> round(result.summary()[1].gain, 3)
    0.1
    """

    strategies: list
    n_labels: np.ndarray
    scores: np.ndarray
    seconds: np.ndarray

    def summary(self) -> list[StrategySummary]:
        """Figures of each strategy, beside random sampling.

        Returns
        -------
        list of StrategySummary
        """
        area = self.scores.mean(axis=2)
        curves = self.scores.mean(axis=1)
        n_runs = area.shape[1]
        base = self.strategies.index("random")
        out = []
        for i, name in enumerate(self.strategies):
            gap = area[i] - area[base]
            p = np.nan
            if i != base and n_runs > 5 and gap.any():
                p = float(wilcoxon(gap).pvalue)
            enough = np.flatnonzero(curves[i] >= curves[base, -1])
            spread = area[i].std(ddof=1) / np.sqrt(n_runs) if n_runs > 1 else np.nan
            out.append(
                StrategySummary(
                    name,
                    float(area[i].mean()),
                    float(spread),
                    float(curves[i, -1]),
                    float(gap.mean()),
                    int((gap > 0).sum()),
                    p,
                    float(self.n_labels[enough[0]]) if len(enough) else np.nan,
                    float(self.seconds[i].mean()),
                )
            )
        return out


BASELINES = ("random", "margin")


def simulate(
    estimator: Estimator,
    X: TableLike,
    y: LabelsLike,
    strategies: list[Any] = (),
    *,
    cv: Any = 10,
    budget: int = 100,
    batch_size: int = 1,
    n_initial: int = 0,
    scoring: str | Callable[..., Any] | None = None,
    refit: Literal["auto"] | bool = "auto",
    to_tree: bool | dict[Any, Any] = False,
    n_jobs: int | None = None,
    verbose: int = 0,
    random_state: Seed = None,
) -> SimulationResult:
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
        Labels that each strategy requests, those of the beginning included.
    batch_size : int, default=1
        Labels between two scores.
    n_initial : int, default=0
        Labels, drawn at random from the pool, that all strategies begin with.
    scoring : str or callable, default=None
        See scikit-learn's ``check_scoring``. None: the score of the classifier.
    refit : {"auto"} or bool, default="auto"
        See :class:`ActiveLearner`.
    to_tree : bool or dict, default=False
        Whether to score after each batch also the tree that
        :meth:`ActiveLearner.to_tree` grows then; a dict has its arguments. The curve of
        the tree is called as the strategy, with ", tree" behind it. While all labels
        are of one class there is no tree, and the classifier is scored in its place.
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
    >>> result = simulate(GaussianNB(), X, y, ["auto"], cv=3, budget=20, random_state=0)
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
    if isinstance(cv, Integral):
        cv = ShuffleSplit(cv, test_size=0.5, random_state=seed)
    splits = list(check_cv(cv).split(X, y))
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
    reading = _reading(estimator, to_tree)
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
            reading,
        )
        for strategy in named.values()
        for j in range(len(splits))
    )
    n_curves = 1 if reading is None else 2
    shape = (len(named), len(splits))
    scores = np.array([scores for scores, _ in done])  # task, curve, step
    scores = scores.reshape(*shape, n_curves, len(steps)).swapaxes(1, 2)
    names = [name + which for name in named for which in ("", ", tree")[:n_curves]]
    seconds = np.array([seconds for _, seconds in done]).reshape(shape)
    return SimulationResult(
        names,
        steps,
        scores.reshape(len(names), len(splits), len(steps)),
        np.repeat(seconds, n_curves, axis=0),
    )


def _reading(estimator, to_tree):
    # Arguments of ActiveLearner.to_tree, or None.
    if not isinstance(to_tree, bool | dict):
        raise ValueError(
            f"to_tree must be a bool, or a dict of arguments of ActiveLearner.to_tree. "
            f"Got {to_tree!r}."
        )
    if to_tree is False:
        return None
    if not hasattr(estimator, "to_tree"):
        raise TypeError(
            "to_tree needs an estimator that has this method, as "
            f"ConfidenceForestClassifier. Got {estimator!r}."
        )
    given = {} if to_tree is True else to_tree
    known = inspect.signature(ActiveLearner.to_tree).parameters.keys() - {"self"}
    if not given.keys() <= known:
        raise ValueError(
            f"to_tree must have arguments of ActiveLearner.to_tree only, which are "
            f"{sorted(known)}. Got {to_tree!r}."
        )
    return given


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


def _one_run(learner, X, y, split, n_initial, n_steps, scorer, reading):
    pool, test = split
    X_test, y_test = _safe_indexing(X, test), y[test]
    X_pool, y_pool = _safe_indexing(X, pool), y[pool]
    known = np.full(len(pool), None)
    rng = np.random.default_rng(learner.random_state)
    first = rng.choice(len(pool), n_initial, replace=False)
    known[first] = y_pool[first]
    learner.fit(X_pool, known)
    classes = set(y_pool[first])
    scores, seconds = [], 0.0
    for _ in range(n_steps):
        start = time.process_time()
        rows = learner.query()
        seconds += time.process_time() - start
        learner.teach(rows, y_pool[rows])
        classes.update(y_pool[rows])
        scored = [learner]
        if reading is not None:
            given = {"random_state": learner.random_state, **reading}
            scored.append(learner.to_tree(**given) if len(classes) > 1 else learner)
        scores.append([scorer(model, X_test, y_test) for model in scored])
    return np.transpose(scores), seconds / n_steps
