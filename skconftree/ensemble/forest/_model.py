"""Model of a forest: its trees, their samples and votes, and serialization.

The model of a forest, a `ForestModel`, has a `TreeModel` per tree. A model `grows` if
it learns row by row; the *grower* of a tree trains it. A step is a block of consecutive
rows that all trees learn together. A *compact* model was saved for predictions alone. A
*template* is a tree as an unfitted estimator. The `schema` has the names and types of
the columns, and validates rows. The *state* of a model is what is pickled; `canonical`
makes the pickles of equal states equal. `finite` is whether rows have no missing
values. *Resolved* parameters have values instead of "auto" and None.
"""

from dataclasses import dataclass, fields, replace
from inspect import signature
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ..._compat import InvalidParameterError
from ...bounds._base import BaseBound
from ...tables._labels import Classes
from ...tables._schema import Schema
from ...tree._classes import ConfidenceTreeClassifier, tree_of_model
from ...tree._model import TreeModel, read_columns
from ...tree._parameters import read_resolved
from ...tree.nodes._compact import DroppedPartError
from ...tree.stream._resize import resized_model
from ...utils._codec import (
    canonical,
    check_state_parts,
    default_parameters,
    merge_defaults,
)
from ...utils._warnings import warn
from .._bootstrap import draw_counts, tree_seed
from ._stepping import STEP, Steps
from ._streaming import vote_weights
from ._voting import add_votes

RESOLUTION = 2.0**-20  # distinct weights are multiples of this, so that sums are exact
MAX_DRAWS = 2**31 - 1  # counts are 32-bit integers
LARGE_BYTES = 10**9  # size from which a forest without `max_bytes` warns


def number_of_draws(max_samples, total):
    """Resolve the parameter `max_samples`."""
    if max_samples is None:
        n_draws = round(total)
    elif isinstance(max_samples, float | np.floating):
        n_draws = round(max_samples * total)
    else:
        n_draws = int(max_samples)
    if n_draws > MAX_DRAWS:
        raise ValueError(
            f"At most {MAX_DRAWS} rows can be drawn for each tree, not {n_draws}. "
            "Set a smaller max_samples, or bootstrap=False."
        )
    return max(n_draws, 1)


class Sampler(NamedTuple):
    """Bootstrap samples of `n_draws` rows per tree.

    Rows with equal values and labels form a group; draws select groups. `ends` are the
    cumulative weights of the groups.
    """

    ends: np.ndarray
    n_draws: int
    seed: int

    @property
    def weights(self):
        """Weight of each group of equal rows."""
        return np.diff(self.ends, prepend=0.0)

    def counts(self, tree, n_pool=0):
        """Number of times each group of equal rows is in the sample of a tree.

        `tree` is its index. The `n_pool` unlabeled rows follow; each is there once.
        """
        counts = draw_counts(self.ends, self.n_draws, self.seed, tree)
        if n_pool:
            counts = np.append(counts, np.ones(n_pool, dtype=np.uint32))
        return counts

    def out_of_bag_weights(self, counts, sizes):
        """Weight of each group that is not in the sample of a tree.

        If c draws hit a group of k equal rows, k (1 - 1 / k)^c of them are not drawn on
        average. `sizes` has k for each group; a row of fractional weight is one row.
        """
        out = np.where(counts == 0, self.weights, 0.0)
        has_others = (counts > 0) & (sizes > 1.0)
        share = 1.0 - 1.0 / sizes[has_others]
        out[has_others] = self.weights[has_others] * share ** counts[has_others]
        return out

    def distinct_weights(self, counts):
        """Weights of the rows of a sample if repeated rows count once.

        If c draws hit a group of k equal rows, k (1 - (1 - 1 / k)^c) distinct rows are
        drawn on average. A group whose weight is below 1 counts as one row. Rows
        without a label have weight 0.
        """
        equal = np.maximum(self.weights, 1.0)
        drawn = counts[: len(equal)].astype(np.float64)
        distinct = np.minimum(drawn, 1.0)
        has_repeats = (equal > 1.0) & (drawn > 1.0)
        equal, drawn = equal[has_repeats], drawn[has_repeats]
        mean = -equal * np.expm1(drawn * np.log1p(-1.0 / equal))
        distinct[has_repeats] = np.rint(mean / RESOLUTION) * RESOLUTION
        return np.append(distinct, np.zeros(len(counts) - len(distinct)))


class DrawnRows(NamedTuple):
    """Rows of the input from which trees were grown, in the order of the sampler.

    `starts` has the index in `row_indices` of the first row of each group of equal
    rows; it is None if all rows differ.
    """

    row_indices: np.ndarray
    starts: np.ndarray | None

    def sample(self, counts):
        """Return the row indices of a sample, given the count of each group.

        If a group of equal rows is drawn several times, its rows are used in turn.
        """
        groups = np.repeat(np.arange(len(counts)), counts)
        if self.starts is None:
            return np.sort(self.row_indices[groups])
        before = np.cumsum(counts, dtype=np.intp) - counts
        size = np.diff(self.starts, append=len(self.row_indices))
        turn = (np.arange(len(groups)) - before[groups]) % size[groups]
        return np.sort(self.row_indices[self.starts[groups] + turn])


# Parameters that are fixed for the trees of a forest. They have no look-ahead (choice
# of splits by the subtrees below them) and are not refitted to the first rows of a
# stream (`refit_rows`), because averaging compensates for greedy splits, and threads
# grow different trees.
FIXED_PARAMETERS = {"lookahead": 0, "refit_rows": 0, "n_jobs": None}
TREE_PARAMETERS = tuple(
    name
    for name in signature(ConfidenceTreeClassifier).parameters
    if name not in FIXED_PARAMETERS
)


def trees_to_keep(forest):
    """Check that parameters of `fit` are consistent; return the trees to retain."""
    if not forest.bootstrap and forest.max_samples is not None:
        raise InvalidParameterError(
            f"The 'max_samples' parameter of {type(forest).__name__} must be None "
            "with bootstrap=False, because each tree is grown on all rows. Got "
            f"{forest.max_samples!r} instead."
        )
    if not forest.bootstrap and forest.oob_score:
        raise InvalidParameterError(
            f"The 'oob_score' parameter of {type(forest).__name__} must be False "
            "with bootstrap=False, because there are no out-of-bag rows. Got "
            f"{forest.oob_score!r} instead."
        )
    if not (forest.warm_start and forest._model is not None):
        return []
    if forest._model.grows:
        raise ValueError(
            "fit with warm_start=True adds trees to those of an earlier fit, but this "
            "forest was updated by partial_fit. Set warm_start=False."
        )
    retained = forest._model.trees
    for tree in retained:
        tree.check_trains()  # raises an error for a compact tree, for example
    if forest.n_estimators < len(retained):
        raise ValueError(
            f"n_estimators must be at least {len(retained)}, the number of existing "
            f"trees, with warm_start=True. Got {forest.n_estimators}."
        )
    if forest.n_estimators == len(retained):
        warn(
            f"fit with warm_start=True grew no tree: n_estimators={len(retained)} is "
            "the number of existing trees. Increase n_estimators."
        )
    return retained


def tree_parameters(forest):
    """Return the parameters of the trees: a dict for each bound (split rule)."""
    listed = isinstance(forest.bound, list | tuple)
    bounds = list(forest.bound) if listed else [forest.bound]
    for bound in bounds:
        if not isinstance(bound, str | BaseBound | None):
            raise InvalidParameterError(
                f"The 'bound' parameter of {type(forest).__name__} must be a name, a "
                f"bound object, None, or a list of these. Got {bound!r} in the list."
            )
    if not bounds:
        raise InvalidParameterError(
            f"The 'bound' parameter of {type(forest).__name__} must contain at least "
            f"one bound. Got {forest.bound!r} instead."
        )
    parameters = {name: getattr(forest, name) for name in TREE_PARAMETERS}
    parameters |= FIXED_PARAMETERS
    if forest.class_weight == "balanced_subsample":
        parameters["class_weight"] = "balanced"
    return [parameters | {"bound": bound} for bound in bounds]


def tree_alone(parameters, tree, *, grows):
    """Return the parameters with which a single tree grows like a tree of a forest.

    Parameters whose value "auto" has another meaning in forests get explicit values.
    """
    auto = {"max_features": None if grows else "sqrt", "drift": tree.detector_name}
    return parameters | {
        name: value for name, value in auto.items() if parameters[name] == "auto"
    }


class Voters:
    """Trees of a forest for predictions, with their weights.

    Trees that vote by the class proportions of their leaves are routed together, in
    groups. The growers of other trees predict, because their leaves may use naive
    Bayes. These are all trees if `growing`; `by_bayes` marks them in `groups`.
    """

    def __init__(self, models, weights=None, growing=False):
        self.models = models
        self.weights = weights
        # Consecutive trees that vote by leaf proportions form a group.
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
            (
                by_bayes,
                group,
                [member.tree for member in group],
                None if by_bayes else [member.tree.proba for member in group],
            )
            for by_bayes, group in self.groups
        ]

    @property
    def total(self):
        """Total weight of the votes."""
        return len(self.models) if self.weights is None else sum(self.weights.tolist())

    def add(self, X, finite, out):
        """Add the votes of all trees, in their order, to `out`."""
        for i, (by_bayes, group, trees, values) in enumerate(self.groups):
            if by_bayes:
                with group[0]._lock:
                    votes = group[0].grower.predict_proba(X, finite)
            elif self.weights is None:
                add_votes(trees, values, X, finite, out)
                continue
            else:
                votes = values[0].take(trees[0]._leaves(X, finite), axis=0)
            if self.weights is not None:
                votes *= self.weights[i]
            out += votes


class OutOfBag(NamedTuple):
    """Out-of-bag probabilities, their score, and importances of the features.

    The importances are None in pickles of versions that did not compute them.
    """

    score: float
    proba: np.ndarray
    importances: np.ndarray | None = None


class ForestDrift(NamedTuple):
    """A drift of the tree at index `tree`; `row` counts the rows of the forest."""

    row: int
    node: int
    detector: str
    tree: int


@dataclass(eq=False)
class ForestModel:
    """Trees of a forest and what they share.

    Like a `TreeModel`, it replaces the previous model in one assignment, and learning
    rows modifies it in place: the growers of the trees, the number of rows and the
    `records`.

    `seed` determines samples and trees. `parameters` and their `resolved` values have
    one element per bound (split rule); they are assigned to the trees in turn. `listed`
    is whether a list of bounds was passed. `sampler` drew the samples of `fit` from the
    `drawn` rows. `records`, of shape (n_trees, 2), has the number of correct
    predictions and of rows of each tree, with exponential decay; it is None unless the
    forest learns row by row.
    """

    is_large = False  # whether `warn_of_size` has issued a warning

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
    drawn: DrawnRows | None = None

    n_outputs = 1  # as in scikit-learn
    _estimators = _voters = None  # caches of `estimators` and `voters`
    _is_prepared = False  # whether the trees were prepared for the columns of the rows

    @property
    def estimators(self):
        """The trees as estimators."""
        if self._estimators is None:
            n = len(self.parameters)
            self._estimators = [
                tree_of_model(
                    tree,
                    tree_alone(self.parameters[i % n], tree, grows=self.grows)
                    | {"random_state": tree_seed(self.seed, i)},
                )
                for i, tree in enumerate(self.trees)
            ]
        return self._estimators

    @property
    def grows(self):
        """Whether the forest learns row by row."""
        return self.records is not None

    @property
    def max_features(self):
        """Number of features examined at a node."""
        return self.resolved[0].max_features

    @property
    def bound(self):
        """The bound that was used, or the list of bounds."""
        bounds = [resolved.bound for resolved in self.resolved]
        return bounds if self.listed else bounds[0]

    @property
    def criterion(self):
        """The criterion that was used, or one for each bound."""
        criteria = [resolved.criterion for resolved in self.resolved]
        return criteria if self.listed else criteria[0]

    @property
    def is_compact(self):
        """Whether the forest was saved for predictions alone."""
        return self.trees[0].is_compact

    @property
    def known_oob(self):
        """Out-of-bag results; raises an error if there are none."""
        if self.is_compact:
            raise DroppedPartError("it has no out-of-bag predictions")
        if self.out_of_bag is None:
            raise AttributeError(
                "There are no out-of-bag predictions. Call fit with oob_score=True."
            )
        return self.out_of_bag

    @property
    def unbiased_importances(self):
        """Out-of-bag importances of the features; raises an error if there are none."""
        if self.known_oob.importances is None:
            raise AttributeError(
                "This forest was fitted by a version that did not compute "
                "unbiased_feature_importances_. Call fit with oob_score=True."
            )
        return self.out_of_bag.importances

    @property
    def samples(self):
        """Rows of the sample of each tree; raises an error if they are unknown."""
        if self.is_compact:
            raise DroppedPartError("it has no samples of the trees")
        if self.drawn is None:
            raise AttributeError(
                "Only a forest grown by fit has samples of the trees. Call fit."
            )
        if self.sampler is None:
            return [np.sort(self.drawn.row_indices) for _ in self.trees]
        return [
            self.drawn.sample(self.sampler.counts(i)) for i in range(len(self.trees))
        ]

    @property
    def template(self):
        """The first tree as an unfitted estimator."""
        return clone(self.estimators[0])

    @property
    def n_drifts(self):
        """Number of drifts detected in all trees."""
        return sum(tree.n_drifts for tree in self.trees)

    @property
    def drifts(self):
        """Drifts detected in all trees, in the order of the rows."""
        drifts = [
            ForestDrift(*drift, i)
            for i, tree in enumerate(self.trees)
            for drift in tree.drifts
        ]
        return sorted(drifts, key=lambda drift: (drift.row, drift.tree))

    @property
    def n_inactive_leaves(self):
        """Number of leaves of all trees that only store class counts."""
        return sum(tree.n_inactive_leaves for tree in self.trees)

    @property
    def n_bytes(self):
        """Number of bytes that the trees and their leaf statistics occupy."""
        return sum(tree.n_bytes for tree in self.trees)

    def warn_of_size(self, n_rows_before):
        """Warn once if a forest without a memory limit is large.

        The size is measured only when a step ends. `n_rows_before` is the number of
        rows before the call that has just learned.
        """
        if self.is_large or self.n_rows_seen // STEP == n_rows_before // STEP:
            return
        self.is_large = self.n_bytes > LARGE_BYTES
        if self.is_large:
            warn(
                f"The {len(self.trees)} trees of the forest and their leaf statistics "
                f"take {self.n_bytes / 1e9:.1f} GB, and grow with the stream. Set "
                "max_bytes to limit them."
            )

    @property
    def class_weight(self):
        """Weight of each class in the stream; None: all are 1."""
        return self.trees[0].class_weight

    @property
    def weight_seen(self):
        """Largest weight of rows that a tree has learned."""
        return max(tree.weight_seen for tree in self.trees)

    def voters(self, vote):
        """The trees as `Voters`, weighted according to `vote` of the forest."""
        if self.grows:
            return Voters(self.trees, self.vote_weights(vote), growing=True)
        if self._voters is None:  # cached, as trees do not change unless they learn
            self._voters = Voters(self.trees)
        return self._voters

    def vote_weights(self, vote):
        """Weights of the trees according to `vote` of the forest; None: equal.

        `vote` is "mean", or "accuracy", which weights trees by their `records`.
        """
        if vote == "mean" or self.records is None:
            return None
        return vote_weights(self.records)

    def feature_importances(self):
        """Impurity-based feature importances, averaged over the trees."""
        total = np.zeros(self.schema.n_features)
        split = [tree.tree for tree in self.trees if tree.tree.node_count > 1]
        for tree in split:
            total += tree.compute_feature_importances()
        if split:
            total /= len(split)
        return total / total.sum() if total.any() else total

    def make_ready(self, call, **options):
        """Reserve memory for the categories of the rows to learn.

        `call` has the validated arguments of `partial_fit`.
        """
        if call.rows.schema.features is not None:  # there are nominal columns
            for tree in self.trees:
                tree.grower.reserve_codes(call.rows.schema.max_categories)

    def learn(self, call, *, predicts=False, **options):
        """Train all trees on rows.

        If `predicts`, return the class predicted for each row before it was learned.
        `options` are those of `Steps`.
        """
        if not self._is_prepared or call.rows.schema is not self.schema:
            self.schema, self._is_prepared = call.rows.schema, True
            for tree in self.trees:
                # With drift detection, leaf probabilities are no longer shrunk toward
                # those of the parents, because it needs the current proportions.
                if tree.ends_shrinkage:
                    tree.end_shrinkage()
                tree.begin(self.schema)
        for tree in self.trees:
            # class counts of held-out rows (`recount_leaves`), obsolete if leaves grow
            tree.honest_counts = None
        predicted = np.empty(len(call.labels), dtype=np.intp) if predicts else None
        Steps(self, **options).learn(call.rows, call.labels, call.weight, predicted)
        return predicted

    def state(self):
        """Serialize a snapshot to a dict of arrays and plain values."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        state["schema"], state["classes"] = self.schema.state(), self.classes.names
        state["resolved"] = [resolved._asdict() for resolved in self.resolved]
        state["trees"] = [tree.state() for tree in self.trees]
        for tree in state["trees"]:  # shared parts are stored once
            del tree["schema"], tree["classes"]
        for name in ("sampler", "out_of_bag", "drawn"):
            if state[name] is not None:
                state[name] = state[name]._asdict()
        if self.records is not None:
            state["records"] = self.records.copy()
        return canonical(state)

    def compacted(self):
        """Copy for predictions alone, without counts and statistics of splits."""
        if self.grows:
            raise ValueError(
                "compact=True is for forests grown by fit. This one was trained by "
                "partial_fit, and its votes depend on more than its trees. Save it "
                "with compact=False."
            )
        trees = [tree.compacted() for tree in self.trees]
        return replace(self, trees=trees, sampler=None, out_of_bag=None, drawn=None)

    def resized(self, resizing, schema, classes, owner):
        """Copy with further columns and classes, which `resizing` adds to each tree.

        `schema` and `classes` include them; errors name the estimator `owner`.
        """
        for tree in self.trees:
            tree.check_trains()
        state = self.state() | {"schema": schema.state(), "classes": classes.names}
        state |= {
            "out_of_bag": None,
            "trees": [resized_model(tree, resizing) for tree in state["trees"]],
            "resolved": [resizing.resolved(values) for values in state["resolved"]],
        }
        return ForestModel.of_state(state, owner)

    def __reduce__(self):
        return ForestModel.of_state, (self.state(), None)

    @classmethod
    def of_state(cls, state, owner):
        """Restore a model from its state, which is validated; errors name `owner`."""
        owner = cls.__new__(cls) if owner is None else owner
        state = merge_defaults(state, default_parameters(cls), "The state of a forest")
        shared = read_columns(state, owner)  # schema and classes
        trees = [TreeModel.of_state(tree, owner, shared) for tree in state["trees"]]
        kinds = (("sampler", Sampler), ("out_of_bag", OutOfBag), ("drawn", DrawnRows))
        for name, kind in kinds:
            if state[name] is not None:
                state[name] = kind(**state[name])
        sampler, records = state["sampler"], state["records"]
        valid = {
            # the loop over the draws cannot be interrupted, so it has to end
            "sampler": sampler is None
            or (sampler.n_draws <= MAX_DRAWS and len(sampler.ends) > 0),
            "records": records is None
            or (
                np.shape(records) == (len(trees), 2)
                and all(tree.grows for tree in trees)
            ),
        }
        check_state_parts(owner, valid)
        of_tree = default_parameters(ConfidenceTreeClassifier)
        return cls(
            **state
            | shared
            | {
                "trees": trees,
                "resolved": list(map(read_resolved, state["resolved"])),
                "parameters": [
                    merge_defaults(parameters, of_tree, "The trees")
                    for parameters in state["parameters"]
                ],
            }
        )
