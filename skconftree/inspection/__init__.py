"""Plots of trees, learning curves and streams, and audits of splits.

The plots need matplotlib.
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
