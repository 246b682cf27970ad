"""Pools: what strategies and stopping rules derive from and see, and what calls give.

Strategies without parameters are here, too: a learner takes their names.
"""

from .._stopping import StoppingRule
from .._strategy import SamplingStrategy
from ._context import QueryContext
from ._leaf_sampling import ExpectedErrorSampling, LeafEntropySampling, LeafSampling
from ._simulate import SimulationResult, StrategySummary
from ._strategies import (
    AutoSampling,
    DiversitySampling,
    KCenterSampling,
    VoteEntropySampling,
)
from ._teach import Answer

__all__ = [
    "Answer",
    "AutoSampling",
    "DiversitySampling",
    "ExpectedErrorSampling",
    "KCenterSampling",
    "LeafEntropySampling",
    "LeafSampling",
    "QueryContext",
    "SamplingStrategy",
    "SimulationResult",
    "StoppingRule",
    "StrategySummary",
    "VoteEntropySampling",
]
