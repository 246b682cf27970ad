"""Trees compared with a slow tree, trees within limits, and row numbers."""

import pickle

import numpy as np
import scipy.sparse as sp
from reference import ctree as reference
from reference.cases import CRITERIA, PAIRS
from reference.contingency import UndecidedError
from reference.online_comparison import (
    AT_ONCE,
    FIXED_CUTS,
    family,
    grow_both,
    in_order_of_appearance,
)
from reference.online_comparison import assert_same as assert_same_nodes
from reference.streams import KINDS, make_stream

from skconftree.bounds import CTreeBound

from . import invariants
from .failures import Finding, require
from .parameters import make_model

GROWTH = {
    "grace_period": [1, 3, 10],
    "max_depth": [1, 2, 4],
    "max_leaf_nodes": [2, 3, 4, 8],
    "min_samples_split": [5, 0.21],
    "min_samples_leaf": [3, 0.07],
    "tie_threshold": [0.05, 0.5],
}
MAX_COLUMN_CATEGORIES = 4096  # of which a column can be told apart


def compare_with_slow_tree(sequence):
    """Row by row, the compiled tree grows the nodes of the slow one."""
    draw = sequence.draw
    case, criterion = draw.one(PAIRS)
    if draw.chance(0.2):
        case, criterion = "none", draw.one(CRITERIA)
    kinds = [draw.one([*KINDS, "nominal", "nominal"]) for _ in range(draw.whole(1, 3))]
    growth = {name: draw.one(GROWTH[name]) for name in draw.some(GROWTH, 0.25)}
    n = 70 if family(case, FIXED_CUTS) else draw.one([20, 40])  # cuts need 32 rows
    if draw.chance(0.3):
        # nodes that wait for long, so that several levels grow at once
        case, criterion = draw.one([one for one in PAIRS if family(one[0], AT_ONCE)])
        kinds, growth, n = ["nominal"] * 3, {"grace_period": 30}, 90
    stream = make_stream(
        draw.whole(0, 2**16),
        n,
        n_classes=draw.one([2, 2, 3, 6]),
        kinds=kinds,
        signal=draw.one([1.0, 4.0]),
        weight=draw.one([None, None, "counts", "quarters", "heavy"]),
        n_pool=draw.one([0, 3, 20]),
    )
    if not stream.weights.any():
        return
    if case == "credible-volume":
        stream.X_pool = stream.X.copy()  # the limits of all features
    if stream.nominal:
        in_order_of_appearance(stream)
    try:
        found, expected = sequence.call(
            "beside a slow tree",
            *(grow_both, case, criterion, stream, None),
            multiway=bool(stream.nominal) and draw.chance(0.7),
            **growth,
        )
    except UndecidedError:
        return
    if expected.ambiguous:
        return
    try:
        assert_same_nodes(found, expected)
    except AssertionError as error:
        raise Finding("another tree than the slow one", str(error)) from error


def grow_within_limits(sequence):
    """A split into very many leaves is not made if there is no room for all of them."""
    draw = sequence.draw
    limits = {"max_bytes": [65536, 70_000, 100_000], "max_leaf_nodes": [2, 3, 7, 60]}
    name = draw.one(sorted(limits))
    widths = [draw.one([2, 5, 40, 300, 700]) for _ in range(draw.whole(1, 3))]
    n = draw.one([1, 2]) * invariants.BOUNDARY
    X = np.column_stack([draw.rng.integers(0, width, n) for width in widths])
    y = (X[:, 0] + draw.rng.integers(0, 2, n)) % draw.one([2, 3])
    parameters = {
        "bound": draw.one([None, None, "gtest"]),
        "nominal_splits": draw.one(["multiway", "multiway", "binary"]),
        "categorical_features": [*range(len(widths))],
        "grace_period": draw.one([1, 20, 200]),
        "leaf_memory": draw.one(["rows", "auto", "histogram"]),
        name: draw.one(limits[name]),
    }
    model = make_model(parameters)
    for part in np.split(np.arange(n), [draw.whole(1, n - 1)]):
        if not sequence.attempt(
            "partial_fit within limits",
            *(model.partial_fit, X[part], y[part], [0, 1, 2]),
        ):
            return
        invariants.size(model, parameters)
        invariants.memory(model, parameters)


def grow_by_permutation_tests(sequence):
    """A conditional inference tree has the splits of its definition."""
    draw = sequence.draw
    n, n_classes = draw.whole(5, 60), draw.one([2, 2, 3, 4])
    d = draw.whole(*draw.one([(1, 4), (8, 12)]))  # 8 and more are tested at once
    y = draw.rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    nominal = draw.rng.random(d) < 0.3
    X = np.empty((n, d))
    for j in range(d):
        if nominal[j]:
            X[:, j] = (draw.rng.integers(0, draw.whole(2, 5), n) * (y + 1)) % 5
        else:
            signal = y * draw.one([0.0, 0.5, 2.0]) + draw.one([0, 0, 1000])
            X[:, j] = (draw.rng.normal(size=n) + signal).round(draw.one([0, 1, 6]))
            X[draw.rng.random(n) < draw.one([0.0, 0.0, 0.3]), j] = np.nan
    X = X.astype(np.float32).astype(float)
    weight = np.ones(n)
    if draw.chance(0.4):
        weight = draw.rng.integers(0, 4, n).astype(float)
        weight[:n_classes] = 1.0
    delta, form = draw.one([0.05, 0.5, 1.0]), draw.one(["quadratic", "maximum"])
    least = draw.one([1, 3, 7])
    bound = CTreeBound(delta, form=form)
    parameters = {"bound": bound, "min_samples_leaf": least, "pruning": None}
    parameters |= {"shrinkage": 0.0, "categorical_features": nominal}
    fit = make_model(parameters).fit
    model = sequence.call("fit of a ctree", fit, X, y, weight)
    try:
        reference.assert_defined(model, X, nominal, y, weight, delta, least, form)
    except AssertionError as error:
        raise Finding("a ctree is not that of its definition", str(error)) from error
    if not (nominal.any() or np.isnan(X).any()):
        fit = make_model(parameters | {"categorical_features": None}).fit
        other = sequence.call("fit of a sparse ctree", fit, sp.csr_array(X), y, weight)
        require(
            pickle.dumps(other.tree_) == pickle.dumps(model.tree_),
            "a sparse table has another ctree",
        )


def leave_row_numbers_out(sequence):
    """A column with a category for nearly every row is given up, and stays so."""
    draw = sequence.draw
    n = MAX_COLUMN_CATEGORIES + draw.whole(1, 50)
    X = draw.rng.normal(size=(n, 2))
    X[:, 0] = draw.rng.permutation(n)
    y = (X[:, 1] > 0.0).astype(int)
    parameters = {"max_depth": 2, "categorical_features": [0], "pruning": None}
    model = sequence.call("fit with row numbers", make_model(parameters).fit, X, y)
    other = sequence.call("pickle", lambda: pickle.loads(pickle.dumps(model)))
    require(
        invariants.state_of(other) == invariants.state_of(model),
        "a pickle is not the same",
    )
    for one in (model, other):
        sequence.call("partial_fit with row numbers", one.partial_fit, X[:5] + n, y[:5])
    require(
        invariants.growth_of(other) == invariants.growth_of(model)
        and other.categories_ == model.categories_,
        "a pickle learns otherwise",
    )
