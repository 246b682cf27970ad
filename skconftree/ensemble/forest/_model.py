"""What a forest has learnt: the model behind the estimator."""

from typing import NamedTuple

import numpy as np

from ...tree._classes import tree_of_model
from ...utils import canonical
from .._bootstrap import tree_seed
from ._parameters import tree_alone
from ._state import read_forest
from ._stepping import Steps
from ._streaming import trusts
from ._voters import Voters


class OutOfBag(NamedTuple):
    """What the trees say of rows that were not in their samples."""

    score: float
    proba: np.ndarray


class ForestDrift(NamedTuple):
    """A drift that a tree of a forest has found.

    As `Drift` of a tree has it, `row` being one of the forest's,
    and `tree` the place of the tree.
    """

    row: int
    node: int
    detector: str
    tree: int


class ForestModel:
    """Trees, and what they know in common.

    As a `TreeModel`, it is taken over in one assignment, and learning rows changes it
    in place: the growers of its trees, how many rows have been learnt, and how the
    trees have fared.

    `seed` is that of samples and trees, which take turns with `parameters` and what
    these were `resolved` to; `listed`: a list of bounds was given. `sampler` has drawn
    the samples of `fit`. `records`, of shape (n_trees, 2), say how each tree has fared
    lately; None unless the forest learns row by row.
    """

    def __init__(
        self,
        schema,
        classes,
        seed,
        parameters,
        resolved,
        trees,
        n_rows,
        *,
        listed=False,
        sampler=None,
        records=None,
        out_of_bag=None,
    ):
        self.schema, self.classes, self.seed = schema, classes, seed
        self.parameters, self.resolved = parameters, resolved
        self.trees = trees
        self.n_rows_seen = n_rows
        self.listed, self.sampler, self.records = listed, sampler, records
        self.out_of_bag = out_of_bag
        self._shown = self._voters = None
        self._begun = False  # whether the trees know the columns of what they learn

    # -- what there is ------------------------------------------------------------

    @property
    def estimators(self):
        """The trees as estimators, for whoever looks at them."""
        if self._shown is None:
            n = len(self.parameters)
            self._shown = [
                tree_of_model(
                    tree,
                    tree_alone(self.parameters[i % n], tree, grows=self.grows)
                    | {"random_state": tree_seed(self.seed, i)},
                )
                for i, tree in enumerate(self.trees)
            ]
        return self._shown

    @property
    def grows(self):
        """Whether it learns row by row."""
        return self.records is not None

    @property
    def max_features(self):
        """How many features are examined at a node."""
        return self.resolved[0].max_features

    @property
    def bound(self):
        """The resolved bound, or the list of them."""
        return self._in_turn([one.bound for one in self.resolved])

    @property
    def criterion(self):
        """The resolved criterion, or that of each bound."""
        return self._in_turn([one.criterion for one in self.resolved])

    def _in_turn(self, values):
        return values if self.listed else values[0]

    @property
    def oob_score(self):
        """Score of what trees say of rows out of their bags, if they were asked."""
        return self._out_of_bag().score

    @property
    def oob_proba(self):
        """What they say."""
        return self._out_of_bag().proba

    def _out_of_bag(self):
        if self.out_of_bag is None:
            raise AttributeError("Only fit with oob_score looks at rows out of bag.")
        return self.out_of_bag

    @property
    def n_drifts(self):
        """Number of drifts found in all trees."""
        return sum(tree.n_drifts for tree in self.trees)

    @property
    def drifts(self):
        """Drifts found in all trees, in the order of the rows."""
        found = [
            ForestDrift(*drift, place)
            for place, tree in enumerate(self.trees)
            for drift in tree.drifts
        ]
        return sorted(found, key=lambda one: (one.row, one.tree))

    @property
    def n_inactive_leaves(self):
        """Leaves of all trees that learn no more than counts."""
        return sum(tree.n_inactive_leaves for tree in self.trees)

    @property
    def n_bytes(self):
        """Bytes that the trees and the memories of their leaves take."""
        return sum(tree.n_bytes for tree in self.trees)

    @property
    def class_weight(self):
        """Weight of each class in the stream; None: all are 1."""
        return self.trees[0].class_weight

    @property
    def weight_seen(self):
        """Weight of the rows that a tree has learnt, at most."""
        return max(tree.weight_seen for tree in self.trees)

    def voters(self, vote):
        """The trees as voters, as `vote` of the forest says."""
        if self.grows:
            return Voters(self.trees, self.vote_weights(vote), growing=True)
        if self._voters is None:  # trees that do not learn stay what they are
            self._voters = Voters(self.trees)
        return self._voters

    def vote_weights(self, vote):
        """What the votes of trees weigh, as `vote` of the forest says; None: alike."""
        if vote == "mean" or self.records is None:
            return None
        return trusts(self.records)

    def feature_importances(self):
        """Mean over the trees of the share of each feature in the fall of impurity."""
        total = np.zeros(self.schema.n_features)
        split = [tree.tree for tree in self.trees if tree.tree.node_count > 1]
        for tree in split:
            total += tree.feature_importances()
        if split:
            total /= len(split)
        return total / total.sum() if total.any() else total

    # -- learning -----------------------------------------------------------------

    def make_ready(self, call, **options):
        """Make room for the categories of rows that are to be learnt."""
        if call.rows.schema.features is not None:
            for tree in self.trees:
                tree.grower.reserve_codes(call.rows.schema.most_categories)

    def learn(self, call, *, tells=False, **options):
        """Let all trees learn rows, step by step; `tells` what they thought of each."""
        if not self._begun or call.rows.schema is not self.schema:
            self.schema, self._begun = call.rows.schema, True
            for tree in self.trees:
                if tree.ends_shrinkage:
                    tree.end_shrinkage()
                tree.begin(self.schema)
        for tree in self.trees:
            tree.honest_counts = None
        told = np.empty(len(call.labels), dtype=np.intp) if tells else None
        Steps(self, **options).learn(call.rows, call.labels, call.weight, told)
        return told

    # -- state --------------------------------------------------------------------

    def state(self):
        """What there is, as arrays and plain values, of one moment."""
        trees = [tree.state() for tree in self.trees]
        for state in trees:  # what they have in common is written once
            del state["schema"], state["classes"]
        sampler, records = self.sampler, self.records
        return canonical(
            {
                "schema": self.schema.state(),
                "classes": self.classes.names,
                "seed": self.seed,
                "parameters": self.parameters,
                "resolved": [one._asdict() for one in self.resolved],
                "trees": trees,
                "n_rows_seen": self.n_rows_seen,
                "listed": self.listed,
                "sampler": None if sampler is None else sampler._asdict(),
                "records": None if records is None else records.copy(),
                "out_of_bag": None
                if self.out_of_bag is None
                else self.out_of_bag._asdict(),
            }
        )

    def __reduce__(self):
        return ForestModel.of_state, (self.state(), None)

    @classmethod
    def of_state(cls, state, owner):
        """Make a model from what came out of a file, which is not believed."""
        owner = cls.__new__(cls) if owner is None else owner
        parts, options = read_forest(state, owner)
        if options["out_of_bag"] is not None:
            options["out_of_bag"] = OutOfBag(**options["out_of_bag"])
        return cls(*parts, **options)
