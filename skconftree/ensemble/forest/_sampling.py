"""Which rows each tree of a forest sees."""

from typing import NamedTuple

import numpy as np

from .._bootstrap import draw_counts

GRAIN = 2.0**-20  # of distinct weights: sums of its multiples are exact
MOST_DRAWS = 2**31 - 1  # whole counts are added up in 32 bits


def number_of_draws(max_samples, total):
    """Resolve the parameter `max_samples`."""
    if max_samples is None:
        n_draws = round(total)
    elif isinstance(max_samples, float | np.floating):
        n_draws = round(max_samples * total)
    else:
        n_draws = int(max_samples)
        if n_draws > total:
            raise ValueError(
                f"max_samples must be at most the total weight of the rows, "
                f"{total:g}, got {max_samples!r}."
            )
    if n_draws > MOST_DRAWS:
        raise ValueError(
            f"The sample weights sum to {total:g}, which is too many rows to draw for "
            f"each tree: at most {MOST_DRAWS} are. Set max_samples, or bootstrap=False."
        )
    return max(n_draws, 1)


class Sampler(NamedTuple):
    """The samples of a forest's trees, `n_draws` rows each, repeated ones included.

    `ends` are those of a `ContentOrder`, the seed is the forest's.
    """

    ends: np.ndarray
    n_draws: int
    seed: int

    @property
    def weights(self):
        """Weight of each group of equal rows."""
        return np.diff(self.ends, prepend=0.0)

    def counts(self, tree, n_pool=0):
        """How often each group of equal rows is in the sample of a tree."""
        counts = draw_counts(self.ends, self.n_draws, self.seed, tree)
        if n_pool:
            counts = np.append(counts, np.ones(n_pool, dtype=np.uint32))
        return counts

    def distinct_weights(self, counts):
        """What the rows of a sample weigh if a repeat is no new evidence.

        Of k equal rows that have been drawn c times in all, k (1 - (1 - 1 / k)^c) have
        been drawn, on average. A weight below 1 is that of one row, 0 of one without
        label.
        """
        equal = np.maximum(self.weights, 1.0)
        drawn = counts[: len(equal)].astype(np.float64)
        distinct = np.minimum(drawn, 1.0)
        some = (equal > 1.0) & (drawn > 1.0)
        equal, drawn = equal[some], drawn[some]
        mean = -equal * np.expm1(drawn * np.log1p(-1.0 / equal))
        distinct[some] = np.rint(mean / GRAIN) * GRAIN
        return np.append(distinct, np.zeros(len(counts) - len(distinct)))
