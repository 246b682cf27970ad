"""Several callers of one model at once: threads, signal handlers; and small stacks."""

import pickle
import signal
import threading

import numpy as np
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree.tree import export_text

from . import invariants
from .findings import require
from .parameters import make_model

READERS = 2
LOOKS = 5  # of a signal handler
STACK = 256 * 1024  # bytes, of a thread that reads a deep tree


def _busy(sequence, n):
    """Rows that keep a learning thread busy for a while."""
    draw, table = sequence.draw, sequence.table
    rows = sequence.rows(n)
    return table.give(draw, rows.X), table.labels[rows.y], rows


def _run(threads):
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    started = [threading.Thread(target=guarded, args=(work,)) for work in threads]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    if errors:
        raise errors[0]


def learn_and_read(sequence):
    """Readers see a sound model while a thread learns, and do not disturb it."""
    if not sequence.parts or not sequence.comparable:
        return
    draw, model, table = sequence.draw, sequence.model, sequence.table
    X, y, rows = _busy(sequence, draw.one([200, 1500]))
    plain = sequence.copy_by_pickle()
    ask = table.give(draw, sequence.rows(30, weights=False).X)
    done = threading.Event()
    begun = threading.Barrier(1 + READERS)
    kinds = [
        draw.one(["proba", "tree", "pickle", "learn", "apply"]) for _ in range(READERS)
    ]
    if kinds.count("learn") > 1:
        kinds = ["learn", "proba"]
    writers = [kind for kind in kinds if kind == "learn"]

    def learn():
        begun.wait()
        try:
            model.partial_fit(X, y, sample_weight=rows.weight)
        finally:
            done.set()

    def look(kind):
        begun.wait()
        if kind == "learn":
            model.partial_fit(X, y, sample_weight=rows.weight)
            return
        for _ in range(200):
            if kind == "proba":
                invariants.probabilities(model, model.predict_proba(ask), 30)
            elif kind == "apply":
                model.apply(ask)
                model.predict(ask)
            elif kind == "pickle":
                pickle.loads(pickle.dumps(model))
            else:
                counts = model.tree_.counts
                require(np.isfinite(counts).all(), "counts seen by another thread")
            if done.is_set():
                break

    works = [learn, *(lambda kind=kind: look(kind) for kind in kinds)]
    sequence.call(f"threads: learn, {', '.join(kinds)}", _run, works)
    sequence.traits.add("threads")
    for _ in range(1 + len(writers)):
        plain.partial_fit(X, y, sample_weight=rows.weight)
        sequence.parts.append(rows)
    require(
        invariants.growth_of(plain) == invariants.growth_of(model),
        "other threads changed what was learnt",
    )


def learn_apart(sequence):
    """Models that threads learn at once are those that they learn alone."""
    draw, table = sequence.draw, sequence.table
    if sequence.fitted or table.n_classes < 2:
        return
    rows = table.rows(draw, 120)
    X, y = table.give(draw, rows.X), table.labels[rows.y]
    batch = draw.chance(0.5)
    parameters = {**sequence.parameters, "pruning": "auto"}
    if parameters.get("class_weight") == "balanced":
        del parameters["class_weight"]
    if (batch and not (rows.weights > 0.0).any()) or (sequence.by_volume and not batch):
        return
    models = [clone(make_model(parameters)) for _ in range(3)]

    def learn(model):
        if batch:
            model.fit(X, y, rows.weight)
        else:
            model.partial_fit(X, y, table.classes, rows.weight)
        return model

    def at_once():
        _run([lambda model=model: learn(model) for model in models[1:]])

    if not sequence.attempt("fit, alone", learn, models[0]):
        return
    sequence.call("threads: models of their own", at_once)
    sequence.traits.add("threads")
    states = {invariants.growth_of(model) for model in models}
    require(len(states) == 1, "threads with models of their own disturb each other")


def look_from_a_signal(sequence):
    """A handler that runs in the midst of learning looks, and changes nothing."""
    if not sequence.parts or not sequence.comparable:
        return
    draw, model, table = sequence.draw, sequence.model, sequence.table
    n = draw.one([1500, 4000])
    rows = sequence.rows(n)
    if rows.weight is not None:
        rows.weight = np.ones(n)
    X, y = table.give(draw, rows.X), table.labels[rows.y]
    one = sequence.rows(3, weights=False, missing=False)
    ask, label = table.give(draw, one.X), table.labels[one.y]
    plain = sequence.copy_by_pickle()
    what = draw.one(["predict_proba", "counts", "pickle", "apply", "learn"])
    seen = []

    def handle(*_):
        # It is refused while the model learns.
        try:
            if what == "counts":
                seen.append(model.tree_.counts.sum())
            elif what == "pickle":
                seen.append(pickle.dumps(model))
            elif what == "learn":
                model.partial_fit(ask, label)
                seen.append("learnt")
            else:
                seen.append(getattr(model, what)(ask))
        except RuntimeError:
            seen.append("refused")
        if len(seen) < LOOKS:  # not before: a handler may be interrupted too
            signal.setitimer(signal.ITIMER_REAL, 1e-3)

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, draw.one([2e-4, 1e-3, 5e-3]))
        sequence.call(f"partial_fit, {what} from a signal", model.partial_fit, X, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    sequence.traits.add("signals")
    learnt = [one for one in seen if isinstance(one, str) and one == "learnt"]
    if learnt:
        # before the first row or behind the last one, or it was not refused
        sequence.new_model(batch=False)
        return
    plain.partial_fit(X, y)
    rows.weight = None
    sequence.parts.append(rows)
    require(
        invariants.growth_of(plain) == invariants.growth_of(model),
        "a signal handler changed what was learnt",
    )


def grow_deep(sequence):
    """A tree that is one long chain, read by a thread with a small stack."""
    draw = sequence.draw
    n = draw.one([1500, 4000])
    X = np.column_stack([np.arange(n) % 5 == 4, np.arange(n)]).astype(float)
    y = np.where(X[:, 0] == 1, 2, np.arange(n) % 2)
    pruning = draw.one([None, "c45", "pessimistic", "cost_complexity"])
    model = ConfidenceTreeClassifier(
        bound=None,
        pruning=pruning,
        pruning_confidence=0.0 if pruning == "cost_complexity" else None,
        categorical_features=[0],
        leaf_prediction=draw.one(["majority", "nb", "nba"]),
    )

    def work():
        model.fit(X, y)
        if model.leaf_prediction == "majority":
            model.to_sklearn()
        unknown = np.array([[7.0, 3.0]])
        model.predict_proba(unknown)
        pickle.loads(pickle.dumps(model))
        if pruning is None:
            model.partial_fit_predict(unknown, [0])
        export_text(model, max_depth=3)
        model.explain(X[-1:])

    size = threading.stack_size(STACK)
    try:
        sequence.call("a deep tree", _run, [work])
    finally:
        threading.stack_size(size)
    sequence.traits.add("deep")
