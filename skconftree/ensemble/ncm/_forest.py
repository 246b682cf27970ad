"""The nearest class mean (NCM) forest estimator.

A *plan* has the parameters of growth, with values instead of None. A *call* has the
validated arguments of `fit` or `partial_fit`. The *samples* are the stored rows with
their labels. The `schema` has the number and names of the columns, and validates later
rows. The code of a class is its index. `times` is how often each row is in the
bootstrap sample of a tree. `fitted` makes a property that reads the model, and methods
decorated by `reads` take the lock of the estimator for reading.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import gen_even_slices
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from ..._compat import Interval, StrOptions
from ...utils._fitted import fitted
from ...utils._lock import reads
from ...utils._parameter_names import suggests_parameters
from ...utils._types import Indices, Seed, TableLike
from .._base import TASKS_PER_JOB, VotingForest
from .._bootstrap import tree_seed
from ._classes import GROWTH_CONSTRAINTS, NCMEstimator, tree_of_model
from ._model import (
    NCMForestModel,
    Samples,
    TreeUpdate,
    Update,
    seed_of_update,
    select_regrown,
)
from ._ncm_votes import (
    IntegerMeans,
    LeafShares,
    add_ncm_votes,
    add_ncm_votes_of_many,
    largest_value,
)

BLOCK = 2048  # rows that are routed through all trees together, to stay in the cache
# Number of rows from which predictions are faster if all class means are first rounded
# to integers.
MIN_ROUNDED_ROWS = 256
REGROWN_EVERY = 5  # updates after which "igt+rrn" regrows a tree again
UpdateName = Literal["hi-rf", "igt", "igt+rrn", "leaves", "retrain", "rlp", "rrn"]
TREE_PARAMETERS = (
    "criterion",
    "bound",
    "delta",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "max_classes",
    "n_assignments",
)


@suggests_parameters()  # in the error for an unknown parameter
@dataclass(eq=False, repr=False)
class NCMForestClassifier(VotingForest, NCMEstimator):
    r"""Class-incremental random forest of nearest class mean trees (hi-RF in [1]_).

    Each tree is a :class:`NCMTreeClassifier` grown on a bootstrap sample of the rows;
    the forest predicts the mean of their class proportions. When rows of known or new
    classes arrive, it regrows the trees whose out-of-bag error is above the average,
    and updates the class counts in the leaves of the others.

    Use it for problems with many classes, some of which appear later, and numeric
    features on a common scale.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees. More trees make probabilities more stable and take
        proportionally longer. `partial_fit` keeps the number of existing trees.
    criterion, bound, delta : object
        How splits are scored and accepted, as in :class:`NCMTreeClassifier`.
    max_depth, min_samples_split, min_samples_leaf : object
        Limits of the size of each tree and its nodes, as in
        :class:`NCMTreeClassifier`. A row counts as often as it is in the sample.
    max_classes, n_assignments : object
        Number of class means, and of assignments of them to the children, that a split
        compares, as in :class:`NCMTreeClassifier`.
    update : str, default="hi-rf"
        How `partial_fit` updates the forest. With new samples of all stored rows:

        - ``"hi-rf"``: trees with an error above the average are regrown (RRN in [1]_);
          the others only recount the class counts of their leaves (RLP in [1]_).
        - ``"rrn"``: all trees are regrown.
        - ``"rlp"``: all trees only recount the class counts of their leaves.
        - ``"retrain"``: the forest is fitted to all stored rows.

        With the new rows only:

        - ``"igt"``: incrementally growing trees. The new rows are added to the leaves
          of each tree, and these leaves are split further by the same rule as in `fit`.
        - ``"igt+rrn"``: the same, but each call regrows a fifth of the trees, in turn,
          on new samples of all stored rows. This is more accurate if classes appear in
          many calls, and nearly as fast.
        - ``"leaves"``: the new rows are added to the class counts of the leaves. No
          rows are stored.
    boost : {"decision", "persistent"} or None, default="decision"
        How `alpha` modifies the errors that ``"hi-rf"`` compares, see Notes.
    alpha : float, default=0.0
        Strength of the modification. With ``boost="decision"``, larger values regrow
        more trees; negative values regrow fewer. 0 disables it.
    max_stored_samples : int or None, default=None
        Maximum number of stored rows, divided equally between the classes; at least
        the number of classes. Trees are grown from the stored rows. None stores all.
    n_jobs : int or None, default=None
        Number of threads, as in joblib: None means 1 unless in a
        ``joblib.parallel_config`` context, -1 means all processors.
    verbose : int, default=0
        Verbosity of joblib.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples, classes and assignments that are drawn.

    Attributes
    ----------
    estimators_ : list of NCMTreeClassifier
        The trees.
    classes_ : ndarray of shape (n_classes,)
        Class labels, in ascending order; `partial_fit` may add to them.
    n_classes_ : int
        Number of classes.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `X` had string column names.
    bound_ : bound object or None
        The bound that was used, which is the rule that accepts splits.
    criterion_ : str
        The criterion that was used.
    tree_errors_ : ndarray of shape (n_trees,) or None
        Out-of-bag error of each tree before the last update, on stored rows outside its
        sample and on the new rows; NaN if there were none. None unless the last call
        was an update with ``"hi-rf"``.
    threshold_ : float or None
        Mean of `tree_errors_`, with which they were compared.
    regrown_ : ndarray of shape (n_trees,), bool
        Whether each tree was grown by the last call.
    n_rows_seen_ : int
        Number of rows learned.
    n_rows_stored_ : int
        Number of stored rows.
    n_updates_ : int
        Number of calls of `partial_fit` that updated the fitted model.
    n_bytes_ : int
        Number of bytes that trees and stored rows occupy.

    See Also
    --------
    NCMTreeClassifier : A single tree.
    ConfidenceForestClassifier : A forest whose splits use single features.

    Notes
    -----
    Let :math:`e_i` be the error rate of tree i on the rows that were not in its last
    sample, and :math:`\delta` the mean of these errors. ``"hi-rf"`` regrows the trees
    with

    .. math:: e_i + \alpha \tanh e_i > \delta

    if ``boost="decision"``, and those with :math:`e_i > \delta` otherwise. With
    ``boost="persistent"``, :math:`e_i + \alpha \tanh e_i` of a retained tree is a
    penalty that is added to its error in the next update. The penalty is removed when
    the tree is regrown.

    A row of a new class is routed like rows of the known classes that it resembles, and
    counted in the leaf that it reaches: retained trees learn new classes in their
    leaves only. A leaf that no row reaches predicts like its nearest ancestor with
    rows.

    Each call of `partial_fit` is one update, so the division of rows into calls
    matters: several calls differ from one, except with ``"leaves"``. The order of the
    rows within a call does not matter.

    Unless `update` is ``"leaves"``, all rows are stored as float32 for later updates,
    with 5 bytes per row and tree. If there are more than
    `max_stored_samples`, each class is represented by a random sample of its rows, and
    the samples of all classes are equally large unless a class has fewer rows. The
    forest is then trained as if the classes were about equally frequent.

    References
    ----------
    .. [1] T. Xie, Y. Peng, C. Wang, "hi-RF: incremental learning random forest for
       large-scale multi-class data classification", 2016.
    .. [2] M. Ristin, M. Guillaumin, J. Gall, L. Van Gool, "Incremental learning of NCM
       forests for large-scale image classification", CVPR 2014: ``"leaves"`` and
       ``"igt"``. ``"igt+rrn"`` combines [1]_ and [2]_ and is not published.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skconftree import NCMForestClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> old = y < 8
    >>> forest = NCMForestClassifier(20, random_state=0).fit(X[old], y[old])
    >>> forest.partial_fit(X[~old], y[~old]).classes_
    array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    >>> forest.score(X, y) > 0.95
    True
    """

    _parameter_constraints = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        **GROWTH_CONSTRAINTS,
        "update": [StrOptions(set(get_args(UpdateName)))],
        "boost": [StrOptions({"decision", "persistent"}), None],
        "alpha": [Interval(Real, None, None, closed="neither")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    n_estimators: int = 100
    _: KW_ONLY
    criterion: object = None
    bound: object = None
    delta: object = None
    max_depth: object = None
    min_samples_split: object = 2
    min_samples_leaf: object = 1
    max_classes: object = "sqrt"
    n_assignments: object = 256
    update: UpdateName = "hi-rf"
    boost: Literal["decision", "persistent"] | None = "decision"
    alpha: float = 0.0
    max_stored_samples: int | None = None
    n_jobs: int | None = None
    verbose: int = 0
    random_state: Seed = None

    _kind = NCMForestModel  # class of `_model`
    tree_errors_ = fitted("tree_errors", "Out-of-bag errors before the last update.")
    threshold_ = fitted("threshold", "Mean of the out-of-bag errors.")
    regrown_ = fitted("regrown", "Whether each tree was grown by the last call.")
    n_bytes_ = fitted("n_bytes", "Bytes that trees and stored rows occupy.")

    @property
    def estimators_(self) -> list[Any]:
        """The trees."""
        check_is_fitted(self)
        model = self._model
        return [
            tree_of_model(member, model.parameters | {"random_state": member.seed})
            for member in model.members()
        ]

    @property
    def n_rows_stored_(self) -> int:
        """Number of stored rows."""
        check_is_fitted(self)
        samples = self._model.samples
        return 0 if samples is None else len(samples.y)

    def _start(self, plan, call):
        # The model of the first rows.
        seed, n_classes = self._draw_seed(), len(call.classes)
        samples = Samples.of(call.rows.X, call.labels, n_classes, seed)
        samples = samples.restricted_to(
            samples.select_retained(self.max_stored_samples)
        )
        # np.arange(0): no classes of earlier calls, whose codes could change
        update = Update(plan, samples, n_classes, np.arange(0), seed)
        new_trees = [
            TreeUpdate(i, tree=None, leaves=None) for i in range(self.n_estimators)
        ]
        model = self._apply_update(update, new_trees, call, None)
        if self.update == "leaves":
            model = replace(model, samples=None, times=None, leaves=None)
        return model

    def _updated(self, plan, call, model):
        # The model after an update with further rows.
        n_classes, new_codes = len(call.classes), call.classes.indices_of(model.classes)
        # the new rows, which follow `n_rows_seen` rows of earlier calls
        more = Samples.of(
            call.rows.X, call.labels, n_classes, model.seed, model.n_rows_seen
        )
        n_updates = 0 if self.update == "retrain" else model.n_updates + 1
        seed = seed_of_update(model.seed, n_updates)
        if self.update == "leaves":
            update = Update(plan, more, n_classes, new_codes, seed)
            trees = [
                TreeUpdate(i, tree, leaves=None) for i, tree in enumerate(model.trees)
            ]
            return self._apply_update(
                update._replace(samples=None),
                trees,
                call,
                model,
                function=update.with_leaf_counts,
            )
        # number of rows of earlier calls; an error if they were not stored
        n_before = len(self._stored_samples(model).y)
        samples = model.samples.with_classes(n_classes, new_codes).concatenated(more)
        retained = samples.select_retained(self.max_stored_samples)
        samples = samples.restricted_to(retained)
        if self.update == "retrain":
            samples = samples.reordered()  # as if all rows came in one call
        update = Update(plan, samples, n_classes, new_codes, seed)
        new_trees = [
            TreeUpdate(i, tree=None, leaves=None) for i in range(len(model.trees))
        ]
        if self.update in ("retrain", "rrn"):
            return self._apply_update(update, new_trees, call, model)
        leaves, times = _leaves_and_counts(model, n_before, retained)
        tree_updates = [
            TreeUpdate(*parts)
            for parts in zip(range(len(leaves)), model.trees, leaves, strict=True)
        ]
        if self.update in ("igt", "igt+rrn"):
            tree_updates = [
                tree._replace(seed=seed, times=of_tree)
                for tree, seed, of_tree in zip(
                    tree_updates, model.seeds, times, strict=True
                )
            ]
            update = update._replace(n_new=len(samples.y) - times.shape[1])
        if self.update == "igt+rrn":
            in_turn = slice(-n_updates % REGROWN_EVERY, None, REGROWN_EVERY)
            tree_updates[in_turn] = new_trees[in_turn]
        if self.update != "hi-rf":
            return self._apply_update(update, tree_updates, call, model)
        in_bag = np.zeros((len(times), len(samples.y)), dtype=bool)
        in_bag[:, : times.shape[1]] = times > 0  # new rows were in no sample
        errors_and_leaves = self._in_threads(
            lambda tree: update.error_out_of_bag(tree, in_bag[tree.index]), tree_updates
        )
        errors = np.array([error for error, _ in errors_and_leaves])
        regrown, threshold, penalty = select_regrown(
            errors, model.penalty, self.boost, self.alpha
        )
        tree_updates = [
            new_trees[i] if regrown[i] else tree._replace(leaves=leaves)
            for i, (tree, (_, leaves)) in enumerate(
                zip(tree_updates, errors_and_leaves, strict=True)
            )
        ]
        return self._apply_update(
            update,
            tree_updates,
            call,
            model,
            penalty=penalty,
            tree_errors=errors,
            threshold=threshold,
        )

    def _apply_update(
        self, update, tree_updates, call, model, function=None, **results
    ):
        # The forest model after an update of the trees, by `function` or by
        # `update.apply_to`. `model` is the previous one, None on the first call.
        updated = self._in_threads(function or update.apply_to, tree_updates)
        stored = updated[0].leaves is not None
        regrown = np.array([tree_update.tree is None for tree_update in tree_updates])
        seeds = [
            tree_seed(update.seed, i) if is_new else model.seeds[i]
            for i, is_new in enumerate(regrown)
        ]
        first = model is None
        return NCMForestModel(
            call.rows.schema,
            call.classes,
            update.plan.settings.bound,
            update.plan.settings.criterion,
            update.seed if first else model.seed,
            update.samples,
            len(call.labels) + (0 if first else model.n_rows_seen),
            0 if first else model.n_updates + 1,
            parameters={name: getattr(self, name) for name in TREE_PARAMETERS},
            trees=[tree.tree for tree in updated],
            seeds=seeds,
            regrown=regrown,
            times=np.stack([tree.times for tree in updated]) if stored else None,
            leaves=np.stack([tree.leaves for tree in updated]) if stored else None,
            **{"penalty": np.zeros(len(updated))} | results,
        )

    def _in_threads(self, function, items):
        # Apply a function that releases the GIL; return the results in order.
        n_workers = min(effective_n_jobs(self.n_jobs), len(items))
        if n_workers <= 1:
            return [function(item) for item in items]
        return Parallel(
            n_jobs=n_workers,
            verbose=self.verbose,
            require="sharedmem",
            batch_size=-(-len(items) // (TASKS_PER_JOB * n_workers)),
        )(delayed(function)(item) for item in items)

    def _mean_proba(self, X):
        # Mean class probabilities of the trees for validated rows.
        model = self._model
        out, trees = np.zeros((len(X), len(model.classes))), model.trees
        n_workers = effective_n_jobs(self.n_jobs)
        n_parts = max(-(-len(X) // BLOCK), min(n_workers, len(X) // MIN_ROUNDED_ROWS))
        blocks = list(gen_even_slices(len(X), max(n_parts, 1)))
        if len(X) < MIN_ROUNDED_ROWS:
            self._in_threads(
                lambda rows: add_ncm_votes(trees, X[rows], out[rows]), blocks
            )
        else:
            largest = largest_value(trees, X)  # absolute; the scale of the rounding
            means = self._in_threads(lambda tree: IntegerMeans(tree, largest), trees)
            shares = self._in_threads(LeafShares, trees)
            self._in_threads(
                lambda rows: add_ncm_votes_of_many(
                    means, shares, X[rows], out[rows], largest
                ),
                blocks,
            )
        out /= len(trees)
        return out

    @reads
    def apply(self, X: TableLike) -> Indices:
        """Index of the leaf that each row reaches in each tree.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows of numbers without missing values.

        Returns
        -------
        ndarray of shape (n_samples, n_trees), intp
            Leaf indices.
        """
        rows = self._rows(X)
        leaves = self._in_threads(lambda tree: tree.apply(rows), self._model.trees)
        return np.column_stack(leaves)


def _leaves_and_counts(model, n_before, retained):
    # Return, for each tree, the leaves of the retained rows of earlier calls (None:
    # unknown), and how often these rows are in its sample.
    rows = slice(None) if retained is None else retained[:n_before]
    leaves = model.leaves  # not part of the serialized state
    known = [None] * len(model.trees) if leaves is None else list(leaves[:, rows])
    return known, model.times[:, rows]
