"""Pictures of trees, of learning curves and of streams, and audits of splits.

The pictures need matplotlib.
"""

from ._active_curves import ActiveCurveDisplay
from ._audit import SplitAudit, audit_splits
from ._prequential import PrequentialDisplay
from ._tree import ConfidenceTreeDisplay

__all__ = [
    "ActiveCurveDisplay",
    "ConfidenceTreeDisplay",
    "PrequentialDisplay",
    "SplitAudit",
    "audit_splits",
]
