"""Decision trees that know how sure they are."""

from importlib.metadata import version as _version

try:
    from .bounds._contract import Bound as _Bound  # noqa: F401
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("skconftree."):
        raise
    raise ImportError(
        f"{error.name} is not compiled in {__path__[0]}: you are importing the "
        "source folder. Run `pip install .` and start Python from another folder."
    ) from error

__version__ = _version("skconftree")
