"""Streams: what strategies are shown, and what a run gives."""

from ._context import StreamContext
from ._run import StreamRun
from ._strategies import query_probability

__all__ = ["StreamContext", "StreamRun", "query_probability"]
