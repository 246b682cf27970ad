"""Data streams to try things on.

Generators return ``(X, y)`` at once, vectorised, with `X` as float32 (what trees
compute in) and class indices `y`. Streams that can drift share `concept`, `drift_at`
and `drift_width`. Real tables come from :func:`sklearn.datasets.fetch_openml`.
"""

from ._generators import (
    grid_concept_proba,
    grid_concept_risk,
    make_diced,
    make_grid_concept,
    make_random_tree_stream,
    make_sea,
)

__all__ = [
    "grid_concept_proba",
    "grid_concept_risk",
    "make_diced",
    "make_grid_concept",
    "make_random_tree_stream",
    "make_sea",
]
