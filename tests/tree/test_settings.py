"""The settings of a growth: made once from parameters, checked, never changed.

Compiled code indexes and divides by them, so that a wrong one is refused wherever it
comes from, with its name.
"""

import copy
import pickle
import sys

import numpy as np
import pytest
from skconftree.tree._settings import NAMES, GrowthSettings, read_settings

from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound, EValueBound, GTestBound
from skconftree.drift import DDM
from skconftree.tables._features import Features
from skconftree.tables._schema import Schema
from skconftree.tree._parameters import PARAMETERS, resolve_settings

NO_LIMIT = sys.maxsize
OTHER = {
    "criterion": "entropy",
    "bound": GTestBound(),
    "max_features": 3,
    "random_cuts": True,
    "multiway": True,
    "monotonic_cst": (1, 0, -1),
    "max_depth": 4,
    "max_leaves": 9,
    "min_samples_split": -0.1,
    "min_samples_leaf": 7.0,
    "min_weight_fraction_leaf": 0.25,
    "min_impurity_decrease": 0.5,
    "gaussian": True,
    "row_limit": 64,
    "stored_rows": 1000,
    "max_bins": 16,
    "inherited": 100.0,
    "leaf_prediction": "nba",
    "grace_period": 25.0,
    "grace_limit": 40.0,
    "root_grace": 30.0,
    "row_weight": 6.0,
    "drift": DDM(),
    "max_bytes": 10**6,
}


def test_settings_are_what_they_are_made_from():
    assert tuple(OTHER) == NAMES
    settings = GrowthSettings(**OTHER)
    assert settings.values() == OTHER
    assert {name: getattr(settings, name) for name in OTHER} == OTHER
    defaults = GrowthSettings()
    for name, value in OTHER.items():
        changed = defaults.replace(**{name: value})
        assert changed.values() == defaults.values() | {name: value}


def test_no_limit_is_the_largest_number():
    settings = GrowthSettings()
    for name in ("max_features", "max_depth", "max_leaves", "row_limit", "max_bytes"):
        assert getattr(settings, name) == NO_LIMIT
        assert settings.values()[name] is None
        almost = settings.replace(**{name: NO_LIMIT - 1})
        assert almost.values()[name] == NO_LIMIT - 1
        with pytest.raises(ValueError, match=name):
            settings.replace(**{name: NO_LIMIT})


def test_settings_do_not_change():
    settings = GrowthSettings(**OTHER)
    for name in NAMES:
        with pytest.raises(AttributeError):
            setattr(settings, name, OTHER[name])
    settings.values()["max_depth"] = 1
    settings.__init__(max_depth=1)
    assert settings.max_depth == 4


@pytest.mark.parametrize("values", [{}, OTHER], ids=["defaults", "other"])
def test_settings_are_saved_as_plain_values(values):
    settings = GrowthSettings(**values)
    _, (saved,) = settings.__reduce__()
    assert type(saved) is dict
    for name, value in saved.items():
        if name not in ("bound", "drift", "monotonic_cst"):
            assert type(value) in (bool, int, float, str, type(None))
    for other in (pickle.loads(pickle.dumps(settings)), copy.deepcopy(settings)):
        assert pickle.dumps(other) == pickle.dumps(settings)
        for name in set(NAMES) - {"bound", "drift"}:
            assert getattr(other, name) == getattr(settings, name)
        assert repr((other.bound, other.drift)) == repr(
            (settings.bound, settings.drift)
        )


@pytest.mark.parametrize(
    "change",
    [
        {"criterion": None},
        {"criterion": 3},
        {"bound": "gtest"},
        {"bound": GTestBound},
        {"bound": DDM()},
        {"max_features": 0},
        {"max_features": 2.0},
        {"max_features": True},
        {"random_cuts": 1},
        {"multiway": None},
        {"max_depth": 0},
        {"max_depth": 2**63},
        {"max_depth": 10**400},
        {"max_leaves": 1},
        {"min_samples_split": -1.5},
        {"min_samples_split": 2},
        {"min_samples_leaf": np.nan},
        {"min_samples_leaf": "one"},
        {"min_weight_fraction_leaf": 0.6},
        {"min_impurity_decrease": -1e-9},
        {"gaussian": "rows"},
        {"monotonic_cst": [1, 0]},
        {"monotonic_cst": (2,)},
        {"monotonic_cst": (1.0,)},
        {"row_limit": 0},
        {"stored_rows": None},
        {"max_bins": 1},
        {"max_bins": 2**40},
        {"max_bins": None},
        {"inherited": 0.5},
        {"leaf_prediction": "median"},
        {"leaf_prediction": ["nb"]},
        {"grace_period": "long"},
        {"grace_limit": -1.0},
        {"grace_period": np.float64(5.0)},
        {"drift": "ddm"},
        {"max_bytes": -1},
        {"max_bytes": 2**70},
    ],
    ids=str,
)
def test_settings_out_of_range_or_of_another_type(change):
    (name,) = change
    for make in (GrowthSettings(**OTHER).replace, lambda **c: read_settings(OTHER | c)):
        with pytest.raises(ValueError, match=f"growth setting {name} must be"):
            make(**change)


def test_settings_that_there_are_not():
    with pytest.raises(TypeError, match="GrowthSettings has no .*'age'"):
        GrowthSettings(age=3)


def test_settings_of_another_release():
    for values in (None, (), "settings", [*OTHER]):
        with pytest.raises(
            ValueError, match="state of these growth settings is corrupt"
        ):
            read_settings(values)
    with pytest.raises(ValueError, match="has no setting 'age'"):
        read_settings(OTHER | {"age": 3})
    default = GrowthSettings().values()
    for name in OTHER:
        values = {key: value for key, value in OTHER.items() if key != name}
        assert read_settings(values).values() == OTHER | {name: default[name]}


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (None, ""),
        (GTestBound(), "separate inherited_is_evidence"),
        (EValueBound(), "separate fixed_cuts"),
        (CredibleBound(), "uses_pool recurses"),
        (CredibleBound(pool_weight="labeled"), "recurses"),
        (CredibleBound(pool_weight="volume"), "uses_pool by_volume recurses"),
    ],
    ids=str,
)
def test_what_counts_as_evidence_is_the_bound_s_business(bound, expected):
    settings = GrowthSettings(bound=bound)
    names = (
        "uses_pool by_volume separate inherited_is_evidence fixed_cuts recurses".split()
    )
    assert [name for name in names if getattr(settings, name)] == expected.split()
    assert not set(names) & settings.values().keys()


STREAM_SETTINGS = {
    "inherited",
    *(name for parameter in PARAMETERS.values() for name in parameter.stream_settings),
}


def test_every_setting_has_one_origin():
    made = [
        name
        for parameter in PARAMETERS.values()
        for name in [*parameter.settings, *parameter.stream_settings]
    ]
    # Of the statement that decides, and what no parameter changes.
    others = ["criterion", "bound", "inherited", "max_bins", "monotonic_cst"]
    assert sorted(made + others) == sorted(NAMES)


def resolved(
    bound=None,
    total=100.0,
    n_features=10,
    nominal=False,
    relative=False,
    in_forest=False,
    **parameters,
):
    model = ConfidenceTreeClassifier(**parameters)
    features = Features.blank([True] * n_features) if nominal else None
    schema = Schema(n_features, features=features)
    settings = resolve_settings(
        model, bound, "gini", schema, total, relative, in_forest=in_forest
    )
    return settings.values()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"max_depth": None, "max_leaves": None, "max_bytes": None}),
        ({"max_depth": np.int64(3)}, {"max_depth": 3}),
        ({"max_depth": 10**30}, {"max_depth": 2**31 - 1}),
        ({"max_leaf_nodes": 10**30}, {"max_leaves": 2**31 - 1}),
        ({"max_bytes": 10**30}, {"max_bytes": NO_LIMIT - 1}),
        ({"max_features": "sqrt"}, {"max_features": 3}),
        ({"max_features": 12}, {"max_features": 10}),
        ({"splitter": "random"}, {"random_cuts": True}),
        ({"min_samples_split": 5, "min_samples_leaf": 3}, {"min_samples_leaf": 3.0}),
        ({"min_samples_leaf": 0.055}, {"min_samples_leaf": 6.0}),
        ({"min_samples_leaf": 0.055, "total": None}, {"min_samples_leaf": -0.055}),
        ({"relative": True}, {"min_samples_split": 1e-10, "min_samples_leaf": 1e-10}),
        ({"nominal_splits": "multiway"}, {"multiway": False}),
        ({"nominal_splits": "multiway", "nominal": True}, {"multiway": True}),
        ({"leaf_memory": "rows"}, {"row_limit": None, "gaussian": False}),
        ({"leaf_memory": "histogram"}, {"row_limit": 64}),
        ({"leaf_memory": "gaussian"}, {"row_limit": None, "gaussian": True}),
        ({"leaf_memory": "auto"}, {"row_limit": 512, "inherited": np.inf}),
        ({"bound": GTestBound()}, {"stored_rows": 2**20 // 10}),
        ({"bound": GTestBound(), "leaf_memory": "histogram"}, {"stored_rows": 0}),
        ({"bound": GTestBound(), "max_bytes": 10**6}, {"stored_rows": 0}),
        ({"bound": GTestBound(), "in_forest": True}, {"stored_rows": 0}),
        ({"bound": EValueBound()}, {"stored_rows": 0}),
        ({"leaf_memory": "auto", "n_features": 1000}, {"row_limit": 128}),
        ({"leaf_memory": "auto", "bound": EValueBound()}, {"row_limit": 32}),
        ({"leaf_memory": "rows", "bound": EValueBound()}, {"row_limit": None}),
        ({"bound": GTestBound()}, {"inherited": 100.0}),
        ({"leaf_prediction": "auto"}, {"leaf_prediction": "nba"}),
        ({"grace_period": 7}, {"grace_period": 7.0, "grace_limit": 7.0}),
        ({"grace_period": "auto"}, {"grace_period": 100.0, "grace_limit": 100.0}),
        ({"bound": GTestBound()}, {"grace_period": 50.0, "grace_limit": 100.0}),
        ({"bound": GTestBound(), "leaf_memory": "gaussian"}, {"grace_period": 100.0}),
    ],
    ids=str,
)
def test_parameters_are_resolved(given, expected):
    if expected.keys() & STREAM_SETTINGS:
        given = {"total": None} | given
    values = resolved(**given)
    assert {name: values[name] for name in expected} == expected


def test_growth_from_a_table_has_no_settings_of_streams():
    values = resolved(max_bytes=10**6, grace_period=7, leaf_memory="gaussian")
    defaults = GrowthSettings().values()
    assert all(values[name] == defaults[name] for name in STREAM_SETTINGS)


def test_a_detector_is_a_copy():
    detector = DDM(min_samples=40)
    found = resolved(drift=detector)["drift"]
    assert found is not detector
    assert found.min_samples == 40
    assert type(resolved(drift="ddm")["drift"]) is DDM
