"""Prequential evaluation (test on every row, then learn it), and noise of labels."""

from ._evaluator import PrequentialEvaluator
from ._label_noise import estimate_label_noise
from ._prequential import iter_prequential, prequential_score
from ._record import PrequentialRecord

__all__ = [
    "PrequentialEvaluator",
    "PrequentialRecord",
    "estimate_label_noise",
    "iter_prequential",
    "prequential_score",
]
