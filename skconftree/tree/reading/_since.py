"""Whether the rows since a split was made speak for it by themselves."""

import math

import numpy as np
from scipy.special import gammaln, xlogy

ENOUGH = math.log(20.0)  # evidence: where the test says nothing, one split in 20 has it
CONFIRMED = "confirmed so far"
LEGEND = (
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
