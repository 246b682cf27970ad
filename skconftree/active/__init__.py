"""Active learning: which labels are worth their price.

`ActiveLearner` asks for labels of a pool, `simulate` says beforehand what a query
strategy would have been worth. `StreamActiveLearner` decides on one row after the
other, within a budget. Strategies work by name or as objects.

What strategies and rules of your own derive from and are shown, what calls give, and
strategies whose name suffices, as they have no parameters, are in the rooms `pool` and
`stream`.
"""

from ._strategy import (
    EntropySampling,
    LeastConfidentSampling,
    MarginSampling,
    RandomSampling,
)
from .ec2._strategies import EC2Sampling, GBSSampling
from .lts._classes import LearningToSampleClassifier
from .lts._selection import LTSSampling
from .pool._leaf_sampling import LeafRiskSampling
from .pool._learner import ActiveLearner
from .pool._once import query_once
from .pool._oracles import ArrayOracle, ConsoleOracle, NoisyOracle
from .pool._simulate import simulate
from .pool._stopping import LabelBudget, RiskBelow, StableModel
from .pool._strategies import DensitySampling
from .pool._weighted import WeightedSampling
from .session._session import LabelingSession
from .session._web import WebOracle
from .stream._learner import StreamActiveLearner
from .stream._strategies import (
    ConfTreeSampling,
    FixedUncertainty,
    QueryScoreSampling,
    SplitConfTreeSampling,
    SplitSampling,
    VariableUncertainty,
)

__all__ = [
    "ActiveLearner",
    "ArrayOracle",
    "ConfTreeSampling",
    "ConsoleOracle",
    "DensitySampling",
    "EC2Sampling",
    "EntropySampling",
    "FixedUncertainty",
    "GBSSampling",
    "LTSSampling",
    "LabelBudget",
    "LabelingSession",
    "LeafRiskSampling",
    "LearningToSampleClassifier",
    "LeastConfidentSampling",
    "MarginSampling",
    "NoisyOracle",
    "QueryScoreSampling",
    "RandomSampling",
    "RiskBelow",
    "SplitConfTreeSampling",
    "SplitSampling",
    "StableModel",
    "StreamActiveLearner",
    "VariableUncertainty",
    "WebOracle",
    "WeightedSampling",
    "query_once",
    "simulate",
]
