"""Checks that a bound must pass."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import BaseBound

from ._common import (
    accepts,
    check_nonsense,
    check_object,
    going_well,
    refused,
    require,
    require_equal,
    table,
    unchanged,
)

HOSTILE = (None, "", "x", -1, 0, 0.5, 1, 1e-300, 1e300, 10**400)
HOSTILE += (float("nan"), float("inf"), -float("inf"), True, [], object())
CHILDREN = (
    [[30, 2], [1, 40]],
    [[1, 0], [0, 1]],
    [[30, 2, 0], [1, 40, 2], [0, 0, 9]],
    [[10**9, 3], [0, 10**9]],
    [[0.5, 0.25], [0.125, 3.75]],
)


def check_bound(bound: BaseBound, *, leaf_memories: Sequence[str] = ("auto",)) -> None:
    """Check that a bound adheres to the interface of `BaseBound`.

    A bound must be unchanged by use, cloning and pickling. Invalid values of its
    parameters must raise an error that names the parameter. Equal counts must give
    equal results. A tree must be the same for integer weights as for repeated rows, and
    for sparse as for dense input. A tree trained by `partial_fit` must depend neither
    on the partition of the rows into calls nor on pickling in between.

    Parameters
    ----------
    bound : BaseBound
        Must accept a split of 600 rows in which one column separates three classes.
    leaf_memories : tuple of str, default=("auto",)
        Values of `leaf_memory` of the trees that are trained by `partial_fit`.

    Raises
    ------
    AssertionError
        If a check fails.

    See Also
    --------
    skconftree.bounds.BaseBound : What a bound defines.

    Examples
    --------
    >>> from skconftree.bounds import GTestBound
    >>> from skconftree.testing import check_bound
    >>> check_bound(GTestBound())
    """
    _check_parameters(bound)
    before = pickle.dumps(bound)
    # The same counts give the same result, for few and many rows and classes.
    name = type(bound).__name__
    for criterion in bound.criteria:
        for children in CHILDREN:
            with going_well(f"{name} must evaluate children {children}"):
                result = bound.evaluate(children, criterion=criterion)
                repeated = bound.evaluate(children, criterion=criterion)
            require_equal(
                result,
                repeated,
                f"{name} must return the same result for the same counts.",
            )
    unchanged(bound, before, "a decision")
    check_nonsense(bound, lambda strange: strange.check_parameters())
    _check_hostile_parameters(bound)
    _check_batch(bound)
    for memory in leaf_memories:
        _check_stream(bound, memory)


def _check_parameters(bound):
    """The bound declares its parameters and criteria, and rejects other criteria."""
    check_object(bound, BaseBound)
    name = type(bound).__name__
    require(
        bound.delta_parameter in bound.get_params(),
        f"{name}.delta_parameter must be one of its parameters. Got "
        f"{bound.delta_parameter!r}.",
    )
    require(bound.criteria, f"{name}.criteria must name a criterion or more.")
    require(
        isinstance(bound.statistic_name, str), f"{name}.statistic_name must be a str."
    )
    for level in bound.levels:
        with going_well(f"{name} must accept {level}, which is one of its levels"):
            other = clone(bound).set_params(**{bound.level_parameter: level})
            other.check_parameters()
    with refused(f"{name}.kernel must refuse criteria it does not name", "'criterion'"):
        bound.kernel("no such criterion", 2)


def _check_hostile_parameters(bound):
    """Invalid values raise an error that names the parameter, before any training."""
    X, y = table(30)
    name = type(bound).__name__
    for key in bound.get_params():
        message = f"{key!r} parameter of {name}"
        for value in HOSTILE:
            strange = clone(bound).set_params(**{key: value})
            tree = ConfidenceTreeClassifier(strange)
            if accepts(strange):
                _grow(tree, X, y, f"{name} with {key}={value!r}")
                continue
            sentence = f"A tree must refuse {name} with {key}={value!r} by its name"
            with refused(sentence, message):
                tree.fit(X, y)
            with refused(sentence, message):
                tree.partial_fit(X, y, classes=[0, 1, 2])
            require(
                not hasattr(tree, "n_features_in_"),
                f"{name} must reject {key}={value!r} before training.",
            )


def _grow(tree, X, y, what):
    """A tree with a valid bound predicts, or raises an error about a parameter."""
    with going_well(f"A tree with {what} must be fitted"):
        try:
            tree.fit(X, y)
        except ValueError as error:
            require("parameter" in str(error), f"A tree with {what} raised: {error}")
            return  # refused because of another parameter
        proba = tree.predict_proba(X)
    require(np.isfinite(proba).all(), f"A tree with {what} must give probabilities.")


def _check_batch(bound):
    """Weights act as repeated rows, sparse as dense input; weight 0 removes a row."""
    X, y = table()
    name = type(bound).__name__
    weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    repeats = np.repeat(np.arange(len(y)), weight.astype(int))
    for criterion in bound.criteria:
        model = ConfidenceTreeClassifier(bound, criterion=criterion, pruning=None)
        sentence = f"A tree with {name} and criterion {criterion!r} must"
        with going_well(f"{sentence} grow from weights, repeats and sparse tables"):
            tree = clone(model).fit(X, y, weight)
            repeated = clone(model).fit(X[repeats], y[repeats])
            sparse = clone(model).fit(sp.csc_array(X), y, weight)
            loaded = pickle.loads(pickle.dumps(tree))
            reweighted = clone(model).set_params(class_weight={0: 1.0, 1: 3.0, 2: 0.5})
            proba = reweighted.fit(X, y).predict_proba(X)
        if criterion == bound.criteria[0]:
            require(
                tree.get_n_leaves() > 1 and tree.score(X, y) > 0.6,
                f"{sentence} split a column that separates the classes; "
                "call this check with a less conservative bound.",
            )
        _same_splits(tree, repeated, f"{sentence} treat weights as repeated rows.")
        _same_splits(tree, loaded, f"{sentence} be the same after pickling.")
        require(
            pickle.dumps(sparse.tree_) == pickle.dumps(tree.tree_),
            f"{sentence} be the same for a sparse table.",
        )
        require(np.isfinite(proba).all(), f"{sentence} accept class weights.")


def _same_splits(left, right, sentence):
    """Two models have trees with the same splits and counts."""
    same = all(
        np.array_equal(getattr(left.tree_, key), getattr(right.tree_, key))
        for key in ("feature", "threshold", "counts", "parent")
    )
    require(same, sentence)


def _check_stream(bound, memory):
    """The tree does not depend on chunks, pickling or a sparse format."""
    X, y = table(600)
    sentence = f"A growing tree with {type(bound).__name__} and leaf_memory={memory!r}"
    model = ConfidenceTreeClassifier(bound, leaf_memory=memory, grace_period=40)
    whole, parts, begin = clone(model), clone(model), 0
    with going_well(f"{sentence} must learn"):
        predicted = whole.partial_fit_predict(X, y, [0, 1, 2])
        for end in (1, 8, 333, 600):
            rows = sp.csr_array(X[begin:end]) if end == 333 else X[begin:end]
            got = parts.partial_fit_predict(rows, y[begin:end], [0, 1, 2])
            require(
                np.array_equal(got, predicted[begin:end]),
                f"{sentence} must predict the same for any partition into calls.",
            )
            parts, begin = pickle.loads(pickle.dumps(parts)), end
    require(
        pickle.dumps(parts) == pickle.dumps(whole),
        f"{sentence} must have the same state for any partition into calls.",
    )
    require(
        whole.get_n_leaves() > 1 and np.isclose(whole.tree_.counts[0].sum(), len(y)),
        f"{sentence} must split a column that separates the classes; call this "
        "check with a less conservative bound.",
    )
    require(
        np.array_equal(whole.predict_proba(sp.csr_array(X)), whole.predict_proba(X)),
        f"{sentence} must predict the same for sparse rows.",
    )
