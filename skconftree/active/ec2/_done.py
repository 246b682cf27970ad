"""The stopping rule of EC2 trees, for labels that are requested."""

from __future__ import annotations

from numbers import Real
from typing import Any

from ..._compat import Interval
from ...bounds import ec2_confidence
from .._stopping import StoppingRule
from ._sampling import EC2Sampling


class EC2Done(StoppingRule):
    """Stop once wrong labels could have cut the edges that the next label will cut.

    The rule of :class:`~skconftree.bounds.EC2Bound`, with labels as tests: hypotheses
    are the rows, what the best label is expected to cut is compared with what the
    labels requested so far may have cut by mistake. That it be tried on labels is an
    open question of the thesis [1]_. It is no sensible place: the rule is a number of
    labels that `noise` sets alone, about 70 for a noise of 0.01, 14 for 0.05, 7 for 0.1
    and 4 for 0.2, whatever is still unknown (:doc:`/results/rupprechter_2012_labels`).
    It also stops once no edge is left, when there is nothing more to ask for.

    Parameters
    ----------
    noise : float, default=0.01
        Probability alpha, in [0, 1), that a label is wrong.
    confidence : float, default=0.5
        Least confidence, in [0, 1], that buys another label; 0 never stops.

    See Also
    --------
    RiskBelow : Stops with a promise.
    skconftree.bounds.ec2_confidence : The confidence.

    Notes
    -----
    Hypotheses, their groups and the best label are those of the learner's
    :class:`EC2Sampling`; with another strategy, of one with its defaults. The
    classifier must have ``hypotheses``.

    References
    ----------
    .. [1] B. Rupprechter (2012), "Noisy active learning from a Bayesian
       perspective", Master thesis, ETH Zurich, section 5.4.1 and chapter 6.

    Examples
    --------
    >>> from skconftree import OASISClassifier
    >>> from skconftree.active import ActiveLearner, ArrayOracle, EC2Done
    >>> from skconftree.datasets import make_diced
    >>> X, y = make_diced(500, random_state=0)
    >>> cloud = OASISClassifier(
    ...     standardize=False, fit_intercept=False, resample=False, random_state=0)
    >>> cloud = cloud.partial_fit(X[:1], [None], classes=[0, 1], sample_weight=[0.0])
    >>> learner = ActiveLearner(
    ...     cloud, strategy="ec2", prefit=True, refit=False, random_state=0)
    >>> learner = learner.fit(X).run(ArrayOracle(y), stop=EC2Done(noise=0.1))
    >>> 3 <= learner.n_labeled_ <= 8
    True
    """

    _parameter_constraints = {
        "noise": [Interval(Real, 0, 1, closed="left")],
        "confidence": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(self, noise: float = 0.01, confidence: float = 0.5) -> None:
        self.noise = noise
        self.confidence = confidence

    needs = ("hypotheses",)

    def confidence_at(self, context: Any) -> float:
        """Confidence that the best label is worth buying.

        Parameters
        ----------
        context : QueryContext

        Returns
        -------
        float
            1.0 before there is a model, 0.0 if no edge is left.
        """
        if context.estimator is None:
            return 1.0
        if not context.n_candidates:
            return 0.0
        ask = getattr(context.strategy, "best_table", EC2Sampling().best_table)
        n_bought = sum(int(one.known.sum()) for one in context.answers)
        return float(ec2_confidence(ask(context), n_bought, self.noise))

    def reached(self, context: Any) -> bool:
        return self.confidence_at(context) < self.confidence
