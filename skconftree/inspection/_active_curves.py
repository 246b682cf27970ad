"""Learning curves of query strategies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skconftree.tree import class_colors

if TYPE_CHECKING:
    from ..active.pool import SimulationResult

BASELINE = "#8a8a8a"  # random sampling: what the others have to beat


class ActiveCurveDisplay:
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
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_, self.bands_ = [], []
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
