"""States whose pickles depend on their values only."""

import sys

import numpy as np

_DTYPES = {}


def canonical(value):
    """Make equal parts of a state identical, and give dictionaries one order.

    A pickle writes what it has met before as a reference, and whether two equal texts
    are one object depends on where they came from: the same model would have other
    bytes once it has been loaded, or if its columns were named at run time. Lists,
    tuples, dictionaries and arrays are looked into; what is in other objects is their
    own affair.
    """
    kind = type(value)
    if kind is str:
        return sys.intern(value)
    if kind in (list, tuple):
        return kind(map(canonical, value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*map(canonical, value))
    if kind is dict:
        try:
            keys = sorted(value)
        except TypeError:
            keys = value
        return {canonical(key): canonical(value[key]) for key in keys}
    if kind is np.ndarray and value.dtype.kind == "U":
        return value.view(_DTYPES.setdefault(value.dtype.str, value.dtype))
    if kind is np.ndarray and value.dtype.kind in "biufc":
        dtype = np.dtype(value.dtype.str)  # one object; a pickle brings others
        return value if value.dtype is dtype else value.view(dtype)
    if kind is np.ndarray and value.dtype.kind == "O":
        if all(type(one) is str for one in value.flat):
            texts = np.empty(value.size, dtype=object)
            texts[:] = list(map(sys.intern, value.flat))
            return texts.reshape(value.shape)
    return value
