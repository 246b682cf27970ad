"""From what a user gives to an encoded table; knows no tree."""

from ._binary_tests import BinaryTests

__all__ = ["BinaryTests"]
