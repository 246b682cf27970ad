"""Strategies for classifiers with members that vote."""

from ._strategy import SamplingStrategy
from ._uncertainty import entropy


class VoteEntropySampling(SamplingStrategy):
    """Ask where the members of a forest disagree: entropy of their votes, in nats.

    Any ensemble with `estimators_` will do: nothing is fitted beside it.

    References
    ----------
    .. [1] I. Dagan, S. Engelson (1995), "Committee-based sampling for training
       probabilistic classifiers", ICML.
    """

    needs = ("committee",)

    def score(self, context):
        """Score the candidates, see :meth:`SamplingStrategy.score`."""
        return entropy(context.votes)
