"""States and plain values in files: one order, JSON and back, checks of what is read.

Nothing that a file names is run or imported, except for the classes of one table and
the public estimators of scikit-learn, which are made by their constructors.
"""

import math
import sys
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import version
from inspect import Parameter, signature
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

# Public classes that can be made again from their parameters, and where they are.
CLASSES = {
    name: module
    for module, names in {
        "skconftree": (
            "BinaryTests ConfidenceForestClassifier ConfidenceTreeClassifier "
            "NCMForestClassifier NCMTreeClassifier OASISClassifier"
        ),
        "skconftree.bounds": (
            "BayesFactorBound Chi2Bound CredibleBound DeRosaBound EC2Bound "
            "EValueBound GTestBound HoeffdingBound McDiarmidBound "
            "PossibilisticBound"
        ),
        "skconftree.drift": "ADWIN DDM LocalRepair",
        "skconftree.tree": (
            "C45Pruning Chi2Pruning CostComplexityPruning EC2Pruning "
            "PessimisticPruning PossibilisticPruning"
        ),
        "skconftree.active": (
            "ActiveLearner ConfTreeSampling DensitySampling EC2Sampling "
            "EntropySampling FixedUncertainty GBSSampling LTSSampling LabelBudget "
            "LeafRiskSampling LearningToSampleClassifier LeastConfidentSampling "
            "MarginSampling QueryScoreSampling RandomSampling RiskBelow "
            "SplitConfTreeSampling SplitSampling StableModel StreamActiveLearner "
            "VariableUncertainty WeightedSampling"
        ),
        "skconftree.active.pool": (
            "AutoSampling DiversitySampling ExpectedErrorSampling KCenterSampling "
            "LeafEntropySampling VoteEntropySampling"
        ),
        "skconftree.active.stream": "RandomStream SelectiveSampling",
    }.items()
    for name in names.split()
}
_DTYPES = {}  # one object of each, for `canonical`
NO_DEFAULT = Parameter.empty
VERSION = "_skconftree_version"  # in a state, who wrote it
PLAIN = (bool, int, float, str, list, tuple, dict)  # bool before int, its base class


class CannotBeRestored(ValueError):
    """A value of which a file has the name only."""


def to_json(value, arrays=None, *, names=False):
    """Write a value as JSON can hold it; the same for equal values.

    None, booleans, integers, finite floats, strings and lists are written as they are,
    everything else as an object with one tag. Of the classes that can be restored the
    parameters are written.

    Parameters
    ----------
    value : object
    arrays : list, default=None
        Takes arrays, NumPy scalars and bytes, which JSON then names by their places.
        None: arrays become lists, and NumPy scalars what they are in Python.
    names : bool, default=False
        Whether to write what cannot be restored by its name, so that it can be
        compared. Else it is a TypeError.
    """
    if arrays is None and isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    if names:
        kind = next((one for one in PLAIN if isinstance(value, one)), kind)
    given = {"arrays": arrays, "names": names}
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is list:
        return [to_json(one, **given) for one in value]
    if kind is tuple:
        return {"tuple": [to_json(one, **given) for one in value]}
    if kind is dict:
        pairs = value.items()
        return {"dict": [[to_json(k, **given), to_json(v, **given)] for k, v in pairs]}
    if isinstance(value, np.ndarray | np.generic | bytes):
        written = _array_to_json(value, **given)
    elif isinstance(value, BaseEstimator):
        written = _estimator_to_json(value, **given)
    elif isinstance(value, type) and issubclass(value, np.generic):
        written = {"dtype": np.dtype(value).str}
    else:
        written = None
    if written is None and names:
        named = value if hasattr(value, "__qualname__") else kind
        written = {"name": f"{getattr(named, '__module__', '')}.{named.__qualname__}"}
    if written is None:
        raise TypeError(f"{value!r} cannot be written without a pickle")
    return written


def _array_to_json(value, arrays, names):
    # None if there is no way to write it.
    given = {"arrays": arrays, "names": names}
    is_array = isinstance(value, np.ndarray)
    if arrays is None:
        if not is_array or value.dtype.kind not in "biufUO":
            return None
        return {"array": [to_json(one, **given) for one in value.tolist()]}
    if is_array and value.dtype.kind == "O":
        cells = [to_json(one, **given) for one in value.ravel().tolist()]
        return {"cells": cells, "shape": list(value.shape)}
    if isinstance(value, bytes):
        value, tag = np.frombuffer(value, dtype=np.uint8), "bytes"
    else:
        tag = "array" if is_array else "scalar"
    arrays.append(np.asarray(value))
    return {tag: len(arrays) - 1}


def _estimator_to_json(value, arrays, names):
    # None if it cannot be restored; what was learned is not written.
    path = _path_of(type(value))
    parameters = {} if path is None else value.get_params(deep=False)
    if path is None or not (names or vars(value).keys() <= parameters.keys()):
        return None
    given = {"arrays": arrays, "names": names}
    return {
        "class": path,
        "with": {name: to_json(one, **given) for name, one in parameters.items()},
    }


def from_json(value, arrays=()):
    """Restore what `to_json` wrote; CannotBeRestored if only a name was written."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [from_json(one, arrays) for one in value]
    if type(value) is dict:
        reader = READERS.get(next(iter(value), None))
        if reader is not None:
            return reader(arrays, *value.values())
    raise ValueError("a value is of an unknown kind")


def _float(arrays, text):
    return float(text)


def _tuple(arrays, parts):
    return tuple([from_json(one, arrays) for one in parts])


def _dict(arrays, pairs):
    return {from_json(key, arrays): from_json(one, arrays) for key, one in pairs}


def _array(arrays, place):
    if type(place) is list:
        return np.array(from_json(place, arrays))
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
        cells[place] = from_json(one, arrays)
    if any(type(one) is not int or one < 0 for one in shape):
        raise ValueError("an array has no such shape")
    return cells.reshape(shape)


def _dtype(arrays, text):
    return np.dtype(text).type


def _estimator(arrays, path, parameters):
    kind = _class_of(path)
    if kind is None:
        _named(arrays, path)
    merge_defaults(parameters, default_parameters(kind), kind.__name__)
    return kind(**{name: from_json(one, arrays) for name, one in parameters.items()})


def _named(arrays, name):
    raise CannotBeRestored(f"{name} cannot be restored from its name.")


READERS = {  # by the first name in an object
    "float": _float,
    "tuple": _tuple,
    "dict": _dict,
    "array": _array,
    "bytes": _bytes,
    "scalar": _scalar,
    "cells": _cells,
    "dtype": _dtype,
    "class": _estimator,
    "name": _named,
}


def with_default_parameters(value):
    """Add the parameters that came later to estimators that `to_json` has written."""
    if type(value) is list:
        return [with_default_parameters(one) for one in value]
    if type(value) is not dict:
        return value
    value = {name: with_default_parameters(one) for name, one in value.items()}
    kind = _class_of(value.get("class"))
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
    """Default of each parameter of a constructor, or `NO_DEFAULT`."""
    named = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    parameters = list(signature(kind.__init__).parameters.values())[1:]
    return {one.name: one.default for one in parameters if one.kind in named}


def _path_of(kind):
    # Dotted name of a class that can be restored, or None.
    package, *modules = kind.__module__.split(".")
    name = kind.__name__
    if package == "skconftree":
        path = f"{CLASSES.get(name)}.{name}"
        return path if _class_of(path) is kind else None
    for n in range(1, len(modules) + 1):
        path = ".".join([package, *modules[:n], name])
        if _class_of(path) is kind:
            return path
    return None


def _class_of(path):
    # The class of a dotted name, if it is one of the table or a public estimator of
    # scikit-learn: every module on the way is in `__all__` of the one before.
    if type(path) is not str:
        return None
    package, *modules = path.split(".")
    name = modules.pop() if modules else ""
    if package == "skconftree":
        return getattr(import_module(CLASSES[name]), name) if name in CLASSES else None
    if package != "sklearn" or not modules:
        return None
    module = sys.modules["sklearn"]
    for one in modules:
        if one.startswith("_") or one not in getattr(module, "__all__", ()):
            return None
        module = import_module(f"{module.__name__}.{one}")
    public = getattr(module, "__all__", (name,))
    kind = getattr(module, name, None) if name in public else None
    is_estimator = isinstance(kind, type) and issubclass(kind, BaseEstimator)
    # a module without `__all__` has names that are of other modules
    own = hasattr(module, "__all__") or kind.__module__ == module.__name__
    return kind if is_estimator and own and not name.startswith("_") else None


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
    if value.dtype.names is not None:
        fields = [(sys.intern(name), *more) for name, *more in value.dtype.descr]
        return value.view(_DTYPES.setdefault(str(fields), np.dtype(fields)))
    if value.dtype.kind in "biufc":
        dtype = np.dtype(value.dtype.str)  # one object; a pickle brings others
        return value if value.dtype is dtype else value.view(dtype)
    if value.dtype.kind == "O" and all(type(one) is str for one in value.flat):
        texts = np.empty(value.size, dtype=object)
        texts[:] = list(map(sys.intern, value.flat))
        return texts.reshape(value.shape)
    return value


class StateError(ValueError):
    """A state that does not fit the class that reads it."""


def corrupt_state(owner, part=None):
    """Error of a state by which compiled code would leave its arrays."""
    named = "" if part is None else f": {part}"
    return StateError(f"The state of this {owner} is damaged{named}.")


def restore(kind, state, owner):
    """Make a compiled object from its arguments and what `__setstate__` takes."""
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
    """Raise ValueError that names the first attribute of a state that is not sound."""
    for name, is_valid in valid_parts.items():
        if not is_valid:
            raise StateError(
                f"The state of this {type(estimator).__name__} is damaged, or was "
                f"written by another release: {name!r} does not fit."
            )


def merge_defaults(values, defaults, what):
    """Settings of a state and later defaults; StateError if one is unknown."""
    if not isinstance(values, dict):
        raise StateError(f"{what} is damaged: it must be a dict. Got {values!r}.")
    unknown = sorted(map(str, values.keys() - defaults.keys()))
    if unknown:
        raise StateError(
            f"{what} has no setting {', '.join(map(repr, unknown))}; another version "
            "may have written it."
        )
    values = defaults | values
    for name, value in values.items():
        if value is NO_DEFAULT:
            raise StateError(f"{what} is damaged: it has no {name!r}.")
    return values


def with_version(state):
    """State of an object as a pickle has it: in one order, with the version."""
    return canonical({**state, VERSION: own_version()})


def without_version(state, defaults, what):
    """Attributes of a state and later defaults; StateError if one is unknown."""
    if not isinstance(state, dict):
        raise StateError(
            f"The state of this {what} is damaged: it must be a dict. Got {state!r}."
        )
    attributes = {name: value for name, value in state.items() if name != VERSION}
    found = state.get(VERSION)
    if found != own_version():
        parameters = {
            name: value
            for name, value in attributes.items()
            if not (name.startswith("_") or name.endswith("_"))
        }
        with written_by(found):
            merge_defaults(parameters, defaults, what)
    known = {n: value for n, value in defaults.items() if value is not NO_DEFAULT}
    return known | attributes


class VersionedState:
    """Mixin of an estimator whose state is its parameters and the version."""

    def __getstate__(self):
        return with_version(super().__getstate__())

    def __setstate__(self, state):
        kind = type(self)
        parameters = default_parameters(kind)
        super().__setstate__(without_version(state, parameters, kind.__name__))


@cache
def own_version():
    """Version of this package, which states name."""
    return version("skconftree")


@contextmanager
def written_by(found):
    """Name the version that wrote a state in the error that the state does not fit."""
    try:
        yield
    except StateError as error:
        if found is None:
            raise
        raise StateError(
            f"{error} It was written by skconftree {found}; this is skconftree "
            f"{own_version()}."
        ) from None


def is_missing(value):
    """Whether a value is None, NaN, pandas' NA or NaT: not equal to itself."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True


def is_count(value):
    """Whether a value is a whole number, and not negative."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    return is_whole and bool(value >= 0)


def is_array(value, dtype, shape):
    """Whether a value is such an array; None is any dtype, or length."""
    return (
        isinstance(value, np.ndarray)
        and (dtype is None or value.dtype == dtype)
        and value.ndim == len(shape)
        and all(
            n is None or n == found for n, found in zip(shape, value.shape, strict=True)
        )
    )
