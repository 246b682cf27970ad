"""Streams: base class of query strategies, their context, and results of runs.

Strategies without parameters are here, too; they are usually passed by name.
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
