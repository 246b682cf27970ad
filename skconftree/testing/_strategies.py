"""Checks of query strategies and stopping rules (components) of active learners.

A component receives a context: the rows and the model of the learner, and reproducible
random numbers. A pool is a fixed set of rows from which labels are queried. With a
pool, the random numbers are `context.rng`, and `context.memory` is a cache of the
component. On a stream, the random numbers are `context.draws`, and the component stores
values between rows in an array, its state. `pool()` makes the rows and labels for the
checks, and `teach` adds labels to a learner.
"""

from __future__ import annotations

import pickle

import numpy as np
from sklearn.linear_model import LogisticRegression

from .. import ConfidenceForestClassifier, ConfidenceTreeClassifier, OASISClassifier
from ..active import ActiveLearner, ArrayOracle, StreamActiveLearner
from ..active.pool import SamplingStrategy, StoppingRule
from ..active.stream import StreamStrategy
from ..utils._types import Estimator, Stops
from ._plug_ins import (
    assert_no_error,
    assert_unchanged,
    assert_value_error,
    check_clone_and_pickle,
    check_invalid_parameters,
    make_drift_stream,
    make_partial_labels,
    pool,
    require,
    require_equal,
)


def make_learner(estimator, strategy, **parameters):
    """Make an active learner whose draws are fixed."""
    return ActiveLearner(
        estimator, strategy=strategy, **{"random_state": 0, **parameters}
    )


def first_supported(component, estimators, use):
    """Return the first estimator for which `use` does not raise ValueError.

    A component may need capabilities of the classifier, such as `predict_proba`.
    """
    reason = None
    for estimator in estimators:
        try:
            use(estimator)
        except ValueError as error:
            reason = error
            continue
        return estimator
    raise AssertionError(
        f"{type(component).__name__} must work with one of the classifiers of this "
        f"check. Pass an estimator with the required capabilities: {reason}"
    )


def pool_estimators(estimator):
    """Estimators for a strategy with a pool: the given one, or the default ones."""
    if estimator is not None:
        return (estimator,)
    return (
        ConfidenceTreeClassifier(bound=None),  # splits need not be significant
        LogisticRegression(),
        ConfidenceForestClassifier(5, bound=None, random_state=0),
        # a linear classifier whose posterior is represented by particles
        OASISClassifier(n_particles=50, random_state=0),
    )


BUDGETS = (0.03, 0.1, 0.5, 1.0)  # shares of labels that may be queried
N_ROWS = 600


def check_stream_strategy(strategy, estimator):
    """Check a strategy for streams, see `check_strategy`."""
    check_clone_and_pickle(strategy, StreamStrategy)
    X, _ = make_drift_stream(N_ROWS)

    def use(estimator, strategy=strategy):
        _learner(estimator, strategy).query(X[:5])

    default_estimators = (
        ConfidenceTreeClassifier(grace_period=20),  # rows between split attempts
        OASISClassifier(n_particles=50, buffer_size=20),
    )
    estimator = first_supported(
        strategy, default_estimators if estimator is None else (estimator,), use
    )
    check_invalid_parameters(strategy, lambda invalid: use(estimator, invalid))
    original = pickle.dumps(strategy)
    for share in BUDGETS:
        _check_budget(strategy, estimator, share)
    _check_row_by_row(strategy, estimator)
    assert_unchanged(strategy, original, "a query", " Store values in state.")


def _learner(estimator, strategy, budget=0.1):
    return StreamActiveLearner(
        estimator, strategy=strategy, budget=budget, classes=[0, 1], random_state=3
    )


def _check_budget(strategy, estimator, share):
    """Check that labels are queried, and never more than the budget allows."""
    name = type(strategy).__name__
    X, y = make_drift_stream(N_ROWS)
    # `queried`: for each row, whether its label was queried
    with assert_no_error(f"{name} must decide on the rows of a stream"):
        is_queried = _learner(estimator, strategy, share).run(X, y).queried
    n_queried = np.cumsum(is_queried)
    exceeded = n_queried > share * np.arange(1, len(y) + 1)
    require(
        not exceeded.any(),
        f"{name} must keep to the budget at every row; budget {share} was exceeded at "
        f"row {exceeded.argmax()}.",
    )
    require(
        n_queried[-1] > 0,
        f"{name} must query a label of {len(y)} rows with budget {share}.",
    )


def _check_row_by_row(strategy, estimator):
    """Check that decisions do not depend on partition into calls or pickling."""
    name = type(strategy).__name__
    X, y = make_drift_stream(N_ROWS // 2)
    with assert_no_error(
        f"{name} must decide row by row, and be pickled with its learner"
    ):
        whole = _learner(estimator, strategy).run(X, y).queried
        steps, is_queried = _learner(estimator, strategy), []
        for i in range(len(y)):
            is_queried.append(bool(steps.query(X[i : i + 1])[0]))
            if is_queried[-1]:
                steps.teach(X[i : i + 1], y[i : i + 1])
                steps = pickle.loads(pickle.dumps(steps))
    require_equal(
        np.flatnonzero(whole),
        np.flatnonzero(is_queried),
        f"{name} must decide the same for any partition into calls with pickling in "
        "between. Use context.draws for random numbers.",
    )


def check_strategy(
    strategy: SamplingStrategy | StreamStrategy, estimator: Estimator | None = None
) -> None:
    """Check that a query strategy adheres to the interface of strategies.

    A strategy with a pool must select different, unlabeled rows with finite scores. It
    must select the same rows until labels are added, and the same rows as with a copy
    or pickle of the learner. It must break ties at random, label the complete pool, and
    use costs or raise an error. It must not modify the pool. A strategy of a stream
    must keep to the budget at every row, and its decisions must depend neither on the
    partition of the rows into calls nor on pickling. No strategy may be changed by use.

    Parameters
    ----------
    strategy : SamplingStrategy or StreamStrategy
        Strategy for a learner with a pool, or for a learner of a stream.
    estimator : classifier, default=None
        Classifier of the learners. None: the first with the required capabilities of a
        tree, logistic regression, a forest and `OASISClassifier`; on a stream, of a
        tree and `OASISClassifier`.

    Raises
    ------
    AssertionError
        If a check fails.

    See Also
    --------
    skconftree.active.pool.SamplingStrategy : What a strategy with a pool defines.
    skconftree.active.stream.StreamStrategy : What a strategy of a stream defines.

    Examples
    --------
    >>> from skconftree.active import MarginSampling
    >>> from skconftree.testing import check_strategy
    >>> check_strategy(MarginSampling())
    """
    if isinstance(strategy, StreamStrategy):
        check_stream_strategy(strategy, estimator)
        return
    check_clone_and_pickle(strategy, SamplingStrategy)
    X, _ = pool()

    def use(estimator):
        make_learner(estimator, strategy).fit(X)

    estimator = first_supported(strategy, pool_estimators(estimator), use)
    check_invalid_parameters(
        strategy, lambda invalid: make_learner(estimator, invalid).fit(X)
    )
    original = pickle.dumps(strategy)
    _check_choices(strategy, estimator)
    _check_reproducible(strategy, estimator)
    _check_costs(strategy, estimator)
    _check_ties(strategy, estimator)
    _check_to_the_last_row(strategy, estimator)
    assert_unchanged(strategy, original, "a query")


def _check_choices(strategy, estimator):
    """Queried rows are distinct, unlabeled, and the same when queried again."""
    name = type(strategy).__name__
    X, y = pool()
    X_copy = X.copy()
    learner = make_learner(estimator, strategy).fit(X, make_partial_labels(y))
    for k in (1, 7, 40, 500):
        with assert_no_error(f"{name} must select {k} rows"):
            rows, scores = learner.query(k, return_scores=True)
            repeated = learner.query(k)
        # 6 rows are labeled by `make_partial_labels`
        require(
            len(np.unique(rows)) == len(rows) == min(k, len(y) - 6),
            f"{name} must select {k} different rows, or all remaining. Got {rows}.",
        )
        require(
            all(label is None for label in learner.y_[rows]),
            f"{name} must select unlabeled rows. Got {rows}.",
        )
        require(
            np.shape(scores) == rows.shape and np.isfinite(scores).all(),
            f"{name} must return a finite score for each row. Got {scores}.",
        )
        require_equal(
            rows,
            repeated,
            f"{name} must select the same rows until labels are added. Use context.rng "
            "for random numbers.",
        )
    require(np.array_equal(X, X_copy), f"{name} must not write to the pool.")


def _check_reproducible(strategy, estimator):
    """Check that queries depend on the labels only, not on copies or pickling."""
    name = type(strategy).__name__
    X, y = pool()
    with assert_no_error(f"{name} must select rows between calls of teach"):
        first = make_learner(estimator, strategy).fit(X, make_partial_labels(y))
        other = make_learner(estimator, strategy).fit(X, make_partial_labels(y))
        for _ in range(5):
            rows = first.query(3)
            first.teach(rows, y[rows])
            other.teach(rows, y[rows])
        loaded = pickle.loads(pickle.dumps(first)).query(4)
        queried, of_copy = first.query(4), other.query(4)
    require_equal(
        queried,
        of_copy,
        f"{name} must select the same rows with another learner with the same labels.",
    )
    require_equal(
        queried,
        loaded,
        f"{name} must select the same rows after its learner was pickled.",
    )


def _check_costs(strategy, estimator):
    """Check that costs are used, or raise an error that names the strategy.

    They are costs of labeling a row; `takes_costs` is whether the strategy uses them.
    """
    name = type(strategy).__name__
    X, y = pool()
    costs = np.random.default_rng(0).uniform(1.0, 2.0, len(y))
    learner = make_learner(estimator, strategy).fit(X, make_partial_labels(y))
    if not strategy.takes_costs:
        with assert_value_error(
            f"{name} does not support costs and must raise an error with its name", name
        ):
            learner.query(9, costs=costs)
        return
    with assert_no_error(f"{name} must support costs, or set takes_costs = False"):
        rows, scores = learner.query(9, costs=costs, return_scores=True)
    require(
        len(np.unique(rows)) == 9 and np.isfinite(scores).all(),
        f"{name} must select different rows with finite scores given costs. Got "
        f"{rows} with {scores}.",
    )


def _check_ties(strategy, estimator):
    """Check that ties between equal rows are broken at random."""
    equal_rows = np.zeros((400, 2))
    equal_rows[0], equal_rows[1] = -1.0, 1.0
    y = make_partial_labels(np.r_[0, 1, np.zeros(398, dtype=int)], (0, 1))
    learner = make_learner(estimator, strategy, random_state=3).fit(equal_rows, y)
    rows = np.sort(learner.query(20))
    require(
        100 < rows.mean() < 300 and (np.diff(rows) > 1).any(),
        f"{type(strategy).__name__} must select among equal rows at random, not "
        f"by their position in the pool. Got {rows}.",
    )


def _check_to_the_last_row(strategy, estimator):
    """Check that a pool without labels can be labeled completely."""
    name = type(strategy).__name__
    X, y = pool(24)
    learner = make_learner(estimator, strategy, batch_size=3).fit(X)
    with assert_no_error(f"{name} must select rows until all are labeled"):
        learner.run(ArrayOracle(y))
    require(
        learner.n_labeled_ == len(y) and len(learner.query()) == 0,
        f"{name} must have selected each row of the pool in the end. Got "
        f"{learner.n_labeled_} of {len(y)} rows.",
    )


def check_stopping_rule(rule: Stops, estimator: Estimator | None = None) -> None:
    """Check that a stopping rule adheres to the interface of rules.

    A rule must return a bool at every check, also before the first label and after the
    last one. A check must change neither the rule nor the learner, so that several
    learners can share a rule and stop as with a rule of their own. A rule must be
    picklable. For rules derived from :class:`~skconftree.active.pool.StoppingRule`,
    clones and invalid parameters are checked too.

    Parameters
    ----------
    rule : object with ``reached(context)``
        Rule for learners with a pool. ``reached`` returns whether to stop, given the
        state of the learner.
    estimator : classifier, default=None
        Classifier of the learners. None: the first with the required capabilities of a
        tree, logistic regression, a forest and `OASISClassifier`.

    Raises
    ------
    AssertionError
        If a check fails.

    See Also
    --------
    skconftree.active.pool.StoppingRule : What a rule defines.

    Examples
    --------
    A rule that stops after 3 consecutive comparisons with nearly equal predictions:

    >>> from skconftree.active import StableModel
    >>> from skconftree.testing import check_stopping_rule
    >>> check_stopping_rule(StableModel(n_looks=3))
    """
    require(
        callable(getattr(rule, "reached", None)) and not isinstance(rule, type),
        f"{rule!r} must be an object with reached(context).",
    )
    name = type(rule).__name__
    if isinstance(rule, StoppingRule):
        check_clone_and_pickle(rule, StoppingRule)
    with assert_no_error(f"{name} must be pickled"):
        original = pickle.dumps(rule)
    X, y = pool()
    labels = make_partial_labels(y)

    def use(estimator):
        make_learner(estimator, "random").fit(X, labels).reached(rule)

    with assert_no_error(f"{name} must return whether to stop"):
        estimator = first_supported(rule, pool_estimators(estimator), use)
    fitted = make_learner(estimator, "random").fit(X, labels)
    if isinstance(rule, StoppingRule):
        check_invalid_parameters(rule, fitted.reached)
    # share of the queries that the rule draws at random, to estimate an error rate
    share = getattr(rule, "random_share", 0.0)
    require(
        0.0 <= share <= 1.0,
        f"{name}.random_share must be between 0 and 1. Got {share}.",
    )
    for known, when in ((None, "first"), (labels, "next"), (y, "last")):
        _check_reached(rule, estimator, known, when)
    _check_runs(rule, estimator)
    assert_unchanged(rule, original, "a check", " Store values in context.memory.")


def _check_reached(rule, estimator, labels, when):
    """Check that `reached` returns a bool and changes nothing."""
    name = type(rule).__name__
    X, _ = pool()
    learner = make_learner(estimator, "random").fit(X, labels)
    original = pickle.dumps(learner)
    recorded = _RecordingRule(rule)
    with assert_no_error(f"{name} must decide whether to stop before the {when} query"):
        learner.reached(recorded)
    require(
        isinstance(recorded.result, bool | np.bool_),
        f"{name}.reached must return a bool. Got {recorded.result!r}.",
    )
    require(
        pickle.dumps(learner) == original,
        f"{name} must not change the learner when it is checked.",
    )


class _RecordingRule:
    """Wrapper of a rule that stores its last result."""

    def __init__(self, rule):
        self.rule = rule
        self.needs = getattr(rule, "needs", ())  # capabilities of the classifier

    def reached(self, context):
        self.result = self.rule.reached(context)
        return self.result


def _check_runs(rule, estimator):
    """Check that learners that share a rule stop like a learner with its own rule."""
    X, y = pool()
    n_labels = []
    for own_rule in (rule, rule, pickle.loads(pickle.dumps(rule))):
        learner = make_learner(estimator, "random").fit(X)
        with assert_no_error(f"A run with {type(rule).__name__} must end"):
            n_labels.append(learner.run(ArrayOracle(y), stop=own_rule).n_labeled_)
    require(
        len(set(n_labels)) == 1,
        f"{type(rule).__name__} must stop equal learners after as many labels. Got "
        f"{n_labels}.",
    )
