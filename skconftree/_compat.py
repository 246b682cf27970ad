"""Private functions of scikit-learn, and differences between its versions."""

import sys
from copy import copy
from functools import lru_cache
from inspect import signature
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import NODE_DTYPE, Tree
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Hidden,
    Interval,
    InvalidParameterError,
    RealNotInt,
)
from sklearn.utils._param_validation import StrOptions as _StrOptions
from sklearn.utils._param_validation import (
    validate_parameter_constraints as _validate_constraints,
)
from sklearn.utils.validation import _check_feature_names, _check_n_features
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_sample_weight as _check_weights
from sklearn.utils.validation import _get_feature_names as get_feature_names

if TYPE_CHECKING:
    from collections.abc import Callable

    _Method = TypeVar("_Method")

    # the decorators of scikit-learn have no types and would hide the types of methods
    def _fit_context(
        *, prefer_skip_nested_validation: bool
    ) -> Callable[[_Method], _Method]: ...
    def available_if(check: Any) -> Callable[[_Method], _Method]: ...
else:
    from sklearn.base import _fit_context
    from sklearn.utils.metaestimators import available_if

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback._callback_support import callback_management_context
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:
        """Placeholder for the mixin of estimators that support callbacks."""

    callback_management_context = None


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Hidden",
    "Interval",
    "InvalidParameterError",
    "RealNotInt",
    "StrOptions",
    "_check_sample_weight",
    "_fit_context",
    "_safe_indexing",
    "available_if",
    "callback_management_context",
    "check_feature_count",
    "check_feature_names",
    "check_feature_names_in",
    "check_row_weights",
    "get_feature_names",
    "make_sklearn_tree",
    "pruned_trees",
    "validate_parameters",
]

MAX_BITS = sys.float_info.max_exp - 1  # size of an integer that fits into a float
_NO_DEFAULT = object()
_IMMUTABLE = (str, int, float, type(None))
# Parameter that allows zero weights in versions that reject them by default.
_ZEROS = "allow_all_zero_weights"
_ALLOW_ZEROS = {_ZEROS: True} if _ZEROS in signature(_check_weights).parameters else {}


class StrOptions(_StrOptions):
    """Allowed strings, which errors list in alphabetical order."""

    def __str__(self):
        return f"a str among {{{', '.join(map(repr, sorted(self.options)))}}}"


def _validate(parameter_constraints, params, caller_name):
    # Check parameters like scikit-learn, and also that integers fit into a float.
    for name, value in params.items():
        if isinstance(value, Integral) and int(value).bit_length() > MAX_BITS:
            raise InvalidParameterError(
                f"The {name!r} parameter of {caller_name} must fit into a float. Got "
                f"an integer of {int(value).bit_length()} bits instead."
            )
    _validate_constraints(parameter_constraints, params, caller_name)


def check_feature_names(caller, n_features, names, X):
    """Warn or raise, like scikit-learn, if column names differ from those of `fit`."""
    _check_feature_names(_fitted(caller, n_features, names), X, reset=False)


def check_feature_count(caller, n_features, X):
    """Raise, like scikit-learn, if the number of columns differs from that of `fit`."""
    _check_n_features(_fitted(caller, n_features, None), X, reset=False)


def _fitted(caller, n_features, names):
    # An object with the attributes that the checks of scikit-learn use.
    known = {"n_features_in_": n_features}
    if names is not None:
        known["feature_names_in_"] = names
    return type(caller, (), known)()


def validate_parameters(estimator, names=None):
    """Check the parameters of an object against the constraints of its class.

    Valid default values are cached and not checked again, because reading the signature
    of a class takes longer than growing a small tree. `names` restricts the check.
    """
    kind = type(estimator)
    for name, default in _valid_defaults(kind):
        value = getattr(estimator, name)
        if value is default or not (names is None or name in names):
            continue
        if isinstance(value, _IMMUTABLE):
            _check_value(kind, name, value, type(value))
        else:
            _validate(kind._parameter_constraints, {name: value}, kind.__name__)


@lru_cache(maxsize=1024)
def _check_value(kind, name, value, type_of_value):
    # Cached for each value. The type is an argument, too, because 1, 1.0 and True are
    # equal.
    _validate(kind._parameter_constraints, {name: value}, kind.__name__)


@lru_cache(maxsize=256)
def _valid_defaults(kind):
    # Return the parameters of a class: pairs of a name and a default, which is
    # _NO_DEFAULT if it is not valid.
    names, result = kind._get_param_names(), []
    if not names:  # without docstrings, object.__init__ has no signature
        return ()
    init = getattr(kind.__init__, "deprecated_original", kind.__init__)
    parameters = signature(init).parameters
    for name in names:
        default = parameters[name].default
        try:
            _validate(kind._parameter_constraints, {name: default}, kind.__name__)
        except InvalidParameterError:
            default = _NO_DEFAULT
        if not isinstance(default, _IMMUTABLE):
            default = _NO_DEFAULT
        result.append((name, default))
    return tuple(result)


def _check_sample_weight(sample_weight, X, **options):
    """Check weights like scikit-learn, including integers that exceed floats."""
    try:
        return _check_weights(sample_weight, X, **options)
    except OverflowError as error:
        raise ValueError(
            "sample_weight contains a number that is too large for float64."
        ) from error


def check_row_weights(sample_weight, X):
    """Check the weights of rows of a stream, which may all be 0."""
    return _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True, **_ALLOW_ZEROS
    )


def pruned_trees(classifier, alphas):
    """Yield a fitted ``DecisionTreeClassifier`` pruned with each of ascending alphas.

    Minimal cost-complexity pruning gives nested trees, so each starts from the last.
    """
    pruned = copy(classifier)
    for pruned.ccp_alpha in alphas:
        pruned._prune_tree()
        yield pruned


def make_sklearn_tree(nodes, values, *, max_depth, n_features, classes, parameters):
    """Build a fitted ``DecisionTreeClassifier`` from arrays, for any release."""
    n_nodes, n_classes = values.shape
    records = np.zeros(n_nodes, dtype=NODE_DTYPE)
    for name, field in nodes.items():
        records[name] = field
    tree = Tree(n_features, np.array([n_classes], dtype=np.intp), 1)
    tree.__setstate__(
        {
            "max_depth": max_depth,
            "node_count": n_nodes,
            "nodes": records,
            "values": np.ascontiguousarray(values[:, np.newaxis, :]),
        }
    )
    classifier = DecisionTreeClassifier(**parameters)
    classifier.tree_ = tree
    classifier.classes_ = classes
    classifier.n_classes_ = np.intp(n_classes)
    classifier.n_outputs_ = 1
    classifier.n_features_in_ = n_features
    classifier.max_features_ = n_features
    return classifier
