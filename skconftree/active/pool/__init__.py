"""Pools: what strategies and stopping rules are shown, and what calls give."""

from ._answers import Answer
from ._context import QueryContext
from ._results import SimulationResult, StrategySummary

__all__ = ["Answer", "QueryContext", "SimulationResult", "StrategySummary"]
