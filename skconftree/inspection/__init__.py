"""Pictures of trees and of learning curves, and audits of splits.

The pictures need matplotlib.
"""

from ._active_curves import ActiveCurveDisplay
from ._audit import SplitAudit, audit_splits
from ._tree import ConfidenceTreeDisplay

__all__ = ["ActiveCurveDisplay", "ConfidenceTreeDisplay", "SplitAudit", "audit_splits"]
