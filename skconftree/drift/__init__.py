"""Detectors of concept drift: changes of the distribution of a stream.

A detector monitors the errors of a model, a stream of 0 and 1. It is independent of the
model and stores only a few numbers. `LocalRepair` is not a detector: it lets a tree
monitor each of its nodes and replace the subtrees that a drift affects.

The parameter `drift` of trees and forests also accepts the detectors of the package
river, and any object with their protocol.
"""

from ._adwin import ADWIN
from ._base import BaseDetector, DriftState, LocalRepair
from ._ddm import DDM

__all__ = ["ADWIN", "DDM", "BaseDetector", "DriftState", "LocalRepair"]
