"""How sure a split is, as one number and one word for every bound.

Bounds compare different things. A reader who knows none of them is told, for every
split, how often pure noise would give a cut as good: by the bound itself if that is
what it computes, else by a likelihood-ratio test of the class counts of the branches,
times the cuts that were compared. All is done in logarithms, so that no chance is too
small to be told from another.
"""

import math
from typing import NamedTuple

from scipy.special import chdtrc, gammaln, xlogy

# The word for chances below each limit.
WORDS = (
    (math.log(1e-6), "overwhelming"),
    (math.log(1e-2), "strong"),
    (math.inf, "weak"),
)
LIMITS = "overwhelming: p < 1e-6, strong: p < 0.01, weak: all others"
# What p is, for statements of bounds that are such chances themselves.
FALSE_CUTS = "expected false cuts"
OWN = {
    FALSE_CUTS: "how many cuts as good as this one are expected in noise",
    "e-value's p": "chance that pure noise ever bets as well (the e-value's p)",
    "probability of no split": "probability that no split is needed",
}
TESTED = (
    "chance of a cut as good in pure noise (likelihood ratio, times the cuts compared)"
)
TINY = 1e-300  # smaller floats lose digits, then vanish
MOST_STEPS = 500
AT_ONCE = 4096  # nodes
LOG_10 = math.log(10.0)


class Strength(NamedTuple):
    """How sure a split is, see `node_table`."""

    word: str
    log_p: float
    n_tests: float
    meaning: str

    @property
    def chance(self):
        """The chance in words."""
        return f"p {write_chance(self.log_p)}"

    @property
    def compared(self):
        """How many cuts were compared."""
        cuts = "cut" if self.n_tests == 1 else "cuts"
        return f"{write_count(self.n_tests)} {cuts} compared"

    @property
    def short(self):
        """Word and chance."""
        return f"{self.word}, {self.chance}"

    @property
    def long(self):
        """Word, chance, and how many cuts were compared."""
        return f"{self.word}: {self.chance}, {self.compared}"

    @property
    def legend(self):
        """What p and the words mean, in two lines."""
        return [f"p: {self.meaning}", LIMITS]


def strengths(all_counts, branches, evidence):
    """Tell how sure the splits of some nodes are; None for a leaf.

    `all_counts` is that of the whole tree, `branches` and `evidence` those of the
    nodes.
    """
    children = [[one.node for one in some] for some in branches]
    tested = _log_chances(all_counts, children)
    found = []
    for some, said, log_p in zip(branches, evidence, tested, strict=True):
        if not some:
            found.append(None)
            continue
        statement = said.get("statement")
        n_tests = said.get("n_tests", math.nan)
        if n_tests > 1.0:
            log_p += math.log(n_tests)
        if statement in OWN:
            if said["confidence"] >= TINY:
                log_p = math.log(said["confidence"])
            elif statement != FALSE_CUTS:  # which are what has just been computed
                log_p = -math.inf
        log_p = min(log_p, 0.0)
        word = next(word for limit, word in WORDS if log_p < limit)
        found.append(Strength(word, log_p, n_tests, OWN.get(statement, TESTED)))
    return found


def _log_chances(all_counts, children):
    # Of pairs of branches many at once.
    found = [0.0] * len(children)
    pairs = [place for place, some in enumerate(children) if len(some) == 2]
    for start in range(0, len(pairs), AT_ONCE):
        places = pairs[start : start + AT_ONCE]
        counts = all_counts[[children[place] for place in places]]
        rows, columns = counts.sum(axis=2), counts.sum(axis=1)
        total = rows.sum(axis=1)
        g = 2.0 * (
            xlogy(counts, counts).sum(axis=(1, 2))
            - xlogy(rows, rows).sum(axis=1)
            - xlogy(columns, columns).sum(axis=1)
            + xlogy(total, total)
        )
        df = (columns > 0.0).sum(axis=1) - 1
        known = (rows > 0.0).all(axis=1) & (df > 0)
        for place, one, free, fine in zip(
            places, g.tolist(), df.tolist(), known.tolist(), strict=True
        ):
            if fine:
                found[place] = log_chi2_tail(free, max(one, 0.0))
    for place, some in enumerate(children):
        if len(some) > 2:
            found[place] = log_chance(all_counts[some].tolist())
    return found


def log_chance(counts):
    """Logarithm of the p-value of the likelihood-ratio test of branches and classes.

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
    """Logarithm of the chance that chi-squared exceeds a value."""
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
    """Write a chance with one digit: ``"~ 0.02"``, ``"~ 3e-94"`` or ``"< 1e-300"``."""
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
