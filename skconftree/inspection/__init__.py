"""Plots of trees, learning curves and streams, audits of splits, feature importances.

An audit tests each split of a tree on held-out rows. `shap_values` explains
predictions. The plots need matplotlib.
"""

from ..tree.reading import shap_values
from ._audit import SplitAudit, audit_splits
from ._curves import ActiveCurveDisplay, PrequentialDisplay
from ._importance import (
    FeatureImportance,
    FeatureImportanceDisplay,
    feature_importance,
)
from ._tree import ConfidenceTreeDisplay

__all__ = [
    "ActiveCurveDisplay",
    "ConfidenceTreeDisplay",
    "FeatureImportance",
    "FeatureImportanceDisplay",
    "PrequentialDisplay",
    "SplitAudit",
    "audit_splits",
    "feature_importance",
    "shap_values",
]
