"""Active learning: select the rows whose labels are most informative.

`ActiveLearner` queries labels of a pool, a table of unlabeled and labeled rows.
`simulate` compares query strategies on labeled data. `StreamActiveLearner` decides row
by row whether to query a label, within a budget. Query strategies are passed by name or
as objects.

The subpackages `pool` and `stream` have the base classes of custom strategies and
stopping rules, the context objects that these receive, result types, and strategies
without parameters, which are usually passed by name.

EC2 is equivalence class edge cutting, GBS generalized binary search, LTS learning to
sample, and ConfTree the query strategy of confidence decision trees.
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
from .pool._check import SuggestedErrorBelow
from .pool._evaluate import HalfWidthBelow, ModelEvaluator, evaluate
from .pool._leaf_sampling import LeafRiskSampling
from .pool._learner import ActiveLearner, query_once
from .pool._oracles import ArrayOracle, ConsoleOracle, NoisyOracle
from .pool._recall import RecallAbove
from .pool._simulate import simulate
from .pool._stopping import LabelBudget, RiskBelow, StableModel
from .pool._strategies import DensitySampling, MostLikelySampling
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
    "HalfWidthBelow",
    "LTSSampling",
    "LabelBudget",
    "LabelingSession",
    "LeafRiskSampling",
    "LearningToSampleClassifier",
    "LeastConfidentSampling",
    "MarginSampling",
    "ModelEvaluator",
    "MostLikelySampling",
    "NoisyOracle",
    "QueryScoreSampling",
    "RandomSampling",
    "RecallAbove",
    "RiskBelow",
    "SplitConfTreeSampling",
    "SplitSampling",
    "StableModel",
    "StreamActiveLearner",
    "SuggestedErrorBelow",
    "VariableUncertainty",
    "WebOracle",
    "WeightedSampling",
    "evaluate",
    "query_once",
    "simulate",
]
