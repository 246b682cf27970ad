"""Learning curves of query strategies, and metrics of models along a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skconftree.evaluation import PrequentialRecord, iter_prequential
from skconftree.tree import class_colors

from ..utils._types import Estimator, LabelsLike, TableLike

if TYPE_CHECKING:
    from ..active.pool import SimulationResult

BASELINE = "#8a8a8a"  # color of random sampling and of trivial baselines


class CurveDisplay:
    # Base class of displays with lines.
    def _begin(self, ax):
        # Set the axes to draw on (None: those of a new figure), and return them.
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_, self.lines_ = ax, ax.figure, []
        return ax


@dataclass(eq=False, repr=False)
class ActiveCurveDisplay(CurveDisplay):
    """Learning curves of query strategies: scores by number of labels.

    Each line is the mean over the runs of :func:`skconftree.active.simulate`, with a
    band of one standard error to either side. Random sampling is drawn in gray.

    Create it with :meth:`from_simulation`.

    Parameters
    ----------
    strategies : list of str
        Names.
    n_labels : ndarray of shape (n_steps,)
        Labels requested at each step.
    scores : ndarray of shape (n_strategies, n_runs, n_steps)
        Scores on the test rows.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes drawn on.
    figure_ : matplotlib.figure.Figure
        The figure they are in.
    lines_ : list of matplotlib.lines.Line2D
        The mean of each strategy.
    bands_ : list of matplotlib.collections.FillBetweenPolyCollection
        Standard errors; empty with a single run.

    See Also
    --------
    skconftree.active.simulate : Computes the curves.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import simulate
    >>> from skconftree.inspection import ActiveCurveDisplay
    >>> X, y = load_wine(return_X_y=True)
    >>> result = simulate(GaussianNB(), X, y, cv=3, budget=12, random_state=0)
    >>> display = ActiveCurveDisplay.from_simulation(result)
    >>> display.figure_.savefig("curves.png")  # doctest: +SKIP
    """

    strategies: Sequence[str]
    n_labels: NDArray[Any]
    scores: NDArray[Any]

    @classmethod
    def from_simulation(
        cls,
        result: SimulationResult,
        *,
        strategies: Sequence[str] | None = None,
        score_name: str = "score",
        ax: Any = None,
    ) -> Self:
        """Draw the result of `simulate`.

        Parameters
        ----------
        result : SimulationResult
            Result of :func:`skconftree.active.simulate`.
        strategies : list of str, default=None
            Strategies to draw, in this order; None draws all.
        score_name : str, default="score"
            Name of the vertical axis.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        ActiveCurveDisplay
            The display, drawn.
        """
        names = list(result.strategies)
        chosen = names if strategies is None else list(strategies)
        unknown = [name for name in chosen if name not in names]
        if unknown or not chosen:
            raise ValueError(
                f"strategies must be some of {names}, or None. Got {strategies!r}."
            )
        indices = [names.index(name) for name in chosen]
        display = cls(chosen, result.n_labels, np.asarray(result.scores)[indices])
        return display.plot(ax, score_name=score_name)

    def plot(self, ax: Any = None, *, score_name: str = "score") -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; by default those of a new figure.
        score_name : str, default="score"
            Name of the vertical axis.

        Returns
        -------
        ActiveCurveDisplay
            The display itself.
        """
        ax = self._begin(ax)
        self.bands_ = []
        n_runs = self.scores.shape[1]
        colors = iter(class_colors(len(self.strategies)))
        for name, scores in zip(self.strategies, self.scores, strict=True):
            color = BASELINE if name == "random" else next(colors)
            mean = scores.mean(axis=0)
            self.lines_ += ax.plot(self.n_labels, mean, color=color, label=name)
            if n_runs > 1:
                error = scores.std(axis=0, ddof=1) / np.sqrt(n_runs)
                self.bands_.append(
                    ax.fill_between(
                        self.n_labels,
                        mean - error,
                        mean + error,
                        color=color,
                        alpha=0.2,
                        linewidth=0.0,
                    )
                )
        ax.set(xlabel="labels", ylabel=score_name)
        ax.legend()
        return self


@dataclass(eq=False, repr=False)
class PrequentialDisplay(CurveDisplay):
    """Prequential metrics of models along a stream, and the drifts they detected.

    Prequential evaluation predicts each row, then learns it. Each point of a line is
    the metric of one window, at its last row. A triangle at the bottom is a concept
    drift that the model of this color detected. For accuracies the baseline that
    predicts the previous label is drawn in gray.

    Create it with :meth:`from_estimator` or :meth:`from_records`.

    Parameters
    ----------
    rows : dict of str to ndarray of shape (n_windows,)
        For each model the number of rows learned at the end of each window.
    scores : dict of str to ndarray of shape (n_windows,)
        The metric in each window.
    drifts : dict of str to ndarray of int, default=None
        Rows after which drifts were detected.
    baseline : tuple of two ndarrays, default=None
        Rows and metric of the baseline that predicts the previous label.
    metric : str, default="accuracy"
        Name of the metric.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes drawn on.
    figure_ : matplotlib.figure.Figure
        The figure they are in.
    lines_ : list of matplotlib.lines.Line2D
        The curve of each model.
    drift_lines_ : list of matplotlib.lines.Line2D
        The drift marks of each model that detected drifts.
    baseline_ : matplotlib.lines.Line2D or None
        The baseline that predicts the previous label.
    change_lines_ : list of matplotlib.lines.Line2D
        The changes that were passed to `plot`.

    See Also
    --------
    skconftree.evaluation.iter_prequential : Yields the records.

    Examples
    --------
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.datasets import make_random_tree_stream
    >>> from skconftree.inspection import PrequentialDisplay
    >>> X, y = make_random_tree_stream(
    ...     6000, n_leaves=10, concept=[0, 1], drift_at=[3000], random_state=0)
    >>> models = {
    ...     "grows": ConfidenceTreeClassifier(),
    ...     "forgets": ConfidenceTreeClassifier(drift="ddm"),
    ... }
    >>> display = PrequentialDisplay.from_estimator(models, X, y, window=500)
    >>> display.figure_.savefig("stream.png")  # doctest: +SKIP
    """

    rows: dict[str, Any]
    scores: dict[str, Any]
    _: KW_ONLY
    drifts: dict[str, Any] | None = None
    baseline: Any = None
    metric: str = "accuracy"

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: TableLike,
        y: LabelsLike,
        *,
        metric: str = "accuracy",
        window: int = 1000,
        name: str | None = None,
        changes: Sequence[int] = (),
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Test models along a stream, and draw their curves.

        Parameters
        ----------
        estimator : classifier with `partial_fit`, or dict of str to such
            They are trained in place, one after the other.
        X : array-like of shape (n_samples, n_features)
            The stream.
        y : array-like of shape (n_samples,)
            Labels.
        metric : str, default="accuracy"
            A metric that a :class:`~skconftree.evaluation.PrequentialRecord` has for
            each window, such as ``"kappa"`` or ``"balanced_accuracy"``; or a scorer
            name for `scoring` of :func:`~skconftree.evaluation.iter_prequential`, such
            as ``"roc_auc"``.
        window : int, default=1000
            Number of rows of a window; larger windows give smoother curves.
        name : str, default=None
            Name of a single estimator; None uses the name of its class.
        changes : sequence of int, default=()
            Rows at which the stream changes, if that is known: dotted lines.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; by default those of a new figure.
        **options
            Arguments of :func:`~skconftree.evaluation.iter_prequential`, such as
            `delay` and `chunk_size`.

        Returns
        -------
        PrequentialDisplay
            The display, drawn.
        """
        if not isinstance(estimator, dict):
            estimator = {name or type(estimator).__name__: estimator}
        if not hasattr(PrequentialRecord, f"window_{metric}"):
            options["scoring"] = metric
        records, drifts = {}, {}
        for name, model in estimator.items():
            run = iter_prequential(model, X, y, report_every=window, **options)
            records[name], drifts[name] = _with_drifts(model, run)
        return cls.from_records(
            records, metric=metric, drifts=drifts, changes=changes, ax=ax
        )

    @classmethod
    def from_records(
        cls,
        records: dict[str, Any],
        *,
        metric: str = "accuracy",
        drifts: dict[str, Any] | None = None,
        changes: Sequence[int] = (),
        ax: Any = None,
    ) -> Self:
        """Draw the records of runs.

        Parameters
        ----------
        records : dict of str to list of PrequentialRecord
            For each model, the records of
            :func:`~skconftree.evaluation.iter_prequential`.
        metric : str, default="accuracy"
            A metric of windows in the records, including those of `window_scores`.
        drifts : dict of str to sequence of int, default=None
            Rows after which a model detected drifts.
        changes : sequence of int, default=()
            Rows at which the stream changes, if that is known: dotted lines.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        PrequentialDisplay
            The display, drawn.
        """
        if not isinstance(records, dict) or not records:
            raise ValueError(
                "records must be a dict of names to lists of records. Got "
                f"{records!r} instead."
            )
        drifts = {} if drifts is None else drifts
        unknown = [name for name in drifts if name not in records]
        if unknown:
            raise ValueError(
                f"drifts has the key {unknown[0]!r}, which is not a key of records."
            )
        known = {name: list(run) for name, run in records.items()}
        rows = {
            name: np.array([record.n_rows for record in run])
            for name, run in known.items()
        }
        scores = {
            name: np.array(
                [_window_metric(record, metric) for record in run], dtype=float
            )
            for name, run in known.items()
        }
        baseline = None
        if metric == "accuracy":
            longest = max(known, key=lambda name: len(known[name]))
            before = [record.window_no_change_accuracy for record in known[longest]]
            baseline = rows[longest], np.array(before)
        drifts = {name: np.asarray(at, dtype=int) for name, at in drifts.items()}
        display = cls(rows, scores, drifts=drifts, baseline=baseline, metric=metric)
        return display.plot(ax, changes=changes)

    def plot(self, ax: Any = None, *, changes: Sequence[int] = ()) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; by default those of a new figure.
        changes : sequence of int, default=()
            Rows at which the stream changes, if that is known: dotted lines.

        Returns
        -------
        PrequentialDisplay
            The display itself.
        """
        ax = self._begin(ax)
        self.drift_lines_, self.baseline_ = [], None
        self.change_lines_ = [
            ax.axvline(row, color=BASELINE, linestyle=":") for row in changes
        ]
        if self.baseline is not None:
            (self.baseline_,) = ax.plot(
                *self.baseline, color=BASELINE, label="previous label"
            )
        colors = class_colors(len(self.rows))
        for (name, rows), color in zip(self.rows.items(), colors, strict=True):
            drifts = np.asarray((self.drifts or {}).get(name, ()))
            label = name
            if len(drifts):
                label += f" ({len(drifts)} drift{'s' if len(drifts) > 1 else ''})"
            self.lines_ += ax.plot(rows, self.scores[name], color=color, label=label)
            if len(drifts):
                self.drift_lines_ += ax.plot(
                    drifts,
                    np.zeros(len(drifts)),
                    transform=ax.get_xaxis_transform(),
                    color=color,
                    marker="^",
                    linestyle="",
                    clip_on=False,
                )
        ax.set(xlabel="rows", ylabel=self.metric.replace("_", " "))
        ax.legend(title=self._windows())
        return self

    def _windows(self):
        # Title of the legend: the number of rows per window. The last window may be
        # shorter, so it is ignored unless it is the only one.
        steps = {
            int(step)
            for rows in self.rows.values()
            for step in np.diff(rows[:-1], prepend=0)
        } or {int(rows[-1]) for rows in self.rows.values() if len(rows)}
        if len(steps) == 1:
            return f"windows of {steps.pop():,} rows"
        return f"windows of {min(steps):,} to {max(steps):,} rows" if steps else None


def _window_metric(record, metric):
    value = getattr(record, f"window_{metric}", record.window_scores.get(metric))
    if value is None:
        names = [
            name.removeprefix("window_")
            for name in dir(record)
            if name.startswith("window_") and name != "window_scores"
        ]
        raise ValueError(
            f"metric must be one of {sorted([*names, *record.window_scores])}. Got "
            f"{metric!r} instead."
        )
    return value


def _with_drifts(model, run):
    """Return the records of a run, and the rows at which drifts were detected.

    If the model does not store these rows, they are the ends of windows.
    """
    records, drifts = [], []
    before = _n_drifts(model)
    for record in run:
        records.append(record)
        drifts += [record.n_rows] * (_n_drifts(model) - before)
        before = _n_drifts(model)
    exact = getattr(model, "drifts_", None)
    return records, drifts if exact is None else [drift.row for drift in exact]


def _n_drifts(model):
    return getattr(model, "n_drifts_", 0) if hasattr(model, "classes_") else 0
