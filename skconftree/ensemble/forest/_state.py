"""Whether the parts of a forest that comes out of a file fit together."""

import numpy as np

from ...tree._classes import ConfidenceTreeClassifier
from ...tree._model import TreeModel
from ...tree._model_state import read_columns
from ...tree._plan import read_resolved
from ...utils import (
    NO_DEFAULT,
    completed,
    default_parameters,
    is_array,
    refuse_damage,
)
from ._sampling import MOST_DRAWS, Sampler

OF_TREES = default_parameters(ConfidenceTreeClassifier)
PARTS = {
    "schema": NO_DEFAULT,
    "classes": NO_DEFAULT,
    "seed": NO_DEFAULT,
    "parameters": NO_DEFAULT,
    "resolved": NO_DEFAULT,
    "trees": NO_DEFAULT,
    "n_rows_seen": NO_DEFAULT,
    "listed": False,
    "sampler": None,
    "records": None,
    "out_of_bag": None,
}


def read_forest(state, owner):
    """Make the parts of a forest from a state; compiled code adds up what trees say."""
    state = completed(state, PARTS, "The state of a forest")
    trees, sampler = state["trees"], state["sampler"]
    shared = read_columns(state, owner)
    trees = [TreeModel.of_state(tree, owner, shared) for tree in trees]
    if sampler is not None:
        sampler = Sampler(**sampler)
    sound = {
        "sampler": sampler is None or _is_sampler(sampler),
        "records": _has_records(state["records"], trees),
    }
    refuse_damage(owner, sound)
    resolved = [read_resolved(one) for one in state["resolved"]]
    parameters = [completed(one, OF_TREES, "The trees") for one in state["parameters"]]
    parts = *shared.values(), state["seed"], parameters, resolved, trees
    names = "listed", "records", "out_of_bag"
    options = {name: state[name] for name in names} | {"sampler": sampler}
    return (*parts, state["n_rows_seen"]), options


def _has_records(records, trees):
    # Of a forest that grows row by row.
    if records is None:
        return True
    return (
        is_array(records, np.float64, (len(trees), 2))
        and records.flags.c_contiguous
        and all(tree.grows for tree in trees)
        and len({_classes_left_out(tree.grower.recipe) for tree in trees}) == 1
    )


def _classes_left_out(recipe):
    # The forest does not let its trees learn rows of them.
    weights = recipe.class_weight
    return () if weights is None else tuple(np.flatnonzero(weights == 0.0).tolist())


def _is_sampler(value):
    # Compiled code finds the place of each draw among the ends.
    return (
        1 <= value.n_draws <= MOST_DRAWS
        and is_array(value.ends, np.float64, (None,))
        and value.ends.size > 0
    )
