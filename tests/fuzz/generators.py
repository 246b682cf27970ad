"""Synthetic rows."""

import numpy as np

from skconftree import datasets
from skconftree.datasets import grid_concept_proba, grid_concept_risk

from .failures import require

WRONG = (ValueError, TypeError)
LABEL_NOISE = [0.0, 0.3, 1.0, 1]
# One of the values of each parameter is drawn, or its default.
PARAMETERS = {
    "make_diced": {"n_features": [1, 2, 50, 1000]},
    "make_grid_concept": {
        "depth": [0, 1, 6, 7, 100],
        "box": [None, [[0, 1], [0.2, 0.3]], [[0, 1e-300], [0.999999, 1]]],
    },
    "make_random_tree_stream": {
        "n_features": [1, 3, 30],
        "n_leaves": [2, 3, 200],
        "n_classes": [2, 3, 40],
        "p_left": [0.0, 1.0],
        "p_right": [0.0, 1, 0.5],
        "noise": LABEL_NOISE,
    },
    "make_sea": {"noise": LABEL_NOISE},
}
CONCEPTS = {  # first and last
    "make_random_tree_stream": (0, 2**31 - 1),
    "make_sea": (0, 3),
}
WIDTHS = [0, 1, 50.0, 1e9, 1e100]
N_FEATURES = {"make_sea": 3, "make_grid_concept": 2, "make_diced": 2}
N_FEATURES |= {"make_random_tree_stream": 5}
ILLEGAL = {
    "n_samples": [0, -1, 2.5, "ten", None, 2**31],
    "noise": [-0.1, 1.1, np.nan, "some", None],
    "n_features": [0, 1.5, "x"],
    "depth": [-1, 101, 1.5],
    "box": [[[0, 1]], [[1, 0], [0, 1]], [[0, np.nan], [0, 1]], "box", 3],
    "n_classes": [1, 0, 2.0],
    "n_leaves": [1, 2.5],
    "p_left": [-1, 1.5, np.nan],
    "concept": [-1, 2**70, 1.5, [], "none", [[0]], None],
    "drift_at": [0, 1, -0.5, 1.5, [0.2, 0.1], "now", [None], np.nan],
    "drift_width": [-1, np.nan, np.inf, 1.7e308, 10**400, "wide"],
    "random_state": [-1, "seed", 1.5],
}


def make_rows(sequence):
    """The same rows for the same seed, of the shape and the labels promised."""
    draw = sequence.draw
    name = draw.one(sorted(PARAMETERS))
    n = draw.one([1, 2, 12, 100, 700])
    if name == "make_diced":
        n = max(n, 11)
    parameters = {"n_samples": n}
    for one, values in PARAMETERS[name].items():
        if draw.chance(0.4):
            parameters[one] = draw.one(values)
    if name in CONCEPTS and draw.chance(0.7):
        parameters |= _drift(draw, n, *CONCEPTS[name])
    seed = draw.whole(0, 2**31)
    make = getattr(datasets, name)
    X, y = sequence.call(name, make, **parameters, random_state=seed)
    d = parameters.get("n_features", N_FEATURES.get(name))
    k = parameters.get("n_classes", 2)
    require(
        X.shape == (n, d) and X.dtype == np.float32 and np.isfinite(X).all(),
        f"{name}: rows",
        lambda: f"{parameters}: {X}",
    )
    require(
        y.shape == (n,) and y.dtype == np.intp and ((y >= 0) & (y < k)).all(),
        f"{name}: labels",
    )
    again = make(**parameters, random_state=np.random.RandomState(seed))
    require(all(map(np.array_equal, again, (X, y))), f"{name}: other rows of a seed")
    _wrongly(sequence, name, parameters)
    _on_a_grid(sequence)


def _none(X):
    return np.zeros(len(X))


def _drift(draw, n, first, last):
    m = draw.one([1, 1, 2, 3])
    concept = [draw.whole(first, last) for _ in range(m)]
    found = {"drift_width": draw.one(WIDTHS)} if draw.chance(0.5) else {}
    if draw.chance(0.5):
        if n > m:
            at = np.sort(draw.rng.choice(np.arange(1, n), m - 1, replace=False))
            found["drift_at"] = draw.one([at, at.tolist(), tuple(at.tolist())])
    elif m == 2:
        found["drift_at"] = draw.one([None, 0.5, [0.001], np.float32(0.25)])
    return found | {"concept": concept if m > 1 else concept[0]}


def _wrongly(sequence, name, parameters):
    draw = sequence.draw
    known = {"n_samples", "random_state", *PARAMETERS[name]}
    if name in CONCEPTS:
        known |= {"concept", "drift_at", "drift_width"}
    one = draw.one(sorted(known & set(ILLEGAL)))
    given = {**parameters, one: draw.one(ILLEGAL[one])}
    if one == "drift_at":
        given["concept"] = 1  # never drifts
    if one == "concept":
        given.pop("drift_at", None)
    sequence.refused(
        f"{name} with {one}={given[one]!r}",
        getattr(datasets, name),
        **given,
        errors=WRONG,
    )


def _on_a_grid(sequence):
    """True probabilities and risks of a concept that is known."""
    draw = sequence.draw
    depth, resolution = draw.whole(0, 9), draw.one([1, 2, 5])
    X = draw.rng.random((4, 2))
    proba = sequence.call("grid_concept_proba", grid_concept_proba, X, depth=depth)
    require(proba.shape == (4,) and ((proba >= 0) & (proba <= 1)).all(), "grid: proba")
    risks = [
        sequence.call(
            "grid_concept_risk",
            *(grid_concept_risk, lambda X, label=label: np.full(len(X), label)),
            depth=depth,
            resolution=resolution,
        )
        for label in (0, 1)
    ]
    require(abs(sum(risks) - 1.0) < 1e-9, "grid: risks of both labels", str(risks))
    wrong = {
        "proba": lambda: grid_concept_proba(draw.one([X + 1, X[0], X * np.nan, "X"])),
        "risk": lambda: grid_concept_risk(draw.one([np.sum, None, lambda X: X])),
        "resolution": lambda: grid_concept_risk(len, resolution=draw.one([0, 1.5])),
        "size": lambda: grid_concept_risk(_none, depth=100, resolution=2**31 - 1),
    }
    which = draw.one(sorted(wrong))
    sequence.refused(f"grid: {which}", wrong[which], errors=WRONG)
