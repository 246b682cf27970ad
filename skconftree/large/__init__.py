"""Growth from parts: tables that are larger than memory."""

from ._fit import fit

__all__ = ["fit"]
