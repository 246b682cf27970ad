"""Prequential evaluation: test on every row of a stream, then learn it."""

from ._evaluator import PrequentialEvaluator
from ._prequential import iter_prequential, prequential_score
from ._record import PrequentialRecord

__all__ = [
    "PrequentialEvaluator",
    "PrequentialRecord",
    "iter_prequential",
    "prequential_score",
]
