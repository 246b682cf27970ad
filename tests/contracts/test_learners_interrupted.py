"""A step of a learner that is interrupted has been made or has not, whatever the line.

An error is raised at one line of the learners' code after the other, as a
signal handler may raise it; once, or again while the first is being dealt with.
"""

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from reference.effort import crossed, examples
from sklearn.naive_bayes import GaussianNB

import skconftree.active
from skconftree import ConfidenceTreeClassifier, OASISClassifier
from skconftree.active import ActiveLearner, RiskBelow, StableModel, StreamActiveLearner

ROOM = str(Path(skconftree.active.__file__).parent)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = (X[:, 0] > 0).astype(int)
WORDS = np.array(["a", "b"])[Y]


class Interrupts:
    """Raise an error at some of the lines that run, by their numbers."""

    def __init__(self, *lines, error=KeyboardInterrupt):
        self.lines, self.n_lines, self.n_raised = lines, 0, 0
        self.error = error

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self._enter)

    def __exit__(self, *_):
        sys.settrace(self.before)

    def _enter(self, frame, event, arg):
        return self._line if frame.f_code.co_filename.startswith(ROOM) else None

    def _line(self, frame, event, arg):
        if event == "line":
            self.n_lines += 1
            if self.n_lines in self.lines:
                self.n_raised += 1
                # what raises is not asked any more
                sys.settrace(self._enter)
                raise self.error
        return self._line


def lines_of(call):
    count = Interrupts()
    with count:
        call()
    return count.n_lines


def pool(refit, new_class=False):
    tree = ConfidenceTreeClassifier(bound=None, grace_period=1)
    one = ActiveLearner(tree, refit=refit, strategy="margin", random_state=0).fit(X)
    one.teach([0, 1, 2, 3, 4], WORDS[:5])
    return one.teach([5, 6], ["b", "c"] if new_class else WORDS[5:7])


def stream(estimator, strategy, drift=None):
    one = StreamActiveLearner(
        estimator,
        strategy=strategy,
        drift=drift,
        classes=[0, 1],
        budget=0.6,
        random_state=0,
    )
    asked = one.query(X[:130])
    return one.teach(X[:130][asked], Y[:130][asked])


def waiting(*args):
    # Labels are awaited: eight rows.
    one = stream(*args)
    one._pending = np.arange(8) % 2 == 0
    return one


def teach_stream(one):
    one.teach(X[150:158], Y[150:158])


TREE = ConfidenceTreeClassifier(bound=None, grace_period=5)
OASIS = OASISClassifier(n_particles=10, buffer_size=5)
CALLS = {
    "teach": (lambda: pool("auto"), lambda one: one.teach([9, 10], WORDS[9:11])),
    "grow": (lambda: pool(False), lambda one: one.teach([9, 10], WORDS[9:11])),
    "new class": (lambda: pool("auto"), lambda one: one.teach([9, 10], ["c", "a"])),
    "undo": (lambda: pool(False), lambda one: one.undo()),
    "undo a class": (lambda: pool("auto", True), lambda one: one.undo()),
    "fit": (lambda: pool("auto"), lambda one: one.fit(X[:50], WORDS[:50])),
    "question": (lambda: pool(False), lambda one: one.query(3)),
    "look": (
        lambda: pool(False),
        lambda one: one.reached([StableModel(), RiskBelow(0.1)]),
    ),
    "tree query": (lambda: stream(TREE, "conf_tree"), lambda one: one.query(X[:9])),
    "tree teach": (lambda: waiting(TREE, "conf_tree"), teach_stream),
    "drift teach": (lambda: waiting(TREE, "split_conf_tree", "ddm"), teach_stream),
    "drift run": (
        lambda: stream(TREE, "split_conf_tree", "ddm"),
        lambda one: one.run(X[:20], Y[:20]),
    ),
    "oasis query": (lambda: stream(OASIS, "oasis"), lambda one: one.query(X[150:154])),
    "oasis row": (lambda: stream(OASIS, "oasis"), lambda one: one.query(X[150:151])),
    "oasis teach": (lambda: waiting(OASIS, "oasis"), teach_stream),
    "bayes teach": (lambda: waiting(GaussianNB(), "split", "ddm"), teach_stream),
    "stream fit": (lambda: stream(TREE, "split"), lambda one: one.fit(X, Y)),
}


def state_of(one):
    """What a pickle tells, that of classifiers which make other bytes excepted."""
    model = vars(one).get("estimator_")
    if isinstance(model, GaussianNB):
        return one.n_taught_, model.theta_.tobytes(), one._pending.tobytes()
    return pickle.dumps(one)


# A watchdog's error is an ordinary one, as a model's own may be.
ERRORS = [(None, KeyboardInterrupt), (1, KeyboardInterrupt), (6, KeyboardInterrupt)]


@pytest.mark.parametrize(
    ("name", "interrupt"), crossed(CALLS, [*ERRORS, (None, TimeoutError)])
)
def test_a_step_is_made_or_is_not(name, interrupt):
    again, error = interrupt
    make, call = CALLS[name]
    one = make()
    saved = pickle.dumps(one)
    possible = {state_of(pickle.loads(saved))}
    call(pickle.loads(saved))  # what is looked up once
    done = pickle.loads(saved)
    n_lines = lines_of(lambda: call(done))
    possible.add(state_of(done))
    if name == "oasis row":  # the row before is learned in any case
        possible = None
    found = set()
    for line in range(1, n_lines + 1, max(1, n_lines // examples(40, by_day=3))):
        one = pickle.loads(saved)
        lines = [line] if again is None else [line, line + again]
        interrupts = Interrupts(*lines, error=error)
        with pytest.raises(error), interrupts:
            call(one)
        assert interrupts.n_raised >= 1
        state = state_of(one)
        found.add(state)
        assert possible is None or state in possible, line
        if state != state_of(done):
            # the call is made again, and all is as if there had been no interrupt
            call(one)
            assert state_of(one) == state_of(done), line
    assert state_of(pickle.loads(saved)) in found
