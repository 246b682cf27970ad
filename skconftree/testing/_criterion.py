"""What a criterion has to keep."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from ._common import going_well, require

N_TESTS = 50


def check_criterion(criterion: type[Any]) -> None:
    """Check that a criterion keeps the contract of criteria.

    The forms of its score agree: that of blocks of binary tests, that of any outcomes,
    sums of terms if it is additive, and tables for whole counts. Two balanced classes
    give 1/2 a row and a pure node 0, no split is worse than none, and the impurity is
    the score in its unit.

    Parameters
    ----------
    criterion : type
        Class of the criterion; it is called with a number of classes.

    Raises
    ------
    AssertionError
        If something is wrong; the message says what.

    Examples
    --------
    >>> from skconftree.criteria._criterion import CRITERIA
    >>> from skconftree.testing import check_criterion
    >>> check_criterion(CRITERIA["gini"])
    """
    for n_classes in (2, 5):
        with going_well(
            f"{criterion.__name__} must score counts of {n_classes} classes"
        ):
            _check_scores(criterion, n_classes)


def _check_scores(criterion, n_classes):
    name, score = criterion.__name__, criterion(n_classes)
    score.check()
    require(
        pickle.loads(pickle.dumps(score)).n_classes == n_classes,
        f"A pickle of {name} must have its number of classes.",
    )
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 40, (2, N_TESTS, n_classes)).astype(float)
    prepared = criterion(n_classes)
    prepared.reserve(int((left + right).sum(axis=1).max()))
    for counts, rest in zip(left, right, strict=True):
        total = counts + rest
        _check_test(name, score, counts, rest)
        (plain,) = score.evaluate(counts[None], total)
        (tabulated,) = prepared.evaluate(counts[None], total)
        require(
            _near(plain, tabulated),
            f"{name} must score the same with tables of whole counts (reserve). Got "
            f"{tabulated} instead of {plain} for left {counts} of {total}.",
        )
        if score.additive:
            (summed,) = score.evaluate(counts[None], total, from_sums=True)
            require(
                _near(plain, summed),
                f"{name} must score the same from sums of its terms (phi). Got "
                f"{summed} instead of {plain} for left {counts} of {total}.",
            )
    # Two balanced classes give 1/2 per row, one class 0.
    balanced, pure = np.zeros((2, 1, n_classes))
    balanced[0, :2], pure[0, 1] = 7.0, 9.0
    largest, smallest = map(score.evaluate_outcomes, (balanced, pure))
    require(
        _near(largest, 7.0),
        f"{name} must give two balanced classes 1/2 per row. Got {largest / 14}.",
    )
    require(
        _near(smallest, 0.0), f"{name} must give a node of one class 0. Got {smallest}."
    )


def _check_test(name, score, left, right):
    """One binary test has one score, which is not above that of the node."""
    total = left + right
    (block,) = score.evaluate(left[None], total)
    both = score.evaluate_outcomes(np.array([left, right]))
    require(
        _near(block, both),
        f"{name} must score a test the same in a block and by its outcomes. Got "
        f"{block} and {both} for {left} and {right}.",
    )
    whole = score.evaluate_outcomes(total[None])
    n, (impurity,) = total.sum(), score.impurities(total[None])
    require(
        _near(whole * score.unit, n * impurity),
        f"The impurity of {name} must be its score a row times its unit "
        f"({score.unit}). Got {impurity} and {whole / n} for {total}.",
    )
    require(
        block <= whole * (1 + 1e-9) + 1e-9,
        f"{name} must not score a split worse than none. Got {block} and {whole} for "
        f"{left} and {right}.",
    )


def _near(actual, expected):
    return bool(np.isclose(actual, expected, rtol=1e-9, atol=1e-9))
