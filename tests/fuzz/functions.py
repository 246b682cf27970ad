"""Calls of the functions and the parameter objects of `bounds`."""

import numpy as np

from skconftree import bounds

from .findings import require
from .parameters import draw_bound

COUNTS = (0, 0, 1, 2, 3, 7, 50, 1000, 10**6, 0.5, 0.25, 1e-9, 1e12, 9e15)
EVEN = (1.0, 1e6, 1e12, 9e15)  # of all cells of a table
WRONG = (-1.0, np.nan, np.inf)


def call_functions(sequence):
    """One call of each of some functions, with counts from small to huge."""
    draw = sequence.draw
    tables = _tables(draw)
    counts = tables[..., 0, :]
    n = np.maximum(counts.sum(axis=-1), 1.0)
    delta = draw.one([1e-12, 0.01, 0.3, 0.49])
    criterion = draw.one(["gini", "entropy", "kearns_mansour"])
    calls = {
        "gtest_pvalue": (lambda: bounds.gtest_pvalue(tables), 0.0, 1.0),
        "chi2_pvalue": (
            lambda: bounds.chi2_pvalue(
                tables, fisher=draw.one(["freeman_halton", "point"])
            ),
            0.0,
            1.0,
        ),
        "log_evalue": (
            lambda: bounds.log_evalue(tables, a=draw.one([0.5, 1e-3, 9.0])),
            -np.inf,
            np.inf,
        ),
        "log_bayes_factor": (
            lambda: bounds.log_bayes_factor(tables, a=draw.one([None, 0.5])),
            -np.inf,
            np.inf,
        ),
        "ec2_score": (lambda: bounds.ec2_score(tables), 0.0, 1.0),
        "ec2_confidence": (
            lambda: bounds.ec2_confidence(
                tables,
                draw.whole(0, 2000),
                draw.one([0.0, 0.1, 0.99]),
                error_outcomes=draw.one(["uniform", "non_uniform"]),
                margin=draw.one([0.0, 1e300]),
            ),
            0.0,
            1.0,
        ),
        "credible_interval": (
            lambda: bounds.credible_interval(
                counts,
                delta,
                criterion=criterion,
                prior=draw.one(["uniform", "perks"]),
            ),
            -1e-9,
            np.log(64),
        ),
        "possibilistic_entropy": (
            lambda: bounds.possibilistic_entropy(counts, delta),
            0.0,
            1.0 + 1e-9,
        ),
        "possibilistic_quality": (
            lambda: bounds.possibilistic_quality(
                counts.reshape(-1, counts.shape[-1]) + 0.5
            ),
            0.0,
            np.inf,
        ),
        "agresti_coull_upper": (
            lambda: bounds.agresti_coull_upper(draw.rng.random(n.shape), n, delta),
            0.0,
            1.0,
        ),
        "hoeffding_radius": (lambda: bounds.hoeffding_radius(n, delta), 0.0, np.inf),
        "mcdiarmid_radius": (
            lambda: bounds.mcdiarmid_radius(n, delta, n_classes=5),
            0.0,
            np.inf,
        ),
        "derosa_radius": (
            lambda: bounds.derosa_radius(n, delta, criterion=criterion, n_classes=3),
            0.0,
            np.inf,
        ),
        "derosa_share": (lambda: bounds.derosa_share(delta, n=n, depth=3), 0.0, 1.0),
        "derosa_practical_radius": (
            lambda: bounds.derosa_practical_radius(n, time=n + 5, n_attributes=4),
            0.0,
            np.inf,
        ),
        "binomial_upper": (lambda: bounds.binomial_upper(n / 3, n, delta), 0.0, 1.0),
        "noise_beta": (lambda: bounds.noise_beta(delta, draw.whole(2, 9)), 0.0, 1.0),
    }
    for name in draw.some(sorted(calls), 0.25):
        function, low, high = calls[name]
        found = np.asarray(sequence.call(name, function))
        require(
            not np.isnan(found).any()
            and (found >= low).all()
            and (found <= high).all(),
            f"{name} out of its range",
            lambda found=found, name=name: f"{found} of {tables.tolist()}",
        )


def call_bound(sequence):
    """A bound asked about one test, without a tree."""
    draw = sequence.draw
    bound, criteria = draw_bound(draw)
    if bound is None:
        return
    table = _tables(draw, leading=())
    if not table.any():
        table[0, 0] = 1.0  # of no rows at all it is not asked
    bound.kernel(draw.one(criteria), table.shape[-1])
    said = sequence.call(
        f"{type(bound).__name__}.evaluate",
        bound.evaluate,
        table,
        criterion=draw.one(criteria),
        n_tests=draw.one([1, 7, 10**6]),
        depth=draw.whole(0, 40),
        attributes=draw.one([1, 30]),
        attempt=draw.one([1, 2, 10**5]),
        pool=draw.one([None, table.sum(axis=1) + 3.0]),
        time=draw.one([None, 1e9]),
    )
    require(said.split in (True, False), "split of a bound")


def call_functions_wrongly(sequence):
    """Counts that are none must be refused by ValueError."""
    draw = sequence.draw
    tables = _tables(draw)
    tables.flat[draw.whole(0, tables.size - 1)] = draw.one(WRONG)
    names = (
        "gtest_pvalue",
        "chi2_pvalue",
        "log_evalue",
        "log_bayes_factor",
        "ec2_score",
    )
    function = getattr(bounds, draw.one(names))
    sequence.refused("counts that are none", function, tables)


def _tables(draw, leading=None):
    if leading is None:
        leading = draw.one([(), (1,), (5,), (2, 3)])
    shape = (*leading, draw.whole(2, 4), draw.one([2, 2, 3, 5, 40]))
    pool = draw.one([COUNTS[:6], COUNTS[:8], COUNTS[:11], COUNTS])
    tables = draw.rng.choice(np.array(pool, dtype=float), shape)
    if draw.chance(0.3):
        tables[:] = draw.one(EVEN)
    return tables
