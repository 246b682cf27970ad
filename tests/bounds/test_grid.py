"""A grid over bounds: no fit fails, and no value is without an effect.

One list of values of `delta` for all bounds is out of range for some of them, and
without any effect for others; so each bound brings its own.
"""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from reference.effort import crossed
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound, DeRosaBound, param_grid
from skconftree.bounds._base import BaseBound
from skconftree.bounds._registry import BOUNDS, resolve_bound

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("n", [1, 3, 5])
def test_no_fit_fails(n):
    search = GridSearchCV(
        ConfidenceTreeClassifier(), param_grid(n=n), cv=2, error_score="raise"
    ).fit(X, Y)
    assert len(search.cv_results_["params"]) == n * len(BOUNDS)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize(("name", "n_classes"), crossed(BOUNDS, [2, 3]))
def test_levels_go_from_strict_to_lax(name, n_classes):
    """Each splits on what a stricter one splits on, and on more."""
    bound = BOUNDS[name]()
    assert len(bound.levels) == 5
    rng = np.random.default_rng(n_classes)
    # from noise in few rows to signal in many
    tables = [
        np.array([rng.multinomial(size, shares), rng.multinomial(size, shares[::-1])])
        for size in np.unique(np.geomspace(4, 3000, 45).astype(int))
        for shares in [_shares(n_classes, tilt) for tilt in np.linspace(0.0, 4.0, 13)]
    ]
    splits = []
    for level in bound.levels:
        bound.set_params(**{bound.level_parameter: level})
        splits.append(
            [
                bound.evaluate(t, n_tests=20, depth=i % 20).split
                for i, t in enumerate(tables)
            ]
        )
    splits = np.array(splits)
    assert (splits[1:] >= splits[:-1]).all()
    assert (np.diff(splits.sum(axis=1)) > 0).all()


def _shares(n_classes, tilt):
    shares = np.exp(tilt * np.linspace(-0.5, 0.5, n_classes))
    return shares / shares.sum()


@pytest.mark.parametrize("name", BOUNDS)
def test_levels_are_the_business_of_the_bound_alone(name):
    """A new bound shall need no line elsewhere."""
    assert "levels" in vars(BOUNDS[name])
    source = inspect.getsource(inspect.getmodule(param_grid))
    code = source.replace(inspect.getdoc(param_grid), "").split('"""')[-1]
    assert name not in code


def test_a_bound_without_levels_is_taken_as_it_is():
    class Own(BaseBound):
        criteria = ("gini",)

    assert len(param_grid([Own()], 4)) == 1
    assert list(param_grid([Own()], 4)[0]) == ["bound"]
    assert param_grid([None]) == [{"bound": [None]}]


def test_objects_keep_their_other_parameters():
    (grid,) = param_grid([CredibleBound(prior="perks")], 2)
    assert [p["bound"].prior for p in ParameterGrid(grid)] == ["perks"] * 2
    (grid,) = param_grid([DeRosaBound(against="no_split")], 3)
    assert [bound.c for bound in grid["bound"]] == [1.0, 0.1, 0.01]
    assert {bound.against for bound in grid["bound"]} == {"no_split"}
    (grid,) = param_grid([DeRosaBound(form="tight")], 3)
    assert grid["delta"] == [0.001, 0.05, 0.5]


def test_names_of_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), ConfidenceTreeClassifier())
    grid = param_grid(["gtest", "derosa"], prefix="confidencetreeclassifier__")
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, Y)
    assert search.best_score_ > 0.8


@pytest.mark.parametrize("n", [0, 6, 2.0, "3"])
def test_bad_numbers_of_levels(n):
    with pytest.raises(ValueError, match="n must be"):
        param_grid(n=n)


def test_bad_bounds():
    with pytest.raises(ValueError, match="'gtst'"):
        param_grid(["gtst"])
    with pytest.raises(ValueError, match="must be None or a list"):
        param_grid("gtest")


@pytest.mark.parametrize("bound", [None, "derosa"])
def test_a_delta_without_effect_draws_a_warning(bound):
    tree = ConfidenceTreeClassifier(bound=bound, delta=0.01)
    with pytest.warns(UserWarning, match=r"delta=0.01 has no effect.*param_grid") as w:
        tree.fit(X, Y)
    assert w[0].filename == __file__
    for kind in (ConfidenceTreeClassifier, ConfidenceForestClassifier):
        with pytest.warns(UserWarning, match=r"delta=0.01 has no effect") as w:
            kind(bound=bound, delta=0.01).partial_fit(X, Y, [0, 1, 2])
        assert w[0].filename == __file__
    with pytest.warns(UserWarning, match=r"delta=0.01 has no effect") as w:
        ConfidenceForestClassifier(3, bound=bound, delta=0.01).fit(X, Y)
    assert w[0].filename == __file__
    plain = ConfidenceTreeClassifier(bound=bound).fit(X, Y)
    assert pickle.dumps(tree.tree_) == pickle.dumps(plain.tree_)


@pytest.mark.parametrize("name", BOUNDS)
def test_a_delta_with_effect_draws_none(name):
    bound = BOUNDS[name]()
    if not bound.uses_delta:
        bound.set_params(form="anytime")
    with warnings.catch_warnings():
        # another warning says that some bounds do not split a table of this size
        warnings.filterwarnings("ignore", "The tree is a single leaf")
        resolve_bound(bound, bound.levels[0])
        ConfidenceTreeClassifier(bound, delta=bound.levels[0]).fit(X, Y)
