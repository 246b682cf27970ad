"""Clouds of planes, in a few calls of their own."""

import pickle

import numpy as np
from sklearn.base import clone

from skconftree import OASISClassifier

from . import invariants
from .corruption import damage_and_use
from .failures import require

SCORES = {"oasis": 1.0, "gbs": 0.5, "uc": 0.5}  # and their largest values
SCALES = (1.0, 1.0, 0.0, 1e-20, 1e15)
NO_LABEL = -1


def learn_with_planes(sequence):
    """Rows with and without label, in any chunks, and what is asked of the planes."""
    draw = sequence.draw
    rng = draw.rng
    k, d = draw.whole(1, 4), draw.whole(1, 5)
    n = draw.one([5, 90, 150, 300])
    y = rng.integers(0, k, n)
    X = (rng.normal(size=(n, d)) + y[:, None] * draw.one([0.0, 2.0])) * draw.one(SCALES)
    y[rng.random(n) < draw.one([0.0, 0.5, 1.0])] = NO_LABEL
    weight = draw.one(
        [None, None, rng.integers(0, 3, n), 10.0 ** rng.uniform(-9, 3, n)]
    )
    parameters = {
        "likelihood": draw.one(["normal", "steep", "flat", (1.0, 0.3), (1e-9, 1e-9)]),
        "prior": draw.one(["cauchy", "normal"]),
        "scale": draw.one([1.0, 1e-9, 1e9]),
        "n_particles": draw.one([2, 10, 100]),
        "buffer_size": draw.one([1, 10, 100]),
        "resample": draw.chance(0.8),
        "fit_intercept": draw.one(["auto", True, False]),
        "standardize": draw.chance(0.7),
        "missing_label": NO_LABEL,
        "random_state": draw.whole(0, 1000),
    }
    model = OASISClassifier(**parameters)
    other = clone(model)
    if (y != NO_LABEL).any() and draw.chance(0.3):
        for one in (model, other):
            sequence.call("planes: fit", one.fit, X, y)
        k = model.n_classes_
        y = np.where(y == NO_LABEL, NO_LABEL, np.searchsorted(model.classes_, y))
        y = np.where(y == NO_LABEL, NO_LABEL, model.classes_[y % k])
    classes = None if hasattr(model, "classes_") else np.arange(k)
    for one, ends in ((model, [n]), (other, sorted({draw.whole(1, n), n}))):
        begin, told = 0, []
        for end in ends:
            part = slice(begin, end)
            told += sequence.call(
                "planes: partial_fit_predict",
                *(one.partial_fit_predict, _held(draw, X[part]), y[part], classes),
                sample_weight=None if weight is None else weight[part],
            ).tolist()
            begin = end
        require(
            len(told) == n and np.isin(told, model.classes_).all(), "planes: classes"
        )
    require(
        invariants.state_of(model) == invariants.state_of(other),
        "planes: other chunks give other planes",
    )
    again = sequence.call("planes: pickle", lambda: pickle.loads(pickle.dumps(model)))
    require(
        invariants.state_of(again) == invariants.state_of(model),
        "planes: a pickle is not the same",
    )
    _ask(sequence, model, rng.normal(size=(6, d)) * draw.one(SCALES))

    def use(other):
        other.predict_proba(X)
        other.partial_fit(X, y)

    targets = ["particle_filter", "model", "OASISClassifier"]
    damage_and_use(sequence, "planes", model, targets, use)


def _held(draw, X):
    return draw.one([np.array, np.asfortranarray, np.ndarray.tolist])(X)


def _ask(sequence, model, X):
    proba = sequence.call("planes: predict_proba", model.predict_proba, X)
    invariants.probabilities(model, proba, len(X))
    predicted = sequence.call("planes: predict", model.predict, X)
    require(np.isin(predicted, model.classes_).all(), "planes: classes")
    sequence.call("planes: decision_function", model.decision_function, X)
    if not model._model.grows:
        return  # until there are rows enough for a scale
    for score, most in SCORES.items():
        found = sequence.call("planes: query_score", model.query_score, X, score)
        require(
            ((found >= 0.0) & (found <= most + 1e-9)).all(), "planes: scores of rows"
        )
    if model.n_classes_ == 2:
        _look_at_planes(sequence, model, X)
    require((model.ess_ >= 1.0 - 1e-9).all(), "planes: effective sample size")
    require(
        (model.n_moves_ >= 0).all() and (model.n_restarts_ >= 0).all(), "planes: moves"
    )


def _look_at_planes(sequence, model, X):
    outcomes, weights, groups = sequence.call("planes: hypotheses", model.hypotheses, X)
    require(
        len(outcomes) == len(weights) == len(groups)
        and outcomes.shape[1] == len(X)
        and (weights >= 0.0).all()
        and abs(weights.sum() - 1.0) < 1e-9,
        "planes: hypotheses",
    )
    points = sequence.call("planes: hypothesis_points", model.hypothesis_points)
    require(len(points) == len(weights), "planes: points")
