"""What holds for every bound: parameters, answers, clear errors.

It exists so that a new bound is tested for these by being registered.
"""

import inspect
import subprocess
import sys

import numpy as np
import pytest

from skconftree import bounds
from skconftree._compat import InvalidParameterError
from skconftree.bounds._base import BaseBound
from skconftree.bounds._registry import BOUNDS, resolve_bound


def test_every_bound_is_public_and_registered():
    public = {v for k in bounds.__all__ if inspect.isclass(v := getattr(bounds, k))}
    assert public == {BaseBound, bounds.TreeDefaults, *BOUNDS.values()}


@pytest.mark.slow
def test_a_bound_works_without_other_imports():
    """As the first lines of a program; a bound knows no tree, and loads none."""
    program = """
import sys
from skconftree import bounds
for name in bounds.__all__:
    bound = getattr(bounds, name)
    if hasattr(bound, "evaluate") and bound is not bounds.BaseBound:
        for criterion in (None, *bound.criteria):
            bound().evaluate([[9, 1], [0, 8]], criterion=criterion)
assert not [name for name in sys.modules if name.startswith("skconftree.tree")]
"""
    subprocess.run([sys.executable, "-P", "-c", program], check=True)


@pytest.mark.parametrize("name", sorted(BOUNDS))
@pytest.mark.parametrize(
    ("children", "kwargs", "match"),
    [
        ([3, 4], {}, "children_counts"),
        ([[3, 4]], {}, "children_counts"),
        ([[3], [4]], {}, "children_counts"),
        ([[3, -1], [1, 1]], {}, "children_counts"),
        ([[3, np.inf], [1, 1]], {}, "children_counts"),
        ([[0, 0], [0, 0]], {}, "children_counts"),
        ([[3, 1], [1, 1]], {"pool": [1, 2, 3]}, "pool"),
        ([[3, 1], [1, 1]], {"criterion": "entropie"}, "criterion"),
    ],
)
def test_evaluate_refuses(name, children, kwargs, match):
    with pytest.raises(ValueError, match=match):
        BOUNDS[name]().evaluate(children, **kwargs)


def test_registry():
    assert resolve_bound(None) is None
    for name, made in BOUNDS.items():
        bound = resolve_bound(name)
        assert bound.get_params() == made().get_params()
        assert resolve_bound(bound) is not bound
    assert resolve_bound("credible", 0.2).delta == 0.2
    original = bounds.CredibleBound(0.1)
    assert resolve_bound(original, 0.2).delta == 0.2
    assert original.delta == 0.1
    for wrong in ("credibel", 3):
        with pytest.raises(InvalidParameterError, match="'bound'"):
            resolve_bound(wrong)
    with pytest.raises(InvalidParameterError, match="'delta'"):
        resolve_bound("credible", 0.7)
