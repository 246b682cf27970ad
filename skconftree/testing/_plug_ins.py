"""Checks of bounds, criteria, detectors and prunings, and functions that checks share.

A component is an object that a user may define: a bound (split rule), criterion, drift
detector, pruning method, query strategy or stopping rule. Its kernel is the compiled
object that a tree uses. The outcomes of a split are its branches. A growing tree is
trained by `partial_fit`: a leaf tries to split after each `grace_period` rows. A bound
whose `tests_features` is True selects the feature before the split, in `fit` only.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import BaseBound
from skconftree.criteria import BaseCriterion
from skconftree.drift import BaseDetector, DriftState

if TYPE_CHECKING:
    from ..tree import BasePruning


def require(condition, message):
    """Raise AssertionError with a message unless a condition holds."""
    if not condition:
        raise AssertionError(message)


def require_equal(actual, expected, message):
    """Raise AssertionError unless two results are equal, where NaN equals NaN."""
    try:
        np.testing.assert_equal(actual, expected)
    except AssertionError:
        raise AssertionError(f"{message} Got {actual} and {expected}.") from None


@contextmanager
def assert_no_error(message):
    """Raise AssertionError with a message if the `with` block raises an error."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(
            f"{message}, but raised {type(error).__name__}: {error}"
        ) from error


@contextmanager
def assert_value_error(message, expected):
    """Raise AssertionError unless the block raises an error that contains a text.

    The error must be a TypeError or ValueError.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        require(expected in str(error), f"{message}. Got the message: {error}")
        return
    except Exception as error:
        raise AssertionError(
            f"{message}, but raised {type(error).__name__}: {error}"
        ) from error
    raise AssertionError(f"{message}, but nothing was raised")


INVALID_VALUE = object()


def check_clone_and_pickle(component, base):
    """Check the base class of a component, and the parameters of a clone and pickle."""
    require(
        isinstance(component, base),
        f"{component!r} must be an object of a class derived from {base.__name__}.",
    )
    name = type(component).__name__
    with assert_no_error(f"{name} must be cloned and pickled"):
        copy = pickle.loads(pickle.dumps(clone(component)))
    copied, parameters = (
        estimator.get_params(deep=False) for estimator in (copy, component)
    )
    for key in parameters:
        # parameters that are objects need not be comparable
        require(
            repr(copied[key]) == repr(parameters[key]),
            f"A copy of {name} must have its parameters; {key} is {copied[key]!r} "
            f"instead of {parameters[key]!r}.",
        )


def check_invalid_parameters(component, use):
    """Check that `use` raises an error that names a parameter with an invalid value."""
    for name in component.get_params(deep=False):
        invalid = clone(component).set_params(**{name: INVALID_VALUE})
        message = (
            f"{type(component).__name__} must raise an error for an invalid value of "
            f"its parameter {name!r}, with this name in the message"
        )
        with assert_value_error(message, name):
            use(invalid)


def accepts(component):
    """Whether `check_parameters` of a component raises no error."""
    try:
        component.check_parameters()
    except (TypeError, ValueError):
        return False
    return True


def assert_unchanged(component, original, what, remedy=""):
    """Raise AssertionError if an object no longer pickles to the `original` bytes."""
    require(
        pickle.dumps(component) == original,
        f"{type(component).__name__} must not be changed by {what}; its attributes "
        f"have changed.{remedy}",
    )


def table(n=900, n_classes=3):
    """Make a table of counts; the class depends on column 0, and weakly on column 1."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) < 3, np.arange(n) % n_classes, rng.integers(0, 3, n))
    y %= n_classes
    X = rng.poisson(1.0, (n, 4)).astype(np.float32)
    X[:, 0] = 3 * y + rng.integers(0, 3, n)
    X[:, 1] += y * (rng.random(n) < 0.3)
    return X, y


def make_noisy_table():
    """Make a table as `table` does, with a wrong label in every fifth row."""
    X, y = table(600)
    return X, np.where(np.arange(600) % 5 == 0, (y + 1) % 3, y)


def make_drift_stream(n=4000):
    """Make a stream whose labels are swapped in its second half."""
    X = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    y[n // 2 :] = 1 - y[n // 2 :]
    return X, y


def make_errors():
    """Make errors of a model, with error rates of 10%, then 60%, then 20%."""
    rng = np.random.default_rng(0)
    return rng.random(3000) < np.repeat([0.1, 0.6, 0.2], 1000)


def pool(n=120):
    """Make a pool of three overlapping clusters in two dimensions, one per class."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return np.array([[0, 0], [2, 0], [0, 2]])[y] + 0.7 * rng.normal(size=(n, 2)), y


def make_partial_labels(y, rows=(0, 1, 2, 3, 4, 5)):
    """Return the labels of a few rows, and None for the others."""
    out = np.full(len(y), None)
    out[list(rows)] = y[list(rows)]
    return out


EXTREME_VALUES = (None, "", "x", -1, 0, 0.5, 1, 1e-300, 1e300, 10**400)
EXTREME_VALUES += (float("nan"), float("inf"), -float("inf"), True, [], object())
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
        Values of `leaf_memory` (what leaves store of their rows) of the trees that are
        trained by `partial_fit`.

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
    original = pickle.dumps(bound)
    # The same counts give the same result, for few and many rows and classes.
    name = type(bound).__name__
    for criterion in bound.criteria:
        for children in CHILDREN:
            with assert_no_error(f"{name} must evaluate children {children}"):
                result = bound.evaluate(children, criterion=criterion)
                repeated = bound.evaluate(children, criterion=criterion)
            require_equal(
                result,
                repeated,
                f"{name} must return the same result for the same counts.",
            )
    assert_unchanged(bound, original, "a decision")
    check_invalid_parameters(bound, lambda invalid: invalid.check_parameters())
    _check_extreme_parameters(bound)
    _check_batch(bound)
    for memory in () if bound.tests_features else leaf_memories:
        _check_stream(bound, memory)


def _check_parameters(bound):
    """Check the declared parameters and criteria, and the error for other criteria."""
    check_clone_and_pickle(bound, BaseBound)
    name = type(bound).__name__
    # the parameter that `delta` of a tree overrides
    require(
        bound.delta_parameter in bound.get_params(),
        f"{name}.delta_parameter must be one of its parameters. Got "
        f"{bound.delta_parameter!r}.",
    )
    require(bound.criteria, f"{name}.criteria must have at least one criterion.")
    # name of the number that the evidence of a split stores as `statistic`
    require(
        isinstance(bound.statistic_name, str), f"{name}.statistic_name must be a str."
    )
    # `level_parameter` is the parameter that controls how strict the bound is, and
    # `levels` are suitable values of it
    for level in bound.levels:
        with assert_no_error(f"{name} must accept {level}, which is one of its levels"):
            other = clone(bound).set_params(**{bound.level_parameter: level})
            other.check_parameters()
    with assert_value_error(
        f"{name}.kernel must raise an error for criteria not in its `criteria`",
        "'criterion'",
    ):
        bound.kernel("no such criterion", 2)  # of two classes


def _check_extreme_parameters(bound):
    """Check that invalid values raise an error that names the parameter, before fit."""
    X, y = table(30)
    name = type(bound).__name__
    for key in bound.get_params():
        expected = f"{key!r} parameter of {name}"
        for value in EXTREME_VALUES:
            invalid = clone(bound).set_params(**{key: value})
            tree = ConfidenceTreeClassifier(invalid)
            if accepts(invalid):
                _grow(tree, X, y, f"{name} with {key}={value!r}")
                continue
            message = f"A tree must raise an error for {name} with {key}={value!r}"
            with assert_value_error(message, expected):
                tree.fit(X, y)
            if not bound.tests_features:
                with assert_value_error(message, expected):
                    tree.partial_fit(X, y, classes=[0, 1, 2])
            require(
                not hasattr(tree, "n_features_in_"),
                f"{name} must reject {key}={value!r} before training.",
            )


def _grow(tree, X, y, what):
    """Check that a tree with a valid bound predicts, or rejects another parameter."""
    with assert_no_error(f"A tree with {what} must be fitted"):
        try:
            tree.fit(X, y)
        except ValueError as error:
            require("parameter" in str(error), f"A tree with {what} raised: {error}")
            return  # another parameter is invalid
        proba = tree.predict_proba(X)
    require(
        np.isfinite(proba).all(),
        f"A tree with {what} must predict finite probabilities.",
    )


def _check_batch(bound):
    """Check weights against repeated rows, and sparse against dense input."""
    X, y = table()
    name = type(bound).__name__
    weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    repeats = np.repeat(np.arange(len(y)), weight.astype(int))
    for criterion in bound.criteria:
        model = ConfidenceTreeClassifier(bound, criterion=criterion, pruning=None)
        message = f"A tree with {name} and criterion {criterion!r} must"
        with assert_no_error(f"{message} grow from weights, repeats and sparse tables"):
            tree = clone(model).fit(X, y, weight)
            repeated = clone(model).fit(X[repeats], y[repeats])
            sparse = clone(model).fit(sp.csc_array(X), y, weight)
            loaded = pickle.loads(pickle.dumps(tree))
            reweighted = clone(model).set_params(class_weight={0: 1.0, 1: 3.0, 2: 0.5})
            proba = reweighted.fit(X, y).predict_proba(X)
        if criterion == bound.criteria[0]:
            require(
                tree.get_n_leaves() > 1 and tree.score(X, y) > 0.6,
                f"{message} split a column that separates the classes; "
                "call this check with a less conservative bound.",
            )
        _same_splits(tree, repeated, f"{message} treat weights as repeated rows.")
        _same_splits(tree, loaded, f"{message} be the same after pickling.")
        require(
            pickle.dumps(sparse.tree_) == pickle.dumps(tree.tree_),
            f"{message} be the same for a sparse table.",
        )
        require(np.isfinite(proba).all(), f"{message} accept class weights.")


def _same_splits(left, right, message):
    """Check that two models have trees with the same splits and counts."""
    same = all(
        np.array_equal(getattr(left.tree_, key), getattr(right.tree_, key))
        for key in ("feature", "threshold", "counts", "parent")
    )
    require(same, message)


def _check_stream(bound, memory):
    """Check that a tree does not depend on chunks, pickling or a sparse format."""
    X, y = table(600)
    message = f"A growing tree with {type(bound).__name__} and leaf_memory={memory!r}"
    model = ConfidenceTreeClassifier(bound, leaf_memory=memory, grace_period=40)
    whole, parts, begin = clone(model), clone(model), 0
    with assert_no_error(f"{message} must learn"):
        predicted = whole.partial_fit_predict(X, y, [0, 1, 2])
        for end in (1, 8, 333, 600):
            rows = sp.csr_array(X[begin:end]) if end == 333 else X[begin:end]
            got = parts.partial_fit_predict(rows, y[begin:end], [0, 1, 2])
            require(
                np.array_equal(got, predicted[begin:end]),
                f"{message} must predict the same for any partition into calls.",
            )
            parts, begin = pickle.loads(pickle.dumps(parts)), end
    require(
        pickle.dumps(parts) == pickle.dumps(whole),
        f"{message} must have the same state for any partition into calls.",
    )
    require(
        whole.get_n_leaves() > 1 and np.isclose(whole.tree_.counts[0].sum(), len(y)),
        f"{message} must split a column that separates the classes; call this "
        "check with a less conservative bound.",
    )
    require(
        np.array_equal(whole.predict_proba(sp.csr_array(X)), whole.predict_proba(X)),
        f"{message} must predict the same for sparse rows.",
    )


N_SPLITS = 50


def check_criterion(criterion: type[Any] | BaseCriterion) -> None:
    """Check that a criterion adheres to the interface of criteria.

    A criterion may compute its score in several ways: for blocks of binary splits, for
    any number of branches, from sums of the terms phi of class counts if it is
    additive, and from values that `reserve` has tabulated for integer counts. All of
    them must give the same score. Two balanced classes must score 1/2 per row, and a
    pure node 0. A split must not have a worse score than its node. The impurity must be
    the score per row times `unit`. Trees without a bound must accept the criterion and
    grow the same tree for weights as for repeated rows.

    Parameters
    ----------
    criterion : type or BaseCriterion
        Compiled class, which is called with a number of classes, or an object of a
        subclass of :class:`~skconftree.criteria.BaseCriterion`. Trees and forests
        without a bound take it as their `criterion`.

    Raises
    ------
    AssertionError
        If a check fails.

    Examples
    --------
    >>> from skconftree.criteria._criterion import CRITERIA
    >>> from skconftree.testing import check_criterion
    >>> own = CRITERIA["gini"]  # a compiled class
    >>> check_criterion(own)

    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier
    >>> tree = ConfidenceTreeClassifier(None, criterion=own, max_leaf_nodes=3)
    >>> tree.fit(*load_iris(return_X_y=True)).get_n_leaves()
    3
    """
    if isinstance(criterion, type):
        name, make = criterion.__name__, criterion
    else:
        check_clone_and_pickle(criterion, BaseCriterion)
        name, make = type(criterion).__name__, criterion.kernel
    for n_classes in (2, 5):
        with assert_no_error(f"{name} must score counts of {n_classes} classes"):
            _check_scores(name, make, n_classes)
    X, y = table(300)
    weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    repeats = np.repeat(np.arange(len(y)), weight.astype(int))
    model = ConfidenceTreeClassifier(bound=None, criterion=criterion)
    message = f"A tree with bound=None and criterion {name} must"
    with assert_no_error(f"{message} grow"):
        tree = clone(model).fit(X, y, weight)
        repeated = clone(model).fit(X[repeats], y[repeats])
    _same_splits(tree, repeated, f"{message} treat weights as repeated rows.")


def _check_scores(name, criterion, n_classes):
    score = criterion(n_classes)
    score.check()  # raises an error if the class lacks a method
    require(
        pickle.loads(pickle.dumps(score)).n_classes == n_classes,
        f"A pickle of {name} must have its number of classes.",
    )
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 40, (2, N_SPLITS, n_classes)).astype(float)
    prepared = criterion(n_classes)
    prepared.reserve(int((left + right).sum(axis=1).max()))
    for counts, rest in zip(left, right, strict=True):
        total = counts + rest
        _check_binary_split(name, score, counts, rest)
        (plain,) = score.evaluate(counts[None], total)
        (tabulated,) = prepared.evaluate(counts[None], total)
        require(
            _near(plain, tabulated),
            f"{name} must score the same with tabulated values (reserve). Got "
            f"{tabulated} instead of {plain} for left {counts} of {total}.",
        )
        if score.additive:
            (summed,) = score.evaluate(counts[None], total, from_sums=True)
            require(
                _near(plain, summed),
                f"{name} must score the same from sums of its terms (phi). Got "
                f"{summed} instead of {plain} for left {counts} of {total}.",
            )
    # Two balanced classes give 1/2 per row, one class 0.
    balanced, pure = np.zeros((2, 1, n_classes))
    balanced[0, :2], pure[0, 1] = 7.0, 9.0
    largest, smallest = map(score.evaluate_outcomes, (balanced, pure))
    require(
        _near(largest, 7.0),
        f"{name} must score two balanced classes as 1/2 per row. Got {largest / 14}.",
    )
    require(
        _near(smallest, 0.0),
        f"{name} must score a node of one class as 0. Got {smallest}.",
    )


def _check_binary_split(name, score, left, right):
    """Check that a binary split has one score, at most that of its node."""
    total = left + right
    (block,) = score.evaluate(left[None], total)
    both = score.evaluate_outcomes(np.array([left, right]))
    require(
        _near(block, both),
        f"{name} must score a split the same in a block and by its outcomes. Got "
        f"{block} and {both} for {left} and {right}.",
    )
    whole = score.evaluate_outcomes(total[None])
    n, (impurity,) = total.sum(), score.impurities(total[None])
    require(
        _near(whole * score.unit, n * impurity),
        f"The impurity of {name} must be its score per row times its unit "
        f"({score.unit}). Got {impurity} and {whole / n} for {total}.",
    )
    require(
        block <= whole * (1 + 1e-9) + 1e-9,
        f"{name} must not score a split worse than its node. Got {block} and {whole} "
        f"for {left} and {right}.",
    )


def _near(actual, expected):
    return bool(np.isclose(actual, expected, rtol=1e-9, atol=1e-9))


def check_detector(detector: BaseDetector | Any) -> None:
    """Check that a drift detector adheres to the interface of detectors.

    A detector must detect that the error rate rises from 10% to 60% within 1,000 rows,
    and count rows and drifts. Its state must depend neither on the partition of the
    rows into calls nor on pickling. Invalid parameters must raise an error. A tree that
    is trained by `partial_fit` must be able to use it.

    For detectors of river, and others with its protocol (`update`, `drift_detected`,
    `clone`), the updates, clones, copies and pickles are checked instead, because they
    have neither calls for several rows nor known parameters.

    Parameters
    ----------
    detector : BaseDetector, or object with river's protocol
        Detector that is sensitive enough for these errors, and deterministic.

    Raises
    ------
    AssertionError
        If a check fails.

    See Also
    --------
    skconftree.drift.BaseDetector : What a detector defines.

    Examples
    --------
    >>> from skconftree.drift import DDM
    >>> from skconftree.testing import check_detector
    >>> check_detector(DDM())
    """
    if hasattr(detector, "clone") and not isinstance(detector, BaseDetector):
        _check_updates(detector)
    else:
        check_clone_and_pickle(detector, BaseDetector)
        check_invalid_parameters(detector, lambda invalid: invalid.kernel())
        _check_rows(detector)
    # A tree detects that labels are swapped, also if it was pickled before.
    name = type(detector).__name__
    X, y = make_drift_stream()
    model = ConfidenceTreeClassifier(drift=detector, grace_period=20)
    with assert_no_error(f"A growing tree must accept {name}"):
        once = clone(model).partial_fit(X, y, classes=[0, 1])
        twice = clone(model).partial_fit(X[:1999], y[:1999], classes=[0, 1])
        twice = pickle.loads(pickle.dumps(twice)).partial_fit(X[1999:], y[1999:])
    require(
        once.n_drifts_ >= 1,
        f"A tree with {name} must detect a drift when labels are swapped.",
    )
    require(
        pickle.dumps(once) == pickle.dumps(twice),
        f"A tree with {name} must have the same state after pickling in between.",
    )


def _check_updates(detector):
    """Check a detector with river's protocol: detection, clones, copies and pickles."""
    name, errors = type(detector).__name__, make_errors().astype(int).tolist()
    with assert_no_error(f"{name} must be cloned and updated with errors"):
        whole = detector.clone()
        alarms = _drifts_after_rows(whole, errors)
        again = _drifts_after_rows(whole.clone(), errors)
        part = detector.clone()
        detected = _drifts_after_rows(part, errors[:999])
        detected += _drifts_after_rows(copy.deepcopy(part), errors[999:])
        pickled = _drifts_after_rows(pickle.loads(pickle.dumps(part)), errors[999:])
    require(
        any(alarms[1000:2000]),
        f"{name} must detect a drift when the error rate rises from 10% to 60%.",
    )
    require_equal(again, alarms, f"A clone of {name} must be in the initial state.")
    require_equal(detected, alarms, f"A copy of {name} must continue as the original.")
    require_equal(
        pickled, alarms[999:], f"A pickle of {name} must continue as the original."
    )


def _drifts_after_rows(detector, errors):
    # Whether there is a drift after each row.
    detected = []
    for error in errors:
        detector.update(error)
        detected.append(bool(detector.drift_detected))
    return detected


def _check_rows(detector):
    """Check detection and counts, for any partition of the rows into calls."""
    name, errors = type(detector).__name__, make_errors()
    whole, parts, kernel = clone(detector), clone(detector), clone(detector).kernel()
    with assert_no_error(f"{name} must be updated with errors"):
        states = whole.update_many(errors)
        states_of_parts = []
        for part in np.array_split(errors, 7):
            parts = pickle.loads(pickle.dumps(parts))
            states_of_parts.append(parts.update_many(part))
        compiled = kernel.update_many(errors.astype(float))
    require(
        set(np.unique(states)) <= set(DriftState),
        f"{name} must return states of DriftState. Got {np.unique(states)}.",
    )
    require(
        DriftState.DRIFT in states,
        f"{name} must detect a drift when the error rate rises from 10% to 60%.",
    )
    counts = whole.n_rows_seen_, whole.n_drifts_
    counted = len(errors), np.count_nonzero(states == DriftState.DRIFT)
    require_equal(counts, counted, f"{name} must count its rows and drifts.")
    message = f"{name} must {{}} for any partition into calls with pickling in between."
    require_equal(
        np.concatenate(states_of_parts), states, message.format("return the same")
    )
    require(
        pickle.dumps(parts) == pickle.dumps(whole),
        message.format("have the same state"),
    )
    require_equal(
        compiled, states, f"A kernel of {name} must return the states of the detector."
    )


def check_pruning(pruning: BasePruning) -> None:
    """Check that a pruning method adheres to the interface of `BasePruning`.

    A pruning must define the range of its strength, the parameter that controls how
    strongly it prunes. It must not modify the tree that it prunes. Pruning must be
    deterministic, must not add nodes, and must keep the class counts of the root.

    Parameters
    ----------
    pruning : BasePruning
        It is checked with its own strength and other values in the range.

    Raises
    ------
    AssertionError
        If a check fails.

    Examples
    --------
    >>> from skconftree.testing import check_pruning
    >>> from skconftree.tree import C45Pruning
    >>> check_pruning(C45Pruning())
    """
    name = type(pruning).__name__
    parameter = pruning.strength_parameter
    X, y = make_noisy_table()
    full = ConfidenceTreeClassifier(bound=None).fit(X, y).tree_
    original = pickle.dumps(full)
    # the training data that `prune` gets: X, y and weights, and parameters of the tree
    rows = SimpleNamespace(take=lambda: (X, y, None), criterion="gini", bound=None)
    with assert_no_error(f"{name}.strength_range must be defined"):
        values = strengths_to_try(pruning)
    for value in values:
        with assert_no_error(f"{name}({value}) must prune a tree"):
            candidate = clone(pruning).set_params(**{parameter: value})
            candidate.check_parameters()
            pruned = candidate.prune(full, rows)
            again = clone(candidate).prune(full, rows)
        require(
            pickle.dumps(full) == original,
            f"{name} must not modify the tree that it prunes.",
        )
        _check_pruned(f"{name}({value})", full, pruned)
        require(
            pickle.dumps(pruned) == pickle.dumps(again),
            f"{name}({value}) must return the same tree in each call.",
        )
    for value in (np.nan, np.inf, -np.inf):
        require(
            not accepts(clone(pruning).set_params(**{parameter: value})),
            f"The range of {parameter} of {name} must not contain {value}.",
        )


def _check_pruned(name, full, pruned):
    """Check that a pruned tree has the same rows and is not larger."""
    require(
        1 <= pruned.node_count <= full.node_count,
        f"{name} must return a tree that is not larger. Got {pruned.node_count} nodes "
        f"after {full.node_count}.",
    )
    leaves = pruned.feature < 0
    same = np.array_equal(pruned.counts[0], full.counts[0])
    require(
        same and np.allclose(pruned.counts[leaves].sum(axis=0), full.counts[0]),
        f"{name} must return a tree of the same rows; the class counts of its leaves "
        "do not add up to those of the root.",
    )


def strengths_to_try(pruning):
    """Return the strength of a pruning method, and a few values from its range."""
    low, high = pruning.strength_range
    top = high if np.isfinite(high) else low + 1.0
    inside = [low + share * (top - low) for share in (0.1, 0.5, 0.9)]
    return [getattr(pruning, pruning.strength_parameter), *inside]
