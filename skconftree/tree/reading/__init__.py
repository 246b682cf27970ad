"""Export of trees as text, HTML, rules, records and scikit-learn objects."""

from ._shap_values import shap_values

__all__ = ["shap_values"]
