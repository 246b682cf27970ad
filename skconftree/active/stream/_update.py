"""Atomic updates of a stream active learner, and serialization of its state.

The *kernel* of a drift detector is its compiled object. The *background* model is
trained after a drift warning, and replaces the current model if the drift is confirmed.
An `Account` is the label budget, a `DictConverter` makes tables of dictionaries, and
`LeafLabels` are the numbers of queried labels in the leaves.
"""

import copy
from functools import lru_cache
from inspect import signature
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ...drift import BaseDetector, DriftState
from ...drift._detector import Detector, PickleOnly, read_detector, write_detector
from ...drift._registry import DETECTORS
from ...tables._dictionaries import DictConverter
from ...tables._labels import unique_classes
from ...utils._codec import check_state_parts, is_array
from ...utils._lock import Lockable
from .._estimators import final_step, with_lasting_nodes
from .._labels import take
from .._transaction import Transactional
from ._context import LeafLabels
from ._decisions import Account

NONE_PENDING = np.zeros(0, dtype=bool)  # no queried label waits to be taught


class PendingUpdate(NamedTuple):
    # A batch that is being learned: `at` is its first row that is not committed. A step
    # (all rows, or a single one) has the models to update, each with its number of rows
    # before the step, and the changes of attributes that are committed afterwards.
    X: object
    y: np.ndarray
    is_random: np.ndarray | None  # labels queried at random; None: unlabeled rows
    weight: np.ndarray | None
    at: int = 0
    end: int = 0
    models: tuple | None = None
    changes: dict | None = None


class StreamUpdates(Transactional):
    """Mixin of a stream active learner: atomic updates of its models.

    A model that counts the rows it has learned, see `counts_rows`, learns in place. The
    update is recorded first, so that an interrupted call can be completed, or dropped
    if nothing was learned. Any other model is copied first.

    `_n_taught` is the number of labels that were passed to the learner. `_pending` has
    an element for each queried label that was not: whether it was queried at random.
    `_unqueried` is the last row if its label was not queried. `_stored_batches` are
    rows before there is a model.
    """

    _pending_update = None

    # `reads_consistent` calls `_recover` if this is False; methods that learn call it.
    def _is_consistent(self):
        return self._pending_update is None

    def _recover(self):
        update = self._pending_update
        if update is None:
            return
        if update.at == 0 and not any(_n_learned_by_model(update)):
            self._pending_update = None
            return
        try:
            self._run_steps()
        except MemoryError:
            raise
        except Exception:
            # a second attempt would fail, too: rows already learned stay learned
            self._pending_update = None
            raise

    def _learn_in_copy(self, X, y, is_random, weight):
        # For a learner whose models are copies, or that has no model yet.
        if not hasattr(self, "estimator_"):
            self._store_until_model(X, y, weight)
        else:
            self._pending_update = PendingUpdate(X, y, is_random, weight)
            self._run_steps()

    def _learn_inplace(self, update):
        is_monitored = update.is_random is not None and self._detector is not None
        if is_monitored and len(update.y) > 1:
            # validate all rows first, as they are learned one by one
            zeros = np.zeros(len(update.y))
            self.estimator_.partial_fit(update.X, update.y, sample_weight=zeros)
        self._pending_update = update
        try:
            self._run_steps()
        except BaseException:
            self._recover()
            raise

    def _learns_inplace(self):
        return hasattr(self, "estimator_") and counts_rows(self.estimator_)

    def _copy_models(self):
        models = vars(self).get("estimator_"), self._background
        model, self._background = copy.deepcopy(models)
        if model is not None:
            self.estimator_ = model

    def _run_steps(self):
        while (update := self._pending_update) is not None:
            if update.models is None:
                self._pending_update = self._next_step(update)
            else:
                self._finish(update)

    def _finish(self, update):
        # Complete the step, and commit its changes.
        rows = np.arange(update.at, update.end)
        if update.weight is None:
            counting = rows
        else:  # models do not count rows of weight 0
            counting = rows[update.weight[rows] > 0.0]
        for (model, _), n in zip(
            update.models, _n_learned_by_model(update), strict=True
        ):
            if 0 < n >= len(counting):  # the model has learned all rows of the step
                continue
            left = rows if n == 0 else np.arange(counting[n], update.end)
            arguments = {}
            if update.weight is not None:
                arguments["sample_weight"] = update.weight[left]
            X = update.X if len(left) == len(update.y) else take(update.X, left)
            model.partial_fit(X, update.y[left], classes=self._classes, **arguments)
        rest = None
        if update.end < len(update.y):
            rest = update._replace(at=update.end, models=None, changes=None)
        vars(self).update(update.changes, _pending_update=rest)

    def _next_step(self, update):
        at, end = update.at, len(update.y)
        model, background, changes = self.estimator_, self._background, {}
        if update.is_random is None:
            changes["_unqueried"] = None
        else:
            leaves = self._leaves
            if self._detector is not None:
                end = at + 1
                if update.is_random[at]:
                    row = take(update.X, np.arange(at, end))
                    wrong = model.predict(row)[0] != update.y[at]
                    changes = self._monitor_errors(wrong)
                    model = changes.get("estimator_", model)
                    background = changes.get("_background", background)
                    leaves = changes.get("_leaves", leaves)
            rows = np.arange(at, end)
            X = update.X if len(rows) == len(update.y) else take(update.X, rows)
            changes |= {
                "_leaves": self._with_labels(leaves, model, X, update.y[at:end]),
                "_n_taught": self._n_taught + len(rows),
                "_pending": NONE_PENDING,
            }
        models = tuple(
            (trained, getattr(trained, "n_rows_seen_", 0))
            for trained in (model, background)
            if trained is not None
        )
        return update._replace(end=end, models=models, changes=changes)

    def _store_until_model(self, X, y, weight):
        # Store labels until there are two classes, then create the model.
        batches = [*self._stored_batches, (X, y, weight)]
        labels_seen = [labels for _, labels, _ in batches if labels is not None]
        classes = self._classes
        if classes is None:
            classes = unique_classes(np.concatenate(labels_seen))
        changes = {
            "_stored_batches": batches,
            "_n_taught": self._n_taught + len(y),
            "_pending": NONE_PENDING,
        }
        if len(classes) >= 2:
            model = self._new_estimator()
            for rows, labels, w in batches:
                arguments = {} if w is None else {"sample_weight": w}
                if labels is None:
                    labels = self._without_label(rows)
                model.partial_fit(rows, labels, classes=classes, **arguments)
            changes |= {"estimator_": model, "_classes": classes, "_stored_batches": []}
            self._classes = classes
            changes["_leaves"] = self._with_labels(self._leaves, model, X, y)
        else:
            self._check_rows(X)
        vars(self).update(changes)

    def _monitor_errors(self, wrong):
        # Changes due to the error on a label queried at random, before it is learned.
        detector = copy.deepcopy(self._detector)
        changes = {"_detector": detector}
        state = int(detector.update_many(np.array([float(wrong)]))[0])
        if state == DriftState.STABLE:
            changes["_background"] = None
        elif state == DriftState.WARNING and self._background is None:
            changes["_background"] = self._new_estimator()
        elif state == DriftState.DRIFT:
            # without a previous warning, the model starts with the current row
            model = self._background
            changes["estimator_"] = self._new_estimator() if model is None else model
            changes["_background"] = None
            changes["_leaves"] = LeafLabels()
            changes["_n_drifts"] = self._n_drifts + 1
        return changes

    def _new_estimator(self):
        model = with_lasting_nodes(clone(self.estimator))  # leaves keep their ids
        if "random_state" in model.get_params() and model.random_state is None:
            model.set_params(random_state=self._seed)
        return model

    def _with_labels(self, leaves, model, X, y):
        # Label counts of leaves, before the labels are learned. The first labels of a
        # model are counted in the leaves that they create. `needs` of a strategy are
        # what it decides by; `final_step` is that of a pipeline.
        final, transform = final_step(model)
        if "leaves" not in self._strategy.needs or not hasattr(final, "classes_"):
            return leaves
        leaf_ids = final.apply(transform(X))
        codes = np.searchsorted(self._classes, y)
        leaves = leaves.copy()
        leaves.add_labels(
            np.asarray(leaf_ids, dtype=np.intp), codes, len(self._classes)
        )
        return leaves

    def _learn_unqueried(self):
        # Learn the previous row, whose label was not queried: each decision uses a
        # model that has learned exactly the previous rows.
        row = self._unqueried
        if row is None:
            return
        if not hasattr(self, "estimator_"):
            batches = [*self._stored_batches, (row, None, None)]
            vars(self).update(_stored_batches=batches, _unqueried=None)
            return
        self._learn_inplace(PendingUpdate(row, self._without_label(row), None, None))

    def _without_label(self, X):
        # `missing_label` of a semi-supervised classifier marks unlabeled rows
        marker = getattr(self.estimator, "missing_label", None)
        return np.full(X.shape[0], marker)


def counts_rows(model):
    """Whether an interrupted call of a classifier's `partial_fit` can be continued.

    Classes of this package validate all input before the first row, and count the rows
    that an interrupted call has learned in `n_rows_seen_`. Subclasses may differ.
    """
    # rows of classes with weight 0 are neither learned nor counted
    return _is_countable(type(model)) and getattr(model, "class_weight", None) is None


@lru_cache
def _is_countable(kind):
    return (
        issubclass(kind, Lockable)  # a class of this package, or derived from one
        and kind.__module__.startswith(__package__.partition(".")[0] + ".")
        and "sample_weight" in signature(kind.partial_fit).parameters
    )


def _n_learned_by_model(update):
    # Rows of the step at hand that each model has learned.
    models = update.models or ()
    return [getattr(model, "n_rows_seen_", 0) - n for model, n in models]


DETECTOR_CHANGED = (
    "the parameter drift, from which it would be restored, has changed. Set it to the "
    "detector that the stream started with."
)


def write_parts(state):
    """Serialize the compiled parts of a state to plain values."""
    state = dict(state)
    if isinstance(state.get("_budget"), Account):
        state["_budget"] = state["_budget"].__reduce__()[1:]
    if isinstance(state.get("_dictionaries"), DictConverter):
        state["_dictionaries"] = vars(state["_dictionaries"])
    running = state.get("_detector")
    if isinstance(running, Detector):
        kind = type(running).__name__
        written = write_detector(running)
        if type(written) is tuple and _kernel(kind, state) is not type(running):
            # only a pickle can restore it; skops raises an error with this reason
            written = PickleOnly(running, DETECTOR_CHANGED)
        state["_detector"] = (kind, written)
    return state


def read_parts(state):
    """Restore the compiled parts of a state that `write_parts` has serialized."""
    state = dict(state)
    if isinstance(state.get("_budget"), tuple):
        arguments, values = state["_budget"]
        state["_budget"] = Account(*arguments)
        state["_budget"].__setstate__(values)
    if isinstance(state.get("_dictionaries"), dict):
        read = DictConverter.__new__(DictConverter)
        vars(read).update(state["_dictionaries"])
        state["_dictionaries"] = read
    if isinstance(state.get("_detector"), tuple):
        kind, values = state["_detector"]
        state["_detector"] = read_detector(_kernel(kind, state), values)
    return state


def _kernel(name, state):
    # Returns the compiled class of a detector of this package, or of the parameter.
    for make in DETECTORS.values():
        kind = type(make().kernel())
        if kind.__name__ == name:
            return kind
    drift = state.get("drift")
    return type(drift.kernel()) if isinstance(drift, BaseDetector) else None


def check_strategy(learner):
    """Raise ValueError if the state of the strategy is invalid for compiled code."""
    parts = vars(learner)
    if "_strategy" in parts:
        shape = np.shape(parts["_strategy"].start())
        check_state_parts(
            learner, {"_state": is_array(parts.get("_state"), np.float64, shape)}
        )
