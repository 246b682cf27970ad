"""Models of nearest class mean (NCM) estimators: stored rows, growth and updates.

Models are immutable. An update creates another model, which replaces the previous one
in one assignment. The code of a class is its index among the known classes. `times` is
how often each row is in the bootstrap sample of a tree. An update of a tree regrows it,
changes its class counts, or *continues* its growth: new rows are added, and the leaves
that they reach may be split. A *plan* has the parameters of growth, with values instead
of None; among them is the *bound*, the split rule of a tree. The *state* of a model is
the dict that is pickled.
"""

from dataclasses import dataclass, fields
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from ..._compat import InvalidParameterError
from ...bounds._base import BaseBound

# Compiled bounds that average over all candidate splits of a feature, compare limits of
# their impurities, or test the features before that.
from ...bounds._contract import EvidenceBound, IntervalBound, NodeTest
from ...criteria._criterion import CRITERIA
from ...tables._content_order import ContentOrder, hash_rows
from ...tables._features import refuse_categories
from ...tables._growth_data import MAX_NODES, count_limit
from ...tables._labels import Classes
from ...tables._schema import Schema
from ...tree._parameters import resolve_split_rule
from ...tree._settings import GrowthSettings
from ...tree.nodes._derived import read_nodes, write_nodes
from ...utils._codec import (
    canonical,
    check_state_parts,
    default_parameters,
    merge_defaults,
)
from .._bootstrap import draw_counts, tree_seed
from ._centroid_tree import NCMGrower, NCMTree

RANK_KEY, UPDATE_KEY = 0x5A4D, 0x4843  # keys of derived seeds, one per purpose


class Samples(NamedTuple):
    """Stored rows, in the order of the calls that passed them.

    The rows of one call are sorted by hashes of their content (`ContentOrder`), so that
    the model does not depend on their order. If there are too many rows of a class, the
    rows with the smallest `ranks` are retained. Ranks are random, so that the retained
    rows are a random sample of all `n_seen` rows of the class.
    """

    X: np.ndarray
    y: np.ndarray
    ranks: np.ndarray
    n_seen: np.ndarray

    @classmethod
    def of(cls, X, y, n_classes, seed, n_before=0):
        """Sort the rows of one call by content; `n_before` rows were passed before."""
        order = ContentOrder(*hash_rows(X, y)).row_indices
        ranks = _ranks(tree_seed(seed, RANK_KEY), n_before, len(y))
        n_seen = np.bincount(y, minlength=n_classes).astype(np.int64)
        return cls(X[order], y[order], ranks, n_seen)

    def with_classes(self, n_classes, new_codes):
        """Change the codes of the classes to `new_codes`."""
        n_seen = np.zeros(n_classes, dtype=np.int64)
        n_seen[new_codes] = self.n_seen
        y = new_codes.astype(np.uint16).take(self.y)
        return self._replace(y=y, n_seen=n_seen)

    def concatenated(self, more):
        """Append further rows, which have the same class codes."""
        return Samples(
            np.concatenate([self.X, more.X]),
            np.concatenate([self.y, more.y]),
            np.concatenate([self.ranks, more.ranks]),
            self.n_seen + more.n_seen,
        )

    def reordered(self):
        """Sort all rows by content, as if they had been passed in one call."""
        order = ContentOrder(*hash_rows(self.X, self.y)).row_indices
        return self._replace(X=self.X[order], y=self.y[order], ranks=self.ranks[order])

    def select_retained(self, max_rows):
        """Return a mask of the rows to retain, at most `max_rows`; None: all rows."""
        if max_rows is None or len(self.y) <= max_rows:
            return None
        capacity = capacity_of_class(self.n_seen, max_rows)
        # by class, then by rank
        order = np.lexsort((self.ranks, self.y))
        y = self.y[order]
        rank_in_class = np.arange(len(y)) - np.searchsorted(y, y)
        retained = np.zeros(len(y), dtype=bool)
        retained[order[rank_in_class < capacity]] = True
        return retained

    def restricted_to(self, retained):
        """Restrict to the retained rows; None retains all."""
        if retained is None:
            return self
        X, y, ranks = self.X[retained], self.y[retained], self.ranks[retained]
        return self._replace(X=X, y=y, ranks=ranks)


def capacity_of_class(n_seen, max_rows):
    """Largest number of rows per class such that the total is at most `max_rows`."""
    low, high = 0, int(n_seen.max(initial=0))
    while low < high:
        middle = (low + high + 1) // 2
        if np.minimum(n_seen, middle).sum() <= max_rows:
            low = middle
        else:
            high = middle - 1
    return low


def _ranks(seed, n_before, n):
    # Random ranks of rows: those of row i of the stream depend on the seed and i only.
    rng = np.random.Philox(key=seed)
    rng.advance(n_before)  # a step yields four 64-bit numbers
    return (rng.random_raw(4 * n)[::4] >> np.uint64(32)).astype(np.uint32)


def seed_of_update(seed, update):
    """Seed of the samples and trees of an update."""
    return seed if update == 0 else tree_seed(tree_seed(seed, UPDATE_KEY), update)


@dataclass(frozen=True, eq=False)
class NCMModel:
    """Common base of tree and forest models; `samples` are stored for updates.

    The `schema` has the number and names of the columns, and validates later input.
    """

    schema: Schema
    classes: Classes
    bound: BaseBound | None
    criterion: str
    seed: int
    samples: Samples | None
    n_rows_seen: int
    n_updates: int

    def state(self):
        """Serialize to a dict of arrays and plain values."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        state["schema"], state["classes"] = self.schema.state(), self.classes.names
        if self.samples is not None:
            state["samples"] = self.samples._asdict()
        return state

    @classmethod
    def read(cls, state, owner):
        """Restore the common parts; errors name the estimator `owner`."""
        state = merge_defaults(
            state, default_parameters(cls), "The state of an NCM model"
        )
        samples = state["samples"]
        parts = state | {
            "schema": Schema.of_state(state["schema"], owner),
            "classes": Classes(state["classes"]),
        }
        if samples is not None:
            parts["samples"] = Samples(**samples)
            check_state_parts(owner, {"samples": _are_valid(parts["samples"], parts)})
        return parts


@dataclass(frozen=True, eq=False)
class NCMTreeModel(NCMModel):
    """Model of a single tree."""

    tree: NCMTree

    def leaves(self, X):
        """Leaf of each row."""
        return self.tree.apply(X)

    def proba(self, X):
        """Class proportions of the leaf of each row."""
        return self.tree.proba_of(self.leaves(X))

    def best(self, X):
        """Most frequent class of the leaf of each row."""
        return self.tree.best_of(self.leaves(X))

    def state(self):
        """Serialize to a dict of arrays and plain values."""
        # canonical: equal models have equal pickles
        return canonical(super().state() | {"tree": write_nodes(self.tree)})

    @classmethod
    def of_state(cls, state, owner):
        """Restore a model from its serialized state."""
        parts = cls.read(state, owner)
        return cls(**parts | {"tree": _read_tree(parts["tree"], parts, owner)})


@dataclass(frozen=True, eq=False)
class NCMForestModel(NCMModel):
    """Model of a forest.

    `regrown` is a mask of the trees grown by the last call. `times` has the shape
    (n_trees, n_rows), with a column per stored row. `leaves` caches the leaves of the
    stored rows in each tree; it is not serialized. Without stored rows, `times` and
    `leaves` are None. `tree_errors` are those that the last update compared with
    `threshold`; the next one adds `penalty` to the errors (`select_regrown`).
    """

    parameters: dict
    trees: list
    seeds: list
    regrown: np.ndarray
    times: np.ndarray | None
    penalty: np.ndarray
    tree_errors: np.ndarray | None = None
    threshold: float | None = None
    leaves: np.ndarray | None = None

    @property
    def n_bytes(self):
        """Number of bytes that trees and stored rows occupy."""
        arrays = *(self.samples or ()), self.times, self.leaves
        return sum(tree.n_bytes for tree in self.trees) + sum(
            part.nbytes for part in arrays if part is not None
        )

    def members(self):
        """A model of each tree."""
        common = self.schema, self.classes, self.bound, self.criterion
        return [
            # no stored rows, as many rows seen as the root has, and no updates
            NCMTreeModel(*common, seed, None, tree._rows_of_root(), 0, tree)
            for tree, seed in zip(self.trees, self.seeds, strict=True)
        ]

    def state(self):
        """Serialize all but the leaves to a dict of arrays and plain values."""
        trees = [write_nodes(tree) for tree in self.trees]
        return canonical(super().state() | {"trees": trees, "leaves": None})

    @classmethod
    def of_state(cls, state, owner):
        """Restore a model from its serialized state."""
        parts = cls.read(state, owner)
        trees = [_read_tree(tree, parts, owner) for tree in parts["trees"]]
        return cls(**parts | {"trees": trees, "leaves": None})


def _read_tree(state, parts, owner):
    tree = read_nodes(NCMTree, state)
    fits = (
        tree.node_count > 0
        and tree.n_features == parts["schema"].n_features
        and tree.max_n_classes == len(parts["classes"])
    )
    check_state_parts(owner, {"tree_": fits})
    return tree


def _are_valid(samples, parts):
    # Whether unpickled rows are valid, as far as growth does not check it again.
    X, y, ranks, n_seen = samples
    return (
        0 < len(X) == len(y) == len(ranks)
        and len(n_seen) == len(parts["classes"])
        and bool(np.isfinite(X).all() and (y < len(n_seen)).all())
    )


class TreeUpdate(NamedTuple):
    """A tree to update (None: grow a new tree), and the leaf of each row, -1: unknown.

    `index` is that of the tree in the forest. With a `seed`, the growth of the tree
    continues; `times` is its sample so far.
    """

    index: int
    tree: object
    leaves: np.ndarray | None
    seed: int | None = None
    times: np.ndarray | None = None


class UpdatedTree(NamedTuple):
    """An updated tree, the `times` of its sample, and the leaf of each row, or -1."""

    tree: object
    times: np.ndarray | None
    leaves: np.ndarray | None


class Update(NamedTuple):
    """An update of all trees.

    `new_codes` are the new codes of the classes of existing trees: codes change if new
    classes come before them in the sorted order. The last `n_new` rows of `samples` are
    those of this call.
    """

    plan: object
    samples: object
    n_classes: int
    new_codes: np.ndarray
    seed: int
    n_new: int = 0

    def apply_to(self, tree_update):
        """Grow a tree, continue its growth, or update its counts."""
        X, y, _, _ = self.samples
        index, tree, leaves, seed, times = tree_update
        if seed is not None:
            # New rows are once in the sample (np.pad would be slower). Stored counts
            # have one byte, at most 255.
            new = np.ones(self.n_new, dtype=np.uint8)
            times = np.concatenate([times, new]).astype(np.uint32)
            tree, leaves = self.continued(tree, leaves, times, seed)
            return UpdatedTree(tree, times.astype(np.uint8), leaves)
        # a bootstrap sample; the first argument has the cumulative weights of the rows
        times = draw_counts(np.arange(1.0, len(y) + 1.0), len(y), self.seed, index)
        if tree is None:
            seed = tree_seed(self.seed, index)
            tree, leaves = self.plan.grow(X, y, times, self.n_classes, seed)
        else:
            leaves = tree.leaves_of(X, leaves)
            tree = self.recounted(tree, leaves, y, times)
        return UpdatedTree(tree, np.minimum(times, 255).astype(np.uint8), leaves)

    def recounted(self, tree, leaves, y, times, keep=False):
        """Copy a tree with the counts of a sample, added to the old ones if `keep`."""
        criterion = self.plan.criterion(self.n_classes)
        codes = self.n_classes, self.new_codes
        return tree.recounted(*codes, leaves, y, times, criterion, keep)

    def with_leaf_counts(self, tree_update):
        """Add new rows to the counts of a tree; rows are not stored."""
        X, y, _, _ = self.samples
        tree, once = tree_update.tree, np.ones(len(y), dtype=np.uint32)
        tree = self.recounted(tree, tree.leaves_of(X), y, once, keep=True)
        return UpdatedTree(tree, None, None)

    def continued(self, tree, leaves, times, seed):
        """Add the new rows to a tree, and split the leaves that they reach further."""
        X, y, _, _ = self.samples
        # leaf of each row; unknown ones are computed if the row is in the sample
        leaves = tree.leaves_of(X, leaves, times)
        tree = self.recounted(tree, leaves, y, times)
        if self.n_new == 0:  # none of them is stored
            return tree, leaves
        existing = tree, leaves, len(y) - self.n_new
        return self.plan.grow(X, y, times, self.n_classes, seed, *existing)

    def error_out_of_bag(self, tree_update, in_bag):
        """Out-of-bag error of a tree, and the leaves of all rows."""
        tree = tree_update.tree
        leaves = tree.leaves_of(self.samples.X, tree_update.leaves)
        out_of_bag = (~in_bag).view(np.uint8)
        error = tree.error_of(leaves, self.samples.y, self.new_codes, out_of_bag)
        return error, leaves


def select_regrown(errors, penalty, boost, alpha):
    """Select the trees to regrow by their out-of-bag errors plus `penalty`.

    Trees above the mean error are regrown. `boost` adds ``alpha * tanh(error)`` to an
    error: "decision" in this comparison; with "persistent", the sum is the penalty of a
    tree in the next update if it is not regrown. Returns a mask, the threshold, and the
    penalty.
    """
    errors = errors + penalty
    known = ~np.isnan(errors)
    threshold = float(errors[known].mean()) if known.any() else np.nan
    boosted = errors + alpha * np.tanh(errors)
    with np.errstate(invalid="ignore"):  # NaN compares as not above the threshold
        if boost == "decision":
            regrown = boosted > threshold
        else:
            regrown = errors > threshold
    next_penalty = np.zeros(len(errors))
    if boost == "persistent" and alpha != 0.0:
        next_penalty = np.where(regrown | ~known, 0.0, boosted)
    return regrown, threshold, next_penalty


class NCMPlan(NamedTuple):
    """Parameters of growth.

    A node compares the means of `max_classes` of its classes: a number, a fraction, or
    None for the square root of their number. `n_assignments` is the number of random
    assignments of means to the two children that are compared.
    """

    settings: GrowthSettings
    max_classes: object
    n_assignments: int

    def grow(self, X, y, times, n_classes, seed, *existing):
        """Grow a tree, or continue that of an existing one, see `NCMGrower.grow`."""
        grower = NCMGrower(
            self.settings,
            X.shape[1],
            n_classes,
            self.max_classes,
            self.n_assignments,
            seed,
        )
        return grower.grow(X, y, times, *existing)

    def criterion(self, n_classes):
        """Create the criterion that computes impurities."""
        return CRITERIA[self.settings.criterion](n_classes)


def resolve_plan(estimator):
    """Resolve the parameters of growth, whose types were validated before."""
    caller = type(estimator).__name__
    requested_bound, criterion = estimator.bound, estimator.criterion
    if requested_bound is None and criterion is None:
        criterion = "entropy"
    # the bound and criterion as objects, with their defaults
    bound, criterion = resolve_split_rule(
        requested_bound, criterion, estimator.delta, caller
    )
    if bound is not None and isinstance(
        # the compiled object for two classes; bounds of these classes compare all
        # thresholds
        bound.kernel(criterion, 2),
        IntervalBound | EvidenceBound | NodeTest,
    ):
        raise InvalidParameterError(
            f"The 'bound' parameter of {caller} must be None, a statistical test or a "
            "Hoeffding-type bound. Other bounds compare the scores of all thresholds "
            "of a feature, which splits by class means do not have. Got "
            f"{requested_bound!r} instead."
        )
    settings = GrowthSettings(
        criterion=criterion,
        bound=bound,
        max_depth=count_limit(estimator.max_depth),
        min_samples_split=float(estimator.min_samples_split),
        min_samples_leaf=float(estimator.min_samples_leaf),
    )
    # None means all classes; there are fewer than MAX_NODES, 2^31 - 1
    max_classes = MAX_NODES if estimator.max_classes is None else estimator.max_classes
    if isinstance(max_classes, Integral):
        max_classes = count_limit(max_classes)
    elif isinstance(max_classes, str):  # "sqrt"
        max_classes = None
    else:
        max_classes = float(max_classes)
    return NCMPlan(settings, max_classes, count_limit(estimator.n_assignments))


def read_numbers(X, schema, caller):
    """Validate rows and convert them to a matrix of finite numbers."""
    if issparse(X):
        raise TypeError(
            f"Sparse data was passed for X, but dense data is required by {caller}: "
            "class means are not sparse. Use X.toarray()."
        )
    refuse_categories(X, caller)
    if schema is None:
        X, finite, schema = Schema.first(X, caller)
    else:
        X, finite, schema = schema.predict(X, caller)
    if not finite:
        raise ValueError(
            f"Input X contains NaN. {caller} does not accept missing values encoded as "
            "NaN natively, because distances to class means need all values. Impute "
            "them first, for example with sklearn.impute.SimpleImputer."
        )
    return X, schema
