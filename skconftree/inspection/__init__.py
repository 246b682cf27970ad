"""Plots of trees, learning curves and streams, audits of splits, and SHAP values.

The plots need matplotlib.
"""

from ..tree.reading import shap_values
from ._audit import SplitAudit, audit_splits
from ._curves import ActiveCurveDisplay, PrequentialDisplay
from ._tree import ConfidenceTreeDisplay

__all__ = [
    "ActiveCurveDisplay",
    "ConfidenceTreeDisplay",
    "PrequentialDisplay",
    "SplitAudit",
    "audit_splits",
    "shap_values",
]
