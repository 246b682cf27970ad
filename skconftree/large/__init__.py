"""Growth from parts: tables that are larger than memory."""

from ._fit import fit
from ._parquet import iter_batches

__all__ = ["fit", "iter_batches"]
