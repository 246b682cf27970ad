"""Labels that come late are learned when they come, and not before.

The reference is a loop over single rows and labels that keeps no books of its own.
"""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score
from sklearn.naive_bayes import GaussianNB

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.evaluation import (
    PrequentialEvaluator,
    iter_prequential,
    prequential_score,
)

N = 90
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] + 0.4 * RNG.normal(size=N) > 0, 2, 0)
CLASSES = np.array([0, 2])


def tree():
    return ConfidenceTreeClassifier(bound=None, grace_period=5)


def by_hand(model, delay, time=None, weight=None):
    """Predictions of all rows, None where there was no model, and the rows learned."""
    delay = np.broadcast_to(np.asarray(delay, dtype=float), (N,))
    plain_rows = time is None
    time = np.arange(N) if time is None else time
    due = time + np.where(np.isnan(delay), np.inf, delay)
    told, learned = [], []

    def learn(row):
        part = slice(row, row + 1)
        given = {} if weight is None else {"sample_weight": weight[part]}
        learned.append(row)
        return model.partial_fit_predict(X[part], Y[part], classes=CLASSES, **given)[0]

    for row in range(N):
        for other in sorted(range(row), key=lambda one: (due[one], one)):
            if due[other] < time[row] and other not in learned:
                learn(other)
        ahead = [*time[1:], N if plain_rows else -np.inf][row]
        if learned:
            told.append(model.predict(X[row : row + 1])[0])
        elif [one for one in range(row + 1) if due[one] < ahead] == [row]:
            told.append(learn(row))
        else:
            told.append(None)
    for other in sorted(range(N), key=lambda one: (due[one], one)):
        if np.isfinite(due[other]) and other not in learned:
            learn(other)
    return told, learned


def in_pieces(model, cuts, *, delay, time=None, weight=None, repickled=False):
    """The same by an evaluator, given the rows in pieces."""
    run, told = PrequentialEvaluator(model, classes=CLASSES), []
    for start, stop in zip([0, *cuts], [*cuts, N], strict=True):
        some = slice(start, stop)
        found = run.update(
            X[some],
            Y[some],
            None if weight is None else weight[some],
            delay=delay if np.ndim(delay) == 0 else delay[some],
            time=None if time is None else time[some],
        )
        told += [None] * (stop - start) if found is None else found.tolist()
        if repickled:
            run = pickle.loads(pickle.dumps(run))
    run.finish()
    return run, told


delays = st.one_of(
    st.integers(1, 100),
    st.lists(
        st.sampled_from([0.0, 1.0, 2.5, 3.0, 40.0, 200.0, np.inf, np.nan]),
        min_size=N,
        max_size=N,
    ).map(np.array),
)
gaps = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=N, max_size=N)


@given(
    delay=delays,
    gaps=st.none() | gaps,
    cuts=st.lists(st.integers(0, N), max_size=4).map(sorted),
    weighted=st.booleans(),
    repickled=st.booleans(),
)
def test_a_run_is_that_of_single_rows_and_labels(
    delay, gaps, cuts, weighted, repickled
):
    time = None if gaps is None else np.cumsum(gaps)
    weight = RNG.choice([0.0, 1.0, 2.0], size=N) if weighted else None
    by_one = tree()
    want, learned = by_hand(by_one, delay, time, weight)
    run, told = in_pieces(
        tree(), cuts, delay=delay, time=time, weight=weight, repickled=repickled
    )
    record = run.report()
    assert record.n_rows == len(learned)
    assert run.n_waiting_ == record.n_waiting == 0
    assert run.n_unlabeled_ == N - len(learned)
    if learned:
        assert pickle.dumps(run.estimator) == pickle.dumps(by_one)
    assert told == want
    tested = [row for row in learned if want[row] is not None]
    assert record.n_tested == len(tested)
    total = None if weight is None else weight[tested]
    if tested and (total is None or total.any()):
        right = accuracy_score(
            Y[tested], [want[row] for row in tested], sample_weight=total
        )
        assert record.accuracy == pytest.approx(right)


def test_figures_of_baselines_know_no_label_before_it_comes():
    *_, last = iter_prequential(tree(), X, Y, delay=7)
    tested = np.arange(8, N)
    assert last.n_tested == len(tested)
    assert last.no_change_accuracy == np.mean(Y[tested] == Y[tested - 8])
    majority = [np.bincount(Y[: row - 7]).argmax() for row in tested]
    assert last.majority_accuracy == pytest.approx(np.mean(Y[tested] == majority))


@pytest.mark.parametrize("make", [tree, GaussianNB], ids=["tree", "bayes"])
def test_no_delay_is_what_it_was_before(make):
    plain = list(iter_prequential(make(), X, Y, chunk_size=20, report_every=30))
    for delay in (0, 0.0, np.zeros(N), np.timedelta64(0, "s")):
        again = list(
            iter_prequential(make(), X, Y, chunk_size=20, report_every=30, delay=delay)
        )
        for one, other in zip(plain, again, strict=True):
            for name in ("n_rows", "n_tested", "accuracy", "kappa", "n_leaves"):
                assert repr(getattr(one, name)) == repr(getattr(other, name))


@pytest.mark.parametrize("chunk_size", [1, 10, 35])
def test_another_classifier_learns_what_came_while_a_chunk_was_predicted(chunk_size):
    delay, told, learned = 12, [], 0
    model = SGDClassifier(random_state=0)
    for start in range(0, N, chunk_size):
        stop = min(start + chunk_size, N)
        found = [None] * (stop - start)
        if learned:
            found = model.predict(X[start:stop]).tolist()
        told += found
        if stop - delay > learned:
            # in the pieces in which they came
            for first in range(
                learned - learned % chunk_size, stop - delay, chunk_size
            ):
                some = slice(max(first, learned), min(first + chunk_size, stop - delay))
                model.partial_fit(X[some], Y[some], classes=CLASSES)
            learned = stop - delay
    run = PrequentialEvaluator(
        SGDClassifier(random_state=0), classes=CLASSES, delay=delay
    )
    ours = []
    for start in range(0, N, chunk_size):
        some = slice(start, min(start + chunk_size, N))
        found = run.update(X[some], Y[some])
        ours += [None] * len(Y[some]) if found is None else found.tolist()
    assert ours == told
    assert run.n_waiting_ == delay
    assert run.n_rows_ == N - delay
    np.testing.assert_array_equal(run.estimator.coef_, model.coef_)


def test_records_come_with_the_rows_and_a_last_one_with_the_last_labels():
    records = list(iter_prequential(tree(), X, Y, report_every=30, delay=10))
    assert [one.n_rows for one in records] == [20, 50, 80, 90]
    assert [one.n_waiting for one in records] == [10, 10, 10, 0]
    chunks = [(X[:25], Y[:25]), (X[25:60], Y[25:60]), (X[60:], Y[60:])]
    again = iter_prequential(
        tree(), iter(chunks), classes=CLASSES, report_every=30, delay=10
    )
    for one, other in zip(records, again, strict=True):
        assert (one.accuracy, one.n_tested) == (other.accuracy, other.n_tested)


def test_dates_and_spans_of_time():
    days = pd.Series(pd.date_range("2026-01-01", periods=N, freq="D"))
    spans = pd.Series(pd.to_timedelta(np.full(N, 5), unit="D"))
    plain = prequential_score(tree(), X, Y, delay=5)
    for delay in (spans, np.timedelta64(5, "D")):
        assert prequential_score(tree(), X, Y, time=days, delay=delay) == plain
    spans[3] = pd.NaT
    run = PrequentialEvaluator(tree(), classes=CLASSES)
    run.update(X, Y, time=days, delay=spans)
    assert run.n_unlabeled_ == 1


def test_a_label_that_never_comes_is_not_looked_at():
    delay = np.where(np.arange(N) % 9 == 4, np.nan, 3.0)
    y = np.where(np.isnan(delay), None, Y)
    want = prequential_score(tree(), X, Y, delay=delay)
    assert prequential_score(tree(), X, y, delay=delay, classes=CLASSES) == want
    floats = np.where(np.isnan(delay), np.nan, Y)
    assert prequential_score(tree(), X, floats, delay=delay) == want
    with pytest.raises(ValueError, match="Row 5 .* label 7"):
        prequential_score(
            tree(), X, np.where(np.arange(N) == 5, 7, Y), delay=delay, classes=CLASSES
        )


@pytest.mark.parametrize(
    "container",
    [
        np.ndarray.tolist,
        pd.DataFrame,
        lambda X: pl.DataFrame(X, schema=["a", "b", "c"]),
        lambda X: pa.table(dict(zip("abc", X.T, strict=True))),
        scipy.sparse.csr_array,
    ],
)
def test_rows_wait_in_any_container(container):
    rows = np.abs(X)
    delay = np.where(np.arange(N) % 7 == 2, 30.0, 4.0)
    want = prequential_score(tree(), rows, Y, delay=delay, chunk_size=20)
    given = container(rows)
    assert prequential_score(tree(), given, Y, delay=delay, chunk_size=20) == want


def test_a_waiting_run_is_pickled_completely():
    whole, _ = in_pieces(tree(), [40], delay=15)
    again, _ = in_pieces(tree(), [40], delay=15, repickled=True)
    whole.cpu_seconds_ = again.cpu_seconds_ = 0.0
    assert pickle.dumps(whole) == pickle.dumps(again)
    run = PrequentialEvaluator(tree(), classes=CLASSES, delay=15)
    run.update(X[:40], Y[:40])
    assert run.n_waiting_ == 15
    assert run.n_rows_ + run.n_waiting_ == 40


class Stopped(ConfidenceTreeClassifier):
    """Is interrupted before or after it has learned a row."""

    left = 10
    after = False

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self.left -= 1
        if self.left == 0 and not self.after:
            raise KeyboardInterrupt
        super().partial_fit(X, y, classes, sample_weight)
        if self.left == 0:
            raise KeyboardInterrupt
        return self


@pytest.mark.parametrize("after", [False, True])
def test_an_interrupted_call_counts_as_far_as_it_went(after):
    model = Stopped(bound=None, grace_period=5)
    model.after = after
    run = PrequentialEvaluator(model, classes=CLASSES, delay=4)
    with pytest.raises(KeyboardInterrupt):
        run.update(X, Y)
    assert run.n_rows_ == model.n_rows_seen_ == 9 + after
    assert run.n_waiting_ == 14 - run.n_rows_
    done = run.n_rows_ + run.n_waiting_
    run.update(X[done:], Y[done:])
    run.finish()
    whole, _ = in_pieces(tree(), [], delay=4)
    for name in ("n_rows", "n_tested", "accuracy", "majority_accuracy", "kappa"):
        one, other = pickle.loads(pickle.dumps(run)), pickle.loads(pickle.dumps(whole))
        assert getattr(one.report(), name) == getattr(other.report(), name)


def test_a_refused_call_changes_nothing():
    run = PrequentialEvaluator(tree(), classes=CLASSES, delay=4)
    run.update(X[:40], Y[:40], time=np.arange(40.0))
    before = pickle.dumps(run)
    rows = X[40:50], Y[40:50]
    wrong = [
        ({}, "time must be passed in all calls"),
        ({"time": np.arange(30.0, 40.0)}, "decrease, but it does at row 40"),
        ({"time": np.r_[50:55, 54, 53, 56:59]}, "decrease, but it does at row 46"),
        ({"time": np.full(10, np.nan)}, "time must be finite"),
        ({"time": np.arange(3.0)}, "time must have one entry for each of 10 rows"),
        ({"time": list("abcdefghij")}, "or a 1d array of them. Got"),
        ({"time": np.arange(50, 60), "delay": -1}, "negative. Got -1 at row 40"),
        (
            {"time": np.arange(50, 60), "delay": "soon"},
            "delay must be a number, a date or",
        ),
    ]
    for options, message in wrong:
        with pytest.raises(ValueError, match=message):
            run.update(*rows, **options)
    with pytest.raises(ValueError, match="Row 43 .* label 9"):
        run.update(X[40:50], np.r_[Y[40:43], 9, Y[44:50]], time=np.arange(50, 60))
    infinite = np.where(np.arange(10)[:, np.newaxis] == 7, np.inf, X[40:50])
    with pytest.raises(ValueError, match="infinity"):
        run.update(infinite, Y[40:50], time=np.arange(50, 60))
    assert pickle.dumps(run) == before
    run.update(*rows, time=np.full(10, 39.0))
    assert run.n_waiting_ == 15  # rows of one time, none of which is over


def test_mistakes_are_named_before_the_first_row():
    chunks = iter([(X, Y)])
    for options, message in [
        ({"delay": -2}, "delay must not be negative"),
        ({"delay": "x"}, "delay must be a number, a date or"),
        ({"delay": np.ones((N, 1))}, "or a 1d array of them. Got array"),
        ({"delay": np.ones(3)}, f"delay must have one entry for each of {N}"),
        ({"time": np.arange(N)[::-1]}, "time must not decrease"),
    ]:
        with pytest.raises(ValueError, match=message):
            iter_prequential(tree(), X, Y, **options)
    for options in ({"time": np.arange(N)}, {"delay": np.ones(N)}):
        with pytest.raises(ValueError, match="need y"):
            iter_prequential(tree(), chunks, classes=CLASSES, **options)
    with pytest.raises(ValueError, match="delay must not be negative"):
        PrequentialEvaluator(tree(), classes=CLASSES, delay=-1)


def test_a_forest_waits_too():
    forest = ConfidenceForestClassifier(3, random_state=0, grace_period=5)
    score = prequential_score(forest, X, Y, delay=10)
    assert 0.5 < score < prequential_score(tree(), X, Y, delay=0) + 0.3
    assert forest.n_rows_seen_ == N
