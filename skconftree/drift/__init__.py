"""Change detectors: they tell when the concept behind a stream has changed.

A detector watches the errors of a model, a stream of 0 and 1. It knows no model and
keeps a handful of numbers.
"""

from ._classes import DDM, DriftState

__all__ = ["DDM", "DriftState"]
