"""The NCM forest estimator."""

from __future__ import annotations

from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
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
from ._model import NCMForestModel, Samples, TreeUpdate, Update, judge, seed_of_update
from ._ncm_votes import (
    LeafShares,
    WholeMeans,
    add_ncm_votes,
    add_ncm_votes_of_many,
    largest_value,
)

BLOCK = 2048  # rows that go through all trees: they stay in the cache meanwhile
WORTH_ROUNDING = 256  # rows for which to round all means takes less than it saves
OF_TREES = (
    "criterion",
    "bound",
    "delta",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "max_classes",
    "n_assignments",
)


@suggests_parameters()
class NCMForestClassifier(VotingForest, NCMEstimator):
    r"""A forest of nearest class mean trees that learns new classes (hi-RF).

    Each tree is a :class:`NCMTreeClassifier` grown on a bootstrap sample of the rows;
    the forest predicts the mean of their class proportions. When rows arrive, of known
    or of new classes, it grows those trees anew that are worse than the average, and
    counts the rows in the leaves of the others.

    Use it for many classes, to which others come later, and numeric features on one
    scale.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees. `partial_fit` goes on with those that there are.
    criterion, bound, delta : object
        How tests are judged, as in :class:`NCMTreeClassifier`.
    max_depth, min_samples_split, min_samples_leaf : object
        Limits of the size of each tree and its nodes, as there. Rows count as often as
        they are in the sample.
    max_classes, n_assignments : object
        Classes and assignments that a test compares, as there.
    update : {"hi-rf", "retrain", "rlp", "rrn"}, default="hi-rf"
        What `partial_fit` does, with all rows that are kept and new samples of them:

        - ``"hi-rf"``: trees that are worse than the average are grown anew (RRN), in
          the leaves of the others the rows are counted (RLP);
        - ``"rrn"`` and ``"rlp"``: all trees are grown anew, or none;
        - ``"retrain"``: the forest becomes what `fit` makes of all rows.
    boost : {"decision", "persistent"} or None, default="decision"
        What `alpha` does to the errors that ``"hi-rf"`` compares, see Notes.
    alpha : float, default=0.0
        Strength of that. With ``boost="decision"`` positive numbers let more trees be
        grown anew and negative ones fewer; 0 switches it off.
    max_stored_samples : int or None, default=None
        Most rows that are kept, in equal parts for the classes; not below their
        number. The forest is grown from these. None: all.
    n_jobs : int or None, default=None
        Threads, as of joblib: None is one unless a ``joblib.parallel_config`` says
        otherwise, -1 all processors.
    verbose : int, default=0
        Progress, as of joblib.
    random_state : int, RandomState instance or None, default=None
        Seed of samples, drawn classes and assignments.

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
        The resolved bound.
    criterion_ : str
        The resolved criterion.
    tree_errors_ : ndarray of shape (n_trees,) or None
        Error of each tree, before the last update, on the rows that were not in its
        sample, the new ones included; NaN if there was none. None unless that update
        was one of ``"hi-rf"``.
    threshold_ : float or None
        What they were compared with: their mean.
    regrown_ : ndarray of shape (n_trees,), bool
        Which trees the last call grew.
    n_rows_seen_ : int
        Number of rows learnt.
    n_rows_stored_ : int
        Number of rows kept.
    n_updates_ : int
        Calls of `partial_fit` since `fit`, or since the first of them.
    n_bytes_ : int
        Bytes that trees and rows take.

    See Also
    --------
    NCMTreeClassifier : A single tree.
    ConfidenceForestClassifier : A forest of tests of single features.

    Notes
    -----
    With :math:`e_i` the share of wrong predictions of tree i among the rows that were
    not in its last sample, and :math:`\delta` the mean of them, ``"hi-rf"`` grows the
    trees anew with

    .. math:: e_i + \alpha \tanh e_i > \delta

    if ``boost="decision"``, and those with :math:`e_i > \delta` otherwise. With
    ``boost="persistent"`` a tree that is kept carries :math:`e_i + \alpha \tanh e_i`
    to the next update as a penalty, which is added to its error there, and which it
    loses when it is grown anew.

    A row of a new class goes the way of the known classes that it resembles, and is
    counted where it comes to: trees that are kept learn it in their leaves alone. A
    leaf that no row reaches predicts what the nearest node above it does that has one.

    Each call of `partial_fit` is one update, so it matters how rows are divided into
    calls: several calls differ from one. The order of the rows within a call does not
    matter.

    All rows are kept, as float32, for later updates; `max_stored_samples` is a limit,
    beyond which each class keeps a random sample of those that have come, as large as
    that of other classes if it has so many. Then the forest knows the classes as if
    these were about equally frequent.

    References
    ----------
    .. [1] T. Xie, Y. Peng, C. Wang, "hi-RF: incremental learning random forest for
       large-scale multi-class data classification", 2016.
    .. [2] M. Ristin, M. Guillaumin, J. Gall, L. Van Gool, "Incremental learning of NCM
       forests for large-scale image classification", CVPR 2014.

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

    _parameter_constraints: dict = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        **GROWTH_CONSTRAINTS,
        "update": [StrOptions({"hi-rf", "retrain", "rlp", "rrn"})],
        "boost": [StrOptions({"decision", "persistent"}), None],
        "alpha": [Interval(Real, None, None, closed="neither")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: object = None,
        bound: object = None,
        delta: object = None,
        max_depth: object = None,
        min_samples_split: object = 2,
        min_samples_leaf: object = 1,
        max_classes: object = "sqrt",
        n_assignments: object = 256,
        update: Literal["hi-rf", "retrain", "rlp", "rrn"] = "hi-rf",
        boost: Literal["decision", "persistent"] | None = "decision",
        alpha: float = 0.0,
        max_stored_samples: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.bound = bound
        self.delta = delta
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_classes = max_classes
        self.n_assignments = n_assignments
        self.update = update
        self.boost = boost
        self.alpha = alpha
        self.max_stored_samples = max_stored_samples
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    _kind = NCMForestModel
    tree_errors_ = fitted("tree_errors", "Error of each tree before the last update.")
    threshold_ = fitted("threshold", "What they were compared with.")
    regrown_ = fitted("regrown", "Which trees the last call grew.")
    n_bytes_ = fitted("n_bytes", "Bytes that trees and rows take.")

    @property
    def estimators_(self) -> list[Any]:
        """The trees."""
        check_is_fitted(self)
        model = self._model
        return [
            tree_of_model(one, model.parameters | {"random_state": one.seed})
            for one in model.members()
        ]

    @property
    def n_rows_stored_(self) -> int:
        """Number of rows kept."""
        check_is_fitted(self)
        return len(self._model.samples.y)

    def _start(self, plan, call):
        seed, n_classes = self._draw_seed(), len(call.classes)
        samples = Samples.of(call.rows.X, call.labels, n_classes, seed)
        samples = samples.taken(samples.to_keep(self.max_stored_samples))
        update = Update(plan, samples, n_classes, np.arange(0), seed)
        anew = [TreeUpdate(i, None, None) for i in range(self.n_estimators)]
        return self._carried_out(update, anew, call, None)

    def _updated(self, plan, call, model):
        n_classes, places = len(call.classes), call.classes.indices_of(model.classes)
        more = Samples.of(
            call.rows.X, call.labels, n_classes, model.seed, model.n_rows_seen
        )
        n_before = len(model.samples.y)
        samples = model.samples.with_classes(n_classes, places).joined(more)
        kept = samples.to_keep(self.max_stored_samples)
        samples = samples.taken(kept)
        n_updates = 0 if self.update == "retrain" else model.n_updates + 1
        seed = seed_of_update(model.seed, n_updates)
        if self.update == "retrain":
            samples = samples.in_one_order()
        update = Update(plan, samples, n_classes, places, seed)
        anew = [TreeUpdate(i, None, None) for i in range(len(model.trees))]
        if self.update not in ("hi-rf", "rlp"):
            return self._carried_out(update, anew, call, model)
        tree_updates = [
            TreeUpdate(i, tree, leaves)
            for i, (tree, leaves) in enumerate(
                zip(model.trees, _known_leaves(model, n_before, kept), strict=True)
            )
        ]
        if self.update == "rlp":
            return self._carried_out(update, tree_updates, call, model)
        in_bag = _rows_in_bag(model, n_before, len(call.labels), kept)
        found = self._in_threads(
            lambda one: update.error_out_of_bag(one, in_bag[one.index]), tree_updates
        )
        errors = np.array([error for error, _ in found])
        verdict = judge(errors, model.penalty, self.boost, self.alpha)
        tree_updates = [
            anew[i] if verdict.regrown[i] else one._replace(leaves=leaves)
            for i, (one, (_, leaves)) in enumerate(
                zip(tree_updates, found, strict=True)
            )
        ]
        return self._carried_out(
            update,
            tree_updates,
            call,
            model,
            penalty=verdict.penalty,
            tree_errors=errors,
            threshold=verdict.threshold,
        )

    def _carried_out(self, update, tree_updates, call, model, **told):
        # The forest that an update makes of a model, or of no rows before.
        done = self._in_threads(update.carry_out, tree_updates)
        regrown = np.array([one.tree is None for one in tree_updates])
        seeds = [
            tree_seed(update.seed, i) if anew else model.seeds[i]
            for i, anew in enumerate(regrown)
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
            parameters={name: getattr(self, name) for name in OF_TREES},
            trees=[one.tree for one in done],
            seeds=seeds,
            regrown=regrown,
            in_bag=np.stack([one.in_bag for one in done]),
            leaves=np.stack([one.leaves for one in done]),
            **{"penalty": np.zeros(len(done))} | told,
        )

    def _in_threads(self, function, items):
        # Results in their order. The work is done without the GIL.
        items = list(items)
        n_workers = min(effective_n_jobs(self.n_jobs), len(items))
        if n_workers <= 1:
            return [function(one) for one in items]
        n_tasks = min(TASKS_PER_JOB * n_workers, len(items))
        ends = np.linspace(0, len(items), n_tasks + 1).astype(int).tolist()
        done = Parallel(n_jobs=n_workers, verbose=self.verbose, require="sharedmem")(
            delayed(_each)(function, items[start:end]) for start, end in pairwise(ends)
        )
        return [one for batch in done for one in batch]

    def _mean_proba(self, X):
        model = self._model
        out, trees = np.zeros((len(X), len(model.classes))), model.trees
        n_workers = effective_n_jobs(self.n_jobs)
        n_parts = max(-(-len(X) // BLOCK), min(n_workers, len(X) // WORTH_ROUNDING))
        ends = np.linspace(0, len(X), n_parts + 1).astype(int).tolist()
        blocks = [slice(start, end) for start, end in pairwise(ends)]
        if len(X) < WORTH_ROUNDING:
            self._in_threads(
                lambda rows: add_ncm_votes(trees, X[rows], out[rows]), blocks
            )
        else:
            largest = largest_value(trees, X)
            means = self._in_threads(lambda tree: WholeMeans(tree, largest), trees)
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

        Returns
        -------
        ndarray of shape (n_samples, n_trees), intp
        """
        rows = self._rows(X)
        leaves = self._in_threads(lambda tree: tree.apply(rows), self._model.trees)
        return np.column_stack(leaves)


def _known_leaves(model, n_before, kept):
    # Where the rows that are still kept come to in each tree, as far as known.
    leaves = model.leaves
    if leaves is None:  # it is no part of the state
        return [None] * len(model.trees)
    return list(leaves if kept is None else leaves[:, kept[:n_before]])


def _rows_in_bag(model, n_before, n_new, kept):
    # Whether each row was in the last sample of each tree; new rows were in none.
    in_bag = np.zeros((len(model.trees), n_before + n_new), dtype=bool)
    in_bag[:, :n_before] = np.unpackbits(model.in_bag, axis=1, count=n_before)
    return in_bag if kept is None else in_bag[:, kept]


def _each(function, items):
    return [function(one) for one in items]
