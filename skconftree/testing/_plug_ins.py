"""Checks of bounds, criteria, detectors and prunings, and what all checks share."""

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
from skconftree.drift import BaseDetector, DriftState

if TYPE_CHECKING:
    from ..tree import BasePruning


def require(holds, sentence):
    """Raise AssertionError with a sentence unless something holds."""
    if not holds:
        raise AssertionError(sentence)


def require_equal(actual, expected, sentence):
    """Raise AssertionError unless two answers are the same, NaN for NaN."""
    try:
        np.testing.assert_equal(actual, expected)
    except AssertionError:
        raise AssertionError(f"{sentence} Got {actual} and {expected}.") from None


@contextmanager
def going_well(sentence):
    """Turn any error of what is inside into an AssertionError with a sentence."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(
            f"{sentence}, but raised {type(error).__name__}: {error}"
        ) from error


@contextmanager
def refused(sentence, message):
    """Raise AssertionError unless a ValueError with this message is raised inside."""
    try:
        yield
    except (TypeError, ValueError) as error:
        require(message in str(error), f"{sentence}; the error says: {error}")
        return
    except Exception as error:
        raise AssertionError(
            f"{sentence}, but raised {type(error).__name__}: {error}"
        ) from error
    raise AssertionError(f"{sentence}, but nothing was raised")


NONSENSE = object()


def check_object(plug_in, base):
    """It derives from its base class, and clones and pickles have its parameters."""
    require(
        isinstance(plug_in, base),
        f"{plug_in!r} must be an object of a class derived from {base.__name__}.",
    )
    name = type(plug_in).__name__
    with going_well(f"{name} must be cloned and pickled"):
        copy = pickle.loads(pickle.dumps(clone(plug_in)))
    copied, original = (
        estimator.get_params(deep=False) for estimator in (copy, plug_in)
    )
    for key in original:
        # objects inside need not be comparable, their text is
        require(
            repr(copied[key]) == repr(original[key]),
            f"A copy of {name} must have its parameters; {key} is {copied[key]!r} "
            f"instead of {original[key]!r}.",
        )


def check_nonsense(plug_in, use):
    """`use` refuses an object that is not a legal value, and names the parameter."""
    for name in plug_in.get_params(deep=False):
        strange = clone(plug_in).set_params(**{name: NONSENSE})
        sentence = (
            f"{type(plug_in).__name__} must refuse an impossible value of its "
            f"parameter {name!r}, with this name in the error"
        )
        with refused(sentence, name):
            use(strange)


def accepts(plug_in):
    """Whether the parameters pass the plug-in's own check."""
    try:
        plug_in.check_parameters()
    except (TypeError, ValueError):
        return False
    return True


def unchanged(plug_in, before, what):
    """Raise AssertionError unless an object pickles to the bytes that it had."""
    require(
        pickle.dumps(plug_in) == before,
        f"{type(plug_in).__name__} must stay as it is after {what}; its attributes "
        "have changed.",
    )


def table(n=900, n_classes=3):
    """One column determines the class, one is weakly related; whole numbers, zeros."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) < 3, np.arange(n) % n_classes, rng.integers(0, 3, n))
    y %= n_classes
    X = rng.poisson(1.0, (n, 4)).astype(np.float32)
    X[:, 0] = 3 * y + rng.integers(0, 3, n)
    X[:, 1] += y * (rng.random(n) < 0.3)
    return X, y


def with_wrong_labels():
    """The same with a wrong label in every fifth row: something to prune."""
    X, y = table(600)
    return X, np.where(np.arange(600) % 5 == 0, (y + 1) % 3, y)


def turning(n=4000):
    """A stream whose labels are swapped in its second half."""
    X = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    y[n // 2 :] = 1 - y[n // 2 :]
    return X, y


def errors_that_rise():
    """Errors of a model: one in ten, then six in ten, then one in five."""
    rng = np.random.default_rng(0)
    return rng.random(3000) < np.repeat([0.1, 0.6, 0.2], 1000)


def pool(n=120):
    """Rows of two numbers in three overlapping clusters, one per class."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    return np.array([[0, 0], [2, 0], [0, 2]])[y] + 0.7 * rng.normal(size=(n, 2)), y


def some_labels(y, rows=(0, 1, 2, 3, 4, 5)):
    """Labels of a few rows, None for the others."""
    out = np.full(len(y), None)
    out[list(rows)] = y[list(rows)]
    return out


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
    for memory in () if bound.tests_features else leaf_memories:
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
            if not bound.tests_features:
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


N_TESTS = 50


def check_criterion(criterion: type[Any]) -> None:
    """Check that a criterion keeps the contract of criteria.

    The forms of its score agree: that of blocks of binary tests, that of any outcomes,
    sums of terms if it is additive, and tables for whole counts. Two balanced classes
    give 1/2 a row and a pure node 0, no split is worse than none, and the impurity is
    the score in its unit.

    Parameters
    ----------
    criterion : type
        Class of the criterion; it is called with a number of classes. Trees and forests
        without a bound take it as their `criterion`.

    Raises
    ------
    AssertionError
        If something is wrong; the message says what.

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
    for n_classes in (2, 5):
        with going_well(
            f"{criterion.__name__} must score counts of {n_classes} classes"
        ):
            _check_scores(criterion, n_classes)


def _check_scores(criterion, n_classes):
    name, score = criterion.__name__, criterion(n_classes)
    score.check()
    require(
        pickle.loads(pickle.dumps(score)).n_classes == n_classes,
        f"A pickle of {name} must have its number of classes.",
    )
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 40, (2, N_TESTS, n_classes)).astype(float)
    prepared = criterion(n_classes)
    prepared.reserve(int((left + right).sum(axis=1).max()))
    for counts, rest in zip(left, right, strict=True):
        total = counts + rest
        _check_test(name, score, counts, rest)
        (plain,) = score.evaluate(counts[None], total)
        (tabulated,) = prepared.evaluate(counts[None], total)
        require(
            _near(plain, tabulated),
            f"{name} must score the same with tables of whole counts (reserve). Got "
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
        f"{name} must give two balanced classes 1/2 per row. Got {largest / 14}.",
    )
    require(
        _near(smallest, 0.0), f"{name} must give a node of one class 0. Got {smallest}."
    )


def _check_test(name, score, left, right):
    """One binary test has one score, which is not above that of the node."""
    total = left + right
    (block,) = score.evaluate(left[None], total)
    both = score.evaluate_outcomes(np.array([left, right]))
    require(
        _near(block, both),
        f"{name} must score a test the same in a block and by its outcomes. Got "
        f"{block} and {both} for {left} and {right}.",
    )
    whole = score.evaluate_outcomes(total[None])
    n, (impurity,) = total.sum(), score.impurities(total[None])
    require(
        _near(whole * score.unit, n * impurity),
        f"The impurity of {name} must be its score a row times its unit "
        f"({score.unit}). Got {impurity} and {whole / n} for {total}.",
    )
    require(
        block <= whole * (1 + 1e-9) + 1e-9,
        f"{name} must not score a split worse than none. Got {block} and {whole} for "
        f"{left} and {right}.",
    )


def _near(actual, expected):
    return bool(np.isclose(actual, expected, rtol=1e-9, atol=1e-9))


def check_detector(detector: BaseDetector | Any) -> None:
    """Check that a change detector keeps the contract of detectors.

    It detects errors that rise from one in ten to six in ten within 1,000 rows, and
    counts what it finds; cuts into calls and pickles do not matter; each parameter has
    a check; and a growing tree takes it.

    A detector of river, or another one with its protocol, has no calls of many rows and
    no parameters that are known here: its updates, clones, copies and pickles are
    checked instead.

    Parameters
    ----------
    detector : BaseDetector, or object with river's protocol
        Sensitive enough for that, and deterministic.

    Raises
    ------
    AssertionError
        If something is wrong; the message says what.

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
        check_object(detector, BaseDetector)
        check_nonsense(detector, lambda strange: strange.kernel())
        _check_rows(detector)
    # A tree notices a turn of the labels, and may be pickled before it.
    name = type(detector).__name__
    X, y = turning()
    model = ConfidenceTreeClassifier(drift=detector, grace_period=20)
    with going_well(f"A growing tree must take {name}"):
        once = clone(model).partial_fit(X, y, classes=[0, 1])
        twice = clone(model).partial_fit(X[:1999], y[:1999], classes=[0, 1])
        twice = pickle.loads(pickle.dumps(twice)).partial_fit(X[1999:], y[1999:])
    require(
        once.n_drifts_ >= 1,
        f"A tree with {name} must detect a drift when labels are swapped.",
    )
    require(
        pickle.dumps(once) == pickle.dumps(twice),
        f"A tree with {name} must go on as it was when it was pickled.",
    )


def _check_updates(detector):
    """It detects a jump; clones start again; copies and pickles continue as it does."""
    name, errors = type(detector).__name__, errors_that_rise().astype(int).tolist()
    with going_well(f"{name} must be cloned, and learn errors"):
        whole = detector.clone()
        alarms = _alarms(whole, errors)
        again = _alarms(whole.clone(), errors)
        part = detector.clone()
        detected = _alarms(part, errors[:999])
        detected += _alarms(copy.deepcopy(part), errors[999:])
        pickled = _alarms(pickle.loads(pickle.dumps(part)), errors[999:])
    require(
        any(alarms[1000:2000]),
        f"{name} must detect a drift when errors rise from one in ten to six in ten.",
    )
    require_equal(again, alarms, f"A clone of {name} must have learned no row.")
    require_equal(detected, alarms, f"A copy of {name} must continue as the original.")
    require_equal(
        pickled, alarms[999:], f"A pickle of {name} must continue as the original."
    )


def _alarms(detector, errors):
    # Whether there is a drift after each row.
    detected = []
    for error in errors:
        detector.update(error)
        detected.append(bool(detector.drift_detected))
    return detected


def _check_rows(detector):
    """It finds a jump; its totals are those of its answers; cuts do not matter."""
    name, errors = type(detector).__name__, errors_that_rise()
    whole, parts, kernel = clone(detector), clone(detector), clone(detector).kernel()
    with going_well(f"{name} must learn errors"):
        states = whole.update_many(errors)
        states_of_parts = []
        for part in np.array_split(errors, 7):
            parts = pickle.loads(pickle.dumps(parts))
            states_of_parts.append(parts.update_many(part))
        compiled = kernel.update_many(errors.astype(float))
    require(
        set(np.unique(states)) <= set(DriftState),
        f"{name} must give states of DriftState. Got {np.unique(states)}.",
    )
    require(
        DriftState.DRIFT in states,
        f"{name} must detect a drift when errors rise from one in ten to six in ten.",
    )
    counts = whole.n_rows_seen_, whole.n_drifts_
    counted = len(errors), np.count_nonzero(states == DriftState.DRIFT)
    require_equal(counts, counted, f"{name} must count its rows and drifts.")
    cut = f"{name} must {{}} however rows are cut into calls, pickled between them."
    require_equal(np.concatenate(states_of_parts), states, cut.format("say the same"))
    require(
        pickle.dumps(parts) == pickle.dumps(whole), cut.format("have the same state")
    )
    require_equal(
        compiled, states, f"A kernel of {name} must say what the detector itself says."
    )


def check_pruning(pruning: BasePruning) -> None:
    """Check that a pruning keeps the contract of prunings.

    It knows the range of its confidence, and can be cloned. A pruned tree has at most
    as many nodes, is of the same rows, and is the same each time; the tree that it was
    made from stays as it is.

    Parameters
    ----------
    pruning : BasePruning
        It is tried with its own confidence and others of its range.

    Raises
    ------
    AssertionError
        If something is wrong; the message says what.

    Examples
    --------
    >>> from skconftree.testing import check_pruning
    >>> from skconftree.tree import C45Pruning
    >>> check_pruning(C45Pruning())
    """
    name = type(pruning).__name__
    parameter = pruning.strength_parameter
    X, y = with_wrong_labels()
    full = ConfidenceTreeClassifier(None).fit(X, y).tree_
    before = pickle.dumps(full)
    rows = SimpleNamespace(take=lambda: (X, y, None), criterion="gini", bound=None)
    with going_well(f"{name}.strength_range must be there"):
        values = strengths(pruning)
    for value in values:
        with going_well(f"{name}({value}) must prune a tree"):
            candidate = clone(pruning).set_params(**{parameter: value})
            candidate.check_parameters()
            pruned = candidate.prune(full, rows)
            again = clone(candidate).prune(full, rows)
        require(
            pickle.dumps(full) == before,
            f"{name} must leave the tree that it prunes as it is.",
        )
        _check_pruned(f"{name}({value})", full, pruned)
        require(
            pickle.dumps(pruned) == pickle.dumps(again),
            f"{name}({value}) must prune a tree in the same way each time.",
        )
    for value in (np.nan, np.inf, -np.inf):
        require(
            not accepts(clone(pruning).set_params(**{parameter: value})),
            f"The range of {parameter} of {name} must not contain {value}.",
        )


def _check_pruned(name, full, pruned):
    """A tree of the same rows that is no larger."""
    require(
        1 <= pruned.node_count <= full.node_count,
        f"{name} must give a tree that is no larger. Got {pruned.node_count} nodes "
        f"instead of {full.node_count}.",
    )
    leaves = pruned.feature < 0
    same = np.array_equal(pruned.counts[0], full.counts[0])
    require(
        same and np.allclose(pruned.counts[leaves].sum(axis=0), full.counts[0]),
        f"{name} must give a tree of the same rows; counts of classes in its leaves do "
        "not add up to those of the root.",
    )


def strengths(pruning):
    """Return the strength of a pruning and a few values from its range."""
    low, high = pruning.strength_range
    top = high if np.isfinite(high) else low + 1.0
    inside = [low + share * (top - low) for share in (0.1, 0.5, 0.9)]
    return [getattr(pruning, pruning.strength_parameter), *inside]
