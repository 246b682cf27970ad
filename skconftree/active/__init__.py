"""Active learning: which labels are worth their price.

`ActiveLearner` asks for labels of a pool, `simulate` says beforehand what a query
strategy would have been worth. Strategies work by name or as objects.
"""

from ._committee import VoteEntropySampling
from ._context import QueryContext
from ._coverage import DensitySampling, DiversitySampling, KCenterSampling
from ._learner import ActiveLearner, Answer
from ._leaves import (
    ExpectedErrorSampling,
    LeafEntropySampling,
    LeafRiskSampling,
    LeafSampling,
)
from ._mixed import AutoSampling, WeightedSampling
from ._oracles import ArrayOracle, ConsoleOracle, NoisyOracle
from ._simulate import SimulationResult, StrategySummary, simulate
from ._stopping import Budget, RiskBelow, Stable
from ._strategy import SamplingStrategy
from ._uncertainty import (
    EntropySampling,
    LeastConfidentSampling,
    MarginSampling,
    RandomSampling,
)

__all__ = [
    "ActiveLearner",
    "Answer",
    "ArrayOracle",
    "AutoSampling",
    "Budget",
    "ConsoleOracle",
    "DensitySampling",
    "DiversitySampling",
    "EntropySampling",
    "ExpectedErrorSampling",
    "KCenterSampling",
    "LeafEntropySampling",
    "LeafRiskSampling",
    "LeafSampling",
    "LeastConfidentSampling",
    "MarginSampling",
    "NoisyOracle",
    "QueryContext",
    "RandomSampling",
    "RiskBelow",
    "SamplingStrategy",
    "SimulationResult",
    "Stable",
    "StrategySummary",
    "VoteEntropySampling",
    "WeightedSampling",
    "simulate",
]
