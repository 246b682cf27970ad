"""Forests that learn row by row."""

import copy
import io
import pickle
import signal
import threading
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import crossed, examples
from reference.forest import stream_counts
from reference.threads import PATIENCE, alarms, interrupted_after, needs_signals
from skconftree.tables._row_hashes import Rows
from sklearn.base import clone
from sklearn.datasets import load_iris

from skconftree import ConfidenceForestClassifier
from skconftree.datasets import make_sea
from skconftree.ensemble.forest import _model, _streaming
from skconftree.tables._partial_fit import Call
from skconftree.tree._classes import tree_of_model
from skconftree.tree._growth import make_stream_model
from skconftree.tree._parameters import resolve_split_rule

CLASSES = [0, 1, 2]
KINDS = {
    "default": {},
    "accuracy": {"vote": "accuracy"},
    "drift": {"drift": "ddm", "bound": None},
    "majority": {"leaf_prediction": "majority", "vote": "accuracy"},
    "all rows": {"bootstrap": False, "bound": ["gtest", None]},
    "often": {"online_rate": 6.0, "leaf_memory": "rows"},
    "memory limit": {"max_bytes": 4 * 70_000, "bound": None},
}


def make_stream(seed, n_rows=3000):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)).astype(np.float32)
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0.5)).astype(int)
    y[n_rows // 2 :] = 1 - y[n_rows // 2 :]  # a drift
    y[rng.random(n_rows) < 0.1] = 2
    return X, y


def forest_of(**parameters):
    return ConfidenceForestClassifier(4, **{"random_state": 1, **parameters})


def learn(forest, X, y, cuts, weight=None, *, predict=False):
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(y)], strict=True):
        part = slice(start, end)
        given = (X[part], y[part], CLASSES, None if weight is None else weight[part])
        if predict:
            found.append(forest.partial_fit_predict(*given))
        else:
            forest.partial_fit(*given)
    return np.concatenate(found) if predict else forest


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(5), deadline=None)
@given(data=st.data())
def test_chunks_never_matter(kind, data):
    seed = data.draw(st.integers(0, 10**6))
    X, y = make_stream(seed, 2100)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(y) - 1), max_size=4)))
    weight = None
    if data.draw(st.booleans()):
        weight = np.random.default_rng(seed).integers(0, 3, len(y))
    whole, parts, threads = (forest_of(**KINDS[kind]) for _ in range(3))
    learn(whole, X, y, [], weight)
    predicted = learn(parts, X, y, cuts, weight, predict=True)
    threads.n_jobs = 3
    assert (learn(threads, X, y, [], weight, predict=True) == predicted).all()
    threads.n_jobs = None
    assert pickle.dumps(whole) == pickle.dumps(parts) == pickle.dumps(threads)
    assert whole.n_rows_seen_ == (len(y) if weight is None else (weight > 0).sum())


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_before_each_row(kind):
    X, y = make_stream(0, 1200)
    forest = forest_of(**KINDS[kind])
    predicted = learn(forest, X, y, [], predict=True)
    alone = forest_of(**KINDS[kind]).partial_fit(X[:1], y[:1], CLASSES)
    for i in range(1, len(y), 3):
        assert alone.predict(X[i : i + 1])[0] == predicted[i]
        alone.partial_fit(X[i : i + 3], y[i : i + 3])
    assert (predicted == y)[:600].mean() > 0.6


@pytest.mark.parametrize("kind", ["default", "accuracy", "drift"])
def test_a_pickle_goes_on(kind):
    X, y = make_stream(1)
    forest = learn(forest_of(**KINDS[kind]), X[:1700], y[:1700], [])
    loaded = pickle.loads(pickle.dumps(forest))
    assert (loaded.predict_proba(X) == forest.predict_proba(X)).all()
    for one in (forest, loaded):
        one.partial_fit(X[1700:], y[1700:])
    assert pickle.dumps(forest) == pickle.dumps(loaded)


def test_a_pickle_of_nominal_columns_has_the_same_bytes():
    """What trees share when they have been loaded they share before."""
    X, y = make_stream(3, 300)
    X[:, 3] = X[:, 3] > 0
    forest = learn(forest_of(categorical_features=[3]), X, y, [100])
    assert pickle.dumps(pickle.loads(pickle.dumps(forest))) == pickle.dumps(forest)


@pytest.mark.parametrize(
    ("name", "values"),
    [("n_jobs", ["x", 1.5, [1]]), ("online_rate", ["x", None, -1.0, np.nan])],
)
def test_what_every_call_reads_is_checked_by_every_call(name, values):
    X, y = make_stream(3, 300)
    forest = learn(forest_of(), X, y, [])
    before = pickle.dumps(forest)
    for value in values:
        old = forest.get_params()[name]
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            forest.set_params(**{name: value}).partial_fit(X, y)
        assert pickle.dumps(forest.set_params(**{name: old})) == before


@pytest.mark.parametrize("batch", [False, True])
@settings(max_examples=examples(30, by_day=3), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_rows_of_weight_zero_are_absent(batch, seed):
    """With or without them, trees and categories are the same to the last bit."""
    rng = np.random.default_rng(seed)
    X, y = make_stream(seed, 200)
    X = X.astype(object)
    present = rng.random(len(y)) < 0.6
    present[:20] = True
    X[:, 3] = np.where(present, rng.choice([*"abc"], 200), rng.choice([*"cdb"], 200))
    weight = rng.integers(1, 3, len(y)) * present
    growth = {"bound": "credible", "delta": 0.4, "categorical_features": [3]}
    models = [forest_of(**growth, warm_start=batch) for _ in range(2)]
    kept = X[present], y[present], weight[present]
    pool = X[:9]
    if batch:
        models[0].fit(X, y, weight, X_pool=pool)
        models[1].fit(*kept, X_pool=pool)
        for model in models:
            model.set_params(n_estimators=5)
        models[0].fit(X, y, weight, X_pool=pool)  # categories of absent rows are none
        models[1].fit(*kept, X_pool=pool)
    else:
        models[0].partial_fit(X[:20], y[:20], CLASSES, weight[:20], X_pool=pool)
        models[0].partial_fit(X[20:], y[20:], None, weight[20:])
        models[1].partial_fit(*kept[:2], CLASSES, kept[2], X_pool=pool)
    for model in models:
        model._model.drawn = None  # indices of rows, which differ
    assert pickle.dumps(models[0]) == pickle.dumps(models[1])


def alone_as_in_a_forest(tree):
    """A tree that draws the features of a leaf for its life, before its first row."""
    model = tree._model
    call = Call(Rows(None, True, model.schema), None, model.classes)
    statement = resolve_split_rule(tree.bound, tree.criterion, tree.delta, "Tree")
    start = make_stream_model(tree, None, call, statement, in_forest=True)
    return tree_of_model(start, tree.get_params())


def test_each_tree_is_one_that_learns_its_rows_by_itself():
    X, y = make_stream(2)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    forest = learn(forest_of(bound=None, online_rate=1.0, drift=None), X, y, [], weight)
    before = np.cumsum(weight > 0) - (weight > 0)
    for i, tree in enumerate(forest.estimators_):
        counts = stream_counts(forest._model.seed, i, 1.0, before)
        alone = alone_as_in_a_forest(tree)
        alone.partial_fit(X, y, CLASSES, counts * weight)
        assert pickle.dumps(alone) == pickle.dumps(tree)
    assert abs(counts.mean() - 1.0) < 0.1


@pytest.mark.parametrize("rate", [0.3, 6.0, 100.0])
def test_how_often_a_tree_learns_a_row(rate):
    X, y = make_stream(3)
    forest = forest_of(bound=None, online_rate=rate, drift=None)
    learn(forest, X, y, [])
    for i, tree in enumerate(forest.estimators_):
        counts = stream_counts(forest._model.seed, i, rate, range(len(y)))
        assert tree.tree_.counts[0].sum() == counts.sum()
        assert abs(counts.mean() - rate) <= 4.0 * np.sqrt(rate / len(y))


def test_it_goes_on_after_fit():
    X, y = make_stream(3)
    forest = forest_of().fit(X[:1000], y[:1000])
    old = forest.estimators_[0]
    before = old.predict_proba(X)
    pickled = pickle.dumps(forest)
    forest.partial_fit(X[1000:], y[1000:])
    assert forest.n_rows_seen_ == 3000
    assert (old.predict_proba(X) == before).all()
    other = pickle.loads(pickled)
    for start in range(1000, 3000, 500):
        part = slice(start, start + 500)
        other.partial_fit(X[part], y[part])
    assert pickle.dumps(other) == pickle.dumps(forest)
    with pytest.raises(ValueError, match="warm_start"):
        forest.set_params(warm_start=True, n_estimators=9).fit(X, y)
    forest.set_params(warm_start=False, n_estimators=4).fit(X[:1000], y[:1000])
    assert pickle.dumps(forest) == pickled


def test_categories_may_come_later():
    rng = np.random.default_rng(0)
    color = rng.choice(["red", "green"], 2000)
    color[1000:] = rng.choice(["red", "blue"], 1000)
    X = pd.DataFrame({"color": pd.Categorical(color), "size": rng.normal(size=2000)})
    y = (color == "red").astype(int)
    whole = forest_of(max_features=None).partial_fit(X, y, [0, 1])
    parts = forest_of(max_features=None)
    for start in range(0, 2000, 400):
        part = X.iloc[start : start + 400]
        part = part.assign(color=part["color"].cat.remove_unused_categories())
        parts.partial_fit(part, y[start : start + 400], [0, 1])
    assert pickle.dumps(whole) == pickle.dumps(parts)
    assert set(whole.categories_[0]) == {"red", "green", "blue"}
    assert whole.score(X, y) > 0.95


def test_drift_and_memory_of_all_trees():
    X, y = make_stream(4, 20_000)
    forest = forest_of(drift="ddm", bound=None, grace_period=20)
    learn(forest, X, y, [])
    assert forest.n_drifts_ == sum(tree.n_drifts_ for tree in forest.estimators_) > 0
    limited = learn(forest_of(bound=None, max_bytes=4 * 66_000), X, y, [])
    assert limited.n_bytes_ < learn(forest_of(bound=None), X, y, []).n_bytes_
    assert limited.n_bytes_ <= 4 * 66_000 + 50_000


def learn_again_and_again(forest, X, y):
    while True:
        forest.partial_fit(X, y)


@needs_signals
@pytest.mark.parametrize(
    ("error", "n_jobs"),
    crossed([KeyboardInterrupt, TimeoutError, MemoryError], [None, 2]),
)
def test_an_interrupt_leaves_all_trees_at_the_same_row(error, n_jobs):
    X, y = make_stream(5, 20_000)
    # in the middle of a repair a MemoryError is no interrupt: it is tried again
    drift = None if error is MemoryError else "auto"
    forest = forest_of(n_jobs=n_jobs, drift=drift)
    forest.partial_fit(X[:100], y[:100], CLASSES)
    go_on = partial(learn_again_and_again, forest, X[100:], y[100:])
    interrupted_after(0.05, go_on, error)
    n = forest.n_rows_seen_
    assert n % 1024 == 0 or (n - 100) % (len(y) - 100) == 0
    assert n > 100
    rows = 100 + np.arange(n - 100) % (len(y) - 100)
    other = forest_of(drift=drift).partial_fit(X[:100], y[:100], CLASSES)
    other.partial_fit(X[rows], y[rows])
    assert pickle.dumps(forest.set_params(n_jobs=None)) == pickle.dumps(other)


class Held:
    """Rows that are not read before a thread lets go of them."""

    def __init__(self, X):
        self.X, self.read, self.let_go = X, threading.Event(), threading.Event()

    def __array__(self, dtype=None, copy=None):
        self.read.set()
        assert self.let_go.wait(PATIENCE)
        return self.X


@needs_signals
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_interrupt_while_a_tree_is_used_elsewhere(n_jobs):
    """The forest waits for it, as the other trees have learned; then the call ends."""
    X, y = make_stream(5, 3000)
    forest = forest_of(n_jobs=n_jobs).partial_fit(X[:100], y[:100], CLASSES)
    rows = Held(X[:5])
    reader = threading.Thread(target=forest.estimators_[2].predict, args=(rows,))
    reader.start()
    assert rows.read.wait(PATIENCE)
    presses = []

    def press():
        presses.append(forest.n_rows_seen_)
        if len(presses) == 3:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            rows.let_go.set()
        raise KeyboardInterrupt

    with alarms(press, 0.05), pytest.raises(KeyboardInterrupt):
        forest.partial_fit(X[100:], y[100:])
    reader.join(PATIENCE)
    assert presses == [100, 100, 100]
    assert forest.n_rows_seen_ == 1024
    other = forest_of(n_jobs=n_jobs).partial_fit(X[:1024], y[:1024], CLASSES)
    assert pickle.dumps(forest) == pickle.dumps(other)


@needs_signals
def test_a_tree_that_this_thread_uses_is_named():
    """It cannot wait for itself."""
    X, y = make_stream(5, 3000)
    forest = forest_of().partial_fit(X[:100], y[:100], CLASSES)

    class Rows:
        def __array__(self, dtype=None, copy=None):
            with pytest.raises(RuntimeError, match="this very thread") as raised:
                forest.partial_fit(X[100:], y[100:])
            assert raised.value.__notes__[0].startswith("Trees [2] of this forest")
            return X[:5]

    forest.estimators_[2].predict(Rows())
    assert forest.n_rows_seen_ in (1024, 2048)  # rows may be read twice
    forest.partial_fit(X, y)


@pytest.mark.parametrize(("kind", "begin"), crossed(KINDS, ["fit", "partial_fit"]))
def test_a_copy_is_another_forest(kind, begin):
    X, y = make_stream(4)
    forest = forest_of(**KINDS[kind])
    if begin == "fit":
        forest.fit(X[:500], y[:500])
    else:
        forest.partial_fit(X[:500], y[:500], CLASSES)
    other = copy.copy(forest)
    before = pickle.dumps(other)
    assert before == pickle.dumps(forest)
    forest.partial_fit(X[500:], y[500:])
    assert pickle.dumps(other) == before
    other.partial_fit(X[500:], y[500:])
    assert pickle.dumps(other) == pickle.dumps(forest)


@pytest.mark.parametrize("vote", ["mean", "accuracy"])
def test_a_file_is_of_one_moment(vote):
    """Trees are written one after the other, while the forest learns on."""
    X, y = make_stream(4, 400)
    forest = forest_of(vote=vote).partial_fit(X[:200], y[:200], CLASSES)
    before = pickle.dumps(forest)

    class Writer(pickle.Pickler):
        written = False

        def persistent_id(self, value):
            if isinstance(value, np.ndarray) and not self.written:
                self.written = True
                forest.partial_fit(X[200:], y[200:])

    file = io.BytesIO()
    Writer(file).dump(forest)
    assert forest.n_rows_seen_ == 400
    assert pickle.dumps(pickle.loads(file.getvalue())) == before


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"max_bytes": 100_000}, "max_bytes"),
        ({"online_rate": 0.0}, "online_rate"),
        ({"vote": "loud"}, "vote"),
        ({"n_estimators": 0}, "n_estimators"),
    ],
)
def test_wrong_parameters_are_named(parameters, words):
    X, y = make_stream(6, 50)
    forest = forest_of().set_params(**parameters)
    with pytest.raises(ValueError, match=words):
        forest.partial_fit(X, y, CLASSES)
    assert not hasattr(forest, "estimators_")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"class_weight": "balanced"}, "balanced"),
        ({"class_weight": "balanced_subsample"}, "balanced_subsample"),
        ({"pruning": "pessimistic"}, "pruning"),
    ],
)
def test_settings_that_need_all_rows_have_no_partial_fit(parameters, words):
    forest = forest_of().set_params(**parameters)
    with pytest.raises(AttributeError, match=words):
        forest.partial_fit  # noqa: B018


def test_wrong_rows_change_nothing():
    X, y = make_stream(7, 500)
    with pytest.raises(ValueError, match="classes must be given"):
        forest_of().partial_fit(X, y)
    forest = forest_of().partial_fit(X, y, CLASSES)
    before = pickle.dumps(forest)
    wrong = [
        (X[:, :2], y),
        (X, y + 1),
        (np.full_like(X, np.inf), y),
        (X, y, [0, 1]),
        (X, y, None, np.full(len(y), -1.0)),
    ]
    for arguments in wrong:
        with pytest.raises(ValueError, match="features|labels|infinity|classes|weight"):
            forest.partial_fit(*arguments)
        assert pickle.dumps(forest) == before
    with pytest.raises(ValueError, match="first call"):
        forest.partial_fit(X, y, X_pool=X)


def test_a_damaged_state_raises():
    X, y = make_stream(8, 100)
    forest = forest_of().partial_fit(X, y, CLASSES)
    state = forest.__getstate__()
    for damage in ([], np.zeros((3, 2))):
        parts = {**state["_model"], "records": damage}
        with pytest.raises(ValueError, match="'records'"):
            forest_of().__setstate__({**state, "_model": parts})


def test_votes_by_accuracy_are_weights_of_hypotheses():
    X, y = make_stream(0)
    forest = learn(forest_of(vote="accuracy"), X, y, [1000])
    outcomes, weights, _ = forest.hypotheses(X[:200])
    assert weights.sum() == pytest.approx(1.0)
    assert len(set(weights)) > 1
    for tree, one in zip(forest.estimators_, outcomes, strict=True):
        assert (forest.classes_[one] == tree.predict(X[:200])).all()


class NoMemory:
    """NumPy, whose `empty` fails from one call on."""

    def __init__(self, call):
        self.call, self.n_calls = call, 0

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, *args, **kwargs):
        self.n_calls += 1
        if 0 < self.call <= self.n_calls:
            raise MemoryError("Nothing is left.")
        return np.empty(*args, **kwargs)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_trees_without_memory_are_named(monkeypatch, n_jobs):
    """The others learn all rows of the step, and the next call goes on."""
    X, y = make_stream(9)
    alone = [forest_of().partial_fit(X[:n], y[:n], CLASSES) for n in (1024, 2048)]
    alone = [pickle.dumps([t.tree_ for t in one.estimators_]) for one in alone]
    before, after = map(pickle.loads, alone)
    forest = forest_of(n_jobs=n_jobs, bootstrap=True)
    # each tree asks once a step, for a vector of its own
    numpy = NoMemory(0)
    monkeypatch.setattr(_streaming, "np", numpy)
    forest.partial_fit(X[:1024], y[:1024], CLASSES)
    a_step = numpy.n_calls
    assert a_step == 4
    numpy.n_calls, numpy.call = 0, a_step  # the last tree that begins the next step
    with pytest.raises(MemoryError, match="Nothing is left") as raised:
        forest.partial_fit(X[1024:], y[1024:])
    (note,) = raised.value.__notes__
    assert "which ended after 2048 rows" in note
    assert forest.n_rows_seen_ == 2048
    (failed,) = [t for t in range(4) if f"[{t}]" in note]
    for t, tree in enumerate(forest.estimators_):
        expected = before[t] if t == failed else after[t]
        assert tree.tree_.__getstate__() == expected.__getstate__()
    monkeypatch.undo()
    forest.partial_fit(X[2048:], y[2048:])
    assert forest.n_rows_seen_ == len(y)
    pickle.loads(pickle.dumps(forest)).predict(X)


@pytest.mark.parametrize(
    ("name", "value"), [("online_rate", "x"), ("n_estimators", 0), ("drift", "never")]
)
def test_a_fitted_forest_begins_to_grow_with_legal_parameters_only(name, value):
    X, y = load_iris(return_X_y=True)
    forest = ConfidenceForestClassifier(2, pruning=None).fit(X, y)
    forest.set_params(**{name: value})
    with pytest.raises(ValueError, match=f"The '{name}' parameter"):
        forest.partial_fit(X, y)


@pytest.mark.parametrize("drift", [None, "adwin"])
def test_fitted_trees_keep_their_shrinkage_without_drift_handling(drift):
    X, y = make_sea(500, random_state=0)
    options = {"max_depth": 3, "shrinkage": 20.0, "leaf_prediction": "majority"}
    forest = ConfidenceForestClassifier(5, drift=drift, random_state=0, **options)
    forest.fit(X[:300], y[:300])
    before = forest.predict_proba(X)
    told = forest.partial_fit_predict(X[300:301], y[300:301])
    assert told == [before[300].argmax()]
    change = np.abs(forest.predict_proba(X) - before)
    kept = [one.shrinkage for one in (each.tree_ for each in forest.estimators_)]
    assert kept == [20.0 if drift is None else 0.0] * 5
    assert (change.max() < 0.02) == (drift is None)
    for i in range(301, 320):
        row = X[[i]]
        guess = forest.predict(row)
        assert forest.partial_fit_predict(row, y[[i]]) == guess


def test_a_large_forest_without_a_limit_warns_once(monkeypatch):
    X, y = make_sea(3000, random_state=0)
    monkeypatch.setattr(_model, "LARGE_BYTES", 100_000)
    forest = ConfidenceForestClassifier(3, random_state=0)
    forest.partial_fit(X[:500], y[:500], classes=[0, 1])
    with pytest.warns(UserWarning, match="The 3 trees .* Set max_bytes") as told:
        forest.partial_fit(X[500:2000], y[500:2000])
    assert len(told) == 1
    assert told[0].filename == __file__
    forest.partial_fit(X[2000:], y[2000:])  # no second warning
    limited = clone(forest).set_params(max_bytes=3 * 70_000)
    limited.partial_fit(X, y, classes=[0, 1])  # no warning


def test_unlabeled_rows_belong_to_the_first_call():
    X, y = make_stream(0, 400)
    forest = forest_of(bound="credible")
    forest.partial_fit(X[:200], y[:200], CLASSES, X_pool=X)
    before = pickle.dumps(forest)
    with pytest.raises(ValueError, match="X_pool can only be passed"):
        forest.partial_fit(X[200:], y[200:], X_pool=X)
    assert pickle.dumps(forest) == before
