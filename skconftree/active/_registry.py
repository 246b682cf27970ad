"""Query strategies by name."""

from ._strategy import FunctionSampling, SamplingStrategy
from ._uncertainty import (
    EntropySampling,
    LeastConfidentSampling,
    MarginSampling,
    RandomSampling,
)
from .ec2._sampling import EC2Sampling, GBSSampling
from .lts._strategy import LTSSampling
from .pool._auto import AutoSampling
from .pool._committee import VoteEntropySampling
from .pool._coverage import DensitySampling, DiversitySampling, KCenterSampling
from .pool._leaves import ExpectedErrorSampling, LeafEntropySampling, LeafRiskSampling

STRATEGIES = {
    "auto": AutoSampling,
    "random": RandomSampling,
    "least_confident": LeastConfidentSampling,
    "margin": MarginSampling,
    "entropy": EntropySampling,
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
    """A strategy from its name, an object, or a function."""
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
