"""The state of a tree's model, and whether what comes out of a file fits together."""

import numpy as np

from ..bounds._base import BaseBound
from ..tables._labels import Classes
from ..tables._schema import Schema
from ..tables._weights import LARGEST_SUM
from ..utils import (
    NO_DEFAULT,
    are_classes,
    completed,
    is_array,
    is_count,
    refuse_damage,
)
from ._plan import read_resolved
from .nodes._plain import read_nodes
from .nodes._tree import Tree
from .pruning._base import BasePruning
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
    sound = {
        "tree_": isinstance(state["tree"], tuple) and len(state["tree"]) == 2,
        "bound_": _is_resolved(resolved),
        "grower": grower is None
        or (
            (isinstance(grower, list) and len(grower) == 2)
            and isinstance(grower[0], dict)
        ),
        "n_rows_seen_": is_count(state["n_rows_before"])
        and isinstance(state["waits"], bool),
    }
    refuse_damage(owner, sound)
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
    names = state["classes"]
    refuse_damage(owner, {"classes_": are_classes(names)})
    schema = Schema.of_state(state["schema"], owner)
    return {"schema": schema, "classes": Classes(names)}


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
        "honest_counts": _has_honest_counts(parts["honest_counts"], tree),
        "fidelity_": _is_fidelity(parts["fidelity"], parts["grower"]),
    }
    refuse_damage(owner, sound)


def _is_resolved(parts):
    return (
        isinstance(parts.bound, BaseBound | None)
        and isinstance(parts.criterion, str)
        and is_count(parts.max_features)
        and isinstance(parts.pruning, BasePruning | None)
        and (parts.taken_back is None or is_count(parts.taken_back))
    )


def _has_columns(schema, tree):
    if schema.n_features != tree.n_features:
        return False
    features = schema.features
    if features is None:
        return not tree.is_nominal.any()
    return _asks_of_kinds(tree, features.is_categorical) and _has_categories(
        tree, features
    )


def _asks_of_kinds(tree, nominal):
    # Nominal tests are of nominal columns, and thresholds of the others.
    split = tree.feature >= 0
    return np.array_equal(nominal[tree.feature[split]], tree.is_nominal[split])


def _has_categories(tree, features):
    # A category that a test knows has a name.
    named = [0 if one is None else len(one.codes) for one in features.dictionaries]
    return bool((tree.n_known() <= named).all())


def _has_grower(parts):
    if parts["grower"] is None:
        return True
    nominal = parts["schema"].is_categorical
    nominal = () if nominal is None else tuple(np.flatnonzero(nominal).tolist())
    return parts["grower"].recipe.nominal == nominal


def _has_honest_counts(counts, tree):
    return counts is None or (
        is_array(counts, np.float64, (tree.node_count, tree.n_classes))
        and bool(((counts >= 0.0) & (counts <= LARGEST_SUM)).all())
    )


def _is_fidelity(value, grower):
    # What imitates does not grow.
    if value is None:
        return True
    return grower is None and type(value) is float and 0.0 <= value <= 1.0
