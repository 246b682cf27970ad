"""Streams: what strategies derive from and see, and what a run gives.

Strategies without parameters are here, too: a learner takes their names.
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
