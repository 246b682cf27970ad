"""States as JSON and arrays: no program can be in them.

JSON has None, booleans, whole numbers, finite floats and texts as they are, and lists;
what else there is it has as an object of one tag. Arrays are kept beside it, and named
by their place. Of objects there are the parameters of a model, such as a bound: those
that the public rooms offer by name, made again by their constructors.
"""

import math

import numpy as np

from .. import bounds, drift, tree

ROOMS = {
    "bounds": (bounds, bounds.BaseBound),
    "drift": (drift, drift.BaseDetector),
    "repair": (drift, drift.LocalRepair),
    "tree": (tree, tree.BasePruning),
}


def to_plain(value, arrays):
    """What JSON can hold of a state; arrays, and bytes as such, go into a list."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": value.hex()}
    if kind is list:
        return [to_plain(one, arrays) for one in value]
    if kind is tuple:
        return {"tuple": [to_plain(one, arrays) for one in value]}
    if kind is dict:
        pairs = [
            [to_plain(key, arrays), to_plain(one, arrays)] for key, one in value.items()
        ]
        return {"dict": pairs}
    if kind is bytes:
        arrays.append(np.frombuffer(value, dtype=np.uint8))
        return {"bytes": len(arrays) - 1}
    if kind is np.ndarray and value.dtype.kind == "O":
        cells = [to_plain(one, arrays) for one in value.ravel().tolist()]
        return {"cells": cells, "shape": list(value.shape)}
    if kind is np.ndarray:
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, np.generic):
        arrays.append(np.asarray(value))
        return {"scalar": len(arrays) - 1}
    for room, (names, base) in ROOMS.items():
        if isinstance(value, base) and getattr(names, kind.__name__, None) is kind:
            parameters = {
                name: to_plain(one, arrays) for name, one in vars(value).items()
            }
            return {"object": [room, kind.__name__], "parameters": parameters}
    raise TypeError(f"{value!r} cannot be written without a pickle")


def from_plain(value, arrays):
    """The state that `to_plain` has written; an error if it has not."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [from_plain(one, arrays) for one in value]
    if type(value) is dict:
        reader = READERS.get(next(iter(value), None))
        if reader is not None:
            return reader(arrays, *value.values())
    raise ValueError("a part of its state is of no known kind")


def _float(arrays, text):
    return float.fromhex(text)


def _tuple(arrays, parts):
    return tuple([from_plain(one, arrays) for one in parts])


def _dict(arrays, pairs):
    return {from_plain(key, arrays): from_plain(one, arrays) for key, one in pairs}


def _array(arrays, place):
    if type(place) is not int or not 0 <= place < len(arrays):
        raise ValueError("an array is missing")
    return arrays[place]


def _bytes(arrays, place):
    array = _array(arrays, place)
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError("an array is not of bytes")
    return array.tobytes()


def _scalar(arrays, place):
    array = _array(arrays, place)
    if array.ndim:
        raise ValueError("an array is not of one number")
    return array[()]


def _cells(arrays, parts, shape):
    cells = np.empty(len(parts), dtype=object)
    for place, one in enumerate(parts):
        cells[place] = from_plain(one, arrays)
    if any(type(one) is not int or one < 0 for one in shape):
        raise ValueError("an array has no such shape")
    return cells.reshape(shape)


def _object(arrays, name, parameters):
    room, kind = name
    names, base = ROOMS[room]
    made = getattr(names, kind) if kind in names.__all__ else None
    if not (isinstance(made, type) and issubclass(made, base)):
        raise ValueError(f"it asks for {room}.{kind}")
    return made(**{key: from_plain(one, arrays) for key, one in parameters.items()})


READERS = {  # by the first name in an object
    "float": _float,
    "tuple": _tuple,
    "dict": _dict,
    "array": _array,
    "bytes": _bytes,
    "scalar": _scalar,
    "cells": _cells,
    "object": _object,
}
