"""What every bound's parameter object shares."""

from sklearn.base import BaseEstimator

from .._compat import validate_parameter_constraints


class BaseBound(BaseEstimator):
    """Parameters of a bound; `kernel` makes the compiled object that decides.

    A bound is one file with one subclass, registered by name in
    ``_registry.py``. Parameters are only stored; they are checked when a tree
    is fitted or `kernel` is called.

    Attributes
    ----------
    criteria : tuple of str
        Criteria the bound is defined for; the first is its default.
    delta_parameter : str
        Name of the parameter that a tree's ``delta`` overrides.
    cautious : bool
        Whether the bound, at its default, needs more rows for a first split
        than a small table has.
    """

    criteria = ()
    delta_parameter = "delta"
    cautious = False
    _parameter_constraints: dict = {}

    def check_parameters(self):
        """Raise ``InvalidParameterError`` unless every parameter is valid."""
        validate_parameter_constraints(
            self._parameter_constraints,
            self.get_params(deep=False),
            caller_name=type(self).__name__,
        )

    def kernel(self, criterion, n_classes):
        """Make the compiled decision for one fit, scratch memory included."""
        raise NotImplementedError
