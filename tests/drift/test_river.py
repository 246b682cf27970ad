"""Detectors with river's protocol: called between rows, copied, saved, interrupted.

The eight of river run in a tree; what may fail in one is tried with a small one of
our own, which needs no river.
"""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.active import SplitSampling, StreamActiveLearner
from skconftree.drift import DDM
from skconftree.evaluation import PrequentialEvaluator
from skconftree.testing import check_detector
from skconftree.utils._model_file import save

N, CHANGE = 700, 400
CLASSES = [0, 1]


def stream(n=N, change=CHANGE):
    """Rows whose labels change places."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    y[change:] = 1 - y[change:]
    return X, y


X, Y = stream()


class Run:
    """Drift after so many errors in a row; a warning halfway."""

    def __init__(self, most=4):
        self.most = most
        self.n_begun = self.n_updates = self.n_errors = 0
        self.drift_detected = self.warning_detected = False

    def update(self, x):
        self.n_begun += 1
        if self.drift_detected:
            self.n_errors = 0
        self.n_errors = self.n_errors + 1 if x else 0
        self.act()  # the detector is in the midst of a row
        self.n_updates += 1
        self.drift_detected = self.n_errors > self.most
        self.warning_detected = 2 * self.n_errors > self.most

    def act(self):
        pass

    def clone(self):
        return type(self)(self.most)


def make(name):
    river = pytest.importorskip("river.drift")
    made = {
        "ADWIN": lambda: river.ADWIN(clock=1, grace_period=1),
        "KSWIN": lambda: river.KSWIN(0.001, seed=1, window_size=390, stat_size=30),
        "PageHinkley": lambda: river.PageHinkley(threshold=5.0),
        "FHDDM": lambda: river.binary.FHDDM(25, confidence_level=0.1),
    }
    return made.get(name, lambda: getattr(river.binary, name)())()


NAMES = ("ADWIN", "KSWIN", "PageHinkley", "DDM", "EDDM", "FHDDM", "HDDMA", "HDDMW")
each = pytest.mark.parametrize("name", NAMES)


def tree(detector, **options):
    options = {"leaf_prediction": "majority", "grace_period": 20} | options
    return ConfidenceTreeClassifier(drift=detector, **options)


@each
def test_a_tree_drifts_by_the_errors_that_the_detector_gets(name):
    detector = make(name)
    wrong = tree(None).partial_fit_predict(X, Y, CLASSES) != Y
    alone, first = detector.clone(), 0
    while not alone.drift_detected:
        alone.update(int(wrong[first]))
        first += 1
    found = tree(detector).partial_fit(X, Y, CLASSES).drifts_[0]
    assert (found.row, found.node, found.detector) == (first, 0, name)


@each
def test_chunks_copies_and_pickles_change_nothing(name):
    once = tree(make(name)).partial_fit(X, Y, CLASSES)
    parts = tree(make(name))
    copied = [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy]
    ends = [0, 1, 2, 300, 415, 470, N]
    for i, (begin, end) in enumerate(pairwise(ends)):
        parts.partial_fit(X[begin:end], Y[begin:end], CLASSES)
        parts = copied[i % 2](parts)
    assert once.n_drifts_ > 0
    assert pickle.dumps(parts) == pickle.dumps(once)


def test_a_warning_begins_the_tree_that_takes_over():
    rows = slice(CHANGE, CHANGE + 60)
    model = tree(Run(), bound="gtest", grace_period=5)
    model.partial_fit(X, Y, CLASSES)
    first = model.drifts_[0].row
    model = clone(model).partial_fit(X[:first], Y[:first], CLASSES)
    assert first in range(rows.start, rows.stop)
    # the second error in a row is none yet; more than half of four are a warning
    assert model.tree_.n_node_samples[0] == 3


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_each_tree_of_a_forest_has_a_clone(n_jobs):
    detector = Run(3)
    forest = ConfidenceForestClassifier(
        4, drift=detector, n_jobs=n_jobs, random_state=0
    )
    parts = clone(forest)
    forest.partial_fit(X, Y, CLASSES)
    for begin in range(0, N, 130):
        chunk = slice(begin, begin + 130)
        parts.partial_fit(X[chunk], Y[chunk], CLASSES)
        parts = pickle.loads(pickle.dumps(parts))
    assert len({one.tree for one in forest.drifts_}) > 1
    assert {one.detector for one in forest.drifts_} == {"Run"}
    assert pickle.dumps(forest) == pickle.dumps(parts)
    assert detector.n_updates == 0


def test_the_users_detector_is_left_alone():
    detector = Run(30)
    detector.update(1)
    model = tree(detector).partial_fit(X, Y, CLASSES)
    model.partial_fit(X, Y)
    assert (detector.n_updates, detector.n_errors) == (1, 1)
    assert clone(model).drift is not detector


@pytest.mark.parametrize("detector", [Run(2), Run(30)], ids=["drifts", "none"])
def test_a_stream_learner_takes_it(detector):
    def learner():
        return StreamActiveLearner(
            ConfidenceTreeClassifier(),
            strategy=SplitSampling(nu=0.9),
            budget=0.5,
            drift=detector,
            classes=CLASSES,
            random_state=0,
        )

    X, y = stream(200, 100)
    once = learner()
    once.run(X, y)
    parts = learner()
    for rows in (slice(90), slice(90, None)):
        parts.run(X[rows], y[rows])
        parts = pickle.loads(pickle.dumps(parts))
    assert (once.n_drifts_ > 0) == (detector.most == 2)
    assert pickle.dumps(parts) == pickle.dumps(once)
    skops = pytest.importorskip("skops.io")
    with pytest.raises(TypeError, match="not part of skconftree"):
        skops.dumps(once)


def test_a_prequential_run_takes_it():
    run = PrequentialEvaluator(tree(Run()), classes=CLASSES)
    run.update(X, Y)
    assert run.estimator.n_drifts_ > 0


def test_files_without_a_pickle_refuse_it(tmp_path):
    skops = pytest.importorskip("skops.io")
    model = tree(Run()).partial_fit(X, Y, CLASSES)
    with pytest.raises(TypeError, match="The drift detector Run .* with pickle"):
        skops.dumps(model)
    with pytest.raises(TypeError, match="Run object .* Save the model with pickle"):
        save(tmp_path / "model", model, {})


class Lacking:
    drift_detected = False

    def update(self, x):
        pass


class Same(Lacking):
    def clone(self):
        return self


class NoState:
    def update(self, x):
        pass

    def clone(self):
        return NoState()


class NoUpdate:
    drift_detected = False

    def clone(self):
        return NoUpdate()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (3, "implementing 'update'.*Got 3"),
        (NoUpdate(), "implementing 'update'.*Got .*NoUpdate"),
        (Lacking(), r"Got .*Lacking.* which has no clone\(\)\.$"),
        (NoState(), "which has no drift_detected"),
        ({}, r"which has no clone\(\) and no drift_detected"),
        (Run, r"Got Run\. Pass Run\(\)"),
        (Same(), r"clone\(\) of Same must return a new object"),
    ],
)
@pytest.mark.parametrize(("method", "more"), [("fit", ()), ("partial_fit", (CLASSES,))])
def test_what_lacks_the_protocol_is_refused(wrong, message, method, more):
    for model in (tree(wrong), ConfidenceForestClassifier(2, drift=wrong)):
        with pytest.raises(TypeError, match=message):
            getattr(model, method)(X, Y, *more)
        assert not hasattr(model, "tree_")
        assert not hasattr(model, "estimators_")
    learner = StreamActiveLearner(
        ConfidenceTreeClassifier(), strategy="split", drift=wrong, classes=CLASSES
    )
    with pytest.raises(TypeError, match=message):
        learner.query(X[:1])


@pytest.mark.parametrize("name", [name for name in NAMES if name != "KSWIN"])
def test_the_check_of_detectors_takes_them(name):
    if name != "FHDDM":  # which looks for falls
        return check_detector(make(name))
    with pytest.raises(AssertionError, match="FHDDM must detect a drift when"):
        check_detector(type(make(name))(100, confidence_level=1e-8))
    return None


class Faulty(Run):
    def __init__(self, most=4, fault=None):
        super().__init__(most)
        self.fault = fault

    def _state(self, kind):
        return vars(self) | ({"most": 2} if self.fault == kind else {})

    def clone(self):
        made = Faulty(self.most, self.fault)
        if self.n_updates:
            made.most = self._state("clone")["most"]
        return made

    def __deepcopy__(self, memo):
        made = Faulty()
        vars(made).update(self._state("copy"))
        return made

    def __getstate__(self):
        return self._state("pickle")


def test_the_check_of_detectors_takes_one_without_a_fault():
    check_detector(Faulty())


@pytest.mark.parametrize(
    ("detector", "message"),
    [
        (Faulty(4, "clone"), "A clone of Faulty must"),
        (Faulty(4, "copy"), "A copy of Faulty must continue"),
        (Faulty(4, "pickle"), "A pickle of Faulty must"),
        (Faulty(9999), "Faulty must detect a drift"),
    ],
)
def test_the_check_of_detectors_finds_faults(detector, message):
    with pytest.raises(AssertionError, match=message):
        check_detector(detector)


# -- errors and interrupts ----------------------------------------------------------


class Interrupted(Run):
    """Is interrupted in the midst of some of its updates, as often as it is told."""

    presses = ()  # numbers of the updates of all copies

    def act(self):
        if Interrupted.presses and Interrupted.presses[0] == self.n_updates:
            del Interrupted.presses[0]
            raise KeyboardInterrupt


X_LONG, Y_LONG = stream(3000, 2200)


@pytest.mark.parametrize(
    ("presses", "end"),
    [([5], 1024), ([700, 700, 700], 1024), ([1030, 1500], 2048), ([2990], 3000)],
)
@pytest.mark.parametrize("make_model", [tree, None], ids=["tree", "forest"])
def test_an_interrupt_of_an_update_waits_for_a_boundary(make_model, presses, end):
    def made():
        if make_model is not None:
            return tree(Interrupted())
        return ConfidenceForestClassifier(
            3, drift=Interrupted(), bootstrap=False, random_state=0
        )

    Interrupted.presses = []
    expected = made().partial_fit(X_LONG[:end], Y_LONG[:end], CLASSES)
    model = made()
    Interrupted.presses = list(presses)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X_LONG, Y_LONG, CLASSES)
    assert Interrupted.presses == []
    assert model.n_rows_seen_ == end
    assert pickle.dumps(model) == pickle.dumps(expected)
    for one in (model, expected):
        one.partial_fit(X_LONG[end:], Y_LONG[end:]) if end < 3000 else None
    assert pickle.dumps(model) == pickle.dumps(expected)


class Failing(Run):
    """Fails with each row from some on, until that is over."""

    over = False

    def act(self):
        if self.n_updates >= 900 and not Failing.over:
            raise OSError("no such thing")


@pytest.mark.parametrize("of_forest", [False, True], ids=["tree", "forest"])
def test_a_detector_that_fails_leaves_a_whole_model(of_forest):
    model = tree(Failing(2))
    if of_forest:
        model = ConfidenceForestClassifier(3, drift=Failing(2), random_state=0)
    Failing.over = False
    with pytest.raises(OSError, match="no such thing"):
        model.partial_fit(X_LONG, Y_LONG, CLASSES)
    assert model.n_rows_seen_ % 1024 == 0
    n = model.n_rows_seen_
    same = pickle.loads(pickle.dumps(model))
    Failing.over = True
    for one in (model, same):
        one.partial_fit(X_LONG[n:], Y_LONG[n:])
    assert model.n_rows_seen_ == 3000
    assert model.n_drifts_ > 0
    assert pickle.dumps(model) == pickle.dumps(same)


def test_a_detector_cannot_use_the_model_that_it_watches():
    class Curious(Run):
        def act(self):
            model.predict(X[:1])

    model = tree(Curious())
    with pytest.raises(RuntimeError, match="learning in this very thread"):
        model.partial_fit(X, Y, CLASSES)
    assert model.n_rows_seen_ == N


def test_what_it_finds_does_not_depend_on_how_ours_are_called():
    """An adapted detector and one of this package with the same rule find the same."""
    river = pytest.importorskip("river.drift").binary
    ours = tree(DDM(min_samples=30)).partial_fit(X_LONG, Y_LONG, CLASSES)
    theirs = tree(river.DDM(warm_start=30)).partial_fit(X_LONG, Y_LONG, CLASSES)
    rows = [[one.row for one in model.drifts_] for model in (ours, theirs)]
    assert rows[0] == rows[1] != []
    np.testing.assert_array_equal(ours.tree_.counts, theirs.tree_.counts)
