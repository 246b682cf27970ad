"""The model behind a forest: its trees, their samples and votes, and its state."""

from dataclasses import dataclass, fields
from inspect import signature
from typing import NamedTuple

import numpy as np

from ..._compat import InvalidParameterError
from ...bounds._base import BaseBound
from ...tables._labels import Classes
from ...tables._schema import Schema
from ...tree._classes import ConfidenceTreeClassifier, tree_of_model
from ...tree._model import TreeModel, read_columns
from ...tree._parameters import read_resolved
from ...utils import canonical, check_state_parts, default_parameters, merge_defaults
from ...utils._warnings import warn
from .._bootstrap import draw_counts, tree_seed
from ._stepping import Steps
from ._streaming import trusts
from ._voting import add_votes

GRAIN = 2.0**-20  # of distinct weights: sums of its multiples are exact
MAX_DRAWS = 2**31 - 1  # whole counts are added up in 32 bits


def number_of_draws(max_samples, total):
    """Resolve the parameter `max_samples`."""
    if max_samples is None:
        n_draws = round(total)
    elif isinstance(max_samples, float | np.floating):
        n_draws = round(max_samples * total)
    else:
        n_draws = int(max_samples)
        if n_draws > total:
            raise ValueError(
                f"max_samples must be at most the total weight of the rows, "
                f"{total:g}, got {max_samples!r}."
            )
    if n_draws > MAX_DRAWS:
        raise ValueError(
            f"The sample weights sum to {total:g}, which is too many rows to draw for "
            f"each tree: at most {MAX_DRAWS} are. Set max_samples, or bootstrap=False."
        )
    return max(n_draws, 1)


class Sampler(NamedTuple):
    """Samples of `n_draws` rows per tree; `ends` are those of a `ContentOrder`."""

    ends: np.ndarray
    n_draws: int
    seed: int

    @property
    def weights(self):
        """Weight of each group of equal rows."""
        return np.diff(self.ends, prepend=0.0)

    def counts(self, tree, n_pool=0):
        """How often each group of equal rows is in the sample of a tree."""
        counts = draw_counts(self.ends, self.n_draws, self.seed, tree)
        if n_pool:
            counts = np.append(counts, np.ones(n_pool, dtype=np.uint32))
        return counts

    def distinct_weights(self, counts):
        """What the rows of a sample weigh if a repeat is no new evidence.

        Of k equal rows that have been drawn c times in all, k (1 - (1 - 1 / k)^c) have
        been drawn, on average. A weight below 1 is that of one row, 0 of one without
        label.
        """
        equal = np.maximum(self.weights, 1.0)
        drawn = counts[: len(equal)].astype(np.float64)
        distinct = np.minimum(drawn, 1.0)
        some = (equal > 1.0) & (drawn > 1.0)
        equal, drawn = equal[some], drawn[some]
        mean = -equal * np.expm1(drawn * np.log1p(-1.0 / equal))
        distinct[some] = np.rint(mean / GRAIN) * GRAIN
        return np.append(distinct, np.zeros(len(counts) - len(distinct)))


# What its trees do not do. They do not look ahead, as many of them make up for greed;
# threads grow other trees instead of sharing one.
OFF = {"lookahead": 0, "n_jobs": None}
TREE_PARAMETERS = tuple(
    name for name in signature(ConfidenceTreeClassifier).parameters if name not in OFF
)


def trees_to_keep(forest):
    """Check that parameters of `fit` go together, and find the trees that stay."""
    if not forest.bootstrap and forest.max_samples is not None:
        raise InvalidParameterError(
            f"The 'max_samples' parameter of {type(forest).__name__} must be None "
            f"with bootstrap=False, as every tree sees all rows. Got "
            f"{forest.max_samples!r} instead."
        )
    if not forest.bootstrap and forest.oob_score:
        raise InvalidParameterError(
            f"The 'oob_score' parameter of {type(forest).__name__} must be False "
            f"with bootstrap=False: no row is out of a sample. Got "
            f"{forest.oob_score!r} instead."
        )
    if not (forest.warm_start and forest._model is not None):
        return []
    if forest._model.grows:
        raise ValueError(
            "fit with warm_start=True adds trees to those of an earlier fit, and "
            "these have learnt rows by partial_fit. Set warm_start=False."
        )
    kept = forest._model.trees
    if forest.n_estimators < len(kept):
        raise ValueError(
            f"n_estimators must be at least {len(kept)}, the number of trees "
            f"there are, with warm_start=True. Got {forest.n_estimators}."
        )
    if forest.n_estimators == len(kept):
        warn(
            "fit with warm_start=True grew no tree, as n_estimators is the number "
            "of trees there are."
        )
    return kept


def tree_parameters(forest):
    """Parameters of a tree for each bound, in turn."""
    listed = isinstance(forest.bound, list | tuple)
    bounds = list(forest.bound) if listed else [forest.bound]
    for one in bounds:
        if not isinstance(one, str | BaseBound | None):
            raise InvalidParameterError(
                f"The 'bound' parameter of {type(forest).__name__} must be a name, a "
                f"bound object, None, or a list of these. Got {one!r} in the list."
            )
    if not bounds:
        raise InvalidParameterError(
            f"The 'bound' parameter of {type(forest).__name__} must hold at least "
            f"one bound. Got {forest.bound!r} instead."
        )
    parameters = {name: getattr(forest, name) for name in TREE_PARAMETERS} | OFF
    if forest.class_weight == "balanced_subsample":
        parameters["class_weight"] = "balanced"
    return [parameters | {"bound": bound} for bound in bounds]


def tree_alone(parameters, tree, *, grows):
    """Parameters with which a single tree grows as the given tree of a forest."""
    auto = {"max_features": None if grows else "sqrt", "drift": tree.watched_by}
    return parameters | {
        name: value for name, value in auto.items() if parameters[name] == "auto"
    }


class Voters:
    """Trees of a forest while it is read; growers predict if all are `growing`."""

    def __init__(self, models, weights=None, growing=False):
        self.models = models
        self.weights = weights
        # Neighbours that vote by their leaves do so in one go.
        self.groups = []
        for model in models:
            by_bayes = growing or (model.grows and model.predicts_by_bayes)
            if by_bayes or weights is not None:
                self.groups.append((by_bayes, [model]))
            elif self.groups and not self.groups[-1][0]:
                self.groups[-1][1].append(model)
            else:
                self.groups.append((False, [model]))
        self.groups = [
            (by_bayes, some, [one.tree for one in some], _values(by_bayes, some))
            for by_bayes, some in self.groups
        ]

    @property
    def total(self):
        """Weight of all votes."""
        return len(self.models) if self.weights is None else sum(self.weights.tolist())

    def add(self, X, finite, out):
        """Add the votes of all trees, in their order, to `out`."""
        for i, (by_bayes, some, trees, values) in enumerate(self.groups):
            if by_bayes:
                with some[0]._lock:
                    votes = some[0].grower.predict_proba(X, finite)
            elif self.weights is None:
                add_votes(trees, values, X, finite, out)
                continue
            else:
                votes = values[0].take(trees[0].apply(X, finite), axis=0)
            if self.weights is not None:
                votes *= self.weights[i]
            out += votes


def _values(by_bayes, some):
    return None if by_bayes else [one.tree.value for one in some]


class OutOfBag(NamedTuple):
    """What the trees say of rows that were not in their samples."""

    score: float
    proba: np.ndarray


class ForestDrift(NamedTuple):
    """A `Drift` of the tree at index `tree` of a forest, by the forest's `row`."""

    row: int
    node: int
    detector: str
    tree: int


@dataclass(eq=False)
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

    schema: Schema
    classes: Classes
    seed: int
    parameters: list
    resolved: list
    trees: list
    n_rows_seen: int
    listed: bool = False
    sampler: Sampler | None = None
    records: np.ndarray | None = None
    out_of_bag: OutOfBag | None = None

    _shown = _voters = None
    _begun = False  # whether the trees know the columns of what they learn

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
    def known_out_of_bag(self):
        """What trees say of rows out of their bags; an error if they were not asked."""
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

    def make_ready(self, call, **options):
        """Make room for the categories of rows that are to be learnt."""
        if call.rows.schema.features is not None:
            for tree in self.trees:
                tree.grower.reserve_codes(call.rows.schema.max_categories)

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

    def state(self):
        """What there is, as arrays and plain values, of one moment."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        state["schema"], state["classes"] = self.schema.state(), self.classes.names
        state["resolved"] = [one._asdict() for one in self.resolved]
        state["trees"] = [tree.state() for tree in self.trees]
        for tree in state["trees"]:  # what they have in common is written once
            del tree["schema"], tree["classes"]
        for name in ("sampler", "out_of_bag"):
            if state[name] is not None:
                state[name] = state[name]._asdict()
        if self.records is not None:
            state["records"] = self.records.copy()
        return canonical(state)

    def __reduce__(self):
        return ForestModel.of_state, (self.state(), None)

    @classmethod
    def of_state(cls, state, owner):
        """Make a model from a state; compiled code adds up what trees say."""
        owner = cls.__new__(cls) if owner is None else owner
        state = merge_defaults(state, default_parameters(cls), "The state of a forest")
        shared = read_columns(state, owner)
        trees = [TreeModel.of_state(tree, owner, shared) for tree in state["trees"]]
        for name, kind in (("sampler", Sampler), ("out_of_bag", OutOfBag)):
            if state[name] is not None:
                state[name] = kind(**state[name])
        sampler, records = state["sampler"], state["records"]
        sound = {
            # a loop over the draws, which nothing interrupts, has to end
            "sampler": sampler is None
            or (sampler.n_draws <= MAX_DRAWS and len(sampler.ends) > 0),
            "records": records is None
            or (
                np.shape(records) == (len(trees), 2)
                and all(tree.grows for tree in trees)
            ),
        }
        check_state_parts(owner, sound)
        of_tree = default_parameters(ConfidenceTreeClassifier)
        return cls(
            **state
            | shared
            | {
                "trees": trees,
                "resolved": [read_resolved(one) for one in state["resolved"]],
                "parameters": [
                    merge_defaults(one, of_tree, "The trees")
                    for one in state["parameters"]
                ],
            }
        )
