"""Pools: base classes of strategies and stopping rules, their context, result types.

Strategies without parameters are here, too; they are usually passed by name. A pool is
a table of unlabeled and labeled rows; the *context* is the state of the learner that a
strategy or rule receives.
"""

from .._stopping import StoppingRule
from .._strategy import SamplingStrategy
from ._check import DeliveredLabels
from ._context import QueryContext
from ._estimate import ErrorEstimate
from ._evaluate import EvaluationReport
from ._leaf_sampling import ExpectedErrorSampling, LeafEntropySampling, LeafSampling
from ._recall import RecallReport
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
    "DeliveredLabels",
    "DiversitySampling",
    "ErrorEstimate",
    "EvaluationReport",
    "ExpectedErrorSampling",
    "KCenterSampling",
    "LeafEntropySampling",
    "LeafSampling",
    "QueryContext",
    "RecallReport",
    "SamplingStrategy",
    "SimulationResult",
    "StoppingRule",
    "StrategySummary",
    "VoteEntropySampling",
]
