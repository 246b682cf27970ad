"""Chi-squared and exact tests of independence, written for reading.

Exact p-values come from whole numbers: the likelihood of a table given its margins
is in proportion to the product, over the classes, of the number of ways in which the
rows of a class can have gone to their outcomes.
"""

import functools
import itertools
import math
from collections import Counter
from fractions import Fraction

from scipy import special

TABLE_LIMIT = 100_000  # above it plain chi-squared takes the exact test's place


class UndecidedError(Exception):
    """Whether a table is tested exactly hangs on the way in which it is."""


def tables_with_margins(rows, left):
    """Yield the first columns of all tables with these row sums."""
    if not rows:
        yield ()
        return
    rest = sum(rows[1:])
    for first in range(max(left - rest, 0), min(rows[0], left) + 1):
        for others in tables_with_margins(rows[1:], left - first):
            yield (first, *others)


def count_tables(rows, left):
    """Count them without listing them: coefficients of a product of polynomials."""
    ways = [1] + [0] * left
    for n in rows:
        running = list(itertools.accumulate(ways))
        ways = [
            running[i] - (running[i - n - 1] if i > n else 0) for i in range(left + 1)
        ]
    return ways[left]


def freeman_halton(table, point=False):
    """Exact test of a table whose rows are classes and columns two outcomes."""
    rows = [sum(row) for row in table]
    left = sum(row[0] for row in table)

    @functools.cache
    def log_comb(n, k):
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    def probability(lefts):
        return math.exp(sum(map(log_comb, rows, lefts)) - log_comb(sum(rows), left))

    observed = probability([row[0] for row in table])
    if point:
        return observed
    as_unlikely = (
        p
        for p in map(probability, tables_with_margins(rows, left))
        if p <= observed * (1.0 + 1e-7)
    )
    return min(math.fsum(as_unlikely), 1.0)


def ways_to_go(outcomes):
    """In how many ways the rows of one class can have gone to these outcomes."""
    ways = math.factorial(sum(outcomes))
    for n in outcomes:
        ways //= math.factorial(n)
    return ways


def larger_freeman_halton(table):
    """Exact test of a table with more than two rows (classes) and columns.

    Adds one class after the other to all tables at once: tables that leave as much
    room in their outcomes and are as likely so far are counted together.
    """
    columns = [sum(column) for column in zip(*table, strict=True)]
    tables = Counter({(tuple(sorted(columns)), 1): 1})
    for row in table:
        longer = Counter()
        for (room, likelihood), number in tables.items():
            for outcomes in placings(sum(row), room):
                left = tuple(sorted(r - n for r, n in zip(room, outcomes, strict=True)))
                longer[left, likelihood * ways_to_go(outcomes)] += number
        tables = longer
        # the compiled test looks at every beginning of a table once at most
        if tables.total() * (len(table) - 1) > TABLE_LIMIT:
            raise UndecidedError
    observed = math.prod(map(ways_to_go, table))
    limit = observed * (1 + Fraction(1, 10**7))
    total = sum(p * number for (_, p), number in tables.items())
    assert total == ways_to_go(columns)
    as_unlikely = sum(p * n for (_, p), n in tables.items() if p <= limit)
    return float(Fraction(as_unlikely, total))


def placings(rows, room):
    """Yield every way to put rows into outcomes with so much room."""
    if len(room) == 1:
        if rows <= room[0]:
            yield (rows,)
        return
    for first in range(min(rows, room[0]) + 1):
        for others in placings(rows - first, room[1:]):
            yield (first, *others)


def exact_pvalue(table, swapped):
    """Exact p-value; None where too many tables have these margins.

    The compiled test counts them with all outcomes put into two, and so too few of them
    where there are more: where these are the rows, and the two classes the columns.
    """
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    half = columns[0]  # outcomes put together until half of the rows are in them
    for n in columns[1:]:
        if half + n <= sum(columns) / 2:
            half += n
    if count_tables(rows, min(half, sum(columns) - half)) > TABLE_LIMIT:
        if swapped and len(rows) > 2:
            raise UndecidedError
        return None
    return freeman_halton(table) if len(columns) == 2 else larger_freeman_halton(table)


def log_chi2_tail(freedom, x):
    """ln P(chi-squared > x), as a finite sum of logarithms."""
    z = x / 2
    if z <= 0:
        return 0.0
    if freedom % 2:  # the first term is that of the normal distribution
        terms = [math.log(2) + special.log_ndtr(-math.sqrt(x))]
        powers = [k - 0.5 for k in range(1, (freedom + 1) // 2)]
    else:
        terms, powers = [], range(freedom // 2)
    terms += [k * math.log(z) - z - math.lgamma(k + 1) for k in powers]
    return float(special.logsumexp(terms))


def chi2_pvalue(children):
    return math.exp(chi2_log_pvalue(children))


def chi2_log_pvalue(children):
    """D9: plain, Yates-corrected or exact according to the smallest expectation.

    Fractional counts have no exact test; plain chi-squared takes its place.
    """
    classes = [row for row in zip(*children, strict=True) if sum(row) > 0]
    outcomes = [row for row in zip(*classes, strict=True) if sum(row) > 0]
    table = list(zip(*outcomes, strict=True))
    swapped = len(table) == 2  # the roles of classes and outcomes are the same
    if swapped:
        table = outcomes
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    n = sum(rows)
    if min(len(rows), len(columns)) < 2:
        return 0.0
    cells = [
        (table[i][j], rows[i] * columns[j] / n)
        for i in range(len(rows))
        for j in range(len(columns))
    ]
    smallest = min(e for _, e in cells)
    if smallest < 5.0 and all(float(o).is_integer() for o, _ in cells):
        whole = [[int(x) for x in row] for row in table]
        exact = exact_pvalue(whole, swapped)
        if exact is not None:
            return math.log(exact) if exact > 0.0 else -math.inf
    yates = 5.0 <= smallest <= 10.0 and len(rows) == len(columns) == 2
    correction = 0.5 if yates else 0.0
    chi2 = sum(max(abs(o - e) - correction, 0.0) ** 2 / e for o, e in cells)
    return log_chi2_tail((len(rows) - 1) * (len(columns) - 1), chi2)
