"""Evaluators can be shared by threads, interrupted, saved and copied."""

import copy
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from reference.effort import NIGHT, crossed
from reference.threads import at_once
from sklearn.naive_bayes import GaussianNB

from skconftree import ConfidenceTreeClassifier, NCMTreeClassifier, OASISClassifier
from skconftree.evaluation import PrequentialEvaluator
from skconftree.evaluation._metrics import Baselines, Tally

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=400) > 0, "high", "low")
WEIGHT = np.where(np.arange(400) % 5 == 2, 0.0, 1.5)
HERE = str(Path(Tally.add.__code__.co_filename).parent)
ESTIMATORS = {
    "tree": lambda: ConfidenceTreeClassifier(bound=None, grace_period=10),
    "oasis": lambda: OASISClassifier(n_particles=10, random_state=0),
    "ncm": lambda: NCMTreeClassifier(random_state=0),
    "bayes": GaussianNB,
}


def run_of(name, n_rows=200):
    run = PrequentialEvaluator(ESTIMATORS[name](), classes=["high", "low"])
    if n_rows:
        run.update(X[:n_rows], Y[:n_rows])
    return run


def counted(run):
    """Figures, which agree with each other."""
    tested = run._total.true.sum() + run._window.true.sum()
    predicted = run._total.predicted.sum() + run._window.predicted.sum()
    assert tested == predicted == run.n_tested_
    assert run._baselines.counts.sum() == run.n_rows_
    return run.n_rows_, run.n_tested_


def stopped_at(line, call):
    """Raise KeyboardInterrupt at one of the lines of Python of the room's files."""
    left = line

    def trace(frame, event, _):
        nonlocal left
        if not frame.f_code.co_filename.startswith(HERE):
            return None
        left -= event == "line"
        if left == 0:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


# --- interrupts -------------------------------------------------------------


@pytest.mark.parametrize("begun", [0, 30])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_interrupt_leaves_figures_that_fit(name, begun):
    """Wherever it comes: to each other, and to the rows that have been learned."""
    rows = X[begun:40], Y[begun:40]
    plain = run_of(name, begun)
    saved = pickle.dumps(plain)
    plain.update(*rows)
    after = counted(plain)
    found = set()
    for line in range(1, 1000, 1 if NIGHT else 13):
        run = pickle.loads(saved)
        before = counted(run)
        stopped = stopped_at(line, lambda run=run: run.update(*rows))
        assert counted(run) in {before, (after[0], before[1]), after}
        if name != "bayes":
            assert run.n_rows_ == getattr(run.estimator, "n_rows_seen_", 0)
        found.add(counted(pickle.loads(pickle.dumps(run))))
        if not stopped:
            break
    assert {before, after} <= found
    assert line > 30


@pytest.mark.parametrize(
    ("scoring", "begun", "name"), crossed([None, "roc_auc"], [0, 7], ["tree", "ncm"])
)
def test_an_interrupt_while_labels_are_late_leaves_figures_that_fit(
    name, begun, scoring
):
    """To the rows that have been learned, and to those that wait."""
    made = PrequentialEvaluator(
        ESTIMATORS[name](), classes=["high", "low"], delay=3, scoring=scoring
    )
    made.update(X[:begun], Y[:begun])
    saved = pickle.dumps(made)
    made.update(X[begun:12], Y[begun:12])
    made.finish()
    stops = 0
    for line in range(1, 3000, 2 if NIGHT else 29):
        run = pickle.loads(saved)
        stopped = stopped_at(line, lambda run=run: run.update(X[begun:12], Y[begun:12]))
        assert run.n_rows_ == getattr(run.estimator, "n_rows_seen_", 0)
        tested = run._total.true.sum() + run._window.true.sum()
        assert tested == run.n_tested_
        assert run._baselines.counts.sum() == run.n_rows_
        come = run.n_rows_ + run.n_waiting_
        assert begun <= come <= 12
        run = pickle.loads(pickle.dumps(run))
        if come < 12:
            run.update(X[come:12], Y[come:12])
        run.finish()
        assert run.n_rows_ == run.estimator.n_rows_seen_ == 12
        if name == "tree":
            assert pickle.dumps(run.estimator) == pickle.dumps(made.estimator)
        stops += stopped
        if not stopped:
            break
    assert stops > (30 if NIGHT else 6)


@pytest.mark.parametrize("name", ["tree", "bayes"])
def test_an_interrupted_report_is_made_again(name):
    saved = pickle.dumps(run_of(name))
    record = pickle.loads(saved).report()
    for line in range(1, 1000):
        run = pickle.loads(saved)
        stopped = stopped_at(line, run.report)
        again = run.report()
        assert again.accuracy == pytest.approx(record.accuracy, nan_ok=True)
        if not stopped:
            break
        # a window that has ended is empty
        assert again == record or np.isnan(again.window_accuracy)
    assert line > 10


class Half:
    """An estimator that learns some rows of a call and is stopped."""

    classes_ = np.array(["high", "low"])
    n_rows_seen_ = 10

    def __init__(self, n):
        self.n = n

    def partial_fit_predict(self, X, y, sample_weight=None):
        self.n_rows_seen_ += self.n
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("n", "weight", "n_rows"),
    [
        (0, None, 0),
        (7, None, 7),
        (400, None, 400),
        (2, WEIGHT, 2),
        (3, WEIGHT, 4),
        (320, WEIGHT, 400),
    ],
)
def test_rows_count_once_they_are_learned(n, weight, n_rows):
    run = PrequentialEvaluator(Half(n))
    with pytest.raises(KeyboardInterrupt):
        run.update(X, Y, weight)
    assert (run.n_rows_, run.n_tested_) == (n_rows, 0)
    expected = Baselines(2)
    true = (Y == "low").astype(int)
    expected.update(true[:n_rows], None if weight is None else weight[:n_rows])
    assert run._baselines.last == expected.last
    np.testing.assert_array_equal(run._baselines.counts, expected.counts)


# --- threads and copies -----------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
def test_threads_take_turns(name):
    """The file of a run that is learning has model and figures of one moment."""
    run = run_of(name)
    rows = X[:50], Y[:50]

    def read():
        other = pickle.loads(pickle.dumps(run))
        counted(other)
        return other.n_rows_ - getattr(other.estimator, "n_rows_seen_", other.n_rows_)

    with at_once(read, run.report, lambda: run.update(*rows)) as threads:
        for _ in range(10):
            run.update(*rows)
    assert set(threads[0].results) == {0}
    assert counted(run)[0] == 200 + 50 * (10 + len(threads[2].results))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_copies_share_nothing(name, copied):
    run = run_of(name)
    other = copied(run)
    before = pickle.dumps(other)
    run.update(X[200:], Y[200:])
    run.report()
    assert pickle.dumps(other) == before
    np.testing.assert_array_equal(
        other.update(X[200:], Y[200:]),
        pickle.loads(before).update(X[200:], Y[200:]),
    )


def test_a_callback_gets_an_error_at_once():
    run = run_of("tree")
    before = pickle.dumps(run)

    class Labels:
        def __init__(self, function):
            self.function = function

        def __array__(self, dtype=None, copy=None):
            self.function()
            return Y

    for call in (
        lambda: run.update(X, Y),
        lambda: run.report(),
        lambda: pickle.dumps(run),
    ):
        with pytest.raises(RuntimeError, match="learning in this very thread"):
            run.update(X, Labels(call))
    assert pickle.dumps(run) == before


# --- states -----------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, np.ones(40)])
def test_a_run_stored_without_its_estimator_does_not_learn(weight):
    run = run_of("tree")
    estimator, run.estimator = run.estimator, None
    run = pickle.loads(pickle.dumps(run))
    before = pickle.dumps(run)
    with pytest.raises(ValueError, match="without its estimator"):
        run.update(X[:40], Y[:40], weight)
    assert pickle.dumps(run) == before
    run.estimator = estimator
    run.update(X[:40], Y[:40], weight)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e290])
def test_runs_with_any_weights_are_accepted(scale):
    run = PrequentialEvaluator(ESTIMATORS["oasis"](), classes=["high", "low", "none"])
    for begin in range(0, 400, 40):
        part = slice(begin, begin + 40)
        run.update(X[part], Y[part], scale * RNG.random(40))
        run = pickle.loads(pickle.dumps(run))
        if begin % 3 == 0:
            run.report()
    assert pickle.loads(pickle.dumps(run)).report() == run.report()
