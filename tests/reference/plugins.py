"""What every plug-in has to keep, as functions of one plug-in.

The registries hand theirs in (`tests/contracts/test_plugins.py`), and so does the test
of those that CONTRIBUTING.md prints.
"""

import pickle
from numbers import Real

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree._compat import InvalidParameterError
from skconftree.bounds import BaseBound
from skconftree.drift import BaseDetector, DriftState
from skconftree.tree.pruning._base import TrainingRows

from .registries import BOUNDS

HOSTILE = (None, "", "x", -1, 0, 0.5, 1, 1e-300, 1e300, 10**400)
HOSTILE += (float("nan"), float("inf"), -float("inf"), True, [], object())


def table(n=900, n_classes=3, seed=0):
    """One column says the class, one a little; whole numbers and many zeros."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < 3, np.arange(n) % n_classes, rng.integers(0, 3, n))
    y %= n_classes
    X = rng.poisson(1.0, (n, 4)).astype(np.float32)
    X[:, 0] = 3 * y + rng.integers(0, 3, n)
    X[:, 1] += y * (rng.random(n) < 0.3)
    return X, y


# -- bounds ------------------------------------------------------------------------


def check_parameters_of_bound(bound):
    """It can be cloned and pickled, names its criteria and stays as it is."""
    assert isinstance(bound, BaseBound)
    assert bound.delta_parameter in bound.get_params()
    assert bound.criteria
    assert isinstance(bound.statement, str)
    for level in bound.levels:
        clone(bound).set_params(**{bound.level_parameter: level}).check_parameters()
    copy = pickle.loads(pickle.dumps(clone(bound)))
    assert copy.get_params() == bound.get_params()
    before = pickle.dumps(bound)
    ConfidenceTreeClassifier(bound).fit(*table(60))
    assert pickle.dumps(bound) == before
    with pytest.raises(InvalidParameterError, match="'criterion' parameter"):
        bound.kernel("no such criterion", 2)


def check_answers_of_bound(bound):
    """The same question has the same answer, about few and many rows and outcomes."""
    for criterion in bound.criteria:
        for children in (
            [[30, 2], [1, 40]],
            [[1, 0], [0, 1]],
            [[30, 2, 0], [1, 40, 2], [0, 0, 9]],
            [[10**9, 3], [0, 10**9]],
            [[0.5, 0.25], [0.125, 3.75]],
        ):
            answer = bound.evaluate(children, criterion=criterion)
            assert isinstance(answer.split, bool)
            again = bound.evaluate(children, criterion=criterion)
            np.testing.assert_equal(answer, again)


def check_hostile_parameters_of_bound(bound):
    """Any value is either refused by name, before any work, or does no harm."""
    X, y = table(30)
    refused = set()
    for name in bound.get_params():
        for value in HOSTILE:
            strange = clone(bound).set_params(**{name: value})
            tree = ConfidenceTreeClassifier(strange)
            if not is_legal(strange):
                refused.add(name)
                words = f"{name!r} parameter of {type(bound).__name__}"
                with pytest.raises(InvalidParameterError, match=words):
                    tree.fit(X, y)
                with pytest.raises(InvalidParameterError, match=words):
                    tree.partial_fit(X, y, classes=[0, 1, 2])
                assert not hasattr(tree, "n_features_in_")
                continue
            try:
                tree.fit(X, y)
            except InvalidParameterError:
                continue  # refused beside another parameter
            assert np.isfinite(tree.predict_proba(X)).all()
    assert refused == set(bound.get_params())


def is_legal(bound):
    """Whether the parameters pass the bound's own check."""
    try:
        bound.check_parameters()
    except InvalidParameterError:
        return False
    return True


def check_batch_of_bound(bound):
    """Weights are repeats, a sparse table is the same table, unused rows are none."""
    X, y = table()
    weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    for criterion in bound.criteria:
        model = ConfidenceTreeClassifier(bound, criterion=criterion, pruning=None)
        tree = clone(model).fit(X, y, weight)
        if criterion == bound.criteria[0]:
            assert tree.get_n_leaves() > 1
            assert tree.score(X, y) > 0.6
        repeats = np.repeat(np.arange(len(y)), weight.astype(int))
        repeated = clone(model).fit(X[repeats], y[repeats])
        same_splits(tree, repeated)
        sparse = clone(model).fit(sp.csc_array(X), y, weight)
        assert pickle.dumps(sparse.tree_) == pickle.dumps(tree.tree_)
        same_splits(tree, pickle.loads(pickle.dumps(tree)))
        reweighted = clone(model).set_params(class_weight={0: 1.0, 1: 3.0, 2: 0.5})
        assert np.isfinite(reweighted.fit(X, y).predict_proba(X)).all()


def check_stream_of_bound(bound, memory):
    """Cuts into calls, pickles and sparse rows do not matter to what is learnt."""
    X, y = table(600)
    model = ConfidenceTreeClassifier(bound, leaf_memory=memory, grace_period=40)
    whole = clone(model)
    predicted = whole.partial_fit_predict(X, y, [0, 1, 2])
    parts, begin = clone(model), 0
    for end in (1, 8, 333, 600):
        rows = sp.csr_array(X[begin:end]) if end == 333 else X[begin:end]
        got = parts.partial_fit_predict(rows, y[begin:end], [0, 1, 2])
        np.testing.assert_array_equal(got, predicted[begin:end])
        parts, begin = pickle.loads(pickle.dumps(parts)), end
    assert pickle.dumps(parts) == pickle.dumps(whole)
    assert whole.tree_.counts[0].sum() == pytest.approx(len(y))
    assert whole.get_n_leaves() > 1
    np.testing.assert_array_equal(
        whole.predict_proba(sp.csr_array(X)), whole.predict_proba(X)
    )


def check_bound(bound, memories=("auto",)):
    """Everything a bound has to keep, lax enough to split a small table."""
    check_parameters_of_bound(bound)
    check_answers_of_bound(bound)
    check_hostile_parameters_of_bound(bound)
    check_batch_of_bound(bound)
    for memory in memories:
        check_stream_of_bound(bound, memory)


def same_splits(one, other):
    """Two models whose trees have the same splits, counts and predictions."""
    for name in ("feature", "threshold", "counts", "parent"):
        np.testing.assert_array_equal(
            getattr(one.tree_, name), getattr(other.tree_, name)
        )


# -- criteria ----------------------------------------------------------------------


def check_scores(make):
    """The form for blocks of tests and the form for one test say the same."""
    rng = np.random.default_rng(0)
    for n_classes in (2, 5):
        score = make(n_classes)
        score.check()
        assert pickle.loads(pickle.dumps(score)).n_classes == n_classes
        left = rng.integers(0, 40, (50, n_classes)).astype(float)
        right = rng.integers(0, 40, (50, n_classes)).astype(float)
        for i in range(50):
            total = left[i] + right[i]
            (block,) = score.evaluate(left[i : i + 1], total)
            both = score.evaluate_outcomes(np.array([left[i], right[i]]))
            assert block == pytest.approx(both, rel=1e-9, abs=1e-9)
            whole = score.evaluate_outcomes(total[None])
            n, (impurity,) = total.sum(), score.impurities(total[None])
            assert whole == pytest.approx(n * impurity / score.unit)
            assert block <= whole * (1 + 1e-9) + 1e-9
        balanced = np.zeros((1, n_classes))
        balanced[0, :2] = 7.0
        assert score.evaluate_outcomes(balanced) == pytest.approx(14 * 0.5)
        pure = np.zeros((1, n_classes))
        pure[0, 1] = 9.0
        assert score.evaluate_outcomes(pure) == pytest.approx(0.0, abs=1e-9)


def check_criterion(name, make):
    """Its forms agree, and trees grow by it."""
    check_scores(make)
    X, y = table()
    for bound in (None, "gtest"):
        tree = ConfidenceTreeClassifier(bound, criterion=name)
        if bound is None or name in BOUNDS[bound].criteria:
            assert tree.fit(X, y).score(X, y) > 0.8


# -- prunings ----------------------------------------------------------------------


def check_pruning(kind):
    """It leaves a tree of the same rows that is no larger, and knows its range."""
    X, y = table(600)
    y = np.where(np.arange(len(y)) % 5 == 0, (y + 1) % 3, y)
    strength = kind.strength
    full = ConfidenceTreeClassifier(None).fit(X, y)
    rows = TrainingRows(X, y, None, "gini", None)
    for value in strengths(strength):
        assert strength.contains(value)
        pruned = kind(value).prune(full.tree_, rows)
        assert 1 <= pruned.node_count <= full.tree_.node_count
        np.testing.assert_array_equal(pruned.counts[0], full.tree_.counts[0])
        leaves = pruned.feature < 0
        np.testing.assert_allclose(
            pruned.counts[leaves].sum(axis=0), pruned.counts[0], rtol=1e-12
        )
    for value in (np.nan, -1.0, np.inf if np.isfinite(strength.high) else -np.inf):
        assert not strength.contains(value)


def strengths(strength):
    """Return the default of a pruning and a few values from its range."""
    top = strength.high if np.isfinite(strength.high) else strength.low + 1.0
    inside = [strength.low + share * (top - strength.low) for share in (0.1, 0.5, 0.9)]
    return [strength.default, *inside]


# -- detectors ---------------------------------------------------------------------


def check_detector(detector):
    """It finds a jump, cuts and pickles do not matter, and a tree takes it."""
    assert isinstance(detector, BaseDetector)
    rng = np.random.default_rng(0)
    errors = rng.random(3000) < np.repeat([0.1, 0.6, 0.2], 1000)
    whole, parts = clone(detector), clone(detector)
    states = whole.update_many(errors)
    assert DriftState.DRIFT in states
    assert whole.n_rows_seen_ == len(errors)
    assert whole.n_drifts_ == np.count_nonzero(states == DriftState.DRIFT)
    for part in np.array_split(errors, 7):
        parts = pickle.loads(pickle.dumps(parts))
        parts.update_many(part)
    assert pickle.dumps(parts._running) == pickle.dumps(whole._running)
    kernel = clone(detector).kernel()
    kernel.update_many(errors.astype(float))
    assert pickle.dumps(kernel) == pickle.dumps(whole._running)
    for name, value in detector.get_params().items():
        if isinstance(value, Real):
            strange = clone(detector).set_params(**{name: "x"})
            with pytest.raises((TypeError, ValueError), match=name):
                strange.kernel()
    X = rng.normal(size=(4000, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    y[2000:] = 1 - y[2000:]
    model = ConfidenceTreeClassifier(drift=detector, grace_period=20)
    once = clone(model).partial_fit(X, y, classes=[0, 1])
    assert once.n_drifts_ >= 1
    twice = clone(model).partial_fit(X[:1999], y[:1999], classes=[0, 1])
    twice = pickle.loads(pickle.dumps(twice)).partial_fit(X[1999:], y[1999:])
    assert pickle.dumps(once) == pickle.dumps(twice)
