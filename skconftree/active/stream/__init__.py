"""Streams: base class of query strategies, their context, and results of runs.

The context is what a strategy decides on: rows, model and remaining budget. A run is a
call of `StreamActiveLearner.run`. Strategies without parameters are here, too; they are
usually passed by name. `SelectiveSampling` queries uncertain rows with a larger
probability. `query_probability` is the probability of a query in a leaf whose majority
class is already known with confidence.
"""

from ._context import StreamContext
from ._learner import StreamRun
from ._strategies import (
    RandomStream,
    SelectiveSampling,
    StreamStrategy,
    query_probability,
)

__all__ = [
    "RandomStream",
    "SelectiveSampling",
    "StreamContext",
    "StreamRun",
    "StreamStrategy",
    "query_probability",
]
