"""Loan applicants after Agrawal et al."""

import numpy as np
from sklearn.utils import check_random_state

from skconftree.datasets._generators import concept_of_rows, flip_labels

FEATURES = (
    "salary",
    "commission",
    "age",
    "elevel",
    "car",
    "zipcode",
    "hvalue",
    "hyears",
    "loan",
)
# Smallest and largest value of the features that may be perturbed.
RANGES = {
    "salary": (20_000, 150_000),
    "commission": (10_000, 75_000),
    "age": (20, 80),
    "hvalue": (50_000, 1_350_000),
    "hyears": (1, 30),
    "loan": (0, 500_000),
}


def make_agrawal(
    n_samples=1000,
    *,
    concept=1,
    drift_at=None,
    drift_width=0,
    perturbation=0.0,
    noise=0.0,
    random_state=None,
):
    """Make a stream of loan applicants, judged by one of ten rules.

    Nine features, six numeric (`salary`, `commission`, `age`, `hvalue`, `hyears`,
    `loan`) and three nominal ones as codes (`elevel`, `car`, `zipcode`: columns 3, 4,
    5). The rules range from two cuts of one feature (1) over boxes (2 to 6) to
    oblique borders (7 to 10).

    Parameters
    ----------
    n_samples : int, default=1000
        Rows.
    concept : int or sequence of int, default=1
        Which rule, 1 to 10. A sequence makes the stream drift from one to the next.
    drift_at : int, float, sequence of them, or None, default=None
        First row of each concept but the first: a row if an integer, a share of the
        rows if a float. None makes all concepts equally long.
    drift_width : float, default=0
        Rows that a change takes: how long about two concepts are mixed. 0 is abrupt.
    perturbation : float, default=0.0
        Numeric features are moved, after the rule has judged, by a uniform number of
        at most half this share of their range, and stay in the range. A commission
        of zero stays zero.
    noise : float, default=0.0
        Probability that a label is flipped.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same rows on every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 9), float32
        Features, in the order salary, commission, age, elevel, car, zipcode, hvalue,
        hyears, loan.
    y : ndarray of shape (n_samples,), intp
        0 for the rule's group A, 1 for group B.

    References
    ----------
    R. Agrawal, T. Imielinski and A. Swami, "Database mining: a performance
    perspective", IEEE Transactions on Knowledge and Data Engineering 5(6), 1993,
    section V and appendix.

    Examples
    --------
    >>> from common.agrawal import make_agrawal
    >>> X, y = make_agrawal(1000, concept=1, random_state=0)
    >>> age = X[:, 2]
    >>> bool((y == ((age >= 40) & (age < 60))).all())
    True

    Two abrupt changes, the second back to the first rule:

    >>> X, y = make_agrawal(9000, concept=[1, 7, 1], random_state=0)
    """
    rng = check_random_state(random_state)
    concepts = concept_of_rows(
        n_samples, concept, drift_at, drift_width, rng, first=1, last=10
    )
    X = np.empty((n_samples, len(FEATURES)), dtype=np.float32)
    column = {name: X[:, j] for j, name in enumerate(FEATURES)}
    column["salary"][:] = rng.uniform(*RANGES["salary"], size=n_samples)
    commission = rng.uniform(*RANGES["commission"], size=n_samples)
    column["commission"][:] = np.where(column["salary"] < 75_000, commission, 0.0)
    column["age"][:] = rng.randint(20, 81, size=n_samples)
    column["elevel"][:] = rng.randint(0, 5, size=n_samples)
    column["car"][:] = rng.randint(1, 21, size=n_samples)
    column["zipcode"][:] = rng.randint(0, 9, size=n_samples)
    price = (9 - column["zipcode"]) * 100_000
    column["hvalue"][:] = rng.uniform(0.5, 1.5, size=n_samples) * price
    column["hyears"][:] = rng.randint(1, 31, size=n_samples)
    column["loan"][:] = rng.uniform(*RANGES["loan"], size=n_samples)

    y = np.empty(n_samples, dtype=np.intp)
    for rule in np.unique(concepts):
        rows = slice(None) if (concepts == rule).all() else concepts == rule
        y[rows] = ~group_a(rule, {k: v[rows].astype(float) for k, v in column.items()})

    if perturbation > 0:
        for name, (low, high) in RANGES.items():
            shift = rng.uniform(-0.5, 0.5, size=n_samples)
            shift *= perturbation * (high - low)
            moved = np.clip(column[name] + shift, low, high)
            if name == "commission":
                moved = np.where(column[name] > 0, moved, 0.0)
            column[name][:] = moved
    return X, flip_labels(y, noise, 2, rng)


def group_a(rule, x):
    """Tell who belongs to group A by a rule, from 1 to 10, of features by name."""
    # Limits that depend on the age group: young, middle, old.
    group = (x["age"] >= 40).astype(int) + (x["age"] >= 60)

    def between(values, low, high):
        return (values >= low) & (values <= high)

    def by_age(values, low, high, scale=1000):
        low, high = scale * np.array(low), scale * np.array(high)
        return between(values, low[group], high[group])

    income = x["salary"] + x["commission"]
    if rule == 1:
        return group != 1
    if rule == 2:
        return by_age(x["salary"], [50, 75, 25], [100, 125, 75])
    if rule in (3, 4):
        usual = by_age(x["elevel"], [0, 1, 2], [1, 3, 4], scale=1)
        if rule == 3:
            return usual
        return np.where(
            usual,
            by_age(x["salary"], [25, 50, 50], [75, 100, 100]),
            by_age(x["salary"], [50, 75, 25], [100, 125, 75]),
        )
    if rule == 5:
        return np.where(
            by_age(x["salary"], [50, 75, 25], [100, 125, 75]),
            by_age(x["loan"], [100, 200, 300], [300, 400, 500]),
            by_age(x["loan"], [200, 300, 100], [400, 500, 300]),
        )
    if rule == 6:
        return by_age(income, [50, 75, 25], [100, 125, 75])
    left = 0.67 * income
    if rule == 7:
        return left - 0.2 * x["loan"] - 20_000 > 0
    left -= 5000 * x["elevel"]
    if rule == 8:
        return left - 20_000 > 0
    if rule == 9:
        return left - 0.2 * x["loan"] - 10_000 > 0
    equity = 0.1 * x["hvalue"] * np.maximum(x["hyears"] - 20, 0)
    return left + 0.2 * equity - 10_000 > 0
