"""Methods that exist only for some parameters of an estimator."""

from collections.abc import Callable
from functools import update_wrapper, wraps
from types import MethodType
from typing import Any, cast

from ._types import Method


def available_if(check: Callable[[Any], None]) -> Callable[[Method], Method]:
    """Like `available_if` of scikit-learn, but show the AttributeError of `check`."""

    def decorate(method: Method) -> Method:
        return cast("Method", _Conditional(method, check))

    return decorate


class _Conditional:
    def __init__(self, method, check):
        self._method, self._check = method, check
        update_wrapper(self, method)

    def __get__(self, estimator, owner=None):
        if estimator is not None:
            self._check(estimator)
            return MethodType(self._method, estimator)

        @wraps(self._method)
        def unbound(estimator, *args, **kwargs):
            self._check(estimator)
            return self._method(estimator, *args, **kwargs)

        return unbound


def absence_error(estimator, *names):
    """Return the AttributeError of the first missing method, or None."""
    for name in names:
        try:
            getattr(estimator, name)
        except AttributeError as error:
            return error
    return None
