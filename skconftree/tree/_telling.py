"""Telling callbacks of scikit-learn how far a fit is."""

from contextlib import ExitStack

from .._compat import callback_management_context
from ..utils._lock import paused

STEPS = 20  # of a fit that can be told in parts


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

    def end(self, model):
        """Tell that the fit has ended with a model."""


class Telling(Silence):
    """What callbacks of an estimator are told while it fits.

    While a callback runs the estimator is what it was before the fit, and anybody may
    use it; what is fitted so far is a copy.
    """

    in_steps = True

    def __init__(self, estimator, X, y, sample_weight):
        self._estimator = estimator
        self._told = {"estimator": estimator, "X": X, "y": y}
        if sample_weight is not None:
            self._told["metadata"] = {"sample_weight": sample_weight}
        self._teardown = ExitStack()
        self._left, self._name = 0, ""
        self._fit = self._part = None

    def __exit__(self, kind, error, traceback):
        with paused(self._estimator):
            self._teardown.__exit__(kind, error, traceback)

    def start(self, n_steps=0, name=""):
        estimator, self._left, self._name = self._estimator, n_steps, name
        with paused(estimator):
            self._teardown.enter_context(callback_management_context(estimator))
            self._fit = estimator._init_callback_context(max_subtasks=n_steps)
            self._fit.call_on_fit_task_begin(**self._told)
            self._begin()

    def _begin(self):
        self._left -= 1
        if self._left >= 0:
            self._part = self._fit.subcontext(task_name=self._name)
            self._part.call_on_fit_task_begin(**self._told)

    def step(self, model):
        with paused(self._estimator):
            enough = self._end(self._part, model)
            if not enough:
                self._begin()
        return enough

    def end(self, model):
        with paused(self._estimator):
            self._end(self._fit, lambda: model)

    def _end(self, task, model):
        def fitted():
            found = model()
            return {"_model": type(found).of_state(found.state(), None)}

        return task.call_on_fit_task_end(**self._told, reconstruction_attributes=fitted)
