"""Parameters of scikit-learn's trees and forests that have other names here."""

from functools import wraps

from ..utils._types import Method

_COST = "pruning='cost_complexity' prunes as it does; its alpha is pruning_confidence"
_ROUNDS = "Nothing is boosted here; ConfidenceForestClassifier has n_estimators"
_SMOOTH = "shrinkage draws the leaves of small nodes upwards"
COUNTERPARTS = {
    "ccp_alpha": _COST,
    "monotonic_cst": "There are no monotonic constraints here",
    "interaction_cst": "There are no constraints on interactions here",
    "max_iter": _ROUNDS,
    "learning_rate": _ROUNDS,
    "l2_regularization": _SMOOTH,
}


def knows_other_words(cls: Method) -> Method:
    """Let the errors of an estimator's constructor and set_params name counterparts.

    Such an error has the attribute `counterpart`.
    """
    cls.__init__ = _checked(cls.__init__, TypeError)
    cls.set_params = _checked(cls.set_params, ValueError)
    return cls


def _checked(method, error):
    @wraps(method)
    def call(self, *args, **parameters):
        for name in parameters:
            if name in COUNTERPARTS:
                refusal = error(
                    f"{type(self).__name__} has no such parameter: {name!r} is a "
                    f"parameter of scikit-learn's. {COUNTERPARTS[name]}."
                )
                refusal.counterpart = COUNTERPARTS[name]
                raise refusal
        return method(self, *args, **parameters)

    return call
