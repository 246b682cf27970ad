"""Tests of one split on new rows: its branches x the classes, given both margins."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln
from scipy.stats import random_table

from skconftree.bounds import chi2_pvalue, fisher_pvalue

EXACT, CHI2, DRAWN = "exact", "chi-squared", "permutations"
DRAWS = 9_999
DRAWS_A_LEVEL = 10  # so many draws have a p-value as small as the level
MOST_DRAWS = 1_000_000
CELLS_AT_ONCE = 4_000_000
# Expected counts from which chi-squared is taken to hold (Cochran's rule).
LARGE, LARGE_SHARE = 5.0, 0.8
# More classes have too many vertices to look at.
MOST_PARTS = 10
NEVER = 1e-15  # below it equally unlikely tables do not matter
ROUNDING = 1e-7


class Tested(NamedTuple):
    """P-value of a table, and by which test."""

    p: float
    method: str


def margins(table):
    """Rows of the branches and of the classes that have any."""
    branches, classes = table.sum(axis=1), table.sum(axis=0)
    return branches[branches > 0.0], classes[classes > 0.0]


def pvalue_of(table, level, rng):
    """Test the independence of branches and classes.

    Exactly while that is cheap, else by chi-squared where the expected counts allow it,
    else by random tables of the same margins; of these as many as `level` needs.
    """
    p = float(fisher_pvalue(table))
    if p == p:
        return Tested(p, EXACT)
    branches, classes = margins(table)
    expected = np.outer(branches, classes) / branches.sum()
    if expected.min() >= 1.0 and (expected >= LARGE).mean() >= LARGE_SHARE:
        return Tested(float(chi2_pvalue(table)), CHI2)
    return Tested(drawn_pvalue(table, level, rng), DRAWN)


def drawn_pvalue(table, level, rng):
    """Share of random tables of the same margins that are as unlikely or more so."""
    branches, classes = margins(table)
    n_draws = int(min(max(DRAWS, np.ceil(DRAWS_A_LEVEL / level)), MOST_DRAWS))
    observed = gammaln(table + 1.0).sum()
    limit = observed - ROUNDING
    tables = random_table(branches.astype(int), classes.astype(int))
    at_once = max(CELLS_AT_ONCE // (len(branches) * len(classes)), 1)
    as_unlikely, left = 0, n_draws
    while left:
        n = min(at_once, left)
        drawn = tables.rvs(n, random_state=rng)
        as_unlikely += int((gammaln(drawn + 1.0).sum(axis=(1, 2)) >= limit).sum())
        left -= n
    return (as_unlikely + 1.0) / (n_draws + 1.0)


def least_pvalue(table):
    """P-value of the most extreme table of these margins, or a bound below it.

    Exact for two branches or two classes, the other side having few.
    """
    branches, classes = margins(table)
    if len(branches) < 2 or len(classes) < 2:
        return 1.0
    scale = (
        gammaln(branches + 1.0).sum()
        + gammaln(classes + 1.0).sum()
        - gammaln(branches.sum() + 1.0)
    )
    if len(classes) == 2:
        branches, classes = classes, branches
    if len(branches) == 2 and len(classes) <= MOST_PARTS:
        extreme, cells = _extreme_of_two(branches, classes)
        p = float(np.exp(scale - cells))
        if p > NEVER:  # there may be others as unlikely
            exact = float(fisher_pvalue(extreme))
            p = exact if exact == exact else p
        return min(p, 1.0)
    cells = min(_most_of_each(branches, classes), _most_of_each(classes, branches))
    return float(min(np.exp(scale - cells), 1.0))


def _extreme_of_two(branches, classes):
    # The sum of log cell! is convex: it is largest at a vertex, where every class but
    # one is as a whole in one of the branches.
    k = len(classes)
    whole = (np.arange(2**k)[:, np.newaxis] >> np.arange(k)) & 1 == 1
    rest = branches[0] - whole @ classes
    part = np.where(whole, -1.0, rest[:, np.newaxis])
    possible = (part >= 0.0) & (part <= classes)
    part = np.where(possible, part, 0.0)
    gain = (
        gammaln(part + 1.0)
        + gammaln(np.maximum(classes - part, 0.0) + 1.0)
        - gammaln(classes + 1.0)
    )
    gain[~possible] = -np.inf
    place, split = np.unravel_index(gain.argmax(), gain.shape)
    first = np.where(whole[place], classes, 0.0)
    first[split] = part[place, split]
    most = gammaln(classes + 1.0).sum() + gain[place, split]
    return np.stack([first, classes - first]), most


def _most_of_each(rows, columns):
    # Of each row alone: the largest columns are filled first, which majorizes all else.
    before = np.concatenate([[0.0], np.cumsum(np.sort(columns)[::-1])])
    filled = np.minimum(before, rows[:, np.newaxis])
    return gammaln(np.diff(filled, axis=1) + 1.0).sum()
