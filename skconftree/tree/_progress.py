"""Telling callbacks of scikit-learn how far a fit is."""

from contextlib import ExitStack

from .._compat import callback_management_context
from ..utils._lock import paused

STEPS = 20  # of a fit that can be told in parts
LONG = 1_000_000  # values of a table from which on looking ahead takes a while


def telling(estimator, X, y, sample_weight):
    """Make what tells the callbacks of an estimator, or nothing if it has none."""
    if hasattr(estimator, "_skl_callbacks"):
        return Telling(estimator, X, y, sample_weight)
    return Silence()


class Silence:
    """An estimator that fits has nobody to tell."""

    in_steps = False  # whether it is to be told of them

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        pass

    def start(self, n_steps=0, name=""):
        """Tell that the fit begins, in steps of such a name."""

    def step(self, model):
        """Tell that a step has ended; whether that is enough. `model` makes a model."""
        return False

    def start_to_look(self, lookahead, n_values):
        """Report the start of `fit`; return the reporter of look-ahead, or None."""
        return lookahead

    def end(self, model):
        """Tell that the fit has ended with a model."""


class Telling(Silence):
    """Reports progress to callbacks, which see a copy of the model fitted so far."""

    in_steps = True

    def __init__(self, estimator, X, y, sample_weight):
        self._estimator = estimator
        self._told = {"estimator": estimator, "X": X, "y": y}
        if sample_weight is not None:
            self._told["metadata"] = {"sample_weight": sample_weight}
        self._teardown = ExitStack()
        self._left, self._name = 0, ""
        self._fit = self._part = None
        self._levels = []  # of look-ahead

    def __exit__(self, kind, error, traceback):
        with paused(self._estimator):
            self._teardown.__exit__(kind, error, traceback)

    def start(self, n_steps=0, name=""):
        self._left, self._name = n_steps, name
        with paused(self._estimator):
            self._begin_fit(n_steps)
            self._begin()

    def _begin_fit(self, n_steps):
        self._teardown.enter_context(callback_management_context(self._estimator))
        self._fit = self._estimator._init_callback_context(max_subtasks=n_steps)
        self._fit.call_on_fit_task_begin(**self._told)

    def _begin(self):
        self._left -= 1
        if self._left >= 0:
            self._part = self._fit.subcontext(task_name=self._name)
            self._part.call_on_fit_task_begin(**self._told)

    def start_to_look(self, lookahead, n_values):
        if lookahead is None or n_values < LONG:
            self.start()
            return lookahead
        with paused(self._estimator):
            self._begin_fit(lookahead.n_levels)
            for _ in range(lookahead.n_levels):
                self._levels.append(Level(self._fit, self._told))
        return lookahead._replace(on_progress=self._looked, n_parts=STEPS)

    def _looked(self, level, n_parts):
        with paused(self._estimator):
            return self._levels[level].reach(n_parts)

    def step(self, model):
        with paused(self._estimator):
            enough = self._end(self._part, model)
            if not enough:
                self._begin()
        return enough

    def end(self, model):
        with paused(self._estimator):
            for level in self._levels:
                level.end()
            self._end(self._fit, lambda: model)

    def _end(self, task, model):
        def fitted():
            found = model()
            return {"_model": type(found).of_state(found.state(), None)}

        return task.call_on_fit_task_end(**self._told, reconstruction_attributes=fitted)


class Level:
    """Reports a level of look-ahead; all levels run side by side, without a tree."""

    def __init__(self, fit, told):
        self._told, self._n_parts = told, 0
        self._task = fit.subcontext(task_name="level of look-ahead", max_subtasks=STEPS)
        self._task.call_on_fit_task_begin(**told)
        self._begin()

    def _begin(self):
        self._part = self._task.subcontext(task_name="part of a level")
        self._part.call_on_fit_task_begin(**self._told)

    def reach(self, n_parts):
        """Tell that so many parts are done; whether that is enough."""
        enough = False
        while self._n_parts < n_parts:
            self._n_parts += 1
            enough |= bool(self._part.call_on_fit_task_end(**self._told))
            if self._n_parts == STEPS:
                self._task.call_on_fit_task_end(**self._told)
            else:
                self._begin()
        return enough

    def end(self):
        """Tell that the level has ended, unless it has been told."""
        if self._n_parts < STEPS:
            self._part.call_on_fit_task_end(**self._told)
            self._task.call_on_fit_task_end(**self._told)
