"""Strategies that are weighed against each other."""

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
    """Add the scores of several strategies.

    Each strategy's scores are first brought to [0, 1] by their smallest and largest
    value among the candidates; a strategy that scores all alike adds nothing.

    In a batch each row counts as labelled once it is chosen: scores that look at
    `dist_to_labeled` of the :class:`~skconftree.active.pool.QueryContext`, as those of
    ``"diversity"`` do, are taken again before the next row, and all are brought to
    [0, 1] among the rows that are left. What the classifier says does not change within
    a batch.

    Parameters
    ----------
    strategies : list of (str, strategy, float)
        Name, strategy and weight, above 0. A strategy is what `ActiveLearner` takes: a
        name of one, an object or a function, which gives scores; ``"auto"`` does not.

    Examples
    --------
    Uncertain rows in crowded places, far from what is known:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner, WeightedSampling
    >>> strategy = WeightedSampling([
    ...     ("uncertain", "margin", 1.0),
    ...     ("crowded", "density", 1.0),
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
        """What all of the strategies need."""
        return tuple(
            dict.fromkeys(n for _, one, _ in self._checked() for n in one.needs)
        )

    def _checked(self):
        try:
            given = [
                (str(name), one, float(weight)) for name, one, weight in self.strategies
            ]
        except (TypeError, ValueError) as error:
            raise ValueError(
                "strategies must be a list of (name, strategy, weight). Got "
                f"{self.strategies!r}."
            ) from error
        found = []
        for name, one, weight in given:
            try:
                found.append((name, resolve_strategy(one), weight))
            except ValueError as error:
                raise ValueError(f"Strategy {name!r} is none: {error}") from error
            validate_parameters(found[-1][1])
            if type(found[-1][1]).score is SamplingStrategy.score:
                raise ValueError(
                    f"Strategy {name!r} must give scores. Got {one!r}, which chooses "
                    "rows without."
                )
            if not weight > 0.0:
                raise ValueError(
                    f"The weight of strategy {name!r} must be above 0. Got {weight}."
                )
        if not found:
            raise ValueError("strategies must not be empty.")
        return found

    def score(self, context: QueryContext) -> Floats:
        parts = [(one.score(context), weight) for _, one, weight in self._checked()]
        return _sum_of(parts, np.ones(len(context.candidates), dtype=bool))

    def select(self, context: QueryContext, k: int) -> tuple[Indices, Floats]:
        if k < 2:
            return super().select(context, k)
        left = np.ones(len(context.candidates), dtype=bool)
        parts, distant = [], []
        for i, (_, one, weight) in enumerate(self._checked()):
            vars(context).pop("dist_to_labeled", None)
            parts.append((one.score(context), weight))
            if "dist_to_labeled" in vars(context):  # the strategy has looked at it
                distant.append((i, one, weight))
        chosen, worth = [], []
        while True:
            scores = checked_scores(self, _sum_of(parts, left), context)
            place = largest(np.where(left, scores, -np.inf), 1, context)[0]
            chosen.append(place)
            worth.append(scores[place])
            if len(chosen) == k:
                return np.array(chosen, dtype=np.intp), np.array(worth)
            left[place] = False
            if distant:
                context = context.with_labeled(place)
            for i, one, weight in distant:
                parts[i] = one.score(context), weight


def _sum_of(parts, left):
    # Scores of all candidates, each part from 0 to 1 among those that are left.
    total = np.zeros(len(left))
    for scores, weight in parts:
        scores = np.asarray(scores, dtype=np.float64)
        low, high = scores[left].min(), scores[left].max()
        if low < high:
            total += weight * np.clip((scores - low) / (high - low), 0.0, 1.0)
    return total
