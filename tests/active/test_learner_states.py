"""What learners keep: copies share nothing, and no state crashes."""

import copy
import pickle

import numpy as np
import pytest
from skconftree.active.stream._decisions import Account

from skconftree import ConfidenceTreeClassifier
from skconftree.active import ActiveLearner, StreamActiveLearner

X = np.random.default_rng(0).normal(size=(100, 2))
Y = (X[:, 0] > 0).astype(int)
TREE = ConfidenceTreeClassifier(bound=None, grace_period=5)


def stream():
    one = StreamActiveLearner(
        TREE, strategy="split_conf_tree", drift="ddm", classes=[0, 1], random_state=0
    )
    asked = one.query(X)
    one.teach(X[asked], Y[asked])
    one.query(X)
    return one


@pytest.mark.parametrize(
    "state", [np.zeros(0), np.zeros(7, int), np.zeros((7, 1)), None], ids=repr
)
@pytest.mark.filterwarnings("ignore:.*labels that were asked for:UserWarning")
def test_a_state_that_compiled_code_would_leave_is_refused(state):
    one = stream()
    assert pickle.dumps(pickle.loads(pickle.dumps(one))) == pickle.dumps(one)
    one._state = state
    with pytest.raises(ValueError, match="corrupt, .* '_state' is not valid"):
        pickle.loads(pickle.dumps(one))


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


@pytest.mark.parametrize("arguments", [(0.0, True, 0), (2.0, True, 0), (0.1, True, -1)])
def test_budgets_that_cannot_be(arguments):
    with pytest.raises(ValueError, match="share must be in"):
        Account(*arguments)


@pytest.mark.parametrize("window", ["exact", "windowed"])
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("share", [0.01, 0.3, 1.0])
def test_valid_budgets_are_accepted(share, strict, window):
    budget = Account(share, strict, 100 if window == "windowed" else 0)
    for _ in range(2000):
        budget.end(budget.begin())
        assert pickle.dumps(copy.copy(budget)) == pickle.dumps(budget)
