"""Evidence for a split, as a number and as a word, and how numbers are printed.

Bounds compare different things. A reader who knows none of them is told, for every
split, how many as strong are expected by luck: by the bound itself if that is what it
computes, else by the p-value of a likelihood-ratio test of the class counts of the
branches, times the questions compared. All is done in logarithms, so that no number is
too small to be told from another.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, gammaln, xlogy

LOG_10 = math.log(10.0)


def write_expected(log_expected):
    """Write an expected number with one digit: ``"0.02"``, ``"3e-94"``, ``"12"``."""
    number = math.exp(log_expected)
    if number >= 9.5:
        return write_count(number)
    if number >= 0.00095:
        return f"{number:.1g}"
    power = math.floor(log_expected / LOG_10)
    digit = round(math.exp(log_expected - power * LOG_10))
    if digit == 10:
        digit, power = 1, power + 1
    return f"{digit}e{power}"


def write_count(n):
    """Write a count with separated thousands, a very large one shortened."""
    return f"{n:,.0f}" if n < 1e10 else f"{n:.1e}"


def write_weight(weight):
    """Write how many rows there are, which class weights never are but streams may."""
    return write_count(weight) if float(weight).is_integer() else f"{weight:,.6g}"


def write_rows(weight):
    """Write a number of rows with its noun."""
    return f"{write_weight(weight)} {'row' if weight == 1 else 'rows'}"


def write_probability(probability):
    """Write a probability with two decimals, more where it would look certain."""
    for decimals in (2, 3, 4):
        written = f"{probability:.{decimals}f}"
        if probability == 1.0 or float(written) < 1.0:
            return written
    return "> 0.9999"


# Bounds compare different things. A reader who knows none of them is told, for every
# split, how many as strong are expected by luck: by the bound itself if that is what it
# computes, else by the p-value of a likelihood-ratio test of the class counts of the
# branches, times the questions compared. All is done in logarithms, so that no number
# is too small to be told from another.

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
    """Tell how strong the splits of some nodes are; None for a leaf."""
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
    """Log p-value of the G-test of branches and classes; 0 if either is single."""
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
    for step in range(1, MOST_STEPS):  # pragma: no branch, it converges before
        factor = -step * (step - a)
        b += 2.0
        d = 1.0 / (factor * d + b)
        c = b + factor / c
        h *= d * c
        if abs(d * c - 1.0) < 1e-12:
            break
    return a * math.log(x) - x - gammaln(a) + math.log(h)


ENOUGH = math.log(20.0)  # evidence: where the test says nothing, one split in 20 has it
CONFIRMED = "confirmed so far"
CONFIRMED = (
    f"{CONFIRMED}: rows that came after the split bear it out by themselves "
    "(e-value 20 or more)"
)
PRIOR = 0.5  # rows of each class, before the first


def log_evidence(counts):
    """Logarithm of the evidence that classes depend on the outcome of a test.

    `counts` are those of the rows of each outcome and class since the split was made.
    It is the e-value of the bound ``"evalue"``, of one test: the likelihood of
    predictions made before each row, outcome by outcome, over the largest one without
    the test. Where labels do not depend on the outcome, rows being independent, its
    expectation is at most 1 whenever one looks.
    """
    counts = np.asarray(counts, dtype=np.float64)
    n_classes = counts.shape[1]
    n = counts.sum(axis=1)
    of_outcomes = gammaln(n_classes * PRIOR) - gammaln(n + n_classes * PRIOR)
    of_outcomes += (gammaln(counts + PRIOR) - gammaln(PRIOR)).sum(axis=1)
    total = counts.sum(axis=0)
    without = xlogy(total, total).sum() - xlogy(total.sum(), total.sum())
    return float(of_outcomes.sum() - without)
