"""Error messages for unknown parameter names."""

from difflib import get_close_matches
from functools import wraps
from inspect import signature

from ._types import Method


def did_you_mean(name, known):
    """Return " Did you mean '...'?" with the closest known name, or an empty string."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(name.lower(), by_lower, n=1)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""


def suggests_parameters(counterparts=None):
    """Decorate a class so that errors about unknown parameters suggest a known one.

    Parameters
    ----------
    counterparts : dict or None
        Maps the name of a parameter of scikit-learn's estimators that the class does
        not have to a sentence about what to use instead. The error has it as
        `counterpart`.
    """
    counterparts = counterparts or {}

    def decorate(cls: Method) -> Method:
        init, set_params = cls.__init__, cls.set_params
        known = frozenset(signature(init).parameters)

        def explain(self, name, names, error, message):
            own = type(self).__name__
            if name in counterparts:
                refusal = error(
                    f"{own} has no such parameter: {name!r} is a parameter of "
                    f"scikit-learn's estimators. {counterparts[name]}."
                )
                refusal.counterpart = counterparts[name]
                raise refusal
            raise error(message.format(own=own) + did_you_mean(name, names))

        @wraps(init)
        def checked_init(self, *args, **parameters):
            for name in parameters:
                if name not in known:
                    message = f"{{own}}() got an unexpected keyword argument {name!r}."
                    explain(self, name, sorted(known - {"self"}), TypeError, message)
            init(self, *args, **parameters)

        @wraps(set_params)
        def checked_set_params(self, **parameters):
            names = list(self.get_params(deep=False)) if parameters else []
            for name in parameters:
                if name.partition("__")[0] not in names:
                    message = (
                        f"Invalid parameter {name!r} for estimator {{own}}. Valid "
                        f"parameters are: {names}."
                    )
                    explain(self, name, names, ValueError, message)
            return set_params(self, **parameters)

        cls.__init__, cls.set_params = checked_init, checked_set_params
        return cls

    return decorate
