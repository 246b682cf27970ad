"""The model behind NCM estimators: stored rows, growth and incremental updates.

Each update makes another one, which the estimator takes over in one assignment.
"""

from dataclasses import dataclass, fields
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from ..._compat import InvalidParameterError
from ...bounds._base import BaseBound
from ...bounds._contract import EvidenceBound, IntervalBound
from ...criteria._criterion import CRITERIA
from ...tables._content_order import ContentOrder, hash_rows
from ...tables._features import refuse_categories
from ...tables._growth_data import MOST, count_limit
from ...tables._labels import Classes
from ...tables._schema import Schema
from ...tree._parameters import resolve_statement
from ...tree._settings import GrowthSettings
from ...tree.nodes._derived import read_nodes, write_nodes
from ...utils import canonical, check_state_parts, default_parameters, merge_defaults
from .._bootstrap import draw_counts, tree_seed
from ._centroid_tree import NCMGrower, NCMTree

RANKS, UPDATES = 0x5A4D, 0x4843  # keys of seeds: one for each use of the user's


class Samples(NamedTuple):
    """Rows in the order of the calls that brought them.

    The rows of one call are in an order that depends on what they hold, so that the
    order in which they were given does not matter. Where there is no room for all rows
    of a class those with the smallest `ranks`, random numbers, stay, which are a sample
    of all that have come: `n_seen` of each class.
    """

    X: np.ndarray
    y: np.ndarray
    ranks: np.ndarray
    n_seen: np.ndarray

    @classmethod
    def of(cls, X, y, n_classes, seed, n_before=0):
        """Order the rows of one call."""
        order = ContentOrder(*hash_rows(X, y)).places
        ranks = _ranks(tree_seed(seed, RANKS), n_before, len(y))
        n_seen = np.bincount(y, minlength=n_classes).astype(np.int64)
        return cls(X[order], y[order], ranks, n_seen)

    def with_classes(self, n_classes, places):
        """Give the classes other indices."""
        n_seen = np.zeros(n_classes, dtype=np.int64)
        n_seen[places] = self.n_seen
        y = places.astype(np.uint16).take(self.y)
        return self._replace(y=y, n_seen=n_seen)

    def joined(self, more):
        """Put further rows behind these; both know the same classes."""
        return Samples(
            np.concatenate([self.X, more.X]),
            np.concatenate([self.y, more.y]),
            np.concatenate([self.ranks, more.ranks]),
            self.n_seen + more.n_seen,
        )

    def in_one_order(self):
        """Order all rows as if they had come in one call."""
        order = ContentOrder(*hash_rows(self.X, self.y)).places
        return self._replace(X=self.X[order], y=self.y[order], ranks=self.ranks[order])

    def to_keep(self, most):
        """Say which rows stay."""
        if most is None or len(self.y) <= most:
            return None
        room = capacity_of_class(self.n_seen, most)
        # by class, then by rank
        order = np.lexsort((self.ranks, self.y))
        y = self.y[order]
        place = np.arange(len(y)) - np.searchsorted(y, y)
        kept = np.zeros(len(y), dtype=bool)
        kept[order[place < room]] = True
        return kept

    def taken(self, kept):
        """Leave the other rows out; None leaves out none."""
        if kept is None:
            return self
        return self._replace(X=self.X[kept], y=self.y[kept], ranks=self.ranks[kept])


def capacity_of_class(n_seen, most):
    """Rows that a class may keep, so that all keep `most` at the most."""
    low, high = 0, int(n_seen.max(initial=0))
    while low < high:
        middle = (low + high + 1) // 2
        if np.minimum(n_seen, middle).sum() <= most:
            low = middle
        else:
            high = middle - 1
    return low


def _ranks(seed, n_before, n):
    rng = np.random.Philox(key=seed)
    rng.advance(n_before)  # four numbers of 64 bits each step
    return (rng.random_raw(4 * n)[::4] >> np.uint64(32)).astype(np.uint32)


def seed_of_update(seed, update):
    """Seed of all samples and trees that are drawn in one call."""
    return seed if update == 0 else tree_seed(tree_seed(seed, UPDATES), update)


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
        common = self.schema, self.classes, self.bound, self.criterion
        return [
            NCMTreeModel(*common, seed, None, tree._rows_of_root(), 0, tree)
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
    check_state_parts(owner, {"tree_": fits})
    return tree


def _are_valid(samples, parts):
    # Growth checks labels and numbers of features, but takes finite rows for given.
    X, y, ranks, n_seen = samples
    return (
        0 < len(X) == len(y) == len(ranks)
        and len(n_seen) == len(parts["classes"])
        and bool(np.isfinite(X).all() and (y < len(n_seen)).all())
    )


class TreeUpdate(NamedTuple):
    """A tree to update, or None for a new one, and leaves of the first rows or -1."""

    index: int
    tree: object
    leaves: np.ndarray | None


class UpdatedTree(NamedTuple):
    """An updated tree: bits of rows in its sample, and the leaf of each row or -1."""

    tree: object
    in_bag: np.ndarray
    leaves: np.ndarray


class Update(NamedTuple):
    """An update of all trees; `places` are the new codes of classes of kept trees."""

    plan: object
    samples: object
    n_classes: int
    places: np.ndarray
    seed: int

    def carry_out(self, one):
        """Grow or recount one tree."""
        X, y, _, _ = self.samples
        times = draw_counts(np.arange(1.0, len(y) + 1.0), len(y), self.seed, one.index)
        if one.tree is None:
            seed = tree_seed(self.seed, one.index)
            tree, leaves = self.plan.grow(X, y, times, self.n_classes, seed)
        else:
            leaves = one.tree.leaves_of(X, one.leaves)
            tree = one.tree.recounted(
                self.n_classes,
                self.places,
                leaves,
                y,
                times,
                self.plan.criterion(self.n_classes),
                False,
            )
        return UpdatedTree(tree, np.packbits(times > 0), leaves)

    def error_out_of_bag(self, one, in_bag):
        """Share of wrong predictions of a tree among the rows it has not seen."""
        leaves = one.tree.leaves_of(self.samples.X, one.leaves)
        out = (~in_bag).view(np.uint8)
        return one.tree.error_of(leaves, self.samples.y, self.places, out), leaves


class Verdict(NamedTuple):
    """Which trees are grown anew, and what the next errors are raised by."""

    regrown: np.ndarray
    threshold: float
    penalty: np.ndarray


def judge(errors, penalty, boost, alpha):
    """Select trees whose out-of-bag error plus `penalty` is above the average."""
    errors = errors + penalty
    known = ~np.isnan(errors)
    threshold = float(errors[known].mean()) if known.any() else np.nan
    boosted = errors + alpha * np.tanh(errors)
    with np.errstate(invalid="ignore"):  # what is not known is no worse
        if boost == "decision":
            regrown = boosted > threshold
        else:
            regrown = errors > threshold
    left = np.zeros(len(errors))
    if boost == "persistent" and alpha != 0.0:
        left = np.where(regrown | ~known, 0.0, boosted)
    return Verdict(regrown, threshold, left)


class NCMPlan(NamedTuple):
    """What trees are grown by; `max_classes` as of an `NCMGrower`."""

    settings: GrowthSettings
    max_classes: object
    n_assignments: int

    def grow(self, X, y, times, n_classes, seed):
        """Grow a tree."""
        grower = NCMGrower(
            self.settings,
            X.shape[1],
            n_classes,
            self.max_classes,
            self.n_assignments,
            seed,
        )
        return grower.grow(X, y, times)

    def criterion(self, n_classes):
        """Make what gives impurities."""
        return CRITERIA[self.settings.criterion](n_classes)


def resolve_plan(estimator):
    """Resolve the parameters of growth, which have been checked one by one."""
    caller = type(estimator).__name__
    given, criterion = estimator.bound, estimator.criterion
    if given is None and criterion is None:
        criterion = "entropy"
    bound, criterion = resolve_statement(given, criterion, estimator.delta, caller)
    if bound is not None and isinstance(
        bound.kernel(criterion, 2), IntervalBound | EvidenceBound
    ):
        raise InvalidParameterError(
            f"The 'bound' parameter of {caller} must be None, a test or a race: a test "
            "of class means has no scan, whose scores other bounds compare. Got "
            f"{given!r} instead."
        )
    settings = GrowthSettings(
        criterion=criterion,
        bound=bound,
        max_depth=count_limit(estimator.max_depth),
        min_samples_split=float(estimator.min_samples_split),
        min_samples_leaf=float(estimator.min_samples_leaf),
    )
    max_classes = MOST if estimator.max_classes is None else estimator.max_classes
    if isinstance(max_classes, Integral):
        max_classes = count_limit(max_classes)
    elif isinstance(max_classes, str):
        max_classes = None
    else:
        max_classes = float(max_classes)
    return NCMPlan(settings, max_classes, count_limit(estimator.n_assignments))


def read_numbers(X, schema, caller):
    """Turn rows into a matrix of finite numbers."""
    if issparse(X):
        raise TypeError(
            f"Sparse data was passed for X, but dense data is required by {caller}: "
            "class means have no zeros to leave out. Use X.toarray()."
        )
    refuse_categories(X, caller)
    if schema is None:
        X, finite, schema = Schema.first(X, caller)
    else:
        X, finite, schema = schema.predict(X, caller)
    if not finite:
        raise ValueError(
            f"Input X contains NaN. {caller} does not accept missing values encoded as "
            "NaN natively: a row without a value has no distance from a class mean. "
            "Impute them first, for example with sklearn.impute.SimpleImputer."
        )
    return X, schema
