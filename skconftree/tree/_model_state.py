"""The state of a tree's model, and whether what comes out of a file fits together."""

import numpy as np

from ..tables._labels import Classes
from ..tables._schema import Schema
from ..utils import (
    NO_DEFAULT,
    completed,
    refuse_damage,
)
from ._plan import read_resolved
from .nodes._plain import read_nodes
from .nodes._tree import Tree
from .stream._make_grower import kind_of

PARTS = {
    "schema": NO_DEFAULT,
    "classes": NO_DEFAULT,
    "resolved": NO_DEFAULT,
    "tree": NO_DEFAULT,
    "grower": NO_DEFAULT,
    "waits": False,
    "n_rows_before": NO_DEFAULT,
    "honest_counts": None,
    "fidelity": None,
}


def read_parts(state, owner, shared=None):
    """Make the parts of a model from a state, each checked by itself."""
    own = {k: v for k, v in PARTS.items() if shared is None or k not in shared}
    state = completed(state, own, "The state of a tree")
    resolved = read_resolved(state["resolved"])
    grower = state["grower"]
    tree = read_nodes(Tree, state["tree"])
    if grower is not None:
        recipe = grower[0]
        settings = recipe.get("settings")
        drift = settings.get("drift") if isinstance(settings, dict) else None
        grower = kind_of(drift).read(tree, *grower)
    if shared is None:
        shared = read_columns(state, owner)
    return state | shared | {"tree": tree, "grower": grower, "resolved": resolved}


def read_columns(state, owner):
    """Make the schema and the classes of a model from its state."""
    schema = Schema.of_state(state["schema"], owner)
    return {"schema": schema, "classes": Classes(state["classes"])}


def check_parts(parts, owner):
    """Raise unless what a model has learnt fits together.

    Compiled code indexes the arrays of a tree with classes, features and codes.
    """
    tree = parts["tree"] if parts["grower"] is None else parts["grower"].tree
    bound = parts["resolved"].bound
    sound = {
        "tree_": tree.node_count > 0,
        "classes_": len(parts["classes"]) == tree.n_classes,
        "n_features_in_": _has_columns(parts["schema"], tree),
        # splits have evidence if a bound has looked at them
        "bound_": tree.keeps_evidence == (bound is not None),
        "grower": _has_grower(parts),
    }
    refuse_damage(owner, sound)


def _has_columns(schema, tree):
    if schema.n_features != tree.n_features:
        return False
    features = schema.features
    if features is None:
        return not tree.is_nominal.any()
    # nominal tests are of nominal columns, and thresholds of the others
    split = tree.feature >= 0
    nominal = features.is_categorical[tree.feature[split]]
    return np.array_equal(nominal, tree.is_nominal[split])


def _has_grower(parts):
    if parts["grower"] is None:
        return True
    nominal = parts["schema"].is_categorical
    nominal = () if nominal is None else tuple(np.flatnonzero(nominal).tolist())
    return parts["grower"].recipe.nominal == nominal
