"""Growth of a forest with `partial_fit`."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from joblib import effective_n_jobs
from sklearn import get_config
from sklearn.utils import check_random_state

from ..._compat import InvalidParameterError, validate_parameters
from ...tables._reading import read_with_pool, settle
from ...tables._sparse import blocks
from ...tables._weights import resolve_class_weight
from ...tree import ConfidenceTreeClassifier
from ...tree._online import StreamWeights
from ...tree._parameters import MIN_BYTES
from ...tree._training import read_chunk
from ...utils import class_indices, exact_labels, unchanged_on_error
from ...utils._lock import learns
from .._bootstrap import tree_seed
from ._streaming import run_step, trusts

READ_BY_EVERY_CALL = {"n_jobs", "online_rate"}
STEP = 1024  # rows: all trees are at a multiple of it, or at the end of a call
PARTS = 4  # of a thread's work in a step: trees do not take equally long
VOTE_BYTES = 1 << 24  # of the votes that are waiting to be added up


class ForestGrowth(StreamWeights):
    """Mixin of a forest that learns rows as they arrive."""

    def partial_fit(self, X, y, classes=None, sample_weight=None, *, X_pool=None):
        """Go on growing the trees with further rows.

        Each tree learns a row as often as a Poisson number says, whose mean is
        `online_rate` (not at all if that is 0; without `bootstrap` once). That number
        is keyed by the tree and by how many rows the forest has learnt before, so a
        stream gives the same forest, bit for bit, however it is cut into calls. After
        `fit` the fitted leaves grow on. Parameters of the growth are those of the
        first call.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Rows in the order of their arrival; numeric columns are converted to
            float32. Which columns are nominal is settled by the first call; new
            categories may come later.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur. Needed on the first call, unless the forest is
            fitted already.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. The weight of a row enters at once, times the
            Poisson number; a row of weight 0 is not learnt.
        X_pool : array-like, sparse or frame of shape (n_pool, n_features), default=None
            Rows without label, on the first call only, for bounds that weigh a child
            by all rows that fall into it.

        Returns
        -------
        ConfidenceForestClassifier
            The estimator itself.

        Raises
        ------
        ValueError
            If the input or a parameter is invalid; nothing is learnt then.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skconftree import ConfidenceForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = ConfidenceForestClassifier(5, random_state=0)
        >>> for start in range(0, 150, 50):
        ...     chunk = slice(start, start + 50)
        ...     forest = forest.partial_fit(X[chunk], y[chunk], classes=[0, 1, 2])
        >>> forest.n_rows_seen_
        150
        """
        self._learn(X, y, classes, sample_weight, X_pool, None)
        return self

    def partial_fit_predict(
        self, X, y, classes=None, sample_weight=None, *, X_pool=None
    ):
        """Predict each row, then learn it: `partial_fit` with foresight.

        Parameters
        ----------
        X : array-like, sparse or frame of shape (n_samples, n_features)
            Rows in the order of their arrival.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur, as in `partial_fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of weight 0 is predicted, but not learnt.
        X_pool : array-like, sparse or frame of shape (n_pool, n_features), default=None
            Rows without label, on the first call only.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class predicted for each row by the forest as it was before any of its
            trees learnt the row: what prequential evaluation compares with `y`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.utils import shuffle
        >>> from skconftree import ConfidenceForestClassifier
        >>> X, y = shuffle(*load_iris(return_X_y=True), random_state=0)
        >>> forest = ConfidenceForestClassifier(5, random_state=0)
        >>> predicted = forest.partial_fit_predict(X, y, classes=[0, 1, 2])
        >>> bool((predicted == y).mean() > 0.8)
        True
        """
        predicted = []
        known = self._learn(X, y, classes, sample_weight, X_pool, predicted)
        return known.take(predicted[0])

    @learns
    def _learn(self, X, y, classes, sample_weight, X_pool, predicted):
        # Every check comes before the first row; what is learnt stays learnt if
        # the rest of the rows cannot be.
        first = not hasattr(self, "estimators_")
        starting = first or not self._learns_on()
        if not get_config()["skip_parameter_validation"]:
            if starting:
                self._validate_params()
            else:
                validate_parameters(self, READ_BY_EVERY_CALL)
        self._check_stream_parameters(starting)
        if first and classes is None:
            raise ValueError(
                "classes must be given on the first call to partial_fit: all "
                "classes that may occur in the stream."
            )
        if X_pool is not None and not starting:
            raise ValueError(
                "X_pool can be given to the first call of partial_fit only."
            )
        with unchanged_on_error(self):
            given, known = X, self._features
            if type(y) is not np.ndarray:
                y = exact_labels(y)
            X, y, features, finite, names = read_chunk(
                self, X, y, classes, first, stacklevel=3
            )
            labels = class_indices(names, y)
            weight = self._row_weights(sample_weight, X, labels, names)
            if X_pool is not None:
                X, X_pool, features = read_with_pool(
                    self, given, X_pool, X, features, known, weight
                )
            elif features is not known:
                features = settle(X, features, known, weight)
            if starting:
                self._start_growing(names, features, X_pool, first)
            self._features = features
        out = None
        if predicted is not None:
            out = np.empty(len(labels), dtype=np.intp)
            predicted.append(out)
        if features is not None:
            n_codes = int(features.n_categories.max())
            for tree in self.estimators_:
                tree._features = features
                tree._grower.reserve_codes(n_codes)
        with _Workers(effective_n_jobs(self.n_jobs), len(self.estimators_)) as workers:
            for rows, block in blocks(X):
                part = None if weight is None else weight[rows]
                told = None if out is None else out[rows]
                self._learn_rows(block, labels[rows], part, finite, told, workers)
        return self.classes_

    def _check_stream_parameters(self, starting):
        name = type(self).__name__
        if self.pruning not in ("auto", None):
            raise InvalidParameterError(
                f"The 'pruning' parameter of {name} must be 'auto' or None in "
                f"partial_fit, which never removes a split. Got {self.pruning!r} "
                "instead."
            )
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows at once and does "
                "not work with partial_fit. Give the weights as a dict instead."
            )
        if starting and self.max_bytes is not None:
            n_trees = len(getattr(self, "estimators_", ())) or self.n_estimators
            if self.max_bytes < MIN_BYTES * n_trees:
                raise InvalidParameterError(
                    f"The 'max_bytes' parameter of {name} must be at least "
                    f"{MIN_BYTES * n_trees} for {n_trees} trees, {MIN_BYTES} for each. "
                    f"Got {self.max_bytes} instead."
                )

    def _learns_on(self):
        # Whether partial_fit has been called.
        return hasattr(self, "_records")

    def _weight_seen(self):
        # A tree has learnt few rows more often than they come; the limit is far off.
        if not hasattr(self, "estimators_"):
            return 0.0
        return float(max(tree._weight_seen() for tree in self.estimators_))

    def _class_weights(self, classes):
        if self._learns_on():
            return self.estimators_[0]._grower.recipe.class_weight
        return resolve_class_weight(
            self.class_weight, classes, np.arange(len(classes)), None
        )

    def _start_growing(self, classes, features, X_pool, first):
        if first:
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            self._seed = int(seed)
            templates = self._make_templates()
            for template in templates:
                self._complete(template)
            self.classes_, self.n_classes_ = classes, len(classes)
            self.n_rows_seen_ = 0
            trees = [
                _new_tree(
                    vars(templates[index % len(templates)]),
                    random_state=tree_seed(self._seed, index),
                )
                for index in range(self.n_estimators)
            ]
        else:
            # who looks at a tree sees it as it was
            trees = [_new_tree(vars(tree)) for tree in self.estimators_]
        for tree in trees:
            if self.max_bytes is not None:
                tree.max_bytes = self.max_bytes // len(trees)
            if tree._grower is None:
                tree._draws_for_life = True
                tree._start_growing(classes, features, X_pool, first)
            elif X_pool is not None:
                raise ValueError(
                    "X_pool can be given to the first call of partial_fit only."
                )
            tree.tree_.shrunk_by(0.0)
        if first:
            self._describe(trees[0])
            for tree in trees:
                tree.is_categorical_ = self.is_categorical_
        self.estimators_ = trees
        self._records = np.zeros((len(trees), 2))
        for name in ("oob_score_", "oob_decision_function_", "_sampler"):
            vars(self).pop(name, None)

    # -- rows ---------------------------------------------------------------------

    def _learn_rows(self, X, labels, weight, finite, predicted, workers):
        # Row by row as far as anybody can tell; each tree goes step by step.
        learnt = np.ones(len(X), dtype=bool) if weight is None else weight > 0.0
        before = np.cumsum(learnt) - learnt + self.n_rows_seen_
        most = STEP
        if predicted is not None:
            size = 8 * (self.n_classes_ + 1) * len(self.estimators_)
            most = max(min(STEP, VOTE_BYTES // size), 1)
        interrupt = None
        start = 0
        while start < len(X):
            # the row with which the number of rows learnt reaches a multiple
            limit = (self.n_rows_seen_ // most + 1) * most
            end = start + int(np.searchsorted(before[start:], limit, side="left"))
            step = slice(start, min(end, start + most))
            found = self._learn_step(
                X[step],
                labels[step],
                None if weight is None else weight[step],
                before[step],
                finite,
                None if predicted is None else predicted[step],
                workers,
            )
            interrupt = interrupt or found
            start = step.stop
            if interrupt is not None and (
                self.n_rows_seen_ % STEP == 0 or start == len(X)
            ):
                raise interrupt

    def _learn_step(self, X, labels, weight, before, finite, predicted, workers):
        # All trees learn all rows, unless one runs out of memory; what a signal
        # handler has raised meanwhile is given back.
        trees = self.estimators_
        n_learnt = len(X) if weight is None else int(np.count_nonzero(weight))
        shape = (len(X), self.n_classes_ + 1)
        votes = None
        if predicted is not None:
            votes = [np.empty(shape) for _ in trees]
        tasks = []
        for first, end in workers.parts(len(trees)):
            tasks.append(
                {
                    "estimators": trees[first:end],
                    "first": first,
                    "seed": self._seed,
                    "rate": float(self.online_rate) if self.bootstrap else None,
                    "before": before,
                    "weight": weight,
                    "X": X,
                    "y": labels,
                    "finite": finite,
                    "votes": None if votes is None else votes[first:end],
                    "records": (
                        self._records[first:end] if self.vote == "accuracy" else None
                    ),
                    "outcome": [],
                }
            )
        interrupt = run_step(self, tasks, workers.pool, n_learnt)
        if votes is not None:
            total = np.zeros(shape)
            for vote in votes:
                total += vote
            total[:, :-1] /= total[:, -1:]
            predicted[:] = total[:, :-1].argmax(axis=1)
        failures = [
            (trees.index(task["estimators"][t]), error)
            for task in tasks
            for t, _, error in task["outcome"][0]
        ]
        if failures:
            error = failures[0][1]
            raise type(error)(
                f"{error} Trees {[t for t, _ in failures]} of this forest lack rows of "
                f"the last step, which ended after {self.n_rows_seen_} rows; the "
                "others have learnt them."
            ) from error
        return interrupt

    def _vote_weights(self):
        if self.vote == "mean" or not self._learns_on():
            return None
        return trusts(self._records)


def _new_tree(parts, **others):
    made = ConfidenceTreeClassifier.__new__(ConfidenceTreeClassifier)
    vars(made).update(parts, **others)
    return made


class _Workers:
    """Threads that learn side by side; none but the caller's if one is enough.

    Parameters
    ----------
    n_jobs, n_trees : int
    """

    def __init__(self, n_jobs, n_trees):
        self.n_threads = max(1, min(n_jobs, n_trees))
        self.pool = None

    def __enter__(self):
        if self.n_threads > 1:
            self.pool = ThreadPoolExecutor(self.n_threads)
        return self

    def __exit__(self, *error):
        if self.pool is not None:
            self.pool.shutdown()

    def parts(self, n):
        """Divide n neighbours into parts for the threads: first and end of each."""
        n_parts = min(n, PARTS * self.n_threads) if self.n_threads > 1 else 1
        ends = np.linspace(0, n, n_parts + 1).astype(int).tolist()
        return list(pairwise(ends))
