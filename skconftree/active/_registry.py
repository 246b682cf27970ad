"""Query strategies by name.

Published methods: EC2 is equivalence class edge cutting, GBS generalized binary search,
and LTS "learning to sample". A leaf strategy queries rows of the leaves of a tree. The
*risk* of a leaf is its error probability times its number of rows.
"""

from ._strategy import (
    EntropySampling,
    FunctionSampling,
    LeastConfidentSampling,
    MarginSampling,
    RandomSampling,
    SamplingStrategy,
)
from .ec2._strategies import EC2Sampling, GBSSampling
from .lts._selection import LTSSampling
from .pool._leaf_sampling import (
    ExpectedErrorSampling,
    LeafEntropySampling,
    LeafRiskSampling,
)
from .pool._strategies import (
    AutoSampling,
    DensitySampling,
    DiversitySampling,
    KCenterSampling,
    MostLikelySampling,
    VoteEntropySampling,
)

STRATEGIES = {
    "auto": AutoSampling,
    "random": RandomSampling,
    "least_confident": LeastConfidentSampling,
    "margin": MarginSampling,
    "entropy": EntropySampling,
    "most_likely": MostLikelySampling,
    "density": DensitySampling,
    "diversity": DiversitySampling,
    "k_center": KCenterSampling,
    "vote_entropy": VoteEntropySampling,
    "expected_error": ExpectedErrorSampling,
    "leaf_risk": LeafRiskSampling,
    "leaf_entropy": LeafEntropySampling,
    "lts": LTSSampling,
    "ec2": EC2Sampling,
    "gbs": GBSSampling,
}


def resolve_strategy(strategy):
    """Create a strategy from a name, an object, or a function."""
    if isinstance(strategy, SamplingStrategy):
        return strategy
    if callable(strategy) and not isinstance(strategy, type):
        return FunctionSampling(strategy)
    if isinstance(strategy, str) and strategy in STRATEGIES:
        return STRATEGIES[strategy]()
    raise ValueError(
        f"strategy must be one of {list(STRATEGIES)}, a SamplingStrategy or a function "
        f"of (estimator, X). Got {strategy!r} instead."
    )
