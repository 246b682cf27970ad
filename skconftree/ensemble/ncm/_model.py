"""What nearest class mean estimators have learnt: models that never change.

Each update makes another one, which the estimator takes over in one assignment.
"""

from dataclasses import MISSING, dataclass, fields

import numpy as np

from ...bounds._base import BaseBound
from ...tables._labels import Classes
from ...tables._schema import Schema
from ...tree.nodes._plain import read_nodes, write_nodes
from ...utils import (
    NO_DEFAULT,
    canonical,
    completed,
    is_array,
    refuse_damage,
)
from ._centroid_tree import NCMTree
from ._samples import Samples


@dataclass(frozen=True, eq=False)
class NCMModel:
    """What a tree and a forest have in common; `samples` are for further updates."""

    schema: Schema
    classes: Classes
    bound: BaseBound | None
    criterion: str
    seed: int
    samples: Samples | None
    n_rows_seen: int
    n_updates: int

    grows = False  # each call makes another one, which has learnt its rows already

    def make_ready(self, call):
        """Nothing is left to be done."""

    def learn(self, call):
        """Nothing is left to be learnt."""

    def state(self):
        """Return all of it as a dict of arrays and plain values."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        state["schema"], state["classes"] = self.schema.state(), self.classes.names
        if self.samples is not None:
            state["samples"] = self.samples._asdict()
        return state

    @classmethod
    def read(cls, state, owner):
        """Make the common parts from what came out of a file."""
        defaults = {
            one.name: NO_DEFAULT if one.default is MISSING else one.default
            for one in fields(cls)
        }
        state = completed(state, defaults, "The state of an NCM model")
        samples = state["samples"]
        parts = state | {
            "schema": Schema.of_state(state["schema"], owner),
            "classes": Classes(state["classes"]),
        }
        if samples is not None:
            parts["samples"] = Samples(**samples)
            refuse_damage(owner, {"samples": _are_sound(parts["samples"], parts)})
        return parts


@dataclass(frozen=True, eq=False)
class NCMTreeModel(NCMModel):
    """What a tree has learnt."""

    tree: NCMTree

    def leaves(self, X):
        """Leaf that each row reaches."""
        return self.tree.apply(X)

    def proba(self, X):
        """Class proportions there."""
        return self.tree.value_of(self.leaves(X))

    def best(self, X):
        """Most frequent class there."""
        return self.tree.best_of(self.leaves(X))

    def state(self):
        """Return all of it as a dict of arrays and plain values."""
        return canonical(super().state() | {"tree": write_nodes(self.tree)})

    @classmethod
    def of_state(cls, state, owner):
        """Make a model from what came out of a file."""
        parts = cls.read(state, owner)
        return cls(**parts | {"tree": _read_tree(parts["tree"], parts, owner)})


@dataclass(frozen=True, eq=False)
class NCMForestModel(NCMModel):
    """What a forest has learnt.

    `regrown` says which trees the last call grew; bits of `in_bag`, of shape (n_trees,
    n_bytes), whether each row that is kept is in the sample of a tree; `leaves` where
    these rows come to in each tree, which follows from trees and rows, and is no part
    of the state.
    """

    parameters: dict
    trees: list
    seeds: list
    regrown: np.ndarray
    in_bag: np.ndarray
    penalty: np.ndarray
    tree_errors: np.ndarray | None = None
    threshold: float | None = None
    leaves: np.ndarray | None = None

    @property
    def n_bytes(self):
        """Bytes that trees and rows take."""
        return (
            sum(tree.n_bytes for tree in self.trees)
            + sum(part.nbytes for part in self.samples)
            + self.in_bag.nbytes
            + (0 if self.leaves is None else self.leaves.nbytes)
        )

    def members(self):
        """Each tree as a model of its own."""
        return [
            NCMTreeModel(
                self.schema,
                self.classes,
                self.bound,
                self.criterion,
                seed,
                None,
                tree._rows_of_root(),
                0,
                tree,
            )
            for tree, seed in zip(self.trees, self.seeds, strict=True)
        ]

    def state(self):
        """Return all but the leaves as a dict of arrays and plain values."""
        trees = [write_nodes(tree) for tree in self.trees]
        return canonical(super().state() | {"trees": trees, "leaves": None})

    @classmethod
    def of_state(cls, state, owner):
        """Make a model from what came out of a file."""
        parts = cls.read(state, owner)
        trees = [_read_tree(tree, parts, owner) for tree in parts["trees"]]
        return cls(**parts | {"trees": trees, "leaves": None})


def _read_tree(state, parts, owner):
    tree = read_nodes(NCMTree, state)
    fits = (
        tree.node_count > 0
        and tree.n_features == parts["schema"].n_features
        and tree.n_classes == len(parts["classes"])
    )
    refuse_damage(owner, {"tree_": fits})
    return tree


def _are_sound(samples, parts):
    # Whether rows can be learnt from: compiled code indexes by their classes.
    if not all(
        isinstance(part, np.ndarray) and part.flags.c_contiguous for part in samples
    ):
        return False
    X, y, ranks, n_seen = samples
    n, n_classes = len(y) if y.ndim == 1 else 0, len(parts["classes"])
    return (
        n > 0
        and is_array(X, np.float32, (n, parts["schema"].n_features))
        and bool(np.isfinite(X).all())
        and y.dtype == np.uint16
        and bool((y < n_classes).all())
        and is_array(ranks, np.uint32, (n,))
        and is_array(n_seen, np.int64, (n_classes,))
    )
