"""Generators of synthetic tables and data streams.

Each returns ``(X, y)`` with `X` as float32, the precision of trees, and class indices
`y`. Diced rows are in separated cubes, and a grid concept has known class probabilities
in the cells of a grid. Streams with concept drift have the parameters `concept`,
`drift_at` and `drift_width`. For real tables, use
:func:`sklearn.datasets.fetch_openml`.
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
