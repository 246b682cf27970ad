"""Decision trees that report the evidence for each split.

The evidence for a split is the number of candidate splits that would look as good by
chance. Confidence trees only split if the evidence suffices, partially linear trees add
a linear function of the columns to the values of the leaves, and NCM trees split by the
nearest class mean. OASIS is an online linear classifier for active learning, and
`BinaryTests` converts columns to binary features.
"""

import importlib as _importlib
from importlib.metadata import version as _version
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # type checkers do not run __getattr__
    from . import active as active
    from . import bounds as bounds
    from . import criteria as criteria
    from . import datasets as datasets
    from . import drift as drift
    from . import ensemble as ensemble
    from . import evaluation as evaluation
    from . import inspection as inspection
    from . import large as large
    from . import linear_model as linear_model
    from . import tree as tree
    from .ensemble import (
        ConfidenceForestClassifier,
        NCMForestClassifier,
        NCMTreeClassifier,
    )
    from .linear_model import OASISClassifier, PartiallyLinearTreeClassifier
    from .tables import BinaryTests
    from .tree import ConfidenceTreeClassifier
    from .utils import load_model, save_model

# Modules are imported on first access, so that the command line starts quickly.
_PACKAGE_OF = {
    "BinaryTests": "tables",
    "ConfidenceForestClassifier": "ensemble",
    "ConfidenceTreeClassifier": "tree",
    "NCMForestClassifier": "ensemble",
    "NCMTreeClassifier": "ensemble",
    "OASISClassifier": "linear_model",
    "PartiallyLinearTreeClassifier": "linear_model",
    "load_model": "utils",
    "save_model": "utils",
}
# Public subpackages; the others are internal.
_SUBPACKAGES = {
    "active",
    "bounds",
    "criteria",
    "datasets",
    "drift",
    "ensemble",
    "evaluation",
    "inspection",
    "large",
    "linear_model",
    "testing",
    "tree",
}

__version__ = _version("skconftree")

__all__ = [
    "BinaryTests",
    "ConfidenceForestClassifier",
    "ConfidenceTreeClassifier",
    "NCMForestClassifier",
    "NCMTreeClassifier",
    "OASISClassifier",
    "PartiallyLinearTreeClassifier",
    "__version__",
    "load_model",
    "save_model",
]


def __getattr__(name):
    if name not in _PACKAGE_OF and name not in _SUBPACKAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = _importlib.import_module(f"{__name__}.{_PACKAGE_OF.get(name, name)}")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("skconftree."):
            raise
        raise ImportError(
            f"{error.name} is not compiled in {__path__[0]}: you are importing the "
            "source folder. Run `pip install .` and start Python from another folder."
        ) from error
    value = getattr(module, name) if name in _PACKAGE_OF else module
    globals()[name] = value
    return value


def __dir__():
    own = {name for name in globals() if name.startswith("__")}
    return sorted({*own, *__all__, *_SUBPACKAGES})
