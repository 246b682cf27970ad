"""Bounds and criteria written in Python: the same trees as compiled ones, and errors.

Their methods run in the middle of compiled code that cannot raise. Errors and
interrupts must reach the user nevertheless, and leave the model usable.
"""

import pickle
import signal

import numpy as np
import pandas as pd
import pytest
from reference.effort import cases
from sklearn.base import clone

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMTreeClassifier,
    large,
)
from skconftree.bounds import BaseBound, GTestBound
from skconftree.criteria import BaseCriterion
from skconftree.testing import check_bound, check_criterion
from skconftree.testing._plug_ins import table


class MinGain(BaseBound):
    """Splits if the impurity decreases by `delta`."""

    criteria = ("gini", "entropy")
    statistic_name = "gain"
    levels = (0.3, 0.2, 0.1, 0.05, 0.01)

    def __init__(self, delta=0.02):
        self.delta = delta

    def check_parameters(self):
        if type(self.delta) not in (int, float) or not 0 <= self.delta <= 1:
            raise ValueError(
                "The 'delta' parameter of MinGain must be a number in [0, 1]. Got "
                f"{self.delta!r} instead."
            )

    def decide(self, stats):
        gain = stats.impurity - stats.score
        return gain >= self.delta, gain


class Gini(BaseCriterion):
    def impurity(self, counts):
        share = counts / counts.sum(axis=1, keepdims=True)
        return 1 - (share**2).sum(axis=1)


class Failing(MinGain):
    """Fails below the root."""

    def decide(self, stats):
        if stats.depth > 0:
            raise KeyError("own error")
        return super().decide(stats)


class FailingGini(Gini):
    def __init__(self, failing=True):
        self.failing = failing

    def impurity(self, counts):
        if self.failing and counts.sum(axis=1).min() < 200:
            raise KeyError("own error")
        return super().impurity(counts)


FAILING = [
    {"bound": Failing()},
    {"bound": None, "criterion": FailingGini(), "min_samples_leaf": 5},
]


def same(a, b):
    return all(
        np.array_equal(getattr(a.tree_, key), getattr(b.tree_, key), equal_nan=True)
        for key in ("feature", "threshold", "counts")
    )


def test_bound():
    check_bound(MinGain(0.05))


def test_criterion():
    check_criterion(Gini())


SETTINGS = [
    {},
    {"max_features": 2},
    {"splitter": "random", "class_weight": {0: 1, 1: 3, 2: 2}},
    {"max_bins": 8, "pruning": "c45"},
    {"nominal_splits": "multiway", "categorical_features": [2, 3], "ccp_alpha": 0.001},
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_criterion_in_python_grows_the_compiled_tree(setting):
    X, y = table(400)
    model = ConfidenceTreeClassifier(None, random_state=0, **setting)
    compiled = clone(model).set_params(criterion="gini").fit(X, y)
    tree = model.set_params(criterion=Gini()).fit(X, y)
    assert same(tree, compiled)
    np.testing.assert_allclose(tree.tree_.impurity, compiled.tree_.impurity, atol=1e-12)


def test_a_criterion_in_python_grows_the_compiled_stream():
    X, y = table(600)
    trees = []
    for criterion in (Gini(), "gini"):
        tree = ConfidenceTreeClassifier(None, criterion=criterion, grace_period=50)
        tree.partial_fit(X[:300], y[:300], classes=[0, 1, 2])
        trees.append(pickle.loads(pickle.dumps(tree)).partial_fit(X[300:], y[300:]))
    assert same(*trees)
    assert trees[0].get_n_leaves() > 2
    np.testing.assert_allclose(*(tree.tree_.impurity for tree in trees), atol=1e-12)


def test_decide_replaces_a_compiled_rule_and_sees_what_evaluate_takes():
    seen = []

    class Noting(GTestBound):
        def decide(self, stats):
            seen.append(stats)
            return np.bool_(len(seen) < 2), np.float32(0.5)

    X, y = table(200)
    tree = ConfidenceTreeClassifier(Noting(), lookahead=0, pruning=None).fit(X, y)
    assert tree.get_n_leaves() == 2
    root, *others = seen
    np.testing.assert_array_equal(root.children_counts.sum(axis=0), np.bincount(y))
    assert root.depth == 0
    assert {stats.depth for stats in others} == {1}
    assert root.score < root.runner_up_score < root.impurity
    assert root.n_candidate_features == 4
    assert (root.attempt, root.time) == (1, 200)
    assert root.n_feature_candidates < root.n_candidates
    seen.clear()
    bound = Noting()
    result = bound.evaluate([[3, 1], [0, 5]], criterion="gini", n_tests=7, attributes=2)
    assert seen[0].children_counts.tolist() == [[3, 1], [0, 5]]
    assert (seen[0].n_candidates, seen[0].n_candidate_features) == (7, 2)
    assert result.split
    assert result.statistic == 0.5


def test_forests_threads_and_tables_in_parts(tmp_path):
    X, y = table(600)
    for parameters in ({"bound": MinGain()}, {"bound": None, "criterion": Gini()}):
        one, two = (
            ConfidenceForestClassifier(4, random_state=0, n_jobs=n_jobs, **parameters)
            for n_jobs in (1, 2)
        )
        proba = one.fit(X, y).predict_proba(X)
        assert (two.fit(X, y).predict_proba(X) == proba).all()
        assert one[0].criterion_ == one.criterion_
        one, two = (
            ConfidenceForestClassifier(4, random_state=0, n_jobs=n_jobs, **parameters)
            for n_jobs in (1, 2)
        )
        one.partial_fit(X, y, [0, 1, 2])
        assert same(one[1], two.partial_fit(X, y, [0, 1, 2])[1])
        wide = np.repeat(X, 30, axis=1)  # a node whose columns threads share
        one, two = (
            ConfidenceTreeClassifier(n_jobs=n_jobs, **parameters).fit(wide, y)
            for n_jobs in (1, 2)
        )
        assert same(one, two)
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    frame.to_parquet(tmp_path / "table.parquet")
    for parameters in ({"bound": MinGain()}, {"bound": None, "criterion": Gini()}):
        model = ConfidenceTreeClassifier(max_bins=8, pruning=None, **parameters)
        parted = large.fit(model, tmp_path / "table.parquet", target="y")
        assert same(parted, model.fit(X, y))


@pytest.mark.parametrize("parameters", FAILING)
@pytest.mark.parametrize("kind", [ConfidenceTreeClassifier, ConfidenceForestClassifier])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fit_raises_the_error_and_leaves_the_model(kind, parameters, n_jobs):
    X, y = table(600)
    model = kind(n_jobs=n_jobs).fit(X, y)
    if kind is ConfidenceForestClassifier:
        model.set_params(n_estimators=2)
    before = model.predict_proba(X)
    model.set_params(**parameters)
    with pytest.raises(KeyError, match="own error"):
        model.fit(np.repeat(X, 30, axis=1), y)
    assert (model.predict_proba(X) == before).all()


@pytest.mark.parametrize("parameters", FAILING)
@pytest.mark.parametrize("drift", cases([None, "ddm", "local"], ["local"]))
@pytest.mark.parametrize("kind", [ConfidenceTreeClassifier, ConfidenceForestClassifier])
def test_partial_fit_raises_the_error_at_a_boundary(kind, drift, parameters):
    X, y = table(1500)
    model = kind(drift=drift, **parameters)
    if kind is ConfidenceForestClassifier:
        model.set_params(n_estimators=2, random_state=0)
    with pytest.raises(KeyError, match="own error"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    assert model.n_rows_seen_ == 1024
    loaded = pickle.loads(pickle.dumps(model))
    for again in (model, loaded):
        with pytest.raises(KeyError, match="own error"):
            again.partial_fit(X[1024:], y[1024:])
        assert again.n_rows_seen_ == 1500


def test_an_attempt_that_failed_is_made_again():
    X, y = table(1500)
    bound = Failing()
    tree = ConfidenceTreeClassifier(bound).partial_fit(X[:30], y[:30], [0, 1, 2])
    with pytest.raises(KeyError):
        tree.partial_fit(X[30:], y[30:])
    assert tree.get_n_leaves() == 2
    tree.bound_.__class__ = MinGain
    assert tree.partial_fit(X[:1], y[:1]).get_n_leaves() == 3


class Interrupted(MinGain):
    calls = 0

    def decide(self, stats):
        Interrupted.calls += 1
        if Interrupted.calls == 2:
            signal.raise_signal(signal.SIGINT)
        return super().decide(stats)


def test_an_interrupt_in_decide_does_not_change_what_a_stream_learns():
    X, y = table(1500)
    expected = ConfidenceTreeClassifier(MinGain()).partial_fit(X, y, [0, 1, 2])
    tree = ConfidenceTreeClassifier(Interrupted())
    # a process in the background may ignore SIGINT
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            tree.partial_fit(X, y, [0, 1, 2])
    finally:
        signal.signal(signal.SIGINT, before)
    tree.partial_fit(X[tree.n_rows_seen_ :], y[tree.n_rows_seen_ :])
    assert pickle.dumps(tree.tree_) == pickle.dumps(expected.tree_)


@pytest.mark.parametrize(
    ("answer", "got"), [(True, "True"), ((1, 0.5), r"\(1, 0.5\)"), ((True, "x"), "'x'")]
)
def test_what_decide_returns_is_checked(answer, got):
    class Wrong(MinGain):
        def decide(self, stats):
            return answer

    message = rf"Wrong.decide must return a bool .* Got .*{got}"
    with pytest.raises(TypeError, match=message):
        ConfidenceTreeClassifier(Wrong()).fit(*table(60))
    with pytest.raises(TypeError, match=message):
        Wrong().evaluate([[3, 1], [0, 5]])
    with pytest.raises(TypeError, match=message):
        NCMTreeClassifier(bound=Wrong()).fit(*table(60))


@pytest.mark.parametrize("answer", [[0.5], 0.5, [np.nan] * 99, None])
def test_what_impurity_returns_is_checked(answer):
    class Wrong(Gini):
        def impurity(self, counts):
            return answer if len(counts) > 1 else super().impurity(counts)

    with pytest.raises(ValueError, match=r"Wrong.impurity must return one finite"):
        ConfidenceTreeClassifier(None, criterion=Wrong()).fit(*table(60))


def test_classes_that_lack_a_method():
    X, y = table(60)

    class Nothing(BaseBound):
        criteria = ("gini",)

    with pytest.raises(NotImplementedError, match="neither decide nor _make_kernel"):
        ConfidenceTreeClassifier(Nothing()).fit(X, y)
    Nothing.criteria = ()
    with pytest.raises(NotImplementedError, match="does not define criteria"):
        ConfidenceTreeClassifier(Nothing()).fit(X, y)
    with pytest.raises(NotImplementedError, match="does not define impurity"):
        ConfidenceTreeClassifier(None, criterion=BaseCriterion()).fit(X, y)
    for wrong in (Gini, GTestBound()):
        with pytest.raises(ValueError, match="'criterion' parameter"):
            ConfidenceTreeClassifier(None, criterion=wrong).fit(X, y)
