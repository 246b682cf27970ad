"""Prequential evaluation (test-then-train), models for dict streams, label noise."""

from ._evaluator import PrequentialEvaluator, PrequentialRecord
from ._label_noise import LabelIssues, estimate_label_noise, rank_label_issues
from ._one_by_one import OneByOne
from ._prequential import iter_prequential, prequential_score
from ._river import RiverClassifier

__all__ = [
    "LabelIssues",
    "OneByOne",
    "PrequentialEvaluator",
    "PrequentialRecord",
    "RiverClassifier",
    "estimate_label_noise",
    "iter_prequential",
    "prequential_score",
    "rank_label_issues",
]
