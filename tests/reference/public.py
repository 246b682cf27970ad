"""Public modules, as `doc/conf.py` lists them."""

import importlib
import pkgutil

import skconftree


def public_modules():
    """The package, its public rooms, and rooms of these that export something."""
    yield skconftree
    for room in sorted(skconftree._SUBPACKAGES):
        module = importlib.import_module(f"skconftree.{room}")
        yield module
        for found in pkgutil.iter_modules(module.__path__):
            if found.ispkg:
                inner = importlib.import_module(f"{module.__name__}.{found.name}")
                if hasattr(inner, "__all__"):
                    yield inner
