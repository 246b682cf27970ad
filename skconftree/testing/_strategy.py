"""What a query strategy has to keep."""

from __future__ import annotations

import pickle

import numpy as np

from skconftree.active import ArrayOracle
from skconftree.active.pool import SamplingStrategy
from skconftree.active.stream import StreamStrategy

from ..utils._types import Estimator
from ._learners import learner, of_a_pool, serving
from ._parameters import check_nonsense, check_object, unchanged
from ._require import going_well, refused, require, require_equal
from ._stream_strategy import check_stream_strategy
from ._tables import pool, some_labels


def check_strategy(
    strategy: SamplingStrategy | StreamStrategy, estimator: Estimator | None = None
) -> None:
    """Check that a query strategy keeps the contract of strategies.

    Of a strategy with a pool: rows that it chooses are different, have no label yet,
    and have finite scores; they are the same until something is taught, and again with
    another learner that was taught the same or is a pickle. Rows that are alike are
    told apart by chance. The pool can be labelled to its last row, costs are taken or
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

    def ask(one):
        learner(one, strategy).fit(X)

    estimator = serving(strategy, of_a_pool(estimator), ask)
    check_nonsense(strategy, lambda strange: learner(estimator, strange).fit(X))
    before = pickle.dumps(strategy)
    _check_choices(strategy, estimator)
    _check_answers_matter_alone(strategy, estimator)
    _check_costs(strategy, estimator)
    _check_rows_alike(strategy, estimator)
    _check_to_the_last_row(strategy, estimator)
    unchanged(strategy, before, "it is asked")


def _check_choices(strategy, estimator):
    """Rows are different and without a label, and the same when asked again."""
    name = type(strategy).__name__
    X, y = pool()
    given = X.copy()
    one = learner(estimator, strategy).fit(X, some_labels(y))
    for k in (1, 7, 40, 500):
        with going_well(f"{name} must choose {k} rows"):
            rows, scores = one.query(k, return_scores=True)
            again = one.query(k)
        require(
            len(np.unique(rows)) == len(rows) == min(k, len(y) - 6),
            f"{name} must choose {k} different rows, or all that are left. Got {rows}.",
        )
        require(
            all(label is None for label in one.y_[rows]),
            f"{name} must choose unlabelled rows. Got {rows}.",
        )
        require(
            np.shape(scores) == rows.shape and np.isfinite(scores).all(),
            f"{name} must give a finite score with each row. Got {scores}.",
        )
        require_equal(
            rows,
            again,
            f"{name} must choose the same rows until something is taught; random "
            "numbers are those of context.rng.",
        )
    require(np.array_equal(X, given), f"{name} must not write to the pool.")


def _check_answers_matter_alone(strategy, estimator):
    """What is asked depends on the answers alone, not on who asks."""
    name = type(strategy).__name__
    X, y = pool()
    with going_well(f"{name} must be asked and taught in turns"):
        one = learner(estimator, strategy).fit(X, some_labels(y))
        other = learner(estimator, strategy).fit(X, some_labels(y))
        for _ in range(5):
            rows = one.query(3)
            one.teach(rows, y[rows])
            other.teach(rows, y[rows])
        loaded = pickle.loads(pickle.dumps(one)).query(4)
        asked, told = one.query(4), other.query(4)
    require_equal(
        asked,
        told,
        f"{name} must choose the same rows with another learner that was taught the "
        "same.",
    )
    require_equal(
        asked, loaded, f"{name} must choose the same rows when its learner was pickled."
    )


def _check_costs(strategy, estimator):
    """Costs are taken, or refused in the strategy's name."""
    name = type(strategy).__name__
    X, y = pool()
    costs = np.random.default_rng(0).uniform(1.0, 2.0, len(y))
    one = learner(estimator, strategy).fit(X, some_labels(y))
    if not strategy.takes_costs:
        with refused(f"{name} does not take costs and must refuse them by name", name):
            one.query(9, costs=costs)
        return
    with going_well(f"{name} must take costs, or say takes_costs = False"):
        rows, scores = one.query(9, costs=costs, return_scores=True)
    require(
        len(np.unique(rows)) == 9 and np.isfinite(scores).all(),
        f"{name} must choose different rows with finite scores by their costs. Got "
        f"{rows} with {scores}.",
    )


def _check_rows_alike(strategy, estimator):
    """All rows are alike: whoever takes the first or the last ones gives them away."""
    alike = np.zeros((400, 2))
    alike[0], alike[1] = -1.0, 1.0
    y = some_labels(np.r_[0, 1, np.zeros(398, dtype=int)], (0, 1))
    one = learner(estimator, strategy, random_state=3).fit(alike, y)
    rows = np.sort(one.query(20))
    require(
        100 < rows.mean() < 300 and (np.diff(rows) > 1).any(),
        f"{type(strategy).__name__} must tell rows that are alike apart by chance, not "
        f"by their place in the pool. Got {rows}.",
    )


def _check_to_the_last_row(strategy, estimator):
    """A pool without labels can be labelled from the first row to the last."""
    name = type(strategy).__name__
    X, y = pool(24)
    one = learner(estimator, strategy, batch_size=3).fit(X)
    with going_well(f"{name} must be asked until the pool has no row left"):
        one.run(ArrayOracle(y))
    require(
        one.n_labeled_ == len(y) and len(one.query()) == 0,
        f"{name} must choose every row of the pool in the end. Got {one.n_labeled_} of "
        f"{len(y)} rows.",
    )
