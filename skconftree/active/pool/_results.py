"""Learning curves of query strategies, and their figures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import wilcoxon


class StrategySummary(NamedTuple):
    """What one strategy was worth, see :meth:`SimulationResult.summary`.

    Parameters
    ----------
    strategy : str
        Its name.
    area : float
        Mean score over all numbers of labels and all runs.
    area_error : float
        Its standard error over the runs.
    final : float
        Mean score at the end.
    gain : float
        Mean difference of the area to that of random sampling.
    wins : int
        Runs in which the area was larger than that of random sampling.
    p_value : float
        Of Wilcoxon's signed-rank test of these differences; NaN for random sampling
        or if there are fewer than six runs.
    labels_to_random : float
        Labels at which the mean score reaches the final one of random sampling; NaN
        if it does not.
    seconds : float
        Mean CPU seconds of a query.

    See Also
    --------
    simulate : Makes it.

    Examples
    --------
    >>> from skconftree.active.pool import StrategySummary
    >>> StrategySummary._fields[:3]
    ('strategy', 'area', 'area_error')
    """

    strategy: str
    area: float
    area_error: float
    final: float
    gain: float
    wins: int
    p_value: float
    labels_to_random: float
    seconds: float


class SimulationResult(NamedTuple):
    """Learning curves of :func:`~skconftree.active.simulate`.

    Parameters
    ----------
    strategies : list of str
        Names.
    n_labels : ndarray of shape (n_steps,)
        Labels requested at each step.
    scores : ndarray of shape (n_strategies, n_runs, n_steps)
        Scores on the test rows.
    seconds : ndarray of shape (n_strategies, n_runs)
        CPU seconds of a query, on average.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree.active.pool import SimulationResult
    >>> scores = np.array([[[0.5, 0.7]], [[0.6, 0.8]]])
    >>> seconds = np.zeros((2, 1))
    >>> result = SimulationResult(["random", "mine"], np.array([1, 2]), scores, seconds)
    >>> round(result.summary()[1].gain, 3)
    0.1
    """

    strategies: list
    n_labels: np.ndarray
    scores: np.ndarray
    seconds: np.ndarray

    def summary(self) -> list[StrategySummary]:
        """Figures of each strategy, beside random sampling.

        Returns
        -------
        list of StrategySummary
        """
        area = self.scores.mean(axis=2)
        curves = self.scores.mean(axis=1)
        n_runs = area.shape[1]
        base = self.strategies.index("random")
        out = []
        for i, name in enumerate(self.strategies):
            gap = area[i] - area[base]
            p = np.nan
            if i != base and n_runs > 5 and gap.any():
                p = float(wilcoxon(gap).pvalue)
            enough = np.flatnonzero(curves[i] >= curves[base, -1])
            spread = area[i].std(ddof=1) / np.sqrt(n_runs) if n_runs > 1 else np.nan
            out.append(
                StrategySummary(
                    name,
                    float(area[i].mean()),
                    float(spread),
                    float(curves[i, -1]),
                    float(gap.mean()),
                    int((gap > 0).sum()),
                    p,
                    float(self.n_labels[enough[0]]) if len(enough) else np.nan,
                    float(self.seconds[i].mean()),
                )
            )
        return out
