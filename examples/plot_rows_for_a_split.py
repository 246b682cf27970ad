"""
How many rows does each split rule need?
========================================

A split rule that never splits is as useless as one that always does. Here a node holds
two balanced classes, and one candidate makes two equal halves: one with a share of the
first class, the other with the same share of the second. The curves show how many rows
each rule needs to accept this split.
"""

import matplotlib.pyplot as plt
import numpy as np

from skconftree.bounds import CredibleBound, HoeffdingBound, PossibilisticBound

bounds = {
    "credible, delta 0.1": CredibleBound(delta=0.1),
    "credible, delta 0.01": CredibleBound(delta=0.01),
    "Hoeffding against no split, delta 0.1": HoeffdingBound(0.1, against="no_split"),
    "Hoeffding against no split, delta 1e-7": HoeffdingBound(1e-7, against="no_split"),
    "possibilistic, all tests": PossibilisticBound(correction="all_tests"),
}

# %%
# Every bound can evaluate one candidate split without a tree. The search doubles the
# number of rows until the bound accepts it, and then bisects the interval.


def rows_until_split(bound, share, n_tests=100, most=2**20):
    """Find the smallest node, in steps of twenty rows, that the bound would split."""

    def splits(half):
        children = half * np.array([[share, 1 - share], [1 - share, share]])
        return bound.evaluate(children, criterion="entropy", n_tests=n_tests).split

    size = 10
    while not splits(size):
        size *= 2
        if size > most:
            return np.nan
    low, high = (size // 20, size // 10) if size > 10 else (0, 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if splits(10 * middle) else (middle, high)
    return 20 * high


shares = [1.0, 0.9, 0.8, 0.7, 0.6]
_, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, bound in bounds.items():
    rows = [rows_until_split(bound, share) for share in shares]
    ax.plot(shares, rows, marker="o", label=name)
ax.set_yscale("log")
ax.set_xticks(shares)
ax.invert_xaxis()
ax.set_xlabel("share of the larger class in each half")
ax.set_ylabel("rows of the node until the split")
ax.legend(fontsize=8)

# %%
# The possibilistic bound was given a number of 100 candidate splits; the others do not
# use this number here.
