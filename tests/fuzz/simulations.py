"""What strategies would have been worth: curves, figures and their picture."""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from skconftree.active import simulate
from skconftree.active._registry import STRATEGIES
from skconftree.inspection import ActiveCurveDisplay

from . import invariants
from .failures import require
from .learners import draw_learner
from .queries import OBJECTS, REFUSALS

N_ROWS = 24
CHEAP = sorted(set(STRATEGIES) - {"ec2", "gbs", "lts", "expected_error"})
WRONG_COUNTS = [0, -1, 1.5, "ten", None]


def least_sure(estimator, X):
    """A strategy of the user's own."""
    return 1.0 - estimator.predict_proba(X).max(axis=1)


def compare_strategies(sequence):
    """Curves within the budget, the same for the same seed."""
    draw, table = sequence.draw, sequence.table
    rows = table.rows(draw, N_ROWS, weights=False)
    X, y = table.give(draw, rows.X), table.labels[rows.y]
    if len(np.unique(y)) < 2:
        return
    model = draw_learner(sequence)
    n_initial = draw.one([0, 0, 1, 4])
    batch_size = draw.one([1, 2, 3])
    budget = min(n_initial + draw.one([1, 4, 5]), N_ROWS // 2)
    options = {
        "cv": draw.one([1, 2, KFold(2)]),
        "budget": budget,
        "batch_size": min(batch_size, budget - n_initial),
        "n_initial": n_initial,
        "scoring": draw.one([None, "accuracy"]),
        "refit": draw.one(["auto", True, False]),
    }
    one = draw.one([*CHEAP, OBJECTS[2], least_sure, ("mine", least_sure)])
    before = invariants.state_of(model)
    seed = draw.whole(0, 2**31)
    done = []
    for _ in range(2):
        try:
            done.append(
                sequence.call(
                    "simulate",
                    simulate,
                    clone(model),
                    X,
                    y,
                    [one],
                    **options,
                    random_state=seed,
                )
            )
        except ValueError as error:
            if not REFUSALS.search(str(error)):
                raise
            return
    require(invariants.state_of(model) == before, "simulate changed the model")
    result, again = done
    require(
        result.strategies == again.strategies
        and np.array_equal(result.n_labels, again.n_labels)
        and np.array_equal(result.scores, again.scores),
        "simulate: a seed gives other curves",
    )
    _curves(result, options)
    _picture(sequence, result)
    _wrongly(sequence, model, X, y)


def _curves(result, options):
    cv = options["cv"]
    n_runs = cv if isinstance(cv, int) else cv.get_n_splits()
    n_steps = (options["budget"] - options["n_initial"]) // options["batch_size"]
    shape = len(result.strategies), n_runs, n_steps
    require(result.scores.shape == shape, "simulate: shape", str(result.scores.shape))
    require(((result.scores >= 0.0) & (result.scores <= 1.0)).all(), "simulate: scores")
    require(
        len(result.n_labels) == n_steps
        and result.n_labels[-1] <= options["budget"]
        and (np.diff(result.n_labels) == options["batch_size"]).all(),
        "simulate: labels",
    )
    require((result.seconds >= 0.0).all(), "simulate: seconds")
    for row in result.summary():
        i = result.strategies.index(row.strategy)
        require(
            np.isclose(row.area, result.scores[i].mean())
            and 0 <= row.wins <= n_runs
            and (np.isnan(row.area_error) == (n_runs == 1)),
            "simulate: summary",
            lambda row=row: str(row),
        )


def _picture(sequence, result):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    draw = sequence.draw
    chosen = draw.some(result.strategies, 0.7) or None
    make = ActiveCurveDisplay.from_simulation
    try:
        display = sequence.call("ActiveCurveDisplay", make, result, strategies=chosen)
        n = len(chosen or result.strategies)
        require(len(display.lines_) == n, "lines of a picture of curves")
        n_bands = n if result.scores.shape[1] > 1 else 0
        require(len(display.bands_) == n_bands, "bands of a picture of curves")
        wrong = draw.one([["no such"], [], "random", [3]])
        sequence.refused("ActiveCurveDisplay", make, result, strategies=wrong)
    finally:
        plt.close("all")


def _wrongly(sequence, model, X, y):
    draw = sequence.draw
    wrong = {
        "budget": [*WRONG_COUNTS, 10**9, 2**70],
        "batch_size": [*WRONG_COUNTS, 10**9],
        "n_initial": [-1, 0.5, "one", 2, 10**9],
        "cv": [0, -1, 1.5, "half"],
        "strategies": [["no such"], [3], ["margin", None], 3, [("a", "no such")]],
        "refit": ["never", 3],
        "random_state": [-1, "seed"],
        "scoring": ["no such", 3],
        "y": [y[:-1], np.full(len(y), None), np.full(len(y), np.nan), [y, y]],
        "estimator": [None, "tree", KFold(2)],
    }
    name = draw.one(sorted(wrong))
    given = {"estimator": model, "X": X, "y": y, "cv": 2, "budget": 2}
    given[name] = draw.one(wrong[name])
    sequence.refused(
        f"simulate: with {name}={given[name]!r}",
        *(simulate,),
        **given,
        errors=(ValueError, TypeError),
        of=model,
    )
