"""Threads, signal handlers, small stacks and little memory."""

import ctypes
import linecache
import os
import pickle
import re
import resource
import signal
import sys
import threading
from contextlib import contextmanager
from importlib.util import find_spec

import numpy as np
from skconftree.utils._memory import fail_from
from sklearn.base import clone

from skconftree import ConfidenceTreeClassifier
from skconftree.inspection import ConfidenceTreeDisplay, audit_splits
from skconftree.tree import (
    export_html,
    export_rules,
    export_text,
    node_table,
)

from . import invariants
from .failures import require
from .handler_exceptions import timer
from .parameters import make_model

# A checked build makes allocations fail when it is told to.
IS_CHECKED = find_spec("skconftree.utils._checks") is not None
IS_WATCHED = "libasan" in os.environ.get("LD_PRELOAD", "")
READERS = 2
OFTEN = 1e-5  # seconds, after which another thread has its turn
LOOKS = 5  # of a signal handler
LEARNS = "tree/_classes.py", "_learn"  # where a call of `partial_fit` holds the lock
STACK = 128 * 1024  # bytes, of a thread that reads a deep tree


def busy_rows(sequence, n):
    """Rows that keep a learning thread busy for a while."""
    draw, table = sequence.draw, sequence.table
    rows = sequence.rows(n)
    weight = rows.weight
    relative = sequence.parameters.get("sample_weight_kind") == "relative"
    if weight is not None and (
        relative or not 1e-6 < weight.min() <= weight.max() < 1e6
    ):
        rows = sequence.rows(n, weights=False)  # no refusal in the middle of a race
    return table.give(draw, rows.X), table.labels[rows.y], rows


@contextmanager
def switching_often():
    """Threads have their turns soon after one another."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(OFTEN)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def run_at_once(threads):
    """Run functions, each in a thread; the first error of one is raised at the end."""
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


def functions_of(model, X):
    """Public functions and methods that read the whole tree, each in one state."""

    def audit():
        y = model.predict(X)
        try:
            return audit_splits(model, X, y).splits_
        except ValueError as error:
            # Rows whose category the model has not seen, or not yet.
            if "categories that the tree does not know" not in str(error):
                raise
            return None

    def as_sklearn():
        try:
            return model.to_sklearn()
        except ValueError as error:
            # Categories that are neither texts nor numbers; naive Bayes leaves.
            if not re.search("OrdinalEncoder cannot|by naive Bayes cannot", str(error)):
                raise
            return None

    functions = {
        "audit_splits": audit,
        "display": lambda: ConfidenceTreeDisplay(
            node_table(model), class_names=list(map(str, model.classes_))
        ).to_svg(),
        "explain": lambda: model.explain(X),
        "explain_text": lambda: model.explain_text(X),
        "export_html": lambda: export_html(model),
        "export_text": lambda: export_text(model, verbose=True),
        "importances": lambda: model.feature_importances_,
        "leaf_counts": model.leaf_counts,
        "node_table": lambda: node_table(model),
        "summary": model.summary,
    }
    if model.leaf_prediction == "majority":
        functions |= {
            "export_rules": lambda: export_rules(model),
            "to_sklearn": as_sklearn,
        }
    return {name: _without_warnings(make) for name, make in functions.items()}


def _without_warnings(function):
    # What a user is warned of is no matter here; filters are those of all threads.
    def call():
        try:
            return function()
        except UserWarning:
            return None

    return call


def learn_and_read(sequence):
    """Readers see a sound model while a thread learns, and do not disturb it."""
    if not sequence.parts or not sequence.comparable:
        return
    draw, model, table = sequence.draw, sequence.model, sequence.table
    X, y, rows = busy_rows(sequence, draw.one([200, 1500]))
    plain = sequence.copy_by_pickle()
    ask = table.give(draw, sequence.rows(30, weights=False).X)
    done = threading.Event()
    begun = threading.Barrier(1 + READERS)
    functions = functions_of(model, ask)
    kinds = [
        draw.one(["proba", "tree", "pickle", "learn", "apply", *functions])
        for _ in range(READERS)
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
            elif kind in functions:
                functions[kind]()
            else:
                counts = model.tree_.counts
                require(np.isfinite(counts).all(), "counts seen by another thread")
            if done.is_set():
                break

    works = [learn, *(lambda kind=kind: look(kind) for kind in kinds)]
    sequence.call(f"threads: learn, {', '.join(kinds)}", run_at_once, works)
    sequence.traits.add("threads at work")
    for _ in range(1 + len(writers)):
        plain.partial_fit(X, y, sample_weight=rows.weight)
        sequence.parts.append(rows)
    require(
        invariants.growth_of(plain) == invariants.growth_of(model),
        "other threads changed what was learned",
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
        run_at_once([lambda model=model: learn(model) for model in models[1:]])

    if not sequence.attempt("fit, alone", learn, models[0]):
        return
    sequence.call("threads: models of their own", at_once)
    sequence.traits.add("threads at work")
    states = {invariants.growth_of(model) for model in models}
    require(len(states) == 1, "threads with models of their own disturb each other")


def read_from_a_signal(sequence):
    """A handler that runs in the midst of learning looks, and changes nothing."""
    if not sequence.parts or not sequence.comparable:
        return
    draw, model, table = sequence.draw, sequence.model, sequence.table
    n = draw.one([1500, 4000])
    rows = sequence.rows(n, weights=False)
    X, y = table.give(draw, rows.X), table.labels[rows.y]
    one = sequence.rows(3, weights=False, missing=False)
    ask, label = table.give(draw, one.X), table.labels[one.y]
    plain = sequence.copy_by_pickle()
    what = draw.one(["predict_proba", "counts", "pickle", "apply", "learn", "stop"])
    seen = []
    answered = []  # what was answered although this thread was learning

    def handle(_, frame):
        learning = _is_learning(frame)
        if what == "stop":
            # a frame of compiled code, or one that has just begun, may have no line
            line = linecache.getline(frame.f_code.co_filename, frame.f_lineno or 0)
            if ".learn(" in line:
                raise InterruptedError
            signal.setitimer(signal.ITIMER_REAL, 1e-4)
            return
        # What it asks may be refused while the model learns.
        try:
            if what == "counts":
                seen.append(model.tree_.counts.sum())
            elif what == "pickle":
                seen.append(pickle.dumps(model))
            elif what == "learn":
                model.partial_fit(ask, label)
                seen.append("learned")
            else:
                seen.append(getattr(model, what)(ask))
            answered.append(learning)
        except RuntimeError:
            seen.append("refused")
        if len(seen) < LOOKS:  # not before: a handler may be interrupted too
            signal.setitimer(signal.ITIMER_REAL, 1e-3)

    n_before = model.n_rows_seen_
    try:
        with timer(handle, draw.one([2e-4, 1e-3, 5e-3])):
            sequence.call(f"partial_fit, {what} from a signal", model.partial_fit, X, y)
    except InterruptedError:
        pass
    sequence.traits.add("signals")
    require(not any(answered), "a handler in the learning thread was answered")
    learned = [one for one in seen if isinstance(one, str) and one == "learned"]
    if learned:
        # before the first row or behind the last one, or it was not refused
        sequence.new_model(batch=False)
        return
    learned = after_a_stop(sequence, plain, rows, n_before)
    require(learned == n or what == "stop", "rows that were not learned")


def _is_learning(frame):
    # Whether a handler has interrupted the call that holds the lock.
    file, name = LEARNS
    while frame is not None:
        code = frame.f_code
        if code.co_name == name and code.co_filename.endswith(file):
            return True
        frame = frame.f_back
    return False


def after_a_stop(sequence, plain, rows, n_before):
    """The model is one of all rows up to some boundary; how many of these rows."""
    model, table = sequence.model, sequence.table
    kept = np.cumsum(sequence.class_weights()[rows.y] > 0.0)
    n = model.n_rows_seen_ - n_before
    end = len(rows)
    if n < kept[-1]:
        require(
            n == 0
            or "refit_rows" in sequence.parameters  # a refit is a boundary
            or model._model.grower.n_rows_seen % invariants.BOUNDARY == 0,
            "a stop is not at a boundary",
            lambda: f"{n_before} rows, then {n}",
        )
        end = int(np.searchsorted(kept, n)) + 1 if n else 0
        sequence.comparable = not table.categories  # codes are those of all rows
    part = rows.part(0, end)
    if end:
        plain.partial_fit(table.give(sequence.draw, part.X), table.labels[part.y])
        sequence.parts.append(part)
    require(
        invariants.growth_of(plain) == invariants.growth_of(model),
        "a stop or a signal handler changed what was learned",
    )
    return end


def learn_with_little_memory(sequence):
    """A MemoryError leaves a model of all rows up to some boundary."""
    if IS_WATCHED:
        return  # a sanitizer takes all address space there is
    if not sequence.parts or not sequence.comparable:
        return
    draw, model, table = sequence.draw, sequence.model, sequence.table
    rows = sequence.rows(draw.one([4000, 20_000]), weights=False)
    X, y = table.give(draw, rows.X), table.labels[rows.y]
    plain = sequence.copy_by_pickle()
    n_before = model.n_rows_seen_
    if IS_CHECKED:
        little = _FailingAllocations(draw, sequence.copy_by_pickle(), X, y)
    else:
        little = _LittleMemory(draw.one([2, 30, 200, 1000]))

    def learn():
        with little:
            model.partial_fit(X, y)

    try:
        sequence.call("partial_fit with little memory", learn)
    except MemoryError:
        sequence.traits.add("little memory")
    after_a_stop(sequence, plain, rows, n_before)


class _FailingAllocations:
    """No allocation succeeds from one of those on that learning some rows takes."""

    def __init__(self, draw, model, X, y):
        fail_from(0)
        model.partial_fit(X, y)
        self.first = draw.whole(1, max(1, fail_from(0)))

    def __enter__(self):
        fail_from(self.first)

    def __exit__(self, *_):
        fail_from(0)


class _LittleMemory:
    """No more memory than so many pages, holes in the heap included."""

    SIZES = (1 << 20, 1 << 16, 1 << 12)

    def __init__(self, pages):
        self.pages = pages
        self.c = ctypes.CDLL(None)
        self.c.malloc.restype = ctypes.c_void_p
        self.c.malloc.argtypes = [ctypes.c_size_t]
        self.c.free.argtypes = [ctypes.c_void_p]

    def __enter__(self):
        self.limits = resource.getrlimit(resource.RLIMIT_AS)
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        self.blocks = []
        resource.setrlimit(resource.RLIMIT_AS, (used, self.limits[1]))
        try:
            for size in self.SIZES:
                while block := self.c.malloc(size):
                    self.blocks.append(block)
            for _ in range(self.pages):
                if self.blocks:
                    self.c.free(self.blocks.pop())
        except MemoryError:  # for the list of blocks
            self.__exit__()
            raise

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_AS, self.limits)
        for block in self.blocks:
            self.c.free(block)


def grow_deep(sequence):
    """A tree that is one long chain, read by a thread with a small stack."""
    draw = sequence.draw
    n = draw.one([1500, 8000])
    X = np.column_stack([np.arange(n) % 5 == 4, np.arange(n)]).astype(float)
    y = np.where(X[:, 0] == 1, 2, np.arange(n) % 2)
    pruning = draw.one([None, "c45", "pessimistic", "cost_complexity"])
    model = ConfidenceTreeClassifier(
        bound=None,
        pruning=pruning,
        categorical_features=[0],
        leaf_prediction=draw.one(["majority", "nb", "nba"]),
    )
    unknown = np.array([[7.0, 3.0]])

    def work():
        model.fit(X, y)
        model.predict_proba(unknown)
        model.decision_path(unknown)
        if pruning is None:
            model.partial_fit_predict(unknown, [0])

    size = threading.stack_size(STACK)
    try:
        sequence.call("a deep tree", run_at_once, [work])
    finally:
        threading.stack_size(size)
    if pruning is None:
        require(model.get_depth() > n // 4, "a deep tree is not deep")
    if model.leaf_prediction == "majority" and pruning:
        sequence.call("a deep tree as sklearn's", model.to_sklearn)
    sequence.call(
        "a deep tree from a pickle", lambda: pickle.loads(pickle.dumps(model))
    )
    sequence.call("a deep tree as text", export_text, model, max_depth=3)
    sequence.call("a deep tree explained", model.explain, X[-1:])
    sequence.traits.add("deep")
