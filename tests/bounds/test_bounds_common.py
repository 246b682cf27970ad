"""What holds for every bound: parameters, answers, clear errors.

It exists so that a new bound is tested for these by being registered.
"""

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

from skconftree import bounds
from skconftree._compat import InvalidParameterError
from skconftree.bounds._base import BaseBound
from skconftree.bounds._registry import BOUNDS, resolve_bound


def test_every_bound_is_public_and_registered():
    public = {v for k in bounds.__all__ if inspect.isclass(v := getattr(bounds, k))}
    assert public == {BaseBound, bounds.TreeDefaults, *BOUNDS.values()}


@pytest.mark.parametrize("name", sorted(BOUNDS))
def test_parameter_object(name):
    bound = BOUNDS[name]()
    assert isinstance(bound, BaseBound)
    assert bound.delta_parameter in bound.get_params()
    assert bound.criteria
    copy = pickle.loads(pickle.dumps(clone(bound)))
    assert copy.get_params() == bound.get_params()
    for criterion in bound.criteria:
        for children in ([[30, 2], [1, 40]], [[30, 2, 0], [1, 40, 2], [0, 0, 9]]):
            answer = bound.evaluate(children, criterion=criterion)
            assert isinstance(answer.split, bool)
            np.testing.assert_equal(
                answer, bound.evaluate(children, criterion=criterion)
            )
    assert resolve_bound(name).get_params() == bound.get_params()
    assert resolve_bound(bound) is not bound


def test_a_bound_answers_where_nothing_else_was_imported():
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
    assert resolve_bound("credible", 0.2).delta == 0.2
    original = bounds.CredibleBound(0.1)
    assert resolve_bound(original, 0.2).delta == 0.2
    assert original.delta == 0.1
    for wrong in ("credibel", 3):
        with pytest.raises(InvalidParameterError, match="'bound'"):
            resolve_bound(wrong)
    with pytest.raises(InvalidParameterError, match="'delta'"):
        resolve_bound("credible", 0.7)
