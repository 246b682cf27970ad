"""How strong a split is, as one number and one word for every bound.

Bounds compare different things. A reader who knows none of them is told, for every
split, how many as strong are expected by luck: by the bound itself if that is what it
computes, else by the p-value of a likelihood-ratio test of the class counts of the
branches, times the questions compared. All is done in logarithms, so that no number is
too small to be told from another.
"""

import math
from typing import NamedTuple

from scipy.special import chdtrc, gammaln, xlogy

from ._numbers import write_count, write_expected

# The word for expected numbers below each limit.
WORDS = (
    (math.log(1e-6), "overwhelming"),
    (math.log(1e-2), "strong"),
    (math.inf, "weak"),
)
LEGEND = (
    "expected by luck: how many of the questions compared would do as well in pure "
    "noise",
    "overwhelming: below 1e-6, strong: below 0.01, weak: all others",
)
GUESSES = "weak splits are useful guesses, kept as they cost nothing in the error limit"
# The statement of bounds whose confidence is this number itself.
BY_LUCK = "expected by luck"
IMITATION = "imitation"
TINY = 1e-300  # smaller floats lose digits, then vanish
MOST_STEPS = 500
AT_ONCE = 4096  # nodes


class Strength(NamedTuple):
    """How strong a split is, see `node_table`."""

    word: str
    log_expected: float
    n_tests: float
    remark: str

    @property
    def expected(self):
        """The number expected by luck, in words."""
        return f"{write_expected(self.log_expected)} {BY_LUCK}"

    @property
    def compared(self):
        """How many questions were compared."""
        questions = "question" if self.n_tests == 1 else "questions"
        return f"{write_count(self.n_tests)} {questions} compared"

    @property
    def short(self):
        """Word and expected number."""
        return f"{self.word}, {self.expected}"

    @property
    def long(self):
        """Word, expected number, and how many questions were compared."""
        return f"{self.word}: {self.expected}, {self.compared}"

    @property
    def legend(self):
        """What number and words mean, in lines."""
        return [*LEGEND, *([self.remark] if self.remark else [])]


class Imitated(Strength):
    """Strength of a split by which a tree imitates a classifier: none is known."""

    __slots__ = ()

    @property
    def expected(self):
        """Nothing is expected of rows that are made up."""
        return "no evidence"

    @property
    def compared(self):
        """Nor was anything compared by real rows."""
        return ""

    @property
    def long(self):
        """Word, and that there is no evidence."""
        return f"{self.word}: {self.expected}"

    @property
    def legend(self):
        """What the word means, in lines."""
        return [
            "imitation: the tree says what another classifier says of rows that may be",
            "made up; only rows with labels would say whether a split is real",
            "decided: real rows prefer the split to any of another column; tie: maybe",
        ]


def imitated(branches):
    """Strengths of the splits of an imitation; None for a leaf."""
    one = Imitated(IMITATION, math.nan, math.nan, "")
    return [one if some else None for some in branches]


def strengths(all_counts, branches, evidence, error_limit):
    """Tell how strong the splits of some nodes are; None for a leaf.

    `all_counts` is that of the whole tree, `branches` and `evidence` those of the
    nodes. `error_limit`: whether the tree was pruned by a limit of its errors, which
    every split that is left has passed.
    """
    children = [[one.node for one in some] for some in branches]
    tested = _log_chances(all_counts, children)
    found = []
    for some, said, log_expected in zip(branches, evidence, tested, strict=True):
        if not some:
            found.append(None)
            continue
        n_tests = said.get("n_tests", math.nan)
        if n_tests > 1.0:
            log_expected += math.log(n_tests)
        if said.get("statement") == BY_LUCK and said["confidence"] >= TINY:
            log_expected = math.log(said["confidence"])
        word = next(word for limit, word in WORDS if log_expected < limit)
        found.append(Strength(word, log_expected, n_tests, ""))
    weakest = WORDS[-1][1]
    if error_limit and any(one and one.word == weakest for one in found):
        found = [one and one._replace(remark=GUESSES) for one in found]
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
