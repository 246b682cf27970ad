"""Validation and encoding of tables: arrays, sparse matrices and data frames.

`BinaryTests` turns columns into indicators of thresholds and categories.
"""

from ._binary_tests import BinaryTests

__all__ = ["BinaryTests"]
