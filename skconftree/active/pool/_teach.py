"""Learn the labels of an active learner, and compute its state from them again.

Updates are atomic, see `Transactional`. `_shadow_copy` creates a copy of the learner,
`_take_over` replaces the attributes of the learner by those of the copy. The *pool* is
the table of unlabeled and labeled rows, and its *embedding* the coordinates of the
rows. A *bound* is the rule by which a tree decides whether to split; some bounds also
use the unlabeled rows. To *replay* labels is to compute the state from them again.
`refit` is False if the classifier is updated by `partial_fit`, else True or "auto".
`_codes` are class indices of rows (-1: unlabeled), to which `_coder` converts labels.
`_start` is the batch of labels passed to `fit`, `_answers` the batches of `teach`. With
`prefit`, the classifier was already fitted.
Methods decorated by `learns` lock the learner; those decorated by `reads_consistent`
first complete or revert an interrupted update.
"""

import copy
import warnings
from contextlib import contextmanager
from functools import cached_property
from inspect import signature
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from ...bounds._registry import resolve_bound
from ...utils._codec import canonical
from ...utils._lock import learns
from .._estimators import with_lasting_nodes
from .._labels import LabelCodes, n_rows_of, take
from .._transaction import Transactional, reads_consistent
from ._context import Embedding


class Answer(NamedTuple):
    """One label that was taught.

    Parameters
    ----------
    row : int
        Row of the pool.
    label : object
        Its label, or `missing_label` if the row was skipped.
    weight : float
        Weight of the row.

    Examples
    --------
    >>> from skconftree.active.pool import Answer
    >>> Answer(7, "ham", 1.0).label
    'ham'
    """

    row: int
    label: object
    weight: float


class Batch(NamedTuple):
    # Labels of one call of teach; not encoded as class indices, which depend on all
    # labels.
    rows: np.ndarray
    known: np.ndarray  # mask of the rows that have a label
    labels: np.ndarray  # of the known rows
    weight: np.ndarray | None
    n_wrong: int | None = None  # mispredictions, if drawn to estimate accuracy
    first: list | None = None  # labels before they were corrected, by which rows were
    # drawn (None: skipped); None if there was no correction

    def pairs(self, missing=None):
        """Rows and their labels, `missing` for skipped rows."""
        labels = iter(self.labels.tolist())
        for row, known in zip(self.rows.tolist(), self.known, strict=True):
            yield row, next(labels) if known else missing

    def without(self, rows):
        """The batch without some rows."""
        retained = ~np.isin(self.rows, rows)
        return self._replace(
            rows=self.rows[retained],
            known=self.known[retained],
            labels=self.labels[retained[self.known]],
            weight=None if self.weight is None else self.weight[retained],
            first=None,
        )


class Pool:
    # The rows and their embedding, which do not depend on labels.
    def __init__(self, X, transform, neighbors, seed):
        self.X = X
        # `neighbors` searches them, like scikit-learn's NearestNeighbors
        self._embedding_arguments = transform, neighbors, seed

    @property
    def n_rows(self):
        return n_rows_of(self.X)

    @cached_property
    def embedding(self):
        return Embedding(self.X, *self._embedding_arguments)

    def __getstate__(self):
        state = dict(vars(self))
        state.pop("embedding", None)  # it can be computed again
        return canonical(state)  # equal states have equal pickles


class LearningMixin(Transactional):
    """Mixin of an active learner that learns labels.

    The list of batches of labels determines the state of the learner. After an
    interrupted call, the state is computed from this list again.
    """

    _interrupted = False  # whether learning was interrupted
    _in_query = False  # whether a query was interrupted

    def _is_consistent(self):
        return not self._interrupted

    def _recover(self):
        if self._interrupted:
            self._relearn(self._answers)

    def _relearn(self, answers, **attributes):
        self._take_over(self._with_answers(answers, **attributes))

    def _with_answers(self, answers, **attributes):
        # Another learner with the same pool and initial labels, but other batches.
        other = self._shadow_copy()
        other._replay(answers, **attributes)
        return other

    def _without_rows(self, rows):
        # Another learner without the labels of some rows.
        other = self._shadow_copy()
        other._start = self._start.without(rows)
        other._replay([batch.without(rows) for batch in self._answers])
        return other

    def _forget_queries(self):
        # Clear caches of queries, which may be incomplete.
        vars(self).update(
            _memory={},
            _kept=None,
            _index=(None, None),
            _forest=(None, None),
            _in_query=False,
        )

    def _learn(self, batch):
        if self._in_query:
            self._forget_queries()
        if self._coder.encode(batch.labels) is None:  # a label is a new class
            self._relearn([*self._answers, batch], _queried_rows=None)
            return
        self._interrupted = True
        try:
            self._store_labels(batch)
            if self.refit is False:
                self._partial_fit(batch)
            else:
                self._refit()
            self._answers.append(batch)
            vars(self).update(_queried_rows=None, _interrupted=False)
        except BaseException:
            self._recover()
            raise

    @learns
    def _replace_answers(self, batches, seed):
        # Replace the batches and the seed by those of a journal, the file that logs the
        # labels; `batches` are tuples of rows, labels (None: skipped) and the number
        # of wrong predictions.
        attributes = {"_queried_rows": None, "_memory": {}, "_in_query": False}
        if seed != self._seed:
            pool = Pool(self._pool.X, self.embedding, self.neighbors, seed)
            attributes |= {"_seed": seed, "_pool": pool}
        self._relearn([self._make_batch(*batch) for batch in batches], **attributes)

    @learns
    def _set_classes(self, classes):
        self._recover()
        other = self._shadow_copy()
        other.classes = classes
        other._coder = LabelCodes(self.missing_label, classes)
        other._replay(self._answers, _queried_rows=None, _memory={}, _in_query=False)
        self._take_over(other)

    @learns
    def _learn_answers(self, rows, labels, n_wrong, first=None):
        self._recover()
        self._learn(self._make_batch(rows, labels, n_wrong, first))

    def _make_batch(self, rows, labels, n_wrong, first=None):
        known, labels = self._coder.read(labels, "labels")
        rows = np.array(rows, dtype=np.intp)
        return Batch(rows, known, labels, None, n_wrong, first)

    @reads_consistent
    def _plain_label(self, label):
        # Convert a label to a value that a journal can store, or raise an error.
        known, labels = self._coder.read([label], "labels")
        if not known[0]:
            return None
        if self._coder.encode(labels) is None:  # a new class: is its type the same?
            self._coder.with_classes_of(
                self._start.labels, *(batch.labels for batch in self._answers), labels
            )
        (label,) = labels.tolist()
        if not isinstance(label, str | int | float):
            raise ValueError(
                "A journal stores labels that are strings, numbers or booleans. Got "
                f"{label!r}."
            )
        return label

    def _replay(self, answers, **attributes):
        # Compute the state from batches of labels; `attributes` are set as well.
        vars(self).update(_answers=answers, _interrupted=False, **attributes)
        labels = [batch.labels for batch in (self._start, *self._answers)]
        self._coder = self._coder.with_classes_of(*labels)
        self._codes = np.full(self._pool.n_rows, -1, dtype=np.intp)
        self._skipped = np.zeros(self._pool.n_rows, dtype=bool)
        self._order = []  # labeled rows in the order of learning
        self._weights = None
        self._n_taught = 0  # number of rows, including skipped rows
        self._n_skipped = 0
        self._index = self._forest = None, None
        self._weighs_pool = False
        self.__dict__.pop("estimator_", None)
        if self.prefit:
            self.estimator_ = copy.deepcopy(self.estimator)
        for batch in (self._start, *self._answers):
            self._store_labels(batch)
            if self.refit is False:
                self._partial_fit(batch)
        self._n_taught -= len(self._start.rows)
        if self.refit is not False:
            self._refit()

    def _store_labels(self, batch):
        # Stores the labels of a batch; all of its classes are known.
        rows = batch.rows[batch.known]
        self._codes[rows] = self._coder.encode(batch.labels)
        skipped = batch.rows[~batch.known]
        self._n_skipped -= int(self._skipped[batch.rows].sum())
        self._n_skipped += len(skipped)
        self._skipped[skipped] = True
        self._skipped[rows] = False
        # the leaves of the rows that may be queried, if they have been computed
        _, leaf_index = self._index
        if leaf_index is not None:
            leaf_index.take(batch.rows)  # removes them
        if batch.weight is not None and self._weights is None:
            self._weights = np.ones(self._pool.n_rows)
        if batch.weight is not None:
            self._weights[rows] = batch.weight[batch.known]
        self._order.extend(rows.tolist())
        self._n_taught += len(batch.rows)

    def _refit(self):
        labeled = np.array(self._order, dtype=np.intp)
        present = np.unique(self._codes[labeled])
        if len(present) < 2:
            if len(present) == 1 and not self.prefit:
                self._predict_one_class(labeled)
            return
        # rows in the order of the pool: the model does not depend on the order of
        # labels
        labeled.sort()
        arguments = {}
        if self._weights is not None:
            arguments["sample_weight"] = self._weights[labeled]
        model = self._new_estimator()
        unlabeled = np.flatnonzero(self._codes < 0)
        self._weighs_pool = len(unlabeled) > 0 and weighs_pool(model, "fit")
        if self._weighs_pool:
            arguments["X_pool"] = take(self._pool.X, unlabeled)
        y = self._coder.classes[self._codes[labeled]]
        with _of_classes(len(present), len(labeled)):
            self.estimator_ = model.fit(take(self._pool.X, labeled), y, **arguments)

    def _predict_one_class(self, labeled):
        # Many classifiers cannot be fitted to a single class.
        model = DummyClassifier(strategy="most_frequent")
        y = self._coder.classes[self._codes[labeled]]
        self.estimator_ = model.fit(take(self._pool.X, labeled), y)

    def _new_estimator(self):
        model = clone(self.estimator)
        parameters = model.get_params()
        unset = {
            name: self._seed
            for name, value in parameters.items()
            if (name == "random_state" or name.endswith("__random_state"))
            and value is None
        }
        return model.set_params(**unset)

    def _partial_fit(self, batch):
        rows = batch.rows[batch.known]
        if not len(rows):
            return
        arguments = {}
        if batch.weight is not None:
            arguments["sample_weight"] = batch.weight[batch.known]
        if not hasattr(self, "estimator_"):
            if len(self._coder.classes) < 2:
                self._predict_one_class(np.array(self._order, dtype=np.intp))
                return
            arguments["classes"] = self._coder.classes
            # a tree whose leaves keep their ids
            self.estimator_ = with_lasting_nodes(self._new_estimator())
            self._weighs_pool = weighs_pool(self.estimator_, "partial_fit")
            if self._weighs_pool:
                arguments["X_pool"] = self._pool.X
        elif isinstance(self.estimator_, DummyClassifier):
            return  # a second class makes `_learn` replay all batches
        X = None
        if self._weighs_pool:
            arguments["from_pool"] = rows  # labeled rows leave the unlabeled pool
        else:
            X = take(self._pool.X, rows)
        with _of_classes(len(np.unique(batch.labels)), len(rows)):
            self.estimator_.partial_fit(X, batch.labels, **arguments)


@contextmanager
def _of_classes(n_classes, n_labels):
    # scikit-learn warns that many distinct labels may be a regression target, but
    # queried labels are classes.
    if 2 * n_classes <= n_labels:
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes is greater")
        yield


def weighs_pool(estimator, method):
    """Whether ``fit`` or ``partial_fit`` of an estimator uses the unlabeled rows."""
    parameter = {"fit": "X_pool", "partial_fit": "from_pool"}[method]
    learn = getattr(estimator, method, None)
    if learn is None or parameter not in signature(learn).parameters:
        return False
    bound = resolve_bound(estimator.bound)
    if bound is None or not bound.uses_pool:
        return False
    # "labeled": it weighs nodes by their labeled rows only
    return getattr(bound, "pool_weight", "pool") != "labeled"
