"""Calls of the functions and the parameter objects of `bounds`."""

import numpy as np

from skconftree import bounds

from .failures import require
from .parameters import draw_bound

COUNTS = (0, 0, 1, 2, 3, 7, 50, 1000, 10**6, 0.5, 0.25, 1e-9, 1e12, 9e15)
POOLS = (COUNTS[:6], COUNTS[:8], COUNTS[:11], COUNTS)
MOST = 2.0**53  # of a count
# What cells of a table have in common. Even ones of huge counts have a variance that
# is less than its own rounding; alike are outcomes that tell nothing.
SHAPES = {"any": 4, "even": 3, "pure": 1, "alike": 1}
LEADING = ((), (1,), (5,), (4, 6), (24,))
WRONG = (-1.0, np.nan, np.inf)


def call_functions(sequence):
    """One call of each of some functions, with counts from small to huge."""
    draw = sequence.draw
    tables = _tables(draw)
    calls = _of_tables(draw, tables) | _of_nodes(draw, tables[..., 0, :])
    for name in draw.some(sorted(calls), 0.25):
        function, low, high = calls[name]
        found = np.asarray(sequence.call(name, function))
        require(
            not np.isnan(found).any()
            and (found >= low).all()
            and (found <= high).all(),
            f"{name} out of its range",
            lambda found=found: f"{found.min()} to {found.max()}",
        )


def _of_tables(draw, tables):
    """Functions of tables of counts, and the ends of their ranges."""
    return {
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
        "ec2_score": (
            lambda: bounds.ec2_score(tables, normalize=draw.chance(0.7)),
            0.0,
            np.inf,
        ),
        "ec2_confidence": (
            lambda: bounds.ec2_confidence(
                tables,
                draw.whole(0, 2000),
                draw.one([0.0, 0.1, 0.99]),
                error_outcomes=draw.one(["uniform", "non_uniform"]),
                margin=draw.one([0.0, 1e300]),
                against=draw.one(["mistakes", "chance"]),
            ),
            0.0,
            1.0,
        ),
    }


def _of_nodes(draw, counts):
    """Functions of the counts or the size of a node, and the ends of their ranges."""
    n = np.maximum(counts.sum(axis=-1), 1.0)
    k = counts.shape[-1]
    delta = draw.one([1e-12, 0.01, 0.3, 0.49])
    criterion = draw.one(["gini", "entropy", "kearns_mansour"])
    prior = draw.one(["uniform", "perks"])
    form = draw.one(["tight", "paper"])
    leaf = {
        "weight": draw.one([1.0, 0.0, 1e15]),
        "predicted": draw.one([None, draw.whole(0, k - 1)]),
        "prior": prior,
    }
    return {
        "credible_interval": (
            lambda: bounds.credible_interval(
                counts, delta, criterion=criterion, prior=prior
            ),
            -1e-9,
            np.log(64),
        ),
        "confidence_sequence": (
            lambda: bounds.confidence_sequence(
                counts, delta, a=draw.one([0.5, 1e-3, 40.0])
            ),
            0.0,
            1.0,
        ),
        "risk_upper": (
            lambda: bounds.risk_upper(counts, delta, **leaf),
            0.0,
            leaf["weight"],
        ),
        "excess_risk_upper": (
            lambda: bounds.excess_risk_upper(counts, delta, **leaf),
            0.0,
            leaf["weight"],
        ),
        "consistency_radius": (
            lambda: bounds.consistency_radius(
                counts[..., 0],
                n,
                draw.one([None, delta, 1.0]),
                n_classes=k,
                form=draw.one(["theory", "practical"]),
            ),
            0.0,
            np.inf,
        ),
        "possibilistic_entropy": (
            lambda: bounds.possibilistic_entropy(
                counts, delta, normalization=draw.one(["qlog2", "shifted"])
            ),
            0.0,
            1.0 + 1e-9,
        ),
        "possibilistic_quality": (
            lambda: bounds.possibilistic_quality(
                counts.reshape(-1, k) + 0.5, delta, weighted=draw.chance(0.7)
            ),
            0.0,
            np.inf,
        ),
        "agresti_coull_upper": (
            lambda: bounds.agresti_coull_upper(draw.rng.random(n.shape), n, delta),
            0.0,
            1.0,
        ),
        "hoeffding_radius": (
            lambda: bounds.hoeffding_radius(
                n, delta, value_range=draw.one([1.0, 1e-6, 1e6])
            ),
            0.0,
            np.inf,
        ),
        "mcdiarmid_radius": (
            lambda: bounds.mcdiarmid_radius(
                n, delta, criterion=draw.one(["gini", "entropy"]), n_classes=k
            ),
            0.0,
            np.inf,
        ),
        "derosa_radius": (
            lambda: bounds.derosa_radius(
                n,
                delta,
                criterion=criterion,
                n_classes=k,
                n_outcomes=draw.whole(2, 9),
                form=form,
            ),
            0.0,
            np.inf,
        ),
        "derosa_share": (
            lambda: bounds.derosa_share(delta, n=n, depth=3, form=form),
            0.0,
            1.0,
        ),
        "derosa_practical_radius": (
            lambda: bounds.derosa_practical_radius(n, time=n + 5, n_attributes=4),
            0.0,
            np.inf,
        ),
        "binomial_upper": (lambda: bounds.binomial_upper(n / 3, n, delta), 0.0, 1.0),
        "noise_beta": (
            lambda: bounds.noise_beta(delta, draw.whole(2, 9), prior=_shares(counts)),
            0.0,
            1.0,
        ),
    }


def _shares(counts):
    # Of the first node; None if it has no rows.
    first = counts.reshape(-1, counts.shape[-1])[0]
    return first / first.sum() if first.any() else None


def call_bound(sequence):
    """A bound asked about one test, without a tree."""
    draw = sequence.draw
    bound, criteria = draw_bound(draw)
    if draw.chance(0.1):
        form = draw.one(["quadratic", "maximum"])
        bound, criteria = bounds.CTreeBound(0.05, form=form), bounds.CTreeBound.criteria
    if bound is None:
        return
    table = _tables(draw, leading=())
    if not table.any():
        table[0, 0] = 1.0  # of no rows at all it is not asked
    options = {
        "criterion": draw.one(criteria),
        "n_tests": draw.one([1, 7, 10**6]),
        "attribute_tests": draw.one([None, 1, 40.0]),
        "depth": draw.whole(0, 40),
        "attributes": draw.one([1, 30]),
        "attempt": draw.one([1, 2, 10**5]),
        "time": draw.one([None, 1e9]),
        "runner_up": draw.one([None, 0.1]),
    }
    bound.kernel(options["criterion"], table.shape[-1])
    said = sequence.call(
        f"{type(bound).__name__}.evaluate",
        bound.evaluate,
        table,
        pool=draw.one([None, table.sum(axis=1) + 3.0]),
        **options,
    )
    require(said.split in (True, False), "split of a bound")
    # What applies to a table of ones applies to all.
    plain = bound.evaluate(np.ones(table.shape), **options)
    for name, value, expected in zip(said._fields, said, plain, strict=True):
        require(
            np.isnan(value) == np.isnan(expected),
            f"{name} of a bound is no number, or one where it does not apply",
            lambda: f"{bound!r}, {table.tolist()}, {options}",
        )


def call_functions_wrongly(sequence):
    """Counts that are none must be refused by ValueError."""
    draw = sequence.draw
    tables = _tables(draw)
    tables.flat[draw.whole(0, tables.size - 1)] = draw.one(WRONG)
    names = (
        "gtest_pvalue",
        "chi2_pvalue",
        "fisher_pvalue",
        "log_evalue",
        "log_bayes_factor",
        "ec2_score",
    )
    function = getattr(bounds, draw.one(names))
    sequence.refused("counts that are none", function, tables)


def _tables(draw, leading=None):
    """Tables of counts of one shape; each has counts of its own sizes."""
    if leading is None:
        leading = draw.one(LEADING)
    shape = draw.whole(2, 4), draw.one([2, 2, 3, 5, 40])
    n = int(np.prod(leading, dtype=int))
    tables = np.array([_table(draw, shape) for _ in range(n)])
    return tables.reshape(*leading, *shape)


def _table(draw, shape):
    kind = draw.weighted(SHAPES)
    table = draw.rng.choice(np.array(draw.one(POOLS), dtype=float), shape)
    if kind == "even":
        # as many sizes below 1 and far above it
        table[:] = min(10.0 ** draw.rng.uniform(-9.0, 17.0), MOST)
    elif kind == "pure":
        table[:, 1:] = 0.0
    elif kind == "alike":
        table[1:] = table[0] * draw.one([1.0, 0.5])
    return table
