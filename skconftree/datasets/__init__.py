"""Data streams to try things on: generators and loaders.

Generators return ``(X, y)`` at once, vectorised, with `X` as float32 (what trees
compute in) and class indices `y`. Streams that can drift share `concept`, `drift_at`
and `drift_width`. Loaders fetch real tables from OpenML or read them from a folder.
"""

from ._agrawal import make_agrawal
from ._diced import make_diced
from ._fetch import (
    fetch_a9a,
    fetch_airlines,
    fetch_cod_rna,
    fetch_covertype,
    fetch_electricity,
)
from ._grid import grid_concept_proba, grid_concept_risk, make_grid_concept
from ._led import make_led
from ._random_tree import make_random_tree_stream
from ._rbf import make_random_rbf
from ._record_pairs import make_record_pairs
from ._sea import make_sea

__all__ = [
    "fetch_a9a",
    "fetch_airlines",
    "fetch_cod_rna",
    "fetch_covertype",
    "fetch_electricity",
    "grid_concept_proba",
    "grid_concept_risk",
    "make_agrawal",
    "make_diced",
    "make_grid_concept",
    "make_led",
    "make_random_rbf",
    "make_random_tree_stream",
    "make_record_pairs",
    "make_sea",
]
