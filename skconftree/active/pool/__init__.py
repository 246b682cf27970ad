"""Pools: what strategies and stopping rules derive from and see, and what calls give.

Strategies without parameters are here, too: a learner takes their names.
"""

from .._stopping import StoppingRule
from .._strategy import SamplingStrategy
from ._answers import Answer
from ._auto import AutoSampling
from ._committee import VoteEntropySampling
from ._context import QueryContext
from ._coverage import DiversitySampling, KCenterSampling
from ._leaves import ExpectedErrorSampling, LeafEntropySampling, LeafSampling
from ._results import SimulationResult, StrategySummary

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
