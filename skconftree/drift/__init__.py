"""Detectors of concept drift: changes of the distribution behind a stream.

A detector watches the errors of a model, a stream of 0 and 1. It knows no model and
keeps a handful of numbers. `LocalRepair` is none: a tree that has it watches each of
its nodes, and replaces the part that broke.

`drift=` also takes the detectors of river, and any object with their protocol.
"""

from ._adwin import ADWIN
from ._base import BaseDetector, DriftState, LocalRepair
from ._ddm import DDM

__all__ = ["ADWIN", "DDM", "BaseDetector", "DriftState", "LocalRepair"]
