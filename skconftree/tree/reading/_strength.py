"""How sure a split is, as one number and one word for every bound.

Bounds compare different things. A reader who knows none of them is told, for every
split, how often pure noise would give a cut as good: by the bound itself if that is
what it computes, else by a likelihood-ratio test of the class counts of the branches,
times the cuts that were compared. All is done in logarithms, so that no chance is too
small to be told from another.
"""

import math
from typing import NamedTuple

from scipy.special import chdtrc, gammaln

# The word for chances below each limit.
WORDS = ((1e-6, "overwhelming"), (1e-2, "strong"), (math.inf, "weak"))
LIMITS = "overwhelming: p < 1e-6, strong: p < 0.01, weak: all others"
# What p is, for statements of bounds that are such chances themselves.
OWN = {
    "expected false cuts": "how many cuts as good as this one are expected in noise",
    "e-value's p": "chance that pure noise ever bets as well (the e-value's p)",
    "probability of no split": "probability that no split is needed",
}
TESTED = (
    "chance of a cut as good in pure noise (likelihood ratio, times the cuts compared)"
)
TINY = 1e-300  # smaller floats lose digits, then vanish
LOG_TINY = math.log(TINY)
MOST_STEPS = 500
LOG_10 = math.log(10.0)


class Strength(NamedTuple):
    """How sure a split is.

    Parameters
    ----------
    log_p : float
        Natural logarithm of the chance, at most 0; -inf if only known to be tiny.
    word : str
        ``"overwhelming"``, ``"strong"`` or ``"weak"``.
    n_tests : float
        Cuts that were compared.
    """

    log_p: float
    word: str
    n_tests: float

    @property
    def chance(self):
        """The chance in words."""
        return f"p {write_chance(self.log_p)}"

    @property
    def short(self):
        """Word and chance."""
        return f"{self.word}, {self.chance}"

    @property
    def long(self):
        """Word, chance, and how many cuts were compared."""
        return f"{self.word}: {self.chance}, {self.compared}"

    @property
    def compared(self):
        """How many cuts were compared."""
        return f"{write_count(self.n_tests)} {_plural(self.n_tests, 'cut')} compared"


def strength(row, children):
    """Tell how sure a split is.

    Parameters
    ----------
    row : NodeRow
        Of a node with branches.
    children : list of NodeRow
        Those its branches lead to.

    Returns
    -------
    Strength
    """
    evidence = row.evidence
    n_tests = evidence.get("n_tests", math.nan)
    log_p = math.nan
    own = evidence.get("statement") in OWN
    if own and evidence["confidence"] >= TINY:
        log_p = math.log(evidence["confidence"])
    elif own and evidence["statement"] != "expected false cuts":
        log_p = -math.inf
    else:
        log_p = log_chance([child.counts for child in children])
        if n_tests > 1.0:
            log_p += math.log(n_tests)
    log_p = min(log_p, 0.0)
    word = next(word for limit, word in WORDS if log_p < _log(limit))
    return Strength(log_p, word, n_tests)


def legend(statement):
    """Say what p and the words mean, in lines of at most 100 columns.

    Parameters
    ----------
    statement : str or None
        Of the bound.

    Returns
    -------
    list of str
    """
    return [f"p: {OWN.get(statement, TESTED)}", LIMITS]


def strengths(table):
    """Tell how sure each split is.

    Parameters
    ----------
    table : dict of int to NodeRow
        Some nodes of a tree.

    Returns
    -------
    dict of int to Strength
        Of the nodes whose children are there too.
    """
    return {
        node: strength(row, [table[branch.node] for branch in row.branches])
        for node, row in table.items()
        if row.branches and all(branch.node in table for branch in row.branches)
    }


def log_chance(counts):
    """Logarithm of the p-value of the likelihood-ratio test of branches and classes.

    Parameters
    ----------
    counts : sequence of sequence of float
        Of each class, for each branch.

    Returns
    -------
    float
        0 where fewer than two branches or two classes have rows.
    """
    rows = [row for row in counts if sum(row) > 0.0]
    columns = [column for column in zip(*rows, strict=True) if sum(column) > 0.0]
    if len(rows) < 2 or len(columns) < 2:
        return 0.0
    total = math.fsum(map(math.fsum, rows))
    # twice the rows times the mutual information
    g = 2.0 * (
        math.fsum(n * math.log(n) for row in rows for n in row if n > 0.0)
        - math.fsum(n * math.log(n) for n in map(math.fsum, rows))
        - math.fsum(n * math.log(n) for n in map(math.fsum, columns))
        + total * math.log(total)
    )
    return log_chi2_tail((len(rows) - 1) * (len(columns) - 1), max(g, 0.0))


def log_chi2_tail(df, value):
    """Logarithm of the chance that chi-squared exceeds a value.

    Parameters
    ----------
    df : float
        Degrees of freedom.
    value : float

    Returns
    -------
    float
    """
    chance = chdtrc(df, value)
    if chance > TINY:
        return math.log(chance)
    # The continued fraction of the incomplete gamma function, by Lentz.
    a, x = 0.5 * df, 0.5 * value
    b = x + 1.0 - a
    c, d = math.inf, 1.0 / b
    h = d
    for step in range(1, MOST_STEPS):
        factor = -step * (step - a)
        b += 2.0
        d = 1.0 / (factor * d + b)
        c = b + factor / c
        h *= d * c
        if abs(d * c - 1.0) < 1e-12:
            break
    return a * math.log(x) - x - gammaln(a) + math.log(h)


def write_chance(log_p):
    """Write a chance with one digit, however small.

    Parameters
    ----------
    log_p : float

    Returns
    -------
    str
        Such as ``"~ 0.02"``, ``"~ 3e-94"`` or ``"< 1e-300"``.
    """
    if log_p == -math.inf:
        return f"< {TINY:.0e}"
    p = math.exp(log_p)
    if p >= 0.00095:
        return f"~ {p:.1g}"
    power = math.floor(log_p / LOG_10)
    digit = round(math.exp(log_p - power * LOG_10))
    if digit == 10:
        digit, power = 1, power + 1
    return f"~ {digit}e{power:+03d}"


def write_count(n):
    """Write a count with separated thousands, a very large one shortened."""
    return f"{n:,.0f}" if n < 1e10 else f"{n:.1e}"


def _log(limit):
    return math.inf if limit == math.inf else math.log(limit)


def _plural(n, word):
    return word if n == 1 else f"{word}s"
