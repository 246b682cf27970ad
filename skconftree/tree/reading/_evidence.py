"""Evidence for a split, as a number and as a level, and formatting of numbers.

Bounds (split rules) use different statistics. For every split, regardless of the bound,
the tree stores the number of candidate splits of the node that are expected to look as
good by chance: the p-value of the likelihood-ratio test of the children, times the
number of candidate splits of the chosen feature, times the number of features that have
any. The logarithm is stored, because the number can be too small for a float.

A distilled tree was trained on the predictions of another classifier, which are not
evidence. Look-ahead chooses a split by trial trees that are grown below it. The
*runner-up* of a split is the best split on another feature, and a *competitor* any such
split; z is the difference of their gains in standard errors. An *e-value* measures
evidence that may be examined after every row.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, gammaln, xlogy

from ..nodes._state import STRONG


def format_expected(log10_expected, *limits):
    """Format an expected number, such as ``"0.02"``, ``"3e-94"``, ``"12"``.

    It has one digit, or as many as distinguish it from the limits of the levels, so
    that 0.0098 does not become 0.01, and from further `limits`, which are logarithms as
    well.
    """
    limits = (*(limit for limit, _ in LEVELS), *limits)
    for digits in range(1, 7):
        text = _format_expected(log10_expected, digits)
        mantissa, _, power = text.replace(",", "").partition("e")
        number = math.log10(float(mantissa)) + int(power or 0)
        if all(
            (number > limit) - (number < limit)
            == (log10_expected > limit) - (log10_expected < limit)
            for limit in limits
        ):
            break
    return text


def _format_expected(log10_expected, digits):
    number = 10.0 ** min(log10_expected, 300.0)
    if number >= 9.5:
        return format_count(number)
    if number >= 0.00095:
        return f"{number:.{digits}g}"
    power = math.floor(log10_expected)
    mantissa = f"{10.0 ** (log10_expected - power):.{digits}g}"
    if float(mantissa) == 10.0:
        mantissa, power = "1", power + 1
    return f"{mantissa}e{power}"


def format_count(n):
    """Format a count with separated thousands; very large counts are shortened."""
    return f"{n:,.0f}" if n < 1e10 else f"{n:.1e}"


def format_weight(weight):
    """Format a number of rows, which may be fractional in streams."""
    return format_count(weight) if float(weight).is_integer() else f"{weight:,.6g}"


def format_rows(weight):
    """Format a number of rows with its noun."""
    return f"{format_weight(weight)} {'row' if weight == 1 else 'rows'}"


def format_probability(probability):
    """Format a probability with two decimals, or more if it would round to 1."""
    for decimals in (2, 3, 4):
        text = f"{probability:.{decimals}f}"
        if probability == 1.0 or float(text) < 1.0:
            return text
    return "> 0.9999"


# The level of an expected number whose logarithm to base 10 is below each limit.
LEVELS = ((-6.0, "overwhelming"), (STRONG, "strong"), (0.0, "weak"), (math.inf, "none"))
WEAK = ("weak", "none")  # levels of splits that may be due to chance
LEVEL_LINE = "evidence: overwhelming < 1e-6, strong < 0.01, weak < 1, none otherwise"
LEGEND = (
    "by chance: expected number of candidate splits of the node that would look this "
    "good or better if no feature were related to the class",
    LEVEL_LINE,
)
AT_SPLIT = "a split made by partial_fit has the number of the moment when it was made"
DISTILLED = "distilled"
DISTILLED_LEGEND = (
    "distilled: the tree was trained on predictions of another classifier, for rows "
    "that may be synthetic; only rows with labels can show whether a split is real",
    "real rows: decided if they prefer the split to those of all other features, a "
    "near tie if the difference is below 1.96 standard errors",
)
TINY = 1e-300  # smaller floats lose precision
MAX_PRINTED = 1e15  # larger numbers of candidate splits are not printed
NO_SPLIT = "no split"


def level_of(log10_expected):
    """Return the level of evidence of an expected number."""
    return next(level for limit, level in LEVELS if log10_expected < limit)


def describe_level(level, number):
    """Describe a level and an expected number."""
    return f"{'no' if level == 'none' else level} evidence ({number} by chance)"


MAX_FACTOR = 20.0  # larger multiples of the rows of a node are not reported


def rows_until_strong(evidence, df, n_rows):
    """Estimate how many more rows of the node would make a weak split strong, or None.

    G, the statistic of the likelihood-ratio test, is assumed to grow in proportion to
    the rows, up to its quantile at 0.01 divided by the multiplicity, by which the
    p-value is multiplied. As the split was selected by G, the effect is the excess over
    the quantile at 1 divided by the multiplicity, which the best candidate split
    reaches by chance.
    """
    if evidence.level != "weak" or not math.isfinite(evidence.multiplicity):
        return None
    expected = (evidence.expected_by_chance, 10.0**STRONG, 1.0)
    levels = np.minimum(np.divide(expected, evidence.multiplicity), 1.0)
    g, needed, chance = chdtri(df, levels)
    factor = (needed - chance) / (g - chance) - 1.0 if g > chance else math.inf
    return n_rows * factor if factor <= MAX_FACTOR else None


class SplitEvidence(NamedTuple):
    """Evidence for a split; NaN or None if a field does not apply.

    `node_table` describes the fields. `tried` is the feature of another split: the one
    whose subtrees had the smallest cost, `tried_cost`, in look-ahead. `since` is the
    log e-value of the rows since the split. Bounds compare confidence limits of the
    impurity, `child_limit` and `parent_limit`, or scores, whose difference has a
    confidence interval of half-width `radius`.
    """

    level: str
    log10_expected_by_chance: float
    n_candidates: float
    multiplicity: float
    statistic: float
    statistic_name: str | None
    score: float
    runner_up_score: float
    runner_up_feature: int | None
    runner_up_name: str | None
    runner_up_z: float
    parent_limit: float
    child_limit: float
    radius: float
    cost: float
    tried_cost: float
    tried: str | None
    since: float
    notes: tuple

    @property
    def expected_by_chance(self):
        """Number of candidate splits of the node expected to look as good by chance."""
        if self.log10_expected_by_chance > 308.0:
            return math.inf
        return 10.0**self.log10_expected_by_chance

    @property
    def is_weak(self):
        """Whether the level is "weak" or "none"."""
        return self.level in WEAK

    @property
    def number(self):
        """Expected number, as text."""
        return format_expected(self.log10_expected_by_chance)

    @property
    def by_chance(self):
        """Expected number with explanation, as text."""
        if self.level == DISTILLED:
            return "no evidence"
        return f"{self.number} by chance"

    @property
    def short(self):
        """Level and expected number, as text."""
        if self.level == DISTILLED:
            return self.by_chance
        return describe_level(self.level, self.number)

    @property
    def candidates(self):
        """Number of candidate splits of the node, as text."""
        if self.level == DISTILLED:
            return ""
        if self.n_candidates > MAX_PRINTED:
            return "countless candidate splits"
        noun = "split" if self.n_candidates == 1 else "splits"
        return f"{format_count(self.n_candidates)} candidate {noun}"

    @property
    def legend(self):
        """Lines that explain the number and the levels."""
        return [*(DISTILLED_LEGEND if self.level == DISTILLED else LEGEND), *self.notes]

    def applying(self):
        """Return the fields that apply as a dict, without the notes."""
        fields = {"level": self.level}
        if self.level != DISTILLED:
            fields["expected_by_chance"] = self.expected_by_chance
        for name, value in zip(self._fields[1:-1], self[1:-1], strict=True):
            if value is not None and value == value:
                fields[name] = value
        return fields


class EvidenceReader:
    """Creates `SplitEvidence` from the stored fields of a tree."""

    def __init__(self, estimator, names):
        self.names = names
        # name of the number by which the bound decides
        self.statistic_name = getattr(estimator.bound_, "statistic_name", "confidence")
        self.is_distilled = hasattr(estimator, "fidelity_")
        # a model `grows` if it learns row by row
        self.notes = (AT_SPLIT,) if estimator._model.grows else ()

    def __call__(self, stored, trials=None, since=math.nan):
        """Return the evidence from fields of ``tree_.evidence`` and ``trial_costs``."""
        log10_expected = stored["log10_expected_by_chance"]
        cost, tried_cost, tried = trials or (math.nan, math.nan, -1)
        score, runner_up = stored["runner_up_score"], stored["runner_up_feature"]
        # a distilled tree has z of its real rows instead of scores
        known = stored["runner_up_z"] if self.is_distilled else score
        has_runner_up = math.isfinite(known)
        # negative: the split was compared with not splitting
        name = self.names[runner_up] if runner_up >= 0 else NO_SPLIT
        has_statistic = not math.isnan(stored["statistic"])
        fields = stored | {
            "runner_up_score": score if math.isfinite(score) else math.nan,
            "runner_up_feature": runner_up if has_runner_up else None,
        }
        return SplitEvidence(
            **fields,
            level=self._level(log10_expected),
            statistic_name=self.statistic_name if has_statistic else None,
            runner_up_name=name if has_runner_up else None,
            cost=cost,
            tried_cost=tried_cost,
            tried=None if math.isnan(cost) else self.names[tried],
            since=since,
            notes=self.notes,
        )

    def _level(self, log10_expected):
        return DISTILLED if self.is_distilled else level_of(log10_expected)


# Reached with probability at most 1/20 if the class does not depend on the branch.
MIN_LOG_E_VALUE = math.log(20.0)
CONFIRMED = (
    "confirmed so far: rows that came after the split confirm it by themselves "
    "(p <= 0.05 at any time)"
)
PRIOR = 0.5  # prior number of rows of each class


def log_evidence(counts):
    """Return the log e-value for the dependence of the class on the branch.

    `counts` are the numbers of rows per branch and class since the split. The e-value
    is that of the bound ``"evalue"`` for a single split: the sequential predictive
    likelihood per branch, divided by the maximum likelihood without the split. If
    labels do not depend on the branch and rows are independent, its expectation is at
    most 1 at any stopping time.
    """
    counts = np.asarray(counts, dtype=np.float64)
    n_classes = counts.shape[1]
    n = counts.sum(axis=1)
    of_outcomes = gammaln(n_classes * PRIOR) - gammaln(n + n_classes * PRIOR)
    of_outcomes += (gammaln(counts + PRIOR) - gammaln(PRIOR)).sum(axis=1)
    total = counts.sum(axis=0)
    without = xlogy(total, total).sum() - xlogy(total.sum(), total.sum())
    return float(of_outcomes.sum() - without)
