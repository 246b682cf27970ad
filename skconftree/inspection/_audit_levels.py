"""The level of each split when many are tested at once."""

import numpy as np


def countable(least, alpha):
    """Which tests can reach their share of the level at all (Tarone).

    The smallest k such that at most k tests can reach alpha / k; these are corrected
    for, and no others.
    """
    ordered = np.sort(least)
    for k in range(1, len(ordered) + 1):
        if np.searchsorted(ordered, alpha / k, side="right") <= k:
            return least <= alpha / k
    return np.zeros(len(least), bool)


def holm(p, alpha):
    """Level of each p-value, the smallest first: alpha / m, alpha / (m - 1), ..."""
    m = len(p)
    levels = np.empty(m)
    left = m
    for place in np.argsort(p, kind="stable"):
        levels[place] = alpha / left
        if p[place] <= alpha / left and left > 1:
            left -= 1
    return levels


def top_down(p, is_tested, parent, alpha):
    """Level of each split when a split is tested once those above it are confirmed.

    The root has the whole level. What a confirmed split had is left to the splits
    below it, in proportion to how many splits there are below each branch, and where
    all splits below a branch are confirmed its part goes to its siblings. Splits that
    are not tested are passed through. `parent` is that of each split among the splits,
    which come after their parents; -1 at the root.
    """
    n = len(p)
    size = np.ones(n)
    for one in range(n - 1, 0, -1):
        size[parent[one]] += size[one]
    levels, confirmed = np.zeros(n), np.zeros(n, bool)
    while True:
        now = _loads(~is_tested | confirmed, size, parent, alpha)
        levels[~confirmed] = now[~confirmed]
        more = is_tested & ~confirmed & (levels > 0.0) & (p <= levels)
        if not more.any():
            return levels
        confirmed |= more


def _loads(is_open, size, parent, alpha):
    # A split that is open hands its level on; it is settled if all below it are.
    n = len(size)
    is_settled = is_open.copy()
    for one in range(n - 1, 0, -1):
        if not is_settled[one]:
            is_settled[parent[one]] = False
    below = np.zeros(n)
    for one in range(1, n):
        if not is_settled[one]:
            below[parent[one]] += size[one]
    levels = np.zeros(n)
    if n:
        levels[0] = alpha
    for one in range(1, n):
        above = parent[one]
        if is_open[above] and not is_settled[one]:
            levels[one] = levels[above] * size[one] / below[above]
    return levels
