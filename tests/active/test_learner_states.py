"""Damaged states of learners are refused when they are loaded."""

import copy
import pickle

import numpy as np
import pytest
from skconftree.active.stream._decisions import Account

from skconftree import ConfidenceTreeClassifier, OASISClassifier
from skconftree.active import (
    ActiveLearner,
    LearningToSampleClassifier,
    StreamActiveLearner,
)
from skconftree.utils import VERSION

X = np.random.default_rng(0).normal(size=(100, 2))
Y = (X[:, 0] > 0).astype(int)
TREE = ConfidenceTreeClassifier(bound=None, grace_period=5)
OTHER = ConfidenceTreeClassifier(bound=None).fit(np.ones((4, 9)), list("abab"))


def pool():
    some = np.where(np.arange(100) < 20, Y, None)
    one = ActiveLearner(TREE, random_state=0).fit(X, some)
    return one.teach([30, 31, 32], [1, None, 0], sample_weight=[1.0, 2.0, 0.5])


def stream():
    one = StreamActiveLearner(
        TREE, strategy="split_conf_tree", drift="ddm", classes=[0, 1], random_state=0
    )
    asked = one.query(X)
    one.teach(X[asked], Y[asked])
    one.query(X)
    return one


def sub(name, **parts):
    return lambda one: vars(vars(one)[name]).update(parts)


def put(**parts):
    return lambda one: vars(one).update(parts)


DAMAGES = {
    "codes of no class": (pool, put(_codes=np.full(100, 7)), "_codes"),
    "no codes": (pool, lambda one: vars(one).pop("_codes"), "_codes"),
    "parked": (pool, put(_parked=np.ones(100, dtype=bool)), "_parked"),
    "order": (pool, put(_order=[10**6]), "_order"),
    "count": (pool, put(_n_taught=-1), "_n_taught"),
    "count of skipped": (pool, put(_n_parked=5), "_n_parked"),
    "weights": (pool, put(_weights=np.ones(100)), "_weights"),
    "pool": (pool, sub("_pool", n_rows=10), "_pool"),
    "pool of others": (pool, sub("_pool", X=np.ones((100, 5))), "_pool"),
    "coordinates": (pool, sub("_pool", _made_of=("x", None, 3)), "_pool"),
    "no label": (pool, lambda one: vars(one._coder).pop("missing_label"), "_coder"),
    "labels": (pool, sub("_coder", missing_label=np.zeros((2, 2))), "_coder"),
    "classes": (pool, sub("_coder", classes=np.array([1, 0])), "_coder"),
    "answers": (pool, put(_answers=[None]), "_answers"),
    "model of others": (pool, put(estimator_=OTHER), "estimator_"),
    "no model": (pool, lambda one: vars(one).pop("estimator_"), "estimator_"),
    "seed": (pool, put(_seed=-5), "_seed"),
    "stream, classes": (stream, put(_classes=np.array([5, 6, 7])), "estimator_"),
    "stream, seed": (stream, put(_seed=-5), "_seed"),
    "stream, awaited": (stream, put(_pending=np.array([7.5])), "_pending"),
    "stream, too many": (stream, put(_pending=np.ones(999, bool)), "_pending"),
    "stream, budget": (stream, put(_budget=None), "_budget"),
    "stream, state": (stream, put(_state=np.full(1, np.nan)), "_state"),
    "stream, accounts": (stream, lambda one: one._state.put(-1, np.inf), "_state"),
    "stream, leaves": (stream, sub("_leaves", seen=np.zeros(1)), "_leaves"),
    "stream, counts": (stream, sub("_leaves", counts=-np.ones((1, 2))), "_leaves"),
    "stream, held": (stream, put(_held_back=[(X[:, :1], Y, None)]), "_held_back"),
    "stream, detector": (stream, put(_detector=3), "_detector"),
    "stream, background": (stream, put(_background=OTHER), "_background"),
    "stream, model": (stream, put(estimator_=OTHER), "estimator_"),
    "stream, drifts": (stream, put(_n_drifts=-1), "_n_drifts"),
    "stream, taught": (stream, put(_n_taught=None), "_n_taught"),
}


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.filterwarnings("ignore:.*labels that were asked for:UserWarning")
def test_damaged_learners(name):
    make, damage, part = DAMAGES[name]
    one = make()
    assert pickle.dumps(pickle.loads(pickle.dumps(one))) == pickle.dumps(one)
    damage(one)
    data = pickle.dumps(one)
    with pytest.raises(ValueError, match=f"damaged, .* '{part}' does not fit"):
        pickle.loads(data)


def planes():
    model = OASISClassifier(n_particles=5)
    one = StreamActiveLearner(model, strategy="random", budget=1.0, classes=[0, 1])
    asked = one.query(X)
    return one.teach(X[asked], Y[asked])


def no_model_yet():
    one = StreamActiveLearner(TREE, strategy="random", budget=1.0)
    asked = one.query(X[:5])
    return one.teach(X[:5][asked], np.zeros(asked.sum()))


def sampler():
    return LearningToSampleClassifier(20, n_rounds=2, random_state=0).fit(X, Y)


@pytest.mark.parametrize("make", [pool, stream, planes, no_model_yet, sampler])
@pytest.mark.filterwarnings("ignore:.*labels that were asked for:UserWarning")
def test_no_part_of_a_learner_may_be_missing(make):
    one = make()
    state = one.__getstate__()
    names = state.keys() - one.get_params(deep=False).keys() - {VERSION}
    for name in names:
        other = type(one).__new__(type(one))
        rest = {k: v for k, v in state.items() if k != name}
        with pytest.raises(ValueError, match="damaged, .* does not fit"):
            other.__setstate__(rest)


@pytest.mark.parametrize(
    ("make", "owner"), [(pool, "_pool"), (pool, "_coder"), (stream, "_leaves")]
)
@pytest.mark.filterwarnings("ignore:.*labels that were asked for:UserWarning")
def test_nothing_may_be_missing_in_a_part_of_a_learner(make, owner):
    one = make()
    for name in vars(vars(one)[owner]):
        other = make()
        del vars(vars(other)[owner])[name]
        with pytest.raises(ValueError, match=f"damaged, .* '{owner}' does not fit"):
            other.__setstate__(dict(vars(other)))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("refit", [True, False])
def test_copies_of_learners_share_nothing(copied, refit):
    one = ActiveLearner(TREE, strategy="density", refit=refit, random_state=0)
    one.fit(X, np.where(np.arange(100) < 20, Y, None))
    rows = one.query(30)  # now coordinates are known
    other = copied(one)
    before = pickle.dumps(other)
    one.teach(rows, Y[rows])
    assert pickle.dumps(other) == before
    assert other.n_labeled_ == 20


@pytest.mark.parametrize(
    "state",
    [(2**63 - 1, 5, 1.0), (3, 5, 0.0), (-1, -1, 0.0), (10, 9, 0.0), (9, 1, np.nan)],
)
@pytest.mark.parametrize("window", [0, 100])
def test_damaged_budgets(state, window):
    budget = Account(0.1, True, window)
    if window and state == (10, 9, 0.0):
        state = (10, 9, 9.5)
    before = pickle.dumps(budget)
    with pytest.raises(ValueError, match="state of this budget is damaged"):
        budget.__setstate__(state)
    assert pickle.dumps(budget) == before


@pytest.mark.parametrize("arguments", [(0.0, True, 0), (2.0, True, 0), (0.1, True, -1)])
def test_budgets_that_cannot_be(arguments):
    with pytest.raises(ValueError, match="No budget has the share"):
        Account(*arguments)


@pytest.mark.parametrize("window", ["exact", "windowed"])
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("share", [0.01, 0.3, 1.0])
def test_sound_budgets_are_believed(share, strict, window):
    budget = Account(share, strict, 100 if window == "windowed" else 0)
    for _ in range(2000):
        budget.end(budget.begin())
        assert pickle.dumps(copy.copy(budget)) == pickle.dumps(budget)
