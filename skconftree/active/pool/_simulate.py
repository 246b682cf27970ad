"""Simulation of active learning: learning curves of query strategies.

The *pool* of a run is the training part of the rows, from which labels are queried.
"""

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
from .._estimators import supports
from .._registry import STRATEGIES, resolve_strategy
from ._learner import ActiveLearner


class StrategySummary(NamedTuple):
    """Results of one strategy; see :meth:`SimulationResult.summary`.

    Parameters
    ----------
    strategy : str
        Name of the strategy.
    area : float
        Area under the learning curve: mean score over all numbers of labels and runs.
    area_error : float
        Standard error of `area` over the runs.
    final : float
        Mean score at the last step.
    gain : float
        Mean difference between the area and that of random sampling.
    wins : int
        Number of runs in which the area was larger than that of random sampling.
    p_value : float
        P-value of Wilcoxon's signed-rank test of these differences; NaN for random
        sampling and for fewer than six runs.
    labels_to_random : float
        Smallest number of labels at which the mean score reaches the final mean score
        of random sampling; NaN if it never does.
    seconds : float
        Mean CPU seconds per query.

    See Also
    --------
    simulate : Runs the simulation.

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
        Names of the curves: those of the strategies, and of their trees, if requested.
    n_labels : ndarray of shape (n_steps,)
        Number of labels at each step.
    scores : ndarray of shape (n_strategies, n_runs, n_steps)
        Scores on the test rows.
    seconds : ndarray of shape (n_strategies, n_runs)
        Mean CPU seconds per query.

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
        """Summarize each strategy, compared with random sampling.

        Returns
        -------
        list of StrategySummary
            One entry per strategy.
        """
        area = self.scores.mean(axis=2)
        curves = self.scores.mean(axis=1)
        n_runs = area.shape[1]
        baseline = self.strategies.index("random")
        summaries = []
        for i, name in enumerate(self.strategies):
            difference = area[i] - area[baseline]
            p = np.nan
            if i != baseline and n_runs > 5 and difference.any():
                p = float(wilcoxon(difference).pvalue)
            reached = np.flatnonzero(curves[i] >= curves[baseline, -1])
            spread = area[i].std(ddof=1) / np.sqrt(n_runs) if n_runs > 1 else np.nan
            summaries.append(
                StrategySummary(
                    name,
                    float(area[i].mean()),
                    float(spread),
                    float(curves[i, -1]),
                    float(difference.mean()),
                    int((difference > 0).sum()),
                    p,
                    float(self.n_labels[reached[0]]) if len(reached) else np.nan,
                    float(self.seconds[i].mean()),
                )
            )
        return summaries


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
    """Compare query strategies on labeled data.

    In each run, the rows are split into a pool and test rows. All strategies start with
    the same labels, query labels of the pool batch by batch, and are scored on the test
    rows after each batch. Random and margin sampling are always included as baselines.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier or pipeline.
    X : array-like, sparse or frame of shape (n_rows, n_features)
        The rows.
    y : array-like of shape (n_rows,)
        Labels of all rows.
    strategies : list, default=()
        Names of strategies, strategies, functions, or pairs (name, strategy); see
        :class:`ActiveLearner`.
    cv : int, cross-validation generator or iterable, default=10
        Splits the rows into pool and test rows. An int is the number of random splits
        into halves.
    budget : int, default=100
        Maximum number of labels of each strategy, including the initial labels.
    batch_size : int, default=1
        Number of labels between two scores.
    n_initial : int, default=0
        Number of initial labels, drawn at random from the pool.
    scoring : str or callable, default=None
        See scikit-learn's ``check_scoring``. None: the ``score`` method of `estimator`.
    refit : {"auto"} or bool, default="auto"
        Whether the classifier is refitted after each batch (True) or updated by
        `partial_fit` (False). ``"auto"`` refits; see :class:`ActiveLearner`.
    to_tree : bool or dict, default=False
        Whether to also score the surrogate tree that :meth:`ActiveLearner.to_tree`
        returns after each batch; a dict contains the arguments of that method. The
        name of its curve is the name of the strategy followed by ", tree". While all
        labels are of one class, the classifier is scored instead.
    n_jobs : int, default=None
        Number of parallel runs.
    verbose : int, default=0
        Verbosity of joblib.
    random_state : int, RandomState instance or None, default=None
        Seed of the splits and the strategies. Results do not depend on `n_jobs`.

    Returns
    -------
    SimulationResult
        Learning curves of all strategies.

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
    y = np.asarray(exact_labels(y))  # without rounding any label
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
            f"size of the smallest pool. Got {budget}."
        )
    if batch_size > budget - n_initial:
        raise ValueError(
            f"batch_size must be at most budget - n_initial={budget - n_initial}. Got "
            f"{batch_size}."
        )
    tree_arguments = _tree_arguments(estimator, to_tree)
    steps = np.arange(n_initial + batch_size, budget + 1, batch_size)
    settings = {"refit": refit, "batch_size": batch_size}
    scorer = check_scoring(estimator, scoring=scoring)
    results = Parallel(n_jobs=n_jobs, verbose=verbose)(
        delayed(_one_run)(
            ActiveLearner(
                estimator,
                strategy=strategy,
                random_state=seed + j,
                **settings,
            ),
            X,
            y,
            splits[j],
            n_initial,
            len(steps),
            scorer,
            tree_arguments,
        )
        for strategy in named.values()
        for j in range(len(splits))
    )
    n_curves = 1 if tree_arguments is None else 2
    shape = (len(named), len(splits))
    scores = np.array([scores for scores, _ in results])  # task, curve, step
    scores = scores.reshape(*shape, n_curves, len(steps)).swapaxes(1, 2)
    names = [name + which for name in named for which in ("", ", tree")[:n_curves]]
    seconds = np.array([seconds for _, seconds in results]).reshape(shape)
    return SimulationResult(
        names,
        steps,
        scores.reshape(len(names), len(splits), len(steps)),
        np.repeat(seconds, n_curves, axis=0),
    )


def _tree_arguments(estimator, to_tree):
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
            "to_tree needs an estimator with this method, such as "
            f"ConfidenceForestClassifier. Got {estimator!r}."
        )
    arguments = {} if to_tree is True else to_tree
    allowed = inspect.signature(ActiveLearner.to_tree).parameters.keys() - {"self"}
    if not arguments.keys() <= allowed:
        raise ValueError(
            "to_tree must only contain arguments of ActiveLearner.to_tree, which are "
            f"{sorted(allowed)}. Got {to_tree!r}."
        )
    return arguments


def _named(estimator, strategies):
    named = {name: STRATEGIES[name]() for name in BASELINES}
    if not supports(named["margin"], estimator):
        del named["margin"]
    for entry in strategies:
        name, strategy = entry if isinstance(entry, tuple) else (entry, entry)
        if not isinstance(name, str):
            name = getattr(name, "__name__", type(name).__name__)
        named[name] = resolve_strategy(strategy)
    return named


def _one_run(learner, X, y, split, n_initial, n_steps, scorer, tree_arguments):
    pool, test = split
    X_test, y_test = _safe_indexing(X, test), y[test]
    X_pool, y_pool = _safe_indexing(X, pool), y[pool]
    known_labels = np.full(len(pool), None)
    rng = np.random.default_rng(learner.random_state)
    first = rng.choice(len(pool), n_initial, replace=False)
    known_labels[first] = y_pool[first]
    learner.fit(X_pool, known_labels)
    classes = set(y_pool[first])
    scores, seconds = [], 0.0
    for _ in range(n_steps):
        start = time.process_time()
        rows = learner.query()
        seconds += time.process_time() - start
        learner.teach(rows, y_pool[rows])
        classes.update(y_pool[rows])
        scored = [learner]
        if tree_arguments is not None:
            arguments = {"random_state": learner.random_state, **tree_arguments}
            scored.append(learner.to_tree(**arguments) if len(classes) > 1 else learner)
        scores.append([scorer(model, X_test, y_test) for model in scored])
    return np.transpose(scores), seconds / n_steps
