"""What a query strategy of a stream has to keep."""

import pickle

import numpy as np

from skconftree import ConfidenceTreeClassifier, OASISClassifier
from skconftree.active import StreamActiveLearner
from skconftree.active.stream import StreamStrategy

from ._learners import serving
from ._parameters import check_nonsense, check_object, unchanged
from ._require import going_well, require, require_equal
from ._tables import turning

SHARES = (0.03, 0.1, 0.5, 1.0)  # of labels that may be requested
N_ROWS = 600


def check_stream_strategy(strategy, estimator):
    """As `check_strategy`, for learners of a stream."""
    check_object(strategy, StreamStrategy)
    X, _ = turning(N_ROWS)

    def ask(one, strategy=strategy):
        _learner(one, strategy).query(X[:5])

    ours = (
        ConfidenceTreeClassifier(grace_period=20),
        OASISClassifier(n_particles=50, buffer_size=20),
    )
    estimator = serving(strategy, ours if estimator is None else (estimator,), ask)
    check_nonsense(strategy, lambda strange: ask(estimator, strange))
    before = pickle.dumps(strategy)
    for share in SHARES:
        _check_budget(strategy, estimator, share)
    _check_row_by_row(strategy, estimator)
    unchanged(strategy, before, "it is asked; what it remembers belongs into state")


def _learner(estimator, strategy, budget=0.1):
    return StreamActiveLearner(
        estimator, strategy=strategy, budget=budget, classes=[0, 1], random_state=3
    )


def _check_budget(strategy, estimator, share):
    """No row finds more labels requested than the budget allows, and some are."""
    name = type(strategy).__name__
    X, y = turning(N_ROWS)
    with going_well(f"{name} must decide on the rows of a stream"):
        asked = _learner(estimator, strategy, share).run(X, y).asked
    bought = np.cumsum(asked)
    overdrawn = bought > share * np.arange(1, len(y) + 1)
    require(
        not overdrawn.any(),
        f"{name} must keep to the budget at every row; budget {share} was overdrawn at "
        f"row {overdrawn.argmax()}.",
    )
    require(
        bought[-1] > 0,
        f"{name} must buy a label of {len(y)} rows with budget {share}.",
    )


def _check_row_by_row(strategy, estimator):
    """Decisions do not depend on how many rows are shown at once, nor on pickles."""
    name = type(strategy).__name__
    X, y = turning(N_ROWS // 2)
    with going_well(f"{name} must decide row by row, and be pickled with its learner"):
        whole = _learner(estimator, strategy).run(X, y).asked
        steps, asked = _learner(estimator, strategy), []
        for i in range(len(y)):
            asked.append(bool(steps.query(X[i : i + 1])[0]))
            if asked[-1]:
                steps.teach(X[i : i + 1], y[i : i + 1])
                steps = pickle.loads(pickle.dumps(steps))
    require_equal(
        np.flatnonzero(whole),
        np.flatnonzero(asked),
        f"{name} must decide the same however rows are cut into calls, pickled between "
        "them; random numbers are those of context.draws.",
    )
