"""Decision trees that report the evidence for each split, and their growth.

The *evidence* for a split is the number of candidate splits of its node that would look
as good by chance: an adjusted p-value. Splits of weak evidence form subtrees that can
be *folded*, that is, shown as leaves. EC2 is equivalence class edge cutting.
"""

from ._classes import ConfidenceTreeClassifier
from ._distill import distill
from ._row_index import RowIndex
from .nodes._state import LeafReason
from .pruning._base import BasePruning
from .pruning._classes import (
    C45Pruning,
    Chi2Pruning,
    CostComplexityPruning,
    EC2Pruning,
    PessimisticPruning,
    PossibilisticPruning,
)
from .reading._html import class_colors, export_html
from .reading._onnx import export_onnx
from .reading._records import fold_weak_subtrees, node_table
from .reading._rules import export_rules
from .reading._text import export_text

__all__ = [
    "BasePruning",
    "C45Pruning",
    "Chi2Pruning",
    "ConfidenceTreeClassifier",
    "CostComplexityPruning",
    "EC2Pruning",
    "LeafReason",
    "PessimisticPruning",
    "PossibilisticPruning",
    "RowIndex",
    "class_colors",
    "distill",
    "export_html",
    "export_onnx",
    "export_rules",
    "export_text",
    "fold_weak_subtrees",
    "node_table",
]
