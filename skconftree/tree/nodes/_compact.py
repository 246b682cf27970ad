"""Trees for predictions alone, without the counts and the evidence of their nodes.

`evidence` has the statistics of each split, `trial_costs` those by which look-ahead
compared it with other splits, `competitors` the best splits on other features, and
`stops` why each node is a leaf. `branching` and `child_of_code` have where a split
sends missing values and categories. A state is the data in a pickle.
"""

import numpy as np

from ...utils._codec import corrupt_state
from ._state import BY_CHANCE_DTYPE, NODE_ARRAYS, NODE_DTYPE, SPLIT_ARRAYS, VALUES
from ._tree import Tree

DROPPED = ("n_node_samples", "counts", "impurity", "evidence")  # arrays of a state
ALL_ARRAYS = (*NODE_ARRAYS, VALUES, *SPLIT_ARRAYS)
ARRAYS = tuple(name for name in ALL_ARRAYS if name not in DROPPED)
# Attributes and methods of a tree that need these arrays, or those of optional parts.
ABSENT = (
    *DROPPED,
    "weighted_n_node_samples",
    "raw_proba",
    "trial_costs",
    "competitors",
    "stops",
    "leaf_reason",
    "leaf_counts",
    "compute_feature_importances",
)


class DroppedPartError(ValueError, AttributeError):
    """Error for a part of a model that ``save_model(..., compact=True)`` has dropped.

    Like scikit-learn's NotFittedError, it is an AttributeError, too, so that `hasattr`
    returns False.
    """

    def __init__(self, what):
        super().__init__(
            f"The model was saved with compact=True, for predictions alone, so {what}. "
            "Use the model itself, or a file saved without compact=True."
        )


def _absent(name):
    def get(self):
        raise DroppedPartError(f"its trees have no {name!r}")

    return property(get)


class CompactTree(Tree):
    """Tree with the structure and the class probabilities of another one.

    The arrays of `DROPPED` are zeros, which nobody can read, and absent from a state.
    """

    def __getattr__(self, name):
        if name in ABSENT:  # called after the property has raised its AttributeError
            raise DroppedPartError(f"its trees have no {name!r}")
        return super().__getattr__(name)

    def __getstate__(self):
        version, *arrays = super().__getstate__()
        arrays = dict(zip(ALL_ARRAYS, arrays, strict=True))
        return (version, *[arrays[name] for name in ARRAYS])

    def __setstate__(self, state):
        is_valid = isinstance(state, tuple) and len(state) == 1 + len(ARRAYS)
        if not is_valid or any(type(part) is not bytes for part in state[1:]):
            raise corrupt_state("tree", "its arrays")
        version, *arrays = state
        arrays = dict(zip(ARRAYS, arrays, strict=True))
        n_nodes, rest = divmod(len(arrays["nodes"]), NODE_DTYPE.itemsize)
        if rest:
            raise corrupt_state("tree", "'nodes'")
        is_split = np.frombuffer(arrays["nodes"], NODE_DTYPE)["feature"] >= 0
        arrays |= {
            "n_node_samples": bytes(n_nodes * np.dtype(np.intp).itemsize),
            "counts": bytes(n_nodes * self.max_n_classes * 8),
            "impurity": bytes(n_nodes * 8),
            "evidence": bytes(np.count_nonzero(is_split) * BY_CHANCE_DTYPE.itemsize),
        }
        super().__setstate__((version, *[arrays[name] for name in ALL_ARRAYS]))


for _name in ABSENT:
    setattr(CompactTree, _name, _absent(_name))


def compact_tree(tree):
    """Make a compact tree that predicts the same probabilities."""
    version, parent, *_, nodes, branching, child_of_code = tree.__getstate__()
    compact = CompactTree(
        tree.n_features,
        tree.max_n_classes,
        tree.class_weight,
        keep_evidence=False,
        keep_values=True,
    )
    values = np.ascontiguousarray(tree.proba).tobytes()
    compact.__setstate__((version, parent, values, nodes, branching, child_of_code))
    return compact
