"""Active learning: which labels are worth their price.

`ActiveLearner` asks for labels of a pool, `simulate` says beforehand what a query
strategy would have been worth. `StreamActiveLearner` decides on one row after the
other, within a budget. Strategies work by name or as objects.
"""

from ._answers import Answer
from ._auto import AutoSampling
from ._committee import VoteEntropySampling
from ._context import QueryContext
from ._coverage import DensitySampling, DiversitySampling, KCenterSampling
from ._ec2 import EC2Sampling, GBSSampling
from ._ec2_done import EC2Done
from ._learner import ActiveLearner
from ._leaves import (
    ExpectedErrorSampling,
    LeafEntropySampling,
    LeafRiskSampling,
    LeafSampling,
)
from ._lts import LearningToSampleClassifier
from ._lts_groups import lts_select
from ._lts_strategy import LTSSampling
from ._oracles import ArrayOracle, ConsoleOracle, NoisyOracle
from ._simulate import SimulationResult, StrategySummary, simulate
from ._stopping import Budget, RiskBelow, Stable, StoppingRule
from ._strategy import SamplingStrategy
from ._stream_context import StreamContext
from ._stream_learner import StreamActiveLearner
from ._stream_run import StreamRun
from ._stream_strategies import (
    ConfTreeSampling,
    FixedUncertainty,
    QueryScoreSampling,
    RandomStream,
    SelectiveSampling,
    Split,
    SplitConfTree,
    StreamStrategy,
    VariableUncertainty,
    query_probability,
)
from ._uncertainty import (
    EntropySampling,
    LeastConfidentSampling,
    MarginSampling,
    RandomSampling,
)
from ._weighted import WeightedSampling

__all__ = [
    "ActiveLearner",
    "Answer",
    "ArrayOracle",
    "AutoSampling",
    "Budget",
    "ConfTreeSampling",
    "ConsoleOracle",
    "DensitySampling",
    "DiversitySampling",
    "EC2Done",
    "EC2Sampling",
    "EntropySampling",
    "ExpectedErrorSampling",
    "FixedUncertainty",
    "GBSSampling",
    "KCenterSampling",
    "LTSSampling",
    "LeafEntropySampling",
    "LeafRiskSampling",
    "LeafSampling",
    "LearningToSampleClassifier",
    "LeastConfidentSampling",
    "MarginSampling",
    "NoisyOracle",
    "QueryContext",
    "QueryScoreSampling",
    "RandomSampling",
    "RandomStream",
    "RiskBelow",
    "SamplingStrategy",
    "SelectiveSampling",
    "SimulationResult",
    "Split",
    "SplitConfTree",
    "Stable",
    "StoppingRule",
    "StrategySummary",
    "StreamActiveLearner",
    "StreamContext",
    "StreamRun",
    "StreamStrategy",
    "VariableUncertainty",
    "VoteEntropySampling",
    "WeightedSampling",
    "lts_select",
    "query_probability",
    "simulate",
]
