"""Report the progress of `fit` to scikit-learn callbacks.

Growth with look-ahead, which chooses splits by the subtrees below them, reports the
progress of each level of the tree that has look-ahead. `paused` releases the lock of
the estimator while its callbacks run.
"""

from contextlib import ExitStack

from .._compat import callback_management_context
from ..utils._lock import paused

N_PROGRESS_STEPS = 20  # number of steps of each look-ahead level
MIN_LOOKAHEAD_VALUES = 1_000_000  # smaller tables are fitted before a report is useful


def progress_of(estimator, X, y, sample_weight):
    """Make the progress reporter of an estimator."""
    if hasattr(estimator, "_skl_callbacks"):
        return CallbackProgress(estimator, X, y, sample_weight)
    return NullProgress()


class NullProgress:
    """Progress reporter of an estimator without callbacks: does nothing."""

    reports_steps = False  # whether steps are reported

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        pass

    def start(self, n_steps=0, name=""):
        """Report the start of `fit`, in `n_steps` steps called `name`."""

    def step(self, make_model):
        """Report the end of a step and return whether a callback requests to stop.

        `make_model` returns a copy of the model fitted so far; it is called only if a
        callback requests it.
        """
        return False

    def start_lookahead(self, lookahead, n_values):
        """Report the start of `fit`; return look-ahead that reports its progress."""
        return lookahead

    def end(self, model):
        """Report the end of `fit`, and pass on the fitted model."""


class CallbackProgress(NullProgress):
    """Progress reporter that calls the callbacks of an estimator."""

    reports_steps = True

    def __init__(self, estimator, X, y, sample_weight):
        self._estimator = estimator
        self._fit_arguments = {"estimator": estimator, "X": X, "y": y}
        if sample_weight is not None:
            self._fit_arguments["metadata"] = {"sample_weight": sample_weight}
        self._teardown = ExitStack()
        self._n_remaining, self._name = 0, ""
        self._fit = self._part = None
        self._levels = []  # progress of each level of look-ahead

    def __exit__(self, kind, error, traceback):
        with paused(self._estimator):
            self._teardown.__exit__(kind, error, traceback)

    def start(self, n_steps=0, name=""):
        self._n_remaining, self._name = n_steps, name
        with paused(self._estimator):
            self._begin_fit(n_steps)
            self._begin()

    def _begin_fit(self, n_steps):
        self._teardown.enter_context(callback_management_context(self._estimator))
        self._fit = self._estimator._init_callback_context(max_subtasks=n_steps)
        self._fit.call_on_fit_task_begin(**self._fit_arguments)

    def _begin(self):
        self._n_remaining -= 1
        if self._n_remaining >= 0:
            self._part = self._fit.subcontext(task_name=self._name)
            self._part.call_on_fit_task_begin(**self._fit_arguments)

    def start_lookahead(self, lookahead, n_values):
        if lookahead is None or n_values < MIN_LOOKAHEAD_VALUES:
            self.start()
            return lookahead
        with paused(self._estimator):
            self._begin_fit(lookahead.n_levels)
            for _ in range(lookahead.n_levels):
                self._levels.append(LevelProgress(self._fit, self._fit_arguments))
        return lookahead._replace(
            on_progress=self._report_parts, n_parts=N_PROGRESS_STEPS
        )

    def _report_parts(self, level, n_parts):
        with paused(self._estimator):
            return self._levels[level].reach(n_parts)

    def step(self, make_model):
        with paused(self._estimator):
            stops = self._end(self._part, make_model)
            if not stops:
                self._begin()
        return stops

    def end(self, model):
        with paused(self._estimator):
            for level in self._levels:
                level.end()
            self._end(self._fit, lambda: model)

    def _end(self, task, make_model):
        def fitted():
            model = make_model()
            # a copy with its own lock
            return {"_model": type(model).of_state(model.state(), owner=None)}

        return task.call_on_fit_task_end(
            **self._fit_arguments, reconstruction_attributes=fitted
        )


class LevelProgress:
    """Progress reporter of a level of look-ahead; all levels run at the same time."""

    def __init__(self, fit, fit_arguments):
        self._fit_arguments, self._n_parts = fit_arguments, 0
        self._task = fit.subcontext(
            task_name="level of look-ahead", max_subtasks=N_PROGRESS_STEPS
        )
        self._task.call_on_fit_task_begin(**fit_arguments)
        self._begin()

    def _begin(self):
        self._part = self._task.subcontext(task_name="part of a level")
        self._part.call_on_fit_task_begin(**self._fit_arguments)

    def reach(self, n_parts):
        """Report that `n_parts` parts are done; return whether to stop."""
        stops = False
        while self._n_parts < n_parts:
            self._n_parts += 1
            stops |= bool(self._part.call_on_fit_task_end(**self._fit_arguments))
            if self._n_parts == N_PROGRESS_STEPS:
                self._task.call_on_fit_task_end(**self._fit_arguments)
            else:
                self._begin()
        return stops

    def end(self):
        """Report the end of the level, unless it has already been reported."""
        if self._n_parts < N_PROGRESS_STEPS:
            self._part.call_on_fit_task_end(**self._fit_arguments)
            self._task.call_on_fit_task_end(**self._fit_arguments)
