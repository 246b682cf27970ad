"""Decision trees that know how sure they are."""

from importlib.metadata import version as _version

try:
    from .ensemble import (
        ConfidenceForestClassifier,
        NCMForestClassifier,
        NCMTreeClassifier,
    )
    from .linear_model import OASISClassifier
    from .tree import ConfidenceTreeClassifier
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("skconftree."):
        raise
    raise ImportError(
        f"{error.name} is not compiled in {__path__[0]}: you are importing the "
        "source folder. Run `pip install .` and start Python from another folder."
    ) from error

__version__ = _version("skconftree")

__all__ = [
    "ConfidenceForestClassifier",
    "ConfidenceTreeClassifier",
    "NCMForestClassifier",
    "NCMTreeClassifier",
    "OASISClassifier",
    "__version__",
]
