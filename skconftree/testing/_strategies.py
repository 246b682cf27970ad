"""Checks of query strategies and stopping rules."""

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
    check_nonsense,
    check_object,
    going_well,
    pool,
    refused,
    require,
    require_equal,
    some_labels,
    turning,
    unchanged,
)


def make_learner(estimator, strategy, **parameters):
    """Make an active learner whose draws are fixed."""
    return ActiveLearner(
        estimator, strategy=strategy, **{"random_state": 0, **parameters}
    )


def serving(plug_in, estimators, use):
    """First estimator for which `use` does not raise ValueError."""
    reason = None
    for estimator in estimators:
        try:
            use(estimator)
        except ValueError as error:
            reason = error
            continue
        return estimator
    raise AssertionError(
        f"{type(plug_in).__name__} must work with one of the classifiers it is tried "
        f"with; give this check an estimator that it serves: {reason}"
    )


def of_a_pool(estimator):
    """Estimators that a strategy is tried with in a pool: the given one, or ours."""
    if estimator is not None:
        return (estimator,)
    return (
        ConfidenceTreeClassifier(bound=None),
        LogisticRegression(),
        ConfidenceForestClassifier(5, bound=None, random_state=0),
        OASISClassifier(n_particles=50, random_state=0),
    )


SHARES = (0.03, 0.1, 0.5, 1.0)  # of labels that may be requested
N_ROWS = 600


def check_stream_strategy(strategy, estimator):
    """As `check_strategy`, for learners of a stream."""
    check_object(strategy, StreamStrategy)
    X, _ = turning(N_ROWS)

    def use(candidate, strategy=strategy):
        _learner(candidate, strategy).query(X[:5])

    ours = (
        ConfidenceTreeClassifier(grace_period=20),
        OASISClassifier(n_particles=50, buffer_size=20),
    )
    estimator = serving(strategy, ours if estimator is None else (estimator,), use)
    check_nonsense(strategy, lambda strange: use(estimator, strange))
    before = pickle.dumps(strategy)
    for share in SHARES:
        _check_budget(strategy, estimator, share)
    _check_row_by_row(strategy, estimator)
    unchanged(strategy, before, "a query; its memory belongs in state")


def _learner(estimator, strategy, budget=0.1):
    return StreamActiveLearner(
        estimator, strategy=strategy, budget=budget, classes=[0, 1], random_state=3
    )


def _check_budget(strategy, estimator, share):
    """No row finds more labels requested than the budget allows, and some are."""
    name = type(strategy).__name__
    X, y = turning(N_ROWS)
    with going_well(f"{name} must decide on the rows of a stream"):
        is_queried = _learner(estimator, strategy, share).run(X, y).asked
    n_bought = np.cumsum(is_queried)
    overdrawn = n_bought > share * np.arange(1, len(y) + 1)
    require(
        not overdrawn.any(),
        f"{name} must keep to the budget at every row; budget {share} was overdrawn at "
        f"row {overdrawn.argmax()}.",
    )
    require(
        n_bought[-1] > 0,
        f"{name} must buy a label of {len(y)} rows with budget {share}.",
    )


def _check_row_by_row(strategy, estimator):
    """Decisions do not depend on how many rows are shown at once, nor on pickles."""
    name = type(strategy).__name__
    X, y = turning(N_ROWS // 2)
    with going_well(f"{name} must decide row by row, and be pickled with its learner"):
        whole = _learner(estimator, strategy).run(X, y).asked
        steps, is_queried = _learner(estimator, strategy), []
        for i in range(len(y)):
            is_queried.append(bool(steps.query(X[i : i + 1])[0]))
            if is_queried[-1]:
                steps.teach(X[i : i + 1], y[i : i + 1])
                steps = pickle.loads(pickle.dumps(steps))
    require_equal(
        np.flatnonzero(whole),
        np.flatnonzero(is_queried),
        f"{name} must decide the same however rows are cut into calls, pickled between "
        "them; random numbers are those of context.draws.",
    )


def check_strategy(
    strategy: SamplingStrategy | StreamStrategy, estimator: Estimator | None = None
) -> None:
    """Check that a query strategy keeps the contract of strategies.

    Of a strategy with a pool: rows that it chooses are different, have no label yet,
    and have finite scores; they are the same until something is taught, and again with
    another learner that was taught the same or is a pickle. Ties are broken at
    random. The pool can be labeled to its last row, costs are taken or
    refused, and the strategy and the pool stay as they are. Of a strategy of a stream:
    the budget is kept at every row, and decisions depend neither on cuts into calls nor
    on pickles.

    Parameters
    ----------
    strategy : SamplingStrategy or StreamStrategy
        For learners with a pool, or of a stream.
    estimator : classifier, default=None
        What it is tried with; None: the first that it works with of a tree, logistic
        regression, a forest and OASIS; on a stream of a tree and OASIS.

    Raises
    ------
    AssertionError
        If something is wrong; the message says what.

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
    check_object(strategy, SamplingStrategy)
    X, _ = pool()

    def use(candidate):
        make_learner(candidate, strategy).fit(X)

    estimator = serving(strategy, of_a_pool(estimator), use)
    check_nonsense(strategy, lambda strange: make_learner(estimator, strange).fit(X))
    before = pickle.dumps(strategy)
    _check_choices(strategy, estimator)
    _check_answers_matter_alone(strategy, estimator)
    _check_costs(strategy, estimator)
    _check_rows_alike(strategy, estimator)
    _check_to_the_last_row(strategy, estimator)
    unchanged(strategy, before, "a query")


def _check_choices(strategy, estimator):
    """Queried rows are distinct, unlabeled, and the same when queried again."""
    name = type(strategy).__name__
    X, y = pool()
    original = X.copy()
    learner = make_learner(estimator, strategy).fit(X, some_labels(y))
    for k in (1, 7, 40, 500):
        with going_well(f"{name} must choose {k} rows"):
            rows, scores = learner.query(k, return_scores=True)
            repeated = learner.query(k)
        require(
            len(np.unique(rows)) == len(rows) == min(k, len(y) - 6),
            f"{name} must choose {k} different rows, or all that are left. Got {rows}.",
        )
        require(
            all(label is None for label in learner.y_[rows]),
            f"{name} must choose unlabeled rows. Got {rows}.",
        )
        require(
            np.shape(scores) == rows.shape and np.isfinite(scores).all(),
            f"{name} must give a finite score with each row. Got {scores}.",
        )
        require_equal(
            rows,
            repeated,
            f"{name} must choose the same rows until something is taught; random "
            "numbers are those of context.rng.",
        )
    require(np.array_equal(X, original), f"{name} must not write to the pool.")


def _check_answers_matter_alone(strategy, estimator):
    """Queries depend on the labels alone, not on copies or pickling."""
    name = type(strategy).__name__
    X, y = pool()
    with going_well(f"{name} must be queried and taught in turns"):
        first = make_learner(estimator, strategy).fit(X, some_labels(y))
        other = make_learner(estimator, strategy).fit(X, some_labels(y))
        for _ in range(5):
            rows = first.query(3)
            first.teach(rows, y[rows])
            other.teach(rows, y[rows])
        loaded = pickle.loads(pickle.dumps(first)).query(4)
        queried, of_copy = first.query(4), other.query(4)
    require_equal(
        queried,
        of_copy,
        f"{name} must choose the same rows with another learner that was taught the "
        "same.",
    )
    require_equal(
        queried,
        loaded,
        f"{name} must choose the same rows when its learner was pickled.",
    )


def _check_costs(strategy, estimator):
    """Costs are taken, or refused in the strategy's name."""
    name = type(strategy).__name__
    X, y = pool()
    costs = np.random.default_rng(0).uniform(1.0, 2.0, len(y))
    learner = make_learner(estimator, strategy).fit(X, some_labels(y))
    if not strategy.takes_costs:
        with refused(f"{name} does not take costs and must refuse them by name", name):
            learner.query(9, costs=costs)
        return
    with going_well(f"{name} must take costs, or say takes_costs = False"):
        rows, scores = learner.query(9, costs=costs, return_scores=True)
    require(
        len(np.unique(rows)) == 9 and np.isfinite(scores).all(),
        f"{name} must choose different rows with finite scores by their costs. Got "
        f"{rows} with {scores}.",
    )


def _check_rows_alike(strategy, estimator):
    """All rows are alike: a strategy must not prefer the first or the last ones."""
    alike = np.zeros((400, 2))
    alike[0], alike[1] = -1.0, 1.0
    y = some_labels(np.r_[0, 1, np.zeros(398, dtype=int)], (0, 1))
    learner = make_learner(estimator, strategy, random_state=3).fit(alike, y)
    rows = np.sort(learner.query(20))
    require(
        100 < rows.mean() < 300 and (np.diff(rows) > 1).any(),
        f"{type(strategy).__name__} must choose among equal rows at random, not "
        f"by their position in the pool. Got {rows}.",
    )


def _check_to_the_last_row(strategy, estimator):
    """A pool without labels can be labeled from the first row to the last."""
    name = type(strategy).__name__
    X, y = pool(24)
    learner = make_learner(estimator, strategy, batch_size=3).fit(X)
    with going_well(f"{name} must be queried until the pool is empty"):
        learner.run(ArrayOracle(y))
    require(
        learner.n_labeled_ == len(y) and len(learner.query()) == 0,
        f"{name} must choose every row of the pool in the end. Got "
        f"{learner.n_labeled_} of {len(y)} rows.",
    )


def check_stopping_rule(rule: Stops, estimator: Estimator | None = None) -> None:
    """Check that a stopping rule keeps the contract of rules.

    It returns a bool at every check, before the first label and after the last one too;
    checks change neither the rule nor the learner, so that one rule serves many
    learners and stops each where it would stop it alone. It can be pickled. One that is
    derived from :class:`~skconftree.active.pool.StoppingRule` is cloned, and its
    parameters are checked.

    Parameters
    ----------
    rule : object with ``reached(context)``
        For learners with a pool.
    estimator : classifier, default=None
        What it is tried with; None: the first that it works with of a tree, logistic
        regression, a forest and OASIS.

    Raises
    ------
    AssertionError
        If something is wrong; the message says what.

    See Also
    --------
    skconftree.active.pool.StoppingRule : What a rule defines.

    Examples
    --------
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
        check_object(rule, StoppingRule)
    with going_well(f"{name} must be pickled"):
        before = pickle.dumps(rule)
    X, y = pool()
    labels = some_labels(y)

    def use(candidate):
        make_learner(candidate, "random").fit(X, labels).reached(rule)

    with going_well(f"{name} must say whether to stop"):
        estimator = serving(rule, of_a_pool(estimator), use)
    fitted = make_learner(estimator, "random").fit(X, labels)
    if isinstance(rule, StoppingRule):
        check_nonsense(rule, fitted.reached)
    share = getattr(rule, "random_share", 0.0)
    require(
        0.0 <= share <= 1.0,
        f"{name}.random_share must be between 0 and 1. Got {share}.",
    )
    for known, when in ((None, "first"), (labels, "next"), (y, "last")):
        _check_look(rule, estimator, known, when)
    _check_runs(rule, estimator)
    unchanged(rule, before, "a check; its memory belongs in context.memory")


def _check_look(rule, estimator, labels, when):
    """A check returns a bool and changes nothing."""
    name = type(rule).__name__
    X, _ = pool()
    learner = make_learner(estimator, "random").fit(X, labels)
    before = pickle.dumps(learner)
    noted = _Noted(rule)
    with going_well(f"{name} must decide whether to stop before the {when} query"):
        learner.reached(noted)
    require(
        isinstance(noted.answer, bool | np.bool_),
        f"{name}.reached must give a bool. Got {noted.answer!r}.",
    )
    require(
        pickle.dumps(learner) == before,
        f"{name} must not change the learner when it is checked.",
    )


class _Noted:
    """A rule, and its last answer."""

    def __init__(self, rule):
        self.rule = rule
        self.needs = getattr(rule, "needs", ())

    def reached(self, context):
        self.answer = self.rule.reached(context)
        return self.answer


def _check_runs(rule, estimator):
    """Two learners with one rule stop where one with a copy of it stops."""
    X, y = pool()
    n_labels = []
    for own_rule in (rule, rule, pickle.loads(pickle.dumps(rule))):
        learner = make_learner(estimator, "random").fit(X)
        with going_well(f"A run with {type(rule).__name__} must end"):
            n_labels.append(learner.run(ArrayOracle(y), stop=own_rule).n_labeled_)
    require(
        len(set(n_labels)) == 1,
        f"{type(rule).__name__} must stop equal learners after as many labels. Got "
        f"{n_labels}.",
    )
