"""Growth of trees from tables in parts, which may be larger than memory."""

from ._fit import fit
from ._parquet import iter_batches

__all__ = ["fit", "iter_batches"]
