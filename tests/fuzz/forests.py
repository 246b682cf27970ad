"""Forests and trees of class means, each in a few calls of its own."""

import pickle

import numpy as np
from sklearn.base import clone

from skconftree import (
    ConfidenceForestClassifier,
    NCMForestClassifier,
    NCMTreeClassifier,
)

from . import invariants
from .corruption import GROWTH, damage_and_use
from .failures import require

# Of a tree, not of a forest.
TREE_ALONE = {"lookahead", "refit_rows"}
MAX_ROWS = 300


def use_forest(sequence):
    """A forest in batch or on a stream, and what must be true of it."""
    draw, table = sequence.draw, sequence.table
    parameters = {
        name: value
        for name, value in sequence.parameters.items()
        if name not in TREE_ALONE
    }
    parameters |= {
        "n_estimators": draw.whole(1, 4),
        "n_jobs": draw.one([None, 2]),
        "bootstrap": draw.chance(0.7),
        "vote": draw.one(["mean", "accuracy"]),
        "online_rate": draw.one([1.0, 6.0, 0.1]),
    }
    if isinstance(parameters.get("max_bytes"), int):
        parameters["max_bytes"] = max(parameters["max_bytes"], 4 * 65536 + 200_000)
    if parameters["bootstrap"]:
        parameters["max_samples"] = draw.one([None, None, 0.5, 7])
    batch = draw.chance(0.5)
    if not batch:
        parameters["pruning"] = None
        if isinstance(parameters.get("class_weight"), str):
            del parameters["class_weight"]
    rows = table.rows(draw, draw.one([30, 100, MAX_ROWS]))
    if not (rows.weights > 0.0).any():
        return
    forest = ConfidenceForestClassifier(**parameters)
    learn = _fit if batch else _stream
    ends = sorted({draw.whole(1, len(rows)), len(rows)})
    if not sequence.attempt(
        f"forest: {learn.__name__[1:]}", learn, sequence, forest, rows, ends
    ):
        return
    others = [rows]
    if rows.weight is not None:
        others.append(rows.taken(rows.weights > 0.0))
    for same in others:
        other = clone(forest).set_params(n_jobs=None)
        ends = [len(same)] if batch else sorted({draw.whole(1, len(same)), len(same)})
        sequence.call("forest: again", learn, sequence, other, same, ends)
        require(
            _growth(forest) == _growth(other),
            "a forest of the same rows is another",
            f"{len(same)} of {len(rows)} rows",
        )
    ask = table.rows(draw, draw.one([1, 20]), weights=False)
    X = table.give(draw, ask.X)
    proba = sequence.call("forest: predict_proba", forest.predict_proba, X)
    invariants.probabilities(forest, proba, len(ask))
    leaves = sequence.call("forest: apply", forest.apply, X)
    require(leaves.shape == (len(ask), len(forest.estimators_)), "leaves of a forest")
    _ask(sequence, forest, X, proba)
    index = sequence.call("forest: index_rows", forest.index_rows, X)
    index.predict_proba()
    more = sequence.rows(20, weights=False)
    if not batch:
        sequence.call(
            "forest: partial_fit",
            forest.partial_fit,
            table.give(draw, more.X),
            table.labels[more.y],
        )
    index.update()
    told = sequence.call("forest: index.predict_proba", index.predict_proba)
    require(
        np.array_equal(index.apply(), forest.apply(X))
        and np.array_equal(told, forest.index_rows(X).predict_proba()),
        "an index of rows is not one made now",
    )
    require(
        np.allclose(told, forest.predict_proba(X), rtol=0.0, atol=1e-12),
        "an index of rows predicts otherwise",
    )
    again = sequence.call("forest: pickle", lambda: pickle.loads(pickle.dumps(forest)))
    require(
        invariants.state_of(again) == invariants.state_of(forest),
        "a pickle of a forest is not the same",
    )
    targets = ("tree", "model", "ConfidenceForestClassifier")
    if forest._model.grows:
        targets += GROWTH
    _damage(sequence, forest, targets, X)


def _ask(sequence, forest, X, proba):
    """What else a forest is asked."""
    predicted = sequence.call("forest: predict", forest.predict, X)
    require(
        np.array_equal(predicted, forest.classes_[proba.argmax(axis=1)]),
        "a forest's predict is not the argmax",
    )
    logs = sequence.call("forest: predict_log_proba", forest.predict_log_proba, X)
    require((logs <= 1e-12).all(), "logarithms of a forest's probabilities")
    path, ends = sequence.call("forest: decision_path", forest.decision_path, X)
    n_nodes = [tree.tree_.node_count for tree in forest.estimators_]
    require(
        path.shape == (len(proba), sum(n_nodes))
        and np.array_equal(np.diff(ends), n_nodes),
        "paths of a forest",
    )
    share = sequence.call("importances", lambda: forest.feature_importances_)
    require(
        np.isfinite(share).all() and (abs(share.sum() - 1.0) < 1e-6 or not share.any()),
        "feature importances of a forest",
    )
    outcomes, weights, _ = sequence.call("forest: hypotheses", forest.hypotheses, X)
    require(
        outcomes.shape[1] == len(proba) and abs(weights.sum() - 1.0) < 1e-9,
        "hypotheses of a forest",
    )
    require(forest.n_bytes_ > 0 and forest.n_drifts_ >= 0, "bytes of a forest")


def _fit(sequence, forest, rows, ends):
    table = sequence.table
    X = table.give(sequence.draw, rows.X)
    forest.fit(X, table.labels[rows.y], rows.weight)


def _stream(sequence, forest, rows, ends):
    table = sequence.table
    begin = 0
    for end in ends:
        part = rows.part(begin, end)
        forest.partial_fit(
            table.give(sequence.draw, part.X),
            table.labels[part.y],
            table.classes,
            part.weight,
        )
        begin = end


def _growth(forest):
    trees = [invariants.growth_of(tree) for tree in forest.estimators_]
    return trees, forest.n_rows_seen_


def _damage(sequence, model, targets, X):
    def use(other):
        other.predict_proba(X)
        other.apply(X)

    damage_and_use(sequence, "forest", model, targets, use)


def use_class_means(sequence):
    """Trees of class means learn rows and classes as they come."""
    draw = sequence.draw
    n, d, k = draw.one([5, 60, MAX_ROWS]), draw.whole(1, 6), draw.whole(1, 6)
    rng = draw.rng
    X = rng.normal(size=(n, d)) * draw.one([1.0, 0.0, 1e-20, 1e15])
    y = rng.integers(0, k, n)
    X += y[:, None] * draw.one([0.0, 1.0])
    parameters = {
        "bound": draw.one([None, None, "gtest", "hoeffding"]),
        "max_classes": draw.one(["sqrt", None, 2, 0.5]),
        "n_assignments": draw.one([1, 16]),
        "min_samples_leaf": draw.one([1, 3]),
        "max_stored_samples": draw.one([None, 40]),
        "random_state": draw.whole(0, 1000),
    }
    if draw.chance(0.5):
        model = NCMTreeClassifier(
            **parameters, update=draw.one(["leaves", "igt", "rrn"])
        )
    else:
        model = NCMForestClassifier(
            3,
            **parameters,
            update=draw.one(
                ["hi-rf", "igt", "igt+rrn", "leaves", "rlp", "rrn", "retrain"]
            ),
            boost=draw.one(["decision", "persistent", None]),
            alpha=draw.one([0.0, 0.3]),
            n_jobs=draw.one([None, 2]),
        )
    sequence.call("means: fit", model.fit, X, y)
    same = sequence.call("means: fit again", clone(model).fit, X, y)
    require(
        invariants.state_of(same) == invariants.state_of(model),
        "fit again gives other class means",
    )
    for _ in range(draw.whole(0, 3)):
        more = draw.whole(1, 40)
        X_more = rng.normal(size=(more, d))
        # classes that were not there are learned
        sequence.call(
            "means: partial_fit",
            model.partial_fit,
            X_more,
            rng.integers(0, k + 2, more),
        )
    ask = rng.normal(size=(7, d))
    proba = sequence.call("means: predict_proba", model.predict_proba, ask)
    require(
        proba.shape == (7, len(model.classes_))
        and np.isfinite(proba).all()
        and (abs(proba.sum(axis=1) - 1.0) < 1e-9).all(),
        "probabilities by class means",
    )
    again = sequence.call("means: pickle", lambda: pickle.loads(pickle.dumps(model)))
    require(
        np.array_equal(again.predict_proba(ask), proba),
        "a pickle of class means predicts otherwise",
    )
    targets = ("tree", "samples", "model", type(model).__name__)
    _damage(sequence, model, targets, ask)
