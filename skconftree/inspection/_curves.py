"""Learning curves of query strategies, and of models along a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skconftree.evaluation import PrequentialRecord, iter_prequential
from skconftree.tree import class_colors

from ..utils._types import Estimator, LabelsLike, TableLike

if TYPE_CHECKING:
    from ..active.pool import SimulationResult

BASELINE = "#8a8a8a"  # random sampling, and what needs no model


class _CurveDisplay:
    # A display of curves in axes; `ax_` and `figure_` are those drawn on.
    def _begin(self, ax):
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_, self.lines_ = ax, ax.figure, []
        return ax


class ActiveCurveDisplay(_CurveDisplay):
    """Scores of query strategies against the labels they requested.

    Each line is the mean over the runs of :func:`skconftree.active.simulate`, and the
    band around it one standard error to either side. Random sampling is drawn in grey.

    Make one with :meth:`from_simulation`.

    Parameters
    ----------
    strategies : list of str
        Names.
    n_labels : ndarray of shape (n_steps,)
        Labels requested at each step.
    scores : ndarray of shape (n_strategies, n_runs, n_steps)
        Scores on rows outside the pool.

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
    skconftree.active.simulate : Makes the curves.

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

    def __init__(
        self, strategies: Sequence[str], n_labels: NDArray[Any], scores: NDArray[Any]
    ) -> None:
        self.strategies = strategies
        self.n_labels = n_labels
        self.scores = scores

    @classmethod
    def from_simulation(
        cls,
        result: SimulationResult,
        *,
        strategies: Sequence[str] | None = None,
        score_name: str = "score",
        ax: Any = None,
    ) -> Self:
        """Draw what `simulate` has found.

        Parameters
        ----------
        result : SimulationResult
            What :func:`skconftree.active.simulate` gives.
        strategies : list of str, default=None
            Those to draw, in this order; None draws all.
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
        places = [names.index(name) for name in chosen]
        display = cls(chosen, result.n_labels, np.asarray(result.scores)[places])
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


class PrequentialDisplay(_CurveDisplay):
    """Figures of models along a stream, window by window, and the drifts they found.

    Each point of a line is the figure of one window, at its last row. A triangle at the
    foot is a drift that the model of this colour found. Of accuracies the label before,
    which needs no model, is drawn in grey.

    Make one with :meth:`from_estimator` or :meth:`from_records`.

    Parameters
    ----------
    rows : dict of str to ndarray of shape (n_windows,)
        For each model the rows learnt at the end of each window.
    scores : dict of str to ndarray of shape (n_windows,)
        Figures of the windows.
    drifts : dict of str to ndarray of int, default=None
        Rows after which drifts were found.
    baseline : tuple of two ndarrays, default=None
        Rows and figures of predicting the label before.
    metric : str, default="accuracy"
        What the figures are.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes drawn on.
    figure_ : matplotlib.figure.Figure
        The figure they are in.
    lines_ : list of matplotlib.lines.Line2D
        The curve of each model.
    drift_lines_ : list of matplotlib.lines.Line2D
        The drifts of each model that found some.
    baseline_ : matplotlib.lines.Line2D or None
        The label before.
    change_lines_ : list of matplotlib.lines.Line2D
        The changes that `plot` was told of.

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

    def __init__(
        self,
        rows: dict[str, Any],
        scores: dict[str, Any],
        *,
        drifts: dict[str, Any] | None = None,
        baseline: Any = None,
        metric: str = "accuracy",
    ) -> None:
        self.rows = rows
        self.scores = scores
        self.drifts = drifts
        self.baseline = baseline
        self.metric = metric

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
            A figure that a :class:`~skconftree.evaluation.PrequentialRecord` has of a
            window, such as ``"kappa"`` or ``"balanced_accuracy"``; or what `scoring` of
            :func:`~skconftree.evaluation.iter_prequential` knows, such as
            ``"roc_auc"``.
        window : int, default=1000
            Rows of a window.
        name : str, default=None
            Name of a single estimator; None takes that of its class.
        changes : sequence of int, default=()
            Rows at which the stream changes, if that is known: dotted lines.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; by default those of a new figure.
        **options
            For :func:`~skconftree.evaluation.iter_prequential`: `delay`, `chunk_size`
            and others.

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
        for one, model in estimator.items():
            run = iter_prequential(model, X, y, report_every=window, **options)
            records[one], drifts[one] = _with_drifts(model, run)
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
            For each model what :func:`~skconftree.evaluation.iter_prequential` yields.
        metric : str, default="accuracy"
            A figure that records have of a window, `window_scores` included.
        drifts : dict of str to sequence of int, default=None
            Rows after which a model found drifts.
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
            raise ValueError(f"drifts names {unknown[0]!r}, which has no records.")
        known = {name: list(some) for name, some in records.items()}
        rows = {
            name: np.array([one.n_rows for one in some]) for name, some in known.items()
        }
        scores = {
            name: np.array([_figure(one, metric) for one in some], dtype=float)
            for name, some in known.items()
        }
        baseline = None
        if metric == "accuracy":
            longest = max(known, key=lambda name: len(known[name]))
            before = [one.window_no_change_accuracy for one in known[longest]]
            baseline = rows[longest], np.array(before)
        drifts = {name: np.asarray(some, dtype=int) for name, some in drifts.items()}
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
                *self.baseline, color=BASELINE, label="the label before"
            )
        colors = class_colors(len(self.rows))
        for (name, rows), color in zip(self.rows.items(), colors, strict=True):
            found = np.asarray((self.drifts or {}).get(name, ()))
            label = name
            if len(found):
                label += f" ({len(found)} drift{'s' if len(found) > 1 else ''})"
            self.lines_ += ax.plot(rows, self.scores[name], color=color, label=label)
            if len(found):
                self.drift_lines_ += ax.plot(
                    found,
                    np.zeros(len(found)),
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
        steps = {
            int(step)
            for rows in self.rows.values()
            for step in np.diff(rows[:-1], prepend=0)
        } or {int(rows[-1]) for rows in self.rows.values() if len(rows)}
        if len(steps) == 1:
            return f"windows of {steps.pop():,} rows"
        return f"windows of {min(steps):,} to {max(steps):,} rows" if steps else None


def _figure(record, metric):
    found = getattr(record, f"window_{metric}", record.window_scores.get(metric))
    if found is None:
        raise ValueError(
            f"metric must be a figure of windows or in window_scores, which has "
            f"{sorted(record.window_scores)}. Got {metric!r} instead."
        )
    return found


def _with_drifts(model, run):
    """Records of a run, and the drifts found, at least the window of each."""
    records, found = [], []
    before = _n_drifts(model)
    for record in run:
        records.append(record)
        found += [record.n_rows] * (_n_drifts(model) - before)
        before = _n_drifts(model)
    exact = getattr(model, "drifts_", None)
    return records, found if exact is None else [one.row for one in exact]


def _n_drifts(model):
    return getattr(model, "n_drifts_", 0) if hasattr(model, "classes_") else 0
