"""What `"auto"` means is said by the bound, in one attribute, and by nobody else.

Who writes a bound says there how its trees are best grown; what is written there and
read nowhere would mislead both them and their users.
"""

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import GTestBound, TreeDefaults
from skconftree.tree import C45Pruning

SAID = {
    "pruning": C45Pruning(0.4),
    "shrinkage": 3.0,
    "lookahead": 0,
    "nominal_splits": "multiway",
}


class Own(GTestBound):
    """A bound with opinions of its own about every parameter."""

    defaults = TreeDefaults(**SAID)


def mixed(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(list("uvwxyz"), size=n)})
    y = (X["b"].isin(["u", "w"]) ^ (X["a"] > 0.3) ^ (rng.random(n) < 0.1)).astype(int)
    X["b"] = X["b"].astype("category")
    return X, y.to_numpy()


def same(a, b):
    return (
        a.tree_.feature.tolist() == b.tree_.feature.tolist()
        and np.array_equal(a.tree_.counts, b.tree_.counts)
        and np.array_equal(a.tree_.proba, b.tree_.proba)
    )


def test_every_default_is_a_parameter_of_the_tree():
    parameters = ConfidenceTreeClassifier().get_params()
    # The strengths of a pruning that is named are parameters of its object.
    strengths = {"pruning_confidence", "lookahead_confidence"}
    names = {one.name for one in fields(TreeDefaults)} - strengths
    assert names == set(SAID)
    assert {parameters[name] for name in names} == {"auto"}


def test_auto_is_what_the_bound_says():
    X, y = mixed()
    auto = ConfidenceTreeClassifier(Own()).fit(X, y)
    said = ConfidenceTreeClassifier("gtest", **SAID).fit(X, y)
    assert auto.tree_.node_count > 3
    assert same(auto, said)
    assert repr(auto.pruning_) == repr(C45Pruning(0.4))
    assert (auto.shrinkage_, auto.lookahead_) == (3.0, 0)
    assert (auto.tree_.children_left == -2).any()  # a branch for each category


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pruning", None),
        ("pruning", C45Pruning(0.01)),
        ("shrinkage", 0.0),
        ("nominal_splits", "binary"),
    ],
)
def test_what_the_user_says_comes_first(name, value):
    X, y = mixed()
    auto = ConfidenceTreeClassifier(Own(), **{name: value}).fit(X, y)
    said = ConfidenceTreeClassifier("gtest", **SAID | {name: value}).fit(X, y)
    assert same(auto, said)
    assert not same(auto, ConfidenceTreeClassifier(Own()).fit(X, y))


def test_no_bound_has_no_opinion():
    class Silent(GTestBound):
        defaults = TreeDefaults()

    X, y = mixed()
    for bound in (None, Silent()):
        model = ConfidenceTreeClassifier(bound).fit(X, y)
        assert model.pruning_ is None
        assert (model.shrinkage_, model.lookahead_) == (0.0, 0)
        assert not (model.tree_.children_left == -2).any()


def test_growth_row_by_row_requires_only_the_categories():
    X, y = mixed()
    grown = ConfidenceTreeClassifier(Own()).partial_fit(X, y, classes=[0, 1])
    said = ConfidenceTreeClassifier("gtest", nominal_splits="multiway")
    assert same(grown, said.partial_fit(X, y, classes=[0, 1]))
    assert (grown.tree_.children_left == -2).any()
    assert grown.pruning_ is None
    assert grown.shrinkage_ == 0.0
