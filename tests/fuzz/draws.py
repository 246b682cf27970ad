"""Random choices of a sequence, all of them from its seed."""

import numpy as np


class Draw:
    """A generator with the few questions that a fuzz asks."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def chance(self, share):
        return self.rng.random() < share

    def whole(self, low, high):
        return int(self.rng.integers(low, high, endpoint=True))

    def one(self, options):
        return options[int(self.rng.integers(len(options)))]

    def weighted(self, options):
        """One of the keys, by the weights that are the values."""
        names = list(options)
        ends = np.cumsum(list(options.values()))
        return names[int(np.searchsorted(ends, self.rng.random() * ends[-1], "right"))]

    def some(self, options, share):
        return [one for one in options if self.chance(share)]
