"""What the parameters of a tree may be, in a forest too.

What one of them may be beside another is checked where they are resolved (`_resolve`).
"""

from numbers import Integral, Real

from .._compat import Interval, RealNotInt, StrOptions
from ..bounds._base import BaseBound
from ..criteria._criterion import CRITERIA
from ..drift import BaseDetector
from ..drift._registry import DETECTORS
from ..tables._inputs import LARGEST
from ..tables._weights import KINDS
from .pruning._registry import PRUNINGS

MIN_BYTES = 65536  # smallest `max_bytes`

CONSTRAINTS = {
    "bound": [str, BaseBound, None],
    "criterion": [StrOptions(set(CRITERIA)), None],
    "delta": [Interval(Real, 0.0, LARGEST, closed="right"), None],
    "splitter": [StrOptions({"best", "random"})],
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "min_samples_split": [
        Interval(Integral, 2, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
    ],
    "min_samples_leaf": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="neither"),
    ],
    "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
    "max_features": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
        StrOptions({"sqrt", "log2"}),
        None,
    ],
    "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
    "min_impurity_decrease": [Interval(Real, 0.0, LARGEST, closed="both")],
    "pruning": [StrOptions({"auto", *PRUNINGS}), None],
    "pruning_confidence": [Interval(Real, 0.0, LARGEST, closed="both"), None],
    "shrinkage": [
        Interval(Real, 0.0, LARGEST, closed="both"),
        StrOptions({"auto"}),
    ],
    "lookahead": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
    "honest_share": [Interval(Real, 0.0, 1.0, closed="left")],
    "categorical_features": [
        "array-like",
        StrOptions({"from_dtype"}),
        None,
    ],
    "nominal_splits": [StrOptions({"auto", "binary", "multiway"})],
    "grace_period": [Interval(Real, 0.0, LARGEST, closed="right")],
    "tie_threshold": [Interval(Real, 0.0, LARGEST, closed="both")],
    "leaf_memory": [StrOptions({"auto", "rows", "histogram", "gaussian"})],
    "max_bytes": [Interval(Integral, MIN_BYTES, None, closed="left"), None],
    "leaf_prediction": [StrOptions({"auto", "majority", "nb", "nba"})],
    "drift": [StrOptions(set(DETECTORS)), BaseDetector, None],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "sample_weight_kind": [StrOptions(set(KINDS))],
    "random_state": ["random_state"],
}
