"""The model behind a tree estimator: the tree, its state and its predictions.

A grower (stream/_grower.pyx) trains the tree incrementally, from a recipe with its
arguments. A bound is the split rule of a tree. A *schema* has the names, types and
categories of the columns. The *evidence* for a split is the statistics by which it was
accepted. *Competitors* are the best splits on other features. The *pool* has unlabeled
rows, by which a bound can weigh children. *Shrinkage* moves the probabilities of a leaf
toward those of its ancestors. A *compact* model can only predict. A *call* has the
validated arguments of `partial_fit`, and a *state* is the data in a pickle. Rows are
`finite` if they have no NaN. *Resolved* parameters, and the bound, have values instead
of "auto" and None.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..criteria._criterion import criterion_maker
from ..drift._registry import name_of_detector
from ..tables._labels import Classes
from ..tables._schema import Schema
from ..tables._sparse import in_blocks
from ..utils._codec import NO_DEFAULT, canonical, check_state_parts, merge_defaults
from ..utils._lock import Lockable, learns, reads, share_lock  # lock the estimator
from ..utils._types import Floats, Indices, TableLike
from ..utils._warnings import warn
from ._intervals import count_rows
from ._parameters import Resolved, read_resolved
from .nodes._compact import CompactTree, DroppedPartError, compact_tree
from .nodes._derived import read_nodes, with_counts_of_rows, write_nodes
from .nodes._row_index import find_leaves
from .nodes._tree import Tree
from .stream._make_grower import grower_class, make_grower, start_grower
from .stream._resize import resized_model

# Parts of a state, with the defaults of those that were added later.
PARTS = dict.fromkeys(
    ("schema", "classes", "resolved", "tree", "grower", "n_rows_before"), NO_DEFAULT
) | {"waits": False, "honest_counts": None, "fidelity": None, "compact": False}


def read_parts(state, owner, shared=None):
    """Make validated parts of a model from a state; errors name the `owner`.

    `shared` has the schema and classes of a model with the same columns, or is None.
    """
    defaults = {k: v for k, v in PARTS.items() if shared is None or k not in shared}
    state = merge_defaults(state, defaults, "The state of a tree")
    resolved = read_resolved(state["resolved"])
    grower = state["grower"]
    is_compact = bool(state.pop("compact"))
    tree = read_nodes(CompactTree if is_compact else Tree, state["tree"])
    check_state_parts(owner, {"compact": grower is None or not is_compact})
    if grower is not None:
        recipe = grower[0]
        settings = recipe.get("settings")
        drift = settings.get("drift") if isinstance(settings, dict) else None
        grower = grower_class(drift).read(tree, *grower)
    if shared is None:
        shared = read_columns(state, owner)
    return state | shared | {"tree": tree, "grower": grower, "resolved": resolved}


def read_columns(state, owner):
    """Make the schema and the classes of a model from its state."""
    schema = Schema.of_state(state["schema"], owner)
    return {"schema": schema, "classes": Classes(state["classes"])}


def check_parts(parts, owner):
    """Raise ValueError unless the parts of a state are consistent."""
    tree = parts["tree"] if parts["grower"] is None else parts["grower"].tree
    bound = parts["resolved"].bound
    checks = {
        "tree_": tree.node_count > 0,
        "classes_": len(parts["classes"]) == tree.max_n_classes,
        "n_features_in_": _has_columns(parts["schema"], tree),
        # splits have evidence if, and only if, there is a bound
        "bound_": isinstance(tree, CompactTree)
        or tree.keeps_evidence == (bound is not None),
        "grower": _has_grower(parts),
    }
    check_state_parts(owner, checks)


def _has_columns(schema, tree):
    if schema.n_features != tree.n_features:
        return False
    features = schema.features
    if features is None:
        return not tree.is_nominal.any()
    # nominal splits must be on nominal columns
    split = tree.feature >= 0
    nominal = features.is_categorical[tree.feature[split]]
    return np.array_equal(nominal, tree.is_nominal[split])


def _has_grower(parts):
    if parts["grower"] is None:
        return True
    nominal = parts["schema"].is_categorical
    nominal = () if nominal is None else tuple(np.flatnonzero(nominal).tolist())
    return parts["grower"].recipe.nominal == nominal


class Drift(NamedTuple):
    """A drift detected after `row` rows; the subtree of `node` was replaced."""

    row: int
    node: int
    detector: str


NO_POOL = (
    "from_pool requires an X_pool in the first call of partial_fit, and a bound that "
    "weighs its rows, such as bound='credible'."
)

DISCARDED = (
    "partial_fit changes the tree, so the held-out rows counted by recount_leaves are "
    "discarded. Call it again after training."
)


class TreeModel(Lockable):
    """A grown tree with its schema and classes, and its grower if it learns row by row.

    Growing another tree makes another model, which an estimator sets in one assignment
    once it is complete; a call that fails or is interrupted leaves the old model.
    `partial_fit` changes a model in place, through its grower, which then owns the
    tree.

    The tree was grown from `n_rows_before` rows. If it `waits`, leaves use naive Bayes
    only after `partial_fit` with further rows. `honest_counts` are of held-out rows.
    The model uses the lock of its `owner`, the estimator. A distilled tree has a
    `fidelity`: its agreement with the classifier. `grows` is True if the model learns
    row by row; `class_weight` then has the weight of each class, or is None if all are
    1.
    """

    def __init__(
        self,
        schema,
        classes,
        resolved,
        tree,
        n_rows_before,
        *,
        grower=None,
        waits=False,
        honest_counts=None,
        fidelity=None,
        owner=None,
    ):
        self.schema, self.classes, self.resolved = schema, classes, resolved
        self._tree = tree
        self.grower = grower
        # attributes, because each call of partial_fit with one row reads them
        self.grows = grower is not None
        recipe = grower.recipe if self.grows else None
        self.class_weight = recipe.class_weight if self.grows else None
        self._detects_drift = self.grows and recipe.settings.drift is not None
        self.waits = waits
        self.n_rows_before = n_rows_before
        self.honest_counts = honest_counts
        self._fidelity = fidelity
        if owner is not None:
            share_lock(self, owner)
        if grower is not None:
            grower.share_lock(self)

    n_outputs = 1  # as in scikit-learn
    notes = ()  # lines for summaries

    @property
    def tree(self):
        """The tree; for a model that learns row by row, the grower's tree."""
        return self._tree if self.grower is None else self.grower.tree

    @property
    def is_distilled(self):
        """Whether the tree was distilled from another classifier, not from labels."""
        return self._fidelity is not None

    @property
    def fidelity(self):
        """Agreement with the classifier from which the tree was distilled."""
        if self._fidelity is None:
            raise AttributeError(
                "The tree was trained on labels, not distilled from a classifier."
            )
        return self._fidelity

    @property
    def n_rows_seen(self):
        """Number of rows learned."""
        learned = 0 if self.grower is None else self.grower.n_rows_seen
        return self.n_rows_before + learned

    @property
    def n_drifts(self):
        """Number of detected drifts."""
        return 0 if self.grower is None else self.grower.n_drifts

    @property
    def detector_name(self):
        """Name of the drift detector, or None."""
        drift = None if self.grower is None else self.grower.recipe.settings.drift
        return None if drift is None else name_of_detector(drift)

    @property
    @reads
    def drifts(self):
        """Detected drifts, in their order."""
        grower = self.grower
        if grower is None or not grower.n_drifts:
            return []
        before, name = self.n_rows_before, self.detector_name
        return [Drift(before + row, node, name) for row, node in grower.drifts]

    @property
    @reads  # a forest that trains its trees one after another does not lock them
    def n_bytes(self):
        """Bytes of the tree and of the statistics of its leaves."""
        n_bytes = (self._tree if self.grower is None else self.grower).n_bytes
        return n_bytes + getattr(self.honest_counts, "nbytes", 0)

    @property
    @reads
    def n_inactive_leaves(self):
        """Number of leaves whose statistics were released to limit memory."""
        return 0 if self.grower is None else self.grower.n_inactive_leaves

    @property
    def predicts_by_bayes(self):
        """Whether leaves predict by naive Bayes, see `waits`."""
        grower = self.grower
        return (
            grower is not None
            and grower.predicts_by_bayes
            and (grower.n_rows_seen > 0 or not self.waits)
        )

    @property
    def weight_seen(self):
        """Total weight of the rows learned."""
        if self.grower is not None:
            return self.grower.weight_seen
        return float(self._tree.counts[0].sum())

    def leaves(self, rows):
        """Leaf of each row."""
        return find_leaves(self.tree, rows.X, rows.finite)

    def path(self, leaves):
        """Nodes on the path to each leaf."""
        return self.tree.path(leaves)

    def proba(self, rows):
        """Class probabilities of each row."""
        tree = self._tree
        if self.grower is not None:
            if self.predicts_by_bayes:
                return self._bayes(rows)
            tree = self.grower.tree
        return tree.proba_of(find_leaves(tree, rows.X, rows.finite))

    def _bayes(self, rows):
        grower, finite = self.grower, rows.finite
        return in_blocks(lambda block: grower.predict_proba(block, finite), rows.X)

    def best(self, rows):
        """Most probable class of each row, the first in case of ties."""
        tree = self._tree
        if self.grower is not None:
            if self.predicts_by_bayes:
                return self._bayes(rows).argmax(axis=1)
            tree = self.grower.tree
        return tree.best_of(find_leaves(tree, rows.X, rows.finite))

    def leaf_counts(self, fresh=False):
        """Weight of each class in each leaf; if `fresh`, since the leaf was created."""
        if not fresh:
            return self.tree.leaf_counts()
        if self.grower is None:
            return np.zeros((self.tree.node_count, len(self.classes)))
        return self.grower.fresh_counts()

    def recount(self, X, y, weight, finite):
        """Count held-out rows; classes of weight 0 are not counted."""
        weight = np.ones(len(y)) if weight is None else weight
        weight = np.where(self.tree.class_weight[y] > 0.0, weight, 0.0)
        self.honest_counts = count_rows(self.tree, X, y, weight, finite)

    @classmethod
    def started(cls, schema, classes, recipe, **options):
        """Start a tree that grows row by row, without rows."""
        settings = recipe.settings
        resolved = Resolved(settings.bound, settings.criterion, settings.max_features)
        grower = start_grower(schema.n_features, len(classes), recipe)
        return cls(schema, classes, resolved, grower.tree, 0, grower=grower, **options)

    @property
    def is_compact(self):
        """Whether the model was saved for predictions alone."""
        return isinstance(self._tree, CompactTree)

    def compacted(self):
        """Copy for predictions alone, without counts and evidence."""
        if self.predicts_by_bayes:
            raise ValueError(
                "compact=True drops the statistics of the leaves, by which this tree "
                "predicts (naive Bayes). Save it with compact=False, or set "
                "leaf_prediction='majority' before training."
            )
        return TreeModel(
            self.schema,
            self.classes,
            self.resolved,
            compact_tree(self.tree),
            self.n_rows_seen,
            fidelity=self._fidelity,
        )

    def check_trains(self):
        """Raise ValueError if the model cannot be trained further."""
        if self.is_compact:
            raise DroppedPartError("it cannot be trained further")
        if self.is_distilled:
            raise ValueError(
                "This tree was distilled from a classifier and cannot be trained "
                "further. Call fit, or partial_fit of a new estimator."
            )

    def growing(self, recipe, **options):
        """Make a model of the same tree that continues growing row by row."""
        self.check_trains()
        tree = copy.copy(self._tree)
        # stored class probabilities of `monotonic_cst`, which has been set to None
        if tree.keeps_values:
            tree._set_values(None)
        max_features = recipe.settings.max_features
        return TreeModel(
            self.schema,
            self.classes,
            self.resolved._replace(max_features=max_features),
            tree,
            self.n_rows_before,
            grower=make_grower(tree, recipe),
            honest_counts=self.honest_counts,
            **options,
        )

    def check_class_weight(self, class_weight):
        """Raise ValueError if the weight of a class that has rows in the tree is 0."""
        if class_weight is None:
            return
        excluded = (class_weight == 0.0) & (self.tree.counts[0] > 0.0)
        if excluded.any():
            raise ValueError(
                "class_weight must be above 0 for a class that the tree was trained "
                f"on. Got 0 for class {self.classes.names[excluded].tolist()[0]!r}."
            )

    def make_ready(self, call, from_pool=None, **options):
        """Reserve memory for rows, so that learning them cannot fail for lack of it."""
        # `options`: those of other models, not used here
        if from_pool is not None:
            _ = self.pool  # raises if there is none
        if self.honest_counts is not None:
            warn(DISCARDED)
        if call.rows.schema.features is not None:  # there are nominal columns
            self.grower.reserve_codes(call.rows.schema.max_categories)
        self.grower.reserve_memory()

    def begin(self, schema):
        """Prepare to learn rows of this schema."""
        self.schema, self.honest_counts = schema, None
        if self._detects_drift and self.ends_shrinkage:
            self.grower.tree._shrunk_by(0.0)

    @property
    def ends_shrinkage(self):
        """Whether shrinkage ends with the next row: it cannot adapt to drift."""
        return self._detects_drift and self.tree.shrinkage > 0.0

    @learns
    def end_shrinkage(self):
        """Set shrinkage to 0; for a tree of a forest, whose lock is not held."""
        self.grower.tree._shrunk_by(0.0)

    def learn(self, call, *, returns=None, from_pool=None):
        """Learn rows in order; `returns` selects the predictions before each row."""
        rows, n = call.rows, len(call.labels)
        self.begin(rows.schema)
        predicted = np.empty(n, dtype=np.intp) if returns == "class" else None
        proba = np.empty((n, len(self.classes))) if returns == "proba" else None
        self.grower.learn(
            rows.X if isinstance(rows.X, np.ndarray) else rows.X.tocsr(),
            call.labels,
            call.weight,
            rows.finite,
            predicted,
            proba,
            from_pool,
        )
        return proba if predicted is None else predicted

    def rows_of_pool(self, row_indices):
        """Rows of the pool, which must be unlabeled."""
        is_labeled = ~self.grower.are_unlabeled(row_indices)
        if is_labeled.any():
            raise ValueError(
                f"Row {row_indices[is_labeled][0]} of X_pool has already been learned. "
                "Pass each row once."
            )
        return self.pool[row_indices]

    @property
    def pool(self):
        """Unlabeled rows by which children are weighted; ValueError without any."""
        pool = None if self.grower is None else self.grower.recipe.X_pool
        if pool is None:
            raise ValueError(NO_POOL)
        return pool

    def distilled(self, classes, counts, n_node_samples, competitors, fidelity):
        """Copy with summed probabilities of a classifier as counts, and competitors."""
        impurity = criterion_maker(self.resolved.criterion)(len(classes)).impurities(
            counts
        )
        tree = with_counts_of_rows(
            self._tree, counts, n_node_samples, impurity, *competitors
        )
        return TreeModel(
            self.schema,
            classes,
            self.resolved,
            tree,
            int(n_node_samples[0]),
            fidelity=fidelity,
        )

    def state(self):
        """Arrays, plain values and parameter objects; equal for equal models."""
        tree, grower = self._tree, None
        if self.grower is not None:
            _, (tree, *grower) = self.grower.__reduce__()
        return canonical(
            {
                "schema": self.schema.state(),
                "classes": self.classes.names,
                "resolved": self.resolved._asdict(),
                "tree": write_nodes(tree),
                "grower": grower,
                "waits": self.waits,
                "n_rows_before": self.n_rows_before,
                "honest_counts": self.honest_counts,
                "fidelity": self._fidelity,
                "compact": self.is_compact,
            }
        )

    def resized(self, resizing, schema, classes, owner):
        """Copy with further columns and classes."""
        self.check_trains()
        state = resized_model(self.state(), resizing)
        state |= {"schema": schema.state(), "classes": classes.names}
        return TreeModel.of_state(state, owner)

    def __reduce__(self):
        return TreeModel.of_state, (self.state(), None)

    @classmethod
    def of_state(cls, state, owner, shared=None):
        """Make a model from a state, or raise ValueError that names the `owner`."""
        # without an owner, the model has a lock of its own
        owner = cls.__new__(cls) if owner is None else owner
        parts = read_parts(state, owner, shared)
        check_parts(parts, owner)
        # with `shared` parts, the caller sets the lock
        return cls(**parts, owner=owner if shared is None else None)


class TreePrediction:
    """Mixin of an estimator with `tree_`, `_rows(X)`, and a model with leaves."""

    def _best(self, rows):
        return self._model.best(rows)

    @reads
    def predict_proba(self, X: TableLike) -> Floats:
        """Class probabilities of each row.

        They are the class proportions in the leaf. For a
        :class:`~skconftree.ConfidenceTreeClassifier` they may be shrunk toward those
        of the ancestors, see `shrinkage`, monotone, see `monotonic_cst`, or
        predicted by naive Bayes, see `leaf_prediction`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of any kind that `fit` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        rows = self._rows(X)
        return self._model.proba(rows)

    @reads
    def apply(self, X: TableLike) -> Indices:
        """Index of the leaf of each row.

        A row whose category did not occur at a node in training stays at that node.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of any kind that `fit` takes.

        Returns
        -------
        ndarray of shape (n_samples,), intp
        """
        rows = self._rows(X)
        return self._model.leaves(rows)

    @reads
    def get_depth(self) -> int:
        """Return the depth of the deepest leaf.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    @reads
    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    @reads
    def decision_path(self, X: TableLike) -> Any:
        """Nodes on the path of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of any kind that `fit` takes.

        Returns
        -------
        csr_matrix of shape (n_samples, n_nodes)
            1 where the row passes the node.
        """
        leaves = self.apply(X)
        return self.tree_.path(leaves)
