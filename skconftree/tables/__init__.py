"""Validation and encoding of tables: arrays, sparse matrices and data frames."""

from ._binary_tests import BinaryTests

__all__ = ["BinaryTests"]
