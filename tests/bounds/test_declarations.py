"""What the classes of bounds declare: levels, properties, ranges of parameters.

Trees, parameter grids and streams read these, and none of them would notice another
value: a grid would try other models, a stream would count other rows.
"""

import numpy as np
import pytest

from skconftree._compat import InvalidParameterError
from skconftree.bounds import DeRosaBound, HoeffdingBound
from skconftree.bounds._registry import BOUNDS

LEVELS = {
    "bayes_factor": ("delta", (0.01, 0.1, 0.5, 0.8, 0.95)),
    "chi2": ("delta", (0.001, 0.01, 0.05, 0.2, 0.5)),
    "credible": ("delta", (0.001, 0.01, 0.05, 0.2, 0.4)),
    "ctree": ("delta", (0.001, 0.01, 0.05, 0.2, 0.5)),
    "ec2": ("confidence", (0.999, 0.95, 0.5, 0.3, 0.1)),
    "evalue": ("delta", (0.001, 0.01, 0.05, 0.2, 0.5)),
    "gtest": ("delta", (0.05, 0.3, 1.0, 3.0, 10.0)),
    "hoeffding": ("delta", (1e-7, 1e-5, 0.001, 0.01, 0.1)),
    "mcdiarmid": ("delta", (0.001, 0.01, 0.05, 0.2, 0.5)),
    "possibilistic": ("delta", (0.001, 0.01, 0.05, 0.2, 0.5)),
    "derosa": ("c", (1.0, 0.3, 0.1, 0.03, 0.01)),
}
PROPERTIES = {
    "cautious": {"derosa", "hoeffding", "mcdiarmid"},
    "smaller_is_stronger": {"bayes_factor", "ctree", "evalue", "gtest"},
    "uses_pool": {"credible"},
    "counts_every_row": {"credible", "possibilistic"},
    "counts_stored_rows": {"bayes_factor", "chi2", "gtest"},
    "fixed_cuts": {"evalue"},
    "examines_children": {"credible"},
    "tests_features": {"ctree"},
    "decides_per_split": {"chi2", "gtest"},
    "uses_delta": set(BOUNDS) - {"derosa"},
}
# Of each parameter that is a number: the ends of its range, and whether they are in it.
RANGES = {
    ("bayes_factor", "delta"): ("(", 0.0, 1.0, ")"),
    ("bayes_factor", "a"): ("[", 1e-100, 1e6, "]"),
    ("bayes_factor", "prior_odds"): ("(", 0.0, None, ")"),
    ("chi2", "delta"): ("(", 0.0, 1.0, "]"),
    ("credible", "delta"): ("(", 0.0, 0.5, ")"),
    ("ctree", "delta"): ("(", 0.0, 1.0, "]"),
    ("derosa", "delta"): ("(", 0.0, 1.0, ")"),
    ("derosa", "c"): ("(", 0.0, None, ")"),
    ("derosa", "tie_threshold"): ("[", 0.0, None, ")"),
    ("ec2", "confidence"): ("[", 0.0, 1.0, "]"),
    ("ec2", "noise"): ("[", 0.0, 1.0, ")"),
    ("ec2", "margin"): ("[", 0.0, None, ")"),
    ("evalue", "delta"): ("(", 0.0, 1.0, ")"),
    ("evalue", "a"): ("[", 1e-100, 1e6, "]"),
    ("gtest", "delta"): ("(", 0.0, None, ")"),
    ("hoeffding", "delta"): ("(", 0.0, 1.0, ")"),
    ("hoeffding", "factor"): ("(", 0.0, None, ")"),
    ("hoeffding", "tie_threshold"): ("[", 0.0, None, ")"),
    ("mcdiarmid", "delta"): ("(", 0.0, 1.0, ")"),
    ("mcdiarmid", "tie_threshold"): ("[", 0.0, None, ")"),
    ("possibilistic", "delta"): ("(", 0.0, 1.0, ")"),
}


@pytest.mark.parametrize("name", sorted(LEVELS))
def test_levels(name):
    parameter, levels = LEVELS[name]
    bound = BOUNDS[name]()
    assert bound.level_parameter == parameter
    assert bound.levels == levels


def test_every_bound_has_levels():
    assert set(LEVELS) == set(BOUNDS)
    bound = DeRosaBound(form="tight")  # whose radius depends on delta
    assert bound.level_parameter == "delta"
    assert bound.levels == (0.001, 0.01, 0.05, 0.2, 0.5)


@pytest.mark.parametrize("name", sorted(PROPERTIES))
def test_properties_with_default_settings(name):
    assert {one for one, bound in BOUNDS.items() if getattr(bound(), name)} == (
        PROPERTIES[name]
    )


def test_properties_of_hoeffding_limits():
    """The rule of the credible bound, on the rows that this one counts."""
    bound = HoeffdingBound(against="no_split", variant="interval")
    assert bound.counts_every_row
    assert bound.examines_children


@pytest.mark.parametrize(("name", "parameter"), sorted(RANGES))
def test_ranges_of_parameters(name, parameter):
    left, low, high, right = RANGES[name, parameter]
    beyond = -1e-9 if low == 0.0 else 0.9 * low
    within = [1e-9 if low == 0.0 else 1.1 * low]
    without = [beyond, np.nan]
    (within if left == "[" else without).append(low)
    if high is None:
        within.append(1e9)
    else:
        within.append(high * (1.0 - 1e-9))
        without.append(high * (1.0 + 1e-9))
        (within if right == "]" else without).append(high)
    for value in within:
        BOUNDS[name](**{parameter: value}).check_parameters()
    for value in without:
        with pytest.raises(InvalidParameterError, match=f"'{parameter}' parameter"):
            BOUNDS[name](**{parameter: value}).check_parameters()


def test_every_number_has_a_range():
    numbers = {
        (name, parameter)
        for name, bound in BOUNDS.items()
        for parameter, value in bound().get_params().items()
        if isinstance(value, float)
    }
    assert numbers | {("bayes_factor", "a")} == set(RANGES)
