"""Number of examples of a property, and cases that only the slow tier runs."""

import os
from itertools import product

import pytest

PROFILE = os.environ.get("SKCONFTREE_HYPOTHESIS")
NIGHT = PROFILE == "nightly"


def examples(n, by_day=None):
    """Return the number of examples: `n` at night, by default a tenth of them.

    `by_day` replaces the tenth. Emulated processors, which take twenty times as long,
    try three.
    """
    if NIGHT:
        return n
    if PROFILE == "emulated":
        return min(n, 3)
    return max(n // 10, 2) if by_day is None else by_day


def cases(everything, by_day):
    """Return all cases for `parametrize`; those that are not in `by_day` are slow.

    Each case by day differs from the others in kind, not in size alone.
    """
    return [
        one
        if one in by_day
        else pytest.param(
            *(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.slow
        )
        for one in everything
    ]


def crossed(*factors):
    """Return all combinations of the values of factors, for `parametrize`.

    By default only as many as the longest factor has values are tried, so that each
    value of each factor occurs; the other combinations are slow.
    """
    factors = [list(factor) for factor in factors]
    sizes = [len(factor) for factor in factors]
    by_day, period = [], 1
    for size in sizes:
        # A factor turns once while those before it run through their combinations, if
        # there is time for all of its values.
        step = period if period * (size - 1) < max(sizes) else 1
        by_day.append([i // step % size for i in range(max(sizes))])
        period *= size if size < max(sizes) else 1
    chosen = set(zip(*by_day, strict=True))
    return [
        pytest.param(
            *(factor[i] for factor, i in zip(factors, places, strict=True)),
            marks=() if places in chosen else pytest.mark.slow,
        )
        for places in product(*map(range, sizes))
    ]
