"""The only file that touches private parts of scikit-learn."""

from sklearn.base import _fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Hidden,
    Interval,
    InvalidParameterError,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)

__all__ = [
    "HasMethods",
    "Hidden",
    "Interval",
    "InvalidParameterError",
    "RealNotInt",
    "StrOptions",
    "_fit_context",
    "validate_parameter_constraints",
]
