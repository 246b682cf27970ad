"""Decision trees that know how sure they are."""

from .tree import ConfidenceTreeClassifier

__version__ = "0.1.0.dev0"

__all__ = ["ConfidenceTreeClassifier", "__version__"]
