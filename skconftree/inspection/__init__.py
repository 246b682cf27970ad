"""Pictures of trees, of learning curves and of streams, and audits of splits.

The pictures need matplotlib.
"""

from ._audit import SplitAudit, audit_splits
from ._curves import ActiveCurveDisplay, PrequentialDisplay
from ._tree import ConfidenceTreeDisplay

__all__ = [
    "ActiveCurveDisplay",
    "ConfidenceTreeDisplay",
    "PrequentialDisplay",
    "SplitAudit",
    "audit_splits",
]
