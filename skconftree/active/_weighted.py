"""Strategies that are weighed against each other."""

import numpy as np

from ._registry import resolve_strategy
from ._strategy import SamplingStrategy


class WeightedSampling(SamplingStrategy):
    """Add the scores of several strategies.

    Each strategy's scores are first brought to [0, 1] by their smallest and largest
    value among the candidates; a strategy that scores all alike adds nothing.

    Parameters
    ----------
    strategies : list of (str, strategy, float)
        Name, strategy and weight, above 0. A strategy is what `ActiveLearner` takes: a
        name of one, an object or a function, which gives scores; ``"auto"`` does not.
        In a batch, scores are not changed by the rows that are chosen.

    Examples
    --------
    Uncertain rows in crowded places, far from what is known:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner, DiversitySampling, WeightedSampling
    >>> strategy = WeightedSampling([
    ...     ("uncertain", "margin", 1.0),
    ...     ("crowded", "density", 1.0),
    ...     ("new", DiversitySampling(), 1.0),
    ... ])
    >>> X, y = load_iris(return_X_y=True)
    >>> known = [label if i % 5 == 0 else None for i, label in enumerate(y)]
    >>> learner = ActiveLearner(GaussianNB(), strategy=strategy, random_state=0)
    >>> len(learner.fit(X, known).query(3))
    3
    """

    def __init__(self, strategies):
        self.strategies = strategies

    @property
    def needs(self):
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

    def score(self, context):
        total = np.zeros(len(context.candidates))
        for _, one, weight in self._checked():
            scores = np.asarray(one.score(context), dtype=np.float64)
            low, high = scores.min(), scores.max()
            if low < high:
                total += weight * (scores - low) / (high - low)
        return total
