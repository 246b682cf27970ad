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
    own affair. An array that stands in several places is one in all of them.
    """
    return _canonical(value, {})


def _canonical(value, arrays):
    # What has been made of each array is found by the identity of that.
    kind = type(value)
    if kind is str:
        return sys.intern(value)
    if kind in (list, tuple):
        return kind(_canonical(one, arrays) for one in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*(_canonical(one, arrays) for one in value))
    if kind is dict:
        try:
            keys = sorted(value)
        except TypeError:
            keys = value
        return {_canonical(key, arrays): _canonical(value[key], arrays) for key in keys}
    if kind is np.ndarray:
        if id(value) not in arrays:
            arrays[id(value)] = _canonical_array(value)
        return arrays[id(value)]
    return value


def _canonical_array(value):
    if value.dtype.kind == "U":
        return value.view(_DTYPES.setdefault(value.dtype.str, value.dtype))
    if value.dtype.kind in "biufc":
        dtype = np.dtype(value.dtype.str)  # one object; a pickle brings others
        return value if value.dtype is dtype else value.view(dtype)
    if value.dtype.kind == "O" and all(type(one) is str for one in value.flat):
        texts = np.empty(value.size, dtype=object)
        texts[:] = list(map(sys.intern, value.flat))
        return texts.reshape(value.shape)
    return value
