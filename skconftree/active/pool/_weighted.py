"""Weighted combination of query strategies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._compat import validate_parameters
from ...utils._types import Floats, Indices
from .._registry import resolve_strategy
from .._strategy import SamplingStrategy, checked_scores, largest

if TYPE_CHECKING:
    from ._context import QueryContext


class WeightedSampling(SamplingStrategy):
    """Weighted sum of the scores of several query strategies.

    The scores of each strategy are scaled to [0, 1] by their minimum and maximum over
    the candidates (the rows that can be queried); constant scores contribute 0.

    In a batch, a row counts as labeled once it is selected. Scores that use
    `dist_to_labeled` of the :class:`~skconftree.active.pool.QueryContext`, the squared
    distance to the nearest labeled row, such as those of ``"diversity"``, are computed
    again before the next row is selected, and all scores are scaled to [0, 1] over the
    remaining rows. Predictions of the classifier do not change within a batch.

    Parameters
    ----------
    strategies : list of (str, strategy, float)
        Name, strategy and positive weight of each. A strategy is a name, an object or a
        function, as in `ActiveLearner`; it must return scores, which ``"auto"`` does
        not.

    Examples
    --------
    Uncertain rows in dense regions, far from labeled rows:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner, WeightedSampling
    >>> strategy = WeightedSampling([
    ...     ("uncertain", "margin", 1.0),
    ...     ("dense", "density", 1.0),
    ...     ("new", "diversity", 1.0),
    ... ])
    >>> X, y = load_iris(return_X_y=True)
    >>> known = [label if i % 5 == 0 else None for i, label in enumerate(y)]
    >>> learner = ActiveLearner(GaussianNB(), strategy=strategy, random_state=0)
    >>> len(learner.fit(X, known).query(3))
    3
    """

    def __init__(self, strategies: Sequence[Any]) -> None:
        self.strategies = strategies

    @property
    def needs(self) -> tuple[str, ...]:
        """Capabilities that the strategies need."""
        return tuple(
            dict.fromkeys(
                n for _, strategy, _ in self._checked() for n in strategy.needs
            )
        )

    def _checked(self):
        try:
            entries = [
                (str(name), strategy, float(weight))
                for name, strategy, weight in self.strategies
            ]
        except (TypeError, ValueError) as error:
            raise ValueError(
                "strategies must be a list of (name, strategy, weight). Got "
                f"{self.strategies!r}."
            ) from error
        checked = []
        for name, strategy, weight in entries:
            try:
                checked.append((name, resolve_strategy(strategy), weight))
            except ValueError as error:
                raise ValueError(f"Strategy {name!r} is invalid: {error}") from error
            validate_parameters(checked[-1][1])
            if type(checked[-1][1]).score is SamplingStrategy.score:
                raise ValueError(
                    f"Strategy {name!r} must return scores. Got {strategy!r}, which "
                    "selects rows without scores."
                )
            if not weight > 0.0:
                raise ValueError(
                    f"The weight of strategy {name!r} must be above 0. Got {weight}."
                )
        if not checked:
            raise ValueError(
                "strategies must not be empty. Pass at least one (name, strategy, "
                "weight)."
            )
        return checked

    def score(self, context: QueryContext) -> Floats:
        parts = [
            (strategy.score(context), weight) for _, strategy, weight in self._checked()
        ]
        return _sum_of(parts, np.ones(len(context.candidates), dtype=bool))

    def select(self, context: QueryContext, k: int) -> tuple[Indices, Floats]:
        if k < 2:
            return super().select(context, k)
        remaining = np.ones(len(context.candidates), dtype=bool)
        parts, distance_based = [], []
        for i, (_, strategy, weight) in enumerate(self._checked()):
            vars(context).pop("dist_to_labeled", None)
            context.follows_labels = False
            parts.append((strategy.score(context), weight))
            # whether the strategy has used distances that labels change
            if context.follows_labels or "dist_to_labeled" in vars(context):
                distance_based.append((i, strategy, weight))
        chosen, chosen_scores = [], []
        while True:
            scores = checked_scores(self, _sum_of(parts, remaining), context)
            selected = largest(np.where(remaining, scores, -np.inf), 1, context)[0]
            chosen.append(selected)
            chosen_scores.append(scores[selected])
            if len(chosen) == k:
                return np.array(chosen, dtype=np.intp), np.array(chosen_scores)
            remaining[selected] = False
            if distance_based:
                context = context.with_labeled(selected)
            for i, strategy, weight in distance_based:
                parts[i] = strategy.score(context), weight


def _sum_of(parts, remaining):
    # Sum of scores, each scaled to [0, 1] over the remaining candidates.
    total = np.zeros(len(remaining))
    for scores, weight in parts:
        scores = np.asarray(scores, dtype=np.float64)
        low, high = scores[remaining].min(), scores[remaining].max()
        if low < high:
            total += weight * np.clip((scores - low) / (high - low), 0.0, 1.0)
    return total
