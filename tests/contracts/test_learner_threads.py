"""One learner, many threads: what one of them reads is a learner between two calls."""

import pickle
import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from skconftree import ConfidenceTreeClassifier
from skconftree.active import (
    ActiveLearner,
    ArrayOracle,
    LearningToSampleClassifier,
    StreamActiveLearner,
)

X = np.random.default_rng(0).normal(size=(400, 3))
Y = (X[:, 0] > 0).astype(int)
NAMES = np.array(["no", "yes"])[Y]
TREE = ConfidenceTreeClassifier(bound=None, grace_period=5)
PATIENCE = 60.0


def while_read(one, work):
    """Do the work while another thread predicts and pickles; give what it saw."""
    stop, errors, seen = threading.Event(), [], []

    def read():
        try:
            while not stop.is_set():
                one.predict_proba(X[:20])
                seen.append(pickle.loads(pickle.dumps(one)))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        work()
    finally:
        stop.set()
        thread.join(PATIENCE)
    assert not thread.is_alive()
    assert not errors, errors
    return seen


@pytest.mark.parametrize(
    "estimator", [TREE, pytest.param(GaussianNB(), marks=pytest.mark.slow)]
)
@pytest.mark.filterwarnings("ignore:.*labels:UserWarning")
def test_two_teachers_of_a_stream(estimator):
    one = StreamActiveLearner(
        estimator, strategy="split", drift="ddm", classes=[0, 1], random_state=0
    ).fit(X[:50], Y[:50])

    def teach():
        for begin in range(50, 400, 10):
            rows = slice(begin, begin + 10)
            one.query(X[rows])
            one.teach(X[rows], Y[rows])

    def both():
        other = threading.Thread(target=teach, daemon=True)
        other.start()
        teach()
        other.join(PATIENCE)

    for state in while_read(one, both):
        assert state.n_taught_ % 10 == 0
    assert one.n_taught_ == 700
    assert one.n_rows_seen_ == 700


@pytest.mark.parametrize("refit", ["auto", False])
def test_a_pool_is_read_while_it_is_taught(refit):
    one = ActiveLearner(TREE, refit=refit, random_state=0).fit(
        X, np.where(np.arange(400) < 20, Y, None)
    )

    def ask(rows, places):
        one.predict(rows)  # the lock is free while the oracle is asked
        return Y[places]

    for state in while_read(one, lambda: one.run(ask, budget=40)):
        assert state.n_labeled_ == 20 + len(state.history_)
    alone = ActiveLearner(TREE, refit=refit, random_state=0).fit(
        X, np.where(np.arange(400) < 20, Y, None)
    )
    assert pickle.dumps(alone.run(ArrayOracle(Y), budget=40)) == pickle.dumps(one)


@pytest.fixture
def sampler():
    model = LearningToSampleClassifier(
        20, n_rounds=2, trees_per_round=2, random_state=0
    )
    return model.fit(X, Y)


@pytest.mark.slow
def test_a_sampler_is_read_while_it_buys_labels(sampler):
    def facts(model):
        return model.labels_.tolist(), model.predict_proba(X).tobytes()

    whole = [facts(clone(sampler).fit(X, labels)) for labels in (Y, NAMES)]

    def ask(rows, places):
        sampler.predict(rows)  # of the model before
        return NAMES[places]

    def work():
        for _ in range(3):
            sampler.fit(X, ask)
            sampler.fit(X, Y)

    for state in while_read(sampler, work):
        assert facts(state) in whole


def test_a_sampler_does_not_change_while_it_predicts(sampler):
    fitting = threading.Thread(target=lambda: sampler.fit(X, NAMES), daemon=True)

    class Rows:
        def __array__(self, dtype=None, copy=None):
            if fitting.ident is None:
                fitting.start()
                fitting.join(0.5)
            return X

    assert set(sampler.predict(Rows())) == {0, 1}
    fitting.join(PATIENCE)
    assert set(sampler.predict(X)) == {"no", "yes"}


def test_parameters_set_during_queries_are_retained(sampler):
    def ask(rows, places):
        sampler.set_params(alpha=3.0)
        return Y[places]

    assert sampler.fit(X, ask).alpha == 3.0
