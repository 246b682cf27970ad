"""Active learning: which labels are worth their price.

`ActiveLearner` asks for labels of a pool, `simulate` says beforehand what a query
strategy would have been worth. `StreamActiveLearner` decides on one row after the
other, within a budget. Strategies work by name or as objects.

What strategies and rules of your own are shown, and what calls give, is in the rooms
`pool` and `stream`.
"""

from ._stopping import StoppingRule
from ._strategy import SamplingStrategy
from ._uncertainty import (
    EntropySampling,
    LeastConfidentSampling,
    MarginSampling,
    RandomSampling,
)
from .ec2._done import EC2Done
from .ec2._sampling import EC2Sampling, GBSSampling
from .lts._classes import LearningToSampleClassifier
from .lts._strategy import LTSSampling
from .pool._auto import AutoSampling
from .pool._committee import VoteEntropySampling
from .pool._coverage import DensitySampling, DiversitySampling, KCenterSampling
from .pool._learner import ActiveLearner
from .pool._leaves import (
    ExpectedErrorSampling,
    LeafEntropySampling,
    LeafRiskSampling,
    LeafSampling,
)
from .pool._once import query_once
from .pool._oracles import ArrayOracle, ConsoleOracle, NoisyOracle
from .pool._simulate import simulate
from .pool._stopping import Budget, RiskBelow, Stable
from .pool._weighted import WeightedSampling
from .session._session import LabelingSession
from .session._web import WebOracle
from .stream._branches import Split, SplitConfTree
from .stream._learner import StreamActiveLearner
from .stream._strategies import (
    ConfTreeSampling,
    FixedUncertainty,
    QueryScoreSampling,
    RandomStream,
    SelectiveSampling,
    StreamStrategy,
    VariableUncertainty,
)

__all__ = [
    "ActiveLearner",
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
    "LabelingSession",
    "LeafEntropySampling",
    "LeafRiskSampling",
    "LeafSampling",
    "LearningToSampleClassifier",
    "LeastConfidentSampling",
    "MarginSampling",
    "NoisyOracle",
    "QueryScoreSampling",
    "RandomSampling",
    "RandomStream",
    "RiskBelow",
    "SamplingStrategy",
    "SelectiveSampling",
    "Split",
    "SplitConfTree",
    "Stable",
    "StoppingRule",
    "StreamActiveLearner",
    "StreamStrategy",
    "VariableUncertainty",
    "VoteEntropySampling",
    "WebOracle",
    "WeightedSampling",
    "query_once",
    "simulate",
]
