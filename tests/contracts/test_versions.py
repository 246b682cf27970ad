"""States of other versions: what came later has its default, what is unknown is named.

A stream that runs for a year survives updates of the package.
"""

import copy
import pickle
from inspect import signature

import numpy as np
import pytest
from contracts.test_skops_files import CLASSES, LEARNERS, MODELS, X, Y
from skconftree.tree._settings import GrowthSettings

import skconftree
from skconftree import ConfidenceTreeClassifier
from skconftree.active import FixedUncertainty, LeafRiskSampling, RiskBelow
from skconftree.bounds import CredibleBound
from skconftree.drift import DDM, LocalRepair
from skconftree.tree import PessimisticPruning
from skconftree.tree.stream._state import GrowerState, read_state
from skconftree.utils._codec import VERSION

PARAMETERS = [
    CredibleBound(delta=0.2),
    DDM(min_samples=10),
    LocalRepair(),
    PessimisticPruning(),
    LeafRiskSampling(gap=False),
    FixedUncertainty(),
    RiskBelow(0.1),
]
ALL = (
    MODELS | LEARNERS | {type(one).__name__: lambda one=one: one for one in PARAMETERS}
)
# Parts of the states of models, and what of them may be absent; None: everything.
GROWTH = "_model", "grower", 0
PLACES = {
    ("tree", "_model"): ["waits", "honest_counts", "fidelity"],
    ("tree", "_model", "resolved"): ["pruning", "lookahead", "taken_back"],
    ("tree", "_model", "schema"): ["dates", "names"],
    ("growing tree", *GROWTH): [
        *("seed", "class_weight", "nominal", "X_pool", "box", "in_forest", "n_first")
    ],
    ("growing tree", *GROWTH, "settings"): None,
    ("forest", "_model"): ["listed", "sampler", "records", "out_of_bag"],
    ("forest", "_model", "parameters", 0): None,
    ("forest", "_model", "resolved", 0): ["pruning", "lookahead", "taken_back"],
    ("forest", "_model", "trees", 1): ["waits", "honest_counts", "fidelity"],
    ("forest", "_model", "schema"): ["dates", "names"],
    ("growing forest", "_model", "trees", 0, "grower", 0, "settings"): None,
    ("NCM tree", "_model", "schema"): ["dates", "names", "features"],
    ("NCM forest", "_model"): ["tree_errors", "threshold", "leaves"],
    ("OASIS", "_model"): ["waiting"],
    ("waiting OASIS", "_model"): ["particle_filter", "mean", "scale"],
    ("evaluator",): [
        *("delay", "n_unlabeled_", "cpu_seconds_", "_scorers", "_needs_proba"),
        *("_by_time", "_last_time"),
    ],
    ("one by one",): ["_given_columns", "_waiting", "_warned"],
}
_made = {}


def state_of(name):
    """Class and state of a model, which may be changed."""
    if name not in _made:
        model = ALL[name]()
        _made[name] = type(model), model.__getstate__()
    kind, state = _made[name]
    return kind, copy.deepcopy(state)


def part_of(state, place):
    for one in place:
        state = state[one]
    return state


def read(kind, state):
    made = kind.__new__(kind)
    made.__setstate__(state)
    return made


@pytest.mark.parametrize("name", ALL)
def test_every_state_names_the_version(name):
    kind, state = state_of(name)
    assert state[VERSION] == skconftree.__version__
    assert VERSION not in vars(read(kind, state))


@pytest.mark.parametrize("name", sorted(ALL.keys() - {"evaluator", "one by one"}))
def test_parameters_that_came_later_have_their_defaults(name):
    kind, state = state_of(name)
    defaults = {
        one.name: one.default
        for one in signature(kind).parameters.values()
        if one.default is not one.empty
    }
    assert defaults.keys() <= state.keys()
    for absent in [{one} for one in defaults] if name == "tree" else [defaults.keys()]:
        less = {key: value for key, value in state.items() if key not in absent}
        for version in (skconftree.__version__, "0.0.9"):
            made = read(kind, less | {VERSION: version})
            found = made.get_params(deep=False)
            assert {one: found[one] for one in absent} == {
                one: defaults[one] for one in absent
            }


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_settings_that_came_later_have_their_defaults(place):
    kind, state = state_of(place[0])
    part, absent = part_of(state, place[1:]), PLACES[place]
    if place[-1] == "settings":  # a setting that came later has had no other value
        default = GrowthSettings().values()
        absent = [name for name, value in part.items() if value == default[name]]
        assert len(absent) > 10
    for name in part.keys() if absent is None else absent:
        less = copy.deepcopy(state)
        del part_of(less, place[1:])[name]
        pickle.dumps(read(kind, less))


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_unknown_settings_are_refused_with_the_version_that_wrote_them(place):
    kind, state = state_of(place[0])
    state[VERSION] = "9.9"
    part_of(state, place[1:])["from_the_future"] = 1
    with pytest.raises(
        ValueError,
        match=r"no setting 'from_the_future'.* It was written by skconftree 9\.9; this",
    ):
        read(kind, state)


@pytest.mark.parametrize("name", sorted(ALL.keys() - {"evaluator", "one by one"}))
def test_unknown_parameters_are_refused_unless_this_version_wrote_them(name):
    """Then they are attributes that somebody has set."""
    kind, state = state_of(name)
    state["from_the_future"] = 1
    assert read(kind, state).from_the_future == 1
    state[VERSION] = "9.9"
    with pytest.raises(ValueError, match=r"'from_the_future'.* skconftree 9\.9; this"):
        read(kind, state)


def test_a_part_without_a_default_is_missing():
    for name, part in (("tree", "classes"), ("forest", "trees"), ("NCM tree", "tree")):
        kind, state = state_of(name)
        del state["_model"][part]
        with pytest.raises(ValueError, match="corrupt"):
            read(kind, state)


def test_a_growing_tree_of_before_the_last_parts():
    _, state = state_of("growing tree")
    whole = state["_model"]["grower"][1]
    n_parts = len(GrowerState._fields)
    assert len(whole) == n_parts + 1
    for n in range(7, n_parts + 2):
        assert read_state(whole[:n])[: n - 1] == whole[1:n]
    for other in (whole[:6], (*whole, None), (whole[0] - 1, *whole[1:])):
        with pytest.raises(ValueError, match="must have version"):
            read_state(other)


def test_a_model_without_a_later_setting_grows_on():
    model = ConfidenceTreeClassifier().partial_fit(X[::2], Y[::2], CLASSES)
    other = copy.copy(model)
    state = model.__getstate__()
    del state["_model"]["grower"][0]["settings"]["root_grace"]
    other.__setstate__(state)
    for one in (model, other):
        one.partial_fit(X[1::2], Y[1::2])
    assert np.array_equal(other.predict_proba(X), model.predict_proba(X))
