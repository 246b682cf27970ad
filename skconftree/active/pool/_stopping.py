"""Stopping rules: when to stop querying labels.

An *audit* is a query of random rows, to estimate the error rate. The *pool* is the
table of unlabeled and labeled rows. Of a `QueryContext`, `codes` are the class indices
of rows, and `memory` is a cache.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..._compat import Interval, StrOptions, validate_parameters
from ...bounds import confidence_sequence, risk_upper
from .._estimators import check_capabilities
from .._labels import in_chunks
from .._stopping import StoppingRule

if TYPE_CHECKING:
    from ._context import QueryContext

MAX_COMPARED_ROWS = 10_000  # rows whose predictions are compared between queries
# The error rate is estimated on windows of the audited rows, which end with the last
# row. They start after 0, 16, 32, 64, ... audited rows.
FIRST_START = 16


def audit_limit(audits, delta, n_more=0):
    """Upper confidence limit of the present error rate by audits, at any time.

    `audits`, of shape (..., n_audits, 2), has the number of wrong predictions and of
    rows of each audit, in order; leading dimensions are simulations with equal numbers
    of rows. The limit is the smallest of those of windows that end with the last audit.
    Where they begin does not depend on their outcomes, so each window has a confidence
    sequence. With `n_more`, the limit that is expected after as many further rows, if
    the share of errors stays that of the window.
    """
    audits = np.asarray(audits, dtype=np.float64)
    audits = audits if audits.size else np.zeros((1, 2))
    sizes = audits.reshape(-1, *audits.shape[-2:])[0, :, 1]
    n_before = np.cumsum(sizes) - sizes
    starts, start = [0], FIRST_START
    while start < sizes.sum():
        starts.append(int(np.searchsorted(n_before, start)))
        start *= 2
    sums = np.stack([audits[..., first:, :].sum(axis=-2) for first in starts], axis=-2)
    n_wrong, n = sums[..., 0], sums[..., 1]
    number = 1.0 + np.arange(len(starts))
    deltas = delta / (number * (number + 1.0))

    def limits(scale):
        counts = np.stack([scale * n_wrong, scale * (n - n_wrong)], axis=-1)
        # upper limit of the share of wrong predictions
        return confidence_sequence(counts, deltas)[..., 0, 1]

    now = limits(1.0)
    if not n_more:
        return now.min(axis=-1)
    later = limits((n + n_more) / np.maximum(n, 1.0))
    return np.take_along_axis(later, now.argmin(axis=-1)[..., None], axis=-1)[..., 0]


class LabelBudget(StoppingRule):
    """Stopping rule: stop when a number of rows is labeled.

    Parameters
    ----------
    n_labels : int
        Number of labels, including initial labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner, ArrayOracle, LabelBudget
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = ActiveLearner(GaussianNB(), random_state=0).fit(X)
    >>> learner.run(ArrayOracle(y), stop=LabelBudget(20)).n_labeled_
    20
    """

    _parameter_constraints = {"n_labels": [Interval(Integral, 1, None, closed="left")]}

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels

    def reached(self, context: QueryContext) -> bool:
        return context.n_labeled >= self.n_labels


@dataclass(eq=False, repr=False)
class RiskBelow(StoppingRule):
    """Stopping rule: stop when the error rate is below a limit with confidence.

    ``method="leaves"`` uses the leaves of a single tree. The upper credible limit of
    the error rate (risk) of each leaf is :func:`~skconftree.bounds.risk_upper` with
    ``delta`` divided by the number of leaves. Their sum, weighted by the rows of the
    pool, is compared with `eps`. The limit is valid for a single evaluation with fixed
    splits and labels drawn at random inside the leaves, as :class:`LeafRiskSampling`
    draws them. Evaluating it repeatedly, or selecting the leaves by their labels, stops
    a little early.

    ``method="audit"`` works with any classifier. A share of the queries of
    :meth:`ActiveLearner.run` is drawn at random from the pool, and the predictions for
    these rows are compared with their labels before these are learned. The limit is
    that of a :func:`~skconftree.bounds.confidence_sequence`, which is valid for
    repeated evaluation, on a window of the last audited rows: errors of earlier
    classifiers are forgotten. Windows begin after 0, 16, 32, 64, ... audited rows, the
    j-th with ``delta / (j (j + 1))``, so that all their limits hold together, and the
    smallest limit counts. The probability that the rule stops while the risk is
    above `eps` is at most `delta`, provided that the risk was not lower earlier in the
    window: labels did not make the classifier worse.

    Parameters
    ----------
    eps : float
        Limit of the risk, in (0, 1). Smaller values require more labels.
    method : {"leaves", "audit"}, default="leaves"
        How the risk is bounded.
    delta : float, default=0.05
        Probability, in (0, 1), that the risk is above the limit. Smaller values require
        more labels.
    audit_share : float, default=0.2
        Share of the queries that are drawn at random, in (0, 1]. Larger values narrow
        the limit and leave fewer labels for the query strategy.

    Examples
    --------
    >>> import numpy as np
    >>> from skconftree import ConfidenceTreeClassifier
    >>> from skconftree.active import ActiveLearner, ArrayOracle, RiskBelow
    >>> X = np.linspace(0, 1, 500).reshape(-1, 1)
    >>> y = (X[:, 0] > 0.4).astype(int)
    >>> learner = ActiveLearner(
    ...     ConfidenceTreeClassifier(), strategy="leaf_risk", random_state=0)
    >>> learner = learner.fit(X).run(ArrayOracle(y), stop=RiskBelow(0.1))
    >>> 20 < learner.n_labeled_ < 120
    True
    """

    _parameter_constraints = {
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "method": [StrOptions({"leaves", "audit"})],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "audit_share": [Interval(Real, 0, 1, closed="right")],
    }

    eps: float
    _: KW_ONLY
    method: Literal["leaves", "audit"] = "leaves"
    delta: float = 0.05
    audit_share: float = 0.2

    @property
    def needs(self) -> tuple[str, ...]:
        """Capabilities that the classifier must have."""
        return ("leaves",) if self.method == "leaves" else ()

    @property
    def random_share(self) -> float:
        """Share of the queries that are drawn at random."""
        return self.audit_share if self.method == "audit" else 0.0

    def limit(self, context: QueryContext) -> float:
        """Upper limit of the risk on the pool.

        Parameters
        ----------
        context : QueryContext
            State of the learner.

        Returns
        -------
        float
            Upper limit; 1.0 before there are labels of two classes.
        """
        if self.method == "audit":
            return float(audit_limit(context.audits, self.delta))
        if context.n_classes < 2 or context.estimator is None:
            return 1.0
        leaves, labeled = context.pool_leaves, context.labeled
        rows = np.bincount(leaves)
        counts = np.zeros((len(rows), context.n_classes))
        np.add.at(counts, (leaves[labeled], context.codes[labeled]), 1.0)
        used = rows > 0
        risk = risk_upper(counts[used], self.delta / used.sum(), weight=rows[used])
        return float(risk.sum() / len(leaves))

    def reached(self, context: QueryContext) -> bool:
        return self.limit(context) <= self.eps


@dataclass(eq=False, repr=False)
class StableModel(StoppingRule):
    """Stopping rule: stop when predictions have stabilized.

    Before each query, the predictions for at most 10,000 rows of the pool are compared
    with those before the previous query. This heuristic has no statistical guarantee.

    Parameters
    ----------
    agreement : float, default=0.99
        Share of equal predictions, in (0, 1]. Larger values require more labels.
    n_looks : int, default=5
        Number of consecutive comparisons that must agree. Larger values require more
        labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skconftree.active import ActiveLearner, ArrayOracle, StableModel
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = ActiveLearner(GaussianNB(), random_state=0).fit(X)
    >>> learner.run(ArrayOracle(y), stop=StableModel()).n_labeled_ < 100
    True
    """

    _parameter_constraints = {
        "agreement": [Interval(Real, 0, 1, closed="right")],
        "n_looks": [Interval(Integral, 1, None, closed="left")],
    }

    agreement: float = 0.99
    n_looks: int = 5

    def reached(self, context: QueryContext) -> bool:
        if context.estimator is None:
            return False
        n = len(context.codes)
        rows = np.linspace(0, n - 1, min(n, MAX_COMPARED_ROWS)).astype(np.intp)
        predicted = in_chunks(context.X, rows, context.estimator.predict)
        before, n_agreed = context.memory.get(self, (None, 0))
        agree = before is not None and (before == predicted).mean() >= self.agreement
        n_agreed = n_agreed + 1 if agree else 0
        context.memory[self] = predicted, n_agreed
        return n_agreed >= self.n_looks


# Rules that an error suggests if the classifier lacks a capability of another rule.
REMEDIES = {
    "LabelBudget": LabelBudget(1),
    "RiskBelow(method='audit')": RiskBelow(0.1, method="audit"),
    "StableModel": StableModel(),
}


def read_rules(stop, estimator):
    """Validate stopping rules and return them as a list."""
    rules = stop if isinstance(stop, list) else [stop]
    for rule in rules:
        if isinstance(rule, type) or not callable(getattr(rule, "reached", None)):
            raise TypeError(
                "stop must be a stopping rule, an object with reached(context), or a "
                f"list of them. Got {rule!r}."
            )
        if isinstance(rule, StoppingRule):
            validate_parameters(rule)
        check_capabilities(rule, estimator, REMEDIES)
    return rules


def selected_by(rules, context, k):
    """Rows that the first of the rules selects that selects any, or None."""
    for rule in rules:
        selected = rule.select(context, k) if hasattr(rule, "select") else None
        if selected is not None:
            return selected
    return None


def share_of(rule):
    """Share of the queries that are drawn at random for a rule."""
    return getattr(rule, "random_share", StoppingRule.random_share)


def check_share(name, share):
    """Return a share, or raise ValueError unless it is in [0, 1]."""
    if not isinstance(share, Real) or not 0.0 <= share <= 1.0:
        raise ValueError(f"{name} must be in [0, 1]. Got {share!r}.")
    return float(share)


def largest_share(rules, context):
    """Share of the next query that is drawn at random for all rules."""
    return max(
        (
            rule.random_share_of(context)
            if hasattr(rule, "random_share_of")
            else share_of(rule)
            for rule in rules
        ),
        default=0.0,
    )
