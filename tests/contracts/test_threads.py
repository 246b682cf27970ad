"""Any number of threads read a model; training excludes them.

Whatever a thread is told while another one learns is true of the model between two
calls of the learner: never of the middle of one.
"""

import copy
import pickle
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from reference.effort import crossed
from reference.streams import make_stream, state_of
from reference.threads import PATIENCE, alarms, at_once, needs_signals
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skconftree import ConfidenceTreeClassifier
from skconftree.inspection import ConfidenceTreeDisplay, audit_splits, shap_values
from skconftree.tree import (
    distill,
    export_html,
    export_rules,
    export_text,
    node_table,
)

KINDS = ["continuous", "continuous", "holes", "ties"]
STREAM = make_stream(0, 20_000, n_classes=3, kinds=KINDS, signal=0.6)


def make_model(**parameters):
    return ConfidenceTreeClassifier(**{"bound": None, "grace_period": 5, **parameters})


def grown(n_rows=1000, **parameters):
    return make_model(**parameters).partial_fit(*STREAM.part(0, n_rows))


# --- reading ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "prediction"),
    crossed(["histogram", "gaussian"], ["nb", "nba", "majority"]),
)
@pytest.mark.slow
def test_readers_do_not_disturb_each_other(memory, prediction):
    model = grown(len(STREAM), leaf_memory=memory, leaf_prediction=prediction)
    holes = STREAM.X[::2].copy()
    holes[::3, 0] = np.nan
    whole = np.nan_to_num(STREAM.X[1::2])
    expected = [model.predict_proba(rows) for rows in (holes, whole)]
    end = time.monotonic() + 0.15

    def wrong(rows, answer):
        return (model.predict_proba(rows) != answer).any(axis=1).sum()

    with at_once(
        lambda: wrong(holes, expected[0]), lambda: wrong(whole, expected[1])
    ) as threads:
        while time.monotonic() < end:
            time.sleep(0.05)
    assert [sum(thread.results) for thread in threads] == [0, 0]


def test_readers_do_not_wait_for_each_other():
    """One that is held up holds up no other."""
    model = grown()
    let_go = threading.Event()

    class Slow:
        def __array__(self, *_, **__):
            assert let_go.wait(PATIENCE)
            return STREAM.X[:5]

    slow = threading.Thread(target=lambda: model.predict(Slow()), daemon=True)
    slow.start()
    time.sleep(0.05)
    assert model.predict(STREAM.X[:5]).shape == (5,)
    let_go.set()
    slow.join(PATIENCE)
    assert not slow.is_alive()


def test_reading_changes_nothing():
    """Not even what learns on: inner nodes, tables of the criterion, empty leaves."""
    plain, seen = grown(leaf_prediction="nba"), grown(leaf_prediction="nba")
    for end in range(1500, 6000, 500):
        for model in (plain, seen):
            model.partial_fit(*STREAM.part(end - 500, end))
        _ = seen.tree_.impurity, seen.tree_.counts, seen.predict_proba(STREAM.X[:50])
    assert state_of(seen) == state_of(plain)


# --- reading while another thread learns ------------------------------------

STEP, LAST = 400, 4000
READERS = {
    "proba": lambda model: model.predict_proba(STREAM.X[:200]).tobytes(),
    "predict": lambda model: model.predict(STREAM.X[:200]).tobytes(),
    "apply": lambda model: model.apply(STREAM.X[:200]).tobytes(),
    "path": lambda model: model.decision_path(STREAM.X[:20]).toarray().tobytes(),
    "interval": lambda model: model.predict_proba_interval(STREAM.X[:20]).tobytes(),
    "explain": lambda model: repr(model.explain(STREAM.X[:5])),
    "text": export_text,
    "words": lambda model: model.explain_text(STREAM.X[:5]),
    "summary": lambda model: model.summary(),
    "page": export_html,
    "pickle": pickle.dumps,
    "copy": lambda model: state_of(copy.copy(model)),
    "deepcopy": lambda model: state_of(copy.deepcopy(model)),
    "tree": lambda model: pickle.dumps(model.tree_),
    "counts": lambda model: model.tree_.counts.tobytes(),
    "value": lambda model: model.tree_.proba.tobytes(),
    "children": lambda model: model.tree_.children_left.tobytes(),
    "importances": lambda model: model.feature_importances_.tobytes(),
    "bytes": lambda model: model.n_bytes_,
    "leaves": lambda model: model.get_n_leaves(),
}


@pytest.mark.parametrize(
    ("name", "prediction"),
    [
        *((name, "auto") for name in READERS),
        *((name, "majority") for name in ("proba", "predict", "pickle")),
    ],
)
def test_readers_see_the_model_between_two_calls(name, prediction):
    read = READERS[name]
    plain = grown(STEP, leaf_prediction=prediction)
    model = copy.deepcopy(plain)
    possible = {read(plain)}
    for begin in range(STEP, LAST, STEP):
        possible.add(read(plain.partial_fit(*STREAM.part(begin, begin + STEP))))
    with at_once(lambda: read(model)) as (thread,):
        for begin in range(STEP, LAST, STEP):
            model.partial_fit(*STREAM.part(begin, begin + STEP))
    assert set(thread.results) <= possible
    assert state_of(model) == state_of(plain)


def test_readers_see_one_of_two_fits():
    """Other features, classes and rows: nothing of the one beside the other."""
    tables = [
        (STREAM.X[:300], STREAM.y[:300]),
        (STREAM.X[:200], np.array(["a", "b", "c", "d"])[np.arange(200) % 4]),
    ]
    models = [make_model().fit(X, y) for X, y in tables]
    possible = {tuple(model.predict(STREAM.X[:50])) for model in models}
    saved = {state_of(model) for model in models}
    model = make_model().fit(*tables[0])
    with at_once(
        lambda: tuple(model.predict(STREAM.X[:50])), lambda: state_of(model)
    ) as (predicting, saving):
        for turn in range(60):
            model.fit(*tables[turn % 2])
    assert set(predicting.results) <= possible
    assert set(saving.results) <= saved


def test_arrays_stay_what_they_were():
    """Those of a fitted tree that goes on growing, too."""
    names = [name for name in dir(type(grown().tree_)) if not name.startswith("_")]
    fitted = make_model(max_depth=6).fit(STREAM.X, STREAM.y)
    for model in (grown(), fitted):
        tree = model.tree_
        arrays = {name: getattr(tree, name) for name in names}
        arrays = {k: a for k, a in arrays.items() if isinstance(a, np.ndarray)}
        assert {"counts", "feature", "evidence", "children_left"} <= set(arrays)
        before = {name: array.tobytes() for name, array in arrays.items()}
        for begin in (1000, 2500):
            model.partial_fit(*STREAM.part(begin, begin + 1500))
            for name, array in arrays.items():
                assert array.tobytes() == before[name], name
        assert model.tree_.counts[0].sum() > arrays["counts"][0].sum()


# --- learning from many threads ---------------------------------------------


def test_learners_take_turns():
    """Each brings categories of its own, which get a code each."""
    X = pd.DataFrame({"number": STREAM.X[:, 0], "text": "none"})
    model = make_model(categorical_features=["text"])
    model.partial_fit(X[:10], STREAM.y[:10], classes=STREAM.classes)

    def learner(name):
        numbers = iter(range(10**9))
        return lambda: model.partial_fit(
            X[:40].assign(text=f"{name}{next(numbers)}"), STREAM.y[:40]
        )

    with at_once(learner("a"), learner("b")) as threads:
        time.sleep(0.2)
    n_calls = sum(len(thread.results) for thread in threads)
    assert model.n_rows_seen_ == model.tree_.counts[0].sum() == 10 + 40 * n_calls
    assert len(model.categories_[1]) == len(set(model.categories_[1])) == 1 + n_calls


def test_first_calls_take_turns():
    model = make_model()
    begin = threading.Barrier(4)

    def first():
        begin.wait(PATIENCE)
        model.partial_fit(*STREAM.part(0, 500))

    threads = [threading.Thread(target=first, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert model.n_rows_seen_ == 2000
    assert state_of(model) == state_of(
        make_model().partial_fit(
            *(
                np.tile(part, 4) if part.ndim == 1 else np.tile(part, (4, 1))
                for part in STREAM.part(0, 500)[:2]
            ),
            STREAM.classes,
        )
    )


# Public functions whose first argument is a model: each reads one state of it.
FUNCTIONS = {
    "audit_splits": lambda model: audit_splits(model, STREAM.X[-200:], STREAM.y[-200:]),
    "audit of a pipeline": lambda model: audit_splits(
        make_pipeline(FunctionTransformer(), model), STREAM.X[-200:], STREAM.y[-200:]
    ),
    "display": lambda model: ConfidenceTreeDisplay.from_estimator(model),
    "export_html": export_html,
    "export_rules": export_rules,
    "shap_values": lambda model: shap_values(model, STREAM.X[:20]),
    "export_text": lambda model: export_text(model, max_depth=2),
    "distill": lambda model: distill(model, STREAM.X[:200], random_state=0),
    "node_table": node_table,
}


def test_every_function_waits_for_a_thread_that_learns():
    model = grown(leaf_prediction="majority")
    audit = audit_splits(model, *STREAM.part(5000, 5200)[:2], anytime=True)
    functions = FUNCTIONS | {
        "audit.marks": audit.marks,
        "audit.update": lambda model: audit.update(*STREAM.part(6000, 6200)[:2]),
    }
    begun, go_on = threading.Event(), threading.Event()
    n_nodes = model.tree_.node_count
    errors = {}

    class SlowRows:
        def __array__(self, *_, **__):
            begun.set()
            assert go_on.wait(PATIENCE)
            return STREAM.X[1000:4000]

    def read(name):
        try:
            functions[name](model)
        except ValueError as error:
            errors[name] = str(error)

    learner = threading.Thread(
        target=model.partial_fit, args=(SlowRows(), STREAM.y[1000:4000]), daemon=True
    )
    learner.start()
    assert begun.wait(PATIENCE)
    readers = {
        name: threading.Thread(target=read, args=(name,), daemon=True)
        for name in functions
    }
    for reader in readers.values():
        reader.start()
    time.sleep(0.5)
    early = {name for name, reader in readers.items() if not reader.is_alive()}
    go_on.set()
    for thread in (learner, *readers.values()):
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert early == set()
    assert model.tree_.node_count > n_nodes
    # an audit is of the tree before it grew
    assert set(errors) == {"audit.marks", "audit.update"}


def test_no_reader_is_locked_out():
    """Neither by many readers nor by a learner, however short their breaks."""
    model = grown()
    row = STREAM.part(1000, 1001)
    readers = [lambda: model.predict(STREAM.X[:3000])] * 3
    with at_once(*readers, lambda: model.partial_fit(*row)) as threads:
        time.sleep(0.5)
    assert min(len(thread.results) for thread in threads) >= 5


# --- the thread that learns -------------------------------------------------

IN_LEARNING = {
    "predict": lambda model: model.predict(STREAM.X[:5]),
    "predict_proba": lambda model: model.predict_proba(STREAM.X[:5]),
    "apply": lambda model: model.apply(STREAM.X[:5]),
    "explain": lambda model: model.explain(STREAM.X[:5]),
    "pickle": pickle.dumps,
    "counts": lambda model: model.tree_.counts,
    "tree": lambda model: model.tree_.apply(STREAM.X[:5]),
    "partial_fit": lambda model: model.partial_fit(*STREAM.part(0, 5)),
    "partial_fit_predict": lambda model: model.partial_fit_predict(*STREAM.part(0, 5)),
    "fit": lambda model: model.fit(STREAM.X[:50], STREAM.y[:50]),
}


class Rows:
    """Rows that call a function when they are looked at."""

    def __init__(self, X, function):
        self.X, self.function = X, function

    def __array__(self, *_, **__):
        self.function()
        return self.X


@pytest.mark.parametrize("name", IN_LEARNING)
@pytest.mark.parametrize("method", ["partial_fit", "fit"])
def test_a_callback_gets_an_error_at_once(method, name):
    model = grown()
    before = state_of(model)
    X = Rows(STREAM.X[:100], lambda: IN_LEARNING[name](model))
    with pytest.raises(RuntimeError, match="learning in this very thread"):
        getattr(model, method)(X, STREAM.y[:100])
    assert state_of(model) == before
    assert model.get_params()["grace_period"] == 5
    model.partial_fit(*STREAM.part(1000, 1100))  # the lock is free


def test_a_callback_of_a_reader():
    """It may read, and cannot learn."""
    model = grown()
    seen = []
    model.predict(Rows(STREAM.X[:5], lambda: seen.append(model.predict(STREAM.X[:5]))))
    assert seen
    rows = Rows(STREAM.X[:5], lambda: model.partial_fit(*STREAM.part(0, 5)))
    with pytest.raises(RuntimeError, match="used, or waited for, in this very thread"):
        model.predict(rows)
    model.partial_fit(*STREAM.part(1000, 1100))


@needs_signals
@pytest.mark.parametrize("name", IN_LEARNING)
def test_a_signal_handler_changes_nothing(name):
    """The handler gets its error; the call that learns goes on as if nothing were."""
    model, plain = grown(), grown()
    said = []

    def handler():
        with pytest.raises(RuntimeError, match="learning in this very thread") as error:
            IN_LEARNING[name](model)
        said.append(str(error.value))

    rows = STREAM.part(1000, len(STREAM))
    plain.partial_fit(*rows)
    while not said:
        model = grown()
        # only within the call: outside it the handler would get what it asks for
        X = Rows(rows[0], lambda: signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003))
        old = signal.signal(signal.SIGALRM, lambda *_: handler())
        try:
            with ending(model, lambda: signal.setitimer(signal.ITIMER_REAL, 0.0)):
                model.partial_fit(X, *rows[1:])
        finally:
            signal.signal(signal.SIGALRM, old)
    assert state_of(model) == state_of(plain)


@contextmanager
def ending(model, function):
    """Call a function as soon as rows have been learned, still within the call."""
    learn = model._model.learn

    def learn_and_call(*args, **kwargs):
        try:
            return learn(*args, **kwargs)
        finally:
            function()

    model._model.learn = learn_and_call
    try:
        yield
    finally:
        del model._model.learn


@needs_signals
def test_an_error_in_a_handler_stops_at_a_boundary():
    model = grown(1024, leaf_memory="histogram")
    X, y = np.tile(STREAM.X, (20, 1)), np.tile(STREAM.y, 20)

    def go_on():
        while True:
            model.partial_fit(X, y)

    with alarms(lambda: model.predict(STREAM.X[:5]), 0.02):
        with pytest.raises(RuntimeError, match="learning in this very thread"):
            go_on()
    n = (model.n_rows_seen_ - 1024) % len(X)
    assert model.n_rows_seen_ % 1024 == 0 or n == 0
    assert model.tree_.counts[0].sum() == model.n_rows_seen_
    model.partial_fit(*STREAM.part(0, 10))


@needs_signals
def test_waiting_can_be_interrupted():
    """The call that waits has done nothing, and holds nothing."""
    model = grown()
    let_go = threading.Event()
    rows = Rows(STREAM.X[:100], lambda: let_go.wait(PATIENCE))
    learner = threading.Thread(
        target=lambda: model.partial_fit(rows, STREAM.y[:100]), daemon=True
    )
    learner.start()

    def interrupt():
        raise KeyboardInterrupt

    for call in (
        lambda: model.predict(STREAM.X[:5]),
        lambda: model.partial_fit(*STREAM.part(0, 5)),
    ):
        time.sleep(0.05)
        with pytest.raises(KeyboardInterrupt), alarms(interrupt, 0.05):
            call()
    let_go.set()
    learner.join(PATIENCE)
    assert model.n_rows_seen_ == 1100
    model.partial_fit(*STREAM.part(0, 5)).predict(STREAM.X[:5])


@needs_signals
def test_a_handler_of_a_waiting_thread_does_not_wait():
    """It would wait for the call that it interrupts."""
    model = grown()
    let_go = threading.Event()
    rows = Rows(STREAM.X[:100], lambda: let_go.wait(PATIENCE))
    learner = threading.Thread(
        target=lambda: model.partial_fit(rows, STREAM.y[:100]), daemon=True
    )
    learner.start()
    time.sleep(0.05)
    said = []

    def look():
        with pytest.raises(RuntimeError, match="waited for, in this very thread"):
            model.predict(STREAM.X[:5])
        said.append(True)
        let_go.set()

    with alarms(look, 0.05):
        model.predict(STREAM.X[:5])
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    assert said
    learner.join(PATIENCE)
    assert model.n_rows_seen_ == 1100


# --- copies -----------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, clone, "pickle"])
def test_copies_have_a_lock_of_their_own(copied):
    """While the model learns they predict and learn, whatever becomes of it."""
    model = grown()
    if copied == "pickle":
        copied = lambda one: pickle.loads(pickle.dumps(one))  # noqa: E731
    other = copied(model)
    before = state_of(other)
    done = []

    def use():
        other.partial_fit(*STREAM.part(1000, 1100)).predict(STREAM.X[:5])
        done.append(True)

    model.partial_fit(Rows(STREAM.X[:3000], use), STREAM.y[:3000])
    assert done
    if copied is not clone:
        assert pickle.loads(before).partial_fit(*STREAM.part(1000, 1100)).__class__
        same = pickle.loads(before).partial_fit(*STREAM.part(1000, 1100))
        assert state_of(other) == state_of(same)
    assert model.n_rows_seen_ == 4000
    assert "lock" not in " ".join(vars(other)).lower()


def test_a_copy_in_the_middle_of_a_warning():
    """The tree in the background has learned without a call of its own."""
    stream = make_stream(2, 2400, kinds=["continuous"] * 2, signal=2.0)
    stream.y[1200:] = 1 - stream.y[1200:]
    model = make_model(drift="ddm", leaf_memory="histogram", leaf_prediction="nb")
    in_background = 0
    for begin in range(0, 2400, 50):
        model.partial_fit(*stream.part(begin, begin + 50))
        in_background += model._model.grower.__getstate__()[8] is not None
        other = copy.copy(model)
        assert state_of(other) == state_of(model)
        rows = stream.part(begin, 2400)
        assert state_of(other.partial_fit(*rows)) == state_of(
            copy.deepcopy(model).partial_fit(*rows)
        )
    assert in_background > 0
    assert model.n_drifts_ > 0


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "explain"])
@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [((), {}), ((STREAM.X, 1, 2, 3), {}), ((), {"Y": 1}), ((STREAM.X,), {"Y": 1})],
)
def test_wrong_arguments_name_the_method(method, arguments, wrong):
    with pytest.raises(TypeError, match=rf"{method}\(\) (got|takes|missing) .*"):
        getattr(grown(10), method)(*arguments, **wrong)
