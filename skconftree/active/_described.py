"""Estimators as plain values, and back: nothing is run that a file names.

Parameters of classes of scikit-learn and of this package are written down whole. Of
anything else, such as a function or a class of the user's, only its name is: it can be
compared, not made again.
"""

import sys
from importlib import import_module

import numpy as np
from sklearn.base import BaseEstimator

OURS = ("sklearn", "skconftree")  # whose classes are made again
PLAIN = (bool, int, str, type(None))


class CannotBeMade(ValueError):
    """A value of which a description has the name only."""


def described(value):
    """What JSON can hold of a parameter, the same for equal ones."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list | tuple):
        parts = [described(one) for one in value]
        return parts if isinstance(value, list) else {"tuple": parts}
    if isinstance(value, dict):
        pairs = [[described(k), described(v)] for k, v in value.items()]
        return {"dict": pairs}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufUO":
        return {"array": [described(one) for one in value.tolist()]}
    if isinstance(value, BaseEstimator) and (name := _public_name(type(value))):
        given = value.get_params(deep=False)
        return {"class": name, "with": {k: described(v) for k, v in given.items()}}
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"dtype": np.dtype(value).str}
    name = getattr(value, "__qualname__", None)
    kind = value if name else type(value)
    return {"name": f"{getattr(kind, '__module__', '')}.{kind.__qualname__}"}


def made(description):
    """Make the value again; CannotBeMade if only its name was written down."""
    if isinstance(description, list):
        return [made(one) for one in description]
    if not isinstance(description, dict):
        return description
    if "float" in description:
        return float(description["float"])
    if "tuple" in description:
        return tuple(made(description["tuple"]))
    if "dict" in description:
        return {made(key): made(value) for key, value in description["dict"]}
    if "array" in description:
        return np.array(made(description["array"]))
    if "dtype" in description:
        return np.dtype(description["dtype"]).type
    if "class" in description:
        module, _, name = str(description["class"]).rpartition(".")
        if module.split(".")[0] in OURS:
            found = getattr(import_module(module), name, None)
            if isinstance(found, type) and issubclass(found, BaseEstimator):
                return found(**{k: made(v) for k, v in description["with"].items()})
    what = description.get("name", description.get("class"))
    raise CannotBeMade(f"{what} cannot be made from its name.")


def _public_name(kind):
    # The shortest module with no underscore that has the class; None if it is not ours.
    parts = kind.__module__.split(".")
    if parts[0] not in OURS:
        return None
    for n in range(1, len(parts) + 1):
        module = ".".join(parts[:n])
        if parts[n - 1].startswith("_"):
            return None
        if getattr(sys.modules.get(module), kind.__name__, None) is kind:
            return f"{module}.{kind.__name__}"
    return None
