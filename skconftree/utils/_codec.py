"""Serialization of states and values: canonical order, JSON, validation when read.

Reading a file never imports or runs anything that the file names, except for public
estimators of `PACKAGES` and of scikit-learn, which are created by their constructors.
The *state* of an object is the dict that `__getstate__` returns.
"""

import math
import re
import sys
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import version
from inspect import Parameter, signature
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

# Packages whose public estimators can be restored from their parameters.
PACKAGES = ["skconftree"]
PACKAGES += [
    f"skconftree.{name}" for name in ("active", "bounds", "criteria", "drift", "tree")
]
PACKAGES += ["skconftree.active.pool", "skconftree.active.stream"]
_DTYPES = {}  # one object per dtype, for `canonical`
NO_DEFAULT = Parameter.empty
VERSION = "_skconftree_version"  # key of the version that wrote a state
RELEASE = re.compile(r"(\d+(?:\.\d+)*)[\w.+]*", re.ASCII)  # of a version
JSON_TYPES = (bool, int, float, str, list, tuple, dict)  # bool before its base int


class CannotBeRestored(ValueError):
    """Error for an object of which a file contains the name only, not the state."""


def to_json(value, arrays=None, *, names=False):
    """Convert a value to types that JSON supports. Equal values give equal results.

    None, booleans, integers, finite floats, strings and lists do not change. Other
    values become a JSON object whose first key, the tag, is their kind. Of objects
    whose class can be restored, the parameters are stored.

    Parameters
    ----------
    value : object
    arrays : list, default=None
        Arrays, NumPy scalars and bytes are appended to this list, and the result
        contains their indices. If None, arrays become lists and NumPy scalars Python
        numbers.
    names : bool, default=False
        If True, objects that cannot be restored are represented by their names, so that
        results can be compared. If False, they raise TypeError.
    """
    if arrays is None and isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    if names:
        kind = next((base for base in JSON_TYPES if isinstance(value, base)), kind)
    options = {"arrays": arrays, "names": names}
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is list:
        return [to_json(part, **options) for part in value]
    if kind is tuple:
        return {"tuple": [to_json(part, **options) for part in value]}
    if kind is dict:
        pairs = value.items()
        return {
            "dict": [[to_json(k, **options), to_json(v, **options)] for k, v in pairs]
        }
    if isinstance(value, np.ndarray | np.generic | bytes):
        written = _array_to_json(value, **options)
    elif isinstance(value, BaseEstimator):
        written = _estimator_to_json(value, **options)
    elif isinstance(value, type) and issubclass(value, np.generic):
        written = {"dtype": np.dtype(value).str}
    else:
        written = None
    if written is None and names:
        named = value if hasattr(value, "__qualname__") else kind
        written = {"name": f"{getattr(named, '__module__', '')}.{named.__qualname__}"}
    if written is None:
        raise TypeError(
            f"{value!r} cannot be stored as plain values. Save the model with pickle."
        )
    return written


def _array_to_json(value, arrays, names):
    # Returns None if the array cannot be converted.
    options = {"arrays": arrays, "names": names}
    is_array = isinstance(value, np.ndarray)
    if arrays is None:
        if not is_array or value.dtype.kind not in "biufUO":
            return None
        return {"array": [to_json(part, **options) for part in value.tolist()]}
    if is_array and value.dtype.kind == "O":
        cells = [to_json(part, **options) for part in value.ravel().tolist()]
        return {"cells": cells, "shape": list(value.shape)}
    if isinstance(value, bytes):
        value, tag = np.frombuffer(value, dtype=np.uint8), "bytes"
    else:
        tag = "array" if is_array else "scalar"
    arrays.append(np.asarray(value))
    return {tag: len(arrays) - 1}


def _estimator_to_json(value, arrays, names):
    # Returns None if it cannot be restored. Fitted attributes are not stored.
    path = _path_of(type(value))
    parameters = {} if path is None else value.get_params(deep=False)
    if path is None or not (names or vars(value).keys() <= parameters.keys()):
        return None
    with_ = {n: to_json(value, arrays, names=names) for n, value in parameters.items()}
    return {"class": path, "with": with_}


def from_json(value, arrays=()):
    """Restore a result of `to_json`; CannotBeRestored if it contains only a name."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [from_json(part, arrays) for part in value]
    if type(value) is dict:
        reader = READERS.get(next(iter(value), None))
        if reader is not None:
            return reader(arrays, *value.values())
    raise ValueError("a value has an unknown tag")


def _array(arrays, index):
    if type(index) is list:
        return np.array(from_json(index, arrays))
    if type(index) is not int or not 0 <= index < len(arrays):
        raise ValueError("an array is missing")
    return arrays[index]


def _bytes(arrays, index):
    array = _array(arrays, index)
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError("an array does not contain bytes")
    return array.tobytes()


def _scalar(arrays, index):
    array = _array(arrays, index)
    if array.ndim:
        raise ValueError("an array must contain one number")
    return array[()]


def _cells(arrays, parts, shape):
    cells = np.empty(len(parts), dtype=object)
    for index, part in enumerate(parts):
        cells[index] = from_json(part, arrays)
    if any(type(size) is not int or size < 0 for size in shape):
        raise ValueError("an array has an invalid shape")
    return cells.reshape(shape)


def _estimator(arrays, path, parameters):
    kind = class_of(path)
    if kind is None:
        _named(arrays, path)
    merge_defaults(parameters, default_parameters(kind), kind.__name__)
    return kind(**{name: from_json(part, arrays) for name, part in parameters.items()})


def _named(arrays, name):
    raise CannotBeRestored(f"{name} cannot be restored from its name.")


READERS = {  # by the tag, which is the first key of an object
    "float": lambda arrays, text: float(text),
    "tuple": lambda arrays, parts: tuple(from_json(parts, arrays)),
    "dict": lambda arrays, pairs: {
        from_json(key, arrays): from_json(part, arrays) for key, part in pairs
    },
    "array": _array,
    "bytes": _bytes,
    "scalar": _scalar,
    "cells": _cells,
    "dtype": lambda arrays, text: np.dtype(text).type,
    "class": _estimator,
    "name": _named,
}


def with_default_parameters(value):
    """Add parameters of newer versions to estimators in a result of `to_json`."""
    if type(value) is list:
        return [with_default_parameters(part) for part in value]
    if type(value) is not dict:
        return value
    value = {name: with_default_parameters(part) for name, part in value.items()}
    kind = class_of(value.get("class"))
    if kind is not None:
        defaults = default_parameters(kind)
        merge_defaults(value["with"], defaults, kind.__name__)
        value["with"] = {
            name: to_json(default, names=True)
            for name, default in defaults.items()
            if default is not NO_DEFAULT
        } | value["with"]
    return value


def default_parameters(kind):
    """Return the default of each parameter of a constructor, or `NO_DEFAULT`."""
    named = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    parameters = list(signature(kind.__init__).parameters.values())[1:]
    return {p.name: p.default for p in parameters if p.kind in named}


def _path_of(kind):
    # Return the dotted name of a class that can be restored, or None.
    package, *modules = kind.__module__.split(".")
    for n in range(len(modules) + 1):
        path = ".".join([package, *modules[:n], kind.__name__])
        if class_of(path) is kind:
            return path
    return None


def class_of(path):
    # Return the class of a dotted name if it is a public estimator of `PACKAGES` or of
    # scikit-learn, where each module of the path must be in `__all__` of its parent.
    if type(path) is not str:
        return None
    parent, _, name = path.rpartition(".")
    if parent in PACKAGES:
        module = import_module(parent)
    else:
        package, *modules = parent.split(".")
        if package != "sklearn" or not modules:
            return None
        module = sys.modules["sklearn"]
        for part in modules:
            if part.startswith("_") or part not in getattr(module, "__all__", ()):
                return None
            module = import_module(f"{module.__name__}.{part}")
    public = getattr(module, "__all__", (name,))
    kind = getattr(module, name, None) if name in public else None
    is_estimator = isinstance(kind, type) and issubclass(kind, BaseEstimator)
    # a module without `__all__` also contains imported names
    own = hasattr(module, "__all__") or kind.__module__ == module.__name__
    return kind if is_estimator and own and not name.startswith("_") else None


def canonical(value):
    """Make equal parts of a state identical objects, and sort dictionaries.

    A pickle stores repeated objects as references, and whether two equal strings are
    the same object depends on their origin. Without this function, the pickle of a
    model would change after loading, or if column names were created at run time. The
    function descends into lists, tuples, dictionaries and arrays, not into other
    objects. An array that occurs several times remains one object.
    """
    return _canonical(value, {})


def _canonical(value, arrays):
    # `arrays` maps the id of each array to its canonical array.
    kind = type(value)
    if kind is str:
        return sys.intern(value)
    if kind in (list, tuple):
        return kind(_canonical(part, arrays) for part in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*(_canonical(part, arrays) for part in value))
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
    if value.dtype.names is not None:
        fields = [(sys.intern(name), *more) for name, *more in value.dtype.descr]
        return value.view(_DTYPES.setdefault(str(fields), np.dtype(fields)))
    if value.dtype.kind in "biufc":
        dtype = np.dtype(value.dtype.str)  # unpickling creates others
        return value if value.dtype is dtype else value.view(dtype)
    if value.dtype.kind == "O" and all(type(part) is str for part in value.flat):
        texts = np.empty(value.size, dtype=object)
        texts[:] = list(map(sys.intern, value.flat))
        return texts.reshape(value.shape)
    return value


class StateError(ValueError):
    """Error for a state that is not valid for the class that reads it."""


def corrupt_state(owner, part=None):
    """Return an error for a state of `owner` that would make compiled code unsafe."""
    named = "" if part is None else f": {part}"
    return StateError(
        f"The state of this {owner} is corrupt{named}. Load another copy, or fit again."
    )


def restore(kind, state, owner):
    """Create a compiled object from its arguments and the state for `__setstate__`."""
    if not (
        isinstance(state, tuple) and len(state) == 2 and isinstance(state[0], tuple)
    ):
        raise corrupt_state(owner, "its parts")
    arguments, parts = state
    try:
        restored = kind(*arguments)
    except TypeError as error:
        raise corrupt_state(owner, "its parameters") from error
    restored.__setstate__(parts)
    return restored


def check_state_parts(estimator, valid_parts):
    """Raise StateError for the first attribute of a state that is not valid."""
    for name, is_valid in valid_parts.items():
        if not is_valid:
            raise StateError(
                f"The state of this {type(estimator).__name__} is corrupt, or was "
                f"written by another release: {name!r} is not valid. Fit it again."
            )


def merge_defaults(values, defaults, what):
    """Return settings of a state with defaults; StateError if a name is unknown."""
    if not isinstance(values, dict):
        raise StateError(f"{what} is corrupt: it must be a dict. Got {values!r}.")
    unknown = sorted(map(str, values.keys() - defaults.keys()))
    if unknown:
        raise StateError(
            f"{what} has no setting {', '.join(map(repr, unknown))}. It may have been "
            "written by another version."
        )
    values = defaults | values
    for name, value in values.items():
        if value is NO_DEFAULT:
            raise StateError(f"{what} is corrupt: it has no {name!r}.")
    return values


def with_version(state):
    """Return the canonical state of an object for a pickle, with the version."""
    return canonical({**state, VERSION: own_version()})


def without_version(state, defaults, what):
    """Return attributes of a state with defaults; StateError if a name is unknown."""
    if not isinstance(state, dict):
        raise StateError(
            f"The state of this {what} is corrupt: it must be a dict. Got {state!r}."
        )
    attributes = {name: value for name, value in state.items() if name != VERSION}
    writer = state.get(VERSION)
    if writer != own_version():
        parameters = {
            name: value
            for name, value in attributes.items()
            if name in defaults or not (name.startswith("_") or name.endswith("_"))
        }
        with written_by(writer, f"This {what}"):
            merge_defaults(parameters, defaults, what)
    known = {n: value for n, value in defaults.items() if value is not NO_DEFAULT}
    return known | attributes


class VersionedState:
    """Mixin for estimators whose state consists of parameters and the version."""

    def __getstate__(self):
        return with_version(super().__getstate__())

    def __setstate__(self, state):
        kind = type(self)
        parameters = default_parameters(kind)
        super().__setstate__(without_version(state, parameters, kind.__name__))


@cache
def own_version():
    """Return the version of this package."""
    return version("skconftree")


def _release_of(writer):
    # Release of a version as numbers; empty if it is not a version.
    match = RELEASE.fullmatch(writer) if isinstance(writer, str) else None
    return () if match is None else tuple(map(int, match[1].split(".")))


def is_newer(writer):
    """Whether a version is of a later release than this package."""
    return _release_of(writer) > _release_of(own_version())


def versions_and_remedy(writer):
    """Text with the version that wrote something, this one, and what to install."""
    text = f"written by skconftree {writer}; this is skconftree {own_version()}"
    remedy = f"; pip install skconftree=={writer}"  # a command, which users may copy
    return (
        f"{text}{remedy}" if _release_of(writer) and writer != own_version() else text
    )


@contextmanager
def written_by(writer, what="This state"):
    """Raise StateError if the writer is newer; add its version to a StateError."""
    if is_newer(writer):
        raise StateError(f"{what} was {versions_and_remedy(writer)}")
    try:
        yield
    except StateError as error:
        if writer is None:
            raise
        raise StateError(f"{error} It was {versions_and_remedy(writer)}") from None


def is_missing(value):
    """Whether a value is None, NaN, pandas' NA or NaT, that is, not equal to itself."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True


def is_count(value):
    """Whether a value is a nonnegative integer, and not a bool."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    return is_integer and bool(value >= 0)


def is_array(value, dtype, shape):
    """Whether a value is an array of this dtype and shape; None matches any."""
    return (
        isinstance(value, np.ndarray)
        and (dtype is None or value.dtype == dtype)
        and value.ndim == len(shape)
        and all(
            n is None or n == size for n, size in zip(shape, value.shape, strict=True)
        )
    )
