"""Learning to sample: labels are queried, and no others used."""

import copy
import pickle

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeRegressor

from skconftree.active import (
    ActiveLearner,
    LearningToSampleClassifier,
    LTSSampling,
)
from skconftree.active.lts import lts_select

from . import invariants
from .corruption import damage_and_use
from .failures import require
from .tables import LABELS

SCALES = (1.0, 1.0, 0.0, 1e-20, 1e15)
ILLEGAL = {
    "budget": [0, 0.0, -1, 1.5, 10**6, 2**70, "all", np.nan],
    "n_rounds": [0, 1.5, 2**70, "two"],
    "alpha": [-1e-9, np.nan, "much", None],
    "groups": [3, [0], "cells", [[0]] * 4],
    "max_dimensions": [0, 17, 2.5, None],
    "trees_per_round": [0, 0.5, None],
    "learning_rate": [0.0, -1, np.nan, np.inf, "fast"],
    "max_depth": [0, 1.5, None],
    "l2_regularization": [-1.0, np.nan, None],
    "min_gain": [-1.0, np.nan, None],
    "sampler": [3, "trees", GaussianNB],
    "random_state": [-1, "seed", 1.5],
}


class _OracleError(Exception):
    pass


def learn_to_sample(sequence):
    """A pool, labels that may be missing, and an oracle that may fail."""
    draw = sequence.draw
    rng = draw.rng
    n, d, k = draw.one([5, 30, 120]), draw.whole(1, 12), draw.one([1, 2, 2, 3, 6])
    labels = draw.one(LABELS)[:k]
    y = labels[rng.choice(k, n, p=rng.dirichlet(np.full(k, 0.7)))]
    X = rng.normal(size=(n, d)) + (y == labels[0])[:, None] * draw.one([0.0, 2.0])
    X = (X * draw.one(SCALES)).astype(draw.one([np.float32, np.float64]))
    answers = y.astype(object)
    answers[rng.random(n) < draw.one([0.0, 0.0, 0.2])] = None
    model = LearningToSampleClassifier(**_parameters(draw, n, X))
    if draw.chance(0.3):
        _of_a_learner(sequence, model, X, answers)
    asked = []

    def ask(rows, places):
        require(np.array_equal(rows, X[places]), "lts: rows of an oracle")
        asked.extend(places.tolist())
        return answers[places]

    try:
        sequence.call("lts: fit", model.fit, X, ask)
    except ValueError as error:
        if "returned no label" not in str(error):
            raise
        return
    _bought(model, asked, y, answers)
    # of the others nothing is known
    unknown = np.full(n, "never looked at", dtype=object)
    unknown[asked] = answers[asked]
    same = sequence.call("lts: fit again", clone(model).fit, X, unknown.tolist())
    require(
        np.array_equal(same.queried_, model.queried_)
        and np.array_equal(same.decision_function(X), model.decision_function(X)),
        "lts: labels that were not queried make another model",
    )
    _ask(sequence, model, X, rng.normal(size=(5, d)) * draw.one(SCALES))
    _failing(sequence, model, X, answers)
    _wrongly(sequence, model, X, y)
    targets = ["BoostedTrees", "LearningToSampleClassifier"]
    damage_and_use(sequence, "lts", model, targets, lambda one: one.predict_proba(X))


def _parameters(draw, n, X):
    budget = draw.one([1, min(n, 12), min(n, 25), 0.2, 1.0, None])
    n_queried = {None: min(n, 100)}.get(budget, budget)
    if isinstance(n_queried, float):
        n_queried = max(1, round(n_queried * n))
    found = {"budget": budget, "random_state": draw.whole(0, 2**31)}
    others = {
        "n_rounds": [1, min(2, n_queried), min(5, n_queried)],
        "alpha": [0, 0.3, 1e300, np.inf],
        "groups": [
            np.arange(n) % 3,
            [f"group {i % 4}" for i in range(n)],
            KMeans(2, n_init=1) if len(np.unique(X, axis=0)) > 1 else None,
        ],
        "max_dimensions": [1, 16],
        "learning_rate": [1e-300, 1.0, 30.0],
        "max_depth": [1, 2**40],
        "l2_regularization": [0.0, 0, 1e300],
        "min_gain": [0.1, 1e300],
        "sampler": [DecisionTreeRegressor(max_depth=2)],
    }
    found["trees_per_round"] = draw.one([1, 3])
    return found | {name: draw.one(others[name]) for name in draw.some(others, 0.25)}


def _bought(model, asked, y, answers):
    require(
        len(asked) == len(set(asked)) and len(asked) == _budget(model, len(y)),
        "lts: rows asked for",
        lambda: f"{model}, {asked}",
    )
    known = np.array([answers[place] is not None for place in asked])
    asked = np.array(asked)
    require(
        np.array_equal(model.queried_, asked[known])
        and np.array_equal(model.skipped_, asked[~known])
        and np.array_equal(model.labels_, y[model.queried_]),
        "lts: what was queried",
    )
    require(model.n_labeled_ == known.sum(), "lts: number of labels")
    require(np.array_equal(model.classes_, np.unique(model.labels_)), "lts: classes")


def _budget(model, n):
    if model.budget is None:
        return min(100, n)
    budget = model.budget
    return max(1, round(budget * n)) if isinstance(budget, float) else budget


def _ask(sequence, model, X, other):
    other = other.astype(np.float32)
    before = _state_of(model)
    for rows in (X, other):
        proba = sequence.call("lts: predict_proba", model.predict_proba, rows)
        require(
            proba.shape == (len(rows), len(model.classes_))
            and np.isfinite(proba).all()
            and (abs(proba.sum(axis=1) - 1.0) < 1e-9).all(),
            "lts: probabilities",
        )
        predicted = sequence.call("lts: predict", model.predict, rows)
        require(np.isin(predicted, model.classes_).all(), "lts: predicted classes")
    again = sequence.call("lts: pickle", lambda: pickle.loads(pickle.dumps(model)))
    require(
        np.array_equal(again.predict_proba(other), proba)
        and _state_of(again) == before == _state_of(model),
        "lts: a pickle is another model",
    )


def _state_of(model):
    # Bytes of scikit-learn's models depend on more than what they know.
    other = copy.copy(model)
    other.sampler_ = None
    return invariants.state_of(other)


def _failing(sequence, model, X, answers):
    """An oracle that gives up leaves the labels of the rounds before."""
    after = sequence.draw.whole(0, 3)
    calls = []

    def ask(rows, places):
        if len(calls) == after:
            raise _OracleError
        calls.append(places)
        return answers[places]

    other = clone(model)
    try:
        sequence.call("lts: an oracle that fails", other.fit, X, ask)
    except _OracleError:
        n_queried = sum(answers[place] is not None for part in calls for place in part)
        require(
            hasattr(other, "classes_") == (n_queried > 0), "lts: kept after an error"
        )
        if n_queried:
            require(
                other.n_rounds_ == after and other.n_labeled_ == n_queried,
                "lts: rounds before an error",
            )
            other.predict_proba(X)
    except ValueError as error:
        if "returned no label" not in str(error):
            raise


def _wrongly(sequence, model, X, y):
    draw, n = sequence.draw, len(X)
    name = draw.one(sorted(ILLEGAL))
    value = draw.one(ILLEGAL[name])
    other = clone(model).set_params(**{name: value})
    errors = (ValueError, TypeError)
    sequence.refused(
        f"lts: fit with {name}={value!r}", other.fit, X, y, errors=errors, of=other
    )
    hole = X.copy()
    hole[0, 0] = draw.one([np.nan, np.inf])
    wrong = {
        "X": (draw.one([hole, X[0], X[:0], "X", None, [["a"] * X.shape[1]] * n]), y),
        "y": (X, draw.one([None, y[:-1], 3, "labels", np.column_stack([y, y])])),
        "answers": (X, lambda rows, places: draw.one([None, [], 3, [0] * (n + 1)])),
    }
    which = draw.one(sorted(wrong))
    sequence.refused(
        f"lts: fit with wrong {which}",
        model.fit,
        *wrong[which],
        errors=errors,
        of=model,
    )


def _of_a_learner(sequence, model, X, answers):
    """The choice of rows of an active learner, with any classifier."""
    draw = sequence.draw
    names = ("alpha", "groups", "max_dimensions", "sampler")
    strategy = LTSSampling(**{name: getattr(model, name) for name in names})
    learner = ActiveLearner(
        GaussianNB(var_smoothing=1e-3), strategy=strategy, random_state=3
    )
    if not np.ptp(X, axis=0).any():
        return
    learner.fit(X)
    known = np.array([one is not None for one in answers])
    for _ in range(2):
        k = draw.one([1, 5, len(X)])
        left = len(X) - learner.n_labeled_
        asked = sequence.call("lts: query", learner.query, k)
        require(
            len(asked) == len(np.unique(asked)) == min(k, left),
            "lts: rows asked for by a learner",
        )
        require(
            np.array_equal(pickle.loads(pickle.dumps(learner)).query(k), asked),
            "lts: a copy asks for other rows",
        )
        if not known[asked].any():
            return
        sequence.call("lts: teach", learner.teach, asked, answers[asked])
        if learner.n_labeled_ == known.sum():
            return


def select_rows(sequence):
    """No other choice of as many rows is worth more."""
    draw = sequence.draw
    rng = draw.rng
    n = draw.one([1, 7, 40, 300])
    scores = draw.one(
        [rng.random(n), rng.integers(0, 3, n), np.zeros(n), rng.normal(size=n)]
    )
    groups = rng.integers(0, draw.one([1, 3, 300]), n)
    k, alpha = draw.whole(0, n), draw.one([0.0, 0.3, 5, 1e300, np.inf])
    given = draw.one([np.asarray, list, lambda one: one.astype(str)])(groups)
    seed = draw.whole(0, 1000)
    chosen = sequence.call(
        "lts_select", lts_select, scores, given, k, alpha, random_state=seed
    )
    again = lts_select(scores, given, k, alpha, random_state=seed)
    require(
        len(chosen) == len(np.unique(chosen)) == k and np.array_equal(chosen, again),
        "lts_select: rows",
    )
    if alpha < 1e9:
        found = _worth(scores, groups, chosen, alpha)
        for _ in range(20):
            other = rng.choice(n, k, replace=False)
            # most choices at random are far off, those with one other row are not
            if k and draw.chance(0.7):
                other = chosen.copy()
                other[draw.whole(0, k - 1)] = draw.whole(0, n - 1)
            if len(np.unique(other)) == k:
                require(
                    _worth(scores, groups, other, alpha)
                    <= found + 1e-9 * (1.0 + abs(found)),
                    "lts_select: another choice is better",
                )
    wrong = {
        "scores": draw.one(
            [scores * np.nan, "scores", np.zeros((n, 1)), np.zeros(n + 1)]
        ),
        "groups": draw.one([groups[:-1], 3, np.zeros((n, 2))]),
        "k": draw.one([-1, n + 1, 0.5, "one", None]),
        "alpha": draw.one([-1.0, np.nan, "much", None]),
        "random_state": draw.one([-1, "seed"]),
    }
    name = draw.one(sorted(wrong))
    options = {"scores": scores, "groups": groups, "k": min(n, 2), "alpha": alpha}
    sequence.refused(
        f"lts_select: with {name}={wrong[name]!r}",
        *(lts_select,),
        **{**options, name: wrong[name]},
        errors=(ValueError, TypeError),
    )


def _worth(scores, groups, chosen, alpha):
    counts = np.bincount(groups[chosen])
    return scores[chosen].sum() + alpha * np.sqrt(counts).sum()
